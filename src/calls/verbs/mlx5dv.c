/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of mlx5dv that libverbena.so answers: DC, and WQEs as bytes. mlx5dv_create_qp(3),
 * mlx5dv_wr_post(3) */
#include "calls/next.h"
#include "calls/show.h"
#include "calls/verbs/extended.h"

#include <pthread.h>
#include <stdlib.h>

static const struct vb_name dc_types[] = {
    {MLX5DV_DCTYPE_DCT, "DCT"}, {MLX5DV_DCTYPE_DCI, "DCI"}, {0, NULL}};

/* The QP of an initiator's functions: the argument that programs pass does not tell. */
struct vb_initiator {
	struct vb_initiator *next;
	struct mlx5dv_qp_ex *mlx5;
	struct ibv_qp *qp;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct vb_initiator *initiators;
/* As libverbena.so made them; they are the same in all initiators. */
static struct mlx5dv_qp_ex next;

static struct vb_initiator *find_initiator(const struct mlx5dv_qp_ex *mlx5)
{
	struct vb_initiator *i = initiators;

	while (i && i->mlx5 != mlx5)
		i = i->next;
	return i;
}

static struct ibv_qp *qp_of(const struct mlx5dv_qp_ex *mlx5)
{
	struct vb_initiator *i;

	pthread_mutex_lock(&mutex);
	i = find_initiator(mlx5);
	pthread_mutex_unlock(&mutex);
	return i ? i->qp : NULL;
}

static void set_begin(struct vb_call *c, const char *verb, const struct mlx5dv_qp_ex *mlx5,
		      const struct ibv_ah *ah, uint32_t dctn, uint64_t key)
{
	vb_call_begin(c, verb);
	vb_call_object(c, "qp", VB_KIND_QP, qp_of(mlx5));
	vb_call_object(c, "ah", VB_KIND_AH, ah);
	vb_call_hex(c, "remote_dctn", dctn);
	vb_call_hex(c, "remote_dc_key", key);
}

static void wr_set_dc_addr(struct mlx5dv_qp_ex *mlx5, struct ibv_ah *ah, uint32_t dctn,
			   uint64_t key)
{
	struct vb_call c;

	set_begin(&c, "mlx5dv_wr_set_dc_addr", mlx5, ah, dctn, key);
	vb_call_go(&c);
	next.wr_set_dc_addr(mlx5, ah, dctn, key);
	vb_call_done(&c);
	vb_call_end(&c);
}

static void wr_set_dc_addr_stream(struct mlx5dv_qp_ex *mlx5, struct ibv_ah *ah, uint32_t dctn,
				  uint64_t key, uint16_t stream)
{
	struct vb_call c;

	set_begin(&c, "mlx5dv_wr_set_dc_addr_stream", mlx5, ah, dctn, key);
	vb_call_number(&c, "stream_id", stream);
	vb_call_go(&c);
	next.wr_set_dc_addr_stream(mlx5, ah, dctn, key, stream);
	vb_call_done(&c);
	vb_call_end(&c);
}

static void wr_raw_wqe(struct mlx5dv_qp_ex *mlx5, const void *wqe)
{
	const __be32 *ctrl = wqe;
	struct vb_call c;

	vb_call_begin(&c, "mlx5dv_wr_raw_wqe");
	vb_call_object(&c, "qp", VB_KIND_QP, qp_of(mlx5));
	vb_call_number(&c, "opcode", be32toh(ctrl[0]) & 0xff);
	vb_call_number(&c, "ds", be32toh(ctrl[1]) & 0xff);
	vb_call_go(&c);
	next.wr_raw_wqe(mlx5, wqe);
	vb_call_done(&c);
	vb_call_end(&c);
}

/* A function that the QP has goes through this library. */
#define TAKE_FUNCTION(mlx5, name)                                                                  \
	do {                                                                                       \
		if ((mlx5)->name && (mlx5)->name != (name)) {                                      \
			next.name = (mlx5)->name;                                                  \
			(mlx5)->name = (name);                                                     \
		}                                                                                  \
	} while (0)

/* The functions of a QP go through this library. Without memory they do not. */
static void take_initiator(struct ibv_qp *qp)
{
	struct mlx5dv_qp_ex *mlx5 =
	    vb_next_verbs()->mlx5dv_qp_ex_from_ibv_qp_ex((struct ibv_qp_ex *)qp);
	struct vb_initiator *i;

	if (!mlx5)
		return;
	pthread_mutex_lock(&mutex);
	i = find_initiator(mlx5);
	if (!i) {
		i = calloc(1, sizeof *i);
		if (i) {
			i->next = initiators;
			initiators = i;
		}
	}
	if (i) {
		i->mlx5 = mlx5;
		i->qp = qp;
		TAKE_FUNCTION(mlx5, wr_set_dc_addr);
		TAKE_FUNCTION(mlx5, wr_set_dc_addr_stream);
		TAKE_FUNCTION(mlx5, wr_raw_wqe);
	}
	pthread_mutex_unlock(&mutex);
}

struct vb_initiator *vb_calls_take_out_initiator(const struct ibv_qp *qp)
{
	struct vb_initiator **at = &initiators, *i;

