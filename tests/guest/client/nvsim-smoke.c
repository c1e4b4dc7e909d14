/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What nvsim promises about the driver it stands for, asked on its own nodes
 * without gpushare: statuses, descriptors, who may, what keeps memory, and that
 * everything returns to nothing. Prints a line a promise; the exit status is
 * the number of broken ones. Needs root.
 */
#define _GNU_SOURCE /* unshare */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "rm.h"

#define DEBUGFS "/sys/kernel/debug/nvsim/"

static unsigned int broken, asked;

static void expect(const char *promise, long long got, long long wanted) {
  asked++;
  if (got == wanted)
    return;
  broken++;
  printf("BROKEN %s: got 0x%llx, wanted 0x%llx\n", promise, got, wanted);
}

static long long truth(const char *file, const char *key) {
  char path[128], name[64];
  long long value = -1, found;
  FILE *f;

  snprintf(path, sizeof(path), DEBUGFS "%s", file);
  f = fopen(path, "r");
  while (f && fscanf(f, "%63s %lld", name, &found) == 2)
    if (!strcmp(name, key))
      value = found;
  if (f)
    fclose(f);
  return value;
}

static void order(const char *file, const char *text) {
  char path[128];
  FILE *f;

  snprintf(path, sizeof(path), DEBUGFS "%s", file);
  f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f))
    expect(text, errno, 0);
}

static long long objects(void) { return truth("card0/memory", "objects"); }

static void uuid_of(const struct rm *rm, uint8_t uuid[16]) {
  struct { /* NV2080_CTRL_GPU_GET_GID_INFO_PARAMS */
    uint32_t index, flags, length;
    uint8_t data[256];
  } p = {.flags = 2 /* binary */};

  expect("uuid",
         rm_control(rm->ctl, rm->client, rm->subdevice,
                    NV2080_CTRL_GPU_GET_GID_INFO, &p, sizeof(p)),
         0);
  memcpy(uuid, p.data, 16);
}

static void statuses(struct rm *rm) {
  struct rm other = {.ctl = rm_open_node("/dev", "nvidiactl")};
  uint32_t handle = 0x100, probed[64];
  struct nv_alloc_os_event os = {rm->client, 0, 77, 0};
  struct nvos41 data = {0};

  expect("wrong size", rm_ioctl(rm->ctl, NV_ESC_RM_FREE, probed, 20), -EINVAL);
  expect("unknown number", rm_ioctl(rm->ctl, 99, probed, 8), -EINVAL);
  expect("control on a GPU node",
         rm_ioctl(rm->gpu, NV_ESC_RM_CONTROL, probed, 32), -EINVAL);
  expect("params size",
         rm_control(rm->ctl, rm->client, rm->client, 0x214, probed, 100), 0x1f);
  expect("unknown control",
         rm_control(rm->ctl, rm->client, rm->client, 0x1fff, probed, 4), 0x56);
  expect("unknown object",
         rm_control(rm->ctl, rm->client, 0x42, 0x214, probed, 256), 0x57);
  expect("unknown client",
         rm_control(rm->ctl, 0xc1dfffff, 0x42, 0x214, probed, 256), 0x23);
  expect("foreign client",
         rm_control(other.ctl, rm->client, rm->client, 0x214, probed, 256),
         0x23);
  expect("foreign free", rm_free(other.ctl, rm->client, rm->client, rm->client),
         0x23);
  expect("unknown class",
         rm_alloc(rm->ctl, rm->client, rm->client, &handle, 0x7777, NULL),
         0x22);
  expect("memory below the client",
         rm_alloc(rm->ctl, rm->client, rm->client, &handle, NV01_MEMORY_SYSTEM,
                  probed),
         0x36);
  expect("handle in use", rm_alloc_device(rm, rm->subdevice), 0x19);
  expect("register", rm_register_fd(other.ctl, rm->ctl), 0);
  expect("register twice", rm_register_fd(other.ctl, rm->ctl), -EINVAL);
  expect("register what is no control file", rm_register_fd(rm->gpu, 0),
         -EINVAL);
  expect("tied file is owner",
         rm_control(other.ctl, rm->client, rm->client, 0x214, probed, 256), 0);
  close(other.ctl);
  expect("os event", rm_ioctl(rm->ctl, NV_ESC_ALLOC_OS_EVENT, &os, sizeof(os)),
         0);
  expect("os event", os.status, 0);
  rm_ioctl(rm->ctl, NV_ESC_ALLOC_OS_EVENT, &os, sizeof(os));
  expect("os event twice", os.status, 0x1a);
  rm_ioctl(rm->ctl, NV_ESC_RM_GET_EVENT_DATA, &data, sizeof(data));
  expect("nothing queued", data.status, 0x59);
  expect("mmap without context",
         (long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, rm->gpu, 0) == -1 ? errno
                                                                         : 0,
         EINVAL);
}

