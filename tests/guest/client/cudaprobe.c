/* SPDX-License-Identifier: MIT */
/* build: dynamic */
/*
 * A program against NVIDIA's genuine libcuda, for the tests and the demo. Each
 * command prints lines of key=value; "ok" or "refused" begins the line of each
 * step. Exit status: 0 all as expected, 1 a call failed, 2 usage, 3 no libcuda.
 */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cuda.h"

#define MIB (1ULL << 20)

static int device;
static int failures;

/* Print one step; a failed one counts. */
static int step(const char *what, int result)
{
	printf("%s %s result=%d name=%s\n", result == CU_OK ? "ok" : "failed", what, result, cuda_name(result));
	fflush(stdout);
	failures += result != CU_OK;
	return result;
}

/* The same for a claim about data. */
static void claim(const char *what, int holds)
{
	printf("%s %s\n", holds ? "ok" : "failed", what);
	fflush(stdout);
	failures += !holds;
}

static unsigned long long parse_size(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 0);

	switch (*end) {
	case 'k':
	case 'K':
		return value << 10;
	case 'm':
	case 'M':
		return value << 20;
	case 'g':
	case 'G':
		return value << 30;
	default:
		return value;
	}
}

static void print_memory(const char *word)
{
	size_t free_bytes = 0, total = 0;
	int result = cuMemGetInfo_v2(&free_bytes, &total);

	printf("%s result=%d free=%zu total=%zu\n", word, result, free_bytes, total);
	fflush(stdout);
}

static int start(void)
{
	void *context;
	const char *ordinal = getenv("CUDAPROBE_DEVICE");

	cuda_load();
	if (step("init", cuInit(0)) != CU_OK)
		return 1;
	if (step("device", cuDeviceGet(&device, ordinal ? atoi(ordinal) : 0)) != CU_OK)
		return 1;
	if (getenv("CUDAPROBE_BLOCKING") &&
	    step("blocking", cuDevicePrimaryCtxSetFlags_v2(device, CU_SCHED_BLOCKING_SYNC)) != CU_OK)
		return 1;
	if (step("context", cuDevicePrimaryCtxRetain(&context, device)) != CU_OK)
		return 1;
	return step("current", cuCtxSetCurrent(context)) != CU_OK;
}

static void fill(unsigned char *data, size_t bytes, unsigned int seed)
{
	for (size_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)(i * 31 + (i >> 8) * 7 + seed);
}

static void do_info(void)
{
	struct cu_uuid uuid = { 0 };
	char name[128] = "";
	size_t total = 0;
	int count = 0, version = 0, major = 0, minor = 0, sms = 0;

	cuDriverGetVersion(&version);
	cuDeviceGetCount(&count);
	cuDeviceGetName(name, sizeof(name), device);
	cuDeviceGetUuid(&uuid, device);
	cuDeviceTotalMem_v2(&total, device);
	cuDeviceGetAttribute(&major, CU_ATTRIBUTE_MAJOR, device);
	cuDeviceGetAttribute(&minor, CU_ATTRIBUTE_MINOR, device);
	cuDeviceGetAttribute(&sms, CU_ATTRIBUTE_MULTIPROCESSORS, device);
	printf("info version=%d count=%d total=%zu compute=%d.%d sms=%d uuid=GPU-", version, count, total, major, minor, sms);
	for (int i = 0; i < 16; i++)
		printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid.bytes[i]);
	printf(" name=\"%s\"\n", name);
	print_memory("memory");
}

/* Allocate blocks until one is refused; then free them all. */
static void do_alloc(unsigned long long bytes, int at_most)
{
	cu_ptr blocks[4096];
	int count = 0, result = CU_OK;

	if (at_most <= 0 || at_most > 4096)
		at_most = 4096;
	while (count < at_most) {
		result = cuMemAlloc_v2(&blocks[count], bytes);
		if (result != CU_OK)
			break;
		count++;
		printf("ok alloc n=%d bytes=%llu sum=%llu\n", count, bytes, bytes * count);
		fflush(stdout);
	}
	if (result != CU_OK)
		printf("refused alloc n=%d bytes=%llu result=%d name=%s\n", count + 1, bytes, result, cuda_name(result));
	failures += result != CU_OK && result != CU_OUT_OF_MEMORY;
	print_memory("memory");
	for (int i = 0; i < count; i++)
		if (cuMemFree_v2(blocks[i]) != CU_OK)
			claim("free", 0);
	print_memory("memory");
}

