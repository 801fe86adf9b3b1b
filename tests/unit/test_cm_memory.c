/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State that outlives a killed broker: the descriptor store, and the memory of the connection
 * manager, whose channels are in stores of their own. node/store/fd_store.h, node/cm/memory.h
 */
#include "cmocka_env.h"
#include "descriptors.h"
#include "link/memory.h"
#include "node/cm/memory.h"
#include "node/store/fd_store.h"
#include "node/store/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct vb_slots *slots;
static struct vb_cm_memory *m;
static uint32_t seen[VB_CM_CHANNELS_MAX];

static int begin(void **state)
{
	(void)state;
	slots = calloc(1, sizeof *slots);
	m = calloc(1, sizeof *m);
	assert_true(slots && m);
	slots->cm_fd = -1;
	for (uint32_t i = 0; i < VB_CM_STORES; i++)
		slots->channels_fd[i] = -1;
	slots->fd_store = vb_fd_store_create();
	assert_true(slots->fd_store >= 0);
	assert_int_equal(vb_cm_memory_open(m, slots), 0);
	memset(seen, 0, sizeof seen);
	return 0;
}

static int end(void **state)
{
	(void)state;
	vb_cm_memory_close(m);
	close(slots->cm_fd);
	close(slots->fd_store);
	for (uint32_t i = 0; i < VB_CM_STORES; i++)
		if (slots->channels_fd[i] >= 0)
			close(slots->channels_fd[i]);
	free(slots);
	free(m);
	return 0;
}

static void on_channel(void *ctx, uint32_t index, uint64_t token, int fd)
{
	(void)ctx;
	assert_true(index < VB_CM_CHANNELS_MAX);
	assert_int_equal(token, 100 + index);
	seen[index]++;
	close(fd);
}

static void add_channel(uint32_t index)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	vb_cm_memory_add(m, index, 100 + index, fd);
	close(fd);
}

/* A broker of another version has left it: it is not for us. */
static void open__of_another_version(void **state)
{
	(void)state;
	vb_cm_memory_close(m);
	assert_int_equal(vb_cm_memory_open(m, slots), 1);
	m->kept->version++;
	vb_cm_memory_close(m);
	assert_int_equal(vb_cm_memory_open(m, slots), -EPROTO);
	assert_null(m->kept);
}

/* Nor is a memory of something else. */
static void open__of_no_broker(void **state)
{
	unsigned before = descriptors_of(getpid());

	(void)state;
	m->kept->magic++;
	vb_cm_memory_close(m);
	assert_int_equal(vb_cm_memory_open(m, slots), -EPROTO);
	assert_null(m->kept);
	assert_int_equal(maps_with("verbena-cm"), 0);
	assert_int_equal(descriptors_of(getpid()), before);
	/* Nothing is kept in none, and nothing found. */
	uint64_t serial = 7;

	add_channel(0);
	vb_cm_memory_remove(m, 0);
	vb_cm_memory_hold(m, 0, true, 5);
	vb_cm_memory_put_answer(m, 0, 5, &(struct vb_cm_answer){.len = 1});
	vb_cm_memory_set_user(m, 0, 5, "nobody");
	assert_int_equal(vb_cm_memory_user(m, 0, (char[VB_CM_USER_BYTES]){0}), 0);
	assert_null(vb_cm_memory_answer(m, 0, 5));
	assert_false(vb_cm_memory_is_held(m, 0, &serial));
	assert_int_equal(serial, 0);
}

static int store_seen(void *ctx, const struct vb_fd_store_item *item, struct vb_fds *fds)
{
	uint32_t *blocks = ctx;

	if (item->kind == VB_FD_STORE_CHANNELS) {
		assert_true(item->slot < VB_CM_STORES);
		*blocks |= 1u << item->slot;
	}
	vb_fds_close(fds);
	return 0;
}

/* Channels lie in stores by their number, of so many each: every one of them is found, up to the
 * last, and counted in its own. The next broker finds each store under its number. */
