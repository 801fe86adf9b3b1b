/* SPDX-License-Identifier: BSD-2-Clause */
/* The descriptor store: items come back in order, with their descriptors, at each walk, until they
 * are taken out. node/store/fd_store.h, unix(7) */
#include "cmocka_env.h"
#include "descriptors.h"
#include "node/client/msg.h"
#include "node/store/fd_store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define ITEMS 6u

static struct {
	uint32_t cnt, end_at;
	struct vb_fd_store_item item[2 * ITEMS];
	uint64_t value[2 * ITEMS]; /* of the eventfd that each has */
} walked;

/* Reads the eventfd, and puts its value back: all descriptors share it. */
static uint64_t value_of(int fd)
{
	uint64_t v = 0;

	assert_int_equal(read(fd, &v, sizeof v), sizeof v);
	assert_int_equal(write(fd, &v, sizeof v), sizeof v);
	return v;
}

static int note_item(void *ctx, const struct vb_fd_store_item *item, struct vb_fds *fds)
{
	(void)ctx;
	assert_true(walked.cnt < 2 * ITEMS);
	assert_int_equal(fds->cnt, 1);
	walked.item[walked.cnt] = *item;
	walked.value[walked.cnt++] = value_of(fds->fd[0]);
	vb_fds_close(fds);
	return walked.cnt == walked.end_at ? -ECANCELED : 0;
}

static int walk(int store)
{
	memset(walked.item, 0, sizeof walked.item);
	walked.cnt = 0;
	return vb_fd_store_walk(store, note_item, NULL);
}

/* A store with channels 0, 1, 2 ..., whose eventfds have the values 10, 11, 12 ... */
static int store_new(void)
{
	int store = vb_fd_store_create();

	assert_true(store >= 0);
	walked.end_at = 0;
	for (uint32_t i = 0; i < ITEMS; i++) {
		int fd = eventfd(10 + i, EFD_CLOEXEC | EFD_NONBLOCK);

		assert_int_equal(vb_fd_store_put_channel(store, i, 1000 + i, fd), 0);
		close(fd);
	}
	return store;
}

static void check_item(uint32_t at, uint32_t index)
{
	assert_int_equal(walked.item[at].kind, VB_FD_STORE_CHANNEL);
	assert_int_equal(walked.item[at].slot, index);
	assert_int_equal(walked.item[at].token, 1000 + index);
	assert_int_equal(walked.value[at], 10 + index);
}

