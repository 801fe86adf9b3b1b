/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter: creation, ports, and the way of a packet to its QP. Everything a packet must pass
 * before a QP sees it is here, in the order of IBA 9.6.1: headers, P_Key, QPN, transport, state,
 * source.
 */
#include "base/assert.h"
#include "core/cc/point.h"
#include "core/dc/dc.h"
#include "core/obj/cq.h"
#include "core/obj/pd.h"
#include "core/qp/pkey.h"
#include "core/qp/qp.h"
#include "core/rc/rc.h"
#include "core/selective/pool.h"
#include "core/selective/selective.h"
#include "core/share/open.h"
#include "core/transports.h"
#include "core/ud/mcast.h"

#include <errno.h>

const struct vb_limits vb_limits_default = {
    .qp = 65000,
    .cq = 65536,
    .srq = 65536,
    .mr = 1u << 20,
    .mw = 1u << 20,
    .pd = 65536,
    .qp_wr = 32768,
    .srq_wr = 32768,
    .cqe = 1u << 22,
    .sge = 32,
    .sge_rd = 32,
    .inline_bytes = 1024,
    .ooo_pkts = 81920,
    .rd_atomic = 128, /* as the kernel's soft RoCE has it; a QP pays for what it asks */
    .mcast_grp = 8192,
    .mcast_qp = 1024,
    .mr_size = UINT64_MAX,
    .msg_size = 1u << 31, /* IBT-06 */
};

static int config_check(const struct vb_hca_config *c)
{
	if (!c->alloc || !c->free || c->qpn_stride == 0 || c->port_cap > VB_HCA_PORTS_MAX ||
	    c->port_cnt > (c->port_cap ? c->port_cap : VB_HCA_PORTS_MAX))
		return -EINVAL;
	if (c->limits.sge == 0 || c->limits.sge > 32 || c->limits.rd_atomic > 128 ||
	    c->limits.ooo_pkts > VB_OOO_PKTS_MAX ||
	    (uint64_t)c->limits.mr + c->limits.mw >= 1u << 24 || c->limits.inline_bytes > 4096)
		return -EINVAL;
	if (c->choice && (!c->choice->line_rate || vb_cc_algorithm_check(c->choice->algorithm)))
		return -EINVAL;
	return vb_recovery_check(&c->recovery, NULL) ? -EINVAL : vb_cc_settings_check(&c->cc, NULL);
}

int vb_hca_create(struct vb_hca **out, const struct vb_hca_config *cfg, vb_time now)
{
	int err = config_check(cfg);

	(void)now;
	if (err)
		return err;

	uint8_t port_cap = cfg->port_cap ? cfg->port_cap : VB_HCA_PORTS_MAX;
	struct vb_hca *h =
	    cfg->alloc(cfg->alloc_ctx, sizeof *h + (port_cap + 1u) * sizeof h->port[0]);

	if (!h)
		return -ENOMEM;
	h->cfg = *cfg;
	h->cfg.port_cap = port_cap;
	h->transport_of = vb_transport_of;
	h->repeat = &vb_sr_hooks;
	for (int i = 0; i <= port_cap; i++) {
		h->port[i].rules.set = cfg->recovery;
		h->port[i].cc = cfg->cc;
		h->port[i].choice = cfg->choice;
	}
	vb_list_init(&h->active);
	vb_list_init(&h->events);
	vb_list_init(&h->pds);
	vb_list_init(&h->cqs);
	vb_list_init(&h->srqs);
	vb_list_init(&h->xrcds);
	vb_list_init(&h->mcast);
	vb_list_init(&h->migrations);
	vb_list_init(&h->openers);
	vb_list_init(&h->asks);
	vb_list_init(&h->held);
	h->held_due = VB_NEVER;
	/* A power of two of numbers, so that a number's place in the table is unique. */
	h->qp_k_cnt = 1;
	while (h->qp_k_cnt < 1u << 24 && (uint64_t)h->qp_k_cnt * 2 * cfg->qpn_stride <= 1u << 24)
		h->qp_k_cnt *= 2;
	h->qp_k_next = h->xsrq_k_next = cfg->qpn_first;
	*out = h;
	return 0;
}

