/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs objects behind each pointer that libibverbs' API hands out. Every object
 * begins with rdma-core's public structure, which is ABI, and holds the core's object. Calls take
 * the engine's lock, except where a comment says otherwise; in a forked child they answer EIO,
 * because the adapter stayed with the parent.
 *
 * Lock order: the engine's lock, then an event queue's mutex. The mutexes in rdma-core's structures
 * are held alone.
 */
#ifndef VB_VERBS_PRIV_H
#define VB_VERBS_PRIV_H

#include "base/list.h"
#include "core/hca.h"
#include "node/engine/engine.h"
#include "node/host/clock.h"
#include "node/host/remote_memory.h"
#include "verbs/memory/export.h"
#include "verbs/object.h"
#include "verbs/queue/evq.h"
#include "verbs/refuse.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Nobody's OUI, as rdma_rxe says. */
#define VB_IBV_VENDOR 0xffffff
/* The first port of a verbs device, of RoCE the only one. */
#define VB_IBV_PORT 1
/* The assumed speed of a network device that does not know its own (loopback). */
#define VB_IBV_UNKNOWN_MBPS 100000

struct vb_ring_qp;
struct vb_ring_cq;
struct vb_ring_srq;

struct vb_ibv_device {
	struct ibv_device ibv;
	/* rdma-core's own structure goes on with the provider's operations, against which
	 * mlx5dv_is_supported() and its like compare: none of them. */
	const void *rdma_core[6];
	uint32_t index; /* in the device table */
	uint64_t guid;
	_Atomic uint32_t refs; /* device lists and contexts */
};

/*
 * The state that contexts of one command descriptor share: ibv_import_device() opens another
 * context on the objects of the first. They live until the last context is closed. Under the lock.
 */
struct vb_ibv_file {
	dev_t dev; /* which descriptor that is */
	ino_t ino;
	uint32_t open_cnt;       /* contexts that are not closed */
	struct vb_list contexts; /* by vb_ibv_context.in_file, closed ones too */
	/* The objects that other processes may import from here; NULL: none. */
	struct vb_export_table *table;
	/* Imported from another process: its table. NULL: opened by this one. */
	const struct vb_export_table *remote;
};

struct vb_ibv_context {
	struct verbs_context vctx; /* ends with the ibv_context */
	struct vb_ibv_file *file;
	struct vb_list in_file;
	struct vb_ibv_device *dev;
	struct vb_engine *engine;
	struct vb_list link; /* in the list of open contexts */
	uint8_t port;        /* of the HCA: the first one */
	uint8_t port_cnt;    /* more than one on InfiniBand alone */
	uint32_t generation; /* of table */
	/* Of the device; none of these changes. */
	bool is_ib; /* its ports are those of InfiniBand */
	uint64_t system_guid;
	uint32_t gid_cnt, pkey_cnt; /* entries of the tables of a port */
	struct vb_evq async;        /* behind async_fd */
	/* The context is a copy's of libibverbs, which owns the memory, and closed by it: see
	 * verbs/provider/. NULL: this library's. */
	void (*close_copy)(struct ibv_context *context);
	/* By port number less 1: this device's entries, see vb_ibv_refresh(), and events. */
	struct vb_device table[VB_DEVICES_MAX];
	struct vb_evq_node ports[VB_DEVICES_MAX];
	/* The objects created and not yet destroyed, for ibv_close_device(). */
	struct vb_list pds, mrs, mws, cqs, srqs, qps, channels, tds, dms, xrcds, comp_cntrs;
};

struct vb_ibv_td {
	struct ibv_td ibv;
	struct vb_list link;
	uint32_t user_cnt; /* parent domains */
};

/* A protection domain, an imported one, or a parent domain: the core's PD is that of the first. */
struct vb_ibv_pd {
	struct ibv_pd ibv;
	struct vb_list link;
	struct vb_pd *core;
	uint32_t *core_refs; /* PDs that have this core; the last destroys it */
	uint32_t user_cnt;   /* objects created with it */
	/* A parent domain's: */
	struct vb_ibv_pd *parent; /* NULL: it is none */
	struct vb_ibv_td *td;
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
};

/* Memory for the entries of a queue, from a parent domain's allocator. */
struct vb_ibv_ring {
	struct vb_ibv_pd *pd;
	void *mem; /* NULL: the core's own */
	uint64_t type;
};

