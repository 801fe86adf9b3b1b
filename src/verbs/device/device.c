/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of devices: one for each entry of the broker's device table. A list keeps the engine,
 * which the devices are opened on, until it is freed.
 */
#include "verbs/priv.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct device_list {
	struct vb_engine *engine;
	struct ibv_device *dev[VB_DEVICES_MAX + 1]; /* what the application sees; ends with NULL */
};

int vb_ibv_acquire(struct vb_engine **out)
{
	char why[512] = "";
	int err;

	vb_objects_init();
	err = vb_engine_acquire(out, why, sizeof why);

	if (err)
		fprintf(stderr, "verbena: %s\n", why);
	return err;
}

void vb_ibv_device_put(struct vb_ibv_device *d)
{
	if (atomic_fetch_sub(&d->refs, 1) == 1)
		free(d);
}

/* Joins path elements; false when they do not fit. */
static bool path_join(char *to, size_t size, const char *root, const char *class, const char *name)
{
	int n = snprintf(to, size, "%s/class/%s/%s", root, class, name);

	return n > 0 && (size_t)n < size;
}

static struct vb_ibv_device *device_new(const struct vb_host_shm *host, uint32_t index)
{
	const struct vb_device *entry = &host->device[index];
	struct vb_ibv_device *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->ibv.node_type = IBV_NODE_CA;
	d->ibv.transport_type = IBV_TRANSPORT_IB;
	snprintf(d->ibv.name, sizeof d->ibv.name, "%.*s", VB_NAME_MAX, entry->name);
	snprintf(d->ibv.dev_name, sizeof d->ibv.dev_name, "uverbs%u", index);
	if (!path_join(d->ibv.dev_path, sizeof d->ibv.dev_path, host->sysfs_path,
		       "infiniband_verbs", d->ibv.dev_name) ||
	    !path_join(d->ibv.ibdev_path, sizeof d->ibv.ibdev_path, host->sysfs_path, "infiniband",
		       d->ibv.name))
		d->ibv.dev_path[0] = d->ibv.ibdev_path[0] = 0;
	d->index = index;
	d->guid = entry->guid;
	atomic_init(&d->refs, 1);
	return d;
}

/*
 * As with rdma-core, a device is the same in every list while it exists: programs keep its pointer
 * when they have freed the list. Each is held here until another one has taken its place.
 */
static struct vb_ibv_device *device_get(const struct vb_host_shm *host, uint32_t index)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct vb_ibv_device *known[VB_DEVICES_MAX];
	struct vb_ibv_device *d = device_new(host, index), *old;

	if (!d)
		return NULL;
	pthread_mutex_lock(&mutex);
	old = known[index];
	if (old && old->guid == d->guid && memcmp(&old->ibv, &d->ibv, sizeof d->ibv) == 0) {
		vb_ibv_device_put(d);
		d = old;
	} else {
		if (old)
			vb_ibv_device_put(old);
		known[index] = d;
	}
	atomic_fetch_add(&d->refs, 1);
	pthread_mutex_unlock(&mutex);
	return d;
}

static void list_free(struct device_list *l)
{
	for (int i = 0; l->dev[i]; i++)
		vb_ibv_device_put((struct vb_ibv_device *)l->dev[i]);
	vb_engine_release(l->engine);
	free(l);
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct device_list *l = calloc(1, sizeof *l);
	struct vb_host_shm *host = calloc(1, sizeof *host);
	int was = errno, cnt = 0, err = l && host ? 0 : ENOMEM;

	if (num_devices)
		*num_devices = 0;
	if (!err)
		err = -vb_ibv_acquire(&l->engine);
	if (err) {
		free(host);
		free(l);
		return vb_ibv_null(err);
	}
	vb_host_read(vb_engine_host(l->engine), host);
	for (uint32_t i = 0; i < host->device_cnt && i < VB_DEVICES_MAX && !err; i++) {
		if (!vb_device_is_first(&host->device[i]))
			continue;
		struct vb_ibv_device *d = device_get(host, i);

		if (d)
			l->dev[cnt++] = &d->ibv;
		else
			err = ENOMEM;
	}
	free(host);
	if (err) {
		list_free(l);
		return vb_ibv_null(err);
	}
	if (num_devices)
		*num_devices = cnt;
	errno = was;
	return l->dev;
}

void ibv_free_device_list(struct ibv_device **list)
{
	if (list)
		list_free((struct device_list *)((char *)list - offsetof(struct device_list, dev)));
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(((struct vb_ibv_device *)device)->guid);
}

int ibv_get_device_index(struct ibv_device *device)
{
	return (int)((struct vb_ibv_device *)device)->index;
}

/* Where the tree is that stands for /sys. Declared in a header that is rdma-core's own. */
const char *ibv_get_sysfs_path(void);

const char *ibv_get_sysfs_path(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static char path[sizeof((struct vb_host_shm *)0)->sysfs_path];
	struct vb_engine *e;

	pthread_mutex_lock(&mutex);
	if (!path[0]) {
		if (vb_ibv_acquire(&e)) {
			snprintf(path, sizeof path, "/sys");
		} else {
			snprintf(path, sizeof path, "%s", vb_engine_host(e)->sysfs_path);
			vb_engine_release(e);
		}
	}
	pthread_mutex_unlock(&mutex);
	return path;
}

/* A forked child starts empty when it opens the device, and what the parent registered stays the
 * parent's: there is nothing to prepare. */
int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
