/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A real broker as programs use its connection manager: channels, commands and the bytes that tell
 * of events; a whole connection over "lo"; programs that end. CMP-23, CMP-31, CMP-45
 */
#include "broker_env.h"
#include "node/broker_dial.h"
#include "node/cm_call.h"
#include "ucma/abi.h"

#define CM_PORT 7471

/* Of the last connection's QPs: each has its own, or the next one would be taken for stale. */
static uint32_t qpn = 0x1234;

/* A program: its connection for commands, and one channel. */
struct program {
	int sock, fd;
	uint64_t channel;
	struct vb_cm_answer answer;
};

static void call_send(struct program *p, const struct vb_cm_call *c, const struct vb_fds *fds)
{
	struct vb_fds none;

	assert_int_equal(
	    vb_fds_send(p->sock, c, offsetof(struct vb_cm_call, body) + c->len + c->extra_len, fds),
	    0);
	assert_true(vb_fds_recv(p->sock, &p->answer, sizeof p->answer, &none, 0) >=
		    (ssize_t)offsetof(struct vb_cm_answer, body));
}

static void program_start(struct program *p)
{
	struct vb_cm_call c = {.op = VB_CM_CALL_OPEN};
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 0};
	int pair[2];

	vb_broker_msg_init(&m, VB_BROKER_CM);
	p->sock = vb_broker_dial(&m, &fds, true, broker_why, sizeof broker_why);
	if (p->sock < 0)
		fail_msg("dial: %d %s", p->sock, broker_why);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fds = (struct vb_fds){.cnt = 1, .fd = {pair[1]}};
	call_send(p, &c, &fds);
	assert_int_equal(close(pair[1]), 0);
	assert_int_equal(p->answer.status, 0);
	assert_int_not_equal(p->answer.channel, 0);
	p->channel = p->answer.channel;
	p->fd = pair[0];
}

static void program_end(struct program *p)
{
	assert_int_equal(close(p->fd), 0);
	assert_int_equal(close(p->sock), 0);
}

/* Writes a command and takes the bytes that the answer says. Returns what write(2) would. */
static int command(struct program *p, uint32_t cmd, const void *body, uint16_t len, void *reply,
		   uint16_t out)
{
	struct vb_cm_call c = {.op = VB_CM_CALL_COMMAND, .channel = p->channel};
	struct vb_ucma_hdr h = {cmd, len, out};
	uint8_t token;

	memcpy(c.body, &h, sizeof h);
	memcpy(c.body + sizeof h, body, len);
	c.len = (uint32_t)sizeof h + len;
	call_send(p, &c, NULL);
	for (uint32_t i = 0; i < p->answer.drain; i++)
		assert_int_equal(recv(p->fd, &token, 1, MSG_DONTWAIT), 1);
	assert_true(p->answer.len <= out);
	if (p->answer.len)
		memcpy(reply, p->answer.body, p->answer.len);
	return p->answer.status;
}

static bool is_readable(int fd, int ms)
{
	struct pollfd f = {.fd = fd, .events = POLLIN};

	return poll(&f, 1, ms) == 1;
}

static struct vb_ucma_event_reply event(struct program *p, enum vb_ucma_event_kind kind)
{
	struct vb_ucma_get_event b = {0};
	struct vb_ucma_event_reply r;

	assert_true(is_readable(p->fd, BROKER_PATIENCE_MS));
	assert_int_equal(command(p, VB_UCMA_GET_EVENT, &b, sizeof b, &r, sizeof r), 16);
	assert_int_equal(r.event, kind);
	return r;
}

static uint32_t id_new(struct program *p)
{
	struct vb_ucma_create_id b = {.ps = VB_UCMA_PS_TCP, .uid = 1};
	struct vb_ucma_number_reply r;

	assert_int_equal(command(p, VB_UCMA_CREATE_ID, &b, sizeof b, &r, sizeof r), 32);
	return r.n;
}

static uint32_t listener_new(struct program *p)
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

