/* SPDX-License-Identifier: MIT */
/*
 * Raw calls on the driver's nodes, for test programs that say exactly what they send.
 *
 * A folder holds one set of nodes: /dev, or /dev/gpushare/NAME of a tenant. Calls return the
 * driver's status (0 is NV_OK), or a negative errno when the ioctl itself failed.
 */
#ifndef TEST_RM_H
#define TEST_RM_H

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nvabi/numbers.h"
#include "nvabi/structs.h"
#include "nvabi/versions.h"

#define MIB                 (1ULL << 20)
#define RM_STATUS_UNTOUCHED 0x7eadbeef /* the driver wrote no status */

struct rm { /* one control file with one client on the folder's first card */
	const char *dir;
	unsigned int minor;
	int ctl, gpu;
	uint32_t client, device, subdevice;
};

/* Handles that the programs choose are below 0x100000, those of the frame stand here. */
#define RM_DEVICE    0x00de0000u
#define RM_SUBDEVICE 0x00de0001u

/* ---- the driver's version: parameters grow, and the driver copies as many bytes as it knows ---- */

#define RM_PARAMS_ROOM 192 /* more than any version's memory or address space parameters */

union rm_memory_alloc {
	struct nv_memory_alloc p;
	uint8_t room[RM_PARAMS_ROOM];
};

union rm_vaspace_alloc {
	struct nv_vaspace_alloc p;
	uint8_t room[RM_PARAMS_ROOM];
};

static inline const struct nvabi_version *rm_find_abi(void)
{
	const struct nvabi_version *abi = NULL;
	char text[512] = "", *word, *rest = text;
	FILE *file = fopen("/proc/driver/nvidia/version", "r");

	if (file) {
		if (!fgets(text, sizeof(text), file))
			text[0] = '\0';
		fclose(file);
	}
	while (!abi && (word = strtok_r(rest, " \t\n", &rest)))
		abi = nvabi_version_find(word);
	return abi ?: nvabi_version_find("535.261.03");
}

/* The row of the driver that runs here; without one, the first. */
static inline const struct nvabi_version *rm_abi(void)
{
	static const struct nvabi_version *abi;

	if (!abi)
		abi = rm_find_abi();
	return abi;
}

/* ---- nodes ---- */

