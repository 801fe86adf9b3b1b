/* SPDX-License-Identifier: BSD-2-Clause */
/* Plays a case: the network, its steps, the end in which everything must complete, and what must
 * be left of it: nothing. See play.h. */
#include "play.h"

#include "fault/fault.h"

#include <stdlib.h>
#include <string.h>

#define END_NS (20 * VB_SEC)
#define END_EVENTS 400000u

static void *counted_alloc(void *ctx, size_t size)
{
	struct play *p = ctx;

	p->alloc_cnt++;
	return play_alloc(size);
}

static void counted_free(void *ctx, void *at)
{
	struct play *p = ctx;

	if (!at)
		return;
	CHECK("leak", p->alloc_cnt > 0);
	p->alloc_cnt--;
	free(at);
}

static int make_topology(struct play *p)
{
	const uint32_t *w = p->s->world;
	struct vb_cable c = {.rate_bps = w[WORLD_GBPS] * UINT64_C(1000000000),
			     .delay = w[WORLD_DELAY]};
	struct vb_cable fabric = c;
	uint32_t n = w[WORLD_SIZE];

	if (w[WORLD_SLOW])
		fabric.rate_bps /= w[WORLD_SLOW];
	switch ((enum world_shape)w[WORLD_SHAPE]) {
	case SHAPE_PAIR:
		return vb_sim_topo_pair(&p->topo, &p->memory, &fabric);
	case SHAPE_STAR:
		return vb_sim_topo_star(&p->topo, &p->memory, n, &c);
	case SHAPE_DUMBBELL:
		return vb_sim_topo_dumbbell(&p->topo, &p->memory, n, n, &c, &fabric);
	case SHAPE_PARKING_LOT:
		return vb_sim_topo_parking_lot(&p->topo, &p->memory, n, 2, &c, &fabric);
	case SHAPE_CLOS:
		return vb_sim_topo_clos(&p->topo, &p->memory, 2, n, 2, &c, &fabric);
	default:
		return vb_sim_topo_fat_tree(&p->topo, &p->memory, 4, &c, &fabric);
	}
}

const struct mem *play_mem_at(const struct play *p, const uint8_t *at)
{
	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; p->conn[c].exists && i < 2; i++) {
			const struct end *e = &p->conn[c].end[i];

			if (mem_has(&e->local, at) || mem_has(&e->region, at))
				return mem_has(&e->local, at) ? &e->local : &e->region;
		}
	for (uint32_t i = 0; i < MRS_MAX; i++)
		if (mem_has(&p->mr[i], at))
			return &p->mr[i];
	for (uint32_t i = 0; i < p->hosts * SRQS; i++)
		if (mem_has(&p->srq[i / SRQS][i % SRQS].mem, at))
			return &p->srq[i / SRQS][i % SRQS].mem;
	return dc_mem_at(p, at);
}

static void make_hosts(struct play *p)
{
	const struct vb_mr_attr null = {.kind = VB_MR_NULL, .access = VB_ACCESS_LOCAL_WRITE};

	for (uint32_t h = 0; h < p->hosts; h++) {
		CHECK("call", vb_cq_create(vb_sim_hca(p->sim, h), 4096, &p->queue[h],
					   &p->queue[h].cq) == 0 &&
				  vb_pd_create(vb_sim_hca(p->sim, h), &p->away[h]) == 0);
		if ((p->s->world[WORLD_SEED] >> (4 + h) & 3) == 3) {
			p->queue[h].ring = play_lend(vb_cq_ring_size(p->queue[h].cq));
			vb_cq_place_ring(p->queue[h].cq, p->queue[h].ring);
		}
		if (p->s->world[WORLD_SRQ])
			srq_make(p, h);
		CHECK("call", vb_mr_create(vb_sim_pd(p->sim, h), &null, &p->null[h]) == 0);
	}
}

static struct vb_switch_config switch_config(uint32_t kind)
{
	struct vb_switch_config sw = {
	    .buffer = {.bytes = 64u << 20,
		       .reserve_bytes = 1024,
		       .alpha_1024 = 8192,
		       .xon_gap_bytes = 8192},
	    .ecn = 1,
	    .red = {.kmin = 2000, .kmax = 100000, .pmax_ppm = 100000},
	};

