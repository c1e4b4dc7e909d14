/* SPDX-License-Identifier: MIT */
/* Races on the control node: sizes, classes and handles that change, objects not yet settled. */
#ifndef TEST_RACE_RM_H
#define TEST_RACE_RM_H

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/syscall.h>

#include "race.h"

#define HANDLES   2
#define BIG_PAGES (NVOS32_ATTR_PAGE_SIZE_BIG << 23) /* granule 64 KiB whatever the size */

static const uint32_t flip_handles[HANDLES] = { 0x101, 0x102 };

static void free_handles(struct race *r)
{
	int i;

	for (i = 0; i < HANDLES; i++)
		rm_free(r->rm.ctl, r->rm.client, r->rm.device, flip_handles[i]);
}

static uint64_t flip_size(struct race *r, unsigned int n)
{
	const uint64_t sizes[] = { SMALL, LARGE, r->quota + MIB, SMALL };

	return sizes[n & 3];
}

/* ---- size-flip-alloc ---- */

enum { ALLOC_SIZE, ALLOC_HANDLE, ALLOC_CLASS, ALLOC_POINTER, ALLOC_ALL, ALLOC_MODES };

struct flip_alloc {
	volatile struct nvos21 call;
	volatile union rm_memory_alloc params[2];
	atomic_uint mode;
	unsigned int n;
};

static void flip_alloc_step(struct attacker *a)
{
	static const uint32_t classes[] = { NV01_MEMORY_LOCAL_USER, FERMI_VASPACE_A,
					    NV01_MEMORY_LOCAL_USER, NV01_MEMORY_SYSTEM };
	struct flip_alloc *f = a->data;
	unsigned int mode = f->mode, n = f->n++;

	if (mode == ALLOC_SIZE || mode == ALLOC_ALL)
		f->params[0].p.size = flip_size(a->race, n);
	if (mode == ALLOC_HANDLE || mode == ALLOC_ALL)
		f->call.h_object_new = flip_handles[n & 1];
	if (mode == ALLOC_CLASS || mode == ALLOC_ALL)
		f->call.h_class = classes[n & 3];
	if (mode == ALLOC_POINTER || mode == ALLOC_ALL)
		f->call.p_alloc_parms = (uintptr_t)&f->params[n & 1];
}

static void flip_alloc_reset(struct race *r, struct flip_alloc *f)
{
	struct nv_memory_alloc small = { .owner = r->rm.client, .size = SMALL }, large = small;

	large.size = LARGE;
	memcpy((void *)&f->params[0], &small, sizeof(small));
	memcpy((void *)&f->params[1], &large, sizeof(large));
	f->call.h_root = r->rm.client;
	f->call.h_object_parent = r->rm.device;
	f->call.h_object_new = flip_handles[0];
	f->call.h_class = NV01_MEMORY_LOCAL_USER;
	f->call.p_alloc_parms = (uintptr_t)&f->params[0];
	f->call.status = RM_STATUS_UNTOUCHED;
}

static void size_flip_alloc(struct race *r)
{
	static struct flip_alloc f;
	struct attacker a;

	flip_alloc_reset(r, &f);
	attacker_start(&a, r, flip_alloc_step, &f);
	for (; race_goes_on(r); r->done++) {
		f.mode = (unsigned int)(r->done % ALLOC_MODES);
		flip_alloc_reset(r, &f);
		if (rm_ioctl(r->rm.ctl, NV_ESC_RM_ALLOC, (void *)&f.call, sizeof(f.call)))
			race_fail(r, "the call itself failed: %s", strerror(errno));
		else if (!f.call.status)
			r->hits++;
		race_quiet_often(r, "after the call");
		free_handles(r);
	}
	attacker_stop(&a);
}

/* ---- size-flip-heap ---- */

enum { HEAP_SIZE, HEAP_PLACE, HEAP_VIRTUAL, HEAP_FUNCTION, HEAP_HANDLE, HEAP_ALL, HEAP_MODES };

