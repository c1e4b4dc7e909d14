// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to typed request: see decode.h. One row an ioctl number, one reader a struct.
 * Which numbers, sizes and nodes the driver takes: open-gpu-kernel-modules 535.261.03,
 * kernel-open/nvidia/nv.c (nvidia_ioctl) and src/nvidia/arch/nvalloc/unix/src/escape.c (RmIoctl).
 */
#include "core/decode.h"
#include "nvabi/structs.h"

typedef void (*reader)(const struct nvabi_version *v, const void *arg, struct gsh_request *req);

#define ON_CTL  0x1
#define ON_GPU  0x2
#define ON_BOTH 0x3

/* Sizes that are not one number. */
#define BYTES_ANY        0xffff
#define BYTES_AT_LEAST_8 0xfffe
#define BYTES_WORDS      0xfffd /* a multiple of 4, not 0 */
#define BYTES_RM_ALLOC   0xfffc /* NVOS21 or NVOS64 */
#define BYTES_MAP_DMA    0xfffb
#define BYTES_UNMAP_DMA  0xfffa
#define BYTES_DMABUF     0xfff9
#define BYTES_WAIT_OPEN  0xfff8 /* 8, where the driver has it */
#define BYTES_CARDS      0xfff7 /* any; whole entries where sizes are checked */
#define BYTES_ROOT_ONLY  0xfff6 /* any: others are refused first; 4 where sizes are checked */

struct escape {
	u8 nr;
	u8 nodes;
	u16 bytes;
	u8 kind;
	u16 status_off;
	reader read;
};

#define FIELD(type, member)  ((u16)offsetof(struct type, member))
#define U32_AT(type, member) gsh_get32(arg, offsetof(struct type, member))
#define U64_AT(type, member) gsh_get64(arg, offsetof(struct type, member))

static void set_fd(struct gsh_request *req, const void *arg, u16 off, enum nvabi_fd_kind kind,
		   enum nvabi_fd_want want)
{
	req->fd_kind = kind;
	req->fd_want = want;
	req->fd_off = off;
	req->fd_width = 4;
	req->fd = (s32)gsh_get32(arg, off);
}

static void read_register_fd(const struct nvabi_version *v, const void *arg,
			     struct gsh_request *req)
{
	set_fd(req, arg, FIELD(nv_register_fd, ctl_fd), NVABI_FD_NVIDIA_FILE, NVABI_WANT_CTL);
}

static void read_os_event(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	req->h_client = U32_AT(nv_alloc_os_event, h_client);
	req->h_parent = U32_AT(nv_alloc_os_event, h_device);
	set_fd(req, arg, FIELD(nv_alloc_os_event, fd), NVABI_FD_LABEL, NVABI_WANT_NONE);
}

/* ---- RM_ALLOC ---- */

static bool is_root(u32 id)
{
	return id == NV01_ROOT || id == NV01_ROOT_NON_PRIV || id == NV01_ROOT_CLIENT;
}

static void set_class(struct gsh_request *req, u32 id, const struct nvabi_class *row)
{
	req->h_class = id;
	req->class_flags = row ? row->flags : 0;
	if (is_root(id))
		req->kind = GSH_REQ_ROOT_ALLOC;
	else if (id == NV01_MEMORY_LOCAL_USER)
		req->kind = GSH_REQ_ALLOC_VIDMEM;
}

