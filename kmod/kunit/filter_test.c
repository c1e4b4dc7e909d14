// SPDX-License-Identifier: GPL-2.0
/* What a tenant may ask: named refusals, and one rule for what nobody knows. */
#include <linux/module.h>

#include "core/filter.h"
#include "kunit/kunit.h"
#include "nvabi/classes.h"
#include "nvabi/numbers.h"

#define PERM  NV_ERR_INSUFFICIENT_PERMISSIONS
#define NOSUP NV_ERR_NOT_SUPPORTED

static void expect_verdict(struct kunit *test, const char *what, u32 number,
			   struct gsh_verdict verdict, u8 action, u32 status)
{
	KUNIT_EXPECT_EQ_MSG(test, verdict.action, action, "%s %#x", what, number);
	if (action == GSH_DENY)
		KUNIT_EXPECT_EQ_MSG(test, verdict.status, status, "%s %#x", what, number);
}

static void controls_meet_their_rule(struct kunit *test)
{
	static const struct {
		u32 cmd;
		u8 action;
		u32 status;
		u8 view;
		u16 flags;
	} rows[] = {
		{ NV0000_CTRL_GPU_GET_ATTACHED_IDS, GSH_VIEW, 0, GSH_VIEW_ATTACHED_IDS, 0 },
		{ NV0000_CTRL_GPU_GET_PROBED_IDS, GSH_VIEW, 0, GSH_VIEW_PROBED_IDS, 0 },
		{ NV2080_CTRL_FB_GET_INFO, GSH_VIEW, 0, GSH_VIEW_FB_INFO, 0 },
		{ NV2080_CTRL_FB_GET_INFO_V2, GSH_VIEW, 0, GSH_VIEW_FB_INFO_V2, 0 },
		{ NV2080_CTRL_FB_GET_FB_REGION_INFO, GSH_VIEW, 0, GSH_VIEW_FB_REGIONS, 0 },
		{ NV2080_CTRL_GPU_GET_PIDS, GSH_VIEW, 0, GSH_VIEW_PIDS, 0 },
		{ NV2080_CTRL_GPU_GET_PID_INFO, GSH_VIEW, 0, GSH_VIEW_PID_INFO, 0 },
		{ NV2080_CTRL_PERF_GPUMON_UTIL_SAMPLES_V2, GSH_VIEW, 0, GSH_VIEW_GPUMON, 0 },
		{ NV2080_CTRL_FIFO_DISABLE_CHANNELS, GSH_LOCAL, 0, 0,
		  GSH_VERDICT_CHECK_CHANNELS | GSH_VERDICT_SCHEDULING },
		{ NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD, GSH_ALLOW, 0, 0, GSH_VERDICT_TRACK },
		{ NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD, GSH_ALLOW, 0, 0, GSH_VERDICT_TRACK },
		{ NVA06C_CTRL_SET_TIMESLICE, GSH_ALLOW, 0, 0, GSH_VERDICT_SCHEDULING },
		{ NV0000_CTRL_OS_UNIX_EXPORT_OBJECTS_TO_FD, GSH_DENY, NOSUP, 0, 0 },
		{ 0x00000b05, GSH_DENY, NOSUP, 0, 0 },
		{ 0x00000d08, GSH_DENY, PERM, 0, 0 },
		{ 0x20803a01, GSH_DENY, NOSUP, 0, 0 },
		{ 0xa06c0110, GSH_DENY, PERM, 0, 0 },
		{ 0x2080220a, GSH_ABSORB, 0, 0, 0 },
		{ 0x208f0001, GSH_DENY, PERM, 0, 0 }, /* a whole interface */
		{ 0x5080ffff, GSH_DENY, PERM, 0, 0 },
	};
	const struct nvabi_version *v = test->param_value;
	struct gsh_verdict verdict;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		verdict = gsh_filter_control(v, rows[i].cmd, 0);
		expect_verdict(test, "control", rows[i].cmd, verdict, rows[i].action,
			       rows[i].status);
		KUNIT_EXPECT_EQ(test, verdict.view, rows[i].view);
		KUNIT_EXPECT_EQ(test, verdict.flags, rows[i].flags);
		/* serialised parameters: nobody reads those here */
		verdict = gsh_filter_control(v, rows[i].cmd, 4);
		expect_verdict(test, "serialised", rows[i].cmd, verdict, GSH_DENY, NOSUP);
	}
}

static void escapes_meet_their_rule(struct kunit *test)
{
	const struct nvabi_version *v = test->param_value;
	struct gsh_verdict verdict;

	expect_verdict(test, "escape", NV_ESC_RM_I2C_ACCESS,
		       gsh_filter_escape(v, NV_ESC_RM_I2C_ACCESS), GSH_DENY, PERM);
	expect_verdict(test, "escape", NV_ESC_EXPORT_TO_DMABUF_FD,
		       gsh_filter_escape(v, NV_ESC_EXPORT_TO_DMABUF_FD), GSH_DENY, NOSUP);
	verdict = gsh_filter_escape(v, NV_ESC_SET_NUMA_STATUS);
	KUNIT_EXPECT_EQ(test, verdict.action, GSH_DENY);
	KUNIT_EXPECT_EQ(test, verdict.err, -EACCES);
	verdict = gsh_filter_escape(v, NV_ESC_RM_IDLE_CHANNELS);
	KUNIT_EXPECT_EQ(test, verdict.action, GSH_LOCAL);
	KUNIT_EXPECT_EQ(test, verdict.status, NV_ERR_INVALID_CLIENT);
	KUNIT_EXPECT_EQ(test, gsh_filter_escape(v, NV_ESC_RM_ALLOC).action, GSH_ALLOW);
}

