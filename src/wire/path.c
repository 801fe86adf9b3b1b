/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP source port of a path, and the GRH that a UD receive buffer begins with. IBA A17; facts B.1
 */
#include "wire/path.h"

#include "base/assert.h"
#include "wire/be.h"
#include "wire/ib/grh.h"

#include <errno.h>

#define FLOW_LABEL_MASK 0xfffffu
#define SPORT_MIN 0xc000u
#define IPPROTO_NUM_UDP 17
#define NEXT_HEADER_IBA 0x1b /* IBA 8.3: BTH follows */
#define IPV4_HDR_LEN 20
#define IPV4_DF 0x4000
#define UDP_HDR_LEN 8
#define HOP_LIMIT 64

uint16_t vb_udp_sport(uint32_t flow_label, uint32_t qpn, uint32_t dqpn)
{
	uint32_t fl = flow_label & FLOW_LABEL_MASK;

	if (fl == 0) {
		/* The product is the same seen from both ends. */
		uint64_t v = (uint64_t)qpn * dqpn;

		v ^= v >> 20;
		v ^= v >> 40;
		fl = v & FLOW_LABEL_MASK;
	}
	return (uint16_t)(((fl & 0x3fff) ^ (fl & 0xfc000) >> 14) | SPORT_MIN);
}

struct vb_path vb_path_back(const struct vb_path *path)
{
	struct vb_path back = *path;

	back.sgid = path->dgid;
	back.dgid = path->sgid;
	back.slid = path->dlid;
	back.dlid = path->slid;
	back.traffic_class &= (uint8_t)~VB_ECN_MASK;
	/* The hops that are left of a packet that came say nothing about the way back. */
	back.hop_limit = HOP_LIMIT;
	back.udp_sport = 0;
	back.home = 0;
	return back;
}

static uint16_t ipv4_checksum(const uint8_t *hdr)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < IPV4_HDR_LEN; i += 2)
		sum += be16_get(hdr + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Readers tell IPv4 from IPv6 by the checksum: rdma-core's ibv_init_ah_from_wc() checks it. */
static void emit_ipv4(const struct vb_path *p, uint32_t len, uint8_t *ip)
{
	VB_ASSERT_ALL(IPV4_HDR_LEN + UDP_HDR_LEN + len <= UINT16_MAX);
	memset(ip, 0, IPV4_HDR_LEN);
	ip[0] = 0x45;
	ip[1] = p->traffic_class;
	be16_put(ip + 2, (uint16_t)(IPV4_HDR_LEN + UDP_HDR_LEN + len));
	be16_put(ip + 6, IPV4_DF);
	ip[8] = p->hop_limit;
	ip[9] = IPPROTO_NUM_UDP;
	memcpy(ip + 12, p->sgid.b + 12, 4);
	memcpy(ip + 16, p->dgid.b + 12, 4);
	be16_put(ip + 10, ipv4_checksum(ip));
}

void vb_path_emit_grh(const struct vb_path *p, uint32_t len, uint8_t *grh)
{
	bool is_roce = !vb_path_has_lid(p);

	VB_ASSERT_ALL(len + UDP_HDR_LEN <= UINT16_MAX);
	if (is_roce && vb_gid_is_ipv4(&p->sgid)) {
		memset(grh, 0, VB_GRH_LEN - IPV4_HDR_LEN);
		emit_ipv4(p, len, grh + VB_GRH_LEN - IPV4_HDR_LEN);
		return;
	}
	vb_grh_emit(&(struct vb_grh){.version = 6,
				     .traffic_class = p->traffic_class,
				     .flow_label = p->flow_label,
				     .pay_len = (uint16_t)(len + (is_roce ? UDP_HDR_LEN : 0)),
				     .next_header = is_roce ? IPPROTO_NUM_UDP : NEXT_HEADER_IBA,
				     .hop_limit = p->hop_limit,
				     .sgid = p->sgid,
				     .dgid = p->dgid},
		    grh);
}

static void mapped_gid(struct vb_gid *g, const uint8_t *address)
{
	*g = (struct vb_gid){{[10] = 0xff, [11] = 0xff}};
	memcpy(g->b + 12, address, 4);
}

int vb_path_parse_grh(struct vb_path *p, const uint8_t *grh)
{
	const uint8_t *ip = grh + VB_GRH_LEN - IPV4_HDR_LEN;

	*p = (struct vb_path){0};
	if (grh[0] >> 4 == 6) {
		struct vb_grh h;

		vb_grh_parse(&h, grh);
		p->traffic_class = h.traffic_class;
		p->flow_label = h.flow_label;
		p->hop_limit = h.hop_limit;
		p->sgid = h.sgid;
		p->dgid = h.dgid;
		return 0;
	}
	if (ip[0] != 0x45 || ipv4_checksum(ip) != 0)
		return -EINVAL;
	p->traffic_class = ip[1];
	p->hop_limit = ip[8];
	mapped_gid(&p->sgid, ip + 12);
	mapped_gid(&p->dgid, ip + 16);
	return 0;
}
