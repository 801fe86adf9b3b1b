/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A broker is killed and another one comes: channels and connections go on, and a command that was
 * answered to nobody is carried out once. CMP-51
 */
#include "broker_cm_env.h"

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
	program_start(&server);
	program_start(&other);
	(void)listener_new(&server);
	d.id = connect_begin(&other);
	(void)connect_finish(&server, &other, d.id);
	for (int n = 0; n < 2; n++) {
		broker_crash();
		assert_false(is_readable(server.fd, 0));
		program_again(&server);
		program_again(&other);
		assert_false(is_readable(server.fd, 0));
		assert_false(is_readable(other.fd, 0));
	}
	assert_int_equal(command(&other, VB_UCMA_DISCONNECT, &d, sizeof d, NULL, 0), 8 + sizeof d);
	broker_crash();
	program_again(&server);
	program_again(&other);
	(void)event(&server, VB_UCMA_EV_DISCONNECTED);
	/* And so does the listener. What was the last to happen is known. */
	(void)connect_agree(&server, &other, connect_begin(&other));
	broker_crash();
	program_again(&server);
	program_again(&other);
	(void)event(&server, VB_UCMA_EV_ESTABLISHED);
	program_end(&server);
	program_end(&other);
}

/* Events that wait stay, with the bytes that tell of them: no more, no fewer. */
static void events__wait_on(void **state)
{
	struct program p;
	struct vb_ucma_resolve_addr a = {.timeout_ms = 1000, .dst_size = 16};
	struct vb_ucma_get_event b = {0};
	struct vb_ucma_event_reply r;

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
	assert_int_equal(command(&p, VB_UCMA_GET_EVENT, &b, sizeof b, &r, sizeof r), -EAGAIN);
	assert_false(is_readable(p.fd, 0));
	program_end(&p);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(connection__goes_on, setup, teardown),
	    cmocka_unit_test_setup_teardown(events__wait_on, setup, teardown),
	    cmocka_unit_test_setup_teardown(program__that_went_meanwhile, setup, teardown),
	    cmocka_unit_test_setup_teardown(command__is_sent_again, setup, teardown),
	    cmocka_unit_test_setup_teardown(channel__closed_is_quiet, setup, teardown),
	    cmocka_unit_test_setup_teardown(channels__come_and_go, setup, teardown),
	};

	if (!netns_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
