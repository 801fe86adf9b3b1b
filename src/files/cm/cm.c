/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open /dev/infiniband/rdma_cm, see cm.h. A command is a header and a body that begins with, or
 * in CREATE_ID has behind the uid, the address that the reply goes to. rdma/rdma_user_cm.h
 *
 * CMP-31, CMP-45, CMP-46
 */
#include "files/cm/cm.h"

#include "files/cm/ahead.h"
#include "files/cm/event.h"
#include "files/cm/session.h"
#include "files/next.h"
#include "ucma/abi.h"
#include "ucma/ucma.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <rdma/rdma_user_cm.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME_PREFIX "verbena-rdma_cm-"
#define HEADER sizeof(struct rdma_ucm_cmd_hdr)
#define ATTEMPTS 3 /* the broker may have ended, and another one be killed */

/* The end that a program holds has a name, by which another process knows it again. */
static socklen_t channel_name(struct sockaddr_un *a, uint64_t token)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, NAME_PREFIX "%016" PRIx64, token);

	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* The token in the name of @fd; 0: it is no channel. */
static uint64_t token_of(int fd)
{
	struct sockaddr_un a = {.sun_family = AF_UNSPEC}, is;
	socklen_t len = sizeof a;
	uint64_t token = 0;

	if (getsockname(fd, (struct sockaddr *)&a, &len) || a.sun_family != AF_UNIX ||
	    len <= offsetof(struct sockaddr_un, sun_path) + 1 || a.sun_path[0])
		return 0;
	a.sun_path[sizeof a.sun_path - 1] = 0;
	if (sscanf(a.sun_path + 1, NAME_PREFIX "%16" SCNx64, &token) != 1)
		return 0;
	return channel_name(&is, token) == len && memcmp(&is, &a, len) == 0 ? token : 0;
}

static void say_why(const char *why)
{
	dprintf(STDERR_FILENO, "verbena: /dev/infiniband/rdma_cm: %s\n", why);
}

/* Hands the broker's end over; the token of the new channel comes back. Returns the session. */
static int64_t open_channel(int end, uint64_t *token, char *why, size_t why_size)
{
	struct vb_cm_call call = {.op = VB_CM_CALL_OPEN};
	struct vb_cm_answer answer;
	int64_t session = 0;
	int rc = -EPIPE;

	for (int attempt = 0; rc == -EPIPE && attempt < ATTEMPTS; attempt++) {
		session = vb_cm_session(why, why_size);
		if (session < 0)
			return session;
		rc = vb_cm_call(&call, end, &answer);
	}
	if (!rc)
		rc = answer.status;
	if (rc) {
		snprintf(why, why_size, "the broker opens no channel: %s", strerror(-rc));
		return rc;
	}
	*token = answer.channel;
	return session;
}

/* Names the program's end and enters it into the table. */
static int enter_channel(int fd, uint64_t token, uint32_t session, int flags)
{
	struct vb_fd f = {.kind = VB_FD_RDMA_CM, .token = token, .session = session};
	struct sockaddr_un a;
	socklen_t len = channel_name(&a, token);

	return bind(fd, (struct sockaddr *)&a, len) ? -errno : vb_fd_enter_opened(fd, &f, flags);
}

int vb_cm_open(int flags)
{
	char why[256] = "";
	uint64_t token = 0;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	vb_cm_lock();
	int64_t session = open_channel(pair[1], &token, why, sizeof why);
	vb_cm_unlock();
	VB_NEXT(close)(pair[1]);
	int rc =
	    session < 0 ? (int)session : enter_channel(pair[0], token, (uint32_t)session, flags);
	if (!rc)
		return pair[0];
	if (rc == -EMFILE)
		snprintf(why, sizeof why, "no descriptor below %u is free", VB_FDS_MAX);
	say_why(why[0] ? why : strerror(-rc));
	VB_NEXT(close)(pair[0]);
	errno = -rc;
	return -1;
}

void vb_cm_adopt(int fd)
{
	struct vb_fd f = {.kind = VB_FD_RDMA_CM};
	int was = errno;

	f.token = token_of(fd);
	if (f.token)
		(void)vb_fd_enter(fd, &f);
	errno = was;
}

/* Tells the broker that this process goes on with the channel. */
static int attach_channel(int fd, const struct vb_fd *f, uint32_t session)
{
	struct vb_cm_call call = {.op = VB_CM_CALL_ATTACH, .channel = f->token};
	struct vb_cm_answer answer;
	int rc;

	if (f->session == session)
		return 0;
	rc = vb_cm_call(&call, -1, &answer);
	if (!rc)
		rc = answer.status;
	if (!rc)
		vb_fd_set_session(fd, session);
	/* A channel of a broker that is gone with all it knew. */
	return rc == -ENOENT ? -EIO : rc;
}

