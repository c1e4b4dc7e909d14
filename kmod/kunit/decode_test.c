// SPDX-License-Identifier: GPL-2.0
/* Every call becomes the request it is; nothing is read beyond what was copied. */
#include <linux/module.h>

#include "core/decode.h"
#include "kunit/kunit.h"
#include "nvabi/structs.h"

#define ROUNDS 40

/* ---- calls ---- */

static void offset_is_inside(struct kunit *test, const struct gsh_request *req, u32 off, u32 width)
{
	if (off != GSH_OFF_NONE && off + width > req->arg_bytes)
		KUNIT_FAIL(test, "number %u, %u bytes: a field at %u", req->nr, req->arg_bytes,
			   off);
}

/* Whoever writes an answer goes by these. */
static void expect_inside(struct kunit *test, const struct gsh_request *req)
{
	offset_is_inside(test, req, req->status_off, 4);
	offset_is_inside(test, req, req->h_object_off, 4);
	offset_is_inside(test, req, req->address_off, 8);
	offset_is_inside(test, req, req->limit_off, 8);
	if (req->params_ptr || req->params_bytes)
		offset_is_inside(test, req, req->params_ptr_off, 8);
	if (req->rights_ptr)
		offset_is_inside(test, req, req->rights_ptr_off, 8);
	if (req->fd_kind != NVABI_FD_NONE && !req->fd_in_params)
		offset_is_inside(test, req, req->fd_off, req->fd_width);
	if (req->memory.valid && !req->memory.in_params)
		offset_is_inside(test, req, req->memory.size_off, 8);
	KUNIT_EXPECT_LE(test, req->params_bytes, (u32)NVABI_EMBEDDED_MAX_BYTES);
	KUNIT_EXPECT_LT(test, (u32)req->kind, (u32)GSH_REQ_KINDS);
}

static void one_call(struct kunit *test, u32 nr, const u8 *arg, u32 bytes)
{
	const struct nvabi_version *v = test->param_value;
	struct gsh_request req;
	int err, node;

	for (node = GSH_NODE_CTL; node <= GSH_NODE_GPU; node++) {
		err = gsh_decode(v, nr, node, arg, bytes, &req);
		if (!err)
			expect_inside(test, &req);
		else
			KUNIT_EXPECT_EQ(test, err, -EINVAL);
	}
}

static void any_number_and_size_stays_inside(struct kunit *test)
{
	u64 state = 1;
	u32 nr, bytes;
	u8 *arg;

	for (bytes = 0; bytes <= 264; bytes += bytes < 64 ? 1 : 8) {
		arg = bytes ? gsh_block(test, bytes) : NULL;
		for (nr = 0; nr <= 256; nr++) {
			if (arg)
				gsh_random_fill(&state, arg, bytes);
			one_call(test, nr, arg, bytes);
		}
		one_call(test, U32_MAX, arg, bytes);
		kfree(arg);
	}
}

static void known_calls_are_what_they_are(struct kunit *test)
{
	static const struct {
		u32 nr, bytes, node;
		enum gsh_request_kind kind;
	} rows[] = {
		{ NV_ESC_CARD_INFO, 2304, GSH_NODE_CTL, GSH_REQ_CARD_INFO },
		{ NV_ESC_REGISTER_FD, 4, GSH_NODE_GPU, GSH_REQ_REGISTER_FD },
		{ NV_ESC_RM_FREE, 16, GSH_NODE_CTL, GSH_REQ_FREE },
		{ NV_ESC_RM_CONTROL, 32, GSH_NODE_CTL, GSH_REQ_CONTROL },
		{ NV_ESC_RM_ALLOC, 32, GSH_NODE_CTL, GSH_REQ_ROOT_ALLOC },
		{ NV_ESC_RM_ALLOC, 48, GSH_NODE_CTL, GSH_REQ_ROOT_ALLOC },
		{ NV_ESC_RM_DUP_OBJECT, 28, GSH_NODE_CTL, GSH_REQ_DUP },
		{ NV_ESC_RM_MAP_MEMORY, 56, GSH_NODE_CTL, GSH_REQ_MAP_MEMORY },
	};
	const struct nvabi_version *v = test->param_value;
	struct gsh_request req;
	u8 *arg;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		arg = gsh_block(test, rows[i].bytes);
		KUNIT_EXPECT_EQ(test,
				gsh_decode(v, rows[i].nr, rows[i].node, arg, rows[i].bytes, &req),
				0);
		KUNIT_EXPECT_EQ(test, (u32)req.kind, (u32)rows[i].kind);
		KUNIT_EXPECT_EQ(test,
				gsh_decode(v, rows[i].nr, rows[i].node, arg, rows[i].bytes - 1,
					   &req),
				rows[i].nr == NV_ESC_CARD_INFO && !v->checks_ioctl_sizes ? 0 :
											   -EINVAL);
		kfree(arg);
	}
}