/* Device memory; imports share it. */
struct vb_ibv_dm_mem {
	uint8_t *p;
	size_t length;
	uint32_t refs; /* vb_ibv_dm and regions */
	uint32_t mr_cnt;
	bool is_freed;             /* nobody can import it any more */
	struct vb_dm_arena *arena; /* where it is from; NULL: another process's */
	struct vb_list in_arena;
	struct vb_remote_memory foreign; /* another process's: where it is, */
	const uint32_t *lease;           /* and it is that process's to free */
	uint32_t leased;
};

struct vb_ibv_dm {
	struct ibv_dm ibv;
	struct vb_list link;
	struct vb_ibv_dm_mem *mem;
};

/* The state that a region shares with its imports. */
struct vb_ibv_mr_share {
	struct vb_mr *core; /* NULL: deregistered */
	uint32_t refs;
	bool is_foreign; /* memory that was mapped for it */
	struct vb_remote_memory foreign;
};

/* Begins with what programs see of a struct ibv_dmah. */
struct vb_ibv_dmah {
	struct ibv_context *context;
	_Atomic uint32_t user_cnt; /* regions */
};

struct vb_ibv_mr {
	struct ibv_mr ibv;
	/* rdma-core's own structure goes on with the type of region and its rights, which a copy
	 * of libibverbs reads (verbs/provider/): an ordinary one. */
	uint32_t rdma_core[2];
	struct vb_list link;
	struct vb_ibv_mr_share *share;
	struct vb_ibv_dm_mem *dm; /* NULL: host memory */
	struct vb_ibv_dmah *dmah; /* NULL: registered without one */
	uint64_t iova;
	uint32_t access;
	enum vb_mr_kind kind;
};

struct vb_ibv_mw {
	struct ibv_mw ibv;
	struct vb_list link;
	struct vb_mw *core;
};

struct vb_ibv_ah {
	struct ibv_ah ibv;
	struct vb_ah core;
	uint8_t av[48]; /* as mlx5dv_init_obj() shows it */
};

/* Begins with what programs see of a struct ibv_comp_cntr. */
struct vb_ibv_comp_cntr {
	struct ibv_context *context;
	uint32_t handle;
	struct vb_list link;
	struct vb_comp_cntr core; /* under the lock */
};

struct vb_ibv_channel {
	struct ibv_comp_channel ibv;
	struct vb_list link;
	struct vb_evq events;
};

struct vb_ibv_cq {
	union {
		struct ibv_cq ibv;
		struct ibv_cq_ex ex;
	};
	struct vb_list link;
	struct vb_cq *core;
	struct ibv_pd *parent; /* parent domain; NULL: none */
	struct vb_ibv_ring ring;
	/* A copy of libibverbs has a channel of its own around this one, in ibv.channel. */
	struct vb_ibv_channel *channel;
	struct vb_evq_node notify; /* in the channel's queue */
	struct vb_evq_node async;
	bool is_watched; /* armed, with a channel: counted in vb_watch_armed */
	uint32_t poll_cnt;
	/* The extended API: held from a start that found something to its end, so that threads do
	 * not mix; unless the application has promised to come with one thread. */
	pthread_mutex_t poll_mutex;
	bool is_single_threaded;
	struct vb_ring_cq *hw; /* as hardware has it, verbs/ring/; NULL: it is not */
	uint64_t wall_clock;   /* what CLOCK_REALTIME was at 0 of the adapter's clock */
	struct vb_wc wc;       /* the completion that it is at */
};

struct vb_ibv_xrc_domain;

struct vb_ibv_xrcd {
	struct ibv_xrcd ibv;
	struct vb_list link;
	struct vb_ibv_xrc_domain *domain; /* shared by the handles of one file */
	struct vb_xrcd *core;             /* the domain's */
	uint32_t user_cnt;                /* SRQs and QPs made with this handle */
};

struct vb_ibv_srq {
	struct ibv_srq ibv;
	struct vb_list link;
	struct vb_srq *core;
	struct vb_ibv_xrcd *xrcd; /* NULL: not an XRC SRQ */
	struct vb_ring_srq *hw;
	struct vb_ibv_ring ring;
	struct vb_evq_node async;
};

struct vb_wr_batch;
struct vb_ibv_dv;

