/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of a link's state, and training, see link_state.h. */
#include "fabric/ib/link_state.h"

#include "wire/ib/rate.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

static const struct {
	uint8_t from, event, to;
} changes[] = {
#define LINK_CHANGE(from, event, to) {VB_LINK_##from, VB_LINK_##event, VB_LINK_##to},
#include "fabric/ib/link_state.def"
#undef LINK_CHANGE
};

static const struct {
	bool send_mgmt, send_data, receive_mgmt, receive_data;
} passes[] = {
#define LINK_STATE(name, code, send_mgmt, send_data, receive_mgmt, receive_data)                   \
	[code] = {send_mgmt, send_data, receive_mgmt, receive_data},
#include "fabric/ib/link_state.def"
#undef LINK_STATE
};

int vb_link_state_change(uint8_t *state, enum vb_link_event event)
{
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
		if (changes[i].from == *state && changes[i].event == event) {
			*state = changes[i].to;
			return 0;
		}
	return -EINVAL;
}

bool vb_link_may_send(uint8_t state, bool data)
{
	assert(state >= VB_LINK_DOWN && state <= VB_LINK_ACT_DEFER);
	return data ? passes[state].send_data : passes[state].send_mgmt;
}

bool vb_link_may_receive(uint8_t state, bool data)
{
	assert(state >= VB_LINK_DOWN && state <= VB_LINK_ACT_DEFER);
	return data ? passes[state].receive_data : passes[state].receive_mgmt;
}

int vb_link_set(uint8_t *state, uint8_t *phys, uint8_t want, uint8_t want_phys)
{
	uint8_t next = *state;

	if (want_phys != 0 && (want_phys > VB_PHYS_DISABLED || (want != 0 && want != VB_LINK_DOWN)))
		return -EINVAL;
	if (want != 0 && vb_link_state_change(&next, VB_LINK_SET_DOWN + (want - VB_LINK_DOWN)) != 0)
		return -EINVAL;
	if (want_phys != 0) {
		/* The link trains again, or rests. */
		next = VB_LINK_DOWN;
		*phys = want_phys;
	} else if (want == VB_LINK_DOWN && *phys != VB_PHYS_DISABLED) {
		*phys = VB_PHYS_POLLING;
	}
	*state = next;
	return 0;
}

uint32_t vb_link_common_speed(uint32_t a, uint32_t b)
{
	uint32_t common = a & b, best = 0;

	for (uint32_t code = VB_IB_SDR; code <= VB_IB_XDR; code <<= 1)
		if (common & code)
			best = code;
	return best;
}

uint32_t vb_link_common_width(uint32_t a, uint32_t b)
{
	uint32_t common = a & b, best = 0;

	for (uint32_t code = VB_IB_1X; code <= VB_IB_2X; code <<= 1)
		if ((common & code) && vb_ib_lanes(code) > vb_ib_lanes(best))
			best = code;
	return best;
}
