/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes and checks of the GRH, see grh.h. IBA 8.3 */
#include "wire/ib/grh.h"

#include "wire/be.h"
#include "wire/ib/lrh.h"

#define FLOW_LABEL_MASK 0xfffffu

void vb_grh_parse(struct vb_grh *h, const uint8_t grh[VB_GRH_LEN])
{
	uint32_t first = be32_get(grh);

	*h = (struct vb_grh){
	    .version = (uint8_t)(first >> 28),
	    .traffic_class = (uint8_t)(first >> 20),
	    .flow_label = first & FLOW_LABEL_MASK,
	    .pay_len = be16_get(grh + 4),
	    .next_header = grh[6],
	    .hop_limit = grh[7],
	};
	memcpy(h->sgid.b, grh + 8, sizeof h->sgid.b);
	memcpy(h->dgid.b, grh + 24, sizeof h->dgid.b);
}

void vb_grh_emit(const struct vb_grh *h, uint8_t grh[VB_GRH_LEN])
{
	be32_put(grh, (uint32_t)h->version << 28 | (uint32_t)h->traffic_class << 20 |
			  (h->flow_label & FLOW_LABEL_MASK));
	be16_put(grh + 4, h->pay_len);
	grh[6] = h->next_header;
	grh[7] = h->hop_limit;
	memcpy(grh + 8, h->sgid.b, sizeof h->sgid.b);
	memcpy(grh + 24, h->dgid.b, sizeof h->dgid.b);
}

bool vb_grh_is_good(const struct vb_grh *h, uint32_t words)
{
	return h->version == 6 && h->next_header == VB_GRH_NEXT_HEADER &&
	       (uint32_t)h->pay_len + VB_LRH_LEN + VB_GRH_LEN == words * 4;
}
