/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the next hops of shortest paths. All ports of a switch that lead closer to a destination
 * are kept, for ECMP and other choices among them. A destination is a switch that has hosts.
 *
 * The search is breadth-first, for a block of 64 destinations at a time: each switch and port has a
 * word, in which bit i is of destination i of the block. So one pass over the ports serves 64
 * destinations, and 100,000 hosts have their tables in a second. Destinations to which a switch has
 * the same ports share a set, which is found once for all of them.
 */
#include "base/assert.h"
#include "sim/priv.h"

#include <errno.h>
#include <string.h>

#define BLOCK 64u

struct search {
	struct vb_sim *s;
	const uint8_t *has_hosts; /* by switch */
	uint32_t *behind;         /* by port of switches: the switch at the other end, or NONE */
	uint64_t *closer;         /* likewise: destinations to which it leads closer */
	uint64_t *seen;           /* by switch: destinations from which it was reached */
	uint64_t *at, *next;      /* likewise: by the step before, by this one */
	struct vb_hop_set *last;  /* likewise: the set found last */
	void *memory;
};

/* The place of a switch's first port in behind and closer. */
static size_t first_port(const struct vb_sim *s, uint32_t sw)
{
	return (size_t)(s->sw[sw].port - s->switch_port);
}

static int search_begin(struct search *f)
{
	struct vb_sim *s = f->s;
	size_t ports = s->port_cnt, n = s->switch_cnt;
	uint64_t *word;

	f->memory = word =
	    vb_sim_alloc(s, (ports + 4 * n) * sizeof *word + ports * sizeof *f->behind);
	if (!word)
		return -ENOMEM;
	f->closer = word;
	f->seen = f->closer + ports;
	f->at = f->seen + n;
	f->next = f->at + n;
	f->last = (struct vb_hop_set *)(f->next + n);
	f->behind = (uint32_t *)(f->last + n);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < s->sw[i].port_cnt; k++)
			f->behind[first_port(s, i) + k] = vb_sim_switch_behind(s, s->sw[i].port[k]);
	}
	return 0;
}

/* One step from switch @at: the destinations that its neighbours were reached from by the step
 * before, and it not yet. */
static uint64_t switch_step(struct search *f, uint32_t at)
{
	size_t first = first_port(f->s, at), end = first + f->s->sw[at].port_cnt;
	uint64_t found = 0;

	for (size_t p = first; p < end; p++) {
		if (f->behind[p] != VB_SIM_NONE)
			found |= f->at[f->behind[p]];
	}
	found &= ~f->seen[at];
	for (size_t p = first; found && p < end; p++) {
		if (f->behind[p] != VB_SIM_NONE)
			f->closer[p] |= found & f->at[f->behind[p]];
	}
	return found;
}

/* Fills closer and seen for destinations from @first on. Returns those there are. */
static uint64_t block_search(struct search *f, uint32_t first)
{
	uint32_t n = f->s->switch_cnt;
	uint64_t all = 0, any;

	memset(f->closer, 0, f->s->port_cnt * sizeof *f->closer);
	memset(f->seen, 0, n * sizeof *f->seen);
	memset(f->at, 0, n * sizeof *f->at);
	for (uint32_t i = 0; i < BLOCK && first + i < n; i++) {
		if (f->has_hosts[first + i])
			f->seen[first + i] = f->at[first + i] = UINT64_C(1) << i;
		all |= f->seen[first + i];
	}
	for (any = all; any;) {
		uint64_t *step = f->next;

		any = 0;
		for (uint32_t i = 0; i < n; i++) {
			step[i] = f->seen[i] == all ? 0 : switch_step(f, i);
			any |= step[i];
		}
		for (uint32_t i = 0; i < n; i++)
			f->seen[i] |= step[i];
		f->next = f->at;
		f->at = step;
	}
	return all;
}

static int hops_reserve(struct vb_sim *s, uint32_t more)
{
	if (s->hop_cnt + more <= s->hop_cap)
		return 0;

	uint32_t cap = s->hop_cap * 2 + more + 64;
	uint32_t *hop = vb_sim_alloc(s, cap * sizeof *hop);

	if (!hop)
		return -ENOMEM;
	if (s->hop_cnt)
		memcpy(hop, s->hop, s->hop_cnt * sizeof *hop);
	vb_sim_free(s, s->hop);
	s->hop = hop;
	s->hop_cap = cap;
	return 0;
}

/* The set of the ports of switch @at that lead closer to destination @bit. It is shared with the
 * set before if they are equal. */
static int set_find(struct search *f, uint32_t at, uint64_t bit)
{
	struct vb_sim *s = f->s;
	size_t first = first_port(s, at);
	struct vb_hop_set r = {.first = s->hop_cnt}, *last = &f->last[at];
	int err = hops_reserve(s, s->sw[at].port_cnt);

	if (err)
		return err;
	for (uint32_t i = 0; i < s->sw[at].port_cnt; i++) {
		if (f->closer[first + i] & bit)
			s->hop[r.first + r.cnt++] = i;
	}
	/* A destination that can be reached is one step nearer by some port. */
	VB_ASSERT_ALL(r.cnt > 0 && r.first + r.cnt <= s->hop_cap);
	if (last->cnt == r.cnt &&
	    memcmp(&s->hop[last->first], &s->hop[r.first], r.cnt * sizeof *s->hop) == 0)
		return 0;
	s->hop_cnt += r.cnt;
	*last = r;
	return 0;
}

/* Of @left, the destinations to which the same ports lead as to the lowest one, which is @bit. */
static uint64_t same_ports(const struct search *f, uint32_t at, uint64_t left, uint64_t bit)
{
	size_t first = first_port(f->s, at), end = first + f->s->sw[at].port_cnt;

	for (size_t p = first; p < end; p++)
		left &= f->closer[p] & bit ? f->closer[p] : ~f->closer[p];
	return left;
}

/* The sets of switch @at to destinations from @edge on, @left. */
static int switch_fill(struct search *f, uint32_t at, uint32_t edge, uint64_t left)
{
	struct vb_hop_set *set = f->s->hop_set + (size_t)at * f->s->edge_cnt + edge;

	while (left) {
		uint64_t bit = left & -left, same = same_ports(f, at, left, bit);
		int err = set_find(f, at, bit);

		if (err)
			return err;
		VB_ASSERT_ALL(same & bit);
		left &= ~same;
		for (; same; same &= same - 1) {
			VB_ASSERT_ALL(edge + (uint32_t)__builtin_ctzll(same) < f->s->edge_cnt);
			set[__builtin_ctzll(same)] = f->last[at];
		}
	}
	return 0;
}

int vb_sim_hops_find(struct vb_sim *s, const uint8_t *has_hosts, bool may_part)
{
	struct search f = {.s = s, .has_hosts = has_hosts};
	int err = search_begin(&f);

	for (uint32_t edge = 0; !err && edge < s->edge_cnt; edge += BLOCK) {
		uint64_t all = block_search(&f, edge);

		for (uint32_t at = 0; !err && at < s->switch_cnt; at++) {
			uint64_t own = at - edge < BLOCK ? UINT64_C(1) << (at - edge) : 0;

			if (f.seen[at] != all && !may_part)
				err = -EINVAL; /* not connected */
			else
				err = switch_fill(&f, at, edge, f.seen[at] & ~own);
		}
	}
	vb_sim_free(s, f.memory);
	return err;
}
