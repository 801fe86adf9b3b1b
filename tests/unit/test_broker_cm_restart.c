/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A broker is killed and another one comes: channels and connections go on, and a command that was
 * answered to nobody is carried out once. CMP-51
 */
#include "broker_cm_env.h"
#include "node/store/keeper.h"

static struct child client; /* has the descriptor store, and looks after the broker */

static int setup(void **state)
{
	(void)state;
	client = child_start(NULL);
	assert_int_equal(child_wait(&client).rc, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	child_end(&client, false);
	return 0;
}

static pid_t broker_pid(void)
{
	struct vb_broker_client c = client_connect();
	pid_t pid = (pid_t)c.host->broker_pid;

	vb_broker_disconnect(&c);
	return pid;
}

static void broker_crash(void)
{
	pid_t pid = broker_pid();

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_true(process_ends(pid));
}

static int channel_attach(struct program *p)
{
	struct vb_cm_call c = {.op = VB_CM_CALL_ATTACH, .channel = p->channel};

	call_send(p, &c, NULL);
	return p->answer.status;
}

/* As the library does it when its connection has ended. */
static void program_again(struct program *p)
{
	assert_int_equal(close(p->sock), 0);
	assert_int_equal(close(p->versions_fd), 0);
	vb_memory_unmap(p->page, VB_CM_PAGE_BYTES);
	program_dial(p);
	assert_int_equal(channel_attach(p), 0);
}

static void connection__goes_on(void **state)
{
	struct program server, other;
	struct vb_ucma_disconnect d;

	(void)state;
	d.id = programs_connect(&server, &other);
	for (int n = 0; n < 2; n++) {
		broker_crash();
		assert_false(is_readable(server.fd, 0));
		program_again(&server);
		program_again(&other);
		/* The program is known before its first command. */
		assert_int_equal(user_of(d.id), getpid());
		assert_false(is_readable(server.fd, 0));
		assert_false(is_readable(other.fd, 0));
	}
	assert_int_equal(command(&other, VB_UCMA_DISCONNECT, &d, sizeof d, NULL, 0), 8 + sizeof d);
	broker_crash();
	program_again(&server);
	program_again(&other);
	(void)event(&server, VB_UCMA_EV_DISCONNECTED);
	/* And so does the listener. The last thing that happened is known. */
	(void)connect_agree(&server, &other, connect_begin(&other));
	broker_crash();
	program_again(&server);
	program_again(&other);
	(void)event(&server, VB_UCMA_EV_ESTABLISHED);
	program_end(&server);
	program_end(&other);
}

/* A broker that is told to end leaves channels and connections alive. */
static void connection__goes_on_after_a_signal(void **state)
{
	struct program server, other;
	struct vb_ucma_disconnect d;
	pid_t pid = broker_pid();

	(void)state;
	d.id = programs_connect(&server, &other);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_true(process_ends(pid));
	program_again(&server);
	program_again(&other);
	assert_int_equal(command(&other, VB_UCMA_DISCONNECT, &d, sizeof d, NULL, 0), 8 + sizeof d);
	(void)event(&server, VB_UCMA_EV_DISCONNECTED);
	program_end(&server);
	program_end(&other);
}

/* Events that lie in the pair stay there, no more, no fewer, and are counted. */
static void events__wait_on(void **state)
{
	struct program p;
	struct vb_ucma_resolve_addr a = {.timeout_ms = 1000, .dst_size = 16};
	struct vb_ucma_destroy_id d = {0};
	struct vb_ucma_number_reply n_events = {0};

	(void)state;
	program_start(&p);
	a.dst[0] = AF_INET;
	memcpy(a.dst + 4, (uint8_t[4]){127, 0, 0, 1}, 4);
	for (int n = 0; n < 3; n++) {
		a.id = id_new(&p);
		assert_int_equal(command(&p, VB_UCMA_RESOLVE_ADDR, &a, sizeof a, NULL, 0),
				 8 + sizeof a);
	}
	(void)event(&p, VB_UCMA_EV_ADDR_RESOLVED);
	broker_crash();
	assert_true(is_readable(p.fd, 0));
	program_again(&p);
	(void)event(&p, VB_UCMA_EV_ADDR_RESOLVED);
	(void)event(&p, VB_UCMA_EV_ADDR_RESOLVED);
	assert_false(event_take(&p));
	d.id = a.id;
	assert_int_equal(command(&p, VB_UCMA_DESTROY_ID, &d, sizeof d, &n_events, sizeof n_events),
			 8 + sizeof d);
	assert_int_equal(n_events.n, 1);
	program_end(&p);
}

/* The command DESTROY_ID for @id of @p. */
static struct vb_cm_call call_destroy(const struct program *p, uint32_t id, uint64_t serial)
{
	struct vb_ucma_destroy_id d = {.id = id};
	struct vb_ucma_hdr h = {VB_UCMA_DESTROY_ID, sizeof d, sizeof(struct vb_ucma_number_reply)};
	struct vb_cm_call c = {.op = VB_CM_CALL_COMMAND,
			       .channel = p->channel,
			       .len = sizeof h + sizeof d,
			       .serial = serial};

	memcpy(c.body, &h, sizeof h);
	memcpy(c.body + sizeof h, &d, sizeof d);
	return c;
}

static int call_status(struct program *p, const struct vb_cm_call *c)
{
	call_send(p, c, NULL);
	return p->answer.status;
}

/* Until it is carried out. */
static void route_post(struct program *p, const struct vb_ucma_resolve_route *r)
{
	if (command_post(p, VB_UCMA_RESOLVE_ROUTE, r, sizeof *r, 99))
		program_kick(p);
	while (vb_cm_page_pending(p->page))
		sched_yield();
}

/* A broker is killed after it has carried out what was posted, and before it says so: the next one
 * gets it again, and does nothing. */
static void post__is_carried_out_once(void **state)
{
	struct program p;
	struct vb_ucma_resolve_route r = {.timeout_ms = 1000};

	(void)state;
	program_start(&p);
	r.id = resolve_begin(&p);
	route_post(&p, &r);
	broker_crash();
	program_again(&p);
	route_post(&p, &r);
	(void)event(&p, VB_UCMA_EV_ROUTE_RESOLVED);
	(void)id_new(&p); /* comes after what is told */
	assert_false(is_readable(p.fd, 0));
	/* Under another serial it is another one. */
	if (command_post(&p, VB_UCMA_RESOLVE_ROUTE, &r, sizeof r, 100))
		program_kick(&p);
	assert_int_equal(event(&p, VB_UCMA_EV_ROUTE_ERROR).status, -EINVAL);
	program_end(&p);
}

/* Three ids of @p with an event each, which lie in the pair. */
static void events_make(struct program *p, uint32_t id[3])
{
	struct vb_ucma_resolve_addr a = {.timeout_ms = 1000, .dst_size = 16};

	a.dst[0] = AF_INET;
	memcpy(a.dst + 4, (uint8_t[4]){127, 0, 0, 1}, 4);
	for (uint32_t n = 0; n < 3; n++) {
		a.id = id[n] = id_new(p);
		assert_int_equal(command(p, VB_UCMA_RESOLVE_ADDR, &a, sizeof a, NULL, 0),
				 8 + sizeof a);
	}
}

/* A program with a connection of its own to the channel of @p. */
static void program_share(struct program *p, const struct program *of)
{
	*p = (struct program){0};
	program_dial(p);
	p->channel = of->channel;
	p->fd = dup(of->fd);
	assert_true(p->fd >= 0);
	assert_int_equal(channel_attach(p), 0);
}

/* A broker is killed while a program takes events back: the next one is told of them. */
static void events__come_back_to_another(void **state)
{
	struct program p;
	struct vb_cm_call c;
	uint32_t id[3];

	(void)state;
	program_start(&p);
	events_make(&p, id);
	/* And what has come back once is not waited for by the one after it. */
	for (uint32_t n = 0; n < 2; n++) {
		broker_crash();
		program_again(&p);
		c = call_destroy(&p, id[n], 98 + n);
		assert_int_equal(call_status(&p, &c), -EINPROGRESS);
		events_return(&p, &c);
		assert_int_equal(c.extra_len, (3 - n) * 8);
		broker_crash();
		program_again(&p);
		assert_int_equal(call_status(&p, &c), c.len);
	}
	assert_int_equal(event(&p, VB_UCMA_EV_ADDR_RESOLVED).id, id[2]);
	assert_false(event_take(&p));
	program_end(&p);
}

/* Two programs with one channel take events back: the first to ask does, also from the next broker,
 * where the other one is the first to call. */
static void events__come_back_to_one_of_two(void **state)
{
	struct program one, two;
	struct vb_cm_call a, b;
	uint32_t id[3];

	(void)state;
	program_start(&one);
	program_share(&two, &one);
	events_make(&one, id);
	a = call_destroy(&one, id[1], 11);
	b = call_destroy(&two, id[0], 22);
	assert_int_equal(call_status(&one, &a), -EINPROGRESS);
	assert_int_equal(call_status(&two, &b), -EALREADY);
	events_return(&one, &a);
	assert_int_equal(a.extra_len, 3 * 8);
	broker_crash();
	program_again(&two);
	assert_int_equal(call_status(&two, &b), -EALREADY);
	program_again(&one);
	assert_int_equal(call_status(&one, &a), a.len);
	assert_int_equal(call_status(&two, &b), -EINPROGRESS);
	events_return(&two, &b);
	assert_int_equal(call_status(&two, &b), b.len);
	assert_int_equal(event(&one, VB_UCMA_EV_ADDR_RESOLVED).id, id[2]);
	assert_false(event_take(&one));
	program_end(&one);
	program_end(&two);
}

/* The program that took them back ended with the broker: it has them, and events come again. */
static void events__do_not_come_back(void **state)
{
	struct program one, two;
	struct vb_ucma_number_reply n;
	struct vb_cm_call a, b;
	uint32_t id[3];

	(void)state;
	program_start(&one);
	program_share(&two, &one);
	events_make(&one, id);
	a = call_destroy(&one, id[1], 11);
	b = call_destroy(&two, id[0], 22);
	assert_int_equal(call_status(&one, &a), -EINPROGRESS);
	events_return(&one, &a);
	broker_crash();
	program_end(&one);
	program_again(&two);
	events_make(&two, id);
	(void)event(&two, VB_UCMA_EV_ADDR_RESOLVED);
	assert_int_equal(call_status(&two, &b), b.len);
	memcpy(&n, two.answer.body, sizeof n);
	assert_int_equal(n.n, 1);
	program_end(&two);
}

/* The request @id is lost when it is accepted, and counts as nothing when @listener ends. */
static void request_is_lost(struct program *server, uint32_t id, uint32_t listener)
{
	struct vb_ucma_accept a = {.id = id, .uid = 2, .param = {.valid = 1, .qp_num = qpn + 1}};
	struct vb_ucma_destroy_id d = {.id = listener};
	struct vb_ucma_number_reply n = {0};

	assert_int_equal(command(server, VB_UCMA_ACCEPT, &a, sizeof a, NULL, 0), 8 + sizeof a);
	assert_int_equal(event(server, VB_UCMA_EV_UNREACHABLE).uid, 2);
	assert_int_equal(command(server, VB_UCMA_DESTROY_ID, &d, sizeof d, &n, sizeof n),
			 8 + sizeof d);
	assert_int_equal(n.n, 0);
}

/* A request lies in the pair when the broker is killed: it is of a broker that is gone, and counts
 * as nothing. A program that cannot tell, because it has called no broker, accepts a lost one. */
static void request__lies_in_the_pair(void **state)
{
	struct program server, other;
	uint32_t listener, id;
	uint64_t broker;

	(void)state;
	program_start(&server);
	program_start(&other);
	listener = listener_new(&server);
	(void)connect_begin(&other);
	assert_true(is_readable(server.fd, BROKER_PATIENCE_MS));
	broker = server.page->broker;
	broker_crash();
	program_again(&server);
	program_again(&other);
	assert_int_not_equal(server.page->broker, broker);
	assert_int_equal(server.page->broker, other.page->broker);
	id = event(&server, VB_UCMA_EV_CONNECT_REQUEST).id;
	assert_int_equal(server.answer.channel, broker);
	(void)event(&other, VB_UCMA_EV_UNREACHABLE);
	assert_int_equal(other.answer.channel, other.page->broker);
	request_is_lost(&server, id, listener);
	program_end(&server);
	program_end(&other);
}

/* One that was taken before is known, and lost when it is accepted. It counts as nothing, for the
 * library may have thrown it away. */
static void request__was_taken(void **state)
{
	struct program server, other;
	uint32_t listener, id;

	(void)state;
	program_start(&server);
	program_start(&other);
	listener = listener_new(&server);
	(void)connect_begin(&other);
	id = event(&server, VB_UCMA_EV_CONNECT_REQUEST).id;
	broker_crash();
	program_again(&server);
	program_again(&other);
	request_is_lost(&server, id, listener);
	program_end(&server);
	program_end(&other);
}

/* A broker that ends once it has sent a request, before it has written down that it did. */
#define DIES_AT_REQUEST "TEST_BROKER_DIES_AT_REQUEST"

ssize_t __real_send(int fd, const void *bytes, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags);

ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags)
{
	ssize_t n = __real_send(fd, bytes, len, flags);
	struct vb_cm_answer event;
	struct vb_ucma_event_reply r;

	if (len != VB_CM_EVENT_LEN || !getenv(DIES_AT_REQUEST))
		return n;
	memcpy(&event, bytes, len);
	memcpy(&r, event.body, sizeof r);
	if (r.event == VB_UCMA_EV_CONNECT_REQUEST)
		kill(getpid(), SIGKILL);
	return n;
}

