// SPDX-License-Identifier: GPL-2.0
/*
 * Controls on objects that no card stands behind: who the card is and how
 * much memory is left on it. Any other control on them is unknown.
 */
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "nocard.h"

/* ctrl2080gpu.h: NV2080_GPU_CMD_GPU_GET_GID_FLAGS_FORMAT */
#define GID_BINARY 2

static void put_uuid_text(unsigned int card, char *text, size_t bytes)
{
	u8 uuid[NC_UUID_BYTES];

	nc_uuid(card, uuid);
	scnprintf(text, bytes, "GPU-%pUb", uuid);
}

static u32 gid_info(const struct nc_object *object, void *params, u32 size)
{
	struct nv2080_gid_info *info = params;

	if (size != sizeof(*info))
		return NV_ERR_INVALID_ARGUMENT;
	if (info->flags & GID_BINARY) {
		nc_uuid(object->card, info->data);
		info->length = NC_UUID_BYTES;
	} else {
		put_uuid_text(object->card, info->data, sizeof(info->data));
		info->length = strlen(info->data) + 1;
	}
	return NV_OK;
}

/* flags at 0 (0: ASCII), text from 4: ctrl2080gpu.h, NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS */
static u32 name_string(void *params, u32 size)
{
	if (size < 4 + sizeof(NC_NAME))
		return NV_ERR_INVALID_ARGUMENT;
	strscpy(params + 4, NC_NAME, size - 4);
	return NV_OK;
}

static u64 fb_figure(unsigned int card, u32 index)
{
	u64 heap = nc_memory_bytes - NC_RESERVE_BYTES;

	switch (index) {
	case NV_FB_INFO_RAM_SIZE:
	case NV_FB_INFO_TOTAL_RAM_SIZE:
		return nc_memory_bytes;
	case NV_FB_INFO_HEAP_SIZE:
	case NV_FB_INFO_USABLE_RAM_SIZE:
		return heap;
	case NV_FB_INFO_HEAP_FREE:
	case NV_FB_INFO_LARGEST_FREE_SIZE:
		return heap - min(heap, nc_used_bytes(card));
	default:
		return 0;
	}
}

/* A count, then pairs of index and figure in KiB: ctrl2080fb.h */
static u32 fb_info(const struct nc_object *object, u32 *params, u32 size)
{
	u32 i;

	if (size != nc_version->fb_info_v2_bytes || params[0] > nc_version->fb_info_v2_entries)
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < params[0]; i++)
		params[2 + 2 * i] = fb_figure(object->card, params[1 + 2 * i]) >> 10;
	return NV_OK;
}

/* The driver numbers cards by bus and slot: the low byte is the slot. */
static bool card_of(u32 gpu_id, unsigned int *card)
{
	*card = gpu_id & 0xff;
	return gpu_id >> 8 == NC_BUS && *card < nc_cards;
}

static bool id_info(struct nv0000_id_info_v2 *info, u32 *status)
{
	unsigned int card;

	if (!card_of(info->gpu_id, &card))
		return false;
	*info = (struct nv0000_id_info_v2){
		.gpu_id = info->gpu_id,
		.device_instance = card,
		.gpu_instance = card,
		.board_id = info->gpu_id,
		.numa_id = -1,
	};
	*status = NV_OK;
	return true;
}

static bool handle_info(u32 client, struct nv0000_handle_info *info, u32 *status)
{
	struct nc_object *object = nc_object_find(client, info->h_object);

	if (!object)
		return false;
	*status = NV_OK;
	if (info->index == NV0000_HANDLE_INFO_PARENT)
		info->data_h_result = object->parent;
	else if (info->index == NV0000_HANDLE_INFO_CLASS)
		info->data_h_result = object->h_class;
	else
		*status = NV_ERR_INVALID_ARGUMENT;
	return true;
}

static u32 subdevice(const struct nc_object *object, u32 cmd, void *params, u32 size)
{
	switch (cmd) {
	case NV2080_CTRL_GPU_GET_GID_INFO:
		return gid_info(object, params, size);
	case NV2080_CTRL_GPU_GET_NAME_STRING:
		return name_string(params, size);
	case NV2080_CTRL_FB_GET_INFO_V2:
		return fb_info(object, params, size);
	default:
		return NV_ERR_NOT_SUPPORTED;
	}
}

/* Of the client's own controls, those that ask for a card or for an object of ours. */
bool nc_may_answer(u32 client, u32 h_object, u32 cmd, u32 size)
{
	if (nc_object_find(client, h_object))
		return true;
	if (cmd == NV0000_CTRL_GPU_GET_ID_INFO_V2)
		return size == sizeof(struct nv0000_id_info_v2);
	if (cmd == NV0000_CTRL_CLIENT_GET_HANDLE_INFO)
		return size == sizeof(struct nv0000_handle_info);
	return false;
}

bool nc_answer(u32 client, u32 h_object, u32 cmd, void *params, u32 size, u32 *status)
{
	struct nc_object *object = nc_object_find(client, h_object);

	if (object) {
		*status = NV_ERR_NOT_SUPPORTED;
		if (object->h_class == NV20_SUBDEVICE_0)
			*status = subdevice(object, cmd, params, size);
		return true;
	}
	if (cmd == NV0000_CTRL_GPU_GET_ID_INFO_V2)
		return id_info(params, status);
	return handle_info(client, params, status);
}
