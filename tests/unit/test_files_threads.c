/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads of one program: while one makes a call, others go on with all that needs none. Here the
 * call is the lock that is held around one; whoever waits for it waits for ever. CMP-45
 */
#include "cmocka_env.h"
#include "files/cm/cm.h"
#include "files/cm/event.h"
#include "files/cm/session.h"
#include "netns.h"
#include "ucma/abi.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Only a failure lasts that long. */
#define PATIENCE_S 60

static struct vb_fd f;
static int fd;

/* Writes the command @cmd with its reply @r. */
#define WRITE(cmd, body, r)                                                                        \
	command_write(cmd, &(body), sizeof(body), offsetof(__typeof__(body), response), &(r),      \
		      sizeof(r))

static void command_write(uint32_t cmd, const void *body, uint16_t len, size_t response_at, void *r,
			  uint16_t out)
{
	struct vb_ucma_hdr h = {cmd, len, out};
	uint64_t response = (uintptr_t)r;
	uint8_t bytes[sizeof h + 512];

	assert_true(len <= 512);
	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, body, len);
	if (r)
		memcpy(bytes + sizeof h + response_at, &response, sizeof response);
	assert_int_equal(vb_cm_write(fd, &f, bytes, sizeof h + len), sizeof h + len);
}

static int setup(void **state)
{
	(void)state;
	(void)alarm(PATIENCE_S);
	fd = vb_cm_open(O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(vb_fd_get(fd, &f), VB_FD_RDMA_CM);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vb_fd_forget(fd);
	(void)alarm(0);
	return close(fd);
}

/* A new id with the address 127.0.0.1 resolved; its event lies in the pair. */
static uint32_t id_resolve(void)
{
	struct vb_ucma_create_id c = {.ps = VB_UCMA_PS_TCP};
	struct vb_ucma_resolve_addr a = {.timeout_ms = 1000, .dst_size = VB_UCMA_SOCKADDR_IN};
	static const uint8_t lo[] = {VB_UCMA_AF_INET, 0, 0x1d, 0x2f, 127, 0, 0, 1};
	struct vb_ucma_number_reply r = {0};
	struct pollfd p = {fd, POLLIN, 0};

	WRITE(VB_UCMA_CREATE_ID, c, r);
	a.id = r.n;
	memcpy(a.dst, lo, sizeof lo);
	command_write(VB_UCMA_RESOLVE_ADDR, &a, sizeof a, 0, NULL, 0);
	assert_int_equal(poll(&p, 1, -1), 1);
	return r.n;
}

/* The event brought the answer along; it is right long after the last call as well. */
static void answer__that_came_along(void **state)
{
	struct vb_ucma_get_event g = {0};
	struct vb_ucma_event_reply ev = {0};
	struct vb_ucma_query q = {.option = VB_UCMA_QUERY_ADDR};
	struct vb_ucma_addr_reply addr = {0};

	(void)state;
	q.id = id_resolve();
	WRITE(VB_UCMA_GET_EVENT, g, ev);
	assert_int_equal(ev.event, VB_UCMA_EV_ADDR_RESOLVED);
	vb_cm_lock();
	for (int i = 0; i < 1000; i++)
		WRITE(VB_UCMA_QUERY, q, addr);
	vb_cm_unlock();
	assert_int_equal(addr.src_size, VB_UCMA_SOCKADDR_IN);
	assert_int_equal(addr.src[4], 127);
}

/* Of which broker an event is. */
static void event__of_the_broker_that_serves(void **state)
{
	struct vb_cm_answer a;

	(void)state;
	(void)id_resolve();
	assert_int_equal(vb_cm_event_take(fd, &f, &a), 0);
	vb_cm_lock();
	assert_true(vb_cm_is_of_broker(a.channel));
	vb_cm_unlock();
	assert_false(vb_cm_is_of_broker(a.channel + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(answer__that_came_along, setup, teardown),
	    cmocka_unit_test_setup_teardown(event__of_the_broker_that_serves, setup, teardown),
	};

	if (!netns_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
