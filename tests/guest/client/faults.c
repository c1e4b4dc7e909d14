/* SPDX-License-Identifier: MIT */
/*
 * Each call of a tenant and of its operator, with each thing that can fail on its way failing once.
 *
 *	faults CARD-UUID kernel|driver [CALL]
 *
 * Makes a tenant of its own. For each call, and N = 1, 2, 3, …: the Nth fails, until there is no Nth.
 * kernel: allocations and user copies, of the caller, of the forwarding threads, of the thread that
 * makes threads; needs FAILSLAB. driver: calls that the simulated driver refuses, by kind.
 * After each: the errno or status is one that says so, the same call succeeds, what it made goes,
 * and nothing is charged that was not before. One line a call and whose things fail,
 * "CALL WHOSE points=… slab=… page=… copy=… ok" or "… FAIL why"; then the
 * module's functions in which something failed. Status 1 after a FAIL.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/stat.h>

#include "race.h"

#include "faultnth.h"
#include "genl.h"

#define TENANT	   "faulty"
#define PASSING	   "passing"
#define FOLDER	   "/dev/gpushare/" TENANT
#define QUOTA	   (512 * MIB)
#define POINTS_MAX 600
#define REFUSED	   0x1au /* INSUFFICIENT_RESOURCES: what the driver refuses with */

#define MEMORY	  0x10u
#define SECOND	  0x11u
#define SPACE	  0x13u
#define GROUP	  0x16u
#define SHARE	  0x17u
#define CHANNEL	  0x18u
#define EVENT	  0x1au
#define USER_AREA 0x1cu
#define RANGE	  0x200000000000ULL
#define POOL	  0x200100000000ULL

struct ctx {
	const char *card; /* UUID text */
	int netlink;
	struct books books;
	struct rm rm, second;
	struct uvm uvm, fresh;
	int fd, other;
	uint64_t va;
	char *at;
	uint32_t handle;
	uint8_t heap[NVOS32_SIZE];
	uint64_t base_charged;
	char counts[512];
	uint64_t cgroup;
};

/* PREPARE and CLEAR run without faults, around any number of CALLs, of which each that
 * succeeds is followed by UNDO. */
enum phase { PREPARE, CALL, UNDO, CLEAR };

static int new_client(struct ctx *c)
{
	c->handle = 0;
	return rm_alloc(c->rm.ctl, 0, 0, &c->handle, NV01_ROOT, NULL);
}

static int free_of(const struct rm *rm, uint32_t parent, uint32_t handle)
{
	return rm_free(rm->ctl, rm->client, parent, handle);
}

static int close_fd(int *fd)
{
	int rc = *fd >= 0 ? close(*fd) : 0;

	*fd = -1;
	return rc;
}

/* ---- nodes ---- */

static int opening(struct ctx *c, enum phase phase, const char *name)
{
	if (phase == CALL) {
		c->fd = rm_open_node(FOLDER, name);
		return c->fd < 0 ? c->fd : 0;
	}
	return phase == UNDO ? close_fd(&c->fd) : 0;
}

static int open_ctl(struct ctx *c, enum phase phase)
{
	return opening(c, phase, "nvidiactl");
}

static int open_gpu(struct ctx *c, enum phase phase)
{
	return opening(c, phase, "nvidia0");
}

static int open_uvm(struct ctx *c, enum phase phase)
{
	return opening(c, phase, "nvidia-uvm");
}

static int register_fd(struct ctx *c, enum phase phase)
{
	if (phase == PREPARE || phase == UNDO) { /* a file is tied once */
		close_fd(&c->fd);
		c->fd = rm_open_gpu(FOLDER, c->rm.minor);
		return c->fd < 0 ? c->fd : 0;
	}
	return phase == CALL ? rm_register_fd(c->fd, c->rm.ctl) : close_fd(&c->fd);
}

static int polling(struct ctx *c, enum phase phase)
{
	struct pollfd p = { .fd = c->rm.gpu, .events = POLLIN };

	if (phase == CALL && poll(&p, 1, 0) < 0)
		return -errno;
	return 0;
}

static int card_info(struct ctx *c, enum phase phase)
{
	static uint8_t cards[32 * 72];

	return phase == CALL ? rm_ioctl(c->rm.ctl, NV_ESC_CARD_INFO, cards, sizeof(cards)) : 0;
}

/* ---- objects ---- */

static int client(struct ctx *c, enum phase phase)
{
	if (phase == CALL)
		return new_client(c);
	return phase == UNDO ? rm_free(c->rm.ctl, c->handle, 0, c->handle) : 0;
}

