/* SPDX-License-Identifier: BSD-2-Clause */
/* The nodes of a subnet that something is due for, or that have changes to tell, see subnet.h. */
#include "base/assert.h"
#include "mgmt/subnet/priv.h"
#include "wire/be.h"

/* A list that a node is in at most once. */
static void list_enter(struct vb_list *list, struct vb_list *n)
{
	if (vb_list_is_empty(n))
		vb_list_append(list, n);
}

static void list_leave(struct vb_list *n)
{
	if (vb_list_is_empty(n))
		return;
	vb_list_remove(n);
	vb_list_init(n);
}

void vb_subnet_changed(struct vb_subnet *s, struct vb_subnet_node *n, uint32_t changes)
{
	if (changes == 0)
		return;
	n->changes |= changes;
	list_enter(&s->changed, &n->changed);
}

bool vb_subnet_poll_change(struct vb_subnet *s, uint32_t *node, uint32_t *changes)
{
	struct vb_subnet_node *n;

	if (vb_list_is_empty(&s->changed))
		return false;
	n = vb_container_of(s->changed.next, struct vb_subnet_node, changed);
	list_leave(&n->changed);
	VB_ASSERT_ALL(n->changes != 0); /* or it would be on no list */
	*node = (uint32_t)(n - s->node);
	*changes = n->changes;
	n->changes = 0;
	return true;
}

/* The port of a node that traps come from, NULL: it may send none now. FAB-30 */
static struct vb_sma_port *trap_port(struct vb_subnet_node *n, uint8_t *number)
{
	bool is_switch = n->sma.info.type == VB_NODE_SWITCH;

	for (unsigned i = is_switch ? 0 : 1; i <= (is_switch ? 0u : n->sma.info.port_cnt); i++) {
		struct vb_sma_port *p = &n->sma.port[i];

		if ((is_switch || p->link->state == VB_LINK_ACTIVE) && p->info.lid != 0 &&
		    p->info.sm_lid != 0 && (p->info.cap_mask & VB_CAP_IS_TRAP)) {
			*number = (uint8_t)i;
			return p;
		}
	}
	return NULL;
}

/* Leases and samples end in any case; traps wait for a manager. */
static vb_time node_due(struct vb_subnet_node *n)
{
	vb_time due = vb_time_min(vb_sma_poll_timeout(&n->sma), vb_pma_poll_timeout(&n->pma));
	vb_time trap = vb_traps_poll_timeout(&n->traps);
	uint8_t number;

	if (trap != VB_NEVER && trap_port(n, &number))
		due = vb_time_min(due, trap);
	return vb_time_min(due, vb_cca_poll_timeout(&n->cca));
}

void vb_subnet_waits(struct vb_subnet *s, struct vb_subnet_node *n)
{
	if (vb_sma_poll_timeout(&n->sma) == VB_NEVER && vb_pma_poll_timeout(&n->pma) == VB_NEVER &&
	    vb_traps_poll_timeout(&n->traps) == VB_NEVER &&
	    vb_cca_poll_timeout(&n->cca) == VB_NEVER) {
		list_leave(&n->waits);
		return;
	}
	list_enter(&s->waits, &n->waits);
	s->due = vb_time_min(s->due, node_due(n));
}

vb_time vb_subnet_poll_timeout(const struct vb_subnet *s)
{
	return s->due;
}

/* FAB-44 */
static void sample_go_on(struct vb_subnet *s, struct vb_subnet_node *n, vb_time now)
{
	if (vb_pma_poll_timeout(&n->pma) > now)
		return;
	if (s->count)
		s->count(s->count_ctx, (uint32_t)(n - s->node));
	vb_pma_handle_timeout(&n->pma, now);
}

void vb_subnet_handle_timeout(struct vb_subnet *s, vb_time now)
{
	struct vb_list *next;

	for (struct vb_list *l = s->waits.next; now >= s->due && l != &s->waits; l = next) {
		struct vb_subnet_node *n = vb_container_of(l, struct vb_subnet_node, waits);

		next = l->next;
		vb_sma_handle_timeout(&n->sma, now);
		sample_go_on(s, n, now);
		vb_subnet_waits(s, n);
	}
}

static vb_dur trap_interval(const struct vb_sma_port *p)
{
	return UINT64_C(4096) << p->info.subnet_timeout;
}

/* A trap of subnet management that is due, to the manager of the port. */
static bool sma_trap_take(struct vb_subnet *s, struct vb_subnet_node *n, struct vb_subnet_mad *m,
			  vb_time now)
{
	uint8_t number = 0;
	struct vb_sma_port *p = trap_port(n, &number);

	if (!p)
		return false;
	*m = (struct vb_subnet_mad){.at = {(uint32_t)(n - s->node), number},
				    .on_qp0 = true,
				    .sl = p->info.sm_sl,
				    .slid = p->info.lid,
				    .dlid = p->info.sm_lid,
				    .pkey = PKEY_DEFAULT};
	return vb_traps_poll(&n->traps, m->mad, n->sma.info.type, p->info.lid, trap_interval(p),
			     now);
}

/* One of congestion control, to the address in ClassPortInfo. FAB-45 */
static bool cca_trap_take(struct vb_subnet *s, struct vb_subnet_node *n, struct vb_subnet_mad *m,
			  vb_time now)
{
	bool is_switch = n->sma.info.type == VB_NODE_SWITCH;

	for (unsigned i = is_switch ? 0 : 1; i <= (is_switch ? 0u : n->sma.info.port_cnt); i++) {
		const struct vb_class_traps *to = &n->cca.port[i].trap_to;
		const struct vb_sma_port *p = &n->sma.port[i];

		*m = (struct vb_subnet_mad){.at = {(uint32_t)(n - s->node), (uint8_t)i},
					    .has_grh = to->prefix != 0 || to->guid != 0,
					    .sl = to->sl,
					    .slid = p->info.lid,
					    .dlid = to->lid,
					    .src_qp = QP1,
					    .dst_qp = to->qpn,
					    .qkey = to->qkey,
					    .pkey = to->pkey,
					    .hop_limit = to->hop_limit};
		if (m->has_grh) {
			vb_sma_gid(p, 0, m->sgid);
			be64_put(m->dgid, to->prefix);
			be64_put(m->dgid + 8, to->guid);
		}
		if (vb_cca_poll_trap(&n->cca, (uint8_t)i, m->mad, n->sma.info.type, p->info.lid,
				     trap_interval(p), now))
			return true;
	}
	return false;
}

bool vb_subnet_poll_trap(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now)
{
	vb_time due = VB_NEVER;

	if (now < s->due)
		return false;
	for (struct vb_list *l = s->waits.next; l != &s->waits; l = l->next) {
		struct vb_subnet_node *n = vb_container_of(l, struct vb_subnet_node, waits);

		if (sma_trap_take(s, n, m, now) || cca_trap_take(s, n, m, now))
			return true;
		due = vb_time_min(due, node_due(n));
	}
	s->due = due;
	return false;
}
