/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault in a case of the matrix, and the objects and rights that it needs. See errors_row.h. */
#include "errors_case.h"

#include <string.h>

#define OF_8_BYTES (ATOMIC | ATOMIC_WRITE)
/* A window is of a part of the region. */
#define WINDOW_AT (REGION / 4)
#define WINDOW_LEN (REGION / 2)
#define ALL_ACCESS (VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC)
#define FLUSH_ACCESS (VB_ACCESS_FLUSH_GLOBAL | VB_ACCESS_FLUSH_PERSISTENT)
#define LEN 64u
/* Three packets of the path MTU that all but UD have. */
#define LONG_LEN (2 * PATH_MTU_BYTES + 1)
#define GRH_LEN 40u
/* A key or number that differs by this is nobody's. Numbers of QPs keep the low byte, by which
 * Verbena tells the processes of a host apart. */
#define KEY_ERROR 0x5a5a5500u
#define NUMBER_ERROR 0x5a5a00u

/* A target binds no windows: another QP of its side does. */
static bool has_targets(const struct play *p)
{
	return p->setup.type == VB_QPT_XRC_INI || p->setup.type == VB_QPT_DCI;
}

/* The side whose memory a window of the case is of. */
static enum side window_side(const struct play *p)
{
	return p->op & LOCAL_WORK ? REQUESTER : RESPONDER;
}

/* 0: the case has none. */
static uint8_t window_type(const struct play *p)
{
	bool serves_all = has_targets(p) && !(p->op & LOCAL_WORK);

	switch (p->row->fault) {
	case WINDOW_1:
	case WINDOW_REBOUND:
	case INVALIDATE_WINDOW_1:
		return 1;
	case WINDOW_OF_OTHER_PD:
		return p->op & (SEND_INV | LOCAL_INV) ? 2 : 1;
	case WINDOW_LOW:
	case WINDOW_HIGH:
	case WINDOW_RIGHT:
	case WINDOW_UNBOUND:
	case WINDOW_STALE:
	case WINDOW_QP_RIGHT:
	case WINDOW_REGION_RIGHT:
		return serves_all && p->op != SEND_INV ? 1 : 2;
	case WINDOW_2:
	case WINDOW_ZERO:
	case WINDOW_ZERO_WRONG:
	case WINDOW_INVALIDATED:
	case WINDOW_OTHER_QP:
		return 2;
	case RECEIVE_SHORT:
	case RECEIVE_LKEY:
	case RECEIVE_PD:
	case RECEIVE_RIGHT:
	case RECEIVE_HIGH:
	case RECEIVE_NONE:
	case LOCAL_RIGHT:
	case LKEY_SECOND:
	case OWN_CQ_FULL:
	case OWN_CQ_OVERRUN:
		/* The message itself is right. */
		return p->op & (SEND_INV | LOCAL_WORK) && !serves_all ? 2 : 0;
	default:
		return p->op & LOCAL_WORK ? 2 : 0;
	}
}

/* Whether the QP that the window is of, or was bound through, is not the one that the case is
 * about.
 */
static bool binds_elsewhere(const struct play *p)
{
	return p->row->fault == WINDOW_OTHER_QP || p->row->fault == WINDOW_OF_OTHER_PD ||
	       (has_targets(p) && window_side(p) == RESPONDER);
}