static void read_rm_alloc(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	bool rights = req->arg_bytes == sizeof(struct nvos64);
	u32 id = U32_AT(nvos21, h_class);
	const struct nvabi_class *row = nvabi_class_find(id);

	req->h_client = U32_AT(nvos21, h_root);
	req->h_parent = U32_AT(nvos21, h_object_parent);
	req->h_object = U32_AT(nvos21, h_object_new);
	req->h_object_off = FIELD(nvos21, h_object_new);
	set_class(req, id, row);
	req->params_ptr = U64_AT(nvos21, p_alloc_parms);
	req->params_ptr_off = FIELD(nvos21, p_alloc_parms);
	if (rights) {
		req->params_bytes_off = FIELD(nvos64, params_size);
		req->status_off = FIELD(nvos64, status);
		req->flags = U32_AT(nvos64, flags);
		req->rights_ptr = U64_AT(nvos64, p_rights_requested);
		req->rights_ptr_off = FIELD(nvos64, p_rights_requested);
	} else {
		req->params_bytes_off = FIELD(nvos21, params_size);
		req->status_off = FIELD(nvos21, status);
	}
	req->params_given = gsh_get32(arg, req->params_bytes_off);
	if (!req->params_ptr) {
		req->params_refused = row && (row->flags & NVABI_CLASS_REQUIRED);
		return;
	}
	/* The class decides; only for one nobody knows the caller's word is all there is. */
	req->params_bytes = row ? nvabi_class_bytes(v, row) : req->params_given;
	if (req->params_bytes > NVABI_EMBEDDED_MAX_BYTES) {
		req->params_bytes = 0;
		req->params_refused = true;
	}
}

static void read_alloc_object(const struct nvabi_version *v, const void *arg,
			      struct gsh_request *req)
{
	u32 id = U32_AT(nvos05, h_class);

	req->h_client = U32_AT(nvos05, h_root);
	req->h_parent = U32_AT(nvos05, h_object_parent);
	req->h_object = U32_AT(nvos05, h_object_new);
	req->h_object_off = FIELD(nvos05, h_object_new);
	set_class(req, id, nvabi_class_find(id));
}

static void read_alloc_memory(const struct nvabi_version *v, const void *arg,
			      struct gsh_request *req)
{
	const struct nvabi_class *row;

	req->h_client = U32_AT(nvos02_fd, h_root);
	req->h_parent = U32_AT(nvos02_fd, h_object_parent);
	req->h_object = U32_AT(nvos02_fd, h_object_new);
	req->h_object_off = FIELD(nvos02_fd, h_object_new);
	req->h_class = U32_AT(nvos02_fd, h_class);
	row = nvabi_class_find(req->h_class);
	req->class_flags = row ? row->flags : 0;
	req->flags = U32_AT(nvos02_fd, flags);
	req->address = U64_AT(nvos02_fd, p_memory);
	req->address_off = FIELD(nvos02_fd, p_memory);
	req->limit_off = FIELD(nvos02_fd, limit);
	req->length = U64_AT(nvos02_fd, limit) + 1; /* 0 stands for 2^64, which nothing takes */
	if (req->h_class == NV01_MEMORY_SYSTEM)
		set_fd(req, arg, FIELD(nvos02_fd, fd), NVABI_FD_NVIDIA_FILE, NVABI_WANT_CTL);
}

/* ---- other object calls ---- */

static void read_free(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	req->h_client = U32_AT(nvos00, h_root);
	req->h_parent = U32_AT(nvos00, h_object_parent);
	req->h_object = U32_AT(nvos00, h_object_old);
}

/* Commands with neither category nor index are answered 0 without a look at their parameters. */
static bool is_null_control(u32 cmd)
{
	return (cmd & 0xffff) == 0;
}

static u32 converted_bytes(const struct nvabi_version *v, u32 cmd)
{
	const struct nvabi_embedded *row[NVABI_EMBEDDED_MAX];

	return nvabi_embedded_find(v, cmd, row) ? row[0]->converted_bytes : 0;
}

static void read_control(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	u32 converted;

	req->h_client = U32_AT(nvos54, h_client);
	req->h_object = U32_AT(nvos54, h_object);
	req->cmd = U32_AT(nvos54, cmd);
	req->flags = U32_AT(nvos54, flags);
	req->params_ptr = U64_AT(nvos54, p_params);
	req->params_ptr_off = FIELD(nvos54, p_params);
	req->params_given = U32_AT(nvos54, params_size);
	req->params_bytes_off = FIELD(nvos54, params_size);
	if (is_null_control(req->cmd))
		return;
	converted = converted_bytes(v, req->cmd);
	if (converted && req->params_ptr)
		req->params_bytes = converted;
	else if (!req->params_ptr != !req->params_given ||
		 req->params_given > NVABI_EMBEDDED_MAX_BYTES)
		req->params_refused = true;
	else
		req->params_bytes = req->params_given;
}