struct flip_heap {
	uint8_t call[NVOS32_SIZE];
	atomic_uint mode;
	unsigned int n;
};

static void flip_heap_step(struct attacker *a)
{
	static const uint32_t places[] = { NVOS32_ATTR_LOCATION_VIDMEM, NVOS32_ATTR_LOCATION_PCI,
					   NVOS32_ATTR_LOCATION_VIDMEM, NVOS32_ATTR_LOCATION_ANY };
	static const uint32_t functions[] = { NVOS32_FUNCTION_ALLOC_SIZE, NVOS32_FUNCTION_INFO,
					      NVOS32_FUNCTION_ALLOC_SIZE_RANGE,
					      NVOS32_FUNCTION_ALLOC_TILED };
	struct flip_heap *f = a->data;
	unsigned int mode = f->mode, n = f->n++;

	if (mode == HEAP_SIZE || mode == HEAP_ALL)
		rm_put64(f->call, NVOS32_OFF_ALLOC_SIZE, flip_size(a->race, n));
	if (mode == HEAP_PLACE || mode == HEAP_ALL)
		rm_put32(f->call, NVOS32_OFF_ALLOC_ATTR, places[n & 3] << 25);
	if (mode == HEAP_VIRTUAL || mode == HEAP_ALL)
		rm_put32(f->call, NVOS32_OFF_ALLOC_FLAGS,
			 NVOS32_FLAGS_HANDLE_PROVIDED | (n & 1 ? NVOS32_FLAGS_VIRTUAL : 0));
	if (mode == HEAP_FUNCTION || mode == HEAP_ALL)
		rm_put32(f->call, NVOS32_OFF_FUNCTION, functions[n & 3]);
	if (mode == HEAP_HANDLE || mode == HEAP_ALL)
		rm_put32(f->call, NVOS32_OFF_ALLOC_MEMORY, flip_handles[n & 1]);
	atomic_signal_fence(memory_order_seq_cst);
}

static const char *const heap_place_names[] = { "on the card", "PCI", "AGP", "any place" };

/* Every place, without a race: what is not called card memory must not be card memory. */
static void heap_places(struct race *r)
{
	uint8_t p[NVOS32_SIZE];
	uint32_t place;

	for (place = 0; place < 4; place++) {
		rm_heap_request(&r->rm, p, flip_handles[0], LARGE);
		rm_put32(p, NVOS32_OFF_ALLOC_ATTR, place << 25);
		rm_heap(&r->rm, p);
		race_quiet(r, heap_place_names[place]);
		free_handles(r);
	}
}

static void size_flip_heap(struct race *r)
{
	static struct flip_heap f;
	struct attacker a;

	heap_places(r);
	attacker_start(&a, r, flip_heap_step, &f);
	for (; race_goes_on(r); r->done++) {
		f.mode = (unsigned int)(r->done % HEAP_MODES);
		rm_heap_request(&r->rm, f.call, flip_handles[0], SMALL);
		if (!rm_heap(&r->rm, f.call))
			r->hits++;
		race_quiet_often(r, "after the call");
		free_handles(r);
	}
	attacker_stop(&a);
}

/* ---- pin-flip ---- */

/* The call that pins the caller's pages runs on the caller's memory, and can ask for the heap's size. */
static void pin_flip_step(struct attacker *a)
{
	volatile struct nvos02_fd *call = a->data;
	volatile unsigned int wait = (unsigned int)(a->race->done * 7 % 1000);

	call->h_class = NV01_MEMORY_LOCAL_USER;
	while (wait)
		wait--;
	call->h_class = NV01_MEMORY_SYSTEM_OS_DESCRIPTOR;
}

struct os_descriptor { /* NV_OS_DESC_MEMORY_ALLOCATION_PARAMS: nvos.h */
	uint32_t type, flags, attr, attr2;
	uint64_t descriptor, limit;
	uint32_t descriptor_type, tag;
};

