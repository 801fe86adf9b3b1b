/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two hosts with the RDMA connection manager, and the network between them, in virtual time:
 * programs are lines of commands with the bytes that librdmacm writes. Memory is counted.
 */
#ifndef VB_TESTS_UNIT_UCMA_ENV_H
#define VB_TESTS_UNIT_UCMA_ENV_H

#include "cmocka_env.h"
#include "ucma/abi.h"
#include "ucma/keep/keep.h"
#include "ucma/ucma.h"
#include "wire/mad/subnet/sa.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UCMA_PORT 7174
#define UCMA_SENT_MAX 4096

struct ucma_net;

struct ucma_host {
	struct ucma_net *net;
	struct vb_ucma *u;
	uint8_t address; /* 10.0.0.x, fd00::x */
	uint32_t blocks, groups;
	bool may_bind_low, refuses_groups;
	uint32_t claims;     /* services that others of the host have been told of */
	uint16_t others_end; /* ports below are other users' */
	/* Of InfiniBand: what another manager has set. 0: as it was. */
	uint16_t sm_lid;
	uint8_t prefix;
};

struct ucma_net {
	struct ucma_host host[2];
	/* Of InfiniBand, NULL of RoCE: takes a question to the subnet administrator. */
	void (*ask)(struct ucma_net *n, struct ucma_host *from, const struct vb_path *path,
		    const uint8_t mad[VB_MAD_LEN]);
	vb_time now;
	uint32_t lose; /* bit n: messages with the attribute VB_CM_ATTR_FIRST + n are lost */
	uint32_t sent_cnt;
	enum vb_cm_attr sent[UCMA_SENT_MAX];
	struct vb_cm_msg last;
	struct vb_path last_path;
};

static inline void *ucma_env_alloc(void *ctx, size_t size)
{
	struct ucma_host *h = ctx;
	void *p = calloc(1, size);

	assert_non_null(p);
	h->blocks++;
	return p;
}

static inline void ucma_env_free(void *ctx, void *p)
{
	struct ucma_host *h = ctx;

	assert_non_null(p);
	h->blocks--;
	free(p);
}

static inline struct vb_ucma_addr ucma_addr(uint8_t host, bool ipv4, uint16_t port)
{
	struct vb_ucma_addr a = {.family = ipv4 ? VB_UCMA_AF_INET : VB_UCMA_AF_INET6, .port = port};

	if (ipv4)
		a.gid = (struct vb_gid){{[10] = 0xff, 0xff, 10, 0, 0, host}};
	else
		a.gid = (struct vb_gid){{0xfd, [15] = host}};
	return a;
}

static inline int ucma_env_local(void *ctx, const struct vb_ucma_addr *a, struct vb_ucma_local *out)
{
	const struct ucma_host *h = ctx;
	struct vb_ucma_addr v4 = ucma_addr(h->address, true, 0);
	struct vb_ucma_addr v6 = ucma_addr(h->address, false, 0);

	if (!vb_gid_eq(&a->gid, &v4.gid) && !vb_gid_eq(&a->gid, &v6.gid))
		return -EADDRNOTAVAIL;
	*out = (struct vb_ucma_local){.hca_port = 1,
				      .mtu = 5,
				      .gid_index = vb_gid_is_ipv4(&a->gid) ? 1 : 2,
				      .device_index = 7,
				      .node_guid = 0x0011223344550000u + h->address,
				      .gid = a->gid};
	return 0;
}

static inline int ucma_env_route(void *ctx, struct vb_ucma_addr *src,
				 const struct vb_ucma_addr *dst, struct vb_ucma_local *out)
{
	const struct ucma_host *h = ctx;
	struct vb_ucma_addr own = ucma_addr(h->address, dst->family == VB_UCMA_AF_INET, 0);

	if (dst->family == VB_UCMA_AF_INET && dst->gid.b[12] == 192)
		return -ENETUNREACH;
	if (dst->family == VB_UCMA_AF_INET && dst->gid.b[12] == 172)
		return -ENODEV;
	src->gid = own.gid;
	return ucma_env_local(ctx, src, out);
}

