/* SPDX-License-Identifier: MIT */
/* Races of processes: descriptors, stalled memory, closing and exiting, other tenants' handles. */
#ifndef TEST_RACE_PROCESS_H
#define TEST_RACE_PROCESS_H

#include <linux/userfaultfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "race.h"

/* ---- fd-hunt ---- */

#define HUNT_BELOW 64

struct hunt {
	unsigned int uvm_major;
	unsigned long looked;
};

static unsigned int uvm_major(void)
{
	char text[4096], *line;

	truth_read("/proc/devices", text, sizeof(text));
	line = strstr(text, " nvidia-uvm\n");
	while (line && line > text && line[-1] != '\n')
		line--;
	return line ? (unsigned int)atoi(line) : 0;
}

static void hunt_look(struct attacker *a, int fd, const char *where)
{
	struct hunt *h = a->data;
	struct stat st;

	h->looked++;
	if (fstat(fd, &st) || !S_ISCHR(st.st_mode))
		return;
	if (major(st.st_rdev) == NV_MAJOR || (h->uvm_major && major(st.st_rdev) == h->uvm_major))
		race_fail(a->race, "%s: a file of the driver, %u:%u", where, major(st.st_rdev),
			  minor(st.st_rdev));
}

static void hunt_links(struct attacker *a, const char *folder)
{
	char path[600], target[256];
	struct dirent *entry;
	DIR *dir = opendir(folder);
	ssize_t got;

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		got = readlink(path, target, sizeof(target) - 1);
		if (got <= 0)
			continue;
		target[got] = '\0';
		if (!strncmp(target, "/dev/nvidia", 11))
			race_fail(a->race, "%s is %s", path, target);
	}
	if (dir)
		closedir(dir);
}

/* Mappings name the driver's files; opening them there must not work. */
static void hunt_maps(struct attacker *a)
{
	DIR *dir = opendir("/proc/self/map_files");
	char path[600];
	struct dirent *entry;
	int fd;

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/map_files/%s", entry->d_name);
		fd = open(path, O_RDWR | O_NONBLOCK);
		if (fd < 0)
			continue;
		hunt_look(a, fd, path);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

static void hunt_tasks(struct attacker *a)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	char path[300];

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/fd", entry->d_name);
		hunt_links(a, path);
	}
	if (dir)
		closedir(dir);
}

static void hunt_step(struct attacker *a)
{
	struct hunt *h = a->data;
	int fd, copy;

	for (fd = 0; fd < HUNT_BELOW; fd++) {
		copy = dup(fd);
		if (copy < 0)
			continue;
		hunt_look(a, copy, "a low number");
		close(copy);
	}
	if (h->looked % 31 == 0)
		hunt_tasks(a);
	if (h->looked % 37 == 0)
		hunt_maps(a);
}

static void hunted_mapping(struct race *r, const struct rm *rm, int gpu)
{
	void *at;

	if (rm_map(rm->ctl, rm->client, rm->device, 0x701, 2 * MIB, gpu))
		return;
	at = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, 0);
	if (at == MAP_FAILED) {
		race_fail(r, "mmap of card memory: %s", strerror(errno));
		return;
	}
	*(volatile char *)at = 1;
	munmap(at, 2 * MIB);
}

/* Each call that carries a descriptor, or asks for open ones, once. */
static void hunted_round(struct race *r)
{
	struct uvm uvm = { -1, -1, { 0 } };
	struct rm *rm = &r->rm;
	int gpu = rm_open_gpu(r->dir, rm->minor), ctl = rm_open_node(r->dir, "nvidiactl");
	uint32_t device = 0x702;
	struct nv0080_alloc p = { .device_id = rm->minor };

	rm_register_fd(gpu, rm->ctl);
	rm_alloc_video(rm, 0x701, 2 * MIB);
	hunted_mapping(r, rm, gpu);
	rm_export(rm->ctl, rm->client, rm->device, 0x701, ctl);
	rm_import(rm->ctl, rm->client, rm->device, 0x703, ctl);
	rm_alloc(rm->ctl, rm->client, rm->client, &device, NV01_DEVICE_0, &p);
	if (!uvm_open(&uvm, r->dir)) /* MM_INITIALIZE is in it */
		r->hits += !uvm_register(&uvm, rm, r->books.uuid) || !truth_is_told();
	uvm_stop(&uvm);
	rm_free(rm->ctl, rm->client, rm->client, 0x702);
	rm_free(rm->ctl, rm->client, rm->device, 0x703);
	rm_free(rm->ctl, rm->client, rm->device, 0x701);
	close(ctl);
	close(gpu);
}

