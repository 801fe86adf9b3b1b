/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports that an ordinary user may not bind. ip(7) ip_unprivileged_port_start */
#ifndef VB_NODE_NETDEV_LOW_PORTS_H
#define VB_NODE_NETDEV_LOW_PORTS_H

/* The first port that everybody may bind, 1024 unless the host says otherwise. */
unsigned vb_low_ports_end(void);

#endif