/*
 * The same by RM_ALLOC: whoever looks the address up in another address space than the caller's
 * does not find it, or finds somebody else's page.
 */
static void pin_by_alloc(struct race *r, char *page)
{
	struct os_descriptor p = { .descriptor = (uintptr_t)page, .limit = 4095 };
	uint32_t handle = flip_handles[0];
	int rc = rm_alloc(r->rm.ctl, r->rm.client, r->rm.device, &handle,
			  NV01_MEMORY_SYSTEM_OS_DESCRIPTOR, &p);
	int fd = rm_open_node(r->dir, "nvidiactl");
	volatile char *at;

	if (rc == NV_ERR_INVALID_ADDRESS)
		race_fail(r, "RM_ALLOC looks for the caller's page in another address space");
	if (!rc && !rm_map(r->rm.ctl, r->rm.client, r->rm.device, handle, 4096, fd)) {
		at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		if (at != MAP_FAILED && at[0] != page[0])
			race_fail(r, "RM_ALLOC pins somebody else's page");
	}
	rm_free(r->rm.ctl, r->rm.client, r->rm.device, handle);
	close(fd);
}

static void pin_flip(struct race *r)
{
	static char pages[2 * 4096] __attribute__((aligned(4096)));
	volatile struct nvos02_fd call = { 0 };
	struct attacker a;
	struct rm rm;

	memset(pages, 0x5a, sizeof(pages));
	pin_by_alloc(r, pages);
	attacker_start(&a, r, pin_flip_step, (void *)&call);
	for (; race_goes_on(r); r->done++) {
		if (!race_need(r, "client", rm_start(&rm, r->dir)))
			break;
		call.h_root = rm.client;
		call.h_object_parent = rm.device;
		call.h_object_new = flip_handles[0];
		call.flags = NVOS02_FLAGS_MAPPING_NO_MAP << 30;
		call.p_memory = (uintptr_t)pages;
		call.limit = sizeof(pages) - 1;
		if (!rm_ioctl(rm.gpu, NV_ESC_RM_ALLOC_MEMORY, (void *)&call, sizeof(call)))
			r->hits++;
		if (call.limit + 1 > r->quota)
			race_fail(r, "the card's size came through: %llu",
				  (unsigned long long)call.limit + 1);
		race_quiet_often(r, "after the call");
		rm_stop(&rm);
	}
	attacker_stop(&a);
}

/* ---- root-flip ---- */

/*
 * The call that makes a client runs on the caller's memory. If the class changes between
 * gpushare's look and the driver's, the driver makes something else; gpushare must notice.
 *
 * The moment between is made long: a first call's answer goes to write-protected memory that
 * nobody resolves, so whoever makes clients one at a time stands still; the second call waits for it.
 *
 * Three ways: on the client's own file; on a second file tied to it, for which the driver acts
 * on the same clients; and with the handle of a client that gpushare does not know as answer,
 * as if the call had made it.
 */
enum { ROOT_OWN, ROOT_TIED, ROOT_HIDDEN, ROOT_WAYS };
#define THEFTS 12
static const char *const root_names[] = { "root", "root, tied file", "root, hidden client" };

struct root_call {
	volatile struct nvos21 *call;
	int fd;
	pthread_t thread;
};

static void *root_call_main(void *data)
{
	struct root_call *c = data;

	rm_ioctl(c->fd, NV_ESC_RM_ALLOC, (void *)c->call, sizeof(*c->call));
	return NULL;
}

static void root_call_start(struct root_call *c)
{
	if (pthread_create(&c->thread, NULL, root_call_main, c))
		exit(3);
}

struct trap { /* a page that can be read, and whose writers stand still */
	int uffd;
	void *page;
};