/* Through the escape that wraps others. */
static int wrapped_client(struct ctx *c, enum phase phase)
{
	struct nvos21 p = { .h_class = NV01_ROOT, .status = RM_STATUS_UNTOUCHED };
	struct nv_xfer xfer = { NV_ESC_RM_ALLOC, sizeof(p), (uintptr_t)&p };
	int rc;

	if (phase == UNDO)
		return rm_free(c->rm.ctl, c->handle, 0, c->handle);
	if (phase != CALL)
		return 0;
	rc = rm_ioctl(c->rm.ctl, NV_ESC_IOCTL_XFER_CMD, &xfer, sizeof(xfer)) ?: (int)p.status;
	c->handle = p.h_object_new;
	return rc;
}

static int device(struct ctx *c, enum phase phase)
{
	struct rm rm = c->rm;

	rm.client = c->handle;
	switch (phase) {
	case PREPARE:
		return new_client(c);
	case CALL:
		return rm_alloc_device(&rm, RM_DEVICE);
	case UNDO:
		return rm_free(rm.ctl, rm.client, rm.client, RM_DEVICE);
	default:
		return rm_free(rm.ctl, rm.client, 0, rm.client);
	}
}

static int card_memory(struct ctx *c, enum phase phase)
{
	if (phase == CALL)
		return rm_alloc_video(&c->rm, MEMORY, 2 * MIB);
	return phase == UNDO ? free_of(&c->rm, c->rm.device, MEMORY) : 0;
}

static int heap_memory(struct ctx *c, enum phase phase)
{
	if (phase == CALL) {
		rm_heap_request(&c->rm, c->heap, MEMORY, 2 * MIB);
		return rm_heap(&c->rm, c->heap);
	}
	return phase == UNDO ? free_of(&c->rm, c->rm.device, MEMORY) : 0;
}

static int heap_free(struct ctx *c, enum phase phase)
{
	if (phase == PREPARE || phase == UNDO)
		return rm_alloc_video(&c->rm, MEMORY, 2 * MIB);
	if (phase == CLEAR)
		return free_of(&c->rm, c->rm.device, MEMORY);
	rm_heap_request(&c->rm, c->heap, MEMORY, 0);
	rm_put32(c->heap, NVOS32_OFF_FUNCTION, NVOS32_FUNCTION_FREE);
	return rm_heap(&c->rm, c->heap);
}

static int system_memory(struct ctx *c, enum phase phase)
{
	if (phase == CALL)
		return rm_alloc_system(&c->rm, MEMORY, 64 << 10);
	return phase == UNDO ? free_of(&c->rm, c->rm.device, MEMORY) : 0;
}

static int freeing(struct ctx *c, enum phase phase)
{
	if (phase == PREPARE || phase == UNDO)
		return rm_alloc_video(&c->rm, MEMORY, 2 * MIB);
	return free_of(&c->rm, c->rm.device, MEMORY);
}

static int duplicate(struct ctx *c, enum phase phase)
{
	switch (phase) {
	case PREPARE:
		return rm_start(&c->second, FOLDER) ?: rm_alloc_video(&c->rm, MEMORY, 2 * MIB);
	case CALL:
		return rm_dup(c->second.ctl, c->second.client, c->second.device, SECOND,
			      c->rm.client, MEMORY);
	case UNDO:
		return free_of(&c->second, c->second.device, SECOND);
	default:
		rm_stop(&c->second);
		return free_of(&c->rm, c->rm.device, MEMORY);
	}
}

static int exporting(struct ctx *c, enum phase phase)
{
	switch (phase) {
	case PREPARE:
		c->fd = rm_open_node(FOLDER, "nvidiactl");
		return rm_alloc_video(&c->rm, MEMORY, 2 * MIB);
	case CALL:
		return rm_export(c->rm.ctl, c->rm.client, c->rm.device, MEMORY, c->fd);
	case UNDO: /* an export ends with its file */
		close_fd(&c->fd);
		c->fd = rm_open_node(FOLDER, "nvidiactl");
		return 0;
	default:
		close_fd(&c->fd);
		return free_of(&c->rm, c->rm.device, MEMORY);
	}
}

static int importing(struct ctx *c, enum phase phase)
{
	switch (phase) {
	case PREPARE:
		return exporting(c, PREPARE) ?: exporting(c, CALL) ?: rm_start(&c->second, FOLDER);
	case CALL:
		return rm_import(c->second.ctl, c->second.client, c->second.device, SECOND, c->fd);
	case UNDO:
		return free_of(&c->second, c->second.device, SECOND);
	default:
		rm_stop(&c->second);
		return exporting(c, CLEAR);
	}
}

