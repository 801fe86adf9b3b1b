/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captured conversations of rdma_rxe's connection managers (tests/data/rxe), with ours in the place
 * of each end in turn: what it says differs in its communication IDs and transaction IDs alone.
 * CMP-01
 */
#include "cmocka_env.h"

#include "capture_file.h"
#include "cm/cm.h"

#include <stdlib.h>

#define BTH_DETH 20
#define MESSAGES_MAX 8

static const char *const names[] = {"cm_rping",    "cm_rping_v6",    "cm_reject",
				    "cm_ucmatose", "cm_rdma_client", "cm_udaddy"};
#define NAMES (sizeof names / sizeof names[0])

struct message {
	struct vb_path path;
	struct vb_cm_msg msg;
	uint8_t mad[VB_MAD_LEN];
	bool by_active;
};

struct conversation {
	struct message m[MESSAGES_MAX];
	uint32_t cnt;
	struct vb_cm *cm;
	struct vb_cm_conn *conn;
	bool active; /* ours is the active end */
	vb_time now;
};

static void *plain_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void plain_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static void conversation_read(struct conversation *v, const char *name)
{
	struct capture c;
	char path[256];

	memset(v, 0, sizeof *v);
	snprintf(path, sizeof path, "%s/rxe/%s.pcapng", TEST_DATA, name);
	assert_int_equal(capture_read(&c, path), 0);
	for (size_t i = 0; i < c.cnt; i++) {
		const struct packet *p = &c.pkt[i].p;
		struct message *m = &v->m[v->cnt];

		if (packet_bth(p)[0] != 0x64 || packet_bth(p)[7] != 1)
			continue;
		assert_true(v->cnt < MESSAGES_MAX);
		memcpy(m->mad, packet_bth(p) + BTH_DETH, VB_MAD_LEN);
		assert_int_equal(vb_cm_msg_parse(&m->msg, m->mad), 0);
		m->path = (struct vb_path){
		    .sgid = p->udp.src, .dgid = p->udp.dst, .hop_limit = 64, .port = 1};
		m->by_active = vb_gid_eq(&m->path.sgid, &v->m[0].path.sgid);
		v->cnt++;
	}
	capture_free(&c);
	assert_true(v->cnt >= 2);
}

static void conversation_open(struct conversation *v, bool active)
{
	const struct vb_cm_config cfg = {.seed = 1,
					 .hi_tid = 2,
					 .conns = 4,
					 .ack_delay = 15, /* rxe's */
					 .alloc = plain_alloc,
					 .free = plain_free};

	v->active = active;
	v->now = VB_SEC;
	assert_int_equal(vb_cm_create(&v->cm, &cfg), 0);
}

/* The captured message as it would be for our end: the ID that it calls us by is ours. */
static void message_feed(struct conversation *v, const struct message *m)
{
	struct vb_cm_msg msg = m->msg;
	uint8_t mad[VB_MAD_LEN];

	if (msg.attr == VB_CM_SIDR_REP)
		msg.local_id = vb_cm_conn_id(v->conn);
	else if (v->conn && msg.remote_id)
		msg.remote_id = vb_cm_conn_id(v->conn);
	vb_cm_msg_emit(&msg, mad);
	vb_cm_handle_mad(v->cm, &m->path, mad, v->now);
}

/* IDs are drawn; everything else has to be the same. */
static void message_compare(struct conversation *v, const struct message *want)
{
	struct vb_path path;
	uint8_t mad[VB_MAD_LEN], expected[VB_MAD_LEN];
	struct vb_cm_msg got, m = want->msg;
	uint16_t pkey;

	assert_true(vb_cm_poll_transmit(v->cm, &path, &pkey, mad));
	assert_int_equal(vb_cm_msg_parse(&got, mad), 0);
	m.tid = got.tid;
	if (m.local_id && m.attr != VB_CM_SIDR_REP)
		m.local_id = got.local_id;
	vb_cm_msg_emit(&m, expected);
	assert_memory_equal(mad, expected, VB_MAD_LEN);
	assert_true(vb_gid_eq(&path.dgid, &want->path.dgid));
	assert_true(vb_gid_eq(&path.sgid, &want->path.sgid));
}

static void connect_as(struct conversation *v, const struct message *m)
{
	const struct vb_cm_req *q = &m->msg.req;
	struct vb_cm_request r = {.path = m->path,
				  .service_id = q->service_id,
				  .ca_guid = q->ca_guid,
				  .qpn = q->qpn,
				  .rq_psn = vb_psn(q->psn),
				  .pkey = q->pkey,
				  .mtu = q->mtu,
				  .rate = q->primary.rate,
				  .packet_lifetime = 18, /* of kernel 6.1 */
				  .responder_resources = q->resp_resources,
				  .initiator_depth = q->init_depth,
				  .retry_cnt = q->retry_cnt,
				  .rnr_retry = q->rnr_retry,
				  .cm_timeout = 20,
				  .max_cm_retries = 15,
				  .srq = q->srq,
				  .flow_control = q->flow_control,
				  .private_data = {m->msg.private_data, 92}};

	r.path.flow_label = q->primary.flow_label;
	r.path.traffic_class = q->primary.traffic_class;
	assert_int_equal(vb_cm_conn_create(v->cm, NULL, &v->conn), 0);
	assert_int_equal(vb_cm_connect(v->conn, &r, v->now), 0);
}