	if (kind == SWITCH_LOSSLESS) {
		sw.buffer.lossless = 1;
		sw.buffer.xoff_bytes = 3000;
	} else if (kind == SWITCH_DROPS) {
		sw.queue_bytes = 10000;
	}
	return sw;
}

static void play_open(struct play *p)
{
	const uint32_t *w = p->s->world;
	const struct vb_sim_app app = {.ctx = p, .on_async = queue_event};

	p->memory = (struct vb_sim_memory){counted_alloc, counted_free, p};
	p->hosts = sequence_hosts(p->s);
	p->next_iova = UINT64_C(0x7000000000);
	CHECK("self", p->hosts <= HOSTS_MAX && make_topology(p) == 0);
	if (w[WORLD_SLOW])
		p->topo.link[0].cable.rate_bps =
		    w[WORLD_GBPS] * UINT64_C(1000000000) / w[WORLD_SLOW];
	p->wild = w[WORLD_SWITCH] == SWITCH_DROPS;

	struct vb_sim_config c = {
	    .seed = w[WORLD_SEED],
	    .topo = &p->topo,
	    .sw = switch_config(w[WORLD_SWITCH]),
	    .hca = {.limits = vb_limits_default,
		    .port[1] = {.active_mtu = VB_MTU_4096},
		    .page_in = mem_page_in,
		    .page_in_ctx = p,
		    .peer_window_bytes = w[WORLD_WINDOW],
		    .read_piece_bytes = w[WORLD_PIECE],
		    .recovery = tune_recovery(w[WORLD_RECOVERY]),
		    .cc = tune_cc(w[WORLD_CC], w[WORLD_GBPS] * UINT64_C(1000000000))},
	    .cqe = 16,
	    .packets_max = 1u << 20,
	    .carry_data = true,
	    .on_packet = play_packet,
	    .trace_ctx = p,
	    .memory = p->memory,
	};

	CHECK("self", vb_sim_create(&p->sim, &c) == 0);
	vb_sim_set_app(p->sim, &app);
	make_hosts(p);
}

/* A QP that has drained sends nothing until it goes on. IBA 10.3.1.5 */
static void end_look(const struct end *e)
{
	if (e->qp && e->drained && vb_qp_get_state(e->qp) == VB_QPS_SQD && vb_qp_unacked(e->qp))
		fail("order", "a QP that has drained sends");
}

/* After every event. */
static void look(struct play *p)
{
	for (uint32_t h = 0; h < p->hosts; h++) {
		host_poll(p, h);
		srq_look(p, h);
	}
	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; p->conn[c].exists && i < 2; i++) {
			mem_check(&p->conn[c].end[i].local);
			mem_check(&p->conn[c].end[i].region);
			end_look(&p->conn[c].end[i]);
		}
	for (uint32_t i = 0; i < MRS_MAX; i++)
		mem_check(&p->mr[i]);
	dc_look(p);
}

static void run_until(struct play *p, vb_time until)
{
	while (vb_sim_next(p->sim) <= until && vb_sim_step(p->sim))
		look(p);
	CHECK("self", vb_sim_run(p->sim, until) == 0);
	look(p);
}

static void play_fault(struct play *p, const struct step *st)
{
	const uint32_t *a = st->arg;
	uint32_t cable = a[FAULT_CABLE] % p->topo.link_cnt, kind = a[FAULT_KIND] % VB_FAULT_QUEUE;
	struct vb_fault_spec spec = {.rule_cnt = 1};
	struct vb_fault_rule *r = &spec.rule[0];

	*r = (struct vb_fault_rule){
	    .kind = (enum vb_fault_kind)kind,
	    .ppb = a[FAULT_PPM] * 1000,
	    .ppb_end = VB_FAULT_ONE / 4,
	    .ppb_in = VB_FAULT_ONE,
	    .time = a[FAULT_US] * VB_USEC,
	    .jitter = kind == VB_FAULT_BLACKOUT ? a[FAULT_US] * 100 * VB_USEC : 0,
	    .filter = {.dirs = VB_FAULT_TX | VB_FAULT_RX,
		       .opcode = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
		       .qpn_hi = UINT32_MAX,
		       .any_psn = true,
		       .msg_hi = UINT64_MAX,
		       .until = VB_NEVER,
		       .skip = a[FAULT_SKIP],
		       .every = 1,
		       .first = a[FAULT_FIRST]},
	};
	if (kind == VB_FAULT_BURST || kind == VB_FAULT_BLACKOUT)
		p->wild = true;
	else if (kind != VB_FAULT_DELAY && kind != VB_FAULT_ECN && kind != VB_FAULT_DUPLICATE)
		p->hits += a[FAULT_FIRST] < FAIR_HITS ? a[FAULT_FIRST] : FAIR_HITS + 1;
	p->wild |= p->hits > FAIR_HITS;
	p->disorder |= kind == VB_FAULT_DUPLICATE || kind == VB_FAULT_REORDER;
	CHECK("self", vb_sim_set_cable_fault(p->sim, cable, &spec) == 0);
}

