/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What happens too often for a log: calls, forwards, charges, refusals, files,
 * mappings, clients and objects. Nothing is computed while an event is off.
 * README.md of kmod/ shows how to look at them.
 *
 * Times are in ns, sizes in bytes, ids as the driver has them. Addresses are the
 * tenant's own user addresses; no kernel address is shown.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gpushare

#if !defined(GSH_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define GSH_TRACE_H

#include <linux/tracepoint.h>

#include "compat.h"
#include "gpushare.h"

/* clang-format off: it knows no trace events */
#ifndef GSH_TRACE_ONCE
#define GSH_TRACE_ONCE
enum gsh_trace_charge {
	GSH_TRACE_RESERVE,
	GSH_TRACE_UNRESERVE,
	GSH_TRACE_SETTLE,
	GSH_TRACE_CHARGE,
	GSH_TRACE_RELEASE,
	GSH_TRACE_MOVE,
};
enum gsh_trace_refusal { GSH_TRACE_QUOTA, GSH_TRACE_DENIED, GSH_TRACE_UNKNOWN };
#endif

#define gsh_trace_nodes                                                       \
	{ GPUSHARE_NODE_KIND_CTL, "ctl" }, { GPUSHARE_NODE_KIND_GPU, "gpu" }, \
		{ GPUSHARE_NODE_KIND_UVM, "uvm" }
#define gsh_trace_charges                                                       \
	{ GSH_TRACE_RESERVE, "reserve" }, { GSH_TRACE_UNRESERVE, "unreserve" }, \
		{ GSH_TRACE_SETTLE, "settle" }, { GSH_TRACE_CHARGE, "charge" }, \
		{ GSH_TRACE_RELEASE, "release" }, { GSH_TRACE_MOVE, "move" }
#define gsh_trace_kinds                                                                 \
	{ GSH_CHARGE_OBJECT, "object" }, { GSH_CHARGE_LINGERING, "lingering" },         \
		{ GSH_CHARGE_MANAGED, "managed" }, { GSH_CHARGE_OVERHEAD, "overhead" }, \
		{ GSH_CHARGE_KINDS, "none" }
#define gsh_trace_refusals                                            \
	{ GSH_TRACE_QUOTA, "quota" }, { GSH_TRACE_DENIED, "denied" }, \
		{ GSH_TRACE_UNKNOWN, "unknown" }

TRACE_DEFINE_ENUM(GPUSHARE_NODE_KIND_CTL);
TRACE_DEFINE_ENUM(GPUSHARE_NODE_KIND_GPU);
TRACE_DEFINE_ENUM(GPUSHARE_NODE_KIND_UVM);
TRACE_DEFINE_ENUM(GSH_TRACE_RESERVE);
TRACE_DEFINE_ENUM(GSH_TRACE_UNRESERVE);
TRACE_DEFINE_ENUM(GSH_TRACE_SETTLE);
TRACE_DEFINE_ENUM(GSH_TRACE_CHARGE);
TRACE_DEFINE_ENUM(GSH_TRACE_RELEASE);
TRACE_DEFINE_ENUM(GSH_TRACE_MOVE);
TRACE_DEFINE_ENUM(GSH_CHARGE_OBJECT);
TRACE_DEFINE_ENUM(GSH_CHARGE_LINGERING);
TRACE_DEFINE_ENUM(GSH_CHARGE_MANAGED);
TRACE_DEFINE_ENUM(GSH_CHARGE_OVERHEAD);
TRACE_DEFINE_ENUM(GSH_CHARGE_KINDS);
TRACE_DEFINE_ENUM(GSH_TRACE_QUOTA);
TRACE_DEFINE_ENUM(GSH_TRACE_DENIED);
TRACE_DEFINE_ENUM(GSH_TRACE_UNKNOWN);

