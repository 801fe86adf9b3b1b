/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC domains of several processes: the messages of core/share/migration.h from one engine to
 * another go by mail (mail.c). Takes the other messages of a mailbox as well.
 */
#include "node/engine/priv.h"

/* Messages taken in one step. */
#define MAIL_MAX 64u

/* Pause before what could not go on is tried again: a mailbox was full, or a READ is answered. */
#define RETRY_NS (50 * VB_USEC)

int vb_engine_send_xrc(void *ctx, uint32_t peer, const void *msg, size_t len)
{
	return vb_engine_send_mail(ctx, peer, VB_MAIL_XRC, msg, len);
}

/* A message of no kind is one that no engine sends, and is dropped. */
static void take_message(struct vb_engine *e, const struct vb_mail *m, vb_time now)
{
	if (m->kind == VB_MAIL_XRC)
		(void)vb_xrc_take_message(e->hca, m->from, m->bytes, m->len, now);
	else if (m->kind == VB_MAIL_PACKETS)
		vb_engine_take_misrouted(e, m->bytes, m->len, now);
}

uint32_t vb_engine_run_mail(struct vb_engine *e, vb_time now)
{
	struct vb_mail m;
	uint32_t cnt = 0;

	if (vb_engine_has_mail(e)) {
		uint32_t count = vb_engine_mail_count(e);

		e->mail.look = false;
		vb_engine_adopt(e); /* a target may be made ready */
		for (; cnt < MAIL_MAX && vb_engine_next_mail(e, &m); cnt++)
			take_message(e, &m, now);
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
	if (e->mail.fd < 0 || !e->mail.shares_xrcd)
		return;
	vb_xrc_probe(e->hca, now);
	/* Somebody may have to hear of what was found. */
	e->mail.due = now;
}

void vb_engine_share_xrcd(struct vb_engine *e, struct vb_xrcd *x, const struct vb_xrcd_name *name)
{
	if (vb_engine_open_mail(e))
		return;
	e->mail.shares_xrcd = true;
	vb_xrcd_share(x, name);
}
