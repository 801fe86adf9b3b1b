/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of a simulated InfiniBand: which hosts have joined, and what that makes of the
 * multicast tables of switches. A group takes the tables that came with the routes, or else one of
 * the trees of tree.c, without the branches that lead to no member, as a subnet manager would write
 * it. IBA 10.5, 18.2.4.3; FAB-02
 */
#include "base/assert.h"
#include "sim/priv.h"
#include "wire/pkey.h"

#include <errno.h>
#include <string.h>

static int tables_create(struct vb_sim *s)
{
	struct vb_sim_ib *ib = s->ib;

	if (!ib->mft)
		ib->mft =
		    vb_sim_alloc(s, ((size_t)s->switch_cnt + 1) * VB_SIM_GROUPS * sizeof *ib->mft);
	if (!ib->member)
		ib->member = vb_sim_alloc(s, (size_t)s->host_cnt * sizeof *ib->member);
	if (!ib->mft || !ib->member)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->switch_cnt; i++) {
		struct vb_lid_forward *f = &ib->sw[i].forward;

		f->multicast = ib->mft + (size_t)i * VB_SIM_GROUPS;
		f->multicast_cap = VB_SIM_GROUPS;
	}
	return 0;
}

static struct vb_port_mask *entry_of(const struct vb_sim *s, uint32_t sw, uint32_t group)
{
	return &s->ib->sw[sw].forward.multicast[group];
}

static void entry_set(struct vb_port_mask *m, uint32_t number, bool on)
{
	uint16_t bit = (uint16_t)(1u << (number + 1) % VB_MFT_MASK_PORTS);
	uint16_t *word = &m->word[(number + 1) / VB_MFT_MASK_PORTS];

	*word = on ? *word | bit : *word & (uint16_t)~bit;
}

/* The entry has every port of the group's tree that leads to a switch or to a member. */
static void entry_fill(struct vb_sim *s, uint32_t sw, uint32_t group)
{
	const struct vb_forward *fw = &s->sw[sw].forward;
	const uint64_t *tree = fw->tree + (size_t)(group % fw->tree_cnt) * fw->tree_words;
	struct vb_port_mask *m = entry_of(s, sw, group);

	memset(m, 0, sizeof *m);
	for (uint32_t p = 0; p < s->sw[sw].port_cnt; p++) {
		const struct vb_port *port = s->sw[sw].port[p];
		const struct vb_port *far = &s->port[vb_sim_peer(port->id)];

		if (!(tree[p / 64] >> p % 64 & 1))
			continue;
		if (port->to_host &&
		    !(s->ib->member[vb_sim_host_number(s, (const struct vb_nic *)far->owner)] >>
			  group &
		      1))
			continue;
		entry_set(m, p, true);
	}
}

/* The only port of the entry; VB_SIM_NONE: there are none or several. */
static uint32_t entry_only(const struct vb_sim *s, uint32_t sw, uint32_t group)
{
	uint32_t only = VB_SIM_NONE;

	for (uint32_t p = 0; p < s->sw[sw].port_cnt; p++) {
		if (!vb_port_mask_has(entry_of(s, sw, group), (uint8_t)(p + 1)))
			continue;
		if (only != VB_SIM_NONE)
			return VB_SIM_NONE;
		only = p;
	}
	return only;
}

/* Takes the switch out of the tree where it leads to nobody: true, or it is not at an end. */
static bool branch_cut(struct vb_sim *s, uint32_t sw, uint32_t group)
{
	uint32_t p = entry_only(s, sw, group);
	const struct vb_port *far;

	if (p == VB_SIM_NONE || s->sw[sw].port[p]->to_host)
		return false;
	far = &s->port[vb_sim_peer(s->sw[sw].port[p]->id)];
	entry_set(entry_of(s, sw, group), p, false);
	entry_set(entry_of(s, s->switch_of[far->id], group), far->number, false);
	return true;
}