static void walk__of_every_store(void **state)
{
	static const uint32_t index[] = {0, VB_CM_STORE_CHANNELS - 1, VB_CM_STORE_CHANNELS,
					 VB_CM_CHANNELS_MAX - 1};
	static const uint32_t in_store[] = {2, 1, 1};
	static const uint32_t store[] = {0, 1, VB_CM_STORES - 1};
	uint32_t blocks = 0;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		add_channel(index[i]);
	for (uint32_t i = 0; i < VB_CM_STORES; i++)
		assert_int_equal(slots->channels_fd[i] >= 0,
				 i == 0 || i == 1 || i == VB_CM_STORES - 1);
	assert_int_equal(vb_fd_store_walk(slots->fd_store, store_seen, &blocks), 0);
	assert_int_equal(blocks, 1u | 1u << 1 | 1u << (VB_CM_STORES - 1));
	vb_cm_memory_close(m);
	assert_int_equal(vb_cm_memory_open(m, slots), 1);
	vb_cm_memory_walk(m, on_channel, NULL);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(seen[index[i]], 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(m->item_cnt[store[i]], in_store[i]);
	assert_int_equal(m->item_cnt[2], 0);
}

/* A store is sifted when it has half as many more items than it has channels: those of channels
 * that are open stay, and are counted, in any store. */
static void add__sifts_its_store(void **state)
{
	const uint32_t first = VB_CM_STORE_CHANNELS, most = 3 * VB_CM_STORE_CHANNELS / 2;

	(void)state;
	add_channel(first + 5);
	add_channel(first + 6);
	for (uint32_t i = 2; i < most; i++) {
		assert_int_equal(m->item_cnt[1], i);
		add_channel(first);
		vb_cm_memory_remove(m, first);
	}
	assert_int_equal(m->item_cnt[1], most);
	add_channel(first + 7);
	assert_int_equal(m->item_cnt[1], 3);
	assert_int_equal(m->item_cnt[0], 0);
	vb_cm_memory_walk(m, on_channel, NULL);
	for (uint32_t i = 5; i < 8; i++)
		assert_int_equal(seen[first + i], 1);
}

/* An answer that is longer than any is none, whoever wrote that; one may be as long as there is
 * room. */
static void answer__as_long_as_there_is_room(void **state)
{
	static struct vb_cm_answer a = {.status = 24, .len = VB_CM_ANSWER_BODY};

	(void)state;
	a.body[VB_CM_ANSWER_BODY - 1] = 7;
	add_channel(3);
	vb_cm_memory_put_answer(m, 3, 9, &a);
	vb_journal_commit(&m->kept->journal, m->kept);
	assert_non_null(vb_cm_memory_answer(m, 3, 9));
	assert_int_equal(vb_cm_memory_answer(m, 3, 9)->body[VB_CM_ANSWER_BODY - 1], 7);
	m->kept->channel[3].answer.len++;
	assert_null(vb_cm_memory_answer(m, 3, 9));
}

/* Each channel is found once; one whose end is not there has ended. */
static void walk__finds_channels_that_are_open(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		add_channel(i);
	vb_cm_memory_remove(m, 1);
	m->kept->channel[3].token = 103;
	vb_cm_memory_walk(m, on_channel, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		bool is_open = i == 0 || i == 2;

		assert_int_equal(seen[i], is_open);
		assert_int_equal(m->kept->channel[i].token, is_open ? 100 + i : 0);
	}
}

/* The next broker counts the items in each store. */
static void walk__counts_the_items(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		add_channel(i);
	vb_cm_memory_close(m);
	assert_int_equal(vb_cm_memory_open(m, slots), 1);
	assert_int_equal(m->item_cnt[0], 0);
	vb_cm_memory_walk(m, on_channel, NULL);
	assert_int_equal(m->item_cnt[0], 3);
}

/* The next broker finishes a declared change, and forgets a change that was only written down. */
static void open__finishes_what_was_declared(void **state)
{
	struct vb_journal *j;
	uint64_t serial = 0;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		add_channel(i);
	vb_cm_memory_hold(m, 2, true, 5);
	j = &m->kept->journal;
	__atomic_store_n(&j->declared, j->used, __ATOMIC_RELEASE);
	vb_cm_memory_close(m);
	assert_int_equal(vb_cm_memory_open(m, slots), 1);
	assert_true(vb_cm_memory_is_held(m, 2, &serial));
	assert_int_equal(serial, 5);
	vb_cm_memory_hold(m, 1, true, 6);
	vb_cm_memory_close(m);
	assert_int_equal(vb_cm_memory_open(m, slots), 1);
	vb_journal_commit(&m->kept->journal, m->kept);
	assert_false(vb_cm_memory_is_held(m, 1, &serial));
}

/* A store that cannot be kept is none: the next channel makes another. */
static void add__store_that_is_not_kept(void **state)
{
	int fd_store = slots->fd_store;

	(void)state;
	slots->fd_store = -1;
	add_channel(0);
	assert_int_equal(slots->channels_fd[0], -1);
	slots->fd_store = fd_store;
	add_channel(0);
	vb_cm_memory_walk(m, on_channel, NULL);
	assert_int_equal(seen[0], 1);
}

static int count_items(void *ctx, const struct vb_fd_store_item *item, struct vb_fds *fds)
{
	assert_int_equal(item->kind, VB_FD_STORE_CM);
	++*(uint32_t *)ctx;
	vb_fds_close(fds);
	return 0;
}

/* A new channel has nothing of the last channel in its place, and a closed channel keeps
 * nothing. */
static void add__begins_afresh(void **state)
{
	struct vb_cm_answer a = {.status = 24, .len = 4};
	uint64_t serial;

	(void)state;
	add_channel(1);
	/* A call without a serial is new each time. */
	assert_null(vb_cm_memory_answer(m, 1, 0));
	vb_cm_memory_put_answer(m, 1, 7, &a);
	vb_journal_commit(&m->kept->journal, m->kept);
	assert_int_equal(vb_cm_memory_answer(m, 1, 7)->status, 24);
	assert_null(vb_cm_memory_answer(m, 1, 8));
	assert_null(vb_cm_memory_answer(m, 0, 7));
	vb_cm_memory_hold(m, 1, true, 55);
	vb_journal_commit(&m->kept->journal, m->kept);
	assert_true(vb_cm_memory_is_held(m, 1, &serial));
	assert_int_equal(serial, 55);
	assert_false(vb_cm_memory_is_held(m, 0, &serial));
	vb_cm_memory_remove(m, 1);
	add_channel(1);
	assert_null(vb_cm_memory_answer(m, 1, 7));
	assert_null(vb_cm_memory_answer(m, 1, 0));
	assert_false(vb_cm_memory_is_held(m, 1, &serial));
	vb_cm_memory_hold(m, 1, true, 56);
	vb_cm_memory_hold(m, 1, false, 0);
	vb_journal_commit(&m->kept->journal, m->kept);
	assert_false(vb_cm_memory_is_held(m, 1, &serial));
	vb_cm_memory_remove(m, 1);
	vb_cm_memory_put_answer(m, 1, 9, &a);
	vb_cm_memory_hold(m, 1, true, 57);
	vb_journal_commit(&m->kept->journal, m->kept);
	assert_null(vb_cm_memory_answer(m, 1, 9));
	assert_false(vb_cm_memory_is_held(m, 1, &serial));
}

/* The program that uses a channel is kept with it, the name cut to what a kernel has of it; a new
 * channel has none. */
static void user__is_kept_with_the_channel(void **state)
{
	char name[VB_CM_USER_BYTES] = "x";

	(void)state;
	vb_cm_memory_set_user(m, 2, 9, "nobody");
	add_channel(2);
	assert_int_equal(vb_cm_memory_user(m, 2, name), 0);
	assert_string_equal(name, "");
	vb_cm_memory_set_user(m, 2, 4711, "a name that is too long");
	assert_int_equal(vb_cm_memory_user(m, 2, name), 4711);
	assert_string_equal(name, "a name that is ");
	vb_cm_memory_close(m);
	assert_int_equal(vb_cm_memory_open(m, slots), 1);
	assert_int_equal(vb_cm_memory_user(m, 2, name), 4711);
	assert_string_equal(name, "a name that is ");
	/* Each of the two is told when it changes. */
	vb_cm_memory_set_user(m, 2, 4711, "heir");
	assert_int_equal(vb_cm_memory_user(m, 2, name), 4711);
	assert_string_equal(name, "heir");
	vb_cm_memory_set_user(m, 2, 4712, "heir");
	assert_int_equal(vb_cm_memory_user(m, 2, name), 4712);
	vb_cm_memory_remove(m, 2);
	add_channel(2);
	assert_int_equal(vb_cm_memory_user(m, 2, name), 0);
}

/* A walk finds the open channels after any number of closed ones. */
static void add__after_many_that_have_gone(void **state)
{
	(void)state;
	add_channel(3);
	for (int i = 0; i < 2000; i++) {
		add_channel(2);
		vb_cm_memory_remove(m, 2);
	}
	add_channel(0);
	vb_cm_memory_walk(m, on_channel, NULL);
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[2], 0);
	assert_int_equal(seen[3], 1);
}

