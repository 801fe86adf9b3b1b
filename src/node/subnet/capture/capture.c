/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures of a fabric, see capture.h. fallocate(2) */
#include "node/subnet/capture/capture.h"

#include "fabric/tunnel/packet.h"
#include "link/ib/capture.h"
#include "link/memory.h"
#include "node/host/clock.h"
#include "node/subnet/live/live.h"
#include "wire/ib/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How often the clocks are compared, of which the best comparison counts; and when again. */
#define CLOCK_ATTEMPTS 5
#define CLOCK_NS (10 * VB_SEC)

static uint32_t number_at(const struct vb_subnet_daemon *d, const struct vb_subnet_place *at)
{
	return at ? vb_subnet_map_port(d->adapter, *at) : VB_IB_NOWHERE;
}

/* The time of day at @t. The two clocks are read one after the other, and the process may be held
 * up in between: so not for each packet, or their times would go back and forth. */
static uint64_t realtime_at(struct vb_subnet_capture *s, vb_time t)
{
	vb_time now = vb_clock_now();
	vb_dur best = VB_NEVER;

	for (int i = 0; i < CLOCK_ATTEMPTS && now >= s->ahead_due; i++) {
		vb_time before = vb_clock_now();
		uint64_t real = vb_clock_read(CLOCK_REALTIME);
		vb_dur took = vb_clock_now() - before;

		if (took < best)
			s->ahead_ns = real - before - took / 2;
		best = vb_time_min(best, took);
	}
	if (best != VB_NEVER)
		s->ahead_due = now + CLOCK_NS;
	return t + s->ahead_ns;
}

/* A MAD has passed a link: a call of struct vb_subnet. */
static void mad_seen(void *ctx, const struct vb_subnet_place *out, const struct vb_subnet_place *in,
		     const struct vb_subnet_mad *m)
{
	const struct vb_subnet_daemon *d = ctx;
	const struct vb_ib_hop hop = {
	    .out = number_at(d, out), .in = number_at(d, in), .vl = m->vl};
	uint8_t bytes[VB_SUBNET_PACKET_MAX];
	const struct vb_ib_capture_packet p = {.bytes = bytes,
					       .len = vb_subnet_mad_emit(m, bytes) - VB_VCRC_LEN,
					       .time_ns = realtime_at(d->capture, vb_clock_now())};

	vb_ib_capture_put(d->capture->ring, &hop, 1, &p);
}

/* A frame is at a port, in real time: a call of struct vb_ib_net. */
static void frame_seen(void *ctx, uint32_t number, bool sent, const struct vb_frame *f, vb_time now)
{
	const struct vb_subnet_daemon *d = ctx;
	const struct vb_ib_hop hop = {.out = sent ? number : VB_IB_NOWHERE,
				      .in = sent ? VB_IB_NOWHERE : number,
				      .vl = f->prio};
	uint8_t bytes[VB_TUNNEL_PACKET_MAX];
	struct vb_ib_capture_packet p = {
	    .bytes = f->bytes,
	    .len = VB_FLOW_LEN,
	    .time_ns = realtime_at(d->capture, vb_subnet_live_wall(d->live, now))};

	if (f->kind != VB_FRAME_FLOW) {
		uint32_t len = vb_tunnel_packet_emit(f, bytes);

		if (len == 0)
			return;
		p.bytes = bytes;
		p.len = len - VB_VCRC_LEN;
	}
	vb_ib_capture_put(d->capture->ring, &hop, 1, &p);
}

static int ring_make(struct vb_subnet_capture *s)
{
	void *p;

	s->ring_fd = vb_memory_new(VB_MEMORY_CAPTURE, sizeof *s->ring, &p);
	if (s->ring_fd < 0)
		return s->ring_fd;
	s->ring = p;
	return 0;
}

static int names_make(const struct vb_subnet_daemon *d, struct vb_subnet_capture *s)
{
	size_t size = d->topo->node_cnt * sizeof(struct vb_subnet_name);
	struct vb_subnet_name *name;
	void *p;

	s->names_fd = vb_memory_new(VB_MEMORY_CAPTURE, size, &p);
	if (s->names_fd < 0)
		return s->names_fd;
	name = p;
	for (uint32_t i = 0; i < d->topo->node_cnt; i++)
		snprintf(name[i].text, sizeof name[i].text, "%s", d->topo->node[i].name);
	vb_memory_unmap(p, size);
	return 0;
}

static void capture_free(struct vb_subnet_daemon *d)
{
	struct vb_subnet_capture *s = d->capture;

	vb_memory_unmap(s->ring, sizeof *s->ring);
	if (s->ring_fd >= 0)
		close(s->ring_fd);
	if (s->names_fd >= 0)
		close(s->names_fd);
	free(s);
	d->capture = NULL;
}