static bool trap_protect(struct trap *t, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { (uintptr_t)t->page, 4096 },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return !ioctl(t->uffd, UFFDIO_WRITEPROTECT, &wp);
}

static bool trap_open(struct trap *t)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_WP };

	t->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	t->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->uffd < 0 || t->page == MAP_FAILED || ioctl(t->uffd, UFFDIO_API, &api))
		return false;
	reg.range.start = (uintptr_t)t->page;
	reg.range.len = 4096;
	return !ioctl(t->uffd, UFFDIO_REGISTER, &reg);
}

/* Whether somebody stands still there, within a second. */
static bool trap_caught(struct trap *t)
{
	struct pollfd p = { .fd = t->uffd, .events = POLLIN };
	struct uffd_msg message;

	return poll(&p, 1, 1000) == 1 && read(t->uffd, &message, sizeof(message)) > 0;
}

struct thief { /* takes the answer away before gpushare reads it */
	volatile struct nvos21 call;
	volatile uint32_t taken;
};

static void thief_step(struct attacker *a)
{
	struct thief *t = a->data;
	uint32_t handle = t->call.h_object_new;

	if (handle) {
		t->call.h_object_new = 0;
		t->taken = handle;
	}
}

/* A client that the driver has and gpushare may not have seen; 0: it could not be done. */
static uint32_t hidden_client(struct race *r, int ctl)
{
	static struct thief t;
	struct attacker a;
	int tries;

	memset((void *)&t, 0, sizeof(t));
	attacker_start(&a, r, thief_step, &t);
	for (tries = 0; tries < THEFTS && !t.taken; tries++)
		rm_ioctl(ctl, NV_ESC_RM_ALLOC, (void *)&t.call, sizeof(t.call));
	attacker_stop(&a);
	return t.taken;
}

static int tied_file(const struct rm *rm)
{
	int fd = rm_open_node(rm->dir, "nvidiactl");

	if (fd >= 0)
		rm_register_fd(fd, rm->ctl);
	return fd;
}

/* One call, changed on its way; counts how often the way was open. */
static void root_change(struct race *r, struct trap *trap, int fd, volatile struct nvos21 *call)
{
	struct root_call first = { .call = trap->page, .fd = fd };
	struct root_call second = { .call = call, .fd = fd };

	memset(trap->page, 0, 4096); /* a genuine call */
	trap_protect(trap, true);
	root_call_start(&first);
	r->hits += trap_caught(trap);
	root_call_start(&second);
	truth_sleep_ms(3);
	call->h_class = NV01_MEMORY_LOCAL_USER;
	trap_protect(trap, false);
	pthread_join(first.thread, NULL);
	pthread_join(second.thread, NULL);
}

static void root_attack(struct race *r, struct rm *rm, int way, struct trap *trap)
{
	union rm_memory_alloc params = { .p = { .owner = rm->client, .size = LARGE } };
	int tied = tied_file(rm);
	uint32_t wish = way == ROOT_HIDDEN ? hidden_client(r, tied) : 0;
	volatile struct nvos21 call = {
		.h_root = rm->client,
		.h_object_parent = rm->device,
		.h_object_new = wish ?: flip_handles[0],
		.h_class = NV01_ROOT,
		.p_alloc_parms = (uintptr_t)&params,
	};

	root_change(r, trap, way == ROOT_TIED ? tied : rm->ctl, &call);
	race_quiet(r, root_names[way]);
	if (tied >= 0)
		close(tied);
}

static void root_flip(struct race *r)
{
	struct trap trap;
	struct rm rm;

	if (!race_need(r, "memory that stalls writers", !trap_open(&trap)))
		return;
	for (; race_goes_on(r); r->done++) {
		if (race_need(r, "client", rm_start(&rm, r->dir)))
			root_attack(r, &rm, (int)(r->done % ROOT_WAYS), &trap);
		rm_stop(&rm);
	}
}

/* ---- pending-* ---- */

