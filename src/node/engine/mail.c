/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages from one engine of the host to another: about XRC domains of several processes (xrc.c),
 * and packets that came to the wrong process (misrouted.c). Each process has a mailbox, a wakeup
 * endpoint (link/shm/wakeup.h) whose random token it shows in host memory, by slot. No message can
 * come from the wire, nor from a sender that does not know the token, and the kernel names the user
 * of each sender. The next owner of a slot has another token, so nobody takes it for the last one.
 */
#include "node/engine/priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In front of each message. */
struct envelope {
	uint32_t slot;  /* of the sender... */
	uint32_t kind;  /* enum vb_mail_kind */
	uint64_t token; /* ... and its own mailbox's */
};

static uint64_t token_of(const struct vb_engine *e, uint32_t slot)
{
	return __atomic_load_n(&e->broker.mailbox[slot].token, __ATOMIC_ACQUIRE);
}

uint32_t vb_engine_mail_count(const struct vb_engine *e)
{
	return __atomic_load_n(&e->broker.mailbox[e->broker.slot].sent, __ATOMIC_ACQUIRE);
}

int vb_engine_open_mail(struct vb_engine *e)
{
	int fd;

	if (e->mail.fd >= 0)
		return 0;
	e->mail.take = malloc(VB_MAIL_MAX);
	if (!e->mail.take)
		return -ENOMEM;
	fd = vb_wakeup_open(&e->mail.token);
	if (fd < 0) {
		free(e->mail.take);
		e->mail.take = NULL;
		return fd;
	}
	e->mail.due = VB_NEVER;
	e->mail.seen = vb_engine_mail_count(e);
	e->mail.fd = fd;
	__atomic_store_n(&e->broker.mailbox[e->broker.slot].token, e->mail.token, __ATOMIC_RELEASE);
	vb_progress_thread_watch_mail(e);
	return 0;
}

int vb_engine_send_mail(struct vb_engine *e, uint32_t peer, enum vb_mail_kind kind, const void *msg,
			size_t len)
{
	uint64_t token = peer < VB_SLOT_CNT ? token_of(e, peer) : 0;
	struct envelope env = {.slot = e->broker.slot, .kind = kind, .token = e->mail.token};
	const struct iovec part[] = {{&env, sizeof env}, {(void *)(uintptr_t)msg, len}};

	assert(sizeof env + len <= VB_MAIL_MAX);
	if (token == 0 || peer == e->broker.slot || e->mail.fd < 0)
		return -ECONNREFUSED;

	int rc = vb_wakeup_send(e->mail.fd, token, part, 2);

	if (rc == 0)
		__atomic_fetch_add(&e->broker.mailbox[peer].sent, 1, __ATOMIC_RELEASE);
	return rc == -ENOBUFS || rc == -ENOMEM ? -EAGAIN : rc;
}

bool vb_engine_has_mail(const struct vb_engine *e)
{
	return e->mail.fd >= 0 && (e->mail.look || e->mail.seen != vb_engine_mail_count(e));
}

bool vb_engine_next_mail(struct vb_engine *e, struct vb_mail *m)
{
	size_t len = vb_wakeup_receive(e->mail.fd, e->mail.take, VB_MAIL_MAX);
	struct envelope env = {0};

	if (len == 0)
		return false;
	*m = (struct vb_mail){.kind = VB_MAIL_NONE};
	if (len < sizeof env)
		return true;
	memcpy(&env, e->mail.take, sizeof env);
	if (env.slot < VB_SLOT_CNT && env.token != 0 && env.token == token_of(e, env.slot))
		*m = (struct vb_mail){
		    .kind = (enum vb_mail_kind)env.kind,
		    .from = env.slot,
		    .bytes = e->mail.take + sizeof env,
		    .len = len - sizeof env,
		};
	return true;
}

void vb_engine_close_mail(struct vb_engine *e)
{
	if (e->mail.fd < 0)
		return;
	__atomic_store_n(&e->broker.mailbox[e->broker.slot].token, 0, __ATOMIC_RELEASE);
	close(e->mail.fd);
	e->mail.fd = -1;
	free(e->mail.take);
	e->mail.take = NULL;
	free(e->misrouted);
	e->misrouted = NULL;
}
