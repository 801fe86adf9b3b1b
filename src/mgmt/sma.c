/* SPDX-License-Identifier: BSD-2-Clause */
/* Dispatch of SMPs, M_Keys, and the attributes of a whole node, see sma.h. IBA 14.2 */
#include "base/assert.h"
#include "mgmt/sma_priv.h"

#include <string.h>

#define LED_BIT 0x80
#define NOTICE_EMPTY 0x7f

static uint16_t node_description(struct vb_sma_request *r)
{
	if (r->mod != 0)
		return VB_SMP_BAD_FIELD;
	memcpy(r->mad + VB_SMP_DATA_AT, r->node->description, VB_SMA_NODE_DESC_LEN);
	return VB_SMP_GOOD;
}

static uint16_t node_info(struct vb_sma_request *r)
{
	struct vb_node_info info = r->node->info;

	if (r->mod != 0)
		return VB_SMP_BAD_FIELD;
	info.local_port = r->in_port;
	info.port_guid = r->node->port[vb_sma_own_port(r)].guid[0];
	vb_node_info_emit(&info, r->mad);
	return VB_SMP_GOOD;
}

/* FAB-03, FAB-04 */
static uint16_t switch_info(struct vb_sma_request *r)
{
	struct vb_switch_info *s = &r->node->sw;

	if (r->mod != 0)
		return VB_SMP_BAD_FIELD;
	if (r->set) {
		struct vb_switch_info want = {0};

		vb_switch_info_parse(&want, r->mad);
		if (want.linear_top >= s->linear_cap)
			return VB_SMP_BAD_FIELD;
		s->linear_top = want.linear_top;
		s->default_port = want.default_port;
		s->default_mcast_primary = want.default_mcast_primary;
		s->default_mcast_other = want.default_mcast_other;
		s->life_time = want.life_time;
		s->multicast_top = want.multicast_top;
		if (want.port_state_change)
			s->port_state_change = 0;
		VB_ASSERT(s->linear_top < r->node->forward->unicast_cap);
		r->node->forward->unicast_top = s->linear_top;
		r->node->forward->multicast_top = s->multicast_top;
		r->node->forward->multicast_primary = s->default_mcast_primary;
		r->node->forward->multicast_other = s->default_mcast_other;
	}
	memset(r->mad + VB_SMP_DATA_AT, 0, VB_SMP_DATA_LEN);
	vb_switch_info_emit(s, r->mad);
	return VB_SMP_GOOD;
}

/* FAB-29 */
static uint16_t led_info(struct vb_sma_request *r)
{
	int port = vb_sma_named_port(r, r->mod);
	struct vb_sma_port *p;

	if (port < 0)
		return VB_SMP_BAD_FIELD;
	p = &r->node->port[port];
	if (!(p->info.cap_mask & VB_CAP_LED_INFO))
		return VB_SMP_BAD_METHOD_ATTR;
	if (r->set)
		p->led = (r->mad[VB_SMP_DATA_AT] & LED_BIT) != 0;
	r->mad[VB_SMP_DATA_AT] = p->led ? LED_BIT : 0;
	return VB_SMP_GOOD;
}

static uint16_t vendor_diag(struct vb_sma_request *r)
{
	return r->mod == 0 ? VB_SMP_GOOD : VB_SMP_BAD_FIELD;
}

static uint16_t notice_info(struct vb_sma_request *r)
{
	vb_notice_emit(&(struct vb_notice){.type = NOTICE_EMPTY}, r->mad);
	return VB_SMP_GOOD;
}

enum { OF_SWITCHES = 1, SETTABLE = 2 };

static const struct {
	uint16_t attr;
	uint8_t flags;
	uint16_t (*answer)(struct vb_sma_request *r);
} attributes[] = {
    {VB_SMP_NODE_DESCRIPTION, 0, node_description},
    {VB_SMP_NODE_INFO, 0, node_info},
    {VB_SMP_SWITCH_INFO, OF_SWITCHES | SETTABLE, switch_info},
    {VB_SMP_GUID_INFO, SETTABLE, vb_sma_guid_info},
    {VB_SMP_PORT_INFO, SETTABLE, vb_sma_port_info},
    {VB_SMP_PKEY_TABLE, SETTABLE, vb_sma_pkey_table},
    {VB_SMP_SL2VL, SETTABLE, vb_sma_sl2vl},
    {VB_SMP_VL_ARB, SETTABLE, vb_sma_vl_arb},
    {VB_SMP_LFT, OF_SWITCHES | SETTABLE, vb_sma_lft},
    {VB_SMP_MFT, OF_SWITCHES | SETTABLE, vb_sma_mft},
    {VB_SMP_LED_INFO, SETTABLE, led_info},
    {VB_SMP_VENDOR_DIAG, 0, vendor_diag},
    {VB_SMP_NOTICE, 0, notice_info},
};

