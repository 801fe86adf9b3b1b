/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two connection managers and the network between them, in virtual time: every message is kept, and
 * a test may lose, double or hold it. Memory is counted and can fail.
 */
#ifndef VB_TESTS_UNIT_CM_ENV_H
#define VB_TESTS_UNIT_CM_ENV_H

#include "cmocka_env.h"

#include "cm/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CM_SERVICE UINT64_C(0x0000000001061c06)
#define CM_CODE 20 /* of the waits for answers: 4096 ms */
#define CM_LIFETIME 16
#define CM_SENT_MAX 256

struct cm_net;

struct cm_host {
	struct cm_net *net;
	struct vb_cm *cm;
	struct vb_cm_config cfg;
	struct vb_gid gid;
	uint64_t guid;
	uint32_t blocks, calls, fail_at; /* as in core_env.h */
};

struct cm_sent {
	vb_time time;
	const struct cm_host *from;
	struct vb_path path;
	uint16_t pkey;
	struct vb_cm_msg msg;
	uint8_t mad[VB_MAD_LEN];
};

struct cm_net {
	struct cm_host host[2];
	vb_time now;
	uint32_t lose; /* bit n: messages with the attribute VB_CM_ATTR_FIRST + n are lost */
	struct cm_sent sent[CM_SENT_MAX];
	uint32_t sent_cnt;
};

static inline void *cm_env_alloc(void *ctx, size_t size)
{
	struct cm_host *h = ctx;
	void *p;

	if (++h->calls == h->fail_at)
		return NULL;
	p = calloc(1, size);
	assert_non_null(p);
	h->blocks++;
	return p;
}

static inline void cm_env_free(void *ctx, void *p)
{
	struct cm_host *h = ctx;

	assert_non_null(p);
	h->blocks--;
	free(p);
}

static inline uint32_t cm_bit(enum vb_cm_attr attr)
{
	return 1u << (attr - VB_CM_ATTR_FIRST);
}

static inline void cm_open(struct cm_net *n, vb_dur early_resend_ns)
{
	memset(n, 0, sizeof *n);
	n->now = VB_SEC;
	for (uint32_t i = 0; i < 2; i++) {
		struct cm_host *h = &n->host[i];

		h->net = n;
		h->guid = 0xabcd0000 + i;
		h->gid = (struct vb_gid){{[10] = 0xff, 0xff, 10, 77, 0, (uint8_t)(2 + i)}};
		h->cfg = (struct vb_cm_config){.seed = 7 + i,
					       .ports = 1,
					       .hi_tid = 2 + i,
					       .conns = 32,
					       .ack_delay = 15,
					       .early_resend_ns = early_resend_ns,
					       .alloc = cm_env_alloc,
					       .free = cm_env_free,
					       .alloc_ctx = h};
		assert_int_equal(vb_cm_create(&h->cm, &h->cfg), 0);
	}
}

static inline void cm_close(struct cm_net *n)
{
	for (uint32_t i = 0; i < 2; i++) {
		vb_cm_destroy(n->host[i].cm);
		assert_int_equal(n->host[i].blocks, 0);
	}
}

static inline struct cm_host *cm_host_of(struct cm_net *n, const struct vb_gid *gid)
{
	for (uint32_t i = 0; i < 2; i++) {
		if (vb_gid_eq(&n->host[i].gid, gid))
			return &n->host[i];
	}
	return NULL;
}

/* Hands a message to the host that it is for. */
static inline void cm_deliver(struct cm_net *n, const struct cm_sent *s)
{
	struct cm_host *to = cm_host_of(n, &s->path.dgid);

	if (to)
		vb_cm_handle_mad(to->cm, &s->path, s->mad, n->now);
}

/* Takes what @h sends and delivers it, unless it is lost. True: there was something. */
static inline bool cm_transmit(struct cm_host *h)
{
	struct cm_net *n = h->net;
	struct cm_sent *s = &n->sent[n->sent_cnt];

	assert_true(n->sent_cnt < CM_SENT_MAX);
	if (!vb_cm_poll_transmit(h->cm, &s->path, &s->pkey, s->mad))
		return false;
	n->sent_cnt++;
	s->time = n->now;
	s->from = h;
	assert_int_equal(vb_cm_msg_parse(&s->msg, s->mad), 0);
	if (!(n->lose & cm_bit(s->msg.attr)))
		cm_deliver(n, s);
	return true;
}

/* Until both have nothing more to send at this instant. */
static inline void cm_settle(struct cm_net *n)
{
	while (cm_transmit(&n->host[0]) || cm_transmit(&n->host[1]))
		;
}

/* Lets @span pass, with everything that happens in it. */
static inline void cm_advance(struct cm_net *n, vb_dur span)
{
	vb_time end = n->now + span;

	for (;;) {
		vb_time due = vb_time_min(vb_cm_poll_timeout(n->host[0].cm),
					  vb_cm_poll_timeout(n->host[1].cm));

		cm_settle(n);
		if (due > end)
			break;
		n->now = due;
		vb_cm_handle_timeout(n->host[0].cm, n->now);
		vb_cm_handle_timeout(n->host[1].cm, n->now);
		cm_settle(n);
	}
	n->now = end;
}

