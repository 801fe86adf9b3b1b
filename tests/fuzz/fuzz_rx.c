/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receive path of an adapter with objects in every state. An input is a sequence of steps, a
 * byte that chooses and bytes that say how: packets that are nearly right (so that they get in),
 * raw packets, work requests, passing time, state changes, lost memory. rx_world.c has what must
 * hold throughout.
 */
#include "core/dc/dc.h"
#include "rx_world.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

#define STEPS_MAX 512
#define PAYLOAD_MAX 4400

/* The bytes of an input, zeros when it is used up. */
struct input {
	const uint8_t *p;
	size_t left;
};

static uint8_t take8(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->p++;
}

static uint16_t take16(struct input *in)
{
	uint8_t hi = take8(in);

	return (uint16_t)(hi << 8 | take8(in));
}

static uint32_t take32(struct input *in)
{
	uint32_t hi = take16(in);

	return hi << 16 | take16(in);
}

/* An address in or near a region; now and then anywhere. */
static uint64_t take_va(struct world *w, struct input *in)
{
	uint8_t how = take8(in);
	uint64_t base = (uintptr_t)world_memory(w, how % REGION_CNT);
	uint16_t off = take16(in);

	switch (how >> 4) {
	case 15:
		return (uint64_t)take32(in) << 32 | off;
	case 14:
		return base + REGION_LEN - off % 600;
	case 13:
		return base - off % 600;
	default:
		return base + (off % REGION_LEN & ~7u) + (how >> 2 & 1u);
	}
}

static uint32_t take_key(const struct world *w, struct input *in)
{
	uint8_t how = take8(in);

	return how < 0xf0 ? w->rkey[how % REGION_CNT] : w->rkey[how % REGION_CNT] ^ take32(in);
}

/* Lengths around what matters at an MTU of 256. */
static uint32_t take_len(struct input *in)
{
	static const uint16_t of[] = {256, 256, 256, 0, 8, 1, 255, 257, 512, 252, 4096, 3, 260};
	uint8_t how = take8(in);

	return how < 0xe0 ? of[how % (sizeof of / sizeof of[0])] : take16(in) % PAYLOAD_MAX;
}

/* A QP; of the halves of DC and XRC less often, as they came later and inputs are kept. */
static unsigned take_qp(struct input *in)
{
	uint8_t how = take8(in);

	return how < 0xa0 ? how % QP_FIRST_DC : QP_FIRST_DC + how % (QP_CNT - QP_FIRST_DC);
}

/* An opcode of the QP's transport; now and then of any. */
static uint8_t take_opcode(struct input *in, enum vb_qp_type type)
{
	uint8_t how = take8(in);
	uint8_t base = type == VB_QPT_RC                          ? VB_TRANSPORT_RC
		       : type == VB_QPT_UC                        ? VB_TRANSPORT_UC
		       : type == VB_QPT_DCI || type == VB_QPT_DCT ? VB_TRANSPORT_DC
		       : type == VB_QPT_UD                        ? VB_TRANSPORT_UD
								  : VB_TRANSPORT_XRC;

	return how < 0xe0 ? (uint8_t)(base | (how & VB_OP_MASK)) : take8(in);
}

/* PSNs of requests lie around the expected one, of responses around the oldest awaited one. */
static struct vb_psn take_psn(struct world *w, struct input *in, unsigned q, uint8_t opcode)
{
	int8_t off = (int8_t)take8(in);
	struct vb_qp_attr a = {0};
	uint32_t base;

	if (w->qp[q] == NULL)
		return vb_psn((uint32_t)off);
	vb_qp_query(w->qp[q], &a);
	base = vb_opcode[opcode].flags & VB_OP_RESPONSE ? a.sq_psn - vb_qp_unacked(w->qp[q])
							: a.rq_psn;
	/* Half of the values are on the spot. */
	return vb_psn(off & 1 ? base + (uint32_t)(off >> 1) : base);
}

/*
 * The DCETH and DCCETH. Of what a target or an initiator waits for, now and then something else;
 * four initiators, of each address, know the target.
 */
