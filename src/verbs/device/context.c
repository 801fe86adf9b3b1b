/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a device: the context and its operations. */
#include "node/host/error_hints.h"
#include "verbs/priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Says on standard error that a device does not open for @err; returns the errno to give. */
static int cannot_open(const struct vb_ibv_device *d, int err)
{
	char why[512];

	err = -vb_error_hint(why, sizeof why, -err, "cannot open %s", d->ibv.name);
	fprintf(stderr, "verbena: %s\n", why);
	return err;
}

void vb_ibv_set_ops(struct vb_ibv_context *c)
{
	struct verbs_context *v = &c->vctx;
	struct ibv_context_ops *ops = &v->context.ops;

	v->sz = sizeof *v;
	v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	v->query_port = vb_ibv_query_port_op;
	v->query_device_ex = vb_ibv_query_device_ex;
	v->query_rt_values = vb_ibv_query_rt_values;
	v->create_cq_ex = vb_ibv_create_cq_ex;
	v->modify_qp_rate_limit = vb_ibv_modify_qp_rate_limit;
	v->modify_cq = vb_ibv_modify_cq;
	v->create_qp_ex = vb_ibv_create_qp_ex;
	v->get_srq_num = vb_ibv_get_srq_num;
	v->create_srq_ex = vb_ibv_create_srq_ex;
	v->open_xrcd = vb_ibv_open_xrcd;
	v->close_xrcd = vb_ibv_close_xrcd;
	v->open_qp = vb_ibv_open_qp;
	v->alloc_td = vb_ibv_alloc_td;
	v->dealloc_td = vb_ibv_dealloc_td;
	v->alloc_parent_domain = vb_ibv_alloc_parent_domain;
	v->alloc_dm = vb_ibv_alloc_dm;
	v->free_dm = vb_ibv_free_dm;
	v->reg_dm_mr = vb_ibv_reg_dm_mr;
	v->advise_mr = vb_ibv_advise_mr;
	v->alloc_null_mr = vb_ibv_alloc_null_mr;
	ops->alloc_mw = vb_ibv_alloc_mw;
	ops->bind_mw = vb_ibv_bind_mw;
	ops->dealloc_mw = vb_ibv_dealloc_mw;
	ops->poll_cq = vb_ibv_poll_cq;
	ops->req_notify_cq = vb_ibv_req_notify_cq;
	ops->post_srq_recv = vb_ibv_post_srq_recv;
	ops->post_send = vb_ibv_post_send;
	ops->post_recv = vb_ibv_post_recv;
}

static void lists_init(struct vb_ibv_context *c)
{
	struct vb_list *all[] = {&c->pds,      &c->mrs, &c->mws, &c->cqs,   &c->srqs,      &c->qps,
				 &c->channels, &c->tds, &c->dms, &c->xrcds, &c->comp_cntrs};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		vb_list_init(all[i]);
}

struct vb_ibv_file *vb_ibv_file_new(int cmd_fd)
{
	struct vb_ibv_file *f = calloc(1, sizeof *f);
	struct stat st;

	if (!f)
		return NULL;
	if (fstat(cmd_fd, &st)) {
		int err = errno;

		free(f);
		return vb_ibv_null(err);
	}
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	vb_list_init(&f->contexts);
	return f;
}

/* Ports of the device whose entry is @d, in the table one behind the other. */
static uint8_t ports_of(const struct vb_device *d)
{
	return d->ib.port_cnt ? d->ib.port_cnt : 1;
}

/* Makes the context known to the sink; @host has room for what it begins with. In a forked child
 * the list may still have the parent's. */
static void context_enlist(struct vb_ibv_context *c, struct vb_host_shm *host)
{
	static struct vb_engine *engine;

	vb_engine_lock(c->engine);
	if (engine != c->engine || vb_list_is_empty(&vb_ibv_contexts)) {
		engine = c->engine;
		vb_list_init(&vb_ibv_contexts);
		vb_engine_set_sink(c->engine, &vb_ibv_sink);
	}
	/* The first table is no change, and every change from here on is told. */
	c->generation = vb_host_read(vb_engine_host(c->engine), host);
	c->port_cnt = ports_of(&host->device[c->dev->index]);
	memcpy(c->table, &host->device[c->dev->index], c->port_cnt * sizeof *c->table);
	c->is_ib = c->table[0].ib.number != 0;
	c->system_guid = c->is_ib ? c->table[0].ib.system_guid : c->dev->guid;
	c->gid_cnt = c->is_ib ? c->table[0].ib.gid_cnt : VB_GIDS_MAX;
	c->pkey_cnt = c->is_ib ? c->table[0].ib.pkey_cnt : VB_PKEYS_MAX;
	vb_list_append(&vb_ibv_contexts, &c->link);
	vb_list_append(&c->file->contexts, &c->in_file);
	c->file->open_cnt++;
	vb_engine_unlock(c->engine);
}

