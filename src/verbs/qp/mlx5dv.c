/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry points of mlx5dv that DC needs: DC has no verbs of its own; and the posting of WQEs as
 * bytes. The devices answer to them always, and say that they are such devices only where the user
 * wants it (verbena run --dc, or
 * --mlx5dv, with which there are queues to reach into: verbs/ring/). docs/dc.md; facts B.8
 */
#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include <infiniband/mlx5dv.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The answers of a device of this kind, for programs that go by them. */

struct vb_ibv_dv {
	struct mlx5dv_qp_ex mlx5;
	struct vb_ibv_qp *qp;
};

bool mlx5dv_is_supported(struct ibv_device *device)
{
	(void)device;
	return vb_ibv_is_mlx5();
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	if (attr && (attr->flags || attr->comp_mask))
		return VB_IBV_REFUSE_NULL(NULL,
					  VB_IBV_WHY(EOPNOTSUPP,
						     "flags 0x%x and comp_mask 0x%" PRIx64
						     " are not 0: the "
						     "adapter has no DEVX",
						     attr->flags, attr->comp_mask),
					  "mlx5dv_open_device");
	return ibv_open_device(device);
}

/* Tells of what was asked for, and marks that it did. */
int mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_context *out)
{
	const uint64_t known = MLX5DV_CONTEXT_MASK_DC_ODP_CAPS | MLX5DV_CONTEXT_MASK_DCI_STREAMS |
			       MLX5DV_CONTEXT_MASK_CQE_COMPRESION;
	uint64_t asked = out->comp_mask;

	(void)context;
	memset(out, 0, sizeof *out);
	/* Entries are as the header has them. */
	if (vb_ring_is_on())
		out->flags = MLX5DV_CONTEXT_FLAGS_CQE_V1;
	out->comp_mask = asked & known;
	if (asked & MLX5DV_CONTEXT_MASK_CQE_COMPRESION && vb_ring_is_on()) {
		out->cqe_comp_caps.max_num = VB_CQE_BLOCK_MAX;
		out->cqe_comp_caps.supported_format =
		    MLX5DV_CQE_RES_FORMAT_HASH | MLX5DV_CQE_RES_FORMAT_CSUM;
	}
	if (asked & MLX5DV_CONTEXT_MASK_DC_ODP_CAPS)
		out->dc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE |
				   IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |
				   IBV_ODP_SUPPORT_SRQ_RECV;
	if (asked & MLX5DV_CONTEXT_MASK_DCI_STREAMS) {
		out->dci_streams_caps.max_log_num_concurent = VB_DC_LOG_STREAMS_MAX;
		out->dci_streams_caps.max_log_num_errored = VB_DC_LOG_ERRORED_MAX;
	}
	return 0;
}

static void wr_set_dc_addr_stream(struct mlx5dv_qp_ex *mqp, struct ibv_ah *ah, uint32_t dctn,
				  uint64_t key, uint16_t stream)
{
	vb_wr_set_dc(&((struct vb_ibv_dv *)mqp)->qp->ex, ah, dctn, key, stream);
}

static void wr_raw_wqe(struct mlx5dv_qp_ex *mqp, const void *wqe)
{
	vb_wr_add_custom(&((struct vb_ibv_dv *)mqp)->qp->ex, wqe);
}

static void wr_set_dc_addr(struct mlx5dv_qp_ex *mqp, struct ibv_ah *ah, uint32_t dctn, uint64_t key)
{
	wr_set_dc_addr_stream(mqp, ah, dctn, key, 0);
}

/* The request of the two structures, in the core's words. Returns 0 or an errno. */
static int dc_init(const struct mlx5dv_qp_init_attr *attr, struct vb_dc_init *dc)
{
	const struct mlx5dv_dc_init_attr *a = &attr->dc_init_attr;
	bool streams = attr->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	const char *handshake = getenv("VERBENA_DC");

	if (a->dc_type == MLX5DV_DCTYPE_DCT) {
		dc->key = a->dct_access_key;
		return streams ? VB_IBV_WHY(EINVAL, "dc_type is DCT, and streams are a DCI's") : 0;
	}
	if (a->dc_type != MLX5DV_DCTYPE_DCI)
		return VB_IBV_WHY(EINVAL, "dc_type %u is neither DCT nor DCI", a->dc_type);
	dc->full_handshake = handshake && strcmp(handshake, "full") == 0;
	dc->by_adapter = !dc->full_handshake && (!handshake || strcmp(handshake, "half") != 0);
	if (!streams)
		return 0;
	if (a->dci_streams.log_num_concurent > VB_DC_LOG_STREAMS_MAX ||
	    a->dci_streams.log_num_errored > VB_DC_LOG_ERRORED_MAX)
		return VB_IBV_WHY(EINVAL,
				  "log_num_concurent %u is larger than %d, or log_num_errored %u "
				  "than %d (mlx5dv_query_device(3))",
				  a->dci_streams.log_num_concurent, VB_DC_LOG_STREAMS_MAX,
				  a->dci_streams.log_num_errored, VB_DC_LOG_ERRORED_MAX);
	dc->log_streams = a->dci_streams.log_num_concurent;
	dc->log_errored = a->dci_streams.log_num_errored;
	return 0;
}

