/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watches the packets of RC connections as they leave a host, and checks how their PSNs, MSNs and
 * credits relate. IBA 9.7.2 (PSN), 9.7.7.1 (MSN), 9.7.7.2 (credits)
 */
#include "play.h"

#include "wire/hdr.h"

#include <stdlib.h>

/* The end that sends a packet to @dqpn at @dst, or NULL. */
static struct end *sender_of(struct play *p, uint32_t src, uint32_t dst, uint32_t dqpn)
{
	for (uint32_t c = 0; c < CONNS_MAX; c++) {
		struct conn *k = &p->conn[c];

		for (uint32_t i = 0; k->exists && i < 2; i++) {
			struct end *to = &k->end[!i];

			if (k->end[i].host == src && to->host == dst && to->qp && k->end[i].qp &&
			    (to->qpn == dqpn || (to->tgt && vb_qp_number(to->tgt) == dqpn)))
				return &k->end[i];
		}
	}
	return NULL;
}

static int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* New packets have the next PSN; repeated ones lie before it. */
static void check_request(struct end *e, const struct vb_hdr *h)
{
	uint32_t pkts = 1;
	int32_t diff = psn_diff(h->psn.v, e->psn_next);

	if ((h->opcode & VB_OP_MASK) == VB_OP_READ_REQUEST && h->reth.len > e->conn->mtu_bytes)
		pkts = (h->reth.len + e->conn->mtu_bytes - 1) / e->conn->mtu_bytes;
	if (diff > 0 || psn_diff(h->psn.v, e->psn_start) < 0)
		fail("psn", "a request has PSN %#x, and the next one is %#x", h->psn.v,
		     e->psn_next);
	if (diff == 0 && vb_opcode[h->opcode].flags & VB_OP_LAST)
		e->wire_messages++;
	if (diff + (int32_t)pkts > 0)
		e->psn_next = (e->psn_next + (uint32_t)(diff + (int32_t)pkts)) & 0xffffff;
}

static void check_response(struct end *e, const struct vb_hdr *h, bool lossless)
{
	struct end *asker = peer_of(e);
	uint32_t syndrome = h->aeth.syndrome;
	bool nak_seq = syndrome == VB_NAK_PSN_SEQ || (syndrome >> 5) == 1;

	/* Nothing is answered that was not asked; a NAK may name what comes next. */
	if (psn_diff(h->psn.v, asker->psn_next) >= (nak_seq ? 1 : 0))
		fail("psn", "an answer has PSN %#x, and requests go up to %#x", h->psn.v,
		     (asker->psn_next - 1) & 0xffffff);
	if (!(vb_opcode[h->opcode].ext & VB_EXT_AETH))
		return;
	if (h->aeth.msn > asker->wire_messages)
		fail("msn", "MSN %u, and only %u messages were sent", h->aeth.msn,
		     asker->wire_messages);
	if (e->acked) {
		int32_t psn = psn_diff(h->psn.v, e->ack_psn),
			msn = psn_diff(h->aeth.msn, e->ack_msn);

		if ((psn > 0 && msn < 0) || (psn < 0 && msn > 0))
			fail("msn", "MSN %u for PSN %#x, after MSN %u for PSN %#x", h->aeth.msn,
			     h->psn.v, e->ack_msn, e->ack_psn);
	}
	if (!e->acked || psn_diff(h->psn.v, e->ack_psn) > 0) {
		e->acked = true;
		e->ack_psn = h->psn.v;
		e->ack_msn = h->aeth.msn;
	}
	if ((syndrome & VB_SYNDROME_CLASS) != VB_SYNDROME_ACK)
		return;

	uint32_t code = syndrome & VB_SYNDROME_VALUE, credits = code;

	/* Codes 0...4 are numbers; above that the code is smaller than the number. IBA table 48 */
	if (e->conn->srq != (code == VB_CREDIT_UNLIMITED))
		fail("credit", "an ACK has credit code %u on a QP %s SRQ", code,
		     e->conn->srq ? "with an" : "without");
	/* One that a PAUSE held back is from before. */
	if (!e->conn->srq && credits > e->recv_cnt - e->recv_done && !lossless)
		fail("credit", "an ACK gives credit code %u, and %u receives are posted", code,
		     e->recv_cnt - e->recv_done);
}

void play_packet(void *ctx, uint32_t port, enum vb_cable_tap_dir dir, const struct vb_frame *pkt,
		 vb_time now)
{
	struct play *p = ctx;
	struct vb_hdr h;
	uint32_t src = (uint32_t)pkt->path.sgid.b[15] - 1;

	for (uint32_t at = 0; dir == VB_CABLE_RECEIVED && at < p->hosts; at++)
		if (vb_sim_host_port(p->sim, at) == port && vb_gid_is_multicast(&pkt->path.dgid))
			group_arrives(p, at, pkt);
	if (dir != VB_CABLE_SENT || pkt->mark & VB_FAULT_MARK_COPY || pkt->kind != VB_FRAME_DATA ||
	    src >= p->hosts || vb_sim_host_port(p->sim, src) != port)
		return;
	p->count.packets++;
	p->count.bytes += pkt->len;
	CHECK("wire", vb_hdr_parse(&h, pkt->bytes, pkt->len, pkt->len) == VB_VERDICT_OK);
	if (p->verbose)
		printf("%12llu host %u to %u qp %06x %-22s psn %06x syndrome %02x msn %u\n",
		       (unsigned long long)now, src, vb_sim_host_of(&pkt->path.dgid), h.dqpn,
		       vb_opcode[h.opcode].name, h.psn.v, h.aeth.syndrome, h.aeth.msn);

	struct end *e = sender_of(p, src, vb_sim_host_of(&pkt->path.dgid), h.dqpn);

	if (!e || !e->conn->first_life || !e->conn->reliable || h.opcode == VB_OPCODE_CNP)
		return;
	if (vb_opcode[h.opcode].flags & VB_OP_REQUEST)
		check_request(e, &h);
	else
		check_response(e, &h, p->s->world[WORLD_SWITCH] == SWITCH_LOSSLESS);
}
