/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of lanes, and the mapping of service levels, see lane.h. */
#include "fabric/ib/lane.h"

uint32_t vb_vl_data_cnt(uint32_t code)
{
	static const uint8_t cnt[] = {0, 1, 2, 4, 8, 15};

	return code < sizeof cnt ? cnt[code] : 0;
}

int vb_sl2vl_lane(const struct vb_sl2vl *map, uint8_t sl, uint32_t data_cnt)
{
	uint8_t vl = map->vl[sl & (VB_SL_CNT - 1)];

	return vl < data_cnt ? vl : -1;
}
