/* SPDX-License-Identifier: MIT */
/*
 * Everything at once: tasks that use tenants, tasks that make, resize, bind and take them away, and
 * random kills, while the simulated driver fails a part of its calls.
 *
 *	storm CARD-UUID SECONDS [TASKS [PERCENT [SEED]]]
 *
 * Root, without other tenants. At the end all tasks are killed and all tenants deleted, and nothing
 * may be left: not in the driver's counters, not of the module's references, folders and
 * threads, not charged to or granted on the card. One line:
 * "storm: seconds=… calls=… refused=… made=… kills=… ok" or "… FAIL why".
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/stat.h>

#include "race.h"

#include "genl.h"

#define TENANTS	   6
#define TASKS_MAX  64
#define GROUPS	   "/sys/fs/cgroup"
#define RANGE	   0x200000000000ULL
#define STATUS	   0x1au /* INSUFFICIENT_RESOURCES: what the driver fails with */
#define RESTING_S  60.0
#define HANDLES	   8
#define FIRST	   0x100u
#define MOST_BYTES (96 * MIB)

struct totals { /* shared by all tasks */
	atomic_ulong calls, refused, made;
};

struct task { /* one process' things */
	unsigned int random;
	char dir[64];
	const char *card;
	struct totals *totals;
	struct rm rm;
	struct uvm uvm;
	uint8_t uuid[16];
	int netlink, exported;
	char *at[4];
	size_t bytes[4];
};

static unsigned int chance(struct task *t, unsigned int n)
{
	return race_random(&t->random) % n;
}

static int counted(struct task *t, int rc)
{
	t->totals->calls++;
	t->totals->refused += rc != 0;
	return rc;
}

static void name_of(char *name, size_t bytes, unsigned int n)
{
	snprintf(name, bytes, "storm%u", n);
}

/* ---- who uses ---- */

static uint32_t some_handle(struct task *t)
{
	return FIRST + chance(t, HANDLES);
}

static uint64_t some_bytes(struct task *t)
{
	return (chance(t, 4) ? 64 << 10 : MIB) * (1 + chance(t, 48));
}

static void allocate(struct task *t)
{
	uint8_t heap[NVOS32_SIZE];

	switch (chance(t, 3)) {
	case 0:
		counted(t, rm_alloc_video(&t->rm, some_handle(t), some_bytes(t)));
		break;
	case 1:
		rm_heap_request(&t->rm, heap, some_handle(t), some_bytes(t));
		counted(t, rm_heap(&t->rm, heap));
		break;
	default:
		counted(t, rm_alloc_system(&t->rm, some_handle(t), 64 << 10));
	}
}

static void unmap(struct task *t, unsigned int slot)
{
	if (t->at[slot])
		munmap(t->at[slot], t->bytes[slot]);
	t->at[slot] = NULL;
}

/* Touched in part: pages come at first touch. A mapping may lose its memory under us. */
static void keep_mapping(struct task *t, char *at, size_t bytes)
{
	unsigned int slot = chance(t, 4);

	if (at == MAP_FAILED)
		return;
	unmap(t, slot);
	t->at[slot] = at;
	t->bytes[slot] = bytes;
	*(volatile char *)at = 1;
}

static void map(struct task *t)
{
	size_t bytes = 64 << 10;
	int fd = rm_open_gpu(t->dir, t->rm.minor);

	if (counted(t, fd < 0 ? fd : 0))
		return;
	if (!counted(t, rm_map(t->rm.ctl, t->rm.client, t->rm.device, some_handle(t), bytes, fd)))
		keep_mapping(t, mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
			     bytes);
	close(fd);
}

static void map_managed(struct task *t)
{
	size_t bytes = (1 + chance(t, 8)) * MIB;
	char *at;

	if (t->uvm.fd < 0) {
		counted(t, uvm_start(&t->uvm, &t->rm, t->uuid));
		return;
	}
	at = uvm_reserve(bytes);
	if (at != MAP_FAILED)
		keep_mapping(t,
			     mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				  t->uvm.fd, (off_t)at),
			     bytes);
}

static void map_external(struct task *t)
{
	uint64_t base = RANGE + chance(t, 4) * 16 * MIB;

	if (t->uvm.fd < 0)
		return;
	if (!counted(t, uvm_create_range(t->uvm.fd, base, 8 * MIB)))
		counted(t, uvm_map(&t->uvm, &t->rm, some_handle(t), base, 64 << 10));
	if (chance(t, 2))
		counted(t, uvm_free_range(t->uvm.fd, base, 8 * MIB));
}

