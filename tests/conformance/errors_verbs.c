/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sides of the matrix as two QPs of this process on one device, by way of libibverbs: they
 * run on any adapter. See errors.h.
 */
#include "errors_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PORT 1
#define GROUP_QPN 0xffffffu
/* Of device_cap_flags_ex; <infiniband/verbs.h> has no name for it. */
#define DEVICE_ATOMIC_WRITE (UINT64_C(1) << 40)

static struct {
	struct ibv_context *context;
	struct ibv_port_attr port;
	union ibv_gid gid;
	bool has_xrc, has_dc, has_atomic_write;
	int64_t quiet_ns, patience_ns;
	uint8_t timeout;
	/* Events for which it has let us wait in vain: rdma_rxe has fewer than the standard. */
	uint32_t never_raised;
} dev;

static struct {
	enum vb_qp_type type;
	struct ibv_pd *pd[SIDES], *other_pd[SIDES];
	struct ibv_cq *cq[SIDES];
	struct ibv_qp *qp[SIDES], *other_qp[SIDES];
	struct ibv_xrcd *xrcd, *other_xrcd;
	struct ibv_srq *srq;
	uint32_t srqn;
	struct send_room room;
	struct receive_room receive_room;
	struct filler filler[SIDES];
	struct ibv_ah *ah[SIDES], *other_ah;
	bool has_group, is_member, builds;
} w;

static void need(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(2);
	}
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static struct ibv_xrcd *open_xrcd(void)
{
	struct ibv_xrcd_init_attr init = {.comp_mask =
					      IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = -1,
					  .oflags = O_CREAT};

	return ibv_open_xrcd(dev.context, &init);
}

/* The features that adapters may lack: whether this one has them. */
static void look_at_device(void)
{
	struct ibv_device_attr_ex attr;
	struct ibv_xrcd *xrcd = open_xrcd();

	dev.has_dc = dc_is_there();
	dev.has_xrc = xrcd && ibv_close_xrcd(xrcd) == 0;
	dev.has_atomic_write = ibv_query_device_ex(dev.context, NULL, &attr) == 0 &&
			       attr.device_cap_flags_ex & DEVICE_ATOMIC_WRITE;
}

void open_device(const char *name, uint32_t quiet_ms, uint32_t patience_ms)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	dev.quiet_ns = quiet_ms * INT64_C(1000000);
	dev.patience_ns = patience_ms * INT64_C(1000000);
	while (INT64_C(4096) << dev.timeout < dev.quiet_ns / 2)
		dev.timeout++;

	need(list, "devices");
	for (int i = 0; list[i] && !dev.context; i++) {
		if (!name || strcmp(ibv_get_device_name(list[i]), name) == 0)
			dev.context = ibv_open_device(list[i]);
	}
	ibv_free_device_list(list);
	need(dev.context, name ? name : "a device");
	need(ibv_query_port(dev.context, PORT, &dev.port) == 0, "port");
	need(ibv_query_gid(dev.context, PORT, 0, &dev.gid) == 0, "GID");
	need(fcntl(dev.context->async_fd, F_SETFL,
		   fcntl(dev.context->async_fd, F_GETFL) | O_NONBLOCK) == 0,
	     "events");
	look_at_device();
}

void close_device(void)
{
	ibv_close_device(dev.context);
}

uint32_t mtu_bytes(void)
{
	return 128u << dev.port.active_mtu;
}

uint32_t message_max(void)
{
	return dev.port.max_msg_sz;
}

bool device_has(enum vb_qp_type type, enum vb_wr_opcode opcode)
{
	/* <infiniband/verbs.h> has no FLUSH yet. */
	return (type != VB_QPT_XRC_INI || dev.has_xrc) && (type != VB_QPT_DCI || dev.has_dc) &&
	       (opcode != VB_WR_ATOMIC_WRITE || dev.has_atomic_write) && opcode != VB_WR_FLUSH;
}

bool device_builds(enum vb_qp_type type)
{
	/* Of DC it is the only way. */
	return type != VB_QPT_DCI && built_are_there(dev.context, type, dev.has_atomic_write);
}

static struct ibv_ah_attr address(void)
{
	return (struct ibv_ah_attr){
	    .is_global = 1, .port_num = PORT, .grh = {.dgid = dev.gid, .hop_limit = 64}};
}