static void events(struct rm *rm) {
  struct nv0005_alloc p = {rm->client, rm->subdevice, NV01_EVENT_OS_EVENT, 9,
                           78};
  struct nv_alloc_os_event os = {rm->client, 0, 78, 0};
  struct pollfd ready = {.fd = rm->gpu, .events = POLLIN};
  struct {
    uint32_t event, action;
    uint8_t more[12];
  } arm = {.event = 9, .action = 2};
  uint32_t handle = 0x200, wire[4];
  struct nvos41 data = {.p_event = (uintptr_t)wire};
  char text[64];

  rm_ioctl(rm->gpu, NV_ESC_ALLOC_OS_EVENT, &os, sizeof(os));
  expect("event on a GPU node",
         rm_alloc(rm->gpu, rm->client, rm->subdevice, &handle,
                  NV01_EVENT_OS_EVENT, &p),
         0);
  expect("arm",
         rm_control(rm->ctl, rm->client, rm->subdevice, 0x20800301, &arm,
                    sizeof(arm)),
         0);
  expect("quiet", poll(&ready, 1, 0), 0);
  snprintf(text, sizeof(text), "0x%x 0x%x 9", rm->client, rm->subdevice);
  order("raise", text);
  expect("raised", poll(&ready, 1, 1000), 1);
  rm_ioctl(rm->gpu, NV_ESC_RM_GET_EVENT_DATA, &data, sizeof(data));
  expect("event data", data.status, 0);
  expect("event data names the event", wire[0], handle);
  expect("fetched", poll(&ready, 1, 0), 0);
  expect("free event", rm_free(rm->ctl, rm->client, rm->subdevice, handle), 0);
}

static void memory(struct rm *rm) {
  union rm_memory_alloc p = {.p = {.size = 3 * MIB}};
  uint32_t handle = 0x300;
  uint8_t heap[NVOS32_SIZE];
  long long before = objects();
  int gpu, other;
  char *at, *same;

  expect("alloc",
         rm_alloc(rm->ctl, rm->client, rm->device, &handle,
                  NV01_MEMORY_LOCAL_USER, &p),
         0);
  expect("rounded to 2 MiB", p.p.size, 4 * MIB);
  expect("limit", p.p.limit, 4 * MIB - 1);
  expect("on the card", objects() - before, 4 * MIB);
  expect("too much", rm_alloc_video(rm, 0x301, 64ULL << 30), 0x51);
  rm_heap_request(rm, heap, 0x302, 100000);
  expect("vid heap", rm_heap(rm, heap), 0);
  expect("vid heap size", rm_get32(heap, NVOS32_OFF_ALLOC_SIZE), 0x20000);
  expect("on the card", objects() - before, 4 * MIB + 0x20000);
  expect("dup",
         rm_dup(rm->ctl, rm->client, rm->device, 0x303, rm->client, handle), 0);
  expect("counted once", objects() - before, 4 * MIB + 0x20000);

  gpu = rm_open_gpu("/dev", rm->minor);
  other = rm_open_gpu("/dev", rm->minor);
  expect("map too long",
         rm_map(rm->ctl, rm->client, rm->device, handle, 8 * MIB, gpu), 0x2e);
  expect("map through the control node",
         rm_map(rm->ctl, rm->client, rm->device, handle, 4 * MIB, rm->ctl),
         0x1f);
  expect("map", rm_map(rm->ctl, rm->client, rm->device, handle, 4 * MIB, gpu),
         0);
  expect("map into the same file",
         rm_map(rm->ctl, rm->client, rm->device, handle, 4096, gpu), 0x63);
  expect("other length",
         (long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, gpu, 0) == -1 ? errno
                                                                     : 0,
         ENXIO);
  at = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, 0);
  expect("mmap", at == MAP_FAILED, 0);
  memset(at, 0x5a, 2 * MIB);
  expect("map the duplicate",
         rm_map(rm->ctl, rm->client, rm->device, 0x303, 4 * MIB, other), 0);
  same = mmap(NULL, 4 * MIB, PROT_READ, MAP_SHARED, other, 0);
  expect("same memory", same[MIB], 0x5a);
  munmap(same, 4 * MIB);
  close(gpu);
  close(other);
  expect("free one", rm_free(rm->ctl, rm->client, rm->device, handle), 0);
  expect("still there", objects() - before, 4 * MIB + 0x20000);
  expect("free both", rm_free(rm->ctl, rm->client, rm->device, 0x303), 0);
  expect("gone", objects() - before, 0x20000);
  expect("old pages stay mapped", at[MIB], 0x5a);
  munmap(at, 4 * MIB);
  expect("free", rm_free(rm->ctl, rm->client, rm->device, 0x302), 0);
  expect("free again", rm_free(rm->ctl, rm->client, rm->device, 0x302), 0);
  expect("all gone", objects() - before, 0);
}