/* A call on a control or GPU node, answered. what: class or command, 0 for others. */
TRACE_EVENT(
	gpushare_call,
	TP_PROTO(const struct gsh_file *f, const struct gsh_request *req, long rc, u32 status,
		 u64 ns),
	TP_ARGS(f, req, rc, status, ns),
	TP_STRUCT__entry(__string(tenant, f->tenant->name) __field(u32, node) __field(u32, nr)
				 __field(u32, client) __field(u32, object) __field(u32, what)
					 __field(long, rc) __field(u32, status) __field(u64, ns)),
	TP_fast_assign(compat_assign_str(tenant, f->tenant->name); __entry->node = f->kind;
		       __entry->nr = req->nr; __entry->client = req->h_client;
		       __entry->object = req->h_object; __entry->what = req->cmd ?: req->h_class;
		       __entry->rc = rc; __entry->status = status; __entry->ns = ns;),
	TP_printk(
		"tenant=%s node=%s nr=%#x client=%#x object=%#x what=%#x rc=%ld status=%#x ns=%llu",
		__get_str(tenant), __print_symbolic(__entry->node, gsh_trace_nodes), __entry->nr,
		__entry->client, __entry->object, __entry->what, __entry->rc, __entry->status,
		__entry->ns));

/* A call on a managed-memory node, answered. */
TRACE_EVENT(gpushare_uvm_call, TP_PROTO(const struct gsh_file *f, u32 cmd, long rc, u64 ns),
	    TP_ARGS(f, cmd, rc, ns),
	    TP_STRUCT__entry(__string(tenant, f->tenant->name) __field(u32, cmd) __field(long, rc)
				     __field(u64, ns)),
	    TP_fast_assign(compat_assign_str(tenant, f->tenant->name); __entry->cmd = cmd;
			   __entry->rc = rc; __entry->ns = ns;),
	    TP_printk("tenant=%s cmd=%#x rc=%ld ns=%llu", __get_str(tenant), __entry->cmd,
		      __entry->rc, __entry->ns));

/* The driver was called by a forwarding thread: how long the call waited for one, and
 * how long the driver took. tenant is empty for gpushare's own calls. */
TRACE_EVENT(gpushare_forward, TP_PROTO(const struct gsh_job *job, u64 waited_ns, u64 driver_ns),
	    TP_ARGS(job, waited_ns, driver_ns),
	    TP_STRUCT__entry(__string(tenant, job->file ? job->file->tenant->name : "")
				     __field(u32, cmd) __field(s32, tgid) __field(long, rc)
					     __field(u64, waited_ns) __field(u64, driver_ns)),
	    TP_fast_assign(compat_assign_str(tenant, job->file ? job->file->tenant->name : "");
			   __entry->cmd = job->cmd; __entry->tgid = job->tgid;
			   __entry->rc = job->rc; __entry->waited_ns = waited_ns;
			   __entry->driver_ns = driver_ns;),
	    TP_printk("tenant=%s cmd=%#x pid=%d rc=%ld waited_ns=%llu driver_ns=%llu",
		      __get_str(tenant), __entry->cmd, __entry->tgid, __entry->rc,
		      __entry->waited_ns, __entry->driver_ns));

/* A share's account moved, or would have (ok=0); the figures are those after it. */
TRACE_EVENT(
	gpushare_charge,
	TP_PROTO(const struct gsh_share *share, u32 op, u32 kind, u64 bytes, bool ok),
	TP_ARGS(share, op, kind, bytes, ok),
	TP_STRUCT__entry(__string(tenant, share->tenant->name) __field(u32, gpu) __field(u32, op)
				 __field(u32, kind) __field(bool, ok) __field(u64, bytes)
					 __field(u64, charged) __field(u64, reserved)
						 __field(u64, quota)),
	TP_fast_assign(compat_assign_str(tenant, share->tenant->name);
		       __entry->gpu = share->card->minor; __entry->op = op; __entry->kind = kind;
		       __entry->ok = ok; __entry->bytes = bytes;
		       __entry->charged = share->account.charged_bytes;
		       __entry->reserved = share->account.reserved_bytes;
		       __entry->quota = share->account.quota_bytes;),
	TP_printk(
		"tenant=%s gpu=%u op=%s kind=%s bytes=%llu ok=%d charged=%llu reserved=%llu quota=%llu",
		__get_str(tenant), __entry->gpu, __print_symbolic(__entry->op, gsh_trace_charges),
		__print_symbolic(__entry->kind, gsh_trace_kinds), __entry->bytes, __entry->ok,
		__entry->charged, __entry->reserved, __entry->quota));

