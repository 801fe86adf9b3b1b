/* SPDX-License-Identifier: BSD-2-Clause */
/* The initiator of XRC as a row of differences from RC: half of it. IBA A14; IBT-22 */
#include "core/xrc/xrc.h"

#include "core/rc/rc.h"

static enum vb_verdict ini_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				vb_time now)
{
	if (vb_hdr_opcode(hdr)->flags & VB_OP_RESPONSE)
		return vb_comp_recv(qp, hdr, rx, now);
	return VB_VERDICT_UNEXPECTED;
}

const struct vb_transport_ops vb_xrc_ini_ops = {
    .transport = VB_TRANSPORT_XRC,
    .is_acked = true,
    .is_connected = true,
    .dest_bytes = sizeof(struct vb_xrc_dest),
    .work_on = VB_WORK_ON_RC,
    .recv = ini_recv,
    .transmit = vb_rc_transmit,
    .on_timer = vb_req_on_timer,
    .on_sqd = vb_req_complete_local,
    .moved = vb_req_moved,
};
