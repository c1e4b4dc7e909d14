// SPDX-License-Identifier: GPL-2.0
/*
 * The cards: who they are, asked once, and how much of them is free, asked
 * each time. Each card is kept open by a client of gpushare's own on the
 * kernel interface, as nvidia-persistenced would.
 */
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "gpushare.h"
#include "nvabi/controls.h"

static uint overcommit_permille = GSH_OVERCOMMIT_NONE_PERMILLE;
module_param(overcommit_permille, uint, 0444);
MODULE_PARM_DESC(
	overcommit_permille,
	"what quotas may sum up to, in permille of a card's grantable memory: 1000 to 100000");

static struct gsh_card *cards[NV_MAX_GPUS];
static unsigned int ncards;

unsigned int gsh_cards_count(void)
{
	return ncards;
}

struct gsh_card *gsh_card_at(unsigned int index)
{
	return index < ncards ? cards[index] : NULL;
}

struct gsh_card *gsh_card_by_uuid(const char *uuid)
{
	unsigned int i;

	for (i = 0; i < ncards; i++)
		if (!strcasecmp(cards[i]->uuid, uuid))
			return cards[i];
	return NULL;
}

struct gsh_card *gsh_card_by_gpu_id(u32 gpu_id)
{
	unsigned int i;

	for (i = 0; i < ncards; i++)
		if (cards[i]->gpu_id == gpu_id)
			return cards[i];
	return NULL;
}

struct gsh_card *gsh_card_by_instance(u32 instance)
{
	unsigned int i;

	for (i = 0; i < ncards; i++)
		if (cards[i]->instance == instance)
			return cards[i];
	return NULL;
}

/* Up to three figures in bytes by FB info index; the driver answers in KiB. */
static int fb_info(struct gsh_card *card, const u32 *index, u64 *bytes, u32 n)
{
	u32 size = gsh_version->fb_info_v2_bytes, status, i;
	u32 *params = kzalloc(size, GFP_KERNEL);

	if (!params)
		return -ENOMEM;
	params[0] = n;
	for (i = 0; i < n; i++)
		params[1 + 2 * i] = index[i];
	status = gsh_rm_control(card->h_client, card->h_subdevice, NV2080_CTRL_FB_GET_INFO_V2,
				params, size);
	for (i = 0; i < n; i++)
		bytes[i] = (u64)params[2 + 2 * i] << 10;
	kfree(params);
	if (status == NV_ERR_GPU_IS_LOST && card->state != GSH_CARD_GONE) {
		card->state = GSH_CARD_GONE;
		gsh_event(GPUSHARE_EVENT_TYPE_DRIVER_GONE, NULL, card, 0,
			  "the driver says that the card is lost");
	}
	return status ? -EIO : 0;
}

int gsh_card_free_bytes(struct gsh_card *card, u64 *bytes)
{
	static const u32 index[] = { NV_FB_INFO_HEAP_FREE };

	return fb_info(card, index, bytes, 1);
}

/* ---- who it is ---- */

static int read_sizes(struct gsh_card *card)
{
	static const u32 index[] = { NV_FB_INFO_TOTAL_RAM_SIZE, NV_FB_INFO_HEAP_SIZE };
	u64 bytes[2];
	int err = fb_info(card, index, bytes, 2);

	if (err)
		return err;
	gsh_card_books_init(&card->books, bytes[0], bytes[0] - min(bytes[0], bytes[1]),
			    overcommit_permille);
	return 0;
}

/* Flags 0: the identifier as text. */
static int read_uuid(struct gsh_card *card)
{
	struct nv2080_gid_info *info = kzalloc(sizeof(*info), GFP_KERNEL);
	u32 status;

	if (!info)
		return -ENOMEM;
	status = gsh_rm_control(card->h_client, card->h_subdevice, NV2080_CTRL_GPU_GET_GID_INFO,
				info, sizeof(*info));
	strscpy(card->uuid, info->data, sizeof(card->uuid));
	kfree(info);
	return status ? -EIO : 0;
}

/* The name is only shown. */
static void read_name(struct gsh_card *card)
{
	struct nv2080_name_string *params = kzalloc(sizeof(*params), GFP_KERNEL);

	if (!params)
		return;
	gsh_rm_control(card->h_client, card->h_subdevice, NV2080_CTRL_GPU_GET_NAME_STRING, params,
		       gsh_version->name_string_bytes);
	strscpy(card->name, params->name, sizeof(card->name));
	kfree(params);
}

static int read_instance(struct gsh_card *card)
{
	struct nv0000_id_info_v2 info = { .gpu_id = card->gpu_id };

	if (gsh_rm_control(card->h_client, card->h_client, NV0000_CTRL_GPU_GET_ID_INFO_V2, &info,
			   sizeof(info)))
		return -EIO;
	card->instance = info.device_instance;
	return 0;
}

