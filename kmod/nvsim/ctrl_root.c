// SPDX-License-Identifier: GPL-2.0-only
/* Controls of the client's root object: the system, which cards there are, what they are called. */

#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/uuid.h>

#include <asm/processor.h>

#include "nvsim/ctrl.h"
#include "nvabi/control_sizes.h"

#define BUILD_VERSION_V2_BYTES 776

#define NO_ID  0xffffffffu
#define SLOTS  32
#define CHANGE 36102180 /* change list number: any number will do */
#define TITLE  "nvsim simulated driver"

/* ---- versions ---- */

/* Without one of the buffers it only says how long they must be (client_resource.c). */
static u32 build_version(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0000_build_version *p = params;
	const char *texts[] = { sim_params.version, sim_params.version, TITLE };
	u64 to[] = { p->driver_version, p->version, p->title };
	u32 status, need = sizeof(TITLE);
	size_t i;

	if (!to[0] || !to[1] || !to[2]) {
		p->string_bytes = need;
		return NV_OK;
	}
	if (p->string_bytes < need)
		return NV_ERR_INVALID_PARAM_STRUCT;
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		status = sim_copy_out(call, to[i], texts[i], strlen(texts[i]) + 1);
		if (status != NV_OK)
			return status;
	}
	p->changelist = CHANGE;
	p->official_changelist = CHANGE;
	return NV_OK;
}

/* From 570 a string more, the branch's name, stands before the title. */
static u32 build_version_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	const u32 text = NV0000_BUILD_VERSION_V2_TEXT;
	u32 bytes = nvabi_control_bytes(sim_abi, NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_V2,
					BUILD_VERSION_V2_BYTES);
	struct nv0000_build_version_v2_end *end = params + bytes - sizeof(*end);

	memset(params, 0, bytes);
	strscpy(params, sim_params.version, text);
	strscpy(params + text, sim_params.version, text);
	if (bytes > BUILD_VERSION_V2_BYTES)
		scnprintf(params + 2 * text, text, "r%u_00", sim_abi->branch);
	strscpy((char *)end - text, TITLE, text);
	end->changelist = CHANGE;
	end->official_changelist = CHANGE;
	return NV_OK;
}

/* ---- the machine ---- */

static u32 processor_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0000_cpu_info *p = params;

	memset(p, 0, sizeof(*p));
	p->num_logical_cpus = num_online_cpus();
	p->num_physical_cpus = num_online_cpus();
	p->data_cache_line_size = L1_CACHE_BYTES;
	strscpy(p->name, boot_cpu_data.x86_model_id, sizeof(p->name));
	p->family = boot_cpu_data.x86;
	p->model = boot_cpu_data.x86_model;
	p->stepping = boot_cpu_data.x86_stepping;
	p->cores_on_die = num_online_cpus();
	return NV_OK;
}

/* No system event is ever raised; their actions are kept as the driver does (client_resource.c). */
static u32 set_notification(struct sim_call *call, struct sim_object *object, void *params)
{
	const u32 *p = params; /* event, action */
	u8 *action = &object->client->system_actions[min_t(u32, p[0], SIM_SYSTEM_EVENTS - 1)];

	if (p[0] >= SIM_SYSTEM_EVENTS)
		return NV_ERR_INVALID_ARGUMENT;
	if (list_empty(&object->events))
		return NV_ERR_INVALID_STATE;
	if (p[1] > SIM_EVENT_REPEAT)
		return NV_ERR_INVALID_ARGUMENT;
	if (p[1] != SIM_EVENT_DISABLE && *action != SIM_EVENT_DISABLE)
		return NV_ERR_INVALID_STATE;
	*action = p[1];
	return NV_OK;
}

/* ---- which cards ---- */

static void list_cards(u32 *ids, bool attached_only)
{
	struct sim_card *card;
	unsigned int i, n = 0;

	memset(ids, 0xff, SLOTS * sizeof(*ids));
	sim_for_each_card(card, i)
		if (!attached_only || !READ_ONCE(card->lost))
			ids[n++] = card->gpu_id;
}

static u32 probed_ids(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *ids = params;

	list_cards(ids, false);
	memset(ids + SLOTS, 0xff, SLOTS * sizeof(*ids)); /* excluded ones */
	return NV_OK;
}

static u32 attached_ids(struct sim_call *call, struct sim_object *object, void *params)
{
	list_cards(params, true);
	return NV_OK;
}

