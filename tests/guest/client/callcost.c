/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one call costs, on a folder of nodes: callcost DIR ROUNDS. Prints a line
 * "CALL NANOSECONDS" for each kind, the mean of ROUNDS after a tenth of them to
 * warm up. In a guest that counts instructions a nanosecond is a fixed part of
 * one. Where a call leaves something behind, the pair with what takes it back is
 * measured ("alloc+free").
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "rm.h"

#define MEMORY 0x5001u /* held all the time */
#define OTHER 0x5002u /* made and freed by a call */
#define RANGE 0x200000000ull

struct bench {
  struct rm rm;
  struct uvm uvm;
};

static uint64_t now_ns(void) {
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- control node ---- */

static int call_open(struct bench *b) {
  int fd = rm_open_node(b->rm.dir, "nvidiactl");

  return fd < 0 ? fd : close(fd);
}

static int call_version(struct bench *b) {
  struct nv_rm_api_version v = {.cmd = '2'}; /* only asks */

  return rm_ioctl(b->rm.ctl, NV_ESC_CHECK_VERSION_STR, &v, sizeof(v));
}

static int call_card_info(struct bench *b) {
  struct nv_card_info cards[32] = {0};

  return rm_ioctl(b->rm.ctl, NV_ESC_CARD_INFO, cards, sizeof(cards));
}

static int call_client(struct bench *b) {
  uint32_t client = 0;
  int rc = rm_alloc(b->rm.ctl, 0, 0, &client, NV01_ROOT, NULL);

  return rc ?: rm_free(b->rm.ctl, client, 0, client);
}

static int call_device(struct bench *b) {
  struct rm other = {.ctl = b->rm.ctl, .minor = b->rm.minor};
  int rc = rm_start_objects(&other);

  return rc ?: rm_free(other.ctl, other.client, 0, other.client);
}

static int call_control(struct bench *b) {
  struct nv0000_handle_info info = {.h_object = b->rm.device, .index = 2};

  return rm_control(b->rm.ctl, b->rm.client, b->rm.client,
                    NV0000_CTRL_CLIENT_GET_HANDLE_INFO, &info, sizeof(info));
}

static int call_fb_info(struct bench *b) {
  uint32_t params[1028 / 4] = {3, 8, 0, 9, 0, 0x16, 0};

  return rm_control(b->rm.ctl, b->rm.client, b->rm.subdevice,
                    NV2080_CTRL_FB_GET_INFO_V2, params,
                    rm_abi()->fb_info_v2_bytes);
}

static int call_os_event(struct bench *b) {
  struct nv_alloc_os_event os = {b->rm.client, 0, 78, 0};
  int rc = rm_ioctl(b->rm.ctl, NV_ESC_ALLOC_OS_EVENT, &os, sizeof(os));

  return rc ?: rm_ioctl(b->rm.ctl, NV_ESC_FREE_OS_EVENT, &os, sizeof(os));
}

/* ---- memory ---- */

static int freed(struct bench *b, int rc, uint32_t handle) {
  return rc ?: rm_free(b->rm.ctl, b->rm.client, b->rm.device, handle);
}

static int call_alloc(struct bench *b) {
  return freed(b, rm_alloc_video(&b->rm, OTHER, 2 * MIB), OTHER);
}

static int call_heap(struct bench *b) {
  uint8_t request[NVOS32_SIZE];

  rm_heap_request(&b->rm, request, OTHER, 2 * MIB);
  return freed(b, rm_heap(&b->rm, request), OTHER);
}

static int call_system(struct bench *b) {
  return freed(b, rm_alloc_system(&b->rm, OTHER, 4096), OTHER);
}

static int call_dup(struct bench *b) {
  int rc = rm_dup(b->rm.ctl, b->rm.client, b->rm.device, OTHER, b->rm.client,
                  MEMORY);

  return freed(b, rc, OTHER);
}

/* With the descriptor it takes: a file has one mapping at a time. */
static int call_map(struct bench *b) {
  int fd = rm_open_gpu(b->rm.dir, b->rm.minor);
  int rc = fd < 0 ? fd
                  : rm_map(b->rm.ctl, b->rm.client, b->rm.device, MEMORY,
                           4096, fd);
  char *at;

  if (rc)
    return rc;
  at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED)
    return -errno;
  at[0] = 1;
  munmap(at, 4096);
  return close(fd);
}

