/* SPDX-License-Identifier: MIT */
/*
 * The kernel's fault injection, one place after another: the Nth chance to fail of a task is taken
 * (/proc/TID/fail-nth; allocations and copies from and to user memory), and the kernel's log
 * says which it was. Needs root and a kernel with FAILSLAB and FAULT_INJECTION_DEBUG_FS.
 */
#ifndef TEST_FAULTNTH_H
#define TEST_FAULTNTH_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULT_TASKS_MAX 64
#define FAULT_SITES_MAX 400

enum fault_kind { FAULT_NONE, FAULT_SLAB, FAULT_PAGE, FAULT_COPY };

static const char *const fault_names[] = { "nothing", "failslab", "fail_page_alloc",
					   "fail_usercopy" };

struct fault_site { /* the module's function nearest to what failed */
	char function[64];
	enum fault_kind kind;
	unsigned int times;
};

static struct {
	int tasks[FAULT_TASKS_MAX];
	unsigned int ntasks;
	int log;
	struct fault_site sites[FAULT_SITES_MAX];
	unsigned int nsites;
} fault;

static inline void fault_setting(const char *what, const char *name, const char *value)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", what, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(3);
	}
	close(fd);
}

static inline void fault_init(void)
{
	static const char *const all[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		fault_setting(all[i], "verbose", "2");
		fault_setting(all[i], "verbose_ratelimit_interval_ms", "0");
	}
	fault_setting("failslab", "ignore-gfp-wait", "N");
	fault_setting("fail_page_alloc", "ignore-gfp-wait", "N");
	fault_setting("fail_page_alloc", "ignore-gfp-highmem", "N");
	fault_setting("fail_page_alloc", "min-order", "0");
	fault.log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fault.log < 0 || lseek(fault.log, 0, SEEK_END) < 0)
		exit(3);
}

/* ---- whose allocations ---- */

static inline void fault_forget_tasks(void)
{
	while (fault.ntasks)
		close(fault.tasks[--fault.ntasks]);
}

static inline void fault_add_task(const char *task)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/fail-nth", task);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && fault.ntasks < FAULT_TASKS_MAX)
		fault.tasks[fault.ntasks++] = fd;
}

/* Kernel threads by name. */
static inline void fault_add_threads(const char *name)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[300], comm[32];
	int fd;
	ssize_t got;

	while ((entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		got = fd < 0 ? 0 : read(fd, comm, sizeof(comm) - 1);
		if (fd >= 0)
			close(fd);
		if (got <= 0)
			continue;
		comm[got - 1] = '\0';
		if (!strcmp(comm, name))
			fault_add_task(entry->d_name);
	}
	closedir(proc);
}

/* ---- one fault ---- */

/* The write itself passes a place that can fail. */
static inline void fault_set(int task, unsigned int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", nth), tries = 4;

	while (pwrite(task, text, (size_t)length, 0) < 0 && tries--)
		;
}

static inline void fault_arm(unsigned int nth)
{
	unsigned int i;

	for (i = fault.ntasks; i--;) /* the caller's own is the first, and is armed last */
		fault_set(fault.tasks[i], nth);
}

/* True when one of the tasks met its Nth place. */
static inline bool fault_disarm(void)
{
	char text[16] = "";
	bool met = false;
	unsigned int i;
	ssize_t got;

	for (i = 0; i < fault.ntasks; i++) {
		got = pread(fault.tasks[i], text, sizeof(text) - 1, 0);
		fault_set(fault.tasks[i], 0);
		met |= got > 0 && text[0] == '0';
	}
	return met;
}

static inline void fault_count(const char *function, enum fault_kind kind)
{
	unsigned int i;

	for (i = 0; i < fault.nsites; i++)
		if (fault.sites[i].kind == kind && !strcmp(fault.sites[i].function, function))
			break;
	if (i == FAULT_SITES_MAX)
		return;
	if (i == fault.nsites) {
		snprintf(fault.sites[i].function, sizeof(fault.sites[i].function), "%s", function);
		fault.sites[fault.nsites++].kind = kind;
	}
	fault.sites[i].times++;
}

/* "<header>; gsh_job_new+0x2f/0x1a0 [gpushare]" or a continuation of such. */
static inline bool fault_frame(const char *line, char *function, size_t bytes)
{
	const char *end = strstr(line, " [gpushare]"), *plus, *start;

	if (!end || strstr(line, "? "))
		return false;
	for (plus = end; plus > line && *plus != '+'; plus--)
		;
	for (start = plus; start > line && start[-1] != ' ' && start[-1] != ';'; start--)
		;
	snprintf(function, bytes, "%.*s", (int)(plus - start), start);
	return plus > start;
}

/* What the kernel has said since the last time: which kind failed, and where. */
static inline enum fault_kind fault_read_log(void)
{
	enum fault_kind kind = FAULT_NONE;
	char record[2048], function[64];
	bool placed = false;
	unsigned int i;
	ssize_t got;

	while ((got = read(fault.log, record, sizeof(record) - 1)) > 0 || errno == EPIPE) {
		if (got <= 0) {
			errno = 0;
			continue;
		}
		record[got] = '\0';
		for (i = FAULT_SLAB; i <= FAULT_COPY; i++) {
			char text[40];

			snprintf(text, sizeof(text), "name %s,", fault_names[i]);
			if (strstr(record, text)) {
				kind = i;
				placed = false;
			}
		}
		if (kind && !placed && fault_frame(record, function, sizeof(function))) {
			fault_count(function, kind);
			placed = true;
		}
	}
	return kind;
}

static inline void fault_report(void)
{
	unsigned int i;

	for (i = 0; i < fault.nsites; i++)
		printf("site %s %s %u\n", fault.sites[i].function,
		       fault_names[fault.sites[i].kind], fault.sites[i].times);
}

#endif /* TEST_FAULTNTH_H */