	pthread_mutex_lock(&mutex);
	while (*at && (*at)->qp != qp)
		at = &(*at)->next;
	i = *at;
	if (i)
		*at = i->next;
	pthread_mutex_unlock(&mutex);
	return i;
}

void vb_calls_put_back_initiator(struct vb_initiator *i)
{
	pthread_mutex_lock(&mutex);
	i->next = initiators;
	initiators = i;
	pthread_mutex_unlock(&mutex);
}

bool mlx5dv_is_supported(struct ibv_device *device)
{
	struct vb_call c;
	bool is;

	vb_call_begin(&c, "mlx5dv_is_supported");
	vb_call_word(&c, "device", device ? device->name : "NULL");
	vb_call_go(&c);
	is = vb_next_verbs()->mlx5dv_is_supported(device);
	vb_call_done(&c);
	vb_call_end_count(&c, is);
	return is;
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	struct vb_call c;
	struct ibv_context *context;

	vb_call_begin(&c, "mlx5dv_open_device");
	vb_call_word(&c, "device", device ? device->name : "NULL");
	if (attr) {
		vb_call_hex(&c, "flags", attr->flags);
		vb_call_hex(&c, "comp_mask", attr->comp_mask);
	}
	vb_call_go(&c);
	context = vb_next_verbs()->mlx5dv_open_device(device, attr);
	vb_call_done(&c);
	if (context)
		vb_calls_take_context(context);
	vb_call_end_object(&c, VB_KIND_CTX, context);
	return context;
}

int mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_context *out)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "mlx5dv_query_device");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_hex(&c, "comp_mask", out->comp_mask);
	vb_call_go(&c);
	rc = vb_next_verbs()->mlx5dv_query_device(context, out);
	vb_call_done(&c);
	if (!rc) {
		vb_call_results(&c);
		vb_call_hex(&c, "comp_mask", out->comp_mask);
		if (out->comp_mask & MLX5DV_CONTEXT_MASK_DCI_STREAMS) {
			vb_call_number(&c, "max_log_num_concurent",
				       out->dci_streams_caps.max_log_num_concurent);
			vb_call_number(&c, "max_log_num_errored",
				       out->dci_streams_caps.max_log_num_errored);
		}
	}
	vb_call_end_error(&c, rc);
	return rc;
}

static void show_dc_attr(struct vb_call *c, const struct mlx5dv_qp_init_attr *mlx5)
{
	const struct mlx5dv_dc_init_attr *dc = &mlx5->dc_init_attr;

	vb_call_hex(c, "mlx5_comp_mask", mlx5->comp_mask);
	if (mlx5->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS)
		vb_call_hex(c, "create_flags", mlx5->create_flags);
	if (mlx5->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS)
		vb_call_hex(c, "mlx5_send_ops_flags", mlx5->send_ops_flags);
	if (!(mlx5->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC))
		return;
	vb_call_name(c, "dc_type", dc_types, dc->dc_type);
	if (dc->dc_type == MLX5DV_DCTYPE_DCT)
		vb_call_hex(c, "dct_access_key", dc->dct_access_key);
	if (mlx5->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS) {
		vb_call_number(c, "log_num_concurent", dc->dci_streams.log_num_concurent);
		vb_call_number(c, "log_num_errored", dc->dci_streams.log_num_errored);
	}
}

struct ibv_qp *mlx5dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *init,
				struct mlx5dv_qp_init_attr *mlx5)
{
	struct vb_call c;
	struct ibv_qp *qp;

	vb_call_begin(&c, "mlx5dv_create_qp");
	vb_calls_show_qp_ex(&c, context, init);
	if (mlx5)
		show_dc_attr(&c, mlx5);
	vb_call_go(&c);
	qp = vb_next_verbs()->mlx5dv_create_qp(context, init, mlx5);
	vb_call_done(&c);
	if (qp) {
		vb_calls_take_new_qp(qp);
		take_initiator(qp);
		vb_call_results(&c);
		vb_call_qp_cap(&c, "cap", &init->cap);
	}
	vb_call_end_object(&c, VB_KIND_QP, qp);
	return qp;
}

/* It looks up, and does nothing. */
struct mlx5dv_qp_ex *mlx5dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
	return vb_next_verbs()->mlx5dv_qp_ex_from_ibv_qp_ex(qp);
}

int mlx5dv_dci_stream_id_reset(struct ibv_qp *qp, uint16_t stream)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "mlx5dv_dci_stream_id_reset");
	vb_call_object(&c, "qp", VB_KIND_QP, qp);
	vb_call_number(&c, "stream_id", stream);
	vb_call_go(&c);
	rc = vb_next_verbs()->mlx5dv_dci_stream_id_reset(qp, stream);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}

int mlx5dv_map_ah_to_qp(struct ibv_ah *ah, uint32_t qp_num)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "mlx5dv_map_ah_to_qp");
	vb_call_object(&c, "ah", VB_KIND_AH, ah);
	vb_call_hex(&c, "qp_num", qp_num);
	vb_call_go(&c);
	rc = vb_next_verbs()->mlx5dv_map_ah_to_qp(ah, qp_num);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}