static int open_client(struct gsh_card *card)
{
	struct nv0080_alloc device = {};
	struct nv2080_alloc subdevice = {};
	int err;

	card->h_client = 0;
	if (gsh_rm_alloc(0, 0, &card->h_client, NV01_ROOT, NULL, 0))
		return -EIO;
	err = read_instance(card);
	if (err)
		return err;
	device.device_id = card->instance;
	card->h_device = 0x67730001;
	if (gsh_rm_alloc(card->h_client, card->h_client, &card->h_device, NV01_DEVICE_0, &device,
			 sizeof(device)))
		return -EIO;
	card->h_subdevice = 0x67730002;
	if (gsh_rm_alloc(card->h_client, card->h_device, &card->h_subdevice, NV20_SUBDEVICE_0,
			 &subdevice, sizeof(subdevice)))
		return -EIO;
	return 0;
}

/* The minor and PCI address come from the control node, as for any client. */
static bool find_card(struct gsh_card *card, const struct nv_card_info *info)
{
	int i;

	for (i = 0; i < NV_MAX_GPUS; i++) {
		if (!info[i].valid || info[i].gpu_id != card->gpu_id)
			continue;
		card->minor = info[i].minor_number;
		snprintf(card->pci, sizeof(card->pci), "%04x:%02x:%02x.%u", info[i].pci_info_domain,
			 info[i].pci_info_bus, info[i].pci_info_slot, info[i].pci_info_function);
		return true;
	}
	return false;
}

struct address_work {
	struct work_struct work;
	struct gsh_card *card;
	int err;
};

/* In a kernel thread: only there can one wait until a file is really closed. */
static void read_addresses_work(struct work_struct *work)
{
	struct address_work *w = container_of(work, struct address_work, work);
	const u32 size = NV_MAX_GPUS * sizeof(struct nv_card_info);
	struct gsh_real *real;
	struct gsh_job *job;
	struct file *file;

	file = gsh_real_open(NULL, GPUSHARE_NODE_KIND_CTL, NULL, 0, current_cred(), &real);
	if (IS_ERR(file)) {
		w->err = PTR_ERR(file);
		return;
	}
	w->err = -ENODEV;
	job = gsh_job_new(file, gsh_rm_cmd(NV_ESC_CARD_INFO, size));
	if (job && gsh_job_seg(job, size, 0, 0, 0) == 0 && !gsh_job_run(gsh_fwd_own(), job) &&
	    !job->rc && find_card(w->card, gsh_job_top(job)))
		w->err = 0;
	if (job)
		gsh_job_put(job);
	fput(file);
	while (kref_read(&real->ref) > 1) { /* the inode's goes last */
		flush_delayed_fput();
		usleep_range(100, 1000);
	}
	gsh_real_put(real);
}

static int read_addresses(struct gsh_card *card)
{
	struct address_work w = { .card = card };

	INIT_WORK_ONSTACK(&w.work, read_addresses_work);
	queue_work(compat_unbound_wq, &w.work);
	flush_work(&w.work);
	destroy_work_on_stack(&w.work);
	return w.err;
}

static void card_close(struct gsh_card *card)
{
	if (card->h_client)
		gsh_rm_free(card->h_client, 0, card->h_client);
	gsh_rm_close_gpu(card->gpu_id);
	kfree(card);
}

static int card_open(u32 gpu_id)
{
	struct gsh_card *card = kzalloc(sizeof(*card), GFP_KERNEL);
	int err, i;

	if (!card)
		return -ENOMEM;
	card->gpu_id = gpu_id;
	spin_lock_init(&card->overhead_lock);
	for (i = 0; i < GSH_OVERHEAD_KINDS; i++)
		card->overhead_known[i] = U64_MAX;
	err = gsh_rm_open_gpu(gpu_id);
	if (err) {
		kfree(card);
		return err;
	}
	err = open_client(card) ?: read_sizes(card) ?: read_uuid(card) ?: read_addresses(card);
	if (err) {
		card_close(card);
		return err;
	}
	read_name(card);
	cards[ncards++] = card;
	return 0;
}

int gsh_cards_init(void)
{
	u32 ids[NV_MAX_GPUS];
	int err = 0, i, n;

	if (overcommit_permille < GSH_OVERCOMMIT_NONE_PERMILLE ||
	    overcommit_permille > GSH_OVERCOMMIT_MAX_PERMILLE) {
		pr_err("overcommit_permille must be %u to %u\n", GSH_OVERCOMMIT_NONE_PERMILLE,
		       GSH_OVERCOMMIT_MAX_PERMILLE);
		return -EINVAL;
	}
	if (!gsh_version)
		return 0;
	n = gsh_rm_enumerate(ids, NV_MAX_GPUS);
	if (n < 0)
		return n;
	for (i = 0; i < n && err != -ENOMEM; i++) {
		err = card_open(ids[i]);
		if (err && err != -ENOMEM)
			pr_warn("card %#x does not answer and is left alone\n", ids[i]);
	}
	if (err != -ENOMEM)
		return 0;
	gsh_cards_exit(); /* nothing is wrong with the card: load again */
	return err;
}

void gsh_cards_exit(void)
{
	while (ncards)
		card_close(cards[--ncards]);
}
