/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Speeds and widths of InfiniBand links: the codes of verbs and PortInfo, the rates that they mean.
 * The rows are in rate.def. IBA 5.6, 14.2.5.6; IBT-85 to IBT-94
 */
#ifndef VB_WIRE_IB_RATE_H
#define VB_WIRE_IB_RATE_H

#include <stddef.h>
#include <stdint.h>

/* The codes of active_speed: VB_IB_SDR ... VB_IB_XDR. */
enum vb_ib_speed {
#define SPEED(name, verbs, port_info, extended, signal, coding, nominal) VB_IB_##name = verbs,
#include "wire/ib/rate.def"
#undef SPEED
};

/* The codes of active_width: VB_IB_1X ... VB_IB_2X. */
enum vb_ib_width {
#define WIDTH(lanes, code) VB_IB_##lanes##X = code,
#include "wire/ib/rate.def"
#undef WIDTH
};

struct vb_ib_speed_row {
	char name[6];
	uint16_t code;         /* enum vb_ib_speed */
	uint8_t port_info;     /* bit of LinkSpeed, 0: none */
	uint8_t port_info_ext; /* bit of LinkSpeedExt, 0: none */
	uint16_t nominal;      /* of one lane, units of 100 Mb/s */
	uint64_t signal_bps;   /* of one lane, with the line coding, bits per second */
	uint64_t payload_bps;  /* of one lane, without it */
};

/* The row of a speed, NULL: no speed has this code. */
const struct vb_ib_speed_row *vb_ib_speed_row(uint32_t speed);
/* Lanes of a width, 0: no width has this code. */
uint32_t vb_ib_lanes(uint32_t width);

/* Data that a link carries, bits per second; 0 when a code is unknown. */
uint64_t vb_ib_payload_bps(uint32_t speed, uint32_t width);
/* Picoseconds of a symbol, by which flow control counts its periods: the time of one byte of data
 * on one lane, 4 ns at SDR. 0 when the code is unknown. LNK-19 */
uint64_t vb_ib_symbol_ps(uint32_t speed);

#endif
