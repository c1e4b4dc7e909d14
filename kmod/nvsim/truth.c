// SPDX-License-Identifier: GPL-2.0
/*
 * Ground truth in debugfs nvsim/, independent of what any control answers:
 *   counts            what is alive; all of it is 0 when nobody uses the driver
 *   card0/memory      figures of the heap, in bytes
 *   card0/objects     one line a memory object: bytes and who has it
 *   clients           one line a client
 *   raise             write "CLIENT OBJECT INDEX": an event by hand
 *   xid               write "CARD NUMBER TEXT": a line in the kernel log as the driver's
 */

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "nvsim/internal.h"

struct sim_counts sim_counts;

static struct dentry *root;
static struct dentry *cards[SIM_MAX_CARDS];

struct dentry *sim_debugfs_root(void)
{
	return root;
}

static int memory_show(struct seq_file *seq, void *unused)
{
	struct sim_card *card = seq->private;
	struct sim_heap_figures figures;
	struct sim_memory *memory;
	u64 kept = 0;

	sim_heap_figures(card, &figures);
	mutex_lock(&card->heap_lock);
	list_for_each_entry(memory, &card->memories, card_link)
		if (!atomic_read(&memory->handles))
			kept += memory->bytes;
	mutex_unlock(&card->heap_lock);
	seq_printf(seq, "total %llu\nreserved %llu\nheap %llu\nobjects %llu\n", figures.total,
		   figures.reserved, figures.heap, figures.objects);
	seq_printf(seq, "external_kept %llu\noverhead %llu\nmanaged %llu\nfree %llu\nopens %d\n",
		   kept, figures.overhead, figures.managed, figures.free,
		   atomic_read(&card->opens));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(memory);

static int objects_show(struct seq_file *seq, void *unused)
{
	struct sim_card *card = seq->private;
	struct sim_memory *memory;

	mutex_lock(&card->heap_lock);
	list_for_each_entry(memory, &card->memories, card_link)
		seq_printf(
			seq,
			"client 0x%08x pid %d handle 0x%08x class 0x%04x bytes %llu asked %llu handles %d external %d\n",
			memory->h_client, memory->tgid, memory->h_object, memory->h_class,
			memory->bytes, memory->asked_bytes, atomic_read(&memory->handles),
			atomic_read(&memory->external));
	mutex_unlock(&card->heap_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(objects);

static int count_one(struct sim_object *object, void *arg)
{
	(*(unsigned int *)arg)++;
	return 0;
}

static int clients_show(struct seq_file *seq, void *unused)
{
	struct sim_client *client;
	unsigned int objects;

	down_read(&sim_rm_lock);
	list_for_each_entry(client, &sim_clients, link) {
		objects = 0;
		sim_client_each(client, count_one, &objects);
		seq_printf(seq, "client 0x%08x pid %d uid %u objects %u comm %s\n", client->handle,
			   client->pid ? pid_nr(client->pid) : 0,
			   from_kuid(&init_user_ns, client->uid), objects - 1, client->comm);
	}
	up_read(&sim_rm_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(clients);

static int counts_show(struct seq_file *seq, void *unused)
{
	const struct sim_counts *c = &sim_counts;

	seq_printf(seq, "opens %d\nclients %d\nobjects %d\nmemories %d\npages %d\nmappings %d\n",
		   atomic_read(&c->opens), atomic_read(&c->clients), atomic_read(&c->objects),
		   atomic_read(&c->memories), atomic_read(&c->pages), atomic_read(&c->mappings));
	seq_printf(seq, "vaspaces %d\nuvm_spaces %d\ndoorbells %d\n", atomic_read(&c->vaspaces),
		   atomic_read(&c->uvm_spaces), atomic_read(&c->doorbells));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counts);

/* ---- by hand ---- */

static int raise(char *line)
{
	struct sim_client *client;
	struct sim_object *object = NULL;
	u32 h_client, h_object, index;

	if (sscanf(line, "%i %i %i", &h_client, &h_object, &index) != 3)
		return -EINVAL;
	down_read(&sim_rm_lock);
	client = sim_client_find(h_client);
	if (client)
		object = sim_object_find(client, h_object);
	if (object)
		sim_event_raise(object, index, 0, 0);
	up_read(&sim_rm_lock);
	return object ? 0 : -ENOENT;
}

static int xid(char *line)
{
	struct sim_card *card;
	u32 index, number;
	int used = 0;

	if (sscanf(line, "%i %i %n", &index, &number, &used) < 2)
		return -EINVAL;
	card = sim_card_by_instance(index);
	if (!card)
		return -ENODEV;
	pr_err("NVRM: Xid (PCI:%04x:%02x:%02x): %u, %s\n", card->domain, card->bus, card->slot,
	       number, used ? strim(line + used) : "");
	return 0;
}

static ssize_t by_hand(const char __user *from, size_t bytes, int (*act)(char *))
{
	char *line;
	int err;

	if (bytes > 256)
		return -E2BIG;
	line = memdup_user_nul(from, bytes);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = act(line);
	kfree(line);
	return err ?: bytes;
}

static ssize_t raise_write(struct file *filp, const char __user *from, size_t bytes, loff_t *at)
{
	return by_hand(from, bytes, raise);
}

static ssize_t xid_write(struct file *filp, const char __user *from, size_t bytes, loff_t *at)
{
	return by_hand(from, bytes, xid);
}

static const struct file_operations raise_ops = { .owner = THIS_MODULE, .write = raise_write };
static const struct file_operations xid_ops = { .owner = THIS_MODULE, .write = xid_write };

struct dentry *sim_debugfs_card(struct sim_card *card)
{
	char name[16];

	if (cards[card->index])
		return cards[card->index];
	snprintf(name, sizeof(name), "card%u", card->index);
	cards[card->index] = debugfs_create_dir(name, root);
	debugfs_create_file("memory", 0400, cards[card->index], card, &memory_fops);
	debugfs_create_file("objects", 0400, cards[card->index], card, &objects_fops);
	return cards[card->index];
}

int sim_truth_init(void)
{
	root = debugfs_create_dir("nvsim", NULL);
	debugfs_create_file("counts", 0400, root, NULL, &counts_fops);
	debugfs_create_file("clients", 0400, root, NULL, &clients_fops);
	debugfs_create_file("raise", 0200, root, NULL, &raise_ops);
	debugfs_create_file("xid", 0200, root, NULL, &xid_ops);
	return 0;
}

void sim_truth_exit(void)
{
	debugfs_remove_recursive(root);
}
