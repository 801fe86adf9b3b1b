/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A real broker as programs use its connection manager: channels, commands and events; a whole
 * connection over "lo"; programs that end. CMP-23, CMP-31, CMP-45
 */
#include "broker_cm_env.h"
#include "descriptors.h"
#include "link/memory.h"

#include <sys/epoll.h>
#include <sys/resource.h>

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

/* Where an answer has the version of its id, which another program can read and not write. */
static void answer__brings_others_along(void **state)
{
	struct program p;
	struct vb_ucma_query q = {.option = VB_UCMA_QUERY_PATH};
	struct vb_ucma_path_reply r;
	const uint32_t *version;
	void *map;

	(void)state;
	program_start(&p);
	q.id = id_new(&p);
	assert_int_equal(p.answer.ahead_len, 0);
	assert_int_equal(vb_memory_map(p.versions_fd, VB_CM_VERSIONS_BYTES, false, &map), 0);
	version = map;
	assert_int_equal(command(&p, VB_UCMA_QUERY, &q, sizeof q, &r, sizeof r), 8 + sizeof q);
	assert_int_equal(p.answer.ahead_id, q.id);
	assert_int_equal(p.answer.ahead_version, version[q.id]);
	assert_true(p.answer.ahead_len > sizeof r);
	q.id = connect_begin(&p);
	assert_int_equal(command(&p, VB_UCMA_QUERY, &q, sizeof q, &r, sizeof r), 8 + sizeof q);
	/* Nobody listens: the answer of the peer is a change of this side. */
	(void)event(&p, VB_UCMA_EV_REJECTED);
	assert_true(p.answer.ahead_version != version[q.id]);
	vb_memory_unmap(map, VB_CM_VERSIONS_BYTES);
	assert_true(vb_memory_map(p.versions_fd, VB_CM_VERSIONS_BYTES, true, &map) < 0);
	program_end(&p);
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

/* A channel without a connection keeps the broker: whoever has its descriptor goes on with it when
 * other brokers would have ended, which is after 2 s without use. */
static void channel__keeps_the_broker(void **state)
{
	struct program first, second;
	struct vb_cm_call c = {.op = VB_CM_CALL_ATTACH};
	struct pollfd end = {.events = 0};

	(void)state;
	program_start(&first);
	end.fd = dup(first.fd);
	c.channel = first.channel;
	program_end(&first);
	assert_int_equal(poll(&end, 1, 2500), 0); /* it does not hang up */
	program_dial(&second);
	call_send(&second, &c, NULL);
	assert_int_equal(second.answer.status, 0);
	second.channel = c.channel;
	second.fd = end.fd;
	(void)id_new(&second);
	program_end(&second);
}

/* An observer sees a channel that was handed on at the process that uses it. */
static void channel__is_of_who_uses_it(void **state)
{
	struct program p, other;
	uint32_t id;
	pid_t pid;

	(void)state;
	program_start(&p);
	id = resolve_begin(&p);
	assert_int_equal(user_of(id), getpid());
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		other = (struct program){.channel = p.channel};
		program_dial(&other);
		(void)id_new(&other);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(user_of(id), pid);
	(void)id_new(&p);
	assert_int_equal(user_of(id), getpid());
	program_end(&p);
}

/* Makes an event wait: the address of a new id, which it returns, is found at once. */
static uint32_t event_make(struct program *p)
{
	struct vb_ucma_resolve_addr a = {.timeout_ms = 1000, .dst_size = 16};

	a.id = id_new(p);
	a.dst[0] = AF_INET;
	memcpy(a.dst + 4, (uint8_t[4]){127, 0, 0, 1}, 4);
	assert_int_equal(command(p, VB_UCMA_RESOLVE_ADDR, &a, sizeof a, NULL, 0), 8 + sizeof a);
	return a.id;
}

static uint32_t id_destroy(struct program *p, uint32_t id)
{
	struct vb_ucma_destroy_id d = {.id = id};
	struct vb_ucma_number_reply n = {0};

	assert_int_equal(command(p, VB_UCMA_DESTROY_ID, &d, sizeof d, &n, sizeof n), 8 + sizeof d);
	return n.n;
}

/* The descriptor is readable while there are events; they go with their id. CMP-34, CMP-45 */
static void events__go_with_their_id(void **state)
{
	struct program p;
	struct vb_ucma_get_event b = {0};
	struct vb_ucma_event_reply r;
	uint32_t id[3];

	(void)state;
	program_start(&p);
	assert_int_equal(command(&p, VB_UCMA_GET_EVENT, &b, sizeof b, &r, sizeof r), -EAGAIN);
	assert_int_equal(command(&p, VB_UCMA_GET_EVENT, &b, sizeof b, &r, 323), -ENOSPC);
	for (uint32_t n = 0; n < 3; n++)
		id[n] = event_make(&p);
	assert_true(is_readable(p.fd, 0));
	/* GET_EVENT does not give an event that lies in the pair once more. */
	assert_int_equal(command(&p, VB_UCMA_GET_EVENT, &b, sizeof b, &r, sizeof r), -EAGAIN);
	assert_int_equal(event(&p, VB_UCMA_EV_ADDR_RESOLVED).id, id[0]);
	assert_int_equal(id_destroy(&p, id[1]), 0);
	assert_int_equal(event(&p, VB_UCMA_EV_ADDR_RESOLVED).id, id[2]);
	assert_false(is_readable(p.fd, 0));
	assert_int_equal(id_destroy(&p, id[0]), 1);
	assert_int_equal(id_destroy(&p, id[2]), 1);
	program_end(&p);
}

static struct vb_cm_call destroy_call(const struct program *p, uint32_t id)
{
	struct vb_ucma_destroy_id d = {.id = id};
	struct vb_ucma_hdr h = {VB_UCMA_DESTROY_ID, sizeof d, sizeof(struct vb_ucma_number_reply)};
	struct vb_cm_call c = {
	    .op = VB_CM_CALL_COMMAND, .channel = p->channel, .len = sizeof h + sizeof d};

	memcpy(c.body, &h, sizeof h);
	memcpy(c.body + sizeof h, &d, sizeof d);
	return c;
}

/* Events that come back are given out again in their order, with what came meanwhile behind them;
 * those that did not come back were taken. */
static void events__come_back(void **state)
{
	struct program p;
	uint32_t id[5], reported;
	struct vb_cm_call c;
	uint64_t first;

	(void)state;
	program_start(&p);
	for (uint32_t n = 0; n < 4; n++)
		id[n] = event_make(&p);
	c = destroy_call(&p, id[1]);
	call_send(&p, &c, NULL);
	assert_int_equal(p.answer.status, -EINPROGRESS);
	/* Another thread takes one, and nothing is written now. */
	assert_int_equal(event(&p, VB_UCMA_EV_ADDR_RESOLVED).id, id[0]);
	first = p.answer.event;
	id[4] = event_make(&p);
	events_return(&p, &c);
	assert_int_equal(c.extra_len, 3 * 8);
	call_send(&p, &c, NULL);
	assert_int_equal(p.answer.status, c.len);
	memcpy(&reported, p.answer.body, sizeof reported);
	assert_int_equal(reported, 0);
	for (uint32_t n = 2; n < 5; n++) {
		assert_int_equal(event(&p, VB_UCMA_EV_ADDR_RESOLVED).id, id[n]);
		assert_true(p.answer.event > first);
		first = p.answer.event;
	}
	assert_false(is_readable(p.fd, 0));
	assert_int_equal(id_destroy(&p, id[0]), 1);
	assert_int_equal(id_destroy(&p, id[4]), 1);
	program_end(&p);
}

/* A program that was killed while it took events back does not stop the others. */
static void events__nobody_takes_back(void **state)
{
	struct program p, other;
	struct vb_cm_call attach = {.op = VB_CM_CALL_ATTACH}, c;
	uint32_t id, late;

	(void)state;
	program_start(&p);
	program_start(&other);
	id = event_make(&p);
	attach.channel = p.channel;
	call_send(&other, &attach, NULL);
	c = destroy_call(&p, id);
	call_send(&other, &c, NULL);
	assert_int_equal(other.answer.status, -EINPROGRESS);
	late = event_make(&p);
	assert_int_equal(event(&p, VB_UCMA_EV_ADDR_RESOLVED).id, id);
	assert_false(is_readable(p.fd, 0));
	/* One at a time. */
	c.returns = true;
	call_send(&p, &c, NULL);
	assert_int_equal(p.answer.status, -EALREADY);
	program_end(&other);
	assert_int_equal(event(&p, VB_UCMA_EV_ADDR_RESOLVED).id, late);
	assert_int_equal(id_destroy(&p, id), 1);
	program_end(&p);
}

/* More events than the pair has room for: none is lost, and they keep their order. */
static void events__more_than_fit(void **state)
{
	enum { EVENTS = 300 };
	struct program p;
	static uint32_t id[EVENTS];

	(void)state;
	program_start(&p);
	for (uint32_t n = 0; n < EVENTS; n++)
		id[n] = event_make(&p);
	for (uint32_t n = 0; n < EVENTS; n++)
		assert_int_equal(event(&p, VB_UCMA_EV_ADDR_RESOLVED).id, id[n]);
	assert_false(is_readable(p.fd, 0));
	assert_int_equal(id_destroy(&p, id[EVENTS - 1]), 1);
	program_end(&p);
}

/* A program that waits for edges has one for each event. */
static void events__edge_for_each(void **state)
{
	struct program p;
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	int epoll = epoll_create1(0);

	(void)state;
	program_start(&p);
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, p.fd, &ev), 0);
	(void)event_make(&p);
	(void)event_make(&p);
	assert_int_equal(epoll_wait(epoll, &ev, 1, 0), 1);
	for (int n = 0; n < 100; n++) {
		assert_true(event_take(&p));
		assert_int_equal(epoll_wait(epoll, &ev, 1, 0), 0);
		(void)event_make(&p);
		assert_int_equal(epoll_wait(epoll, &ev, 1, 0), 1);
	}
	assert_int_equal(close(epoll), 0);
	program_end(&p);
}