/* Cards here are always up: attaching is only a check of the name. */
static u32 attach_ids(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *ids = params, *failed = ids + SLOTS;
	unsigned int i;

	for (i = 0; i < SLOTS && ids[i] != NO_ID && ids[i] != 0xffff; i++) {
		struct sim_card *card = sim_card_by_gpu_id(ids[i]);

		if (!card || READ_ONCE(card->lost)) {
			*failed = ids[i];
			return card ? NV_ERR_GPU_IS_LOST : NV_ERR_INVALID_ARGUMENT;
		}
	}
	return NV_OK;
}

static u32 detach_ids(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *ids = params;
	unsigned int i;

	for (i = 0; i < SLOTS && ids[i] != NO_ID && ids[0] != 0xffff; i++)
		if (!sim_card_by_gpu_id(ids[i]))
			return NV_ERR_INVALID_ARGUMENT;
	return NV_OK;
}

static u32 async_attach_id(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *id = params;

	return sim_card_by_gpu_id(*id) ? NV_OK : NV_ERR_INVALID_ARGUMENT;
}

static u32 device_ids(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *mask = params;
	struct sim_card *card;
	unsigned int i;

	*mask = 0;
	sim_for_each_card(card, i)
		*mask |= BIT(i);
	return NV_OK;
}

/* ---- one card ---- */

static u32 id_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0000_id_info *p = params;
	struct sim_card *card = sim_card_by_gpu_id(p->gpu_id);

	if (!card)
		return NV_ERR_INVALID_ARGUMENT;
	p->gpu_flags = 1; /* in use */
	p->device_instance = card->index;
	p->subdevice_instance = 0;
	p->sli_status = 0;
	p->board_id = card->gpu_id;
	p->gpu_instance = card->index;
	p->numa_id = -1;
	if (p->name)
		return sim_copy_out(call, p->name, card->model->short_name,
				    strlen(card->model->short_name) + 1);
	return NV_OK;
}

static u32 id_info_v2(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0000_id_info_v2 *p = params;
	struct sim_card *card = sim_card_by_gpu_id(p->gpu_id);

	if (!card)
		return NV_ERR_INVALID_ARGUMENT;
	p->gpu_flags = 1;
	p->device_instance = card->index;
	p->subdevice_instance = 0;
	p->sli_status = 0;
	p->board_id = card->gpu_id;
	p->gpu_instance = card->index;
	p->numa_id = -1;
	return NV_OK;
}

/* Status of the start of a card, which always succeeds here. */
static u32 init_status(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *p = params; /* gpu id, status */
	struct sim_card *card = sim_card_by_gpu_id(p[0]);

	if (!card)
		return NV_ERR_INVALID_ARGUMENT;
	p[1] = READ_ONCE(card->lost) ? NV_ERR_GPU_IS_LOST : NV_OK;
	return NV_OK;
}

static u32 pci_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0000_pci_info *p = params;
	struct sim_card *card = sim_card_by_gpu_id(p->gpu_id);

	if (!card)
		return NV_ERR_OBJECT_NOT_FOUND;
	p->domain = card->domain;
	p->bus = card->bus;
	p->slot = card->slot;
	return NV_OK;
}

/* Both forms of a card's name, as flags ask. Returns the length, its end included. */
static u32 uuid_text(const struct sim_card *card, u32 flags, u8 *to)
{
	if ((flags & 3) == NV2080_GPU_GID_FORMAT_BINARY) {
		memcpy(to, card->uuid, sizeof(card->uuid));
		return sizeof(card->uuid);
	}
	strscpy(to, card->uuid_text, 256);
	return strlen(card->uuid_text) + 1;
}

static u32 uuid_from_id(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0000_uuid_from_id *p = params;
	struct sim_card *card = sim_card_by_gpu_id(p->gpu_id);

	if (!card)
		return NV_ERR_OBJECT_NOT_FOUND;
	p->length = uuid_text(card, p->flags, p->uuid);
	return NV_OK;
}

static struct sim_card *card_by_text(const u8 *text, u32 flags)
{
	struct sim_card *card;
	unsigned int i;

	if ((flags & 3) == NV2080_GPU_GID_FORMAT_BINARY)
		return sim_card_by_uuid(text);
	sim_for_each_card(card, i)
		if (!strncmp(card->uuid_text, text, sizeof(card->uuid_text)))
			return card;
	return NULL;
}

static u32 uuid_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0000_uuid_info *p = params;
	struct sim_card *card = card_by_text(p->uuid, p->flags);

	if (!card)
		return NV_ERR_OBJECT_NOT_FOUND;
	p->gpu_id = card->gpu_id;
	p->device_instance = card->index;
	p->subdevice_instance = 0;
	return NV_OK;
}