/* Whether the plain attributes go with DC. Returns 0 or an errno. */
static int dc_check(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr,
		    bool is_dci, bool with_wr)
{
	uint64_t ops = attr->send_ops_flags & ~(uint64_t)VB_WR_OPS_DCI;

	if (attr->qp_type != IBV_QPT_DRIVER)
		return VB_IBV_WHY(EINVAL, "qp_type %u is not IBV_QPT_DRIVER", attr->qp_type);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
		return VB_IBV_WHY(EINVAL, "comp_mask lacks IBV_QP_INIT_ATTR_PD");
	if (!is_dci && with_wr)
		return VB_IBV_WHY(EINVAL, "dc_type is DCT, which sends nothing, and comp_mask has "
					  "IBV_QP_INIT_ATTR_SEND_OPS_FLAGS");
	if (vb_ibv_check_in(attr->pd, VB_OBJECT_PD, context))
		return ENOENT;
	if (with_wr && ops)
		return VB_IBV_WHY(EOPNOTSUPP,
				  "send_ops_flags have 0x%" PRIx64 ", which a DCI lacks", ops);
	return 0;
}

static bool takes_raw(const struct mlx5dv_qp_init_attr *mlx5)
{
	return mlx5->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS &&
	       mlx5->send_ops_flags & MLX5DV_QP_EX_WITH_RAW_WQE;
}

static struct ibv_qp *dc_create(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				const struct mlx5dv_qp_init_attr *mlx5)
{
	struct vb_dc_init dc = {0};
	bool is_dci = mlx5->dc_init_attr.dc_type == MLX5DV_DCTYPE_DCI;
	bool with_wr = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	int err = dc_init(mlx5, &dc);

	if (!err)
		err = dc_check(context, attr, is_dci, with_wr);
	if (err)
		return VB_IBV_REFUSE_NULL(NULL, err, "mlx5dv_create_qp");

	struct vb_ibv_dv *dv = calloc(1, sizeof *dv);

	if (!dv)
		return vb_ibv_null(ENOMEM);

	struct vb_ibv_qp *qp = vb_ibv_create_dc(attr->pd, (struct ibv_qp_init_attr *)attr,
						is_dci ? VB_QPT_DCI : VB_QPT_DCT, &dc, with_wr);

	if (!qp) {
		free(dv);
		return NULL;
	}
	dv->qp = qp;
	dv->mlx5.wr_set_dc_addr = wr_set_dc_addr;
	dv->mlx5.wr_set_dc_addr_stream = wr_set_dc_addr_stream;
	dv->mlx5.wr_raw_wqe = takes_raw(mlx5) ? wr_raw_wqe : NULL;
	qp->dv = dv;
	return &qp->ibv;
}

/* A QP that is not of DC, and takes WQEs as bytes. */
static struct ibv_qp *raw_create(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct vb_ibv_dv *dv = calloc(1, sizeof *dv);
	struct ibv_qp *qp;

	if (!dv)
		return vb_ibv_null(ENOMEM);
	qp = vb_ibv_create_qp_ex(context, attr);
	if (!qp) {
		free(dv);
		return NULL;
	}
	dv->qp = (struct vb_ibv_qp *)qp;
	dv->mlx5.wr_raw_wqe = wr_raw_wqe;
	dv->qp->dv = dv;
	return qp;
}

static uint32_t create_flags(const struct mlx5dv_qp_init_attr *mlx5)
{
	return mlx5->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS ? mlx5->create_flags : 0;
}

