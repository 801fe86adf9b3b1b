/* SPDX-License-Identifier: BSD-2-Clause */
/* The datagram segment: where a WQE of UD or DC goes. */
#include "wqe/wqe.h"

#include <string.h>

void vb_av_get(const uint8_t *s, struct vb_av *av)
{
	*av = (struct vb_av){
	    .dc_key = vb_wqe_get(s, VB_AV_KEY),
	    .dqpn = (uint32_t)vb_wqe_get(s, VB_AV_DQPN),
	    .extended = vb_wqe_get(s, VB_AV_EXTENDED),
	    .rate = (uint8_t)vb_wqe_get(s, VB_AV_RATE),
	    .sl = (uint8_t)vb_wqe_get(s, VB_AV_SL),
	    .path_bits = (uint8_t)vb_wqe_get(s, VB_AV_SOURCE),
	    .dlid = (uint16_t)vb_wqe_get(s, VB_AV_DLID),
	};
	/* The rest is there only in a segment of 48 bytes. */
	if (!av->extended)
		return;
	memcpy(av->mac, s + vb_wqe_place[VB_AV_MAC_HIGH].at, sizeof av->mac);
	av->traffic_class = (uint8_t)vb_wqe_get(s, VB_AV_TCLASS);
	av->hop_limit = (uint8_t)vb_wqe_get(s, VB_AV_HOPS);
	av->grh = vb_wqe_get(s, VB_AV_GRH);
	av->sgid_index = (uint8_t)vb_wqe_get(s, VB_AV_SGID);
	av->flow_label = (uint32_t)vb_wqe_get(s, VB_AV_FLOW);
	memcpy(av->dgid.b, s + vb_wqe_place[VB_AV_DGID_HIGH].at, sizeof av->dgid.b);
}

void vb_av_put(uint8_t *s, const struct vb_av *av)
{
	memset(s, 0, VB_AV_BYTES);
	vb_wqe_put(s, VB_AV_KEY, av->dc_key);
	vb_wqe_put(s, VB_AV_EXTENDED, av->extended);
	vb_wqe_put(s, VB_AV_DQPN, av->dqpn);
	vb_wqe_put(s, VB_AV_RATE, av->rate);
	vb_wqe_put(s, VB_AV_SL, av->sl);
	vb_wqe_put(s, VB_AV_SOURCE, av->path_bits);
	vb_wqe_put(s, VB_AV_DLID, av->dlid);
	memcpy(s + vb_wqe_place[VB_AV_MAC_HIGH].at, av->mac, sizeof av->mac);
	vb_wqe_put(s, VB_AV_TCLASS, av->traffic_class);
	vb_wqe_put(s, VB_AV_HOPS, av->hop_limit);
	vb_wqe_put(s, VB_AV_GRH, av->grh);
	vb_wqe_put(s, VB_AV_SGID, av->sgid_index);
	vb_wqe_put(s, VB_AV_FLOW, av->flow_label);
	memcpy(s + vb_wqe_place[VB_AV_DGID_HIGH].at, av->dgid.b, sizeof av->dgid.b);
}