/* A group of the kind of the address: of IPv4, or of IPv6 with the scope of the link. */
static union ibv_gid group(void)
{
	static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff};
	union ibv_gid g = {{0xff, 0x12}};

	if (memcmp(dev.gid.raw, v4, 12) == 0) {
		memcpy(g.raw, v4, 12);
		g.raw[12] = 239;
	}
	g.raw[15] = 7;
	return g;
}

static void bring_up(struct ibv_qp *qp, enum side side, const struct setup *s, bool is_other)
{
	struct ibv_qp_attr a = {
	    .qp_access_flags = s->qp_access,
	    .port_num = PORT,
	    .qkey = QKEY,
	    .path_mtu = (enum ibv_mtu)PATH_MTU,
	    .dest_qp_num = w.qp[!side]->qp_num ^ (side == REQUESTER ? s->dest_error : 0),
	    .ah_attr = address(),
	    .max_dest_rd_atomic = s->rd_atomic[RESPONDER],
	    .max_rd_atomic = s->rd_atomic[REQUESTER],
	    .min_rnr_timer = 1,
	    .timeout = dev.timeout,
	    .retry_cnt = 1,
	};
	struct step step[STEPS_MAX];
	uint32_t cnt =
	    steps_to(qp_type(s, side, is_other), is_other ? VB_QPS_RTS : s->state[side], step);

	for (uint32_t i = 0; i < cnt; i++) {
		a.qp_state = (enum ibv_qp_state)step[i].state;
		errno = ibv_modify_qp(qp, &a, IBV_QP_STATE | (int)step[i].mask);
		need(errno == 0, "state of a QP");
	}
}

/* The SRQ that the responder's QP receives by, when it has no queue of its own. */
static void open_srq(const struct setup *s)
{
	struct ibv_srq_init_attr_ex init = {
	    .attr = {.max_wr = QUEUE_WRS, .max_sge = SGE_MAX},
	    .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
	    .srq_type = IBV_SRQT_BASIC,
	    .pd = s->srq_of_other_pd ? w.other_pd[RESPONDER] : w.pd[RESPONDER],
	};

	w.srq = NULL;
	w.xrcd = NULL;
	if (s->type == VB_QPT_XRC_INI) {
		w.xrcd = open_xrcd();
		w.other_xrcd = open_xrcd();
		need(w.xrcd && w.other_xrcd, "XRC domain");
		init.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		init.srq_type = IBV_SRQT_XRC;
		init.xrcd = s->srq_of_other_domain ? w.other_xrcd : w.xrcd;
		init.cq = w.cq[RESPONDER];
	} else if (!s->has_srq) {
		return;
	}
	w.srq = ibv_create_srq_ex(dev.context, &init);
	need(w.srq, "SRQ");
	need(!w.xrcd || ibv_get_srq_num(w.srq, &w.srqn) == 0, "number of the SRQ");
	w.receive_room = (struct receive_room){init.attr.max_wr, init.attr.max_sge};
}

static struct ibv_qp *create_qp(enum side side, const struct setup *s, bool is_other)
{
	enum vb_qp_type type = qp_type(s, side, is_other);
	struct ibv_qp_init_attr_ex init = {
	    .qp_type = (enum ibv_qp_type)type,
	    .send_cq = w.cq[side],
	    .recv_cq = w.cq[side],
	    .cap = {QUEUE_WRS, QUEUE_WRS, SGE_MAX, SGE_MAX, INLINE_MAX},
	    .comp_mask = IBV_QP_INIT_ATTR_PD,
	    .pd = is_other && s->other_of_other_pd ? w.other_pd[side] : w.pd[side],
	};

	if (side == RESPONDER && !is_other)
		init.srq = w.srq;
	if (type == VB_QPT_XRC_TGT)
		init = (struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_XRC_RECV,
						    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
						    .xrcd = w.xrcd};
	else if (type == VB_QPT_XRC_INI)
		init.recv_cq = NULL, init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	if (s->builds && side == REQUESTER && !is_other) {
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = built_ops(type, dev.has_atomic_write);
	}

	struct ibv_qp *qp = type == VB_QPT_DCI || type == VB_QPT_DCT
				? dc_create(dev.context, &init, type, s->has_streams)
				: ibv_create_qp_ex(dev.context, &init);

	need(qp, "QP");
	if (side == REQUESTER && !is_other)
		w.room = (struct send_room){init.cap.max_send_wr, init.cap.max_send_sge,
					    init.cap.max_inline_data};
	if (side == RESPONDER && !is_other && !w.srq)
		w.receive_room = (struct receive_room){init.cap.max_recv_wr, init.cap.max_recv_sge};
	return qp;
}

