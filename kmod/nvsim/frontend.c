// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctl entry, and the calls that are not RM's: card list, version, descriptors.
 * Only number and size of a command count (535.261.03 kernel-open/nvidia/nv.c). The structure is
 * copied in once and goes back whatever happened, except after -EFAULT.
 */

#include <linux/capability.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "nvsim/internal.h"

static u64 memblock_bytes; /* SYS_PARAMS: set once in the driver's life; sim_rm_lock */

static int card_info(struct sim_call *call, void *p, u32 size)
{
	struct nv_card_info *info = p;
	u32 room = size / sizeof(*info);
	struct sim_card *card;
	unsigned int i;

	memset(info, 0, room * sizeof(*info));
	if (room < sim_params.cards)
		return -EINVAL;
	sim_for_each_card(card, i) {
		info[i].valid = 1;
		info[i].pci_info_domain = card->domain;
		info[i].pci_info_bus = card->bus;
		info[i].pci_info_slot = card->slot;
		info[i].pci_info_function = card->function;
		info[i].pci_info_vendor_id = 0x10de;
		info[i].pci_info_device_id = sim_model_device_id(card->model);
		info[i].gpu_id = card->gpu_id;
		info[i].reg_address = 0xfa000000 + (u64)i * SIM_MIB(16);
		info[i].reg_size = SIM_MIB(16);
		info[i].fb_address = 0x380000000000ULL + ((u64)i << 40);
		info[i].fb_size = sim_model_bar1_bytes(card->model);
		info[i].minor_number = card->minor;
	}
	return 0;
}

/*
 * Ties this file to a control file, which stays open until this one ends. Not to itself, and
 * not to one that is tied itself: owners are one step away.
 */
static int register_fd(struct sim_call *call, void *p, u32 size)
{
	const struct nv_register_fd *a = p;
	struct sim_file *ctl;
	struct file *filp;
	int err = -EINVAL;

	filp = sim_fget(a->ctl_fd, NV_MINOR_CTL, &ctl);
	if (!filp)
		return -EINVAL;
	down_write(&sim_rm_lock);
	if (!call->file->ctl && ctl != call->file && !ctl->ctl) {
		call->file->tied = filp;
		WRITE_ONCE(call->file->ctl, ctl);
		err = 0;
	}
	up_write(&sim_rm_lock);
	if (err)
		fput(filp);
	return err;
}

static int alloc_os_event(struct sim_call *call, void *p, u32 size)
{
	struct nv_alloc_os_event *a = p;

	a->status = sim_os_event_alloc(call, a->h_client, a->fd);
	return 0;
}

static int free_os_event(struct sim_call *call, void *p, u32 size)
{
	struct nv_free_os_event *a = p;

	a->status = sim_os_event_free(call, a->h_client, a->fd);
	return 0;
}

static int status_code(struct sim_call *call, void *p, u32 size)
{
	struct nv_status_code *a = p;
	struct sim_card *card;
	unsigned int i;

	sim_for_each_card(card, i) {
		if (card->domain != a->domain || card->bus != a->bus || card->slot != a->slot)
			continue;
		a->status = READ_ONCE(card->lost) ? NV_ERR_GPU_IS_LOST : NV_OK;
		return 0;
	}
	return -EINVAL;
}

/* Commands and reply: kernel-open/common/inc/nv-ioctl.h. "Recognized" is said even to those
 * who have another version; they are told by the errno, and get our string. */
#define VERSION_RELAXED    '1'
#define VERSION_QUERY      '2'
#define VERSION_RECOGNIZED 1

static bool same_version(const struct nv_rm_api_version *a)
{
	size_t bytes = sizeof(a->version_string);

	if (a->cmd == VERSION_RELAXED) /* up to the first point */
		bytes = strcspn(sim_params.version, ".") + 1;
	return !strncmp(a->version_string, sim_params.version, bytes);
}

/* Who has the right version keeps his own string. */

static int check_version(struct sim_call *call, void *p, u32 size)
{
	struct nv_rm_api_version *a = p;
	bool same = same_version(a);

	a->reply = VERSION_RECOGNIZED;
	if (!same)
		strscpy(a->version_string, sim_params.version, sizeof(a->version_string));
	return same || a->cmd == VERSION_QUERY ? 0 : -EINVAL;
}

static int attach_gpus(struct sim_call *call, void *p, u32 size)
{
	unsigned long cards = 0;
	struct sim_card *card;
	const u32 *ids = p;
	int err = -EINVAL;
	u32 i;

	if (!size || size % sizeof(*ids))
		return -EINVAL;
	for (i = 0; i < size / sizeof(*ids); i++) {
		card = sim_card_by_gpu_id(ids[i]);
		if (ids[i] && !card)
			return -EINVAL;
		if (card)
			cards |= BIT(card->index);
	}
	mutex_lock(&call->file->lock);
	if (!call->file->was_attached) {
		call->file->was_attached = true;
		call->file->attached = cards;
		err = 0;
	}
	mutex_unlock(&call->file->lock);
	return err;
}

static int query_device_intr(struct sim_call *call, void *p, u32 size)
{
	memset(p, 0, sizeof(struct nv_query_device_intr));
	return 0;
}

static int sys_params(struct sim_call *call, void *p, u32 size)
{
	const struct nv_sys_params *a = p;
	int err = 0;

	down_write(&sim_rm_lock);
	if (!memblock_bytes)
		memblock_bytes = a->memblock_size;
	else if (memblock_bytes != a->memblock_size)
		err = -EBUSY;
	up_write(&sim_rm_lock);
	return err;
}

