/* SPDX-License-Identifier: BSD-2-Clause */
/* Times of tuned.def on the machine at hand. */
#ifndef VB_WAIT_SCALE_H
#define VB_WAIT_SCALE_H

#include "wait/tuned.h"
#include "wait/wait.h"

static inline vb_dur vb_wait_scaled(const struct vb_wait *w, enum vb_wait_tuned d)
{
	return w->slow * (vb_dur)d;
}

#endif