struct vb_ibv_qp {
	union {
		struct ibv_qp ibv;
		struct ibv_qp_ex ex;
	};
	/* rdma-core's own structure goes on with a word that says whether ex may be used, which its
	 * ibv_qp_to_qp_ex() reads. The first is that of the headers here; those of rdma-core 45
	 * and later have one function more before it than those of 44. */
	uint64_t rdma_core[2];
	struct vb_list link;
	struct vb_qp *core;
	struct vb_ibv_ring ring;
	struct vb_evq_node async;
	struct vb_ring_qp *hw;
	struct vb_wr_batch *batch; /* of the ibv_wr_*() API; NULL: not asked for */
	struct vb_qp_cap cap;
	uint32_t csr_index; /* from vb_engine_index_qp() */
	/* XRC_RECV: a handle of a QP that lives as long as it has handles. */
	struct vb_ibv_xrcd *xrcd;
	struct vb_ibv_dv *dv;   /* of DC, and with WQEs as bytes: the part for mlx5dv */
	struct vb_list handles; /* the others of the same QP; a ring without a head */
	bool sq_sig_all;
	bool is_remote; /* XRC_RECV: of a target in another process */
};

static inline struct vb_ibv_context *vb_ibv_ctx(struct ibv_context *c)
{
	return (struct vb_ibv_context *)vb_container_of(c, struct verbs_context, context);
}

/* The application's errno while this thread is at work for it: system calls of the engine that fail
 * are no business of the application's. */
extern _Thread_local int vb_ibv_errno __attribute__((tls_model("initial-exec")));

/* Takes the engine's lock; false in a forked child. */
static inline bool vb_ibv_enter(struct vb_ibv_context *c)
{
	if (!vb_engine_is_alive(c->engine))
		return false;
	vb_ibv_errno = errno;
	vb_engine_lock(c->engine);
	return true;
}

static inline void vb_ibv_leave(struct vb_ibv_context *c)
{
	vb_engine_unlock(c->engine);
	errno = vb_ibv_errno;
}

/*
 * 0 when @o is an object of @kind, in the context and with the handle that it says; else ENOENT, as
 * for a handle that the kernel does not know.
 */
#define vb_ibv_check(o, kind)                                                                      \
	(vb_object_is(o, kind) && vb_object_is_named(o, (o)->context, (o)->handle)                 \
	     ? 0                                                                                   \
	     : vb_ibv_why_gone(kind))
/* ... and it is in @c. */
#define vb_ibv_check_in(o, kind, c)                                                                \
	(vb_ibv_check(o, kind) ? ENOENT : (o)->context != (c) ? vb_ibv_why_elsewhere(kind) : 0)
/* The same of an object that has no handle. */
#define vb_ibv_check_plain(o, kind)                                                                \
	(vb_object_is(o, kind) && vb_object_is_named(o, (o)->context, 0) ? 0                       \
									 : vb_ibv_why_gone(kind))
#define vb_ibv_check_plain_in(o, kind, c)                                                          \
	(vb_ibv_check_plain(o, kind) ? ENOENT                                                      \
	 : (o)->context != (c)       ? vb_ibv_why_elsewhere(kind)                                  \
				     : 0)
#define vb_ibv_name(o) vb_object_name(o, (o)->context, (o)->handle)

/*
 * The ways out for what is no mistake of the caller's, and is not kept: no memory, a full queue, an
 * event that is not there yet. Every other refusal is vb_ibv_refuse()'s.
 *
 * For calls that return a pointer: sets errno.
 */
static inline void *vb_ibv_null(int err)
{
	vb_ibv_forget_why();
	errno = err;
	return NULL;
}

/* For calls that return an errno value: sets errno too, as the kernel's answer does. */
static inline int vb_ibv_result(int err)
{
	if (err) {
		vb_ibv_forget_why();
		errno = err;
	}
	return err;
}

/* For calls that return -1: sets errno. */
static inline int vb_ibv_fail(int err)
{
	vb_ibv_forget_why();
	errno = err;
	return -1;
}

/* device.c: the engine, with one line on standard error when there is none. Returns a negative
 * errno.
 */
int vb_ibv_acquire(struct vb_engine **out);
/* refuse.c: one line on standard error where no errno says it, unless *@said, which is then set. */
__attribute__((format(printf, 2, 3))) void vb_ibv_complain(_Atomic bool *said, const char *format,
							   ...);
