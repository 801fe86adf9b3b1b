/* SPDX-License-Identifier: BSD-2-Clause */
/* The nodes of a subnet: their memory and what they begin with, see subnet.h. */
#include "mgmt/subnet/priv.h"

#include "wire/ib/rate.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define MTU_CODE_4096 5
#define VLS_CODE_8 4 /* lanes 0 to 7 */
#define ARB_CAP 8
#define PREFIX UINT64_C(0xfe80000000000000)
#define LANE_BLOCKS 512 /* buffer of a lane at the input: 32 KiB */
#define RESP_TIME 16
#define SUBNET_TIMEOUT 18

/* Bits of CapabilityMask. IBA 14.2.5.6 */
#define CAP_MIGRATION (1u << 5) /* automatic path migration; of adapters */
#define CAP_SYSTEM_GUID (1u << 11)
#define CAP_EXTENDED_SPEEDS (1u << 14)
#define CAP_CM (1u << 16)
#define CAP_MASK_NOTICE (1u << 22)
#define CAP_REREGISTER (1u << 25)
#define CAP_MASK                                                                                   \
	(VB_CAP_IS_TRAP | VB_CAP_SL_MAPPING | CAP_SYSTEM_GUID | CAP_EXTENDED_SPEEDS | CAP_CM |     \
	 CAP_MASK_NOTICE | CAP_REREGISTER)

static const struct vb_ib_port_config link_config = {
    .mtu = 4096,
    .mtu_cap = 4096,
    .data_cnt = 8,
    .capacity = {LANE_BLOCKS, LANE_BLOCKS, LANE_BLOCKS, LANE_BLOCKS, LANE_BLOCKS, LANE_BLOCKS,
		 LANE_BLOCKS, LANE_BLOCKS, LANE_BLOCKS, LANE_BLOCKS, LANE_BLOCKS, LANE_BLOCKS,
		 LANE_BLOCKS, LANE_BLOCKS, LANE_BLOCKS, LANE_BLOCKS},
    .symbol_ps = 4000,
};

int vb_subnet_open(struct vb_subnet *s, uint32_t cap)
{
	vb_list_init(&s->waits);
	vb_list_init(&s->changed);
	s->due = VB_NEVER;
	s->node_cnt = 0;
	s->node_cap = cap;
	s->node = s->alloc(s->alloc_ctx, cap * sizeof *s->node);
	return s->node ? 0 : -ENOMEM;
}

static void node_free(struct vb_subnet *s, struct vb_subnet_node *n)
{
	unsigned ports = n->sma.info.port_cnt;

	for (unsigned i = 0; n->sma.port && i <= ports; i++) {
		s->free(s->alloc_ctx, n->sma.port[i].guid);
		s->free(s->alloc_ctx, n->sma.port[i].pkey);
		s->free(s->alloc_ctx, n->sma.port[i].sl2vl);
	}
	s->free(s->alloc_ctx, n->sma.port);
	s->free(s->alloc_ctx, n->port);
	s->free(s->alloc_ctx, n->pma.port);
	s->free(s->alloc_ctx, n->cca.port);
	s->free(s->alloc_ctx, n->cca.sw_port);
	s->free(s->alloc_ctx, n->device.port);
	s->free(s->alloc_ctx, n->forward.unicast);
	s->free(s->alloc_ctx, n->forward.multicast);
}

void vb_subnet_close(struct vb_subnet *s)
{
	for (uint32_t i = 0; i < s->node_cnt; i++)
		node_free(s, &s->node[i]);
	s->free(s->alloc_ctx, s->node);
	s->node = NULL;
	s->node_cnt = 0;
}

static struct vb_port_info port_begin(bool is_link)
{
	struct vb_port_info p = {
	    .prefix = PREFIX,
	    .cap_mask = CAP_MASK,
	    .mtu_cap = MTU_CODE_4096,
	    .neighbor_mtu = MTU_CODE_4096,
	    .guid_cap = VB_SUBNET_GUIDS,
	    .subnet_timeout = SUBNET_TIMEOUT,
	    .resp_time = RESP_TIME,
	    .vl_cap = VLS_CODE_8,
	    .oper_vls = VLS_CODE_8,
	    .arb_high_cap = ARB_CAP,
	    .arb_low_cap = ARB_CAP,
	};

	if (is_link) {
		p.state = VB_LINK_DOWN;
		p.phys_state = VB_PHYS_POLLING;
		p.down_default = VB_PHYS_POLLING;
		p.hoq_life = VB_HOQ_LIFE_MAX;
	}
	return p;
}

static bool port_tables(struct vb_subnet *s, struct vb_sma_port *p, uint32_t maps, bool has_guids)
{
	p->pkey = s->alloc(s->alloc_ctx, VB_SUBNET_PKEYS * sizeof *p->pkey);
	p->sl2vl = s->alloc(s->alloc_ctx, maps * sizeof *p->sl2vl);
	if (has_guids)
		p->guid = s->alloc(s->alloc_ctx, VB_SUBNET_GUIDS * sizeof *p->guid);
	if (!p->pkey || !p->sl2vl || (has_guids && !p->guid))
		return false;
	p->pkey[0] = PKEY_DEFAULT;
	p->lease_ends = VB_NEVER;
	return true;
}