static void share(struct task *t)
{
	if (chance(t, 2))
		counted(t, rm_dup(t->rm.ctl, t->rm.client, t->rm.device, some_handle(t),
				  t->rm.client, some_handle(t)));
	if (t->exported < 0) {
		t->exported = rm_open_node(t->dir, "nvidiactl");
		if (t->exported >= 0)
			counted(t, rm_export(t->rm.ctl, t->rm.client, t->rm.device, some_handle(t),
					     t->exported));
		return;
	}
	counted(t, rm_import(t->rm.ctl, t->rm.client, t->rm.device, some_handle(t), t->exported));
	if (chance(t, 2)) {
		close(t->exported);
		t->exported = -1;
	}
}

static void look(struct task *t)
{
	struct pollfd p = { .fd = t->rm.gpu, .events = POLLIN };
	uint8_t params[512] = { 0 };

	rm_put32(params, 0, 1);
	rm_put32(params, 4, 8);
	counted(t, rm_control(t->rm.ctl, t->rm.client, t->rm.subdevice, NV2080_CTRL_FB_GET_INFO_V2,
			      params, rm_abi()->fb_info_v2_bytes));
	poll(&p, 1, 0);
}

static void group(struct task *t)
{
	struct nv_channel_group_alloc p = { .h_va_space = UVM_VASPACE, .engine_type = 1 };
	uint32_t handle = 0x200;

	if (counted(t, rm_alloc(t->rm.ctl, t->rm.client, t->rm.device, &handle,
				KEPLER_CHANNEL_GROUP_A, &p)) == 0x19) /* in use */
		counted(t, rm_free(t->rm.ctl, t->rm.client, t->rm.device, handle));
}

/* Has all that its parent has, for a moment; both close. */
static void inherit(struct task *t)
{
	int copy = dup(t->rm.ctl);

	if (!fork()) {
		truth_sleep_ms(chance(t, 20));
		_exit(0);
	}
	if (copy >= 0)
		close(copy);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void leave(struct task *t)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (chance(t, 2))
			unmap(t, i);
	uvm_stop(&t->uvm);
	if (t->exported >= 0)
		close(t->exported);
	t->exported = -1;
	rm_stop(&t->rm);
}

static void one_use(struct task *t)
{
	switch (chance(t, 16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		allocate(t);
		break;
	case 4:
	case 5:
		counted(t, rm_free(t->rm.ctl, t->rm.client, t->rm.device, some_handle(t)));
		break;
	case 6:
	case 7:
		map(t);
		break;
	case 8:
		unmap(t, chance(t, 4));
		break;
	case 9:
		map_managed(t);
		break;
	case 10:
		map_external(t);
		break;
	case 11:
	case 12:
		share(t);
		break;
	case 13:
		look(t);
		break;
	case 14:
		group(t);
		break;
	default:
		inherit(t);
	}
}

/* A mapping whose memory is gone or whose card fails: the process goes, as programs do. */
static void use(struct task *t)
{
	char name[16];
	unsigned int uses;

	for (;;) {
		name_of(name, sizeof(name), chance(t, TENANTS));
		snprintf(t->dir, sizeof(t->dir), "/dev/gpushare/%s", name);
		uses = 20 + chance(t, 100);
		if (counted(t, rm_start(&t->rm, t->dir))) {
			truth_sleep_ms(5);
			uses = chance(t, 3);
		}
		while (uses--)
			one_use(t);
		leave(t);
	}
}

/* ---- who operates ---- */

static void bind_group(struct task *t, const char *name)
{
	char path[64];
	struct stat folder;

	snprintf(path, sizeof(path), GROUPS "/%s", name);
	if (chance(t, 2)) {
		mkdir(path, 0755);
		if (!stat(path, &folder))
			counted(t, genl_tenant_bind(t->netlink, name, folder.st_ino));
		rmdir(path); /* takes the binding along */
	}
	counted(t, genl_tenant_bind(t->netlink, name, 0));
}

static void read_files(const char *name, const char *card)
{
	static const char *const files[] = { "charged_bytes", "free_bytes", "refusals" };
	char path[200], text[64];
	unsigned int i;
	int fd;

	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), TRUTH_BOOKS "/%s/%s/%s", name, card, files[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return;
		if (read(fd, text, sizeof(text)) < 0 && errno != ENODEV)
			perror(path);
		close(fd);
	}
}