static u32 drain_state(struct sim_call *call, struct sim_object *object, void *params)
{
	u32 *p = params; /* gpu id, state, flags */

	if (!sim_card_by_gpu_id(p[0]))
		return NV_ERR_OBJECT_NOT_FOUND;
	p[1] = 0;
	p[2] = 0;
	return NV_OK;
}

/* ---- what this machine has not ---- */

/* Lid, power source and dock are those of notebooks with another driver (client_resource.c). */
static u32 notify_event(struct sim_call *call, struct sim_object *object, void *params)
{
	return *(u32 *)params <= 4 ? NV_ERR_NOT_SUPPORTED : NV_ERR_INVALID_ARGUMENT;
}

static u32 fabric_status(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u32 *)params = NV0000_FABRIC_STATUS_SKIP;
	return NV_OK;
}

static u32 none(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u32 *)params = 0; /* a count or mask at the start */
	return NV_OK;
}

static u32 cc_capabilities(struct sim_call *call, struct sim_object *object, void *params)
{
	memset(params, 0, nvabi_control_bytes(sim_abi, NVCB33_CTRL_SYSTEM_GET_CAPABILITIES, 5));
	return NV_OK;
}

static u32 accounting(struct sim_call *call, struct sim_object *object, void *params)
{
	return NV_ERR_NOT_SUPPORTED;
}

const struct sim_ctrl sim_ctrl_root[] = {
	{ NV0000_CTRL_SYSTEM_GET_BUILD_VERSION, 40, 0, build_version },
	{ NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_V2, BUILD_VERSION_V2_BYTES, 0, build_version_v2 },
	{ NV0000_CTRL_SYSTEM_GET_FEATURES, 4, 0, none },
	{ NV0000_CTRL_SYSTEM_GET_CPU_INFO, 104, 0, processor_info },
	{ NV0000_CTRL_SYSTEM_NOTIFY_EVENT, 12, 0, notify_event },
	{ NV0000_CTRL_EVENT_SET_NOTIFICATION, 8, SIM_CTRL_WRITE, set_notification },
	{ NV0000_CTRL_SYSTEM_GET_FABRIC_STATUS, 4, 0, fabric_status },
	{ NV0000_CTRL_GPU_GET_ATTACHED_IDS, 128, 0, attached_ids },
	{ NV0000_CTRL_GPU_GET_INIT_STATUS, 8, 0, init_status },
	{ NV0000_CTRL_GPU_GET_ID_INFO, 40, 0, id_info },
	{ NV0000_CTRL_GPU_GET_DEVICE_IDS, 4, 0, device_ids },
	{ NV0000_CTRL_GPU_GET_ID_INFO_V2, 32, 0, id_info_v2 },
	{ NV0000_CTRL_GPU_GET_PROBED_IDS, 256, 0, probed_ids },
	{ NV0000_CTRL_GPU_ATTACH_IDS, 132, 0, attach_ids },
	{ NV0000_CTRL_GPU_DETACH_IDS, 128, 0, detach_ids },
	{ NV0000_CTRL_GPU_GET_PCI_INFO, 12, 0, pci_info },
	{ NV0000_CTRL_GPU_GET_UUID_INFO, 272, 0, uuid_info },
	{ NV0000_CTRL_GPU_GET_UUID_FROM_GPU_ID, 268, 0, uuid_from_id },
	{ NV0000_CTRL_GPU_QUERY_DRAIN_STATE, 12, 0, drain_state },
	{ NV0000_CTRL_GPU_GET_MEMOP_ENABLE, 4, 0, none },
	{ NV0000_CTRL_GPU_ASYNC_ATTACH_ID, 4, 0, async_attach_id },
	{ NV0000_CTRL_SYNC_GPU_BOOST_GROUP_INFO, 2244, 0, none },
	{ NV0000_CTRL_GPUACCT_FAMILY + 1, 12, 0, accounting },
	{ NV0000_CTRL_GPUACCT_FAMILY + 2, 12, 0, accounting },
	{ NV0000_CTRL_GPUACCT_FAMILY + 3, 0, SIM_CTRL_ANYSIZE, accounting },
	{ NV0000_CTRL_GPUACCT_FAMILY + 4, 0, SIM_CTRL_ANYSIZE, accounting },
	{ NV0000_CTRL_GPUACCT_FAMILY + 5, 0, SIM_CTRL_ANYSIZE, accounting },
	{ NVCB33_CTRL_SYSTEM_GET_CAPABILITIES, 5, 0, cc_capabilities },
};
const size_t sim_ctrl_root_count = ARRAY_SIZE(sim_ctrl_root);
