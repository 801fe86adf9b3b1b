/* SPDX-License-Identifier: BSD-2-Clause */
/* A link to nobody, at the bottom of those that need no other host: see ib.h. */
#include "link/ib/ib.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct nowhere {
	struct vb_link link; /* first: the link is the object */
	struct vb_link_config cfg;
	int fd;
};

static uint32_t nowhere_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from,
			     vb_time now)
{
	const struct nowhere *n = (struct nowhere *)l;

	(void)now;
	for (uint32_t i = from; i < b->cnt; i++)
		vb_count(n->cfg.counters[b->pkt[i].path->port], VB_COUNTER_port_xmit_discards);
	return b->cnt - from;
}

static uint32_t nowhere_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	(void)l, (void)rx, (void)cnt, (void)now;
	return 0;
}

static int nowhere_fd(const struct vb_link *l)
{
	return ((const struct nowhere *)l)->fd;
}

static void nowhere_close(struct vb_link *l)
{
	close(((struct nowhere *)l)->fd);
	free(l);
}

static const struct vb_link_ops nowhere_ops = {
    .name = "nowhere",
    .send = nowhere_send,
    .recv = nowhere_recv,
    .fd = nowhere_fd,
    .close = nowhere_close,
};

int vb_nowhere_open(struct vb_link **out, const struct vb_link_config *cfg)
{
	struct nowhere *n = calloc(1, sizeof *n);

	if (!n)
		return -ENOMEM;
	n->link = vb_link_before(NULL, &nowhere_ops);
	n->cfg = *cfg;
	/* Never readable: whoever waits for descriptors has one more to wait for. */
	n->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (n->fd < 0) {
		int rc = -errno;

		free(n);
		return rc;
	}
	*out = &n->link;
	return 0;
}
