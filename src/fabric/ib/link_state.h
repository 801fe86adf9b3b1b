/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of an InfiniBand link as one of its ports sees it: which packets pass, how it changes,
 * and what two ports agree on when they train. The tables are in link_state.def. IBA 7.2.7, 5.6.4,
 * 14.2.5.6; items LNK-30 to LNK-32, LNK-35
 */
#ifndef VB_FABRIC_IB_LINK_STATE_H
#define VB_FABRIC_IB_LINK_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* PortState of PortInfo. */
enum vb_link_state {
#define LINK_STATE(name, code, send_mgmt, send_data, receive_mgmt, receive_data)                   \
	VB_LINK_##name = code,
#include "fabric/ib/link_state.def"
#undef LINK_STATE
};

enum vb_link_event {
	VB_LINK_TRAINED,   /* both ends are there and agree on speed and width */
	VB_LINK_LOST,      /* the signal is gone */
	VB_LINK_DATA_CAME, /* a data packet was received: the other end is active */
	VB_LINK_RECOVERY,  /* too many errors: the link trains again */
	VB_LINK_RECOVERED,
	VB_LINK_SET_DOWN, /* the subnet manager sets PortState */
	VB_LINK_SET_INIT,
	VB_LINK_SET_ARMED,
	VB_LINK_SET_ACTIVE,
};

/* PortPhysicalState of PortInfo. LNK-32 */
enum vb_phys_state {
	VB_PHYS_SLEEP = 1,
	VB_PHYS_POLLING,
	VB_PHYS_DISABLED,
	VB_PHYS_TRAINING,
	VB_PHYS_LINK_UP,
	VB_PHYS_RECOVERY,
	VB_PHYS_TEST,
};

/* Changes @state as the event says. -EINVAL: the event is not legal there, nothing changes. */
int vb_link_state_change(uint8_t *state, enum vb_link_event event);

/* Whether packets pass in @state: management and flow control packets, or data. */
bool vb_link_may_send(uint8_t state, bool data);
bool vb_link_may_receive(uint8_t state, bool data);

/*
 * Sets the state and the physical state of a port as Set(PortInfo) asks: @want is a PortState and
 * @want_phys a physical state, 0 for no change. -EINVAL: one of them is not legal now, and nothing
 * changes. LNK-31, LNK-32
 */
int vb_link_set(uint8_t *state, uint8_t *phys, uint8_t want, uint8_t want_phys);

/* The highest speed (bits are enum vb_ib_speed) and the widest width (enum vb_ib_width) that both
 * ends have enabled; 0: they have none in common. LNK-35 */
uint32_t vb_link_common_speed(uint32_t a, uint32_t b);
uint32_t vb_link_common_width(uint32_t a, uint32_t b);

#endif
