// SPDX-License-Identifier: GPL-2.0-only
/* Controls of a subdevice about its place on the bus. */

#include "nvsim/ctrl.h"

#define NVIDIA_VENDOR 0x10de
#define PCI_EXPRESS   3
/* ctrl2080bus.h: speed 3:0, lanes 9:4; generation less one at 15:12, 19:16 and 23:20 */
#define GEN_INFO    0x00333000 /* 4: of the link, at present, of the card */
#define LINK_CAPS   (GEN_INFO | 0x104) /* and 16 lanes */
#define LINK_STATUS 0x11040000 /* the same now, in the upper half as in the register */
#define GART_MIB    0x1000000

static u32 pci_info(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct sim_model *model = object->card->model;
	struct nv2080_bus_pci_info *p = params;

	p->device_id = model->device_id << 16 | NVIDIA_VENDOR;
	p->subsystem_id = model->subsystem_id << 16 | NVIDIA_VENDOR;
	p->revision_id = model->revision;
	p->ext_device_id = model->device_id;
	return NV_OK;
}

static u32 bus_value(struct sim_object *object, u32 index, u32 *value)
{
	const struct sim_card *card = object->card;

	*value = 0;
	switch (index) {
	case NV_BUS_INFO_TYPE:
	case NV_BUS_INFO_INTERFACE_TYPE:
	case NV_BUS_INFO_GPU_INTERFACE_TYPE:
		*value = PCI_EXPRESS;
		break;
	case NV_BUS_INFO_GPU_LINK_CAPS:
	case NV_BUS_INFO_ROOT_LINK_CAPS:
		*value = LINK_CAPS;
		break;
	case NV_BUS_INFO_GPU_LINK_STATUS:
		*value = LINK_STATUS;
		break;
	case NV_BUS_INFO_GPU_GEN_INFO:
		*value = GEN_INFO;
		break;
	case NV_BUS_INFO_COHERENT_DMA_FLAGS:
	case NV_BUS_INFO_NONCOHERENT_DMA_FLAGS:
		*value = 0x1ff; /* context DMA, GART, CPU and GPU mappings of every kind */
		break;
	case NV_BUS_INFO_GART_SIZE:
		*value = GART_MIB;
		break;
	case NV_BUS_INFO_BUS_NUMBER:
		*value = card->bus;
		break;
	case NV_BUS_INFO_DEVICE_NUMBER:
		*value = card->slot;
		break;
	case NV_BUS_INFO_DOMAIN_NUMBER:
		*value = card->domain;
		break;
	}
	return index < NV_BUS_INFO_COUNT ? NV_OK : NV_ERR_INVALID_ARGUMENT;
}

static u32 bus_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv_list_pointer *p = params;

	return sim_ctrl_info_list(call, object, p->count, NV_BUS_INFO_COUNT, p->list, bus_value);
}

static u32 bus_info_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *count = params;

	return sim_ctrl_info_pairs(object, *count, NV_BUS_INFO_COUNT,
				   (struct nv_info_pair *)(count + 1), bus_value);
}

static u32 bars(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct sim_model *model = object->card->model;
	const u64 sizes[] = { model->bar0_bytes, model->bar1_bytes, model->bar3_bytes };
	struct nv2080_bars *p = params;
	size_t i;

	memset(p, 0, sizeof(*p));
	p->count = ARRAY_SIZE(sizes);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p->bars[i].bytes = sizes[i];
		p->bars[i].mebibytes = sizes[i] >> 20;
	}
	return NV_OK;
}

const struct sim_ctrl sim_ctrl_bus[] = {
	{ NV2080_CTRL_BUS_GET_PCI_INFO, 16, 0, pci_info },
	{ NV2080_CTRL_BUS_GET_INFO, 16, 0, bus_info },
	{ NV2080_CTRL_BUS_GET_PCI_BAR_INFO, 200, 0, bars },
	{ NV2080_CTRL_BUS_GET_INFO_V2, 420, 0, bus_info_v2 },
};
const size_t sim_ctrl_bus_count = ARRAY_SIZE(sim_ctrl_bus);
