/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual lanes of an InfiniBand port: how many there are, and which one a service level takes. IBA
 * 7.6; items LNK-11, LNK-12, LNK-22
 */
#ifndef VB_FABRIC_IB_LANE_H
#define VB_FABRIC_IB_LANE_H

#include <stdint.h>

#define VB_VL_MGMT 15     /* of management packets: no credits, no arbitration */
#define VB_VL_DATA_MAX 15 /* lanes 0 to 14 */
#define VB_VL_CNT 16
#define VB_SL_CNT 16

/* Data lanes that the code of VLCap and OperationalVLs means, 0: the code is none. LNK-11 */
uint32_t vb_vl_data_cnt(uint32_t code);

/* SLtoVLMappingTable of one pair of ports. */
struct vb_sl2vl {
	uint8_t vl[VB_SL_CNT];
};

/* The lane of a packet of @sl on a port with @data_cnt data lanes; -1: it is dropped. LNK-22 */
int vb_sl2vl_lane(const struct vb_sl2vl *map, uint8_t sl, uint32_t data_cnt);

#endif