/* The answer may have come along with an earlier one. */
static int ask_broker(const struct vb_cm_call *call, struct vb_cm_answer *answer)
{
	int rc;

	if (vb_cm_ahead_answer(call, answer) && vb_cm_is_alive())
		return 0;
	rc = vb_cm_call(call, -1, answer);
	if (rc)
		return rc;
	vb_cm_ahead_keep(call->channel, answer);
	return 0;
}

/* Makes the call; events that it would take away while they lie in the pair of @fd come back first.
 */
static int ask_with_events(int fd, struct vb_cm_call *call, struct vb_cm_answer *answer)
{
	uint64_t seq[VB_UCMA_OUT_MAX];
	/* Events that an earlier broker was told of come first. */
	uint32_t cnt = call->returns ? call->extra_len / (uint32_t)sizeof seq[0] : 0;
	int rc = ask_broker(call, answer);

	memcpy(seq, call->body + call->len, cnt * sizeof seq[0]);
	while (!rc && (answer->status == -EINPROGRESS || answer->status == -EALREADY)) {
		if (answer->status == -EALREADY) {
			/* Another process is at it: the events there are for that one to take. */
			sched_yield();
		} else {
			cnt += vb_cm_event_return(fd, seq + cnt, VB_UCMA_OUT_MAX - cnt);
			call->returns = true;
			call->extra_len = cnt * (uint32_t)sizeof seq[0];
			memcpy(call->body + call->len, seq, call->extra_len);
		}
		rc = ask_broker(call, answer);
	}
	return rc;
}

/* A call of up to two channels. Another broker may have come meanwhile: then it is asked again. */
static int call_attached(int fd, const struct vb_fd *f, int other_fd, struct vb_cm_call *call,
			 struct vb_cm_answer *answer)
{
	int rc = -EPIPE;

	vb_cm_lock();
	for (int attempt = 0; rc == -EPIPE && attempt < ATTEMPTS; attempt++) {
		char why[256];
		int64_t session = vb_cm_session(why, sizeof why);
		struct vb_fd other;

		if (session < 0) {
			say_why(why);
			rc = (int)session;
			break;
		}
		if (!call->serial)
			call->serial = vb_cm_serial();
		rc = attach_channel(fd, f, (uint32_t)session);
		if (!rc && vb_fd_get(other_fd, &other) == VB_FD_RDMA_CM)
			rc = attach_channel(other_fd, &other, (uint32_t)session);
		if (!rc)
			rc = ask_with_events(other_fd >= 0 ? other_fd : fd, call, answer);
	}
	vb_cm_unlock();
	return rc == -EPIPE ? -EIO : rc;
}

