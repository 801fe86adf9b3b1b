/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of a real broker's connection manager, call by call: channels, commands, connections
 * over "lo". */
#ifndef VB_TESTS_UNIT_BROKER_CM_ENV_H
#define VB_TESTS_UNIT_BROKER_CM_ENV_H

#include "broker_env.h"
#include "link/memory.h"
#include "node/client/dial.h"
#include "node/cm/page/page.h"
#include "node/cm/view.h"
#include "ucma/abi.h"

#define CM_PORT 7471

/* Of the last connection's QPs: each has its own, or the next one would be taken for stale. */
static uint32_t qpn = 0x1234;

/* A program: its connection for commands, and one channel. */
struct program {
	int sock, fd, versions_fd;
	struct vb_cm_page *page;
	bool uses_page; /* for all that has no descriptor */
	uint64_t channel;
	uint64_t serial; /* of the next command; 0: none */
	uint32_t told;   /* vb_cm_page_post() */
	struct vb_cm_answer answer;
};

/* Sleeps for the answer, so that the broker has to tell it. */
static inline void call_by_page(struct program *p, const struct vb_cm_call *c)
{
	char kick = 0;

	if (vb_cm_page_call(p->page, c))
		assert_int_equal(send(p->sock, &kick, VB_CM_KICK_LEN, MSG_NOSIGNAL), 1);
	vb_cm_page_sleep(p->page, true);
	while (!vb_cm_page_answer(p->page, &p->answer))
		assert_int_equal(recv(p->sock, &kick, 1, 0), VB_CM_KICK_LEN);
	vb_cm_page_sleep(p->page, false);
}

static inline void call_send(struct program *p, const struct vb_cm_call *c,
			     const struct vb_fds *fds)
{
	struct vb_fds none;

	if (p->uses_page && !fds) {
		call_by_page(p, c);
		return;
	}
	assert_int_equal(
	    vb_fds_send(p->sock, c, offsetof(struct vb_cm_call, body) + c->len + c->extra_len, fds),
	    0);
	ssize_t n;

	do /* a kick may be left of a call by the page */
		n = vb_fds_recv(p->sock, &p->answer, sizeof p->answer, &none, 0);
	while (n == VB_CM_KICK_LEN);
	assert_true(n >= (ssize_t)offsetof(struct vb_cm_answer, body));
}

static inline void program_dial(struct program *p)
{
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 0};

	vb_broker_msg_init(&m, VB_BROKER_CM);
	p->sock = vb_broker_dial(&m, &fds, true, broker_why, sizeof broker_why);
	if (p->sock < 0)
		fail_msg("dial: %d %s", p->sock, broker_why);
	assert_int_equal(fds.cnt, VB_CM_WELCOME_CNT);
	p->versions_fd = fds.fd[VB_CM_WELCOME_VERSIONS];

	void *page;

	assert_int_equal(vb_memory_map(fds.fd[VB_CM_WELCOME_PAGE], VB_CM_PAGE_BYTES, true, &page),
			 0);
	assert_int_equal(close(fds.fd[VB_CM_WELCOME_PAGE]), 0);
	p->page = page;
	p->uses_page = true;
	p->told = 0;
}

/* Posts a command. True: the broker has to be told. */
static inline bool command_post(struct program *p, uint32_t cmd, const void *body, uint16_t len,
				uint64_t serial)
{
	struct vb_cm_post post = {.channel = p->channel, .serial = serial};
	struct vb_ucma_hdr h = {cmd, len, 0};

	memcpy(post.body, &h, sizeof h);
	memcpy(post.body + sizeof h, body, len);
	post.len = (uint32_t)sizeof h + len;
	return vb_cm_page_post(p->page, &post, &p->told);
}

static inline void program_kick(const struct program *p)
{
	char kick = 0;

	assert_int_equal(send(p->sock, &kick, VB_CM_KICK_LEN, MSG_NOSIGNAL), 1);
}

