/* SPDX-License-Identifier: BSD-2-Clause */
/* Address handles, and how to answer a UD message. */
#include "verbs/priv.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* As Linux takes it over RoCE. 0 and 1 do not mean an IP TTL: InfiniBand programs write them for a
 * path that no router is on, and a packet with TTL 1 would not reach a peer behind one. On
 * InfiniBand they mean that: no router passes such a packet on. FAB-06 */
#define HOP_LIMIT_DEFAULT 64

static const struct vb_gid gid_none;

/* The LIDs and the service level of a path. IBA 11.2.2.1 */
static int lid_path(const struct vb_device *d, const struct ibv_ah_attr *attr, struct vb_path *path)
{
	uint32_t bits = (1u << (d->ib.lmc & 7)) - 1;

	if (attr->dlid == 0)
		return VB_IBV_WHY(EINVAL, "ah_attr.dlid is 0, and packets of InfiniBand go by LID "
					  "(IBA 4.1.3)");
	if (attr->dlid >= VB_IBV_MLID_FIRST && (!attr->is_global || attr->grh.dgid.raw[0] != 0xff))
		return VB_IBV_WHY(EINVAL,
				  "ah_attr.dlid 0x%x is that of a multicast group, and "
				  "ah_attr.grh.dgid not that of one (IBA 8.3)",
				  attr->dlid);
	if (attr->dlid > VB_IBV_MLID_LAST)
		return VB_IBV_WHY(EINVAL,
				  "ah_attr.dlid 0x%x is above 0x%x, the last multicast LID of a "
				  "fabric here",
				  attr->dlid, VB_IBV_MLID_LAST);
	path->dlid = attr->dlid;
	path->slid = (uint16_t)(d->ib.lid | (attr->src_path_bits & bits));
	return 0;
}

/* The GIDs of a path. */
static int gid_path(struct vb_ibv_context *c, const struct ibv_ah_attr *attr, struct vb_path *path)
{
	const struct vb_gid *sgid = vb_ibv_gid(c, attr->port_num, attr->grh.sgid_index);

	path->flow_label = attr->grh.flow_label & 0xfffff;
	path->traffic_class = attr->grh.traffic_class;
	path->hop_limit =
	    attr->grh.hop_limit > 1 || vb_ibv_is_ib(c) ? attr->grh.hop_limit : HOP_LIMIT_DEFAULT;
	memcpy(path->dgid.b, attr->grh.dgid.raw, sizeof path->dgid.b);
	if (!sgid)
		return VB_IBV_WHY(EINVAL,
				  "ah_attr.grh.sgid_index %u is an empty entry of the GID "
				  "table (ibv_query_gid(3))",
				  attr->grh.sgid_index);
	if (vb_gid_eq(&path->dgid, &gid_none))
		return VB_IBV_WHY(EINVAL, "ah_attr.grh.dgid is zero, the address of nobody");
	/* A packet has addresses of one family. */
	if (vb_gid_is_ipv4(sgid) != vb_gid_is_ipv4(&path->dgid))
		return VB_IBV_WHY(EINVAL,
				  "ah_attr.grh.dgid is of %s, and sgid_index %u of %s: a "
				  "packet has addresses of one family",
				  vb_gid_is_ipv4(sgid) ? "IPv6" : "IPv4", attr->grh.sgid_index,
				  vb_gid_is_ipv4(sgid) ? "IPv4" : "IPv6");
	if (!vb_ibv_mcast_reaches(c, &path->dgid))
		return VB_IBV_WHY(EINVAL, "ah_attr.grh.dgid is a multicast address that does not "
					  "leave the host");
	path->sgid = *sgid;
	return 0;
}