/* ---- mappings ---- */

static int map_context(struct ctx *c, enum phase phase)
{
	switch (phase) {
	case PREPARE:
		c->fd = rm_open_gpu(FOLDER, c->rm.minor);
		return rm_alloc_video(&c->rm, MEMORY, 2 * MIB);
	case CALL:
		return rm_map(c->rm.ctl, c->rm.client, c->rm.device, MEMORY, 2 * MIB, c->fd);
	case UNDO: /* a file takes one */
		close_fd(&c->fd);
		c->fd = rm_open_gpu(FOLDER, c->rm.minor);
		return 0;
	default:
		close_fd(&c->fd);
		return free_of(&c->rm, c->rm.device, MEMORY);
	}
}

static int mapping(struct ctx *c, enum phase phase)
{
	switch (phase) {
	case PREPARE:
		return map_context(c, PREPARE) ?: map_context(c, CALL);
	case CALL:
		c->at = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
		return c->at == MAP_FAILED ? -errno : 0;
	case UNDO:
		return munmap(c->at, 2 * MIB);
	default:
		return map_context(c, CLEAR);
	}
}

static int map_on_card(struct ctx *c, enum phase phase)
{
	struct nv_memory_virtual_alloc space = { 0 };
	uint32_t handle = SPACE;

	switch (phase) {
	case PREPARE:
		return rm_alloc_video(&c->rm, MEMORY, 2 * MIB) ?:
			       rm_alloc(c->rm.ctl, c->rm.client, c->rm.device, &handle,
					NV01_MEMORY_VIRTUAL, &space);
	case CALL:
		c->va = 0;
		return rm_map_dma(c->rm.ctl, c->rm.client, c->rm.device, SPACE, MEMORY, 2 * MIB,
				  &c->va);
	case UNDO: { /* mappings go with what they name */
		free_of(&c->rm, c->rm.device, SPACE);
		return rm_alloc(c->rm.ctl, c->rm.client, c->rm.device, &handle, NV01_MEMORY_VIRTUAL,
				&space);
	}
	default:
		free_of(&c->rm, c->rm.device, SPACE);
		return free_of(&c->rm, c->rm.device, MEMORY);
	}
}

/* ---- controls ---- */

static int control(struct ctx *c, enum phase phase, uint32_t object, uint32_t cmd, uint32_t bytes)
{
	static uint8_t params[16384];

	if (phase != CALL)
		return 0;
	memset(params, 0, sizeof(params));
	if (cmd == NV2080_CTRL_FB_GET_INFO_V2)
		rm_put32(params, 0, 3);
	if (cmd == NV2080_CTRL_GPU_GET_PID_INFO) {
		rm_put32(params, 0, 1);
		rm_put32(params, 8, (uint32_t)getpid());
	}
	return rm_control(c->rm.ctl, c->rm.client, object, cmd, params, bytes);
}

static int sizes(struct ctx *c, enum phase phase)
{
	return control(c, phase, c->rm.subdevice, NV2080_CTRL_FB_GET_INFO_V2, 436);
}

/* The pairs lie behind a pointer. */
static int sizes_behind_pointer(struct ctx *c, enum phase phase)
{
	uint32_t pairs[4] = { 8, 0, 9, 0 };
	struct {
		uint32_t count, pad;
		uint64_t list;
	} p = { 2, 0, (uintptr_t)pairs };

	if (phase != CALL)
		return 0;
	return rm_control(c->rm.ctl, c->rm.client, c->rm.subdevice, NV2080_CTRL_FB_GET_INFO, &p,
			  sizeof(p));
}

static int process_memory(struct ctx *c, enum phase phase)
{
	return control(c, phase, c->rm.subdevice, NV2080_CTRL_GPU_GET_PID_INFO,
		       8 + 200 * sizeof(struct nv2080_pid_info));
}

static int card_ids(struct ctx *c, enum phase phase)
{
	return control(c, phase, c->rm.client, NV0000_CTRL_GPU_GET_ATTACHED_IDS, 128);
}

/* ---- work ---- */

static int channel_group(struct ctx *c, enum phase phase)
{
	struct nv_channel_group_alloc p = { .h_va_space = UVM_VASPACE, .engine_type = 1 };
	uint32_t handle = GROUP;

	if (phase == CALL)
		return rm_alloc(c->rm.ctl, c->rm.client, c->rm.device, &handle,
				KEPLER_CHANNEL_GROUP_A, &p);
	return phase == UNDO ? free_of(&c->rm, c->rm.device, GROUP) : 0;
}