/*
 * With 3 MiB left, 2 MiB and 64 KiB might fit; the driver's answer is 4 MiB. So the object
 * exists for a moment, and is refused.
 */
#define PENDING_ROOM  (3 * MIB)
#define PENDING_BYTES (2 * MIB + SMALL)
#define PENDING       0x201u
#define FILLER        0x202u
#define VIRTUAL       0x203u

static bool fill(struct race *r, uint64_t room)
{
	union rm_memory_alloc p = { .p = { .owner = r->rm.client, .attr = BIG_PAGES } };
	uint32_t handle = FILLER;

	p.p.size = r->quota - books_value(&r->books, "charged") - room;
	return race_need(r, "filling up",
			 rm_alloc(r->rm.ctl, r->rm.client, r->rm.device, &handle,
				  NV01_MEMORY_LOCAL_USER, &p));
}

struct grabber {
	struct rm rm; /* a second client of the same process */
	struct uvm uvm;
	int export_fd;
	unsigned long attempts;
	unsigned int n;
};

static void grab_dup(struct attacker *a)
{
	struct grabber *g = a->data;
	int rc = rm_dup(g->rm.ctl, g->rm.client, g->rm.device, 0x301, a->race->rm.client, PENDING);

	g->attempts++;
	if (!rc)
		race_fail(a->race, "a second handle on memory that was refused");
}

static void grab_export(struct attacker *a)
{
	struct grabber *g = a->data;
	const struct rm *rm = &a->race->rm;

	g->attempts++;
	if (!rm_export(rm->ctl, rm->client, rm->device, PENDING, g->export_fd))
		race_fail(a->race, "memory that was refused is exported");
}

static void grab_cpu_map(struct attacker *a, struct grabber *g)
{
	const struct rm *rm = &a->race->rm;
	volatile char *at;

	if (rm_map(rm->ctl, rm->client, rm->device, PENDING, 2 * MIB, g->rm.gpu))
		return;
	at = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, g->rm.gpu, 0);
	if (at != MAP_FAILED)
		at[0] = 1;
	race_fail(a->race, "memory that was refused was mapped%s",
		  at != MAP_FAILED ? " and written to" : ", mmap failed");
}

static void grab_map(struct attacker *a)
{
	const struct rm *rm = &a->race->rm;
	struct grabber *g = a->data;
	uint64_t va = 0;

	g->attempts++;
	switch (g->n++ % 3) {
	case 0:
		grab_cpu_map(a, g);
		return;
	case 1:
		if (!uvm_map(&g->uvm, rm, PENDING, 0x200000000000, 2 * MIB))
			race_fail(a->race, "memory that was refused is mapped by UVM");
		return;
	default: /* ends with the object: what counts is the driver's figure */
		rm_map_dma(rm->ctl, rm->client, rm->device, VIRTUAL, PENDING, 2 * MIB, &va);
	}
}

static void pending(struct race *r, void (*step)(struct attacker *), struct grabber *g)
{
	struct attacker a;
	int rc;

	if (!fill(r, PENDING_ROOM))
		return;
	attacker_start(&a, r, step, g);
	for (; race_goes_on(r); r->done++) {
		rc = rm_alloc_video(&r->rm, PENDING, PENDING_BYTES);
		if (rc != NV_ERR_NO_MEMORY)
			race_fail(r, "status 0x%x where out of memory was due", rc);
		if (r->done % CHECK_EVERY)
			continue;
		attacker_pause(&a);
		race_quiet(r, "attacker at rest");
		attacker_resume(&a);
	}
	attacker_stop(&a);
	r->hits = g->attempts;
	rm_free(r->rm.ctl, r->rm.client, r->rm.device, FILLER);
}

static void pending_dup(struct race *r)
{
	struct grabber g = { 0 };

	if (race_need(r, "second client", rm_start(&g.rm, r->dir)))
		pending(r, grab_dup, &g);
	rm_stop(&g.rm);
}