static void reply_as(struct conversation *v, const struct vb_cm_msg *m)
{
	const struct vb_cm_reply_param r = {.ca_guid = m->rep.ca_guid,
					    .qpn = m->rep.qpn,
					    .rq_psn = vb_psn(m->rep.psn),
					    .responder_resources = m->rep.resp_resources,
					    .initiator_depth = m->rep.init_depth,
					    .rnr_retry = m->rep.rnr_retry,
					    .srq = m->rep.srq,
					    .flow_control = m->rep.flow_control,
					    .private_data = {m->private_data, 196}};

	assert_int_equal(vb_cm_reply(v->conn, &r, v->now), 0);
}

static void sidr_request_as(struct conversation *v, const struct message *m)
{
	const struct vb_cm_sidr_request r = {.path = m->path,
					     .service_id = m->msg.sidr_req.service_id,
					     .pkey = m->msg.sidr_req.pkey,
					     .cm_timeout = 20,
					     .max_cm_retries = 15,
					     .private_data = {m->msg.private_data, 216}};

	assert_int_equal(vb_cm_conn_create(v->cm, NULL, &v->conn), 0);
	assert_int_equal(vb_cm_sidr_request(v->conn, &r, v->now), 0);
}

static void sidr_reply_as(struct conversation *v, const struct vb_cm_msg *m)
{
	const struct vb_cm_sidr_reply r = {.status = (enum vb_cm_sidr_status)m->sidr_rep.status,
					   .qpn = m->sidr_rep.qpn,
					   .qkey = m->sidr_rep.qkey,
					   .private_data = {m->private_data, 136}};

	assert_int_equal(vb_cm_sidr_reply(v->conn, &r), 0);
}

/* Our consumer does what the captured one did. */
static void consumer_act(struct conversation *v, const struct message *m)
{
	const struct vb_cm_private p = {m->msg.private_data, vb_cm_private_len(m->msg.attr)};

	switch (m->msg.attr) {
	case VB_CM_REQ:
		connect_as(v, m);
		break;
	case VB_CM_REP:
		reply_as(v, &m->msg);
		break;
	case VB_CM_RTU:
		assert_int_equal(vb_cm_ready(v->conn, &p), 0);
		break;
	case VB_CM_DREQ:
	case VB_CM_DREP:
		assert_int_equal(vb_cm_disconnect(v->conn, &p, v->now), 0);
		break;
	case VB_CM_REJ: /* nobody listens: no consumer has a part in it */
		break;
	case VB_CM_SIDR_REQ:
		sidr_request_as(v, m);
		break;
	case VB_CM_SIDR_REP:
		sidr_reply_as(v, &m->msg);
		break;
	default:
		fail_msg("%s", vb_cm_attr_name(m->msg.attr));
	}
}

static void peer_says(struct conversation *v, const struct message *m, bool rejected)
{
	struct vb_cm_event ev;

	message_feed(v, m);
	if (rejected)
		return;
	assert_true(vb_cm_poll_event(v->cm, &ev));
	assert_int_equal(ev.kind, VB_CM_EVENT_MESSAGE);
	assert_int_equal(ev.msg.attr, m->msg.attr);
	assert_memory_equal(ev.msg.private_data, m->msg.private_data, VB_CM_PRIVATE_MAX);
	v->conn = ev.conn;
}

static void conversation_play(const char *name, bool active)
{
	struct conversation v;
	struct vb_cm_conn *listener;
	bool rejected;

	conversation_read(&v, name);
	conversation_open(&v, active);
	rejected = v.m[1].msg.attr == VB_CM_REJ && !active;
	if (!active && !rejected) {
		uint64_t service = v.m[0].msg.attr == VB_CM_REQ ? v.m[0].msg.req.service_id
								: v.m[0].msg.sidr_req.service_id;

		assert_int_equal(vb_cm_conn_create(v.cm, NULL, &listener), 0);
		assert_int_equal(vb_cm_listen(listener, service), 0);
	}
	for (uint32_t i = 0; i < v.cnt; i++) {
		if (v.m[i].by_active != active) {
			peer_says(&v, &v.m[i], rejected);
		} else {
			consumer_act(&v, &v.m[i]);
			message_compare(&v, &v.m[i]);
		}
	}
	vb_cm_destroy(v.cm);
}

static void passive__answers_as_rxe_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < NAMES; i++)
		conversation_play(names[i], false);
}

static void active__asks_as_rxe_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < NAMES; i++)
		conversation_play(names[i], true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(passive__answers_as_rxe_does),
	    cmocka_unit_test(active__asks_as_rxe_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
