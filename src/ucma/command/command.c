/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands as they are written: one table says of each how long its body and its reply are, where
 * its id stands, and in which states of that it is right. CMP-31 to CMP-33, CMP-37
 */
#include "ucma/priv.h"

#include <errno.h>

#define NO_ID UINT32_MAX
#define BODY_MAX 320u

struct command {
	uint16_t body_min, body_max; /* bytes of the body: the oldest form, and what is looked at */
	uint16_t reply_min, reply_max; /* less room than the former is ENOSPC; 0: no reply */
	uint32_t id_at;                /* offset of the id in the body */
	uint32_t states;               /* set of enum vb_ucma_state */
	bool needs_device;             /* the id is bound to one */
	bool reads;                    /* it changes nothing */
	int (*run)(struct vb_ucma_call *c);
};

static bool ps_is_known(uint16_t ps)
{
	return ps == VB_UCMA_PS_TCP || ps == VB_UCMA_PS_UDP || ps == VB_UCMA_PS_IPOIB ||
	       ps == VB_UCMA_PS_IB;
}

/* CMP-29 */
static uint8_t qp_type_of(const struct vb_ucma_create_id *b)
{
	if (b->ps == VB_UCMA_PS_TCP)
		return VB_UCMA_QPT_RC;
	return b->ps == VB_UCMA_PS_IB ? b->qp_type : (uint8_t)VB_UCMA_QPT_UD;
}

static int do_create_id(struct vb_ucma_call *c)
{
	const struct vb_ucma_create_id *b = c->body;
	struct vb_ucma_number_reply *r = (void *)c->reply;
	struct vb_ucma_id *id;
	int err;

	if (!ps_is_known(b->ps))
		return -EINVAL;
	err = vb_ucma_id_new(c->file, b->ps, qp_type_of(b), &id);
	if (err)
		return err;
	id->uid = b->uid;
	id->has_uid = true;
	r->n = id->number;
	return 0;
}

static int do_destroy_id(struct vb_ucma_call *c)
{
	struct vb_ucma_number_reply *r = (void *)c->reply;

	if (vb_ucma_event_is_out(c->id, NULL))
		return -EINPROGRESS;
	r->n = c->id->events_reported;
	vb_ucma_id_end(c->id, c->now);
	return 0;
}

static int do_bind_ip(struct vb_ucma_call *c)
{
	const struct vb_ucma_bind_ip *b = c->body;
	struct vb_ucma_addr a;
	int err = vb_ucma_addr_parse(&a, b->addr, sizeof b->addr);

	return err ? err : vb_ucma_bind(c->id, &a, true);
}

static int do_bind(struct vb_ucma_call *c)
{
	const struct vb_ucma_bind *b = c->body;
	struct vb_ucma_addr a;
	int err =
	    b->addr_size > sizeof b->addr ? -EINVAL : vb_ucma_addr_parse(&a, b->addr, b->addr_size);

	return err ? err : vb_ucma_bind(c->id, &a, true);
}

static int do_resolve_ip(struct vb_ucma_call *c)
{
	const struct vb_ucma_resolve_ip *b = c->body;
	struct vb_ucma_addr src, dst;
	int err = vb_ucma_addr_parse(&src, b->src, sizeof b->src);

	if (!err)
		err = vb_ucma_addr_parse(&dst, b->dst, sizeof b->dst);
	return err ? err : vb_ucma_resolve_addr(c->id, &src, &dst);
}

static int do_resolve_addr(struct vb_ucma_call *c)
{
	const struct vb_ucma_resolve_addr *b = c->body;
	struct vb_ucma_addr src = {0}, dst;
	int err = 0;

	if (b->src_size > sizeof b->src || b->dst_size > sizeof b->dst)
		return -EINVAL;
	if (b->src_size)
		err = vb_ucma_addr_parse(&src, b->src, b->src_size);
	if (!err)
		err = vb_ucma_addr_parse(&dst, b->dst, b->dst_size);
	return err ? err : vb_ucma_resolve_addr(c->id, &src, &dst);
}

static int do_resolve_route(struct vb_ucma_call *c)
{
	const struct vb_ucma_resolve_route *b = c->body;

	return vb_ucma_resolve_route(c->id, b->timeout_ms, c->now);
}

static int do_listen(struct vb_ucma_call *c)
{
	const struct vb_ucma_listen *b = c->body;

	return vb_ucma_listen(c->id, b->backlog);
}

static int do_get_event(struct vb_ucma_call *c)
{
	return vb_ucma_event_take(c->file, (void *)c->reply);
}

static int do_get_option(struct vb_ucma_call *c)
{
	(void)c;
	return -ENOSYS;
}

