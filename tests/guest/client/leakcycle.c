/* SPDX-License-Identifier: MIT */
/*
 * Processes that make one of everything and are killed: the driver's counters, gpushare's charge
 * and its module's references must come back to where they were.
 *
 *	leakcycle FOLDER [CYCLES]
 *
 * FOLDER has the tenant's nodes. One line at the end, "leakcycle: cycles=… ok" or "… FAIL why"; status as of
 * races.c. Every second child leaves a child of its own that outlives it with all that it inherited.
 */
#define _GNU_SOURCE
#include "race.h"

#define CARD_MEMORY   0x10u
#define HEAP_MEMORY   0x11u
#define SYSTEM_MEMORY 0x12u
#define VIRTUAL_SPACE 0x13u
#define COPY          0x14u
#define IMPORTED      0x15u
#define GROUP         0x16u
#define SHARE         0x17u
#define CHANNEL       0x18u
#define DOORBELL      0x19u
#define EVENT         0x1au
#define EXTERNAL      0x1bu
#define RANGE         0x200000000000ULL
#define POOL          0x200100000000ULL

struct use { /* what one child has */
	struct rm rm, second;
	struct uvm uvm;
	uint8_t uuid[16];
	int report;
};

/* The first step that fails is told to the parent, and ends the child. */
static void step(struct use *u, const char *what, int rc)
{
	char line[100];
	int length;

	if (!rc)
		return;
	length = snprintf(line, sizeof(line), "%s: %d (0x%x)", what, rc, (unsigned int)rc);
	if (write(u->report, line, (size_t)length) != length)
		_exit(2);
	_exit(1);
}

static int alloc(const struct rm *rm, uint32_t parent, uint32_t handle, uint32_t h_class, void *p)
{
	return rm_alloc(rm->ctl, rm->client, parent, &handle, h_class, p);
}

/* Through a file of its own: a file takes one mapping. */
static int map_and_touch(const struct rm *rm, uint32_t memory, size_t bytes, bool card)
{
	int fd = card ? rm_open_gpu(rm->dir, rm->minor) : rm_open_node(rm->dir, "nvidiactl");
	int rc = rm_map(rm->ctl, rm->client, rm->device, memory, bytes, fd);
	volatile char *at;

	if (rc)
		return rc;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	at[0] = at[bytes - 1] = 1;
	return 0; /* descriptor and mapping stay */
}

static void use_memory(struct use *u)
{
	struct nv_memory_virtual_alloc space = { 0 };
	uint8_t heap[NVOS32_SIZE];
	uint64_t va = 0;
	struct rm *rm = &u->rm;

	step(u, "card memory", rm_alloc_video(rm, CARD_MEMORY, LARGE));
	rm_heap_request(rm, heap, HEAP_MEMORY, LARGE);
	step(u, "heap call", rm_heap(rm, heap));
	step(u, "system memory", rm_alloc_system(rm, SYSTEM_MEMORY, 64 << 10));
	step(u, "map card memory", map_and_touch(rm, CARD_MEMORY, 2 * MIB, true));
	step(u, "map system memory", map_and_touch(rm, SYSTEM_MEMORY, 64 << 10, false));
	step(u, "virtual memory",
	     alloc(rm, rm->device, VIRTUAL_SPACE, NV01_MEMORY_VIRTUAL, &space));
	step(u, "map on the card",
	     rm_map_dma(rm->ctl, rm->client, rm->device, VIRTUAL_SPACE, CARD_MEMORY, 2 * MIB, &va));
}

static void use_sharing(struct use *u)
{
	int fd = rm_open_node(u->rm.dir, "nvidiactl");

	step(u, "second client", rm_start(&u->second, u->rm.dir));
	step(u, "duplicate",
	     rm_dup(u->second.ctl, u->second.client, u->second.device, COPY, u->rm.client,
		    CARD_MEMORY));
	step(u, "export", rm_export(u->rm.ctl, u->rm.client, u->rm.device, HEAP_MEMORY, fd));
	step(u, "import",
	     rm_import(u->second.ctl, u->second.client, u->second.device, IMPORTED, fd));
}

static int channel(const struct rm *rm)
{
	uint8_t p[360] = { 0 }; /* NV_CHANNEL_ALLOC_PARAMS of 535 */

	rm_put64(p, 8, 0x100000); /* ring */
	rm_put32(p, 16, 64); /* its entries */
	rm_put32(p, 24, SHARE);
	rm_put32(p, 32, SYSTEM_MEMORY); /* user area */
	rm_put32(p, 128, 1); /* graphics engine */
	return alloc(rm, GROUP, CHANNEL, AMPERE_CHANNEL_GPFIFO_A, p);
}

static void use_work(struct use *u)
{
	struct nv_channel_group_alloc group = { .h_va_space = UVM_VASPACE, .engine_type = 1 };
	struct nv_ctxshare_alloc share = { .h_va_space = UVM_VASPACE };
	struct rm *rm = &u->rm;

	step(u, "channel group", alloc(rm, rm->device, GROUP, KEPLER_CHANNEL_GROUP_A, &group));
	step(u, "context share", alloc(rm, GROUP, SHARE, FERMI_CONTEXT_SHARE_A, &share));
	step(u, "channel", channel(rm));
	step(u, "doorbell", alloc(rm, rm->subdevice, DOORBELL, AMPERE_USERMODE_A, NULL));
	step(u, "map doorbell", map_and_touch(rm, DOORBELL, 64 << 10, true));
}