/* Destroys the objects that nothing refers to any more. */
static void destroy_rest(struct vb_hca *h)
{
	int err = 0;

	while (!err && !vb_list_is_empty(&h->srqs))
		err = vb_srq_destroy(vb_container_of(h->srqs.next, struct vb_srq, link));
	while (!err && !vb_list_is_empty(&h->cqs))
		err = vb_cq_destroy(vb_container_of(h->cqs.next, struct vb_cq, link));
	while (!err && !vb_list_is_empty(&h->pds))
		err = vb_pd_destroy(vb_container_of(h->pds.next, struct vb_pd, link));
	while (!err && !vb_list_is_empty(&h->xrcds))
		err = vb_xrcd_destroy(vb_container_of(h->xrcds.next, struct vb_xrcd, link));
	VB_ASSERT(!err);
}

void vb_hca_destroy(struct vb_hca *h)
{
	vb_mcast_free(h);
	for (uint32_t i = 0; i < h->qp_cap; i++) {
		if (h->qp[i] && h->qp[i]->openers)
			vb_xrc_end_openers(h->qp[i]);
		if (h->qp[i])
			vb_qp_destroy(h->qp[i]);
	}
	for (int i = 1; i <= h->cfg.port_cap; i++) {
		if (h->port[i].gsi)
			vb_qp_destroy(h->port[i].gsi);
	}
	for (int i = 1; i <= h->cfg.port_cap; i++)
		vb_free(h, h->port[i].cct);
	vb_sr_pools_free(h);
	vb_free(h, h->xrc_pool);
	vb_key_table_free(h);
	destroy_rest(h);
	vb_free(h, h->qp);
	vb_free(h, h->xsrq);
	vb_free(h, h->peer);
	vb_free(h, h->heap);
	vb_free(h, h);
}

uint32_t vb_hca_qp_cnt(const struct vb_hca *h)
{
	return h->qp_cnt;
}

int vb_hca_set_port(struct vb_hca *h, uint8_t port, const struct vb_hca_port *p)
{
	if (port < 1 || port > h->cfg.port_cap)
		return -EINVAL;
	h->cfg.port[port] = *p;
	if (port > h->cfg.port_cnt)
		h->cfg.port_cnt = port;
	return 0;
}

int vb_hca_set_recovery(struct vb_hca *h, const struct vb_recovery *r, vb_time now)
{
	int err = vb_recovery_check(r, NULL);

	(void)now;
	for (int i = 0; !err && i <= h->cfg.port_cap; i++)
		h->port[i].rules = (struct vb_rto_rules){*r, h->port[i].rules.epoch + 1};
	return err;
}

int vb_hca_set_port_recovery(struct vb_hca *h, uint8_t port, const struct vb_recovery *r)
{
	if (port < 1 || port > h->cfg.port_cap || vb_recovery_check(r, NULL))
		return -EINVAL;
	h->port[port].rules = (struct vb_rto_rules){*r, h->port[port].rules.epoch + 1};
	return 0;
}

const struct vb_recovery *vb_hca_recovery(const struct vb_hca *h, uint8_t port)
{
	return &h->port[port].rules.set;
}

/* @is_own: the packet's QPN is one of those that this HCA gives. */
static void count_verdict(struct vb_counters *c, enum vb_verdict v, bool is_own)
{
	switch (v) {
	case VB_VERDICT_OK:
	case VB_VERDICT_DUPLICATE:
	case VB_VERDICT_PSN:
		break;
	case VB_VERDICT_TRUNCATED:
	case VB_VERDICT_OPCODE:
	case VB_VERDICT_TVER:
	case VB_VERDICT_PAD:
		vb_count(c, VB_COUNTER_port_rcv_errors);
		break;
	case VB_VERDICT_PKEY:
		vb_count(c, VB_COUNTER_port_rcv_constraint_errors);
		break;
	case VB_VERDICT_QKEY:
		vb_count(c, VB_COUNTER_qkey_viol_cntr);
		break;
	case VB_VERDICT_QPN:
		vb_count(c, is_own ? VB_COUNTER_rx_qpn_miss : VB_COUNTER_rx_misrouted);
		break;
	default:
		vb_count(c, VB_COUNTER_rx_dropped);
		break;
	}
}

