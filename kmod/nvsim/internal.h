/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the core share with each other, and controls and executor need not. */
#ifndef NVSIM_INTERNAL_H
#define NVSIM_INTERNAL_H

#include "nvsim/nvsim.h"

struct vm_area_struct;

/* card.c */
int sim_cards_create(void);
void sim_cards_destroy(void);

/* heap.c: sim_heap_figures() and overhead are in nvsim.h */
u32 sim_heap_take(struct sim_card *card, struct sim_memory *memory);
void sim_heap_give(struct sim_card *card, struct sim_memory *memory);
/* The object that owns a byte of card memory, referenced; *start: its place there. */
struct sim_memory *sim_heap_lookup(struct sim_card *card, u64 address, u64 *start);

struct sim_resident { /* managed memory on a card: bookkeeping only; heap lock of @card */
	struct mutex move_lock; /* outside heap locks: one move of this range at a time */
	struct list_head link; /* card->residents, the least recently moved first */
	struct sim_card *card; /* NULL: nothing resident */
	unsigned long *chunks; /* one bit for 2 MiB */
	unsigned long chunk_count;
	u64 bytes;
};

#define SIM_CHUNK_BYTES SIM_MIB(2)
int sim_resident_init(struct sim_resident *resident, u64 bytes);
void sim_resident_destroy(struct sim_resident *resident);
bool sim_resident_has(struct sim_resident *resident, struct sim_card *card, unsigned long chunk);
/* Move chunks [first, last] to @card (NULL: off the card); evicts others for room. */
u32 sim_resident_move(struct sim_resident *resident, struct sim_card *card, unsigned long first,
		      unsigned long last);

/* memory.c */
struct sim_memory_spec {
	enum sim_memory_kind kind;
	struct sim_card *card;
	u64 bytes, alignment, address;
	u32 owner_tag, type, attr, attr2, flags;
	u32 h_client, h_object, h_class;
	pid_t tgid;
};

/* Owned once by the caller. */
u32 sim_memory_create(const struct sim_memory_spec *spec, struct sim_memory **memory);
void sim_user_pages_fault_in(u64 address, u64 bytes);
u32 sim_memory_create_user(const struct sim_memory_spec *spec, u64 address,
			   struct sim_memory **memory);
u64 sim_memory_round(u64 bytes, u32 attr, u32 attr2, u64 *page_bytes);
bool sim_memory_on_card(const struct sim_memory *memory); /* mapped through the card's node */

/* memory_class.c, vidheap.c */
extern const struct sim_class sim_memory_classes[];
extern const size_t sim_memory_class_count;

struct sim_alloc_args { /* what both ways of allocating memory say */
	u32 owner, type, flags, attr, attr2;
	u64 bytes, alignment, offset, limit;
	u64 range_lo, range_hi;
	u32 h_vaspace;
};
u32 sim_memory_object(struct sim_call *call, struct sim_object *object,
		      struct sim_alloc_args *args);
u32 sim_virtual_object(struct sim_object *object, struct sim_alloc_args *args); /* dma.c */
u32 sim_user_memory_object(struct sim_call *call, struct sim_object *object, u64 address, u64 limit,
			   u32 attr, u32 attr2);
u32 sim_vid_heap_control(struct sim_call *call, u8 *p);
u32 sim_alloc_memory(struct sim_call *call, struct nvos02_fd *p);

/* client.c, object.c */
struct sim_alloc {
	u32 h_client, h_parent, h_object, h_class;
	u64 params; /* pointer of the caller */
	void *kernel_params; /* instead of it, when the core makes the object */
};

u32 sim_client_create(struct sim_call *call, u32 wish, struct sim_client **client);
void sim_client_destroy(struct sim_client *client); /* sim_rm_lock for writing */
void sim_clients_destroy_owned(struct sim_file *owner); /* takes sim_rm_lock */
struct sim_file *sim_call_owner(const struct sim_call *call);
u32 sim_client_get(struct sim_call *call, u32 handle, struct sim_client **client); /* find, check */
/* The same for calls that go straight to the resource server: a client that is not there has
 * another status. */
u32 sim_client_acquire(struct sim_call *call, u32 handle, struct sim_client **client);
u32 sim_client_new_handle(void);
u32 sim_object_alloc(struct sim_call *call, struct sim_alloc *alloc);
/* @construct NULL: the class's own. sim_rm_lock for writing. */
u32 sim_object_create(struct sim_call *call, struct sim_client *client, struct sim_object *parent,
		      u32 *handle, const struct sim_class *class, void *params,
		      u32 (*construct)(struct sim_call *, struct sim_object *, void *),
		      struct sim_object **object);