static inline int ucma_env_group(void *ctx, const struct vb_ucma_local *l, const struct vb_gid *g,
				 bool join)
{
	struct ucma_host *h = ctx;

	assert_int_equal(l->hca_port, 1);
	assert_true(vb_gid_is_multicast(g));
	if (join && h->refuses_groups)
		return -ENOBUFS;
	h->groups += join ? 1u : UINT32_MAX;
	return 0;
}

static inline bool ucma_env_low(void *ctx)
{
	return ((const struct ucma_host *)ctx)->may_bind_low;
}

/* On InfiniBand host x has LIDs 16x and 16x + 1, GID fe80::100+x, and two partitions. */
#define UCMA_SM_LID 1
#define UCMA_PKEY 0x8007

static inline struct vb_gid ucma_ib_gid(uint8_t host)
{
	return (struct vb_gid){{0xfe, 0x80, [14] = 1, [15] = host}};
}

static inline int ucma_env_ib_port(void *ctx, uint8_t port, struct vb_ucma_ib_port *out)
{
	static const uint16_t pkey[4] = {0x7fff, UCMA_PKEY & 0x7fff, UCMA_PKEY, 0};
	const struct ucma_host *h = ctx;

	if (port != 2)
		return -ENODEV;
	*out = (struct vb_ucma_ib_port){.local = {.hca_port = 2,
						  .mtu = 5,
						  .device_index = 7,
						  .node_guid = 0x0011223344550000u + h->address,
						  .gid = ucma_ib_gid(h->address)},
					.lid = (uint16_t)(h->address * 16),
					.sm_lid = h->sm_lid ? h->sm_lid : UCMA_SM_LID,
					.sm_sl = 3,
					.lmc = 1,
					.pkey = pkey,
					.pkey_cnt = 4};
	out->local.gid.b[7] = h->prefix;
	return 0;
}

static inline int ucma_env_ib_gid(void *ctx, const struct vb_ucma_addr *a, struct vb_gid *out)
{
	(void)ctx;
	*out = a->family == VB_UCMA_AF_INET ? ucma_ib_gid(a->gid.b[15]) : a->gid;
	return 0;
}

static inline int ucma_env_ib_local(void *ctx, const struct vb_ucma_addr *a,
				    struct vb_ucma_local *out)
{
	const struct ucma_host *h = ctx;
	struct vb_ucma_ib_port port;
	struct vb_gid gid;

	(void)ucma_env_ib_port(ctx, 2, &port);
	(void)ucma_env_ib_gid(ctx, a, &gid);
	if (gid.b[15] != h->address)
		return -EADDRNOTAVAIL;
	*out = port.local;
	return 0;
}

static inline int ucma_env_ib_route(void *ctx, struct vb_ucma_addr *src,
				    const struct vb_ucma_addr *dst, struct vb_ucma_local *out)
{
	const struct ucma_host *h = ctx;
	struct vb_ucma_addr own = ucma_addr(h->address, true, 0);

	src->gid = dst->family == VB_UCMA_AF_INET ? own.gid : ucma_ib_gid(h->address);
	return ucma_env_ib_local(ctx, src, out);
}

static inline bool ucma_env_ib_is_local(void *ctx, const struct vb_gid *gid)
{
	struct vb_gid own = ucma_ib_gid(((const struct ucma_host *)ctx)->address);

	return vb_gid_eq(gid, &own);
}

static inline int ucma_env_claim(void *ctx, uint64_t service_id, const struct vb_gid *gid, bool on)
{
	struct ucma_host *h = ctx;

	(void)gid;
	if (on && (uint16_t)service_id < h->others_end)
		return -EADDRINUSE;
	h->claims += on ? 1 : UINT32_MAX;
	return 0;
}