static void read_dup(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	req->h_client = U32_AT(nvos55, h_client);
	req->h_parent = U32_AT(nvos55, h_parent);
	req->h_object = U32_AT(nvos55, h_object);
	req->h_object_off = FIELD(nvos55, h_object);
	req->h_src_client = U32_AT(nvos55, h_client_src);
	req->h_src_object = U32_AT(nvos55, h_object_src);
	req->flags = U32_AT(nvos55, flags);
}

static void read_share(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	req->h_client = U32_AT(nvos57, h_client);
	req->h_object = U32_AT(nvos57, h_object);
}

static void read_idle_channels(const struct nvabi_version *v, const void *arg,
			       struct gsh_request *req)
{
	u32 flags = U32_AT(nvos30, flags);

	req->h_client = U32_AT(nvos30, h_client);
	req->h_parent = U32_AT(nvos30, h_device);
	req->h_object = U32_AT(nvos30, h_channel);
	req->flags = flags;
	if (((flags >> 4) & 0xf) == 0) /* a list; 1: the one channel above */
		req->num_channels = U32_AT(nvos30, num_channels);
}

static void read_context_dma(const struct nvabi_version *v, const void *arg,
			     struct gsh_request *req)
{
	const struct nvabi_class *row;

	req->h_parent = U32_AT(nvos39, h_object_parent);
	req->h_client = req->h_parent; /* the struct names the client by its first field */
	req->h_object = U32_AT(nvos39, h_object_new);
	req->h_object_off = FIELD(nvos39, h_object_new);
	req->h_class = U32_AT(nvos39, h_class);
	row = nvabi_class_find(req->h_class);
	req->class_flags = row ? row->flags : 0;
	req->flags = U32_AT(nvos39, flags);
	req->h_src_object = U32_AT(nvos39, h_memory);
	req->offset = U64_AT(nvos39, offset);
	req->limit_off = FIELD(nvos39, limit);
}

static void read_bind_dma(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	req->h_client = U32_AT(nvos49, h_client);
	req->h_object = U32_AT(nvos49, h_channel);
	req->h_dma = U32_AT(nvos49, h_ctx_dma);
}

/* ---- mappings ---- */

static void read_map_memory(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	req->h_client = U32_AT(nvos33_fd, h_client);
	req->h_parent = U32_AT(nvos33_fd, h_device);
	req->h_object = U32_AT(nvos33_fd, h_memory);
	req->offset = U64_AT(nvos33_fd, offset);
	req->length = U64_AT(nvos33_fd, length);
	req->address = U64_AT(nvos33_fd, p_linear_address);
	req->address_off = FIELD(nvos33_fd, p_linear_address);
	req->flags = U32_AT(nvos33_fd, flags);
	set_fd(req, arg, FIELD(nvos33_fd, fd), NVABI_FD_NVIDIA_FILE, NVABI_WANT_EITHER);
}

static void read_unmap_memory(const struct nvabi_version *v, const void *arg,
			      struct gsh_request *req)
{
	req->h_client = U32_AT(nvos34, h_client);
	req->h_parent = U32_AT(nvos34, h_device);
	req->h_object = U32_AT(nvos34, h_memory);
	req->address = U64_AT(nvos34, p_linear_address);
	req->address_off = FIELD(nvos34, p_linear_address);
	req->flags = U32_AT(nvos34, flags);
}

/* NVOS46 and NVOS47 begin alike: client, device, dma, memory. */
static void read_dma_handles(const void *arg, struct gsh_request *req)
{
	req->h_client = U32_AT(nvos46_v535, h_client);
	req->h_parent = U32_AT(nvos46_v535, h_device);
	req->h_dma = U32_AT(nvos46_v535, h_dma);
	req->h_object = U32_AT(nvos46_v535, h_memory);
}

static void read_map_dma(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	read_dma_handles(arg, req);
	req->offset = U64_AT(nvos46_v535, offset);
	req->length = U64_AT(nvos46_v535, length);
	req->flags = U32_AT(nvos46_v535, flags);
	req->address = gsh_get64(arg, v->map_dma_address_off);
	req->address_off = v->map_dma_address_off;
	req->status_off = v->map_dma_status_off;
}

