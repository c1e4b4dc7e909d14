// SPDX-License-Identifier: GPL-2.0
/*
 * Objects in files: a control file can hold references to memory, for another process to import.
 * The exports belong to the file named in the call and keep the memory until it ends.
 * (535.261.03 src/nvidia/arch/nvalloc/unix/src/os.c, the "OsUnix...Object" controls.)
 */

#include <linux/file.h>
#include <linux/slab.h>

#include "compat.h"
#include "nvsim/internal.h"

#define OBJECT_TYPE_RM 1
#define METADATA_BYTES 64
#define EXPORT_MAX     512
#define IMPORT_MAX     128

struct slot {
	struct sim_memory *memory; /* owned; NULL: empty */
	const struct sim_class *class;
};

struct sim_export {
	u32 device_instance;
	u16 count;
	u8 metadata[METADATA_BYTES];
	struct slot slots[];
};

struct many_out { /* NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD_PARAMS */
	u32 fd, h_device;
	u16 max_objects;
	u8 metadata[METADATA_BYTES];
	u8 pad[2];
	u32 objects[EXPORT_MAX];
	u16 count, index;
};
static_assert(sizeof(struct many_out) == 2128);

struct many_in { /* NV0000_CTRL_OS_UNIX_IMPORT_OBJECTS_FROM_FD_PARAMS */
	u32 fd, h_parent;
	u32 objects[IMPORT_MAX];
	u8 types[IMPORT_MAX];
	u16 count, index;
};
static_assert(sizeof(struct many_in) == 652);

/* ---- slots; file lock ---- */

static void slot_clear(struct slot *slot)
{
	if (!slot->memory)
		return;
	atomic_dec(&slot->memory->external);
	sim_memory_disown(slot->memory);
	slot->memory = NULL;
}

static void slot_fill(struct slot *slot, const struct sim_object *object)
{
	slot_clear(slot);
	slot->memory = sim_memory_own(object->memory);
	slot->class = object->class;
	atomic_inc(&slot->memory->external);
}

void sim_exports_drop(struct sim_file *file)
{
	unsigned int i;

	if (!file->exports)
		return;
	for (i = 0; i < file->exports->count; i++)
		slot_clear(&file->exports->slots[i]);
	kvfree(file->exports);
	file->exports = NULL;
}

static u32 exports_begin(struct sim_file *file, struct sim_client *client, u32 h_device, u16 count,
			 const u8 *metadata)
{
	struct sim_object *device = sim_object_find(client, h_device);
	struct sim_export *exports;

	if (file->exports)
		return NV_ERR_STATE_IN_USE;
	if (!device || !device->card)
		return NV_ERR_OBJECT_NOT_FOUND;
	exports = kvzalloc(struct_size(exports, slots, count), GFP_KERNEL_ACCOUNT);
	if (!exports)
		return NV_ERR_NO_MEMORY;
	exports->device_instance = device->card->index;
	exports->count = count;
	if (metadata)
		memcpy(exports->metadata, metadata, METADATA_BYTES);
	WRITE_ONCE(file->exports, exports);
	return NV_OK;
}

static u32 exportable(struct sim_client *client, u32 handle, struct sim_object **object)
{
	*object = sim_object_find(client, handle);
	if (!*object)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!(*object)->memory || !((*object)->class->flags & SIM_CLASS_DUP))
		return NV_ERR_INVALID_ARGUMENT;
	return NV_OK;
}

/* ---- controls ---- */