static int setup_dying(void **state)
{
	static char self[4096];

	assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	broker_crash(); /* the one of the test before */
	assert_int_equal(setenv("VERBENA_BIN", self, 1), 0);
	assert_int_equal(setenv(DIES_AT_REQUEST, "1", 1), 0);
	return setup(state);
}

static int teardown_dying(void **state)
{
	int rc;

	assert_int_equal(unsetenv(DIES_AT_REQUEST), 0);
	assert_int_equal(unsetenv("VERBENA_BIN"), 0);
	rc = teardown(state);
	broker_crash();
	return rc;
}

/* The program has the request, and the next broker does not know that: it is lost when it is
 * accepted, and the listener has room for as many as before. */
static void request__was_taken_and_not_written_down(void **state)
{
	struct vb_ucma_accept a = {.uid = 2, .param = {.valid = 1}};
	struct vb_ucma_resolve_route r = {.timeout_ms = 1000};
	struct vb_ucma_connect b = {.param = {.qp_num = qpn += 2, .valid = 1}};
	struct vb_ucma_hdr h = {VB_UCMA_CONNECT, sizeof b, 0};
	struct vb_cm_call c = {.op = VB_CM_CALL_COMMAND, .len = sizeof h + sizeof b};
	struct program server, other;
	pid_t pid = broker_pid();

	(void)state;
	program_start(&server);
	program_start(&other);
	(void)listener_new(&server);
	b.id = r.id = resolve_begin(&other);
	assert_int_equal(command(&other, VB_UCMA_RESOLVE_ROUTE, &r, sizeof r, NULL, 0),
			 8 + sizeof r);
	(void)event(&other, VB_UCMA_EV_ROUTE_RESOLVED);
	c.channel = other.channel;
	memcpy(c.body, &h, sizeof h);
	memcpy(c.body + sizeof h, &b, sizeof b);
	assert_int_equal(
	    vb_fds_send(other.sock, &c, offsetof(struct vb_cm_call, body) + c.len, NULL), 0);
	assert_true(process_ends(pid));
	assert_int_equal(unsetenv(DIES_AT_REQUEST), 0);
	a.id = event(&server, VB_UCMA_EV_CONNECT_REQUEST).id;
	program_again(&server);
	a.param.qp_num = qpn + 1;
	assert_int_equal(command(&server, VB_UCMA_ACCEPT, &a, sizeof a, NULL, 0), 8 + sizeof a);
	assert_int_equal(event(&server, VB_UCMA_EV_UNREACHABLE).uid, 2);
	program_end(&server);
	program_end(&other);
}

