/* SPDX-License-Identifier: BSD-2-Clause */
/* QP1 of the shared broker, as users have it: messages that they send, and a reader of their ring.
 */
#ifndef VB_TESTS_UNIT_CARRIER_GSI_ENV_H
#define VB_TESTS_UNIT_CARRIER_GSI_ENV_H

#include "carrier_env.h"
#include "udp_forged.h"
#include "wire/mad/cm.h"

#define SERVICE UINT64_C(0x1061111)
#define ID 0x00123456u

static const struct vb_gid loopback = {.b = {[15] = 1}};
static const struct vb_gid any;

/* Sends @mad from QP1 to QP1 of this host, as any user can. */
static inline void mad_send(const uint8_t mad[VB_MAD_LEN], uint32_t cnt)
{
	const struct vb_path way = {.sgid = loopback, .dgid = loopback};
	const struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
				 .pkey = 0xffff,
				 .dqpn = VB_QPN_GSI,
				 .deth = {VB_MAD_QKEY, VB_QPN_GSI}};
	struct forged o;
	uint8_t head[VB_HDR_MAX];
	uint32_t len = (uint32_t)vb_hdr_emit(&h, head);

	forge(&o, &way, 0, 0, len - VB_BTH_LEN + VB_MAD_LEN);
	memcpy(o.pkt, head, len);
	memcpy(o.pkt + len, mad, VB_MAD_LEN);
	forge_icrc(&o, &way, 0, 0);
	for (uint32_t i = 0; i < cnt; i++)
		forged_send(&o);
	close(o.fd);
}

static inline void message_send(const struct vb_cm_msg *m)
{
	uint8_t mad[VB_MAD_LEN];

	vb_cm_msg_emit(m, mad);
	mad_send(mad, 1);
}

static inline struct vb_cm_msg req(uint64_t service, uint32_t id)
{
	return (struct vb_cm_msg){
	    .attr = VB_CM_REQ,
	    .tid = id,
	    .local_id = id,
	    .req = {.service_id = service,
		    .ca_guid = 7,
		    .qpn = 9,
		    .mtu = VB_MTU_1024,
		    .pkey = 0xffff,
		    .primary = {.local_gid = loopback, .remote_gid = loopback}}};
}

/* A message to the holder of @part, with an ID of that. */
static inline struct vb_cm_msg to_part(enum vb_cm_attr attr, uint32_t part)
{
	return (struct vb_cm_msg){
	    .attr = attr, .local_id = 77, .remote_id = part << VB_CARRIER_ID_SHIFT | ID};
}

static inline int claim(struct vb_carried *c, enum vb_carrier_ask_op op, uint64_t service,
			const struct vb_gid *gid)
{
	struct vb_carrier_ask ask = {.op = op, .service_id = service, .gid = *gid};

	return vb_carried_ask(c, &ask);
}

/* The reader of a ring of QP1. */
struct reader {
	struct vb_ring_rx ring;
	uint8_t copy[VB_RING_COPY_BYTES];
	uint8_t mad[VB_MAD_LEN];
};

/* The next MAD that comes within @ms; false: none does. */
static inline bool mad_next(struct reader *r, int ms)
{
	struct vb_ring_way way;
	struct vb_rx rx;

	for (; ms >= 0; ms--) {
		if (vb_ring_begin(&r->ring, &way) && vb_ring_take(&r->ring, &rx, r->copy)) {
			struct vb_tx tx;
			struct vb_seg seg;

			rx.path = &way.path;
			MUST(vb_tx_of_rx(&rx, &tx, &seg) && seg.len == VB_MAD_LEN);
			memcpy(r->mad, seg.p, VB_MAD_LEN);
			vb_ring_give_back(&r->ring);
			return true;
		}
		(void)poll(NULL, 0, 1);
	}
	return false;
}

/* The next message is of the kind @attr, with @local_id of the sender. */
static inline void must_read(struct reader *r, enum vb_cm_attr attr, uint32_t local_id)
{
	struct vb_cm_msg m;

	MUST(mad_next(r, BROKER_PATIENCE_MS));
	MUST(vb_cm_msg_parse(&m, r->mad) == 0);
	if (m.attr != attr || m.local_id != local_id)
		fprintf(stderr, "attribute %#x from %#x\n", m.attr, m.local_id);
	MUST(m.attr == attr && m.local_id == local_id);
}

static inline void step_to(uint32_t n)
{
	__atomic_store_n(&common->ready, n, __ATOMIC_SEQ_CST);
}

#endif
