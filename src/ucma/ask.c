/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions to the subnet administrator of a fabric, and its answers: PathRecords for routes,
 * MCMemberRecords for groups. A question of a program is sent once, as by a kernel, and given up at
 * the end of its time. The membership of a group that a new manager knows nothing of is asked for
 * until it answers. IBA 15.2.5.16, 15.2.5.17; CMP-48, FAB-24, FAB-51, FAB-52
 */
#include "base/assert.h"
#include "ucma/priv.h"

#include <errno.h>

#define GROUP_TIMEOUT_NS (3 * VB_SEC)

/* A manager asks to register again while it sweeps, sometimes more than once, and answers nobody
 * before its first sweep has ended. The waits grow as IPoIB's do in Linux. */
#define REJOIN_FIRST_NS (100 * VB_MSEC)
#define REJOIN_WAIT_NS VB_SEC
#define REJOIN_WAIT_MAX_NS (16 * VB_SEC)
#define REJOIN_TIMEOUT_NS (60 * VB_SEC)

/* The way to the administrator, as the port knows it now. -ENODEV: there is no such port. */
static int ask_address(struct vb_ucma_ask *a, const struct vb_ucma_id *id)
{
	const struct vb_ucma_env *env = &id->u->cfg.env;
	struct vb_ucma_ib_port port;
	int err = env->ib_port(env->ctx, id->at.hca_port, &port);

	if (!err)
		a->path = (struct vb_path){.slid = port.lid,
					   .dlid = port.sm_lid,
					   .sl = port.sm_sl,
					   .port = id->at.hca_port};
	return err;
}

static struct vb_ucma_ask *ask_new(struct vb_ucma_id *id, enum vb_ucma_ask_kind kind, vb_time due)
{
	struct vb_ucma *u = id->u;
	struct vb_ucma_ask *a = vb_ucma_alloc(u, sizeof *a);

	if (!a)
		return NULL;
	if (ask_address(a, id)) {
		vb_ucma_free(u, a);
		return NULL;
	}
	a->kind = kind;
	a->id = id;
	a->is_ready = true;
	a->due = due;
	a->msg.tid = (uint64_t)u->cfg.cm.hi_tid << 32 | u->ask_next++;
	vb_list_append(&u->asks, &a->link);
	return a;
}

static void ask_free(struct vb_ucma *u, struct vb_ucma_ask *a)
{
	vb_list_remove(&a->link);
	vb_ucma_free(u, a);
}

int vb_ucma_ask_path(struct vb_ucma_id *id, uint32_t timeout_ms, vb_time now)
{
	struct vb_ucma_ask *a =
	    ask_new(id, VB_UCMA_ASK_PATH, vb_time_after(now, timeout_ms * VB_MSEC));
	bool is_ipv4 = id->dst.family == VB_UCMA_AF_INET;

	if (!a)
		return -ENOMEM;
	a->msg.method = VB_MAD_METHOD_GET;
	a->msg.attr_id = VB_SA_PATH_RECORD;
	a->msg.mask = VB_SA_PATH_SERVICE_ID | VB_SA_PATH_DGID | VB_SA_PATH_SGID |
		      VB_SA_PATH_REVERSIBLE | VB_SA_PATH_NUMB_PATH | VB_SA_PATH_PKEY;
	a->msg.mask |= is_ipv4 ? VB_SA_PATH_QOS_CLASS : VB_SA_PATH_TRAFFIC_CLASS;
	a->msg.path = (struct vb_sa_path){.service_id = vb_ucma_service_id(id, &id->dst),
					  .sgid = id->way.path.sgid,
					  .dgid = id->way.path.dgid,
					  .reversible = 1,
					  .numb_path = 1,
					  .pkey = vb_ucma_pkey(id),
					  .qos_class = is_ipv4 ? id->tos : 0,
					  .traffic_class = is_ipv4 ? 0
							   : id->dst.family == VB_UCMA_AF_IB
							       ? (uint8_t)(id->dst.flow_info >> 20)
							       : id->tos};
	return 0;
}

/* The group that all of the partition have joined: other groups are like it. RFC 4391 */
static struct vb_gid broadcast_gid(const struct vb_ucma_id *id)
{
	uint16_t pkey = vb_ucma_pkey(id);

	return (struct vb_gid){{0xff, 0x12, 0x40, 0x1b, (uint8_t)(pkey >> 8),
				(uint8_t)pkey, [12] = 0xff, 0xff, 0xff, 0xff}};
}

