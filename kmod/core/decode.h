/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bytes to typed request. Works on kernel-owned copies that nobody else can
 * change; never reads past the length it is given; decides nothing (that is
 * filter.h) and forwards nothing.
 *
 *   copy the ioctl struct in -> gsh_decode()
 *       unwrap number 211 first: gsh_decode() treats it as unknown
 *   if it has parameters (params_bytes > 0): copy them in ->
 *       RM_ALLOC: gsh_decode_alloc_params(); RM_CONTROL: gsh_decode_control_params()
 *   then the embedded buffers: nvabi/embedded.h, gsh_embedded_bytes()
 *
 * Offsets ending in _off count from the start of the ioctl struct, except those
 * in memory.* and fd_off when fd_in_params is set: these count from the start of
 * the block they were read from (in_params says which).
 */
#ifndef GSH_CORE_DECODE_H
#define GSH_CORE_DECODE_H

#include "core/types.h"
#include "nvabi/versions.h"
#include "nvabi/classes.h"
#include "nvabi/embedded.h"

enum gsh_node {
	GSH_NODE_CTL,
	GSH_NODE_GPU,
};

enum gsh_request_kind {
	GSH_REQ_PASS, /* nothing in it that we look at: forward as it is */
	GSH_REQ_DENY, /* filter.h has the answer; never forwarded */
	GSH_REQ_CARD_INFO, /* 200: array of cards; reply is filtered */
	GSH_REQ_ATTACH_GPUS, /* 212: u32 array of gpu ids */
	GSH_REQ_REGISTER_FD, /* 201: fd */
	GSH_REQ_OS_EVENT_ALLOC, /* 206: h_client, fd (a label) */
	GSH_REQ_OS_EVENT_FREE, /* 207 */
	GSH_REQ_STATUS_CODE, /* 209: domain, bus, slot of a card */
	GSH_REQ_ROOT_ALLOC, /* RM_ALLOC or RM_ALLOC_OBJECT of class 0, 1, 0x41: a new client */
	GSH_REQ_ALLOC, /* any other class */
	GSH_REQ_ALLOC_VIDMEM, /* RM_ALLOC of class 0x40 */
	GSH_REQ_FREE, /* h_object; the client itself when equal to h_client */
	GSH_REQ_CONTROL, /* cmd, h_object, params */
	GSH_REQ_DUP, /* h_client, h_parent, h_object from h_src_client, h_src_object */
	GSH_REQ_SHARE, /* h_client, h_object */
	GSH_REQ_VIDHEAP_ALLOC_VIDMEM, /* vid heap 2, 6, 14 that take card memory */
	GSH_REQ_VIDHEAP_ALLOC_OTHER, /* same functions: system memory or addresses only */
	GSH_REQ_VIDHEAP_ALLOC_OS_DESC, /* vid heap 27: pins the caller's pages */
	GSH_REQ_VIDHEAP_FREE, /* h_object: the memory */
	GSH_REQ_VIDHEAP_INFO, /* 5: reply is rewritten */
	GSH_REQ_VIDHEAP_OTHER, /* total and free of the reply are rewritten all the same */
	GSH_REQ_ALLOC_MEMORY, /* 0x27: class 0x71 pins the caller's pages, 0x40 tells the heap size */
	GSH_REQ_MAP_MEMORY, /* 0x4e: h_parent (device), h_object (memory), address, length, fd */
	GSH_REQ_UNMAP_MEMORY, /* 0x4f */
	GSH_REQ_MAP_DMA, /* 0x57: h_object (memory), h_dma */
	GSH_REQ_UNMAP_DMA, /* 0x58 */
	GSH_REQ_BIND_DMA, /* 0x59 */
	GSH_REQ_ALLOC_CONTEXT_DMA, /* 0x54: h_object (new), h_src_object (memory) */
	GSH_REQ_IDLE_CHANNELS, /* 0x41: three arrays of num_channels handles when that is > 0 */
	GSH_REQ_GET_EVENT_DATA, /* 0x52: writes one event through params_ptr */
	GSH_REQ_UPDATE_MAPPING, /* 0x5e: addresses of the caller, bookkeeping only */
	GSH_REQ_KINDS
};