/* A program that ends while no broker is here: its peer hears from the next one. */
static void program__that_went_meanwhile(void **state)
{
	struct program server, other;

	(void)state;
	program_start(&server);
	program_start(&other);
	(void)listener_new(&server);
	(void)connect_finish(&server, &other, connect_begin(&other));
	broker_crash();
	program_end(&other);
	program_again(&server);
	(void)event(&server, VB_UCMA_EV_DISCONNECTED);
	program_end(&server);
}

/* The same command sent again is answered again, and carried out once. */
static void command__is_sent_again(void **state)
{
	struct program p;
	uint32_t first, second;

	(void)state;
	program_start(&p);
	p.serial = 0x1111111111111111;
	first = id_new(&p);
	assert_int_equal(id_new(&p), first);
	broker_crash();
	program_again(&p);
	assert_int_equal(id_new(&p), first);
	p.serial++;
	second = id_new(&p);
	assert_int_not_equal(second, first);
	/* Only the last one is known. */
	p.serial--;
	assert_int_not_equal(id_new(&p), first);
	program_end(&p);
}

/* The processor time of @pid, in ticks. */
static unsigned long ticks_of(pid_t pid)
{
	unsigned long user = 0, system = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f,
				"%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
				&user, &system),
			 2);
	fclose(f);
	return user + system;
}

