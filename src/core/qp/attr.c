/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modify and query: every attribute is checked before the first one is set, so that a refused
 * modify changes nothing. IBA 11.2.5.2
 */
#include "core/cc/point.h"
#include "core/dc/dc.h"
#include "core/qp/apm.h"
#include "core/qp/pkey.h"
#include "core/sched/pace.h"
#include "core/sched/peer.h"
#include "core/sched/sched.h"

#include <errno.h>
#include <string.h>

/* A message asks for an ACK about every so many bytes, so that its window keeps moving. */
#define ACK_EVERY_BYTES 65536u

static bool port_is_valid(const struct vb_hca *h, uint8_t port)
{
	return port >= 1 && port <= h->cfg.port_cnt && h->cfg.port[port].active_mtu;
}

static bool pkey_is_valid(const struct vb_hca *h, uint8_t port, uint16_t index)
{
	return index < VB_PORT_PKEYS_MAX && vb_pkey_is_valid(h->cfg.port[port].pkey[index]);
}

/* Checks port, P_Key, MTU and path, whose rules depend on the port. */
static int port_check(const struct vb_qp *qp, const struct vb_qp_attr *a, uint32_t mask)
{
	struct vb_hca *h = qp->hca;
	uint8_t port = mask & VB_QP_PORT ? a->port : qp->attr.port;

	if ((mask & (VB_QP_PORT | VB_QP_PKEY_INDEX)) && !port_is_valid(h, port))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_PORT);
	if ((mask & VB_QP_PKEY_INDEX) && !pkey_is_valid(h, port, a->pkey_index))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_PKEY_INDEX, .value = a->pkey_index);
	if (mask & VB_QP_PATH_MTU) {
		enum vb_mtu most = h->cfg.port[port].active_mtu;

		if (a->path_mtu < VB_MTU_256 || a->path_mtu > VB_MTU_4096)
			return VB_REFUSE(h, -EINVAL, VB_REFUSAL_NO_MTU, .value = a->path_mtu);
		if (a->path_mtu > most)
			return VB_REFUSE(h, -EINVAL, VB_REFUSAL_PATH_MTU,
					 .value = vb_mtu_bytes(a->path_mtu),
					 .bound = most ? vb_mtu_bytes(most) : 0);
	}
	if ((mask & VB_QP_AV) && a->path.port != port)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_PATH_PORT);
	return 0;
}

/* The numbers among the attributes in @mask, each against its range. */
static int range_check(struct vb_hca *h, const struct vb_qp_attr *a, uint32_t mask)
{
	const struct {
		const char *name;
		uint32_t bit, value, most;
	} ranges[] = {
	    {"dest_qp_num", VB_QP_DEST_QPN, a->dest_qpn, 0xffffff},
	    {"timeout", VB_QP_TIMEOUT, a->timeout, 31},
	    {"retry_cnt", VB_QP_RETRY_CNT, a->retry_cnt, 7},
	    {"rnr_retry", VB_QP_RNR_RETRY, a->rnr_retry, 7},
	    {"min_rnr_timer", VB_QP_MIN_RNR_TIMER, a->min_rnr_timer, 31},
	    {"max_rd_atomic", VB_QP_MAX_QP_RD_ATOMIC, a->max_rd_atomic, h->cfg.limits.rd_atomic},
	    {"max_dest_rd_atomic", VB_QP_MAX_DEST_RD_ATOMIC, a->max_dest_rd_atomic,
	     h->cfg.limits.rd_atomic},
	};

	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if ((mask & ranges[i].bit) && ranges[i].value > ranges[i].most)
			return VB_REFUSE(h, -EINVAL, VB_REFUSAL_ABOVE, .name = ranges[i].name,
					 .value = ranges[i].value, .bound = ranges[i].most);
	return 0;
}

/* The path that a QP has with @a, or has already. */
static const struct vb_path *path_of(const struct vb_qp *qp, const struct vb_qp_attr *a,
				     uint32_t mask)
{
	return mask & VB_QP_AV ? &a->path : &qp->attr.path;
}

