/* SPDX-License-Identifier: BSD-2-Clause */
/* The links of the shared broker: one by UDP for each low byte that a user has, and one for QP1. */
#include "link/middle/fault.h"
#include "link/udp/udp.h"
#include "node/carrier/state.h"
#include "node/host/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

uint8_t vb_carrier_port(const struct vb_carrier *c, uint32_t ifindex)
{
	const struct vb_host_shm *host = c->slots.host;

	for (uint32_t i = 0; i < VB_DEVICES_MAX && i < host->device_cnt; i++)
		if (host->device[i].ifindex == ifindex && !host->device[i].parent)
			return (uint8_t)(i + 1);
	return 0;
}

static uint8_t find_port(void *ctx, const struct vb_gid *local, uint32_t ifindex)
{
	(void)local;
	return vb_carrier_port(ctx, ifindex);
}

static void count_hit(void *ctx, const struct vb_trace_event *ev)
{
	struct vb_carrier *c = ctx;

	(void)ev;
	c->faulted++;
}

/*
 * Faults that the administrator has for the packets that come to all users: the middleware of
 * link/middle/fault.h before each link. Packets that a user sends go by his own sockets, and meet
 * his own rules.
 */
static int faults_open(struct vb_carrier *c, uint32_t k, struct vb_link **link)
{
	static struct vb_counters nobody;
	struct vb_fault_link_config cfg = {.lower = *link, .hit = count_hit, .ctx = c};
	int rc;

	if (c->faults.rule_cnt == 0)
		return 0;
	for (uint32_t i = 0; i < VB_LINK_PORTS_MAX; i++)
		cfg.counters[i] = &nobody;
	rc = vb_fault_link_open(link, &cfg);
	/* Each link has its own random choices. */
	for (uint8_t i = 1; !rc && i < VB_LINK_PORTS_MAX; i++)
		rc = vb_fault_link_set(*link, i, &c->faults, c->fault_seed + k, vb_clock_now());
	return rc;
}

int vb_carrier_link_open(struct vb_carrier *c, uint32_t k, struct vb_link **out)
{
	static const uint32_t bring = VB_LINK_BRING_ALL;
	struct vb_link_config cfg = {
	    .rx_joins = true, .port_of = find_port, .bring = &bring, .ctx = c};
	int fd = fcntl(c->group.fd[k], F_DUPFD_CLOEXEC, 0), rc;

	if (fd < 0)
		return -errno;
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		cfg.ifindex[i + 1] = c->slots.host->device[i].ifindex;
	vb_group_open(&c->group, k);
	cfg.rx_fd = fd;
	rc = vb_udp_open(out, &cfg);
	/* A batch goes where its first packet does: with packets of another user's in it that would
	 * be a process that is not theirs. */
	if (!rc && c->is_direct)
		vb_udp_sock_take_batches(fd, false);
	if (rc)
		close(fd);
	else
		rc = faults_open(c, k, out);
	if (rc)
		vb_group_quiet(&c->group, k);
	return rc;
}

int vb_carrier_byte_open(struct vb_carrier *c, uint32_t i)
{
	int rc = vb_carrier_link_open(c, 1 + i, &c->byte[i].link);

	if (rc)
		return rc;
	rc = vb_carrier_watch(c, c->group.fd[1 + i], VB_CARRIER_ON_BYTE, i);
	if (rc)
		vb_carrier_byte_close(c, i);
	return rc;
}

void vb_carrier_byte_close(struct vb_carrier *c, uint32_t i)
{
	struct vb_carrier_byte *b = &c->byte[i];
	struct vb_link *l = b->link;

	vb_carrier_unwatch(c, c->group.fd[1 + i]);
	vb_group_quiet(&c->group, 1 + i);
	l->ops->close(l);
	free(b->member);
	*b = (struct vb_carrier_byte){.user = b->user};
}

void vb_carrier_follow(struct vb_carrier *c)
{
	for (uint32_t k = 0; k <= VB_CARRIER_BYTES; k++) {
		struct vb_link *l = k == VB_CARRIER_BYTES ? c->gsi.link : c->byte[k].link;

		for (uint32_t i = 0; l && i < VB_DEVICES_MAX; i++)
			vb_link_follow_port(l, (uint8_t)(i + 1), c->slots.host->device[i].ifindex);
	}
}