int vb_ucma_ask_join(struct vb_ucma_mc *mc, vb_time now)
{
	struct vb_ucma_ask *a =
	    ask_new(mc->id, VB_UCMA_ASK_GROUP, vb_time_after(now, GROUP_TIMEOUT_NS));

	if (!a)
		return -ENOMEM;
	a->mc = mc;
	a->msg.method = VB_MAD_METHOD_GET;
	a->msg.attr_id = VB_SA_MCMEMBER_RECORD;
	a->msg.mask = VB_SA_MC_MGID;
	a->msg.member.mgid = broadcast_gid(mc->id);
	return 0;
}

static uint8_t join_state(const struct vb_ucma_mc *mc)
{
	return mc->sends_only ? VB_SA_JOIN_SEND_ONLY : VB_SA_JOIN_FULL;
}

/* The group, with what @like says of all groups of the partition; it is made where there is none.
 */
static int join_begin(struct vb_ucma_mc *mc, const struct vb_sa_mcmember *like, vb_time now)
{
	struct vb_ucma_ask *a =
	    ask_new(mc->id, VB_UCMA_ASK_JOIN, vb_time_after(now, GROUP_TIMEOUT_NS));

	if (!a)
		return -ENOMEM;
	a->mc = mc;
	a->msg.method = VB_MAD_METHOD_SET;
	a->msg.attr_id = VB_SA_MCMEMBER_RECORD;
	a->msg.mask = VB_SA_MC_MGID | VB_SA_MC_PORT_GID | VB_SA_MC_QKEY | VB_SA_MC_PKEY |
		      VB_SA_MC_SL | VB_SA_MC_FLOW_LABEL | VB_SA_MC_TRAFFIC_CLASS |
		      VB_SA_MC_JOIN_STATE;
	a->msg.member = *like;
	a->msg.member.mgid = mc->gid;
	a->msg.member.port_gid = mc->at.gid;
	a->msg.member.qkey = mc->id->qkey;
	a->msg.member.pkey = vb_ucma_pkey(mc->id);
	a->msg.member.join_state = join_state(mc);
	return 0;
}

/* Another one at the port is a member as this one is: the port stays. */
static bool others_are_members(const struct vb_ucma_mc *mc)
{
	const struct vb_ucma *u = mc->id->u;

	for (uint32_t i = 0; i < u->cfg.ids; i++) {
		const struct vb_ucma_id *id = u->ids[i];

		for (const struct vb_list *l = id ? id->mcs.next : NULL; id && l != &id->mcs;
		     l = l->next) {
			const struct vb_ucma_mc *other =
			    vb_container_of(l, const struct vb_ucma_mc, link);

			if (other != mc && other->is_member &&
			    other->at.hca_port == mc->at.hca_port &&
			    other->sends_only == mc->sends_only && vb_gid_eq(&other->gid, &mc->gid))
				return true;
		}
	}
	return false;
}

void vb_ucma_ask_leave(struct vb_ucma_mc *mc)
{
	struct vb_ucma_ask *a;

	if (!mc->is_member || others_are_members(mc))
		return;
	a = ask_new(mc->id, VB_UCMA_ASK_LEAVE, VB_NEVER);
	if (!a)
		return;
	a->id = NULL; /* which is going */
	a->msg.method = VB_SA_METHOD_DELETE;
	a->msg.attr_id = VB_SA_MCMEMBER_RECORD;
	a->msg.mask = VB_SA_MC_MGID | VB_SA_MC_PORT_GID | VB_SA_MC_JOIN_STATE;
	a->msg.member.mgid = mc->gid;
	a->msg.member.port_gid = mc->at.gid;
	a->msg.member.join_state = join_state(mc);
}

static struct vb_ucma_ask *rejoin_of(const struct vb_ucma_mc *mc)
{
	const struct vb_ucma *u = mc->id->u;

	for (const struct vb_list *l = u->asks.next; l != &u->asks; l = l->next) {
		struct vb_ucma_ask *a = vb_container_of(l, struct vb_ucma_ask, link);

		if (a->kind == VB_UCMA_ASK_REJOIN && a->mc == mc)
			return a;
	}
	return NULL;
}

/* The port is no member of the group that the program knows, and the program has to join it anew.
 * The kernel says so of each group, without having asked the manager. */
static void group_lose(struct vb_ucma_mc *mc)
{
	mc->is_member = false;
	vb_ucma_id_touch(mc->id);
	vb_ucma_join_tell(mc, VB_UCMA_ENETRESET);
}

/*
 * Asks for the group as it was, so that it is made again as it was, whoever of its members comes
 * first. The MLID is a wish: no component says that it must match, but OpenSM gives it to a group
 * that it makes, where nobody else has it.
 */