static void fd_hunt(struct race *r)
{
	struct hunt h = { uvm_major(), 0 };
	struct attacker a;

	attacker_start(&a, r, hunt_step, &h);
	for (; race_goes_on(r); r->done++)
		hunted_round(r);
	attacker_stop(&a);
	if (!r->hits)
		race_fail(r, "managed memory was never initialised");
	race_settled(r, r->start_charged, "all closed");
}

/* ---- userfault ---- */

/* Calls whose arguments lie in memory that nobody fills in. */
static const char *const stalls[] = {
	"top",     "alloc params", "control params", "fb info list", "heap",    "root",
	"pinning", "uvm",          "event data",     "idle lists",   "mm init",
};
#define STALLS (sizeof(stalls) / sizeof(stalls[0]))

static void *stalling_memory(size_t bytes)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (uffd < 0 || at == MAP_FAILED || ioctl(uffd, UFFDIO_API, &api))
		return NULL;
	reg.range.start = (uintptr_t)at;
	reg.range.len = bytes;
	return ioctl(uffd, UFFDIO_REGISTER, &reg) ? NULL : at;
}

static void stall_pinning(struct rm *rm, void *at)
{
	struct nvos02_fd p = {
		.h_root = rm->client,
		.h_object_parent = rm->device,
		.h_object_new = 0x801,
		.h_class = NV01_MEMORY_SYSTEM_OS_DESCRIPTOR,
		.p_memory = (uintptr_t)at,
		.flags = NVOS02_FLAGS_MAPPING_NO_MAP << 30,
		.limit = 0xffff,
	};

	rm_ioctl(rm->gpu, NV_ESC_RM_ALLOC_MEMORY, &p, sizeof(p));
}

static void stall_idle(struct rm *rm, void *at)
{
	struct nvos30 p = {
		.h_client = rm->client,
		.h_device = rm->device,
		.num_channels = 2,
		.ph_clients = (uintptr_t)at,
		.ph_devices = (uintptr_t)at,
		.ph_channels = (uintptr_t)at,
		.timeout = 1000,
	};

	rm_ioctl(rm->ctl, NV_ESC_RM_IDLE_CHANNELS, &p, sizeof(p));
}

static void stall_control(struct rm *rm, void *at)
{
	struct {
		uint32_t count, pad;
		uint64_t list;
	} p = { 8, 0, (uintptr_t)at };

	rm_control(rm->ctl, rm->client, rm->subdevice, NV2080_CTRL_FB_GET_INFO, &p, sizeof(p));
}

static void stall_event(struct rm *rm, void *at)
{
	struct nvos41 p = { .p_event = (uintptr_t)at };

	rm_ioctl(rm->ctl, NV_ESC_RM_GET_EVENT_DATA, &p, sizeof(p));
}

static void stall_uvm(struct race *r, void *at, bool second)
{
	int fd = rm_open_node(r->dir, "nvidia-uvm");

	uvm_ioctl(fd, second ? UVM_MM_INITIALIZE : UVM_INITIALIZE, at);
}

/* Never comes back, unless the address is not asked for. Tells before the call, and after. */
static void stall(struct race *r, unsigned int way, int tell)
{
	uint32_t handle = 0x802;
	struct rm rm;
	void *at = stalling_memory(1 << 20);

	if (!at || rm_start(&rm, r->dir) || write(tell, "c", 1) != 1)
		_exit(2);
	switch (way) {
	case 0:
		rm_ioctl(rm.ctl, NV_ESC_RM_CONTROL, at, sizeof(struct nvos54));
		break;
	case 1:
		rm_alloc(rm.ctl, rm.client, rm.device, &handle, NV01_MEMORY_LOCAL_USER, at);
		break;
	case 2:
		rm_control(rm.ctl, rm.client, rm.subdevice, NV2080_CTRL_FB_GET_INFO_V2, at, 436);
		break;
	case 3:
		stall_control(&rm, at);
		break;
	case 4:
		rm_ioctl(rm.ctl, NV_ESC_RM_VID_HEAP_CONTROL, at, NVOS32_SIZE);
		break;
	case 5:
		rm_ioctl(rm.ctl, NV_ESC_RM_ALLOC, at, sizeof(struct nvos21));
		break;
	case 6:
		stall_pinning(&rm, at);
		break;
	case 7:
		stall_uvm(r, at, false);
		break;
	case 8:
		stall_event(&rm, at);
		break;
	case 9:
		stall_idle(&rm, at);
		break;
	default:
		stall_uvm(r, at, true);
	}
	if (write(tell, "r", 1) == 1)
		pause();
	_exit(0);
}