static inline void ucma_host_open(struct ucma_host *h, uint64_t seed)
{
	struct vb_ucma_config cfg = {
	    .cm = {.seed = seed,
		   .hi_tid = 1,
		   .conns = 256,
		   .ack_delay = 15,
		   .alloc = ucma_env_alloc,
		   .free = ucma_env_free,
		   .alloc_ctx = h},
	    .ids = 128,
	    .events = 48,
	    .port_first = 32768,
	    .port_last = 32768 + 63,
	    .env = {ucma_env_local, ucma_env_route, ucma_env_group, ucma_env_low, h, NULL, NULL,
		    ucma_env_claim},
	};

	if (h->net->ask) {
		cfg.env.local = ucma_env_ib_local;
		cfg.env.route = ucma_env_ib_route;
		cfg.env.group = NULL;
		cfg.env.ib_port = ucma_env_ib_port;
		cfg.env.ib_gid = ucma_env_ib_gid;
		cfg.cm.gid_is_local = ucma_env_ib_is_local;
		cfg.cm.gid_ctx = h;
	}
	assert_int_equal(vb_ucma_create(&h->u, &cfg), 0);
}

static inline void ucma_hosts_open(struct ucma_net *n)
{
	n->now = VB_SEC;
	for (uint8_t i = 0; i < 2; i++) {
		n->host[i].net = n;
		n->host[i].address = (uint8_t)(i + 1);
		ucma_host_open(&n->host[i], 11 + i);
	}
}

static inline void ucma_open(struct ucma_net *n)
{
	memset(n, 0, sizeof *n);
	ucma_hosts_open(n);
}

static inline void ucma_close(struct ucma_net *n)
{
	for (int i = 0; i < 2; i++) {
		vb_ucma_destroy(n->host[i].u);
		assert_int_equal(n->host[i].blocks, 0);
		assert_int_equal(n->host[i].groups, 0);
	}
}

static inline struct ucma_host *ucma_host_of(struct ucma_net *n, const struct vb_gid *g)
{
	return &n->host[g->b[15] == 1 ? 0 : 1];
}

/* A message of the connection manager, which in a subnet has no GRH. */
static inline void ucma_carry(struct ucma_net *n, const struct vb_path *path,
			      const uint8_t mad[VB_MAD_LEN])
{
	struct vb_path came = *path;
	struct ucma_host *to = ucma_host_of(n, &path->dgid);

	assert_int_equal(vb_cm_msg_parse(&n->last, mad), 0);
	n->last_path = *path;
	n->sent[n->sent_cnt++ % UCMA_SENT_MAX] = n->last.attr;
	if (n->lose & 1u << (n->last.attr - VB_CM_ATTR_FIRST))
		return;
	if (vb_path_has_lid(path))
		to = &n->host[path->dlid / 16 == 1 ? 0 : 1];
	if (vb_path_has_lid(path) && path->hop_limit <= 1)
		came.sgid = came.dgid = (struct vb_gid){{0}};
	vb_ucma_handle_mad(to->u, &came, mad, n->now);
}

/* Carries what is sent, until nothing is. */
static inline void ucma_settle(struct ucma_net *n)
{
	uint8_t mad[VB_MAD_LEN];
	struct vb_path path;
	uint16_t pkey;

	for (int idle = 0, i = 0; idle < 2; i ^= 1) {
		struct ucma_host *h = &n->host[i];

		if (!vb_ucma_poll_transmit(h->u, &path, &pkey, mad)) {
			idle++;
			continue;
		}
		idle = 0;
		if (n->ask && mad[1] == VB_MAD_CLASS_SUBN_ADM)
			n->ask(n, h, &path, mad);
		else
			ucma_carry(n, &path, mad);
	}
	vb_ucma_keep(n->host[0].u);
	vb_ucma_keep(n->host[1].u);
}

static inline void ucma_advance(struct ucma_net *n, vb_dur span)
{
	vb_time end = n->now + span;

	for (;;) {
		vb_time due = vb_time_min(vb_ucma_poll_timeout(n->host[0].u),
					  vb_ucma_poll_timeout(n->host[1].u));

		ucma_settle(n);
		if (due > end)
			break;
		n->now = due;
		vb_ucma_handle_timeout(n->host[0].u, n->now);
		vb_ucma_handle_timeout(n->host[1].u, n->now);
	}
	n->now = end;
}

static inline struct vb_ucma_file *ucma_file(struct ucma_host *h)
{
	struct vb_ucma_file *f;

	assert_int_equal(vb_ucma_file_open(h->u, h, &f), 0);
	return f;
}

