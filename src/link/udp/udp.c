/* SPDX-License-Identifier: BSD-2-Clause */
/* The UDP link as an object: opening and closing. The parts are sock.c, frame.c,
 * tx.c and rx.c. */
#include "link/udp/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int udp_fd(const struct vb_link *l)
{
	return ((const struct vb_udp *)l)->cfg.rx_fd;
}

static void udp_close(struct vb_link *l)
{
	struct vb_udp *u = vb_udp_of(l);

	vb_udp_groups_close(u);
	vb_udp_socks_close(&u->socks);
	close(u->cfg.rx_fd);
	free(u->rx.buf);
	free(u);
}

static void udp_tap_later(struct vb_link *l, bool on)
{
	vb_udp_of(l)->rx.tap_later = on;
}

static void udp_follow_port(struct vb_link *l, uint8_t port, uint32_t ifindex)
{
	if (port < VB_LINK_PORTS_MAX)
		vb_udp_of(l)->cfg.ifindex[port] = ifindex;
	vb_udp_of(l)->rx.origin.is_known = false;
}

static const struct vb_link_ops udp_ops = {
    .name = "udp",
    .send = vb_udp_send,
    .recv = vb_udp_recv,
    .is_emptied = vb_udp_is_emptied,
    .fd = udp_fd,
    .join = vb_udp_join,
    .leave = vb_udp_leave,
    .follow_port = udp_follow_port,
    .tap_later = udp_tap_later,
    .tap_received = vb_udp_tap_received,
    .close = udp_close,
};

int vb_udp_open(struct vb_link **out, const struct vb_link_config *cfg)
{
	static const uint32_t never;
	struct vb_udp *u = calloc(1, sizeof *u);
	int rc;

	if (u == NULL)
		return -ENOMEM;
	u->link = vb_link_before(NULL, &udp_ops);
	u->link.batch_max = VB_UDP_PAYLOAD_MAX_IPV6;
	u->cfg = *cfg;
	if (cfg->tap == NULL || cfg->tap_on == NULL)
		u->cfg.tap_on = &never;
	if (cfg->bring == NULL)
		u->cfg.bring = &never;
	if (cfg->looks == NULL)
		u->cfg.looks = &never;
	if (cfg->drains == NULL)
		u->cfg.drains = &never;
	for (unsigned i = 0; i < VB_LINK_PORTS_MAX; i++)
		if (u->cfg.counters[i] == NULL)
			u->cfg.counters[i] = &u->nobody;
	vb_udp_icrc_init(&u->icrc);
	rc = vb_udp_rx_open(&u->rx);
	if (rc)
		goto free_link;
	rc = vb_udp_sock_receive(cfg->rx_fd);
	if (rc)
		goto free_rx;
	rc = vb_udp_socks_open(&u->socks);
	if (rc)
		goto free_rx;
	/* Datagrams that an owner before us did not read are not ours to wait for. */
	if (cfg->flow)
		vb_flow_empty(&cfg->flow[cfg->slot]);
	*out = &u->link;
	return 0;

free_rx:
	free(u->rx.buf);
free_link:
	free(u);
	return rc;
}
