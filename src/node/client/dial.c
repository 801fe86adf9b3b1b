/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reaching the broker, see dial.h. A broker may end or be killed at any moment, and several
 * programs may start one at once: only one of those gets the address, and everybody connects to it.
 */
#include "node/client/dial.h"

#include "node/client/spawn.h"
#include "node/host/clock.h"
#include "node/host/error_hints.h"
#include "node/host/name_owner.h"
#include "node/host/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SPAWN_MS 30000
#define PAUSE_MS_MAX 256 /* after nine attempts, half a second */
#define LOOK_NS (2 * VB_SEC)

/* Anybody can take a name in the abstract namespace, and listen there or not. True: somebody else
 * has, and @why says who. */
static bool is_taken(const struct sockaddr_un *a, socklen_t len, char *why, size_t why_size)
{
	unsigned uid;

	if (vb_name_owner(a, len, &uid) || uid == geteuid() || uid == 0)
		return false;
	snprintf(why, why_size,
		 "the name '@%s' of your broker's socket is taken by a process of user %u; have "
		 "that ended, or work in another network namespace",
		 a->sun_path + 1, uid);
	return true;
}

/* Waits for a broker of ours that has more to answer than it can, for nobody else. */
static int connect_to(int sock, const struct sockaddr_un *a, socklen_t len, char *why,
		      size_t why_size)
{
	if (connect(sock, (const struct sockaddr *)a, len) == 0)
		return 0;
	if (errno != EAGAIN)
		return -errno;
	if (is_taken(a, len, why, why_size))
		return -EACCES;
	(void)fcntl(sock, F_SETFL, 0);
	return connect(sock, (const struct sockaddr *)a, len) ? -errno : 0;
}

int vb_broker_connect_once(char *why, size_t why_size)
{
	struct timeval timeout = {.tv_sec = 5};
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, geteuid());
	struct ucred cred;
	socklen_t cred_len = sizeof cred;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

	if (sock < 0)
		return vb_error_hint(why, why_size, -errno, "cannot reach the broker");
	(void)setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
	why[0] = 0;
	rc = connect_to(sock, &a, len, why, why_size);
	if (rc) {
		/* EAGAIN: it has too many to answer. Nothing is short here. */
		if (!why[0])
			snprintf(why, why_size, "cannot reach the broker: %s", strerror(-rc));
		close(sock);
		return rc;
	}
	(void)fcntl(sock, F_SETFL, 0);
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) ||
	    (cred.uid != geteuid() && cred.uid != 0)) {
		snprintf(why, why_size,
			 "the socket '@%s' is not your broker's but a process of user %u; end that",
			 a.sun_path + 1, (unsigned)cred.uid);
		vb_stranger_close(sock);
		return -EACCES;
	}
	return sock;
}

int vb_broker_await(int sock, struct vb_broker_msg *m, struct vb_fds *fds, vb_time deadline)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};

	for (;;) {
		vb_time left = vb_time_since(vb_clock_now(), deadline);
		int n = poll(&p, 1, (int)((left + VB_MSEC - 1) / VB_MSEC));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ETIMEDOUT;
		int rc = vb_broker_msg_recv(sock, m, fds, MSG_DONTWAIT);
		if (rc == -EAGAIN)
			continue;
		return rc == 0 ? -ECONNRESET : rc < 0 ? rc : 0;
	}
}

/* The process that listens at the other end of @sock; 0: it is not seen from here. */
static pid_t peer_pid(int sock)
{
	struct ucred cred = {.pid = 0};
	socklen_t len = sizeof cred;

	return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) ? 0 : cred.pid;
}

/* Waits for the answer to @ask. A program has patience with a broker that is stopped, which may be
 * in a debugger; a user who only looks is told at once. */
static int await_answer(int sock, const struct vb_broker_msg *ask, struct vb_broker_msg *m,
			struct vb_fds *fds, vb_time deadline)
{
	vb_time soon = vb_time_min(deadline, vb_clock_now() + LOOK_NS);
	bool only_looks = ask->op == VB_BROKER_OBSERVER;
	int rc = vb_broker_await(sock, m, fds, only_looks ? soon : deadline);

	if (rc == -ETIMEDOUT && only_looks && !vb_process_is_stopped(peer_pid(sock)))
		rc = vb_broker_await(sock, m, fds, deadline);
	return rc;
}

/* @pid is the broker, or 0. */
static void explain_failure(int rc, pid_t pid, char *why, size_t why_size)
{
	if (rc == -EPROTO)
		snprintf(
		    why, why_size,
		    "the broker is of another version of verbena; it ends when the programs that "
		    "use it have ended");
	else if (rc == -ETIMEDOUT && pid && vb_process_is_stopped(pid))
		snprintf(why, why_size,
			 "the broker, process %d, is stopped: continue it by 'kill -CONT %d', or "
			 "end it",
			 (int)pid, (int)pid);
	else if (rc == -ETIMEDOUT)
		snprintf(why, why_size, "the broker does not answer");
	else
		(void)vb_error_hint(why, why_size, rc, "cannot talk to the broker");
}

/* Connects, starting a broker when @start; pauses longer with each attempt that failed. */
static int reach_broker(bool start, int *pause_ms, char *why, size_t why_size)
{
	int sock = vb_broker_connect_once(why, why_size);

	if (sock != -ECONNREFUSED || !start)
		return sock;
	int rc = vb_broker_spawn(SPAWN_MS, why, why_size);
	if (rc)
		return rc;
	sock = vb_broker_connect_once(why, why_size);
	if (sock != -ECONNREFUSED)
		return sock;
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, geteuid());
	if (is_taken(&a, len, why, why_size))
		return -EACCES;
	/* Between the broker's bind and listen, or it is just ending. */
	if (*pause_ms > PAUSE_MS_MAX) {
		snprintf(why, why_size,
			 "the broker was started but ends at once; see what 'verbena doctor' says");
		return -ETIMEDOUT;
	}
	(void)poll(NULL, 0, *pause_ms);
	*pause_ms *= 2;
	return -EAGAIN;
}

int vb_broker_dial(struct vb_broker_msg *m, struct vb_fds *fds, bool start, char *why,
		   size_t why_size)
{
	vb_time deadline = vb_clock_now() + VB_BROKER_PATIENCE_NS;
	struct vb_broker_msg ask = *m;
	int pause_ms = 1;

	while (vb_clock_now() < deadline) {
		int sock = reach_broker(start, &pause_ms, why, why_size), rc;
		pid_t pid;

		if (sock == -EAGAIN)
			continue;
		if (sock < 0)
			return sock;
		rc = vb_fds_send(sock, &ask, sizeof ask, NULL);
		if (!rc)
			rc = await_answer(sock, &ask, m, fds, deadline);
		if (!rc && m->status == 0)
			return sock;
		pid = peer_pid(sock);
		close(sock);
		if (!rc) {
			vb_fds_close(fds);
			snprintf(why, why_size, "%s", m->text);
			return m->status < 0 ? m->status : -EPROTO;
		}
		if (rc != -ECONNRESET && rc != -EPIPE) {
			explain_failure(rc, pid, why, why_size);
			return rc;
		}
	}
	explain_failure(-ETIMEDOUT, 0, why, why_size);
	return -ETIMEDOUT;
}