int vb_ibv_path(struct vb_ibv_context *c, const struct ibv_ah_attr *attr, struct vb_path *path)
{
	const struct vb_device *d = vb_ibv_port(c, attr->port_num);
	int err = 0;

	if (!attr->is_global && !vb_ibv_is_ib(c))
		return VB_IBV_WHY(EINVAL, "ah_attr.is_global is 0, and RoCE has no LIDs: every "
					  "path is global (IBA A16.4.3)");
	if (!d)
		return vb_ibv_why_port(c, attr->port_num);
	*path = (struct vb_path){.port = (uint8_t)(c->port + attr->port_num - VB_IBV_PORT),
				 .sl = attr->sl & 0xf};
	vb_ibv_refresh(c);
	if (vb_ibv_is_ib(c))
		err = lid_path(d, attr, path);
	return err || !attr->is_global ? err : gid_path(c, attr, path);
}

/* The rates of enum ibv_rate, Mb/s. IBA 9.11.1, table 63 */
static const uint32_t rate_mbps[] = {
    [IBV_RATE_2_5_GBPS] = 2500,   [IBV_RATE_10_GBPS] = 10000,   [IBV_RATE_30_GBPS] = 30000,
    [IBV_RATE_5_GBPS] = 5000,     [IBV_RATE_20_GBPS] = 20000,   [IBV_RATE_40_GBPS] = 40000,
    [IBV_RATE_60_GBPS] = 60000,   [IBV_RATE_80_GBPS] = 80000,   [IBV_RATE_120_GBPS] = 120000,
    [IBV_RATE_14_GBPS] = 14062,   [IBV_RATE_56_GBPS] = 56250,   [IBV_RATE_112_GBPS] = 112500,
    [IBV_RATE_168_GBPS] = 168750, [IBV_RATE_25_GBPS] = 25781,   [IBV_RATE_100_GBPS] = 103125,
    [IBV_RATE_200_GBPS] = 206250, [IBV_RATE_300_GBPS] = 309375, [IBV_RATE_28_GBPS] = 28125,
    [IBV_RATE_50_GBPS] = 53125,   [IBV_RATE_400_GBPS] = 425000, [IBV_RATE_600_GBPS] = 637500,
};

/* A number that is no rate is none, as with other adapters; nor is a rate that the port has not. */
uint32_t vb_ibv_path_kbps(const struct vb_ibv_context *c, const struct ibv_ah_attr *attr)
{
	const struct vb_device *d = vb_ibv_port(c, attr->port_num);
	uint32_t port = d && d->speed_mbps ? d->speed_mbps : VB_IBV_UNKNOWN_MBPS;
	uint32_t mbps = attr->static_rate < sizeof rate_mbps / sizeof rate_mbps[0]
			    ? rate_mbps[attr->static_rate]
			    : 0;

	return mbps < port ? mbps * 1000 : 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *ibv_pd, struct ibv_ah_attr *attr)
{
	if (vb_ibv_check(ibv_pd, VB_OBJECT_PD))
		return VB_IBV_REFUSE_NULL(NULL, ENOENT, "ibv_create_ah");

	struct vb_ibv_context *c = vb_ibv_ctx(ibv_pd->context);
	struct vb_ibv_ah *ah = vb_object_new(VB_OBJECT_AH, sizeof *ah);
	int err = EIO;

	if (!ah)
		return vb_ibv_null(ENOMEM);
	if (vb_ibv_enter(c)) {
		err = vb_ibv_path(c, attr, &ah->core.path);
		if (!err) {
			ah->core.kbps = vb_ibv_path_kbps(c, attr);
			vb_ibv_pd_hold(ibv_pd);
		}
		vb_ibv_leave(c);
	}
	if (err) {
		vb_object_free(ah);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_create_ah");
	}
	ah->core.pd = ((struct vb_ibv_pd *)ibv_pd)->core;
	ah->ibv.context = ibv_pd->context;
	ah->ibv.pd = ibv_pd;
	vb_ibv_name(&ah->ibv);
	return &ah->ibv;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	if (vb_ibv_check(ah, VB_OBJECT_AH))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_destroy_ah");

	struct vb_ibv_context *c = vb_ibv_ctx(ah->context);

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_destroy_ah");
	vb_ibv_pd_drop(ah->pd);
	vb_ibv_leave(c);
	vb_object_free(ah);
	return 0;
}