/* A walk finds all items, in the order of their puts, and takes none away. */
static void walk__leaves_what_is_there(void **state)
{
	unsigned before = descriptors_of(getpid());
	int store = store_new();

	(void)state;
	for (int again = 0; again < 3; again++) {
		assert_int_equal(walk(store), 0);
		assert_int_equal(walked.cnt, ITEMS);
		for (uint32_t i = 0; i < ITEMS; i++)
			check_item(i, i);
	}
	close(store);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A walk ends when its callback says so, and the next one finds all items. */
static void walk__ends_when_told(void **state)
{
	int store = store_new();

	(void)state;
	walked.end_at = 2;
	assert_int_equal(walk(store), -ECANCELED);
	assert_int_equal(walked.cnt, 2);
	walked.end_at = 0;
	assert_int_equal(walk(store), 0);
	assert_int_equal(walked.cnt, ITEMS);
	close(store);
}

static bool is_odd(void *ctx, const struct vb_fd_store_item *item)
{
	++*(uint32_t *)ctx;
	return item->slot % 2;
}

/* A sift of the oldest items drops some, and puts the others behind the rest. */
static void sift__takes_out_what_does_not_stay(void **state)
{
	static const uint32_t left[] = {4, 5, 1, 3};
	unsigned before = descriptors_of(getpid());
	int store = store_new();
	uint32_t asked = 0;

	(void)state;
	assert_int_equal(vb_fd_store_sift(store, 4, is_odd, &asked), 0);
	assert_int_equal(asked, 4);
	assert_int_equal(walk(store), 0);
	assert_int_equal(walked.cnt, 4);
	for (uint32_t i = 0; i < 4; i++)
		check_item(i, left[i]);
	/* Only four are left. */
	assert_int_equal(vb_fd_store_sift(store, 100, is_odd, &asked), 0);
	close(store);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A walk refuses another socket, or a store with a foreign item, and keeps no descriptor. */
static void walk__of_something_else(void **state)
{
	unsigned before = descriptors_of(getpid());
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), store = vb_fd_store_create();
	struct vb_fd_store_item item = {.magic = 1, .kind = VB_FD_STORE_CHANNEL};
	const struct vb_fds fds = {.cnt = 1, .fd = {udp}};

	(void)state;
	walked.end_at = 0;
	assert_int_equal(walk(udp), -EINVAL);
	assert_int_equal(walk(-1), -EINVAL);
	assert_int_equal(vb_fds_send(store, &item, sizeof item, &fds), 0);
	assert_int_equal(walk(store), -EINVAL);
	assert_int_equal(walked.cnt, 0);
	close(store);
	store = vb_fd_store_create();
	assert_int_equal(vb_fds_send(store, &item, sizeof item - 1, &fds), 0);
	assert_int_equal(walk(store), -EINVAL);
	close(store);
	close(udp);
	assert_int_equal(descriptors_of(getpid()), before);
}

static bool is_any(void *ctx, const struct vb_fd_store_item *item)
{
	(void)ctx, (void)item;
	return true;
}

/* A store that is full has no room for an item behind the others: a sift that fails leaves it where
 * it is, and no descriptor open. Items that do not stay are taken out all the same. */
static void sift__of_a_full_store(void **state)
{
	unsigned before = descriptors_of(getpid());
	int store = store_new(), size = 1, rc;
	uint32_t asked = 0;

	(void)state;
	assert_int_equal(setsockopt(store, SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
	do
		rc = vb_fd_store_put_channel(store, 9, 9, STDIN_FILENO);
	while (rc == 0);
	assert_int_equal(rc, -EAGAIN);
	assert_int_equal(vb_fd_store_sift(store, 1, is_any, NULL), -EAGAIN);
	assert_int_equal(descriptors_of(getpid()), before + 1);
	assert_int_equal(vb_fd_store_sift(store, 1, is_odd, &asked), 0);
	assert_int_equal(asked, 1);
	walked.end_at = 1;
	assert_int_equal(walk(store), -ECANCELED);
	check_item(0, 1);
	assert_int_equal(descriptors_of(getpid()), before + 1);
	close(store);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* Each kind of item comes back as it was put, with all of its descriptors. */
static int note_kind(void *ctx, const struct vb_fd_store_item *item, struct vb_fds *fds)
{
	uint32_t *cnt = ctx;

	assert_int_equal(item->kind, VB_FD_STORE_HOST + *cnt);
	assert_int_equal(item->slot, 100 + *cnt);
	assert_true(item->token == 0);
	assert_int_equal(item->rsv, 0);
	assert_int_equal(fds->cnt, 1 + *cnt);
	for (uint32_t i = 0; i < fds->cnt; i++)
		assert_int_equal(value_of(fds->fd[i]), 50 + i);
	vb_fds_close(fds);
	++*cnt;
	return 0;
}

static void put__all_kinds(void **state)
{
	unsigned before = descriptors_of(getpid());
	int store = vb_fd_store_create();
	struct vb_fds fds = {.cnt = 4};
	uint32_t cnt = 0;

	(void)state;
	assert_int_equal(fcntl(store, F_GETFD), FD_CLOEXEC);
	for (uint32_t i = 0; i < 4; i++)
		fds.fd[i] = eventfd(50 + i, EFD_CLOEXEC | EFD_NONBLOCK);
	for (uint32_t i = 0; i < 4; i++) {
		struct vb_fds some = fds;

		some.cnt = 1 + i;
		assert_int_equal(vb_fd_store_put(store,
						 (enum vb_fd_store_kind)(VB_FD_STORE_HOST + i),
						 100 + i, &some),
				 0);
	}
	vb_fds_close(&fds);
	assert_int_equal(vb_fd_store_walk(store, note_kind, &cnt), 0);
	assert_int_equal(cnt, 4);
	close(store);
	assert_int_equal(descriptors_of(getpid()), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(walk__leaves_what_is_there),
	    cmocka_unit_test(walk__ends_when_told),
	    cmocka_unit_test(sift__takes_out_what_does_not_stay),
	    cmocka_unit_test(walk__of_something_else),
	    cmocka_unit_test(sift__of_a_full_store),
	    cmocka_unit_test(put__all_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
