// SPDX-License-Identifier: GPL-2.0-only
/* Controls about objects and their memory: sizes, handles, rights, duplicates, exports. */

#include "nvsim/ctrl.h"

static u32 address_space(const struct sim_memory *memory)
{
	switch (memory->kind) {
	case SIM_MEMORY_CARD:
	case SIM_MEMORY_WINDOW:
		return NV0000_ADDR_SPACE_VIDMEM;
	case SIM_MEMORY_DOORBELL:
		return NV0000_ADDR_SPACE_REGMEM;
	default:
		return NV0000_ADDR_SPACE_SYSMEM;
	}
}

static u32 page_attribute(const struct sim_memory *memory)
{
	if (memory->page_bytes >= SIM_MIB(2))
		return NVOS32_ATTR_PAGE_SIZE_HUGE << 23;
	if (memory->page_bytes > PAGE_SIZE)
		return NVOS32_ATTR_PAGE_SIZE_BIG << 23;
	return NVOS32_ATTR_PAGE_SIZE_4KB << 23;
}

static u32 surface_value(struct sim_object *object, u32 index, u32 *value)
{
	const struct sim_memory *memory = object->memory;

	switch (index) {
	case NV0041_SURFACE_INFO_ATTRS:
	case NV0041_SURFACE_INFO_COMPR_COVERAGE:
		*value = 0;
		return NV_OK;
	case NV0041_SURFACE_INFO_PHYS_SIZE:
		*value = memory->bytes >> 12;
		return NV_OK;
	case NV0041_SURFACE_INFO_PHYS_ATTR:
		*value = (memory->attr & ~(3u << 23)) | page_attribute(memory);
		return NV_OK;
	case NV0041_SURFACE_INFO_ADDR_SPACE_TYPE:
		*value = address_space(memory);
		return NV_OK;
	default:
		return NV_ERR_INVALID_ARGUMENT;
	}
}

static u32 surface_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0041_surface_info *p = params;

	return sim_ctrl_info_list(call, object, p->surface_info_list_size, 16, p->surface_info_list,
				  surface_value);
}

static u32 page_size(struct sim_call *call, struct sim_object *object, void *params)
{
	*(u64 *)params = object->memory->page_bytes;
	return NV_OK;
}

static u32 addr_space_type(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0000_addr_space *p = params;
	struct sim_object *other = sim_object_find(object->client, p->h_object);

	if (!other)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!other->memory)
		return NV_ERR_INVALID_OBJECT;
	p->type = address_space(other->memory);
	return NV_OK;
}

static u32 handle_info(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0000_handle_info *p = params;
	struct sim_object *other = sim_object_find(object->client, p->h_object);

	if (!other)
		return NV_ERR_OBJECT_NOT_FOUND;
	switch (p->index) {
	case NV0000_HANDLE_INFO_PARENT:
		p->data_h_result = other->parent ? other->parent->handle : 0;
		return NV_OK;
	case NV0000_HANDLE_INFO_CLASS:
		p->data_h_result = other->h_class;
		return NV_OK;
	default:
		return NV_ERR_INVALID_ARGUMENT;
	}
}

static u32 access_rights(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0000_access_rights *p = params;
	struct sim_client *client = sim_client_find(p->h_client);

	if (!client || !sim_object_find(client, p->h_object))
		return NV_ERR_OBJECT_NOT_FOUND;
	p->mask = client == object->client || call->admin ? sim_call_rights() : 0;
	return NV_OK;
}

static u32 duplicates(struct sim_call *call, struct sim_object *object, void *params)
{
	struct nv0000_duplicates *p = params;
	struct sim_object *first = sim_object_find(object->client, p->h_first);
	struct sim_object *second = sim_object_find(object->client, p->h_second);

	if (!first || !second)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!first->memory) /* what cannot be duplicated is not asked */
		return NV_ERR_NOT_SUPPORTED;
	p->same = first == second || first->memory == second->memory;
	return NV_OK;
}

const struct sim_ctrl sim_ctrl_memory[] = {
	{ NV0041_CTRL_GET_SURFACE_INFO, 16, 0, surface_info },
	{ NV0041_CTRL_GET_MEM_PAGE_SIZE, 8, 0, page_size },
	{ NV0000_CTRL_CLIENT_GET_ADDR_SPACE_TYPE, 12, 0, addr_space_type },
	{ NV0000_CTRL_CLIENT_GET_HANDLE_INFO, 16, 0, handle_info },
	{ NV0000_CTRL_CLIENT_GET_ACCESS_RIGHTS, 12, 0, access_rights },
	{ NV0000_CTRL_CLIENT_SET_INHERITED_SHARE_POLICY, 12, SIM_CTRL_WRITE, sim_share_policy },
	{ NV0000_CTRL_CLIENT_OBJECTS_ARE_DUPLICATES, 12, 0, duplicates },
	{ NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD, 24, SIM_CTRL_WRITE, sim_export_to_fd },
	{ NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD, 20, SIM_CTRL_WRITE, sim_import_from_fd },
	{ NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO, 76, 0, sim_export_info },
	{ NV0000_CTRL_OS_UNIX_CREATE_EXPORT_OBJECT_FD, 76, SIM_CTRL_WRITE, sim_export_create },
	{ NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD, 2128, SIM_CTRL_WRITE, sim_export_many },
	{ NV0000_CTRL_OS_UNIX_IMPORT_OBJECTS_FROM_FD, 652, SIM_CTRL_WRITE, sim_import_many },
};
const size_t sim_ctrl_memory_count = ARRAY_SIZE(sim_ctrl_memory);