static inline int rm_open_node(const char *dir, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The folder's first card: N of nvidiaN, or -ENODEV. */
static inline int rm_first_minor(const char *dir)
{
	DIR *folder = opendir(dir);
	struct dirent *entry;
	int first = -ENODEV, minor;

	if (!folder)
		return -errno;
	while ((entry = readdir(folder))) {
		if (strncmp(entry->d_name, "nvidia", 6) ||
		    !isdigit((unsigned char)entry->d_name[6]))
			continue;
		minor = atoi(entry->d_name + 6);
		if (first < 0 || minor < first)
			first = minor;
	}
	closedir(folder);
	return first;
}

static inline int rm_open_gpu(const char *dir, unsigned int minor)
{
	char name[16];

	snprintf(name, sizeof(name), "nvidia%u", minor);
	return rm_open_node(dir, name);
}

/* ---- calls ---- */

static inline unsigned long rm_number(unsigned int nr, size_t bytes)
{
	return _IOC(_IOC_READ | _IOC_WRITE, 'F', nr, bytes);
}

static inline int rm_ioctl(int fd, unsigned int nr, void *arg, size_t bytes)
{
	return ioctl(fd, rm_number(nr, bytes), arg) < 0 ? -errno : 0;
}

static inline int rm_register_fd(int fd, int ctl)
{
	struct nv_register_fd p = { .ctl_fd = (uint32_t)ctl };

	return rm_ioctl(fd, NV_ESC_REGISTER_FD, &p, sizeof(p));
}

/* *handle 0: the driver chooses. */
static inline int rm_alloc(int fd, uint32_t client, uint32_t parent, uint32_t *handle,
			   uint32_t h_class, void *params)
{
	struct nvos21 p = {
		.h_root = client,
		.h_object_parent = parent,
		.h_object_new = *handle,
		.h_class = h_class,
		.p_alloc_parms = (uintptr_t)params,
		.status = RM_STATUS_UNTOUCHED,
	};
	int rc = rm_ioctl(fd, NV_ESC_RM_ALLOC, &p, sizeof(p));

	if (rc)
		return rc;
	if (!p.status)
		*handle = p.h_object_new;
	return (int)p.status;
}

static inline int rm_free(int fd, uint32_t client, uint32_t parent, uint32_t object)
{
	struct nvos00 p = { client, parent, object, RM_STATUS_UNTOUCHED };

	return rm_ioctl(fd, NV_ESC_RM_FREE, &p, sizeof(p)) ?: (int)p.status;
}

static inline int rm_control(int fd, uint32_t client, uint32_t object, uint32_t cmd, void *params,
			     uint32_t bytes)
{
	struct nvos54 p = {
		.h_client = client,
		.h_object = object,
		.cmd = cmd,
		.p_params = (uintptr_t)params,
		.params_size = bytes,
		.status = RM_STATUS_UNTOUCHED,
	};

	return rm_ioctl(fd, NV_ESC_RM_CONTROL, &p, sizeof(p)) ?: (int)p.status;
}

static inline int rm_dup(int fd, uint32_t client, uint32_t parent, uint32_t object,
			 uint32_t source_client, uint32_t source)
{
	struct nvos55 p = {
		.h_client = client,
		.h_parent = parent,
		.h_object = object,
		.h_client_src = source_client,
		.h_object_src = source,
		.status = RM_STATUS_UNTOUCHED,
	};

	return rm_ioctl(fd, NV_ESC_RM_DUP_OBJECT, &p, sizeof(p)) ?: (int)p.status;
}

/* Leaves the mapping in target, whose mmap at offset 0 makes it. */
static inline int rm_map(int fd, uint32_t client, uint32_t device, uint32_t memory, uint64_t bytes,
			 int target)
{
	struct nvos33_fd p = {
		.h_client = client,
		.h_device = device,
		.h_memory = memory,
		.length = bytes,
		.fd = (uint32_t)target,
		.status = RM_STATUS_UNTOUCHED,
	};

	return rm_ioctl(fd, NV_ESC_RM_MAP_MEMORY, &p, sizeof(p)) ?: (int)p.status;
}

static inline int rm_map_dma(int fd, uint32_t client, uint32_t device, uint32_t dma,
			     uint32_t memory, uint64_t bytes, uint64_t *va)
{
	struct nvos46_v535 p = {
		.h_client = client,
		.h_device = device,
		.h_dma = dma,
		.h_memory = memory,
		.length = bytes,
		.dma_offset = *va,
		.status = RM_STATUS_UNTOUCHED,
	};
	int rc = rm_ioctl(fd, NV_ESC_RM_MAP_MEMORY_DMA, &p, sizeof(p)) ?: (int)p.status;

	if (!rc)
		*va = p.dma_offset;
	return rc;
}

static inline int rm_export(int fd, uint32_t client, uint32_t device, uint32_t object, int target)
{
	struct nv0000_export_to_fd p = {
		.object_type = 1,
		.object_data_rm_object_h_device = device,
		.object_data_rm_object_h_parent = device,
		.object_data_rm_object_h_object = object,
		.fd = (uint32_t)target,
	};

	return rm_control(fd, client, client, NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD, &p,
			  sizeof(p));
}

static inline int rm_import(int fd, uint32_t client, uint32_t device, uint32_t object, int source)
{
	struct nv0000_import_from_fd p = {
		.fd = (uint32_t)source,
		.object_type = 1,
		.object_data_rm_object_h_device = device,
		.object_data_rm_object_h_parent = device,
		.object_data_rm_object_h_object = object,
	};

	return rm_control(fd, client, client, NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD, &p,
			  sizeof(p));
}

/* ---- memory ---- */

static inline int rm_alloc_video(const struct rm *rm, uint32_t handle, uint64_t bytes)
{
	union rm_memory_alloc p = { .p = { .owner = rm->client, .size = bytes } };

	return rm_alloc(rm->ctl, rm->client, rm->device, &handle, NV01_MEMORY_LOCAL_USER, &p);
}

static inline int rm_alloc_system(const struct rm *rm, uint32_t handle, uint64_t bytes)
{
	union rm_memory_alloc p = { .p = {
					    .owner = rm->client,
					    .size = bytes,
					    .attr = NVOS32_ATTR_LOCATION_PCI << 25,
				    } };

	return rm_alloc(rm->ctl, rm->client, rm->device, &handle, NV01_MEMORY_SYSTEM, &p);
}

static inline void rm_put32(uint8_t *p, unsigned int off, uint32_t value)
{
	memcpy(p + off, &value, sizeof(value));
}

static inline void rm_put64(uint8_t *p, unsigned int off, uint64_t value)
{
	memcpy(p + off, &value, sizeof(value));
}

static inline uint32_t rm_get32(const uint8_t *p, unsigned int off)
{
	uint32_t value;

	memcpy(&value, p + off, sizeof(value));
	return value;
}

/* NVOS32 (184 bytes) that asks for card memory under a handle. */
static inline void rm_heap_request(const struct rm *rm, uint8_t *p, uint32_t handle, uint64_t bytes)
{
	memset(p, 0, NVOS32_SIZE);
	rm_put32(p, NVOS32_OFF_ROOT, rm->client);
	rm_put32(p, NVOS32_OFF_PARENT, rm->device);
	rm_put32(p, NVOS32_OFF_FUNCTION, NVOS32_FUNCTION_ALLOC_SIZE);
	rm_put32(p, NVOS32_OFF_STATUS, RM_STATUS_UNTOUCHED);
	rm_put32(p, NVOS32_OFF_ALLOC_OWNER, rm->client);
	rm_put32(p, NVOS32_OFF_ALLOC_MEMORY, handle);
	rm_put32(p, NVOS32_OFF_ALLOC_FLAGS, NVOS32_FLAGS_HANDLE_PROVIDED);
	rm_put64(p, NVOS32_OFF_ALLOC_SIZE, bytes);
}

static inline int rm_heap(const struct rm *rm, uint8_t *p)
{
	return rm_ioctl(rm->ctl, NV_ESC_RM_VID_HEAP_CONTROL, p, NVOS32_SIZE) ?:
		       (int)rm_get32(p, NVOS32_OFF_STATUS);
}

/* ---- the frame: client, device, subdevice ---- */

static inline int rm_alloc_device(const struct rm *rm, uint32_t handle)
{
	struct nv0080_alloc p = { .device_id = rm->minor };

	return rm_alloc(rm->ctl, rm->client, rm->client, &handle, NV01_DEVICE_0, &p);
}

static inline void rm_stop(struct rm *rm)
{
	if (rm->gpu >= 0)
		close(rm->gpu);
	if (rm->ctl >= 0)
		close(rm->ctl);
	rm->gpu = rm->ctl = -1;
	rm->client = 0;
}

static inline int rm_start_objects(struct rm *rm)
{
	uint32_t handle = RM_SUBDEVICE;
	struct nv2080_alloc sub = { 0 };
	int rc;

	rm->client = 0;
	rc = rm_alloc(rm->ctl, 0, 0, &rm->client, NV01_ROOT, NULL);
	if (rc)
		return rc;
	rm->device = RM_DEVICE;
	rc = rm_alloc_device(rm, rm->device);
	if (rc)
		return rc;
	rm->subdevice = RM_SUBDEVICE;
	return rm_alloc(rm->ctl, rm->client, rm->device, &handle, NV20_SUBDEVICE_0, &sub);
}

static inline int rm_start(struct rm *rm, const char *dir)
{
	int minor = rm_first_minor(dir), rc;

	*rm = (struct rm){ .dir = dir, .ctl = -1, .gpu = -1 };
	if (minor < 0)
		return minor;
	rm->minor = (unsigned int)minor;
	rm->ctl = rm_open_node(dir, "nvidiactl");
	rm->gpu = rm_open_gpu(dir, rm->minor);
	if (rm->ctl < 0 || rm->gpu < 0)
		return rm->ctl < 0 ? rm->ctl : rm->gpu;
	rc = rm_register_fd(rm->gpu, rm->ctl);
	return rc ?: rm_start_objects(rm);
}

/* ---- the managed-memory node ---- */

#define UVM_MAP_EXTERNAL_ROOM 9264 /* 550 and later; 1200 before */
#define UVM_POOL_ROOM         9248 /* 1184 before */

struct uvm_gpu_attributes { /* UvmGpuMappingAttributes: uvm_types.h */
	uint8_t uuid[16];
	uint32_t mapping, caching, format, element_bits, compression;
};

/* UVM_MAP_EXTERNAL_ALLOCATION_PARAMS: as many attributes as the version has cards, then the end. */
union uvm_map_external {
	struct {
		uint64_t base, length, offset;
		struct uvm_gpu_attributes first;
	};
	uint8_t room[UVM_MAP_EXTERNAL_ROOM];
};

struct uvm_map_external_end {
	uint64_t gpu_count;
	uint32_t rm_ctrl_fd, h_client, h_memory, rm_status;
};

/* UVM_ALLOC_SEMAPHORE_POOL_PARAMS: the same without an offset and a memory object. */
union uvm_pool {
	struct {
		uint64_t base, length;
		struct uvm_gpu_attributes first;
	};
	uint8_t room[UVM_POOL_ROOM];
};

struct uvm_pool_end {
	uint64_t gpu_count;
	uint32_t rm_status, pad;
};

static inline struct uvm_map_external_end *uvm_external_end(union uvm_map_external *p)
{
	return (void *)(p->room + rm_abi()->uvm_map_external_count_off);
}

static inline struct uvm_pool_end *uvm_pool_end(union uvm_pool *p)
{
	return (void *)(p->room + rm_abi()->uvm_semaphore_pool_status_off - sizeof(uint64_t));
}

struct uvm { /* an initialised managed-memory file that knows one card */
	int fd, mm_fd;
	uint8_t uuid[16];
};

#define UVM_VASPACE 0x00fa0000u

static inline int uvm_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

#define UVM_CALL(fd, cmd, p)                                  \
	({                                                    \
		(p)->rm_status = RM_STATUS_UNTOUCHED;         \
		uvm_ioctl(fd, cmd, p) ?: (int)(p)->rm_status; \
	})

static inline int uvm_create_range(int fd, uint64_t base, uint64_t length)
{
	struct uvm_create_external_range p = { .base = base, .length = length };

	return UVM_CALL(fd, UVM_CREATE_EXTERNAL_RANGE, &p);
}

static inline int uvm_free_range(int fd, uint64_t base, uint64_t length)
{
	struct uvm_free p = { .base = base, .length = length };

	return UVM_CALL(fd, UVM_FREE, &p);
}

static inline void uvm_external_request(union uvm_map_external *p, const struct uvm *uvm,
					const struct rm *rm, uint32_t memory, uint64_t base,
					uint64_t length)
{
	struct uvm_map_external_end *end = uvm_external_end(p);

	memset(p, 0, sizeof(*p));
	p->base = base;
	p->length = length;
	memcpy(p->first.uuid, uvm->uuid, 16);
	end->gpu_count = 1;
	end->rm_ctrl_fd = (uint32_t)rm->ctl;
	end->h_client = rm->client;
	end->h_memory = memory;
	end->rm_status = RM_STATUS_UNTOUCHED;
}

static inline int uvm_map_request(const struct uvm *uvm, union uvm_map_external *p)
{
	return uvm_ioctl(uvm->fd, UVM_MAP_EXTERNAL_ALLOCATION, p) ?:
		       (int)uvm_external_end(p)->rm_status;
}

static inline int uvm_alloc_pool(const struct uvm *uvm, uint64_t base, uint64_t length)
{
	union uvm_pool p = { .base = base, .length = length };

	memcpy(p.first.uuid, uvm->uuid, 16);
	uvm_pool_end(&p)->gpu_count = 1;
	uvm_pool_end(&p)->rm_status = RM_STATUS_UNTOUCHED;
	return uvm_ioctl(uvm->fd, UVM_ALLOC_SEMAPHORE_POOL, &p) ?: (int)uvm_pool_end(&p)->rm_status;
}

static inline int uvm_map(const struct uvm *uvm, const struct rm *rm, uint32_t memory,
			  uint64_t base, uint64_t length)
{
	union uvm_map_external p;

	uvm_external_request(&p, uvm, rm, memory, base, length);
	return uvm_map_request(uvm, &p);
}

static inline int uvm_migrate(const struct uvm *uvm, uint64_t base, uint64_t length)
{
	struct uvm_migrate p = { .base = base, .length = length };

	memcpy(p.destination_uuid, uvm->uuid, 16);
	return UVM_CALL(uvm->fd, UVM_MIGRATE, &p);
}

#define UVM_BLOCK (2 * MIB)

/* An address for managed memory, reserved: blocks are not shared with what lies beside. */
static inline char *uvm_reserve(size_t bytes)
{
	size_t whole = bytes + UVM_BLOCK;
	char *at = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t head;

	if (at == MAP_FAILED)
		return at;
	head = -(uintptr_t)at % UVM_BLOCK;
	if (head)
		munmap(at, head);
	munmap(at + head + bytes, UVM_BLOCK - head);
	return at + head;
}

/* The offset must be the address. */
static inline void *uvm_mmap(int fd, size_t bytes)
{
	char *at = uvm_reserve(bytes);

	if (at == MAP_FAILED)
		return at;
	/* A refusal may leave a hole, which another thread may have by now: nothing to unmap. */
	return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)at);
}

