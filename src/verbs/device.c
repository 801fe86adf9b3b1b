/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices and contexts: the list of devices is the broker's device table, a context is a hold on
 * the engine. man 3 ibv_get_device_list, ibv_open_device
 */
#include "verbs/objects.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool device_read(uint32_t index, struct vb_engine *e, struct vb_device *copy)
{
	struct vb_host_shm *host = malloc(sizeof *host);
	bool found = false;

	if (!host)
		return false;
	vb_host_read(vb_engine_host(e), host);
	if (index < host->device_cnt && host->device[index].ifindex) {
		*copy = host->device[index];
		found = true;
	}
	free(host);
	return found;
}

/* The one line a user sees when there can be no adapter. */
static struct vb_engine *engine_acquire(void)
{
	struct vb_engine *e;
	char why[256] = "";
	int err = vb_engine_acquire(&e, why, sizeof why);

	if (err) {
		fprintf(stderr, "verbena: %s\n", why[0] ? why : strerror(-err));
		errno = -err;
		return NULL;
	}
	return e;
}

static void device_put(struct verbena_device *d)
{
	if (__atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(d);
}

static struct verbena_device *device_create(const struct vb_host_shm *host, uint32_t index)
{
	const struct vb_device *from = &host->device[index];
	struct verbena_device *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->index = index;
	d->refs = 1;
	d->ibv.node_type = IBV_NODE_CA;
	d->ibv.transport_type = IBV_TRANSPORT_IB;
	snprintf(d->ibv.name, sizeof d->ibv.name, "%s", from->name);
	snprintf(d->ibv.dev_name, sizeof d->ibv.dev_name, "uverbs%u", index);
	snprintf(d->ibv.dev_path, sizeof d->ibv.dev_path, "%.200s/class/infiniband_verbs/uverbs%u",
		 host->sysfs_path, index);
	snprintf(d->ibv.ibdev_path, sizeof d->ibv.ibdev_path, "%.200s/class/infiniband/%.32s",
		 host->sysfs_path, from->name);
	return d;
}

VERBS_API struct ibv_device **ibv_get_device_list(int *num)
{
	struct vb_engine *e = engine_acquire();
	struct ibv_device **list = calloc(VB_DEVICES_MAX + 1, sizeof(struct ibv_device *));
	struct vb_host_shm *host = malloc(sizeof *host);
	int n = 0;

	if (!e || !list || !host) {
		free(list);
		list = NULL;
	} else {
		vb_host_read(vb_engine_host(e), host);
		for (uint32_t i = 0; i < host->device_cnt && i < VB_DEVICES_MAX; i++) {
			struct verbena_device *d =
			    host->device[i].ifindex ? device_create(host, i) : NULL;

			if (d)
				list[n++] = &d->ibv;
		}
	}
	if (e)
		vb_engine_release(e);
	free(host);
	if (num)
		*num = n;
	return list;
}

VERBS_API void ibv_free_device_list(struct ibv_device **list)
{
	for (int i = 0; list && list[i]; i++)
		device_put(vb_container_of(list[i], struct verbena_device, ibv));
	free(list);
}

VERBS_API const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

VERBS_API int ibv_get_device_index(struct ibv_device *device)
{
	return (int)vb_container_of(device, struct verbena_device, ibv)->index;
}

VERBS_API __be64 ibv_get_device_guid(struct ibv_device *device)
{
	struct verbena_device *d = vb_container_of(device, struct verbena_device, ibv);
	struct vb_engine *e = engine_acquire();
	struct vb_device copy;
	uint64_t guid = 0;

	if (!e)
		return 0;
	if (device_read(d->index, e, &copy))
		guid = copy.guid;
	vb_engine_release(e);
	return htobe64(guid);
}

static void context_fill_ops(struct verbs_context *v)
{
	v->sz = sizeof *v;
	v->query_port = verbena_query_port;
	v->query_device_ex = verbena_query_device_ex;
	v->create_cq_ex = verbena_create_cq_ex;
	v->create_qp_ex = verbena_create_qp_ex;
	v->create_srq_ex = verbena_create_srq_ex;
	v->get_srq_num = verbena_get_srq_num;
	v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	v->context.ops.poll_cq = verbena_poll_cq;
	v->context.ops.req_notify_cq = verbena_req_notify_cq;
	v->context.ops.post_send = verbena_post_send;
	v->context.ops.post_recv = verbena_post_recv;
	v->context.ops.post_srq_recv = verbena_post_srq_recv;
}

VERBS_API struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct verbena_device *d = vb_container_of(device, struct verbena_device, ibv);
	struct vb_engine *e = engine_acquire();
	struct verbena_context *c = e ? calloc(1, sizeof *c) : NULL;
	int fd = c ? eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC) : -1;

	if (fd < 0) {
		int err = errno;

		if (e)
			vb_engine_release(e);
		free(c);
		errno = err;
		return NULL;
	}
	c->engine = e;
	c->port = (uint8_t)(d->index + 1);
	c->vctx.context.device = device;
	c->vctx.context.async_fd = fd;
	c->vctx.context.cmd_fd = -1;
	c->vctx.context.num_comp_vectors = 1;
	pthread_mutex_init(&c->vctx.context.mutex, NULL);
	context_fill_ops(&c->vctx);
	__atomic_add_fetch(&d->refs, 1, __ATOMIC_ACQ_REL);
	events_attach(c);
	return &c->vctx.context;
}

VERBS_API int ibv_close_device(struct ibv_context *context)
{
	struct verbena_context *c = ctx_of(context);

	events_detach(c);
	close(context->async_fd);
	vb_engine_release(c->engine);
	device_put(vb_container_of(context->device, struct verbena_device, ibv));
	pthread_mutex_destroy(&context->mutex);
	free(c);
	return 0;
}