static uint16_t attribute_answer(struct vb_sma_request *r, uint16_t attr)
{
	for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
		uint8_t flags = attributes[i].flags;

		if (attributes[i].attr != attr)
			continue;
		if (((flags & OF_SWITCHES) && !vb_sma_is_switch(r->node)) ||
		    (r->set && !(flags & SETTABLE)))
			break;
		/* An answer to Get has nothing of the question. */
		if (!r->set)
			memset(r->mad + VB_SMP_DATA_AT, 0, VB_SMP_DATA_LEN);
		return attributes[i].answer(r);
	}
	return VB_SMP_BAD_METHOD_ATTR;
}

/* FAB-16, FAB-17: true when the SMP may be served. */
static bool key_check(struct vb_sma_request *r, uint64_t key, bool get)
{
	struct vb_sma_port *p = &r->node->port[vb_sma_own_port(r)];
	uint64_t lease = p->info.mkey_lease * VB_SEC;

	r->key_is_right = p->info.mkey == 0 || p->info.mkey == key;
	if (r->key_is_right) {
		p->lease_ends = VB_NEVER;
		return true;
	}
	if (get && p->info.mkey_protect < 2)
		return true;
	if (p->info.mkey_violations < UINT16_MAX)
		p->info.mkey_violations++;
	if (lease != 0 && p->lease_ends == VB_NEVER)
		p->lease_ends = vb_time_after(r->now, lease);
	r->result->changes |= VB_SMA_MKEY_TRAP;
	r->result->port = vb_sma_own_port(r);
	return false;
}

struct vb_sma_result vb_sma_handle(struct vb_sma_node *node, uint8_t mad[VB_MAD_LEN],
				   uint8_t in_port, vb_time now)
{
	struct vb_sma_result result = {.port = in_port};
	struct vb_sma_request r = {
	    .node = node, .mad = mad, .in_port = in_port, .now = now, .result = &result};
	struct vb_smp_route route;
	struct vb_mad_hdr hdr;
	bool get, known;

	VB_ASSERT_ALL(in_port <= node->info.port_cnt);
	vb_mad_hdr_parse(&hdr, mad);
	vb_smp_route_parse(&route, mad);
	get = hdr.method == VB_MAD_METHOD_GET;
	r.set = hdr.method == VB_MAD_METHOD_SET;
	r.mod = hdr.attr_mod;
	known = get || r.set || hdr.method == VB_MAD_METHOD_TRAP_REPRESS;
	if ((hdr.method & VB_MAD_METHOD_RESPONSE) || !key_check(&r, route.mkey, get || !known) ||
	    hdr.method == VB_MAD_METHOD_TRAP_REPRESS)
		return result;
	if (hdr.class_version != VB_SMP_CLASS_VERSION)
		route.status = VB_SMP_BAD_VERSION;
	else if (!known)
		route.status = VB_SMP_BAD_METHOD_ATTR;
	else
		route.status = attribute_answer(&r, hdr.attr_id);
	hdr.method = VB_MAD_METHOD_GET_RESP;
	vb_mad_hdr_emit(&hdr, mad);
	route.returning = hdr.mgmt_class == VB_MAD_CLASS_SUBN_DIRECTED;
	vb_smp_route_emit(&route, mad);
	result.respond = true;
	return result;
}

vb_time vb_sma_poll_timeout(const struct vb_sma_node *node)
{
	vb_time t = VB_NEVER;

	for (unsigned i = vb_sma_is_switch(node) ? 0 : 1; i <= node->info.port_cnt; i++)
		t = vb_time_min(t, node->port[i].lease_ends);
	return t;
}

void vb_sma_handle_timeout(struct vb_sma_node *node, vb_time now)
{
	for (unsigned i = vb_sma_is_switch(node) ? 0 : 1; i <= node->info.port_cnt; i++) {
		struct vb_sma_port *p = &node->port[i];

		if (p->lease_ends > now)
			continue;
		p->lease_ends = VB_NEVER;
		p->info.mkey_protect = 0;
	}
}
