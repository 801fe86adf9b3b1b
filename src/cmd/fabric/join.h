/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena fabric join`: a cable between ports of two fabrics of this host. */
#ifndef VB_CMD_FABRIC_JOIN_H
#define VB_CMD_FABRIC_JOIN_H

#include "cmd/cmd.h"

/* A port, as the user writes it. */
struct vb_join_end {
	const char *fabric, *node, *port;
};

/* Makes both ends of a tunnel over the loopback interface, or neither. Returns the exit status. */
int vb_fabric_join(const struct vb_cmd *cmd, const struct vb_join_end *a,
		   const struct vb_join_end *b);

#endif