static void one_operation(struct task *t, const char *name)
{
	static const uint8_t dumps[] = { GPUSHARE_CMD_TENANT_GET, GPUSHARE_CMD_CARD_GET,
					 GPUSHARE_CMD_CLIENT_GET, GPUSHARE_CMD_STATS_GET };
	uint64_t quota = MIB * (1 + chance(t, 256));

	switch (chance(t, 10)) {
	case 0:
	case 1:
		if (!counted(t, genl_tenant_new(t->netlink, name, t->card, quota)))
			t->totals->made++;
		break;
	case 2:
		counted(t, genl_tenant_del(t->netlink, name, (int)chance(t, 2)));
		break;
	case 3:
	case 4:
		counted(t, genl_share_set(t->netlink, name, t->card, quota));
		break;
	case 5:
		bind_group(t, name);
		break;
	case 6:
	case 7:
		read_files(name, t->card);
		break;
	default:
		counted(t, genl_dump(t->netlink, dumps[chance(t, 4)]));
	}
}

static void operate(struct task *t)
{
	char name[16];

	t->netlink = genl_open();
	for (;;) {
		name_of(name, sizeof(name), chance(t, TENANTS));
		one_operation(t, name);
		truth_sleep_ms(chance(t, 10));
	}
}

/* ---- the storm ---- */

struct storm {
	const char *card;
	struct totals *totals;
	unsigned int tasks, percent, random, minor;
	double seconds;
	pid_t pids[TASKS_MAX];
	unsigned long kills;
	char counts[512], why[700];
	unsigned long references;
	int netlink;
};

static void fail(struct storm *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!s->why[0])
		vsnprintf(s->why, sizeof(s->why), format, args);
	va_end(args);
}

static pid_t start(struct storm *s, unsigned int n)
{
	struct task t = { .random = s->random * 31 + n,
			  .card = s->card,
			  .totals = s->totals,
			  .uvm = { .fd = -1, .mm_fd = -1 },
			  .rm = { .ctl = -1, .gpu = -1 },
			  .exported = -1 };
	pid_t pid;

	race_random(&s->random);
	truth_uuid(s->card, t.uuid);
	pid = race_fork();
	if (pid)
		return pid;
	if (n % 5 == 0)
		operate(&t);
	else
		use(&t);
	_exit(0);
}

/* A rule a kind of call; what gpushare asks by itself is among the controls. */
static void driver_fails(struct storm *s)
{
	static const char *const sites[] = { "alloc", "free", "control", "vidheap",
					     "map",   "dup",  "uvm",	 "open" };
	unsigned int i;
	FILE *file;

	for (i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		file = fopen(TRUTH_DRIVER "/faults", "we");
		fprintf(file, "fail %s percent=%u status=0x%x\n", sites[i], s->percent, STATUS);
		if (fclose(file))
			fail(s, "no faults in %s", sites[i]);
	}
}

/* And no allocation fails any more: see inside/failslab.py. */
static void all_is_well(void)
{
	FILE *file = fopen(TRUTH_DRIVER "/faults", "we");

	fputs("clear\n", file);
	fclose(file);
	file = fopen("/sys/kernel/debug/failslab/probability", "we");
	if (file) {
		fputs("0\n", file);
		fclose(file);
	}
}

static void blow(struct storm *s)
{
	double end = truth_now() + s->seconds;
	unsigned int i;

	for (i = 0; i < s->tasks; i++)
		s->pids[i] = start(s, i);
	while (truth_now() < end) {
		truth_sleep_ms(5 + race_random(&s->random) % 40);
		i = race_random(&s->random) % s->tasks;
		if (race_kill(s->pids[i], RESTING_S) > RESTING_S - 1) {
			fail(s, "task %u is not to be killed", i);
			return;
		}
		s->kills++;
		s->pids[i] = start(s, i);
	}
}

static void calm(struct storm *s)
{
	unsigned int i;
	char path[64];

	for (i = 0; i < s->tasks; i++)
		kill(s->pids[i], SIGKILL);
	for (i = 0; i < s->tasks; i++)
		if (race_kill(s->pids[i], RESTING_S) > RESTING_S - 1)
			fail(s, "task %u is not to be killed", i);
	all_is_well();
	for (i = 0; i < TENANTS; i++) {
		name_of(path, sizeof(path), i);
		genl_tenant_del(s->netlink, path, 1);
		snprintf(path, sizeof(path), GROUPS "/storm%u", i);
		rmdir(path);
	}
}

