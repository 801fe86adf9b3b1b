/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PortInfo: fields that the link knows are read from it, and their new values take effect there. A
 * Set with a bad field changes nothing. FAB-20 to FAB-24, LNK-11, LNK-31, LNK-32, LNK-35, LNK-36
 */
#include "base/assert.h"
#include "mgmt/sma_priv.h"

#include <string.h>

#define WIDTH_ALL 255
#define SPEED_ALL 15
#define EXT_SPEED_ALL 31
#define EXT_SPEED_NONE 30
#define MTU_CODE_MAX 5
#define OPER_VLS_MAX 5

static uint32_t mtu_bytes(uint8_t code)
{
	VB_ASSERT_ALL(code >= 1 && code <= MTU_CODE_MAX);
	return 128u << code;
}

/* The port has a LID of its own, and so what belongs to it: of a switch port 0 alone. */
static bool port_has_lid(const struct vb_sma_request *r, int port)
{
	return !vb_sma_is_switch(r->node) || port == 0;
}

static bool lid_is_good(uint16_t lid)
{
	return lid != 0 && lid < VB_LID_MULTICAST;
}

/* The new value of a field of enabled widths or speeds; -1: something is not supported. LNK-35 */
static int enabled_value(uint8_t now, uint8_t want, uint8_t supported, uint8_t all)
{
	if (want == 0)
		return now;
	if (want == all)
		return supported;
	return (want & ~supported) == 0 ? want : -1;
}

/* They take effect when the link trains the next time. */
static bool enabled_set(struct vb_port_info *p, const struct vb_port_info *want)
{
	int width =
	    enabled_value(p->width_enabled, want->width_enabled, p->width_supported, WIDTH_ALL);
	int speed =
	    enabled_value(p->speed_enabled, want->speed_enabled, p->speed_supported, SPEED_ALL);
	int ext = want->ext_speed_enabled == EXT_SPEED_NONE
		      ? EXT_SPEED_NONE
		      : enabled_value(p->ext_speed_enabled, want->ext_speed_enabled,
				      p->ext_speed_supported, EXT_SPEED_ALL);

	if (width < 0 || speed < 0 || ext < 0)
		return false;
	p->width_enabled = (uint8_t)width;
	p->speed_enabled = (uint8_t)speed;
	p->ext_speed_enabled = (uint8_t)ext;
	return true;
}

/* The base port 0 of a switch has one LID, whatever it is told; the enhanced one is like other
 * ports. FAB-05 */
static bool port_has_lmc(const struct vb_sma_request *r)
{
	return !vb_sma_is_switch(r->node) || r->node->sw.enhanced_port0;
}

/* LIDs, and what else belongs to a port with one. FAB-22, FAB-39 */
static bool lid_set(const struct vb_sma_request *r, struct vb_port_info *p,
		    const struct vb_port_info *want)
{
	uint8_t lmc = port_has_lmc(r) ? want->lmc : 0;

	if (!lid_is_good(want->lid) || !lid_is_good(want->sm_lid) ||
	    (want->lid & ((1u << lmc) - 1)) != 0)
		return false;
	p->lid = want->lid;
	p->lmc = lmc;
	p->sm_lid = want->sm_lid;
	p->sm_sl = want->sm_sl;
	p->mkey = want->mkey;
	p->mkey_protect = want->mkey_protect;
	p->mkey_lease = want->mkey_lease;
	p->prefix = want->prefix;
	p->subnet_timeout = want->subnet_timeout;
	if (want->mkey_violations == 0)
		p->mkey_violations = 0;
	if (want->pkey_violations == 0)
		p->pkey_violations = 0;
	if (want->qkey_violations == 0)
		p->qkey_violations = 0;
	return true;
}

static bool link_set(struct vb_port_info *p, const struct vb_port_info *want)
{
	uint8_t vls = want->oper_vls != 0 ? want->oper_vls : p->oper_vls;

	if (want->neighbor_mtu == 0 || want->neighbor_mtu > MTU_CODE_MAX ||
	    want->neighbor_mtu > p->mtu_cap || vls == 0 || vls > p->vl_cap || vls > OPER_VLS_MAX ||
	    want->down_default > VB_PHYS_POLLING)
		return false;
	p->neighbor_mtu = want->neighbor_mtu;
	p->oper_vls = vls;
	if (want->down_default != 0)
		p->down_default = want->down_default;
	p->high_limit = want->high_limit;
	p->vl_stall_count = want->vl_stall_count;
	p->hoq_life = want->hoq_life;
	p->enforce_in = want->enforce_in;
	p->enforce_out = want->enforce_out;
	p->filter_raw_in = want->filter_raw_in;
	p->filter_raw_out = want->filter_raw_out;
	p->local_errors = want->local_errors;
	p->overrun_errors = want->overrun_errors;
	p->init_type = want->init_type;
	return true;
}

