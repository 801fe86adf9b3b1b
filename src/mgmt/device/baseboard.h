/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The baseboard management agent that every node has. A simulated node has no module behind it, no
 * vital product data and no power to switch, so the agent says which class it is, and that is all.
 * IBA 16.2; items FAB-49, IBT-95
 */
#ifndef VB_MGMT_DEVICE_BASEBOARD_H
#define VB_MGMT_DEVICE_BASEBOARD_H

#include "wire/mad/subnet/device.h"

#include <stdbool.h>

/* Answers a Get of ClassPortInfo, with @resp_time of 4.096 us * 2^n. False: the MAD is another one,
 * and stays as it is. */
bool vb_baseboard_handle(uint8_t mad[VB_MAD_LEN], uint8_t resp_time);

#endif
