/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of a node, block by block: GUIDs, P_Keys, lanes, arbitration, forwarding. FAB-20,
 * 25-27 */
#include "base/assert.h"
#include "mgmt/sma_priv.h"

#include <string.h>

#define GUIDS_BLOCK 8u
#define PKEYS_BLOCK 32u
#define ARB_BLOCK 32u
#define LFT_BLOCK 64u
#define MFT_BLOCK 32u

uint16_t vb_sma_guid_info(struct vb_sma_request *r)
{
	struct vb_sma_port *p = &r->node->port[vb_sma_own_port(r)];
	uint32_t first = r->mod * GUIDS_BLOCK;

	if (r->mod >= (p->info.guid_cap + GUIDS_BLOCK - 1) / GUIDS_BLOCK)
		return VB_SMP_BAD_FIELD;
	for (uint32_t i = 0; i < GUIDS_BLOCK; i++) {
		uint32_t at = first + i;

		/* The first one is the port's own for ever. */
		if (r->set && at != 0 && at < p->info.guid_cap &&
		    p->guid[at] != vb_smp_get64(r->mad, i)) {
			p->guid[at] = vb_smp_get64(r->mad, i);
			r->result->changes |= VB_SMA_GID;
			r->result->port = vb_sma_own_port(r);
		}
		vb_smp_put64(r->mad, i, at < p->info.guid_cap ? p->guid[at] : 0);
	}
	return VB_SMP_GOOD;
}

uint16_t vb_sma_pkey_table(struct vb_sma_request *r)
{
	uint32_t first = (r->mod & 0xffff) * PKEYS_BLOCK, cap = r->node->info.pkey_cap;
	int port = vb_sma_named_port(r, vb_sma_is_switch(r->node) ? r->mod >> 16 : 0);
	uint16_t *pkey;

	if (port < 0 || first >= cap)
		return VB_SMP_BAD_FIELD;
	pkey = r->node->port[port].pkey;
	for (uint32_t i = 0; i < PKEYS_BLOCK; i++) {
		uint32_t at = first + i;

		if (r->set && at < cap && pkey[at] != vb_smp_get16(r->mad, i)) {
			pkey[at] = vb_smp_get16(r->mad, i);
			r->result->changes |= VB_SMA_PKEY;
			r->result->port = (uint8_t)port;
		}
		vb_smp_put16(r->mad, i, at < cap ? pkey[at] : 0);
	}
	return VB_SMP_GOOD;
}

uint16_t vb_sma_sl2vl(struct vb_sma_request *r)
{
	bool is_switch = vb_sma_is_switch(r->node);
	uint32_t in = is_switch ? r->mod >> 8 & 0xff : 0;
	int out = vb_sma_named_port(r, is_switch ? r->mod & 0xff : 0);
	uint8_t *data = r->mad + VB_SMP_DATA_AT;
	struct vb_sl2vl *map;

	if (out < 0 || in > r->node->info.port_cnt)
		return VB_SMP_BAD_FIELD;
	if (!(r->node->port[vb_sma_own_port(r)].info.cap_mask & VB_CAP_SL_MAPPING))
		return VB_SMP_BAD_METHOD_ATTR;
	map = &r->node->port[out].sl2vl[in];
	for (unsigned sl = 0; sl < VB_SL_CNT; sl += 2, data++) {
		if (r->set) {
			map->vl[sl] = *data >> 4;
			map->vl[sl + 1] = *data & 0x0f;
		}
		*data = (uint8_t)(map->vl[sl] << 4 | map->vl[sl + 1]);
	}
	return VB_SMP_GOOD;
}

/* Blocks 1 and 2 are the low table, 3 and 4 the high one. */
uint16_t vb_sma_vl_arb(struct vb_sma_request *r)
{
	int port = vb_sma_named_port(r, vb_sma_is_switch(r->node) ? r->mod & 0xff : 0);
	uint32_t block = r->mod >> 16, first, cap;
	enum vb_arb_priority priority = block <= 2 ? VB_ARB_LOW : VB_ARB_HIGH;
	uint8_t *data = r->mad + VB_SMP_DATA_AT;
	struct vb_sma_port *p;

	if (port < 0 || block < 1 || block > 4)
		return VB_SMP_BAD_FIELD;
	p = &r->node->port[port];
	if (p->info.vl_cap <= 1)
		return VB_SMP_BAD_METHOD_ATTR;
	cap = priority == VB_ARB_LOW ? p->info.arb_low_cap : p->info.arb_high_cap;
	first = (block - 1) % 2 * ARB_BLOCK;
	VB_ASSERT_ALL(cap <= VB_ARB_ENTRY_MAX);
	if (first >= cap)
		return VB_SMP_BAD_FIELD;
	for (uint32_t i = 0; i < ARB_BLOCK; i++, data += 2) {
		struct vb_arb_entry *e = &p->arb[priority][first + i];

		if (r->set && first + i < cap)
			*e = (struct vb_arb_entry){.vl = data[0] & 0x0f, .weight = data[1]};
		data[0] = first + i < cap ? e->vl : 0;
		data[1] = first + i < cap ? e->weight : 0;
	}
	if (r->set && p->link != NULL)
		vb_arbiter_set_table(&p->link->arbiter, priority, p->arb[priority], cap);
	return VB_SMP_GOOD;
}

uint16_t vb_sma_lft(struct vb_sma_request *r)
{
	struct vb_lid_forward *f = r->node->forward;
	uint64_t first = (uint64_t)r->mod * LFT_BLOCK;
	uint8_t *data = r->mad + VB_SMP_DATA_AT;

	if (first >= f->unicast_cap)
		return VB_SMP_BAD_FIELD;
	for (uint64_t i = first; i < first + LFT_BLOCK; i++, data++) {
		if (r->set && i < f->unicast_cap)
			f->unicast[i] = *data;
		*data = i < f->unicast_cap ? f->unicast[i] : VB_PORT_NONE;
	}
	return VB_SMP_GOOD;
}

uint16_t vb_sma_mft(struct vb_sma_request *r)
{
	struct vb_lid_forward *f = r->node->forward;
	uint32_t position = r->mod >> 28, first = (r->mod & 0x0fffffff) * MFT_BLOCK;

	if (position * VB_MFT_MASK_PORTS > r->node->info.port_cnt ||
	    (r->mod & 0x0fffffff) >= (f->multicast_cap + MFT_BLOCK - 1) / MFT_BLOCK)
		return VB_SMP_BAD_FIELD;
	for (uint32_t i = 0; i < MFT_BLOCK; i++) {
		uint16_t none = 0;
		uint16_t *word =
		    first + i < f->multicast_cap ? &f->multicast[first + i].word[position] : &none;

		if (r->set)
			*word = vb_smp_get16(r->mad, i);
		vb_smp_put16(r->mad, i, first + i < f->multicast_cap ? *word : 0);
	}
	return VB_SMP_GOOD;
}