/* Hands the link the settings that it goes by. */
static void link_apply(struct vb_ib_port *link, const struct vb_port_info *p, vb_time now)
{
	VB_ASSERT_ALL(p->neighbor_mtu >= 1 && p->neighbor_mtu <= p->mtu_cap);
	link->config.mtu = mtu_bytes(p->neighbor_mtu);
	vb_ib_port_set_lanes(link, vb_vl_data_cnt(p->oper_vls), now);
	link->config.hoq_life = p->hoq_life;
	link->config.stall_count = p->vl_stall_count;
	link->arbiter.high_limit = p->high_limit;
	link->config.filter_raw_in = p->filter_raw_in;
	link->config.filter_raw_out = p->filter_raw_out;
	link->config.local_errors = p->local_errors;
	link->config.overrun_errors = p->overrun_errors;
}

static uint32_t changes_between(const struct vb_port_info *a, const struct vb_port_info *b)
{
	uint32_t changes = 0;

	if (a->lid != b->lid || a->lmc != b->lmc)
		changes |= VB_SMA_LID;
	if (a->sm_lid != b->sm_lid || a->sm_sl != b->sm_sl)
		changes |= VB_SMA_MANAGER;
	if (a->prefix != b->prefix)
		changes |= VB_SMA_GID;
	return changes;
}

/* The states, by the link's machine. False: not legal now. */
static bool state_set(struct vb_sma_request *r, struct vb_sma_port *p,
		      const struct vb_port_info *want, bool commit)
{
	uint8_t state = p->link->state, phys = p->info.phys_state;

	if (vb_link_set(&state, &phys, want->state, want->phys_state) != 0)
		return false;
	if (!commit)
		return true;
	p->info.phys_state = phys;
	if (state == p->link->state && want->phys_state == 0)
		return true;
	if (state == VB_LINK_DOWN)
		r->result->changes |= VB_SMA_TRAIN;
	if (state == p->link->state)
		return true;
	(void)vb_ib_port_link_event(p->link, VB_LINK_SET_DOWN + (state - VB_LINK_DOWN), r->now);
	VB_ASSERT_ALL(p->link->state == state);
	r->result->changes |= VB_SMA_STATE;
	if (vb_sma_is_switch(r->node))
		r->node->sw.port_state_change = 1;
	return true;
}

static bool port_info_set(struct vb_sma_request *r, int port)
{
	struct vb_sma_port *p = &r->node->port[port];
	struct vb_port_info want = {0}, next = p->info;

	vb_port_info_parse(&want, r->mad);
	if (port_has_lid(r, port) && !lid_set(r, &next, &want))
		return false;
	if (p->link != NULL && (!link_set(&next, &want) || !enabled_set(&next, &want) ||
				!state_set(r, p, &want, false)))
		return false;
	r->result->port = (uint8_t)port;
	r->result->changes |= changes_between(&p->info, &next);
	p->info = next;
	if (p->link != NULL) {
		link_apply(p->link, &p->info, r->now);
		(void)state_set(r, p, &want, true);
	}
	if (port_has_lid(r, port) && want.client_reregister) {
		r->result->changes |= VB_SMA_REREGISTER;
		p->reregisters++;
		p->info.client_reregister = 1; /* in this answer alone */
	}
	return true;
}

static void port_info_get(const struct vb_sma_request *r, int port)
{
	const struct vb_sma_port *p = &r->node->port[port];
	struct vb_port_info out = p->info;

	out.local_port = r->in_port;
	out.state = p->link != NULL ? p->link->state : VB_LINK_ACTIVE;
	out.phys_state = p->link != NULL ? p->info.phys_state : VB_PHYS_LINK_UP;
	if (!r->key_is_right && p->info.mkey_protect == 1)
		out.mkey = 0;
	memset(r->mad + VB_SMP_DATA_AT, 0, VB_SMP_DATA_LEN);
	vb_port_info_emit(&out, r->mad);
}

uint16_t vb_sma_port_info(struct vb_sma_request *r)
{
	int port = vb_sma_named_port(r, r->mod & 0xff);
	bool good;

	/* Bit 31 asks for the form with extended speeds, which is the only one here. */
	if (port < 0 || (r->mod & 0x7fffff00) != 0)
		return VB_SMP_BAD_FIELD;
	good = !r->set || port_info_set(r, port);
	port_info_get(r, port);
	r->node->port[port].info.client_reregister = 0;
	return good ? VB_SMP_GOOD : VB_SMP_BAD_FIELD;
}
