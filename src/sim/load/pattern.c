/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns: which flows there are, and which follow from others. See load.h. */
#include "base/assert.h"
#include "sim/load/graph/run.h"
#include "sim/parts.h"

#include <errno.h>

static enum vb_load_op draw_op(const struct vb_load_pattern *p, struct vb_rng *rng)
{
	uint32_t sum = 0, i = 0;

	for (uint32_t k = 0; k < VB_LOAD_OP_CNT; k++)
		sum += p->mix[k];
	if (sum == 0)
		return VB_LOAD_WRITE;

	uint32_t u = vb_rng_below(rng, sum);

	for (; u >= p->mix[i]; i++)
		u -= p->mix[i];
	VB_ASSERT_ALL(i < VB_LOAD_OP_CNT);
	return (enum vb_load_op)i;
}

static int flow_of(struct vb_load *l, struct vb_load_source *s, uint32_t src, uint32_t dst,
		   uint64_t bytes, uint32_t step, vb_time start)
{
	struct vb_flow f = {
	    .src = src,
	    .dst = dst,
	    .bytes = bytes,
	    .start = start,
	    .step = step,
	    .pattern = (uint16_t)(s - l->source),
	    .op = (uint8_t)draw_op(&s->p, &s->rng),
	};

	/* A load that waits for arrivals needs to see them. */
	if (s->p.shape == VB_LOAD_PING_PONG || s->p.shape == VB_LOAD_MULTICAST ||
	    l->cfg.type == VB_QPT_UD)
		f.op = VB_LOAD_SEND;
	s->made++;
	VB_ASSERT_ALL(vb_nic_host(l->cfg.nics, src) < l->hosts &&
		      (vb_nic_host(l->cfg.nics, dst) < l->hosts || vb_flow_is_to_group(&f)));
	return vb_load_flow_new(l, &f);
}

/* Each host but one swaps with an earlier one: a random cycle, so that nobody sends to itself. */
static int add_permutation(struct vb_load *l, struct vb_load_source *s)
{
	uint32_t n = s->p.hosts;
	uint32_t *to = l->memory.alloc(l->memory.ctx, n * sizeof *to);
	int err = 0;

	if (!to)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		to[i] = i;
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t k = vb_rng_below(&s->rng, i), t = to[i];

		to[i] = to[k];
		to[k] = t;
	}
	for (uint32_t i = 0; !err && i < n; i++)
		err = flow_of(l, s, i, to[i], s->p.bytes, 0, s->p.start);
	l->memory.free(l->memory.ctx, to);
	return err;
}

static int add_all_to_all(struct vb_load *l, struct vb_load_source *s)
{
	uint32_t n = s->p.hosts, last = s->p.parallel ? s->p.parallel : n - 1;
	int err = 0;

	for (uint32_t d = 1; !err && d <= last && d < n; d++) {
		for (uint32_t i = 0; !err && i < n; i++)
			err = flow_of(l, s, i, (i + d) % n, s->p.bytes, d, s->p.start);
	}
	return err;
}

/* The place of the host among the members of a group; their number: it is none. */
static uint32_t member_index(const struct vb_load *l, uint32_t group, uint32_t host)
{
	const struct vb_load_group *g = &l->group[group];
	uint32_t i = 0;

	while (i < g->member_cnt && g->member[i].host != host)
		i++;
	return i;
}

static int add_multicast(struct vb_load *l, struct vb_load_source *s)
{
	const struct vb_load_group *g = &l->group[s->p.group];
	uint32_t first = member_index(l, s->p.group, s->p.src);
	int err = 0;

	for (uint32_t i = 0; !err && i < s->p.flows; i++)
		err = flow_of(l, s, g->member[(first + i) % g->member_cnt].host,
			      VB_LOAD_GROUP | s->p.group, s->p.bytes, 0, s->p.start);
	return err;
}

/* Of all NICs of a host together. */
static uint64_t host_kbps(const struct vb_load *l, uint32_t host)
{
	const struct vb_nics *n = l->cfg.nics;
	uint64_t sum = 0;

	for (uint32_t i = n ? n->first[host] : host; i < (n ? n->first[host + 1] : host + 1); i++)
		sum += vb_sim_port_rate(l->sim, vb_sim_host_port(l->sim, i)) / 1000;
	return sum;
}