/* A peer's QP waits at least as long as this adapter may take to acknowledge, 4.096 us * 2^15,
 * however short the path of its packets is. CMP-06 */
static void ack_timeout__of_a_short_path(void **state)
{
	struct vb_cm_call c = {
	    .op = VB_CM_CALL_COMMAND, .extra_len = 1, .len = sizeof(struct vb_ucma_hdr)};
	struct vb_ucma_hdr h = {.cmd = VB_UCMA_SET_OPTION, .in = sizeof(struct vb_ucma_set_option)};
	struct vb_ucma_set_option o = {
	    .level = VB_UCMA_LEVEL_ID, .optname = VB_UCMA_OPT_ACK_TIMEOUT, .optlen = 1};
	struct vb_ucma_init_qp_attr b = {.qp_state = VB_QPS_RTS};
	struct program server, client;
	struct vb_ucma_qp_attr a = {0};

	(void)state;
	program_start(&server);
	program_start(&client);
	(void)listener_new(&server);
	o.id = resolve_begin(&client);
	c.channel = client.channel;
	c.len += (uint32_t)sizeof o;
	memcpy(c.body, &h, sizeof h);
	memcpy(c.body + sizeof h, &o, sizeof o);
	c.body[sizeof h + sizeof o] = 8;
	call_send(&client, &c, NULL);
	assert_int_equal(client.answer.status, sizeof h + sizeof o);
	route_connect(&client, o.id);
	b.id = connect_finish(&server, &client, o.id);
	assert_int_equal(command(&server, VB_UCMA_INIT_QP_ATTR, &b, sizeof b, &a, sizeof a),
			 8 + sizeof b);
	assert_int_equal(a.timeout, 15);
	program_end(&server);
	program_end(&client);
}