/* ---- parameters ---- */

static void alloc_request(const struct nvabi_version *v, u32 id, struct gsh_request *req)
{
	struct nvos21 call = { .h_class = id, .p_alloc_parms = 0x1000 };

	gsh_decode(v, NV_ESC_RM_ALLOC, GSH_NODE_CTL, &call, sizeof(call), req);
}

static void one_class(struct kunit *test, const struct nvabi_class *row, u64 *state)
{
	const struct nvabi_version *v = test->param_value;
	u32 bytes = nvabi_class_bytes(v, row);
	u8 *params = bytes ? gsh_block(test, bytes) : NULL;
	struct gsh_request req;

	alloc_request(v, row->id, &req);
	KUNIT_EXPECT_EQ(test, req.params_bytes, bytes);
	if (params)
		gsh_random_fill(state, params, bytes);
	KUNIT_EXPECT_EQ(test, gsh_decode_alloc_params(v, &req, params, bytes), 0);
	if (req.memory.valid && req.memory.size_off != GSH_OFF_NONE)
		KUNIT_EXPECT_LE(test, req.memory.size_off + 8u, bytes);
	kfree(params);
	if (!bytes)
		return;
	params = gsh_block(test, bytes - 1 ?: 1);
	alloc_request(v, row->id, &req);
	KUNIT_EXPECT_EQ(test, gsh_decode_alloc_params(v, &req, params, bytes - 1), -EINVAL);
	kfree(params);
}

static void class_parameters_end_where_they_end(struct kunit *test)
{
	const struct nvabi_class *rows;
	u64 state = 2;
	u32 count, i;

	rows = nvabi_classes(&count);
	for (i = 0; i < count; i++)
		one_class(test, &rows[i], &state);
}

static void a_size_is_read_where_the_driver_reads_it(struct kunit *test)
{
	const struct nvabi_version *v = test->param_value;
	u8 *params = gsh_block(test, v->memory_alloc_bytes);
	const u64 bytes = 0x123456789aULL;
	struct gsh_request req;

	alloc_request(v, NV01_MEMORY_LOCAL_USER, &req);
	memcpy(params + offsetof(struct nv_memory_alloc, size), &bytes, sizeof(bytes));
	KUNIT_EXPECT_EQ(test, (u32)req.kind, (u32)GSH_REQ_ALLOC_VIDMEM);
	KUNIT_EXPECT_EQ(test, gsh_decode_alloc_params(v, &req, params, v->memory_alloc_bytes), 0);
	KUNIT_EXPECT_TRUE(test, req.memory.valid);
	KUNIT_EXPECT_EQ(test, req.memory.size_bytes, bytes);
	KUNIT_EXPECT_EQ(test, (u32)req.memory.size_off,
			(u32)offsetof(struct nv_memory_alloc, size));
	kfree(params);
}

static void buffers_behind_pointers_are_bounded(struct kunit *test)
{
	const struct nvabi_embedded *rows;
	u32 count, i, round, bytes, out;
	u64 state = 3, pointer;
	u8 *params;
	int err;

	rows = nvabi_embedded(&count);
	for (i = 0; i < count; i++) {
		bytes = max(rows[i].pointer_off + 8, rows[i].count_off + 4);
		params = gsh_block(test, bytes);
		for (round = 0; round < ROUNDS; round++) {
			gsh_random_fill(&state, params, bytes);
			if (round & 1) /* counts that are believable */
				memset(params + rows[i].count_off + 1, 0, 3);
			err = gsh_embedded_bytes(&rows[i], params, bytes, &pointer, &out);
			KUNIT_EXPECT_TRUE(test, err == 0 || err == -E2BIG || err == -EINVAL);
			if (!err)
				KUNIT_EXPECT_LE(test, out, (u32)NVABI_EMBEDDED_MAX_BYTES);
		}
		kfree(params);
		params = gsh_block(test, rows[i].pointer_off + 7);
		KUNIT_EXPECT_EQ(test,
				gsh_embedded_bytes(&rows[i], params, rows[i].pointer_off + 7,
						   &pointer, &out),
				-EINVAL);
		kfree(params);
	}
}