static void pending_export(struct race *r)
{
	struct grabber g = { .export_fd = rm_open_node(r->dir, "nvidiactl") };

	pending(r, grab_export, &g);
	close(g.export_fd);
}

static bool pending_map_setup(struct race *r, struct grabber *g)
{
	struct nv_memory_virtual_alloc p = { .h_va_space = UVM_VASPACE };
	uint32_t handle = VIRTUAL;

	return race_need(r, "second client", rm_start(&g->rm, r->dir)) &&
	       race_need(r, "managed memory", uvm_start(&g->uvm, &r->rm, r->books.uuid)) &&
	       race_need(r, "range", uvm_create_range(g->uvm.fd, 0x200000000000, 2 * MIB)) &&
	       race_need(r, "virtual memory",
			 rm_alloc(r->rm.ctl, r->rm.client, r->rm.device, &handle,
				  NV01_MEMORY_VIRTUAL, &p));
}

static void pending_map(struct race *r)
{
	struct grabber g = { .uvm = { -1, -1, { 0 } } };

	if (pending_map_setup(r, &g))
		pending(r, grab_map, &g);
	rm_stop(&g.rm);
	uvm_stop(&g.uvm);
}

/* ---- dup-free ---- */

#define SOURCE 0x401u
#define COPY   0x402u

static void dup_and_free(struct attacker *a)
{
	struct grabber *g = a->data;

	if (rm_dup(g->rm.ctl, g->rm.client, g->rm.device, COPY, a->race->rm.client, SOURCE))
		return;
	g->attempts++;
	if (g->n++ % 7) /* now and then it outlives the source until the next rest */
		rm_free(g->rm.ctl, g->rm.client, g->rm.device, COPY);
}

/* What only an export still holds stays charged; the import pays nothing more. */
static void export_and_free(struct race *r, struct grabber *g)
{
	uint64_t before = books_value(&r->books, "charged");
	int fd = rm_open_node(r->dir, "nvidiactl");

	race_need(r, "source", rm_alloc_video(&r->rm, SOURCE, LARGE));
	race_need(r, "export", rm_export(r->rm.ctl, r->rm.client, r->rm.device, SOURCE, fd));
	rm_free(r->rm.ctl, r->rm.client, r->rm.device, SOURCE);
	race_settled(r, before + LARGE, "held by an export");
	race_need(r, "import", rm_import(g->rm.ctl, g->rm.client, g->rm.device, COPY, fd));
	race_settled(r, before + LARGE, "imported");
	close(fd);
	race_settled(r, before + LARGE, "held by the import");
	rm_free(g->rm.ctl, g->rm.client, g->rm.device, COPY);
	race_settled(r, before, "export and import gone");
}

static void dup_free(struct race *r)
{
	struct grabber g = { 0 };
	uint64_t before;
	struct attacker a;

	if (!race_need(r, "second client", rm_start(&g.rm, r->dir)))
		return;
	export_and_free(r, &g);
	before = books_value(&r->books, "charged");
	attacker_start(&a, r, dup_and_free, &g);
	for (; race_goes_on(r); r->done++) {
		race_need(r, "source", rm_alloc_video(&r->rm, SOURCE, LARGE));
		if (r->done & 1)
			sched_yield();
		rm_free(r->rm.ctl, r->rm.client, r->rm.device, SOURCE);
		if (r->done % CHECK_EVERY)
			continue;
		attacker_pause(&a);
		race_quiet(r, "attacker at rest");
		rm_free(g.rm.ctl, g.rm.client, g.rm.device, COPY);
		attacker_resume(&a);
	}
	attacker_stop(&a);
	r->hits = g.attempts;
	rm_free(g.rm.ctl, g.rm.client, g.rm.device, COPY);
	race_settled(r, before, "all freed");
	rm_stop(&g.rm);
}

#endif /* TEST_RACE_RM_H */