static inline struct vb_cm_event cm_event(struct cm_host *h, enum vb_cm_event_kind kind)
{
	struct vb_cm_event ev;

	assert_true(vb_cm_poll_event(h->cm, &ev));
	assert_int_equal(ev.kind, kind);
	return ev;
}

static inline struct vb_cm_event cm_message(struct cm_host *h, enum vb_cm_attr attr)
{
	struct vb_cm_event ev = cm_event(h, VB_CM_EVENT_MESSAGE);

	assert_int_equal(ev.msg.attr, attr);
	return ev;
}

static inline void cm_no_event(struct cm_host *h)
{
	struct vb_cm_event ev;

	assert_false(vb_cm_poll_event(h->cm, &ev));
}

/* How many messages of this kind @h has sent. */
static inline uint32_t cm_sent_by(const struct cm_net *n, const struct cm_host *h,
				  enum vb_cm_attr attr)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < n->sent_cnt; i++)
		cnt += n->sent[i].from == h && n->sent[i].msg.attr == attr;
	return cnt;
}

/* The last message of this kind; there must be one. */
static inline const struct cm_sent *cm_last(const struct cm_net *n, enum vb_cm_attr attr)
{
	uint32_t i = n->sent_cnt;

	while (i > 0 && n->sent[i - 1].msg.attr != attr)
		i--;
	assert_true(i > 0);
	return &n->sent[i - 1];
}

static inline struct vb_cm_conn *cm_conn(struct cm_host *h)
{
	struct vb_cm_conn *c;

	assert_int_equal(vb_cm_conn_create(h->cm, h, &c), 0);
	return c;
}

static inline struct vb_cm_conn *cm_listener(struct cm_host *h)
{
	struct vb_cm_conn *c = cm_conn(h);

	assert_int_equal(vb_cm_listen(c, CM_SERVICE), 0);
	return c;
}

static inline struct vb_path cm_path(const struct cm_host *from, const struct cm_host *to)
{
	return (struct vb_path){.sgid = from->gid,
				.dgid = to->gid,
				.flow_label = 0xfbb06,
				.port = 1,
				.traffic_class = 0x20,
				.hop_limit = 64};
}

static inline struct vb_cm_request cm_request(const struct cm_host *from, const struct cm_host *to)
{
	return (struct vb_cm_request){.path = cm_path(from, to),
				      .service_id = CM_SERVICE,
				      .ca_guid = from->guid,
				      .qpn = 0x41,
				      .rq_psn = vb_psn(0x0803c2),
				      .pkey = 0xffff,
				      .mtu = 5,
				      .packet_lifetime = CM_LIFETIME,
				      .responder_resources = 3,
				      .initiator_depth = 5,
				      .retry_cnt = 6,
				      .rnr_retry = 4,
				      .cm_timeout = CM_CODE,
				      .max_cm_retries = 15};
}

static inline struct vb_cm_reply_param cm_reply_param(const struct cm_host *h)
{
	return (struct vb_cm_reply_param){.ca_guid = h->guid,
					  .qpn = 0x42,
					  .rq_psn = vb_psn(0x112233),
					  .responder_resources = 2,
					  .initiator_depth = 1,
					  .rnr_retry = 7};
}

/* A connection from host 0 to host 1, as far as the tests need it. */
struct cm_pair {
	struct vb_cm_conn *listener, *active, *passive;
};

/* The REQ has come; the consumer has seen it. */
static inline struct cm_pair cm_requested(struct cm_net *n)
{
	struct cm_pair p = {cm_listener(&n->host[1]), cm_conn(&n->host[0]), NULL};
	struct vb_cm_request r = cm_request(&n->host[0], &n->host[1]);

	assert_int_equal(vb_cm_connect(p.active, &r, n->now), 0);
	cm_settle(n);
	p.passive = cm_message(&n->host[1], VB_CM_REQ).conn;
	return p;
}

static inline struct cm_pair cm_replied(struct cm_net *n)
{
	struct cm_pair p = cm_requested(n);
	struct vb_cm_reply_param r = cm_reply_param(&n->host[1]);

	assert_int_equal(vb_cm_reply(p.passive, &r, n->now), 0);
	cm_settle(n);
	cm_message(&n->host[0], VB_CM_REP);
	return p;
}

static inline struct cm_pair cm_established(struct cm_net *n)
{
	struct cm_pair p = cm_replied(n);

	assert_int_equal(vb_cm_ready(p.active, NULL), 0);
	cm_settle(n);
	cm_message(&n->host[1], VB_CM_RTU);
	return p;
}

static inline void cm_assert_states(const struct cm_pair *p, enum vb_cm_state active,
				    enum vb_cm_state passive)
{
	assert_string_equal(vb_cm_state_name(vb_cm_conn_state(p->active)),
			    vb_cm_state_name(active));
	assert_string_equal(vb_cm_state_name(vb_cm_conn_state(p->passive)),
			    vb_cm_state_name(passive));
}

#endif
