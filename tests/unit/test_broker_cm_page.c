/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A real broker that is called and posted to by shared memory: posted commands come in order,
 * and nothing that a program writes there is believed. CMP-31, CMP-51
 */
#include "broker_cm_env.h"

/* Values that no library writes into its page. */
static void page__that_is_wrong(void **state)
{
	struct program p;
	struct vb_cm_call c = {.op = VB_CM_CALL_ATTACH};

	(void)state;
	program_start(&p);
	c.channel = p.channel;
	for (uint32_t n = 0; n < 3; n++) {
		static const uint32_t len[] = {UINT32_MAX, VB_CM_CALL_BODY, 1};
		static const uint32_t extra[] = {2, 1, UINT32_MAX};
		struct vb_cm_call none = {.op = VB_CM_CALL_ATTACH};
		char kick = 0;

		p.page->call.len = len[n];
		p.page->call.extra_len = extra[n];
		vb_cm_page_sleep(p.page, true);
		__atomic_add_fetch(&p.page->called, 1000, __ATOMIC_SEQ_CST);
		assert_int_equal(send(p.sock, &kick, VB_CM_KICK_LEN, MSG_NOSIGNAL), 1);
		while (!vb_cm_page_answer(p.page, &p.answer))
			assert_int_equal(recv(p.sock, &kick, 1, 0), VB_CM_KICK_LEN);
		assert_int_equal(p.answer.status, -EINVAL);
		/* Only a call is carried out, and a kick for nothing is none. */
		assert_int_equal(send(p.sock, &kick, VB_CM_KICK_LEN, MSG_NOSIGNAL), 1);
		call_send(&p, &none, NULL);
		assert_int_equal(p.answer.status, -ENOENT);
		call_send(&p, &c, NULL);
		assert_int_equal(p.answer.status, 0);
	}
	/* Without a descriptor there is no channel. */
	c.op = VB_CM_CALL_OPEN;
	call_send(&p, &c, NULL);
	assert_int_equal(p.answer.status, -EINVAL);
	/* A program that is turned away is told. */
	assert_true(vb_cm_page_is_served(p.page));
	assert_int_equal(vb_fds_send(p.sock, &c, 8, NULL), 0);
	while (recv(p.sock, &c, 1, 0) > 0)
		;
	assert_false(vb_cm_page_is_served(p.page));
	program_end(&p);
}

/* The broker stands still: later it finds all that programs did then at once. */
static pid_t broker_stop(void)
{
	pid_t pid = broker_pid_seen();
	char path[32], state = 0;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	while (state != 'T') {
		FILE *f = fopen(path, "re");

		assert_non_null(f);
		assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
		fclose(f);
	}
	return pid;
}

/* Writes a call while the broker stands still, as command() does. */
static void command_begin(struct program *p, uint32_t cmd, const void *body, uint16_t len)
{
	struct vb_cm_call c = {.op = VB_CM_CALL_COMMAND, .channel = p->channel};
	struct vb_ucma_hdr h = {cmd, len, 0};

	memcpy(c.body, &h, sizeof h);
	memcpy(c.body + sizeof h, body, len);
	c.len = (uint32_t)sizeof h + len;
	if (vb_cm_page_call(p->page, &c))
		program_kick(p);
	vb_cm_page_sleep(p->page, true);
}

static int command_end(struct program *p)
{
	char kick;

	while (!vb_cm_page_answer(p->page, &p->answer))
		assert_int_equal(recv(p->sock, &kick, 1, 0), VB_CM_KICK_LEN);
	vb_cm_page_sleep(p->page, false);
	return p->answer.status;
}

/* A route and a connection that nobody waits for; each event says what may be posted. */
static void post__is_carried_out(void **state)
{
	struct program server, client;
	struct vb_ucma_resolve_route r = {.timeout_ms = 1000};
	struct vb_ucma_connect c = {.param = {.qp_num = qpn += 2, .valid = 1}};
	struct vb_ucma_disconnect d;
	pid_t broker;

	(void)state;
	program_start(&server);
	program_start(&client);
	(void)listener_new(&server);
	r.id = c.id = d.id = resolve_begin(&client);
	assert_int_equal(client.answer.grants, 1u << VB_UCMA_RESOLVE_ROUTE);
	if (command_post(&client, VB_UCMA_RESOLVE_ROUTE, &r, sizeof r, 71))
		program_kick(&client);
	(void)event(&client, VB_UCMA_EV_ROUTE_RESOLVED);
	assert_int_equal(client.answer.grants, 1u << VB_UCMA_CONNECT);
	/* A call comes after what was posted, whether or not anybody was told of that. */
	broker = broker_stop();
	(void)command_post(&client, VB_UCMA_CONNECT, &c, sizeof c, 72);
	command_begin(&client, VB_UCMA_DISCONNECT, &d, sizeof d);
	assert_int_equal(kill(broker, SIGCONT), 0);
	assert_int_equal(command_end(&client), 8 + sizeof d);
	(void)event(&server, VB_UCMA_EV_CONNECT_REQUEST);
	assert_int_equal(server.answer.grants, 1u << VB_UCMA_ACCEPT);
	/* A failure is told by an event: this id is not resolved any more. */
	if (command_post(&client, VB_UCMA_RESOLVE_ROUTE, &r, sizeof r, 73))
		program_kick(&client);
	assert_int_equal(event(&client, VB_UCMA_EV_ROUTE_ERROR).status, -EINVAL);
	program_end(&server);
	program_end(&client);
}