/* No room in the CQ: the QPs of the case, still in RESET, have no part in it. */
static void fill_cq(enum side side, enum cq_room room)
{
	struct awaited a = {.events = {[REQUESTER] = 0}};
	struct ibv_ah_attr to = address();

	need(filler_fill(&w.filler[side], &to, room, (int)(dev.patience_ns / 1000000)),
	     "filling a CQ");
	a.events[side] = 1u << VB_ASYNC_CQ_ERR;
	if (room == CQ_OVERRUN)
		settle(&a);
	note_nothing();
}

static void open_qps(const struct setup *s)
{
	union ibv_gid g = group();

	for (int i = 0; i < SIDES; i++) {
		w.qp[i] = create_qp((enum side)i, s, false);
		w.other_qp[i] = s->has_other[i] ? create_qp((enum side)i, s, true) : NULL;
	}
	for (int i = 0; i < SIDES; i++) {
		if (s->cq[i] != CQ_ROOM)
			fill_cq((enum side)i, s->cq[i]);
	}
	for (int i = 0; i < SIDES; i++) {
		bring_up(w.qp[i], (enum side)i, s, false);
		if (w.other_qp[i])
			bring_up(w.other_qp[i], (enum side)i, s, true);
	}
	w.has_group = s->has_group;
	w.is_member = s->is_member;
	if (s->is_member) {
		errno = ibv_attach_mcast(w.qp[RESPONDER], &g, 0);
		need(errno == 0, "group");
	}
}

void open_world(const struct setup *s)
{
	struct ibv_ah_attr to = address();

	note_nothing();
	need(open_blocks(), "memory");
	w.type = s->type;
	w.builds = s->builds;
	for (int i = 0; i < SIDES; i++) {
		w.pd[i] = ibv_alloc_pd(dev.context);
		w.other_pd[i] = ibv_alloc_pd(dev.context);
		w.filler[i] = (struct filler){0};
		w.cq[i] = s->cq[i] == CQ_ROOM ? ibv_create_cq(dev.context, DONE_MAX, NULL, NULL, 0)
					      : filler_open(&w.filler[i], w.pd[i]);
		need(w.pd[i] && w.other_pd[i] && w.cq[i], "PDs and CQs");
	}
	w.ah[RESPONDER] = ibv_create_ah(w.pd[RESPONDER], &to);
	if (s->has_group)
		to.grh.dgid = group();
	w.ah[REQUESTER] = ibv_create_ah(w.pd[REQUESTER], &to);
	w.other_ah = ibv_create_ah(w.other_pd[REQUESTER], &to);
	need(w.ah[REQUESTER] && w.ah[RESPONDER] && w.other_ah, "AHs");
	open_srq(s);
	open_qps(s);
}

void close_world(void)
{
	union ibv_gid g = group();
	bool ok = ibv_destroy_ah(w.other_ah) == 0;

	ok &= !w.is_member || ibv_detach_mcast(w.qp[RESPONDER], &g, 0) == 0;
	for (int i = 0; i < SIDES; i++) {
		ok &= ibv_destroy_qp(w.qp[i]) == 0;
		ok &= !w.other_qp[i] || ibv_destroy_qp(w.other_qp[i]) == 0;
		ok &= ibv_destroy_ah(w.ah[i]) == 0;
	}
	ok &= !w.srq || ibv_destroy_srq(w.srq) == 0;
	ok &= !w.xrcd || (ibv_close_xrcd(w.xrcd) == 0 && ibv_close_xrcd(w.other_xrcd) == 0);
	for (uint32_t i = 0; i < SIDES; i++) {
		ok &= w.filler[i].cq ? filler_close(&w.filler[i]) : ibv_destroy_cq(w.cq[i]) == 0;
		ok &= ibv_dealloc_pd(w.other_pd[i]) == 0;
		ok &= ibv_dealloc_pd(w.pd[i]) == 0;
	}
	close_blocks();
	need(ok, "the end");
}

struct region register_region(enum side side, bool other_pd, uint32_t access)
{
	struct ibv_mr *mr = ibv_reg_mr(other_pd ? w.other_pd[side] : w.pd[side],
				       block_of(side) + REGION, REGION, (int)access);

	need(mr, "MR");
	return (struct region){mr->lkey, mr->rkey, mr};
}

void deregister_region(struct region *r)
{
	if (r->handle)
		need(ibv_dereg_mr(r->handle) == 0, "MR's end");
}