/* Hosts send in proportion to their cables: so each is loaded as the others are. */
static int sum_rates(struct vb_load *l, struct vb_load_source *s)
{
	uint64_t sum = 0, first = host_kbps(l, 0);
	bool differ = false;

	for (uint32_t i = 1; i < s->p.hosts; i++)
		differ |= host_kbps(l, i) != first;
	if (!differ)
		return 0;
	s->rate_sum = l->memory.alloc(l->memory.ctx, s->p.hosts * sizeof *s->rate_sum);
	if (!s->rate_sum)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->p.hosts; i++)
		s->rate_sum[i] = sum += host_kbps(l, i);
	return 0;
}

static uint32_t draw_source(struct vb_load_source *s)
{
	uint32_t n = s->p.hosts, low = 0, high = n - 1;
	uint64_t u;

	if (!s->rate_sum)
		return vb_rng_below(&s->rng, n);
	u = vb_rng_next(&s->rng) % s->rate_sum[n - 1];
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->rate_sum[mid] <= u)
			low = mid + 1;
		else
			high = mid;
	}
	VB_ASSERT_ALL(u < s->rate_sum[low] && (low == 0 || s->rate_sum[low - 1] <= u));
	return low;
}

/* An exponentially distributed span. */
static vb_dur draw_span(vb_dur mean, struct vb_rng *rng)
{
	vb_dur span = mean * (vb_exp_draw(rng) >> 16) >> 16;

	return span ? span : 1;
}

/* @gap times @part / @whole, that in 20 bits. */
static uint64_t share_of(uint64_t gap, vb_dur part, vb_dur whole)
{
	uint64_t share = (part << 20) / whole;

	return gap >> 43 ? (gap >> 20) * share : gap * share >> 20;
}

/* Each host is in either phase as often as it is over a long time: what is left of a phase is
 * distributed as a whole one. */
static int begin_phases(struct vb_load *l, struct vb_load_source *s)
{
	uint32_t pattern = (uint32_t)(s - l->source);

	if (s->p.on == 0)
		return 0;
	s->phase = l->memory.alloc(l->memory.ctx, s->p.hosts * sizeof *s->phase);
	if (!s->phase)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->p.hosts; i++) {
		struct vb_load_phase *p = &s->phase[i];

		p->rng = vb_rng_stream(vb_sim_seed(l->sim), "on-off", pattern << 20 | i);
		p->is_on = vb_rng_next(&p->rng) % (s->p.on + s->p.off) < s->p.on;
		p->end = s->p.start + draw_span(p->is_on ? s->p.on : s->p.off, &p->rng);
	}
	return 0;
}

static bool is_host_on(struct vb_load_source *s, uint32_t host, vb_time now)
{
	struct vb_load_phase *p;

	if (!s->phase)
		return true;
	p = &s->phase[host];
	while (p->end <= now) {
		p->is_on = !p->is_on;
		p->end += draw_span(p->is_on ? s->p.on : s->p.off, &p->rng);
	}
	return p->is_on;
}

static int add_poisson(struct vb_load *l, struct vb_load_source *s)
{
	uint64_t mean = s->p.sizes ? vb_size_mean(s->p.sizes) : s->p.bytes;
	uint64_t kbps = host_kbps(l, 0);
	int err = sum_rates(l, s);

	if (s->rate_sum)
		kbps = s->rate_sum[s->p.hosts - 1] / s->p.hosts;
	VB_ASSERT(kbps > 0);
	/* bytes * 8e9 ns / rate, over the load and the hosts. */
	s->gap_q8 = mean * UINT64_C(2048000000) / kbps * 1000 / s->p.load_ppm * 1000 / s->p.hosts;
	/* Arrivals at hosts that are off come to nothing: so there are more of them. */
	if (s->p.on)
		s->gap_q8 = share_of(s->gap_q8, s->p.on, s->p.on + s->p.off);
	s->next_q8 = s->p.start << 8;
	vb_load_source_wait(l, (uint32_t)(s - l->source), s->p.start);
	return err ? err : begin_phases(l, s);
}

/* Takes the next item of a list, and waits for its start. */
static int item_await(struct vb_load *l, struct vb_load_source *s, vb_time now)
{
	int rc = s->p.list->next(s->p.list->ctx, &s->item);

	if (rc <= 0) {
		l->failure = rc < 0 ? rc : l->failure;
		return rc;
	}
	s->item.start = vb_time_after(s->p.start, s->item.start);
	if (vb_nic_host(l->cfg.nics, s->item.src) >= s->p.hosts ||
	    vb_nic_host(l->cfg.nics, s->item.dst) >= s->p.hosts ||
	    !vb_nic_can(l->cfg.nics, s->item.src, s->item.dst) || s->item.op > VB_LOAD_OP_CNT ||
	    s->item.start < now) {
		l->failure = -EINVAL;
		return -EINVAL;
	}
	vb_load_source_wait(l, (uint32_t)(s - l->source), s->item.start);
	return 0;
}

