/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups: UD QPs join and leave them and send to them. A message is received by every QP
 * that is attached as it arrives and has a receive, on the sender's host too, once and by nobody
 * else. The GRH tells who sent it, and to whom. IBA 10.5, IBT-19...21
 */
#include "play.h"

#include <errno.h>
#include <string.h>

#define FIRST_OF_GROUPS 0xef010100u /* 239.1.1.0 */

static struct vb_gid gid_of(uint32_t group)
{
	struct vb_gid gid = {{[10] = 0xff, 0xff, 239, 1, 1}};

	gid.b[15] = (uint8_t)group;
	return gid;
}

void group_aim(const struct sent *w, struct vb_ah *ah, struct vb_send_wr *wr)
{
	if (!w->group)
		return;
	ah->path.dgid = gid_of(w->group - 1u);
	wr->dqpn = VB_QPN_MULTICAST;
}

void play_group(struct play *p, const struct step *st)
{
	struct end *e = play_end(p, st);
	uint32_t group = st->arg[GROUP_NUMBER] % GROUPS;
	struct vb_gid gid = gid_of(group), found;
	uint16_t lid;
	int want;

	if (!e)
		return;
	host_wake(p, e->host); /* what came before counts as before */
	if (p->queue[e->host].lost)
		return;
	if (st->arg[GROUP_LEAVE]) {
		want = e->groups >> group & 1 ? 0 : -EINVAL;
		CHECK("call", vb_qp_detach_mcast(e->qp, &gid, 0) == want);
		e->groups &= ~(1u << group);
	} else {
		want = e->conn->type != VB_QPT_UD ? -EINVAL : e->groups >> group & 1 ? -EEXIST : 0;
		CHECK("call", vb_qp_attach_mcast(e->qp, &gid, 0) == want);
		if (!want)
			e->groups |= 1u << group;
	}
	CHECK("call", vb_qp_mcast_group(e->qp, &found, &lid) == (e->groups != 0));
}

void group_leave_all(struct end *e)
{
	if (e->groups)
		CHECK("call", vb_qp_destroy(e->qp) == -EBUSY);
	for (uint32_t i = 0; i < GROUPS; i++) {
		struct vb_gid gid = gid_of(i);

		if (e->groups >> i & 1)
			CHECK("call", vb_qp_detach_mcast(e->qp, &gid, 0) == 0);
	}
	e->groups = 0;
}

static uint32_t be32_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

struct end *group_sender(struct play *p, struct end *e, const struct mem *m, const struct buf *b,
			 const struct vb_wc *wc, uint32_t *group)
{
	uint8_t grh[VB_GRH_LEN];
	uint32_t at = 0, src, dst;

	for (uint32_t i = 0; i < b->sge_cnt && at < VB_GRH_LEN; i++) {
		const struct vb_sge *s = &b->sge[i];
		uint32_t n = s->length < VB_GRH_LEN - at ? s->length : VB_GRH_LEN - at;

		memcpy(grh + at, m->base + (s->addr - m->iova), n);
		at += n;
	}
	/* IPv4 header, in the last 20 bytes. */
	src = (be32_at(grh + 32) & 0xffffff) - 1;
	dst = be32_at(grh + 36);
	*group = dst - FIRST_OF_GROUPS < GROUPS ? dst - FIRST_OF_GROUPS + 1 : 0;
	if (*group ? !(e->groups >> (*group - 1) & 1) : (dst & 0xffffff) - 1 != e->host)
		fail("once", "a message to %#x arrives at who is not meant", dst);
	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; p->conn[c].exists && i < 2; i++) {
			struct end *from = &p->conn[c].end[i];

			if (p->conn[c].type == VB_QPT_UD && from->host == src &&
			    from->qpn == wc->src_qpn && (*group || from == peer_of(e)))
				return from;
		}
	fail("once", "a datagram is from QP %#x of host %u, which did not send it", wc->src_qpn,
	     src);
}

uint32_t *group_next(struct play *p, struct end *e, const struct end *from, uint32_t group)
{
	return &e->group_in[group - 1][(from->conn - p->conn) * 2 + from->side];
}

/* A packet arrives at @host: who must receive it, and who may. */
void group_arrives(struct play *p, uint32_t host, const struct vb_frame *pkt)
{
	uint32_t group = be32_at(pkt->path.dgid.b + 12) - FIRST_OF_GROUPS;

	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; p->conn[c].exists && i < 2; i++) {
			struct end *e = &p->conn[c].end[i];
			struct vb_qp_view v;

			if (e->host != host || !e->qp || group >= GROUPS ||
			    !(e->groups >> group & 1))
				continue;
			CHECK("self", vb_hca_view(vb_sim_hca(p->sim, host), e->qpn,
						  vb_sim_now(p->sim), &v));
			if (v.state != VB_QPS_RTR && v.state != VB_QPS_RTS &&
			    v.state != VB_QPS_SQD && v.state != VB_QPS_SQE)
				continue;
			/* Members that share an SRQ may take the last ones from each other. */
			if (v.recvs == 0 || (e->conn->srq && v.recvs < 2 * CONNS_MAX) ||
			    pkt->corrupt)
				e->group_may++;
			else
				e->group_must++;
		}
}

void group_check(const struct play *p, const struct end *e)
{
	if (e->conn->type != VB_QPT_UD || !e->qp || !e->conn->first_life || e->ended ||
	    p->queue[e->host].lost)
		return;
	if (e->group_got < e->group_must || e->group_got > e->group_must + e->group_may)
		fail("once", "%u messages to groups were received, and %u to %u arrived",
		     e->group_got, e->group_must, e->group_must + e->group_may);
}