/*
 * QPs of InfiniBand with one peer alone have an alternate path. A QP of RoCE has one path, as after
 * a migration. IBA 17.2.8.1; the kernel refuses an alternate path on RoCE as well
 */
static int alt_check(const struct vb_qp *qp, const struct vb_qp_attr *a, uint32_t mask)
{
	struct vb_hca *h = qp->hca;
	const struct vb_alt_path *alt = &a->alt;
	enum vb_mtu mtu = mask & VB_QP_PATH_MTU ? a->path_mtu : qp->attr.path_mtu;

	if (!qp->ops->is_connected || qp->type == VB_QPT_DCT ||
	    !vb_path_has_lid(path_of(qp, a, mask)) || !vb_path_has_lid(&alt->path))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_ALT_PATH);
	if (!port_is_valid(h, alt->path.port))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_ALT_PORT);
	if (!pkey_is_valid(h, alt->path.port, alt->pkey_index))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_ALT_PKEY_INDEX, .value = alt->pkey_index);
	if (mtu > h->cfg.port[alt->path.port].active_mtu)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_ALT_MTU, .value = vb_mtu_bytes(mtu),
				 .bound = vb_mtu_bytes(h->cfg.port[alt->path.port].active_mtu));
	if (alt->timeout > 31)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_ABOVE, .name = "alt_timeout",
				 .value = alt->timeout, .bound = 31);
	return 0;
}

/* REARM needs a path to migrate to. ARMED is what becomes of it when the peer is ready as well;
 * nobody else can say so. IBA 11.2.5.2, 17.2.8.1 */
static int mig_state_check(const struct vb_qp *qp, const struct vb_qp_attr *a, uint32_t mask)
{
	struct vb_hca *h = qp->hca;
	bool can_migrate = (mask & VB_QP_ALT_PATH) || qp->attr.alt.is_loaded;

	if (a->path_mig_state == VB_MIG_MIGRATED || a->path_mig_state == qp->attr.path_mig_state)
		return 0;
	if (!vb_path_has_lid(path_of(qp, a, mask)))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_ALT_PATH);
	if (a->path_mig_state != VB_MIG_REARM)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_MIG_STATE, .value = a->path_mig_state);
	return can_migrate ? 0 : VB_REFUSE(h, -EINVAL, VB_REFUSAL_MIG_REARM);
}

/* The values of the attributes in @mask. */
static int attr_check(const struct vb_qp *qp, const struct vb_qp_attr *a, uint32_t mask)
{
	struct vb_hca *h = qp->hca;
	int err = port_check(qp, a, mask);

	if (!err)
		err = range_check(h, a, mask);
	if (err)
		return err;
	if (qp->type == VB_QPT_GSI && (mask & VB_QP_QKEY) && a->qkey != VB_QKEY_GSI)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_QKEY_GSI, .value = a->qkey);
	if ((mask & VB_QP_ACCESS_FLAGS) && (a->access & ~(uint32_t)VB_ACCESS_KNOWN))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_ACCESS, .value = a->access);
	err = mask & VB_QP_ALT_PATH ? alt_check(qp, a, mask) : 0;
	return !err && (mask & VB_QP_PATH_MIG_STATE) ? mig_state_check(qp, a, mask) : err;
}

static struct vb_peer *receiver_get(struct vb_hca *h, const struct vb_path *path)
{
	struct vb_gid receiver = vb_path_receiver(path);

	return vb_peer_get(h, &receiver);
}

/* The receivers that a QP gets with its paths, each NULL when it gets none. */
static int peers_get(const struct vb_qp *qp, const struct vb_qp_attr *a, uint32_t mask,
		     struct vb_peer **peer, struct vb_peer **alt)
{
	struct vb_hca *h = qp->hca;
	bool has_alt = (mask & VB_QP_ALT_PATH) && qp->ops->is_acked;
	bool has_peer = true;