static bool switch_tables(struct vb_subnet *s, struct vb_subnet_node *n, bool enhanced_port0)
{
	n->forward = (struct vb_lid_forward){
	    .unicast = s->alloc(s->alloc_ctx, VB_SUBNET_LIDS),
	    .multicast =
		s->alloc(s->alloc_ctx, VB_SUBNET_MULTICASTS * sizeof *n->forward.multicast),
	    .unicast_cap = VB_SUBNET_LIDS,
	    .multicast_cap = VB_SUBNET_MULTICASTS,
	    .multicast_primary = VB_PORT_NONE,
	    .multicast_other = VB_PORT_NONE,
	};
	n->sma.sw = (struct vb_switch_info){
	    .linear_cap = VB_SUBNET_LIDS,
	    .multicast_cap = VB_SUBNET_MULTICASTS,
	    .enforce_cap = VB_SUBNET_PKEYS,
	    .inbound_enforce = 1,
	    .outbound_enforce = 1,
	    .filter_raw_in = 1,
	    .filter_raw_out = 1,
	    .default_mcast_primary = VB_PORT_NONE,
	    .default_mcast_other = VB_PORT_NONE,
	    .life_time = VB_HOQ_LIFE_MAX,
	    .enhanced_port0 = enhanced_port0,
	};
	if (!n->forward.unicast || !n->forward.multicast)
		return false;
	memset(n->forward.unicast, VB_PORT_NONE, VB_SUBNET_LIDS);
	return true;
}

static bool node_ports(struct vb_subnet *s, struct vb_subnet_node *n,
		       const struct vb_subnet_node_config *c)
{
	bool is_switch = c->type == VB_NODE_SWITCH;

	for (unsigned i = 0; i <= c->port_cnt; i++) {
		struct vb_sma_port *p = &n->sma.port[i];
		bool has_lid = is_switch ? i == 0 : i != 0;

		p->info = port_begin(i != 0);
		if (!is_switch)
			p->info.cap_mask |= CAP_MIGRATION;
		if (!port_tables(s, p, is_switch ? c->port_cnt + 1u : 1u, has_lid))
			return false;
		if (has_lid)
			p->guid[0] = c->port_guid[i];
		if (i == 0)
			continue;
		vb_ib_port_init(&n->port[i].link, &link_config);
		n->port[i].link.config.is_switch = is_switch;
		vb_subnet_port_support(&p->info, VB_IB_EDR, VB_IB_4X);
		p->link = &n->port[i].link;
		n->pma.port[i].link = p->link;
	}
	return true;
}

/* The congestion control agent: a switch has settings of its own port, and of how each other marks.
 */
static bool cca_begin(struct vb_subnet *s, struct vb_subnet_node *n,
		      const struct vb_subnet_node_config *c)
{
	bool is_switch = c->type == VB_NODE_SWITCH;
	size_t ports = c->port_cnt + 1u, own = is_switch ? 1 : ports;

	n->cca = (struct vb_cca_node){.port = s->alloc(s->alloc_ctx, own * sizeof *n->cca.port),
				      .port_cnt = c->port_cnt,
				      .resp_time = RESP_TIME};
	if (is_switch)
		n->cca.sw_port = s->alloc(s->alloc_ctx, ports * sizeof *n->cca.sw_port);
	if (!n->cca.port || (is_switch && !n->cca.sw_port))
		return false;
	for (size_t i = 0; i < own; i++)
		n->cca.port[i].lease_ends = VB_NEVER;
	return true;
}

/* The device management agent of a node with controllers, which its ports announce. FAB-08 */
static bool device_begin(struct vb_subnet *s, struct vb_subnet_node *n,
			 const struct vb_subnet_node_config *c)
{
	if (!c->ioc)
		return true;
	assert(c->type == VB_NODE_CA);
	n->device = (struct vb_device_node){
	    .ioc = c->ioc,
	    .port = s->alloc(s->alloc_ctx, (c->port_cnt + 1u) * sizeof *n->device.port),
	    .port_cnt = c->port_cnt,
	    .resp_time = RESP_TIME};
	for (unsigned i = 1; i <= c->port_cnt; i++)
		n->sma.port[i].info.cap_mask |= VB_CAP_DEVICE_MGMT;
	return n->device.port != NULL;
}

int vb_subnet_add(struct vb_subnet *s, const struct vb_subnet_node_config *c)
{
	struct vb_subnet_node *n = &s->node[s->node_cnt];
	size_t ports = c->port_cnt + 1u;

	if (s->node_cnt == s->node_cap)
		return -ENOSPC;
	memset(n, 0, sizeof *n);
	vb_list_init(&n->waits);
	vb_list_init(&n->changed);
	n->sma.info = (struct vb_node_info){
	    .base_version = VB_MAD_BASE_VERSION,
	    .class_version = VB_SMP_CLASS_VERSION,
	    .type = c->type,
	    .port_cnt = c->port_cnt,
	    .system_guid = c->system_guid,
	    .node_guid = c->node_guid,
	    .pkey_cap = VB_SUBNET_PKEYS,
	    .device_id = c->device_id,
	    .vendor_id = c->vendor_id,
	};
	n->sma.forward = &n->forward;
	n->sma.port = s->alloc(s->alloc_ctx, ports * sizeof *n->sma.port);
	n->port = s->alloc(s->alloc_ctx, ports * sizeof *n->port);
	n->pma = (struct vb_pma_node){
	    .port = s->alloc(s->alloc_ctx, ports * sizeof *n->pma.port),
	    .port_cnt = c->port_cnt,
	    .resp_time = RESP_TIME,
	};
	for (size_t i = 0; i < sizeof n->sma.description && c->description[i]; i++)
		n->sma.description[i] = (uint8_t)c->description[i];
	if (!n->sma.port || !n->port || !n->pma.port || !node_ports(s, n, c) ||
	    !cca_begin(s, n, c) || !device_begin(s, n, c) ||
	    (c->type == VB_NODE_SWITCH && !switch_tables(s, n, c->enhanced_port0))) {
		node_free(s, n);
		return -ENOMEM;
	}
	return (int)s->node_cnt++;
}