void sim_object_destroy(struct sim_object *object); /* and what is below */
void sim_object_init(struct sim_object *object, struct sim_client *client, u32 handle, u32 h_class);
u32 sim_object_free(struct sim_call *call, u32 h_client, u32 h_object);
u32 sim_object_dup(struct sim_call *call, struct nvos55 *p);
u32 sim_object_share(struct sim_call *call, struct nvos57 *p);
u32 sim_object_control(struct sim_call *call, struct nvos54 *p);
void sim_object_set_memory(struct sim_object *object, struct sim_memory *memory);
struct sim_object *sim_device_of(struct sim_object *object);
bool sim_client_may_dup(const struct sim_call *call, const struct sim_client *to,
			const struct sim_client *from);
int sim_classes_init(void);
void sim_classes_exit(void);

/* map.c */
struct sim_cpu_map {
	struct list_head link; /* object->cpu_maps */
	u64 address; /* what the caller knows it by */
	u64 bytes;
};

u32 sim_map_memory(struct sim_call *call, struct nvos33_fd *p);
u32 sim_unmap_memory(struct sim_call *call, struct nvos34 *p);
u32 sim_update_mapping(struct sim_call *call, struct nvos56 *p);
void sim_cpu_maps_drop(struct sim_object *object);
int sim_file_mmap(struct file *filp, struct vm_area_struct *vma);

/* vaspace.c, dma.c */
struct sim_vaspace *sim_vaspace_create(struct sim_card *card);
/* Owns @map->memory once more. NV_ERR_UVM_ADDRESS_IN_USE when something lies there. */
u32 sim_vaspace_map(struct sim_vaspace *vaspace, const struct sim_va_map *map);
/* Maps that lie within [va, last], of UVM or of @h_client's MAP_MEMORY_DMA; the count. */
unsigned int sim_vaspace_unmap(struct sim_vaspace *vaspace, u64 va, u64 last, bool uvm,
			       u32 h_client, u32 h_dma);
/* MAP_MEMORY_DMA's maps that name a handle, in every space. */
void sim_vaspaces_forget(u32 h_client, u32 handle);
u64 sim_vaspace_reserve(struct sim_vaspace *vaspace, u64 bytes, u64 alignment);

struct sim_virtual { /* object->core of classes 0x70 and 0x50a0 */
	u64 base, bytes; /* 0, 0: the whole space */
};
extern const struct sim_class sim_virtual_classes[];
extern const size_t sim_virtual_class_count;

struct sim_dma_args { /* NVOS46 and NVOS47 of any version */
	u32 h_client, h_device, h_dma, h_memory, flags;
	u64 offset, bytes, dma_offset;
};
u32 sim_map_dma(struct sim_call *call, struct sim_dma_args *args);
u32 sim_unmap_dma(struct sim_call *call, struct sim_dma_args *args);

/* doorbell.c */
extern const struct sim_class sim_usermode_classes[];
extern const size_t sim_usermode_class_count;

/* event.c */
extern const struct sim_class sim_event_classes[];
extern const size_t sim_event_class_count;
u32 sim_os_event_alloc(struct sim_call *call, u32 h_client, u32 fd);
u32 sim_os_event_free(struct sim_call *call, u32 h_client, u32 fd);
u32 sim_event_data(struct sim_call *call, struct nvos41 *p);
void sim_events_forget_file(struct sim_file *file);
void sim_events_forget_client(u32 h_client);
void sim_events_forget_source(struct sim_object *object);
bool sim_event_poll(struct sim_file *file); /* uses the flag up */

/* export.c */
void sim_exports_drop(struct sim_file *file);

/* presence.c */
bool sim_card_open_here(struct sim_card *card); /* in current's descriptor table */

/* escape.c, frontend.c */
long sim_file_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
int sim_escape(struct sim_call *call, u32 nr, void *p, u32 size); /* RM calls; 0 or -EINVAL */
u32 sim_note(const char *what, u32 number, u32 object, u32 status); /* returns @status */
int sim_frontend(struct sim_call *call, u32 nr, void *p, u32 size); /* -ENOIOCTLCMD: not one */

/* file.c, nodes.c */
int sim_files_init(void);
void sim_files_exit(void); /* waits for closes that were put off */
int sim_nodes_init(void);
void sim_nodes_exit(void);
struct class;
extern struct class *sim_device_class;

/* uvm.c */
int sim_uvm_init(void);
void sim_uvm_exit(void);
struct page *sim_uvm_managed_page(struct sim_uvm_space *space, struct sim_card *card, u64 va);

/* procfs.c, truth.c, fault.c, rm_ops.c */
int sim_procfs_init(void);
void sim_procfs_exit(void);
int sim_truth_init(void);
void sim_truth_exit(void);
int sim_fault_init(void);
void sim_fault_exit(void);
void sim_rm_ops_exit(void); /* clients kernel callers left behind */

#endif /* NVSIM_INTERNAL_H */