/* Where a request asks for memory. Read from the ioctl struct (vid heap) or from the params. */
struct gsh_memory_request {
	bool valid;
	bool in_params; /* offsets count from the params block, else from the ioctl struct */
	bool video; /* takes card memory: LOCATION = VIDMEM, not VIRTUAL */
	u32 type;
	u32 flags;
	u32 attr;
	u32 attr2;
	u32 h_vaspace;
	u64 size_bytes; /* as asked; after success the true size stands at size_off */
	u64 alignment_bytes;
	u64 address; /* offset (fixed address) or descriptor */
	u16 flags_off;
	u16 attr_off;
	u16 attr2_off;
	u16 size_off;
	u16 limit_off;
	u16 handle_off; /* vid heap only: where the new object's handle stands */
};

struct gsh_request {
	enum gsh_request_kind kind;
	u32 nr;
	u32 arg_bytes;
	u16 status_off; /* u32 NV status, or GSH_OFF_NONE: the answer is the ioctl's value alone */

	u32 h_client;
	u32 h_parent;
	u32 h_object; /* object addressed, or wished handle of a new one (0: driver chooses) */
	u32 h_class;
	u32 h_src_client;
	u32 h_src_object;
	u32 h_dma;
	u16 h_object_off; /* where the driver writes a new object's handle */
	u32 cmd; /* RM_CONTROL */
	u32 function; /* RM_VID_HEAP_CONTROL */
	u32 flags;

	/* Parameter block behind a pointer (RM_ALLOC, RM_CONTROL, GET_EVENT_DATA). */
	u64 params_ptr; /* user address, 0: none */
	u16 params_ptr_off;
	u16 params_bytes_off; /* where the caller's size stands */
	u32 params_given; /* the caller's size */
	/*
	 * How much the driver will read and write: copy exactly this. 0: it follows no pointer;
	 * put 0 at params_ptr_off before the call if params_ptr is not null.
	 */
	u32 params_bytes;
	bool params_refused; /* pointer and size alone make the driver answer status 0x1f */
	u64 rights_ptr; /* NVOS64 only: 4 bytes in, or 0 */
	u16 rights_ptr_off;

	/* Descriptor, if the call carries one the driver looks up or remembers. */
	enum nvabi_fd_kind fd_kind; /* NVABI_FD_NONE: no descriptor */
	enum nvabi_fd_want fd_want;
	bool fd_in_params;
	u8 fd_width; /* 4 or 8 bytes */
	u16 fd_off;
	s32 fd;

	/* MAP_MEMORY, UNMAP_MEMORY, MAP_DMA, ALLOC_MEMORY */
	u64 offset;
	u64 length;
	u64 address;
	u16 address_off;
	u16 limit_off; /* ALLOC_MEMORY: size - 1, also in the answer */

	u32 num_channels; /* IDLE_CHANNELS; the three pointers stand at 16, 24, 32 */

	struct gsh_memory_request memory;

	/* Classes the module keeps books of; filled by gsh_decode_alloc_params(). */
	u32 class_flags; /* NVABI_CLASS_*; filled by gsh_decode() already */
	u32 device_instance; /* 0x80, 0x2080 */
	u32 h_client_share; /* 0x80 */
	u32 h_target_client; /* 0x80 */
	u32 h_target_device; /* 0x80 */
	u32 h_vaspace; /* groups, channels, context shares */
	u32 h_ctxshare; /* channels */
	u32 engine_type; /* groups, channels, copy and compute objects: 0 when they have none */
	u32 h_error; /* groups, channels */
	u32 h_other_client; /* 0x83de: the debugged client; events: the parent client */
	u32 h_other_object;
};

/* A number that some driver of versions.h has. */
bool gsh_escape_is_known(u32 nr);

/*
 * 0, or -EINVAL exactly where the driver refuses the call by number, size or
 * node alone (the ioctl's own value is then -EINVAL and the struct is copied
 * back unchanged). arg may be NULL only when bytes is 0.
 */