/* There and back: one size. */
static void copy_size(size_t bytes)
{
	unsigned char *out = malloc(bytes), *back = calloc(1, bytes);
	char what[64];
	cu_ptr ptr;
	int good = 0;

	fill(out, bytes, (unsigned int)bytes);
	if (cuMemAlloc_v2(&ptr, bytes) == CU_OK) {
		good = cuMemcpyHtoD_v2(ptr, out, bytes) == CU_OK && cuMemcpyDtoH_v2(back, ptr, bytes) == CU_OK &&
		       !memcmp(out, back, bytes);
		cuMemFree_v2(ptr);
	}
	snprintf(what, sizeof(what), "copy bytes=%zu", bytes);
	claim(what, good);
	free(out);
	free(back);
}

static void copy_memset(void)
{
	unsigned char back[4096];
	cu_ptr ptr;
	int good = 1;

	if (step("memset-alloc", cuMemAlloc_v2(&ptr, sizeof(back))) != CU_OK)
		return;
	good = cuMemsetD8_v2(ptr, 0x5a, sizeof(back)) == CU_OK && cuMemcpyDtoH_v2(back, ptr, sizeof(back)) == CU_OK;
	for (size_t i = 0; good && i < sizeof(back); i++)
		good = back[i] == 0x5a;
	claim("memset bytes=4096", good);
	cuMemFree_v2(ptr);
}

static void copy_streams(void)
{
	enum { N = 4, BYTES = 1 << 20 };
	void *stream[N], *event;
	unsigned char *host[N], *back = malloc(BYTES);
	cu_ptr ptr[N];
	int good = 1;

	step("event", cuEventCreate(&event, CU_EVENT_DEFAULT));
	for (int i = 0; i < N; i++) {
		good &= cuStreamCreate(&stream[i], CU_STREAM_DEFAULT) == CU_OK;
		good &= cuMemHostAlloc((void **)&host[i], BYTES, 0) == CU_OK;
		good &= cuMemAlloc_v2(&ptr[i], BYTES) == CU_OK;
		if (!good)
			break;
		fill(host[i], BYTES, 17 * i);
		if (i)
			good &= cuStreamWaitEvent(stream[i], event, 0) == CU_OK;
		good &= cuMemcpyHtoDAsync_v2(ptr[i], host[i], BYTES, stream[i]) == CU_OK;
		good &= cuEventRecord(event, stream[i]) == CU_OK;
	}
	for (int i = 0; good && i < N; i++) {
		good &= cuStreamSynchronize(stream[i]) == CU_OK;
		good &= cuMemcpyDtoH_v2(back, ptr[i], BYTES) == CU_OK && !memcmp(back, host[i], BYTES);
		good &= cuMemFree_v2(ptr[i]) == CU_OK && cuMemFreeHost(host[i]) == CU_OK;
		good &= cuStreamDestroy_v2(stream[i]) == CU_OK;
	}
	good &= cuEventSynchronize(event) == CU_OK && cuEventDestroy_v2(event) == CU_OK;
	claim("streams n=4", good);
	free(back);
}

static void do_copy(void)
{
	static const size_t sizes[] = { 4, 100, 4096, 65536, 65540, MIB, 5 * MIB + 12, 64 * MIB };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		copy_size(sizes[i]);
	copy_memset();
	copy_streams();
}

static void vmm_use(cu_ptr handle, size_t bytes)
{
	struct cu_access_desc access = { { CU_LOCATION_DEVICE, device }, CU_ACCESS_READWRITE };
	unsigned char out[256], back[256] = { 0 };
	cu_ptr ptr;

	fill(out, sizeof(out), 3);
	if (step("vmm-reserve", cuMemAddressReserve(&ptr, bytes, 0, 0, 0)) != CU_OK)
		return;
	print_memory("vmm-after-reserve");
	if (step("vmm-map", cuMemMap(ptr, bytes, 0, handle, 0)) == CU_OK) {
		step("vmm-access", cuMemSetAccess(ptr, bytes, &access, 1));
		print_memory("vmm-after-map");
		claim("vmm-data", cuMemcpyHtoD_v2(ptr + bytes - 256, out, 256) == CU_OK &&
					  cuMemcpyDtoH_v2(back, ptr + bytes - 256, 256) == CU_OK && !memcmp(out, back, 256));
		step("vmm-unmap", cuMemUnmap(ptr, bytes));
	}
	step("vmm-address-free", cuMemAddressFree(ptr, bytes));
}