/* Which QPs there are. */
static void plan_setup(struct play *p)
{
	enum transport t = p->row->transport;
	enum fault f = p->row->fault;
	struct setup *s = &p->setup;

	*s = (struct setup){
	    .type = type_of(t),
	    .builds = s->builds,
	    .has_srq = t == RC_SRQ || t == UD_SRQ || t == DC || t == DC_STREAM,
	    .srq_of_other_pd = f == SRQ_PD || f == SRQ_PD_RECEIVE,
	    .srq_of_other_domain = f == SRQ_DOMAIN,
	    .has_streams = t == DC_STREAM,
	    .has_group = t == UD_GROUP,
	    .is_member = t == UD_GROUP && f != NO_MEMBER,
	    .dest_error = f == QPN_WRONG ? NUMBER_ERROR : 0,
	    .qp_access = ALL_ACCESS,
	    .cq = {[REQUESTER] = f == OWN_CQ_FULL      ? CQ_FULL
				 : f == OWN_CQ_OVERRUN ? CQ_OVERRUN
						       : CQ_ROOM,
		   [RESPONDER] = f == PEER_CQ_FULL      ? CQ_FULL
				 : f == PEER_CQ_OVERRUN ? CQ_OVERRUN
							: CQ_ROOM},
	    .rd_atomic = {1, 1},
	    .state = {VB_QPS_RTS, t == DC || t == DC_STREAM ? VB_QPS_RTR : VB_QPS_RTS},
	    .other_of_other_pd = f == WINDOW_OF_OTHER_PD,
	};
	s->has_other[window_side(p)] = window_type(p) && binds_elsewhere(p);
	if (f == QPN_OTHER)
		s->has_other[RESPONDER] = t == DC;
}

/* States in which the QPs of a case are, other than those where they do all that they can. */
static const struct {
	enum fault fault;
	enum side side;
	enum vb_qp_state state;
} states[] = {
    {PEER_RESET, RESPONDER, VB_QPS_RESET}, {PEER_INIT, RESPONDER, VB_QPS_INIT},
    {PEER_RTR, RESPONDER, VB_QPS_RTR},     {PEER_SQD, RESPONDER, VB_QPS_SQD},
    {PEER_ERR, RESPONDER, VB_QPS_ERR},     {IN_RESET, REQUESTER, VB_QPS_RESET},
    {IN_INIT, REQUESTER, VB_QPS_INIT},     {IN_RTR, REQUESTER, VB_QPS_RTR},
    {IN_ERR, REQUESTER, VB_QPS_ERR},       {IN_SQD, REQUESTER, VB_QPS_SQD},
    {QUEUE_FULL, REQUESTER, VB_QPS_SQD}, /* where nothing completes meanwhile */
};

/* How many receives and requests are posted, and in which states. */
static void plan_posts(struct play *p)
{
	enum fault f = p->row->fault;

	p->receives = p->op & RECEIVE ? 1 : 2;
	p->posts = p->op & RECEIVE ? 0 : 1;
	/* A queue of a QP in RESET takes none. */
	if (f == RECEIVE_NONE || f == RECEIVE_NONE_LONG || (f == PEER_RESET && p->posts))
		p->receives = 0;
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
		if (states[i].fault == f)
			p->setup.state[states[i].side] = states[i].state;
	}
}

void case_plan(struct play *p)
{
	plan_setup(p);
	plan_posts(p);
	p->access[REQUESTER] = VB_ACCESS_LOCAL_WRITE;
	p->access[RESPONDER] = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_MW_BIND | ALL_ACCESS;
	if (p->op & FLUSH) {
		p->setup.qp_access |= FLUSH_ACCESS;
		p->access[RESPONDER] |= FLUSH_ACCESS;
	}
	if (p->op & LOCAL_WORK)
		p->access[REQUESTER] = p->access[RESPONDER];
	switch (p->row->fault) {
	case LOCAL_RIGHT:
		p->access[REQUESTER] = p->op & BIND ? VB_ACCESS_MW_BIND : 0;
		break;
	case BIND_RIGHT:
		p->access[REQUESTER] &= ~(uint32_t)VB_ACCESS_MW_BIND;
		break;
	case REGION_RIGHT:
		p->access[RESPONDER] = VB_ACCESS_LOCAL_WRITE;
		break;
	case WINDOW_REGION_RIGHT:
		p->access[RESPONDER] = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_MW_BIND;
		break;
	case FLUSH_PERSISTENT_RIGHT:
		p->access[RESPONDER] &= ~(uint32_t)VB_ACCESS_FLUSH_PERSISTENT;
		break;
	case QP_RIGHT:
	case WINDOW_QP_RIGHT:
		p->setup.qp_access = 0;
		break;
	case RD_ATOMIC_NONE:
		p->setup.rd_atomic[RESPONDER] = 0;
		break;
	case RD_ATOMIC_OWN_NONE:
		p->setup.rd_atomic[REQUESTER] = 0;
		break;
	default:
		break;
	}
}