/* A new channel of @p, which has a connection. */
static inline void channel_open(struct program *p)
{
	struct vb_cm_call c = {.op = VB_CM_CALL_OPEN};
	struct vb_fds fds;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fds = (struct vb_fds){.cnt = 1, .fd = {pair[1]}};
	call_send(p, &c, &fds);
	assert_int_equal(close(pair[1]), 0);
	assert_int_equal(p->answer.status, 0);
	assert_int_not_equal(p->answer.channel, 0);
	p->channel = p->answer.channel;
	p->fd = pair[0];
}

static inline void program_start(struct program *p)
{
	p->serial = 0;
	program_dial(p);
	channel_open(p);
}

static inline void program_end(struct program *p)
{
	assert_int_equal(close(p->fd), 0);
	assert_int_equal(close(p->sock), 0);
	assert_int_equal(close(p->versions_fd), 0);
	vb_memory_unmap(p->page, VB_CM_PAGE_BYTES);
}

/* Takes the next event of the pair, if there is one, into the answer. */
static inline bool event_take(struct program *p)
{
	ssize_t n = recv(p->fd, &p->answer, sizeof p->answer, MSG_DONTWAIT);

	if (n < 0)
		return false;
	assert_int_equal(n, VB_CM_EVENT_LEN);
	return true;
}

/* Adds the numbers of the events that lie in the pair to @c. */
static inline void events_return(struct program *p, struct vb_cm_call *c)
{
	for (c->returns = true; event_take(p); c->extra_len += 8)
		memcpy(c->body + c->len + c->extra_len, &p->answer.event, 8);
}

/* Writes a command, and takes events back as the answer asks for. Returns what write(2) would. */
static inline int command(struct program *p, uint32_t cmd, const void *body, uint16_t len,
			  void *reply, uint16_t out)
{
	struct vb_cm_call c = {
	    .op = VB_CM_CALL_COMMAND, .channel = p->channel, .serial = p->serial};
	struct vb_ucma_hdr h = {cmd, len, out};

	memcpy(c.body, &h, sizeof h);
	memcpy(c.body + sizeof h, body, len);
	c.len = (uint32_t)sizeof h + len;
	call_send(p, &c, NULL);
	if (p->answer.status == -EINPROGRESS) {
		events_return(p, &c);
		call_send(p, &c, NULL);
	}
	assert_true(p->answer.len <= out);
	if (reply)
		memcpy(reply, p->answer.body, p->answer.len);
	return p->answer.status;
}

static inline bool is_readable(int fd, int ms)
{
	struct pollfd f = {.fd = fd, .events = POLLIN};

	return poll(&f, 1, ms) == 1;
}

static inline struct vb_ucma_event_reply event(struct program *p, enum vb_ucma_event_kind kind)
{
	struct vb_ucma_event_reply r;

	assert_true(is_readable(p->fd, BROKER_PATIENCE_MS));
	assert_true(event_take(p));
	assert_int_equal(p->answer.len, sizeof r);
	memcpy(&r, p->answer.body, sizeof r);
	assert_int_equal(r.event, kind);
	return r;
}

static inline uint32_t id_new(struct program *p)
{
	struct vb_ucma_create_id b = {.ps = VB_UCMA_PS_TCP, .uid = 1};
	struct vb_ucma_number_reply r = {0};

	assert_int_equal(command(p, VB_UCMA_CREATE_ID, &b, sizeof b, &r, sizeof r), 32);
	return r.n;
}

static inline uint32_t listener_new(struct program *p)
{
	struct vb_ucma_bind bind = {.id = id_new(p), .addr_size = 16};
	struct vb_ucma_listen b = {.id = bind.id};

	bind.addr[0] = AF_INET;
	bind.addr[2] = CM_PORT >> 8;
	bind.addr[3] = CM_PORT & 0xff;
	assert_int_equal(command(p, VB_UCMA_BIND, &bind, sizeof bind, NULL, 0), 8 + sizeof bind);
	assert_int_equal(command(p, VB_UCMA_LISTEN, &b, sizeof b, NULL, 0), 8 + sizeof b);
	return bind.id;
}

