// SPDX-License-Identifier: GPL-2.0
/*
 * Events. ALLOC_OS_EVENT puts a label (client handle, number) on the file it comes on; an
 * object of class 0x79 picks the label by its number and listens on a source object. Raising
 * the source's notifier wakes that file: with data to be fetched, or with a flag that poll uses
 * up. (535.261.03 src/nvidia/arch/nvalloc/unix/src/osapi.c, os.c, kernel-open/nvidia/nv.c.)
 */

#include <linux/slab.h>

#include "nvsim/internal.h"

DEFINE_SPINLOCK(sim_event_lock);
static LIST_HEAD(os_events);
static LIST_HEAD(interrupt_events); /* those that ask for non-stalling interrupts */

struct event_data {
	struct list_head link; /* file->event_data */
	struct { /* NvUnixEvent: nvos.h */
		u32 h_object, index, info32;
		u16 info16, pad;
	} wire;
};

/* ---- labels ---- */

static struct sim_os_event *os_event_find(u32 h_client, u32 fd)
{
	struct sim_os_event *os;

	list_for_each_entry(os, &os_events, link)
		if (os->h_client == h_client && os->fd == fd)
			return os;
	return NULL;
}

static void os_event_put(struct sim_os_event *os)
{
	if (os && !--os->refs)
		kfree(os);
}

static void os_event_drop(struct sim_os_event *os)
{
	list_del(&os->link);
	os->file = NULL;
	os_event_put(os);
}

/* A label that exists is "too few resources", not "exists": osapi.c. */
u32 sim_os_event_alloc(struct sim_call *call, u32 h_client, u32 fd)
{
	struct sim_os_event *os = kzalloc(sizeof(*os), GFP_KERNEL_ACCOUNT);
	bool exists;

	if (!os)
		return NV_ERR_INSUFFICIENT_RESOURCES;
	os->h_client = h_client;
	os->fd = fd;
	os->file = call->file;
	os->refs = 1;
	spin_lock_irq(&sim_event_lock);
	exists = os_event_find(h_client, fd);
	if (!exists)
		list_add(&os->link, &os_events);
	spin_unlock_irq(&sim_event_lock);
	if (!exists)
		return NV_OK;
	kfree(os);
	return NV_ERR_INSUFFICIENT_RESOURCES;
}

u32 sim_os_event_free(struct sim_call *call, u32 h_client, u32 fd)
{
	struct sim_os_event *os;

	spin_lock_irq(&sim_event_lock);
	os = os_event_find(h_client, fd);
	if (os)
		os_event_drop(os);
	spin_unlock_irq(&sim_event_lock);
	return os ? NV_OK : NV_ERR_INVALID_EVENT;
}

static void forget(const struct sim_file *file, u32 h_client)
{
	struct sim_os_event *os, *next;

	spin_lock_irq(&sim_event_lock);
	list_for_each_entry_safe(os, next, &os_events, link)
		if ((file && os->file == file) || (h_client && os->h_client == h_client))
			os_event_drop(os);
	spin_unlock_irq(&sim_event_lock);
}

void sim_events_forget_client(u32 h_client)
{
	forget(NULL, h_client);
}

void sim_events_forget_file(struct sim_file *file)
{
	struct event_data *data, *next;

	forget(file, 0);
	/* nobody can post to it any more */
	list_for_each_entry_safe(data, next, &file->event_data, link)
		kfree(data);
}

/* ---- event objects ---- */

static bool is_event(u32 h_class)
{
	return h_class == NV01_EVENT || h_class == NV01_EVENT_OS_EVENT || h_class == 0x78 ||
	       h_class == 0x7e;
}

/*
 * The source is what the call names as parent, in the client that the parameters name; a source
 * in the parameters is overwritten (535.261.03 src/nvidia/src/kernel/rmapi/alloc_free.c,
 * _fixupAllocParams). Events raise no events.
 */
static u32 source_of(struct sim_call *call, struct sim_object *object, const struct nv0005_alloc *p,
		     struct sim_object **source)
{
	struct sim_client *client = object->client;
	u32 status = NV_OK;

	*source = object->parent;
	if (p->h_parent_client && p->h_parent_client != client->handle) {
		status = sim_client_acquire(call, p->h_parent_client, &client);
		if (!client)
			return status;
		*source = sim_object_find(client, object->parent->handle);
	}
	return *source && !status && !is_event((*source)->h_class) ? NV_OK : NV_ERR_INVALID_OBJECT;
}

static struct sim_os_event *os_event_get(u32 h_client, u32 fd)
{
	struct sim_os_event *os = os_event_find(h_client, fd);

	if (os)
		os->refs++;
	return os;
}

