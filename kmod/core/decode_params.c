// SPDX-License-Identifier: GPL-2.0
/*
 * Second stage: what stands in the parameter block of an allocation or a control.
 * Layouts: open-gpu-kernel-modules 535.261.03, src/common/sdk/nvidia/inc/{nvos.h,class,ctrl}.
 */
#include "core/decode.h"
#include "nvabi/structs.h"

#define FIELD(type, member)  ((u16)offsetof(struct type, member))
#define U32_AT(type, member) gsh_get32(params, offsetof(struct type, member))
#define U64_AT(type, member) gsh_get64(params, offsetof(struct type, member))

static void read_memory(struct gsh_request *req, const void *params)
{
	struct gsh_memory_request *memory = &req->memory;

	memory->valid = true;
	memory->in_params = true;
	memory->type = U32_AT(nv_memory_alloc, type);
	memory->flags = U32_AT(nv_memory_alloc, flags);
	memory->flags_off = FIELD(nv_memory_alloc, flags);
	memory->attr = U32_AT(nv_memory_alloc, attr);
	memory->attr_off = FIELD(nv_memory_alloc, attr);
	memory->attr2 = U32_AT(nv_memory_alloc, attr2);
	memory->attr2_off = FIELD(nv_memory_alloc, attr2);
	memory->size_bytes = U64_AT(nv_memory_alloc, size);
	memory->size_off = FIELD(nv_memory_alloc, size);
	memory->limit_off = FIELD(nv_memory_alloc, limit);
	memory->alignment_bytes = U64_AT(nv_memory_alloc, alignment);
	memory->address = U64_AT(nv_memory_alloc, offset);
	memory->h_vaspace = U32_AT(nv_memory_alloc, h_va_space);
	memory->handle_off = GSH_OFF_NONE;
	/* Class 0x40 takes card memory whatever the attributes say: others are refused there. */
	memory->video = req->h_class == NV01_MEMORY_LOCAL_USER;
}

/* NV_OS_DESC_MEMORY_ALLOCATION_PARAMS: attr 8, attr2 12, descriptor 16, limit 24. */
static void read_os_descriptor(struct gsh_request *req, const void *params)
{
	struct gsh_memory_request *memory = &req->memory;

	memory->valid = true;
	memory->in_params = true;
	memory->type = gsh_get32(params, 0);
	memory->flags = gsh_get32(params, 4);
	memory->flags_off = 4;
	memory->attr = gsh_get32(params, 8);
	memory->attr_off = 8;
	memory->attr2 = gsh_get32(params, 12);
	memory->attr2_off = 12;
	memory->address = gsh_get64(params, 16);
	memory->size_bytes = gsh_get64(params, 24) + 1;
	memory->size_off = GSH_OFF_NONE;
	memory->limit_off = 24;
	memory->handle_off = GSH_OFF_NONE;
}

static void read_device(struct gsh_request *req, const void *params)
{
	req->device_instance = U32_AT(nv0080_alloc, device_id);
	req->h_client_share = U32_AT(nv0080_alloc, h_client_share);
	req->h_target_client = U32_AT(nv0080_alloc, h_target_client);
	req->h_target_device = U32_AT(nv0080_alloc, h_target_device);
}

static void read_event(struct gsh_request *req, const void *params)
{
	req->h_other_client = U32_AT(nv0005_alloc, h_parent_client);
	req->h_other_object = U32_AT(nv0005_alloc, h_src_resource);
}

static void read_group(struct gsh_request *req, const void *params)
{
	req->h_error = U32_AT(nv_channel_group_alloc, h_object_error);
	req->h_vaspace = U32_AT(nv_channel_group_alloc, h_va_space);
	req->engine_type = U32_AT(nv_channel_group_alloc, engine_type);
}

static void read_channel(const struct nvabi_version *v, struct gsh_request *req, const void *params)
{
	req->h_error = gsh_get32(params, 0);
	req->h_ctxshare = gsh_get32(params, v->channel_ctxshare_off);
	req->h_vaspace = gsh_get32(params, v->channel_vaspace_off);
	req->engine_type = gsh_get32(params, v->channel_engine_off);
}

/* NV83DE_ALLOC_PARAMETERS: application's client 4, object 8. */
static void read_debugger(struct gsh_request *req, const void *params)
{
	req->h_other_client = gsh_get32(params, 4);
	req->h_other_object = gsh_get32(params, 8);
}