/* Memory made without an address: shows when it is charged. */
static void do_vmm(unsigned long long bytes)
{
	struct cu_allocation_prop prop = { .type = CU_ALLOCATION_PINNED, .location = { CU_LOCATION_DEVICE, device } };
	size_t granule = 0;
	cu_ptr handle;
	int result;

	step("vmm-granularity", cuMemGetAllocationGranularity(&granule, &prop, 0));
	if (!granule)
		return;
	bytes = (bytes + granule - 1) / granule * granule;
	print_memory("vmm-before");
	result = cuMemCreate(&handle, bytes, &prop, 0);
	if (result == CU_OUT_OF_MEMORY) {
		printf("refused vmm bytes=%llu result=%d name=%s\n", bytes, result, cuda_name(result));
		return;
	}
	if (step("vmm-create", result) != CU_OK)
		return;
	print_memory("vmm-after-create");
	vmm_use(handle, bytes);
	step("vmm-release", cuMemRelease(handle));
	print_memory("vmm-after-release");
}

static void do_managed(unsigned long long bytes)
{
	cu_ptr ptr;
	unsigned char *data;
	int result = cuMemAllocManaged(&ptr, bytes, CU_MEM_ATTACH_GLOBAL);

	if (result == CU_OUT_OF_MEMORY) {
		printf("refused managed bytes=%llu result=%d name=%s\n", bytes, result, cuda_name(result));
		return;
	}
	if (step("managed-alloc", result) != CU_OK)
		return;
	print_memory("memory");
	data = (unsigned char *)(uintptr_t)ptr;
	data[0] = 1;
	data[bytes - 1] = 2;
	claim("managed-data", data[0] == 1 && data[bytes - 1] == 2);
	step("managed-prefetch", cuMemPrefetchAsync(ptr, bytes, device, NULL));
	step("managed-sync", cuCtxSynchronize());
	print_memory("managed-on-card");
	claim("managed-data-after", data[0] == 1 && data[bytes - 1] == 2);
	step("managed-free", cuMemFree_v2(ptr));
	print_memory("memory");
}

static void do_host(unsigned long long bytes)
{
	unsigned char *host, *other = malloc(bytes);
	cu_ptr ptr;

	if (step("host-alloc", cuMemHostAlloc((void **)&host, bytes, 0)) != CU_OK)
		return;
	fill(host, bytes, 5);
	if (step("host-device-alloc", cuMemAlloc_v2(&ptr, bytes)) == CU_OK) {
		claim("host-data", cuMemcpyHtoD_v2(ptr, host, bytes) == CU_OK && cuMemcpyDtoH_v2(other, ptr, bytes) == CU_OK &&
					   !memcmp(host, other, bytes));
		cuMemFree_v2(ptr);
	}
	step("host-free", cuMemFreeHost(host));
	free(other);
}