static u32 construct_event(struct sim_call *call, struct sim_object *object, void *params)
{
	const struct nv0005_alloc *p = params;
	struct sim_object *source;
	struct sim_event *event;
	u32 status;

	if (object->h_class == NV01_EVENT && !is_event(p->h_class))
		return NV_ERR_INVALID_CLASS;
	status = source_of(call, object, p, &source);
	if (status)
		return status;
	event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	if (!event)
		return NV_ERR_NO_MEMORY;
	event->object = object;
	event->source = source;
	event->index = p->notify_index & 0xffff;
	event->flags = p->notify_index & 0xff000000;
	spin_lock_irq(&sim_event_lock);
	if (object->h_class == NV01_EVENT_OS_EVENT && !call->kernel) {
		event->os = os_event_get(object->client->handle, (u32)p->data);
		status = event->os ? NV_OK : NV_ERR_OBJECT_NOT_FOUND;
	}
	INIT_LIST_HEAD(&event->on_interrupt);
	if (!status)
		list_add_tail(&event->on_source, &source->events);
	if (!status && (event->flags & NV01_EVENT_NONSTALL_INTR))
		list_add_tail(&event->on_interrupt, &interrupt_events);
	spin_unlock_irq(&sim_event_lock);
	if (status)
		kfree(event);
	else
		object->core = event;
	return status;
}

static void destruct_event(struct sim_object *object)
{
	struct sim_event *event = object->core;

	spin_lock_irq(&sim_event_lock);
	if (event->source)
		list_del(&event->on_source);
	list_del(&event->on_interrupt);
	os_event_put(event->os);
	spin_unlock_irq(&sim_event_lock);
	kfree(event);
	object->core = NULL;
}

const struct sim_class sim_event_classes[] = {
	{ .id = NV01_EVENT,
	  .flags = SIM_CLASS_ON_ANY,
	  .construct = construct_event,
	  .destruct = destruct_event },
	{ .id = NV01_EVENT_OS_EVENT,
	  .flags = SIM_CLASS_ON_ANY,
	  .construct = construct_event,
	  .destruct = destruct_event },
};
const size_t sim_event_class_count = ARRAY_SIZE(sim_event_classes);

/* The source goes before its listeners: they stay, deaf. */
void sim_events_forget_source(struct sim_object *object)
{
	struct sim_event *event, *next;

	spin_lock_irq(&sim_event_lock);
	list_for_each_entry_safe(event, next, &object->events, on_source) {
		list_del(&event->on_source);
		event->source = NULL;
	}
	spin_unlock_irq(&sim_event_lock);
}

u32 sim_event_arm(struct sim_object *source, u32 index, u32 action)
{
	struct sim_event *event;
	u32 found = 0;

	if (action > SIM_EVENT_REPEAT)
		return NV_ERR_INVALID_ARGUMENT;
	spin_lock_irq(&sim_event_lock);
	list_for_each_entry(event, &source->events, on_source) {
		if (event->index != (index & 0xffff))
			continue;
		event->action = action;
		found++;
	}
	spin_unlock_irq(&sim_event_lock);
	return found ? NV_OK : NV_ERR_INVALID_STATE;
}

/* ---- delivery ---- */

static void post(struct sim_event *event, u32 info32, u16 info16)
{
	struct sim_file *file = event->os ? event->os->file : NULL;
	struct event_data *data;

	if (!file)
		return;
	if (event->flags & NV01_EVENT_WITHOUT_EVENT_DATA) {
		file->event_pending = true;
	} else {
		data = kzalloc(sizeof(*data), GFP_ATOMIC);
		if (!data)
			return;
		data->wire.h_object = event->object->handle;
		data->wire.index = event->index;
		data->wire.info32 = info32;
		data->wire.info16 = info16;
		list_add_tail(&data->link, &file->event_data);
	}
	wake_up_interruptible(&file->wait);
}

void sim_event_raise(struct sim_object *source, u32 index, u32 info32, u16 info16)
{
	struct sim_event *event;
	unsigned long flags;

	spin_lock_irqsave(&sim_event_lock, flags);
	list_for_each_entry(event, &source->events, on_source) {
		if (event->index != (index & 0xffff))
			continue;
		if (event->action == SIM_EVENT_DISABLE &&
		    !(event->flags & NV01_EVENT_NONSTALL_INTR))
			continue;
		if (event->action == SIM_EVENT_SINGLE)
			event->action = SIM_EVENT_DISABLE;
		post(event, info32, info16);
	}
	spin_unlock_irqrestore(&sim_event_lock, flags);
}

/* An engine has done something: all who listen at a subdevice of the card. */
void sim_event_interrupt(struct sim_card *card, u32 index)
{
	struct sim_event *event;
	unsigned long flags;

	spin_lock_irqsave(&sim_event_lock, flags);
	list_for_each_entry(event, &interrupt_events, on_interrupt)
		if (event->source && event->source->card == card && event->index == index)
			post(event, 0, 0);
	spin_unlock_irqrestore(&sim_event_lock, flags);
}

bool sim_event_poll(struct sim_file *file)
{
	bool ready;

	spin_lock_irq(&sim_event_lock);
	ready = file->event_pending || !list_empty(&file->event_data);
	file->event_pending = false;
	spin_unlock_irq(&sim_event_lock);
	return ready;
}

u32 sim_event_data(struct sim_call *call, struct nvos41 *p)
{
	struct event_data *data;

	spin_lock_irq(&sim_event_lock);
	data = list_first_entry_or_null(&call->file->event_data, struct event_data, link);
	if (data)
		list_del(&data->link);
	p->more_events = !list_empty(&call->file->event_data);
	spin_unlock_irq(&sim_event_lock);
	if (!data)
		return NV_ERR_OPERATING_SYSTEM;
	p->status = sim_copy_out(call, p->p_event, &data->wire, sizeof(data->wire));
	kfree(data);
	return p->status;
}
