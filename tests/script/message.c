/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the connection manager in script syntax: read, compared with what was sent, and
 * injected. IBA 12.6
 *
 *   LAP qpn=0x42 timeout=20 path(local_lid=0x20 remote_lid=0x21 rate=3) data=please
 *   APR status=REJECT info=why
 */
#include "drill.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PEER_ID 0x70
#define PEER_GUID 0xb2
#define PEER_QPN 0x21
#define PEER_TID UINT64_C(0x900000001)
#define OWN_HOST 1
#define PEER_HOST 2
#define SERVICE UINT64_C(0x0000000001061c06)
#define ACK_TIMEOUT 18

/* A number of a message, and the word for it. */
struct field {
	enum vb_cm_attr attr; /* 0: of all */
	const char *key;
	size_t at, size;
};
#define FIELD(attr, key, member)                                                                   \
	{                                                                                          \
		attr, key, offsetof(struct vb_cm_msg, member),                                     \
		    sizeof(((struct vb_cm_msg *)0)->member)                                        \
	}

static const struct field fields[] = {
    FIELD(0, "tid", tid),
    FIELD(0, "local_id", local_id),
    FIELD(0, "remote_id", remote_id),
    FIELD(VB_CM_REQ, "qpn", req.qpn),
    FIELD(VB_CM_MRA, "about", mra.about),
    FIELD(VB_CM_MRA, "timeout", mra.service_timeout),
    FIELD(VB_CM_REJ, "about", rej.about),
    FIELD(VB_CM_REJ, "reason", rej.reason),
    FIELD(VB_CM_REP, "qpn", rep.qpn),
    FIELD(VB_CM_REP, "failover", rep.failover),
    FIELD(VB_CM_DREQ, "qpn", dreq.remote_qpn),
    FIELD(VB_CM_LAP, "qpn", lap.remote_qpn),
    FIELD(VB_CM_LAP, "timeout", lap.remote_cm_timeout),
    FIELD(VB_CM_APR, "info_len", apr.info_len),
};

/* The words inside "path( ... )", by their place in the path. */
#define PATH(key, member)                                                                          \
	{                                                                                          \
		0, key, offsetof(struct vb_cm_route, member),                                      \
		    sizeof(((struct vb_cm_route *)0)->member)                                      \
	}
static const struct field path_fields[] = {
    PATH("local_lid", local_lid),
    PATH("remote_lid", remote_lid),
    PATH("flow", flow_label),
    PATH("rate", rate),
    PATH("tclass", traffic_class),
    PATH("hop", hop_limit),
    PATH("sl", sl),
    PATH("subnet_local", subnet_local),
    PATH("ack_timeout", ack_timeout),
};

enum vb_cm_attr message_named(const char *name)
{
	for (int a = VB_CM_ATTR_FIRST; a <= VB_CM_ATTR_LAST; a++)
		if (strcmp(vb_cm_attr_name((enum vb_cm_attr)a), name) == 0)
			return (enum vb_cm_attr)a;
	return 0;
}

/* Seen from the peer. */
static struct vb_cm_route route_default(const struct drill *d, bool alternate)
{
	struct vb_path p = cm_way(d, alternate, false);

	return (struct vb_cm_route){.local_gid = p.dgid,
				    .remote_gid = p.sgid,
				    .local_lid = d->cm.is_roce ? 0xffff : p.dlid,
				    .remote_lid = d->cm.is_roce ? 0xffff : p.slid,
				    .hop_limit = p.hop_limit,
				    .sl = p.sl,
				    .subnet_local = !d->cm.is_roce,
				    .ack_timeout = ACK_TIMEOUT};
}

static struct vb_cm_req req_default(const struct drill *d)
{
	return (struct vb_cm_req){.service_id = SERVICE,
				  .ca_guid = PEER_GUID,
				  .qpn = PEER_QPN,
				  .resp_resources = 4,
				  .init_depth = 4,
				  .remote_cm_timeout = 20,
				  .local_cm_timeout = 20,
				  .max_cm_retries = 15,
				  .retry_cnt = 7,
				  .rnr_retry = 7,
				  .mtu = 3,
				  .pkey = 0xffff,
				  .primary = route_default(d, false),
				  .alternate = route_default(d, true)};
}

struct vb_cm_msg message_default(const struct drill *d, enum vb_cm_attr attr)
{
	bool asks = attr == VB_CM_REQ || attr == VB_CM_DREQ || attr == VB_CM_LAP;
	struct vb_cm_msg m = {.attr = attr,
			      .tid = asks ? PEER_TID : d->cm.asked_tid,
			      .local_id = PEER_ID,
			      .remote_id = d->cm.conn != NULL ? vb_cm_conn_id(d->cm.conn) : 0};

