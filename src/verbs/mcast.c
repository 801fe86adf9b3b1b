/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups. An MGID is an IPv6 multicast address, or ::ffff:a.b.c.d for one of IPv4; the
 * host joins it by IGMP or MLD on the network device of the QP's device. LIDs do not matter.
 * ibv_attach_mcast(3); facts B.9
 */
#include "verbs/priv.h"

#include <string.h>

int ibv_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	struct vb_gid g;

	(void)lid;
	memcpy(g.b, gid->raw, sizeof g.b);
	if (!vb_ibv_enter(c))
		return EIO;

	int err = -vb_qp_attach_mcast(qp->core, &g);

	if (!err) {
		err = -vb_engine_join(c->engine, c->port, &g);
		if (err)
			(void)vb_qp_detach_mcast(qp->core, &g);
	} else if (err == EEXIST) {
		err = 0; /* once is enough */
	}
	vb_ibv_leave(c);
	return err;
}

/* Under the lock. */
static int detach(struct vb_ibv_context *c, struct vb_ibv_qp *qp, const struct vb_gid *g)
{
	int err = -vb_qp_detach_mcast(qp->core, g);

	if (!err)
		vb_engine_leave(c->engine, c->port, g);
	return err;
}

int ibv_detach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	struct vb_gid g;

	(void)lid;
	memcpy(g.b, gid->raw, sizeof g.b);
	if (!vb_ibv_enter(c))
		return EIO;

	int err = detach(c, (struct vb_ibv_qp *)ibv, &g);

	vb_ibv_leave(c);
	return err;
}

void vb_ibv_detach_all(struct vb_ibv_qp *qp)
{
	struct vb_gid g;

	while (vb_qp_mcast_group(qp->core, &g))
		(void)detach(vb_ibv_ctx(qp->ibv.context), qp, &g);
}
