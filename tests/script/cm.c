/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines that make a connection and call the connection manager: cm, conn, reply, ready, load_path,
 * answer_path, delay, migrate, disconnect, expect_conn. The peer is messages alone, as it is to a
 * QP packets.
 */
#include "drill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_HOST 1
#define PEER_HOST 2
#define OWN_GUID 0xa1
#define HI_TID 7
#define SERVICE UINT64_C(0x0000000001061c06)
#define QPN 0x11
#define PSN 100
#define ACK_DELAY 15
#define CODE 20 /* of the waits for answers: 4096 ms */
#define LIFETIME 16
#define RETRIES 15
#define PORT 1

struct vb_path cm_way(const struct drill *d, bool alternate, bool on_wire)
{
	struct vb_path p = {.port = PORT,
			    .sgid = world_gid(OWN_HOST, !d->cm.is_roce),
			    .dgid = world_gid(PEER_HOST, !d->cm.is_roce)};

	if (d->cm.is_roce) {
		p.hop_limit = 64;
		return p;
	}
	p.slid = alternate ? 0x20 : 0x10;
	p.dlid = alternate ? 0x21 : 0x11;
	p.sl = alternate ? 2 : 1;
	if (on_wire)
		p.sgid = p.dgid = (struct vb_gid){{0}};
	return p;
}

static void *cm_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void cm_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static bool gid_is_local(void *ctx, const struct vb_gid *gid)
{
	struct drill *d = ctx;
	struct vb_gid own = world_gid(OWN_HOST, !d->cm.is_roce);

	return vb_gid_eq(gid, &own);
}

static void cm_open(struct drill *d)
{
	struct vb_cm_config *cfg = &d->cm.cfg;

	if (d->cm.cm != NULL)
		return;
	cfg->seed = 1;
	cfg->hi_tid = HI_TID;
	cfg->conns = 16;
	cfg->ports = PORT;
	cfg->ack_delay = ACK_DELAY;
	cfg->gid_is_local = gid_is_local;
	cfg->gid_ctx = d;
	cfg->alloc = cm_alloc;
	cfg->free = cm_free;
	if (vb_cm_create(&d->cm.cm, cfg) != 0)
		drill_fail(d, "the connection manager cannot be made");
}

/* "cm roce early=1000000000": before all else. */
void cm_config(struct drill *d, struct args *args)
{
	if (d->cm.cm != NULL)
		drill_fail(d, "the connection manager exists already");
	d->cm.is_roce = args_flag(args, "roce");
	d->cm.cfg.early_resend_ns = world_arg(d, args, "early", 0);
	cm_open(d);
}

void cm_destroy(struct drill *d)
{
	if (d->cm.cm != NULL)
		vb_cm_destroy(d->cm.cm);
}

void cm_collect(struct drill *d)
{
	struct script_cm *cm = &d->cm;
	struct script_message *s = &cm->sent[cm->sent_tail];
	uint16_t pkey;

	while (cm->cm != NULL && vb_cm_poll_transmit(cm->cm, &s->path, &pkey, s->mad)) {
		if (vb_cm_msg_parse(&s->msg, s->mad) != 0)
			drill_fail(d, "sent a message that is none");
		s->time = d->now;
		if (++cm->sent_tail == MESSAGES_MAX)
			drill_fail(d, "more than %d messages were sent", MESSAGES_MAX - 1);
		s++;
	}
}

vb_time cm_due(const struct drill *d)
{
	return d->cm.cm != NULL ? vb_cm_poll_timeout(d->cm.cm) : VB_NEVER;
}

/* The message that it sends now, of a step that no line looks at. */
static void step_sent(struct drill *d, enum vb_cm_attr attr)
{
	const struct script_message *s = &d->cm.sent[d->cm.sent_head];

	cm_collect(d);
	if (d->cm.sent_head == d->cm.sent_tail || s->msg.attr != attr)
		drill_fail(d, "no %s is sent", vb_cm_attr_name(attr));
	d->cm.sent_head++;
	if (attr == VB_CM_REQ)
		d->cm.asked_tid = s->msg.tid;
}

