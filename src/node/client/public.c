/* SPDX-License-Identifier: BSD-2-Clause */
/* The public interface of include/verbena/verbena.h: an observer's view of the broker. */
#include "verbena/verbena.h"

#include "node/broker/broker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

_Static_assert(VERBENA_GIDS_MAX == VB_GIDS_MAX && VERBENA_NAME_MAX == VB_NAME_MAX,
	       "the public table is the broker's");

struct verbena {
	struct vb_broker_observer o;
	struct vb_host_shm host;
	struct vb_counters total[VB_HCA_PORTS_MAX + 1];
};

EXPORT const char *verbena_version(void)
{
	return TEXT(VERBENA_VERSION_MAJOR) "." TEXT(VERBENA_VERSION_MINOR) "." TEXT(
	    VERBENA_VERSION_PATCH);
}

EXPORT int verbena_open(struct verbena **out, char *why, size_t why_size)
{
	struct verbena *v = calloc(1, sizeof *v);

	if (!v) {
		snprintf(why, why_size, "out of memory");
		return -ENOMEM;
	}
	int rc = vb_broker_observe(&v->o, true, why, why_size);
	if (rc) {
		free(v);
		return rc;
	}
	*out = v;
	return 0;
}

EXPORT void verbena_close(struct verbena *v)
{
	if (!v)
		return;
	vb_broker_observe_end(&v->o);
	free(v);
}

EXPORT int verbena_devices(struct verbena *v, struct verbena_device *dev, int max)
{
	int rc = vb_broker_observe_check(&v->o), cnt = 0;

	if (rc)
		return rc;
	vb_host_read(v->o.host, &v->host);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		const struct vb_device *d = &v->host.device[i];

		if (!d->ifindex || cnt++ >= max)
			continue;
		struct verbena_device *to = &dev[cnt - 1];
		*to = (struct verbena_device){
		    .ifindex = d->ifindex,
		    .is_active = d->is_up,
		    .active_mtu = vb_mtu_bytes((enum vb_mtu)d->active_mtu),
		    .netdev_mtu = d->netdev_mtu,
		    .speed_mbps = d->speed_mbps,
		    .guid = d->guid,
		};
		memcpy(to->name, d->name, sizeof to->name);
		memcpy(to->netdev, d->ifname, sizeof to->netdev);
		for (int k = 0; k < VB_GIDS_MAX; k++)
			memcpy(to->gid[k], d->gid[k].gid.b, sizeof to->gid[k]);
	}
	return cnt;
}

EXPORT int verbena_counters(struct verbena *v, const char *device, struct verbena_counter *c,
			    int max)
{
	if (vb_broker_observe_slots(&v->o))
		return -ECONNRESET;
	vb_host_read(v->o.host, &v->host);
	vb_broker_totals(&v->o, v->total);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		const struct vb_device *d = &v->host.device[i];

		if (!d->ifindex || strncmp(d->name, device, sizeof d->name) != 0)
			continue;
		for (int k = 0; k < VB_COUNTER_CNT && k < max; k++)
			c[k] = (struct verbena_counter){
			    .name = vb_counter_info[k].name,
			    .text = vb_counter_info[k].text,
			    .value = v->total[i + 1].v[k],
			};
		return VB_COUNTER_CNT;
	}
	return -ENODEV;
}

EXPORT int verbena_wait_cnp(struct verbena *v, const char *device, uint32_t *count, uint32_t *qpn,
			    int timeout_ms)
{
	int rc = vb_broker_observe_check(&v->o);

	if (rc)
		return rc;
	vb_host_read(v->o.host, &v->host);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		if (v->host.device[i].ifindex &&
		    strncmp(v->host.device[i].name, device, sizeof v->host.device[i].name) == 0)
			return vb_broker_wait_cnp(&v->o, i, count, qpn, timeout_ms);
	return -ENODEV;
}
