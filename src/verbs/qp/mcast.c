/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups. An MGID is an IPv6 multicast address, or ::ffff:a.b.c.d for one of IPv4; the
 * host joins it by IGMP or MLD on the network device of the QP's device. LIDs do not matter.
 * ibv_attach_mcast(3); facts B.9
 */
#include "verbs/priv.h"

#include <arpa/inet.h>
#include <string.h>

/* Scopes of an IPv6 multicast address. RFC 4291 2.7 */
enum { SCOPE_RESERVED, SCOPE_INTERFACE };

/*
 * A NIC puts the MGID into the IP header, whatever its scope. Linux sends nothing of scope 1 and
 * takes nothing of scopes 0 and 1 from a wire; and with another address there, a NIC among the
 * members would not know its group.
 */
bool vb_ibv_mcast_reaches(const struct vb_ibv_context *c, const struct vb_gid *gid)
{
	static _Atomic bool said;
	unsigned scope = gid->b[1] & 0xf;
	char text[INET6_ADDRSTRLEN];

	if (gid->b[0] != 0xff || scope > SCOPE_INTERFACE ||
	    (scope == SCOPE_INTERFACE && strcmp(c->table.ifname, "lo") == 0))
		return true;
	inet_ntop(AF_INET6, gid->b, text, sizeof text);
	vb_ibv_complain(&said,
			"the multicast group %s has scope %u, which Linux keeps off the network: "
			"take one of scope 2 to 14, such as ff0e::1 (perftest: -M)",
			text, scope);
	return false;
}

int ibv_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	struct vb_gid g;

	(void)lid;
	if (vb_ibv_check(ibv, VB_OBJECT_QP))
		return vb_ibv_result(ENOENT);
	memcpy(g.b, gid->raw, sizeof g.b);
	if (!vb_ibv_enter(c))
		return vb_ibv_result(EIO);

	int err = vb_ibv_mcast_reaches(c, &g) ? -vb_qp_attach_mcast(qp->core, &g) : EINVAL;

	if (!err) {
		err = -vb_engine_join(c->engine, c->port, &g);
		if (err)
			(void)vb_qp_detach_mcast(qp->core, &g);
	} else if (err == EEXIST) {
		err = 0; /* once is enough */
	}
	vb_ibv_leave(c);
	return vb_ibv_result(err);
}

/* Under the lock. */
static int detach_group(struct vb_ibv_context *c, struct vb_ibv_qp *qp, const struct vb_gid *g)
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
	if (vb_ibv_check(ibv, VB_OBJECT_QP))
		return vb_ibv_result(ENOENT);
	memcpy(g.b, gid->raw, sizeof g.b);
	if (!vb_ibv_enter(c))
		return vb_ibv_result(EIO);

	int err = detach_group(c, (struct vb_ibv_qp *)ibv, &g);

	vb_ibv_leave(c);
	return vb_ibv_result(err);
}

void vb_ibv_detach_all(struct vb_ibv_qp *qp)
{
	struct vb_gid g;

	while (vb_qp_mcast_group(qp->core, &g))
		(void)detach_group(vb_ibv_ctx(qp->ibv.context), qp, &g);
}