/* A call was answered without the driver. bytes: what was asked for, by quota only. */
TRACE_EVENT(gpushare_refuse,
	    TP_PROTO(const struct gsh_tenant *tenant, u32 why, u32 number, u32 what, u64 bytes),
	    TP_ARGS(tenant, why, number, what, bytes),
	    TP_STRUCT__entry(__string(tenant, tenant->name) __field(u32, why) __field(u32, number)
				     __field(u32, what) __field(u64, bytes)),
	    TP_fast_assign(compat_assign_str(tenant, tenant->name); __entry->why = why;
			   __entry->number = number; __entry->what = what; __entry->bytes = bytes;),
	    TP_printk("tenant=%s why=%s nr=%#x what=%#x bytes=%llu", __get_str(tenant),
		      __print_symbolic(__entry->why, gsh_trace_refusals), __entry->number,
		      __entry->what, __entry->bytes));

DECLARE_EVENT_CLASS(gpushare_file, TP_PROTO(const struct gsh_tenant *tenant, u32 node, long rc),
		    TP_ARGS(tenant, node, rc),
		    TP_STRUCT__entry(__string(tenant, tenant->name) __field(u32, node)
					     __field(long, rc)),
		    TP_fast_assign(compat_assign_str(tenant, tenant->name); __entry->node = node;
				   __entry->rc = rc;),
		    TP_printk("tenant=%s node=%s rc=%ld", __get_str(tenant),
			      __print_symbolic(__entry->node, gsh_trace_nodes), __entry->rc));

DEFINE_EVENT(gpushare_file, gpushare_open,
	     TP_PROTO(const struct gsh_tenant *tenant, u32 node, long rc),
	     TP_ARGS(tenant, node, rc));

DEFINE_EVENT(gpushare_file, gpushare_release,
	     TP_PROTO(const struct gsh_tenant *tenant, u32 node, long rc),
	     TP_ARGS(tenant, node, rc));

/* The driver has nothing left of a file that was closed. */
DEFINE_EVENT(gpushare_file, gpushare_gone,
	     TP_PROTO(const struct gsh_tenant *tenant, u32 node, long rc),
	     TP_ARGS(tenant, node, rc));

TRACE_EVENT(gpushare_mmap, TP_PROTO(const struct gsh_file *f, u64 start, u64 bytes, int rc),
	    TP_ARGS(f, start, bytes, rc),
	    TP_STRUCT__entry(__string(tenant, f->tenant->name) __field(u32, node)
				     __field(u64, start) __field(u64, bytes) __field(int, rc)),
	    TP_fast_assign(compat_assign_str(tenant, f->tenant->name); __entry->node = f->kind;
			   __entry->start = start; __entry->bytes = bytes; __entry->rc = rc;),
	    TP_printk("tenant=%s node=%s start=%#llx bytes=%llu rc=%d", __get_str(tenant),
		      __print_symbolic(__entry->node, gsh_trace_nodes), __entry->start,
		      __entry->bytes, __entry->rc));

/* The registry's view of the driver. A client is its own object, class 0x41. */
DECLARE_EVENT_CLASS(gpushare_object,
		    TP_PROTO(const struct gsh_client *client, u32 handle, u32 parent, u32 h_class,
			     u64 bytes),
		    TP_ARGS(client, handle, parent, h_class, bytes),
		    TP_STRUCT__entry(__string(tenant, client->tenant->name) __field(u32, client)
					     __field(u32, handle) __field(u32, parent)
						     __field(u32, h_class) __field(u64, bytes)),
		    TP_fast_assign(compat_assign_str(tenant, client->tenant->name);
				   __entry->client = client->handle; __entry->handle = handle;
				   __entry->parent = parent; __entry->h_class = h_class;
				   __entry->bytes = bytes;),
		    TP_printk("tenant=%s client=%#x handle=%#x parent=%#x class=%#x bytes=%llu",
			      __get_str(tenant), __entry->client, __entry->handle, __entry->parent,
			      __entry->h_class, __entry->bytes));

DEFINE_EVENT(gpushare_object, gpushare_object_new,
	     TP_PROTO(const struct gsh_client *client, u32 handle, u32 parent, u32 h_class,
		      u64 bytes),
	     TP_ARGS(client, handle, parent, h_class, bytes));

DEFINE_EVENT(gpushare_object, gpushare_object_gone,
	     TP_PROTO(const struct gsh_client *client, u32 handle, u32 parent, u32 h_class,
		      u64 bytes),
	     TP_ARGS(client, handle, parent, h_class, bytes));

#endif /* GSH_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH gpushare
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