static void *user_address(uint64_t address)
{
	return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* Where the reply to the command at @body goes: the address is all that the layouts share. */
static void *reply_address(uint32_t cmd, const uint8_t *body, size_t len)
{
	size_t at =
	    cmd == RDMA_USER_CM_CMD_CREATE_ID ? offsetof(struct rdma_ucm_create_id, response) : 0;
	uint64_t address = 0;

	if (len >= at + sizeof address)
		memcpy(&address, body + at, sizeof address);
	return user_address(address);
}

/* The value that SET_OPTION points at goes along. Returns 0 or a negative errno. */
static int add_extra(struct vb_cm_call *call, const uint8_t *body, size_t len)
{
	struct rdma_ucm_set_option option;

	if (len < sizeof option)
		return 0; /* the broker says that it is short */
	memcpy(&option, body, sizeof option);
	if (option.optlen > VB_CM_CALL_BODY - call->len)
		return -EINVAL;
	if (option.optlen)
		memcpy(call->body + call->len, user_address(option.optval), option.optlen);
	call->extra_len = option.optlen;
	return 0;
}

/* The channel that MIGRATE_ID takes an id from. Returns its descriptor, or a negative errno. */
static int find_other(struct vb_cm_call *call, const uint8_t *body, size_t len)
{
	struct rdma_ucm_migrate_id migrate;
	struct vb_fd f;

	if (len < sizeof migrate)
		return -1;
	memcpy(&migrate, body, sizeof migrate);
	if (VB_NEXT(fcntl)((int)migrate.fd, F_GETFD) < 0)
		return -ENOENT;
	if (vb_fd_get((int)migrate.fd, &f) != VB_FD_RDMA_CM)
		return -EINVAL;
	call->other = f.token;
	return (int)migrate.fd;
}

/* While another thread makes a call, nobody waits for an answer that came along earlier.
 * cmtime made nine futex calls for one connection, and makes two. */
static bool is_answered(const struct vb_cm_call *call, struct vb_cm_answer *answer)
{
	return vb_cm_ahead_answer(call, answer) && vb_cm_seems_alive();
}

/* A command that an event has granted needs no answer. */
static bool is_posted(const struct vb_fd *f, struct vb_cm_call *call, struct vb_cm_answer *answer)
{
	bool posted;

	if (!vb_cm_ahead_use_grant(call))
		return false;
	vb_cm_lock();
	posted = vb_cm_post(call, f->session);
	vb_cm_unlock();
	*answer = (struct vb_cm_answer){.status = (int32_t)call->len};
	return posted;
}

/* Makes the call and carries out the answer. Returns what write(2) does, errno negative. */
static ssize_t carry_out(int fd, const struct vb_fd *f, int other, struct vb_cm_call *call)
{
	struct rdma_ucm_cmd_hdr h;
	struct vb_cm_answer answer;
	int rc = 0;

	if (!is_answered(call, &answer) && !is_posted(f, call, &answer))
		rc = call_attached(fd, f, other, call, &answer);
	if (rc)
		return rc;
	memcpy(&h, call->body, sizeof h);
	if (answer.status >= 0 && answer.len) {
		void *to = reply_address(h.cmd, call->body + HEADER, call->len - HEADER);

		if (!to)
			return -EFAULT;
		memcpy(to, answer.body, answer.len);
	}
	return answer.status;
}

/* The call for what was written: header, and as much of the body as the header says. */
static int make_call(struct vb_cm_call *call, const struct vb_fd *f, const void *command,
		     size_t len, struct rdma_ucm_cmd_hdr *h)
{
	if (len < HEADER)
		return -EINVAL;
	memcpy(h, command, HEADER);
	if (h->in > len - HEADER || h->in > VB_CM_CALL_BODY - HEADER)
		return -EINVAL;
	memset(call, 0, offsetof(struct vb_cm_call, body));
	call->op = VB_CM_CALL_COMMAND;
	call->len = (uint32_t)(HEADER + h->in);
	call->channel = f->token;
	memcpy(call->body, command, call->len);
	return 0;
}

static ssize_t write_result(ssize_t rc, size_t len)
{
	if (rc >= 0)
		return (ssize_t)len;
	errno = (int)-rc;
	return -1;
}

/* GET_EVENT as the kernel takes it; the broker says what is wrong with any other one. */
static bool asks_event(const struct rdma_ucm_cmd_hdr *h)
{
	return h->cmd == RDMA_USER_CM_CMD_GET_EVENT && h->in >= sizeof(struct rdma_ucm_get_event) &&
	       h->out >= VB_UCMA_EVENT_REPLY_MIN;
}

static ssize_t get_event(int fd, const struct vb_fd *f, struct vb_cm_call *call, size_t room,
			 size_t len)
{
	void *to =
	    reply_address(RDMA_USER_CM_CMD_GET_EVENT, call->body + HEADER, call->len - HEADER);
	struct vb_cm_answer event;
	uint32_t id;
	int rc = to ? vb_cm_event_take(fd, f, &event) : -EFAULT;

	if (rc)
		return write_result(rc, len);
	vb_cm_ahead_keep(f->token, &event);
	memcpy(&id, event.body + offsetof(struct vb_ucma_event_reply, id), sizeof id);
	vb_cm_ahead_grant(f->token, id, &event);
	memcpy(to, event.body, event.len < room ? event.len : room);
	return (ssize_t)len;
}

ssize_t vb_cm_write(int fd, const struct vb_fd *f, const void *command, size_t len)
{
	struct rdma_ucm_cmd_hdr h;
	struct vb_cm_call call;
	int other = -1;
	ssize_t rc = make_call(&call, f, command, len, &h);

	if (!rc && asks_event(&h))
		return get_event(fd, f, &call, h.out, len);
	if (!rc && h.cmd == RDMA_USER_CM_CMD_SET_OPTION)
		rc = add_extra(&call, call.body + HEADER, h.in);
	if (!rc && h.cmd == RDMA_USER_CM_CMD_MIGRATE_ID) {
		other = find_other(&call, call.body + HEADER, h.in);
		rc = other < -1 ? other : 0;
	}
	if (!rc)
		rc = carry_out(fd, f, other, &call);
	return write_result(rc, len);
}
