/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of device and port: the limits that are enforced, and nothing else. */
#include "node/netdev/eth_rate.h"
#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PHYS_DISABLED = 3, PHYS_LINK_UP = 5 };

/* 4.096 us * 2^n: how long this adapter may take until it answers. A program that shares its
 * processor answers late; the Linux software adapters say the same. */
#define LOCAL_CA_ACK_DELAY 15

static int clamp_int(uint64_t v)
{
	return v > INT_MAX ? INT_MAX : (int)v;
}

/* The layout of the first libibverbs, which ends before port_cap_flags2. */
#define PORT_ATTR_FIRST_SIZE offsetof(struct ibv_port_attr, port_cap_flags2)

/* active_speed_ex of later headers, behind the struct of rdma-core 44; 0: active_speed says it.
 * IBT-94
 */
#define SPEED_EX_AT 52
_Static_assert(sizeof(struct ibv_port_attr) >= SPEED_EX_AT, "it stands behind all others");

/* PortInfo's P_KeyViolations and Q_KeyViolations have 16 bits and stay at their end. IBA 14.2.5.6
 */
static uint32_t violations_count(uint64_t own, const uint64_t *all)
{
	uint64_t cnt = __atomic_load_n(all, __ATOMIC_RELAXED);

	if (cnt < own)
		cnt = own;
	return cnt < UINT16_MAX ? (uint32_t)cnt : UINT16_MAX;
}

/* Packets of a virtual function come by the port of its device. Violations that other processes
 * have met are known as of a second ago. */
static void port_violations(struct vb_ibv_context *c, uint32_t number, struct ibv_port_attr *a)
{
	uint32_t parent = c->table[0].parent,
		 port = parent ? parent : c->port + number - VB_IBV_PORT;
	const struct vb_counters *own = &vb_engine_slot(c->engine)->counters[port];
	const struct vb_port_violations *all = &vb_engine_host(c->engine)->violations[port];

	a->bad_pkey_cntr =
	    violations_count(own->v[VB_COUNTER_port_rcv_constraint_errors], &all->bad_pkey);
	a->qkey_viol_cntr = violations_count(own->v[VB_COUNTER_qkey_viol_cntr], &all->bad_qkey);
}

static void roce_port_show(const struct vb_ibv_context *c, struct ibv_port_attr *a)
{
	const struct vb_device *d = &c->table[0];
	bool up = d->ifindex && d->is_up;

	a->state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	a->max_mtu = IBV_MTU_4096;
	a->active_mtu = d->active_mtu ? (enum ibv_mtu)d->active_mtu : IBV_MTU_256;
	a->gid_tbl_len = VB_GIDS_MAX;
	a->port_cap_flags = IBV_PORT_IP_BASED_GIDS;
	a->pkey_tbl_len = VB_PKEYS_MAX;
	a->max_vl_num = 1;
	a->phys_state = up ? PHYS_LINK_UP : PHYS_DISABLED;
	a->link_layer = IBV_LINK_LAYER_ETHERNET;
	a->flags = IBV_QPF_GRH_REQUIRED;
	a->active_width = vb_eth_rate(d->speed_mbps)->width;
	a->active_speed = vb_eth_rate(d->speed_mbps)->speed;
}

int vb_ibv_query_port_op(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
			 size_t len)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);

	struct ibv_port_attr a = {.max_msg_sz = (uint32_t)vb_limits_default.msg_size};
	uint32_t speed_ex = 0;

	if (!vb_ibv_port(c, port))
		return vb_ibv_refuse(c, vb_ibv_why_port(c, port), "ibv_query_port");
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_query_port");
	vb_ibv_refresh(c);
	if (vb_ibv_is_ib(c))
		vb_ibv_ib_port_show(vb_ibv_port(c, port), &a);
	else
		roce_port_show(c, &a);
	port_violations(c, port, &a);
	if (vb_ibv_is_ib(c))
		speed_ex = vb_ibv_ib_speed_ex(vb_ibv_port(c, port));
	vb_ibv_leave(c);
	memset(attr, 0, len);
	memcpy(attr, &a, len < sizeof a ? len : sizeof a);
	if (len >= SPEED_EX_AT + sizeof speed_ex)
		memcpy((char *)attr + SPEED_EX_AT, &speed_ex, sizeof speed_ex);
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return vb_ibv_query_port_op(context, port, (struct ibv_port_attr *)attr,
				    PORT_ATTR_FIRST_SIZE);
}

