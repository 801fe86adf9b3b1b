/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gathers all that is known of the QPs of this host. Processes that answer say how their QPs stand.
 * Slot memory holds their histories, whether its owner runs or not; the broker keeps the histories
 * of processes that are gone. The other ends are asked as well. Everything in slot memory is
 * another program's word.
 */
#include "cmd/explain/explain.h"

#include "cmd/json.h"
#include "explain/path/path.h"
#include "fault/fault.h"
#include "node/host/clock.h"
#include "node/host/process.h"
#include "node/netdev/reachability.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A copy of a slot's contents. */
struct process {
	bool answered, is_stopped;
	const struct vb_slot_shm *shm;
	uint32_t pid, slot;
	char comm[16];
	struct vb_explain_shm said; /* histories aside */
};

struct gather {
	struct vb_broker_observer o;
	struct vb_host_shm host;
	struct vb_qp_cases *c;
	struct vb_explain_nodes *nodes; /* NULL: programs of this host's own adapter */
	struct process *process[VB_SLOT_CNT];
};

static int read_process(struct gather *g, uint32_t k, uint32_t asked)
{
	const struct vb_slot_shm *s = g->o.slot[k];
	const struct vb_explain_shm *x = &s->explain;
	struct process *p = calloc(1, sizeof *p);

	if (!p)
		return -ENOMEM;
	g->process[k] = p;
	p->shm = s;
	p->pid = s->pid;
	p->slot = k;
	vb_printable(p->comm, sizeof p->comm, s->comm);
	p->is_stopped = vb_process_is_stopped((pid_t)p->pid);
	/* The head, then as many views as it says there are. */
	vb_explain_read(x, x, &p->said, offsetof(struct vb_explain_shm, histories));
	p->answered = p->said.answered == asked;
	if (p->said.view_cnt > VB_VIEWS)
		p->said.view_cnt = VB_VIEWS;
	vb_explain_read(x, x->view, p->said.view, p->said.view_cnt * sizeof x->view[0]);
	for (uint32_t i = 0; i < p->said.view_cnt; i++)
		vb_view_heal(&p->said.view[i]);
	if (!p->answered)
		g->c->mute_cnt++;
	if (p->said.qp_cnt > p->said.view_cnt)
		g->c->unseen += p->said.qp_cnt - p->said.view_cnt;
	return 0;
}

static struct vb_qp_case *case_new(struct vb_qp_cases *c)
{
	if (c->cnt == c->room) {
		uint32_t room = c->room ? c->room * 2 : 64;
		struct vb_qp_case *at = realloc(c->at, room * sizeof *at);

		if (!at)
			return NULL;
		c->at = at;
		c->room = room;
	}
	memset(&c->at[c->cnt], 0, sizeof c->at[0]);
	return &c->at[c->cnt++];
}

/* The node in entry @i, of a fabric; it stands for the device. */
static void name_node(const struct gather *g, uint32_t i, struct vb_qp_case *k)
{
	if (!g->nodes)
		return;
	memcpy(k->node, g->nodes->node[i], sizeof k->node);
	snprintf(k->device, sizeof k->device, "%.31s", k->node);
}

static void name_device(const struct gather *g, struct vb_qp_case *k)
{
	uint32_t port = vb_case_view(k)->attr.port;

	if (port >= 1 && port <= VB_DEVICES_MAX && g->host.device[port - 1].ifindex)
		vb_printable(k->device, sizeof k->device, g->host.device[port - 1].name);
}

/* Takes a history out of another program's memory. */
static void take_history(struct vb_qp_case *k, const struct vb_qp_history *t)
{
	k->history = *t;
	vb_view_heal(&k->history.view);
	k->has_history = true;
	k->qpn = t->qpn;
}

