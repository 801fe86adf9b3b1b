/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sides of the matrix as two QPs of this process on one device, by way of libibverbs: what runs
 * here runs on any adapter. See errors.h.
 */
#include "errors.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PORT 1
/* Of device_cap_flags_ex; <infiniband/verbs.h> has no name for it. */
#define DEVICE_ATOMIC_WRITE (UINT64_C(1) << 40)
#define SGES_MAX 256
/* How long a completion may take that must come. */
#define PATIENCE_NS INT64_C(10000000000)

static struct {
	struct ibv_context *context;
	struct ibv_port_attr port;
	union ibv_gid gid;
	bool has_xrc, has_atomic_write;
	int64_t quiet_ns;
} dev;

static struct {
	enum vb_qp_type type;
	struct ibv_pd *pd[SIDES], *other_pd[SIDES];
	struct ibv_cq *cq[SIDES];
	struct ibv_qp *qp[SIDES], *other_qp;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	uint32_t srqn;
	struct send_room room;
	struct ibv_ah *ah, *other_ah;
	uint8_t *block[SIDES];
	struct done done[SIDES][DONE_MAX];
	uint32_t done_cnt[SIDES];
	int event[SIDES];
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

/* What is there of what adapters may lack. */
static void look_at_device(void)
{
	struct ibv_device_attr_ex attr;
	struct ibv_xrcd *xrcd = open_xrcd();

	dev.has_xrc = xrcd && ibv_close_xrcd(xrcd) == 0;
	dev.has_atomic_write = ibv_query_device_ex(dev.context, NULL, &attr) == 0 &&
			       attr.device_cap_flags_ex & DEVICE_ATOMIC_WRITE;
}

void open_device(const char *name, uint32_t quiet_ms)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	dev.quiet_ns = quiet_ms * INT64_C(1000000);

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
	return (type != VB_QPT_XRC_INI || dev.has_xrc) &&
	       (opcode != VB_WR_ATOMIC_WRITE || dev.has_atomic_write);
}

static struct ibv_ah_attr address(void)
{
	return (struct ibv_ah_attr){
	    .is_global = 1, .port_num = PORT, .grh = {.dgid = dev.gid, .hop_limit = 64}};
}

static void bring_up(struct ibv_qp *qp, enum side side, const struct setup *s, enum vb_qp_state to)
{
	bool ud = s->type == VB_QPT_UD, rc = !ud && s->type != VB_QPT_UC;
	struct ibv_qp_attr a = {
	    .qp_access_flags = s->qp_access,
	    .port_num = PORT,
	    .qkey = QKEY,
	    .path_mtu = dev.port.active_mtu,
	    .dest_qp_num = w.qp[!side]->qp_num,
	    .ah_attr = address(),
	    .max_dest_rd_atomic = 1,
	    .max_rd_atomic = 1,
	    .min_rnr_timer = 1,
	    .timeout = 8,
	    .retry_cnt = 1,
	};
	const struct {
		enum vb_qp_state state;
		int mask;
	} step[] = {
	    {VB_QPS_INIT,
	     IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)},
	    {VB_QPS_RTR, ud ? 0
			    : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)},
	    {VB_QPS_RTS, IBV_QP_SQ_PSN | (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
					     : 0)},
	    {to, 0}, /* SQD and ERR come behind */
	};

	for (int i = 0; i < 4 && to != VB_QPS_RESET && (i < 3 || to > VB_QPS_RTS); i++) {
		if (i < 3 && step[i].state > to)
			break;
		a.qp_state = (enum ibv_qp_state)step[i].state;
		errno = ibv_modify_qp(qp, &a, IBV_QP_STATE | step[i].mask);
		need(errno == 0, "state of a QP");
	}
}

/* What the responder's QP receives by, when it has no queue of its own. */
static void open_srq(const struct setup *s)
{
	struct ibv_srq_init_attr_ex init = {
	    .attr = {.max_wr = QUEUE_WRS, .max_sge = SGE_MAX},
	    .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
	    .srq_type = IBV_SRQT_BASIC,
	    .pd = w.pd[RESPONDER],
	};

	w.srq = NULL;
	w.xrcd = NULL;
	if (s->type == VB_QPT_XRC_INI) {
		w.xrcd = open_xrcd();
		need(w.xrcd, "XRC domain");
		init.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		init.srq_type = IBV_SRQT_XRC;
		init.xrcd = w.xrcd;
		init.cq = w.cq[RESPONDER];
	} else if (!s->has_srq) {
		return;
	}
	w.srq = ibv_create_srq_ex(dev.context, &init);
	need(w.srq, "SRQ");
	need(!w.xrcd || ibv_get_srq_num(w.srq, &w.srqn) == 0, "number of the SRQ");
}