u32 sim_export_to_fd(struct sim_call *call, struct sim_object *root, void *params)
{
	struct nv0000_export_to_fd *p = params;
	struct sim_object *object;
	struct sim_file *file;
	struct file *filp;
	u32 status;

	if (p->object_type != OBJECT_TYPE_RM || (p->flags & 1))
		return NV_ERR_INVALID_PARAMETER;
	status = exportable(root->client, p->object_data_rm_object_h_object, &object);
	if (status)
		return status;
	filp = sim_fget(p->fd, NV_MINOR_CTL, &file);
	if (!filp)
		return NV_ERR_INVALID_PARAMETER;
	mutex_lock(&file->lock);
	status = exports_begin(file, root->client, p->object_data_rm_object_h_device, 1, NULL);
	if (!status)
		slot_fill(&file->exports->slots[0], object);
	mutex_unlock(&file->lock);
	fput(filp);
	return status;
}

static u32 import_slot(struct sim_call *call, struct sim_object *root, u32 h_parent, u32 *handle,
		       const struct slot *slot);

u32 sim_import_from_fd(struct sim_call *call, struct sim_object *root, void *params)
{
	struct nv0000_import_from_fd *p = params;
	u32 status = NV_ERR_INVALID_PARAMETER;
	struct sim_file *file;
	struct file *filp;

	if (p->object_type != OBJECT_TYPE_RM)
		return NV_ERR_INVALID_PARAMETER;
	filp = sim_fget(p->fd, NV_MINOR_CTL, &file);
	if (!filp)
		return NV_ERR_INVALID_PARAMETER;
	mutex_lock(&file->lock);
	if (file->exports && file->exports->count == 1 && file->exports->slots[0].memory)
		status = import_slot(call, root, p->object_data_rm_object_h_parent,
				     &p->object_data_rm_object_h_object, &file->exports->slots[0]);
	mutex_unlock(&file->lock);
	fput(filp);
	return status;
}

/* Fields after the descriptor: deviceInstance, maxObjects, metadata; packed so in all versions
 * but for what 545 put before them (535: 76 bytes, later 80). */
u32 sim_export_info(struct sim_call *call, struct sim_object *root, void *params)
{
	u32 at = sim_abi->export_info_bytes - 72;
	u32 status = NV_ERR_INVALID_PARAMETER;
	struct sim_file *file;
	struct file *filp = sim_fget(get_unaligned((u32 *)params), NV_MINOR_CTL, &file);

	if (!filp)
		return NV_ERR_INVALID_PARAMETER;
	mutex_lock(&file->lock);
	if (file->exports) {
		put_unaligned(file->exports->device_instance, (u32 *)(params + 4));
		put_unaligned(file->exports->count, (u16 *)(params + at + 4));
		memcpy(params + at + 6, file->exports->metadata, METADATA_BYTES);
		status = NV_OK;
	}
	mutex_unlock(&file->lock);
	fput(filp);
	return status;
}

u32 sim_export_create(struct sim_call *call, struct sim_object *root, void *params)
{
	u32 h_device =
		get_unaligned((u32 *)params); /* NV0000_CTRL_OS_UNIX_CREATE_EXPORT_OBJECT_FD */
	u16 count = get_unaligned((u16 *)(params + 4));
	struct sim_file *file;
	struct file *filp;
	u32 status;

	if (!count)
		return NV_ERR_INVALID_PARAMETER;
	filp = sim_fget(get_unaligned((u32 *)(params + 72)), NV_MINOR_CTL, &file);
	if (!filp)
		return NV_ERR_INVALID_PARAMETER;
	mutex_lock(&file->lock);
	status = exports_begin(file, root->client, h_device, count, params + 6);
	mutex_unlock(&file->lock);
	fput(filp);
	return status;
}

static u32 check_many(struct sim_client *client, const struct sim_export *exports,
		      const struct many_out *p)
{
	struct sim_object *object;
	unsigned int i;
	u32 status;

	if (p->count > EXPORT_MAX)
		return NV_ERR_INVALID_PARAMETER;
	if (p->index + p->count > exports->count)
		return NV_ERR_OUT_OF_RANGE;
	for (i = 0; i < p->count; i++) {
		if (!p->objects[i])
			continue;
		status = exportable(client, p->objects[i], &object);
		if (status)
			return status;
		if (!object->card || object->card->index != exports->device_instance)
			return NV_ERR_INVALID_PARAMETER;
	}
	return NV_OK;
}