/* Any process that has the store can send to it; a message that is no item ends the walk. */
static void store__with_a_message_that_is_no_item(void **state)
{
	struct vb_fd_store_item none = {.kind = VB_FD_STORE_CM};
	uint32_t cnt = 0;

	(void)state;
	assert_int_equal(vb_fd_store_walk(slots->fd_store, count_items, &cnt), 0);
	assert_int_equal(cnt, 1);
	assert_int_equal(send(slots->fd_store, &none, sizeof none, 0), sizeof none);
	assert_int_equal(vb_fd_store_walk(slots->fd_store, count_items, &cnt), -EINVAL);
	assert_int_equal(cnt, 2);
}

/* A program that has closed its standard input gets its lowest descriptor for a store, too. */
static void store__at_descriptor_0(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct vb_fds none = {.cnt = 0};
		uint32_t cnt = 0;

		close(0);
		errno = 0;
		_exit(vb_fd_store_create() != 0 || vb_fd_store_put(0, VB_FD_STORE_CM, 0, &none) ||
		      vb_fd_store_walk(0, count_items, &cnt) || cnt != 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A store comes from another process: a descriptor of something else is not read as one. */
static void store__of_another_family(void **state)
{
	int fd[] = {socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), open("/dev/null", O_RDONLY)};
	uint32_t cnt = 0;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_true(fd[i] >= 0);
		assert_int_equal(vb_fd_store_walk(fd[i], count_items, &cnt), -EINVAL);
		close(fd[i]);
	}
	assert_int_equal(cnt, 0);
}