static int context_share(struct ctx *c, enum phase phase)
{
	struct nv_ctxshare_alloc p = { .h_va_space = UVM_VASPACE };
	uint32_t handle = SHARE;

	switch (phase) {
	case PREPARE:
		return channel_group(c, CALL);
	case CALL:
		return rm_alloc(c->rm.ctl, c->rm.client, GROUP, &handle, FERMI_CONTEXT_SHARE_A, &p);
	case UNDO:
		return free_of(&c->rm, GROUP, SHARE);
	default:
		return channel_group(c, UNDO);
	}
}

static int channel(struct ctx *c, enum phase phase)
{
	uint8_t p[360] = { 0 }; /* NV_CHANNEL_ALLOC_PARAMS of 535 */
	uint32_t handle = CHANNEL;

	rm_put64(p, 8, 0x100000); /* ring */
	rm_put32(p, 16, 64); /* its entries */
	rm_put32(p, 24, SHARE);
	rm_put32(p, 32, USER_AREA);
	rm_put32(p, 128, 1); /* graphics engine */
	switch (phase) {
	case PREPARE:
		return context_share(c, PREPARE) ?: context_share(c, CALL) ?:
							    rm_alloc_system(&c->rm, USER_AREA,
									    64 << 10);
	case CALL:
		return rm_alloc(c->rm.ctl, c->rm.client, GROUP, &handle, AMPERE_CHANNEL_GPFIFO_A,
				p);
	case UNDO:
		return free_of(&c->rm, GROUP, CHANNEL);
	default:
		free_of(&c->rm, c->rm.device, USER_AREA);
		return context_share(c, CLEAR);
	}
}

/* An event names a label on a file. */
static int event_file(struct ctx *c)
{
	struct nv_alloc_os_event os = { .h_client = c->rm.client,
					.h_device = c->rm.device,
					.status = RM_STATUS_UNTOUCHED };

	c->fd = rm_open_gpu(FOLDER, c->rm.minor);
	os.fd = (uint32_t)c->fd;
	return rm_register_fd(c->fd, c->rm.ctl) ?:
		       rm_ioctl(c->fd, NV_ESC_ALLOC_OS_EVENT, &os, sizeof(os)) ?:
						  (int)os.status;
}

static int event(struct ctx *c, enum phase phase)
{
	struct nv0005_alloc p = { .h_parent_client = c->rm.client,
				  .h_src_resource = c->rm.subdevice,
				  .h_class = NV01_EVENT_OS_EVENT,
				  .data = (uint32_t)c->fd };
	uint32_t handle = EVENT;

	switch (phase) {
	case PREPARE:
		return event_file(c);
	case CALL:
		return rm_alloc(c->rm.ctl, c->rm.client, c->rm.subdevice, &handle,
				NV01_EVENT_OS_EVENT, &p);
	case UNDO:
		return free_of(&c->rm, c->rm.subdevice, EVENT);
	default:
		return close_fd(&c->fd);
	}
}

/* ---- managed memory ---- */

static int uvm_init(struct ctx *c, enum phase phase)
{
	struct uvm_initialize p = { 0 };

	if (phase == PREPARE || phase == UNDO) {
		close_fd(&c->fd);
		c->fd = rm_open_node(FOLDER, "nvidia-uvm");
		return c->fd < 0 ? c->fd : 0;
	}
	return phase == CALL ? UVM_CALL(c->fd, UVM_INITIALIZE, &p) : close_fd(&c->fd);
}

static int uvm_mm(struct ctx *c, enum phase phase)
{
	struct uvm_mm_initialize p = { .uvm_fd = (uint32_t)c->other };
	int rc;

	if (phase == PREPARE || phase == UNDO) {
		close_fd(&c->fd);
		close_fd(&c->other);
		rc = uvm_init(c, PREPARE) ?: uvm_init(c, CALL);
		c->other = c->fd;
		c->fd = rm_open_node(FOLDER, "nvidia-uvm");
		return rc;
	}
	if (phase == CALL)
		return UVM_CALL(c->fd, UVM_MM_INITIALIZE, &p);
	close_fd(&c->other);
	return close_fd(&c->fd);
}

static int uvm_gpu(struct ctx *c, enum phase phase)
{
	if (phase == PREPARE || phase == UNDO) {
		uvm_stop(&c->fresh);
		return uvm_open(&c->fresh, FOLDER);
	}
	if (phase == CALL)
		return uvm_register(&c->fresh, &c->rm, c->books.uuid);
	uvm_stop(&c->fresh);
	return 0;
}

