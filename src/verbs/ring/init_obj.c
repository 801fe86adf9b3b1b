/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5dv_init_obj(3): where the queues of an object are, for programs that write and read them by
 * themselves. From then on the object's doorbells are looked at, and a completion queue is read by
 * its doorbell record.
 */
#include "verbs/ring/ring.h"

#include <infiniband/mlx5dv.h>
#include <inttypes.h>

#define ALL_TYPES                                                                                  \
	((uint64_t)(MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_SRQ | MLX5DV_OBJ_RWQ |              \
		    MLX5DV_OBJ_DM | MLX5DV_OBJ_AH | MLX5DV_OBJ_PD))

static int no_queues(void)
{
	return VB_IBV_WHY(EOPNOTSUPP, "queues are not as hardware has them here: that takes "
				      "\"verbena run --mlx5dv\"");
}

/* A doorbell that cannot be opened is a shortage. Under the lock. */
static int open_bell(struct vb_engine *e, struct vb_bell *b)
{
	return vb_bell_open(e, b) ? ENOMEM : 0;
}

static int show_qp(struct ibv_qp *ibv, struct mlx5dv_qp *out)
{
	struct vb_ring_qp *r;
	int err;

	if (vb_ibv_check(ibv, VB_OBJECT_QP))
		return ENOENT;
	r = ((struct vb_ibv_qp *)ibv)->hw;
	if (!r)
		return no_queues();
	err = open_bell(vb_ibv_ctx(ibv->context)->engine, &r->bell);
	if (err)
		return err;
	r->is_raw = true;
	vb_ring_show(r);
	out->dbrec = (__be32 *)(void *)r->record;
	out->sq.buf = r->sq;
	out->sq.wqe_cnt = r->sq_cnt;
	out->sq.stride = VB_WQE_BLOCK;
	out->rq.buf = r->rq;
	out->rq.wqe_cnt = r->rq_cnt;
	out->rq.stride = r->rq_stride;
	out->bf.reg = r->bell.page + VB_BELL_QP_WORD;
	out->bf.size = VB_BELL_BF_BYTES;
	/* Handles of what only a kernel can be asked about are not there. */
	out->comp_mask = 0;
	return 0;
}

static int show_cq(struct ibv_cq *ibv, struct mlx5dv_cq *out)
{
	struct vb_ring_cq *r;
	int err;

	if (vb_ibv_check(ibv, VB_OBJECT_CQ))
		return ENOENT;
	r = ((struct vb_ibv_cq *)ibv)->hw;
	if (!r)
		return no_queues();
	err = open_bell(vb_ibv_ctx(ibv->context)->engine, &r->bell);
	if (!err)
		err = vb_ring_cq_show(r);
	if (err)
		return err;
	out->buf = r->mem;
	out->dbrec = (__be32 *)(void *)r->record;
	out->cqe_cnt = r->cnt;
	out->cqe_size = r->entry_bytes;
	out->cq_uar = r->bell.page;
	out->cqn = vb_cq_number(((struct vb_ibv_cq *)ibv)->core);
	out->comp_mask = 0;
	return 0;
}

static int show_srq(struct ibv_srq *ibv, struct mlx5dv_srq *out)
{
	struct vb_ring_srq *r;

	if (vb_ibv_check(ibv, VB_OBJECT_SRQ))
		return ENOENT;
	r = ((struct vb_ibv_srq *)ibv)->hw;
	if (!r)
		return no_queues();
	r->is_raw = true;
	out->buf = r->mem;
	out->dbrec = (__be32 *)(void *)r->record;
	out->stride = r->stride;
	out->head = r->head;
	out->tail = r->tail;
	if (out->comp_mask & MLX5DV_SRQ_MASK_SRQN)
		out->srqn = ibv->handle;
	out->comp_mask &= MLX5DV_SRQ_MASK_SRQN;
	return 0;
}

static int show_ah(struct ibv_ah *ibv, struct mlx5dv_ah *out)
{
	struct vb_ibv_ah *ah = (struct vb_ibv_ah *)ibv;
	struct vb_av av;

	if (vb_ibv_check(ibv, VB_OBJECT_AH))
		return ENOENT;
	av = vb_ring_av(vb_ibv_ctx(ibv->context), &ah->core.path);
	vb_av_put(ah->av, &av);
	out->av = (struct mlx5_wqe_av *)(void *)ah->av;
	out->comp_mask = 0;
	return 0;
}

static int show_pd(const struct ibv_pd *ibv, struct mlx5dv_pd *out)
{
	if (vb_ibv_check(ibv, VB_OBJECT_PD))
		return ENOENT;
	out->pdn = ibv->handle;
	out->comp_mask = 0;
	return 0;
}

static int show_dm(struct ibv_dm *ibv, struct mlx5dv_dm *out)
{
	struct vb_ibv_dm *dm = (struct vb_ibv_dm *)ibv;

	if (vb_ibv_check(ibv, VB_OBJECT_DM))
		return ENOENT;
	out->buf = dm->mem->p;
	out->length = dm->mem->length;
	if (out->comp_mask & MLX5DV_DM_MASK_REMOTE_VA)
		out->remote_va = 0; /* regions of it begin at 0 */
	out->comp_mask &= MLX5DV_DM_MASK_REMOTE_VA;
	return 0;
}

