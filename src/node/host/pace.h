/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How slow this machine is. Engine and broker expect replies, calls, and programs to poll, within
 * times that were chosen on machines of usual speed. On an emulated one a system call or a look at
 * a ring takes so much longer that nothing would ever be in time; so the times grow by what a few
 * calls take here.
 */
#ifndef VB_NODE_HOST_PACE_H
#define VB_NODE_HOST_PACE_H

#include <stdint.h>

/* How many times as long, 1 to 32. Takes some microseconds. */
uint32_t vb_pace_slowness(void);

#endif
