// SPDX-License-Identifier: GPL-2.0-only
/*
 * What Python cannot get from a shared library by itself: where the fields of our structs are,
 * and functions that live in headers. Built together with the sources of kmod/core.
 */
#include "core/books.h"
#include "core/decode.h"
#include "core/filter.h"
#include "core/views.h"
#include "nvabi/structs.h"

struct field {
	const char *type;
	const char *name;
	u32 offset;
	u32 bytes;
};

#define F(type, member) \
	{ #type, #member, offsetof(struct type, member), sizeof(((struct type *)0)->member) }
#define WHOLE(type) { #type, "", 0, sizeof(struct type) }

static const struct field fields[] = {
	WHOLE(gsh_account),
	F(gsh_account, quota_bytes),
	F(gsh_account, charged_bytes),
	F(gsh_account, reserved_bytes),
	F(gsh_account, peak_bytes),
	F(gsh_account, by_kind_bytes[0]),
	F(gsh_account, by_kind_bytes[1]),
	F(gsh_account, by_kind_bytes[2]),
	F(gsh_account, by_kind_bytes[3]),
	F(gsh_account, refusals),
	F(gsh_account, faults),
	WHOLE(gsh_card_books),
	F(gsh_card_books, total_bytes),
	F(gsh_card_books, driver_reserved_bytes),
	F(gsh_card_books, granted_bytes),
	F(gsh_card_books, overcommit_permille),
	WHOLE(gsh_view),
	F(gsh_view, quota_bytes),
	F(gsh_view, charged_bytes),
	F(gsh_view, card_free_bytes),
	WHOLE(gsh_verdict),
	F(gsh_verdict, action),
	F(gsh_verdict, view),
	F(gsh_verdict, flags),
	F(gsh_verdict, status),
	F(gsh_verdict, err),
	WHOLE(gsh_request),
	F(gsh_request, kind),
	F(gsh_request, nr),
	F(gsh_request, arg_bytes),
	F(gsh_request, status_off),
	F(gsh_request, h_client),
	F(gsh_request, h_parent),
	F(gsh_request, h_object),
	F(gsh_request, h_class),
	F(gsh_request, h_src_client),
	F(gsh_request, h_src_object),
	F(gsh_request, h_dma),
	F(gsh_request, h_object_off),
	F(gsh_request, cmd),
	F(gsh_request, function),
	F(gsh_request, flags),
	F(gsh_request, params_ptr),
	F(gsh_request, params_ptr_off),
	F(gsh_request, params_bytes_off),
	F(gsh_request, params_given),
	F(gsh_request, params_bytes),
	F(gsh_request, params_refused),
	F(gsh_request, rights_ptr),
	F(gsh_request, rights_ptr_off),
	F(gsh_request, fd_kind),
	F(gsh_request, fd_want),
	F(gsh_request, fd_in_params),
	F(gsh_request, fd_width),
	F(gsh_request, fd_off),
	F(gsh_request, fd),
	F(gsh_request, offset),
	F(gsh_request, length),
	F(gsh_request, address),
	F(gsh_request, address_off),
	F(gsh_request, limit_off),
	F(gsh_request, num_channels),
	F(gsh_request, memory.valid),
	F(gsh_request, memory.in_params),
	F(gsh_request, memory.video),
	F(gsh_request, memory.type),
	F(gsh_request, memory.flags),
	F(gsh_request, memory.attr),
	F(gsh_request, memory.attr2),
	F(gsh_request, memory.h_vaspace),
	F(gsh_request, memory.size_bytes),
	F(gsh_request, memory.alignment_bytes),
	F(gsh_request, memory.address),
	F(gsh_request, memory.flags_off),
	F(gsh_request, memory.attr_off),
	F(gsh_request, memory.attr2_off),
	F(gsh_request, memory.size_off),
	F(gsh_request, memory.limit_off),
	F(gsh_request, memory.handle_off),
	F(gsh_request, class_flags),
	F(gsh_request, device_instance),
	F(gsh_request, h_client_share),
	F(gsh_request, h_target_client),
	F(gsh_request, h_target_device),
	F(gsh_request, h_vaspace),
	F(gsh_request, h_ctxshare),
	F(gsh_request, engine_type),
	F(gsh_request, h_error),
	F(gsh_request, h_other_client),
	F(gsh_request, h_other_object),
	WHOLE(gsh_uvm_request),
	F(gsh_uvm_request, kind),
	F(gsh_uvm_request, cmd),
	F(gsh_uvm_request, bytes),
	F(gsh_uvm_request, status_off),
	F(gsh_uvm_request, uuid_off),
	F(gsh_uvm_request, fd_off),
	F(gsh_uvm_request, fd_kind),
	F(gsh_uvm_request, fd),
	F(gsh_uvm_request, flags),
	F(gsh_uvm_request, base),
	F(gsh_uvm_request, length),
	F(gsh_uvm_request, offset),
	F(gsh_uvm_request, h_client),
	F(gsh_uvm_request, h_object),
	F(gsh_uvm_request, gpu_count),
	WHOLE(nvabi_class),
	F(nvabi_class, id),
	F(nvabi_class, bytes),
	F(nvabi_class, bytes_field),
	F(nvabi_class, flags),
	WHOLE(nvabi_embedded),
	F(nvabi_embedded, cmd),
	F(nvabi_embedded, pointer_off),
	F(nvabi_embedded, count_off),
	F(nvabi_embedded, element_bytes),
	F(nvabi_embedded, count),
	F(nvabi_embedded, direction),
	F(nvabi_embedded, converted_bytes),
	F(nvabi_embedded, from_branch),
	F(nvabi_embedded, until_branch),
	WHOLE(nvabi_fd_field),
	F(nvabi_fd_field, number),
	F(nvabi_fd_field, off),
	F(nvabi_fd_field, width),
	F(nvabi_fd_field, kind),
	F(nvabi_fd_field, want),
#include "version_fields.h"
};

u32 shim_fields(const struct field **out)
{
	*out = fields;
	return GSH_ARRAY_SIZE(fields);
}

const struct nvabi_version *shim_version(const char *string)
{
	return nvabi_version_find(string);
}

const struct nvabi_version *shim_versions(u32 *count)
{
	return nvabi_versions(count);
}

void shim_version_nearest(const char *string, char *text, u32 bytes)
{
	nvabi_version_nearest(string, text, bytes);
}

bool shim_version_parse(const char *string, u32 *part)
{
	return nvabi_version_parse(string, part);
}

int shim_version_compare(const u32 *a, const u32 *b)
{
	return nvabi_version_compare(a, b);
}

const struct nvabi_class *shim_classes(u32 *count)
{
	return nvabi_classes(count);
}

u32 shim_class_bytes(const struct nvabi_version *v, u32 id)
{
	const struct nvabi_class *row = nvabi_class_find(id);

	return row ? nvabi_class_bytes(v, row) : U32_MAX;
}

const struct nvabi_embedded *shim_embedded(u32 *count)
{
	return nvabi_embedded(count);
}

u32 shim_embedded_find(const struct nvabi_version *v, u32 cmd, const struct nvabi_embedded **row)
{
	return nvabi_embedded_find(v, cmd, row);
}

const struct nvabi_fd_field *shim_control_fd(u32 cmd)
{
	return nvabi_control_fd(cmd);
}

const struct nvabi_fd_field *shim_class_fd(u32 id)
{
	return nvabi_class_fd(id);
}

/* Verdicts by pointer: a struct as a value is awkward to take from Python. */
void shim_filter_escape(const struct nvabi_version *v, u32 nr, struct gsh_verdict *out)
{
	*out = gsh_filter_escape(v, nr);
}

void shim_filter_class(const struct nvabi_version *v, u32 id, struct gsh_verdict *out)
{
	*out = gsh_filter_class(v, id);
}

void shim_filter_control(const struct nvabi_version *v, u32 cmd, u32 flags, struct gsh_verdict *out)
{
	*out = gsh_filter_control(v, cmd, flags);
}

void shim_filter_uvm(const struct nvabi_version *v, u32 cmd, struct gsh_verdict *out)
{
	*out = gsh_filter_uvm(v, cmd);
}
