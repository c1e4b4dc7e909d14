/* SPDX-License-Identifier: MIT */
/* Descriptor tables shared between processes, and files held by io_uring. */
#ifndef TEST_RACE_TABLES_H
#define TEST_RACE_TABLES_H

#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "race_process.h"

/* ---- table-share ---- */

struct table_share { /* in memory that both processes have */
	atomic_bool stop;
	atomic_ulong looked, found;
};

static bool is_drivers_file(int fd, unsigned int uvm)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISCHR(st.st_mode))
		return false;
	return major(st.st_rdev) == NV_MAJOR || (uvm && major(st.st_rdev) == uvm);
}

/* Another process with the same table: whatever is put there, it has. */
static void share_hunt(struct table_share *s, unsigned int uvm)
{
	int fd, copy;

	while (!s->stop)
		for (fd = 0; fd < HUNT_BELOW; fd++) {
			copy = dup(fd);
			if (copy < 0)
				continue;
			s->looked++;
			s->found += is_drivers_file(copy, uvm);
			close(copy);
		}
}

/* A child that borrows the memory, not the table; its parent stands still meanwhile. */
static int register_in_vfork(struct race *r)
{
	int gpu = rm_open_gpu(r->dir, r->rm.minor), ctl = r->rm.ctl, status = -1;
	pid_t pid;

	if (gpu < 0)
		return gpu;
	pid = vfork();
	if (!pid)
		_exit(rm_register_fd(gpu, ctl) ? 1 : 0);
	waitpid(pid, &status, 0);
	close(gpu);
	return status;
}

static void share_round(struct race *r)
{
	struct uvm uvm = { -1, -1, { 0 } };
	int gpu = rm_open_gpu(r->dir, r->rm.minor);

	r->hits += !rm_register_fd(gpu, r->rm.ctl);
	if (uvm_open(&uvm, r->dir)) /* MM_INITIALIZE is in it */
		race_fail(r, "managed memory is not initialised");
	uvm_stop(&uvm);
	close(gpu);
	if (register_in_vfork(r))
		race_fail(r, "a child of vfork cannot register");
}

static void table_share(struct race *r)
{
	struct table_share *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int uvm = uvm_major();
	pid_t pid;

	if (s == MAP_FAILED)
		exit(3);
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		share_hunt(s, uvm);
		_exit(0);
	}
	for (; race_goes_on(r); r->done++)
		share_round(r);
	s->stop = true;
	waitpid(pid, NULL, 0);
	if (s->found)
		race_fail(r, "%lu files of the driver in a shared table", (unsigned long)s->found);
	if (!s->looked)
		race_fail(r, "nobody looked");
}

/* ---- ring ---- */

struct ring {
	int fd;
	struct io_uring_params p;
	uint8_t *sq, *cq;
	struct io_uring_sqe *sqes;
};

static void *ring_map(const struct ring *ring, size_t bytes, off_t offset)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd,
		    offset);
}

static bool ring_start(struct ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	ring->fd = (int)syscall(SYS_io_uring_setup, 8, &ring->p);
	if (ring->fd < 0)
		return false;
	ring->sq = ring_map(ring, ring->p.sq_off.array + ring->p.sq_entries * 4,
			    IORING_OFF_SQ_RING);
	ring->cq = ring_map(ring, ring->p.cq_off.cqes + ring->p.cq_entries * 16,
			    IORING_OFF_CQ_RING);
	ring->sqes = ring_map(ring, ring->p.sq_entries * sizeof(*ring->sqes), IORING_OFF_SQES);
	return ring->sq != MAP_FAILED && ring->cq != MAP_FAILED && (void *)ring->sqes != MAP_FAILED;
}

/* One request; its result, or 1 when it goes on. */
static int ring_ask(struct ring *ring, uint8_t opcode, int fd, bool waits)
{
	uint32_t *tail = (uint32_t *)(ring->sq + ring->p.sq_off.tail);
	uint32_t mask = *(uint32_t *)(ring->sq + ring->p.sq_off.ring_mask), slot = *tail & mask;
	uint32_t *head = (uint32_t *)(ring->cq + ring->p.cq_off.head);
	struct io_uring_cqe *cqes = (void *)(ring->cq + ring->p.cq_off.cqes);
	static char room[64];
	int result;

	memset(&ring->sqes[slot], 0, sizeof(*ring->sqes));
	ring->sqes[slot].opcode = opcode;
	ring->sqes[slot].fd = fd;
	if (opcode == IORING_OP_POLL_ADD) {
		ring->sqes[slot].poll32_events = 1; /* POLLIN */
	} else if (opcode != IORING_OP_URING_CMD) {
		ring->sqes[slot].addr = (uintptr_t)room;
		ring->sqes[slot].len = sizeof(room);
	}
	((uint32_t *)(ring->sq + ring->p.sq_off.array))[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring->fd, 1, waits ? 0 : 1, IORING_ENTER_GETEVENTS, NULL,
		    0) < 0)
		return -errno;
	if (__atomic_load_n((uint32_t *)(ring->cq + ring->p.cq_off.tail), __ATOMIC_ACQUIRE) ==
	    *head)
		return 1;
	result = cqes[*head & (ring->p.cq_entries - 1)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

/*
 * Commands are not for these files, and a read waits for good, because they can be polled. What
 * waits, and a registered file, keeps them open.
 */
static void ring_child(struct race *r, unsigned int n)
{
	struct ring ring;
	struct rm rm;

	if (!ring_start(&ring))
		_exit(2);
	if (rm_start(&rm, r->dir) || rm_alloc_video(&rm, 0xe01, MIB))
		_exit(3);
	if (ring_ask(&ring, IORING_OP_URING_CMD, rm.ctl, false) >= 0)
		_exit(4);
	if (ring_ask(&ring, IORING_OP_POLL_ADD, rm.ctl, true) != 1 ||
	    ring_ask(&ring, IORING_OP_READ, rm.ctl, true) != 1)
		_exit(5);
	if (n & 1 && syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, &rm.ctl, 1))
		_exit(6);
	close(rm.ctl);
	if (n & 2)
		raise(SIGKILL);
	_exit(0);
}

static void ring_race(struct race *r)
{
	pid_t pid;
	int status;

	for (; race_goes_on(r); r->done++) {
		pid = race_fork();
		if (!pid)
			ring_child(r, (unsigned int)r->done);
		waitpid(pid, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status))
			race_fail(r, "io_uring: step %d", WEXITSTATUS(status));
		r->hits++;
		race_settled(r, r->start_charged, "a ring is gone");
	}
}

#endif /* TEST_RACE_TABLES_H */