static void system_memory(struct rm *rm) {
  struct nvos02_fd p = {
      .h_root = rm->client,
      .h_object_parent = rm->device,
      .h_object_new = 0x321,
      .h_class = NV01_MEMORY_SYSTEM_OS_DESCRIPTOR,
      .flags = 1u << 30 | 1u << 4,
      .limit = 3 * 4096 - 1,
  };
  char *page, *at = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int ctl = rm_open_node("/dev", "nvidiactl");

  expect("system memory", rm_alloc_system(rm, 0x320, 8192), 0);
  expect("map", rm_map(rm->ctl, rm->client, rm->device, 0x320, 8192, ctl), 0);
  page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, ctl, 0);
  expect("mmap", page == MAP_FAILED, 0);
  page[5000] = 7;
  expect("free under the mapping",
         rm_free(rm->ctl, rm->client, rm->device, 0x320), 0);
  expect("held by the mapping", page[5000], 7);
  munmap(page, 8192);
  close(ctl);
  p.p_memory = (uintptr_t)at;
  expect("user pages",
         rm_ioctl(rm->gpu, NV_ESC_RM_ALLOC_MEMORY, &p, sizeof(p))
             ?: (int)p.status,
         0);
  p.h_object_new = 0x322;
  p.p_memory = 0x1000;
  rm_ioctl(rm->gpu, NV_ESC_RM_ALLOC_MEMORY, &p, sizeof(p));
  expect("pages of nobody", p.status, 0x1e);
  p.h_class = NV01_MEMORY_LOCAL_USER;
  rm_ioctl(rm->gpu, NV_ESC_RM_ALLOC_MEMORY, &p, sizeof(p));
  expect("heap size", p.limit + 1, truth("card0/memory", "heap"));
  expect("free", rm_free(rm->ctl, rm->client, rm->device, 0x321), 0);
  munmap(at, 3 * 4096);
}

static void exports(struct rm *rm) {
  int box = rm_open_node("/dev", "nvidiactl");
  struct rm other;
  long long before = objects();

  expect("alloc", rm_alloc_video(rm, 0x340, 2 * MIB), 0);
  expect("export", rm_export(rm->ctl, rm->client, rm->device, 0x340, box), 0);
  expect("export again", rm_export(rm->ctl, rm->client, rm->device, 0x340, box),
         0x63);
  expect("mmap of exports",
         (long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, box, 0) == -1 ? errno
                                                                     : 0,
         EINVAL);
  expect("free", rm_free(rm->ctl, rm->client, rm->device, 0x340), 0);
  expect("kept", truth("card0/memory", "external_kept"), 2 * MIB);
  expect("another client", rm_start(&other, "/dev"), 0);
  expect("import", rm_import(other.ctl, other.client, other.device, 0x341, box),
         0);
  close(box);
  expect("held by the import", objects() - before, 2 * MIB);
  rm_stop(&other);
  expect("gone with the client", objects() - before, 0);
}