/* A program that ends has done what it has posted, whether or not anybody was told of that. */
static void post__of_one_that_ends(void **state)
{
	struct program server, client;
	struct vb_ucma_disconnect d;
	pid_t broker;

	(void)state;
	program_start(&server);
	program_start(&client);
	(void)listener_new(&server);
	d.id = connect_finish(&server, &client, connect_begin(&client));
	broker = broker_stop();
	(void)command_post(&server, VB_UCMA_DISCONNECT, &d, sizeof d, 74);
	assert_int_equal(shutdown(server.sock, SHUT_RDWR), 0);
	assert_int_equal(kill(broker, SIGCONT), 0);
	/* Its channel is still open. */
	(void)event(&client, VB_UCMA_EV_DISCONNECTED);
	program_end(&server);
	program_end(&client);
}

/* The process that goes on with a channel finds done what the one before has posted there. */
static void post__before_another_process(void **state)
{
	struct program first, second;
	struct vb_cm_call c = {.op = VB_CM_CALL_ATTACH};
	struct vb_ucma_resolve_route r = {.timeout_ms = 1000};
	struct vb_ucma_connect connect = {.param = {.qp_num = qpn += 2, .valid = 1}};
	pid_t broker;

	(void)state;
	program_start(&first);
	program_start(&second);
	r.id = connect.id = resolve_begin(&first);
	c.channel = first.channel;
	call_send(&second, &c, NULL);
	assert_int_equal(second.answer.status, 0);
	second.channel = first.channel;
	broker = broker_stop();
	/* Nobody tells the broker of the first one's. */
	(void)command_post(&first, VB_UCMA_RESOLVE_ROUTE, &r, sizeof r, 71);
	command_begin(&second, VB_UCMA_CONNECT, &connect, sizeof connect);
	assert_int_equal(kill(broker, SIGCONT), 0);
	assert_int_equal(command_end(&second), 8 + sizeof connect);
	program_end(&first);
	program_end(&second);
}

/* Nothing that a program writes into the ring is believed. */
static void post__that_is_wrong(void **state)
{
	struct program p;
	struct vb_ucma_resolve_addr a = {.timeout_ms = 1000, .dst_size = 16};
	struct vb_ucma_destroy_id d = {0};
	struct vb_ucma_number_reply n;
	char kick;

	(void)state;
	program_start(&p);
	d.id = id_new(&p);
	/* A command that cannot be posted is not carried out. */
	a.id = d.id;
	a.dst[0] = AF_INET;
	memcpy(a.dst + 4, (uint8_t[4]){127, 0, 0, 1}, 4);
	if (command_post(&p, VB_UCMA_RESOLVE_ADDR, &a, sizeof a, 71))
		program_kick(&p);
	(void)id_new(&p);
	assert_false(is_readable(p.fd, 0));
	/* Nor is one for a channel that is none, or that is longer than its place. */
	for (uint32_t i = 0; i < VB_CM_POSTS; i++) {
		p.page->post[i].len = i * 0x11111111u;
		p.page->post[i].channel = i & 1 ? p.channel : i;
	}
	__atomic_add_fetch(&p.page->posted, VB_CM_POSTS - 1, __ATOMIC_SEQ_CST);
	program_kick(&p);
	assert_int_equal(command(&p, VB_UCMA_DESTROY_ID, &d, sizeof d, &n, sizeof n), 8 + sizeof d);
	assert_int_equal(vb_cm_page_pending(p.page), 0);
	assert_false(is_readable(p.fd, 0));
	/* A program that has posted more than there is room for is turned away. */
	__atomic_add_fetch(&p.page->posted, UINT32_MAX / 2, __ATOMIC_SEQ_CST);
	program_kick(&p);
	while (recv(p.sock, &kick, 1, 0) > 0)
		;
	assert_false(vb_cm_page_is_served(p.page));
	program_end(&p);
	program_start(&p);
	(void)id_new(&p);
	program_end(&p);
}

/* More programs that call without a pause than the broker looks at. */
static void pages__of_many(void **state)
{
	static struct program p[20];

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		program_start(&p[i]);
	for (uint32_t n = 0; n < 4000; n++)
		(void)id_new(&p[n % 20]);
	for (uint32_t i = 0; i < 20; i++)
		program_end(&p[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(page__that_is_wrong),
	    cmocka_unit_test(pages__of_many),
	    cmocka_unit_test(post__is_carried_out),
	    cmocka_unit_test(post__of_one_that_ends),
	    cmocka_unit_test(post__before_another_process),
	    cmocka_unit_test(post__that_is_wrong),
	};

	if (!netns_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
