/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots beyond the wide ones: where their packets go, which of them a process gets, what their
 * memory takes, that a later broker has them, and that the last one is the last.
 */
#include "base/rng.h"
#include "cmocka_env.h"
#include "netns.h"
#include "node/store/fd_store.h"
#include "node/store/slots.h"
#include "wire/packet.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define WIDE (VB_SLOT_WIDE - VB_SLOT_FIRST)
#define PATIENCE_MS 10000

static struct vb_slots slots;

static int setup(void **state)
{
	(void)state;
	return vb_slots_init(&slots) || vb_slots_start(&slots);
}

static int teardown(void **state)
{
	(void)state;
	vb_slots_close(&slots);
	return 0;
}

static void take_slots(uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		assert_true(vb_slots_take(&slots, getpid(), "test") > 0);
}

static void send_to_qpn(uint32_t qpn)
{
	const struct sockaddr_in6 to = {.sin6_family = AF_INET6,
					.sin6_port = htons(VB_ROCE_PORT),
					.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const uint8_t bth[12] = {
	    [5] = (uint8_t)(qpn >> 16), [6] = (uint8_t)(qpn >> 8), [7] = (uint8_t)qpn};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(sendto(fd, bth, sizeof bth, 0, (const struct sockaddr *)&to, sizeof to),
			 sizeof bth);
	close(fd);
}

/* The kernel steers by the program as vb_slot_of_qpn() says; numbers of slots that there are not,
 * and multicast's, go to the broker. */
static void steering__is_that_of_the_numbers(void **state)
{
	struct vb_rng rng = vb_rng_stream(1, "steering", 0);

	(void)state;
	take_slots(WIDE + 40);
	assert_int_equal(slots.group.cnt, VB_SLOT_WIDE + 2 * VB_SLOT_SHARE);
	for (uint32_t k = 0; k < slots.group.cnt; k++)
		vb_group_open(&slots.group, k);
	for (int i = 0; i < 400; i++) {
		uint32_t qpn = (uint32_t)vb_rng_next(&rng) & 0xffffff;
		uint8_t bth[12];

		/* Half of them at the edges. */
		if (i % 2)
			qpn = (qpn & 0xffff00) | (0x7e + (qpn & 3));
		if (i == 0)
			qpn = 0xffffff;

		uint32_t slot = vb_slot_of_qpn(qpn);
		struct pollfd p = {.fd = slots.group.fd[slot < slots.group.cnt ? slot : 0],
				   .events = POLLIN};

		send_to_qpn(qpn);
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		assert_int_equal(recv(p.fd, bth, sizeof bth, MSG_DONTWAIT), sizeof bth);
		assert_int_equal(bth[7], qpn & 0xff);
	}
}

/* Wide slots are given first, in their order; a wide one that is free goes before a narrow one.
 * Which narrow one is given is drawn: it is a part of the QPNs that others are not to guess. */
static void take__wide_ones_first(void **state)
{
	bool is_in_order = true;

	(void)state;
	for (uint32_t i = 0; i < WIDE; i++)
		assert_int_equal(vb_slots_take(&slots, getpid(), "test"), VB_SLOT_FIRST + i);
	for (uint32_t i = 0; i < VB_SLOT_SHARE; i++) {
		int k = vb_slots_take(&slots, getpid(), "test");

		assert_uint_in_range(k, VB_SLOT_WIDE, VB_SLOT_WIDE + VB_SLOT_SHARE - 1);
		is_in_order &= k == (int)(VB_SLOT_WIDE + i);
		assert_int_equal(slots.slot[k].shm->slot, k);
		assert_true(slots.slot[k].shm->qpn_next < vb_slot_qpn_cnt((uint32_t)k));
	}
	assert_false(is_in_order); /* once in 32!, about 10^35 */
	vb_slots_release(&slots, 77);
	assert_int_equal(vb_slots_take(&slots, getpid(), "test"), 77);
	assert_int_equal(vb_slots_take(&slots, getpid(), "test") / VB_SLOT_SHARE,
			 VB_SLOT_WIDE / VB_SLOT_SHARE + 1);
}

/* A slot that nobody has had takes no memory, whatever the broker adds up. */
static void memory__of_slots_in_use_alone(void **state)
{
	struct vb_counters total;
	uint32_t used = 0;

	(void)state;
	take_slots(WIDE + 1);
	vb_slots_capture(&slots, true);
	vb_slots_total(&slots, 1, &total);
	for (uint32_t k = VB_SLOT_WIDE; k < slots.group.cnt; k++) {
		struct stat st;

		assert_int_equal(fstat(slots.slot[k].mem_fd, &st), 0);
		assert_int_equal(st.st_blocks != 0, slots.slot[k].is_used);
		assert_int_equal(slots.host->taken[k],
				 slots.slot[k].is_used ? VB_SLOT_TAKEN : VB_SLOT_NEW);
		used += slots.slot[k].is_used;
	}
	assert_int_equal(used, 1);
}

static int put_again(void *ctx, const struct vb_fd_store_item *item, struct vb_fds *fds)
{
	const int *store = ctx;
	int rc = vb_fd_store_put(*store, item->kind, item->slot, fds);

	vb_fds_close(fds);
	return rc;
}

/* The next broker has all of them, with their owners, and goes on to make others. */
static void adopt__narrow_slots_too(void **state)
{
	static struct vb_slots next;
	int store = vb_fd_store_create();
	int a, b;

	(void)state;
	take_slots(WIDE);
	a = vb_slots_take(&slots, getpid(), "a");
	b = vb_slots_take(&slots, getpid(), "b");
	assert_true(a > 0 && b > 0);
	slots.slot[a].shm->qpn_next = 1234;
	slots.slot[b].shm->counters[1].v[3] = 5;
	vb_slots_release(&slots, (uint32_t)b);
	assert_int_equal(vb_fd_store_walk(slots.fd_store, put_again, &store), 0);
	assert_int_equal(vb_slots_init(&next), 0);
	assert_int_equal(vb_slots_adopt(&next, store), 0);
	assert_int_equal(next.group.cnt, slots.group.cnt);
	assert_true(next.slot[a].is_taken && !next.slot[b].is_taken && next.slot[b].is_used);
	assert_int_equal(next.slot[a].qpn_start, 1234);
	assert_int_equal(next.host->past[1].v[3], 5);
	for (uint32_t k = VB_SLOT_WIDE; k < next.group.cnt; k++)
		assert_int_equal(next.slot[k].is_used, (int)k == a || (int)k == b);
	for (uint32_t i = 0; i < VB_SLOT_SHARE; i++)
		assert_true(vb_slots_take(&next, getpid(), "c") > 0);
	assert_int_equal(next.group.cnt, VB_SLOT_WIDE + 2 * VB_SLOT_SHARE);
	vb_slots_close(&next);
}

/* As many as there are, and not one more; then a free one is found again. */
static void take__all_there_are(void **state)
{
	struct rlimit was, all;
	uint32_t cnt = 0;
	int k;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	all = (struct rlimit){was.rlim_max, was.rlim_max};
	if (was.rlim_max < 2 * VB_SLOT_CNT + 100)
		skip(); /* so many descriptors may not be open here */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	while ((k = vb_slots_take(&slots, getpid(), "test")) >= 0)
		cnt++;
	assert_int_equal(k, -ENOSPC);
	assert_int_equal(cnt, VB_SLOT_PROCESSES);
	assert_int_equal(slots.group.cnt, VB_SLOT_LAST + 1);
	vb_slots_release(&slots, VB_SLOT_LAST);
	assert_int_equal(vb_slots_take(&slots, getpid(), "test"), VB_SLOT_LAST);
	assert_int_equal(vb_slots_take(&slots, getpid(), "test"), -ENOSPC);
	setrlimit(RLIMIT_NOFILE, &was);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(steering__is_that_of_the_numbers, setup, teardown),
	    cmocka_unit_test_setup_teardown(take__wide_ones_first, setup, teardown),
	    cmocka_unit_test_setup_teardown(memory__of_slots_in_use_alone, setup, teardown),
	    cmocka_unit_test_setup_teardown(adopt__narrow_slots_too, setup, teardown),
	    cmocka_unit_test_setup_teardown(take__all_there_are, setup, teardown),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
