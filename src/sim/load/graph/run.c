/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of a graph as they start and end. See run.h. */
#include "sim/load/graph/run.h"

#include "base/assert.h"

#include <errno.h>

enum state { STARTED = 1, ARRIVED = 2, ENDED = 4 };

/* Operations in line, by next. */
struct line {
	uint32_t first, last;
};

/* The operations of the ranks in one part of the simulation. */
struct share {
	struct line ready;
	struct vb_eventq calcs; /* when these end, by stream */
	void *calcs_mem;
	uint32_t ended;   /* operations of this iteration */
	vb_time ended_at; /* the last of them */
};

struct vb_graph_run {
	struct vb_load *load;
	const struct vb_graph *g;
	uint32_t source;
	uint32_t *left;      /* of each operation: those that it waits for */
	uint32_t *next;      /* the one behind it: of those that may start, or at its stream */
	uint8_t *state;      /* the same: of the iteration */
	struct line *stream; /* [rank * stream_cnt + stream]: the first one is at work */
	struct share *share; /* of each part */
	/* Of each pair: NICs of its ends, or VB_LOAD_NONE; NULL: hosts have one each. */
	uint32_t *nic;
	uint64_t *received; /* of each rank: bytes */
	struct vb_load_lap *lap;
	uint32_t lap_cnt; /* iterations that are over */
	bool is_begun;
};

static void line_add(struct vb_graph_run *r, struct line *line, uint32_t op)
{
	r->next[op] = VB_GRAPH_NONE;
	if (line->first == VB_GRAPH_NONE)
		line->first = op;
	else
		r->next[line->last] = op;
	line->last = op;
}

static uint32_t line_take(const struct vb_graph_run *r, struct line *line)
{
	uint32_t op = line->first;

	VB_ASSERT(op < r->g->op_cnt);
	line->first = r->next[op];
	return op;
}

/* Ranks are hosts. */
static struct share *share_of(const struct vb_graph_run *r, uint32_t rank)
{
	return &r->share[vb_sim_part_of(r->load->sim, rank)];
}

/* Where operations of a rank that may start stand: in one line for all while all parts are still.
 */
static struct line *line_of(const struct vb_graph_run *r, uint32_t rank)
{
	return vb_sim_is_in_window(r->load->sim) ? &share_of(r, rank)->ready : &r->share[0].ready;
}

/* Those that wait for the start of @op, or for its end. */
static void followers_release(struct vb_graph_run *r, uint32_t op, bool at_start)
{
	const struct vb_graph *g = r->g;

	for (uint32_t i = g->op[op].first; i < g->op[op + 1].first; i++) {
		uint32_t to = g->edge[i] & ~VB_GRAPH_AT_START;

		if (((g->edge[i] & VB_GRAPH_AT_START) != 0) != at_start)
			continue;
		VB_ASSERT_ALL(r->left[to] > 0);
		if (--r->left[to] == 0)
			line_add(r, line_of(r, g->op[to].rank), to);
	}
}

static void op_end(struct vb_graph_run *r, uint32_t op, vb_time now)
{
	const struct vb_graph_op *o = &r->g->op[op];
	struct share *s = share_of(r, o->rank);

	VB_ASSERT_ALL(r->state[op] & STARTED && !(r->state[op] & ENDED));
	r->state[op] |= ENDED;
	s->ended++;
	s->ended_at = now;
	if (o->kind == VB_GRAPH_RECV)
		r->received[o->rank] += r->g->op[o->match].amount;
	followers_release(r, op, false);
}

static uint32_t stream_of(const struct vb_graph_run *r, uint32_t op)
{
	const struct vb_graph_op *o = &r->g->op[op];

	VB_ASSERT_ALL(o->kind == VB_GRAPH_CALC && o->stream < r->g->stream_cnt);
	return o->rank * r->g->stream_cnt + o->stream;
}

/* The stream takes the first one in its line, which starts only now. */
static void stream_go_on(struct vb_graph_run *r, uint32_t stream, vb_time now)
{
	uint32_t op = r->stream[stream].first, rank;

	if (op == VB_GRAPH_NONE)
		return;
	rank = r->g->op[op].rank;
	vb_eventq_set(&share_of(r, rank)->calcs, stream, vb_time_after(now, r->g->op[op].amount));
	vb_load_turn_by(r->load, vb_sim_part_of(r->load->sim, rank),
			vb_eventq_next(&share_of(r, rank)->calcs));
	followers_release(r, op, true);
}

static void calc_start(struct vb_graph_run *r, uint32_t op, vb_time now)
{
	uint32_t stream = stream_of(r, op);
	bool is_idle = r->stream[stream].first == VB_GRAPH_NONE;

	line_add(r, &r->stream[stream], op);
	if (is_idle)
		stream_go_on(r, stream, now);
}