static inline void uvm_stop(struct uvm *uvm)
{
	if (uvm->mm_fd >= 0)
		close(uvm->mm_fd);
	if (uvm->fd >= 0)
		close(uvm->fd);
	uvm->fd = uvm->mm_fd = -1;
}

static inline int uvm_open(struct uvm *uvm, const char *dir)
{
	struct uvm_initialize init = { 0 };
	struct uvm_mm_initialize mm = { 0 };
	int rc;

	uvm->mm_fd = -1;
	uvm->fd = rm_open_node(dir, "nvidia-uvm");
	if (uvm->fd < 0)
		return uvm->fd;
	rc = UVM_CALL(uvm->fd, UVM_INITIALIZE, &init);
	if (rc)
		return rc;
	uvm->mm_fd = rm_open_node(dir, "nvidia-uvm");
	if (uvm->mm_fd < 0)
		return uvm->mm_fd;
	mm.uvm_fd = (uint32_t)uvm->fd;
	return UVM_CALL(uvm->mm_fd, UVM_MM_INITIALIZE, &mm);
}

static inline int uvm_register(struct uvm *uvm, const struct rm *rm, const uint8_t uuid[16])
{
	struct uvm_register_gpu gpu = { .rm_ctrl_fd = (uint32_t)rm->ctl };

	memcpy(uvm->uuid, uuid, 16);
	memcpy(gpu.gpu_uuid, uuid, 16);
	return UVM_CALL(uvm->fd, UVM_REGISTER_GPU, &gpu);
}

/* The address space UVM_VASPACE under the client, registered with the file. */
static inline int uvm_add_vaspace(struct uvm *uvm, const struct rm *rm)
{
	union rm_vaspace_alloc space = { 0 };
	struct uvm_register_gpu_vaspace reg = {
		.rm_ctrl_fd = (uint32_t)rm->ctl,
		.h_client = rm->client,
		.h_va_space = UVM_VASPACE,
	};
	uint32_t handle = UVM_VASPACE;
	int rc = rm_alloc(rm->ctl, rm->client, rm->device, &handle, FERMI_VASPACE_A, &space);

	memcpy(reg.gpu_uuid, uvm->uuid, 16);
	return rc ?: UVM_CALL(uvm->fd, UVM_REGISTER_GPU_VASPACE, &reg);
}

static inline int uvm_start(struct uvm *uvm, const struct rm *rm, const uint8_t uuid[16])
{
	int rc = uvm_open(uvm, rm->dir);

	if (!rc)
		rc = uvm_register(uvm, rm, uuid);
	return rc ?: uvm_add_vaspace(uvm, rm);
}

#endif /* TEST_RM_H */