static int add_process(struct gather *g, const struct process *p)
{
	static struct vb_qp_histories histories;
	const struct vb_explain_shm *x = &p->shm->explain;
	uint32_t first = g->c->cnt;

	for (uint32_t i = 0; i < p->said.view_cnt; i++) {
		struct vb_qp_case *k = case_new(g->c);

		if (!k)
			return -ENOMEM;
		k->view = p->said.view[i];
		k->has_view = true;
		k->qpn = k->view.qpn;
	}
	vb_explain_read(x, x->histories.used, histories.used, sizeof histories.used);
	g->c->lost += x->histories.lost;
	for (uint32_t i = 0; i < VB_QP_HISTORIES; i++) {
		struct vb_qp_history *t = &histories.history[i];
		struct vb_qp_case *k = NULL;

		if (!vb_qp_histories_at(&histories, i))
			continue;
		vb_explain_read(x, &x->histories.history[i], t, sizeof *t);
		if (t->state == VB_QP_HISTORY_NONE || t->state > VB_QP_HISTORY_FAILED)
			continue;
		for (uint32_t n = first; n < g->c->cnt && !k; n++)
			if (g->c->at[n].has_view && g->c->at[n].qpn == t->qpn)
				k = &g->c->at[n];
		/* Of a QP that is gone, what was overcome is of no interest. */
		if (!k && t->state == VB_QP_HISTORY_RECOVERED)
			continue;
		if (!k)
			k = case_new(g->c);
		if (!k)
			return -ENOMEM;
		take_history(k, t);
	}
	for (uint32_t n = first; n < g->c->cnt; n++) {
		struct vb_qp_case *k = &g->c->at[n];

		k->pid = p->pid;
		name_node(g, p->slot, k);
		memcpy(k->comm, p->comm, sizeof k->comm);
		k->in.owner = p->is_stopped ? VB_OWNER_STOPPED : VB_OWNER_RUNS;
		k->in.link_full = p->said.link_full;
	}
	return 0;
}

/* The last verbs that a process was refused. */
static int add_refused(struct gather *g, const struct process *p)
{
	uint32_t cnt = p->said.refused_cnt;
	uint32_t n = cnt < VB_REFUSED_CNT ? cnt : VB_REFUSED_CNT;
	struct vb_refused_case *to =
	    realloc(g->c->refused, (g->c->refused_cnt + n + 1) * sizeof *to);

	if (!to)
		return -ENOMEM;
	g->c->refused = to;
	for (uint32_t i = cnt - n; i != cnt; i++) {
		struct vb_refused r = p->said.refused[i % VB_REFUSED_CNT];

		if (!r.err)
			continue;
		to = &g->c->refused[g->c->refused_cnt++];
		to->pid = p->pid;
		memcpy(to->comm, p->comm, sizeof to->comm);
		r.text[sizeof r.text - 1] = 0;
		to->refused = r;
		vb_printable(to->refused.text, sizeof r.text, r.text);
	}
	return 0;
}

/* Rules that took packets of the process of @k away. */
static void take_faults(struct vb_qp_case *k, struct vb_fault_status *st)
{
	uint64_t losses = vb_fault_status_losses(st);

	k->in.fault_hits += losses;
	if (k->in.fault_hits)
		vb_printable(k->faults, sizeof k->faults, st->rules.text);
}

static int add_past(struct gather *g)
{
	const struct vb_past *past = vb_broker_past(&g->o);
	struct vb_fault_status fault;

	for (uint32_t i = 0; i < VB_PAST_QPS; i++) {
		const struct vb_past_qp *t = &past->history[i];
		struct vb_qp_case *k;

		if (!t->ended || t->ended + VB_PAST_NS < g->c->now ||
		    t->history.state == VB_QP_HISTORY_NONE ||
		    t->history.state > VB_QP_HISTORY_FAILED)
			continue;
		k = case_new(g->c);
		if (!k)
			return -ENOMEM;
		take_history(k, &t->history);
		k->ended = t->ended;
		k->pid = t->pid;
		name_node(g, VB_SLOT_CNT + i, k);
		vb_printable(k->comm, sizeof k->comm, t->comm);
		k->in.owner = VB_OWNER_ENDED;
		k->peer.send_errno = t->error.err;
		k->peer.send_err_cnt = t->error.cnt;
		k->peer.send_err_at = t->error.at;
		fault = t->fault;
		take_faults(k, &fault);
	}
	return 0;
}

