/* SPDX-License-Identifier: BSD-2-Clause */
/* Which lanes will never send again, see deadlock.h. */
#include "fabric/ib/node/deadlock.h"

#include "base/assert.h"

struct search {
	const struct vb_ib_hop *hop;
	uint32_t cnt;
	uint8_t *alive; /* [hop * VB_VL_CNT + lane] */
};

static struct vb_ib_port *output_of(const struct vb_ib_hop *h)
{
	return &h->sw->end[h->port].port;
}

static struct vb_ib_port *input_of(const struct vb_ib_hop *h)
{
	return &h->far->end[h->far_port].port;
}

/* The first packet of the lane waits, and there is no room for it at the other end, nor anything
 * under way that has room there. */
static bool lane_waits(const struct vb_ib_hop *h, uint32_t vl)
{
	const struct vb_ib_lane *out = &output_of(h)->lane[vl], *in = &input_of(h)->lane[vl];
	const struct vb_ib_item *head;

	if (vb_list_is_empty(&out->queue) || output_of(h)->state != VB_LINK_ACTIVE)
		return false;
	head = vb_container_of(out->queue.next, const struct vb_ib_item, node);
	return out->tx.fctbs == in->rx.abr && in->rx.used + vb_blocks(head->len) > in->rx.capacity;
}

/* Lane @vl of output @port of the switch at the other end of @h. */
static bool is_alive(const struct search *s, const struct vb_ib_hop *h, uint32_t port, uint32_t vl)
{
	uint32_t hop = h->far->end[port].hop;

	return hop == VB_IB_NO_HOP || s->alive[hop * VB_VL_CNT + vl];
}

/* All copies of a packet to a group are in lanes that are alive: its room becomes free. */
static bool copies_move(const struct search *s, const struct vb_ib_hop *h, const struct vb_frame *f)
{
	const struct vb_frame *t = f;

	if (f->path.dlid < VB_LID_MULTICAST)
		return true;
	while ((t = t->twin) != f)
		if (!is_alive(s, h, t->out, t->item.vl))
			return false;
	return true;
}

/* Some packet in the buffer of lane @vl at the other end of @h waits in output @port there; with
 * @moves one whose copies are not held up elsewhere. */
static bool output_holds(const struct search *s, const struct vb_ib_hop *h, uint32_t vl,
			 uint32_t port, uint32_t out_vl, bool moves)
{
	const struct vb_list *queue = &h->far->end[port].port.lane[out_vl].queue;

	for (const struct vb_list *l = queue->next; l != queue; l = l->next) {
		const struct vb_frame *f = vb_container_of(l, const struct vb_frame, item.node);

		if (f->in == h->far_port && f->in_vl == vl && (!moves || copies_move(s, h, f)))
			return true;
	}
	return false;
}

/* A packet in the buffer that lane @vl of @h waits for is in a lane that is alive; or, with
 * @want_dead, which lane that is not alive has one. */
static bool buffer_moves(const struct search *s, const struct vb_ib_hop *h, uint32_t vl,
			 struct vb_deadlock_lane *want_dead)
{
	for (uint32_t port = 0; port < h->far->port_cnt; port++) {
		uint32_t next = h->far->end[port].hop;

		for (uint32_t out_vl = 0; out_vl < VB_VL_DATA_MAX; out_vl++) {
			bool alive = is_alive(s, h, port, out_vl);

			if ((want_dead && alive) || (!want_dead && !alive) ||
			    !output_holds(s, h, vl, port, out_vl, !want_dead))
				continue;
			if (want_dead)
				*want_dead = (struct vb_deadlock_lane){next, (uint8_t)out_vl};
			return true;
		}
	}
	return false;
}

static bool find_alive(const struct search *s)
{
	bool grew = true, some_dead = true;

	for (uint32_t i = 0; i < s->cnt * VB_VL_CNT; i++)
		s->alive[i] = !lane_waits(&s->hop[i / VB_VL_CNT], i % VB_VL_CNT);
	while (grew && some_dead) {
		grew = some_dead = false;
		for (uint32_t i = 0; i < s->cnt * VB_VL_CNT; i++) {
			if (s->alive[i])
				continue;
			s->alive[i] = buffer_moves(s, &s->hop[i / VB_VL_CNT], i % VB_VL_CNT, NULL);
			grew |= s->alive[i];
			some_dead |= !s->alive[i];
		}
	}
	return some_dead;
}

/* Follows lanes that wait for each other until one comes again; from there on it is the cycle. */
static void name_cycle(const struct search *s, struct vb_deadlock_lane at, struct vb_deadlock *out)
{
	struct vb_deadlock_lane first;

	/* After as many steps as there are lanes it is in the cycle. */
	for (uint32_t i = 0; i < s->cnt * VB_VL_CNT; i++)
		(void)buffer_moves(s, &s->hop[at.hop], at.vl, &at);
	first = at;
	out->cnt = 0;
	do {
		if (out->cnt < VB_DEADLOCK_LANES_MAX)
			out->lane[out->cnt] = at;
		out->cnt++;
		(void)buffer_moves(s, &s->hop[at.hop], at.vl, &at);
		VB_ASSERT_ALL(at.hop < s->cnt); /* an output to a host is alive */
	} while ((at.hop != first.hop || at.vl != first.vl) && out->cnt < s->cnt * VB_VL_CNT);
}

bool vb_deadlock_find(const struct vb_ib_hop *hop, uint32_t cnt, uint8_t *scratch,
		      struct vb_deadlock *out)
{
	const struct search s = {hop, cnt, scratch};

	if (!find_alive(&s))
		return false;
	for (uint32_t i = 0; i < cnt * VB_VL_CNT; i++) {
		if (s.alive[i])
			continue;
		name_cycle(&s, (struct vb_deadlock_lane){i / VB_VL_CNT, i % VB_VL_CNT}, out);
		return true;
	}
	return false;
}