static void take_dc(struct input *in, const struct vb_qp *qp, struct vb_hdr *h)
{
	uint8_t how = take8(in);

	h->dc.sqpn = h->dc.qpn = 0x70u + how % 4;
	h->dc.connection = 0x50000;
	if (qp && qp->dci) {
		h->dc.sqpn = qp->dci->dest.to.dqpn;
		h->dc.connection = qp->dc_connection;
		h->psn = vb_psn_add(qp->req.psn_una, how >> 2 & 3);
	}
	for (uint32_t i = 0; qp && qp->dct && i < VB_DCT_CONTEXTS; i++) {
		const struct vb_dct_entry *e = &qp->dct->entry[i];

		if (e->use == VB_DCT_FREE || e->qpn != h->dc.sqpn)
			continue;
		h->dc.connection = qp->dct->context[i]->dc_connection;
		h->psn = vb_psn_add(qp->dct->context[i]->resp.epsn, how & 4 ? 0 : how >> 3 & 3);
		break;
	}
	if (how >= 0xf0)
		h->dc.connection ^= take32(in);
	if (h->opcode != VB_OPCODE_DC_CONNECT)
		return;
	how = take8(in);
	h->dc.connection += how & 3;
	h->dc.full = how & 4;
	h->dc.key = how < 0xe0 ? DC_KEY : take8(in);
	h->dc.first = vb_psn(how & 8 ? take32(in) : h->psn.v);
	if (how >= 0xf0)
		h->dc.sqpn = take16(in);
}

static void take_ext(struct world *w, struct input *in, struct vb_hdr *h, uint32_t payload)
{
	uint16_t ext = vb_opcode[h->opcode].ext;

	if (ext & VB_EXT_XRCETH)
		h->xrc_srqn = vb_srq_number(w->xsrq) + take8(in) / 0xc0;

	if (ext & VB_EXT_RETH) {
		uint8_t how = take8(in);

		h->reth.va = take_va(w, in);
		h->reth.rkey = take_key(w, in);
		h->reth.len = how < 0x60   ? payload
			      : how < 0xc0 ? payload + how
			      : how < 0xf8 ? take16(in) % 1200
					   : take32(in);
	}
	if (ext & VB_EXT_ATOMICETH) {
		h->atomic.va = take_va(w, in);
		h->atomic.rkey = take_key(w, in);
		h->atomic.swap_add = take16(in);
		h->atomic.compare = take16(in);
	}
	if (ext & VB_EXT_AETH) {
		h->aeth.syndrome = take8(in);
		h->aeth.msn = take16(in);
	}
	if (ext & VB_EXT_DETH) {
		h->deth.qkey = take8(in) < 0xf0 ? 0x11111111 : take32(in);
		h->deth.sqpn = take16(in);
	}
	if (ext & VB_EXT_IETH)
		h->inv_rkey = take_key(w, in);
	h->imm = take8(in);
	h->atomic_orig = h->imm;
}

static void deliver(struct world *w, const uint8_t *pkt, uint32_t len, bool foreign)
{
	struct vb_path path = world_path(), back = path;
	/* A copy of just that size, for AddressSanitizer. */
	uint8_t *exact = malloc(len + 1);
	struct vb_rx rx = {.path = &path, .len = len, .avail = len};

	require(exact != NULL);
	memcpy(exact, pkt, len);
	rx.pkt = exact;
	path.sgid = back.dgid;
	path.dgid = back.sgid;
	path.sgid.b[15] = (uint8_t)(path.sgid.b[15] + foreign);
	require(vb_hca_handle_packet(w->hca, &rx, w->now) < VB_VERDICT_CNT);
	free(exact);
}

static void step_packet(struct world *w, struct input *in)
{
	static uint8_t pkt[VB_HDR_MAX + PAYLOAD_MAX + VB_PAD_MAX];
	unsigned q = take_qp(in);
	uint8_t flags = take8(in);
	uint8_t opcode = take_opcode(in, w->type[q]);
	struct vb_hdr h = {.opcode = opcode,
			   .solicited = flags & 1,
			   .ack_req = flags & 2,
			   .becn = (flags & 0x1c) == 0x1c,
			   .fecn = (flags & 0x2c) == 0x2c,
			   .pkey = (flags & 0xe0) == 0xe0 ? take16(in) : VB_PKEY_DEFAULT,
			   .dqpn = w->qpn[q]};
	uint32_t len, payload = 0;

	if (vb_opcode[h.opcode].name == NULL)
		return;
	h.psn = take_psn(w, in, q, h.opcode);
	if (vb_opcode[h.opcode].ext & VB_EXT_DCETH)
		take_dc(in, w->qp[q], &h);
	if (vb_opcode[h.opcode].flags & VB_OP_PAYLOAD)
		payload = take_len(in);
	take_ext(w, in, &h, payload);
	h.pad = (uint8_t)(-payload & 3);
	len = (uint32_t)vb_hdr_emit(&h, pkt);
	memset(pkt + len, take8(in), payload);
	memset(pkt + len + payload, 0, h.pad);
	deliver(w, pkt, len + payload + h.pad, (flags & 0xd0) == 0xd0);
}

static void step_raw(struct world *w, struct input *in)
{
	uint32_t len = take8(in);

	if (len > in->left)
		len = (uint32_t)in->left;
	deliver(w, in->p, len, false);
	in->p += len;
	in->left -= len;
}

