// SPDX-License-Identifier: GPL-2.0
/*
 * For tests, in guests only: calls on the driver's kernel interface from a kernel thread, as root
 * writes them to /sys/kernel/debug/rmops/ask; what was answered is read there.
 *
 *	version STRING                       status and the driver's own string
 *	control CLIENT OBJECT COMMAND BYTES  status and the first word of the parameters
 *	ask CLIENT OBJECT                    class of an object: its status and class
 *	alloc CLIENT PARENT HANDLE CLASS     status and the new handle
 *	free CLIENT PARENT OBJECT            status
 *
 * Numbers are hexadecimal. The interface has kernel privilege and no owner: it acts on anybody's
 * handles, which is what is shown here.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "nvabi/numbers.h"
#include "nvabi/rm_ops.h"
#include "nvabi/versions.h"

#define PARAMS_MAX 4096

static DEFINE_MUTEX(lock); /* all below */
static char answer[160];
static struct nv_rm_ops ops;
static const struct nvabi_version *version;
static char driver_string[64];
static struct dentry *folder;

union op_buffer { /* the driver may know a longer structure than ours */
	struct nv_rm_op op;
	u8 room[128];
};

struct ask {
	union op_buffer buffer;
	struct completion done;
};

static int in_a_thread(void *data)
{
	struct ask *ask = data;
	void *stack = NULL;

	if (!ops.alloc_stack(&stack)) {
		ops.op(stack, &ask->buffer);
		ops.free_stack(stack);
	}
	complete(&ask->done);
	return 0;
}

static int run(struct ask *ask)
{
	struct task_struct *task;

	init_completion(&ask->done);
	task = kthread_run(in_a_thread, ask, "rmops_ask");
	if (IS_ERR(task))
		return PTR_ERR(task);
	wait_for_completion(&ask->done);
	return 0;
}

static int control(u32 h_client, u32 h_object, u32 cmd, u32 bytes, u32 word)
{
	struct ask ask = { .buffer.op.op = NV_RMOP_CONTROL };
	struct nvos54 *c = &ask.buffer.op.u.control;
	u32 *params;
	int err;

	if (bytes > PARAMS_MAX)
		return -EINVAL;
	params = kzalloc(PARAMS_MAX, GFP_KERNEL);
	if (!params)
		return -ENOMEM;
	params[0] = cmd == NV0000_CTRL_CLIENT_GET_HANDLE_INFO ? word : 0;
	params[1] = 2; /* of HANDLE_INFO: the class */
	*c = (struct nvos54){ .h_client = h_client,
			      .h_object = h_object,
			      .cmd = cmd,
			      .p_params = (uintptr_t)params,
			      .params_size = bytes,
			      .status = NV_ERR_GENERIC };
	err = run(&ask);
	snprintf(answer, sizeof(answer), "%x %x\n", c->status,
		 cmd == NV0000_CTRL_CLIENT_GET_HANDLE_INFO ? params[2] : params[0]);
	kfree(params);
	return err;
}

/* Which of the two structures alloc takes depends on the driver. */
static int alloc(u32 h_client, u32 h_parent, u32 handle, u32 h_class)
{
	struct ask ask = { .buffer.op.op = NV_RMOP_ALLOC };
	struct nvos21 *a = &ask.buffer.op.u.alloc21;
	struct nvos64 *b = &ask.buffer.op.u.alloc64;
	int err;

	if (version->alloc_is_nvos64)
		*b = (struct nvos64){ h_client, h_parent, handle, h_class,
				      .status = NV_ERR_GENERIC };
	else
		*a = (struct nvos21){ h_client, h_parent, handle, h_class,
				      .status = NV_ERR_GENERIC };
	err = run(&ask);
	snprintf(answer, sizeof(answer), "%x %x\n",
		 version->alloc_is_nvos64 ? b->status : a->status,
		 version->alloc_is_nvos64 ? b->h_object_new : a->h_object_new);
	return err;
}

static int free_object(u32 h_client, u32 h_parent, u32 h_object)
{
	struct ask ask = { .buffer.op.op = NV_RMOP_FREE };
	int err;

	ask.buffer.op.u.free = (struct nvos00){ h_client, h_parent, h_object, NV_ERR_GENERIC };
	err = run(&ask);
	snprintf(answer, sizeof(answer), "%x\n", ask.buffer.op.u.free.status);
	return err;
}

/* A wrong string is answered with the right one; the functions come either way. */
static int ask_version(const char *string)
{
	struct nv_rm_ops asked = { .version_string = string };
	u32 status = nvidia_get_rm_ops(&asked);

	snprintf(answer, sizeof(answer), "%x %s %u %u\n", status, asked.version_string,
		 version ? version->rm_op_bytes : 0, version ? version->alloc_is_nvos64 : 0);
	return 0;
}

static int act(const char *text)
{
	char string[64];
	u32 a, b, c, d;

	if (sscanf(text, "version %63s", string) == 1)
		return ask_version(string);
	if (!version)
		return -EOPNOTSUPP;
	if (sscanf(text, "control %x %x %x %x", &a, &b, &c, &d) == 4)
		return control(a, b, c, d, 0);
	if (sscanf(text, "ask %x %x", &a, &b) == 2)
		return control(a, a, NV0000_CTRL_CLIENT_GET_HANDLE_INFO,
			       sizeof(struct nv0000_handle_info), b);
	if (sscanf(text, "alloc %x %x %x %x", &a, &b, &c, &d) == 4)
		return alloc(a, b, c, d);
	if (sscanf(text, "free %x %x %x", &a, &b, &c) == 3)
		return free_object(a, b, c);
	return -EINVAL;
}

static ssize_t ask_write(struct file *file, const char __user *from, size_t bytes, loff_t *at)
{
	char text[160];
	int err;

	if (bytes >= sizeof(text))
		return -E2BIG;
	if (copy_from_user(text, from, bytes))
		return -EFAULT;
	text[bytes] = '\0';
	mutex_lock(&lock);
	answer[0] = '\0';
	err = act(text);
	mutex_unlock(&lock);
	return err ?: bytes;
}

static ssize_t ask_read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	ssize_t got;

	mutex_lock(&lock);
	got = simple_read_from_buffer(to, bytes, at, answer, strlen(answer));
	mutex_unlock(&lock);
	return got;
}

static const struct file_operations ask_ops = {
	.owner = THIS_MODULE,
	.read = ask_read,
	.write = ask_write,
};

static int __init rmops_init(void)
{
	ops.version_string = "";
	nvidia_get_rm_ops(&ops);
	if (!ops.version_string)
		return -ENODEV;
	strscpy(driver_string, ops.version_string, sizeof(driver_string));
	version = nvabi_version_find(driver_string);
	ops.version_string = driver_string;
	if (nvidia_get_rm_ops(&ops) != NV_OK)
		return -EPROTO;
	folder = debugfs_create_dir("rmops", NULL);
	debugfs_create_file("ask", 0600, folder, NULL, &ask_ops);
	return 0;
}

static void __exit rmops_exit(void)
{
	debugfs_remove_recursive(folder);
}

module_init(rmops_init);
module_exit(rmops_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("For tests: asks the kernel interface of NVIDIA's driver");
