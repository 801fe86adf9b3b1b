/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups. An MGID is an IPv6 multicast address, or ::ffff:a.b.c.d for one of IPv4; the
 * host joins it by IGMP or MLD on the network device of the QP's device; LIDs do not matter there.
 * On a fabric the program has joined it by the subnet manager, which gave it an MLID: see
 * link/ib/map.h. ibv_attach_mcast(3); facts B.9
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

	if (vb_ibv_is_ib(c) || gid->b[0] != 0xff || scope > SCOPE_INTERFACE ||
	    (scope == SCOPE_INTERFACE && strcmp(c->table[0].ifname, "lo") == 0))
		return true;
	inet_ntop(AF_INET6, gid->b, text, sizeof text);
	vb_ibv_complain(&said,
			"the multicast group %s has scope %u, which Linux keeps off the network: "
			"take one of scope 2 to 14, such as ff0e::1 (perftest: -M)",
			text, scope);
	return false;
}

/* The LID that tells groups of one GID apart. */
static uint16_t group_lid(const struct vb_ibv_context *c, uint16_t lid)
{
	return vb_ibv_is_ib(c) ? lid : 0;
}

/* Under the lock. Returns 0 or an errno. */
static int attach_group(struct vb_ibv_context *c, struct vb_ibv_qp *qp, const struct vb_gid *g,
			uint16_t lid)
{
	if (vb_ibv_is_ib(c) && (lid < VB_IBV_MLID_FIRST || lid > VB_IBV_MLID_LAST))
		return VB_IBV_WHY(EINVAL,
				  "lid 0x%x is not that of a multicast group of a fabric, which "
				  "is 0x%x to 0x%x (MCMemberRecord.MLID)",
				  lid, VB_IBV_MLID_FIRST, VB_IBV_MLID_LAST);
	if (!vb_ibv_mcast_reaches(c, g))
		return VB_IBV_WHY(EINVAL,
				  "gid is of scope %u, which Linux keeps off the network "
				  "(RFC 4291 2.7)",
				  g->b[1] & 0xfu);

	int err = -vb_qp_attach_mcast(qp->core, g, lid);

	if (err == EEXIST)
		return 0; /* once is enough */
	if (err)
		return vb_ibv_why_core(c, err);
	err = -vb_engine_join(c->engine, c->port, g, lid);
	if (!err)
		return 0;
	(void)vb_qp_detach_mcast(qp->core, g, lid);
	return VB_IBV_WHY(err, "the kernel does not join the group on %s: %s (ip(7), ipv6(7))",
			  c->table[0].ifname, strerrordesc_np(err));
}

int ibv_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	struct vb_gid g;

	if (vb_ibv_check(ibv, VB_OBJECT_QP))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_attach_mcast");
	memcpy(g.b, gid->raw, sizeof g.b);
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_attach_mcast");

	int err = attach_group(c, qp, &g, group_lid(c, lid));

	vb_ibv_leave(c);
	return err ? vb_ibv_refuse(c, err, "ibv_attach_mcast to QP 0x%06x", ibv->qp_num) : 0;
}

/* Under the lock. */
static int detach_group(struct vb_ibv_context *c, struct vb_ibv_qp *qp, const struct vb_gid *g,
			uint16_t lid)
{
	int err = -vb_qp_detach_mcast(qp->core, g, lid);

	if (err)
		return vb_ibv_why_core(c, err);
	vb_engine_leave(c->engine, c->port, g, lid);
	return 0;
}

int ibv_detach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	struct vb_gid g;

	if (vb_ibv_check(ibv, VB_OBJECT_QP))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_detach_mcast");
	memcpy(g.b, gid->raw, sizeof g.b);
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_detach_mcast");

	int err = detach_group(c, (struct vb_ibv_qp *)ibv, &g, group_lid(c, lid));

	vb_ibv_leave(c);
	return err ? vb_ibv_refuse(c, err, "ibv_detach_mcast from QP 0x%06x", ibv->qp_num) : 0;
}

void vb_ibv_detach_all(struct vb_ibv_qp *qp)
{
	struct vb_gid g;
	uint16_t lid;

	while (vb_qp_mcast_group(qp->core, &g, &lid))
		(void)detach_group(vb_ibv_ctx(qp->ibv.context), qp, &g, lid);
}
