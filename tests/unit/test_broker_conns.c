/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker's connections one by one: what each kind may say and what it hears, what one that ends
 * gives back, and what of several holds for all. node/broker/state.h
 */
#include "broker_inside.h"

#include <fcntl.h>
#include <sys/resource.h>

/* The loop hears of a descriptor with what it belongs to; of room to send only while it asks for
 * that; and of one that is taken out nothing more. epoll(7) */
static void watch__with_its_source(void **state)
{
	struct epoll_event e;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(vb_broker_watch_room(&b, pair[0], VB_SOURCE_CHANNEL, 9, true), -ENOENT);
	assert_int_equal(vb_broker_watch(&b, pair[0], VB_SOURCE_CONN, 0x12345), 0);
	assert_int_equal(vb_broker_watch(&b, pair[0], VB_SOURCE_CONN, 0x12345), -EEXIST);
	assert_int_equal(vb_broker_watch(&b, -1, VB_SOURCE_CONN, 0), -EBADF);
	assert_int_equal(epoll_wait(b.epoll_fd, &e, 1, 0), 0);
	assert_int_equal(vb_broker_watch_room(&b, pair[0], VB_SOURCE_CHANNEL, 9, true), 0);
	assert_int_equal(epoll_wait(b.epoll_fd, &e, 1, 0), 1);
	assert_int_equal(e.events, EPOLLOUT);
	assert_true(e.data.u64 == ((uint64_t)VB_SOURCE_CHANNEL << 32 | 9));
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_int_equal(epoll_wait(b.epoll_fd, &e, 1, 0), 1);
	assert_int_equal(e.events, EPOLLIN | EPOLLOUT);
	assert_int_equal(vb_broker_watch_room(&b, pair[0], VB_SOURCE_CONN, 0x12345, false), 0);
	assert_int_equal(epoll_wait(b.epoll_fd, &e, 1, 0), 1);
	assert_int_equal(e.events, EPOLLIN);
	assert_true(e.data.u64 == ((uint64_t)VB_SOURCE_CONN << 32 | 0x12345));
	vb_broker_unwatch(&b, pair[0]);
	assert_int_equal(epoll_wait(b.epoll_fd, &e, 1, 0), 0);
	close(pair[0]);
	close(pair[1]);
}

/* Each kind of connection may ask for some things. A connection that says anything else is
 * ended, and everything it had is free. */
static void handle__what_a_kind_may_say(void **state)
{
	static const bool may[3][VB_BROKER_DONE + 2] = {
	    /* new ones */
	    {[VB_BROKER_CLIENT] = true,
	     [VB_BROKER_REATTACH] = true,
	     [VB_BROKER_OBSERVER] = true,
	     [VB_BROKER_CM] = true,
	     [VB_BROKER_UMAD] = true},
	    /* observers */
	    {[VB_BROKER_GET_SLOTS] = true,
	     [VB_BROKER_CAPTURE] = true,
	     [VB_BROKER_REGISTER] = true,
	     [VB_BROKER_KEEP] = true,
	     [VB_BROKER_FAULT] = true,
	     [VB_BROKER_CSR] = true,
	     [VB_BROKER_EXPLAIN] = true,
	     [VB_BROKER_CONNECTIONS] = true,
	     [VB_BROKER_ASK] = true},
	    /* clients */
	    {[VB_BROKER_CSR] = true},
	};
	struct vb_broker_msg m;

	(void)state;
	for (int kind = 0; kind < 3; kind++)
		for (uint32_t op = 0; op <= VB_BROKER_DONE + 1; op++) {
			uint32_t i = kind == 0   ? connection(getpid())
				     : kind == 1 ? observer()
						 : client();
			uint32_t slot = b.conn[i].slot;

			if (may[kind][op] && kind < 2)
				continue;
			say(i, (enum vb_broker_op)op);
			if (may[kind][op]) {
				assert_true(b.conn[i].in_use);
				assert_int_equal(heard(i, &m), -EAGAIN);
				vb_conn_end(&b, i);
				continue;
			}
			assert_false(b.conn[i].in_use);
			assert_int_equal(heard(i, &m), 0);
			if (kind == 2)
				assert_false(b.slots.slot[slot].is_taken);
		}
}