/* The port's entry in the device table, as c->table has it; NULL: the device has no such port. */
static inline const struct vb_device *vb_ibv_port(const struct vb_ibv_context *c, uint32_t number)
{
	return number >= VB_IBV_PORT && number <= c->port_cnt ? &c->table[number - VB_IBV_PORT]
							      : NULL;
}

/* The ports of the device are those of InfiniBand. */
static inline bool vb_ibv_is_ib(const struct vb_ibv_context *c)
{
	return c->is_ib;
}

/* ib_port.c: the attributes of an InfiniBand port. */
void vb_ibv_ib_port_show(const struct vb_device *d, struct ibv_port_attr *a);
/* Its speed where that is beyond the codes of active_speed, else 0. */
uint32_t vb_ibv_ib_speed_ex(const struct vb_device *d);

/* table.c: brings c->table up to date and raises the events of what changed. Under the lock. */
void vb_ibv_refresh(struct vb_ibv_context *c);
/* context.c: fills in the operations of the context. */
void vb_ibv_set_ops(struct vb_ibv_context *c);

/*
 * A context of @d in @file, which gets its first one or another one. Takes @cmd_fd, and @file with
 * it, when it succeeds; otherwise NULL and errno, with one line on standard error.
 */
struct ibv_context *vb_ibv_context_open(struct vb_ibv_device *d, struct vb_ibv_file *file,
					int cmd_fd);
/* The same of a context @c whose memory, operations, device and cmd_fd are there. 0 or an errno. */
int vb_ibv_context_begin(struct vb_ibv_context *c, struct vb_ibv_device *d,
			 struct vb_ibv_file *file);
/* Closes it, and with the last of its file all that were in it. -1 and EIO in a forked child. */
int vb_ibv_context_end(struct vb_ibv_context *c);
/* The file that @cmd_fd refers to, without a context; ends by free(). NULL and errno. */
struct vb_ibv_file *vb_ibv_file_new(int cmd_fd);

/* device.c */
void vb_ibv_device_put(struct vb_ibv_device *d);

/* event.c */
extern const struct vb_engine_sink vb_ibv_sink;
extern struct vb_list vb_ibv_contexts; /* under the engine's lock */
/* An object is about to go: takes its events out of @q (NULL: none) and returns how many were
 * handed out. */
uint32_t vb_ibv_forget_events(struct vb_evq *q, struct vb_evq_node *n);
/* Waits until *completed, which is under @mutex, has reached @delivered. Takes no other lock. */
void vb_ibv_await_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		       uint32_t delivered);
/* Under the lock: @cq is armed, or is that no more. */
void vb_ibv_cq_watch(struct vb_ibv_cq *cq, bool is_armed);

/* A handle for a new object of @c, whose number in this process is @n. */
static inline uint32_t vb_ibv_handle(const struct vb_ibv_context *c, uint32_t n)
{
	return c->file->remote ? n | VB_HANDLE_OWN : n & ~VB_HANDLE_OWN;
}

/* close.c: destroys everything that is left in the contexts of a file. Under the lock. */
void vb_ibv_destroy_all(struct vb_ibv_file *f);

/* pd.c, under the lock: an object was created with @pd, or is gone. */
static inline void vb_ibv_pd_hold(struct ibv_pd *pd)
{
	((struct vb_ibv_pd *)pd)->user_cnt++;
}

static inline void vb_ibv_pd_drop(struct ibv_pd *pd)
{
	((struct vb_ibv_pd *)pd)->user_cnt--;
}
/* Takes @pd, which is in no list, apart. -EBUSY: it is in use. */
int vb_ibv_pd_free(struct vb_ibv_pd *pd);

/* domain.c */
struct ibv_td *vb_ibv_alloc_td(struct ibv_context *c, struct ibv_td_init_attr *attr);
int vb_ibv_dealloc_td(struct ibv_td *td);
struct ibv_pd *vb_ibv_alloc_parent_domain(struct ibv_context *c,
					  struct ibv_parent_domain_init_attr *attr);
/*
 * @size bytes from the allocator of @pd, NULL or a PD; r->mem stays NULL where it has none. 0 or
 * an errno. Calls the application, so never under the lock; nor does the way back.
 */
enum vb_ibv_ring_type { VB_IBV_RING_QP = 1, VB_IBV_RING_CQ, VB_IBV_RING_SRQ };
int vb_ibv_ring_get(struct vb_ibv_ring *r, struct ibv_pd *pd, size_t size,
		    enum vb_ibv_ring_type type);