static void item_start(struct vb_load *l, struct vb_load_source *s, vb_time now)
{
	struct vb_flow f = {.src = s->item.src,
			    .dst = s->item.dst,
			    .bytes = s->item.bytes,
			    .start = now,
			    .pattern = (uint16_t)(s - l->source),
			    .traffic_class = s->item.traffic_class,
			    .op = s->item.op};

	if (f.op == VB_LOAD_OP_CNT)
		f.op = l->cfg.type == VB_QPT_UD ? VB_LOAD_SEND : (uint8_t)draw_op(&s->p, &s->rng);
	VB_ASSERT_ALL(s->item.start == now);
	s->made++;
	if (vb_load_flow_new(l, &f) == 0)
		(void)item_await(l, s, now);
}

/* A flow from a random host to another one, unless that host is off. False: it was the last. */
static bool arrival_take(struct vb_load *l, struct vb_load_source *s, vb_time now)
{
	uint32_t n = s->p.hosts, src = draw_source(s);
	uint32_t dst = (src + 1 + vb_rng_below(&s->rng, n - 1)) % n;
	uint64_t bytes = s->p.sizes ? vb_size_draw(s->p.sizes, &s->rng) : s->p.bytes;

	if (!is_host_on(s, src, now))
		return true;
	return flow_of(l, s, src, dst, bytes, 0, now) == 0 && s->made < s->p.flows;
}

void vb_pattern_on_arrival(struct vb_load *l, struct vb_load_source *s, vb_time now)
{
	if (s->p.shape == VB_LOAD_LIST) {
		item_start(l, s, now);
		return;
	}
	if (s->run) {
		int err = vb_load_source_connect(l, s);

		if (err)
			l->failure = err;
		else
			vb_graph_run_on_time(s->run, now);
		return;
	}

	/* The first call only draws the first gap. */
	if ((now > s->p.start || s->next_q8 >> 8 > s->p.start) && !arrival_take(l, s, now))
		return;
	s->next_q8 += s->gap_q8 * (vb_exp_draw(&s->rng) >> 16) >> 16;

	vb_time at = s->next_q8 >> 8;

	vb_load_source_wait(l, (uint32_t)(s - l->source), at < now ? now : at);
}

static struct vb_load_source *source_of(struct vb_load *l, const struct vb_flow *f)
{
	return f->pattern < l->source_cnt ? &l->source[f->pattern] : NULL;
}

/* A node of a flow as an end of another one, which has the same NIC then. */
static uint32_t end_of(const struct vb_load *l, uint32_t node)
{
	return l->cfg.nics ? VB_LOAD_NIC | node : node;
}

bool vb_pattern_is_closed_loop(const struct vb_load_pattern *p)
{
	return p->shape == VB_LOAD_PING_PONG || p->shape == VB_LOAD_COLLECTIVE ||
	       p->shape == VB_LOAD_GRAPH || (p->shape == VB_LOAD_ALL_TO_ALL && p->parallel > 0);
}

/* The other end of a flow in flight may write to its record: so what follows reads of it only what
 * is there from the beginning. */
static void flow_follow(struct vb_load *l, const struct vb_flow *before, uint32_t src, uint32_t dst,
			uint32_t step, vb_time now)
{
	struct vb_load_source *s = source_of(l, before);
	struct vb_flow f = {.src = src,
			    .dst = dst,
			    .bytes = before->bytes,
			    .start = now,
			    .step = step,
			    .pattern = before->pattern,
			    .op = VB_LOAD_SEND};
	/* Flows of several hosts draw without an order among them. */
	struct vb_rng rng =
	    vb_rng_stream(vb_sim_seed(l->sim) + before->pattern, "mix", (uint64_t)src << 32 | step);

	if (s->p.shape == VB_LOAD_ALL_TO_ALL && l->cfg.type != VB_QPT_UD)
		f.op = (uint8_t)draw_op(&s->p, &rng);
	vb_load_flow_follow(l, &f);
}