#define DENIED_KINDS                                                                      \
	(NVABI_CLASS_KERNEL | NVABI_CLASS_PRIVILEGED | NVABI_CLASS_MEM_WINDOW |           \
	 NVABI_CLASS_MEM_EXTENDED | NVABI_CLASS_MEM_REFERENCE | NVABI_CLASS_PASSTHROUGH | \
	 NVABI_CLASS_CAPS_FILE | NVABI_CLASS_DEFERRED | NVABI_CLASS_PROFILER |            \
	 NVABI_CLASS_VGPU_HOST)

static void classes_meet_their_rule(struct kunit *test)
{
	const struct nvabi_version *v = test->param_value;
	const struct nvabi_class *rows;
	struct gsh_verdict verdict;
	u32 count, i, denied = 0;

	rows = nvabi_classes(&count);
	for (i = 0; i < count; i++) {
		verdict = gsh_filter_class(v, rows[i].id);
		KUNIT_EXPECT_FALSE(test, verdict.flags & GSH_VERDICT_UNKNOWN);
		/* An empty handle, whose commands are refused: libcuda 550 asks for one. */
		if (rows[i].flags & DENIED_KINDS && rows[i].id != NV2081_BINAPI)
			KUNIT_EXPECT_EQ_MSG(test, verdict.action, GSH_DENY, "class %#x",
					    rows[i].id);
		if (verdict.action == GSH_DENY) {
			denied++;
			KUNIT_EXPECT_TRUE(test, verdict.status == PERM || verdict.status == NOSUP);
		} else if (rows[i].flags & (NVABI_CLASS_DEVICE | NVABI_CLASS_EVENT)) {
			KUNIT_EXPECT_TRUE(test, verdict.flags & GSH_VERDICT_CHECK_CLIENT);
		}
	}
	KUNIT_EXPECT_GT(test, denied, 30);
	KUNIT_EXPECT_LT(test, denied, count);
	KUNIT_EXPECT_EQ(test, gsh_filter_class(v, NV01_MEMORY_LOCAL_USER).action, GSH_ALLOW);
	KUNIT_EXPECT_EQ(test, gsh_filter_class(v, 0xbeef).flags, GSH_VERDICT_UNKNOWN);
}

/* A number that no row has: forwarded and counted, but for the firmware's own. */
static void what_is_unknown_meets_one_rule(struct kunit *test)
{
	const struct nvabi_version *v = test->param_value;
	u32 i, cmd, unknown = 0;
	struct gsh_verdict verdict;
	u64 state = 5;

	for (i = 0; i < 200000; i++) {
		cmd = gsh_random(&state);
		if (i & 1)
			cmd = 0x20800000 | (cmd & 0xffff);
		verdict = gsh_filter_control(v, cmd, 0);
		if (!(verdict.flags & GSH_VERDICT_UNKNOWN))
			continue;
		unknown++;
		if ((verdict.action == GSH_DENY) != !!(cmd & 0x8000) ||
		    !!(verdict.flags & GSH_VERDICT_LEGACY) != !!(cmd & 0x8000))
			KUNIT_FAIL(test, "control %#x", cmd);
	}
	KUNIT_EXPECT_GT(test, unknown, 100000);
}

static void uvm_commands_meet_their_rule(struct kunit *test)
{
	static const u32 denied[] = { UVM_TOOLS_READ_PROCESS_MEMORY, UVM_TOOLS_WRITE_PROCESS_MEMORY,
				      UVM_TOOLS_GET_PROCESSOR_TABLE, UVM_ALLOC_DEVICE_P2P,
				      UVM_CLEAR_ALL_ACCESS_COUNTERS };
	static const u32 tracked[] = { UVM_CREATE_EXTERNAL_RANGE, UVM_MAP_EXTERNAL_ALLOCATION,
				       UVM_UNMAP_EXTERNAL, UVM_FREE };
	const struct nvabi_version *v = test->param_value;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(denied); i++)
		expect_verdict(test, "uvm", denied[i], gsh_filter_uvm(v, denied[i]), GSH_DENY,
			       NOSUP);
	for (i = 0; i < ARRAY_SIZE(tracked); i++)
		KUNIT_EXPECT_TRUE(test, gsh_filter_uvm(v, tracked[i]).flags & GSH_VERDICT_TRACK);
	KUNIT_EXPECT_EQ(test, gsh_filter_uvm(v, UVM_CLEAN_UP_ZOMBIES).action, GSH_ABSORB);
}

static void flags_only_the_kernel_may_set_are_dropped(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, gsh_filter_memory_flags(U32_MAX), U32_MAX & ~0x18410000u);
	KUNIT_EXPECT_EQ(test, gsh_filter_memory_flags(0x4010), 0x4010);
}

static struct kunit_case cases[] = { GSH_CASE_EACH_VERSION(controls_meet_their_rule),
				     GSH_CASE_EACH_VERSION(escapes_meet_their_rule),
				     GSH_CASE_EACH_VERSION(classes_meet_their_rule),
				     GSH_CASE_EACH_VERSION(what_is_unknown_meets_one_rule),
				     GSH_CASE_EACH_VERSION(uvm_commands_meet_their_rule),
				     KUNIT_CASE(flags_only_the_kernel_may_set_are_dropped),
				     {} };

static struct kunit_suite suite = { .name = "gpushare_filter", .test_cases = cases };
kunit_test_suite(suite);