/* A message of the peer, and the event that it is. */
static void step_heard(struct drill *d, enum vb_cm_attr attr, bool has_alternate)
{
	struct vb_cm_msg m = message_default(d, attr);
	struct vb_path own = cm_way(d, false, true), came = vb_path_back(&own);
	uint8_t mad[VB_MAD_LEN];
	struct vb_cm_event ev;

	if (attr == VB_CM_REQ && !has_alternate)
		m.req.alternate = (struct vb_cm_route){.rate = 0};
	vb_cm_msg_emit(&m, mad);
	vb_cm_handle_mad(d->cm.cm, &came, mad, d->now);
	if (!vb_cm_poll_event(d->cm.cm, &ev) || ev.kind != VB_CM_EVENT_MESSAGE ||
	    ev.msg.attr != attr)
		drill_fail(d, "the %s is no event", vb_cm_attr_name(attr));
	if (attr == VB_CM_REQ) {
		d->cm.conn = ev.conn;
		d->cm.asked_tid = m.tid;
	}
}

static void must(struct drill *d, const char *what, int rc)
{
	if (rc != 0)
		drill_fail(d, "%s: %d", what, rc);
}

/* Goes on to @state as the side that sends the REQ, or until it is in none of the states there. */
static void go_active(struct drill *d, struct args *args, const char *state, bool has_alternate)
{
	struct vb_cm_request r = {.path = cm_way(d, false, false),
				  .service_id = SERVICE,
				  .ca_guid = OWN_GUID,
				  .qpn = d->cm.qpn,
				  .rq_psn = vb_psn(PSN),
				  .pkey = VB_PKEY_DEFAULT,
				  .mtu = 3,
				  .responder_resources = 4,
				  .initiator_depth = 4,
				  .retry_cnt = 7,
				  .rnr_retry = 7};

	r.packet_lifetime = (uint8_t)world_arg(d, args, "lifetime", LIFETIME);
	r.cm_timeout = (uint8_t)world_arg(d, args, "timeout", CODE);
	r.max_cm_retries = (uint8_t)world_arg(d, args, "retries", RETRIES);
	if (has_alternate) {
		r.alt_path = cm_way(d, true, false);
		r.alt_packet_lifetime = LIFETIME;
	}
	must(d, "vb_cm_conn_create", vb_cm_conn_create(d->cm.cm, d, &d->cm.conn));
	must(d, "vb_cm_connect", vb_cm_connect(d->cm.conn, &r, d->now));
	step_sent(d, VB_CM_REQ);
	if (strcmp(state, "REQ_SENT") == 0)
		return;
	step_heard(d, VB_CM_REP, false);
	if (strcmp(state, "REP_RCVD") == 0)
		return;
	must(d, "vb_cm_ready", vb_cm_ready(d->cm.conn, NULL));
	step_sent(d, VB_CM_RTU);
}

static struct vb_cm_reply_param reply_param(const struct drill *d)
{
	return (struct vb_cm_reply_param){.ca_guid = OWN_GUID,
					  .qpn = d->cm.qpn,
					  .rq_psn = vb_psn(PSN),
					  .responder_resources = 4,
					  .initiator_depth = 4,
					  .rnr_retry = 7};
}

/* The same as the side that gets it. */
static void go_passive(struct drill *d, const char *state, bool has_alternate)
{
	const struct vb_cm_reply_param r = reply_param(d);

	must(d, "vb_cm_conn_create", vb_cm_conn_create(d->cm.cm, d, &d->cm.listener));
	must(d, "vb_cm_listen", vb_cm_listen(d->cm.listener, SERVICE));
	step_heard(d, VB_CM_REQ, has_alternate);
	if (strcmp(state, "REQ_RCVD") == 0)
		return;
	must(d, "vb_cm_reply", vb_cm_reply(d->cm.conn, &r, d->now));
	step_sent(d, VB_CM_REP);
	if (strcmp(state, "REP_SENT") == 0)
		return;
	step_heard(d, VB_CM_RTU, false);
}