/* A connection that has ended is ended once, whatever comes for it later. */
static void handle__of_one_that_has_ended(void **state)
{
	uint32_t i = client();

	(void)state;
	vb_conn_end(&b, i);
	vb_conn_end(&b, i);
	vb_conn_handle(&b, i, VB_SEC);
	assert_int_equal(b.conn_cnt, 0);
	assert_int_equal(b.client_cnt, 0);
}

/* A process that has ended before it is welcomed gets no slot: its end has been, and nobody would
 * hear of it. */
static void client__of_a_dead_process(void **state)
{
	uint32_t i = connection(dead_process());
	struct vb_broker_msg m;

	(void)state;
	say(i, VB_BROKER_CLIENT);
	assert_false(b.conn[i].in_use);
	assert_false(b.slots.slot[VB_SLOT_FIRST].is_taken);
	assert_int_equal(heard(i, &m), 0);
	i = connection(dead_process());
	vb_broker_msg_init(&m, VB_BROKER_REATTACH);
	m.slot = 0; /* a keeper's */
	say_with(i, &m, -1);
	assert_false(b.conn[i].in_use);
	assert_int_equal(b.keeper_cnt, 0);
}

/* A client is welcomed with its slot, four descriptors and its name, and its end is watched; where
 * that cannot be its socket alone tells, and no descriptor is left open. A process that is not seen
 * from here has no end to watch. */
static void client__is_welcome(void **state)
{
	static const int with[] = {1, 0, 0};
	struct vb_broker_msg m;
	int epoll_fd = b.epoll_fd;

	(void)state;
	for (int n = 0; n < 3; n++) {
		uint32_t i = connection(n == 2 ? 0 : getpid());
		unsigned before;

		b.epoll_fd = n == 1 ? -1 : epoll_fd;
		vb_broker_msg_init(&m, VB_BROKER_CLIENT);
		strcpy(m.comm, "some-program-15");
		before = descriptors_of(getpid());
		say_with(i, &m, -1);
		assert_int_equal(heard_with(i, &m, VB_WELCOME_CNT), 1);
		assert_int_equal(m.op, VB_BROKER_WELCOME);
		assert_int_equal(m.status, 0);
		assert_int_equal(m.slot, VB_SLOT_FIRST);
		assert_int_equal(b.client_cnt, 1);
		assert_string_equal(b.slots.slot[m.slot].shm->comm, "some-program-15");
		assert_int_equal(b.slots.slot[m.slot].shm->pid, n == 2 ? 0 : getpid());
		/* A slot that is made has its socket and memory, and keeps them. */
		assert_int_equal(descriptors_of(getpid()),
				 before + (n == 0 ? 2 : 0) + (unsigned)with[n]);
		assert_int_equal(b.conn[i].pidfd >= 0, with[n]);
		b.epoll_fd = epoll_fd;
		vb_conn_end(&b, i);
	}
}

