/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive WQEs: lists of SGEs, whose end is an L_Key that is none. IBT-43 */
#include "wqe/wqe.h"

#include <string.h>

uint32_t vb_wqe_read_receive(const uint8_t *wqe, size_t bytes, struct vb_sge *sge, uint32_t max)
{
	uint32_t cnt = 0;

	for (size_t at = 0; cnt < max && at + VB_DATA_BYTES <= bytes; at += VB_DATA_BYTES) {
		const uint8_t *s = wqe + at;
		uint32_t length = (uint32_t)vb_wqe_get(s, VB_DATA_LENGTH);
		uint32_t lkey = (uint32_t)vb_wqe_get(s, VB_DATA_LKEY);

		if (lkey == VB_WQE_LKEY_END && length == 0)
			break;
		sge[cnt++] = (struct vb_sge){.addr = vb_wqe_get(s, VB_DATA_ADDR),
					     .length = length ? length : UINT32_C(1) << 31,
					     .lkey = lkey};
	}
	return cnt;
}

void vb_wqe_write_receive(uint8_t *wqe, size_t bytes, const struct vb_sge *sge, uint32_t cnt)
{
	size_t at = 0;

	for (uint32_t i = 0; i < cnt && at + VB_DATA_BYTES <= bytes; i++) {
		if (sge[i].length == 0)
			continue;
		memset(wqe + at, 0, VB_DATA_BYTES);
		vb_wqe_put(wqe + at, VB_DATA_LENGTH, sge[i].length);
		vb_wqe_put(wqe + at, VB_DATA_LKEY, sge[i].lkey);
		vb_wqe_put(wqe + at, VB_DATA_ADDR, sge[i].addr);
		at += VB_DATA_BYTES;
	}
	if (at + VB_DATA_BYTES <= bytes) {
		memset(wqe + at, 0, VB_DATA_BYTES);
		vb_wqe_put(wqe + at, VB_DATA_LKEY, VB_WQE_LKEY_END);
	}
}
