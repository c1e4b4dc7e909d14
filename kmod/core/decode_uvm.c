// SPDX-License-Identifier: GPL-2.0
/*
 * The managed-memory node's commands: see decode.h. Raw numbers, sizes known to the driver
 * alone. Source: open-gpu-kernel-modules 535.261.03, kernel-open/nvidia-uvm/uvm.c (uvm_ioctl),
 * uvm_ioctl.h; what changes between drivers stands in nvabi/versions.h.
 */
#include "core/decode.h"
#include "nvabi/structs.h"

/* What stands where in a parameter struct. */
#define HAS_RANGE 0x01 /* base u64 at 0, length u64 at 8 */
#define HAS_UUID  0x02 /* 16 bytes at uuid_off */

struct command {
	u32 cmd;
	u16 bytes; /* 0: read_by_version() has it */
	u16 status_off;
	u8 kind;
	u8 has;
	u8 uuid_off;
};

#define STRUCT(cmd, type, kind, has, uuid_off) \
	{ cmd, sizeof(struct type), offsetof(struct type, rm_status), kind, has, uuid_off }

/* One command a line: */
/* clang-format off */
static const struct command commands[] = { /* sorted by number */
	{ UVM_CREATE_RANGE_GROUP, 16, 8, GSH_UVM_PASS, 0, 0 },
	{ UVM_DESTROY_RANGE_GROUP, 16, 8, GSH_UVM_PASS, 0, 0 },
	STRUCT(UVM_REGISTER_GPU_VASPACE, uvm_register_gpu_vaspace, GSH_UVM_REGISTER_GPU_VASPACE, HAS_UUID, 0),
	{ UVM_UNREGISTER_GPU_VASPACE, 20, 16, GSH_UVM_UNREGISTER_GPU_VASPACE, HAS_UUID, 0 },
	STRUCT(UVM_REGISTER_CHANNEL, uvm_register_channel, GSH_UVM_REGISTER_CHANNEL, HAS_UUID, 0),
	{ UVM_UNREGISTER_CHANNEL, 0, 0, GSH_UVM_UNREGISTER_CHANNEL, 0, 0 },
	{ UVM_ENABLE_PEER_ACCESS, 36, 32, GSH_UVM_PASS, 0, 0 },
	{ UVM_DISABLE_PEER_ACCESS, 36, 32, GSH_UVM_PASS, 0, 0 },
	{ UVM_SET_RANGE_GROUP, 32, 24, GSH_UVM_PASS, 0, 0 },
	{ UVM_MAP_EXTERNAL_ALLOCATION, 0, 0, GSH_UVM_MAP_EXTERNAL, HAS_RANGE, 0 },
	{ UVM_FREE, 0, 0, GSH_UVM_FREE, 0, 0 },
	STRUCT(UVM_REGISTER_GPU, uvm_register_gpu, GSH_UVM_REGISTER_GPU, HAS_UUID, 0),
	{ UVM_UNREGISTER_GPU, 20, 16, GSH_UVM_UNREGISTER_GPU, HAS_UUID, 0 },
	{ UVM_PAGEABLE_MEM_ACCESS, 8, 4, GSH_UVM_PASS, 0, 0 },
	{ UVM_PREVENT_MIGRATION, 272, 264, GSH_UVM_PASS, 0, 0 },
	{ UVM_ALLOW_MIGRATION, 272, 264, GSH_UVM_PASS, 0, 0 },
	{ UVM_SET_PREFERRED_LOCATION, 40, 0, GSH_UVM_RANGE, HAS_RANGE | HAS_UUID, 16 },
	{ UVM_UNSET_PREFERRED_LOCATION, 24, 16, GSH_UVM_RANGE, HAS_RANGE, 0 },
	{ UVM_ENABLE_READ_DUPLICATION, 24, 16, GSH_UVM_RANGE, HAS_RANGE, 0 },
	{ UVM_DISABLE_READ_DUPLICATION, 24, 16, GSH_UVM_RANGE, HAS_RANGE, 0 },
	{ UVM_SET_ACCESSED_BY, 40, 32, GSH_UVM_RANGE, HAS_RANGE | HAS_UUID, 16 },
	{ UVM_UNSET_ACCESSED_BY, 40, 32, GSH_UVM_RANGE, HAS_RANGE | HAS_UUID, 16 },
	STRUCT(UVM_MIGRATE, uvm_migrate, GSH_UVM_MIGRATE, HAS_RANGE | HAS_UUID, 16),
	{ UVM_MIGRATE_RANGE_GROUP, 32, 24, GSH_UVM_PASS, HAS_UUID, 8 },
	{ UVM_ENABLE_SYSTEM_WIDE_ATOMICS, 20, 16, GSH_UVM_PASS, HAS_UUID, 0 },
	{ UVM_DISABLE_SYSTEM_WIDE_ATOMICS, 20, 16, GSH_UVM_PASS, HAS_UUID, 0 },
	{ UVM_TOOLS_READ_PROCESS_MEMORY, 40, 32, GSH_UVM_PASS, 0, 0 },
	{ UVM_TOOLS_WRITE_PROCESS_MEMORY, 40, 32, GSH_UVM_PASS, 0, 0 },
	{ UVM_TOOLS_GET_PROCESSOR_TABLE, 0, 0, GSH_UVM_PASS, 0, 0 },
	{ UVM_MAP_DYNAMIC_PARALLELISM, 40, 32, GSH_UVM_RANGE, HAS_RANGE | HAS_UUID, 16 },
	STRUCT(UVM_UNMAP_EXTERNAL, uvm_unmap_external, GSH_UVM_UNMAP_EXTERNAL, HAS_RANGE | HAS_UUID, 16),
	{ UVM_TOOLS_FLUSH_EVENTS, 4, 0, GSH_UVM_PASS, 0, 0 },
	{ UVM_ALLOC_SEMAPHORE_POOL, 0, 0, GSH_UVM_ALLOC_SEMAPHORE_POOL, HAS_RANGE, 0 },
	{ UVM_CLEAN_UP_ZOMBIES, 4, 0, GSH_UVM_PASS, 0, 0 },
	{ UVM_PAGEABLE_MEM_ACCESS_ON_GPU, 24, 20, GSH_UVM_PASS, HAS_UUID, 0 },
	{ UVM_POPULATE_PAGEABLE, 24, 20, GSH_UVM_RANGE, HAS_RANGE, 0 },
	{ UVM_VALIDATE_VA_RANGE, 24, 16, GSH_UVM_RANGE, HAS_RANGE, 0 },
	STRUCT(UVM_CREATE_EXTERNAL_RANGE, uvm_create_external_range, GSH_UVM_CREATE_EXTERNAL_RANGE, HAS_RANGE, 0),
	{ UVM_MAP_EXTERNAL_SPARSE, 40, 32, GSH_UVM_MAP_SPARSE, HAS_RANGE | HAS_UUID, 16 },
	STRUCT(UVM_MM_INITIALIZE, uvm_mm_initialize, GSH_UVM_MM_INITIALIZE, 0, 0),
	{ UVM_TOOLS_GET_PROCESSOR_TABLE_V2, 0, 0, GSH_UVM_PASS, 0, 0 },
	{ UVM_ALLOC_DEVICE_P2P, 0, 52, GSH_UVM_ALLOC_DEVICE_P2P, HAS_RANGE | HAS_UUID, 24 },
	{ UVM_CLEAR_ALL_ACCESS_COUNTERS, 0, 0, GSH_UVM_PASS, 0, 0 },
	{ UVM_DISCARD, 0, 24, GSH_UVM_RANGE, HAS_RANGE, 0 },
	STRUCT(UVM_INITIALIZE, uvm_initialize, GSH_UVM_INITIALIZE, 0, 0),
	{ UVM_DEINITIALIZE, 0, GSH_OFF_NONE, GSH_UVM_DEINITIALIZE, 0, 0 },
};
/* clang-format on */

