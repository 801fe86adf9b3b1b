/* SPDX-License-Identifier: BSD-2-Clause */
/* Look-ups in the tables of speeds and widths, see rate.h. */
#include "wire/ib/rate.h"

#include "base/assert.h"

#define PICO 1000000000000u

enum {
#define LINE_CODING(name, payload, line) PAYLOAD_##name = payload, LINE_##name = line,
#include "wire/ib/rate.def"
#undef LINE_CODING
};

static const struct vb_ib_speed_row speeds[] = {
#define SPEED(name, verbs, port_info, extended, signal, coding, nominal)                           \
	{#name,                                                                                    \
	 verbs,                                                                                    \
	 port_info,                                                                                \
	 extended,                                                                                 \
	 nominal,                                                                                  \
	 signal * UINT64_C(1000),                                                                  \
	 signal * UINT64_C(1000) * PAYLOAD_##coding / LINE_##coding},
#include "wire/ib/rate.def"
#undef SPEED
};

const struct vb_ib_speed_row *vb_ib_speed_row(uint32_t speed)
{
	for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++)
		if (speeds[i].code == speed)
			return &speeds[i];
	return NULL;
}

uint32_t vb_ib_lanes(uint32_t width)
{
	switch (width) {
#define WIDTH(lanes, code)                                                                         \
	case code:                                                                                 \
		return lanes;
#include "wire/ib/rate.def"
#undef WIDTH
	default:
		return 0;
	}
}

uint64_t vb_ib_payload_bps(uint32_t speed, uint32_t width)
{
	const struct vb_ib_speed_row *row = vb_ib_speed_row(speed);

	return row != NULL ? row->payload_bps * vb_ib_lanes(width) : 0;
}

uint64_t vb_ib_symbol_ps(uint32_t speed)
{
	const struct vb_ib_speed_row *row = vb_ib_speed_row(speed);

	VB_ASSERT_ALL(row == NULL || row->payload_bps > 0);
	return row != NULL ? 8 * (uint64_t)PICO / row->payload_bps : 0;
}
