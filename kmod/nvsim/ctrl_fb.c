// SPDX-License-Identifier: GPL-2.0-only
/* Controls of a subdevice about card memory: every figure from the heap itself. */

#include "nvsim/ctrl.h"
#include "nvabi/versions.h"

static u32 kib(u64 bytes)
{
	return bytes >> 10;
}

/* What the heap says, in KiB. */
static bool heap_value(struct sim_card *card, u32 index, u32 *value)
{
	struct sim_heap_figures heap;

	sim_heap_figures(card, &heap);
	switch (index) {
	case NV_FB_INFO_BAR1_SIZE:
		*value = kib(heap.bar1_total);
		return true;
	case NV_FB_INFO_BAR1_AVAIL_SIZE:
	case NV_FB_INFO_BAR1_MAX_AVAIL:
		*value = kib(heap.bar1_free);
		return true;
	case NV_FB_INFO_RAM_SIZE:
	case NV_FB_INFO_TOTAL_RAM_SIZE:
	case NV_FB_INFO_USABLE_RAM_SIZE:
		*value = kib(heap.total);
		return true;
	case NV_FB_INFO_HEAP_SIZE:
	case NV_FB_INFO_MAPPABLE_HEAP_SIZE:
		*value = kib(heap.heap);
		return true;
	case NV_FB_INFO_RESERVED_HEAP_SIZE:
		*value = kib(heap.reserved);
		return true;
	case NV_FB_INFO_HEAP_FREE:
		*value = kib(heap.free);
		return true;
	case NV_FB_INFO_LARGEST_FREE_SIZE:
		*value = kib(heap.largest_free);
		return true;
	default:
		return false;
	}
}

/* What the model says. */
static u32 model_value(const struct sim_model *model, u32 index)
{
	switch (index) {
	case NV_FB_INFO_PARTITION_COUNT:
	case NV_FB_INFO_FBP_COUNT:
		return model->fb_partitions;
	case NV_FB_INFO_PARTITION_MASK:
	case NV_FB_INFO_FBP_MASK:
		return BIT(model->fb_partitions) - 1;
	case NV_FB_INFO_BUS_WIDTH:
		return model->bus_width;
	case NV_FB_INFO_RAM_TYPE:
		return model->ram_type;
	case NV_FB_INFO_L2_CACHE_SIZE:
		return model->l2_bytes;
	case NV_FB_INFO_LTC_COUNT:
		return model->ltcs;
	case NV_FB_INFO_LTC_MASK:
		return BIT(model->ltcs) - 1;
	case NV_FB_INFO_LTS_COUNT:
		return model->ltcs * model->slices_per_ltc;
	default: /* heap base and start, tax, off-lined, protected: none */
		return 0;
	}
}

static u32 fb_value(struct sim_object *object, u32 index, u32 *value)
{
	if (index >= sim_abi->fb_info_v2_entries)
		return NV_ERR_INVALID_ARGUMENT;
	if (!heap_value(object->card, index, value))
		*value = model_value(object->card->model, index);
	return NV_OK;
}

static u32 fb_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv_list_pointer *p = params;

	return sim_ctrl_info_list(call, object, p->count, sim_abi->fb_info_v2_entries, p->list,
				  fb_value);
}

static u32 fb_info_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *count = params;

	return sim_ctrl_info_pairs(object, *count, sim_abi->fb_info_v2_entries,
				   (struct nv_info_pair *)(count + 1), fb_value);
}

/* One region for clients, one that the driver keeps. */
static u32 regions(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 stride = sim_abi->fb_region_entry_bytes;
	struct nv2080_fb_region *first, *second;
	struct sim_heap_figures heap;
	u8 *p = params;

	sim_heap_figures(object->card, &heap);
	memset(p, 0, sim_abi->fb_region_bytes);
	*(u32 *)p = 2;
	first = (struct nv2080_fb_region *)(p + 8);
	first->limit = heap.heap - 1;
	first->performance = 1;
	first->compressed = 1;
	first->iso = 1;
	second = (struct nv2080_fb_region *)(p + 8 + stride);
	second->base = heap.heap;
	second->limit = heap.total - 1;
	second->reserved = heap.reserved;
	return NV_OK;
}

const struct sim_ctrl sim_ctrl_fb[] = {
	{ NV2080_CTRL_FB_GET_INFO, 16, 0, fb_info },
	{ NV2080_CTRL_FB_GET_INFO_V2, 436, 0, fb_info_v2 },
	{ NV2080_CTRL_FB_GET_FB_REGION_INFO, 776, 0, regions },
};
const size_t sim_ctrl_fb_count = ARRAY_SIZE(sim_ctrl_fb);
