/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses: struct sockaddr_in, sockaddr_in6 and sockaddr_ib as Linux lays them out, and the IP
 * header that stands in front of the private data of REQ and SIDR_REQ. ip(7), ipv6(7); IBA A11.6;
 * CMP-28, CMP-50
 */
#include "ucma/priv.h"
#include "wire/be.h"

#include <errno.h>

static struct vb_gid mapped_gid(const uint8_t *ipv4)
{
	struct vb_gid g = {{[10] = 0xff, [11] = 0xff}};

	memcpy(g.b + 12, ipv4, 4);
	return g;
}

/* struct sockaddr_ib: the port is that of the service ID. */
static void ib_parse(struct vb_ucma_addr *a, const uint8_t bytes[VB_UCMA_SOCKADDR_IB])
{
	uint64_t scope;

	a->pkey = be16_get(bytes + 2);
	a->flow_info = be32_get(bytes + 4);
	memcpy(a->gid.b, bytes + 8, sizeof a->gid.b);
	a->sid = be64_get(bytes + 24);
	a->sid_mask = be64_get(bytes + 32);
	memcpy(&scope, bytes + 40, sizeof scope);
	a->scope = (uint32_t)scope;
	a->port = (uint16_t)(a->sid & a->sid_mask);
}

static uint16_t ib_emit(const struct vb_ucma_addr *a, uint8_t *bytes, uint32_t room)
{
	uint8_t ib[VB_UCMA_SOCKADDR_IB];
	uint64_t scope = a->scope;

	memcpy(ib, &a->family, sizeof a->family);
	be16_put(ib + 2, a->pkey);
	be32_put(ib + 4, a->flow_info);
	memcpy(ib + 8, a->gid.b, sizeof a->gid.b);
	be64_put(ib + 24, a->sid);
	be64_put(ib + 32, a->sid_mask);
	memcpy(ib + 40, &scope, sizeof scope);
	/* A buffer as long as a sockaddr_in6 takes the beginning. */
	memcpy(bytes, ib, room < sizeof ib ? room : sizeof ib);
	return VB_UCMA_SOCKADDR_IB;
}

int vb_ucma_addr_parse(struct vb_ucma_addr *a, const uint8_t *bytes, uint32_t len)
{
	uint16_t family;

	*a = (struct vb_ucma_addr){0};
	if (len < sizeof family)
		return -EINVAL;
	memcpy(&family, bytes, sizeof family);
	a->family = family;
	if (family == 0)
		return 0;
	if (family == VB_UCMA_AF_INET) {
		if (len < VB_UCMA_SOCKADDR_IN)
			return -EINVAL;
		a->gid = mapped_gid(bytes + 4);
	} else if (family == VB_UCMA_AF_INET6) {
		if (len < VB_UCMA_SOCKADDR_IN6)
			return -EINVAL;
		memcpy(a->gid.b, bytes + 8, sizeof a->gid.b);
		memcpy(&a->scope, bytes + 24, sizeof a->scope);
	} else if (family == VB_UCMA_AF_IB) {
		if (len < VB_UCMA_SOCKADDR_IB)
			return -EINVAL;
		ib_parse(a, bytes);
		return 0;
	} else {
		return -EAFNOSUPPORT;
	}
	a->port = be16_get(bytes + 2);
	return 0;
}

uint16_t vb_ucma_addr_emit(const struct vb_ucma_addr *a, uint8_t *bytes, uint32_t room)
{
	assert(room >= VB_UCMA_SOCKADDR_IN6);
	memset(bytes, 0, room);
	if (a->family == 0)
		return 0;
	if (a->family == VB_UCMA_AF_IB)
		return ib_emit(a, bytes, room);
	memcpy(bytes, &a->family, sizeof a->family);
	be16_put(bytes + 2, a->port);
	if (a->family == VB_UCMA_AF_INET) {
		memcpy(bytes + 4, a->gid.b + 12, 4);
		return VB_UCMA_SOCKADDR_IN;
	}
	memcpy(bytes + 8, a->gid.b, sizeof a->gid.b);
	memcpy(bytes + 24, &a->scope, sizeof a->scope);
	return VB_UCMA_SOCKADDR_IN6;
}

bool vb_ucma_addr_is_any(const struct vb_ucma_addr *a)
{
	static const uint8_t none[16];

	if (a->family == VB_UCMA_AF_INET)
		return memcmp(a->gid.b + 12, none, 4) == 0;
	return a->family == 0 || memcmp(a->gid.b, none, sizeof none) == 0;
}

bool vb_ucma_addr_is_loopback(const struct vb_ucma_addr *a)
{
	static const uint8_t one[16] = {[15] = 1};

	if (vb_gid_is_ipv4(&a->gid))
		return a->gid.b[12] == 127;
	return memcmp(a->gid.b, one, sizeof one) == 0;
}

bool vb_ucma_addr_eq(const struct vb_ucma_addr *a, const struct vb_ucma_addr *b)
{
	return vb_gid_eq(&a->gid, &b->gid) && (!a->scope || !b->scope || a->scope == b->scope);
}

struct vb_ucma_addr vb_ucma_addr_of(const struct vb_gid *g, uint16_t port)
{
	return (struct vb_ucma_addr){.family =
					 vb_gid_is_ipv4(g) ? VB_UCMA_AF_INET : VB_UCMA_AF_INET6,
				     .port = port,
				     .gid = *g};
}

/* An address in its 16 bytes: that of IPv4 is the last 4, behind zeros. */
static void ip_emit(const struct vb_gid *g, uint8_t *bytes)
{
	memset(bytes, 0, sizeof g->b);
	if (vb_gid_is_ipv4(g))
		memcpy(bytes + 12, g->b + 12, 4);
	else
		memcpy(bytes, g->b, sizeof g->b);
}

void vb_ucma_ip_hdr_emit(const struct vb_ucma_ip_hdr *h, uint8_t bytes[VB_UCMA_IP_HDR])
{
	memset(bytes, 0, VB_UCMA_IP_HDR);
	bytes[1] = vb_gid_is_ipv4(&h->dst.gid) ? 0x40 : 0x60;
	be16_put(bytes + 2, h->src.port);
	ip_emit(&h->src.gid, bytes + 4);
	ip_emit(&h->dst.gid, bytes + 20);
}

int vb_ucma_ip_hdr_parse(struct vb_ucma_ip_hdr *h, const uint8_t bytes[VB_UCMA_IP_HDR])
{
	struct vb_gid src, dst;

	if (bytes[0] != 0)
		return -EPROTO;
	if (bytes[1] >> 4 == 4) {
		src = mapped_gid(bytes + 16);
		dst = mapped_gid(bytes + 32);
	} else if (bytes[1] >> 4 == 6) {
		memcpy(src.b, bytes + 4, sizeof src.b);
		memcpy(dst.b, bytes + 20, sizeof dst.b);
		if (vb_gid_is_ipv4(&src) || vb_gid_is_ipv4(&dst))
			return -EPROTO;
	} else {
		return -EPROTO;
	}
	h->src = vb_ucma_addr_of(&src, be16_get(bytes + 2));
	h->dst = vb_ucma_addr_of(&dst, 0);
	return 0;
}
