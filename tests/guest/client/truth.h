/* SPDX-License-Identifier: MIT */
/*
 * What the simulated driver knows (debugfs) beside what gpushare has charged (sysfs). Neither
 * passes through the nodes under test. Needs root.
 */
#ifndef TEST_TRUTH_H
#define TEST_TRUTH_H

#include <dirent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRUTH_DRIVER "/sys/kernel/debug/nvsim"
#define TRUTH_BOOKS  "/sys/kernel/gpushare"

struct books { /* one share */
	char folder[320]; /* /sys/kernel/gpushare/NAME/GPU-... */
	uint8_t uuid[16];
	unsigned int minor;
};

static inline void truth_sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000L };

	nanosleep(&ts, NULL);
}

static inline double truth_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Length read, terminated; a file that cannot be read ends the program: no test without truth. */
static inline size_t truth_read(const char *path, char *text, size_t bytes)
{
	FILE *file = fopen(path, "re");
	size_t got;

	if (!file) {
		fprintf(stderr, "cannot read %s\n", path);
		exit(3);
	}
	got = fread(text, 1, bytes - 1, file);
	text[got] = '\0';
	fclose(file);
	return got;
}

static inline uint64_t truth_value(const char *text, const char *key)
{
	size_t length = strlen(key);
	const char *line = text;

	while (line) {
		if (!strncmp(line, key, length) && line[length] == ' ')
			return strtoull(line + length + 1, NULL, 10);
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	fprintf(stderr, "no figure %s in:\n%s", key, text);
	exit(3);
}

struct truth { /* bytes of card memory, of everybody */
	uint64_t objects, overhead, managed;
};

/* NVIDIA's own driver tells nothing apart: there only the books are looked at. */
static inline bool truth_is_told(void)
{
	return !access(TRUTH_DRIVER, F_OK);
}

static inline struct truth truth_card(unsigned int minor)
{
	char path[128], text[1024];

	if (!truth_is_told())
		return (struct truth){ 0 };
	snprintf(path, sizeof(path), TRUTH_DRIVER "/card%u/memory", minor);
	truth_read(path, text, sizeof(text));
	return (struct truth){ truth_value(text, "objects"), truth_value(text, "overhead"),
			       truth_value(text, "managed") };
}

static inline uint64_t truth_sum(const struct truth *t)
{
	return t->objects + t->overhead + t->managed;
}

/* ---- gpushare's side ---- */

/* One for each of the driver's files that it holds. */
static inline unsigned long truth_references(void)
{
	char text[32];

	truth_read("/sys/module/gpushare/refcnt", text, sizeof(text));
	return strtoul(text, NULL, 10);
}

/* What ended just now may still be on its way out. */
static inline unsigned long truth_references_at_rest(void)
{
	unsigned long earlier, now = truth_references();

	do {
		earlier = now;
		truth_sleep_ms(200);
		now = truth_references();
	} while (earlier != now);
	return now;
}

static inline void truth_uuid(const char *text, uint8_t uuid[16])
{
	unsigned int n = 0, byte;

	for (text += 4; *text && n < 16; text++) {
		if (*text == '-')
			continue;
		sscanf(text, "%2x", &byte);
		uuid[n++] = (uint8_t)byte;
		text++;
	}
}

/* The first share of the tenant whose nodes lie in dir. */
static inline bool books_open(struct books *books, const char *dir, unsigned int minor)
{
	const char *name = strrchr(dir, '/') ? strrchr(dir, '/') + 1 : dir;
	char path[256];
	struct dirent *entry;
	bool found = false;
	DIR *folder;

	snprintf(path, sizeof(path), TRUTH_BOOKS "/%s", name);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, "GPU-", 4))
			continue;
		snprintf(books->folder, sizeof(books->folder), "%s/%.60s", path, entry->d_name);
		truth_uuid(entry->d_name, books->uuid);
		books->minor = minor;
		found = true;
	}
	if (folder)
		closedir(folder);
	return found;
}

static inline uint64_t books_value(const struct books *books, const char *what)
{
	char path[400], text[64];

	snprintf(path, sizeof(path), "%s/%s_bytes", books->folder, what);
	truth_read(path, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

static inline bool books_set_quota(const struct books *books, uint64_t bytes)
{
	char path[400];
	FILE *file;
	bool done;

	snprintf(path, sizeof(path), "%s/quota_bytes", books->folder);
	file = fopen(path, "we");
	if (!file)
		return false;
	done = fprintf(file, "%llu\n", (unsigned long long)bytes) > 0;
	return fclose(file) == 0 && done;
}

/* Summed over the tenants: the driver does not say whose bytes are whose. */
static inline uint64_t books_all(const struct books *books, const char *what)
{
	const char *card = strrchr(books->folder, '/');
	DIR *folder = opendir(TRUTH_BOOKS);
	struct books one = *books;
	struct dirent *entry;
	uint64_t sum = 0;

	while (folder && (entry = readdir(folder))) {
		snprintf(one.folder, sizeof(one.folder), TRUTH_BOOKS "/%.63s%s", entry->d_name,
			 card);
		if (entry->d_name[0] != '.' && !access(one.folder, F_OK))
			sum += books_value(&one, what);
	}
	if (folder)
		closedir(folder);
	return sum;
}

#endif /* TEST_TRUTH_H */
