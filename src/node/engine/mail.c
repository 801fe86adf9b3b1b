/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC domains of several processes: the messages of core/share/migration.h from one engine to
 * another. Each process with such a domain has a mailbox, a datagram socket named by a random token
 * that it shows in host memory, by slot. Nothing of it can come from the wire, and the kernel
 * names the user of each sender. The next owner of a slot has another token, so nobody takes it for
 * the last one.
 */
#include "node/engine/priv.h"

#include <errno.h>
#include <unistd.h>

/* Messages taken in one step. */
#define MAIL_MAX 64u

/* Pause before what could not go on is tried again: a mailbox was full, or a READ is answered. */
#define RETRY_NS (50 * VB_USEC)

/* In front of each message. */
struct envelope {
	uint32_t slot; /* of the sender... */
	uint32_t rsv;
	uint64_t token; /* ... and its own mailbox's */
};

static uint64_t token_of(const struct vb_engine *e, uint32_t slot)
{
	return __atomic_load_n(&e->broker.mailbox[slot].token, __ATOMIC_ACQUIRE);
}

static uint32_t count_of(const struct vb_engine *e)
{
	return __atomic_load_n(&e->broker.mailbox[e->broker.slot].sent, __ATOMIC_ACQUIRE);
}

int vb_engine_send_xrc(void *ctx, uint32_t peer, const void *msg, size_t len)
{
	struct vb_engine *e = ctx;
	uint64_t token = peer < VB_SLOT_CNT ? token_of(e, peer) : 0;
	struct envelope env = {.slot = e->broker.slot, .token = e->mail.token};
	const struct iovec part[] = {{&env, sizeof env}, {(void *)(uintptr_t)msg, len}};

	if (token == 0 || peer == e->broker.slot || e->mail.fd < 0)
		return -ECONNREFUSED;

	int rc = vb_wakeup_send(e->mail.fd, token, part, 2);

	if (rc == 0)
		__atomic_fetch_add(&e->broker.mailbox[peer].sent, 1, __ATOMIC_RELEASE);
	return rc == -ENOBUFS || rc == -ENOMEM ? -EAGAIN : rc;
}

bool vb_engine_has_mail(const struct vb_engine *e)
{
	return e->mail.fd >= 0 && (e->mail.look || e->mail.seen != count_of(e));
}

/* True: there was a datagram. */
static bool take_message(struct vb_engine *e, vb_time now)
{
	union {
		struct envelope env;
		uint64_t align;
		uint8_t bytes[sizeof(struct envelope) + VB_XRC_MSG_MAX];
	} m;
	size_t len = vb_wakeup_receive(e->mail.fd, &m, sizeof m);

	if (len == 0)
		return false;
	if (len >= sizeof m.env && m.env.slot < VB_SLOT_CNT && m.env.token != 0 &&
	    m.env.token == token_of(e, m.env.slot))
		/* A message that no engine sends is dropped. */
		(void)vb_xrc_take_message(e->hca, m.env.slot, m.bytes + sizeof m.env,
					  len - sizeof m.env, now);
	return true;
}

uint32_t vb_engine_run_xrc(struct vb_engine *e, vb_time now)
{
	uint32_t cnt = 0;

	if (vb_engine_has_mail(e)) {
		uint32_t count = count_of(e);

		e->mail.look = false;
		vb_engine_adopt(e); /* a target may be made ready */
		while (cnt < MAIL_MAX && take_message(e, now))
			cnt++;
		if (cnt < MAIL_MAX)
			e->mail.seen = count;
	}
	vb_engine_retry_xrc(e, now);
	return cnt;
}

void vb_engine_retry_xrc(struct vb_engine *e, vb_time now)
{
	e->mail.due = VB_NEVER;
	if (vb_xrc_waits(e->hca) && vb_xrc_run(e->hca, now))
		e->mail.due = now + RETRY_NS;
}

void vb_engine_probe_xrc(struct vb_engine *e, vb_time now)
{
	if (e->mail.fd < 0)
		return;
	vb_xrc_probe(e->hca, now);
	/* Somebody may have to hear of what was found. */
	e->mail.due = now;
}

void vb_engine_share_xrcd(struct vb_engine *e, struct vb_xrcd *x, const struct vb_xrcd_name *name)
{
	if (e->mail.fd < 0) {
		int fd = vb_wakeup_open(&e->mail.token);

		if (fd < 0)
			return;
		e->mail.fd = fd;
		e->mail.due = VB_NEVER;
		e->mail.seen = count_of(e);
		__atomic_store_n(&e->broker.mailbox[e->broker.slot].token, e->mail.token,
				 __ATOMIC_RELEASE);
		vb_progress_thread_watch_mail(e);
	}
	vb_xrcd_share(x, name);
}

void vb_engine_close_mail(struct vb_engine *e)
{
	if (e->mail.fd < 0)
		return;
	__atomic_store_n(&e->broker.mailbox[e->broker.slot].token, 0, __ATOMIC_RELEASE);
	close(e->mail.fd);
	e->mail.fd = -1;
}