/* ---- afterwards ---- */

static uint64_t number_in(const char *bytes, ssize_t got, uint16_t type)
{
	const struct nlattr *attr =
		(const void *)((char *)NLMSG_DATA((struct nlmsghdr *)bytes) + GENL_HDRLEN);
	uint64_t value = 0;

	for (; (const char *)attr < bytes + got;
	     attr = (const void *)((const char *)attr + NLA_ALIGN(attr->nla_len)))
		if (attr->nla_len < NLA_HDRLEN)
			break;
		else if (attr->nla_type == type)
			memcpy(&value, (const char *)attr + NLA_HDRLEN, 8);
	return value;
}

/* Charged to and granted on the first card. */
static uint64_t on_card(struct storm *s)
{
	char bytes[8192];
	struct genl m;
	uint64_t sum;
	ssize_t got;

	genl_begin(&m, genl_family, GPUSHARE_CMD_CARD_GET, NLM_F_DUMP);
	genl_send(s->netlink, &m);
	got = recv(s->netlink, bytes, sizeof(bytes), 0);
	sum = number_in(bytes, got, GPUSHARE_A_CARD_CHARGED_BYTES) +
	      number_in(bytes, got, GPUSHARE_A_CARD_GRANTED_BYTES);
	genl_receive(s->netlink);
	return sum;
}

static unsigned int threads(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	unsigned int n = 0;
	char path[300], comm[32];
	FILE *file;

	while ((entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "re") :
									    NULL;
		if (!file)
			continue;
		if (fgets(comm, sizeof(comm), file) && !strncmp(comm, "gpushare_", 9))
			n++;
		fclose(file);
	}
	closedir(proc);
	return n;
}

static unsigned int folders(void)
{
	DIR *books = opendir(TRUTH_BOOKS);
	struct dirent *entry;
	unsigned int n = 0;

	while ((entry = readdir(books)))
		n += !strncmp(entry->d_name, "storm", 5);
	closedir(books);
	return n;
}

static void one_line(char *text)
{
	for (; *text; text++)
		if (*text == '\n')
			*text = ' ';
}

static bool at_rest(struct storm *s, unsigned int own_threads, char *now, size_t bytes)
{
	uint64_t left = on_card(s);

	truth_read(TRUTH_DRIVER "/counts", now, bytes);
	return !left && !folders() && threads() == own_threads &&
	       truth_references() == s->references && !strcmp(now, s->counts);
}

static void nothing_is_left(struct storm *s, unsigned int own_threads)
{
	double end = truth_now() + RESTING_S;
	char now[512];

	while (!at_rest(s, own_threads, now, sizeof(now))) {
		if (truth_now() > end) {
			one_line(now);
			fail(s, "left: %llu bytes, %u folders, %u threads, %lu files; driver: %s",
			     (unsigned long long)on_card(s), folders(), threads(),
			     truth_references() - s->references, now);
			return;
		}
		truth_sleep_ms(50);
	}
}

int main(int argc, char **argv)
{
	struct storm s = { .tasks = 32, .percent = 2, .random = 1 };
	unsigned int own_threads;

	if (argc < 3)
		return 2;
	s.card = argv[1];
	s.seconds = atof(argv[2]);
	if (argc > 3)
		s.tasks = (unsigned int)atoi(argv[3]);
	if (argc > 4)
		s.percent = (unsigned int)atoi(argv[4]);
	if (argc > 5)
		s.random = (unsigned int)atoi(argv[5]);
	if (!s.tasks || s.tasks > TASKS_MAX)
		return 2;
	s.totals = mmap(NULL, sizeof(*s.totals), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	s.netlink = genl_open();
	genl_family = genl_find(s.netlink);
	own_threads = threads();
	s.references = truth_references_at_rest();
	truth_read(TRUTH_DRIVER "/counts", s.counts, sizeof(s.counts));
	if (s.percent)
		driver_fails(&s);
	blow(&s);
	calm(&s);
	nothing_is_left(&s, own_threads);
	printf("storm: seconds=%.0f calls=%lu refused=%lu made=%lu kills=%lu %s%s\n", s.seconds,
	       s.totals->calls, s.totals->refused, s.totals->made, s.kills,
	       s.why[0] ? "FAIL " : "ok", s.why);
	return s.why[0] != '\0';
}
