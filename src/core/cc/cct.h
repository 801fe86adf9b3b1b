/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control of InfiniBand at QPs. Where the port says so, each QP has an index of its own
 * (wire/mad/subnet/cct.h), and what it sends waits as that says: requests and READ responses, and
 * not acknowledgements. Else service levels of the port have indices, and the port delays packets.
 * QPs without a peer answer packets with FECN here; those with one do as they answer CE, see
 * point.h. Ports without such settings, and so all of RoCE, have none of this. IBA A10.2, A10.3;
 * items FAB-47, FAB-48
 */
#ifndef VB_CORE_CC_CCT_H
#define VB_CORE_CC_CCT_H

#include "base/cold.h"
#include "wire/hdr.h"
#include "wire/mad/subnet/cct.h"
#include "wire/packet.h"

struct vb_qp;

/* Of a port. */
struct vb_cct_rules {
	struct vb_cct table;
	uint64_t rate_bps; /* of the link; 0: there are no such rules */
	vb_dur keep;       /* for so long a QP that was late may make up for it */
};

/* As a log has them. IBA A10.4.3.5 */
enum vb_cct_service { VB_CCT_RC, VB_CCT_UC, VB_CCT_RD, VB_CCT_UD };

/* The index of a QP came to its trigger. */
struct vb_cct_event {
	vb_time at;
	uint32_t qpn, remote_qpn; /* remote_qpn and lid: of QPs with a peer, else 0 */
	uint16_t lid;
	uint8_t sl;
	uint8_t service; /* enum vb_cct_service */
};

/* The last ones of a port, as many as a log has room for: number n is at n % VB_CCT_EVENTS. One
 * writer, who may share them with readers in other processes. */
#define VB_CCT_EVENTS 13u
struct vb_cct_events {
	uint32_t seq; /* odd while it is written */
	uint32_t rsv;
	uint64_t cnt;
	struct vb_cct_event last[VB_CCT_EVENTS];
};

/* A consistent copy. False: it is being written again and again. */
static inline bool vb_cct_events_read(const struct vb_cct_events *e, struct vb_cct_events *to)
{
	for (int i = 0; i < 100; i++) {
		uint32_t seq = __atomic_load_n(&e->seq, __ATOMIC_ACQUIRE);

		*to = *e;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && __atomic_load_n(&e->seq, __ATOMIC_RELAXED) == seq)
			return true;
	}
	return false;
}

/* Senders of marked packets that are still to be told, each so many times. A mark of one more goes
 * unanswered. */
#define VB_CCT_NOTES 32u
struct vb_cct_note {
	struct vb_path path;
	uint32_t dqpn, times;
};
struct vb_cct_notes {
	uint32_t head, cnt;
	struct vb_cct_note note[VB_CCT_NOTES];
};

/* Of a port, in the HCA. */
struct vb_cct_port {
	struct vb_cct_rules rules;
	uint16_t index_max; /* where an index has been at most */
};

/* Of a QP, in qp->cc. */
struct vb_cct_point {
	bool on; /* it has an index */
	struct vb_ccti ccti;
	vb_time next;               /* nothing leaves before */
	struct vb_cct_notes *notes; /* of a QP without a peer; NULL: it answers nobody */
};

/* NULL, or the reason why the rules are none. */
const char *vb_cct_check(const struct vb_cct_rules *r);

/* The settings of the port are others, or the QP has another port, or none yet. */
void vb_cct_refresh(struct vb_qp *qp);

/* qp->cc.cct.on: the time from which on the next packet may leave; 0: it may in any case. */
static inline vb_time vb_cct_send_at(const struct vb_cct_point *c)
{
	return c->next;
}
/* ... how long after that a QP that waits had better look again. */
vb_dur vb_cct_wait(const struct vb_qp *qp);
/* ... packets leave so slowly that each had better ask for an ACK. */
bool vb_cct_asks(const struct vb_qp *qp);
/* ... @tx leaves. */
void vb_cct_sent(struct vb_qp *qp, const struct vb_tx *tx, vb_time now);
/* ... the rate that the index leaves, bit/s. */
uint64_t vb_cct_rate(const struct vb_qp *qp);

/* A BECN for the QP came @from there. False: the QP has no index. */
VB_COLD bool vb_cct_becn(struct vb_qp *qp, const struct vb_path *from, vb_time now);

/* QP @dqpn, which sent a marked packet that came by @from, is to be told. False: nobody can be. */
VB_COLD bool vb_cct_note(struct vb_qp *qp, const struct vb_path *from, uint32_t dqpn);
/* The next one to be told, once; NULL: the peer is. It stays as it is until the next note. */
const struct vb_cct_note *vb_cct_take_note(struct vb_qp *qp);

#endif