static void do_async(unsigned long long bytes)
{
	unsigned char *out = malloc(bytes), *back = calloc(1, bytes);
	void *stream;
	cu_ptr ptr;

	fill(out, bytes, 9);
	step("async-stream", cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	if (step("async-alloc", cuMemAllocAsync(&ptr, bytes, stream)) == CU_OK) {
		cuMemcpyHtoDAsync_v2(ptr, out, bytes, stream);
		cuMemcpyDtoHAsync_v2(back, ptr, bytes, stream);
		step("async-free", cuMemFreeAsync(ptr, stream));
		step("async-sync", cuStreamSynchronize(stream));
		claim("async-data", !memcmp(out, back, bytes));
	}
	step("async-stream-destroy", cuStreamDestroy_v2(stream));
	free(out);
	free(back);
}

#define POOL_RELEASE_THRESHOLD 4 /* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, cuda.h */

static int pool_round(unsigned long long bytes, void *stream)
{
	cu_ptr ptr;
	int result = cuMemAllocAsync(&ptr, bytes, stream);

	if (result == CU_OK)
		result = cuMemsetD8Async(ptr, 7, 4096, stream);
	if (result == CU_OK)
		result = cuMemFreeAsync(ptr, stream);
	return result ?: cuStreamSynchronize(stream);
}

static void pool_loop(const char *what, unsigned long long bytes, int rounds, void *stream)
{
	int result = CU_OK;

	for (int i = 0; i < rounds && result == CU_OK; i++)
		result = pool_round(bytes, stream);
	step(what, result);
	print_memory(what);
}

/* Stream-ordered allocation again and again: what is in use before, with the pool
 * giving back and with it keeping all, and after the pool is trimmed. */
static void do_pool(unsigned long long bytes, int rounds)
{
	unsigned long long keep_all = ~0ULL;
	void *stream, *pool;

	step("pool-stream", cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	step("pool-get", cuDeviceGetDefaultMemPool(&pool, device));
	step("pool-first", pool_round(bytes, stream));
	step("pool-trim", cuMemPoolTrimTo(pool, 0));
	print_memory("pool-before");
	pool_loop("pool-returning", bytes, rounds, stream);
	step("pool-threshold", cuMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &keep_all));
	pool_loop("pool-keeping", bytes, rounds, stream);
	step("pool-trim", cuMemPoolTrimTo(pool, 0));
	print_memory("pool-after");
	step("pool-stream-destroy", cuStreamDestroy_v2(stream));
}

static const char ptx[] = ".version 7.0\n"
			  ".target sm_80\n"
			  ".address_size 64\n"
			  ".visible .entry store(.param .u64 out, .param .u32 value)\n"
			  "{\n"
			  "	.reg .u64 %rd<3>;\n"
			  "	.reg .u32 %r<2>;\n"
			  "	ld.param.u64 %rd1, [out];\n"
			  "	ld.param.u32 %r1, [value];\n"
			  "	cvta.to.global.u64 %rd2, %rd1;\n"
			  "	st.global.u32 [%rd2], %r1;\n"
			  "	ret;\n"
			  "}\n";

static void launch(void *function, cu_ptr out, int count)
{
	unsigned int value = 42;
	void *args[] = { &out, &value };
	void *begin, *end, *stream;
	float ms = -1;

	step("ptx-events", cuEventCreate(&begin, 0) ?: cuEventCreate(&end, 0));
	step("ptx-stream", cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	step("ptx-begin", cuEventRecord(begin, stream));
	for (int i = 0; i < count; i++)
		if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, args, NULL) != CU_OK)
			claim("ptx-launch", 0);
	step("ptx-end", cuEventRecord(end, stream));
	step("ptx-sync", cuStreamSynchronize(stream));
	step("ptx-elapsed", cuEventElapsedTime(&ms, begin, end));
	printf("ptx launches=%d elapsed_ms=%.3f\n", count, ms);
	step("ptx-default-stream", cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
	step("ptx-context-sync", cuCtxSynchronize());
	cuStreamDestroy_v2(stream);
	cuEventDestroy_v2(begin);
	cuEventDestroy_v2(end);
}

/* Compile, load, launch, wait. A simulated card computes no results: none is looked at. */
static void do_ptx(int count)
{
	void *module, *function;
	cu_ptr out;

	if (step("ptx-load", cuModuleLoadData(&module, ptx)) != CU_OK)
		return;
	if (step("ptx-function", cuModuleGetFunction(&function, module, "store")) == CU_OK &&
	    step("ptx-alloc", cuMemAlloc_v2(&out, 4096)) == CU_OK) {
		launch(function, out, count);
		cuMemFree_v2(out);
	}
	step("ptx-unload", cuModuleUnload(module));
}

static void do_hold(unsigned long long bytes, unsigned int seconds)
{
	cu_ptr ptr;

	if (step("hold-alloc", cuMemAlloc_v2(&ptr, bytes)) != CU_OK)
		return;
	printf("holding bytes=%llu pid=%d\n", bytes, getpid());
	fflush(stdout);
	sleep(seconds);
	step("hold-free", cuMemFree_v2(ptr));
}

enum { SLOTS = 256 };
static cu_ptr slots[SLOTS];

static void step_alloc(unsigned long long bytes)
{
	int slot = 0, result;

	while (slot < SLOTS - 1 && slots[slot])
		slot++;
	result = slots[slot] ? CU_OUT_OF_MEMORY : cuMemAlloc_v2(&slots[slot], bytes);
	printf("%s alloc slot=%d bytes=%llu result=%d name=%s\n", result ? "refused" : "ok", slot, bytes, result, cuda_name(result));
}

static void step_free(unsigned long long slot)
{
	int result = slot < SLOTS && slots[slot] ? cuMemFree_v2(slots[slot]) : CU_INVALID_VALUE;

	if (!result)
		slots[slot] = 0;
	printf("%s free slot=%llu result=%d name=%s\n", result ? "failed" : "ok", slot, result, cuda_name(result));
}

/* One line of the step mode; 0 ends it. */
static int step_line(char *line)
{
	char word[32] = "", argument[32] = "";

	if (sscanf(line, "%31s %31s", word, argument) < 1)
		return 1;
	if (!strcmp(word, "quit"))
		return 0;
	if (!strcmp(word, "memgetinfo"))
		print_memory("memory");
	else if (!strcmp(word, "alloc"))
		step_alloc(parse_size(argument));
	else if (!strcmp(word, "free"))
		step_free(parse_size(argument));
	else
		printf("failed step word=%s\n", word);
	fflush(stdout);
	return 1;
}

/* Lines on standard input, one line of answer each: "alloc SIZE", "free SLOT", "memgetinfo", "quit". */
static void do_step(void)
{
	char line[128];

	printf("ready pid=%d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && step_line(line))
		;
}

static int usage(void)
{
	fprintf(stderr, "usage: cudaprobe info | alloc SIZE [COUNT] | copy | vmm [SIZE] | managed [SIZE] | host [SIZE] |\n"
			"                 async [SIZE] | pool [SIZE ROUNDS] | ptx [LAUNCHES] | hold SIZE SECONDS | step | all\n"
			"SIZE: bytes, or with K, M, G (1024). CUDAPROBE_DEVICE: ordinal of the card.\n"
			"CUDAPROBE_BLOCKING: waits sleep until an interrupt.\n");
	return 2;
}

static void do_all(void)
{
	do_info();
	do_alloc(512 * MIB, 3);
	do_copy();
	do_vmm(32 * MIB);
	do_managed(16 * MIB);
	do_host(4 * MIB);
	do_async(4 * MIB);
	do_ptx(10);
}

static int run(int argc, char **argv)
{
	const char *word = argv[1];
	unsigned long long first = argc > 2 ? parse_size(argv[2]) : 0;
	int second = argc > 3 ? atoi(argv[3]) : 0;

	if (!strcmp(word, "info"))
		do_info();
	else if (!strcmp(word, "alloc") && first)
		do_alloc(first, second);
	else if (!strcmp(word, "copy"))
		do_copy();
	else if (!strcmp(word, "vmm"))
		do_vmm(first ?: 32 * MIB);
	else if (!strcmp(word, "managed"))
		do_managed(first ?: 16 * MIB);
	else if (!strcmp(word, "host"))
		do_host(first ?: 4 * MIB);
	else if (!strcmp(word, "async"))
		do_async(first ?: 4 * MIB);
	else if (!strcmp(word, "pool"))
		do_pool(first ?: 64 * MIB, second ?: 10);
	else if (!strcmp(word, "ptx"))
		do_ptx(first ? (int)first : 10);
	else if (!strcmp(word, "hold") && first)
		do_hold(first, second);
	else if (!strcmp(word, "step"))
		do_step();
	else if (!strcmp(word, "all"))
		do_all();
	else
		return usage();
	return 0;
}

int main(int argc, char **argv)
{
	int result;

	if (argc < 2)
		return usage();
	if (start())
		return 1;
	result = run(argc, argv);
	if (result)
		return result;
	step("release", cuDevicePrimaryCtxRelease_v2(device));
	return failures != 0;
}