/* No simulated card has memory of the processor's kind. */
static int numa_info(struct sim_call *call, void *p, u32 size)
{
	struct nv_numa_info *a = p;

	memset(a, 0, sizeof(*a));
	a->nid = U32_MAX;
	a->memblock_size = READ_ONCE(memblock_bytes);
	return 0;
}

static int set_numa_status(struct sim_call *call, void *p, u32 size)
{
	return call->admin ? -EINVAL : -EACCES;
}

static int export_to_dmabuf(struct sim_call *call, void *p, u32 size)
{
	if (size != sim_abi->dmabuf_bytes)
		return -EINVAL;
	*(u32 *)(p + sim_abi->dmabuf_status_off) = NV_ERR_NOT_SUPPORTED;
	return 0;
}

static int wait_open_complete(struct sim_call *call, void *p, u32 size)
{
	if (!sim_abi->has_wait_open_complete)
		return -EINVAL;
	memset(p, 0, size);
	return 0;
}

#define ON_CTL  1
#define ON_GPU  2
#define ON_BOTH 3

struct entry {
	u32 nr, node;
	u32 size; /* 0: the handler looks at it */
	int (*handle)(struct sim_call *call, void *p, u32 size);
};

static const struct entry entries[] = {
	{ NV_ESC_CARD_INFO, ON_CTL, 0, card_info },
	{ NV_ESC_REGISTER_FD, ON_BOTH, sizeof(struct nv_register_fd), register_fd },
	{ NV_ESC_ALLOC_OS_EVENT, ON_BOTH, sizeof(struct nv_alloc_os_event), alloc_os_event },
	{ NV_ESC_FREE_OS_EVENT, ON_BOTH, sizeof(struct nv_free_os_event), free_os_event },
	{ NV_ESC_STATUS_CODE, ON_CTL, sizeof(struct nv_status_code), status_code },
	{ NV_ESC_CHECK_VERSION_STR, ON_CTL, sizeof(struct nv_rm_api_version), check_version },
	{ NV_ESC_ATTACH_GPUS_TO_FD, ON_CTL, 0, attach_gpus },
	{ NV_ESC_QUERY_DEVICE_INTR, ON_GPU, sizeof(struct nv_query_device_intr),
	  query_device_intr },
	{ NV_ESC_SYS_PARAMS, ON_CTL, sizeof(struct nv_sys_params), sys_params },
	{ NV_ESC_NUMA_INFO, ON_GPU, sizeof(struct nv_numa_info), numa_info },
	{ NV_ESC_SET_NUMA_STATUS, ON_GPU, 4, set_numa_status },
	{ NV_ESC_EXPORT_TO_DMABUF_FD, ON_GPU, 0, export_to_dmabuf },
	{ NV_ESC_WAIT_OPEN_COMPLETE, ON_BOTH, 8, wait_open_complete },
};

int sim_frontend(struct sim_call *call, u32 nr, void *p, u32 size)
{
	u32 node = call->file->card ? ON_GPU : ON_CTL;
	const struct entry *entry;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		entry = &entries[i];
		if (entry->nr != nr)
			continue;
		if (!(entry->node & node) || (entry->size && entry->size != size))
			return -EINVAL;
		return entry->handle(call, p, size);
	}
	return -ENOIOCTLCMD;
}

/* ---- entry ---- */

struct request {
	u32 nr, size;
	void __user *at;
};

/* Number 211 carries another call; it is unwrapped once. */
static int unwrap(unsigned int cmd, unsigned long arg, struct request *request)
{
	struct nv_xfer xfer;

	request->nr = _IOC_NR(cmd);
	request->size = _IOC_SIZE(cmd);
	request->at = (void __user *)arg;
	if (request->nr != NV_ESC_IOCTL_XFER_CMD)
		return 0;
	if (request->size != sizeof(xfer))
		return -EINVAL;
	if (copy_from_user(&xfer, request->at, sizeof(xfer)))
		return -EFAULT;
	if (xfer.size > NV_XFER_MAX_BYTES)
		return -EINVAL;
	request->nr = xfer.cmd;
	request->size = xfer.size;
	request->at = u64_to_user_ptr(xfer.ptr);
	return 0;
}

static int dispatch(struct sim_call *call, const struct request *request, void *p)
{
	int ret = sim_frontend(call, request->nr, p, request->size);

	return ret == -ENOIOCTLCMD ? sim_escape(call, request->nr, p, request->size) : ret;
}

static int run(struct sim_call *call, const struct request *request)
{
	void *p = kvzalloc(max_t(u32, request->size, 1), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!p)
		return -ENOMEM;
	if (copy_from_user(p, request->at, request->size)) {
		ret = -EFAULT;
	} else {
		ret = dispatch(call, request, p);
		if (ret != -EFAULT && copy_to_user(request->at, p, request->size))
			ret = -EFAULT;
	}
	kvfree(p);
	return ret;
}

/*
 * -EFAULT  memory that is not the caller's
 * -EINVAL  unknown number, wrong node or size, a lost card, or what the call itself refuses
 * -EBUSY   SYS_PARAMS with another value than before
 * -EACCES  SET_NUMA_STATUS without CAP_SYS_ADMIN
 */
long sim_file_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct sim_call call = { .file = filp->private_data, .admin = capable(CAP_SYS_ADMIN) };
	struct request request;
	int err;

	if (call.file->card && READ_ONCE(call.file->card->lost))
		return -EINVAL;
	err = unwrap(cmd, arg, &request);
	return err ?: run(&call, &request);
}