static int call_export(struct bench *b) {
  int box = rm_open_node(b->rm.dir, "nvidiactl");
  int rc = rm_export(b->rm.ctl, b->rm.client, b->rm.device, MEMORY, box);

  if (!rc)
    rc = rm_import(b->rm.ctl, b->rm.client, b->rm.device, OTHER, box);
  close(box);
  return freed(b, rc, OTHER);
}

/* ---- managed-memory node ---- */

static int call_uvm_open(struct bench *b) {
  struct uvm other;
  int rc = uvm_open(&other, b->rm.dir);

  uvm_stop(&other);
  return rc;
}

static int call_uvm_range(struct bench *b) {
  int rc = uvm_create_range(b->uvm.fd, RANGE, 2 * MIB);

  return rc ?: uvm_free_range(b->uvm.fd, RANGE, 2 * MIB);
}

static int call_uvm_map(struct bench *b) {
  int rc = uvm_create_range(b->uvm.fd, RANGE, 2 * MIB);

  if (!rc)
    rc = uvm_map(&b->uvm, &b->rm, MEMORY, RANGE, 2 * MIB);
  return rc ?: uvm_free_range(b->uvm.fd, RANGE, 2 * MIB);
}

static int call_uvm_managed(struct bench *b) {
  char *at = uvm_mmap(b->uvm.fd, 2 * MIB);

  if (at == MAP_FAILED)
    return -errno;
  at[0] = 1;
  return munmap(at, 2 * MIB);
}

static const struct {
  const char *name;
  int (*call)(struct bench *);
} calls[] = {
    {"open+close", call_open},
    {"version", call_version},
    {"card-info", call_card_info},
    {"client+free", call_client},
    {"client+device+subdevice+free", call_device},
    {"control", call_control},
    {"fb-info", call_fb_info},
    {"os-event+free", call_os_event},
    {"alloc+free", call_alloc},
    {"heap+free", call_heap},
    {"system+free", call_system},
    {"dup+free", call_dup},
    {"open+map+mmap+touch+close", call_map},
    {"open+export+import+free", call_export},
    {"uvm-open+initialize+close", call_uvm_open},
    {"uvm-range+free", call_uvm_range},
    {"uvm-range+map+free", call_uvm_map},
    {"uvm-mmap+touch+munmap", call_uvm_managed},
};

static int measure(struct bench *b, unsigned int which, int rounds) {
  uint64_t begin = 0;
  int i, rc;

  for (i = -rounds / 10; i < rounds; i++) {
    if (!i)
      begin = now_ns();
    rc = calls[which].call(b);
    if (rc) {
      fprintf(stderr, "callcost: %s: %d\n", calls[which].name, rc);
      return 1;
    }
  }
  printf("%s %llu\n", calls[which].name,
         (unsigned long long)((now_ns() - begin) / (unsigned int)rounds));
  return 0;
}

/* "GPU-xxxxxxxx-...", 40 characters, from the driver: 16 bytes. */
static int uuid_of(const struct rm *rm, uint8_t uuid[16]) {
  uint8_t params[268] = {0};
  int rc;

  rm_put32(params, 4, 2); /* binary: ctrl2080gpu.h GPU_GET_GID_INFO */
  rc = rm_control(rm->ctl, rm->client, rm->subdevice,
                  NV2080_CTRL_GPU_GET_GID_INFO, params, sizeof(params));
  memcpy(uuid, params + 12, 16);
  return rc;
}

static int start(struct bench *b, const char *dir) {
  uint8_t uuid[16];
  int rc = rm_start(&b->rm, dir);

  if (!rc)
    rc = rm_alloc_video(&b->rm, MEMORY, 2 * MIB);
  if (!rc)
    rc = uuid_of(&b->rm, uuid);
  return rc ?: uvm_start(&b->uvm, &b->rm, uuid);
}

int main(int argc, char **argv) {
  struct bench b = {0};
  int rounds = argc == 3 ? atoi(argv[2]) : 0, rc;
  unsigned int i;

  if (rounds < 10) {
    fprintf(stderr, "usage: callcost DIR ROUNDS (10 at least)\n");
    return 2;
  }
  rc = start(&b, argv[1]);
  if (rc) {
    fprintf(stderr, "callcost: no client on %s: %d\n", argv[1], rc);
    return 1;
  }
  for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
    if (measure(&b, i, rounds))
      return 1;
  return 0;
}
