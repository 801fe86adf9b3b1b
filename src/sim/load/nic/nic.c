/* SPDX-License-Identifier: BSD-2-Clause */
/* The choice of NICs. See nic.h. */
#include "sim/load/nic/nic.h"

#include "base/assert.h"

#include <stddef.h>

/* NICs from one on. */
struct range {
	uint32_t first, cnt;
};

uint32_t vb_nic_host(const struct vb_nics *n, uint32_t end)
{
	uint32_t node = end & ~VB_LOAD_NIC, low = 0, high;

	if (!n)
		return node;
	if (!(end & VB_LOAD_NIC))
		return node < n->host_cnt ? node : UINT32_MAX;
	if (node >= n->first[n->host_cnt])
		return UINT32_MAX;
	high = n->host_cnt - 1;
	while (low < high) {
		uint32_t mid = low + (high - low + 1) / 2;

		if (n->first[mid] <= node)
			low = mid;
		else
			high = mid - 1;
	}
	VB_ASSERT(n->first[low] <= node && node < n->first[low + 1]);
	return low;
}

/* A NIC, or all of a host. */
static struct range range_of(const struct vb_nics *n, uint32_t end)
{
	if (end & VB_LOAD_NIC)
		return (struct range){end & ~VB_LOAD_NIC, 1};
	return (struct range){n->first[end], n->first[end + 1] - n->first[end]};
}

/* The first NIC from @from on, in turn, that @node reaches; UINT32_MAX: it reaches none. */
static uint32_t find_reached(const struct vb_nics *n, struct range r, uint32_t from, uint32_t node)
{
	for (uint32_t i = 0; i < r.cnt; i++) {
		uint32_t to = r.first + (from + i) % r.cnt;

		if (n->network[to] == n->network[node])
			return to;
	}
	return UINT32_MAX;
}

/* Mixes all bits of two numbers (the end of MurmurHash3). */
static uint32_t hash_of(uint32_t a, uint32_t b)
{
	uint32_t h = a * 0x9e3779b1u + b;

	h = (h ^ h >> 16) * 0x85ebca6bu;
	h = (h ^ h >> 13) * 0xc2b2ae35u;
	return h ^ h >> 16;
}

void vb_nic_choose(const struct vb_nics *n, uint32_t *turn, uint32_t *src, uint32_t *dst)
{
	uint32_t from_host = vb_nic_host(n, *src), to_host = vb_nic_host(n, *dst);
	struct range from, to;
	uint32_t at, to_at, hash;

	VB_ASSERT_ALL(from_host != to_host && from_host < n->host_cnt && to_host < n->host_cnt);
	from = range_of(n, *src);
	to = range_of(n, *dst);
	hash = hash_of(from_host, to_host);
	at = n->choice == VB_NIC_HASH ? hash % from.cnt : turn[2 * from_host];
	for (uint32_t i = 0; i < from.cnt; i++, at++) {
		*src = from.first + at % from.cnt;
		to_at = n->choice == VB_NIC_HASH   ? hash >> 16
			: n->choice == VB_NIC_RAIL ? *src - n->first[from_host]
						   : turn[2 * to_host + 1];
		*dst = find_reached(n, to, to_at, *src);
		if (*dst != UINT32_MAX)
			break;
	}
	VB_ASSERT(*dst != UINT32_MAX);
	/* A NIC that a flow names has no turn. */
	if (from.cnt > 1)
		turn[2 * from_host] = at + 1;
	if (to.cnt > 1)
		turn[2 * to_host + 1] = *dst - to.first + 1;
}

bool vb_nic_can(const struct vb_nics *n, uint32_t src, uint32_t dst)
{
	uint32_t a = vb_nic_host(n, src), b = vb_nic_host(n, dst);
	struct range from, to;

	if (!n)
		return a != b;
	if (a >= n->host_cnt || b >= n->host_cnt || a == b)
		return false;
	from = range_of(n, src);
	to = range_of(n, dst);
	for (uint32_t i = 0; i < from.cnt; i++)
		if (find_reached(n, to, 0, from.first + i) != UINT32_MAX)
			return true;
	return false;
}
