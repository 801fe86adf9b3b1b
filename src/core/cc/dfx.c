/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder. See dfx.h. */
#include "core/cc/dfx.h"

void vb_dfx_start(struct vb_dfx *d)
{
	*d = (struct vb_dfx){.recording = true};
}

void vb_dfx_stop(struct vb_dfx *d)
{
	d->recording = false;
}

static void count(uint16_t *c)
{
	if (*c < UINT16_MAX)
		++*c;
}

void vb_dfx_put(struct vb_dfx *d, unsigned event, uint16_t rate, vb_time at)
{
	count(event == VB_DFX_DECREASE ? &d->decreases
	      : event & VB_DFX_BY_TIME ? &d->timer_increases
				       : &d->byte_increases);
	if (d->head + d->cnt < VB_DFX_ENTRIES)
		d->entry[d->head + d->cnt++] = vb_dfx_entry(event, rate, at);
	else if (d->overflow < UINT32_MAX)
		d->overflow++;
}

bool vb_dfx_read(struct vb_dfx *d, uint64_t *entry)
{
	if (d->cnt == 0)
		return false;
	*entry = d->entry[d->head++];
	d->cnt--;
	return true;
}