bool vb_ibv_is_mlx5(void)
{
	return getenv("VERBENA_DC") != NULL || vb_ring_is_on();
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	const struct vb_limits *l = &vb_limits_default;
	const struct vb_ibv_context *c = vb_ibv_ctx(context);
	const struct vb_ibv_device *d = c->dev;
	bool mlx5 = vb_ibv_is_mlx5();
	unsigned migrates = vb_ibv_is_ib(c) ? IBV_DEVICE_AUTO_PATH_MIG : 0;

	*attr = (struct ibv_device_attr){
	    .fw_ver = VERBENA_VERSION,
	    .node_guid = htobe64(d->guid),
	    .sys_image_guid = htobe64(c->system_guid),
	    .max_mr_size = l->mr_size,
	    .page_size_cap = ~UINT64_C(0xfff), /* 4 KiB and every larger power of two */
	    .vendor_id = mlx5 ? 0x02c9 : VB_IBV_VENDOR,
	    .vendor_part_id = mlx5 ? 0x101d : 0, /* ConnectX-6 Dx: a part that has DC */
	    .max_qp = clamp_int(vb_engine_qp_max(c->engine)),
	    .max_qp_wr = clamp_int(l->qp_wr),
	    .device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
				IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
				IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW |
				IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
				migrates,
	    .max_sge = clamp_int(l->sge),
	    .max_sge_rd = clamp_int(l->sge_rd),
	    .max_cq = clamp_int(l->cq),
	    .max_cqe = clamp_int(l->cqe),
	    .max_mr = clamp_int(l->mr),
	    .max_pd = clamp_int(l->pd),
	    .max_qp_rd_atom = clamp_int(l->rd_atomic),
	    .max_res_rd_atom = clamp_int((uint64_t)l->rd_atomic * l->qp),
	    .max_qp_init_rd_atom = clamp_int(l->rd_atomic),
	    .atomic_cap = IBV_ATOMIC_GLOB, /* IBT-70: C11 atomics */
	    .max_mw = clamp_int(l->mw),
	    .max_ah = INT_MAX,
	    .max_srq = clamp_int(l->srq),
	    .max_srq_wr = clamp_int(l->srq_wr),
	    .max_srq_sge = clamp_int(l->sge),
	    .max_mcast_grp = clamp_int(l->mcast_grp),
	    .max_mcast_qp_attach = clamp_int(l->mcast_qp),
	    .max_total_mcast_qp_attach = clamp_int((uint64_t)l->mcast_grp * l->mcast_qp),
	    .max_pkeys = (uint16_t)c->pkey_cnt,
	    .local_ca_ack_delay = LOCAL_CA_ACK_DELAY,
	    .phys_port_cnt = c->port_cnt,
	};
	return 0;
}

/* As the kernel has it; <infiniband/verbs.h> of rdma-core 44 lacks the names. */
#define DEVICE_FLUSH_GLOBAL (UINT64_C(1) << 38)
#define DEVICE_ATOMIC_WRITE (UINT64_C(1) << 40)

#define PACED_QPTS (1u << IBV_QPT_RC | 1u << IBV_QPT_UC | 1u << IBV_QPT_UD | 1u << IBV_QPT_XRC_SEND)

/* Each transport has all its operations on demand as well. */
#define ODP_UD (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV)
#define ODP_UC (ODP_UD | IBV_ODP_SUPPORT_WRITE)
#define ODP_ALL (ODP_UC | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC)

int vb_ibv_query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex a = {
	    .completion_timestamp_mask = UINT64_MAX,
	    .hca_core_clock = 1000000, /* kHz: the clock counts nanoseconds */
	    .odp_caps = {.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
			 .per_transport_caps = {.rc_odp_caps = ODP_ALL,
						.uc_odp_caps = ODP_UC,
						.ud_odp_caps = ODP_UD}},
	    .xrc_odp_caps = ODP_ALL,
	    .packet_pacing_caps = {.qp_rate_limit_min = VB_RATE_KBPS_MIN,
				   .qp_rate_limit_max = VB_RATE_KBPS_MAX,
				   .supported_qpts = PACED_QPTS},
	    .cq_mod_caps = {.max_cq_count = UINT16_MAX, .max_cq_period = UINT16_MAX},
	    .max_dm_size = VB_DM_SIZE,
	    .phys_port_cnt_ex = vb_ibv_ctx(context)->port_cnt,
	};

	if (input && input->comp_mask)
		return vb_ibv_refuse(
		    NULL, VB_IBV_WHY(EINVAL, "input->comp_mask is 0x%x, not 0", input->comp_mask),
		    "ibv_query_device_ex");
	if (size < sizeof a.orig_attr)
		return vb_ibv_refuse(
		    NULL,
		    VB_IBV_WHY(EINVAL, "attr has %zu bytes, fewer than the %zu of orig_attr", size,
			       sizeof a.orig_attr),
		    "ibv_query_device_ex");
	(void)ibv_query_device(context, &a.orig_attr);
	a.device_cap_flags_ex =
	    a.orig_attr.device_cap_flags | DEVICE_FLUSH_GLOBAL | DEVICE_ATOMIC_WRITE;
	memset(attr, 0, size);
	memcpy(attr, &a, size < sizeof a ? size : sizeof a);
	return 0;
}

/* raw_clock counts in tv_nsec alone, as timestamps of completions do. */
int vb_ibv_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint32_t asked = values->comp_mask;

	(void)context;
	values->comp_mask = asked & IBV_VALUES_MASK_RAW_CLOCK;
	if (values->comp_mask) {
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = (long)vb_clock_now();
	}
	if (!(asked & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK))
		return 0;
	return vb_ibv_refuse(
	    NULL,
	    VB_IBV_WHY(EINVAL, "comp_mask has 0x%x, and the adapter has IBV_VALUES_MASK_RAW_CLOCK",
		       asked & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK),
	    "ibv_query_rt_values_ex");
}

/* Nothing is promised about the order in which the bytes of a message are written. */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp, (void)op, (void)flags;
	return 0;
}

/* MAC addresses are the kernel's matter: packets leave by a UDP socket. */
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	(void)context, (void)attr, (void)eth_mac, (void)vid;
	return VB_IBV_REFUSE_FAIL(
	    NULL, VB_IBV_WHY(EOPNOTSUPP, "packets leave by a UDP socket: the kernel has the MAC"),
	    "ibv_resolve_eth_l2_from_gid");
}