/* The broker asks the kernel for the address on this side, and keeps nothing of it. */
static void resolve__leaves_no_descriptors(void **state)
{
	struct vb_ucma_resolve_addr a = {.timeout_ms = 1000, .dst_size = 16};
	struct program p;
	unsigned before = 0;
	pid_t pid;

	(void)state;
	program_start(&p);
	pid = broker_pid_seen();
	a.dst[0] = AF_INET;
	a.dst[2] = CM_PORT >> 8;
	a.dst[3] = CM_PORT & 0xff;
	/* An answer is kept for a moment, so each is about another address. With the first one the
	 * broker has closed the connection that asked for its process, too. */
	for (uint8_t i = 1; i <= 10; i++) {
		a.id = id_new(&p);
		memcpy(a.dst + 4, (uint8_t[4]){127, 0, i == 1 ? 0 : 1, i}, 4);
		assert_int_equal(command(&p, VB_UCMA_RESOLVE_ADDR, &a, sizeof a, NULL, 0),
				 8 + sizeof a);
		/* No device has the others. */
		(void)event(&p, i == 1 ? VB_UCMA_EV_ADDR_RESOLVED : VB_UCMA_EV_ADDR_ERROR);
		if (i == 1)
			before = descriptors_of(pid);
	}
	assert_int_equal(descriptors_of(pid), before);
	program_end(&p);
}