/* Whether the functions that were asked for are there. Returns 0 or an errno. */
static int ops_check(const struct ibv_qp_init_attr_ex *attr, const struct mlx5dv_qp_init_attr *mlx5)
{
	uint64_t other = mlx5->send_ops_flags & ~(uint64_t)MLX5DV_QP_EX_WITH_RAW_WQE;

	if (!(mlx5->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS))
		return 0;
	if (other || (mlx5->send_ops_flags && !vb_ring_is_on()))
		return VB_IBV_WHY(EOPNOTSUPP,
				  "send_ops_flags of mlx5's attributes are 0x%" PRIx64
				  ": the adapter has RAW_WQE, with 'verbena run --mlx5dv'",
				  mlx5->send_ops_flags);
	if (mlx5->send_ops_flags && !(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return VB_IBV_WHY(EINVAL, "mlx5's attributes have send_ops_flags, and comp_mask "
					  "lacks IBV_QP_INIT_ATTR_SEND_OPS_FLAGS");
	return 0;
}

static int create_check(const struct mlx5dv_qp_init_attr *mlx5)
{
	const uint64_t dc = MLX5DV_QP_INIT_ATTR_MASK_DC;
	const uint64_t known = dc | MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS |
			       MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS |
			       MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
	const uint32_t scatter =
	    MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE | MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE;
	uint32_t flags = create_flags(mlx5);

	if (mlx5->comp_mask & ~known ||
	    (mlx5->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS && !(mlx5->comp_mask & dc)))
		return VB_IBV_WHY(EOPNOTSUPP,
				  "comp_mask of mlx5's attributes is 0x%" PRIx64
				  ": the adapter has DC, with or without DCI_STREAMS, "
				  "QP_CREATE_FLAGS and SEND_OPS_FLAGS",
				  mlx5->comp_mask);
	if (flags & ~scatter)
		return VB_IBV_WHY(EOPNOTSUPP,
				  "create_flags have 0x%x, which the adapter does not know",
				  flags & ~scatter);
	if (flags == scatter)
		return VB_IBV_WHY(
		    EINVAL, "create_flags 0x%x allow payload in entries and forbid it", flags);
	return 0;
}

struct ibv_qp *mlx5dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				struct mlx5dv_qp_init_attr *mlx5)
{
	struct ibv_qp *qp;
	struct vb_ring_qp *r;
	int err;

	if (!mlx5 || !mlx5->comp_mask)
		return vb_ibv_create_qp_ex(context, attr);
	err = create_check(mlx5);
	if (!err)
		err = ops_check(attr, mlx5);
	if (err)
		return VB_IBV_REFUSE_NULL(NULL, err, "mlx5dv_create_qp");
	if (mlx5->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC)
		return dc_create(context, attr, mlx5);
	qp = (takes_raw(mlx5) ? raw_create : vb_ibv_create_qp_ex)(context, attr);
	r = qp ? ((struct vb_ibv_qp *)qp)->hw : NULL;
	if (r)
		vb_ring_scatter_plan(r, create_flags(mlx5));
	return qp;
}

struct mlx5dv_qp_ex *mlx5dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *ex)
{
	/* Programs ask for a target's too, which has none. */
	struct vb_ibv_dv *dv = ex ? ((struct vb_ibv_qp *)ex)->dv : NULL;

	return dv ? &dv->mlx5 : NULL;
}

int mlx5dv_dci_stream_id_reset(struct ibv_qp *ibv, uint16_t stream)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (vb_ibv_check(ibv, VB_OBJECT_QP))
		return vb_ibv_refuse(NULL, ENOENT, "mlx5dv_dci_stream_id_reset");
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "mlx5dv_dci_stream_id_reset");

	int err = -vb_dci_reset_stream(qp->core, stream);

	if (err)
		(void)vb_ibv_why_core(c, err);
	vb_ibv_leave(c);
	return err ? vb_ibv_refuse(c, err, "mlx5dv_dci_stream_id_reset of QP 0x%06x", ibv->qp_num)
		   : 0;
}

/* That packets to @ah arrive at one QP is a hint, of which this adapter has no use. */
int mlx5dv_map_ah_to_qp(struct ibv_ah *ah, uint32_t qp_num)
{
	(void)qp_num;
	return ah ? 0
		  : vb_ibv_refuse(NULL, VB_IBV_WHY(EINVAL, "ah is NULL"), "mlx5dv_map_ah_to_qp");
}