int gsh_decode(const struct nvabi_version *v, u32 nr, enum gsh_node node, const void *arg,
	       u32 bytes, struct gsh_request *req);

/*
 * Second stage of RM_ALLOC: params is the copy of req->params_bytes bytes.
 * 0, or -EINVAL when bytes is less than what the class has at this version
 * (the request then keeps what it had). Unknown class: 0, nothing filled.
 */
int gsh_decode_alloc_params(const struct nvabi_version *v, struct gsh_request *req,
			    const void *params, u32 bytes);

/*
 * Second stage of RM_CONTROL: fills fd_* for controls that carry a descriptor.
 * 0; -EINVAL: the block is too short for the field (the driver would answer 0x1f).
 */
int gsh_decode_control_params(const struct nvabi_version *v, struct gsh_request *req,
			      const void *params, u32 bytes);

/*
 * How many bytes lie behind one embedded pointer: 0 and *out (0 when the
 * pointer is null); -EINVAL: params too short; -E2BIG: over the driver's own limit
 * of 1 MiB or the count does not fit. Answer status 0x1f to both without a call.
 */
int gsh_embedded_bytes(const struct nvabi_embedded *row, const void *params, u32 bytes,
		       u64 *pointer, u32 *out);

/* ---- managed-memory node ---- */

enum gsh_uvm_kind {
	GSH_UVM_PASS, /* forward as it is */
	GSH_UVM_INITIALIZE, /* flags */
	GSH_UVM_DEINITIALIZE, /* does nothing, has no parameters */
	GSH_UVM_MM_INITIALIZE, /* fd of a managed-memory file */
	GSH_UVM_REGISTER_GPU, /* uuid, h_client */
	GSH_UVM_UNREGISTER_GPU,
	GSH_UVM_REGISTER_GPU_VASPACE, /* uuid, h_client, h_object (address space) */
	GSH_UVM_UNREGISTER_GPU_VASPACE,
	GSH_UVM_REGISTER_CHANNEL, /* uuid, h_client, h_object (channel), base, length */
	GSH_UVM_UNREGISTER_CHANNEL, /* h_client, h_object (535: uuid too) */
	GSH_UVM_CREATE_EXTERNAL_RANGE, /* base, length */
	GSH_UVM_MAP_EXTERNAL, /* base, length, offset, h_client, h_object (memory), gpu count */
	GSH_UVM_UNMAP_EXTERNAL, /* base, length, uuid */
	GSH_UVM_MAP_SPARSE, /* base, length, uuid */
	GSH_UVM_FREE, /* base, length */
	GSH_UVM_ALLOC_SEMAPHORE_POOL, /* base, length: no managed memory in this range */
	GSH_UVM_ALLOC_DEVICE_P2P, /* base, length, h_client, h_object */
	GSH_UVM_MIGRATE, /* base, length, uuid */
	GSH_UVM_RANGE, /* other calls that name base and length only */
	GSH_UVM_KINDS
};

struct gsh_uvm_request {
	enum gsh_uvm_kind kind;
	u32 cmd;
	u32 bytes; /* of the parameter struct at this version */
	u16 status_off; /* rmStatus; GSH_OFF_NONE for DEINITIALIZE */
	u16 uuid_off; /* 16 bytes, or GSH_OFF_NONE */
	u16 fd_off;
	enum nvabi_fd_kind fd_kind;
	s32 fd;
	u64 flags;
	u64 base;
	u64 length;
	u64 offset;
	u32 h_client;
	u32 h_object;
	u32 gpu_count;
};

/* Size of the parameter struct: 0 and *bytes; -EINVAL: no such command (UVM's own answer). */
int gsh_uvm_bytes(const struct nvabi_version *v, u32 cmd, u32 *bytes);

/* 0; -EINVAL: no such command, or bytes below what it has. */
int gsh_decode_uvm(const struct nvabi_version *v, u32 cmd, const void *arg, u32 bytes,
		   struct gsh_uvm_request *req);

#endif /* GSH_CORE_DECODE_H */