/* All MADs leave by one socket, whatever the ports of the connection are. */
static void connections__share_a_socket(void **state)
{
	struct program server, client;
	unsigned before = 0;
	pid_t pid;

	(void)state;
	program_start(&server);
	program_start(&client);
	pid = broker_pid_seen();
	(void)listener_new(&server);
	for (int n = 0; n < 8; n++) {
		(void)connect_finish(&server, &client, connect_begin(&client));
		if (n == 0)
			before = descriptors_of(pid);
	}
	assert_int_equal(descriptors_of(pid), before);
	program_end(&server);
	program_end(&client);
}

/* A channel for which the broker has no descriptor left is refused; the program's others work on.
 */
static void open__the_broker_has_no_descriptors(void **state)
{
	struct vb_cm_call c = {.op = VB_CM_CALL_OPEN};
	struct rlimit none, lim;
	struct program p;
	struct vb_fds fds, got;
	int pair[2];
	pid_t pid;
	ssize_t n;

	(void)state;
	program_start(&p);
	pid = broker_pid_seen();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fds = (struct vb_fds){.cnt = 1, .fd = {pair[1]}};
	assert_int_equal(prlimit(pid, RLIMIT_NOFILE, NULL, &lim), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = lim.rlim_max};
	assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &none, NULL), 0);
	assert_int_equal(vb_fds_send(p.sock, &c, offsetof(struct vb_cm_call, body) + c.len, &fds),
			 0);
	n = vb_fds_recv(p.sock, &p.answer, sizeof p.answer, &got, 0);
	assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &lim, NULL), 0);
	assert_true(n >= (ssize_t)offsetof(struct vb_cm_answer, body));
	assert_int_equal(p.answer.status, -EMFILE);
	(void)id_new(&p);
	call_send(&p, &c, &fds);
	assert_int_equal(p.answer.status, 0);
	assert_int_equal(close(pair[0]), 0);
	assert_int_equal(close(pair[1]), 0);
	program_end(&p);
}

/* Calls that no library sends: lengths that lie, operations and channels that are not there. */
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
	    cmocka_unit_test(answer__brings_others_along),
	    cmocka_unit_test(channel__of_two_processes),
	    cmocka_unit_test(channel__is_of_who_uses_it),
	    cmocka_unit_test(channel__keeps_the_broker),
	    cmocka_unit_test(events__go_with_their_id),
	    cmocka_unit_test(events__come_back),
	    cmocka_unit_test(events__nobody_takes_back),
	    cmocka_unit_test(events__more_than_fit),
	    cmocka_unit_test(events__edge_for_each),
	    cmocka_unit_test(ack_timeout__of_a_short_path),
	    cmocka_unit_test(resolve__leaves_no_descriptors),
	    cmocka_unit_test(connections__share_a_socket),
	    cmocka_unit_test(open__the_broker_has_no_descriptors),
	    cmocka_unit_test(call__that_is_wrong),
	};

	if (!netns_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
