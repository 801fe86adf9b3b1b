/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to the broker, see session.h. */
#include "files/cm/session.h"

#include "base/spin.h"
#include "files/cm/ahead.h"
#include "files/cm/post.h"
#include "files/fd.h"
#include "files/own_fd.h"
#include "files/umad/umad.h"
#include "link/memory.h"
#include "node/broker/broker.h"
#include "node/client/dial.h"
#include "node/cm/page/page.h"
#include "node/engine/engine.h"
#include "node/host/clock.h"
#include "node/host/pace.h"
#include "node/subnet/client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER offsetof(struct vb_cm_call, body)
#define ANSWER_HEADER offsetof(struct vb_cm_answer, body)

/* On slow machines longer, as the steps of a program take there. */
#define ALIVE_NS VB_MSEC
#define LOOKS 8

static struct {
	pthread_mutex_t mutex;
	struct vb_own_fd sock;
	struct vb_cm_page *page; /* NULL: all calls go by the socket */
	int64_t number;
	uint64_t serial;
	uint32_t told; /* vb_cm_page_post() */
	struct vb_spin spin;
	/* From here on: read without the mutex, too. */
	bool posts;       /* it has posted commands */
	uint32_t slow;    /* vb_pace_slowness() */
	vb_time heard_at; /* the broker was alive */
	struct {
		int fd;
		uint64_t broker; /* 0: it is not known which one serves */
	} seen;
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

static void hear_broker(vb_time at)
{
	__atomic_store_n(&session.heard_at, at, __ATOMIC_RELAXED);
}

static bool was_alive(void)
{
	uint32_t slow = __atomic_load_n(&session.slow, __ATOMIC_RELAXED);

	return vb_clock_now() - __atomic_load_n(&session.heard_at, __ATOMIC_RELAXED) <
	       slow * ALIVE_NS;
}

/* A broker that has ended closed it; nothing else than a kick comes that was not asked for. */
static bool is_open(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	return n > 0 || (n < 0 && errno == EAGAIN);
}

/* A broker that was alive a moment ago is not asked again: a program asks the broker's earlier
 * answers several times in a row. */
bool vb_cm_is_alive(void)
{
	if (was_alive())
		return true;
	if (!is_open(session.sock.fd))
		return false;
	hear_broker(vb_clock_now());
	return true;
}

/* From here on it is known which broker serves; @number 0: it is not. */
static void broker_see(uint64_t number)
{
	__atomic_store_n(&session.seen.broker, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&session.seen.fd, session.sock.fd, __ATOMIC_SEQ_CST);
	__atomic_store_n(&session.seen.broker, number, __ATOMIC_SEQ_CST);
}

/* Without the mutex: the number of the broker that serves; 0: the holder of the mutex finds out. */
static uint64_t broker_seen(void)
{
	uint64_t number = __atomic_load_n(&session.seen.broker, __ATOMIC_SEQ_CST);

	/* Another connection may have taken the place of the first meanwhile. */
	if (number && is_open(__atomic_load_n(&session.seen.fd, __ATOMIC_SEQ_CST)) &&
	    __atomic_load_n(&session.seen.broker, __ATOMIC_SEQ_CST) == number)
		return number;
	return 0;
}

bool vb_cm_seems_alive(void)
{
	return was_alive() || broker_seen() != 0;
}

static void session_end(void)
{
	broker_see(0);
	if (session.page && vb_own_fd_is_ours(&session.sock))
		vb_cm_posts_save(session.page);
	vb_own_fd_drop(&session.sock);
	hear_broker(0);
	if (session.page)
		vb_memory_unmap(session.page, VB_CM_PAGE_BYTES);
	session.page = NULL;
	session.told = 0;
}

/* Calls by the page touch no descriptor, so only whose page it is matters there. */
static bool session_is_good(void)
{
	if (session.page)
		return vb_own_fd_is_ours(&session.sock) && vb_cm_page_is_served(session.page);
	return vb_own_fd_is_there(&session.sock);
}

/* Takes over what came with WELCOME. */
static void take_memory(struct vb_fds *fds)
{
	void *p;

	vb_cm_ahead_begin(fds->cnt > VB_CM_WELCOME_VERSIONS ? fds->fd[VB_CM_WELCOME_VERSIONS] : -1);
	if (fds->cnt > VB_CM_WELCOME_PAGE &&
	    !vb_memory_map(fds->fd[VB_CM_WELCOME_PAGE], VB_CM_PAGE_BYTES, true, &p))
		session.page = p;
	vb_fds_close(fds);
}

/* Asks the broker, or at a node of a fabric its process, for the connection. */
static int session_dial(struct vb_fds *fds, char *why, size_t why_size)
{
	struct vb_subnet_answer answer;
	struct vb_subnet_call call;
	struct vb_broker_msg m;
	char root[256], name[16] = "";
	int sock, rc;

	(void)prctl(PR_GET_NAME, name);
	if (!vb_umad_has_fabric()) {
		vb_broker_msg_init(&m, VB_BROKER_CM);
		memcpy(m.comm, name, sizeof name);
		return vb_broker_dial(&m, fds, true, why, why_size);
	}
	sock = vb_umad_attach(root, sizeof root, why, why_size);
	if (sock < 0)
		return sock;
	vb_subnet_call_text(&call, VB_SUBNET_CM, name);
	rc = vb_subnet_ask(sock, &call, -1, &answer, fds);
	if (!rc)
		rc = answer.status;
	if (!rc)
		return sock;
	snprintf(why, why_size, "the fabric has no connection manager here: %s", strerror(-rc));
	close(sock);
	return rc;
}

static int tell_broker(void)
{
	const uint8_t kick = 0;

	if (!vb_own_fd_is_there(&session.sock))
		return -EPIPE;
	return send(session.sock.fd, &kick, VB_CM_KICK_LEN, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void *session_renew(void *arg)
{
	char why[256];

	(void)arg;
	vb_cm_lock();
	/* A broker that was killed could not say so in the page. */
	if (vb_own_fd_is_ours(&session.sock) && !is_open(session.sock.fd))
		session_end();
	(void)vb_cm_session(why, sizeof why);
	vb_cm_unlock();
	return NULL;
}

/* Another broker has come: it gets what was posted to the one before. Connecting takes its time,
 * which the caller, who serves packets, does not have. */
static void broker_returned(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;

	if (!__atomic_load_n(&session.posts, __ATOMIC_RELAXED) || pthread_attr_init(&attr))
		return;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all); /* they are the program's, but for faults */
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	(void)pthread_create(&thread, &attr, session_renew, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

int64_t vb_cm_session(char *why, size_t why_size)
{
	struct vb_fds fds = {.cnt = 0};

	if (session_is_good())
		return session.number;
	session_end();
	int sock = session_dial(&fds, why, why_size);
	take_memory(&fds);
	if (sock < 0)
		return sock;
	if (!session.number) {
		vb_fd_begin();
		vb_broker_on_return(broker_returned);
		(void)pthread_atfork(vb_cm_lock, vb_cm_unlock, renew_lock);
	}
	vb_own_fd_take(&session.sock, sock);
	broker_see(session.page ? session.page->broker : 0);
	__atomic_store_n(&session.slow, vb_pace_slowness(), __ATOMIC_RELAXED);
	/* A broker that ends before it hears of them leaves them to the next. */
	if (session.page && vb_cm_posts_restore(session.page, &session.told))
		(void)tell_broker();
	if (getrandom(&session.serial, sizeof session.serial, 0) != (ssize_t)sizeof session.serial)
		return -EIO;
	return ++session.number;
}

static bool is_of_broker(uint64_t number)
{
	char why[256];

	if (!vb_own_fd_is_ours(&session.sock) || !session.page)
		return true;
	if (!is_open(session.sock.fd)) {
		session_end();
		if (vb_cm_session(why, sizeof why) < 0)
			return false;
	}
	return !session.page || session.page->broker == number;
}

bool vb_cm_is_of_broker(uint64_t number)
{
	bool is_now;

	if (broker_seen() == number)
		return true;
	vb_cm_lock();
	is_now = is_of_broker(number);
	vb_cm_unlock();
	return is_now;
}

uint64_t vb_cm_serial(void)
{
	return ++session.serial;
}

/* One look for the answer. 1: it is there, 0: not yet, or a negative errno. */
typedef int (*look_fn)(struct vb_cm_answer *answer);

static int look_at_page(struct vb_cm_answer *answer)
{
	return vb_cm_page_answer(session.page, answer);
}

static int look_at_socket(struct vb_cm_answer *answer)
{
	ssize_t n = recv(session.sock.fd, answer, sizeof *answer, MSG_DONTWAIT);

	if (n == VB_CM_KICK_LEN || (n < 0 && (errno == EINTR || errno == EAGAIN)))
		return 0;
	if (n <= 0)
		return n ? -errno : -EPIPE;
	return (size_t)n < ANSWER_HEADER || answer->len > (size_t)n - ANSWER_HEADER ? -EPROTO : 1;
}

/* An answer that comes soon: it saves a sleep. */
static int look_for_answer(look_fn look, struct vb_cm_answer *answer)
{
	vb_time until;
	int rc = 0;

	if (!vb_spin_wanted(&session.spin))
		return look(answer);
	until = vb_time_after(vb_clock_now(), VB_CM_SPIN_NS(session.slow));
	do {
		for (int i = 0; i < LOOKS && rc == 0; i++)
			rc = look(answer);
		if (rc == 0)
			sched_yield();
	} while (rc == 0 && vb_clock_now() < until);
	vb_spin_done(&session.spin, rc != 0);
	return rc;
}

/* Waits through signals: a command is answered at once, and must not be half done. */
static int await_socket(void)
{
	struct pollfd p = {session.sock.fd, POLLIN, 0};

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

static int call_by_socket(const struct vb_cm_call *call, int fd, struct vb_cm_answer *answer)
{
	struct vb_fds fds = {.cnt = fd < 0 ? 0 : 1, .fd = {fd}};
	int rc = vb_own_fd_is_there(&session.sock) ? 0 : -EPIPE;

	if (!rc)
		rc = vb_fds_send(session.sock.fd, call, HEADER + call->len + call->extra_len, &fds);
	if (rc)
		return rc;
	for (rc = look_for_answer(look_at_socket, answer); rc == 0; rc = look_at_socket(answer)) {
		rc = await_socket();
		if (rc)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

/* Sleeps until the broker tells something, has ended, or a signal comes. @is_there: the descriptor
 * was there a moment ago. */
static int await_kick(bool is_there)
{
	uint8_t kick;
	ssize_t n = -1;

	errno = EPIPE;
	if (is_there || vb_own_fd_is_there(&session.sock))
		n = recv(session.sock.fd, &kick, sizeof kick, 0);
	if (n == 0)
		return -EPIPE;
	return n < 0 && errno != EINTR ? -errno : 0;
}

/* Until the broker says that it has answered, or has ended. */
static int sleep_for_page(struct vb_cm_answer *answer, bool is_there)
{
	int rc = 0;

	vb_cm_page_sleep(session.page, true);
	while (rc == 0 && !vb_cm_page_answer(session.page, answer)) {
		rc = await_kick(is_there);
		is_there = false;
	}
	vb_cm_page_sleep(session.page, false);
	return rc;
}

static int call_by_page(const struct vb_cm_call *call, struct vb_cm_answer *answer)
{
	bool sleeps = vb_cm_page_call(session.page, call);
	int rc = sleeps ? tell_broker() : 0;

	if (rc || look_for_answer(look_at_page, answer))
		return rc;
	return sleep_for_page(answer, sleeps);
}

int vb_cm_call(const struct vb_cm_call *call, int fd, struct vb_cm_answer *answer)
{
	int rc;

	vb_engine_send_held();
	rc = session.page && fd < 0 ? call_by_page(call, answer) : call_by_socket(call, fd, answer);
	if (rc == -ECONNRESET)
		rc = -EPIPE;
	if (rc == -EPIPE)
		session_end();
	else
		hear_broker(vb_clock_now());
	return rc;
}

bool vb_cm_post(struct vb_cm_call *call, int64_t number)
{
	struct vb_cm_page *page = session.page;
	struct vb_cm_post post = {.channel = call->channel, .len = call->len};

	/* The thread of a context sees that a new broker has replaced a killed one. */
	if (!page || number != session.number || !session_is_good() ||
	    call->len > sizeof post.body || vb_cm_page_pending(page) == VB_CM_POSTS ||
	    !vb_broker_has_clients())
		return false;
	call->serial = post.serial = vb_cm_serial();
	memcpy(post.body, call->body, call->len);
	__atomic_store_n(&session.posts, true, __ATOMIC_RELAXED);
	if (!vb_cm_page_post(page, &post, &session.told) || !tell_broker())
		return true;
	/* The broker has ended, and the caller goes on with the next one. */
	vb_cm_page_unpost(page);
	session_end();
	return false;
}