/* Somebody else who works: answers each byte with one after a full round. */
static void at_work(const char *dir, int ask, int answer)
{
	struct rm rm;
	char byte;

	if (rm_start(&rm, dir))
		_exit(2);
	while (read(ask, &byte, 1) == 1) {
		byte = 'y';
		if (rm_alloc_video(&rm, 0x901, MIB))
			byte = 'n';
		rm_free(rm.ctl, rm.client, rm.device, 0x901);
		if (write(answer, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void neighbour(struct race *r, int ask, int answer)
{
	at_work(r->other, ask, answer);
}

static void sibling(struct race *r, int ask, int answer)
{
	at_work(r->dir, ask, answer);
}

struct peer {
	pid_t pid;
	int ask, answer;
};

static void peer_start(struct race *r, struct peer *peer, void (*body)(struct race *, int, int))
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		exit(3);
	peer->pid = race_fork();
	if (!peer->pid)
		body(r, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	peer->ask = to[1];
	peer->answer = from[0];
}

static bool peer_answers(struct peer *peer, int seconds)
{
	struct timeval limit = { .tv_sec = seconds };
	char byte = '?';
	fd_set set;

	if (write(peer->ask, &byte, 1) != 1)
		return false;
	FD_ZERO(&set);
	FD_SET(peer->answer, &set);
	if (select(peer->answer + 1, &set, NULL, NULL, &limit) != 1)
		return false;
	return read(peer->answer, &byte, 1) == 1 && byte == 'y';
}

static void peer_stop(struct peer *peer)
{
	race_kill(peer->pid, 5);
	close(peer->ask);
	close(peer->answer);
}

/* Whether the child stands in its call after a moment; -1: it could not even begin. */
static int stands_still(int told)
{
	char bytes[2];
	ssize_t got;

	if (read(told, bytes, 1) != 1)
		return -1;
	truth_sleep_ms(20);
	fcntl(told, F_SETFL, O_NONBLOCK);
	got = read(told, bytes, 1);
	return got != 1;
}

static void userfault_round(struct race *r, struct peer peers[2], unsigned int way)
{
	int tell[2], still;
	pid_t pid;

	if (pipe2(tell, O_CLOEXEC))
		exit(3);
	pid = race_fork();
	if (!pid)
		stall(r, way, tell[1]);
	close(tell[1]);
	still = stands_still(tell[0]);
	close(tell[0]);
	if (still < 0)
		race_fail(r, "%s: no memory that stalls", stalls[way]);
	r->hits += still == 1;
	if (still == 0 && r->done < STALLS)
		printf("userfault: \"%s\" comes back without the memory\n", stalls[way]);
	if (!peer_answers(&peers[0], 3))
		race_fail(r, "%s: the neighbour's calls stand still", stalls[way]);
	if (!peer_answers(&peers[1], 3))
		race_fail(r, "%s: calls of the tenant's other processes stand still", stalls[way]);
	if (race_kill(pid, 3) > 2)
		race_fail(r, "%s: not to be killed", stalls[way]);
}

static void userfault(struct race *r)
{
	struct peer peers[2];

	if (!r->other) {
		race_fail(r, "a second tenant's folder is needed");
		return;
	}
	peer_start(r, &peers[0], neighbour);
	peer_start(r, &peers[1], sibling);
	if (!peer_answers(&peers[0], 5) || !peer_answers(&peers[1], 5))
		race_fail(r, "the others do not get started");
	for (; race_goes_on(r); r->done++)
		userfault_round(r, peers, (unsigned int)(r->done % STALLS));
	peer_stop(&peers[0]);
	peer_stop(&peers[1]);
	race_settled(r, r->start_charged, "all killed");
}

/* ---- close-race ---- */

struct closing {
	struct rm rm; /* its files are closed and opened again under the callers' feet */
	struct race *race;
};

static void *calling(void *data)
{
	struct closing *c = data;
	uint8_t heap[NVOS32_SIZE];
	unsigned int i;

	for (i = 0; i < 20; i++) {
		struct rm rm = c->rm;

		rm_alloc_video(&rm, 0xa01 + i, MIB);
		rm_heap_request(&rm, heap, 0xb01 + i, MIB);
		rm_heap(&rm, heap);
		rm_free(rm.ctl, rm.client, rm.device, 0xa01 + i);
	}
	return NULL;
}

/* Two threads call, the third closes; the process goes while calls are under way. */
static void close_child(struct race *r, unsigned int n)
{
	struct closing c = { .race = r };
	pthread_t callers[2];
	int i;

	if (rm_start(&c.rm, r->dir))
		_exit(1);
	for (i = 0; i < 2; i++)
		pthread_create(&callers[i], NULL, calling, &c);
	truth_sleep_ms(n % 5);
	if (n & 1)
		close(c.rm.ctl);
	if (n & 2)
		close(c.rm.gpu);
	if (n & 4)
		raise(SIGKILL);
	if (n & 8)
		_exit(0);
	for (i = 0; i < 2; i++)
		pthread_join(callers[i], NULL);
	_exit(0);
}

static void quota_step(struct attacker *a)
{
	struct race *r = a->race;

	books_set_quota(&r->books, r->quota / 2);
	books_set_quota(&r->books, r->quota);
	books_set_quota(&r->books, 4 * MIB);
	books_set_quota(&r->books, r->quota);
}

static void close_race(struct race *r)
{
	struct attacker a;
	pid_t pid;

	attacker_start(&a, r, quota_step, NULL);
	for (; race_goes_on(r); r->done++) {
		pid = race_fork();
		if (!pid)
			close_child(r, (unsigned int)r->done);
		if (waitpid(pid, NULL, 0) == pid)
			r->hits++;
		if (r->done % 64)
			continue;
		attacker_pause(&a);
		race_settled(r, r->start_charged, "a batch of children is gone");
		attacker_resume(&a);
	}
	attacker_stop(&a);
	if (!books_set_quota(&r->books, r->quota))
		race_fail(r, "the quota cannot be written");
	race_settled(r, r->start_charged, "all children are gone");
}

/* ---- foreign ---- */

#define VICTIM_MEMORY  0xc01u
#define VICTIM_GROUP   0xc02u
#define VICTIM_USERD   0xc03u
#define VICTIM_CHANNEL 0xc04u

struct channel_params { /* NV_CHANNEL_ALLOC_PARAMS of 535: alloc_channel.h */
	uint32_t h_error, h_buffer;
	uint64_t gpfifo_offset;
	uint32_t gpfifo_entries, flags, h_context_share, h_va_space;
	uint32_t h_userd_memory[8];
	uint64_t userd_offset[8];
	uint32_t engine_type;
	uint8_t rest[360 - 132];
};
static_assert(sizeof(struct channel_params) == 360, "535");

static int add_channel(const struct rm *rm, uint32_t parent, uint32_t userd, uint32_t handle)
{
	struct channel_params p = {
		.gpfifo_offset = 0x100000,
		.gpfifo_entries = 64,
		.engine_type = 1,
	};

	p.h_userd_memory[0] = userd;
	return rm_alloc(rm->ctl, rm->client, parent, &handle, AMPERE_CHANNEL_GPFIFO_A, &p);
}

static bool victim_has_channel; /* not without a card: there it has memory only */

/* Memory, a channel group and a channel: what a neighbour might want to name. */
static int add_channels(const struct rm *rm)
{
	struct nv_channel_group_alloc group = { .engine_type = 1 };
	uint32_t handle = VICTIM_GROUP;
	int rc = rm_alloc_system(rm, VICTIM_USERD, 64 << 10);

	rc = rc    ?:
		     rm_alloc(rm->ctl, rm->client, rm->device, &handle, KEPLER_CHANNEL_GROUP_A,
			      &group);
	rc = rc ?: add_channel(rm, VICTIM_GROUP, VICTIM_USERD, VICTIM_CHANNEL);
	victim_has_channel = !rc;
	return truth_is_told() ? rc : 0;
}

static int add_work(const struct rm *rm)
{
	return rm_alloc_video(rm, VICTIM_MEMORY, LARGE) ?: add_channels(rm);
}

static int object_class(const struct rm *rm, uint32_t handle, uint32_t *h_class)
{
	struct nv0000_handle_info p = { .h_object = handle, .index = 2 };
	int rc = rm_control(rm->ctl, rm->client, rm->client, NV0000_CTRL_CLIENT_GET_HANDLE_INFO, &p,
			    sizeof(p));

	*h_class = p.data_h_result;
	return rc;
}

static bool untouched(const struct rm *rm)
{
	static const uint32_t expected[][2] = {
		{ VICTIM_MEMORY, NV01_MEMORY_LOCAL_USER },
		{ RM_DEVICE, NV01_DEVICE_0 },
		{ VICTIM_GROUP, KEPLER_CHANNEL_GROUP_A },
		{ VICTIM_CHANNEL, AMPERE_CHANNEL_GPFIFO_A },
	};
	unsigned int i, n = victim_has_channel ? 4 : 2;
	uint32_t h_class;

	for (i = 0; i < n; i++)
		if (object_class(rm, expected[i][0], &h_class) || h_class != expected[i][1])
			return false;
	return true;
}

/* Tells its client's handle, then looks after its objects whenever asked. */
static void victim(struct race *r, int ask, int answer)
{
	struct nvos57 share = { .h_object = VICTIM_MEMORY,
				.share_policy_type = RS_SHARE_TYPE_ALL,
				.share_policy_access_mask = 1 /* RS_ACCESS_DUP_OBJECT */ };
	struct rm rm;
	char byte;

	if (rm_start(&rm, r->other) || add_work(&rm))
		rm.client = 0;
	share.h_client = rm.client; /* anyone may duplicate it, as far as the driver is concerned */
	rm_ioctl(rm.ctl, NV_ESC_RM_SHARE, &share, sizeof(share));
	if (write(answer, &rm.client, sizeof(rm.client)) != sizeof(rm.client))
		_exit(1);
	while (read(ask, &byte, 1) == 1) {
		byte = untouched(&rm) ? 'y' : 'n';
		if (write(answer, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

/* Fails the race if a call on a neighbour's handle comes through. */
static void refused(struct race *r, const char *what, int rc)
{
	if (!rc)
		race_fail(r, "%s of a neighbour is granted", what);
	r->hits++;
}

static int foreign_disable(const struct rm *rm, uint32_t client)
{
	uint32_t p[536 / 4] = { 1, 1 }; /* disable, one channel */

	p[6] = client;
	p[70] = VICTIM_CHANNEL;
	return rm_control(rm->ctl, rm->client, rm->subdevice, NV2080_CTRL_FIFO_DISABLE_CHANNELS, p,
			  sizeof(p));
}

static int foreign_idle(const struct rm *rm, uint32_t client)
{
	uint32_t clients[1] = { client }, devices[1] = { RM_DEVICE },
		 channels[1] = { VICTIM_CHANNEL };
	struct nvos30 p = {
		.h_client = rm->client,
		.h_device = rm->device,
		.num_channels = 1,
		.ph_clients = (uintptr_t)clients,
		.ph_devices = (uintptr_t)devices,
		.ph_channels = (uintptr_t)channels,
		.timeout = 1000,
		.status = RM_STATUS_UNTOUCHED,
	};

	return rm_ioctl(rm->ctl, NV_ESC_RM_IDLE_CHANNELS, &p, sizeof(p)) ?: (int)p.status;
}

static int foreign_device(const struct rm *rm, uint32_t client, bool target)
{
	struct nv0080_alloc p = { .device_id = rm->minor };
	uint32_t handle = 0xd01;
	int rc;

	if (target) {
		p.h_target_client = client;
		p.h_target_device = RM_DEVICE;
	} else {
		p.h_client_share = client;
	}
	rc = rm_alloc(rm->ctl, rm->client, rm->client, &handle, NV01_DEVICE_0, &p);
	if (!rc)
		rm_free(rm->ctl, rm->client, rm->client, handle);
	return rc;
}

static int foreign_event(const struct rm *rm, uint32_t client)
{
	struct nv0005_alloc p = { .h_parent_client = client,
				  .h_src_resource = RM_DEVICE,
				  .h_class = NV01_EVENT_OS_EVENT,
				  .notify_index = 0 };
	uint32_t handle = 0xd02;
	int rc = rm_alloc(rm->ctl, rm->client, rm->device, &handle, NV01_EVENT_OS_EVENT, &p);

	if (!rc)
		rm_free(rm->ctl, rm->client, rm->device, handle);
	return rc;
}

static int foreign_channel(const struct uvm *uvm, const struct rm *rm, uint32_t client)
{
	struct uvm_register_channel p = { .rm_ctrl_fd = (uint32_t)rm->ctl,
					  .h_client = client,
					  .h_channel = VICTIM_CHANNEL,
					  .base = 0x300000000000,
					  .length = RANGE_BYTES };

	memcpy(p.gpu_uuid, uvm->uuid, 16);
	return UVM_CALL(uvm->fd, UVM_REGISTER_CHANNEL, &p);
}

static int foreign_vaspace(const struct uvm *uvm, const struct rm *rm, uint32_t client)
{
	struct uvm_register_gpu_vaspace p = { .rm_ctrl_fd = (uint32_t)rm->ctl,
					      .h_client = client,
					      .h_va_space = RM_DEVICE };

	memcpy(p.gpu_uuid, uvm->uuid, 16);
	return UVM_CALL(uvm->fd, UVM_REGISTER_GPU_VASPACE, &p);
}

static int foreign_map(const struct uvm *uvm, const struct rm *rm, uint32_t client)
{
	union uvm_map_external p;

	uvm_external_request(&p, uvm, rm, VICTIM_MEMORY, RANGE_A, 2 * MIB);
	uvm_external_end(&p)->h_client = client;
	return uvm_map_request(uvm, &p);
}

static void foreign_objects(struct race *r, uint32_t client)
{
	struct rm *rm = &r->rm;
	struct nv0000_handle_info info = { .h_object = VICTIM_MEMORY, .index = 2 };
	uint32_t handle = 0xd03;
	union rm_memory_alloc p = { .p = { .size = MIB } };

	refused(r, "a control on an object",
		rm_control(rm->ctl, client, client, NV0000_CTRL_CLIENT_GET_HANDLE_INFO, &info,
			   sizeof(info)));
	refused(r, "freeing memory", rm_free(rm->ctl, client, RM_DEVICE, VICTIM_MEMORY));
	refused(r, "freeing the client", rm_free(rm->ctl, client, 0, client));
	refused(r, "allocating under the client",
		rm_alloc(rm->ctl, client, RM_DEVICE, &handle, NV01_MEMORY_LOCAL_USER, &p));
	refused(r, "duplicating memory",
		rm_dup(rm->ctl, rm->client, rm->device, 0xd04, client, VICTIM_MEMORY));
	refused(r, "mapping memory",
		rm_map(rm->ctl, client, RM_DEVICE, VICTIM_MEMORY, 2 * MIB, rm->gpu));
	refused(r, "exporting memory",
		rm_export(rm->ctl, client, RM_DEVICE, VICTIM_MEMORY, rm->ctl));
	refused(r, "sharing the address space", foreign_device(rm, client, false));
	refused(r, "targeting the client", foreign_device(rm, client, true));
	refused(r, "an event on a device", foreign_event(rm, client));
	refused(r, "disabling channels", foreign_disable(rm, client));
	refused(r, "idling channels", foreign_idle(rm, client));
}

static void foreign_uvm(struct race *r, const struct uvm *uvm, uint32_t client)
{
	refused(r, "mapping memory by UVM", foreign_map(uvm, &r->rm, client));
	refused(r, "registering a channel", foreign_channel(uvm, &r->rm, client));
	refused(r, "registering an address space", foreign_vaspace(uvm, &r->rm, client));
}

static void foreign(struct race *r)
{
	struct uvm uvm = { -1, -1, { 0 } };
	uint32_t client = 0;
	struct peer peer;

	if (!r->other) {
		race_fail(r, "a second tenant's folder is needed");
		return;
	}
	peer_start(r, &peer, victim);
	if (read(peer.answer, &client, sizeof(client)) != sizeof(client) || !client)
		race_fail(r, "the neighbour does not get its objects");
	race_need(r, "managed memory",
		  truth_is_told() ? uvm_start(&uvm, &r->rm, r->books.uuid) :
				    uvm_open(&uvm, r->dir));
	race_need(r, "range", uvm_create_range(uvm.fd, RANGE_A, RANGE_BYTES));
	for (; race_goes_on(r); r->done++) {
		foreign_objects(r, client);
		foreign_uvm(r, &uvm, client);
		race_quiet_often(r, "after a round");
		if (!peer_answers(&peer, 5))
			race_fail(r, "the neighbour's objects were touched");
	}
	uvm_stop(&uvm);
	peer_stop(&peer);
}

#endif /* TEST_RACE_PROCESS_H */
