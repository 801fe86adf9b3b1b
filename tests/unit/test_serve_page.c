/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages where the broker looks for calls: a program that writes a wrong one is turned away,
 * wherever that is noticed; others stay. node/cm/page/serve_page.c */
#include "cmocka_env.h"
#include "node/broker/state.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNS 3u

static struct vb_broker b;
static int pair[CONNS][2];

static struct vb_cm_page *page_of(uint32_t i)
{
	return b.conn[i].page;
}

/* Connections with pages; the broker looks at all. */
static int setup(void **state)
{
	(void)state;
	memset(&b, 0, sizeof b);
	for (uint32_t i = 0; i < CONNS; i++) {
		void *page = mmap(NULL, VB_CM_PAGE_BYTES, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		assert_true(page != MAP_FAILED);
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair[i]), 0);
		b.conn[i] = (struct vb_conn){.in_use = true,
					     .kind = VB_CONN_CM,
					     .sock = pair[i][0],
					     .pidfd = -1,
					     .page = page};
		b.conn_cnt++;
		b.looked[b.looked_cnt++] = i;
		vb_cm_page_look(page, true);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CONNS; i++) {
		vb_conn_end(&b, i);
		close(pair[i][1]);
	}
	return b.conn_cnt != 0 || b.looked_cnt != 0;
}

/* More commands than there is room for. */
static void post_too_many(uint32_t i)
{
	page_of(i)->posted = VB_CM_POSTS + 1;
}

/* Only connection @which has ended. */
static void assert_ended(uint32_t which)
{
	char byte;

	for (uint32_t i = 0; i < CONNS; i++) {
		assert_int_equal(b.conn[i].in_use, i != which);
		assert_int_equal(recv(pair[i][1], &byte, 1, MSG_DONTWAIT), i == which ? 0 : -1);
	}
	for (uint32_t i = 0; i < b.looked_cnt; i++)
		assert_int_not_equal(b.looked[i], which);
	assert_int_equal(b.conn_cnt, CONNS - 1);
}

static void look__ends_who_posts_too_much(void **state)
{
	(void)state;
	vb_broker_page_look(&b);
	assert_int_equal(b.looked_cnt, CONNS);
	post_too_many(1);
	vb_broker_page_look(&b);
	assert_ended(1);
	assert_int_equal(b.looked_cnt, CONNS - 1);
}

/* Before it sleeps, the loop looks at each page once more; then programs must tell it. */
static void rest__ends_who_posts_too_much(void **state)
{
	(void)state;
	post_too_many(1);
	assert_true(vb_broker_page_rest(&b, 1));
	assert_ended(1);
	assert_int_equal(b.looked_cnt, 0);
	assert_int_equal(page_of(0)->looks, 0);
	assert_int_equal(page_of(2)->looks, 0);
	assert_false(vb_broker_page_rest(&b, 1));
}

static void kick__ends_who_posts_too_much(void **state)
{
	(void)state;
	assert_true(vb_broker_page_kick(&b, &b.conn[0], 1));
	post_too_many(1);
	assert_false(vb_broker_page_kick(&b, &b.conn[1], 1));
	vb_conn_end(&b, 1);
	assert_ended(1);
	assert_false(vb_broker_page_kick(&b, &b.conn[1], 1)); /* it has no page any more */
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(look__ends_who_posts_too_much),
	    T(rest__ends_who_posts_too_much),
	    T(kick__ends_who_posts_too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