/* The id is one of the file that the body names. CMP-46 */
static int do_migrate_id(struct vb_ucma_call *c)
{
	const struct vb_ucma_migrate_id *b = c->body;
	struct vb_ucma_number_reply *r = (void *)c->reply;
	struct vb_ucma_id *id;
	int err;

	if (!c->other)
		return -EINVAL;
	err = vb_ucma_id_find(c->other, b->id, &id);
	if (!err && c->other != c->file && vb_ucma_event_is_out(id, NULL))
		err = -EINPROGRESS;
	/* A file's events are bounded, whichever way they come to it. */
	if (!err && c->other != c->file && !vb_ucma_events_fit(id, c->file))
		err = -ENOMEM;
	if (err)
		return err;
	if (c->other != c->file)
		vb_ucma_events_move(id, c->file);
	r->n = id->events_reported;
	return 0;
}

#define BODY(type) sizeof(struct type), sizeof(struct type)
#define REPLY(type) sizeof(struct type), sizeof(struct type)
#define NO_REPLY 0, 0
#define ID(type) offsetof(struct type, id)
#define ANY VB_UCMA_ANY_STATE

/* Oldest forms: without ECE, and without the index of the device. CMP-32 */
static const struct command table[VB_UCMA_CMD_CNT] = {
    [VB_UCMA_CREATE_ID] = {BODY(vb_ucma_create_id), REPLY(vb_ucma_number_reply), NO_ID, ANY, false,
			   false, do_create_id},
    [VB_UCMA_DESTROY_ID] = {BODY(vb_ucma_destroy_id), REPLY(vb_ucma_number_reply),
			    ID(vb_ucma_destroy_id), ANY, false, false, do_destroy_id},
    [VB_UCMA_BIND_IP] = {BODY(vb_ucma_bind_ip), NO_REPLY, ID(vb_ucma_bind_ip), ANY, false, false,
			 do_bind_ip},
    [VB_UCMA_RESOLVE_IP] = {BODY(vb_ucma_resolve_ip), NO_REPLY, ID(vb_ucma_resolve_ip), ANY, false,
			    false, do_resolve_ip},
    [VB_UCMA_RESOLVE_ROUTE] = {BODY(vb_ucma_resolve_route), NO_REPLY, ID(vb_ucma_resolve_route),
			       ANY, true, false, do_resolve_route},
    [VB_UCMA_QUERY_ROUTE] = {BODY(vb_ucma_query),
			     offsetof(struct vb_ucma_route_reply, device_index),
			     sizeof(struct vb_ucma_route_reply), ID(vb_ucma_query), ANY, false,
			     true, vb_ucma_do_query_route},
    [VB_UCMA_CONNECT] = {offsetof(struct vb_ucma_connect, ece), sizeof(struct vb_ucma_connect),
			 NO_REPLY, ID(vb_ucma_connect), VB_UCMA_ROUTE_RESOLVED, true, false,
			 vb_ucma_do_connect},
    [VB_UCMA_LISTEN] = {BODY(vb_ucma_listen), NO_REPLY, ID(vb_ucma_listen), ANY, false, false,
			do_listen},
    [VB_UCMA_ACCEPT] = {offsetof(struct vb_ucma_accept, ece), sizeof(struct vb_ucma_accept),
			NO_REPLY, ID(vb_ucma_accept), VB_UCMA_CONNECTING, true, false,
			vb_ucma_do_accept},
    [VB_UCMA_REJECT] = {BODY(vb_ucma_reject), NO_REPLY, ID(vb_ucma_reject), ANY, true, false,
			vb_ucma_do_reject},
    [VB_UCMA_DISCONNECT] = {BODY(vb_ucma_disconnect), NO_REPLY, ID(vb_ucma_disconnect), ANY, true,
			    false, vb_ucma_do_disconnect},
    [VB_UCMA_INIT_QP_ATTR] = {BODY(vb_ucma_init_qp_attr), REPLY(vb_ucma_qp_attr),
			      ID(vb_ucma_init_qp_attr), ANY, true, true, vb_ucma_do_init_qp_attr},
    [VB_UCMA_GET_EVENT] = {BODY(vb_ucma_get_event), VB_UCMA_EVENT_REPLY_MIN,
			   sizeof(struct vb_ucma_event_reply), NO_ID, ANY, false, false,
			   do_get_event},
    [VB_UCMA_GET_OPTION] = {0, 0, NO_REPLY, NO_ID, ANY, false, false, do_get_option},
    [VB_UCMA_SET_OPTION] = {BODY(vb_ucma_set_option), NO_REPLY, ID(vb_ucma_set_option), ANY, false,
			    false, vb_ucma_do_set_option},
    [VB_UCMA_NOTIFY] = {BODY(vb_ucma_notify), NO_REPLY, ID(vb_ucma_notify), ANY, true, false,
			vb_ucma_do_notify},
    [VB_UCMA_JOIN_IP_MCAST] = {BODY(vb_ucma_join_ip_mcast), REPLY(vb_ucma_number_reply),
			       ID(vb_ucma_join_ip_mcast),
			       VB_UCMA_ADDR_BOUND | VB_UCMA_ADDR_RESOLVED | VB_UCMA_ROUTE_RESOLVED,
			       true, false, vb_ucma_do_join_ip},
    [VB_UCMA_LEAVE_MCAST] = {BODY(vb_ucma_destroy_id), REPLY(vb_ucma_number_reply), NO_ID, ANY,
			     false, false, vb_ucma_do_leave},
    [VB_UCMA_MIGRATE_ID] = {BODY(vb_ucma_migrate_id), REPLY(vb_ucma_number_reply), NO_ID, ANY,
			    false, false, do_migrate_id},
    [VB_UCMA_QUERY] = {BODY(vb_ucma_query), NO_REPLY, ID(vb_ucma_query), ANY, false, true,
		       vb_ucma_do_query},
    [VB_UCMA_BIND] = {BODY(vb_ucma_bind), NO_REPLY, ID(vb_ucma_bind), ANY, false, false, do_bind},
    [VB_UCMA_RESOLVE_ADDR] = {BODY(vb_ucma_resolve_addr), NO_REPLY, ID(vb_ucma_resolve_addr), ANY,
			      false, false, do_resolve_addr},
    [VB_UCMA_JOIN_MCAST] = {BODY(vb_ucma_join_mcast), REPLY(vb_ucma_number_reply),
			    ID(vb_ucma_join_mcast),
			    VB_UCMA_ADDR_BOUND | VB_UCMA_ADDR_RESOLVED | VB_UCMA_ROUTE_RESOLVED,
			    true, false, vb_ucma_do_join},
};

