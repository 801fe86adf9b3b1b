/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an adapter says of itself: device, port, GID table, P_Keys. Everything here is the truth: a
 * limit is the core's, a capability is there.  man 3 ibv_query_device, ibv_query_port
 */
#include "verbs/objects.h"

#include <infiniband/verbs_api.h>
#include <stdio.h>
#include <string.h>

#ifndef VERBENA_VERSION
#define VERBENA_VERSION "0"
#endif

static void device_attr_fill(const struct vb_device *d, struct ibv_device_attr *a)
{
	const struct vb_limits *l = &vb_limits_default;

	memset(a, 0, sizeof *a);
	snprintf(a->fw_ver, sizeof a->fw_ver, "%s", VERBENA_VERSION);
	a->node_guid = a->sys_image_guid = htobe64(d->guid);
	a->max_mr_size = l->mr_size;
	a->page_size_cap = ~UINT64_C(0xfff);
	a->max_qp = (int)l->qp;
	a->max_qp_wr = (int)l->qp_wr;
	a->device_cap_flags = IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_RC_RNR_NAK_GEN |
			      IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_CURR_QP_STATE_MOD |
			      IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SRQ_RESIZE;
	a->max_sge = (int)l->sge;
	a->max_sge_rd = (int)l->sge_rd;
	a->max_cq = (int)l->cq;
	a->max_cqe = (int)l->cqe;
	a->max_mr = (int)l->mr;
	a->max_pd = (int)l->pd;
	a->max_qp_rd_atom = a->max_qp_init_rd_atom = (int)l->rd_atomic;
	a->max_res_rd_atom = (int)(l->rd_atomic * l->qp);
	a->atomic_cap = IBV_ATOMIC_GLOB; /* IBT-70 */
	a->max_ah = INT32_MAX;
	a->max_srq = (int)l->srq;
	a->max_srq_wr = (int)l->srq_wr;
	a->max_srq_sge = (int)l->sge;
	a->max_pkeys = 1;
	a->local_ca_ack_delay = 15;
	a->phys_port_cnt = 1;
}

VERBS_API int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct vb_device d;

	if (!device_read(ctx_of(context)->port - 1u, engine_of(context), &d))
		return ENODEV;
	device_attr_fill(&d, attr);
	return 0;
}

int verbena_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t size)
{
	struct vb_device d;

	if (input && input->comp_mask)
		return EINVAL;
	if (size < sizeof attr->orig_attr)
		return EINVAL;
	if (!device_read(ctx_of(c)->port - 1u, engine_of(c), &d))
		return ENODEV;
	memset(attr, 0, size);
	device_attr_fill(&d, &attr->orig_attr);
	if (size >=
	    offsetof(struct ibv_device_attr_ex, phys_port_cnt_ex) + sizeof attr->phys_port_cnt_ex)
		attr->phys_port_cnt_ex = 1;
	if (size >=
	    offsetof(struct ibv_device_attr_ex, hca_core_clock) + sizeof attr->hca_core_clock) {
		attr->completion_timestamp_mask = UINT64_MAX;
		attr->hca_core_clock = 1000000; /* kHz: completion time is in ns */
	}
	return 0;
}

/* The lane speed and width whose product comes nearest to the netdev's speed; 25 Gb/s x 4 when it
 * has none, as a loopback or veth. IBT-94 */
static void speed_of(uint32_t mbps, uint8_t *speed, uint8_t *width)
{
	static const struct {
		uint32_t mbps;
		uint8_t speed, width;
	} rates[] = {{2500, 1, 1},    {5000, 2, 1},    {10000, 4, 1},
		     {25000, 32, 1},  {40000, 4, 2},   {50000, 64, 1},
		     {100000, 32, 2}, {200000, 64, 2}, {400000, 128, 2}};

	*speed = 32;
	*width = 2;
	if (mbps == 0)
		return;
	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
		if (i > 0 && rates[i].mbps > mbps)
			break;
		*speed = rates[i].speed;
		*width = rates[i].width;
	}
}

static int gid_cnt(const struct vb_device *d)
{
	int n = 0;

	for (int i = 0; i < VB_GIDS_MAX; i++) {
		if (d->gid[i].type != VB_GID_NONE)
			n = i + 1;
	}
	return n;
}

