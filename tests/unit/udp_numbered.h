/* SPDX-License-Identifier: BSD-2-Clause */
/* A sender whose packets have the IPv4 identifications that a test says, and a link that receives
 * them. */
#ifndef VB_TESTS_UNIT_UDP_NUMBERED_H
#define VB_TESTS_UNIT_UDP_NUMBERED_H

#include "udp_forged.h"

#include "base/rng.h"

#include <sched.h>

#define GSO 64u

struct world {
	struct fixture *f;
	struct forged o;
	vb_time now;
	struct vb_rng rng;
	int marker; /* a UDP socket that hears itself */
};

/* Delivery goes by processor, so everything that a world sends leaves from one. */
static inline int marker_open(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

static inline void world_open(struct world *w, struct fixture *f)
{
	*w = (struct world){.f = f, .now = VB_SEC, .rng = vb_rng_stream(5, "sender", 0)};
	w->marker = marker_open();
	forge(&w->o, &f->path4, 0, DF, 40);
}

static inline void world_close(struct world *w)
{
	close(w->marker);
	close(w->o.fd);
}

/* On a busy machine a thread of the kernel delivers datagrams after send() has returned, in their
 * order: when this one is there, those before it are. */
static inline void await_delivery(struct world *w)
{
	char byte = 0;

	assert_int_equal(send(w->marker, &byte, 1, 0), 1);
	assert_int_equal(recv(w->marker, &byte, 1, 0), 1);
}

static inline uint32_t world_recv(struct world *w)
{
	struct vb_rx rx[GSO];
	uint32_t n, cnt = 0;

	await_delivery(w);
	while ((n = w->f->link->ops->recv(w->f->link, rx, GSO, w->now)) != 0)
		cnt += n;
	return cnt;
}

/* One packet, which the sender's kernel numbered @id. */
static inline void send_as(struct world *w, uint16_t id)
{
	forge_icrc(&w->o, &w->f->path4, id, DF);
	forged_send(&w->o);
}

static inline bool takes(struct world *w, uint16_t id)
{
	send_as(w, id);
	return world_recv(w) == 1;
}

static inline uint16_t send_row(struct world *w, uint16_t id, uint32_t cnt, vb_dur gap)
{
	for (uint32_t i = 0; i < cnt; i++) {
		w->now += gap;
		assert_true(takes(w, id++));
	}
	return id;
}

/* A sender whose numbers follow each other. */
static inline uint16_t open_orderly(struct world *w, void **state)
{
	world_open(w, *state);
	return send_row(w, 0x100, 100, VB_USEC);
}

#endif