/* The key that a region had. */
static void make_stale(struct region *r)
{
	deregister_region(r);
	r->handle = NULL;
}

static bool is_of_other_pd(const struct play *p, enum side side)
{
	enum fault f = p->row->fault;

	return f == (side == REQUESTER ? LKEY_PD : RKEY_PD) ||
	       (f == WINDOW_OF_OTHER_PD && side == window_side(p));
}

static void prepare_regions(struct play *p)
{
	enum fault f = p->row->fault;

	for (int i = 0; i < SIDES; i++)
		p->region[i] =
		    register_region((enum side)i, is_of_other_pd(p, (enum side)i), p->access[i]);
	p->receive = register_region(RESPONDER, f == RECEIVE_PD || f == SRQ_PD,
				     f == RECEIVE_RIGHT ? 0 : VB_ACCESS_LOCAL_WRITE);
	if (f == LKEY_STALE)
		make_stale(&p->region[REQUESTER]);
	if (f == RKEY_STALE)
		make_stale(&p->region[RESPONDER]);
}

/* Work that comes before that of the case, and ends so. */
static void prepare_post(struct play *p, enum side side, const struct work *w,
			 enum vb_wc_status status)
{
	struct awaited a = {.done = {side == REQUESTER, side == RESPONDER}};
	struct done done[DONE_MAX];
	uint32_t taken;
	int err = post_send(side, w, 1, &taken);

	if (err) {
		wrong(p, "posting before", strerror(err), strerror(0));
		return;
	}
	settle(&a);
	if (completions_of(side, done, DONE_MAX) != 1 || done[0].status != status)
		wrong(p, "work before", "ended otherwise", status_name((int)status));
	forget_completions();
}

static struct work bind_work(struct play *p, uint32_t access)
{
	enum side side = window_side(p);

	return (struct work){.opcode = VB_WR_BIND_MW,
			     .addr = block_of(side) + REGION + WINDOW_AT,
			     .len = WINDOW_LEN,
			     .window = &p->window,
			     .region = &p->region[side],
			     .access = access};
}

static bool can_bind(const struct play *p)
{
	return p->setup.type != VB_QPT_UD && !(p->setup.type == VB_QPT_DCI && p->op & LOCAL_WORK) &&
	       (binds_elsewhere(p) || p->setup.state[window_side(p)] == VB_QPS_RTS);
}

static void prepare_window(struct play *p)
{
	enum fault f = p->row->fault;
	uint8_t type = window_type(p);
	uint32_t access = ALL_ACCESS;
	struct work w;

	if (!type)
		return;
	if (f == WINDOW_RIGHT)
		access = p->op & READ ? VB_ACCESS_REMOTE_WRITE : VB_ACCESS_REMOTE_READ;
	if (f == WINDOW_ZERO || f == WINDOW_ZERO_WRONG)
		access |= VB_ACCESS_ZERO_BASED;
	w = bind_work(p, access);
	w.by_other_qp = binds_elsewhere(p);
	p->window =
	    allocate_window(window_side(p), f == WINDOW_PD || f == WINDOW_OF_OTHER_PD, type);
	if (p->op & BIND ? f == WINDOW_BOUND : f != WINDOW_UNBOUND && can_bind(p))
		prepare_post(p, window_side(p), &w, VB_WC_SUCCESS);
	p->window_rkey = p->window.rkey;
	if (f == WINDOW_REBOUND)
		prepare_post(p, window_side(p), &w, VB_WC_SUCCESS);
	if (f == WINDOW_STALE)
		free_window(&p->window);
	if (f == WINDOW_INVALIDATED) {
		w = (struct work){.opcode = VB_WR_LOCAL_INV, .inv_rkey = p->window.rkey};
		prepare_post(p, window_side(p), &w, VB_WC_SUCCESS);
	}
}

