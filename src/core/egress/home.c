/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether receivers are on this host: found once for each path, kept in it for the link, and found
 * again when the addresses of the host have changed. See vb_hca_config.find_home.
 */
#include "core/egress/egress.h"

#include "core/cc/point.h"
#include "core/dc/dc.h"
#include "core/hca.h"
#include "core/qp/qp.h"

void vb_egress_find_home(const struct vb_hca *h, struct vb_path *path)
{
	path->home = h->cfg.find_home ? h->cfg.find_home(h->cfg.receiver_ctx, path) : 0;
}

static void qp_find_home(struct vb_qp *qp)
{
	struct vb_qp *channel;

	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++) {
		vb_egress_find_home(channel->hca, &channel->attr.path);
		vb_cc_refresh(channel); /* which has the path with other classes */
	}
}

/* Contexts of a DCT and queued work requests keep their old homes, which count for nothing by their
 * generation: the link looks theirs up. */
void vb_hca_find_homes(struct vb_hca *h)
{
	for (uint32_t i = 0; h->cfg.find_home && i < h->qp_cap; i++) {
		if (h->qp[i] && h->qp[i]->state >= VB_QPS_RTR)
			qp_find_home(h->qp[i]);
	}
}