static void use_event(struct use *u)
{
	struct rm *rm = &u->rm;
	struct nv_alloc_os_event os = { .h_client = rm->client,
					.h_device = rm->device,
					.fd = (uint32_t)rm->gpu,
					.status = RM_STATUS_UNTOUCHED };
	struct nv0005_alloc p = { .h_parent_client = rm->client,
				  .h_src_resource = rm->subdevice,
				  .h_class = NV01_EVENT_OS_EVENT,
				  .data = (uint32_t)rm->gpu };

	step(u, "event on a file",
	     rm_ioctl(rm->gpu, NV_ESC_ALLOC_OS_EVENT, &os, sizeof(os)) ?: (int)os.status);
	step(u, "event", alloc(rm, rm->subdevice, EVENT, NV01_EVENT_OS_EVENT, &p));
}

static void use_managed(struct use *u)
{
	char *at;

	step(u, "managed file", uvm_start(&u->uvm, &u->rm, u->uuid));
	at = uvm_mmap(u->uvm.fd, 16 * MIB);
	step(u, "managed memory", at == MAP_FAILED ? -errno : 0);
	at[0] = 1;
	step(u, "migration", uvm_migrate(&u->uvm, (uintptr_t)at, 16 * MIB));
	step(u, "external range", uvm_create_range(u->uvm.fd, RANGE, 8 * MIB));
	step(u, "external memory", rm_alloc_video(&u->rm, EXTERNAL, 2 * MIB));
	step(u, "external mapping", uvm_map(&u->uvm, &u->rm, EXTERNAL, RANGE, 2 * MIB));
	step(u, "free what is mapped", rm_free(u->rm.ctl, u->rm.client, u->rm.device, EXTERNAL));
	step(u, "semaphore pool", uvm_alloc_pool(&u->uvm, POOL, 2 * MIB));
}

static void child(const char *dir, const uint8_t uuid[16], int report, bool heir)
{
	struct use u = { .report = report };

	memcpy(u.uuid, uuid, 16);
	step(&u, "client", rm_start(&u.rm, dir));
	use_memory(&u);
	use_sharing(&u);
	use_managed(&u);
	use_work(&u);
	use_event(&u);
	if (heir && !fork()) {
		truth_sleep_ms(30);
		_exit(0);
	}
	if (write(report, "used", 4) != 4)
		_exit(2);
	for (;;)
		pause();
}

static void cycle(struct race *r)
{
	char line[101] = "";
	int ends[2];
	ssize_t got;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		exit(3);
	pid = race_fork();
	if (!pid)
		child(r->dir, r->books.uuid, ends[1], r->done & 1);
	close(ends[1]);
	got = read(ends[0], line, sizeof(line) - 1);
	close(ends[0]);
	if (race_kill(pid, 5) > 4)
		race_fail(r, "a child is not to be killed");
	if (got <= 0 || strcmp(line, "used"))
		race_fail(r, "cycle %lu: %s", r->done, got > 0 ? line : "no word from the child");
}

/* ---- before and after ---- */

static void one_line(char *text)
{
	for (; *text; text++)
		if (*text == '\n')
			*text = ' ';
}

static void counted_back(struct race *r, const char *before)
{
	double end = truth_now() + SETTLE_S;
	char now[512];

	do {
		truth_read(TRUTH_DRIVER "/counts", now, sizeof(now));
		if (!strcmp(now, before))
			return;
		truth_sleep_ms(10);
	} while (truth_now() < end);
	one_line(now);
	race_fail(r, "left behind in the driver: %s", now);
}

static void run(struct race *r)
{
	char before[512];

	r->start_references = truth_references_at_rest();
	truth_read(TRUTH_DRIVER "/counts", before, sizeof(before));
	for (; race_goes_on(r); r->done++) {
		cycle(r);
		if (r->done % CHECK_EVERY == 0)
			race_settled(r, r->start_charged, "killed");
	}
	race_settled(r, r->start_charged, "at the end");
	counted_back(r, before);
	race_let_go(r);
}

int main(int argc, char **argv)
{
	struct race r = { .name = "leakcycle", .rounds = 200 };
	int minor;

	if (argc < 2 || argc > 3)
		return 2;
	r.dir = argv[1];
	if (argc > 2)
		r.rounds = strtoul(argv[2], NULL, 10);
	minor = rm_first_minor(r.dir);
	if (minor < 0 || !books_open(&r.books, r.dir, (unsigned int)minor)) {
		fprintf(stderr, "leakcycle: no card in %s\n", r.dir);
		return 3;
	}
	pthread_mutex_init(&r.lock, NULL);
	r.quota = books_value(&r.books, "quota");
	r.start_charged = books_value(&r.books, "charged");
	run(&r);
	printf("leakcycle: cycles=%lu %s%s%s\n", r.done, r.failed ? "FAIL" : "ok",
	       r.failed ? " " : "", r.why);
	return r.failed;
}
