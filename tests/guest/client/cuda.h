/* SPDX-License-Identifier: MIT */
/*
 * The part of the CUDA driver interface that the test programs call, declared
 * here so that no CUDA kit is needed to build them. Numbers and prototypes are
 * those of NVIDIA's public driver interface documentation (12.2).
 */
#ifndef TEST_CUDA_H
#define TEST_CUDA_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long cu_ptr;

enum { CU_OK = 0, CU_INVALID_VALUE = 1, CU_OUT_OF_MEMORY = 2 };
enum { CU_EVENT_DEFAULT = 0, CU_STREAM_DEFAULT = 0, CU_MEM_ATTACH_GLOBAL = 1 };
enum { CU_SCHED_BLOCKING_SYNC = 4 };
enum { CU_ALLOCATION_PINNED = 1, CU_LOCATION_DEVICE = 1, CU_ACCESS_READWRITE = 3 };
enum { CU_ATTRIBUTE_MULTIPROCESSORS = 16, CU_ATTRIBUTE_MAJOR = 75, CU_ATTRIBUTE_MINOR = 76 };

struct cu_location {
	int type;
	int id;
};

struct cu_allocation_prop {
	int type;
	int handle_types;
	struct cu_location location;
	void *win32;
	unsigned char flags[8];
};

struct cu_access_desc {
	struct cu_location location;
	int flags;
};

struct cu_uuid {
	unsigned char bytes[16];
};

/* clang-format off */
#define CUDA_FUNCTIONS(X) \
	X(cuInit, (unsigned int flags)) \
	X(cuDriverGetVersion, (int *version)) \
	X(cuGetErrorName, (int error, const char **name)) \
	X(cuDeviceGetCount, (int *count)) \
	X(cuDeviceGet, (int *device, int ordinal)) \
	X(cuDeviceGetName, (char *name, int length, int device)) \
	X(cuDeviceGetUuid, (struct cu_uuid *uuid, int device)) \
	X(cuDeviceGetAttribute, (int *value, int attribute, int device)) \
	X(cuDeviceTotalMem_v2, (size_t *bytes, int device)) \
	X(cuDevicePrimaryCtxRetain, (void **context, int device)) \
	X(cuDevicePrimaryCtxRelease_v2, (int device)) \
	X(cuDevicePrimaryCtxSetFlags_v2, (int device, unsigned int flags)) \
	X(cuCtxSetCurrent, (void *context)) \
	X(cuCtxSynchronize, (void)) \
	X(cuMemGetInfo_v2, (size_t *free, size_t *total)) \
	X(cuMemAlloc_v2, (cu_ptr *ptr, size_t bytes)) \
	X(cuMemFree_v2, (cu_ptr ptr)) \
	X(cuMemcpyHtoD_v2, (cu_ptr to, const void *from, size_t bytes)) \
	X(cuMemcpyDtoH_v2, (void *to, cu_ptr from, size_t bytes)) \
	X(cuMemcpyDtoD_v2, (cu_ptr to, cu_ptr from, size_t bytes)) \
	X(cuMemcpyHtoDAsync_v2, (cu_ptr to, const void *from, size_t bytes, void *stream)) \
	X(cuMemcpyDtoHAsync_v2, (void *to, cu_ptr from, size_t bytes, void *stream)) \
	X(cuMemsetD8_v2, (cu_ptr ptr, unsigned char value, size_t count)) \
	X(cuMemsetD8Async, (cu_ptr ptr, unsigned char value, size_t count, void *stream)) \
	X(cuMemHostAlloc, (void **ptr, size_t bytes, unsigned int flags)) \
	X(cuMemFreeHost, (void *ptr)) \
	X(cuMemAllocManaged, (cu_ptr *ptr, size_t bytes, unsigned int flags)) \
	X(cuMemPrefetchAsync, (cu_ptr ptr, size_t bytes, int device, void *stream)) \
	X(cuMemAllocAsync, (cu_ptr *ptr, size_t bytes, void *stream)) \
	X(cuMemFreeAsync, (cu_ptr ptr, void *stream)) \
	X(cuDeviceGetDefaultMemPool, (void **pool, int device)) \
	X(cuMemPoolSetAttribute, (void *pool, int attribute, void *value)) \
	X(cuMemPoolTrimTo, (void *pool, size_t bytes)) \
	X(cuMemGetAllocationGranularity, (size_t *bytes, const struct cu_allocation_prop *prop, int option)) \
	X(cuMemCreate, (cu_ptr *handle, size_t bytes, const struct cu_allocation_prop *prop, unsigned long long flags)) \
	X(cuMemRelease, (cu_ptr handle)) \
	X(cuMemAddressReserve, (cu_ptr *ptr, size_t bytes, size_t alignment, cu_ptr hint, unsigned long long flags)) \
	X(cuMemAddressFree, (cu_ptr ptr, size_t bytes)) \
	X(cuMemMap, (cu_ptr ptr, size_t bytes, size_t offset, cu_ptr handle, unsigned long long flags)) \
	X(cuMemUnmap, (cu_ptr ptr, size_t bytes)) \
	X(cuMemSetAccess, (cu_ptr ptr, size_t bytes, const struct cu_access_desc *desc, size_t count)) \
	X(cuStreamCreate, (void **stream, unsigned int flags)) \
	X(cuStreamSynchronize, (void *stream)) \
	X(cuStreamWaitEvent, (void *stream, void *event, unsigned int flags)) \
	X(cuStreamDestroy_v2, (void *stream)) \
	X(cuEventCreate, (void **event, unsigned int flags)) \
	X(cuEventRecord, (void *event, void *stream)) \
	X(cuEventSynchronize, (void *event)) \
	X(cuEventElapsedTime, (float *ms, void *start, void *end)) \
	X(cuEventDestroy_v2, (void *event)) \
	X(cuModuleLoadData, (void **module, const void *image)) \
	X(cuModuleUnload, (void *module)) \
	X(cuModuleGetFunction, (void **function, void *module, const char *name)) \
	X(cuLaunchKernel, (void *function, unsigned int gx, unsigned int gy, unsigned int gz, \
			   unsigned int bx, unsigned int by, unsigned int bz, \
			   unsigned int shared_bytes, void *stream, void **args, void **extra))
/* clang-format on */

#define CUDA_POINTER(name, args) static int(*name) args;
CUDA_FUNCTIONS(CUDA_POINTER)
#undef CUDA_POINTER

static inline void cuda_load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
#define CUDA_LOOK_UP(name, args)                                    \
	do {                                                        \
		*(void **)&(name) = dlsym(library, #name);          \
		if (!(name)) {                                      \
			fprintf(stderr, "libcuda.so.1: no " #name "\n"); \
			exit(3);                                    \
		}                                                   \
	} while (0);
	CUDA_FUNCTIONS(CUDA_LOOK_UP)
#undef CUDA_LOOK_UP
}

static inline const char *cuda_name(int error)
{
	const char *name = NULL;

	return cuGetErrorName(error, &name) == CU_OK && name ? name : "?";
}

#endif /* TEST_CUDA_H */