static uint16_t ip_checksum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static struct vb_gid gid_of_ipv4(const uint8_t *addr)
{
	struct vb_gid g = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};

	memcpy(g.b + 12, addr, 4);
	return g;
}

/* The fields of the 40 bytes in front of a UD message. IBT-21 */
struct received_grh {
	struct vb_gid sgid, dgid;
	uint32_t flow_label;
	uint8_t traffic_class;
};

static bool grh_read(const uint8_t *grh, struct received_grh *r)
{
	const uint8_t *ip = grh + 20;

	*r = (struct received_grh){0};
	/* The first 20 bytes are undefined before an IPv4 header, so that is tried first; the
	 * checksum tells it from the middle of an IPv6 header. */
	if (ip[0] == 0x45 && ip_checksum(ip, 20) == 0) {
		r->traffic_class = ip[1];
		r->sgid = gid_of_ipv4(ip + 12);
		r->dgid = gid_of_ipv4(ip + 16);
		return true;
	}
	if (grh[0] >> 4 != 6)
		return false;
	r->traffic_class = (uint8_t)(grh[0] << 4 | grh[1] >> 4);
	r->flow_label = (uint32_t)(grh[1] & 0xf) << 16 | (uint32_t)grh[2] << 8 | grh[3];
	memcpy(r->sgid.b, grh + 8, sizeof r->sgid.b);
	memcpy(r->dgid.b, grh + 24, sizeof r->dgid.b);
	return true;
}

/* The index of @gid in the table of port @port, or -1. A message to a group is answered from the
 * first address of its family. */
static int gid_index(struct vb_ibv_context *c, uint32_t port, const struct vb_gid *gid)
{
	int found = -1;

	if (!vb_ibv_enter(c))
		return -1;
	for (uint32_t i = 0; i < VB_GIDS_MAX && found < 0; i++) {
		const struct vb_gid *g = vb_ibv_gid(c, port, i);

		if (g && (vb_gid_is_multicast(gid) ? vb_gid_is_ipv4(g) == vb_gid_is_ipv4(gid)
						   : vb_gid_eq(g, gid)))
			found = (int)i;
	}
	vb_ibv_leave(c);
	return found;
}

/* The fields of the completion and the GRH of a message, in *r. Returns 0 or an errno. */
static int received_check(const struct vb_ibv_context *c, uint8_t port, const struct ibv_wc *wc,
			  const uint8_t *grh, struct received_grh *r)
{
	if (!vb_ibv_port(c, port))
		return vb_ibv_why_port(c, port);
	if (!(wc->wc_flags & IBV_WC_GRH) && vb_ibv_is_ib(c))
		return 0;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return VB_IBV_WHY(EINVAL, "wc_flags lack IBV_WC_GRH: the message came without one");
	if (!grh_read(grh, r))
		return VB_IBV_WHY(EINVAL, "the 40 bytes of the GRH are neither an IPv4 header nor "
					  "one of IPv6 (IBA A17.4.5.1)");
	return 0;
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct received_grh r = {0};

	memset(attr, 0, sizeof *attr);

	int err = received_check(c, port, wc, (const uint8_t *)grh, &r);
	bool has_grh = wc->wc_flags & IBV_WC_GRH;
	int index = err || !has_grh ? 0 : gid_index(c, port, &r.dgid);

	if (!err && index < 0)
		err = VB_IBV_WHY(EINVAL, "the GID that the message came to is not in the table of "
					 "the port");
	if (err)
		return VB_IBV_REFUSE_FAIL(c, err, "ibv_init_ah_from_wc");
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port;
	if (!has_grh)
		return 0;
	attr->is_global = 1;
	memcpy(attr->grh.dgid.raw, r.sgid.b, sizeof r.sgid.b);
	attr->grh.sgid_index = (uint8_t)index;
	attr->grh.flow_label = r.flow_label;
	attr->grh.traffic_class = r.traffic_class;
	attr->grh.hop_limit = 0xff;
	return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}
