/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to the process of a fabric from outside: its address, its name, and answers that are none.
 * node/subnet/client.h */
#include "subnet_process_env.h"

#include <sys/un.h>

/* The address is what every version has: a fabric is found by programs of another one, and told
 * from those of other users. */
static void address__is_of_a_user_and_a_name(void **state)
{
	static const char path[] = "\0verbena-fabric/1001/lab.2", zero[40];
	struct sockaddr_un a;
	unsigned len;

	(void)state;
	memset(&a, 0x55, sizeof a);
	len = vb_subnet_address(&a, 1001, "lab.2");
	assert_int_equal(a.sun_family, AF_UNIX);
	assert_int_equal(len, offsetof(struct sockaddr_un, sun_path) + sizeof path - 1);
	assert_memory_equal(a.sun_path, path, sizeof path);
	assert_memory_equal(a.sun_path + sizeof path, zero, sizeof zero);
}

/* A name has 1 to 31 letters, digits and three signs. */
static void names__have_letters_digits_and_three_signs(void **state)
{
	static const char *const good[] = {
	    "a", "Z9", "-", "_", ".", "a-b_c.d", "0123456789012345678901234567890"};
	static const char *const bad[] = {"",    "a/b", "a b",
					  "a:b", "a\n", "\xc3\xa4",
					  "a@",  "a+b", "01234567890123456789012345678901"};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		if (!vb_subnet_name_is_good(good[i]))
			fail_msg("'%s' is refused", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (vb_subnet_name_is_good(bad[i]))
			fail_msg("'%s' is taken", bad[i]);
}

/* Each reason for which no fabric is reached has its words, and leaves no socket. */
static void dial__says_why_in_vain(void **state)
{
	char why[256];
	int before = fd_cnt(), sock;

	(void)state;
	assert_int_equal(vb_subnet_dial("a/b", why, sizeof why), -EINVAL);
	assert_string_equal(why, "'a/b' is no name of a fabric");
	assert_int_equal(vb_subnet_dial("unit-nobody", why, sizeof why), -ECONNREFUSED);
	assert_string_equal(why, "no fabric 'unit-nobody' runs; 'verbena fabric up' starts one");
	assert_int_equal(fd_cnt(), before);
	sock = vb_subnet_dial(fabric_name, why, sizeof why);
	assert_true(sock >= 0);
	assert_int_equal(fcntl(sock, F_GETFD), FD_CLOEXEC);
	close(sock);
}

/* A text goes with its end, and one that is too long is cut. */
static void text__has_its_end(void **state)
{
	char longer[sizeof call.text + 10];

	(void)state;
	memset(&call, 0x55, sizeof call);
	vb_subnet_call_text(&call, VB_SUBNET_COMMAND, "show");
	assert_int_equal(call.op, VB_SUBNET_COMMAND);
	assert_int_equal(call.len, 5);
	assert_string_equal(call.text, "show");
	assert_true(call.token == 0);
	assert_int_equal(call.number, 0);
	memset(longer, 'x', sizeof longer);
	longer[sizeof longer - 1] = 0;
	vb_subnet_call_text(&call, VB_SUBNET_COMMAND, longer);
	assert_int_equal(call.len, sizeof call.text);
	assert_int_equal(strlen(call.text), sizeof call.text - 1);
}

/* Asks somebody who has answered by @n bytes, with a descriptor, before he was asked. */
static int ask_one_who_says(size_t n, struct vb_fds *fds)
{
	struct vb_fds out = {.cnt = 1, .fd = {STDIN_FILENO}};
	struct vb_subnet_answer said = {.status = -7, .token = 9};
	struct vb_subnet_call heard;
	int pair[2], rc;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	if (n)
		assert_int_equal(vb_fds_send(pair[1], &said, n, &out), 0);
	else
		assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
	vb_subnet_call_text(&call, VB_SUBNET_COMMAND, "show");
	call.version = 77; /* the caller need not know it */
	memset(&answer, 0, sizeof answer);
	rc = vb_subnet_ask(pair[0], &call, STDIN_FILENO, &answer, fds);
	assert_int_equal(vb_fds_recv(pair[1], &heard, sizeof heard, &out, MSG_DONTWAIT),
			 VB_SUBNET_CALL_HEADER + 5);
	assert_int_equal(heard.version, VB_SUBNET_CALL_VERSION);
	assert_int_equal(heard.op, VB_SUBNET_COMMAND);
	assert_string_equal(heard.text, "show");
	assert_int_equal(out.cnt, 1);
	vb_fds_close(&out);
	close(pair[0]);
	close(pair[1]);
	return rc;
}

/* An answer that is whole is handed out, with its descriptors or without; another is none. */
static void ask__takes_whole_answers_alone(void **state)
{
	struct vb_fds fds = {.cnt = 0};
	int before = fd_cnt();

	(void)state;
	assert_int_equal(ask_one_who_says(sizeof answer, &fds), 0);
	assert_int_equal(answer.status, -7);
	assert_true(answer.token == 9);
	assert_int_equal(fds.cnt, 1);
	vb_fds_close(&fds);
	assert_int_equal(ask_one_who_says(sizeof answer, NULL), 0);
	assert_int_equal(ask_one_who_says(sizeof answer - 1, NULL), -EPROTO);
	assert_int_equal(ask_one_who_says(0, NULL), -EPIPE);
	assert_int_equal(fd_cnt(), before);
}

/* A fabric that has ended is a pipe without another end, whenever that shows. */
static void ask__of_one_who_is_gone(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	close(pair[1]);
	vb_subnet_call_text(&call, VB_SUBNET_COMMAND, "show");
	assert_int_equal(vb_subnet_ask(pair[0], &call, -1, &answer, NULL), -EPIPE);
	close(pair[0]);
	/* It ended with a call that it had not read. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(send(pair[0], "x", 1, 0), 1);
	close(pair[1]);
	assert_int_equal(vb_subnet_ask(pair[0], &call, -1, &answer, NULL), -EPIPE);
	close(pair[0]);
	assert_int_equal(vb_subnet_ask(-1, &call, -1, &answer, NULL), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(address__is_of_a_user_and_a_name),
	    cmocka_unit_test(names__have_letters_digits_and_three_signs),
	    T(dial__says_why_in_vain),
	    cmocka_unit_test(text__has_its_end),
	    cmocka_unit_test(ask__takes_whole_answers_alone),
	    cmocka_unit_test(ask__of_one_who_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