/* The broker's own limits are named where a slot or the group cannot be made. */
static void client__without_descriptors(void **state)
{
	struct rlimit was, few;
	struct vb_broker_msg m;
	uint32_t i = connection(0);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = 3;
	vb_broker_msg_init(&m, VB_BROKER_CLIENT);
	assert_int_equal(vb_fds_send(peer[i], &m, sizeof m, NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	vb_conn_handle(&b, i, VB_SEC);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(heard(i, &m), 1);
	assert_int_equal(m.op, VB_BROKER_WELCOME);
	assert_int_equal(m.status, -EMFILE);
	assert_non_null(strstr(m.text, "the broker cannot bind UDP port 4791"));
	assert_false(b.conn[i].in_use);
	assert_int_equal(b.slots.fd_store, -1);
}

/* Without a connection manager who wants one is told so. */
static void cm__there_is_none(void **state)
{
	struct vb_broker_msg m;
	uint32_t i = connection(getpid());

	(void)state;
	say(i, VB_BROKER_CM);
	assert_int_equal(heard(i, &m), 1);
	assert_int_equal(m.status, -ENOMEM);
	assert_non_null(strstr(m.text, "no memory for the connection manager"));
	assert_false(b.conn[i].in_use);
	assert_int_equal(b.client_cnt, 0);
}

/* Something that is no descriptor store is refused, and closed. */
static void reattach__with_no_store(void **state)
{
	struct vb_broker_msg m;
	uint32_t i = connection(getpid());
	unsigned before;
	int pipes[2];

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	before = descriptors_of(getpid());
	vb_broker_msg_init(&m, VB_BROKER_REATTACH);
	m.slot = VB_SLOT_FIRST;
	say_with(i, &m, pipes[0]);
	assert_int_equal(heard(i, &m), 1);
	assert_int_equal(m.status, -EINVAL);
	assert_string_equal(m.text, "the group of the earlier broker cannot be taken over");
	assert_int_equal(descriptors_of(getpid()), before - 1); /* the connection */
	assert_int_equal(b.slots.fd_store, -1);
	close(pipes[0]);
	close(pipes[1]);
}

/* A slot whose owner has not come yet is given back to the process that has it: that slot, to that
 * process, once. */
static void reattach__its_own_slot(void **state)
{
	struct vb_conn *o[2];
	struct vb_broker_msg m;

	(void)state;
	for (int k = 0; k < 2; k++) {
		o[k] = vb_conn_new(&b, -1, getpid());
		o[k]->kind = VB_CONN_ORPHAN;
		o[k]->slot = (uint32_t)vb_slots_take(&b.slots, getpid(), "orphan");
	}
	assert_int_equal(b.conn_cnt, 0);
	for (int n = 0; n < 4; n++) {
		static const int status[] = {-ESTALE, 0, -ESTALE, 0};
		const uint32_t slot[] = {200, VB_SLOT_FIRST + 1, VB_SLOT_FIRST + 1, VB_SLOT_FIRST};
		uint32_t i = connection(getpid());

		vb_broker_msg_init(&m, VB_BROKER_REATTACH);
		m.slot = slot[n];
		say_with(i, &m, -1);
		assert_int_equal(heard_with(i, &m, 0), 1);
		assert_int_equal(m.op, VB_BROKER_WELCOME);
		assert_int_equal(m.status, status[n]);
		assert_int_equal(b.conn[i].in_use, status[n] == 0);
		assert_int_equal(b.client_cnt, n < 1 ? 0 : n < 3 ? 1 : 2);
		if (status[n])
			continue;
		assert_int_equal(m.slot, slot[n]);
		assert_int_equal(b.conn[i].kind, VB_CONN_CLIENT);
		assert_true(b.conn[i].pidfd >= 0);
		assert_true(b.slots.slot[slot[n]].is_taken);
	}
	assert_int_equal(vb_conn_of_slot(&b, VB_SLOT_FIRST + 1)->slot, VB_SLOT_FIRST + 1);
	assert_null(vb_conn_of_slot(&b, 200));
}

/* The user's own broker is root's, too. */
static void accept__of_root(void **state)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = sizeof a;
	struct vb_broker_msg m;
	int sock, status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0) {
		print_message("only root can be two users\n");
		skip();
	}
	b.listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(b.listen_fd, (struct sockaddr *)&a, sizeof a.sun_family), 0);
	assert_int_equal(getsockname(b.listen_fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(listen(b.listen_fd, 4), 0);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(sock, (struct sockaddr *)&a, len), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (seteuid(65534))
			_exit(77);
		vb_conn_accept(&b, 5);
		vb_conn_accept(&b, 6); /* nobody else is there */
		_exit(b.conn_cnt == 1 && b.conn[0].in_use && b.conn[0].kind == VB_CONN_NEW &&
			      b.conn[0].since == 5 && b.conn[0].pid == getppid() &&
			      recv(sock, &m, sizeof m, MSG_DONTWAIT) < 0
			  ? 0
			  : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(sock);
	close(b.listen_fd);
	if (WEXITSTATUS(status) == 77) {
		print_message("only one user here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* A message without our magic is from no program that the broker would give way to. */
static void version__of_a_stranger(void **state)
{
	struct vb_broker_msg m;
	uint32_t i = connection(getpid());

	(void)state;
	vb_broker_msg_init(&m, VB_BROKER_CLIENT);
	m.magic++;
	say_with(i, &m, -1);
	assert_false(b.is_ending);
	assert_int_equal(heard(i, &m), 1);
	assert_int_equal(m.status, -EPROTO);
	assert_false(b.conn[i].in_use);
}

/* Capture is on until the last of those who want it has gone. */
static void capture__until_the_last_has_gone(void **state)
{
	uint32_t one = observer(), two = observer(), c = client();
	struct vb_slot_shm *s = b.slots.slot[b.conn[c].slot].shm;
	struct vb_broker_msg m;

	(void)state;
	for (int i = 0; i < 2; i++) {
		vb_broker_msg_init(&m, VB_BROKER_CAPTURE);
		m.slot = 1;
		say_with(i ? two : one, &m, -1);
		assert_int_equal(heard(i ? two : one, &m), 1);
		assert_int_equal(m.op, VB_BROKER_DONE);
		assert_int_equal(m.status, 0);
	}
	assert_true(s->capture.enabled);
	vb_conn_end(&b, one);
	assert_true(s->capture.enabled);
	say(two, VB_BROKER_CAPTURE);
	assert_int_equal(heard(two, &m), 1);
	assert_false(s->capture.enabled);
}

/* All slots that there are come, in as many messages as it takes. */
static void slots__all_there_are(void **state)
{
	bool seen[VB_SLOT_CNT] = {false};
	uint32_t o = observer(), cnt = 0, messages = 0;
	struct vb_broker_msg m;

	(void)state;
	for (int i = 0; i < 70; i++)
		assert_true(vb_slots_take(&b.slots, getpid(), "test") > 0);
	say(o, VB_BROKER_GET_SLOTS);
	do {
		struct vb_fds fds;

		assert_int_equal(vb_broker_msg_recv(peer[o], &m, &fds, MSG_DONTWAIT), 1);
		assert_int_equal(m.op, VB_BROKER_SLOTS);
		assert_int_equal(fds.cnt, m.cnt);
		vb_fds_close(&fds);
		for (uint32_t i = 0; i < m.cnt; i++) {
			assert_false(seen[m.slots[i]]);
			seen[m.slots[i]] = true;
		}
		cnt += m.cnt;
		messages++;
	} while (m.more);
	assert_int_equal(cnt, 71); /* QP1's, too */
	assert_int_equal(messages, 2);
	assert_true(seen[VB_SLOT_GSI] && seen[VB_SLOT_GSI + 70]);
	assert_int_equal(heard(o, &m), -EAGAIN);
}

/* Rules for a device are told to all processes at once; those that mean nothing change nothing. */
static void fault__is_told_at_once(void **state)
{
	uint32_t o = observer(), one = client(), two = client();
	struct vb_host_shm *h = b.slots.host;
	uint32_t generation = h->generation;
	struct vb_broker_msg m;

	(void)state;
	for (int wrong = 1; wrong >= 0; wrong--) {
		vb_broker_msg_init(&m, VB_BROKER_FAULT);
		m.slot = VB_DEVICES_MAX - 1;
		m.seed = UINT64_C(0x123456789ab);
		strcpy(m.text, wrong ? "frob=1" : "loss=0.5");
		say_with(o, &m, -1);
		assert_int_equal(heard(o, &m), 1);
		assert_int_equal(m.op, VB_BROKER_DONE);
		assert_int_equal(m.status, wrong ? -EINVAL : 0);
		assert_int_equal(is_woken(one) && is_woken(two), !wrong);
		assert_int_equal(h->generation, generation + !wrong);
		assert_int_equal(h->fault_generation, !wrong);
		assert_int_equal(h->seq % 2, 0);
	}
	assert_string_equal(h->fault[VB_DEVICES_MAX - 1].text, "loss=0.5");
	assert_true(h->fault[VB_DEVICES_MAX - 1].seed == UINT64_C(0x123456789ab));
	assert_string_equal(h->fault[0].text, "");
}

/* An observer that asks for views has all processes write some, and hears the question's number. */
static void explain__asks_all(void **state)
{
	uint32_t o = observer(), one = client(), two = client();
	struct vb_broker_msg m;

	(void)state;
	for (uint32_t n = 1; n <= 2; n++) {
		vb_broker_msg_init(&m, VB_BROKER_EXPLAIN);
		m.slot = 0x100 * n;
		say_with(o, &m, -1);
		assert_int_equal(heard(o, &m), 1);
		assert_int_equal(m.op, VB_BROKER_DONE);
		assert_int_equal(m.slot, n);
		assert_int_equal(b.slots.host->explain_asked, n);
		assert_int_equal(b.slots.host->explain_qpn, 0x100 * n);
		assert_int_equal(b.slots.host->seq % 2, 0);
		assert_true(is_woken(one) && is_woken(two));
	}
}

/* A table of connections comes as one descriptor, of which none stays here. */
static void connections__come_as_one(void **state)
{
	uint32_t o = observer();
	unsigned before = descriptors_of(getpid());
	struct vb_broker_msg m;

	(void)state;
	say(o, VB_BROKER_CONNECTIONS);
	assert_int_equal(heard_with(o, &m, 1), 1);
	assert_int_equal(m.op, VB_BROKER_DONE);
	assert_int_equal(m.status, 0);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* An observer that takes no answers is ended, whatever it asked for. */
static void answer__that_is_not_taken(void **state)
{
	static const enum vb_broker_op ops[] = {
	    VB_BROKER_GET_SLOTS, VB_BROKER_CAPTURE, VB_BROKER_REGISTER,    VB_BROKER_KEEP,
	    VB_BROKER_FAULT,     VB_BROKER_EXPLAIN, VB_BROKER_CONNECTIONS, VB_BROKER_CSR};

	(void)state;
	for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
		uint32_t o = observer();
		struct vb_broker_msg m;

		vb_broker_msg_init(&m, ops[i]);
		assert_int_equal(vb_fds_send(peer[o], &m, sizeof m, NULL), 0);
		/* It takes nothing more. */
		assert_int_equal(shutdown(b.conn[o].sock, SHUT_WR), 0);
		vb_conn_handle(&b, o, VB_SEC);
		assert_false(b.conn[o].in_use);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, inside_begin, inside_end)
#define G(f) cmocka_unit_test_setup_teardown(f, inside_begin_group, inside_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(watch__with_its_source),
	    G(handle__what_a_kind_may_say),
	    G(handle__of_one_that_has_ended),
	    G(client__of_a_dead_process),
	    G(client__is_welcome),
	    T(client__without_descriptors),
	    G(cm__there_is_none),
	    T(reattach__with_no_store),
	    G(reattach__its_own_slot),
	    T(accept__of_root),
	    T(version__of_a_stranger),
	    G(capture__until_the_last_has_gone),
	    G(slots__all_there_are),
	    G(fault__is_told_at_once),
	    G(explain__asks_all),
	    T(connections__come_as_one),
	    G(answer__that_is_not_taken),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