static void read_unmap_dma(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	read_dma_handles(arg, req);
	req->flags = U32_AT(nvos47_v535, flags);
	req->address = gsh_get64(arg, v->unmap_dma_address_off);
	req->address_off = v->unmap_dma_address_off;
	req->status_off = v->unmap_dma_status_off;
}

static void read_update_mapping(const struct nvabi_version *v, const void *arg,
				struct gsh_request *req)
{
	req->h_client = U32_AT(nvos56, h_client);
	req->h_parent = U32_AT(nvos56, h_device);
	req->h_object = U32_AT(nvos56, h_memory);
}

#define EVENT_DATA_BYTES 16 /* NvUnixEvent: three words, a half word, padding */

static void read_event_data(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	req->params_ptr = U64_AT(nvos41, p_event);
	req->params_ptr_off = FIELD(nvos41, p_event);
	if (req->params_ptr)
		req->params_bytes = EVENT_DATA_BYTES;
}

static void read_dmabuf(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	req->h_client = gsh_get32(arg, 4);
	req->status_off = v->dmabuf_status_off;
	set_fd(req, arg, 0, NVABI_FD_DMA_BUF, NVABI_WANT_NONE);
}

/* ---- vid heap ---- */

/* Offsets in NVOS32 by allocating function: nvos.h. 0: the function has no such field. */
struct vidheap_layout {
	u8 function;
	u8 attr, attr2, size, alignment, offset, limit;
};

static const struct vidheap_layout vidheap_layouts[] = {
	{ NVOS32_FUNCTION_ALLOC_SIZE, NVOS32_OFF_ALLOC_ATTR, NVOS32_OFF_ALLOC_ATTR2,
	  NVOS32_OFF_ALLOC_SIZE, NVOS32_OFF_ALLOC_ALIGNMENT, NVOS32_OFF_ALLOC_OFFSET,
	  NVOS32_OFF_ALLOC_LIMIT },
	{ NVOS32_FUNCTION_ALLOC_TILED, NVOS32_OFF_TILED_ATTR, NVOS32_OFF_ALLOC_ATTR2,
	  NVOS32_OFF_ALLOC_SIZE, NVOS32_OFF_ALLOC_ALIGNMENT, NVOS32_OFF_ALLOC_OFFSET,
	  NVOS32_OFF_ALLOC_LIMIT },
	{ NVOS32_FUNCTION_ALLOC_SIZE_RANGE, NVOS32_OFF_ALLOC_ATTR, NVOS32_OFF_RANGE_ATTR2,
	  NVOS32_OFF_RANGE_SIZE, 88, 96, 104 },
};

static const struct vidheap_layout *vidheap_layout(u32 function)
{
	u32 i;

	for (i = 0; i < GSH_ARRAY_SIZE(vidheap_layouts); i++)
		if (vidheap_layouts[i].function == function)
			return &vidheap_layouts[i];
	return NULL;
}

/* The driver turns the call into class 0x50a0, 0x40 or 0x3e by just these two facts. */
static u32 vidheap_class(u32 attr, u32 flags)
{
	if (flags & NVOS32_FLAGS_VIRTUAL)
		return NV50_MEMORY_VIRTUAL;
	if (NVOS32_ATTR_LOCATION(attr) == NVOS32_ATTR_LOCATION_VIDMEM)
		return NV01_MEMORY_LOCAL_USER;
	return NV01_MEMORY_SYSTEM;
}

static void read_vidheap_alloc(const void *arg, const struct vidheap_layout *at,
			       struct gsh_request *req)
{
	struct gsh_memory_request *memory = &req->memory;
	const struct nvabi_class *row;