/* "conn active|passive state=ESTABLISHED alternate timeout=20 lifetime=16 retries=15": a
 * connection, taken up to that state. Its local QP is the script's first one. */
void cm_conn(struct drill *d, struct args *args)
{
	const char *state = args_value(args, "state");
	bool has_alternate = args_flag(args, "alternate"), is_passive = args_flag(args, "passive");
	const char *is;

	cm_open(d);
	if (d->cm.conn != NULL || is_passive == args_flag(args, "active"))
		drill_fail(d, "active or passive? or there is one already");
	if (state == NULL)
		state = "ESTABLISHED";
	d->cm.qpn = d->qp_cnt > 0 ? d->qp[0].qpn : QPN;
	if (is_passive)
		go_passive(d, state, has_alternate);
	else
		go_active(d, args, state, has_alternate);
	is = vb_cm_state_name(vb_cm_conn_state(d->cm.conn));
	if (strcmp(is, state) != 0)
		drill_fail(d, "it is in %s, and not in %s", is, state);
}

static struct vb_cm_conn *the_conn(struct drill *d)
{
	if (d->cm.conn == NULL)
		drill_fail(d, "there is no connection yet");
	return d->cm.conn;
}

static struct vb_cm_private bytes_of(struct args *args, const char *key)
{
	const char *text = args_value(args, key);

	return (struct vb_cm_private){text, text != NULL ? (uint32_t)strlen(text) : 0};
}

/* "load_path slid=0x20 dlid=0x21 rate=3 lifetime=14 timeout=20 data=please": a LAP. */
void cm_load_path(struct drill *d, struct args *args)
{
	struct vb_cm_alternate a = {.path = cm_way(d, true, false),
				    .private_data = bytes_of(args, "data")};

	a.path.slid = (uint16_t)world_arg(d, args, "slid", a.path.slid);
	a.path.dlid = (uint16_t)world_arg(d, args, "dlid", a.path.dlid);
	a.rate = (uint8_t)world_arg(d, args, "rate", 0);
	a.packet_lifetime = (uint8_t)world_arg(d, args, "lifetime", LIFETIME);
	a.cm_timeout = (uint8_t)world_arg(d, args, "timeout", CODE);
	work_result(d, args, vb_cm_load_alternate(the_conn(d), &a, d->now));
}

/* "answer_path REJECT info=why data=no": an APR. */
void cm_answer_path(struct drill *d, struct args *args)
{
	struct arg *word = args_next_word(args);
	int status = word != NULL ? name_value(name_apr, word->key) : -1;
	struct vb_cm_private info = bytes_of(args, "info"), data = bytes_of(args, "data");

	if (status < 0)
		drill_fail(d, "which status?");
	work_result(d, args, vb_cm_answer_alternate(the_conn(d), (uint8_t)status, &info, &data));
}

/* "reply" after a REQ, "ready" after a REP. */
void cm_reply(struct drill *d, struct args *args)
{
	const struct vb_cm_reply_param r = reply_param(d);

	work_result(d, args, vb_cm_reply(the_conn(d), &r, d->now));
}

void cm_ready(struct drill *d, struct args *args)
{
	work_result(d, args, vb_cm_ready(the_conn(d), NULL));
}

/* "delay 24": a duplicate is to be answered by an MRA. */
void cm_delay(struct drill *d, struct args *args)
{
	struct arg *word = args_next_word(args);

	if (word == NULL)
		drill_fail(d, "for how long?");
	work_result(d, args, vb_cm_delay(the_conn(d), (uint8_t)world_number(d, word->key)));
}

void cm_migrate(struct drill *d, struct args *args)
{
	work_result(d, args, vb_cm_migrate(the_conn(d)));
}

void cm_disconnect(struct drill *d, struct args *args)
{
	work_result(d, args, vb_cm_disconnect(the_conn(d), NULL, d->now));
}

struct vb_alt_path cm_alternate(struct drill *d)
{
	const struct vb_cm_alt *alt = &vb_cm_conn_qp(the_conn(d))->alt;
	struct vb_alt_path a = {.path = alt->path, .timeout = alt->ack_timeout};

