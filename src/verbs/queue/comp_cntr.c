/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion counters, since rdma-core 65 (later.h): they count what completes on QPs, in work
 * requests or bytes, beside the completion queues. The core counts, core/qp/count.c.
 * ibv_create_comp_cntr(3), ibv_qp_attach_comp_cntr(3)
 */
#include "verbs/later.h"
#include "verbs/priv.h"

#include <string.h>

/* As many as memory allows; a program has to be told some number. */
#define COUNTERS_MAX (1u << 24)
#define OPS (VB_CNTR_OP_SEND | VB_CNTR_OP_RECV | VB_CNTR_OP_READ | VB_CNTR_OP_WRITE)

static struct vb_ibv_comp_cntr *cntr_of(struct ibv_comp_cntr *cntr)
{
	return (struct vb_ibv_comp_cntr *)(void *)cntr;
}

int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
			      size_t size)
{
	const struct vb_comp_cntr_caps all = {
	    .max_value = UINT64_MAX, .max_counters = COUNTERS_MAX, .supported_qp_attach_ops = OPS};

	(void)context;
	memset(caps, 0, size);
	memcpy(caps, &all, size < sizeof all ? size : sizeof all);
	return 0;
}

struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *init)
{
	const struct vb_comp_cntr_init_attr *attr =
	    (const struct vb_comp_cntr_init_attr *)(const void *)init;
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	static _Atomic uint32_t last;
	struct vb_ibv_comp_cntr *cntr;
	int err = EIO;

	if (attr->comp_mask || attr->flags)
		return VB_IBV_REFUSE_NULL(c,
					  VB_IBV_WHY(EOPNOTSUPP,
						     "comp_mask 0x%x and flags 0x%x are not known",
						     attr->comp_mask, attr->flags),
					  "ibv_create_comp_cntr");
	if (attr->type != VB_CNTR_WRS && attr->type != VB_CNTR_BYTES)
		return VB_IBV_REFUSE_NULL(
		    c, VB_IBV_WHY(EOPNOTSUPP, "type %d is no enum ibv_comp_cntr_type", attr->type),
		    "ibv_create_comp_cntr");
	cntr = vb_object_new(VB_OBJECT_COMP_CNTR, sizeof *cntr);
	if (!cntr)
		return vb_ibv_null(ENOMEM);
	if (vb_ibv_enter(c)) {
		cntr->context = context;
		cntr->handle = vb_ibv_handle(c, last++);
		cntr->core.counts_bytes = attr->type == VB_CNTR_BYTES;
		vb_ibv_name(cntr);
		vb_list_append(&c->comp_cntrs, &cntr->link);
		err = 0;
		vb_ibv_leave(c);
	}
	if (err) {
		vb_object_free(cntr);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_create_comp_cntr");
	}
	return (struct ibv_comp_cntr *)(void *)cntr;
}

int ibv_destroy_comp_cntr(struct ibv_comp_cntr *ibv)
{
	struct vb_ibv_comp_cntr *cntr = cntr_of(ibv);
	struct vb_ibv_context *c;
	uint32_t used;

	if (vb_ibv_check(cntr, VB_OBJECT_COMP_CNTR))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_destroy_comp_cntr");
	c = vb_ibv_ctx(cntr->context);
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_destroy_comp_cntr");
	used = cntr->core.use_cnt;
	if (!used)
		vb_list_remove(&cntr->link);
	vb_ibv_leave(c);
	if (used)
		return vb_ibv_refuse(
		    c, VB_IBV_WHY(EBUSY, "QPs have it attached, for %u kinds of work", used),
		    "ibv_destroy_comp_cntr");
	vb_object_free(cntr);
	return 0;
}

/* Reads or changes both counts: @does what is asked for, with @value. */
static int cntr_do(struct ibv_comp_cntr *ibv, uint64_t *value,
		   void (*does)(struct vb_comp_cntr *c, uint64_t *value), const char *verb)
{
	struct vb_ibv_comp_cntr *cntr = cntr_of(ibv);
	struct vb_ibv_context *c;

	if (vb_ibv_check(cntr, VB_OBJECT_COMP_CNTR))
		return vb_ibv_refuse(NULL, ENOENT, "%s", verb);
	c = vb_ibv_ctx(cntr->context);
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "%s", verb);
	/* A program may look at nothing but its counters. */
	vb_engine_progress(c->engine);
	does(&cntr->core, value);
	vb_ibv_leave(c);
	return 0;
}

