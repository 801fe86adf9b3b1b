/* SPDX-License-Identifier: BSD-2-Clause */
/* RC as a row of differences: acknowledged, connected, every operation. IBA 9.7 */
#include "core/rc/rc.h"

static enum vb_verdict rc_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			       vb_time now)
{
	if (vb_hdr_opcode(hdr)->flags & VB_OP_RESPONSE)
		return vb_comp_recv(qp, hdr, rx, now);
	return vb_resp_recv(qp, hdr, rx, now);
}

const struct vb_transport_ops vb_rc_ops = {
    .transport = VB_TRANSPORT_RC,
    .is_acked = true,
    .is_connected = true,
    .has_rq = true,
    .work_on = VB_WORK_ON_RC, /* IBT-05 */
    .recv = rc_recv,
    .transmit = vb_rc_transmit,
    .on_timer = vb_req_on_timer,
    .on_sqd = vb_req_complete_local,
    .moved = vb_req_moved,
};