void vb_pattern_on_delivered(struct vb_load *l, uint32_t flow, vb_time now)
{
	const struct vb_flow *f = &l->flow[flow];
	struct vb_load_source *s = source_of(l, f);

	if (!s)
		return;
	if (s->run)
		vb_graph_run_on_arrival(s->run, f->step, now);
	if (s->p.shape == VB_LOAD_PING_PONG && f->step + 1 < s->p.flows)
		flow_follow(l, f, end_of(l, f->dst), end_of(l, f->src), f->step + 1, now);
}

void vb_pattern_on_done(struct vb_load *l, uint32_t flow, vb_time now)
{
	const struct vb_flow *f = &l->flow[flow];
	struct vb_load_source *s = source_of(l, f);
	uint32_t step = f->step;

	if (!s)
		return;
	if (s->run && f->status == VB_WC_SUCCESS)
		vb_graph_run_on_completion(s->run, step, now);
	if (s->p.shape != VB_LOAD_ALL_TO_ALL || s->p.parallel == 0)
		return;
	step += s->p.parallel;

	uint32_t src = vb_nic_host(l->cfg.nics, end_of(l, f->src));

	if (step < s->p.hosts)
		flow_follow(l, f, src, (src + step) % s->p.hosts, step, now);
}

const char *vb_load_wrong(const struct vb_load_config *c, const struct vb_load_pattern *p,
			  uint32_t hosts)
{
	uint64_t weights = 0, mean = p->sizes ? vb_size_mean(p->sizes) : p->bytes;
	uint32_t n = p->hosts ? p->hosts : hosts;

	for (uint32_t k = 0; k < VB_LOAD_OP_CNT; k++)
		weights += p->mix[k];
	if (n < 2 || n > hosts)
		return "takes 2 hosts and no more than there are";
	if (weights > UINT32_MAX)
		return "has a mix with weights that are too large together";
	if (c->type == VB_QPT_UC && (p->mix[VB_LOAD_READ] || p->mix[VB_LOAD_ATOMIC]))
		return "mixes READs or atomics in, which UC does not have";
	if ((c->type == VB_QPT_UD || p->shape == VB_LOAD_MULTICAST) &&
	    weights > p->mix[VB_LOAD_SEND])
		return "mixes something else than SENDs in, which UD does not have";
	switch (p->shape) {
	case VB_LOAD_SINGLE:
	case VB_LOAD_PING_PONG:
		if (vb_nic_host(c->nics, p->src) >= n || vb_nic_host(c->nics, p->dst) >= n ||
		    vb_nic_host(c->nics, p->src) == vb_nic_host(c->nics, p->dst))
			return "is from a host to another one of those that take part";
		return vb_nic_can(c->nics, p->src, p->dst)
			   ? NULL
			   : "is from a NIC to another one that it does not reach";
	case VB_LOAD_INCAST:
		if (vb_nic_host(c->nics, p->dst) >= n)
			return "is to one of the hosts that take part";
		return p->flows >= 1 && p->flows < n
			   ? NULL
			   : "has a count of 1 up to all hosts but the one that receives";
	case VB_LOAD_POISSON:
		if (p->load_ppm == 0 || p->load_ppm > 10000000)
			return "has a load above 0 and up to 1000 %";
		if (mean == 0 || mean > 1u << 30)
			return "has flows of 1 byte up to 1 GiB on average";
		if ((p->on == 0) != (p->off == 0))
			return "has both on and off, or neither";
		return p->flows >= 1 ? NULL : "has a count of 1 and more";
	case VB_LOAD_LIST:
		return p->list ? NULL : "has no list of flows";
	case VB_LOAD_COLLECTIVE:
	case VB_LOAD_GRAPH:
		return vb_graph_source_wrong(c, p, hosts);
	default:
		return (uint32_t)p->shape < VB_LOAD_SHAPE_CNT ? NULL : "has no such shape";
	}
}

const char *vb_load_parts_wrong(const struct vb_load_config *c, const struct vb_load_pattern *p,
				bool data, vb_dur lookahead)
{
	if (data)
		return "has payloads with bytes, which both ends of a flow compare";
	if (c->receive_delay)
		return "has a delay of receives, for which the load has one clock";
	if (!p)
		return NULL;
	if (p->shape == VB_LOAD_MULTICAST)
		return "has flows to groups, which all members count together";
	if (c->nics && vb_pattern_is_closed_loop(p))
		return "has flows that follow from others between hosts with several NICs, which "
		       "take them in one order";
	if (p->new_connections && vb_pattern_is_closed_loop(p))
		return "has flows that follow from others by connections of their own, which are "
		       "made at both ends at once";
	if (p->graph && p->graph->has_far_edges)
		return "has a graph with requirements between ranks";
	if ((p->shape == VB_LOAD_COLLECTIVE || p->shape == VB_LOAD_GRAPH) && p->iterations > 1 &&
	    p->pause < lookahead)
		return "has iterations with a pause (compute) that is shorter than the time that a "
		       "frame "
		       "takes from one part to another";
	return NULL;
}