struct window allocate_window(enum side side, bool other_pd, uint8_t type)
{
	struct ibv_mw *mw =
	    ibv_alloc_mw(other_pd ? w.other_pd[side] : w.pd[side], (enum ibv_mw_type)type);

	need(mw, "MW");
	return (struct window){type, mw->rkey, mw};
}

void free_window(struct window *window)
{
	need(ibv_dealloc_mw(window->handle) == 0, "MW's end");
	window->handle = NULL;
}

struct send_room send_room(void)
{
	return w.room;
}

struct receive_room receive_room(void)
{
	return w.receive_room;
}

static uint32_t dest_qpn(const struct work *work)
{
	const struct ibv_qp *other = w.other_qp[RESPONDER];

	if (w.has_group && !work->to_other_qp)
		return GROUP_QPN ^ work->qpn_error;
	return (work->to_other_qp && other ? other : w.qp[RESPONDER])->qp_num ^ work->qpn_error;
}

static void remote_fields(struct ibv_send_wr *wr, enum side side, const struct work *work)
{
	if (w.xrcd)
		wr->qp_type.xrc.remote_srqn = w.srqn ^ work->srqn_error;
	if (work->opcode == VB_WR_SEND_INV || work->opcode == VB_WR_LOCAL_INV)
		wr->invalidate_rkey = work->inv_rkey;
	if (w.type == VB_QPT_UD) {
		wr->wr.ud.ah = work->of_other_pd ? w.other_ah : w.ah[side];
		wr->wr.ud.remote_qpn = dest_qpn(work);
		wr->wr.ud.remote_qkey = work->qkey;
	} else if (work->opcode == VB_WR_COMPARE_SWAP || work->opcode == VB_WR_FETCH_ADD) {
		wr->wr.atomic.remote_addr = work->remote_addr;
		wr->wr.atomic.rkey = work->rkey;
		wr->wr.atomic.compare_add = 1;
		wr->wr.atomic.swap = 2;
	} else {
		wr->wr.rdma.remote_addr = work->remote_addr;
		wr->wr.rdma.rkey = work->rkey;
	}
}

static void fill_sges(struct ibv_sge *sge, const struct work *work)
{
	need(work->sge_cnt <= SGES_MAX, "SGEs");
	for (uint32_t i = 0; i < work->sge_cnt; i++)
		sge[i] = (struct ibv_sge){(uintptr_t)work->addr, work->len, work->lkey};
	if (work->sge_cnt)
		sge[work->sge_cnt - 1].lkey ^= work->last_lkey_error;
}

/* DC: one after the other, which is how all of a list but the last are posted. */
static int post_built(const struct work *work, uint32_t cnt, uint32_t *taken)
{
	struct destination to = {
	    .type = w.type,
	    .ah = work->of_other_pd ? w.other_ah : w.ah[REQUESTER],
	    .qpn = dest_qpn(work),
	    .qkey = work->qkey,
	    .srqn = w.srqn ^ work->srqn_error,
	    .dc_key = DC_KEY ^ work->dc_key_error,
	};
	uint32_t step = w.type == VB_QPT_DCI ? 1 : cnt;
	struct ibv_sge sge[SGES_MAX];
	struct work next = *work;
	int err = 0;

	fill_sges(sge, work);
	for (*taken = 0; *taken < cnt && !err; *taken += err ? 0 : step, next.wr_id++)
		err = built_post(w.qp[REQUESTER], &next, step, sge, &to);
	return err;
}

int post_send(enum side side, const struct work *work, uint32_t cnt, uint32_t *taken)
{
	struct ibv_qp *qp = work->by_other_qp ? w.other_qp[side] : w.qp[side];
	struct ibv_sge sge[SGES_MAX];
	struct ibv_send_wr *list, *refused = NULL;
	int err;

	if ((w.type == VB_QPT_DCI || w.builds) && side == REQUESTER && !work->by_other_qp)
		return post_built(work, cnt, taken);
	if (work->window)
		return bind_post(qp, work, cnt, taken);
	fill_sges(sge, work);
	list = calloc(cnt, sizeof *list);
	need(list, "memory");
	for (uint32_t i = 0; i < cnt; i++) {
		list[i] = (struct ibv_send_wr){
		    .wr_id = work->wr_id + i,
		    .next = i + 1 < cnt ? &list[i + 1] : NULL,
		    .sg_list = sge,
		    .num_sge = (int)work->sge_cnt,
		    .opcode = (enum ibv_wr_opcode)work->opcode,
		    .send_flags = work->flags | IBV_SEND_SIGNALED,
		};
		remote_fields(&list[i], side, work);
	}
	err = ibv_post_send(qp, list, &refused);
	*taken = err && refused ? (uint32_t)(refused - list) : cnt;
	free(list);
	return err;
}