/* A channel that was closed is in the store still, and of no concern to the broker's loop. */
static void channel__closed_is_quiet(void **state)
{
	struct program p;
	unsigned long before;
	pid_t pid = broker_pid();

	(void)state;
	program_start(&p);
	program_end(&p);
	(void)usleep(100000);
	before = ticks_of(pid);
	(void)usleep(500000);
	assert_uint_in_range(ticks_of(pid) - before, 0, 10);
}

#define ROUNDS 6000
#define STAY 40

/* Channels that were closed are forgotten, however many there were; the others are all there. */
static void channels__come_and_go(void **state)
{
	static struct program stays[STAY];
	struct program p, gone;

	(void)state;
	program_dial(&p);
	for (int n = 0; n < ROUNDS; n++) {
		channel_open(&p);
		if (n % (ROUNDS / STAY) == 0 && n / (ROUNDS / STAY) < STAY)
			stays[n / (ROUNDS / STAY)] = p;
		else
			assert_int_equal(close(p.fd), 0);
	}
	gone = p;
	broker_crash();
	assert_int_equal(close(p.sock), 0);
	assert_int_equal(close(p.versions_fd), 0);
	program_dial(&p);
	gone.sock = p.sock;
	gone.page = p.page;
	assert_int_equal(channel_attach(&gone), -ENOENT);
	for (int n = 0; n < STAY; n++) {
		stays[n].sock = p.sock;
		stays[n].page = p.page;
		assert_int_equal(channel_attach(&stays[n]), 0);
		(void)id_new(&stays[n]);
		assert_int_equal(close(stays[n].fd), 0);
	}
	assert_int_equal(close(p.versions_fd), 0);
	assert_int_equal(close(p.sock), 0);
}

