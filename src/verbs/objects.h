/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the verbs hand out: our objects, each with the ibv_ structure that the application sees as
 * its first member, and the core object behind it. The files of this folder map calls on them to
 * calls on the core under the engine's lock.
 */
#ifndef VB_VERBS_OBJECTS_H
#define VB_VERBS_OBJECTS_H

#include "base/list.h"
#include "core/hca.h"
#include "node/engine.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdlib.h>

/* An entry point that takes the place of libibverbs' own. */
#define VERBS_API __attribute__((visibility("default")))

struct verbena_device {
	struct ibv_device ibv;
	uint32_t index; /* in the device table; HCA port index + 1 */
	uint32_t refs;  /* device lists and open contexts */
};

struct verbena_context {
	struct vb_engine *engine;
	uint8_t port;              /* HCA port */
	struct vb_list link;       /* in the list of open contexts */
	struct vb_list async;      /* events that were not fetched, see event.c */
	uint32_t was_up;           /* port state last told */
	struct verbs_context vctx; /* last: it ends in the ibv_context */
};

struct verbena_pd {
	struct ibv_pd ibv;
	struct vb_pd *pd;
};

struct verbena_mr {
	struct ibv_mr ibv;
	struct vb_mr *mr;
};

struct verbena_mw {
	struct ibv_mw ibv;
	struct vb_mw *mw;
};

struct verbena_channel {
	struct ibv_comp_channel ibv; /* fd is an eventfd that counts the events */
	struct vb_list ready;        /* CQs with events that were not fetched */
};

struct verbena_cq {
	struct ibv_cq_ex ibv; /* starts as an ibv_cq does */
	struct vb_cq *cq;
	struct vb_list ready; /* in its channel, while it has events */
	uint32_t ready_cnt;
	uint32_t comp_events, async_events; /* handed out; see the ack calls */
	uint32_t polls_full;                /* polls since the engine was last driven */
	struct vb_wc wc;                    /* ibv_start_poll: the present completion */
};

struct verbena_srq {
	struct ibv_srq ibv;
	struct vb_srq *srq;
	uint32_t async_events;
};

struct verbena_qp {
	struct ibv_qp_ex ibv; /* starts with an ibv_qp */
	struct vb_qp *qp;
	struct verbena_srq *srq;
	uint32_t async_events;
	bool sq_sig_all;
	uint8_t sgid_index;          /* of the path, for ibv_query_qp */
	struct verbena_batch *batch; /* ibv_wr_start ... ibv_wr_complete; NULL without send_ops */
};

struct verbena_ah {
	struct ibv_ah ibv;
	struct vb_ah ah;
};

static inline struct verbena_context *ctx_of(struct ibv_context *c)
{
	return vb_container_of(c, struct verbena_context, vctx.context);
}

static inline struct vb_engine *engine_of(struct ibv_context *c)
{
	return ctx_of(c)->engine;
}

/*
 * Takes the engine's lock for a call on @c. False: the process forked since, and the objects that
 * it inherited are dead; the caller returns EIO.
 */
static inline bool verbs_enter(struct ibv_context *c)
{
	struct vb_engine *e = engine_of(c);

	if (!vb_engine_is_alive(e))
		return false;
	vb_engine_lock(e);
	return true;
}

static inline void verbs_leave(struct ibv_context *c)
{
	vb_engine_unlock(engine_of(c));
}

/* The error conventions of the verbs: NULL and errno, or a positive errno. */
static inline void *verbs_null(int negative_errno)
{
	errno = -negative_errno;
	return NULL;
}

/* device.c */
bool device_read(uint32_t index, struct vb_engine *e, struct vb_device *copy);

/* path.c: an ibv_ah_attr as a path. 0 or a negative errno. */
int path_from_attr(struct verbena_context *c, const struct ibv_ah_attr *attr, struct vb_path *path);
void path_to_attr(const struct vb_path *path, uint8_t sgid_index, struct ibv_ah_attr *attr);

/* event.c */
void events_attach(struct verbena_context *c);
void events_detach(struct verbena_context *c);
/* Drops the async events of an object that is going away; under the lock. */
void events_forget(struct verbena_context *c, const void *element);

/* poll.c, post.c, ...: entries of the context's operation tables. */
int verbena_poll_cq(struct ibv_cq *cq, int cnt, struct ibv_wc *wc);
int verbena_req_notify_cq(struct ibv_cq *cq, int solicited_only);
struct ibv_cq_ex *verbena_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *attr);
int verbena_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int verbena_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int verbena_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int verbena_query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr, size_t len);
int verbena_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t size);
struct ibv_qp *verbena_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr);
struct ibv_srq *verbena_create_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *attr);
int verbena_get_srq_num(struct ibv_srq *srq, uint32_t *num);

#endif