static int managed(struct ctx *c, enum phase phase)
{
	if (phase == PREPARE) {
		c->at = uvm_reserve(4 * MIB);
		return 0;
	}
	if (phase == CALL)
		return mmap(c->at, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			    c->uvm.fd, (off_t)c->at) == MAP_FAILED ?
			       -errno :
			       0;
	return munmap(c->at, 4 * MIB);
}

static int range(struct ctx *c, enum phase phase)
{
	if (phase == CALL)
		return uvm_create_range(c->uvm.fd, RANGE, 8 * MIB);
	return phase == UNDO ? uvm_free_range(c->uvm.fd, RANGE, 8 * MIB) : 0;
}

static int external(struct ctx *c, enum phase phase)
{
	switch (phase) {
	case PREPARE:
		return rm_alloc_video(&c->rm, MEMORY, 2 * MIB) ?: range(c, CALL);
	case CALL:
		return uvm_map(&c->uvm, &c->rm, MEMORY, RANGE, 2 * MIB);
	case UNDO:
		return range(c, UNDO) ?: range(c, CALL);
	default:
		range(c, UNDO);
		return free_of(&c->rm, c->rm.device, MEMORY);
	}
}

static int range_end(struct ctx *c, enum phase phase)
{
	if (phase == PREPARE || phase == UNDO)
		return external(c, PREPARE) ?: external(c, CALL) ?:
						       free_of(&c->rm, c->rm.device, MEMORY);
	return range(c, UNDO);
}

static int pool(struct ctx *c, enum phase phase)
{
	if (phase == CALL)
		return uvm_alloc_pool(&c->uvm, POOL, 2 * MIB);
	return phase == UNDO ? uvm_free_range(c->uvm.fd, POOL, 2 * MIB) : 0;
}

/* ---- the operator ---- */

static int tenant_new(struct ctx *c, enum phase phase)
{
	if (phase == CALL)
		return genl_tenant_new(c->netlink, PASSING, c->card, 64 * MIB);
	return phase == UNDO ? genl_tenant_del(c->netlink, PASSING, 0) : 0;
}

static int tenant_del(struct ctx *c, enum phase phase)
{
	if (phase == PREPARE || phase == UNDO)
		return genl_tenant_new(c->netlink, PASSING, c->card, 64 * MIB);
	return genl_tenant_del(c->netlink, PASSING, 0);
}

static int share_set(struct ctx *c, enum phase phase)
{
	return phase == CALL ? genl_share_set(c->netlink, TENANT, c->card, QUOTA) : 0;
}

static int tenant_bind(struct ctx *c, enum phase phase)
{
	if (phase == CALL)
		return genl_tenant_bind(c->netlink, TENANT, c->cgroup);
	return phase == UNDO ? genl_tenant_bind(c->netlink, TENANT, 0) : 0;
}

static int tenant_get(struct ctx *c, enum phase phase)
{
	return phase == CALL ? genl_get(c->netlink, GPUSHARE_CMD_TENANT_GET, TENANT) : 0;
}

static int info_get(struct ctx *c, enum phase phase)
{
	return phase == CALL ? genl_get(c->netlink, GPUSHARE_CMD_INFO_GET, NULL) : 0;
}

static int dump_tenants(struct ctx *c, enum phase phase)
{
	return phase == CALL ? genl_dump(c->netlink, GPUSHARE_CMD_TENANT_GET) : 0;
}

static int dump_cards(struct ctx *c, enum phase phase)
{
	return phase == CALL ? genl_dump(c->netlink, GPUSHARE_CMD_CARD_GET) : 0;
}

static int dump_clients(struct ctx *c, enum phase phase)
{
	return phase == CALL ? genl_dump(c->netlink, GPUSHARE_CMD_CLIENT_GET) : 0;
}

static int dump_stats(struct ctx *c, enum phase phase)
{
	return phase == CALL ? genl_dump(c->netlink, GPUSHARE_CMD_STATS_GET) : 0;
}