	if (attr == VB_CM_REQ)
		m.req = req_default(d);
	if (attr == VB_CM_REP)
		m.rep = (struct vb_cm_rep){
		    .ca_guid = PEER_GUID, .qpn = PEER_QPN, .resp_resources = 4, .init_depth = 4};
	if (attr == VB_CM_DREQ)
		m.dreq.remote_qpn = d->cm.qpn;
	if (attr == VB_CM_LAP)
		m.lap = (struct vb_cm_lap){.remote_qpn = d->cm.qpn,
					   .remote_cm_timeout = 20,
					   .alternate = route_default(d, true)};
	return m;
}

/* A number of @size bytes at @at. */
static uint64_t number_at(const void *at, size_t size)
{
	uint64_t v64;
	uint32_t v32;
	uint16_t v16;

	switch (size) {
	case 8:
		memcpy(&v64, at, size);
		return v64;
	case 4:
		memcpy(&v32, at, size);
		return v32;
	case 2:
		memcpy(&v16, at, size);
		return v16;
	default:
		return *(const uint8_t *)at;
	}
}

static void number_put(void *at, size_t size, uint64_t v)
{
	uint32_t v32 = (uint32_t)v;
	uint16_t v16 = (uint16_t)v;
	uint8_t v8 = (uint8_t)v;
	const void *from = size == 8   ? (const void *)&v
			   : size == 4 ? (const void *)&v32
			   : size == 2 ? (const void *)&v16
				       : (const void *)&v8;

	memcpy(at, from, size);
}

/* The words of a line about a message: each is written into it, or compared with it. */
struct reader {
	struct drill *d;
	bool compares;
};

static void field_take(const struct reader *r, struct args *args, const struct field *f, void *base)
{
	const char *text = args_value(args, f->key);
	void *at = (uint8_t *)base + f->at;
	uint64_t want, is = number_at(at, f->size);

	if (text == NULL)
		return;
	want = world_number(r->d, text);
	if (!r->compares)
		number_put(at, f->size, want);
	else if (want != is)
		drill_fail(r->d, "%s: expected %s, actual %llu (%#llx)", f->key, text,
			   (unsigned long long)is, (unsigned long long)is);
}

/* "local_gid=2": the GID of that host. */
static void gid_take(const struct reader *r, struct args *args, const char *key, struct vb_gid *gid)
{
	const char *text = args_value(args, key);
	struct vb_gid want;

	if (text == NULL)
		return;
	want = world_gid((unsigned)world_number(r->d, text), !r->d->cm.is_roce);
	if (!r->compares)
		*gid = want;
	else if (!vb_gid_eq(gid, &want))
		drill_fail(r->d, "%s is not the one of host %s", key, text);
}

static void path_take(const struct reader *r, struct args *args, struct vb_cm_route *route)
{
	static char text[256];
	const char *val = args_value(args, "path"), *wrong;
	struct args in;

	if (val == NULL)
		return;
	snprintf(text, sizeof text, "%s", val);
	wrong = args_split(&in, text);
	if (wrong != NULL)
		drill_fail(r->d, "%s", wrong);
	for (unsigned i = 0; i < sizeof path_fields / sizeof path_fields[0]; i++)
		field_take(r, &in, &path_fields[i], route);
	gid_take(r, &in, "local_gid", &route->local_gid);
	gid_take(r, &in, "remote_gid", &route->remote_gid);
	if (args_left(&in) != NULL)
		drill_fail(r->d, "unknown word \"%s\"", args_left(&in));
}

/* Text and zeros behind it. */
static void text_take(const struct reader *r, struct args *args, const char *key, uint8_t *bytes,
		      size_t size)
{
	const char *text = args_value(args, key);
	uint8_t want[VB_CM_PRIVATE_MAX] = {0};

	if (text == NULL)
		return;
	if (strlen(text) > size)
		drill_fail(r->d, "%s has %zu bytes at most", key, size);
	memcpy(want, text, strlen(text));
	if (!r->compares)
		memcpy(bytes, want, size);
	else if (memcmp(bytes, want, size) != 0)
		drill_fail(r->d, "%s: expected \"%s\", actual \"%.*s\"", key, text, (int)size,
			   (const char *)bytes);
}

static void status_take(const struct reader *r, struct args *args, uint8_t *status)
{
	const char *text = args_value(args, "status");
	int want = text != NULL ? name_value(name_apr, text) : *status;

	if (want < 0)
		want = (int)world_number(r->d, text);
	if (!r->compares)
		*status = (uint8_t)want;
	else if (want != *status)
		drill_fail(r->d, "status: expected %s, actual %s (%u)", text,
			   name_of(name_apr, *status), *status);
}

static void message_take(const struct reader *r, struct args *args, struct vb_cm_msg *m)
{
	for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if (fields[i].attr == 0 || fields[i].attr == m->attr)
			field_take(r, args, &fields[i], m);
	if (m->attr == VB_CM_LAP)
		path_take(r, args, &m->lap.alternate);
	if (m->attr == VB_CM_REQ)
		path_take(r, args, &m->req.alternate);
	if (m->attr == VB_CM_APR) {
		status_take(r, args, &m->apr.status);
		text_take(r, args, "info", m->apr.info, sizeof m->apr.info);
	}
	text_take(r, args, "data", m->private_data, vb_cm_private_len(m->attr));
	if (args_left(args) != NULL)
		drill_fail(r->d, "unknown word \"%s\"", args_left(args));
}