static void control_parameters_end_where_they_end(struct kunit *test)
{
	static const u32 commands[] = {
		NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD,
		NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD,
		NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO,
		0x00fd0103,
		0x20801303,
	};
	const struct nvabi_version *v = test->param_value;
	u32 i, bytes;
	int err;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		for (bytes = 1; bytes < 128; bytes += bytes < 32 ? 1 : 8) {
			struct nvos54 call = { .cmd = commands[i],
					       .p_params = 0x1000,
					       .params_size = bytes };
			u8 *params = gsh_block(test, bytes);
			struct gsh_request req;

			gsh_decode(v, NV_ESC_RM_CONTROL, GSH_NODE_CTL, &call, sizeof(call), &req);
			err = gsh_decode_control_params(v, &req, params, bytes);
			KUNIT_EXPECT_TRUE(test, !err || err == -EINVAL);
			if (!err && req.fd_kind != NVABI_FD_NONE)
				KUNIT_EXPECT_LE(test, (u32)req.fd_off + req.fd_width, bytes);
			kfree(params);
		}
}

/* ---- the managed-memory node ---- */

static void one_uvm_command(struct kunit *test, u32 cmd, u64 *state)
{
	const struct nvabi_version *v = test->param_value;
	struct gsh_uvm_request req;
	u8 *arg = NULL;
	u32 bytes;

	if (gsh_uvm_bytes(v, cmd, &bytes)) {
		KUNIT_EXPECT_EQ(test, gsh_decode_uvm(v, cmd, NULL, 0, &req), -EINVAL);
		return;
	}
	if (bytes) {
		arg = gsh_block(test, bytes);
		gsh_random_fill(state, arg, bytes);
	}
	KUNIT_EXPECT_EQ(test, gsh_decode_uvm(v, cmd, arg, bytes, &req), 0);
	KUNIT_EXPECT_LT(test, (u32)req.kind, (u32)GSH_UVM_KINDS);
	if (req.status_off != GSH_OFF_NONE)
		KUNIT_EXPECT_LE(test, req.status_off + 4u, bytes);
	if (req.uuid_off != GSH_OFF_NONE)
		KUNIT_EXPECT_LE(test, req.uuid_off + 16u, bytes);
	kfree(arg);
	if (!bytes)
		return;
	arg = gsh_block(test, bytes - 1 ?: 1);
	KUNIT_EXPECT_EQ(test, gsh_decode_uvm(v, cmd, arg, bytes - 1, &req), -EINVAL);
	kfree(arg);
}

static void any_uvm_command_stays_inside(struct kunit *test)
{
	u64 state = 4;
	u32 cmd;

	for (cmd = 0; cmd < 0x100; cmd++)
		one_uvm_command(test, cmd, &state);
	for (cmd = 0x2fffffff; cmd < 0x30000004; cmd++)
		one_uvm_command(test, cmd, &state);
	one_uvm_command(test, U32_MAX, &state);
}

static struct kunit_case cases[] = { GSH_CASE_EACH_VERSION(any_number_and_size_stays_inside),
				     GSH_CASE_EACH_VERSION(known_calls_are_what_they_are),
				     GSH_CASE_EACH_VERSION(class_parameters_end_where_they_end),
				     GSH_CASE_EACH_VERSION(
					     a_size_is_read_where_the_driver_reads_it),
				     KUNIT_CASE(buffers_behind_pointers_are_bounded),
				     GSH_CASE_EACH_VERSION(control_parameters_end_where_they_end),
				     GSH_CASE_EACH_VERSION(any_uvm_command_stays_inside),
				     {} };

static struct kunit_suite suite = { .name = "gpushare_decode", .test_cases = cases };
kunit_test_suite(suite);