static int share_file(struct ctx *c, enum phase phase, const char *name, const char *value)
{
	char path[400], text[64];
	ssize_t done;
	int fd, rc;

	if (phase != CALL)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", c->books.folder, name);
	fd = open(path, (value ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	done = value ? write(fd, value, strlen(value)) : read(fd, text, sizeof(text));
	rc = done < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static int read_free(struct ctx *c, enum phase phase)
{
	return share_file(c, phase, "free_bytes", NULL);
}

static int write_quota(struct ctx *c, enum phase phase)
{
	return share_file(c, phase, "quota_bytes", "536870912");
}

/* A tenant's first call makes its first forwarding thread. */
static int first_call(struct ctx *c, enum phase phase)
{
	uint32_t handle = 0;

	switch (phase) {
	case PREPARE:
		c->fd = genl_tenant_new(c->netlink, PASSING, c->card, 64 * MIB) ?:
				rm_open_node("/dev/gpushare/" PASSING, "nvidiactl");
		return c->fd < 0 ? c->fd : 0;
	case CALL:
		return rm_alloc(c->fd, 0, 0, &handle, NV01_ROOT, NULL);
	case UNDO:
		close_fd(&c->fd);
		return genl_tenant_del(c->netlink, PASSING, 0) ?: first_call(c, PREPARE);
	default:
		close_fd(&c->fd);
		return genl_tenant_del(c->netlink, PASSING, 0);
	}
}

/* ---- the table ---- */

#define CALLER	1
#define WORKERS 2
#define SPAWNER 4

static const struct step {
	const char *name;
	int (*run)(struct ctx *c, enum phase phase);
	unsigned int tasks;
} steps[] = {
	{ "open-ctl", open_ctl, CALLER },
	{ "open-gpu", open_gpu, CALLER },
	{ "open-uvm", open_uvm, CALLER },
	{ "register-fd", register_fd, CALLER | WORKERS },
	{ "poll", polling, CALLER },
	{ "card-info", card_info, CALLER | WORKERS },
	{ "first-call", first_call, CALLER | SPAWNER },
	{ "client", client, CALLER | WORKERS },
	{ "wrapped-client", wrapped_client, CALLER },
	{ "device", device, CALLER | WORKERS },
	{ "card-memory", card_memory, CALLER | WORKERS },
	{ "heap-memory", heap_memory, CALLER | WORKERS },
	{ "heap-free", heap_free, CALLER | WORKERS },
	{ "system-memory", system_memory, CALLER | WORKERS },
	{ "free", freeing, CALLER | WORKERS },
	{ "duplicate", duplicate, CALLER | WORKERS },
	{ "export", exporting, CALLER | WORKERS },
	{ "import", importing, CALLER | WORKERS },
	{ "map", map_context, CALLER | WORKERS },
	{ "mmap", mapping, CALLER },
	{ "map-on-card", map_on_card, CALLER },
	{ "sizes", sizes, CALLER | WORKERS },
	{ "sizes-behind-pointer", sizes_behind_pointer, CALLER | WORKERS },
	{ "process-memory", process_memory, CALLER | WORKERS },
	{ "card-ids", card_ids, CALLER | WORKERS },
	{ "channel-group", channel_group, CALLER | WORKERS },
	{ "context-share", context_share, CALLER | WORKERS },
	{ "channel", channel, CALLER | WORKERS },
	{ "event", event, CALLER | WORKERS },
	{ "uvm-initialize", uvm_init, CALLER | WORKERS },
	{ "uvm-mm-initialize", uvm_mm, CALLER | SPAWNER },
	{ "uvm-register-gpu", uvm_gpu, CALLER | WORKERS },
	{ "managed-mmap", managed, CALLER },
	{ "external-range", range, CALLER | WORKERS },
	{ "external-map", external, CALLER | WORKERS },
	{ "external-free", range_end, CALLER | WORKERS },
	{ "semaphore-pool", pool, CALLER | WORKERS },
	{ "tenant-new", tenant_new, CALLER },
	{ "tenant-del", tenant_del, CALLER },
	{ "tenant-bind", tenant_bind, CALLER },
	{ "tenant-get", tenant_get, CALLER },
	{ "share-set", share_set, CALLER },
	{ "info-get", info_get, CALLER },
	{ "dump-tenants", dump_tenants, CALLER },
	{ "dump-cards", dump_cards, CALLER },
	{ "dump-clients", dump_clients, CALLER },
	{ "dump-stats", dump_stats, CALLER },
	{ "sysfs-read", read_free, CALLER },
	{ "sysfs-write", write_quota, CALLER },
};

/* ---- the simulated driver's refusals ---- */

static const char *const sites[] = { "open", "alloc", "free", "control", "vidheap", "map", "dup",
				     "uvm" };

static const char *refusing; /* the site, or NULL: it is the kernel that fails */

static void driver_rule(const char *format, ...)
{
	FILE *file = fopen(TRUTH_DRIVER "/faults", "we");
	va_list args;

	if (!file)
		exit(3);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	if (fclose(file)) {
		fprintf(stderr, "the driver takes no rule\n");
		exit(3);
	}
}

static bool driver_met(unsigned int n)
{
	char text[1024];
	const char *met;

	truth_read(TRUTH_DRIVER "/faults", text, sizeof(text));
	met = strstr(text, " met=");
	return met && strtoul(met + 5, NULL, 10) >= n;
}

static void arm(unsigned int n)
{
	if (refusing)
		driver_rule("fail %s nth=%u status=0x%x\n", refusing, n, REFUSED);
	else
		fault_arm(n);
}

static bool disarm(unsigned int n)
{
	bool met;

	if (!refusing)
		return fault_disarm();
	met = driver_met(n);
	driver_rule("clear\n");
	return met;
}

/* ---- one call, each place ---- */

struct outcome {
	unsigned int points, met[4];
	char why[200];
};

static void __attribute__((format(printf, 2, 3))) went_wrong(struct outcome *o, const char *format,
							     ...)
{
	va_list args;

	if (o->why[0])
		return;
	va_start(args, format);
	vsnprintf(o->why, sizeof(o->why), format, args);
	va_end(args);
}

/* What a caller may be told. Statuses: nvstatuscodes.h of the driver. */
static bool says_so(enum fault_kind kind, int rc)
{
	switch (rc) {
	case -ENOMEM:
	case -ENOBUFS: /* netlink's word for it */
	case 0x1a: /* INSUFFICIENT_RESOURCES */
	case 0x51: /* NO_MEMORY */
		return true;
	case -EFAULT:
	case 0x1e: /* INVALID_ADDRESS */
		return kind == FAULT_COPY;
	case -EIO: /* the driver's for an open */
		return refusing;
	default:
		return false;
	}
}

/* An answer may still lie in the old one, or a dump be half told. */
static void fresh_socket(struct ctx *c)
{
	close(c->netlink);
	c->netlink = genl_open();
}

static void start_over(struct ctx *c)
{
	fresh_socket(c);
	uvm_stop(&c->uvm);
	rm_stop(&c->rm);
	if (rm_start(&c->rm, FOLDER) || uvm_start(&c->uvm, &c->rm, c->books.uuid)) {
		fprintf(stderr, "no client on " FOLDER "\n");
		exit(3);
	}
}

static void charged_back(struct ctx *c, struct outcome *o, unsigned int n)
{
	double end = truth_now() + SETTLE_S;
	uint64_t charged;

	while ((charged = books_value(&c->books, "charged")) != c->base_charged)
		if (truth_now() > end) {
			went_wrong(o, "place %u: charged %llu, before %llu", n,
				   (unsigned long long)charged,
				   (unsigned long long)c->base_charged);
			return;
		} else {
			truth_sleep_ms(5);
		}
}

static void counted_back(struct ctx *c, struct outcome *o)
{
	double end = truth_now() + SETTLE_S;
	char now[512], *line;

	do {
		truth_read(TRUTH_DRIVER "/counts", now, sizeof(now));
		if (!strcmp(now, c->counts))
			return;
		truth_sleep_ms(10);
	} while (truth_now() < end);
	for (line = now; *line; line++)
		if (*line == '\n')
			*line = ' ';
	went_wrong(o, "left in the driver: %s", now);
}

static void choose_tasks(unsigned int task)
{
	fault_forget_tasks();
	if (task == CALLER)
		fault_add_task("thread-self");
	else if (task == WORKERS)
		fault_add_threads("gpushare_fwd");
	else
		fault_add_task("2");
}

/* A call whose answer could not be read takes its file out of use: that is said by
 * ENODEV from then on, and a new file is needed. */
static bool works_again(struct ctx *c, const struct step *step, struct outcome *o, unsigned int n)
{
	int rc = step->run(c, CALL);

	if (rc == -ENODEV) {
		step->run(c, CLEAR);
		start_over(c);
		step->run(c, PREPARE);
		rc = step->run(c, CALL);
	}
	if (rc)
		went_wrong(o, "place %u: the next call: %d (0x%x)", n, rc, (unsigned int)rc);
	return !rc;
}

/* Where the answer could not be copied out, the call may have acted all the same: as with
 * the driver itself, what it made then lasts until its file is closed. */
static void as_if_never_made(struct ctx *c, const struct step *step)
{
	step->run(c, UNDO);
	step->run(c, CLEAR);
	start_over(c);
	step->run(c, PREPARE);
}

/* False: the call has no Nth place. */
static bool one_place(struct ctx *c, const struct step *step, struct outcome *o, unsigned int n)
{
	enum fault_kind kind;
	bool met;
	int rc;

	arm(n);
	rc = step->run(c, CALL);
	met = disarm(n);
	kind = refusing ? FAULT_NONE : fault_read_log();
	if (met)
		o->met[kind]++;
	if (met && rc && !says_so(kind, rc))
		went_wrong(o, "place %u (%s): %d (0x%x)", n, fault_names[kind], rc,
			   (unsigned int)rc);
	if (!met && rc)
		went_wrong(o, "place %u, which it has not: %d (0x%x)", n, rc, (unsigned int)rc);
	if (rc)
		fresh_socket(c);
	if (rc && kind == FAULT_COPY)
		as_if_never_made(c, step);
	if (rc && !works_again(c, step, o, n))
		return false;
	rc = step->run(c, UNDO);
	if (rc)
		went_wrong(o, "place %u: undo: %d (0x%x)", n, rc, (unsigned int)rc);
	charged_back(c, o, n);
	return met;
}

static bool each_place(struct ctx *c, const struct step *step, unsigned int task, const char *whose)
{
	struct outcome o = { 0 };
	unsigned int n;
	int rc = step->run(c, PREPARE);

	if (rc)
		went_wrong(&o, "prepare: %d (0x%x)", rc, (unsigned int)rc);
	c->base_charged = books_value(&c->books, "charged");
	if (!refusing) {
		choose_tasks(task);
		fault_read_log();
	}
	for (n = 1; n < POINTS_MAX && !o.why[0] && one_place(c, step, &o, n); n++)
		;
	if (n == POINTS_MAX)
		went_wrong(&o, "more than %u places", n);
	o.points = n - 1;
	step->run(c, CLEAR);
	counted_back(c, &o);
	printf("%s %s points=%u slab=%u page=%u copy=%u %s%s\n", step->name, whose, o.points,
	       o.met[FAULT_SLAB], o.met[FAULT_PAGE], o.met[FAULT_COPY], o.why[0] ? "FAIL " : "ok",
	       o.why);
	fflush(stdout);
	if (o.why[0])
		start_over(c);
	return !o.why[0];
}

/* ---- the whole ---- */

static void begin(struct ctx *c, const char *card)
{
	struct stat folder;
	int rc;

	c->card = card;
	c->fd = c->other = c->fresh.fd = c->fresh.mm_fd = -1;
	c->second.ctl = c->second.gpu = -1;
	c->netlink = genl_open();
	genl_family = genl_find(c->netlink);
	rc = genl_tenant_new(c->netlink, TENANT, card, QUOTA);
	if (rc || !books_open(&c->books, FOLDER, 0)) {
		fprintf(stderr, "no tenant: %d\n", rc);
		exit(3);
	}
	mkdir("/sys/fs/cgroup/faulty", 0755);
	if (stat("/sys/fs/cgroup/faulty", &folder))
		exit(3);
	c->cgroup = folder.st_ino;
	c->uvm.fd = c->uvm.mm_fd = -1;
	start_over(c);
	truth_read(TRUTH_DRIVER "/counts", c->counts, sizeof(c->counts));
	mlockall(MCL_CURRENT);
}

static bool kernel_fails(struct ctx *c, const struct step *step)
{
	bool fine = true;

	if (step->tasks & CALLER)
		fine &= each_place(c, step, CALLER, "caller");
	if (step->tasks & WORKERS)
		fine &= each_place(c, step, WORKERS, "workers");
	if (step->tasks & SPAWNER)
		fine &= each_place(c, step, SPAWNER, "spawner");
	return fine;
}

static bool driver_refuses(struct ctx *c, const struct step *step)
{
	bool fine = true;
	unsigned int i;

	for (i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		refusing = sites[i];
		fine &= each_place(c, step, 0, refusing);
	}
	return fine;
}

int main(int argc, char **argv)
{
	static struct ctx c;
	bool fine = true, driver;
	unsigned int i;

	if (argc < 3 || argc > 4)
		return 2;
	driver = !strcmp(argv[2], "driver");
	begin(&c, argv[1]);
	if (!driver)
		fault_init();
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (argc == 3 || !strcmp(argv[3], steps[i].name))
			fine &= driver ? driver_refuses(&c, &steps[i]) : kernel_fails(&c, &steps[i]);
	uvm_stop(&c.uvm);
	rm_stop(&c.rm);
	fine &= !genl_tenant_del(c.netlink, TENANT, 0);
	fault_report();
	printf("faults: %s\n", fine ? "ok" : "FAIL");
	return !fine;
}