	memory->valid = true;
	memory->type = gsh_get32(arg, NVOS32_OFF_ALLOC_TYPE);
	memory->flags_off = NVOS32_OFF_ALLOC_FLAGS;
	memory->flags = gsh_get32(arg, NVOS32_OFF_ALLOC_FLAGS);
	memory->attr_off = at->attr;
	memory->attr = gsh_get32(arg, at->attr);
	memory->attr2_off = at->attr2;
	memory->attr2 = gsh_get32(arg, at->attr2);
	memory->size_off = at->size;
	memory->limit_off = at->limit;
	memory->handle_off = NVOS32_OFF_ALLOC_MEMORY;
	memory->alignment_bytes = gsh_get64(arg, at->alignment);
	memory->address = gsh_get64(arg, at->offset);
	memory->h_vaspace = gsh_get32(arg, NVOS32_OFF_VASPACE);
	if (req->function == NVOS32_FUNCTION_ALLOC_TILED) /* the size field is answer only */
		memory->size_bytes = (u64)gsh_get32(arg, NVOS32_OFF_TILED_HEIGHT) *
				     gsh_get32(arg, NVOS32_OFF_TILED_PITCH);
	else
		memory->size_bytes = gsh_get64(arg, at->size);
	if (memory->flags & NVOS32_FLAGS_HANDLE_PROVIDED)
		req->h_object = gsh_get32(arg, NVOS32_OFF_ALLOC_MEMORY);
	req->h_object_off = NVOS32_OFF_ALLOC_MEMORY;
	req->h_class = vidheap_class(memory->attr, memory->flags);
	row = nvabi_class_find(req->h_class);
	req->class_flags = row ? row->flags : 0;
	memory->video = req->h_class == NV01_MEMORY_LOCAL_USER;
	req->kind = memory->video ? GSH_REQ_VIDHEAP_ALLOC_VIDMEM : GSH_REQ_VIDHEAP_ALLOC_OTHER;
}

/* AllocOsDesc of NVOS32: handle 40, type 44, flags 48, attr 52, attr2 56, address 64, limit 72. */
static void read_vidheap_os_desc(const void *arg, struct gsh_request *req)
{
	req->kind = GSH_REQ_VIDHEAP_ALLOC_OS_DESC;
	req->h_class = NV01_MEMORY_SYSTEM_OS_DESCRIPTOR;
	req->class_flags = NVABI_CLASS_MEM_SYSTEM;
	req->h_object = gsh_get32(arg, 40);
	req->h_object_off = 40;
	req->address = gsh_get64(arg, 64);
	req->address_off = 64;
	req->length = gsh_get64(arg, 72) + 1;
	req->limit_off = 72;
}

static void read_vidheap(const struct nvabi_version *v, const void *arg, struct gsh_request *req)
{
	const struct vidheap_layout *at;

	req->h_client = gsh_get32(arg, NVOS32_OFF_ROOT);
	req->h_parent = gsh_get32(arg, NVOS32_OFF_PARENT);
	req->function = gsh_get32(arg, NVOS32_OFF_FUNCTION);
	at = vidheap_layout(req->function);
	if (at) {
		read_vidheap_alloc(arg, at, req);
		return;
	}
	switch (req->function) {
	case NVOS32_FUNCTION_FREE:
		req->kind = GSH_REQ_VIDHEAP_FREE;
		req->h_object = gsh_get32(arg, NVOS32_OFF_FREE_MEMORY);
		break;
	case NVOS32_FUNCTION_INFO:
		req->kind = GSH_REQ_VIDHEAP_INFO;
		break;
	case NVOS32_FUNCTION_ALLOC_OS_DESC:
		read_vidheap_os_desc(arg, req);
		break;
	default:
		break;
	}
}

/* ---- the table ---- */

/* A struct with a status field; a call whose answer is the ioctl's value alone. */
#define STRUCT(nr, nodes, type, kind, read) \
	{ nr, nodes, sizeof(struct type), kind, FIELD(type, status), read }
#define PLAIN(nr, nodes, bytes, kind, read) { nr, nodes, bytes, kind, GSH_OFF_NONE, read }