/* Fails unless @s names the right connection and transaction, and goes to the peer by @path. */
static void envelope_check(struct drill *d, const struct script_message *s,
			   const struct vb_path *path)
{
	const struct vb_cm_msg *m = &s->msg;
	bool asks = m->attr == VB_CM_DREQ || m->attr == VB_CM_LAP;
	bool answers = m->attr == VB_CM_DREP || m->attr == VB_CM_APR;
	uint64_t own = (uint64_t)d->cm.cfg.hi_tid << 32 | vb_cm_conn_id(d->cm.conn);

	if (s->time != d->now)
		drill_fail(d, "it was sent at %llu ns", (unsigned long long)s->time);
	if (m->local_id != vb_cm_conn_id(d->cm.conn) || (m->remote_id != PEER_ID && m->remote_id))
		drill_fail(d, "its IDs are %#x and %#x", m->local_id, m->remote_id);
	/* CMP-02 */
	if ((asks && m->tid != own) || (answers && m->tid != d->cm.heard_tid))
		drill_fail(d, "its TID is %#llx", (unsigned long long)m->tid);
	if (s->path.slid != path->slid || s->path.dlid != path->dlid || s->path.sl != path->sl)
		drill_fail(d, "it goes from LID %#x to %#x, SL %u", s->path.slid, s->path.dlid,
			   s->path.sl);
}

/* "again": the bytes are those of the last message of this kind. */
static void same_bytes(struct drill *d, const struct script_message *s)
{
	const struct script_message *before = s;

	do {
		if (before == d->cm.sent)
			drill_fail(d, "there was no %s before", vb_cm_attr_name(s->msg.attr));
		before--;
	} while (before->msg.attr != s->msg.attr);
	if (memcmp(before->mad, s->mad, VB_MAD_LEN) != 0)
		drill_fail(d, "its bytes differ from the %s before", vb_cm_attr_name(s->msg.attr));
}

/* "> LAP qpn=0x21 path(local_lid=0x20)": the next message sent, now, along the connection's path;
 * "alternate": along the other one. */
void message_expect(struct drill *d, enum vb_cm_attr attr, struct args *args)
{
	const struct reader r = {d, true};
	struct vb_path path = cm_way(d, args_flag(args, "alternate"), true);
	struct script_message *s = &d->cm.sent[d->cm.sent_head];

	world_collect(d);
	if (d->cm.sent_head == d->cm.sent_tail)
		drill_fail(d, "expected %s, but nothing was sent", vb_cm_attr_name(attr));
	if (s->msg.attr != attr)
		drill_fail(d, "expected %s, actual %s", vb_cm_attr_name(attr),
			   vb_cm_attr_name(s->msg.attr));
	envelope_check(d, s, &path);
	if (args_flag(args, "again"))
		same_bytes(d, s);
	message_take(&r, args, &s->msg);
	if (attr == VB_CM_LAP || attr == VB_CM_DREQ)
		d->cm.asked_tid = s->msg.tid;
	d->cm.sent_head++;
}

/* "byte=2:1": the MAD has 1 there. */
static void byte_bend(struct drill *d, const char *text, uint8_t mad[VB_MAD_LEN])
{
	unsigned at;
	int v;

	if (sscanf(text, "%u:%i", &at, &v) != 2 || at >= VB_MAD_LEN)
		drill_fail(d, "\"%s\" is no byte of a MAD", text);
	mad[at] = (uint8_t)v;
}

/* "< APR status=LOADED": a message arrives, by the connection's path, by "alternate", or from
 * another LID, "from=0x99". */
void message_inject(struct drill *d, enum vb_cm_attr attr, struct args *args)
{
	const struct reader r = {d, false};
	struct vb_path way = cm_way(d, args_flag(args, "alternate"), true), came;
	struct vb_cm_msg m;
	uint8_t mad[VB_MAD_LEN];
	const char *bent = args_value(args, "byte");

	if (d->cm.cm == NULL)
		drill_fail(d, "there is no connection yet");
	message_none_left(d);
	came = vb_path_back(&way);
	came.slid = (uint16_t)world_arg(d, args, "from", came.slid);
	m = message_default(d, attr);
	message_take(&r, args, &m);
	vb_cm_msg_emit(&m, mad);
	if (bent != NULL)
		byte_bend(d, bent, mad);
	if (attr == VB_CM_LAP || attr == VB_CM_DREQ)
		d->cm.heard_tid = m.tid;
	vb_cm_handle_mad(d->cm.cm, &came, mad, d->now);
}

void message_none_left(struct drill *d)
{
	const struct script_message *s = &d->cm.sent[d->cm.sent_head];

	world_collect(d);
	if (d->cm.sent_head != d->cm.sent_tail)
		drill_fail(d, "a message that no line expects: %s at %llu ns",
			   vb_cm_attr_name(s->msg.attr), (unsigned long long)s->time);
}
