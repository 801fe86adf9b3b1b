/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to the broker, see cm_session.h. */
#include "files/cm_session.h"

#include "base/spin.h"
#include "files/cm_ahead.h"
#include "files/fd.h"
#include "files/own_fd.h"
#include "node/broker_dial.h"
#include "node/pace.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>

#define HEADER offsetof(struct vb_cm_call, body)
#define ANSWER_HEADER offsetof(struct vb_cm_answer, body)

static struct {
	pthread_mutex_t mutex;
	struct vb_own_fd sock;
	int64_t number;
	uint64_t serial;
	uint32_t slow; /* vb_pace_slowness() */
	struct vb_spin spin;
} session = {.mutex = PTHREAD_MUTEX_INITIALIZER, .sock = VB_OWN_FD_NONE};

static void renew_lock(void)
{
	session.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void vb_cm_lock(void)
{
	pthread_mutex_lock(&session.mutex);
}

void vb_cm_unlock(void)
{
	pthread_mutex_unlock(&session.mutex);
}

/* A broker that has ended closed it; nothing comes that was not asked for. */
bool vb_cm_is_alive(void)
{
	char byte;

	return recv(session.sock.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0;
}

int64_t vb_cm_session(char *why, size_t why_size)
{
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 0};

	if (vb_own_fd_is_there(&session.sock))
		return session.number;
	vb_own_fd_drop(&session.sock);
	vb_broker_msg_init(&m, VB_BROKER_CM);
	(void)prctl(PR_GET_NAME, m.comm);
	int sock = vb_broker_dial(&m, &fds, true, why, why_size);
	vb_cm_ahead_begin(sock >= 0 && fds.cnt ? fds.fd[0] : -1);
	vb_fds_close(&fds);
	if (sock < 0)
		return sock;
	if (!session.number) {
		vb_fd_begin();
		(void)pthread_atfork(vb_cm_lock, vb_cm_unlock, renew_lock);
	}
	vb_own_fd_take(&session.sock, sock);
	session.slow = vb_pace_slowness();
	if (getrandom(&session.serial, sizeof session.serial, 0) != (ssize_t)sizeof session.serial)
		return -EIO;
	return ++session.number;
}

uint64_t vb_cm_serial(void)
{
	return ++session.serial;
}

/* An answer that comes soon: it saves a sleep. */
static ssize_t spin_for_answer(struct vb_cm_answer *answer)
{
	vb_time until = vb_time_after(vb_broker_clock(), VB_CM_SPIN_NS(session.slow));
	ssize_t n;

	do
		n = recv(session.sock.fd, answer, sizeof *answer, MSG_DONTWAIT);
	while (n < 0 && (errno == EINTR || errno == EAGAIN) && vb_broker_clock() < until);
	return n;
}

/* Waits through signals: a command is answered at once, and must not be half done. */
static int take_answer(struct vb_cm_answer *answer)
{
	ssize_t n = -1;

	errno = EAGAIN;
	if (vb_spin_wanted(&session.spin)) {
		n = spin_for_answer(answer);
		vb_spin_done(&session.spin, n >= 0);
		errno = n < 0 ? EAGAIN : 0;
	}
	while (n < 0 && (errno == EINTR || errno == EAGAIN))
		n = recv(session.sock.fd, answer, sizeof *answer, 0);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -EPIPE;
	if ((size_t)n < ANSWER_HEADER || answer->len > (size_t)n - ANSWER_HEADER)
		return -EPROTO;
	return 0;
}

int vb_cm_call(const struct vb_cm_call *call, int fd, struct vb_cm_answer *answer)
{
	struct vb_fds fds = {.cnt = fd < 0 ? 0 : 1, .fd = {fd}};
	int rc = vb_fds_send(session.sock.fd, call, HEADER + call->len + call->extra_len, &fds);

	if (!rc)
		rc = take_answer(answer);
	if (rc == -ECONNRESET)
		rc = -EPIPE;
	if (rc == -EPIPE)
		vb_own_fd_drop(&session.sock);
	return rc;
}
