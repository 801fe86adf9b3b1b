/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Target QPs of XRC that another process may have: the program's calls ask for them by mail
 * (xrc.c) and wait for the answer, with the engine's lock given up meanwhile.
 */
#include "node/engine/priv.h"

#include <errno.h>
#include <poll.h>

/* How long another process may take to answer, when it is asked again, and for how long the lock is
 * given up at once. */
#define ASK_NS (2 * VB_SEC)
#define ASK_AGAIN_NS (100 * VB_MSEC)
#define ASK_PAUSE_NS VB_MSEC

/* Lets others have the lock, until there is mail or a moment has gone. */
static void pause_for_mail(struct vb_engine *e)
{
	struct pollfd p = {e->mail.fd, POLLIN, 0};
	const struct timespec t = {0, ASK_PAUSE_NS};

	vb_lock_drop(&e->lock);
	if (ppoll(&p, 1, &t, NULL) > 0)
		e->mail.look = true;
	vb_lock_take(&e->lock);
	vb_engine_progress(e);
}

/* Waits for the answer. The caller ends @ask. */
static void ask_and_wait(struct vb_engine *e, struct vb_xrcd *x, uint32_t qpn,
			 struct vb_xrc_ask *ask)
{
	vb_time now = vb_clock_now(), end = now + ASK_NS, again = now;

	vb_xrc_ask_begin(ask, x, qpn);
	while (ask->err == -EINPROGRESS && now < end) {
		if (now >= again) {
			vb_xrc_ask_again(ask);
			again = now + ASK_AGAIN_NS;
		}
		if (ask->err == -EINPROGRESS)
			pause_for_mail(e);
		now = vb_clock_now();
	}
	if (ask->err == -EINPROGRESS)
		ask->err = -ETIMEDOUT;
}

int vb_engine_ask_target(struct vb_engine *e, struct vb_xrcd *x, uint32_t qpn,
			 struct vb_xrc_ask *ask)
{
	ask_and_wait(e, x, qpn, ask);
	vb_xrc_ask_end(ask);
	return ask->err;
}

int vb_engine_open_target(struct vb_engine *e, struct vb_xrcd *x, uint32_t qpn, struct vb_qp **out)
{
	struct vb_xrc_ask ask = {.opens = true};
	int err;

	while (vb_xrc_is_opening(x, qpn))
		pause_for_mail(e);
	*out = vb_xrcd_target(x, qpn);
	if (*out)
		return 0;
	if (e->mail.fd < 0 || !vb_xrc_is_elsewhere(x, qpn))
		return -EINVAL;
	ask_and_wait(e, x, qpn, &ask);
	err = ask.err == -ENOENT ? -EINVAL : ask.err; /* ibv_open_qp(3) */
	if (!err)
		err = vb_xrc_handle_create(&ask, out);
	vb_xrc_ask_end(&ask);
	return err;
}