static uint32_t take_sges(struct world *w, struct input *in, struct vb_sge *sge)
{
	uint32_t cnt = take8(in) % 4;

	for (uint32_t i = 0; i < cnt; i++) {
		uint8_t how = take8(in);

		sge[i].addr = take_va(w, in);
		sge[i].length = how < 0xf0 ? take_len(in) : take32(in);
		sge[i].lkey = take_key(w, in);
	}
	return cnt;
}

static void step_post_send(struct world *w, struct input *in)
{
	unsigned q = take_qp(in);
	struct vb_sge sge[4];
	struct vb_ah ah = {.pd = w->pd, .path = world_path()};
	struct vb_send_wr wr = {.wr_id = w->wr_cnt, .sge = sge, .ah = &ah, .qkey = 0x11111111};

	wr.opcode = (enum vb_wr_opcode)(take8(in) % VB_WR_NOP);
	if (wr.opcode == VB_WR_BIND_MW)
		wr.opcode = VB_WR_SEND;
	/* Inline data would be read from any address: not for a fuzzer to choose. */
	wr.flags = take8(in) & (VB_SEND_FENCE | VB_SEND_SIGNALED | VB_SEND_SOLICITED);
	wr.sge_cnt = take_sges(w, in, sge);
	wr.remote_addr = take16(in);
	wr.inv_rkey = take_key(w, in);
	wr.dqpn = take8(in);
	wr.srqn = wr.dqpn;
	wr.dc_key = DC_KEY;
	wr.dc_stream = wr.dqpn >> 1 & 3;
	if (w->qp[q] != NULL && w->wr_cnt < WR_MAX && vb_qp_post_send(w->qp[q], &wr, w->now) == 0)
		w->wr_cnt++;
}

static void step_post_recv(struct world *w, struct input *in)
{
	unsigned q = take8(in) % (QP_FIRST_DC + 4);
	struct vb_sge sge[4];
	struct vb_recv_wr wr = {.wr_id = w->wr_cnt, .sge = sge};
	int rc = -1;

	wr.sge_cnt = take_sges(w, in, sge);
	if (w->wr_cnt >= WR_MAX)
		return;
	if (q >= QP_FIRST_DC)
		rc = vb_srq_post(q & 1 ? w->xsrq : w->srq, &wr);
	else if (w->qp[q] != NULL)
		rc = vb_qp_post_recv(w->qp[q], &wr, w->now);
	if (rc == 0)
		w->wr_cnt++;
}

/* Memory that goes away while it is in use, a QP that changes its state or is destroyed. */
static void step_control(struct world *w, struct input *in)
{
	uint8_t how = take8(in);
	unsigned q = take_qp(in), r = how % REGION_CNT;
	struct vb_qp_attr a = {.qp_state = (enum vb_qp_state)(take8(in) % VB_QPS_CNT),
			       .en_sqd_async_notify = 1};

	if (how < 0x10 && w->mr[r] != NULL) {
		require(vb_mr_destroy(w->mr[r]) == 0);
		w->mr[r] = NULL;
	} else if (how < 0x18 && w->qp[q] != NULL) {
		require(vb_qp_destroy(w->qp[q]) == 0);
		w->qp[q] = NULL;
	} else if (how >= 0x18 && how < 0x20 && w->qp[q] != NULL) {
		(void)vb_dci_reset_stream(w->qp[q], how & 3);
	} else if (how >= 0xc0 && w->qp[q] != NULL) {
		(void)vb_qp_modify(w->qp[q], &a, VB_QP_STATE, w->now);
	} else {
		vb_cq_arm(w->cq, how & 1);
	}
}

static void step(struct world *w, struct input *in)
{
	switch (take8(in) % 16) {
	default:
		step_packet(w, in);
		break;
	case 8:
		step_raw(w, in);
		break;
	case 9:
	case 10:
		step_post_send(w, in);
		break;
	case 11:
		step_post_recv(w, in);
		break;
	case 12:
	case 13:
		world_drain(w);
		break;
	case 14:
		world_pass(w, UINT64_C(1) << take8(in) % 40);
		break;
	case 15:
		step_control(w, in);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct world w;
	struct input in = {data, len};

	world_open(&w);
	for (unsigned i = 0; i < STEPS_MAX && in.left > 0; i++) {
		step(&w, &in);
		world_check_memory(&w);
	}
	/* Left alone, everything comes to an end: retries run out, queues flush. */
	world_drain(&w);
	world_pass(&w, 60 * VB_SEC);
	world_drain(&w);
	world_check_memory(&w);
	world_close(&w);
	return 0;
}
