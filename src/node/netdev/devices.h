/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device table in host memory: one verbenaN for each network device that is up and has an
 * address, with its GID table. Names, places in the table and GID indices keep their meaning for as
 * long as what they stand for exists.
 */
#ifndef VB_NODE_NETDEV_DEVICES_H
#define VB_NODE_NETDEV_DEVICES_H

#include "node/netdev/netdev.h"
#include "node/shared/shm.h"

/* Brings @host in line with @n, with @vf_cnt virtual functions of each device as far as there is
 * room. Returns true when something changed; the generation has grown then.
 */
bool vb_devices_update(struct vb_host_shm *host, const struct vb_netdevs *n, uint32_t vf_cnt);

/* Gives device @pf and its virtual functions the P_Key table @pkey, of VB_PKEYS_MAX entries.
 * Returns true when it is another one; the generation has grown then. */
bool vb_devices_set_pkeys(struct vb_host_shm *host, uint32_t pf, const uint16_t *pkey);

/* The device that @name means, by its own name or that of its network device; -ENODEV. */
int vb_devices_find(const struct vb_host_shm *host, const char *name);

/* The rate of a device, 0: not known. */
static inline uint64_t vb_device_rate_bps(const struct vb_device *d)
{
	return d->speed_mbps * UINT64_C(1000000);
}

/* Bracket a change of host memory, so that readers see all of it or nothing. */
void vb_host_write_begin(struct vb_host_shm *host);
void vb_host_write_end(struct vb_host_shm *host);

#endif