static void play_heal(struct play *p, const struct step *st)
{
	vb_sim_set_cable_fault(p->sim, st->arg[FAULT_CABLE] % p->topo.link_cnt, NULL);
}

typedef void play_fn(struct play *p, const struct step *st);

static play_fn *const play_step[STEP_KINDS] = {
    [STEP_CONNECT] = play_connect,
    [STEP_POST] = play_post,
    [STEP_RECV] = play_recv,
    [STEP_STATE] = play_state,
    [STEP_RECONNECT] = play_reconnect,
    [STEP_DESTROY] = play_destroy,
    [STEP_FAULT] = play_fault,
    [STEP_HEAL] = play_heal,
    [STEP_MR] = play_keys,
    [STEP_UNMR] = play_keys,
    [STEP_REREG] = play_keys,
    [STEP_PAGE] = play_keys,
    [STEP_LOCATE] = play_keys,
    [STEP_MW] = play_keys,
    [STEP_UNMW] = play_keys,
    [STEP_BIND] = play_bind,
    [STEP_SRQ] = play_srq,
    [STEP_LIMIT] = play_limit,
    [STEP_UNSRQ] = play_unsrq,
    [STEP_REFUSED] = play_refused,
    [STEP_CQ] = play_cq,
    [STEP_NAP] = play_nap,
    [STEP_TUNE] = play_tune,
    [STEP_GROUP] = play_group,
    [STEP_DCT] = play_dc_open,
    [STEP_DCI] = play_dc_open,
    [STEP_DCPOST] = play_dc_post,
    [STEP_DCSTATE] = play_dc_state,
    [STEP_DCSTREAM] = play_dc_stream,
    [STEP_DCRECV] = play_dc_recv,
};

typedef void each_end(struct play *p, struct end *e);

static void each(struct play *p, each_end *f)
{
	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; p->conn[c].exists && i < 2; i++)
			f(p, &p->conn[c].end[i]);
}

static void resume(struct play *p, struct end *e)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_RTS};

	if (e->conn->is_xrc && end_lives(e))
		end_feed(p, e);
	if (!e->qp || p->queue[e->host].lost)
		return;

	enum vb_qp_state s = vb_qp_get_state(e->qp);

	if (s == VB_QPS_SQD && e->drained) {
		CHECK("call", vb_qp_modify(e->qp, &a, VB_QP_STATE, vb_sim_now(p->sim)) == 0);
		e->drained = false;
		vb_sim_touch(p->sim, e->host);
	}
	if (!e->conn->is_xrc && (s == VB_QPS_RTR || s == VB_QPS_RTS || s == VB_QPS_SQD))
		end_feed(p, e);
}

/* A request without a completion of its own gets one behind it that has a completion. */
static void mark(struct play *p, struct end *e)
{
	if (e->qp && e->unsignaled && !p->queue[e->host].lost &&
	    vb_qp_get_state(e->qp) == VB_QPS_RTS)
		end_mark(p, e);
}

static void complete(struct play *p, struct end *e)
{
	queue_check(p, e);
	group_check(p, e);
	if (p->queue[e->host].lost)
		return;
	if (e->qp && (vb_qp_get_state(e->qp) == VB_QPS_ERR || vb_qp_get_state(e->qp) == VB_QPS_SQE))
		end_settle(p, e);
	if (e->qp && e->retired != e->sent_cnt)
		fail("stuck", "request %u (opcode %u) of %u does not complete; QP state %d",
		     e->retired, e->sent[e->retired].op, e->sent_cnt, vb_qp_get_state(e->qp));
	if (e->qp && vb_qp_get_state(e->qp) == VB_QPS_ERR && e->recv_done != e->recv_cnt)
		fail("stuck", "%u receives of a QP in ERR do not come back",
		     e->recv_cnt - e->recv_done);
}