static void rejoin_begin(struct vb_ucma_mc *mc, vb_time now)
{
	struct vb_ucma_ask *a = rejoin_of(mc);

	VB_ASSERT_ALL(vb_ucma_is_ib(mc->id->u));
	if (!a)
		a = ask_new(mc->id, VB_UCMA_ASK_REJOIN, VB_NEVER);
	if (!a)
		return;
	a->mc = mc;
	a->is_ready = false;
	a->due = vb_time_after(now, REJOIN_FIRST_NS);
	a->wait = REJOIN_WAIT_NS;
	a->end = vb_time_after(now, REJOIN_TIMEOUT_NS);
	a->msg.method = VB_MAD_METHOD_SET;
	a->msg.attr_id = VB_SA_MCMEMBER_RECORD;
	a->msg.mask = VB_SA_MC_MGID | VB_SA_MC_PORT_GID | VB_SA_MC_QKEY | VB_SA_MC_MTU |
		      VB_SA_MC_TRAFFIC_CLASS | VB_SA_MC_PKEY | VB_SA_MC_RATE | VB_SA_MC_SL |
		      VB_SA_MC_FLOW_LABEL | VB_SA_MC_HOP_LIMIT | VB_SA_MC_JOIN_STATE;
	a->msg.member = mc->record;
	a->msg.member.mtu_selector = a->msg.member.rate_selector = VB_SA_EXACTLY;
	a->msg.member.join_state = join_state(mc);
}

void vb_ucma_groups_rejoin(struct vb_ucma *u, uint8_t port, vb_time now)
{
	for (uint32_t i = 0; i < u->cfg.ids; i++) {
		struct vb_ucma_id *id = u->ids[i];

		for (struct vb_list *l = id ? id->mcs.next : NULL; id && l != &id->mcs;
		     l = l->next) {
			struct vb_ucma_mc *mc = vb_container_of(l, struct vb_ucma_mc, link);

			if (mc->is_member && mc->at.hca_port == port)
				rejoin_begin(mc, now);
		}
	}
}

/* Everything that the program was told of the group is still so. */
static bool record_is_same(const struct vb_sa_mcmember *a, const struct vb_sa_mcmember *b)
{
	return vb_gid_eq(&a->mgid, &b->mgid) && a->mlid == b->mlid && a->qkey == b->qkey &&
	       a->pkey == b->pkey && a->mtu == b->mtu && a->rate == b->rate && a->sl == b->sl &&
	       a->traffic_class == b->traffic_class && a->flow_label == b->flow_label &&
	       a->hop_limit == b->hop_limit;
}

static void rejoin_end(struct vb_ucma_mc *mc, int status, const struct vb_sa_mcmember *m)
{
	VB_ASSERT_ALL(mc->is_member);
	if (!status && record_is_same(&mc->record, m))
		return;
	/* With another MLID, say: the program's address handle and its QP would be of the old one.
	 */
	if (!status)
		vb_ucma_ask_leave(mc);
	group_lose(mc);
}

/* The answer says that it is too early: a manager that is busy, or that does not let the first
 * member of a group only send. The question will be repeated. */
static bool rejoin_is_early(const struct vb_ucma_ask *a, const struct vb_sa_msg *m)
{
	return a->kind == VB_UCMA_ASK_REJOIN && m->status &&
	       (m->status == VB_MAD_STATUS_BUSY || a->mc->sends_only);
}

/* Sends the question (again), to the manager that the port has now, with the GID that it has now.
 */
static void rejoin_send(struct vb_ucma_ask *a, vb_time now)
{
	struct vb_ucma_mc *mc = a->mc;
	const struct vb_ucma_env *env = &mc->id->u->cfg.env;
	struct vb_ucma_ib_port port;

	VB_ASSERT_ALL(a->kind == VB_UCMA_ASK_REJOIN && mc->is_member && now < a->end);
	(void)ask_address(a, mc->id);
	if (mc->at.gid_index == 0 && env->ib_port(env->ctx, mc->at.hca_port, &port) == 0)
		mc->at.gid = port.local.gid;
	a->msg.member.port_gid = mc->at.gid;
	a->is_ready = true;
	a->due = vb_time_min(vb_time_after(now, a->wait), a->end);
	a->wait = a->wait * 2 < REJOIN_WAIT_MAX_NS ? a->wait * 2 : REJOIN_WAIT_MAX_NS;
}

void vb_ucma_asks_cancel(struct vb_ucma_id *id, const struct vb_ucma_mc *mc)
{
	struct vb_list *l = id->u->asks.next, *next;

	for (; l != &id->u->asks; l = next) {
		struct vb_ucma_ask *a = vb_container_of(l, struct vb_ucma_ask, link);

		next = l->next;
		if (mc ? a->mc == mc : a->id == id)
			ask_free(id->u, a);
	}
}

