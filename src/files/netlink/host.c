/* SPDX-License-Identifier: BSD-2-Clause */
/* Gathers what the messages of NETLINK_RDMA tell of, see host.h. Slot memory is another program's
 * word: counts in it are bounded, views healed. */
#include "files/netlink/host.h"

#include "node/broker/broker.h"

#include <errno.h>
#include <stdlib.h>

/* Adds the views that process @s wrote. */
static int add_views(struct vb_nl_host *h, const struct vb_slot_shm *s)
{
	const struct vb_explain_shm *x = &s->explain;
	uint32_t cnt;

	vb_explain_read(x, &x->view_cnt, &cnt, sizeof cnt);
	if (cnt > VB_VIEWS)
		cnt = VB_VIEWS;
	struct vb_nl_qp *qp = realloc(h->qp, (h->qp_cnt + cnt + 1) * sizeof *qp);

	if (!qp)
		return -ENOMEM;
	h->qp = qp;
	for (uint32_t i = 0; i < cnt; i++) {
		struct vb_nl_qp *to = &qp[h->qp_cnt];

		to->pid = s->pid;
		vb_explain_read(x, &x->view[i], &to->view, sizeof to->view);
		vb_view_heal(&to->view);
		/* One that has ended meanwhile. */
		h->qp_cnt += to->pid != 0;
	}
	return 0;
}

static int gather_qps(struct vb_nl_host *h, struct vb_broker_observer *o)
{
	uint32_t asked;
	int rc = vb_broker_ask_views(o, 0, &asked);

	if (!rc)
		rc = vb_broker_observe_slots(o);
	if (rc)
		return rc;
	vb_broker_await_views(o, asked);
	for (uint32_t k = VB_SLOT_FIRST; k < VB_SLOT_CNT && !rc; k++)
		if (o->slot[k] && o->slot[k]->pid)
			rc = add_views(h, o->slot[k]);
	return rc;
}

static int gather_all(struct vb_nl_host *h, struct vb_broker_observer *o, enum vb_nl_depth depth)
{
	int rc = vb_broker_observe_slots(o);

	if (rc)
		return rc;
	vb_host_read(o->host, &h->host);
	vb_broker_totals(o, h->total);
	if (depth >= VB_NL_QPS)
		rc = gather_qps(h, o);
	if (rc || depth < VB_NL_CONNECTIONS)
		return rc;
	h->cm = malloc(sizeof *h->cm);
	return h->cm ? vb_broker_connections(o, h->cm) : -ENOMEM;
}

int vb_nl_host_gather(struct vb_nl_host **to, enum vb_nl_depth depth)
{
	struct vb_broker_observer o;
	struct vb_nl_host *h = calloc(1, sizeof *h);
	char why[256];
	int rc;

	if (!h)
		return -ENOMEM;
	rc = vb_broker_observe(&o, true, why, sizeof why);
	if (!rc) {
		rc = gather_all(h, &o, depth);
		vb_broker_observe_end(&o);
	}
	if (rc) {
		vb_nl_host_free(h);
		return rc;
	}
	*to = h;
	return 0;
}

void vb_nl_host_free(struct vb_nl_host *h)
{
	free(h->qp);
	free(h->cm);
	free(h);
}