/* Writes a command with @out bytes of room for its reply; 0 instead of the length. */
static inline int ucma_write(struct ucma_net *n, struct vb_ucma_file *f, uint32_t cmd,
			     const void *body, uint16_t len, void *reply, uint16_t out)
{
	uint8_t bytes[VB_UCMA_COMMAND_MAX], got[VB_UCMA_REPLY_MAX];
	struct vb_ucma_hdr h = {cmd, len, out};
	struct vb_ucma_command c = {.bytes = bytes, .len = (uint32_t)sizeof h + len};
	uint32_t got_len;
	int rc;

	memcpy(bytes, &h, sizeof h);
	if (len)
		memcpy(bytes + sizeof h, body, len);
	rc = vb_ucma_command(f, &c, got, &got_len, n->now);
	assert_true(got_len <= out);
	if (rc < 0) {
		assert_int_equal(got_len, 0);
		return rc;
	}
	assert_int_equal(rc, c.len);
	if (got_len && reply)
		memcpy(reply, got, got_len);
	ucma_settle(n);
	return 0;
}

#define UCMA_CALL(n, f, cmd, body) ucma_write(n, f, cmd, &(body), sizeof(body), NULL, 0)
#define UCMA_ASK(n, f, cmd, body, reply)                                                           \
	ucma_write(n, f, cmd, &(body), sizeof(body), &(reply), sizeof(reply))

static inline uint32_t ucma_id(struct ucma_net *n, struct vb_ucma_file *f, uint64_t uid,
			       uint16_t ps, uint8_t qp_type)
{
	struct vb_ucma_create_id b = {.uid = uid, .ps = ps, .qp_type = qp_type};
	struct vb_ucma_number_reply r = {0};

	assert_int_equal(UCMA_ASK(n, f, VB_UCMA_CREATE_ID, b, r), 0);
	return r.n;
}

/* Returns events_reported. */
static inline uint32_t ucma_destroy(struct ucma_net *n, struct vb_ucma_file *f, uint32_t id)
{
	struct vb_ucma_destroy_id b = {.id = id};
	struct vb_ucma_number_reply r = {0};

	assert_int_equal(UCMA_ASK(n, f, VB_UCMA_DESTROY_ID, b, r), 0);
	return r.n;
}

static inline void ucma_sockaddr(const struct vb_ucma_addr *a, uint8_t *to)
{
	memcpy(to, &a->family, 2);
	to[2] = (uint8_t)(a->port >> 8);
	to[3] = (uint8_t)a->port;
	if (a->family == VB_UCMA_AF_INET)
		memcpy(to + 4, a->gid.b + 12, 4);
	else
		memcpy(to + 8, a->gid.b, 16);
}

static inline int ucma_bind(struct ucma_net *n, struct vb_ucma_file *f, uint32_t id,
			    const struct vb_ucma_addr *a)
{
	struct vb_ucma_bind b = {.id = id, .addr_size = a->family == VB_UCMA_AF_INET ? 16 : 28};

	ucma_sockaddr(a, b.addr);
	return UCMA_CALL(n, f, VB_UCMA_BIND, b);
}

static inline int ucma_listen(struct ucma_net *n, struct vb_ucma_file *f, uint32_t id,
			      int32_t backlog)
{
	struct vb_ucma_listen b = {id, backlog};

	return UCMA_CALL(n, f, VB_UCMA_LISTEN, b);
}

static inline int ucma_resolve(struct ucma_net *n, struct vb_ucma_file *f, uint32_t id,
			       const struct vb_ucma_addr *dst)
{
	struct vb_ucma_resolve_addr b = {
	    .id = id, .timeout_ms = 2000, .dst_size = dst->family == VB_UCMA_AF_INET ? 16 : 28};

	ucma_sockaddr(dst, b.dst);
	return UCMA_CALL(n, f, VB_UCMA_RESOLVE_ADDR, b);
}

static inline int ucma_resolve_route(struct ucma_net *n, struct vb_ucma_file *f, uint32_t id)
{
	struct vb_ucma_resolve_route b = {id, 2000};

	return UCMA_CALL(n, f, VB_UCMA_RESOLVE_ROUTE, b);
}

