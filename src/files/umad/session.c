/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to the fabric's process, or to the broker, see session.h. */
#include "files/umad/session.h"

#include "files/fd.h"
#include "files/own_fd.h"
#include "files/umad/umad.h"
#include "node/client/dial.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ATTEMPTS 2

static struct {
	pthread_mutex_t mutex;
	struct vb_own_fd sock;
	bool is_prepared;
} session = {.mutex = PTHREAD_MUTEX_INITIALIZER, .sock = VB_OWN_FD_NONE};

static void lock_session(void)
{
	pthread_mutex_lock(&session.mutex);
}

static void unlock_session(void)
{
	pthread_mutex_unlock(&session.mutex);
}

static void renew_lock(void)
{
	session.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

bool vb_umad_has_fabric(void)
{
	const char *fabric = getenv("VERBENA_FABRIC");

	return fabric && *fabric;
}

int vb_umad_attach(char *root, size_t root_size, char *why, size_t why_size)
{
	const char *node = getenv("VERBENA_NODE");
	struct vb_subnet_call call;
	struct vb_subnet_answer answer;
	int sock = vb_subnet_dial(getenv("VERBENA_FABRIC"), why, why_size), rc;

	if (sock < 0)
		return sock;
	vb_subnet_call_text(&call, VB_SUBNET_ATTACH, node ? node : "");
	rc = vb_subnet_ask(sock, &call, -1, &answer, NULL);
	if (!rc)
		rc = answer.status;
	answer.text[sizeof answer.text - 1] = 0;
	if (rc) {
		snprintf(why, why_size, "%s", answer.text);
		close(sock);
		return rc;
	}
	snprintf(root, root_size, "%s", answer.text);
	return sock;
}

/* Asks the broker for the connection. */
static int session_dial(char *why, size_t why_size)
{
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 0};
	int sock;

	vb_broker_msg_init(&m, VB_BROKER_UMAD);
	(void)prctl(PR_GET_NAME, m.comm);
	sock = vb_broker_dial(&m, &fds, true, why, why_size);
	vb_fds_close(&fds);
	return sock;
}

/* Opens the session, unless it is open. */
static int session_begin(void)
{
	char root[256], why[VB_BROKER_TEXT_MAX];
	int sock;

	if (vb_own_fd_is_ours(&session.sock) && vb_own_fd_is_there(&session.sock))
		return 0;
	vb_own_fd_drop(&session.sock);
	sock = vb_umad_has_fabric() ? vb_umad_attach(root, sizeof root, why, sizeof why)
				    : session_dial(why, sizeof why);
	if (sock < 0)
		return sock;
	if (!session.is_prepared) {
		vb_fd_begin();
		session.is_prepared = pthread_atfork(lock_session, unlock_session, renew_lock) == 0;
	}
	vb_own_fd_take(&session.sock, sock);
	return 0;
}

int vb_umad_call(const struct vb_subnet_call *call, int fd, struct vb_subnet_answer *answer,
		 struct vb_fds *fds)
{
	int rc = -EPIPE;

	lock_session();
	for (int attempt = 0; rc == -EPIPE && attempt < ATTEMPTS; attempt++) {
		rc = session_begin();
		if (!rc)
			rc = vb_subnet_ask(session.sock.fd, call, fd, answer, fds);
		if (rc == -EPIPE)
			vb_own_fd_drop(&session.sock);
	}
	unlock_session();
	if (rc == -EPIPE || rc == -ECONNREFUSED)
		return -EIO;
	return rc ? rc : answer->status;
}