/* From RTS an error of the QP's own sends leads there. IBA 10.3.1 */
static void prepare_sqe(struct play *p, enum side side)
{
	struct work w = {.opcode = VB_WR_SEND,
			 .addr = block_of(side) + REGION,
			 .len = LEN,
			 .lkey = p->region[side].lkey ^ KEY_ERROR,
			 .sge_cnt = 1,
			 .qkey = QKEY};

	prepare_post(p, side, &w, VB_WC_LOC_PROT_ERR);
}

/* Keys and numbers of the request that are wrong. */
static void spoil_names(const struct play *p, struct work *w)
{
	switch (p->row->fault) {
	case QPN_WRONG:
		w->qpn_error = NUMBER_ERROR;
		break;
	case QPN_OTHER:
		w->to_other_qp = true;
		break;
	case DC_KEY_WRONG:
		w->dc_key_error = 1;
		break;
	case LKEY_WRONG:
	case ZERO_SGE:
		w->lkey ^= KEY_ERROR;
		w->region_error = KEY_ERROR;
		break;
	case LKEY_SECOND:
		w->last_lkey_error = KEY_ERROR;
		break;
	case RKEY_WRONG:
	case ZERO_LENGTH:
		w->rkey ^= KEY_ERROR;
		break;
	case INVALIDATE_WRONG:
		w->inv_rkey ^= KEY_ERROR;
		break;
	case INVALIDATE_REGION:
		w->inv_rkey = p->region[window_side(p)].rkey;
		break;
	case SRQ_WRONG:
		w->srqn_error = NUMBER_ERROR;
		break;
	case AH_PD:
		w->of_other_pd = true;
		break;
	case QKEY_WRONG:
		w->qkey = QKEY + 1;
		break;
	case QKEY_OWN:
		w->qkey = 0x80000000u;
		break;
	case FLUSH_NOTHING:
		w->flush = 0;
		break;
	case FLUSH_UNKNOWN:
		w->flush = VB_FLUSH_GLOBAL | 4;
		break;
	case FLUSH_REGION:
		w->flush |= VB_FLUSH_MR;
		break;
	default:
		break;
	}
}

/* Its length, and how many SGEs and requests there are. */
static void spoil_length(struct play *p, struct work *w)
{
	switch (p->row->fault) {
	case ZERO_LENGTH:
	case RECEIVE_ZERO:
	case RECEIVE_EMPTY:
		w->len = w->sge_cnt = 0;
		break;
	case ZERO_SGE:
	case BIND_EMPTY:
		w->len = 0;
		break;
	case LKEY_SECOND:
		w->sge_cnt = 2;
		w->len /= 2;
		break;
	case LENGTH_WRONG:
		w->len = 4;
		break;
	case LENGTH_MORE:
		w->len = 16;
		break;
	case MESSAGE_MAX:
		w->len = message_max() + 1;
		break;
	case TOO_LONG:
		w->len = mtu_bytes() + 1;
		break;
	case INLINE_LONG:
		w->flags = VB_SEND_INLINE;
		w->len = send_room().inline_bytes + 1;
		break;
	case SGES:
		w->sge_cnt = send_room().sges + 1;
		w->len = 8;
		break;
	case QUEUE_FULL:
		p->posts = send_room().wrs + 1;
		w->len = 8;
		break;
	default:
		break;
	}
}

