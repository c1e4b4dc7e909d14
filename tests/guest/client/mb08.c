/* SPDX-License-Identifier: MIT */
/*
 * Threads of several processes that fill one quota at once: exactly as many requests succeed as
 * fit, in every round.
 *
 *	mb08 FOLDER CHARGE ROUNDS PROCESSES THREADS CHUNK_MIB EXPECTED
 *
 * FOLDER has the tenant's nodes, CHARGE is the file with its charged bytes, THREADS is of each process.
 * A thread asks until it is refused for want of memory; any other status is the driver's own failure,
 * which is counted and asked again. One line a round that went wrong, one at the end; status 0 or 1.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "rm.h"

#define PER_THREAD   256
#define MOST_RETRIES 10000 /* a driver that fails each time is an error, not a wait */

struct board { /* shared by all processes */
	pthread_barrier_t start, full, freed, checked;
	atomic_uint successes, failures, errors;
};

struct process {
	struct rm rm;
	pid_t watcher;
	unsigned int rounds;
	uint64_t chunk;
	struct board *board;
};

static int ask(const struct process *p, uint32_t *handle)
{
	union rm_memory_alloc params = { .p = { .owner = p->rm.client, .size = p->chunk } };

	*handle = 0;
	return rm_alloc(p->rm.ctl, p->rm.client, p->rm.device, handle, NV01_MEMORY_LOCAL_USER,
			&params);
}

/* How many it got. */
static unsigned int fill(const struct process *p, uint32_t *handles)
{
	unsigned int got = 0, retries = 0;
	int rc;

	while (got < PER_THREAD) {
		rc = ask(p, &handles[got]);
		if (rc == NV_ERR_NO_MEMORY)
			break;
		if (!rc) {
			got++;
			continue;
		}
		if (rc < 0 || ++retries > MOST_RETRIES) {
			fprintf(stderr, "mb08: allocation: %d\n", rc);
			atomic_fetch_add(&p->board->errors, 1);
			break;
		}
		atomic_fetch_add(&p->board->failures, 1);
	}
	return got;
}

static void *thread(void *arg)
{
	const struct process *p = arg;
	uint32_t handles[PER_THREAD];
	unsigned int round, got;

	for (round = 0; round < p->rounds; round++) {
		pthread_barrier_wait(&p->board->start);
		got = fill(p, handles);
		atomic_fetch_add(&p->board->successes, got);
		pthread_barrier_wait(&p->board->full);
		while (got--)
			if (rm_free(p->rm.ctl, p->rm.client, p->rm.device, handles[got]))
				atomic_fetch_add(&p->board->errors, 1);
		pthread_barrier_wait(&p->board->freed);
		pthread_barrier_wait(&p->board->checked);
	}
	return NULL;
}

/* The others stand at a barrier that this process won't reach: end them all. */
static int give_up(const struct process *p, const char *what, int rc)
{
	fprintf(stderr, "mb08: %s: %d\n", what, rc);
	kill(p->watcher, SIGTERM);
	return 1;
}

static int process(const char *dir, struct process *p, unsigned int threads)
{
	pthread_t *ids = calloc(threads, sizeof(*ids));
	unsigned int i;
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != p->watcher) /* ended already */
		return 1;
	rc = ids ? rm_start(&p->rm, dir) : -ENOMEM;
	if (rc)
		return give_up(p, "start", rc);
	for (i = 0; i < threads; i++) {
		rc = pthread_create(&ids[i], NULL, thread, p);
		if (rc)
			return give_up(p, "thread", rc);
	}
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

static uint64_t charge(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return UINT64_MAX;
	close(fd);
	return strtoull(text, NULL, 10);
}

static void barrier(pthread_barrier_t *b, unsigned int count)
{
	pthread_barrierattr_t attr;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(b, &attr, count);
}

/* The first process stands at every barrier, too, and looks. */
static unsigned int watch(const struct process *p, const char *path, unsigned int expected)
{
	struct board *board = p->board;
	unsigned int round, got, wrong = 0;
	uint64_t full, left;

	for (round = 0; round < p->rounds; round++) {
		atomic_store(&board->successes, 0);
		pthread_barrier_wait(&board->start);
		pthread_barrier_wait(&board->full);
		pthread_barrier_wait(&board->freed);
		got = atomic_load(&board->successes);
		left = charge(path);
		full = (uint64_t)got * p->chunk;
		if (got != expected || left) {
			printf("round %u: %u successes (%llu bytes), %llu bytes charged after all freed\n",
			       round, got, (unsigned long long)full, (unsigned long long)left);
			wrong++;
		}
		pthread_barrier_wait(&board->checked);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	unsigned int processes, threads, i, wrong, bad = 0;
	struct process p = { 0 };
	struct board *board;
	int status;

	if (argc != 8) {
		fprintf(stderr, "mb08 FOLDER CHARGE ROUNDS PROCESSES THREADS CHUNK_MIB EXPECTED\n");
		return 2;
	}
	p.rounds = (unsigned int)atoi(argv[3]);
	processes = (unsigned int)atoi(argv[4]);
	threads = (unsigned int)atoi(argv[5]);
	p.chunk = (uint64_t)atoi(argv[6]) * MIB;
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (board == MAP_FAILED)
		return 2;
	p.board = board;
	p.watcher = getpid();
	barrier(&board->start, processes * threads + 1);
	barrier(&board->full, processes * threads + 1);
	barrier(&board->freed, processes * threads + 1);
	barrier(&board->checked, processes * threads + 1);
	for (i = 0; i < processes; i++)
		if (fork() == 0)
			_exit(process(argv[1], &p, threads));
	wrong = watch(&p, argv[2], (unsigned int)atoi(argv[7]));
	while (wait(&status) > 0)
		bad += status != 0;
	printf("mb08: rounds=%u wrong=%u failures=%u errors=%u processes_failed=%u\n", p.rounds,
	       wrong, atomic_load(&board->failures), atomic_load(&board->errors), bad);
	return wrong || bad || atomic_load(&board->errors);
}
