// SPDX-License-Identifier: GPL-2.0
/*
 * compat32 NODE...: hostile calls as a 32-bit program makes them, by int 0x80, which enters the
 * kernel through its 32-bit door whatever the program is. Every number 0 to 255 with sizes and
 * addresses that are wrong, and one right call, whose answer is checked. Prints how many calls ended
 * with which errno; ends with 1 if a call ended with one that is not expected, 2 without that door.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nvabi/numbers.h"
#include "nvabi/structs.h"

#define NR_IOCTL32 54
#define PAGE       4096u
#define MOST       4096

static unsigned long seen[MOST];

static int ioctl32(int fd, uint32_t cmd, uint32_t arg)
{
	int rc;

	__asm__ volatile("int $0x80"
			 : "=a"(rc)
			 : "a"(NR_IOCTL32), "b"(fd), "c"(cmd), "d"(arg)
			 : "memory", "r8", "r9", "r10", "r11");
	return rc;
}

static uint32_t number(uint32_t nr, uint32_t size)
{
	return 3u << 30 | size << 16 | 'F' << 8 | nr;
}

static void note(int rc)
{
	seen[rc >= 0 ? 0 : -rc < MOST ? -rc : MOST - 1]++;
}

/* Two pages below 4 GiB of which the second cannot be touched. */
static uint8_t *low_page(void)
{
	uint8_t *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (page == MAP_FAILED || mprotect(page + PAGE, PAGE, PROT_NONE))
		return NULL;
	return page;
}

static void hostile(int fd, uint8_t *page)
{
	static const uint32_t sizes[] = { 0,  1,  3,  4,  7,  8,   15,  16,  17,  24,   31,   32,
					  33, 40, 47, 48, 49, 56,  64,  71,  72,  16383 };
	uint32_t base = (uint32_t)(uintptr_t)page;
	uint32_t addresses[] = { 0, base + 1, base + PAGE - 1, base + PAGE, 0xffffe000u, base };
	unsigned int nr, s, a;

	for (nr = 0; nr < 256; nr++)
		for (s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
			for (a = 0; a < sizeof(addresses) / sizeof(*addresses); a++) {
				memset(page, 0, PAGE);
				note(ioctl32(fd, number(nr, sizes[s]), addresses[a]));
			}
}

/* The transfer escape: wrong sizes, itself, and five levels of it. */
static void transfers(int fd, uint8_t *page)
{
	static const uint32_t sizes[] = { 0, 1, 1u << 31, ~0u, 16383, sizeof(struct nv_xfer) };
	struct nv_xfer *xfer = (struct nv_xfer *)page;
	uint32_t base = (uint32_t)(uintptr_t)page;
	unsigned int s, level;

	for (s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		memset(page, 0, PAGE);
		xfer->cmd = NV_ESC_IOCTL_XFER_CMD;
		xfer->size = sizes[s];
		xfer->ptr = base;
		note(ioctl32(fd, number(NV_ESC_IOCTL_XFER_CMD, sizeof(*xfer)), base));
	}
	for (level = 0; level < 5; level++) {
		xfer[level].cmd = NV_ESC_IOCTL_XFER_CMD;
		xfer[level].size = sizeof(*xfer);
		xfer[level].ptr = base + (level + 1) * sizeof(*xfer);
	}
	note(ioctl32(fd, number(NV_ESC_IOCTL_XFER_CMD, sizeof(*xfer)), base));
}

static int root_client(const char *path)
{
	uint8_t *page = low_page();
	struct nvos21 *alloc = (struct nvos21 *)page;
	int fd = open(path, O_RDWR), rc;

	if (fd < 0 || !page)
		return 1;
	memset(page, 0, PAGE);
	alloc->h_class = NV01_ROOT_CLIENT;
	rc = ioctl32(fd, number(NV_ESC_RM_ALLOC, sizeof(*alloc)), (uint32_t)(uintptr_t)page);
	printf("root client: %d, status %#x\n", rc, alloc->status);
	close(fd);
	return rc || alloc->status || !alloc->h_object_new;
}

int main(int argc, char **argv)
{
	uint8_t *page = low_page();
	int i, fd;

	if (!page || argc < 2)
		return 1;
	if (ioctl32(-1, 0, 0) != -EBADF) {
		printf("no 32-bit calls in this kernel\n");
		return 2;
	}
	if (root_client(argv[1]))
		return 1;
	for (i = 1; i < argc; i++) {
		fd = open(argv[i], O_RDWR);
		if (fd < 0)
			return 1;
		hostile(fd, page);
		transfers(fd, page);
		close(fd);
	}
	for (i = 0; i < MOST; i++)
		if (seen[i])
			printf("%s %lu\n", i ? strerrorname_np(i) ?: "?" : "0", seen[i]);
	return 0;
}
