/* SPDX-License-Identifier: MIT */
/*
 * Loading and unloading gpushare.ko with each allocation on the way failing once.
 *
 *	faultload GPUSHARE.KO CARD-UUID
 *
 * On a kernel with FAILSLAB, gpushare.ko not loaded. A load fails with an errno that says so, or
 * succeeds and is undone; an unload always succeeds, with a tenant there. After each, nothing is left in
 * the simulated driver. One line each, "load points=… inside=… ok"; then the functions. Of a load, only
 * places within the module count: the loader's own are the kernel's.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "race.h"

#include "faultnth.h"
#include "genl.h"

#define ALL	    (1u << 20)
#define OUTSIDE_MAX 12 /* so many places in a row that are the loader's: the module's have begun */

static int ko;
static char counts[512];
static bool failed;

static int load(void)
{
	return syscall(SYS_finit_module, ko, "", 0) ? -errno : 0;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "gpushare", O_NONBLOCK) ? -errno : 0;
}

static void went_wrong(const char *what, unsigned int n, int rc)
{
	printf("%s place %u: %d FAIL\n", what, n, rc);
	failed = true;
}

static void nothing_is_left(const char *what, unsigned int n)
{
	double end = truth_now() + SETTLE_S;
	char now[512];

	do {
		truth_read(TRUTH_DRIVER "/counts", now, sizeof(now));
		if (!strcmp(now, counts))
			return;
		truth_sleep_ms(10);
	} while (truth_now() < end);
	printf("left in the driver:\n%s", now);
	went_wrong(what, n, 0);
	memcpy(counts, now, sizeof(now)); /* what comes next is judged by itself */
}

/* How many places a load meets in all. */
static unsigned int load_length(void)
{
	char text[16] = "";
	int rc;

	fault_arm(ALL);
	rc = load();
	if (pread(fault.tasks[0], text, sizeof(text) - 1, 0) < 0)
		exit(3);
	fault_disarm();
	if (rc)
		went_wrong("load", 0, rc);
	unload();
	return ALL - (unsigned int)strtoul(text, NULL, 10);
}

static unsigned int sites_met(void)
{
	unsigned int i, sum = 0;

	for (i = 0; i < fault.nsites; i++)
		sum += fault.sites[i].times;
	return sum;
}

/* From the end backwards: the module's own part comes last. */
static void load_each(void)
{
	unsigned int n, before, points = 0, outside = 0;
	int rc;

	for (n = load_length() + 2; n && outside < OUTSIDE_MAX; n--, points++) {
		before = sites_met();
		fault_arm(n);
		rc = load();
		fault_disarm();
		fault_read_log();
		outside = sites_met() > before || points < OUTSIDE_MAX ? 0 : outside + 1;
		if (rc && rc != -ENOMEM)
			went_wrong("load", n, rc);
		if (!rc && unload())
			went_wrong("load", n, -EBUSY);
		nothing_is_left("load", n);
	}
	printf("load points=%u inside=%u ok\n", points, sites_met());
}

static void unload_each(const char *card)
{
	unsigned int n, inside = sites_met();
	int netlink, rc;
	bool met = true;

	for (n = 1; met; n++) {
		rc = load();
		netlink = genl_open();
		genl_family = genl_find(netlink);
		if (rc || genl_tenant_new(netlink, "left", card, 64 * MIB))
			went_wrong("unload", n, rc ?: -ENOENT);
		close(netlink);
		fault_arm(n);
		rc = unload();
		met = fault_disarm();
		fault_read_log();
		if (rc == -ENOMEM) /* before it began */
			rc = unload();
		if (rc)
			went_wrong("unload", n, rc);
		nothing_is_left("unload", n);
	}
	printf("unload points=%u inside=%u ok\n", n - 2, sites_met() - inside);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	ko = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (ko < 0)
		return 2;
	truth_read(TRUTH_DRIVER "/counts", counts, sizeof(counts));
	mlockall(MCL_CURRENT);
	fault_init();
	fault_add_task("thread-self");
	load_each();
	unload_each(argv[2]);
	if (load())
		went_wrong("load", 0, -EINVAL);
	fault_report();
	printf("faultload: %s\n", failed ? "FAIL" : "ok");
	return failed;
}