/* Messages that share a connection have the NICs of the first one. */
static void choose_nics(struct vb_graph_run *r, uint32_t pair, struct vb_flow *f)
{
	struct vb_load *l = r->load;

	if (!r->nic || l->source[r->source].p.new_connections)
		return;
	if (r->nic[2 * pair] == VB_LOAD_NONE) {
		r->nic[2 * pair] = f->src;
		r->nic[2 * pair + 1] = f->dst;
		vb_nic_choose(l->cfg.nics, l->nic_turn, &r->nic[2 * pair], &r->nic[2 * pair + 1]);
	}
	f->src = VB_LOAD_NIC | r->nic[2 * pair];
	f->dst = VB_LOAD_NIC | r->nic[2 * pair + 1];
}

static void send_start(struct vb_graph_run *r, uint32_t op, vb_time now)
{
	const struct vb_graph_op *o = &r->g->op[op];
	struct vb_flow f = {.src = o->rank,
			    .dst = o->peer,
			    .bytes = o->amount,
			    .start = now,
			    .step = op,
			    .pattern = (uint16_t)r->source,
			    .op = VB_LOAD_SEND};

	choose_nics(r, o->pair, &f);
	vb_load_flow_follow(r->load, &f);
}

static void op_start(struct vb_graph_run *r, uint32_t op, vb_time now)
{
	VB_ASSERT_ALL(!(r->state[op] & STARTED));
	r->state[op] |= STARTED;
	if (r->g->op[op].kind != VB_GRAPH_CALC)
		followers_release(r, op, true);
	switch (r->g->op[op].kind) {
	case VB_GRAPH_SEND:
		send_start(r, op, now);
		break;
	case VB_GRAPH_RECV:
		if (r->state[op] & ARRIVED)
			op_end(r, op, now);
		break;
	default:
		calc_start(r, op, now);
		break;
	}
}

static void iteration_begin(struct vb_graph_run *r, vb_time now)
{
	const struct vb_graph *g = r->g;

	VB_ASSERT(r->lap_cnt < r->load->source[r->source].p.iterations);
	r->is_begun = true;
	r->lap[r->lap_cnt].begin = now;
	for (uint32_t i = 0; i < r->load->part_cnt; i++)
		r->share[i].ended = 0;
	for (uint32_t i = 0; i < g->op_cnt; i++) {
		r->state[i] = 0;
		r->left[i] = g->op[i].needs;
		if (r->left[i] == 0)
			line_add(r, line_of(r, g->op[i].rank), i);
	}
}

void vb_graph_run_settle(struct vb_graph_run *r)
{
	const struct vb_load_pattern *p = &r->load->source[r->source].p;
	uint64_t ended = 0;
	vb_time at;

	if (!r->is_begun)
		return;
	at = r->lap[r->lap_cnt].begin;
	for (uint32_t i = 0; i < r->load->part_cnt; i++) {
		ended += r->share[i].ended;
		at = r->share[i].ended && r->share[i].ended_at > at ? r->share[i].ended_at : at;
	}
	if (ended < r->g->op_cnt)
		return;
	r->is_begun = false;
	r->lap[r->lap_cnt++].end = at;
	if (r->lap_cnt == p->iterations)
		return;
	vb_load_source_wait(r->load, r->source, vb_time_after(at, p->pause));
	vb_load_arm(r->load);
}

/* Starts all that may start in a part; sees whether the iteration is over. */
static void share_go_on(struct vb_graph_run *r, struct share *s, vb_time now)
{
	while (s->ready.first != VB_GRAPH_NONE)
		op_start(r, line_take(r, &s->ready), now);
	if (!vb_sim_is_in_window(r->load->sim))
		vb_graph_run_settle(r);
}

void vb_graph_run_on_time(struct vb_graph_run *r, vb_time now)
{
	iteration_begin(r, now);
	share_go_on(r, &r->share[0], now);
}

void vb_graph_run_on_turn(struct vb_graph_run *r, uint32_t part, vb_time now)
{
	struct share *s = &r->share[part];

	while (vb_eventq_next(&s->calcs) <= now) {
		uint32_t stream = vb_eventq_take(&s->calcs);
		uint64_t computed = ((uint64_t)r->source << 32 | stream) + 1;

		if (computed > r->load->part[part].computed)
			r->load->part[part].computed = computed;
		op_end(r, line_take(r, &r->stream[stream]), now);
		stream_go_on(r, stream, now);
		share_go_on(r, s, now);
	}
}

vb_time vb_graph_run_turn(const struct vb_graph_run *r, uint32_t part)
{
	return vb_eventq_next(&r->share[part].calcs);
}

void vb_graph_run_on_arrival(struct vb_graph_run *r, uint32_t op, vb_time now)
{
	uint32_t recv = r->g->op[op].match;

	VB_ASSERT(recv < r->g->op_cnt);
	VB_ASSERT_ALL(r->is_begun && !(r->state[recv] & ARRIVED));
	r->state[recv] |= ARRIVED;
	if (!(r->state[recv] & STARTED))
		return;
	op_end(r, recv, now);
	share_go_on(r, share_of(r, r->g->op[recv].rank), now);
}

void vb_graph_run_on_completion(struct vb_graph_run *r, uint32_t op, vb_time now)
{
	op_end(r, op, now);
	share_go_on(r, share_of(r, r->g->op[op].rank), now);
}

