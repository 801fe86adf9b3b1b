/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of a name in the abstract namespace of unix sockets. */
#ifndef VB_NODE_HOST_NAME_OWNER_H
#define VB_NODE_HOST_NAME_OWNER_H

#include <sys/socket.h>
#include <sys/un.h>

/* The user in *uid who has the SEQPACKET socket of address @a; connected or not, listening or not.
 * -ENOENT: nobody; other negative errnos: the kernel does not tell. */
int vb_name_owner(const struct sockaddr_un *a, socklen_t len, unsigned *uid);

#endif