static inline struct vb_ucma_conn_param ucma_param(uint32_t qpn, const char *data)
{
	struct vb_ucma_conn_param p = {.qp_num = qpn,
				       .responder_resources = 3,
				       .initiator_depth = 5,
				       .retry_count = 6,
				       .rnr_retry_count = 4,
				       .private_data_len = (uint8_t)strlen(data),
				       .valid = 1};

	memcpy(p.private_data, data, strlen(data));
	return p;
}

static inline int ucma_connect(struct ucma_net *n, struct vb_ucma_file *f, uint32_t id,
			       uint32_t qpn, const char *data)
{
	struct vb_ucma_connect b = {.id = id, .param = ucma_param(qpn, data)};

	return UCMA_CALL(n, f, VB_UCMA_CONNECT, b);
}

static inline int ucma_accept(struct ucma_net *n, struct vb_ucma_file *f, uint32_t id, uint64_t uid,
			      uint32_t qpn, const char *data)
{
	struct vb_ucma_accept b = {.uid = uid, .id = id, .param = ucma_param(qpn, data)};

	return UCMA_CALL(n, f, VB_UCMA_ACCEPT, b);
}

/* The active side's: its QP is ready. */
static inline int ucma_ready(struct ucma_net *n, struct vb_ucma_file *f, uint32_t id)
{
	struct vb_ucma_accept b = {.id = id};

	return UCMA_CALL(n, f, VB_UCMA_ACCEPT, b);
}

static inline int ucma_disconnect(struct ucma_net *n, struct vb_ucma_file *f, uint32_t id)
{
	struct vb_ucma_disconnect b = {id};

	return UCMA_CALL(n, f, VB_UCMA_DISCONNECT, b);
}

/* The next event, which must be this one. */
static inline struct vb_ucma_event_reply ucma_event(struct ucma_net *n, struct vb_ucma_file *f,
						    enum vb_ucma_event_kind kind)
{
	struct vb_ucma_get_event b = {0};
	struct vb_ucma_event_reply r = {0};

	assert_int_equal(UCMA_ASK(n, f, VB_UCMA_GET_EVENT, b, r), 0);
	assert_int_equal(r.event, kind);
	return r;
}

static inline void ucma_no_event(struct ucma_net *n, struct vb_ucma_file *f)
{
	struct vb_ucma_get_event b = {0};
	struct vb_ucma_event_reply r = {0};

	assert_int_equal(vb_ucma_file_events(f), 0);
	assert_int_equal(UCMA_ASK(n, f, VB_UCMA_GET_EVENT, b, r), -EAGAIN);
}

/* A listener of host 1 on UCMA_PORT. */
static inline uint32_t ucma_listener(struct ucma_net *n, struct vb_ucma_file *f, uint16_t ps,
				     uint8_t qp_type, bool ipv4)
{
	uint32_t id = ucma_id(n, f, 0x100, ps, qp_type);
	struct vb_ucma_addr a = ucma_addr(2, ipv4, UCMA_PORT);

	assert_int_equal(ucma_bind(n, f, id, &a), 0);
	assert_int_equal(ucma_listen(n, f, id, 3), 0);
	return id;
}

/* An id of host 0 whose route to that listener is resolved. */
static inline uint32_t ucma_routed(struct ucma_net *n, struct vb_ucma_file *f, uint64_t uid,
				   uint16_t ps, uint8_t qp_type, bool ipv4)
{
	uint32_t id = ucma_id(n, f, uid, ps, qp_type);
	struct vb_ucma_addr to = ucma_addr(2, ipv4, UCMA_PORT);

	assert_int_equal(ucma_resolve(n, f, id, &to), 0);
	assert_int_equal(ucma_event(n, f, VB_UCMA_EV_ADDR_RESOLVED).uid, uid);
	assert_int_equal(ucma_resolve_route(n, f, id), 0);
	assert_int_equal(ucma_event(n, f, VB_UCMA_EV_ROUTE_RESOLVED).id, id);
	return id;
}

#endif
