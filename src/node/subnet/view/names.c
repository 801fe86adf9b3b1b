/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for states of links, see view.h. */
#include "node/subnet/view/view.h"

const char *vb_subnet_state_name(uint8_t state)
{
	static const char *const names[] = {"", "DOWN", "INIT", "ARMED", "ACTIVE", "ACT_DEFER"};

	return names[state < sizeof names / sizeof names[0] ? state : 0];
}
