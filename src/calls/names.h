/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the values that verbs take, as ibv_modify_qp(3) and its like have them, without IBV_. */
#ifndef VB_CALLS_NAMES_H
#define VB_CALLS_NAMES_H

#include <stdint.h>

struct vb_name {
	uint64_t value;
	const char *name; /* NULL: the end */
};

extern const struct vb_name vb_names_access[], vb_names_attr[], vb_names_event[], vb_names_mtu[],
    vb_names_mw_type[], vb_names_opcode[], vb_names_port_state[], vb_names_qp_state[],
    vb_names_qp_type[], vb_names_send[], vb_names_srq_type[], vb_names_wc_flags[],
    vb_names_wc_opcode[], vb_names_wc_status[];

/* The name of @value; NULL: it has none. */
const char *vb_name_of(const struct vb_name *names, uint64_t value);

#endif