void vb_ibv_ring_put(const struct vb_ibv_ring *r);

/* dm.c */
#define VB_DM_SIZE (UINT64_C(16) << 20) /* of all device memory of one process */
struct ibv_dm *vb_ibv_alloc_dm(struct ibv_context *c, struct ibv_alloc_dm_attr *attr);
int vb_ibv_free_dm(struct ibv_dm *dm);
struct ibv_mr *vb_ibv_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
				size_t length, unsigned int access);

/* odp.c */
int vb_ibv_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		     struct ibv_sge *sge, uint32_t sge_cnt);
struct ibv_mr *vb_ibv_alloc_null_mr(struct ibv_pd *pd);

/* dm_arena.c, under the lock: memory for @m, of @length bytes; 0 or an errno. */
int vb_dm_arena_take(struct vb_ibv_dm_mem *m, size_t length, size_t align);
/* Gives up one reference; the last one frees it, wherever it is from. */
void vb_ibv_dm_mem_put(struct vb_ibv_dm_mem *m);

/* Memory that was mapped for a region: of another process's region, with its handle there, or of a
 * descriptor, @is_own. attr->host for a null region is NULL, and so is then the base of the
 * mapping. */
struct vb_ibv_mr_origin {
	bool is_own;
	uint32_t handle;
	struct vb_remote_memory memory;
};
/* mr.c: the rights of a region, and which need which. 0 or EINVAL. */
int vb_ibv_access_check(uint32_t access);
/* signals.c: from now on memory that a program takes away is an error where it is used, and not the
 * end of the process. */
void vb_ibv_guard_memory(void);
/* mr.c: enters what @attr says; @dm is NULL or the device memory that it is in, @origin NULL or
 * where its memory is from. The memory of an origin is the region's when this succeeds. */
struct ibv_mr *vb_ibv_mr_create(struct ibv_pd *pd, const struct vb_mr_attr *attr,
				struct vb_ibv_dm_mem *dm, const struct vb_ibv_mr_origin *origin);
/* Takes apart a region that is in no list. Under the lock; -EBUSY: a window is bound to it. */
int vb_ibv_mr_free(struct vb_ibv_mr *mr);

/* import.c */
/* The entry of @handle in the process that @c is imported from, as vb_import_find(). ENOENT: or it
 * is imported from none. */
int vb_ibv_find_export(const struct vb_ibv_context *c, enum vb_export_kind kind, uint32_t handle,
		       struct vb_export_entry *e, const uint32_t **lease, uint32_t *leased);
/* Device memory of it, in *out with one reference. 0 or an errno. */
int vb_ibv_dm_from_process(const struct vb_ibv_context *c, uint32_t handle,
			   struct vb_ibv_dm_mem **out);

/* gid.c */
/* The GID with index @index of port @port, NULL when the entry is empty or there is none. Under the
 * lock. */
const struct vb_gid *vb_ibv_gid(struct vb_ibv_context *c, uint32_t port, uint32_t index);

/* ah.c: the static rate of @attr as vb_ah.kbps has it. */
uint32_t vb_ibv_path_kbps(const struct vb_ibv_context *c, const struct ibv_ah_attr *attr);
/* ah.c: the path that @attr describes, source port not yet set. Returns 0 or an errno. Under the
 * lock. */
int vb_ibv_path(struct vb_ibv_context *c, const struct ibv_ah_attr *attr, struct vb_path *path);

/* query.c */
int vb_ibv_query_port_op(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr,
			 size_t len);
int vb_ibv_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size);
int vb_ibv_query_rt_values(struct ibv_context *c, struct ibv_values_ex *values);
/* The devices say that they are of mlx5's, for programs that use DC. */
bool vb_ibv_is_mlx5(void);

/* cq.c, cq_ex.c */
int vb_ibv_poll_cq(struct ibv_cq *cq, int cnt, struct ibv_wc *wc);
/* One completion into cq->wc: 0, ENOENT when there is none, or another errno. */
int vb_ibv_poll_one(struct vb_ibv_cq *cq);
int vb_ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only);
struct vb_ibv_cq *vb_ibv_cq_create(struct ibv_context *c, int cqe, void *cq_context,
				   struct ibv_comp_channel *channel, int comp_vector,
				   struct ibv_pd *parent);
int vb_ibv_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_cq_ex *vb_ibv_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *attr);