	*peer = *alt = NULL;
	/* An initiator of DC, or each of its channels, has many peers, and one allowance for all of
	 * them. */
	if ((mask & VB_QP_PATH_MTU) && qp->dci) {
		struct vb_gid own = {{0xff, qp->dc_channel, (uint8_t)(qp->qpn >> 16),
				      (uint8_t)(qp->qpn >> 8), (uint8_t)qp->qpn}};

		*peer = vb_peer_get(h, &own);
	} else if ((mask & VB_QP_AV) && qp->ops->is_acked) {
		*peer = receiver_get(h, &a->path);
	} else {
		has_peer = false;
	}
	if (has_alt)
		*alt = receiver_get(h, &a->alt.path);
	if ((!has_peer || *peer) && (!has_alt || *alt))
		return 0;
	vb_peer_put(h, *peer);
	vb_peer_put(h, *alt);
	return -ENOMEM;
}

/* Allocates what a modify needs. Called last of the steps that can fail. */
static int attr_reserve(struct vb_qp *qp, const struct vb_qp_attr *a, uint32_t mask)
{
	struct vb_hca *h = qp->hca;
	struct vb_peer *peer, *alt;
	struct vb_resource *res = NULL;

	if (peers_get(qp, a, mask, &peer, &alt))
		return -ENOMEM;
	if ((mask & VB_QP_MAX_DEST_RD_ATOMIC) && a->max_dest_rd_atomic != qp->resp.res_cap) {
		res =
		    a->max_dest_rd_atomic ? vb_alloc(h, a->max_dest_rd_atomic * sizeof *res) : NULL;
		if (a->max_dest_rd_atomic && !res) {
			vb_peer_put(h, peer);
			vb_peer_put(h, alt);
			return -ENOMEM;
		}
		vb_free(h, qp->resp.res);
		qp->resp.res = res;
		qp->resp.res_cap = a->max_dest_rd_atomic;
		qp->resp.res_tail = qp->resp.res_cnt = qp->resp.res_pending = 0;
	}
	if (peer)
		vb_peer_enter(qp, peer);
	if (alt) {
		vb_peer_put(h, qp->alt_peer);
		qp->alt_peer = alt;
	}
	return 0;
}