static struct ibv_qp *create_qp(enum side side, const struct setup *s)
{
	struct ibv_qp_init_attr_ex init = {
	    .qp_type = (enum ibv_qp_type)s->type,
	    .send_cq = w.cq[side],
	    .recv_cq = w.cq[side],
	    .cap = {QUEUE_WRS, QUEUE_WRS, SGE_MAX, SGE_MAX, INLINE_MAX},
	    .comp_mask = IBV_QP_INIT_ATTR_PD,
	    .pd = w.pd[side],
	};

	if (s->type == VB_QPT_XRC_INI && side == RESPONDER)
		init = (struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_XRC_RECV,
						    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
						    .xrcd = w.xrcd};
	else if (s->type == VB_QPT_XRC_INI)
		init.recv_cq = NULL, init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	else if (side == RESPONDER)
		init.srq = w.srq;

	struct ibv_qp *qp = ibv_create_qp_ex(dev.context, &init);

	need(qp, "QP");
	if (side == REQUESTER)
		w.room = (struct send_room){init.cap.max_send_wr, init.cap.max_send_sge,
					    init.cap.max_inline_data};
	return qp;
}

void open_world(const struct setup *s)
{
	struct ibv_ah_attr to = address();

	w.type = s->type;
	for (uint32_t i = 0; i < SIDES; i++) {
		w.done_cnt[i] = 0;
		w.event[i] = NOTHING;
		w.block[i] = calloc(1, BLOCK);
		w.pd[i] = ibv_alloc_pd(dev.context);
		w.other_pd[i] = ibv_alloc_pd(dev.context);
		w.cq[i] = ibv_create_cq(dev.context, DONE_MAX, NULL, NULL, 0);
		need(w.block[i] && w.pd[i] && w.other_pd[i] && w.cq[i], "PDs and CQs");
	}
	open_srq(s);
	for (uint32_t i = 0; i < SIDES; i++)
		w.qp[i] = create_qp((enum side)i, s);
	w.other_qp = create_qp(RESPONDER, s);
	w.ah = ibv_create_ah(w.pd[REQUESTER], &to);
	w.other_ah = ibv_create_ah(w.other_pd[REQUESTER], &to);
	need(w.ah && w.other_ah, "AHs");
	bring_up(w.qp[REQUESTER], REQUESTER, s, s->state[REQUESTER]);
	bring_up(w.qp[RESPONDER], RESPONDER, s, s->state[RESPONDER]);
	bring_up(w.other_qp, RESPONDER, s, VB_QPS_RTS);
}

void close_world(void)
{
	bool ok = ibv_destroy_ah(w.ah) == 0 && ibv_destroy_ah(w.other_ah) == 0 &&
		  ibv_destroy_qp(w.other_qp) == 0;

	for (uint32_t i = 0; i < SIDES; i++)
		ok &= ibv_destroy_qp(w.qp[i]) == 0;
	ok &= !w.srq || ibv_destroy_srq(w.srq) == 0;
	ok &= !w.xrcd || ibv_close_xrcd(w.xrcd) == 0;
	for (uint32_t i = 0; i < SIDES; i++) {
		ok &= ibv_destroy_cq(w.cq[i]) == 0;
		ok &= ibv_dealloc_pd(w.other_pd[i]) == 0;
		ok &= ibv_dealloc_pd(w.pd[i]) == 0;
		free(w.block[i]);
	}
	need(ok, "the end");
}

uint8_t *block_of(enum side side)
{
	return w.block[side];
}

uint64_t address_of(enum side side, const uint8_t *p)
{
	(void)side;
	return (uintptr_t)p;
}