/* The process and QP that @v sends to, on this host. */
static void find_peer_here(const struct gather *g, const struct vb_qp_view *v, struct vb_qp_case *k)
{
	const struct process *p = g->process[vb_slot_of_qpn(v->attr.dest_qpn)];
	bool all;

	k->peer.there = VB_PEER_NO_PROCESS;
	if (!p)
		return;
	k->peer.pid = p->pid;
	memcpy(k->peer.comm, p->comm, sizeof k->peer.comm);
	k->peer.is_stopped = p->is_stopped;
	all = p->answered && p->said.qp_cnt <= p->said.view_cnt;
	k->peer.there = all ? VB_PEER_NO_QP : VB_PEER_QP;
	for (uint32_t i = 0; i < p->said.view_cnt; i++) {
		if (p->said.view[i].qpn != v->attr.dest_qpn)
			continue;
		k->peer.there = VB_PEER_QP;
		k->peer_qp = p->said.view[i];
		k->peer.qp = &k->peer_qp;
	}
}

/* ... of a process that has ended: a program that has come later may have the number now. */
static void find_peer_of_past(const struct gather *g, const struct vb_qp_view *v,
			      struct vb_qp_case *k)
{
	struct vb_peer_facts none = k->peer;

	find_peer_here(g, v, k);
	if (k->peer.there != VB_PEER_NO_PROCESS &&
	    !(k->peer.is_stopped && k->peer.qp &&
	      (k->peer.qp->type == VB_QPT_DCT || k->peer.qp->attr.dest_qpn == v->qpn)))
		k->peer = none;
}

/* The newest history of QP @v's peer that refused it something for good. */
static void find_denial(const struct gather *g, const struct vb_qp_view *v, struct vb_qp_case *k)
{
	const struct vb_trace_event *found = NULL;

	for (uint32_t i = 0; i < g->c->cnt; i++) {
		const struct vb_qp_case *p = &g->c->at[i];
		const struct vb_trace_event *ev;

		if (!p->has_history || p->qpn != v->attr.dest_qpn ||
		    p->history.state != VB_QP_HISTORY_FAILED ||
		    (p->history.view.type != VB_QPT_DCT && p->history.view.attr.dest_qpn != v->qpn))
			continue;
		ev = vb_explain_last(&p->history, UINT64_C(1) << VB_TRACE_REFUSED);
		if (ev && (!found || ev->time > found->time))
			found = ev;
	}
	if (found)
		k->peer.denial = vb_denial_read(found);
}

/* A QP that the address of @v answers, other than the one of @v. */
static uint32_t answered_there(const struct gather *g, const struct vb_qp_view *v)
{
	for (uint32_t i = 0; i < g->c->cnt; i++) {
		const struct vb_qp_case *k = &g->c->at[i];

		if (k->has_view && k->qpn != v->qpn && k->view.state == VB_QPS_RTS &&
		    k->view.is_acked_once && k->view.rto.timeout_cnt == 0 &&
		    vb_gid_eq(&k->view.attr.path.dgid, &v->attr.path.dgid))
			return k->qpn;
	}
	return 0;
}

static void find_error(const struct gather *g, const struct vb_gid *to, struct vb_qp_case *k)
{
	for (uint32_t n = 0; n < VB_SLOT_CNT; n++) {
		const struct process *p = g->process[n];

		for (uint32_t i = 0; p && p->pid == k->pid && i < VB_SEND_ERRORS; i++) {
			const struct vb_send_error *e = &p->said.error[i];

			if (!e->err || !vb_gid_eq(&e->gid, to))
				continue;
			k->peer.send_errno = e->err;
			k->peer.send_err_cnt = e->cnt;
			k->peer.send_err_at = e->at;
		}
	}
}