/* A REQ of @p to 127.0.0.1; returns its id. */
static uint32_t connect_begin(struct program *p)
{
	struct vb_ucma_resolve_addr a = {.id = id_new(p), .timeout_ms = 1000, .dst_size = 16};
	struct vb_ucma_resolve_route r = {.id = a.id, .timeout_ms = 1000};
	struct vb_ucma_connect c = {.id = a.id, .param = {.qp_num = qpn += 2, .valid = 1}};

	a.dst[0] = AF_INET;
	a.dst[2] = CM_PORT >> 8;
	a.dst[3] = CM_PORT & 0xff;
	memcpy(a.dst + 4, (uint8_t[4]){127, 0, 0, 1}, 4);
	assert_int_equal(command(p, VB_UCMA_RESOLVE_ADDR, &a, sizeof a, NULL, 0), 8 + sizeof a);
	(void)event(p, VB_UCMA_EV_ADDR_RESOLVED);
	assert_int_equal(command(p, VB_UCMA_RESOLVE_ROUTE, &r, sizeof r, NULL, 0), 8 + sizeof r);
	(void)event(p, VB_UCMA_EV_ROUTE_RESOLVED);
	assert_false(is_readable(p->fd, 0));
	assert_int_equal(command(p, VB_UCMA_CONNECT, &c, sizeof c, NULL, 0), 8 + sizeof c);
	return a.id;
}

/* Both sides have said what they have to; returns the passive id. */
static uint32_t connect_finish(struct program *server, struct program *client, uint32_t id)
{
	struct vb_ucma_event_reply ev = event(server, VB_UCMA_EV_CONNECT_REQUEST);
	struct vb_ucma_accept a = {.id = ev.id, .uid = 2, .param = {.qp_num = qpn + 1, .valid = 1}};
	struct vb_ucma_accept ready = {.id = id};

	assert_int_equal(ev.conn.qp_num, qpn);
	assert_int_equal(command(server, VB_UCMA_ACCEPT, &a, sizeof a, NULL, 0), 8 + sizeof a);
	assert_int_equal(event(client, VB_UCMA_EV_CONNECT_RESPONSE).conn.qp_num, qpn + 1);
	assert_int_equal(command(client, VB_UCMA_ACCEPT, &ready, sizeof ready, NULL, 0),
			 8 + sizeof ready);
	(void)event(server, VB_UCMA_EV_ESTABLISHED);
	return ev.id;
}

static void connection__over_lo(void **state)
{
	struct program server, client;
	struct vb_ucma_disconnect d;
	uint32_t id;

	(void)state;
	program_start(&server);
	program_start(&client);
	(void)listener_new(&server);
	id = connect_begin(&client);
	(void)connect_finish(&server, &client, id);
	d.id = id;
	assert_int_equal(command(&client, VB_UCMA_DISCONNECT, &d, sizeof d, NULL, 0), 8 + sizeof d);
	(void)event(&server, VB_UCMA_EV_DISCONNECTED);
	program_end(&server);
	program_end(&client);
}

/* CMP-23: the peer of a program that has gone hears of it, and its port is free. */
static void program__that_has_gone(void **state)
{
	struct program server, client;

	(void)state;
	program_start(&server);
	program_start(&client);
	(void)listener_new(&server);
	(void)connect_finish(&server, &client, connect_begin(&client));
	program_end(&server);
	(void)event(&client, VB_UCMA_EV_DISCONNECTED);
	program_start(&server);
	(void)listener_new(&server);
	(void)connect_finish(&server, &client, connect_begin(&client));
	program_end(&client);
	(void)event(&server, VB_UCMA_EV_DISCONNECTED);
	program_end(&server);
}

/* A copy of the descriptor, in whichever process, keeps the channel; another connection may use it.
 */
static void channel__of_two_processes(void **state)
{
	struct program first, second;
	struct vb_cm_call c = {.op = VB_CM_CALL_ATTACH};
	int copy;

	(void)state;
	program_start(&first);
	program_start(&second);
	(void)listener_new(&first);
	copy = dup(first.fd);
	program_end(&first);
	c.channel = first.channel;
	call_send(&second, &c, NULL);
	assert_int_equal(second.answer.status, 0);
	second.channel = first.channel;
	assert_int_equal(close(second.fd), 0);
	second.fd = copy;
	struct program client;

	program_start(&client);
	(void)connect_begin(&client);
	(void)event(&second, VB_UCMA_EV_CONNECT_REQUEST);
	program_end(&client);
	program_end(&second);
	c.channel ^= 1;
	program_start(&second);
	call_send(&second, &c, NULL);
	assert_int_equal(second.answer.status, -ENOENT);
	program_end(&second);
}

