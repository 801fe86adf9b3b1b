/* SPDX-License-Identifier: BSD-2-Clause */
/* A CQ without room, for errors_verbs.c. IBA 10.8.2, 11.6.3.3 */
#include "errors_verbs.h"

#include <poll.h>

struct ibv_cq *filler_open(struct filler *f, struct ibv_pd *pd)
{
	f->channel = ibv_create_comp_channel(pd->context);
	f->cq = f->channel ? ibv_create_cq(pd->context, 1, NULL, f->channel, 0) : NULL;
	if (!f->cq)
		return NULL;

	struct ibv_qp_init_attr init = {
	    .qp_type = IBV_QPT_UD,
	    .send_cq = f->cq,
	    .recv_cq = f->cq,
	    .cap = {(uint32_t)f->cq->cqe + 1, 1, 1, 1, 0},
	};

	f->qp = ibv_create_qp(pd, &init);
	return f->qp ? f->cq : NULL;
}

static bool bring_up(struct filler *f, uint8_t port)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = port, .qkey = QKEY + 1};
	struct step step[STEPS_MAX];
	uint32_t cnt = steps_to(VB_QPT_UD, VB_QPS_RTS, step);
	bool ok = true;

	for (uint32_t i = 0; i < cnt; i++) {
		a.qp_state = (enum ibv_qp_state)step[i].state;
		ok &= ibv_modify_qp(f->qp, &a, IBV_QP_STATE | (int)step[i].mask) == 0;
	}
	return ok;
}

/* Only the channel can tell of the completion: polling would make room. */
static bool wait_for_one(struct filler *f, int patience_ms)
{
	struct pollfd fd = {.fd = f->channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *ctx;

	if (poll(&fd, 1, patience_ms) != 1 || ibv_get_cq_event(f->channel, &cq, &ctx))
		return false;
	f->told++;
	return true;
}

bool filler_fill(struct filler *f, struct ibv_ah_attr *to, enum cq_room room, int patience_ms)
{
	uint32_t room_cnt = (uint32_t)f->cq->cqe;
	struct ibv_send_wr wr = {
	    .wr_id = FILL_WR_ID, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *refused;
	bool ok = bring_up(f, to->port_num);

	f->ah = ibv_create_ah(f->qp->pd, to);
	wr.wr.ud.ah = f->ah;
	wr.wr.ud.remote_qpn = f->qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY + 1;
	ok = ok && f->ah;
	for (uint32_t i = 0; ok && i < room_cnt; i++)
		ok = ibv_req_notify_cq(f->cq, 0) == 0 && ibv_post_send(f->qp, &wr, &refused) == 0 &&
		     wait_for_one(f, patience_ms);
	if (room == CQ_OVERRUN)
		ok = ok && ibv_post_send(f->qp, &wr, &refused) == 0;
	return ok;
}

bool filler_close(struct filler *f)
{
	bool ok = ibv_destroy_qp(f->qp) == 0 && ibv_destroy_ah(f->ah) == 0;

	ibv_ack_cq_events(f->cq, f->told);
	return ibv_destroy_cq(f->cq) == 0 && ibv_destroy_comp_channel(f->channel) == 0 && ok;
}