struct region register_region(enum side side, bool other_pd, uint32_t access)
{
	struct ibv_mr *mr = ibv_reg_mr(other_pd ? w.other_pd[side] : w.pd[side],
				       w.block[side] + REGION, REGION, (int)access);

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

/* Type 1 by a verb of its own, type 2 by a work request. */
static int post_bind(struct ibv_qp *qp, const struct work *work, bool *bad)
{
	struct ibv_mw *mw = work->window->handle;
	struct ibv_mw_bind_info info = {work->region->handle, (uintptr_t)work->addr, work->len,
					work->access};
	struct ibv_mw_bind bind = {work->wr_id, IBV_SEND_SIGNALED, info};
	struct ibv_send_wr wr = {.wr_id = work->wr_id,
				 .opcode = IBV_WR_BIND_MW,
				 .send_flags = IBV_SEND_SIGNALED,
				 .bind_mw = {mw, ibv_inc_rkey(mw->rkey), info}};
	struct ibv_send_wr *refused = NULL;
	int err;

	if (work->window->type == 1) {
		*bad = true; /* the verb has but one */
		err = ibv_bind_mw(qp, mw, &bind);
	} else {
		err = ibv_post_send(qp, &wr, &refused);
		*bad = refused == &wr;
		if (!err)
			mw->rkey = wr.bind_mw.rkey;
	}
	work->window->rkey = mw->rkey;
	return err;
}

static void remote_fields(struct ibv_send_wr *wr, const struct work *work)
{
	if (w.xrcd)
		wr->qp_type.xrc.remote_srqn = w.srqn ^ work->srqn_error;
	if (work->opcode == VB_WR_SEND_INV || work->opcode == VB_WR_LOCAL_INV)
		wr->invalidate_rkey = work->inv_rkey;
	if (w.type == VB_QPT_UD) {
		wr->wr.ud.ah = work->of_other_pd ? w.other_ah : w.ah;
		wr->wr.ud.remote_qpn = w.qp[RESPONDER]->qp_num;
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

int post_send(enum side side, const struct work *work, bool *bad)
{
	struct ibv_qp *qp = work->by_other_qp ? w.other_qp : w.qp[side];
	struct ibv_sge sge[SGES_MAX];
	struct ibv_send_wr wr = {
	    .wr_id = work->wr_id,
	    .sg_list = sge,
	    .num_sge = (int)work->sge_cnt,
	    .opcode = (enum ibv_wr_opcode)work->opcode,
	    .send_flags = work->flags | IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *refused = NULL;

	if (work->window)
		return post_bind(qp, work, bad);
	need(work->sge_cnt <= SGES_MAX, "SGEs");
	for (uint32_t i = 0; i < work->sge_cnt; i++)
		sge[i] = (struct ibv_sge){(uintptr_t)work->addr, work->len, work->lkey};
	remote_fields(&wr, work);

	int err = ibv_post_send(qp, &wr, &refused);

	*bad = refused == &wr;
	return err;
}

int post_receive(const struct work *work)
{
	struct ibv_sge sge = {(uintptr_t)work->addr, work->len, work->lkey};
	struct ibv_recv_wr wr = {.wr_id = work->wr_id, .sg_list = &sge, .num_sge = 1}, *refused;

	return w.srq ? ibv_post_srq_recv(w.srq, &wr, &refused)
		     : ibv_post_recv(w.qp[RESPONDER], &wr, &refused);
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

	need(n >= 0, "poll");
	if (n && w.done_cnt[side] < DONE_MAX)
		w.done[side][w.done_cnt[side]++] =
		    (struct done){wc.wr_id, (enum vb_wc_status)wc.status};
	return n > 0;
}

/* The side whose QP or SRQ the event is of; SIDES: neither, or no matter. */
static enum side side_of(const struct ibv_async_event *ev)
{
	switch (ev->event_type) {
	case IBV_EVENT_SRQ_LIMIT_REACHED:
	case IBV_EVENT_SRQ_ERR:
		return RESPONDER;
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

		if (side != SIDES && w.event[side] == NOTHING)
			w.event[side] = (int)ev.event_type;
		ibv_ack_async_event(&ev);
	}
}

void settle(const uint32_t want[SIDES])
{
	int64_t end = now_ns() + PATIENCE_NS, quiet = now_ns() + dev.quiet_ns;

	while (now_ns() < end) {
		bool some = poll_side(REQUESTER);

		some |= poll_side(RESPONDER);
		if (some)
			quiet = now_ns() + dev.quiet_ns;
		if (w.done_cnt[REQUESTER] >= want[REQUESTER] &&
		    w.done_cnt[RESPONDER] >= want[RESPONDER] && now_ns() > quiet)
			break;
	}
	take_events();
}

uint32_t completions_of(enum side side, struct done *done, uint32_t max)
{
	uint32_t cnt = w.done_cnt[side] < max ? w.done_cnt[side] : max;

	memcpy(done, w.done[side], cnt * sizeof *done);
	return cnt;
}

void forget_completions(void)
{
	w.done_cnt[REQUESTER] = w.done_cnt[RESPONDER] = 0;
}

enum vb_qp_state state_of(enum side side)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	need(ibv_query_qp(w.qp[side], &a, IBV_QP_STATE, &init) == 0, "state of a QP");
	return (enum vb_qp_state)a.qp_state;
}

int event_of(enum side side)
{
	return w.event[side];
}
