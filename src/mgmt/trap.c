/* SPDX-License-Identifier: BSD-2-Clause */
/* Traps that wait for their answer, see trap.h. IBA 13.4.8, 13.4.9 */
#include "mgmt/trap.h"

#include "base/assert.h"
#include "wire/be.h"

#include <string.h>

struct vb_trap *vb_trap_find(struct vb_traps *t, uint16_t number)
{
	for (unsigned i = 0; i < VB_TRAPS_MAX; i++)
		if (t->trap[i].number == number)
			return &t->trap[i];
	return NULL;
}

void vb_trap_raise(struct vb_traps *t, uint16_t number, const uint8_t details[VB_TRAP_DETAILS_LEN],
		   vb_time now)
{
	struct vb_trap *trap = vb_trap_find(t, number);

	VB_ASSERT(number != 0); /* an empty place */

	if (!trap)
		trap = vb_trap_find(t, 0);
	if (!trap)
		return;
	*trap = (struct vb_trap){.number = number, .tid = ++t->tid, .due = now};
	memcpy(trap->details, details, sizeof trap->details);
}

void vb_trap_repress(struct vb_traps *t, uint64_t tid)
{
	for (unsigned i = 0; i < VB_TRAPS_MAX; i++)
		if (t->trap[i].number != 0 && t->trap[i].tid == tid)
			t->trap[i] = (struct vb_trap){0};
}

vb_time vb_traps_poll_timeout(const struct vb_traps *t)
{
	vb_time due = VB_NEVER;

	for (unsigned i = 0; i < VB_TRAPS_MAX; i++)
		if (t->trap[i].number != 0)
			due = vb_time_min(due, vb_time_max(t->trap[i].due, t->not_before));
	return due;
}

static uint8_t notice_type(uint16_t number)
{
	return number >= VB_TRAP_MKEY         ? VB_NOTICE_SECURITY
	       : number >= VB_TRAP_CAPABILITY ? VB_NOTICE_INFORMATIONAL
					      : VB_NOTICE_URGENT;
}

/* Where details have the LID of the node, which may be given to it after the trap was raised; -1:
 * they have none. */
static int lid_at(uint16_t number)
{
	switch (number) {
	case VB_TRAP_LINK_STATE:
		return 0;
	case VB_TRAP_PKEY:
	case VB_TRAP_QKEY:
		return -1;
	case VB_TRAP_SWITCH_PKEY:
		return 48;
	default:
		return 2;
	}
}

bool vb_traps_poll(struct vb_traps *t, uint8_t mad[VB_MAD_LEN], uint8_t producer, uint16_t lid,
		   vb_dur interval, vb_time now)
{
	struct vb_trap *trap = NULL;
	struct vb_mad_hdr hdr = {.base_version = VB_MAD_BASE_VERSION,
				 .mgmt_class = VB_MAD_CLASS_SUBN_LID,
				 .class_version = VB_SMP_CLASS_VERSION,
				 .method = VB_MAD_METHOD_TRAP,
				 .attr_id = VB_SMP_NOTICE};
	struct vb_notice notice = {.is_generic = 1, .producer = producer, .issuer_lid = lid};

	for (unsigned i = 0; i < VB_TRAPS_MAX; i++)
		if (t->trap[i].number != 0 && t->trap[i].due <= now &&
		    (!trap || t->trap[i].due < trap->due))
			trap = &t->trap[i];
	if (!trap || now < t->not_before)
		return false;
	hdr.tid = trap->tid;
	notice.trap = trap->number;
	notice.type = notice_type(trap->number);
	notice.count = trap->count;
	memset(mad, 0, VB_MAD_LEN);
	vb_mad_hdr_emit(&hdr, mad);
	vb_notice_emit(&notice, mad);
	memcpy(mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT, trap->details, VB_TRAP_DETAILS_LEN);
	if (lid_at(trap->number) >= 0)
		be16_put(mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT + lid_at(trap->number), lid);
	trap->count = (trap->count + 1) & 0x7fff;
	trap->due = t->not_before = vb_time_after(now, interval);
	return true;
}