int verbena_query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr, size_t len)
{
	struct ibv_port_attr a = {0};
	struct vb_device d;

	if (port != 1)
		return EINVAL;
	if (!device_read(ctx_of(c)->port - 1u, engine_of(c), &d))
		return ENODEV;
	a.state = d.is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	a.phys_state = d.is_up ? 5 : 3; /* LinkUp, Disabled */
	a.max_mtu = IBV_MTU_4096;
	a.active_mtu = (enum ibv_mtu)d.active_mtu;
	a.gid_tbl_len = VB_GIDS_MAX;
	a.port_cap_flags = IBV_PORT_CM_SUP;
	a.max_msg_sz = vb_limits_default.msg_size > UINT32_MAX
			   ? UINT32_MAX
			   : (uint32_t)vb_limits_default.msg_size;
	a.pkey_tbl_len = 1;
	a.max_vl_num = 1;
	speed_of(d.speed_mbps, &a.active_speed, &a.active_width);
	a.link_layer = IBV_LINK_LAYER_ETHERNET;
	a.flags = IBV_QPF_GRH_REQUIRED;
	memset(attr, 0, len);
	memcpy(attr, &a, len < sizeof a ? len : sizeof a);
	return 0;
}

#undef ibv_query_port
VERBS_API int ibv_query_port(struct ibv_context *c, uint8_t port,
			     struct _compat_ibv_port_attr *attr)
{
	/* The old structure ends before port_cap_flags2. */
	return verbena_query_port(c, port, (struct ibv_port_attr *)attr,
				  offsetof(struct ibv_port_attr, port_cap_flags2));
}

static int gid_read(struct ibv_context *c, uint32_t port, uint32_t index, struct vb_device *d)
{
	if (port != 1 || index >= VB_GIDS_MAX)
		return EINVAL;
	return device_read(ctx_of(c)->port - 1u, engine_of(c), d) ? 0 : ENODEV;
}

VERBS_API int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
	struct vb_device d;
	int err = gid_read(c, port, (uint32_t)index, &d);

	if (err) {
		errno = err;
		return -1;
	}
	memcpy(gid->raw, d.gid[index].gid.b, sizeof gid->raw);
	return 0;
}

static void gid_entry_fill(const struct vb_device *d, uint32_t index, struct ibv_gid_entry *to)
{
	memset(to, 0, sizeof *to);
	memcpy(to->gid.raw, d->gid[index].gid.b, sizeof to->gid.raw);
	to->gid_index = index;
	to->port_num = 1;
	to->gid_type = IBV_GID_TYPE_ROCE_V2;
	to->ndev_ifindex = d->ifindex;
}

VERBS_API int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index,
				struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct ibv_gid_entry e;
	struct vb_device d;
	int err = flags ? EINVAL : gid_read(c, port, index, &d);

	if (err)
		return err;
	if (d.gid[index].type == VB_GID_NONE)
		return ENODATA;
	gid_entry_fill(&d, index, &e);
	memcpy(entry, &e, size < sizeof e ? size : sizeof e);
	return 0;
}

VERBS_API ssize_t _ibv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *entries,
				       size_t max, uint32_t flags, size_t size)
{
	struct vb_device d;
	ssize_t n = 0;
	int err = flags || size < sizeof *entries ? EINVAL : gid_read(c, 1, 0, &d);

	if (err)
		return -err;
	for (uint32_t i = 0; i < (uint32_t)gid_cnt(&d); i++) {
		if (d.gid[i].type == VB_GID_NONE)
			continue;
		if ((size_t)n == max)
			return -EINVAL;
		gid_entry_fill(&d, i, (struct ibv_gid_entry *)((char *)entries + (size_t)n * size));
		n++;
	}
	return n;
}

VERBS_API int ibv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey)
{
	(void)c;
	if (port != 1 || index != 0) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htobe16(VB_PKEY_DEFAULT);
	return 0;
}

VERBS_API int ibv_get_pkey_index(struct ibv_context *c, uint8_t port, __be16 pkey)
{
	(void)c;
	if (port == 1 && pkey == htobe16(VB_PKEY_DEFAULT))
		return 0;
	errno = EINVAL;
	return -1;
}

/* Private to rdma-core, yet what ibv_devinfo asks. 0: InfiniBand and RoCE v1, 1: RoCE v2. */
VERBS_API int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned int index, int *type);
VERBS_API int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned int index, int *type)
{
	struct vb_device d;
	int err = gid_read(c, port, index, &d);

	if (err) {
		errno = err;
		return -1;
	}
	*type = 1;
	return 0;
}