	if (a.path.hop_limit <= 1) /* the packets have no GRH */
		a.path.sgid = a.path.dgid = (struct vb_gid){{0}};
	return a;
}

static void expect_number(struct drill *d, struct args *args, const char *key, uint64_t is)
{
	const char *text = args_value(args, key);

	if (text != NULL && world_number(d, text) != is)
		drill_fail(d, "%s: expected %s, actual %llu (%#llx)", key, text,
			   (unsigned long long)is, (unsigned long long)is);
}

/* "expect_conn ESTABLISHED slid=0x20 dlid=0x21 sl= rate= ack_timeout= duplicates= unmatched= bad=":
 * its state, its alternate path (LIDs 0: none), and what the manager has counted. */
void cm_expect(struct drill *d, struct args *args)
{
	const char *state = vb_cm_state_name(vb_cm_conn_state(the_conn(d)));
	const struct vb_cm_alt *alt = &vb_cm_conn_qp(d->cm.conn)->alt;
	const struct vb_cm_counters *cnt = vb_cm_counters(d->cm.cm);
	const struct vb_cm_port_counters *port = &vb_cm_port_counters(d->cm.cm)[PORT];
	struct arg *word = args_next_word(args);

	if (word != NULL && strcmp(word->key, state) != 0)
		drill_fail(d, "state: expected %s, actual %s", word->key, state);
	expect_number(d, args, "slid", alt->path.slid);
	expect_number(d, args, "dlid", alt->path.dlid);
	expect_number(d, args, "sl", alt->path.sl);
	expect_number(d, args, "rate", alt->rate);
	expect_number(d, args, "ack_timeout", alt->ack_timeout);
	expect_number(d, args, "unmatched", cnt->rx_unmatched);
	expect_number(d, args, "bad", cnt->rx_bad);
	expect_number(d, args, "duplicates", port->rx_duplicates[VB_CM_LAP - VB_CM_ATTR_FIRST]);
}

/* "LAP": the message came; "LAP_UNANSWERED": nobody has answered it. */
static void event_name(const struct vb_cm_event *ev, char *out, size_t size)
{
	const char *attr = vb_cm_attr_name(ev->msg.attr != 0 ? ev->msg.attr : VB_CM_REQ);

	if (ev->kind == VB_CM_EVENT_TIMEWAIT_EXIT)
		snprintf(out, size, "TIMEWAIT_EXIT");
	else if (ev->kind == VB_CM_EVENT_ESTABLISHED)
		snprintf(out, size, "ESTABLISHED");
	else
		snprintf(out, size, "%s%s", attr,
			 ev->kind == VB_CM_EVENT_UNREACHABLE ? "_UNANSWERED" : "");
}

static bool word_is_event(const char *word)
{
	char attr[32];

	snprintf(attr, sizeof attr, "%.*s", (int)strcspn(word, "_"), word);
	return message_named(word) != 0 || strcmp(word, "TIMEWAIT_EXIT") == 0 ||
	       strcmp(word, "ESTABLISHED") == 0 ||
	       (message_named(attr) != 0 && strcmp(word + strlen(attr), "_UNANSWERED") == 0);
}

bool cm_event(struct drill *d, const char *word)
{
	struct vb_cm_event ev;
	char got[32];

	if (!word_is_event(word))
		return false;
	if (d->cm.cm == NULL || !vb_cm_poll_event(d->cm.cm, &ev))
		drill_fail(d, "expected the event %s, but there is none", word);
	event_name(&ev, got, sizeof got);
	if (strcmp(got, word) != 0)
		drill_fail(d, "event: expected %s, actual %s", word, got);
	return true;
}

void cm_no_event(struct drill *d)
{
	struct vb_cm_event ev;
	char got[32];

	if (d->cm.cm == NULL || !vb_cm_poll_event(d->cm.cm, &ev))
		return;
	event_name(&ev, got, sizeof got);
	drill_fail(d, "an event that no line expects: %s", got);
}
