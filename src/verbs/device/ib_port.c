/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of an InfiniBand port: PortInfo in the words of verbs. IBA 14.2.5.6 */
#include "verbs/priv.h"

#include "wire/ib/rate.h"

/* The highest speed that the byte of verbs has a code for. */
#define SPEED_CODE_MAX VB_IB_NDR

uint32_t vb_ibv_ib_speed_ex(const struct vb_device *d)
{
	return d->ib.speed > SPEED_CODE_MAX ? d->ib.speed : 0;
}

void vb_ibv_ib_port_show(const struct vb_device *d, struct ibv_port_attr *a)
{
	const struct vb_device_ib *ib = &d->ib;

	a->link_layer = IBV_LINK_LAYER_INFINIBAND;
	/* The fabric has ended: there is no port any more. */
	a->state = ib->number ? (enum ibv_port_state)ib->state : IBV_PORT_DOWN;
	a->phys_state = ib->phys_state;
	a->max_mtu = ib->mtu_cap ? (enum ibv_mtu)ib->mtu_cap : IBV_MTU_4096;
	a->active_mtu = d->active_mtu ? (enum ibv_mtu)d->active_mtu : IBV_MTU_256;
	a->gid_tbl_len = ib->gid_cnt;
	a->pkey_tbl_len = ib->pkey_cnt;
	a->port_cap_flags = ib->cap_mask;
	a->lid = ib->lid;
	a->lmc = ib->lmc;
	a->sm_lid = ib->sm_lid;
	a->sm_sl = ib->sm_sl;
	a->max_vl_num = ib->vl_cap;
	a->init_type_reply = ib->init_reply;
	a->subnet_timeout = ib->subnet_timeout;
	a->active_width = ib->width;
	a->active_speed = (uint8_t)(ib->speed <= SPEED_CODE_MAX ? ib->speed : SPEED_CODE_MAX);
}
