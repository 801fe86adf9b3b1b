/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hooks of selective repeat (core/selective) in both halves of RC: all of it, hung into the HCA
 * when that is made. Only a QP that offers it, whose qp->sr is not NULL, asks these; any other is
 * go-back-N. hca->repeat->offer() is asked when a QP comes to offer it.
 */
#ifndef VB_CORE_QP_REPEAT_H
#define VB_CORE_QP_REPEAT_H

#include "base/psn.h"
#include "base/time.h"
#include "core/rc/responder.h"
#include "wire/hdr.h"
#include "wire/packet.h"

struct vb_qp;
struct vb_swqe;

#define VB_SR_WINDOW 65535u /* PSNs from the expected one on that may be kept */
#define VB_SR_PIECE 4096u   /* packets of one READ request at most */

struct vb_repeat_hooks {
	/* The QP reaches RTR; without memory it does not offer it. It ends, and does not any more.
	 */
	void (*offer)(struct vb_qp *qp);
	void (*end)(struct vb_qp *qp);

	/* Requester. @pkts more PSNs behind the @span in flight have to wait. */
	bool (*is_full)(const struct vb_qp *qp, uint32_t span, uint32_t pkts);
	/* The packet at psn_nxt asks for an ACK, whatever its place. */
	bool (*asks)(const struct vb_qp *qp);
	/* The packet at psn_nxt leaves, @again or for the first time. */
	void (*sent)(struct vb_qp *qp, bool again, vb_time now);
	/* Something waits to be sent again; sends it into @b, unless it has arrived meanwhile.
	 * False: its memory is gone. */
	bool (*is_due)(const struct vb_qp *qp);
	bool (*resend)(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now);
	/* Nothing was heard for so long that something is lost; @lags: the receiver has not read
	 * all yet. */
	void (*silent)(struct vb_qp *qp, bool lags, vb_time now);
	/* Sending goes back. All before psn_una was acknowledged. */
	void (*rewound)(struct vb_qp *qp);
	void (*progressed)(struct vb_qp *qp, vb_time now);
	/* A packet of the responder is accepted: the first one decides what was agreed. */
	void (*accepted)(struct vb_qp *qp, const struct vb_hdr *hdr);
	bool (*has_agreed)(const struct vb_qp *qp);
	/* A sequence error NAK. False: it is no report, or not a right one. *@credits: a code of
	 * IBA table 48, or as it was. */
	bool (*reported)(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			 int *credits, vb_time now);
	/* Agreed: everything before @psn was answered or acknowledged, so that answers that have
	 * not come are lost. */
	void (*answered)(struct vb_qp *qp, struct vb_psn psn, vb_time now);
	/* Agreed: the WQE of answer @psn beyond a missing one; NULL: it is in place. It is placed.
	 */
	struct vb_swqe *(*early_wqe)(struct vb_qp *qp, struct vb_psn psn);
	void (*early_placed)(struct vb_qp *qp, struct vb_psn psn, vb_time now);
	/* The answer with psn_una, which came early, is in place; takes its mark away. */
	bool (*una_came)(struct vb_qp *qp);
	/* The answer with psn_una is placed, and with it what lies behind is complete. False:
	 * nothing lies there. */
	bool (*una_placed)(struct vb_qp *qp, vb_time now);

	/* Responder. A request says that the peer knows it; whether one did. */
	void (*heard)(struct vb_qp *qp);
	bool (*speaks)(const struct vb_qp *qp);
	/* A request beyond ePSN, of a peer that knows it. The verdict is OK when it is kept. */
	enum vb_verdict (*keep)(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx);
	/* The request at @psn has met @verdict: goes on with what was kept behind it. @owed: a NAK
	 * was owed before. */
	void (*went_on)(struct vb_qp *qp, struct vb_psn psn, enum vb_verdict verdict, bool owed,
			vb_time now);
	/* A report in place of an ACK is due; appends it to a NAK that has been made. */
	bool (*misses)(const struct vb_qp *qp);
	void (*report)(struct vb_qp *qp, struct vb_tx *tx, uint8_t credits);
	/* A repeated request for [@start, @end) of @r. False: the resource itself answers it. */
	bool (*repeat)(struct vb_qp *qp, const struct vb_resource *r, struct vb_psn start,
		       struct vb_psn end);
	/* The answers to be given again next, or NULL; they have left. */
	struct vb_run *(*next_repeat)(const struct vb_qp *qp);
	void (*repeat_done)(struct vb_qp *qp);
};

#endif