static void find_faults(const struct gather *g, uint32_t port, struct vb_qp_case *k)
{
	struct vb_fault_status st;

	for (uint32_t n = 0; n < VB_SLOT_CNT; n++)
		if (g->process[n] && g->process[n]->pid == k->pid &&
		    vb_fault_status_read(g->process[n]->shm, port - 1, &st))
			take_faults(k, &st);
}

/* The facts about the other end of a connection in trouble. */
static void find_facts(const struct gather *g, const struct vb_qp_view *v, struct vb_qp_case *k,
		       struct vb_path_view way[2])
{
	const struct vb_gid *to = &v->attr.path.dgid;
	uint32_t port = v->attr.port;
	bool here = vb_explain_is_here(&g->host, to);

	(void)way;
	if (here)
		find_denial(g, v, k);
	if (k->ended) {
		if (here)
			find_peer_of_past(g, v, k);
		return;
	}
	find_error(g, to, k);
	k->peer.answered_qpn = answered_there(g, v);
	if (port >= 1 && port <= VB_DEVICES_MAX)
		find_faults(g, port, k);
	if (here) {
		find_peer_here(g, v, k);
	} else if (port >= 1 && port <= VB_DEVICES_MAX) {
		k->peer.route_errno = vb_reachability_route(to, g->host.device[port - 1].ifindex);
		k->peer.neighbour = vb_reachability_neighbour(to);
	}
}

/* At a node of a fabric: both programs are on this host, and the ways between them are known. */
static void find_facts_of_node(const struct gather *g, const struct vb_qp_view *v,
			       struct vb_qp_case *k, struct vb_path_view way[2])
{
	find_denial(g, v, k);
	k->in.way = way;
	k->in.way_cnt = vb_explain_ways_ask(g->nodes->fabric, k->node, v, way);
	if (k->ended) {
		find_peer_of_past(g, v, k);
		return;
	}
	if (v->attr.port >= 1 && v->attr.port <= VB_DEVICES_MAX)
		find_faults(g, v->attr.port, k);
	find_peer_here(g, v, k);
}

static void judge_case(struct gather *g, struct vb_qp_case *k)
{
	const struct vb_qp_view *v = vb_case_view(k);
	static struct vb_path_view way[2];
	bool is_connected = v->type != VB_QPT_UD;

	if (!g->nodes)
		name_device(g, k);
	if (is_connected && v->state >= VB_QPS_RTR &&
	    (k->has_history || v->rto.timeout_cnt || v->unacked || v->unsent))
		(g->nodes ? find_facts_of_node : find_facts)(g, v, k, way);
	k->in.now = g->c->now;
	k->in.view = k->has_view ? &k->view : NULL;
	k->in.history = k->has_history ? &k->history : NULL;
	k->in.peer = is_connected ? &k->peer : NULL;
	k->in.faults = k->faults;
	vb_explain(&k->in, &k->why);
	k->in.way = NULL;
	k->in.way_cnt = 0;
}

static int by_rank(const void *va, const void *vb)
{
	const struct vb_qp_case *a = va, *b = vb;
	vb_time at_a = a->has_history ? a->history.at : 0,
		at_b = b->has_history ? b->history.at : 0;

	if (!a->ended != !b->ended)
		return a->ended ? 1 : -1;
	if (a->why.rank != b->why.rank)
		return a->why.rank < b->why.rank ? -1 : 1;
	if (at_a != at_b)
		return at_a > at_b ? -1 : 1;
	return a->qpn < b->qpn ? -1 : a->qpn > b->qpn;
}

/* Rows have moved: the pointers into them follow. */
static void settle_pointers(struct vb_qp_case *k)
{
	k->in.view = k->has_view ? &k->view : NULL;
	k->in.history = k->has_history ? &k->history : NULL;
	k->in.faults = k->faults;
	if (k->in.peer)
		k->in.peer = &k->peer;
	if (k->peer.qp)
		k->peer.qp = &k->peer_qp;
}