static void set_done(struct vb_comp_cntr *c, uint64_t *value)
{
	c->done = *value;
}

static void set_failed(struct vb_comp_cntr *c, uint64_t *value)
{
	c->failed = *value;
}

static void add_done(struct vb_comp_cntr *c, uint64_t *value)
{
	c->done += *value;
}

static void add_failed(struct vb_comp_cntr *c, uint64_t *value)
{
	c->failed += *value;
}

static void get_done(struct vb_comp_cntr *c, uint64_t *value)
{
	*value = c->done;
}

static void get_failed(struct vb_comp_cntr *c, uint64_t *value)
{
	*value = c->failed;
}

int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	return cntr_do(cntr, &value, set_done, "ibv_set_comp_cntr");
}

int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	return cntr_do(cntr, &value, set_failed, "ibv_set_err_comp_cntr");
}

int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	return cntr_do(cntr, &amount, add_done, "ibv_inc_comp_cntr");
}

int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	return cntr_do(cntr, &amount, add_failed, "ibv_inc_err_comp_cntr");
}

int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	return cntr_do(cntr, value, get_done, "ibv_read_comp_cntr");
}

int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	return cntr_do(cntr, value, get_failed, "ibv_read_err_comp_cntr");
}

/* Why the core does not attach it. */
static int why_not_attached(const struct ibv_qp *qp, int err, uint32_t ops)
{
	if (err == EBUSY)
		return VB_IBV_WHY(err, "op_mask 0x%x has work that another counter counts", ops);
	if (err == EINVAL)
		return VB_IBV_WHY(err,
				  "the QP is in state %d: counters are attached in RESET or INIT "
				  "(ibv_qp_attach_comp_cntr(3))",
				  qp->state);
	return VB_IBV_WHY(err,
			  "op_mask 0x%x, of a QP of type %d: counted are SEND, RECV, "
			  "RDMA_READ and RDMA_WRITE of RC, UC, UD and XRC initiators",
			  ops, qp->qp_type);
}

int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *ibv,
			    struct ibv_qp_attach_comp_cntr_attr *init)
{
	const struct vb_qp_attach_comp_cntr_attr *attr =
	    (const struct vb_qp_attach_comp_cntr_attr *)(const void *)init;
	struct vb_ibv_comp_cntr *cntr = cntr_of(ibv);
	struct vb_ibv_context *c;
	uint32_t which, ops = attr->op_mask;
	int err;

	if (vb_ibv_check(qp, VB_OBJECT_QP) ||
	    vb_ibv_check_in(cntr, VB_OBJECT_COMP_CNTR, qp->context))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_qp_attach_comp_cntr");
	c = vb_ibv_ctx(qp->context);
	if (attr->comp_mask || ops & ~(uint32_t)OPS)
		return vb_ibv_refuse(
		    c,
		    VB_IBV_WHY(EOPNOTSUPP,
			       "comp_mask 0x%x and op_mask 0x%x: the device counts 0x%x",
			       attr->comp_mask, ops, (unsigned)OPS),
		    "ibv_qp_attach_comp_cntr of QP 0x%06x", qp->qp_num);
	which = (ops & VB_CNTR_OP_SEND ? 1u << VB_COUNTED_SEND : 0) |
		(ops & VB_CNTR_OP_RECV ? 1u << VB_COUNTED_RECV : 0) |
		(ops & VB_CNTR_OP_READ ? 1u << VB_COUNTED_READ : 0) |
		(ops & VB_CNTR_OP_WRITE ? 1u << VB_COUNTED_WRITE : 0);
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_qp_attach_comp_cntr");
	err = -vb_qp_attach_comp_cntr(((struct vb_ibv_qp *)qp)->core, &cntr->core, which);
	vb_ibv_leave(c);
	return err ? vb_ibv_refuse(c, why_not_attached(qp, err, ops),
				   "ibv_qp_attach_comp_cntr of QP 0x%06x", qp->qp_num)
		   : 0;
}