static void attr_set(struct vb_qp *qp, const struct vb_qp_attr *a, uint32_t mask)
{
	struct vb_qp_attr *to = &qp->attr;

	if (mask & VB_QP_PORT)
		to->port = a->port;
	if (mask & VB_QP_PKEY_INDEX)
		to->pkey_index = a->pkey_index;
	if (mask & VB_QP_ACCESS_FLAGS)
		to->access = a->access;
	if (mask & VB_QP_QKEY)
		to->qkey = a->qkey;
	if (mask & VB_QP_AV) {
		to->path = a->path;
		vb_egress_find_home(qp->hca, &to->path);
		memcpy(to->av, a->av, sizeof to->av);
	}
	if (mask & VB_QP_ALT_PATH) {
		to->alt = a->alt;
		to->alt.is_loaded = true;
	}
	if ((mask & VB_QP_AV) && qp->ops->is_connected) {
		to->path_kbps = a->path_kbps;
		vb_pace_take_path(qp, a->path_kbps);
	}
	if (mask & VB_QP_PATH_MTU)
		to->path_mtu = a->path_mtu;
	if (mask & VB_QP_DEST_QPN)
		to->dest_qpn = a->dest_qpn;
	if (mask & VB_QP_RQ_PSN)
		to->rq_psn = a->rq_psn & VB_PSN_MASK;
	if (mask & VB_QP_SQ_PSN)
		to->sq_psn = a->sq_psn & VB_PSN_MASK;
	if (mask & VB_QP_TIMEOUT)
		to->timeout = a->timeout;
	if (mask & VB_QP_RETRY_CNT)
		to->retry_cnt = a->retry_cnt;
	if (mask & VB_QP_RNR_RETRY)
		to->rnr_retry = a->rnr_retry;
	if (mask & VB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = a->min_rnr_timer;
	if (mask & VB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = a->max_rd_atomic;
	if (mask & VB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = a->max_dest_rd_atomic;
	if (mask & (VB_QP_TIMEOUT | VB_QP_RETRY_CNT))
		vb_rto_reset(&qp->rto, vb_qp_rules(qp), to->timeout, to->retry_cnt,
			     vb_rng_stream(qp->hca->cfg.seed, "adp",
					   (uint32_t)qp->dc_channel << 24 | qp->qpn));
	if (mask & VB_QP_RNR_RETRY)
		qp->req.rnr_left = to->rnr_retry;
}

/* Packets of one READ request: as the configuration says, and at most half of the QP's window and
 * a sixteenth of what selective repeat keeps. */
static uint32_t read_piece(const struct vb_qp *qp)
{
	const struct vb_recovery *set = &vb_qp_rules(qp)->set;
	uint32_t bytes = qp->hca->cfg.read_piece_bytes;
	uint32_t window = set->tx_window_bytes ? set->tx_window_bytes : VB_TX_WINDOW_BYTES;

	if (set->roce_tx_window_en && (bytes == 0 || bytes > window / 2))
		bytes = window / 2;
	if (qp->sr && (bytes == 0 || bytes > VB_SR_PIECE * qp->mtu))
		bytes = VB_SR_PIECE * qp->mtu;
	return bytes && bytes < qp->mtu ? 1 : bytes / qp->mtu;
}

static bool is_before_rtr(const struct vb_qp *qp)
{
	return qp->state == VB_QPS_RESET || qp->state == VB_QPS_INIT;
}

uint32_t vb_qp_extensions(const struct vb_qp *qp, uint8_t port)
{
	bool selective = is_before_rtr(qp)
			     ? qp->type == VB_QPT_RC &&
				   qp->hca->port[port].rules.set.selective_repeat_forced_en &&
				   !(qp->refused & VB_EXTENSION_SELECTIVE_REPEAT)
			     : qp->sr != NULL;

	return selective ? VB_EXTENSION_SELECTIVE_REPEAT : 0;
}

int vb_qp_allow_extensions(struct vb_qp *qp, uint32_t mask)
{
	if (!is_before_rtr(qp))
		return VB_REFUSE(qp->hca, -EINVAL, VB_REFUSAL_ECE_STATE, .value = qp->state);
	qp->refused = ~mask;
	return 0;
}

static void enter_rtr(struct vb_qp *qp)
{
	const struct vb_hca_config *cfg = &qp->hca->cfg;

	qp->mtu = vb_mtu_bytes(qp->attr.path_mtu ? qp->attr.path_mtu
						 : cfg->port[qp->attr.port].active_mtu);
	qp->ack_every = ACK_EVERY_BYTES / qp->mtu;
	if (cfg->peer_window_bytes && qp->ack_every > cfg->peer_window_bytes / 4 / qp->mtu)
		qp->ack_every = cfg->peer_window_bytes / 4 / qp->mtu;
	if (qp->ack_every == 0)
		qp->ack_every = 1;
	qp->gso_pkts = cfg->gso_bytes / (qp->mtu + VB_BTH_LEN + VB_ICRC_LEN);
	qp->resp.epsn = vb_psn(qp->attr.rq_psn);
	qp->resp.msg = VB_MSG_NONE;
	if (vb_qp_extensions(qp, qp->attr.port) & VB_EXTENSION_SELECTIVE_REPEAT)
		qp->hca->repeat->offer(qp);
	qp->piece_pkts = read_piece(qp);
}

static void enter_rts(struct vb_qp *qp, enum vb_qp_state from, vb_time now)
{
	if (from == VB_QPS_RTR) {
		struct vb_psn psn = vb_psn(qp->attr.sq_psn);

		qp->req.psn_post = qp->req.psn_una = qp->req.psn_nxt = qp->req.psn_max = psn;
		vb_window_reset(&qp->req.window, vb_qp_rules(qp), qp->mtu, psn, now);
		if (qp->cc.flow)
			vb_window_control(&qp->req.window, qp->cc.flow->window, qp->cc.flow->every);
		if (qp->sr)
			qp->hca->repeat->rewound(qp); /* its account begins with that PSN */
	}
	vb_sched_activate(qp);
}

static void enter_sqd(struct vb_qp *qp, const struct vb_qp_attr *a, uint32_t mask)
{
	qp->sq_draining = true;
	qp->sqd_notify = (mask & VB_QP_EN_SQD_ASYNC_NOTIFY) && a->en_sqd_async_notify;
}

/* Takes over what was checked and reserved; @to is neither RESET nor ERR. */
static void attr_apply(struct vb_qp *qp, const struct vb_qp_attr *attr, uint32_t mask,
		       enum vb_qp_state to, vb_time now)
{
	enum vb_qp_state from = qp->state;

	attr_set(qp, attr, mask);
	if (to == VB_QPS_RTR) {
		enter_rtr(qp);
		vb_cc_start(qp, now);
		vb_cc_spread(qp);
	} else if (to == VB_QPS_SQD && from == VB_QPS_RTS) {
		enter_sqd(qp, attr, mask);
	}
	if (mask & VB_QP_AV)
		vb_cc_refresh(qp);
	vb_qp_set_state(qp, to, now);
	if (to == VB_QPS_RTS)
		enter_rts(qp, from, now);
	if (mask & VB_QP_PATH_MIG_STATE)
		vb_apm_ask(qp, attr->path_mig_state, now);
}

static void look_if_drained(struct vb_qp *qp, vb_time now)
{
	struct vb_qp *channel;

	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++)
		channel->ops->on_sqd(channel, now);
}

int vb_qp_modify(struct vb_qp *qp, const struct vb_qp_attr *attr, uint32_t mask, vb_time now)
{
	enum vb_qp_state from = mask & VB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	enum vb_qp_state to = mask & VB_QP_STATE ? attr->qp_state : from;

	struct vb_hca *h = qp->hca;

	h->refusal.rule = VB_REFUSAL_NONE;
	if ((uint32_t)from >= VB_QPS_CNT)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_NO_STATE, .name = "cur_qp_state",
				 .value = from);
	if ((uint32_t)to >= VB_QPS_CNT)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_NO_STATE, .name = "qp_state", .value = to);
	/* CUR_STATE says what the consumer believes; it must be true. IBA 11.2.5.2 */
	if (from != qp->state)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_CUR_STATE, .value = from,
				 .bound = qp->state);

	struct vb_qp *channel;
	struct vb_refusal why;
	int err = vb_qp_transition_check(qp->type, from, to, mask, &why);

	if (err)
		return vb_refuse(h, err, why);
	err = attr_check(qp, attr, mask);
	for (uint32_t i = 0; !err && (channel = vb_qp_channel(qp, i)); i++)
		err = attr_reserve(channel, attr, mask);
	if (err)
		return err;
	if (to == VB_QPS_RESET) {
		vb_qp_reset(qp, now);
		return 0;
	}
	if (to == VB_QPS_ERR) {
		attr_set(qp, attr, mask);
		vb_resp_nak_done(&qp->resp);
		vb_qp_enter_err(qp, now);
		return 0;
	}
	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++)
		attr_apply(channel, attr, mask, to, now);
	if (to == VB_QPS_SQD && from == VB_QPS_RTS)
		look_if_drained(qp, now);
	return 0;
}

void vb_qp_query(const struct vb_qp *qp, struct vb_qp_attr *attr)
{
	const struct vb_qp *channel;

	*attr = qp->attr;
	if (qp->opened)
		return; /* as its target was when it was last heard of */
	attr->qp_state = attr->cur_qp_state = qp->state;
	for (uint32_t i = 0; qp->state == VB_QPS_SQD && (channel = vb_qp_channel(qp, i)); i++)
		attr->sq_draining |= channel->sq_draining;
	attr->rq_psn = qp->state >= VB_QPS_RTR ? qp->resp.epsn.v : qp->attr.rq_psn;
	attr->sq_psn = qp->state >= VB_QPS_RTS ? qp->req.psn_nxt.v : qp->attr.sq_psn;
}
