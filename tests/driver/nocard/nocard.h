/* SPDX-License-Identifier: GPL-2.0 */
/* nocard.ko: what NVIDIA's driver needs of a machine without a card. See README.md. */
#ifndef NOCARD_H
#define NOCARD_H

#include <linux/kprobes.h>
#include <linux/types.h>

#include "nvabi/controls.h"
#include "nvabi/numbers.h"
#include "nvabi/rm_ops.h"
#include "nvabi/structs.h"
#include "nvabi/versions.h"

#define NC_BUS           0x41
#define NC_CARDS_MAX     16
#define NC_VENDOR        0x10de
#define NC_DEVICE        0x2330 /* GH100, H100 SXM5 */
#define NC_WINDOW_BYTES  (128ULL << 20) /* of a card: 64 + 32 + 16 MiB, and a hole */
#define NC_UUID_BYTES    16
#define NC_NAME          "H100 (nocard: no card behind it)"
#define NC_RESERVE_BYTES (256ULL << 20) /* of a card's memory, never handed out */

extern unsigned int nc_cards; /* module parameters; fixed once loaded */
extern u64 nc_memory_bytes;

/* ---- the PCI functions (bus.c) ---- */

int nc_bus_init(u64 window);
void nc_bus_exit(void);

/* ---- functions of nvidia.ko that go elsewhere (redirect.c) ---- */

struct nc_redirect {
	const char *symbol;
	void *target; /* same arguments; calls the genuine one between nc_inside()s */
	void *genuine; /* known once the driver is there */
	struct kprobe probe;
};

/* While it is on the list, this task's calls of a redirected function are genuine. */
struct nc_inside {
	struct list_head link;
	struct task_struct *task;
};

int nc_redirect_add(struct nc_redirect *redirect);
void nc_redirect_del(struct nc_redirect *redirect);
void nc_inside_begin(struct nc_inside *inside);
void nc_inside_end(struct nc_inside *inside);

/* ---- the adapter that opens (adapter.c) and the objects below it (objects.c) ---- */

extern struct nc_redirect nc_adapter_redirects[];
extern const unsigned int nc_adapter_count;
extern struct nc_redirect nc_object_redirects[];
extern const unsigned int nc_object_count;

void nc_uuid(unsigned int card, u8 *uuid);
void nc_objects_start(const struct nvabi_version *version);
void nc_objects_stop(void);

/* ---- what is known of them, and what controls say (answers.c) ---- */

struct nc_object {
	struct list_head link;
	u32 client, handle, parent, h_class;
	unsigned int card;
	u64 bytes; /* of the card's memory */
};

struct nc_object *nc_object_find(u32 client, u32 handle); /* nc_objects_lock held */
u64 nc_used_bytes(unsigned int card); /* nc_objects_lock held */

extern struct mutex nc_objects_lock;
extern const struct nvabi_version *nc_version;

/* nc_objects_lock held for both. Whether a control could be answered here, by what it names. */
bool nc_may_answer(u32 client, u32 object, u32 cmd, u32 size);
/* Then, with its parameters in kernel memory, in and out; false: it is the driver's to answer. */
bool nc_answer(u32 client, u32 object, u32 cmd, void *params, u32 size, u32 *status);

#endif /* NOCARD_H */
