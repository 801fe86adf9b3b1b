/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder. See dfx.h. */
#include "core/cc/dfx.h"

#include "base/assert.h"
void vb_dfx_start(struct vb_dfx *d)
{
	*d = (struct vb_dfx){.recording = true};
}

void vb_dfx_stop(struct vb_dfx *d)
{
	d->recording = false;
}

static void event_count(struct vb_dfx *d, unsigned event, uint64_t cnt)
{
	uint16_t *c = event == VB_DFX_DECREASE ? &d->decreases
		      : event & VB_DFX_BY_TIME ? &d->timer_increases
					       : &d->byte_increases;

	*c = cnt < (uint64_t)(UINT16_MAX - *c) ? (uint16_t)(*c + cnt) : UINT16_MAX;
}

void vb_dfx_skip(struct vb_dfx *d, unsigned event, uint64_t cnt)
{
	event_count(d, event, cnt);
	d->overflow = cnt < UINT32_MAX - d->overflow ? d->overflow + (uint32_t)cnt : UINT32_MAX;
}

void vb_dfx_put(struct vb_dfx *d, unsigned event, uint16_t rate, vb_time at)
{
	if (!vb_dfx_has_room(d)) {
		vb_dfx_skip(d, event, 1);
		return;
	}
	event_count(d, event, 1);
	d->entry[d->head + d->cnt++] = vb_dfx_entry(event, rate, at);
}

bool vb_dfx_read(struct vb_dfx *d, uint64_t *entry)
{
	if (d->cnt == 0)
		return false;
	VB_ASSERT_ALL(d->head + d->cnt <= sizeof d->entry / sizeof d->entry[0]);
	*entry = d->entry[d->head++];
	d->cnt--;
	return true;
}
