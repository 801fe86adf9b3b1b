/* SPDX-License-Identifier: BSD-2-Clause */
/* Indices and delays, see cct.h. */
#include "wire/mad/subnet/cct.h"

#include "base/assert.h"

uint16_t vb_ccti_at(struct vb_ccti *i, const struct vb_cct *t, uint8_t sl, vb_time now)
{
	const struct vb_cct_level *l = &t->level[sl % VB_CCT_LEVELS];
	uint16_t least = l->index_min;
	bool runs = i->index > least;
	uint64_t steps = runs && l->timer ? vb_time_since(i->since, now) / l->timer : 0;

	VB_ASSERT_ALL(t->limit < VB_CCT_LEN);
	i->since = runs ? i->since + steps * l->timer : now;
	i->index =
	    runs && steps < (uint32_t)(i->index - least) ? (uint16_t)(i->index - steps) : least;
	/* The limit bounds the least index as well, and one that a manager lowers holds at once. */
	if (i->index > t->limit)
		i->index = t->limit;
	return i->index;
}

bool vb_ccti_becn(struct vb_ccti *i, const struct vb_cct *t, uint8_t sl, vb_time now)
{
	const struct vb_cct_level *l = &t->level[sl % VB_CCT_LEVELS];
	uint16_t before = vb_ccti_at(i, t, sl, now);
	uint32_t after = before + (uint32_t)l->increase;

	i->index = (uint16_t)(after < t->limit ? after : t->limit);
	VB_ASSERT_ALL(i->index < VB_CCT_LEN && i->index >= before);
	return l->trigger && before < l->trigger && i->index >= l->trigger;
}

vb_dur vb_cct_delay(const struct vb_cct *t, uint16_t index, vb_dur packet)
{
	uint32_t entry, multiplier;

	VB_ASSERT_ALL(index < VB_CCT_LEN);
	entry = t->entry[index];
	multiplier = entry & ((1u << VB_CCT_SHIFT) - 1);
	return packet + (packet * multiplier >> (entry >> VB_CCT_SHIFT));
}