/* A new id of @p that has found 127.0.0.1. */
static inline uint32_t resolve_begin(struct program *p)
{
	struct vb_ucma_resolve_addr a = {.id = id_new(p), .timeout_ms = 1000, .dst_size = 16};

	a.dst[0] = AF_INET;
	a.dst[2] = CM_PORT >> 8;
	a.dst[3] = CM_PORT & 0xff;
	memcpy(a.dst + 4, (uint8_t[4]){127, 0, 0, 1}, 4);
	assert_int_equal(command(p, VB_UCMA_RESOLVE_ADDR, &a, sizeof a, NULL, 0), 8 + sizeof a);
	(void)event(p, VB_UCMA_EV_ADDR_RESOLVED);
	return a.id;
}

/* The rest of the way to the REQ of @id. */
static inline void route_connect(struct program *p, uint32_t id)
{
	struct vb_ucma_resolve_route r = {.id = id, .timeout_ms = 1000};
	struct vb_ucma_connect c = {.id = id, .param = {.qp_num = qpn += 2, .valid = 1}};

	assert_int_equal(command(p, VB_UCMA_RESOLVE_ROUTE, &r, sizeof r, NULL, 0), 8 + sizeof r);
	(void)event(p, VB_UCMA_EV_ROUTE_RESOLVED);
	assert_false(is_readable(p->fd, 0));
	assert_int_equal(command(p, VB_UCMA_CONNECT, &c, sizeof c, NULL, 0), 8 + sizeof c);
}

/* A REQ of @p to 127.0.0.1; returns its id. */
static inline uint32_t connect_begin(struct program *p)
{
	uint32_t id = resolve_begin(p);

	route_connect(p, id);
	return id;
}

/* Both sides say what they have to; returns the passive id. */
static inline uint32_t connect_agree(struct program *server, struct program *client, uint32_t id)
{
	struct vb_ucma_event_reply ev = event(server, VB_UCMA_EV_CONNECT_REQUEST);
	struct vb_ucma_accept a = {.id = ev.id, .uid = 2, .param = {.qp_num = qpn + 1, .valid = 1}};
	struct vb_ucma_accept ready = {.id = id};

	assert_int_equal(ev.conn.qp_num, qpn);
	assert_int_equal(command(server, VB_UCMA_ACCEPT, &a, sizeof a, NULL, 0), 8 + sizeof a);
	assert_int_equal(event(client, VB_UCMA_EV_CONNECT_RESPONSE).conn.qp_num, qpn + 1);
	assert_int_equal(command(client, VB_UCMA_ACCEPT, &ready, sizeof ready, NULL, 0),
			 8 + sizeof ready);
	return ev.id;
}

/* And hear that they are connected. */
static inline uint32_t connect_finish(struct program *server, struct program *client, uint32_t id)
{
	uint32_t passive = connect_agree(server, client, id);

	(void)event(server, VB_UCMA_EV_ESTABLISHED);
	return passive;
}

static inline pid_t broker_pid_seen(void)
{
	struct vb_broker_observer o;
	pid_t pid;

	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	pid = (pid_t)o.host->broker_pid;
	vb_broker_observe_end(&o);
	return pid;
}

/* The process that an observer sees at @id; 0: there is no such id. */
static inline uint32_t user_of(uint32_t id)
{
	static struct vb_cm_table table;
	struct vb_broker_observer o;
	uint32_t pid = 0;

	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_connections(&o, &table), 0);
	assert_true(table.cnt > 0 && table.total >= table.cnt);
	for (uint32_t i = 0; i < table.cnt; i++)
		if (table.view[i].number == id && !table.view[i].is_gone)
			pid = table.view[i].pid;
	vb_broker_observe_end(&o);
	return pid;
}

/* Starts both programs with a connection between them. Returns the id of @other. */
static inline uint32_t programs_connect(struct program *server, struct program *other)
{
	uint32_t id;

	program_start(server);
	program_start(other);
	(void)listener_new(server);
	id = connect_begin(other);
	(void)connect_finish(server, other, id);
	return id;
}

#endif
