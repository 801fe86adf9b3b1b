/* SPDX-License-Identifier: BSD-2-Clause */
/* Owners of abstract names, see name_owner.h: the kernel lists its unix sockets. sock_diag(7) */
#include "node/host/name_owner.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_BYTES 32768

static int ask_all(int fd)
{
	struct {
		struct nlmsghdr nlh;
		struct unix_diag_req req;
	} ask = {
	    .nlh = {.nlmsg_len = sizeof ask,
		    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	    .req = {.sdiag_family = AF_UNIX,
		    .udiag_states = UINT32_MAX,
		    .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID},
	};

	return send(fd, &ask, sizeof ask, 0) < 0 ? -errno : 0;
}

/* True: this is the socket, and *uid its owner. */
static bool is_socket(const struct nlmsghdr *h, const struct sockaddr_un *a, socklen_t len,
		      uint32_t *uid)
{
	const struct unix_diag_msg *m = NLMSG_DATA(h);
	const struct rtattr *at = (const struct rtattr *)(const void *)(m + 1);
	int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof *m);
	bool has_name = false, has_uid = false;

	if (left < 0 || m->udiag_type != SOCK_SEQPACKET)
		return false;
	for (; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
		if (at->rta_type == UNIX_DIAG_NAME)
			has_name =
			    RTA_PAYLOAD(at) == len - offsetof(struct sockaddr_un, sun_path) &&
			    memcmp(RTA_DATA(at), a->sun_path, RTA_PAYLOAD(at)) == 0;
		if (at->rta_type == UNIX_DIAG_UID && RTA_PAYLOAD(at) >= sizeof *uid) {
			memcpy(uid, RTA_DATA(at), sizeof *uid);
			has_uid = true;
		}
	}
	return has_name && has_uid;
}

/* 1: found, 0: there is more to come. @buf has room for an answer. */
static int read_answer(int fd, void *buf, const struct sockaddr_un *a, socklen_t len, uint32_t *uid)
{
	ssize_t got = recv(fd, buf, ANSWER_BYTES, 0);
	const struct nlmsghdr *h = buf;

	if (got <= 0)
		return got ? -errno : -EPROTO;
	for (unsigned left = (unsigned)got; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
		if (h->nlmsg_type == NLMSG_DONE)
			return -ENOENT;
		if (h->nlmsg_type == NLMSG_ERROR)
			return -EOPNOTSUPP;
		if (is_socket(h, a, len, uid))
			return 1;
	}
	return 0;
}

int vb_name_owner(const struct sockaddr_un *a, socklen_t len, unsigned *uid)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), rc;
	struct timeval patience = {.tv_sec = 1};
	uint32_t found = 0;
	void *buf;

	if (fd < 0)
		return -errno;
	/* Not on a stack that a program chose, nor among what each thread has. */
	buf = malloc(ANSWER_BYTES);
	if (!buf) {
		close(fd);
		return -ENOMEM;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	rc = ask_all(fd);
	while (!rc)
		rc = read_answer(fd, buf, a, len, &found);
	free(buf);
	close(fd);
	if (rc < 0)
		return rc;
	*uid = found;
	return 0;
}
