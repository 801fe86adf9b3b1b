/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The extended completion queue: completions are read field by field, with timestamps. The clock of
 * the adapter counts nanoseconds (CLOCK_MONOTONIC).
 */
#include "verbs/priv.h"

#include <stdlib.h>
#include <time.h>

#define WC_FLAGS                                                                                   \
	((uint64_t)IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |                   \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | IBV_WC_EX_WITH_CVLAN |                    \
	 IBV_WC_EX_WITH_FLOW_TAG)

static struct vb_ibv_cq *cq_of(struct ibv_cq_ex *ex)
{
	return (struct vb_ibv_cq *)ex;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct vb_ibv_cq *cq = cq_of(ex);
	int err = vb_ibv_poll_one(cq);

	if (!err) {
		ex->wr_id = cq->wc.wr_id;
		ex->status = (enum ibv_wc_status)cq->wc.status;
	}
	return err;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct vb_ibv_cq *cq = cq_of(ex);

	if (attr && attr->comp_mask)
		return vb_ibv_refuse(
		    vb_ibv_ctx(cq->ibv.context),
		    VB_IBV_WHY(EINVAL, "comp_mask is 0x%x, not 0", attr->comp_mask),
		    "ibv_start_poll");
	if (!cq->is_single_threaded)
		pthread_mutex_lock(&cq->poll_mutex);

	int err = next_poll(ex);

	if (err && !cq->is_single_threaded)
		pthread_mutex_unlock(&cq->poll_mutex);
	return err;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct vb_ibv_cq *cq = cq_of(ex);

	if (!cq->is_single_threaded)
		pthread_mutex_unlock(&cq->poll_mutex);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return (enum ibv_wc_opcode)cq_of(ex)->wc.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.imm;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.src_qpn;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.dlid_path_bits;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.time;
}

/* A property of the completion, whenever it is read: what is between the two clocks is the CQ's.
 * Like the clock of a NIC it does not follow when somebody sets the host's later. */
static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.time + cq_of(ex)->wall_clock;
}

static uint64_t wall_clock_at_0(void)
{
	struct timespec t;
	vb_time now = vb_clock_now();

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * VB_SEC + (uint64_t)t.tv_nsec - now;
}

/* The kernel has taken VLAN tags off before a packet arrives. */
static uint16_t read_cvlan(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

/* Flow steering gives tags, and there is none: 0 is what packets have then. */
static uint32_t read_flow_tag(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

/* Every overrun is noticed, so IGNORE_OVERRUN is not served. */
static int cq_ex_check(const struct ibv_cq_init_attr_ex *attr, uint32_t flags)
{
	const uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;

	if (attr->comp_mask & ~known)
		return VB_IBV_WHY(EOPNOTSUPP, "comp_mask has 0x%x, which the adapter does not know",
				  attr->comp_mask & ~known);
	if (attr->wc_flags & ~WC_FLAGS)
		return VB_IBV_WHY(EOPNOTSUPP,
				  "wc_flags has 0x%llx, which completions of the adapter lack",
				  (unsigned long long)(attr->wc_flags & ~WC_FLAGS));
	if (flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return VB_IBV_WHY(EOPNOTSUPP, "flags 0x%x: the adapter has SINGLE_THREADED alone",
				  flags);
	if (attr->cqe > INT32_MAX || attr->comp_vector > INT32_MAX)
		return VB_IBV_WHY(EINVAL, "cqe %u or comp_vector %u is above 2^31 - 1", attr->cqe,
				  attr->comp_vector);
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) && !attr->parent_domain)
		return VB_IBV_WHY(EINVAL, "parent_domain is NULL");
	return 0;
}

struct ibv_cq_ex *vb_ibv_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	bool with_pd = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD;
	int err = cq_ex_check(attr, flags);

	if (!err && with_pd && vb_ibv_check_in(attr->parent_domain, VB_OBJECT_PD, context))
		return VB_IBV_REFUSE_NULL(NULL, ENOENT, "ibv_create_cq_ex");
	if (!err && with_pd && !((struct vb_ibv_pd *)attr->parent_domain)->parent)
		err = VB_IBV_WHY(EINVAL, "parent_domain is a PD that has no parent");
	if (err)
		return VB_IBV_REFUSE_NULL(vb_ibv_ctx(context), err, "ibv_create_cq_ex");

	struct vb_ibv_cq *cq =
	    vb_ibv_cq_create(context, (int)attr->cqe, attr->cq_context, attr->channel,
			     (int)attr->comp_vector, with_pd ? attr->parent_domain : NULL);

	if (!cq)
		return NULL;
	cq->is_single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	cq->wall_clock = wall_clock_at_0();
	cq->ex.start_poll = start_poll;
	cq->ex.next_poll = next_poll;
	cq->ex.end_poll = end_poll;
	cq->ex.read_opcode = read_opcode;
	cq->ex.read_vendor_err = read_vendor_err;
	cq->ex.read_byte_len = read_byte_len;
	cq->ex.read_imm_data = read_imm_data;
	cq->ex.read_qp_num = read_qp_num;
	cq->ex.read_src_qp = read_src_qp;
	cq->ex.read_wc_flags = read_wc_flags;
	cq->ex.read_slid = read_slid;
	cq->ex.read_sl = read_sl;
	cq->ex.read_dlid_path_bits = read_dlid_path_bits;
	cq->ex.read_completion_ts = read_completion_ts;
	cq->ex.read_completion_wallclock_ns = read_completion_wallclock_ns;
	cq->ex.read_cvlan = read_cvlan;
	cq->ex.read_flow_tag = read_flow_tag;
	return &cq->ex;
}