/* All that is said of the programs of this host's own adapter. */
static int gather_host(struct gather *g, uint32_t qpn, uint32_t *asked)
{
	int rc = vb_broker_ask_views(&g->o, qpn, asked);

	if (!rc)
		rc = vb_broker_observe_slots(&g->o);
	if (!rc)
		vb_host_read(g->o.host, &g->host);
	return rc;
}

/* ... and of its connections, and of the other ends on other hosts. */
static int gather_more(struct gather *g, uint32_t qpn)
{
	int rc = vb_explain_cm_gather(g->c, &g->o, &g->host);

	if (!rc)
		vb_explain_ask_far(g->c, qpn, &g->o, &g->host);
	return rc;
}

/* @asked: what the views answer. */
static int gather_cases(struct gather *g, uint32_t qpn, uint32_t asked)
{
	int rc = 0;

	vb_broker_await_views(&g->o, asked);
	g->c->now = vb_clock_now();
	g->c->real_ns = vb_clock_read(CLOCK_REALTIME);
	/* The broker's own QP1 is no program's and waits for nobody. */
	for (uint32_t k = VB_SLOT_FIRST; k < VB_SLOT_CNT && !rc; k++)
		if (g->o.slot[k] && g->o.slot[k]->pid)
			rc = read_process(g, k, asked);
	for (uint32_t k = VB_SLOT_FIRST; k < VB_SLOT_CNT && !rc; k++)
		if (g->process[k])
			rc = add_process(g, g->process[k]);
	for (uint32_t k = VB_SLOT_FIRST; k < VB_SLOT_CNT && !rc; k++)
		if (g->process[k])
			rc = add_refused(g, g->process[k]);
	if (!rc)
		rc = add_past(g);
	if (!rc && !g->nodes)
		rc = gather_more(g, qpn);
	for (uint32_t i = 0; i < g->c->cnt && !rc; i++)
		judge_case(g, &g->c->at[i]);
	if (!rc && g->c->cnt)
		qsort(g->c->at, g->c->cnt, sizeof g->c->at[0], by_rank);
	for (uint32_t i = 0; i < g->c->cnt && !rc; i++)
		settle_pointers(&g->c->at[i]);
	return rc;
}

static void gather_end(struct gather *g)
{
	for (uint32_t k = 0; k < VB_SLOT_CNT; k++)
		free(g->process[k]);
	memset(g->process, 0, sizeof g->process);
	vb_broker_observe_end(&g->o);
}

int vb_explain_gather_nodes(struct vb_qp_cases *c, const char *name, uint32_t qpn, char *why,
			    size_t why_size)
{
	static struct gather g;
	static struct vb_explain_nodes nodes;
	uint32_t asked;
	int rc;

	nodes.fabric = name;
	g.c = c;
	g.nodes = &nodes;
	rc = vb_explain_observe_nodes(&g.o, &nodes, qpn, &asked, why, why_size);
	if (!rc) {
		rc = gather_cases(&g, qpn, asked);
		if (rc)
			snprintf(why, why_size, "%s", strerror(-rc));
	}
	if (!rc)
		rc = vb_explain_fabric_gather(c, name, why, why_size);
	gather_end(&g);
	return rc;
}

int vb_explain_gather(struct vb_qp_cases *c, uint32_t qpn, char *why, size_t why_size)
{
	static struct gather g;
	uint32_t asked;
	int rc;

	g.c = c;
	rc = vb_broker_observe(&g.o, false, why, why_size);
	if (rc == -ECONNREFUSED)
		return -ENOTCONN;
	if (rc)
		return rc;
	rc = gather_host(&g, qpn, &asked);
	if (!rc)
		rc = gather_cases(&g, qpn, asked);
	if (rc)
		snprintf(why, why_size, "cannot ask the broker: %s", strerror(-rc));
	gather_end(&g);
	return rc;
}