int vb_ibv_context_begin(struct vb_ibv_context *c, struct vb_ibv_device *d,
			 struct vb_ibv_file *file)
{
	struct ibv_context *ibv = &c->vctx.context;
	struct vb_host_shm *host = calloc(1, sizeof *host);
	int err;

	if (!host)
		return cannot_open(d, ENOMEM);
	err = -vb_ibv_acquire(&c->engine);
	if (err)
		goto no_engine;
	err = vb_evq_open(&c->async);
	if (err) {
		err = cannot_open(d, err);
		goto no_queue;
	}
	lists_init(c);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		vb_evq_node_init(&c->ports[i], VB_EVQ_PORT);
	c->dev = d;
	c->file = file;
	atomic_fetch_add(&d->refs, 1);
	c->port = (uint8_t)(d->index + 1);
	ibv->async_fd = c->async.fd;
	ibv->num_comp_vectors = 1;
	pthread_mutex_init(&ibv->mutex, NULL);
	context_enlist(c, host);
	free(host);
	return 0;

no_queue:
	vb_engine_release(c->engine);
no_engine:
	free(host);
	return err;
}

struct ibv_context *vb_ibv_context_open(struct vb_ibv_device *d, struct vb_ibv_file *file,
					int cmd_fd)
{
	struct vb_ibv_context *c = calloc(1, sizeof *c);
	int err;

	if (!c)
		return vb_ibv_null(cannot_open(d, ENOMEM));
	vb_ibv_set_ops(c);
	c->vctx.context.device = &d->ibv;
	c->vctx.context.cmd_fd = cmd_fd;
	err = vb_ibv_context_begin(c, d, file);
	if (err) {
		free(c);
		return vb_ibv_null(err);
	}
	return &c->vctx.context;
}

/* The table that the cmd_fd refers to is there for ibv_import_device(): see export.h. */
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct vb_ibv_device *d = (struct vb_ibv_device *)device;
	struct vb_export_table *table;
	int cmd_fd = vb_export_open(d->guid, &table);

	if (cmd_fd < 0)
		return vb_ibv_null(cannot_open(d, -cmd_fd));

	struct vb_ibv_file *file = vb_ibv_file_new(cmd_fd);
	struct ibv_context *context = NULL;

	if (file) {
		file->table = table;
		context = vb_ibv_context_open(d, file, cmd_fd);
	} else {
		errno = cannot_open(d, errno);
	}
	if (!context) {
		int err = errno;

		free(file);
		vb_export_unmap(table);
		close(cmd_fd);
		errno = err;
	}
	return context;
}

/* The last context of a file is closed: all of them go, with what is left in them. */
static void file_free(struct vb_ibv_file *f)
{
	for (struct vb_list *l = f->contexts.next, *next; l != &f->contexts; l = next) {
		struct vb_ibv_context *c = vb_container_of(l, struct vb_ibv_context, in_file);

		next = l->next;
		vb_engine_release(c->engine);
		vb_evq_close(&c->async);
		close(c->vctx.context.cmd_fd);
		pthread_mutex_destroy(&c->vctx.context.mutex);
		vb_ibv_device_put(c->dev);
		if (c->close_copy)
			c->vctx.context.cmd_fd = c->vctx.context.async_fd = -1;
		else
			free(c);
	}
	vb_export_unmap(f->table);
	vb_export_unmap(f->remote);
	free(f);
}

int vb_ibv_context_end(struct vb_ibv_context *c)
{
	struct vb_ibv_file *f = c->file;

	if (!vb_ibv_enter(c))
		return VB_IBV_REFUSE_FAIL(c, EIO, "ibv_close_device");
	/* Posted work and due acknowledgements leave before the QPs go. */
	vb_engine_flush(c->engine);
	vb_list_remove(&c->link);

	bool is_last = --f->open_cnt == 0;

	if (is_last) {
		vb_export_close(f->table);
		vb_ibv_destroy_all(f);
	}
	vb_ibv_leave(c);
	if (is_last)
		file_free(f);
	return 0;
}

int ibv_close_device(struct ibv_context *context)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);

	if (!c->close_copy)
		return vb_ibv_context_end(c);
	c->close_copy(context);
	return 0;
}
