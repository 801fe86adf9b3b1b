/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of UDP port 4791 of this network namespace, as far as /proc tells. */
#ifndef VB_NODE_HOST_PORT_OWNER_H
#define VB_NODE_HOST_PORT_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct vb_port_owner {
	uid_t uid;
	uint64_t inode; /* of the socket; 0: the kernel's own, as rdma_rxe's */
	pid_t pid;      /* 0: not known, e.g. another user's */
	bool is_client; /* has slot memory mapped: a client of a broker, dead or alive */
	char comm[16];
};

/* Fills @o with up to @max sockets bound to the port. Returns how many. */
int vb_port_owners(struct vb_port_owner *o, int max);

/* True when one of them is of this user's adapter though no broker answers: a broker that comes or
 * goes has it, or a client, or no process at all: it is in the descriptor store (fd_store.h) of a
 * keeper's. */
bool vb_port_is_adopted(const struct vb_port_owner *o, int cnt);

/* One line that says who has the port and what to do. */
void vb_port_explain(const struct vb_port_owner *o, int cnt, char *text, size_t size);

#endif
