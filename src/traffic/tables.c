/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of hosts and of ways between them, and what kinds of packets there are. */
#include "traffic/priv.h"

#include "wire/opcode.h"

#include <stdlib.h>

/* FNV-1a, and a last mix for the upper bits. */
uint64_t vb_traffic_hash(uint64_t seed, const void *p, size_t len)
{
	const uint8_t *b = p;
	uint64_t h = seed ^ UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * UINT64_C(0x100000001b3); /* NOLINT(clang-analyzer-core.*) */
	h ^= h >> 32;
	return h ? h : 1;
}

uint32_t vb_traffic_host_of(struct vb_traffic *t, const struct vb_gid *gid, bool is_twin)
{
	uint64_t key = vb_traffic_hash(is_twin, gid->b, sizeof gid->b);
	uint32_t i = vb_map_get(&t->hosts, key);

	if (i != NONE)
		return i;
	if (t->host_cnt == HOSTS_MAX || !vb_map_put(&t->hosts, key, t->host_cnt))
		return NONE;
	t->host[t->host_cnt] = (struct host){.gid = *gid, .is_twin = is_twin};
	return t->host_cnt++;
}

static uint64_t pair_key(uint32_t src, uint32_t dst)
{
	return ((uint64_t)src << 32 | dst) + 1;
}

uint32_t vb_traffic_ways_between(const struct vb_traffic *t, uint32_t src, uint32_t dst)
{
	return vb_map_get(&t->pairs, pair_key(src, dst));
}

static bool ways_grow(struct vb_traffic *t)
{
	uint32_t room = t->way_room ? 2 * t->way_room : 64;
	struct way *w = realloc(t->way, room * sizeof *w);

	if (!w)
		return false;
	t->way = w;
	t->way_room = room;
	return true;
}

uint32_t vb_traffic_way(struct vb_traffic *t, uint32_t src, uint32_t dst, uint32_t dqpn,
			uint32_t sqpn)
{
	uint32_t of[4] = {src, dst, dqpn, sqpn};
	uint64_t key = vb_traffic_hash(0, of, sizeof of), pair = pair_key(src, dst);
	uint32_t i = vb_map_get(&t->ways, key);

	if (i != NONE)
		return i;
	if (t->way_cnt == WAYS_MAX || (t->way_cnt == t->way_room && !ways_grow(t)))
		return NONE;
	i = t->way_cnt;
	t->way[i] = (struct way){.src = src,
				 .dst = dst,
				 .dqpn = dqpn,
				 .sqpn = sqpn,
				 .back = NONE,
				 .guess = NONE,
				 .connection = NONE,
				 .next = vb_map_get(&t->pairs, pair)};
	if (!vb_map_put(&t->ways, key, i) || !vb_map_put(&t->pairs, pair, i))
		return NONE;
	return t->way_cnt++;
}

static bool is_answered(uint8_t opcode)
{
	unsigned transport = opcode & VB_TRANSPORT_MASK;

	return transport == VB_TRANSPORT_RC || transport == VB_TRANSPORT_XRC ||
	       (transport == VB_TRANSPORT_DC && opcode != VB_OPCODE_DC_CONNECT);
}

bool vb_seen_request(const struct seen *s)
{
	return is_answered(s->opcode) && vb_opcode[s->opcode].flags & VB_OP_REQUEST;
}

bool vb_seen_response(const struct seen *s)
{
	return is_answered(s->opcode) && vb_opcode[s->opcode].flags & VB_OP_RESPONSE;
}