const char *vb_load_group_wrong(const struct vb_load *l, const struct vb_load_pattern *p)
{
	const struct vb_load_group *g = &l->group[p->group % VB_SIM_GROUPS];

	if (p->shape != VB_LOAD_MULTICAST)
		return NULL;
	if (p->group >= l->group_cnt)
		return "is to one of the groups, which count from 0";
	if (member_index(l, p->group, p->src) == g->member_cnt)
		return "is from a member of its group";
	if (p->flows < 1 || p->flows > g->member_cnt)
		return "has a count of 1 up to all members of its group";
	if (p->bytes / vb_load_datagram_bytes(l) >= UINT32_MAX / g->member_cnt)
		return "has more messages for all members together than can be counted";
	return NULL;
}

static int pattern_begin(struct vb_load *l, struct vb_load_source *s)
{
	const struct vb_load_pattern *p = &s->p;
	uint32_t n = p->hosts, to = vb_nic_host(l->cfg.nics, p->dst);
	int err = 0;

	switch (p->shape) {
	case VB_LOAD_SINGLE:
	case VB_LOAD_PING_PONG:
		return flow_of(l, s, p->src, p->dst, p->bytes, 0, p->start);
	case VB_LOAD_INCAST:
		for (uint32_t i = 1; !err && i <= p->flows; i++)
			err = flow_of(l, s, (to + i) % n, p->dst, p->bytes, 0, p->start);
		return err;
	case VB_LOAD_PERMUTATION:
		return add_permutation(l, s);
	case VB_LOAD_ALL_TO_ALL:
		return add_all_to_all(l, s);
	case VB_LOAD_POISSON:
		return add_poisson(l, s);
	case VB_LOAD_MULTICAST:
		return add_multicast(l, s);
	case VB_LOAD_LIST:
		return item_await(l, s, p->start);
	case VB_LOAD_COLLECTIVE:
	case VB_LOAD_GRAPH:
		return vb_graph_source_begin(l, s);
	case VB_LOAD_SHAPE_CNT:
		break;
	}
	return -EINVAL;
}

int vb_load_add(struct vb_load *l, const struct vb_load_pattern *p)
{
	struct vb_load_source *s = &l->source[l->source_cnt];
	struct vb_load_pattern own = *p;

	if (l->source_cnt == VB_LOAD_PATTERNS_MAX)
		return -ENOMEM;
	if (own.hosts == 0)
		own.hosts = l->hosts;
	if (own.start < vb_sim_now(l->sim))
		own.start = vb_sim_now(l->sim);

	int err;

	if (vb_load_wrong(&l->cfg, &own, l->hosts) || vb_load_group_wrong(l, &own) ||
	    (vb_sim_part_cnt(l->sim) > 1 &&
	     vb_load_parts_wrong(&l->cfg, &own, false, vb_sim_lookahead(l->sim))))
		return -EINVAL;
	*s = (struct vb_load_source){
	    .p = own, .rng = vb_rng_stream(vb_sim_seed(l->sim), "load", l->source_cnt)};
	l->source_cnt++;
	err = pattern_begin(l, s);
	vb_load_arm(l);
	return err;
}

int vb_load_add_flow(struct vb_load *l, uint32_t src, uint32_t dst, enum vb_load_op op,
		     uint64_t bytes, vb_time start)
{
	struct vb_flow f = {.src = src,
			    .dst = dst,
			    .op = (uint8_t)op,
			    .bytes = bytes,
			    .start = start,
			    .pattern = UINT16_MAX};

	if (vb_nic_host(l->cfg.nics, src) >= l->hosts ||
	    vb_nic_host(l->cfg.nics, dst) >= l->hosts || !vb_nic_can(l->cfg.nics, src, dst) ||
	    op >= VB_LOAD_OP_CNT || start < vb_sim_now(l->sim) ||
	    (l->cfg.type == VB_QPT_UC && (op == VB_LOAD_READ || op == VB_LOAD_ATOMIC)) ||
	    (l->cfg.type == VB_QPT_UD && op != VB_LOAD_SEND))
		return -EINVAL;

	int err = vb_load_flow_new(l, &f);

	vb_load_arm(l);
	return err;
}