static void window(struct rm *rm) {
  struct {
    uint64_t bytes;
    uint32_t format, pad;
    uint64_t page_bytes;
  } p = {.bytes = 64 * MIB};
  union rm_memory_alloc m = {.p = {.size = 2 * MIB}};
  uint32_t handle = 0x360, secret = 0x361;
  int gpu = rm_open_gpu("/dev", rm->minor),
      own = rm_open_gpu("/dev", rm->minor);
  char *at, *mine;

  rm_alloc(rm->ctl, rm->client, rm->device, &secret, NV01_MEMORY_LOCAL_USER,
           &m);
  rm_map(rm->ctl, rm->client, rm->device, secret, 2 * MIB, own);
  mine = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
  mine[12345] = 99;
  expect("root's window",
         rm_alloc(rm->ctl, rm->client, rm->device, &handle,
                  NV01_MEMORY_LOCAL_PHYSICAL, &p),
         0);
  expect("map", rm_map(rm->ctl, rm->client, rm->device, handle, 64 * MIB, gpu),
         0);
  at = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, 0);
  expect("shows what lies there", at[m.p.offset + 12345], 99);
  close(gpu);
  close(own);
  munmap(at, 64 * MIB);
  munmap(mine, 2 * MIB);
  rm_free(rm->ctl, rm->client, rm->device, handle);
  rm_free(rm->ctl, rm->client, rm->device, secret);
}

static void *card_blind(void *arg) {
  struct rm *rm = arg;
  uint32_t handle = 0x400, client = 0;
  struct nv0080_alloc p = {.device_id = rm->minor};

  /* a thread with a descriptor table of its own, in which the card is not open
   */
  unshare(CLONE_FILES);
  for (int fd = 3; fd < 100; fd++)
    if (fd != rm->ctl)
      close(fd);
  rm_alloc(rm->ctl, 0, 0, &client, NV01_ROOT, NULL);
  expect("device without the card open",
         rm_alloc(rm->ctl, client, client, &handle, NV01_DEVICE_0, &p), 0x1b);
  rm_free(rm->ctl, client, 0, client);
  return NULL;
}

static void rights(struct rm *rm) {
  struct {
    uint64_t bytes[3];
  } p = {{MIB}};
  uint32_t handle = 0x420;
  pthread_t thread;
  pid_t child;
  int status;

  pthread_create(&thread, NULL, card_blind, rm);
  pthread_join(thread, NULL);
  fflush(stdout);
  child = fork();
  if (!child) {
    broken = asked = 0;
    if (setuid(1000))
      _exit(100);
    expect("no window for users",
           rm_alloc(rm->ctl, rm->client, rm->device, &handle,
                    NV01_MEMORY_LOCAL_PHYSICAL, &p),
           0x1b);
    expect("an inherited file is as good", rm_alloc_video(rm, 0x421, MIB), 0);
    expect("free", rm_free(rm->ctl, rm->client, rm->device, 0x421), 0);
    fflush(stdout);
    _exit((int)broken);
  }
  waitpid(child, &status, 0);
  broken += WIFEXITED(status) ? (unsigned int)WEXITSTATUS(status) : 1;
  asked += 3;
}

static void managed(struct uvm *uvm) {
  uint8_t *at = uvm_mmap(uvm->fd, 8 * MIB);

  expect("managed mmap", at == MAP_FAILED, 0);
  expect("other offset",
         (long)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, uvm->fd,
                    0) == -1
             ? errno
             : 0,
         EINVAL);
  memset(at, 3, 8 * MIB);
  expect("free of a mapping", uvm_free_range(uvm->fd, (uintptr_t)at, 8 * MIB),
         0x1e);
  expect("migrate", uvm_migrate(uvm, (uintptr_t)at, 8 * MIB), 0);
  expect("resident", truth("card0/memory", "managed"), 8 * MIB);
  expect("data", at[5 * MIB], 3);
  expect("came back", truth("card0/memory", "managed"), 6 * MIB);
  munmap(at + 2 * MIB, 2 * MIB);
  expect("hole", truth("card0/memory", "managed"), 4 * MIB);
  expect("data left of it", at[MIB], 3);
  expect("data right of it", at[7 * MIB], 3);
  expect("no migration across the hole",
         uvm_migrate(uvm, (uintptr_t)at, 8 * MIB), 0x1e);
  expect("other processor", ({
           uint8_t p[40] = {0};
           uint64_t base = (uintptr_t)at, bytes = 2 * MIB;
           uint32_t s;

           memcpy(p, &base, 8);
           memcpy(p + 8, &bytes, 8);
           uvm_ioctl(uvm->fd, UVM_SET_PREFERRED_LOCATION, p);
           memcpy(&s, p + rm_abi()->uvm_preferred_location_status_off, 4);
           s;
         }),
         0x26);
  munmap(at, 2 * MIB);
  munmap(at + 4 * MIB, 4 * MIB);
  expect("no longer", truth("card0/memory", "managed"), 0);
}