/* One number a line: */
/* clang-format off */
static const struct escape escapes[] = { /* sorted by number */
	STRUCT(NV_ESC_RM_ALLOC_MEMORY, ON_GPU, nvos02_fd, GSH_REQ_ALLOC_MEMORY, read_alloc_memory),
	STRUCT(NV_ESC_RM_ALLOC_OBJECT, ON_CTL, nvos05, GSH_REQ_ALLOC, read_alloc_object),
	STRUCT(NV_ESC_RM_FREE, ON_CTL, nvos00, GSH_REQ_FREE, read_free),
	STRUCT(NV_ESC_RM_CONTROL, ON_CTL, nvos54, GSH_REQ_CONTROL, read_control),
	{ NV_ESC_RM_ALLOC, ON_BOTH, BYTES_RM_ALLOC, GSH_REQ_ALLOC, 0, read_rm_alloc },
	STRUCT(NV_ESC_RM_DUP_OBJECT, ON_CTL, nvos55, GSH_REQ_DUP, read_dup),
	STRUCT(NV_ESC_RM_SHARE, ON_CTL, nvos57, GSH_REQ_SHARE, read_share),
	{ NV_ESC_RM_I2C_ACCESS, ON_GPU, 32, GSH_REQ_DENY, 24, NULL },
	STRUCT(NV_ESC_RM_IDLE_CHANNELS, ON_CTL, nvos30, GSH_REQ_IDLE_CHANNELS, read_idle_channels),
	{ NV_ESC_RM_VID_HEAP_CONTROL, ON_CTL, NVOS32_SIZE, GSH_REQ_VIDHEAP_OTHER, NVOS32_OFF_STATUS, read_vidheap },
	{ NV_ESC_RM_ACCESS_REGISTRY, ON_CTL, 72, GSH_REQ_DENY, 64, NULL },
	STRUCT(NV_ESC_RM_MAP_MEMORY, ON_CTL, nvos33_fd, GSH_REQ_MAP_MEMORY, read_map_memory),
	STRUCT(NV_ESC_RM_UNMAP_MEMORY, ON_CTL, nvos34, GSH_REQ_UNMAP_MEMORY, read_unmap_memory),
	STRUCT(NV_ESC_RM_GET_EVENT_DATA, ON_BOTH, nvos41, GSH_REQ_GET_EVENT_DATA, read_event_data),
	STRUCT(NV_ESC_RM_ALLOC_CONTEXT_DMA2, ON_CTL, nvos39, GSH_REQ_ALLOC_CONTEXT_DMA, read_context_dma),
	{ NV_ESC_RM_MAP_MEMORY_DMA, ON_CTL, BYTES_MAP_DMA, GSH_REQ_MAP_DMA, 0, read_map_dma },
	{ NV_ESC_RM_UNMAP_MEMORY_DMA, ON_CTL, BYTES_UNMAP_DMA, GSH_REQ_UNMAP_DMA, 0, read_unmap_dma },
	STRUCT(NV_ESC_RM_BIND_CONTEXT_DMA, ON_CTL, nvos49, GSH_REQ_BIND_DMA, read_bind_dma),
	STRUCT(NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO, ON_CTL, nvos56, GSH_REQ_UPDATE_MAPPING, read_update_mapping),
	PLAIN(NV_ESC_RM_DIAGNOSTIC, ON_CTL, BYTES_ANY, GSH_REQ_DENY, NULL),
	PLAIN(NV_ESC_CARD_INFO, ON_CTL, BYTES_CARDS, GSH_REQ_CARD_INFO, NULL),
	PLAIN(NV_ESC_REGISTER_FD, ON_BOTH, sizeof(struct nv_register_fd), GSH_REQ_REGISTER_FD, read_register_fd),
	STRUCT(NV_ESC_ALLOC_OS_EVENT, ON_BOTH, nv_alloc_os_event, GSH_REQ_OS_EVENT_ALLOC, read_os_event),
	STRUCT(NV_ESC_FREE_OS_EVENT, ON_BOTH, nv_free_os_event, GSH_REQ_OS_EVENT_FREE, read_os_event),
	PLAIN(NV_ESC_STATUS_CODE, ON_CTL, sizeof(struct nv_status_code), GSH_REQ_STATUS_CODE, NULL),
	PLAIN(NV_ESC_CHECK_VERSION_STR, ON_CTL, sizeof(struct nv_rm_api_version), GSH_REQ_PASS, NULL),
	PLAIN(NV_ESC_ATTACH_GPUS_TO_FD, ON_CTL, BYTES_WORDS, GSH_REQ_ATTACH_GPUS, NULL),
	PLAIN(NV_ESC_QUERY_DEVICE_INTR, ON_GPU, BYTES_AT_LEAST_8, GSH_REQ_PASS, NULL),
	PLAIN(NV_ESC_SYS_PARAMS, ON_CTL, sizeof(struct nv_sys_params), GSH_REQ_PASS, NULL),
	PLAIN(NV_ESC_NUMA_INFO, ON_GPU, sizeof(struct nv_numa_info), GSH_REQ_PASS, NULL),
	PLAIN(NV_ESC_SET_NUMA_STATUS, ON_BOTH, BYTES_ROOT_ONLY, GSH_REQ_DENY, NULL),
	{ NV_ESC_EXPORT_TO_DMABUF_FD, ON_GPU, BYTES_DMABUF, GSH_REQ_DENY, 0, read_dmabuf },
	PLAIN(NV_ESC_WAIT_OPEN_COMPLETE, ON_BOTH, BYTES_WAIT_OPEN, GSH_REQ_PASS, NULL),
};
/* clang-format on */

