/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One random world: hosts, queues, connections, faults, all drawn from the seed. First it runs
 * under faults until everything is posted, then the network heals and all of it has to complete.
 */
#include "rc.h"
#include "scenarios.h"

#include <stdlib.h>

static uint32_t pick(struct vb_rng *r, const uint32_t *of, uint32_t cnt)
{
	return of[vb_rng_below(r, cnt)];
}

/*
 * Faults come in windows. A QP gives up after eight attempts without progress, so a window lasts
 * for two timeouts at most, and the pause behind it for more than one.
 */
static void random_faults(struct world *w)
{
	static const uint32_t percent[] = {0, 1, 5, 20, 50};
	struct vb_rng *r = &w->rng;
	struct net *n = &w->net;
	vb_dur t = vb_ack_timeout_ns(w->timeout_exp);

	n->rng = vb_rng_stream(w->seed, "net", 0);
	n->loss = pick(r, percent, 5);
	n->dup = pick(r, percent, 4);
	n->reorder = pick(r, percent, 4);
	n->delay_min = rng_range(r, 100, 5000);
	n->delay_max = n->delay_min + pick(r, (const uint32_t[]){0, 100, 20000}, 3);
	n->reorder_max = pick(r, (const uint32_t[]){2000, 50000, 3000000}, 3);
	n->window_on = rng_range(r, 10000, (uint32_t)(2 * t));
	n->window_off = 4 * t + n->reorder_max + 20 * VB_MSEC;
}

static bool all(const struct world *w, bool (*is)(const struct rc_side *s))
{
	for (uint32_t i = 0; i < w->side_cnt; i++)
		if (!is((const struct rc_side *)w->side[i]))
			return false;
	return true;
}

static bool has_posted(const struct rc_side *s)
{
	return !s->to_post;
}

static void run_phases(struct world *w)
{
	vb_dur t = vb_ack_timeout_ns(w->timeout_exp);

	while (!all(w, has_posted)) {
		world_step(w);
		if (w->now > 3600 * VB_SEC)
			die(w, "an hour of virtual time, and not everything is posted");
	}
	w->net.healed = true;

	vb_time bound = w->now + 400 * t + 2 * VB_SEC;

	while (!all(w, rc_is_done)) {
		world_step(w);
		if (w->now > bound)
			die(w, "the network has healed, but work does not complete");
	}
	/* Nothing may come of what is still under way. */
	for (uint32_t i = 0; i < w->pool_cnt; i++)
		w->pool[i]->stopped = true;

	uint64_t completions = w->completions;

	while (world_next(w) != VB_NEVER)
		world_step(w);
	CHECK(w, w->completions == completions);
}

static void rc_world(struct world *w)
{
	static const uint32_t window[] = {0, 6000, 20000, 131072};
	static const uint32_t piece[] = {0, 4096, 10000};
	static const uint32_t gap[] = {0, 500, 20000, 1000000};
	struct vb_rng *r = &w->rng;
	struct world_config cfg = {
	    .host_cnt = rng_range(r, 1, 3),
	    .cq_cnt = rng_range(r, 1, CQS_MAX),
	    .srq = rng_chance(r, 30),
	    .event_driven = rng_chance(r, 40),
	    .peer_window_bytes = pick(r, window, 4),
	    .read_piece_bytes = pick(r, piece, 3),
	    .any_recovery = rng_chance(r, 60),
	};
	struct rc_params p = {
	    .bidirectional = rng_chance(r, 70),
	    .sqd = rng_chance(r, 20),
	    .depth_min = 1,
	    .depth_max = rng_range(r, 1, 40),
	    .rnr_retry = 7,
	    .len_max = pick(r, (const uint32_t[]){64, 2000, MSG_MAX}, 3),
	    .gap = pick(r, gap, 4),
	};
	uint32_t pairs = rng_range(r, 1, 4);

	p.requests = rng_range(r, 1, 400 / pairs);
	w->recv_gap = pick(r, (const uint32_t[]){0, 1000, 300000}, 3);
	w->on_wc = rc_on_wc;
	w->on_async = rc_on_async;
	w->act = rc_act;
	world_open(w, &cfg);
	for (uint32_t i = 0; i < pairs; i++)
		rc_connect(w, &p);
	run_phases(w);
	for (uint32_t i = 0; i < w->side_cnt; i++)
		rc_close((struct rc_side *)w->side[i]);
}

static uint64_t run(uint64_t seed, bool verbose, uint64_t *digest)
{
	struct world w = {.seed = seed, .rng = vb_rng_stream(seed, "world", 0), .verbose = verbose};

	w.timeout_exp = (uint8_t)rng_range(&w.rng, 8, 12);
	random_faults(&w);
	rc_world(&w);
	*digest = w.net.digest;

	struct side *side[SIDES_MAX];

	memcpy(side, w.side, sizeof side);
	world_close(&w);
	for (uint32_t i = 0; i < w.side_cnt; i++)
		free(side[i]);
	return w.completions;
}

uint64_t scenario_run(uint64_t seed, bool verbose)
{
	uint64_t digest, again;
	uint64_t completions = run(seed, verbose, &digest);

	/* Every eighth run is repeated: equal seeds give equal packets at equal times. */
	if (seed % 8 == 0) {
		run(seed, false, &again);
		if (again != digest) {
			struct world w = {.seed = seed};

			die(&w, "the same seed gave different packets");
		}
	}
	return completions;
}
