/* SPDX-License-Identifier: BSD-2-Clause */
/* Credit arithmetic, see credit.h. IBA 7.9.4.2, 7.9.4.3 */
#include "fabric/ib/credit.h"

#include "wire/ib/flow.h"

#include <assert.h>

#define COUNT_MASK (VB_FLOW_MODULUS - 1)
/* No limit lies further ahead, so that one ahead can be told from one behind. */
#define AHEAD_MAX (VB_FLOW_MODULUS / 2)

bool vb_credit_may_send(const struct vb_credit_tx *t, uint32_t blocks)
{
	return ((t->fccl - (t->fctbs + blocks)) & COUNT_MASK) <= AHEAD_MAX;
}

void vb_credit_send(struct vb_credit_tx *t, uint32_t blocks)
{
	assert(vb_credit_may_send(t, blocks));
	t->fctbs = (t->fctbs + blocks) & COUNT_MASK;
}

void vb_credit_set_limit(struct vb_credit_tx *t, uint16_t fccl)
{
	t->fccl = fccl & COUNT_MASK;
}

bool vb_credit_receive(struct vb_credit_rx *r, uint32_t blocks)
{
	assert(r->used <= r->capacity);
	r->abr = (r->abr + blocks) & COUNT_MASK;
	if (blocks > r->capacity - r->used)
		return false;
	r->used += blocks;
	return true;
}

void vb_credit_release(struct vb_credit_rx *r, uint32_t blocks)
{
	assert(blocks <= r->used);
	r->used -= blocks;
}

void vb_credit_adjust(struct vb_credit_rx *r, uint16_t fctbs)
{
	r->abr = fctbs & COUNT_MASK;
}

uint16_t vb_credit_limit(const struct vb_credit_rx *r)
{
	uint32_t free = r->capacity - r->used;

	return (r->abr + (free < AHEAD_MAX ? free : AHEAD_MAX)) & COUNT_MASK;
}
