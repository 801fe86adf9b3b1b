/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast: groups, each a GID with the UD QPs that are attached to it. A packet for QPN 0xFFFFFF
 * goes to every QP of the group of its destination GID; each checks P_Key and Q_Key for itself and
 * takes a receive WQE of its own. IBA 10.5, 11.3.1; IBT-19, IBT-20
 */
#include "core/ud/mcast.h"
#include "base/assert.h"
#include "core/qp/qp.h"

#include <errno.h>

struct vb_mcast_group {
	struct vb_list link; /* in hca->mcast */
	struct vb_gid gid;
	uint16_t lid; /* InfiniBand; 0 elsewhere */
	uint32_t cnt, cap;
	struct vb_qp **qp;
};

static struct vb_mcast_group *group_find(const struct vb_hca *h, const struct vb_gid *gid,
					 uint16_t lid)
{
	for (struct vb_list *l = h->mcast.next; l != &h->mcast; l = l->next) {
		struct vb_mcast_group *g = vb_container_of(l, struct vb_mcast_group, link);

		if (g->lid == lid && vb_gid_eq(&g->gid, gid))
			return g;
	}
	return NULL;
}

static struct vb_mcast_group *group_new(struct vb_hca *h, const struct vb_gid *gid, uint16_t lid)
{
	struct vb_mcast_group *g;

	if (h->mcast_cnt >= h->cfg.limits.mcast_grp) {
		(void)VB_REFUSE(h, -ENOMEM, VB_REFUSAL_FULL, .name = "multicast groups",
				.bound = h->cfg.limits.mcast_grp);
		return NULL;
	}
	g = vb_alloc(h, sizeof *g);
	if (!g)
		return NULL;
	g->gid = *gid;
	g->lid = lid;
	vb_list_append(&h->mcast, &g->link);
	h->mcast_cnt++;
	return g;
}

static void group_free_if_empty(struct vb_hca *h, struct vb_mcast_group *g)
{
	if (g->cnt)
		return;
	vb_list_remove(&g->link);
	h->mcast_cnt--;
	vb_free(h, g->qp);
	vb_free(h, g);
}

static int group_grow(struct vb_hca *h, struct vb_mcast_group *g)
{
	uint32_t cap = g->cap ? g->cap * 2 : 4;
	struct vb_qp **qp = vb_alloc(h, cap * sizeof(struct vb_qp *));

	if (!qp)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->cnt; i++)
		qp[i] = g->qp[i];
	vb_free(h, g->qp);
	g->qp = qp;
	g->cap = cap;
	return 0;
}

static uint32_t member_index(const struct vb_mcast_group *g, const struct vb_qp *qp)
{
	uint32_t i = 0;

	while (i < g->cnt && g->qp[i] != qp)
		i++;
	return i;
}

int vb_qp_attach_mcast(struct vb_qp *qp, const struct vb_gid *gid, uint16_t lid)
{
	struct vb_hca *h = qp->hca;
	struct vb_mcast_group *g;
	int err = 0;

	if (qp->type != VB_QPT_UD)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_MCAST_QP);
	if (!vb_gid_is_multicast(gid))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_MCAST_GID);
	g = group_find(h, gid, lid);
	if (!g)
		g = group_new(h, gid, lid);
	if (!g)
		return -ENOMEM;
	if (member_index(g, qp) < g->cnt)
		return -EEXIST;
	if (g->cnt >= h->cfg.limits.mcast_qp)
		return VB_REFUSE(h, -ENOMEM, VB_REFUSAL_FULL, .name = "QPs in the group",
				 .bound = h->cfg.limits.mcast_qp);
	if (g->cnt == g->cap)
		err = group_grow(h, g);
	if (!err) {
		g->qp[g->cnt++] = qp;
		VB_ASSERT(g->cnt <= g->cap);
		qp->mcast_cnt++;
	}
	group_free_if_empty(h, g);
	return err;
}

int vb_qp_detach_mcast(struct vb_qp *qp, const struct vb_gid *gid, uint16_t lid)
{
	struct vb_mcast_group *g = group_find(qp->hca, gid, lid);
	uint32_t i = g ? member_index(g, qp) : 0;

	if (!g || i == g->cnt)
		return VB_REFUSE(qp->hca, -EINVAL, VB_REFUSAL_MCAST_NOT);
	/* The others stay in the order in which they came. */
	for (g->cnt--; i < g->cnt; i++)
		g->qp[i] = g->qp[i + 1];
	qp->mcast_cnt--;
	VB_ASSERT_ALL(qp->mcast_cnt != UINT32_MAX);
	group_free_if_empty(qp->hca, g);
	return 0;
}

bool vb_qp_mcast_group(const struct vb_qp *qp, struct vb_gid *gid, uint16_t *lid)
{
	const struct vb_hca *h = qp->hca;

	for (struct vb_list *l = h->mcast.next; qp->mcast_cnt && l != &h->mcast; l = l->next) {
		struct vb_mcast_group *g = vb_container_of(l, struct vb_mcast_group, link);

		if (member_index(g, qp) < g->cnt) {
			*gid = g->gid;
			*lid = g->lid;
			return true;
		}
	}
	return false;
}

/* A port of InfiniBand gives a packet that it sends to the other QPs of the group there, but not to
 * the QP that sent it. On a fabric each QP has a number of its own. FAB-57 */
static bool is_own_copy(const struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx)
{
	return vb_path_has_lid(rx->path) && qp->qpn == hdr->deth.sqpn;
}

enum vb_verdict vb_mcast_deliver(struct vb_hca *h, const struct vb_hdr *hdr, const struct vb_rx *rx,
				 vb_time now)
{
	const struct vb_mcast_group *g = group_find(h, &rx->path->dgid, rx->path->dlid);
	enum vb_verdict first = VB_VERDICT_QPN;

	if ((hdr->opcode & VB_TRANSPORT_MASK) != VB_TRANSPORT_UD)
		return VB_VERDICT_TRANSPORT;
	for (uint32_t i = 0; g && i < g->cnt; i++) {
		enum vb_verdict v;

		if (is_own_copy(g->qp[i], hdr, rx)) {
			first = first == VB_VERDICT_QPN ? VB_VERDICT_OK : first;
			continue;
		}
		v = vb_qp_deliver(g->qp[i], hdr, rx, now);

		/* It has arrived when anybody took it. */
		if (first == VB_VERDICT_QPN || v == VB_VERDICT_OK)
			first = v;
	}
	return first;
}

void vb_mcast_free(struct vb_hca *h)
{
	while (!vb_list_is_empty(&h->mcast)) {
		struct vb_mcast_group *g =
		    vb_container_of(h->mcast.next, struct vb_mcast_group, link);

		while (g->cnt)
			g->qp[--g->cnt]->mcast_cnt--;
		group_free_if_empty(h, g);
	}
}