int post_receives(const struct work *work, uint32_t cnt, uint32_t *taken)
{
	struct ibv_recv_wr *list = calloc(cnt, sizeof *list), *refused = NULL;
	struct ibv_sge sge[SGES_MAX];
	int err;

	need(list, "memory");
	fill_sges(sge, work);
	for (uint32_t i = 0; i < cnt; i++)
		list[i] = (struct ibv_recv_wr){.wr_id = work->wr_id + i,
					       .next = i + 1 < cnt ? &list[i + 1] : NULL,
					       .sg_list = sge,
					       .num_sge = (int)work->sge_cnt};
	err = w.srq ? ibv_post_srq_recv(w.srq, list, &refused)
		    : ibv_post_recv(w.qp[RESPONDER], list, &refused);
	*taken = err && refused ? (uint32_t)(refused - list) : cnt;
	free(list);
	return err;
}

void set_srq_limit(uint32_t limit)
{
	struct ibv_srq_attr attr = {.srq_limit = limit};

	need(ibv_modify_srq(w.srq, &attr, IBV_SRQ_LIMIT) == 0, "SRQ's limit");
}

static bool poll_side(enum side side)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(w.cq[side], 1, &wc);

	/* A CQ that has overrun may say so. */
	need(n >= 0 || w.filler[side].cq, "poll");
	if (n > 0 && wc.wr_id != FILL_WR_ID)
		note_completion(side, wc.wr_id, (enum vb_wc_status)wc.status);
	return n > 0;
}

/* The side whose QP, SRQ or CQ the event is of; SIDES: neither, or no matter. */
static enum side side_of(const struct ibv_async_event *ev)
{
	switch (ev->event_type) {
	case IBV_EVENT_SRQ_LIMIT_REACHED:
	case IBV_EVENT_SRQ_ERR:
		return RESPONDER;
	case IBV_EVENT_CQ_ERR:
		return ev->element.cq == w.cq[REQUESTER] ? REQUESTER : RESPONDER;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return ev->element.qp == w.qp[REQUESTER]   ? REQUESTER
		       : ev->element.qp == w.qp[RESPONDER] ? RESPONDER
							   : SIDES;
	default:
		return SIDES;
	}
}

static void take_events(void)
{
	struct ibv_async_event ev;

	while (ibv_get_async_event(dev.context, &ev) == 0) {
		enum side side = side_of(&ev);

		if (side != SIDES)
			note_event(side, (uint32_t)ev.event_type);
		ibv_ack_async_event(&ev);
	}
}

/* Events that must come, have not, and may. */
static uint32_t missing_events(const struct awaited *a)
{
	return ((a->events[REQUESTER] & ~events_of(REQUESTER)) |
		(a->events[RESPONDER] & ~events_of(RESPONDER))) &
	       ~dev.never_raised;
}

static bool is_settled(const struct awaited *a)
{
	return completion_cnt(REQUESTER) >= a->done[REQUESTER] &&
	       completion_cnt(RESPONDER) >= a->done[RESPONDER] &&
	       !(a->moved && __atomic_load_n(a->moved, __ATOMIC_RELAXED) == a->was) &&
	       !missing_events(a);
}

void settle(const struct awaited *a)
{
	int64_t end = now_ns() + dev.patience_ns, quiet = now_ns() + dev.quiet_ns;
	bool some, done = false;

	while (!done && now_ns() < end) {
		some = false;
		for (int side = 0; side < SIDES; side++)
			some |= !w.filler[side].cq && poll_side((enum side)side);
		if (some)
			quiet = now_ns() + dev.quiet_ns;
		take_events();
		done = is_settled(a) && now_ns() > quiet;
	}
	dev.never_raised |= missing_events(a);
	take_events();
}

void end_qp(enum side side)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};

	need(ibv_modify_qp(w.qp[side], &a, IBV_QP_STATE) == 0, "QP's end");
}

void empty_cqs(void)
{
	for (int side = 0; side < SIDES; side++) {
		while (w.filler[side].cq && poll_side((enum side)side))
			;
	}
}

enum vb_qp_state state_of(enum side side)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	need(ibv_query_qp(w.qp[side], &a, IBV_QP_STATE, &init) == 0, "state of a QP");
	return (enum vb_qp_state)a.qp_state;
}