/* xrcd.c */
struct ibv_xrcd *vb_ibv_open_xrcd(struct ibv_context *c, struct ibv_xrcd_init_attr *attr);
int vb_ibv_close_xrcd(struct ibv_xrcd *xrcd);
/* Takes @x, which nobody uses, apart. Returns 0 or a negative errno. */
int vb_ibv_xrcd_free(struct vb_ibv_xrcd *x);

/* xrc_qp.c */
/* A target QP in @attr->xrcd; returns it or NULL and errno. */
struct vb_ibv_qp *vb_ibv_create_target(struct ibv_context *c,
				       const struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *vb_ibv_open_qp(struct ibv_context *c, struct ibv_qp_open_attr *attr);
/* A handle goes: true when it was the last, and the QP may be destroyed. Under the lock. */
bool vb_ibv_target_put(struct vb_ibv_qp *qp);

/* srq.c */
struct ibv_srq *vb_ibv_create_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *attr);
int vb_ibv_get_srq_num(struct ibv_srq *srq, uint32_t *num);

/* handle.c */
/* Fills in what the application sees of a new QP. */
void vb_ibv_qp_show(struct vb_ibv_qp *qp, struct ibv_context *c,
		    const struct ibv_qp_init_attr *init);
/* A QP of the core has been made for @qp; is gone. Under the lock. */
void vb_ibv_qp_enlist(struct vb_ibv_context *c, struct vb_ibv_qp *qp);
void vb_ibv_qp_delist(struct vb_engine *e, const struct vb_ibv_qp *qp);

/* qp.c */
/* A QP of DC; or NULL and errno. */
struct vb_ibv_qp *vb_ibv_create_dc(struct ibv_pd *pd, struct ibv_qp_init_attr *init,
				   enum vb_qp_type type, const struct vb_dc_init *dc, bool with_wr);
struct ibv_qp *vb_ibv_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr);

/* qp/attr.c */
int vb_ibv_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);

/* post.c */
int vb_ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int vb_ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int vb_ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* As vb_qp_post_send(), to the queue as hardware has it where there is one. */
int vb_ibv_post_core(struct vb_ibv_qp *qp, const struct vb_send_wr *wr, vb_time now);
/* The work request that binds a window. */
void vb_ibv_bind_wr(struct vb_send_wr *w, const struct ibv_mw *mw, uint32_t rkey,
		    const struct ibv_mw_bind_info *info);
/* The bind of @mw has been posted: its R_Key is the new one, of whose key byte alone @rkey tells.
 * ibv_alloc_mw(3) */
void vb_ibv_bound(struct ibv_mw *mw, uint32_t rkey);

/* mcast.c: whether packets to the group @gid can leave @c's device and come in by it; if not, the
 * user is told why. Under the lock. */
bool vb_ibv_mcast_reaches(const struct vb_ibv_context *c, const struct vb_gid *gid);
/* Multicast LIDs that the tables of a fabric's switches have room for. */
#define VB_IBV_MLID_FIRST 0xc000u
#define VB_IBV_MLID_LAST 0xc3ffu
/* mcast.c: takes the QP out of all groups. Under the lock. */
void vb_ibv_detach_all(struct vb_ibv_qp *qp);

/* mw.c */
struct ibv_mw *vb_ibv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vb_ibv_dealloc_mw(struct ibv_mw *mw);
int vb_ibv_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* wr.c */
#define VB_WR_OPS_CONNECTED                                                                        \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |    \
	 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define VB_WR_OPS_RC                                                                               \
	(VB_WR_OPS_CONNECTED | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_READ |           \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |                 \
	 IBV_QP_EX_WITH_ATOMIC_WRITE)
#define VB_WR_OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define VB_WR_OPS_DCI (VB_WR_OPS_RC & ~(IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW))
/* Where the last work request of the batch goes. */
void vb_wr_set_dc(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t dctn, uint64_t key,
		  uint16_t stream);
/* Gives @qp the ibv_wr_*() functions. Returns 0 or an errno. */
/* A WQE as bytes, of a QP that has its queues in memory. mlx5dv_wr_post(3) */
void vb_wr_add_custom(struct ibv_qp_ex *ex, const void *wqe);
int vb_wr_batch_init(struct vb_ibv_qp *qp);
void vb_wr_batch_free(struct vb_wr_batch *b);

#endif