/* Entries from outside stay as they are, whoever joins and whatever becomes of links. */
static bool entries_take(struct vb_sim *s, uint32_t group)
{
	const struct vb_sim_ib_routes *r = s->cfg.ib.routes;

	if (!r || !r->mft || !(r->mft_groups >> group & 1))
		return false;
	for (uint32_t i = 0; i < s->switch_cnt; i++)
		*entry_of(s, i, group) = r->mft[(size_t)i * VB_SIM_GROUPS + group];
	return true;
}

static void group_fill(struct vb_sim *s, uint32_t group)
{
	bool cut = true;

	if (entries_take(s, group))
		return;
	for (uint32_t i = 0; i < s->switch_cnt; i++)
		entry_fill(s, i, group);
	while (cut) {
		cut = false;
		for (uint32_t i = 0; i < s->switch_cnt; i++)
			cut |= branch_cut(s, i, group);
	}
}

void vb_sim_ib_groups_follow(struct vb_sim *s)
{
	for (uint32_t g = 0; s->ib->member && g < VB_SIM_GROUPS; g++)
		if (s->ib->groups >> g & 1)
			group_fill(s, g);
}

/* All members are in one subnet: routers send nothing on that goes to a group. */
static bool is_in_reach(const struct vb_sim *s, uint32_t group, uint32_t host)
{
	for (uint32_t i = 0; s->subnets && i < s->host_cnt; i++)
		if (s->ib->member[i] >> group & 1 && vb_sim_subnet(s, i) != vb_sim_subnet(s, host))
			return false;
	return true;
}

int vb_sim_join(struct vb_sim *s, uint32_t group, uint32_t host)
{
	int err;

	if (group >= VB_SIM_GROUPS || host >= s->host_cnt)
		return -EINVAL;
	if (!s->ib)
		return 0;
	err = tables_create(s);
	if (!err && !is_in_reach(s, group, host))
		err = -EINVAL;
	if (err)
		return err;
	s->ib->member[host] |= UINT64_C(1) << group;
	s->ib->groups |= UINT64_C(1) << group;
	group_fill(s, group);
	return 0;
}

uint16_t vb_sim_group_lid(const struct vb_sim *s, uint32_t group)
{
	return s->ib ? (uint16_t)(VB_LID_MULTICAST + group) : 0;
}

void vb_sim_set_group_pkey(struct vb_sim *s, uint32_t group, uint16_t pkey)
{
	assert(group < VB_SIM_GROUPS);
	if (s->ib)
		s->ib->group_pkey[group] = (uint16_t)(pkey | 0x8000);
}

struct vb_gid vb_sim_group_gid(const struct vb_sim *s, uint32_t group)
{
	/* Of IPv4 over RoCE, or with the signature of IP over InfiniBand and a P_Key. RFC 4391 4 */
	struct vb_gid gid = {{[10] = 0xff, 0xff, 239, 1, 0, 0}};

	if (s->ib) {
		uint16_t pkey = s->ib->group_pkey[group];

		if (!pkey)
			pkey = VB_PKEY_DEFAULT;
		gid =
		    (struct vb_gid){{0xff, 0x12, 0x40, 0x1b, (uint8_t)(pkey >> 8), (uint8_t)pkey}};
	}
	gid.b[15] = (uint8_t)(group + 1);
	return gid;
}

struct vb_path vb_sim_group_path(const struct vb_sim *s, uint32_t from, uint32_t group,
				 uint8_t traffic_class)
{
	struct vb_path p = vb_sim_path(from, from, 0xc000, traffic_class);

	p.dgid = vb_sim_group_gid(s, group);
	if (!s->ib)
		return p;
	if (s->subnets)
		p.sgid = vb_sim_port_gid(s, from);
	p.slid = vb_sim_lid(s, from);
	p.dlid = vb_sim_group_lid(s, group);
	p.sl = traffic_class % VB_SL_CNT;
	p.traffic_class = 0;
	return p;
}