static void read_what(const struct nvabi_version *v, struct gsh_request *req, const void *params)
{
	switch (req->class_flags & NVABI_CLASS_WHAT) {
	case NVABI_CLASS_MEM_VIDEO:
	case NVABI_CLASS_MEM_EXTENDED:
		read_memory(req, params);
		break;
	case NVABI_CLASS_MEM_SYSTEM:
		if (req->h_class == NV01_MEMORY_SYSTEM_OS_DESCRIPTOR)
			read_os_descriptor(req, params);
		else if (req->h_class == NV01_MEMORY_SYSTEM ||
			 req->h_class == NV01_MEMORY_DEVICELESS)
			read_memory(req, params);
		break;
	case NVABI_CLASS_MEM_VIRTUAL:
		if (req->h_class == NV50_MEMORY_VIRTUAL)
			read_memory(req, params);
		break;
	case NVABI_CLASS_DEVICE:
		read_device(req, params);
		break;
	case NVABI_CLASS_SUBDEVICE:
		req->device_instance = gsh_get32(params, 0);
		break;
	case NVABI_CLASS_EVENT:
		read_event(req, params);
		break;
	case NVABI_CLASS_GROUP:
		read_group(req, params);
		break;
	case NVABI_CLASS_CHANNEL:
		read_channel(v, req, params);
		break;
	case NVABI_CLASS_CTXSHARE:
		req->h_vaspace = U32_AT(nv_ctxshare_alloc, h_va_space);
		break;
	case NVABI_CLASS_COPY:
		req->engine_type = gsh_get32(params, 4);
		break;
	case NVABI_CLASS_DEBUGGER:
		read_debugger(req, params);
		break;
	default:
		break;
	}
}

static int read_fd(struct gsh_request *req, const void *params, u32 bytes, u16 off, u8 width,
		   enum nvabi_fd_kind kind, enum nvabi_fd_want want)
{
	if (bytes < (u32)off + width)
		return -EINVAL;
	req->fd_kind = kind;
	req->fd_want = want;
	req->fd_in_params = true;
	req->fd_width = width;
	req->fd_off = off;
	req->fd = (s32)gsh_get32(params, off); /* the driver casts the wide ones, too */
	return 0;
}

int gsh_decode_alloc_params(const struct nvabi_version *v, struct gsh_request *req,
			    const void *params, u32 bytes)
{
	const struct nvabi_class *row = nvabi_class_find(req->h_class);
	const struct nvabi_fd_field *fd = nvabi_class_fd(req->h_class);

	if (!row)
		return 0;
	if (bytes < nvabi_class_bytes(v, row))
		return -EINVAL;
	read_what(v, req, params);
	if (req->h_class == NV_MEMORY_MULTICAST_FABRIC)
		return read_fd(req, params, bytes, v->multicast_event_off, 8, NVABI_FD_LABEL,
			       NVABI_WANT_NONE);
	if (fd)
		return read_fd(req, params, bytes, fd->off, fd->width, fd->kind, fd->want);
	return 0;
}

int gsh_decode_control_params(const struct nvabi_version *v, struct gsh_request *req,
			      const void *params, u32 bytes)
{
	const struct nvabi_fd_field *fd = nvabi_control_fd(req->cmd);

	if (!fd)
		return 0;
	return read_fd(req, params, bytes, fd->off, fd->width, fd->kind, fd->want);
}

/* -EINVAL: the count lies outside the block. */
static int read_count(const struct nvabi_embedded *row, const void *params, u32 bytes, u64 *count)
{
	u64 value = 1;

	if (row->count == NVABI_COUNT_U16) {
		if (bytes < (u32)row->count_off + 2)
			return -EINVAL;
		value = gsh_get8(params, row->count_off) | (u32)gsh_get8(params, row->count_off + 1)
								   << 8;
	} else if (row->count != NVABI_COUNT_ONE) {
		if (bytes < (u32)row->count_off + 4)
			return -EINVAL;
		value = gsh_get32(params, row->count_off);
		if (row->count == NVABI_COUNT_SQUARE)
			value *= value;
	}
	*count = value;
	return 0;
}

int gsh_embedded_bytes(const struct nvabi_embedded *row, const void *params, u32 bytes,
		       u64 *pointer, u32 *out)
{
	u64 count;
	int err;

	if (bytes < (u32)row->pointer_off + 8)
		return -EINVAL;
	err = read_count(row, params, bytes, &count);
	if (err)
		return err;
	*pointer = gsh_get64(params, row->pointer_off);
	*out = 0;
	if (!*pointer)
		return 0;
	if (count > NVABI_EMBEDDED_MAX_BYTES / row->element_bytes)
		return -E2BIG;
	*out = (u32)count * row->element_bytes;
	return 0;
}