static const struct escape *find_escape(u32 nr)
{
	u32 low = 0, high = GSH_ARRAY_SIZE(escapes);

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (escapes[middle].nr == nr)
			return &escapes[middle];
		if (escapes[middle].nr < nr)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool size_is_right(const struct nvabi_version *v, u16 rule, u32 bytes)
{
	switch (rule) {
	case BYTES_ANY:
		return true;
	case BYTES_AT_LEAST_8:
		return v->checks_ioctl_sizes ? bytes == 8 : bytes >= 8;
	case BYTES_CARDS:
		return !v->checks_ioctl_sizes ||
		       (bytes && bytes % sizeof(struct nv_card_info) == 0);
	case BYTES_ROOT_ONLY:
		return !v->checks_ioctl_sizes || bytes == 4;
	case BYTES_WORDS:
		return bytes && bytes % 4 == 0;
	case BYTES_RM_ALLOC:
		return bytes == sizeof(struct nvos21) || bytes == sizeof(struct nvos64);
	case BYTES_MAP_DMA:
		return bytes == v->map_dma_bytes;
	case BYTES_UNMAP_DMA:
		return bytes == v->unmap_dma_bytes;
	case BYTES_DMABUF:
		return bytes == v->dmabuf_bytes;
	case BYTES_WAIT_OPEN:
		return v->has_wait_open_complete && bytes == 8;
	default:
		return bytes == rule;
	}
}

/* On a GPU's node RM_ALLOC makes event objects only. */
static bool node_is_right(const struct escape *escape, enum gsh_node node, const void *arg)
{
	const struct nvabi_class *row;

	if (!(escape->nodes & (node == GSH_NODE_CTL ? ON_CTL : ON_GPU)))
		return false;
	if (node == GSH_NODE_CTL || escape->nr != NV_ESC_RM_ALLOC)
		return true;
	row = nvabi_class_find(U32_AT(nvos21, h_class));
	return row && (row->flags & NVABI_CLASS_EVENT);
}

bool gsh_escape_is_known(u32 nr)
{
	return find_escape(nr);
}

int gsh_decode(const struct nvabi_version *v, u32 nr, enum gsh_node node, const void *arg,
	       u32 bytes, struct gsh_request *req)
{
	const struct escape *escape = find_escape(nr);

	if (!escape || !size_is_right(v, escape->bytes, bytes) || !node_is_right(escape, node, arg))
		return -EINVAL;

	memset(req, 0, sizeof(*req));
	req->kind = (enum gsh_request_kind)escape->kind;
	req->nr = nr;
	req->arg_bytes = bytes;
	req->status_off = escape->status_off;
	req->h_object_off = GSH_OFF_NONE;
	req->params_ptr_off = GSH_OFF_NONE;
	req->params_bytes_off = GSH_OFF_NONE;
	req->rights_ptr_off = GSH_OFF_NONE;
	req->fd_off = GSH_OFF_NONE;
	req->address_off = GSH_OFF_NONE;
	req->limit_off = GSH_OFF_NONE;
	if (escape->read)
		escape->read(v, arg, req);
	return 0;
}