uint32_t vb_graph_run_pair(const struct vb_graph_run *r, uint32_t op)
{
	VB_ASSERT(r->g->op[op].pair < r->g->pair_cnt);
	return r->g->op[op].pair;
}

void vb_graph_run_pack(const struct vb_graph_run *r, uint32_t part, struct vb_rank_bytes *b)
{
	vb_rank_put(b, &r->share[part].ended, sizeof r->share[part].ended);
	vb_rank_put(b, &r->share[part].ended_at, sizeof r->share[part].ended_at);
}

void vb_graph_run_unpack(struct vb_graph_run *r, uint32_t part, struct vb_rank_reader *from)
{
	vb_rank_get(from, &r->share[part].ended, sizeof r->share[part].ended);
	vb_rank_get(from, &r->share[part].ended_at, sizeof r->share[part].ended_at);
}

void vb_graph_run_pack_counts(const struct vb_graph_run *r, uint32_t part, struct vb_rank_bytes *b)
{
	for (uint32_t i = 0; i < r->g->rank_cnt; i++)
		if (vb_sim_part_of(r->load->sim, i) == part)
			vb_rank_put(b, &r->received[i], sizeof r->received[i]);
}

void vb_graph_run_unpack_counts(struct vb_graph_run *r, uint32_t part, struct vb_rank_reader *from)
{
	for (uint32_t i = 0; i < r->g->rank_cnt; i++)
		if (vb_sim_part_of(r->load->sim, i) == part)
			vb_rank_get(from, &r->received[i], sizeof r->received[i]);
}

const struct vb_load_lap *vb_graph_run_laps(const struct vb_graph_run *r, uint32_t *cnt)
{
	*cnt = r->lap_cnt;
	return r->lap;
}

uint64_t vb_graph_run_received(const struct vb_graph_run *r, uint32_t rank)
{
	VB_ASSERT(rank < r->g->rank_cnt);
	return r->received[rank];
}

static int shares_create(struct vb_graph_run *r, uint32_t streams)
{
	const struct vb_sim_memory *m = &r->load->memory;

	r->share = m->alloc(m->ctx, r->load->part_cnt * sizeof *r->share);
	if (!r->share)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->load->part_cnt; i++) {
		struct share *s = &r->share[i];

		s->calcs_mem = m->alloc(m->ctx, vb_eventq_size(streams + 1));
		if (!s->calcs_mem)
			return -ENOMEM;
		vb_eventq_init(&s->calcs, s->calcs_mem, streams + 1);
		s->ready.first = VB_GRAPH_NONE;
	}
	return 0;
}

static int tables_create(struct vb_graph_run *r, uint32_t iterations)
{
	const struct vb_sim_memory *m = &r->load->memory;
	const struct vb_graph *g = r->g;
	uint32_t streams = g->rank_cnt * g->stream_cnt;

	r->left = m->alloc(m->ctx, (g->op_cnt + 1) * sizeof *r->left);
	r->next = m->alloc(m->ctx, (g->op_cnt + 1) * sizeof *r->next);
	r->state = m->alloc(m->ctx, g->op_cnt + 1);
	r->stream = m->alloc(m->ctx, (streams + 1) * sizeof *r->stream);
	r->received = m->alloc(m->ctx, (g->rank_cnt + 1) * sizeof *r->received);
	r->lap = m->alloc(m->ctx, iterations * sizeof *r->lap);
	if (r->load->cfg.nics)
		r->nic = m->alloc(m->ctx, (2 * g->pair_cnt + 1) * sizeof *r->nic);
	if ((r->load->cfg.nics && !r->nic) || !r->left || !r->next || !r->state || !r->stream ||
	    !r->received || !r->lap)
		return -ENOMEM;
	for (uint32_t i = 0; i < streams; i++)
		r->stream[i].first = VB_GRAPH_NONE;
	for (uint32_t i = 0; r->nic && i < 2 * g->pair_cnt; i++)
		r->nic[i] = VB_LOAD_NONE;
	return shares_create(r, streams);
}

int vb_graph_run_create(struct vb_graph_run **out, struct vb_load *l, uint32_t source,
			const struct vb_graph *g)
{
	struct vb_graph_run *r = l->memory.alloc(l->memory.ctx, sizeof *r);

	*out = r;
	if (!r)
		return -ENOMEM;
	r->load = l;
	r->g = g;
	r->source = source;
	return tables_create(r, l->source[source].p.iterations);
}

void vb_graph_run_destroy(struct vb_graph_run *r, const struct vb_sim_memory *memory)
{
	if (!r)
		return;
	for (uint32_t i = 0; r->share && i < r->load->part_cnt; i++)
		if (r->share[i].calcs_mem)
			memory->free(memory->ctx, r->share[i].calcs_mem);

	void *const all[] = {r->left,     r->next, r->state, r->stream, r->share,
			     r->received, r->lap,  r->nic,   r};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i])
			memory->free(memory->ctx, all[i]);
}