/* Where it is. @there: the address at the responder. */
static void spoil_place(const struct play *p, struct work *w, uint8_t **there)
{
	uint8_t *here = block_of(REQUESTER) + REGION;
	uint32_t step = p->op & OF_8_BYTES ? 8 : 1;

	switch (p->row->fault) {
	case LOCAL_LOW:
		w->addr = here - 1;
		break;
	case LOCAL_HIGH:
	case LOCAL_HIGH_LONG:
		w->addr = here + REGION - w->len + 1;
		break;
	case REMOTE_LOW:
	case WINDOW_LOW:
		*there -= step;
		break;
	case REMOTE_HIGH:
	case REMOTE_HIGH_LONG:
		*there += REGION - w->len + step;
		break;
	case WINDOW_HIGH:
		*there += WINDOW_LEN - w->len + step;
		break;
	case FLUSH_REGION:
		*there += REGION;
		break;
	case MISALIGNED:
		*there += 4;
		break;
	default:
		break;
	}
}

static bool is_long(enum fault f)
{
	return f == LONG || f == LOCAL_HIGH_LONG || f == REMOTE_HIGH_LONG ||
	       f == RECEIVE_SHORT_LONG || f == RECEIVE_NONE_LONG;
}

static void prepare_work(struct play *p)
{
	uint8_t *there = block_of(RESPONDER) + REGION;
	struct work *w = &p->work;

	*w = p->op & BIND ? bind_work(p, VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_WRITE)
			  : (struct work){.addr = block_of(REQUESTER) + REGION,
					  .len = p->op & OF_8_BYTES       ? 8
						 : is_long(p->row->fault) ? LONG_LEN
									  : LEN,
					  .sge_cnt = p->op & (LOCAL_INV | FLUSH) ? 0 : 1};
	w->opcode = ops[op_index(p->op)].opcode;
	w->lkey = p->region[REQUESTER].lkey;
	w->rkey = w->inv_rkey = p->region[RESPONDER].rkey;
	w->qkey = QKEY;
	w->flush = VB_FLUSH_GLOBAL | VB_FLUSH_PERSISTENT;
	w->wr_id = 1;
	if (window_type(p)) {
		w->rkey = w->inv_rkey = p->window_rkey;
		there += WINDOW_AT;
	}
	spoil_names(p, w);
	spoil_length(p, w);
	spoil_place(p, w, &there);
	p->there = there;
	w->remote_addr = p->row->fault == WINDOW_ZERO ? 0 : address_of(RESPONDER, there);
}

static void prepare_receive(struct play *p)
{
	p->recv = (struct work){.wr_id = 100,
				.addr = block_of(RESPONDER) + REGION,
				.len = (is_long(p->row->fault) ? LONG_LEN : LEN) +
				       (p->setup.type == VB_QPT_UD ? GRH_LEN : 0),
				.lkey = p->receive.lkey,
				.sge_cnt = 1};
	switch (p->row->fault) {
	case RECEIVE_SHORT:
	case RECEIVE_SHORT_LONG:
		p->recv.len--;
		break;
	case RECEIVE_LKEY:
	case RECEIVE_ZERO:
		p->recv.lkey ^= KEY_ERROR;
		break;
	case RECEIVE_LKEY_SECOND:
		p->recv.sge_cnt = 2;
		p->recv.len /= 2;
		p->recv.last_lkey_error = KEY_ERROR;
		break;
	case RECEIVE_EMPTY:
		p->recv.sge_cnt = 0;
		break;
	case RECEIVE_HIGH:
		p->recv.addr += REGION - p->recv.len + 1;
		break;
	case RECEIVE_SGES:
		p->recv.sge_cnt = receive_room().sges + 1;
		break;
	case RECEIVE_QUEUE_FULL:
		p->receives = receive_room().wrs + 1;
		break;
	default:
		break;
	}
}

void case_prepare(struct play *p)
{
	prepare_regions(p);
	prepare_window(p);
	if (p->row->fault == IN_SQE)
		prepare_sqe(p, REQUESTER);
	if (p->row->fault == PEER_SQE)
		prepare_sqe(p, RESPONDER);
	prepare_work(p);
	prepare_receive(p);
}

void case_end(struct play *p)
{
	if (p->window.handle)
		free_window(&p->window);
	for (int side = 0; side < SIDES; side++)
		deregister_region(&p->region[side]);
	deregister_region(&p->receive);
}