/* Nor is the memory of a broker of another version taken over. */
static void store__of_another_version(void **state)
{
	static struct vb_slots s;

	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		int store = vb_fd_store_create();
		int fd = vb_memory_create("host", sizeof(struct vb_host_memory));
		struct vb_fds fds = {.fd = {fd}, .cnt = 1};
		struct vb_host_shm *host;
		void *p;

		assert_int_equal(vb_memory_map(fd, sizeof(struct vb_host_memory), true, &p), 0);
		host = p;
		host->magic = VB_SHM_MAGIC;
		host->version = VB_SHM_VERSION + more;
		vb_memory_unmap(p, sizeof(struct vb_host_memory));
		assert_int_equal(vb_fd_store_put(store, VB_FD_STORE_HOST, 0, &fds), 0);
		close(fd);
		/* Without more the group is not whole. */
		assert_int_equal(vb_slots_adopt(&s, store), more ? -EPROTO : -EINVAL);
	}
}

static bool has_even_index(void *ctx, const struct vb_fd_store_item *item)
{
	(void)ctx;
	return item->slot % 2 == 0;
}

static int note_index(void *ctx, const struct vb_fd_store_item *item, struct vb_fds *fds)
{
	uint32_t *order = ctx;

	*order = *order * 10 + item->slot;
	vb_fds_close(fds);
	return 0;
}

/* Items that stay in a store keep their order, and looking through it opens nothing for good. */
static void store__is_sifted(void **state)
{
	int store = vb_fd_store_create(), fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uint32_t order = 0;
	unsigned before;

	(void)state;
	assert_true(store >= 0);
	for (uint32_t i = 1; i < 7; i++)
		assert_int_equal(vb_fd_store_put_channel(store, i, 99, fd), 0);
	before = descriptors_of(getpid());
	assert_int_equal(vb_fd_store_sift(store, 6, has_even_index, NULL), 0);
	assert_int_equal(descriptors_of(getpid()), before);
	assert_int_equal(vb_fd_store_walk(store, note_index, &order), 0);
	assert_int_equal(order, 246);
	close(store);
	close(fd);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(open__of_another_version),
	    T(open__of_no_broker),
	    T(walk__of_every_store),
	    T(add__sifts_its_store),
	    T(answer__as_long_as_there_is_room),
	    T(add__store_that_is_not_kept),
	    T(add__begins_afresh),
	    T(user__is_kept_with_the_channel),
	    T(add__after_many_that_have_gone),
	    T(walk__finds_channels_that_are_open),
	    T(walk__counts_the_items),
	    T(open__finishes_what_was_declared),
	    T(store__with_a_message_that_is_no_item),
	    T(store__is_sifted),
	    T(store__at_descriptor_0),
	    T(store__of_another_family),
	    T(store__of_another_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