static void fill_many(struct sim_client *client, struct sim_export *exports,
		      const struct many_out *p)
{
	unsigned int i;

	for (i = 0; i < p->count; i++) {
		struct slot *slot = &exports->slots[p->index + i];

		if (p->objects[i])
			slot_fill(slot, sim_object_find(client, p->objects[i]));
		else
			slot_clear(slot);
	}
}

static u32 export_many(struct sim_file *file, struct sim_client *client, const struct many_out *p)
{
	bool fresh = !file->exports;
	u32 status = NV_OK;

	if (fresh && !p->max_objects)
		return NV_ERR_INVALID_PARAMETER;
	if (fresh)
		status = exports_begin(file, client, p->h_device, p->max_objects, p->metadata);
	if (status)
		return status;
	status = check_many(client, file->exports, p);
	if (!status)
		fill_many(client, file->exports, p);
	else if (fresh)
		sim_exports_drop(file);
	return status;
}

u32 sim_export_many(struct sim_call *call, struct sim_object *root, void *params)
{
	const struct many_out *p = params;
	struct sim_file *file;
	struct file *filp = sim_fget(p->fd, NV_MINOR_CTL, &file);
	u32 status;

	if (!filp)
		return NV_ERR_INVALID_PARAMETER;
	mutex_lock(&file->lock);
	status = export_many(file, root->client, p);
	mutex_unlock(&file->lock);
	fput(filp);
	return status;
}

/* ---- import ---- */

static u32 construct_import(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct slot *slot = params;

	if (slot->memory->card && slot->memory->card != object->card)
		return NV_ERR_INVALID_OBJECT_PARENT;
	sim_object_set_memory(object, sim_memory_own(slot->memory));
	return NV_OK;
}

/* The descriptor is the permission: nobody else is asked. */
static u32 import_slot(struct sim_call *call, struct sim_object *root, u32 h_parent, u32 *handle,
		       const struct slot *slot)
{
	struct sim_object *parent = sim_object_find(root->client, h_parent);

	if (!parent)
		return NV_ERR_INVALID_OBJECT_PARENT;
	return sim_object_create(call, root->client, parent, handle, slot->class, (void *)slot,
				 construct_import, NULL);
}

static u8 type_of(const struct slot *slot)
{
	if (!slot->memory)
		return 0;
	return slot->memory->kind == SIM_MEMORY_CARD ? 1 : 2;
}

static u32 import_many(struct sim_call *call, struct sim_object *root, struct sim_export *exports,
		       struct many_in *p)
{
	unsigned int i;
	u32 status = NV_OK;

	if (!exports || p->count > IMPORT_MAX)
		return NV_ERR_INVALID_PARAMETER;
	if (p->index + p->count > exports->count)
		return NV_ERR_OUT_OF_RANGE;
	for (i = 0; i < p->count && !status; i++) {
		const struct slot *slot = &exports->slots[p->index + i];

		p->types[i] = type_of(slot);
		if (slot->memory)
			status = import_slot(call, root, p->h_parent, &p->objects[i], slot);
	}
	if (!status)
		return NV_OK;
	for (i--; i-- > 0;)
		if (p->types[i])
			sim_object_destroy(sim_object_find(root->client, p->objects[i]));
	return status;
}

u32 sim_import_many(struct sim_call *call, struct sim_object *root, void *params)
{
	struct many_in *p = params;
	struct sim_file *file;
	struct file *filp = sim_fget(p->fd, NV_MINOR_CTL, &file);
	u32 status;

	if (!filp)
		return NV_ERR_INVALID_PARAMETER;
	mutex_lock(&file->lock);
	status = import_many(call, root, file->exports, p);
	mutex_unlock(&file->lock);
	fput(filp);
	return status;
}
