/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one call costs, on a folder of nodes: callcost DIR ROUNDS. Prints a line
 * "CALL NANOSECONDS" for each kind, the mean of ROUNDS after a tenth of them to
 * warm up. In a guest that counts instructions a nanosecond is a fixed part of
 * one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "rm.h"

struct bench {
  struct rm rm;
  uint32_t handle;
};

static uint64_t now_ns(void) {
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int call_version(struct bench *b) {
  struct nv_rm_api_version v = {.cmd = '2'}; /* only asks */

  return rm_ioctl(b->rm.ctl, NV_ESC_CHECK_VERSION_STR, &v, sizeof(v));
}

static int call_control(struct bench *b) {
  struct nv0000_handle_info info = {.h_object = b->rm.device, .index = 2};

  return rm_control(b->rm.ctl, b->rm.client, b->rm.client,
                    NV0000_CTRL_CLIENT_GET_HANDLE_INFO, &info, sizeof(info));
}

static int call_fb_info(struct bench *b) {
  uint32_t params[436 / 4] = {3, 8, 0, 9, 0, 0x16, 0};

  return rm_control(b->rm.ctl, b->rm.client, b->rm.subdevice,
                    NV2080_CTRL_FB_GET_INFO_V2, params, sizeof(params));
}

static int call_alloc_and_free(struct bench *b) {
  int rc = rm_alloc_video(&b->rm, b->handle, 2 * MIB);

  return rc ?: rm_free(b->rm.ctl, b->rm.client, b->rm.device, b->handle);
}

static int measure(struct bench *b, const char *name,
                   int (*call)(struct bench *), int rounds) {
  uint64_t begin = 0;
  int i, rc;

  for (i = -rounds / 10; i < rounds; i++) {
    if (!i)
      begin = now_ns();
    rc = call(b);
    if (rc) {
      fprintf(stderr, "callcost: %s: %d\n", name, rc);
      return 1;
    }
  }
  printf("%s %llu\n", name,
         (unsigned long long)((now_ns() - begin) / (unsigned int)rounds));
  return 0;
}

int main(int argc, char **argv) {
  struct bench b = {.handle = 0x5000};
  int rounds = argc == 3 ? atoi(argv[2]) : 0;

  if (rounds < 10) {
    fprintf(stderr, "usage: callcost DIR ROUNDS (10 at least)\n");
    return 2;
  }
  if (rm_start(&b.rm, argv[1])) {
    fprintf(stderr, "callcost: no client on %s\n", argv[1]);
    return 1;
  }
  return measure(&b, "version", call_version, rounds) ||
         measure(&b, "control", call_control, rounds) ||
         measure(&b, "fb-info", call_fb_info, rounds) ||
         measure(&b, "alloc+free", call_alloc_and_free, rounds);
}
