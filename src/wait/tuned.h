/* SPDX-License-Identifier: BSD-2-Clause */
/* The constants of tuned.def, as integer constants: VB_WAIT_POLLS_GAP_NS for one. */
#ifndef VB_WAIT_TUNED_H
#define VB_WAIT_TUNED_H

#include "base/time.h"

enum vb_wait_tuned {
#define VB_TUNED(name, value, measurement) VB_WAIT_##name = (value),
#include "wait/tuned.def"
#undef VB_TUNED
};

#endif