bool vb_ucma_asks_transmit(struct vb_ucma *u, struct vb_path *path, uint8_t mad[VB_MAD_LEN])
{
	for (struct vb_list *l = u->asks.next; l != &u->asks; l = l->next) {
		struct vb_ucma_ask *a = vb_container_of(l, struct vb_ucma_ask, link);

		if (!a->is_ready)
			continue;
		a->is_ready = false;
		a->was_sent = true;
		*path = a->path;
		vb_sa_emit(&a->msg, mad);
		if (a->kind == VB_UCMA_ASK_LEAVE)
			ask_free(u, a);
		return true;
	}
	return false;
}

static void path_end(struct vb_ucma_id *id, int status, const struct vb_sa_path *p)
{
	vb_ucma_id_touch(id);
	if (status) {
		id->state = VB_UCMA_ADDR_RESOLVED;
		(void)vb_ucma_event_add(id, VB_UCMA_EV_ROUTE_ERROR, status);
		return;
	}
	vb_ucma_way_take(id, p);
	id->state = VB_UCMA_ROUTE_RESOLVED;
	(void)vb_ucma_event_add(id, VB_UCMA_EV_ROUTE_RESOLVED, 0);
}

static void join_end(struct vb_ucma_mc *mc, int status, const struct vb_sa_mcmember *m)
{
	vb_ucma_id_touch(mc->id);
	if (!status) {
		mc->is_member = true;
		mc->record = *m;
		mc->gid = m->mgid; /* the administrator may have chosen it */
	}
	vb_ucma_join_tell(mc, status);
}

/* The question has an end: an answer @m, or a negative @status. */
static void ask_end(struct vb_ucma *u, struct vb_ucma_ask *a, int status, const struct vb_sa_msg *m,
		    vb_time now)
{
	const struct vb_ucma_ask of = *a;

	ask_free(u, a);
	switch (of.kind) {
	case VB_UCMA_ASK_PATH:
		path_end(of.id, status, status ? NULL : &m->path);
		break;
	case VB_UCMA_ASK_GROUP:
		if (!status)
			status = join_begin(of.mc, &m->member, now);
		if (status)
			join_end(of.mc, status, NULL);
		break;
	case VB_UCMA_ASK_JOIN:
		join_end(of.mc, status, status ? NULL : &m->member);
		break;
	case VB_UCMA_ASK_REJOIN:
		rejoin_end(of.mc, status, status ? NULL : &m->member);
		break;
	case VB_UCMA_ASK_LEAVE:
		break;
	}
}

static struct vb_ucma_ask *ask_of(const struct vb_ucma *u, const struct vb_sa_msg *m)
{
	for (const struct vb_list *l = u->asks.next; l != &u->asks; l = l->next) {
		struct vb_ucma_ask *a = vb_container_of(l, struct vb_ucma_ask, link);

		if (a->was_sent && a->msg.tid == m->tid)
			return a;
	}
	return NULL;
}

bool vb_ucma_has_asked(const struct vb_ucma *u, const uint8_t mad[VB_MAD_LEN])
{
	struct vb_sa_msg m;

	/* Of a question that was given up, or that nobody waits for, as well. */
	return vb_sa_parse(&m, mad) == 0 && m.method & VB_MAD_METHOD_RESPONSE &&
	       m.tid >> 32 == u->cfg.cm.hi_tid;
}

void vb_ucma_asks_take(struct vb_ucma *u, const uint8_t mad[VB_MAD_LEN], vb_time now)
{
	struct vb_ucma_ask *a;
	struct vb_sa_msg m;
	bool is_answer;

	if (vb_sa_parse(&m, mad) || !(a = ask_of(u, &m)) || rejoin_is_early(a, &m))
		return;
	is_answer =
	    m.status == 0 && m.method == VB_MAD_METHOD_GET_RESP && m.attr_id == a->msg.attr_id;
	ask_end(u, a, is_answer ? 0 : -EINVAL, &m, now);
}

vb_time vb_ucma_asks_due(const struct vb_ucma *u)
{
	vb_time due = VB_NEVER;

	for (const struct vb_list *l = u->asks.next; l != &u->asks; l = l->next)
		due = vb_time_min(due, vb_container_of(l, const struct vb_ucma_ask, link)->due);
	return due;
}

void vb_ucma_asks_timeout(struct vb_ucma *u, vb_time now)
{
	struct vb_list *l = u->asks.next, *next;

	for (; l != &u->asks; l = next) {
		struct vb_ucma_ask *a = vb_container_of(l, struct vb_ucma_ask, link);

		next = l->next;
		if (a->due > now)
			continue;
		if (a->kind == VB_UCMA_ASK_REJOIN && now < a->end)
			rejoin_send(a, now);
		else
			ask_end(u, a, VB_UCMA_ETIMEDOUT, NULL, now);
	}
}
