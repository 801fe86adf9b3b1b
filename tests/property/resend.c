/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat sends nothing again without a new sign of loss: between two times at which
 * sending goes back, a request packet leaves at most twice within a round trip. The second time may
 * be owed to a report that is older than what was sent again. The network loses, doubles and
 * reorders, and ACK timers fire before ACKs can come. The events of the core are what is judged.
 */
#include "rc.h"
#include "scenarios.h"

#include <stdlib.h>

#define REMEMBERED 16384u /* PSNs, more than are ever in flight */

/* The last two times that a request packet left, since sending went back. */
struct leaving {
	uint32_t psn;
	uint32_t epoch;
	vb_time at[2];
};

struct watch {
	struct world *w;
	uint32_t epoch[SIDES_MAX]; /* by host: how often sending went back */
	struct leaving *left[SIDES_MAX];
	uint64_t resent;
};

static void packet_left(struct watch *o, uint32_t host, uint32_t psn)
{
	struct leaving *l = &o->left[host][psn % REMEMBERED];
	vb_time now = o->w->now;

	if (l->psn != psn || l->epoch != o->epoch[host])
		*l = (struct leaving){psn, o->epoch[host], {VB_NEVER, VB_NEVER}};
	if (l->at[0] != VB_NEVER && now - l->at[0] < 2 * o->w->net.delay_min)
		die(o->w, "host %u: PSN %06x left at %llu, %llu and now, without going back", host,
		    psn, (unsigned long long)l->at[0], (unsigned long long)l->at[1]);
	l->at[0] = l->at[1];
	l->at[1] = now;
}

static void on_event(void *ctx, const struct vb_trace_event *ev)
{
	struct watch *o = ctx;
	uint8_t op = ev->arg[0] & VB_OP_MASK;

	if (ev->id == VB_TRACE_REWOUND)
		o->epoch[ev->node]++;
	if (ev->id != VB_TRACE_PACKET_SENT ||
	    (op >= VB_OP_READ_RESP_FIRST && op <= VB_OP_ATOMIC_ACK))
		return;
	o->resent += ev->arg[3];
	packet_left(o, ev->node, (uint32_t)ev->arg[1]);
}

static void random_network(struct world *w)
{
	static const uint32_t percent[] = {0, 1, 5, 10};
	struct vb_rng *r = &w->rng;
	struct net *n = &w->net;

	n->rng = vb_rng_stream(w->seed, "net", 0);
	n->loss = percent[vb_rng_below(r, 4)];
	n->dup = percent[vb_rng_below(r, 3)];
	n->reorder = percent[vb_rng_below(r, 4)];
	n->reorder_max = rng_range(r, 1000, 100000);
	/* Up to two timeouts for a round trip, so that seven retries are enough. */
	n->delay_min = n->delay_max =
	    rng_range(r, 1000, (uint32_t)vb_ack_timeout_ns(w->timeout_exp));
}

static void work_off(struct world *w)
{
	const struct rc_side *s = (const struct rc_side *)w->side[0];

	while (!rc_is_done(s)) {
		world_step(w);
		w->net.healed |= w->now > 300 * VB_MSEC;
		if (w->now > 60 * VB_SEC)
			die(w, "work does not complete");
	}
	for (uint32_t i = 0; i < w->pool_cnt; i++)
		w->pool[i]->stopped = true;
	while (world_next(w) != VB_NEVER)
		world_step(w);
}

uint64_t resend_run(uint64_t seed)
{
	struct world w = {.seed = seed, .rng = vb_rng_stream(seed, "resend", 0)};
	struct watch o = {.w = &w};
	struct world_config cfg = {
	    .host_cnt = 2,
	    .cq_cnt = 1,
	    .recovery = {.selective_repeat_forced_en = true,
			 .roce_slow_restart_en = rng_chance(&w.rng, 30),
			 .slow_restart_bytes = 4096},
	    .ooo_pkts = 4096,
	    .trace = {.mask = UINT64_C(1) << VB_TRACE_REWOUND | UINT64_C(1) << VB_TRACE_PACKET_SENT,
		      .emit = on_event,
		      .ctx = &o},
	};
	struct rc_params p = {
	    .requests = 80, .depth_min = 16, .depth_max = 40, .len_max = MSG_MAX, .rnr_retry = 7};

	for (uint32_t i = 0; i < cfg.host_cnt; i++)
		o.left[i] = test_alloc(REMEMBERED * sizeof *o.left[i]);
	for (uint32_t i = 0; i < cfg.host_cnt * REMEMBERED; i++)
		o.left[i / REMEMBERED][i % REMEMBERED].epoch = UINT32_MAX;
	w.timeout_exp = (uint8_t)rng_range(&w.rng, 6, 9);
	random_network(&w);
	w.on_wc = rc_on_wc;
	w.on_async = rc_on_async;
	w.act = rc_act;
	world_open(&w, &cfg);
	rc_connect(&w, &p);
	work_off(&w);
	rc_close((struct rc_side *)w.side[0]);
	rc_close((struct rc_side *)w.side[1]);
	world_close(&w);
	free(w.side[0]);
	free(w.side[1]);
	for (uint32_t i = 0; i < cfg.host_cnt; i++)
		free(o.left[i]);
	return w.completions;
}