/* The network is well again: all posted work must complete. */
static void finish(struct play *p)
{
	vb_time bound = vb_sim_now(p->sim) + END_NS;
	uint64_t events = vb_sim_events(p->sim) + END_EVENTS;

	p->ending = true;
	tune_end(p);
	for (uint32_t i = 0; i < p->topo.link_cnt; i++)
		vb_sim_set_cable_fault(p->sim, i, NULL);
	for (uint32_t quiet = 0;;) {
		each(p, resume);
		dc_resume(p);
		look(p);
		if (vb_sim_now(p->sim) > bound || vb_sim_events(p->sim) > events)
			fail("endless", "the network is well, and there is no end of packets");
		if (vb_sim_step(p->sim)) {
			look(p);
			continue;
		}
		look(p);
		if (vb_sim_next(p->sim) != VB_NEVER)
			continue;
		/* Twice: a QP that was draining goes on first. */
		if (quiet++ == 2)
			break;
		each(p, mark);
	}
	each(p, complete);
	each(p, end_check);
	dc_check(p);
	for (uint32_t i = 0; i < p->dead_cnt; i++)
		mem_check_frozen(&p->dead[i]);
}

static void drop_end(struct play *p, struct end *e)
{
	group_leave_all(e);
	if (e->qp)
		CHECK("call", vb_qp_destroy(e->qp) == 0);
	if (e->tgt)
		CHECK("call", vb_qp_destroy(e->tgt) == 0);
	e->qp = e->tgt = NULL;
	CHECK("call", vb_mr_destroy(e->local.mr) == 0 && vb_mr_destroy(e->region.mr) == 0);
	(void)p;
}

/* Everything in the right order; an object in use refuses. */
static void tidy(struct play *p)
{
	each(p, drop_end);
	dc_tidy(p);
	for (uint32_t i = 0; i < MWS_MAX; i++)
		if (p->mw[i].mw)
			CHECK("call", vb_mw_destroy(p->mw[i].mw) == 0);
	for (uint32_t i = 0; i < MRS_MAX; i++)
		if (p->mr[i].mr)
			CHECK("call", vb_mr_destroy(p->mr[i].mr) == 0);
	for (uint32_t h = 0; h < p->hosts; h++) {
		srq_destroy(p, h);
		CHECK("call", vb_mr_destroy(p->null[h]) == 0 &&
				  vb_cq_destroy(p->queue[h].cq) == 0 &&
				  vb_pd_destroy(p->away[h]) == 0);
	}
}

static void free_end(struct play *p, struct end *e)
{
	(void)p;
	mem_close(&e->local);
	mem_close(&e->region);
	free(e->sent);
	free(e->recv);
	free(e->ring);
}

static void play_close(struct play *p)
{
	if (p->s->world[WORLD_TIDY])
		tidy(p);
	vb_sim_destroy(p->sim);
	vb_sim_topo_free(&p->topo);
	if (p->alloc_cnt)
		fail("leak", "%llu allocations were not freed", (unsigned long long)p->alloc_cnt);
	each(p, free_end);
	dc_free(p);
	for (uint32_t h = 0; h < p->hosts; h++)
		free(p->queue[h].ring);
	for (uint32_t i = 0; i < p->hosts * SRQS; i++) {
		mem_close(&p->srq[i / SRQS][i % SRQS].mem);
		free(p->srq[i / SRQS][i % SRQS].recv);
		free(p->srq[i / SRQS][i % SRQS].ring);
	}
	for (uint32_t i = 0; i < MRS_MAX; i++)
		mem_close(&p->mr[i]);
	for (uint32_t i = 0; i < p->dead_cnt; i++)
		mem_close(&p->dead[i]);
	free(p->dead);
}

void sequence_play(const struct sequence *s, bool verbose, struct play_count *count)
{
	static struct play p;

	p = (struct play){.s = s, .verbose = verbose};
	play_open(&p);
	for (uint32_t i = 0; i < s->cnt; i++) {
		run_until(&p, vb_sim_now(p.sim) + s->step[i].after);
		p.at = i;
		if (verbose)
			printf("%12llu step %u\n", (unsigned long long)vb_sim_now(p.sim), i);
		play_step[s->step[i].kind](&p, &s->step[i]);
		look(&p);
	}
	finish(&p);
	play_close(&p);
	*count = p.count;
}