static void external(struct uvm *uvm, struct rm *rm) {
  uint64_t base = 0x200000000ULL;
  long long before = objects();

  expect("alloc", rm_alloc_video(rm, 0x500, 2 * MIB), 0);
  expect("map outside a range", uvm_map(uvm, rm, 0x500, base, 2 * MIB), 0x1e);
  expect("range", uvm_create_range(uvm->fd, base, 4 * MIB), 0);
  expect("range again", uvm_create_range(uvm->fd, base + MIB, 4 * MIB), 0x68);
  expect("map external", uvm_map(uvm, rm, 0x500, base, 2 * MIB), 0);
  expect("map more than there is", uvm_map(uvm, rm, 0x500, base, 4 * MIB),
         0x37);
  expect("free the handle", rm_free(rm->ctl, rm->client, rm->device, 0x500), 0);
  expect("kept", objects() - before, 2 * MIB);
  expect("partial free", uvm_free_range(uvm->fd, base, 2 * MIB), 0x1e);
  expect("free", uvm_free_range(uvm->fd, base, 4 * MIB), 0);
  expect("gone", objects() - before, 0);
}

static void managed_node(struct rm *rm) {
  struct uvm_initialize init = {0};
  struct uvm_register_gpu gpu = {0};
  uint8_t uuid[16];
  struct uvm uvm;
  int raw = rm_open_node("/dev", "nvidia-uvm");

  uuid_of(rm, uuid);
  expect("mmap before INITIALIZE",
         (long)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, raw, 0) ==
                 -1
             ? errno
             : 0,
         EBADFD);
  expect("call before INITIALIZE", UVM_CALL(raw, UVM_REGISTER_GPU, &gpu), 0x16);
  expect("unknown command", uvm_ioctl(raw, 0x1234, &gpu), -EINVAL);
  close(raw);
  expect("uvm", uvm_start(&uvm, rm, uuid), 0);
  expect("INITIALIZE again", UVM_CALL(uvm.fd, UVM_INITIALIZE, &init), 0);
  memcpy(gpu.gpu_uuid, uuid, 16);
  expect("card again", UVM_CALL(uvm.fd, UVM_REGISTER_GPU, &gpu), 0x26);
  managed(&uvm);
  external(&uvm, rm);
  uvm_stop(&uvm);
}

static void faults(struct rm *rm) {
  uint32_t probed[64];

  order("faults", "fail alloc number=0x40 nth=2 status=0x65");
  expect("first passes", rm_alloc_video(rm, 0x600, MIB), 0);
  expect("second fails", rm_alloc_video(rm, 0x601, MIB), 0x65);
  expect("third passes", rm_alloc_video(rm, 0x602, MIB), 0);
  order("faults", "clear");
  order("faults", "lose 0");
  expect("lost card", rm_alloc_video(rm, 0x603, MIB), 0x0f);
  expect("lost node", rm_open_gpu("/dev", rm->minor), -EIO);
  expect("clients go on",
         rm_control(rm->ctl, rm->client, rm->client, 0x214, probed, 256), 0);
  order("faults", "find 0");
  expect("found", rm_alloc_video(rm, 0x603, MIB), 0);
}

static void churn(void) {
  struct rm rm;
  int i, status;
  pid_t child;

  for (i = 0; i < 20; i++) {
    child = fork();
    if (!child) {
      if (rm_start(&rm, "/dev") || rm_alloc_video(&rm, 1, 4 * MIB))
        _exit(1);
      raise(SIGKILL);
    }
    waitpid(child, &status, 0);
    expect("killed", WIFSIGNALED(status), 1);
  }
}

int main(void) {
  static const char *const counts[] = {"opens",    "clients",    "objects",
                                       "memories", "pages",      "mappings",
                                       "vaspaces", "uvm_spaces", "doorbells"};
  struct rm rm;
  size_t i;

  expect("start", rm_start(&rm, "/dev"), 0);
  statuses(&rm);
  events(&rm);
  memory(&rm);
  system_memory(&rm);
  exports(&rm);
  window(&rm);
  rights(&rm);
  managed_node(&rm);
  faults(&rm);
  rm_stop(&rm);
  churn();
  sleep(1);
  for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
    expect(counts[i], truth("counts", counts[i]), 0);
  expect("card memory", objects(), 0);
  printf("nvsim-smoke: %u promises, %u broken\n", asked, broken);
  return broken > 250 ? 250 : (int)broken;
}