/* Writes down what a packet with a key that nobody took was like. */
static void note_bad_key(struct vb_bad_key *k, uint32_t key, const struct vb_hdr *hdr,
			 const struct vb_path *path)
{
	bool has_grh = vb_path_has_lid(path) && vb_path_has_grh(path);

	__atomic_store_n(&k->seq, k->seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	k->key = key;
	k->src_qp = vb_hdr_opcode(hdr)->ext & VB_EXT_DETH ? hdr->deth.sqpn : 0;
	k->dst_qp = hdr->dqpn;
	k->slid = path->slid;
	k->dlid = path->dlid;
	k->sl = path->sl;
	memset(k->sgid, 0, sizeof k->sgid);
	memset(k->dgid, 0, sizeof k->dgid);
	if (has_grh) {
		memcpy(k->sgid, path->sgid.b, sizeof k->sgid);
		memcpy(k->dgid, path->dgid.b, sizeof k->dgid);
	}
	__atomic_store_n(&k->seq, k->seq + 1, __ATOMIC_RELEASE);
}

static void note_verdict(const struct vb_hca *h, enum vb_verdict v, const struct vb_hdr *hdr,
			 const struct vb_path *path)
{
	struct vb_bad_keys *k =
	    path->port <= VB_HCA_PORTS_MAX ? h->cfg.port[path->port].bad_keys : NULL;

	if (k && v == VB_VERDICT_PKEY)
		note_bad_key(&k->pkey, hdr->pkey, hdr, path);
	else if (k && v == VB_VERDICT_QKEY)
		note_bad_key(&k->qkey, hdr->deth.qkey, hdr, path);
}

/* Of a path with CE: on InfiniBand that may mean BECN, and of datagrams it means nothing. */
static bool is_marked(const struct vb_hdr *hdr, const struct vb_path *path)
{
	return !vb_path_has_lid(path) ||
	       (hdr->fecn && (hdr->opcode & VB_TRANSPORT_MASK) != VB_TRANSPORT_UD);
}

/* The QP that a packet of @port for @dqpn is for, or NULL. */
static struct vb_qp *packet_qp(const struct vb_hca *h, uint8_t port, uint32_t dqpn)
{
	if (dqpn != VB_QPN_GSI)
		return vb_qp_find(h, dqpn);
	return port <= h->cfg.port_cap ? h->port[port].gsi : NULL;
}

void vb_hca_set_trace(struct vb_hca *h, uint64_t mask)
{
	h->cfg.trace.mask = mask;
}

enum vb_verdict vb_hca_handle_packet(struct vb_hca *h, const struct vb_rx *rx, vb_time now)
{
	struct vb_counters *c = vb_port_counters(h, rx->path->port);
	struct vb_hdr hdr;
	enum vb_verdict v = vb_hdr_parse(&hdr, rx->pkt, rx->avail, rx->len);
	bool is_own = hdr.dqpn % h->cfg.qpn_stride == h->cfg.qpn_base % h->cfg.qpn_stride;

	if (v == VB_VERDICT_OK) {
		struct vb_qp *qp = packet_qp(h, rx->path->port, hdr.dqpn);

		v = qp                             ? vb_qp_deliver(qp, &hdr, rx, now)
		    : hdr.dqpn == VB_QPN_MULTICAST ? vb_mcast_deliver(h, &hdr, rx, now)
						   : VB_VERDICT_QPN;
		/* A misrouted packet is counted where it is for. */
		if ((v != VB_VERDICT_QPN || is_own) &&
		    (rx->path->traffic_class & VB_ECN_MASK) == VB_ECN_CE &&
		    is_marked(&hdr, rx->path))
			vb_count(c, VB_COUNTER_np_ecn_marked_roce_packets);
	}
	count_verdict(c, v, is_own);
	if (v == VB_VERDICT_PKEY || v == VB_VERDICT_QKEY)
		note_verdict(h, v, &hdr, rx->path);
	vb_trace(&h->cfg.trace, VB_TRACE_PACKET_RECEIVED, hdr.dqpn, now, hdr.opcode, hdr.psn.v,
		 rx->len, v);
	return v;
}