static int capture_need(struct vb_subnet_daemon *d)
{
	int rc = vb_subnet_adapter_need(d);

	if (rc || d->capture)
		return rc;
	d->capture = calloc(1, sizeof *d->capture);
	if (!d->capture)
		return -ENOMEM;
	d->capture->ring_fd = d->capture->names_fd = -1;
	rc = ring_make(d->capture);
	if (!rc)
		rc = names_make(d, d->capture);
	if (rc)
		capture_free(d);
	return rc;
}

static int fd_give(struct vb_fds *back, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return -errno;
	back->fd[back->cnt++] = copy;
	return 0;
}

int vb_subnet_observe_begin(struct vb_subnet_daemon *d, struct vb_subnet_conn *c,
			    struct vb_subnet_answer *answer, struct vb_fds *back)
{
	const struct vb_topo_node *n = NULL;
	int rc;

	if (c->observes)
		return -EBUSY;
	if (d->call.text[0]) {
		n = vb_topo_find(d->topo, d->call.text);
		if (!n) {
			snprintf(answer->text, sizeof answer->text,
				 "the fabric '%s' has no node '%.*s'; 'verbena fabric show -n %s' "
				 "lists them",
				 d->name, VB_SUBNET_NODE_MAX, d->call.text, d->name);
			return -ENOENT;
		}
	}
	rc = capture_need(d);
	if (rc)
		return rc;
	const int fds[] = {[VB_SUBNET_RING] = d->capture->ring_fd,
			   [VB_SUBNET_NAMES] = d->capture->names_fd,
			   [VB_SUBNET_OBSERVED_MAP] = d->adapter->map_fd};

	c->observes = true;
	d->capture->observers++;
	for (uint32_t i = 0; !rc && i < VB_SUBNET_OBSERVED_CNT; i++)
		rc = fd_give(back, fds[i]);
	if (n) {
		const struct vb_subnet_place at = {.node = (uint32_t)(n - d->topo->node)};

		answer->token = (uint64_t)n->port_cnt << 32 | vb_subnet_map_port(d->adapter, at);
	}
	return rc;
}

int vb_subnet_observe_give(struct vb_subnet_daemon *d, const struct vb_subnet_call *call,
			   struct vb_subnet_answer *answer, struct vb_fds *back)
{
	if (call->len != VB_SUBNET_KNOWN_LEN)
		return -EINVAL;
	for (uint32_t k = 0; d->adapter && k < VB_IB_SLOTS; k++) {
		const struct vb_subnet_slot *s = &d->adapter->slot[k];
		int rc;

		if (!s->shm || call->body[k / 8] >> k % 8 & 1)
			continue;
		if (back->cnt == VB_BROKER_FDS_MAX) {
			answer->token = 1;
			break;
		}
		rc = fd_give(back, s->mem_fd);
		if (rc)
			return rc;
		answer->slots[answer->len++] = (uint8_t)k;
	}
	return 0;
}

/* All who write to rings begin, or end, to do so. */
static void writers_switch(struct vb_subnet_daemon *d, bool on)
{
	for (uint32_t k = 0; k < VB_IB_SLOTS; k++)
		if (d->adapter->slot[k].shm)
			__atomic_store_n(&d->adapter->slot[k].shm->capture.enabled, on,
					 __ATOMIC_RELAXED);
	d->subnet.seen = on ? mad_seen : NULL;
	d->subnet.seen_ctx = d;
	if (d->live)
		d->live->net.tap = (struct vb_ib_net_tap){on ? frame_seen : NULL, d};
}

int vb_subnet_capture_switch(struct vb_subnet_daemon *d, struct vb_subnet_conn *c, bool on)
{
	uint32_t before;

	if (!c->observes)
		return -EINVAL;
	if (c->captures == on)
		return 0;
	before = d->capture->captures;
	c->captures = on;
	d->capture->captures += on ? 1u : UINT32_MAX;
	if (!before || !d->capture->captures)
		writers_switch(d, on);
	return 0;
}

/* Nobody reads what is in the rings any more. */
static void rings_empty(struct vb_subnet_daemon *d)
{
	for (uint32_t k = 0; k < VB_IB_SLOTS; k++)
		if (d->adapter->slot[k].shm)
			(void)fallocate(
			    d->adapter->slot[k].mem_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			    offsetof(struct vb_slot_shm, capture.data), VB_CAPTURE_RING_BYTES);
}

void vb_subnet_observe_leave(struct vb_subnet_daemon *d, struct vb_subnet_conn *c)
{
	if (!c->observes)
		return;
	(void)vb_subnet_capture_switch(d, c, false);
	c->observes = false;
	if (--d->capture->observers)
		return;
	rings_empty(d);
	capture_free(d);
}
