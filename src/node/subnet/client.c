/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to the process that runs a fabric, see client.h. unix(7) */
#include "node/subnet/client.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

unsigned vb_subnet_address(struct sockaddr_un *a, uid_t uid, const char *name)
{
	memset(a, 0, sizeof *a);
	a->sun_family = AF_UNIX;
	int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "verbena-fabric/%u/%s",
			 (unsigned)uid, name);

	return (unsigned)offsetof(struct sockaddr_un, sun_path) + 1 + (unsigned)n;
}

bool vb_subnet_name_is_good(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len >= VB_SUBNET_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
			return false;
	return true;
}

/* Anybody may take the name of an abstract address: whoever answers has to be of this user. */
static int check_owner(int sock)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	return cred.uid == geteuid() ? 0 : -EPERM;
}

int vb_subnet_dial(const char *name, char *why, size_t why_size)
{
	struct sockaddr_un a;
	int sock, rc = 0;

	if (!vb_subnet_name_is_good(name)) {
		snprintf(why, why_size, "'%s' is no name of a fabric", name);
		return -EINVAL;
	}
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0) {
		rc = -errno;
		snprintf(why, why_size, "no socket: %s", strerror(-rc));
		return rc;
	}
	if (connect(sock, (struct sockaddr *)&a, vb_subnet_address(&a, geteuid(), name)))
		rc = -errno;
	if (!rc)
		rc = check_owner(sock);
	if (!rc)
		return sock;
	close(sock);
	if (rc == -ECONNREFUSED)
		snprintf(why, why_size, "no fabric '%s' runs; 'verbena fabric up' starts one",
			 name);
	else if (rc == -EPERM)
		snprintf(why, why_size, "the fabric '%s' is another user's", name);
	else
		snprintf(why, why_size, "the fabric '%s': %s", name, strerror(-rc));
	return rc;
}

void vb_subnet_call_text(struct vb_subnet_call *call, enum vb_subnet_op op, const char *text)
{
	memset(call, 0, VB_SUBNET_CALL_HEADER);
	call->op = op;
	snprintf(call->text, sizeof call->text, "%s", text);
	call->len = (uint32_t)strlen(call->text) + 1;
}

int vb_subnet_ask(int sock, const struct vb_subnet_call *call, int fd,
		  struct vb_subnet_answer *answer, struct vb_fds *fds)
{
	struct vb_fds out = {.cnt = fd < 0 ? 0 : 1, .fd = {fd}}, in = {.cnt = 0};
	struct vb_subnet_call copy;
	ssize_t n;
	int rc;

	memcpy(&copy, call, VB_SUBNET_CALL_HEADER + call->len);
	copy.version = VB_SUBNET_CALL_VERSION;
	rc = vb_fds_send(sock, &copy, VB_SUBNET_CALL_HEADER + copy.len, &out);
	if (rc)
		return rc == -ECONNRESET ? -EPIPE : rc;
	n = vb_fds_recv(sock, answer, sizeof *answer, &in, 0);
	if (fds)
		*fds = in;
	else
		vb_fds_close(&in);
	if (n == 0 || n == -ECONNRESET)
		return -EPIPE;
	if (n < 0)
		return (int)n;
	return (size_t)n < sizeof *answer ? -EPROTO : 0;
}