/* All that is asked for, until something is refused. Under the lock. */
static int show_objects(struct mlx5dv_obj *obj, uint64_t types)
{
	int err = 0;

	if (types & MLX5DV_OBJ_QP)
		err = show_qp(obj->qp.in, obj->qp.out);
	if (!err && types & MLX5DV_OBJ_CQ)
		err = show_cq(obj->cq.in, obj->cq.out);
	if (!err && types & MLX5DV_OBJ_SRQ)
		err = show_srq(obj->srq.in, obj->srq.out);
	if (!err && types & MLX5DV_OBJ_RWQ)
		err = VB_IBV_WHY(EOPNOTSUPP, "the adapter has no work queues by themselves "
					     "(ibv_create_wq(3))");
	if (!err && types & MLX5DV_OBJ_DM)
		err = show_dm(obj->dm.in, obj->dm.out);
	if (!err && types & MLX5DV_OBJ_AH)
		err = show_ah(obj->ah.in, obj->ah.out);
	if (!err && types & MLX5DV_OBJ_PD)
		err = show_pd(obj->pd.in, obj->pd.out);
	return err;
}

/* The context of the first object that is named; NULL: none is. */
static struct ibv_context *context_of(const struct mlx5dv_obj *obj, uint64_t types)
{
	if (types & MLX5DV_OBJ_QP)
		return obj->qp.in->context;
	if (types & MLX5DV_OBJ_CQ)
		return obj->cq.in->context;
	if (types & MLX5DV_OBJ_SRQ)
		return obj->srq.in->context;
	if (types & MLX5DV_OBJ_RWQ)
		return obj->rwq.in->context;
	if (types & MLX5DV_OBJ_DM)
		return obj->dm.in->context;
	if (types & MLX5DV_OBJ_AH)
		return obj->ah.in->context;
	return types & MLX5DV_OBJ_PD ? obj->pd.in->context : NULL;
}

int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t types)
{
	struct ibv_context *context = context_of(obj, types);
	struct vb_ibv_context *c;
	int err;

	if (!context || types & ~ALL_TYPES)
		return vb_ibv_refuse(
		    NULL,
		    VB_IBV_WHY(EINVAL, "obj_type 0x%" PRIx64 " is nothing that is known", types),
		    "mlx5dv_init_obj");
	c = vb_ibv_ctx(context);
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "mlx5dv_init_obj");
	err = show_objects(obj, types);
	vb_ibv_leave(c);
	return err ? vb_ibv_refuse(c, err, "mlx5dv_init_obj") : 0;
}

/* Reads the attributes of mlx5dv_create_cq(3): bytes of an entry, and whether entries are
 * compressed. 0 or an errno. */
static int check_entries(const struct mlx5dv_cq_init_attr *a, uint32_t *bytes, bool *compresses)
{
	const uint64_t known =
	    MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE | MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE;

	*bytes = VB_CQE_BYTES;
	*compresses = false;
	if (!a)
		return 0;
	if (a->comp_mask & ~known)
		return VB_IBV_WHY(EOPNOTSUPP,
				  "comp_mask of mlx5's attributes is 0x%" PRIx64
				  ": the adapter has COMPRESSED_CQE and CQE_SIZE alone",
				  a->comp_mask);
	if (a->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE)
		*bytes = a->cqe_size;
	if (*bytes != VB_CQE_BYTES && *bytes != 2 * VB_CQE_BYTES)
		return VB_IBV_WHY(EINVAL, "cqe_size %u is neither 64 nor 128", *bytes);
	if (!(a->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE))
		return 0;
	*compresses = true;
	if (!vb_ring_is_on())
		return no_queues();
	if (a->cqe_comp_res_format != MLX5DV_CQE_RES_FORMAT_HASH &&
	    a->cqe_comp_res_format != MLX5DV_CQE_RES_FORMAT_CSUM)
		return VB_IBV_WHY(EINVAL,
				  "cqe_comp_res_format %u is neither that with a hash (%u) nor "
				  "that with a checksum (%u)",
				  a->cqe_comp_res_format, MLX5DV_CQE_RES_FORMAT_HASH,
				  MLX5DV_CQE_RES_FORMAT_CSUM);
	return *bytes == VB_CQE_BYTES
		   ? 0
		   : VB_IBV_WHY(EOPNOTSUPP, "entries of %u bytes are not compressed", *bytes);
}

/* The CQ as mlx5's attributes have it, while nobody knows it yet. 0 or an errno. */
static int entries_plan(struct vb_ibv_context *c, struct vb_ibv_cq *cq, uint32_t bytes,
			bool compresses)
{
	int err = 0;

	if (!cq->hw)
		return 0;
	if (!vb_ibv_enter(c))
		return EIO;
	cq->hw->compresses = compresses;
	if (bytes != VB_CQE_BYTES)
		err = vb_ring_cq_widen(cq->hw, bytes);
	vb_ibv_leave(c);
	return err;
}

struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
				   struct mlx5dv_cq_init_attr *mlx5)
{
	struct ibv_cq_ex *cq;
	uint32_t bytes;
	bool compresses;
	int err = check_entries(mlx5, &bytes, &compresses);

	if (err)
		return VB_IBV_REFUSE_NULL(vb_ibv_ctx(context), err, "mlx5dv_create_cq");
	cq = vb_ibv_create_cq_ex(context, attr);
	if (!cq)
		return NULL;
	err = entries_plan(vb_ibv_ctx(context), (struct vb_ibv_cq *)cq, bytes, compresses);
	if (err) {
		(void)ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
		return VB_IBV_REFUSE_NULL(vb_ibv_ctx(context), err, "mlx5dv_create_cq");
	}
	return cq;
}