/* The id that the body names, in a state in which it may be asked for this. */
static int find_id(const struct command *cmd, struct vb_ucma_call *c)
{
	uint32_t number;
	int err;

	memcpy(&number, (const uint8_t *)c->body + cmd->id_at, sizeof number);
	err = vb_ucma_id_find(c->file, number, &c->id);
	if (err)
		return err;
	if (c->id->state == VB_UCMA_REMOVED && cmd->run != do_destroy_id)
		return -EINVAL;
	if (!cmd->reads)
		vb_ucma_id_touch(c->id);
	if (!(cmd->states & c->id->state) || (cmd->needs_device && !c->id->has_local))
		return -EINVAL;
	return 0;
}

int vb_ucma_command(struct vb_ucma_file *f, const struct vb_ucma_command *in,
		    uint8_t reply[VB_UCMA_REPLY_MAX], uint32_t *reply_len, vb_time now)
{
	_Alignas(8) uint8_t body[BODY_MAX] = {0};
	_Alignas(8) uint8_t out[VB_UCMA_REPLY_MAX] = {0};
	struct vb_ucma_hdr h;
	struct vb_ucma_call c = {.file = f,
				 .other = in->other,
				 .body = body,
				 .extra = in->extra,
				 .extra_len = in->extra_len,
				 .reply = out,
				 .now = now};
	const struct command *cmd;
	int err = 0;

	*reply_len = 0;
	if (in->len < sizeof h)
		return -EINVAL;
	memcpy(&h, in->bytes, sizeof h);
	if (h.in > in->len - sizeof h || h.cmd >= VB_UCMA_CMD_CNT)
		return -EINVAL;
	cmd = &table[h.cmd];
	if (h.in < cmd->body_min)
		return -EINVAL;
	if (h.out < cmd->reply_min)
		return -ENOSPC;
	_Static_assert(BODY_MAX >= sizeof(struct vb_ucma_accept), "every body fits");
	memcpy(body, (const uint8_t *)in->bytes + sizeof h,
	       h.in < cmd->body_max ? h.in : cmd->body_max);
	c.reply_len = cmd->reply_max;
	c.room = h.out;
	if (cmd->id_at != NO_ID)
		err = find_id(cmd, &c);
	if (!err)
		err = cmd->run(&c);
	vb_ucma_settle(f->u, now);
	vb_ucma_file_assert(f);
	if (err)
		return err;
	*reply_len = c.reply_len < h.out ? c.reply_len : h.out;
	memcpy(reply, out, *reply_len);
	return (int)in->len;
}
