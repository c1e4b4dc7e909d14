/* SPDX-License-Identifier: MIT */
/* gpushare's netlink family in plain C: messages made by hand, answers looked at for their errno. */
#ifndef TEST_GENL_H
#define TEST_GENL_H

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "uapi/gpushare.h"

struct genl { /* one message that is being made */
	_Alignas(8) char bytes[4096];
	uint32_t length;
};

static uint16_t genl_family;

static inline void genl_begin(struct genl *m, uint16_t family, uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *header = (struct nlmsghdr *)m->bytes;
	struct genlmsghdr *generic = NLMSG_DATA(header);

	memset(m, 0, sizeof(*m));
	header->nlmsg_type = family;
	header->nlmsg_flags = NLM_F_REQUEST | flags;
	generic->cmd = cmd;
	generic->version = 1;
	m->length = NLMSG_HDRLEN + GENL_HDRLEN;
}

static inline void genl_put(struct genl *m, uint16_t type, const void *data, uint16_t bytes)
{
	struct nlattr *attr = (struct nlattr *)(m->bytes + m->length);

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + bytes;
	memcpy((char *)attr + NLA_HDRLEN, data, bytes);
	m->length += NLA_ALIGN(attr->nla_len);
}

static inline void genl_put_text(struct genl *m, uint16_t type, const char *text)
{
	genl_put(m, type, text, (uint16_t)(strlen(text) + 1));
}

static inline void genl_put_u64(struct genl *m, uint16_t type, uint64_t value)
{
	genl_put(m, type, &value, sizeof(value));
}

static inline struct nlattr *genl_nest(struct genl *m, uint16_t type)
{
	struct nlattr *attr = (struct nlattr *)(m->bytes + m->length);

	genl_put(m, type | NLA_F_NESTED, "", 0);
	return attr;
}

static inline void genl_nest_end(struct genl *m, struct nlattr *nest)
{
	nest->nla_len = (uint16_t)(m->bytes + m->length - (char *)nest);
}

static inline int genl_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	struct timeval limit = { .tv_sec = 10 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

/* The first message decides: 0 or a negative errno, as the kernel gave it. */
static inline int genl_errno(const char *bytes, ssize_t length)
{
	const struct nlmsghdr *header = (const struct nlmsghdr *)bytes;

	if (length < (ssize_t)NLMSG_HDRLEN)
		return -EBADMSG;
	if (header->nlmsg_type != NLMSG_ERROR && header->nlmsg_type != NLMSG_DONE)
		return 0;
	return *(const int *)NLMSG_DATA(header);
}

static inline int genl_send(int fd, struct genl *m)
{
	((struct nlmsghdr *)m->bytes)->nlmsg_len = m->length;
	return send(fd, m->bytes, m->length, 0) < 0 ? -errno : 0;
}

/* Until the acknowledgement, or a dump's end. */
static inline int genl_receive(int fd)
{
	static _Thread_local _Alignas(8) char bytes[65536];
	struct nlmsghdr *header;
	ssize_t got;
	int left;

	for (;;) {
		got = recv(fd, bytes, sizeof(bytes), 0);
		if (got < 0)
			return -errno;
		left = (int)got;
		for (header = (void *)bytes; NLMSG_OK(header, left);
		     header = NLMSG_NEXT(header, left))
			if (header->nlmsg_type == NLMSG_ERROR || header->nlmsg_type == NLMSG_DONE)
				return *(int *)NLMSG_DATA(header);
	}
}

static inline int genl_call(int fd, struct genl *m)
{
	int err = genl_send(fd, m);

	return err ?: genl_receive(fd);
}

/* The number of the family; 0: the module isn't there. */
static inline uint16_t genl_find(int fd)
{
	char bytes[4096];
	struct nlattr *attr;
	struct genl m;
	ssize_t got;

	genl_begin(&m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	genl_put_text(&m, CTRL_ATTR_FAMILY_NAME, GPUSHARE_FAMILY_NAME);
	if (genl_send(fd, &m))
		return 0;
	got = recv(fd, bytes, sizeof(bytes), 0);
	if (genl_errno(bytes, got))
		return 0;
	attr = (struct nlattr *)((char *)NLMSG_DATA((struct nlmsghdr *)bytes) + GENL_HDRLEN);
	for (; (char *)attr < bytes + got;
	     attr = (struct nlattr *)((char *)attr + NLA_ALIGN(attr->nla_len)))
		if (attr->nla_type == CTRL_ATTR_FAMILY_ID)
			return *(uint16_t *)((char *)attr + NLA_HDRLEN);
	return 0;
}

/* ---- gpushare's requests ---- */

static inline void genl_share(struct genl *m, const char *card, uint64_t quota)
{
	struct nlattr *nest = genl_nest(m, GPUSHARE_A_TENANT_SHARE);

	genl_put_text(m, GPUSHARE_A_SHARE_CARD_UUID, card);
	genl_put_u64(m, GPUSHARE_A_SHARE_QUOTA_BYTES, quota);
	genl_nest_end(m, nest);
}

static inline int genl_tenant_new(int fd, const char *name, const char *card, uint64_t quota)
{
	struct genl m;

	genl_begin(&m, genl_family, GPUSHARE_CMD_TENANT_NEW, NLM_F_ACK);
	genl_put_text(&m, GPUSHARE_A_TENANT_NAME, name);
	genl_share(&m, card, quota);
	return genl_call(fd, &m);
}

static inline int genl_tenant_del(int fd, const char *name, int force)
{
	struct genl m;

	genl_begin(&m, genl_family, GPUSHARE_CMD_TENANT_DEL, NLM_F_ACK);
	genl_put_text(&m, GPUSHARE_A_TENANT_NAME, name);
	if (force)
		genl_put(&m, GPUSHARE_A_TENANT_FORCE, "", 0);
	return genl_call(fd, &m);
}

static inline int genl_share_set(int fd, const char *name, const char *card, uint64_t quota)
{
	struct genl m;

	genl_begin(&m, genl_family, GPUSHARE_CMD_SHARE_SET, NLM_F_ACK);
	genl_put_text(&m, GPUSHARE_A_TENANT_NAME, name);
	genl_share(&m, card, quota);
	return genl_call(fd, &m);
}

/* Binds to a cgroup by the inode number of its folder; 0 takes the binding away. */
static inline int genl_tenant_bind(int fd, const char *name, uint64_t cgroup)
{
	struct genl m;

	genl_begin(&m, genl_family, GPUSHARE_CMD_TENANT_SET, NLM_F_ACK);
	genl_put_text(&m, GPUSHARE_A_TENANT_NAME, name);
	if (cgroup)
		genl_put_u64(&m, GPUSHARE_A_TENANT_CGROUP_ID, cgroup);
	else
		genl_put(&m, GPUSHARE_A_TENANT_UNBIND, "", 0);
	return genl_call(fd, &m);
}

static inline int genl_get(int fd, uint8_t cmd, const char *name)
{
	struct genl m;

	genl_begin(&m, genl_family, cmd, NLM_F_ACK);
	if (name)
		genl_put_text(&m, GPUSHARE_A_TENANT_NAME, name);
	return genl_call(fd, &m);
}

static inline int genl_dump(int fd, uint8_t cmd)
{
	struct genl m;

	genl_begin(&m, genl_family, cmd, NLM_F_DUMP);
	return genl_call(fd, &m);
}

#endif /* TEST_GENL_H */