/* The bytes in the pair follow the events, also where somebody was killed before he took one. */
static void tokens__follow_the_events(void **state)
{
	struct program p;
	struct vb_ucma_get_event b = {0};
	struct vb_ucma_event_reply r;
	struct vb_ucma_resolve_addr a = {.timeout_ms = 1000, .dst_size = 16};
	struct vb_ucma_destroy_id d = {0};
	struct vb_ucma_number_reply n;

	(void)state;
	program_start(&p);
	assert_int_equal(command(&p, VB_UCMA_GET_EVENT, &b, sizeof b, &r, sizeof r), -EAGAIN);
	a.id = d.id = id_new(&p);
	a.dst[0] = AF_INET;
	memcpy(a.dst + 4, (uint8_t[4]){127, 0, 0, 1}, 4);
	assert_int_equal(command(&p, VB_UCMA_RESOLVE_ADDR, &a, sizeof a, NULL, 0), 8 + sizeof a);
	assert_true(is_readable(p.fd, 0));
	/* Its unread event goes with the id. */
	assert_int_equal(command(&p, VB_UCMA_DESTROY_ID, &d, sizeof d, &n, sizeof n), 8 + sizeof d);
	assert_int_equal(n.n, 0);
	assert_false(is_readable(p.fd, 0));
	/* An answer whose bytes nobody took. */
	struct vb_cm_call c = {.op = VB_CM_CALL_COMMAND, .channel = p.channel, .len = 8 + sizeof d};
	struct vb_ucma_hdr h = {VB_UCMA_DESTROY_ID, sizeof d, sizeof n};

	a.id = d.id = id_new(&p);
	assert_int_equal(command(&p, VB_UCMA_RESOLVE_ADDR, &a, sizeof a, NULL, 0), 8 + sizeof a);
	memcpy(c.body, &h, sizeof h);
	memcpy(c.body + sizeof h, &d, sizeof d);
	call_send(&p, &c, NULL);
	assert_int_equal(p.answer.drain, 1);
	assert_true(is_readable(p.fd, 0));
	assert_int_equal(command(&p, VB_UCMA_GET_EVENT, &b, sizeof b, &r, sizeof r), -EAGAIN);
	assert_false(is_readable(p.fd, 0));
	program_end(&p);
}

/* What no library sends: lengths that lie, operations and channels that are not there. */
static void call__that_is_wrong(void **state)
{
	struct program p;
	struct vb_cm_call c = {.op = VB_CM_CALL_COMMAND, .len = 16};
	struct vb_fds none;

	(void)state;
	program_start(&p);
	call_send(&p, &c, NULL);
	assert_int_equal(p.answer.status, -EBADF);
	c.op = 99;
	call_send(&p, &c, NULL);
	assert_int_equal(p.answer.status, -EINVAL);
	c.op = VB_CM_CALL_OPEN;
	call_send(&p, &c, NULL);
	assert_int_equal(p.answer.status, -EINVAL);
	c.op = VB_CM_CALL_COMMAND;
	c.channel = p.channel;
	c.len = UINT32_MAX;
	c.extra_len = 17;
	assert_int_equal(vb_fds_send(p.sock, &c, offsetof(struct vb_cm_call, body) + 16, NULL), 0);
	assert_true(vb_fds_recv(p.sock, &p.answer, sizeof p.answer, &none, 0) > 0);
	assert_int_equal(p.answer.status, -EINVAL);
	/* Less than a call ends the connection, and not the broker. */
	assert_int_equal(vb_fds_send(p.sock, &c, 8, NULL), 0);
	assert_int_equal(vb_fds_recv(p.sock, &p.answer, sizeof p.answer, &none, 0), 0);
	program_end(&p);
	program_start(&p);
	(void)id_new(&p);
	program_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(connection__over_lo),
	    cmocka_unit_test(program__that_has_gone),
	    cmocka_unit_test(channel__of_two_processes),
	    cmocka_unit_test(tokens__follow_the_events),
	    cmocka_unit_test(call__that_is_wrong),
	};

	if (!netns_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