/* With arguments it is what VERBENA_BIN names: a broker, or its keeper. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(connection__goes_on, setup, teardown),
	    cmocka_unit_test_setup_teardown(connection__goes_on_after_a_signal, setup, teardown),
	    cmocka_unit_test_setup_teardown(events__wait_on, setup, teardown),
	    cmocka_unit_test_setup_teardown(events__come_back_to_another, setup, teardown),
	    cmocka_unit_test_setup_teardown(post__is_carried_out_once, setup, teardown),
	    cmocka_unit_test_setup_teardown(events__come_back_to_one_of_two, setup, teardown),
	    cmocka_unit_test_setup_teardown(events__do_not_come_back, setup, teardown),
	    cmocka_unit_test_setup_teardown(request__lies_in_the_pair, setup, teardown),
	    cmocka_unit_test_setup_teardown(request__was_taken_and_not_written_down, setup_dying,
					    teardown_dying),
	    cmocka_unit_test_setup_teardown(request__was_taken, setup, teardown),
	    cmocka_unit_test_setup_teardown(program__that_went_meanwhile, setup, teardown),
	    cmocka_unit_test_setup_teardown(command__is_sent_again, setup, teardown),
	    cmocka_unit_test_setup_teardown(channel__closed_is_quiet, setup, teardown),
	    cmocka_unit_test_setup_teardown(channels__come_and_go, setup, teardown),
	};

	(void)argv;
	if (argc > 1)
		return argc == 2 ? vb_broker_main() : vb_keeper_main();
	if (!netns_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