static const struct command *find_command(u32 cmd)
{
	u32 low = 0, high = GSH_ARRAY_SIZE(commands);

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (commands[middle].cmd == cmd)
			return &commands[middle];
		if (commands[middle].cmd < cmd)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* false: this driver has no such command. */
static bool layout(const struct nvabi_version *v, const struct command *command, u32 *bytes,
		   u16 *status_off)
{
	*bytes = command->bytes;
	*status_off = command->status_off;
	switch (command->cmd) {
	case UVM_MAP_EXTERNAL_ALLOCATION:
		*bytes = v->uvm_map_external_bytes;
		*status_off = v->uvm_map_external_status_off;
		return true;
	case UVM_ALLOC_SEMAPHORE_POOL:
		*bytes = v->uvm_semaphore_pool_bytes;
		*status_off = v->uvm_semaphore_pool_status_off;
		return true;
	case UVM_FREE:
		*bytes = v->uvm_free_bytes;
		*status_off = v->uvm_free_status_off;
		return true;
	case UVM_UNREGISTER_CHANNEL:
		*bytes = v->uvm_unregister_channel_bytes;
		*status_off = v->uvm_unregister_channel_status_off;
		return true;
	case UVM_SET_PREFERRED_LOCATION:
		*status_off = v->uvm_preferred_location_status_off;
		return true;
	case UVM_ENABLE_SYSTEM_WIDE_ATOMICS:
	case UVM_DISABLE_SYSTEM_WIDE_ATOMICS:
		return v->uvm_has_system_wide_atomics;
	case UVM_TOOLS_GET_PROCESSOR_TABLE:
		*bytes = v->uvm_processor_table_bytes;
		*status_off = v->uvm_processor_table_status_off;
		return true;
	case UVM_TOOLS_GET_PROCESSOR_TABLE_V2:
		*bytes = v->uvm_processor_table_bytes;
		*status_off = v->uvm_processor_table_status_off;
		return v->uvm_has_processor_table_v2;
	case UVM_ALLOC_DEVICE_P2P:
		*bytes = v->uvm_alloc_device_p2p_bytes;
		return *bytes != 0;
	case UVM_CLEAR_ALL_ACCESS_COUNTERS:
		*bytes = 4;
		return v->uvm_has_clear_access_counters;
	case UVM_DISCARD:
		*bytes = 32;
		return v->uvm_has_discard;
	default:
		return true;
	}
}

int gsh_uvm_bytes(const struct nvabi_version *v, u32 cmd, u32 *bytes)
{
	const struct command *command = find_command(cmd);
	u16 status_off;

	if (!command || !layout(v, command, bytes, &status_off))
		return -EINVAL;
	return 0;
}

static void set_fd(struct gsh_uvm_request *req, const void *arg, u16 off, enum nvabi_fd_kind kind)
{
	req->fd_kind = kind;
	req->fd_off = off;
	req->fd = (s32)gsh_get32(arg, off);
}

static void read_handles(struct gsh_uvm_request *req, const void *arg, u32 client_off)
{
	req->h_client = gsh_get32(arg, client_off);
	req->h_object = gsh_get32(arg, client_off + 4);
}

static void read_free(const struct nvabi_version *v, struct gsh_uvm_request *req, const void *arg)
{
	req->base = gsh_get64(arg, 0);
	if (v->uvm_free_length_off)
		req->length = gsh_get64(arg, v->uvm_free_length_off);
}

static void read_map_external(const struct nvabi_version *v, struct gsh_uvm_request *req,
			      const void *arg)
{
	u64 gpus = gsh_get64(arg, v->uvm_map_external_count_off);

	req->offset = gsh_get64(arg, 16);
	req->gpu_count = gpus > U32_MAX ? U32_MAX : (u32)gpus;
	set_fd(req, arg, v->uvm_map_external_fd_off, NVABI_FD_UNUSED);
	read_handles(req, arg, v->uvm_map_external_client_off);
}

static void read_rest(const struct nvabi_version *v, struct gsh_uvm_request *req, const void *arg)
{
	switch (req->kind) {
	case GSH_UVM_INITIALIZE:
		req->flags = gsh_get64(arg, 0);
		break;
	case GSH_UVM_MM_INITIALIZE:
		set_fd(req, arg, 0, NVABI_FD_UVM_FILE);
		break;
	case GSH_UVM_REGISTER_GPU:
		set_fd(req, arg, offsetof(struct uvm_register_gpu, rm_ctrl_fd), NVABI_FD_UNUSED);
		req->h_client = gsh_get32(arg, offsetof(struct uvm_register_gpu, h_client));
		break;
	case GSH_UVM_REGISTER_GPU_VASPACE:
		set_fd(req, arg, offsetof(struct uvm_register_gpu_vaspace, rm_ctrl_fd),
		       NVABI_FD_UNUSED);
		read_handles(req, arg, offsetof(struct uvm_register_gpu_vaspace, h_client));
		break;
	case GSH_UVM_REGISTER_CHANNEL:
		set_fd(req, arg, offsetof(struct uvm_register_channel, rm_ctrl_fd),
		       NVABI_FD_UNUSED);
		read_handles(req, arg, offsetof(struct uvm_register_channel, h_client));
		req->base = gsh_get64(arg, offsetof(struct uvm_register_channel, base));
		req->length = gsh_get64(arg, offsetof(struct uvm_register_channel, length));
		break;
	case GSH_UVM_UNREGISTER_CHANNEL:
		if (v->uvm_unregister_channel_client_off)
			req->uuid_off = 0;
		read_handles(req, arg, v->uvm_unregister_channel_client_off);
		break;
	case GSH_UVM_FREE:
		read_free(v, req, arg);
		break;
	case GSH_UVM_MAP_EXTERNAL:
		read_map_external(v, req, arg);
		break;
	case GSH_UVM_ALLOC_DEVICE_P2P:
		req->offset = gsh_get64(arg, 16);
		set_fd(req, arg, 40, NVABI_FD_UNUSED);
		read_handles(req, arg, 44);
		break;
	default:
		break;
	}
}

int gsh_decode_uvm(const struct nvabi_version *v, u32 cmd, const void *arg, u32 bytes,
		   struct gsh_uvm_request *req)
{
	const struct command *command = find_command(cmd);

	memset(req, 0, sizeof(*req));
	if (!command || !layout(v, command, &req->bytes, &req->status_off) || bytes < req->bytes)
		return -EINVAL;

	req->kind = (enum gsh_uvm_kind)command->kind;
	req->cmd = cmd;
	req->uuid_off = command->has & HAS_UUID ? command->uuid_off : GSH_OFF_NONE;
	req->fd_off = GSH_OFF_NONE;
	if (command->has & HAS_RANGE) {
		req->base = gsh_get64(arg, 0);
		req->length = gsh_get64(arg, 8);
	}
	read_rest(v, req, arg);
	return 0;
}
