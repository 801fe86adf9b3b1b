/* SPDX-License-Identifier: BSD-2-Clause */
/* The sockets of the slots, before and after they have an owner. node/store/group.h */
#include "cmocka_env.h"
#include "deny.h"
#include "descriptors.h"
#include "netns.h"
#include "node/cm/memory.h"
#include "node/store/fd_store.h"
#include "node/store/group.h"
#include "node/store/slots.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>

static int takes_groups(int fd)
{
	int is = -1;
	socklen_t len = sizeof is;

	assert_int_equal(getsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &is, &len), 0);
	return is;
}

/* Of the sockets without an owner one has the packets to groups: each would have a copy. */
static void quiet__one_socket_takes_groups(void **state)
{
	struct vb_group g;

	(void)state;
	vb_group_init(&g);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(vb_group_grow(&g), 0);
		assert_int_equal(takes_groups(g.fd[i]), i == 0);
	}
	vb_group_open(&g, 2);
	vb_group_quiet(&g, 2);
	assert_int_equal(takes_groups(g.fd[2]), 0);
	vb_group_close(&g);
}

/* What the slots have open is closed with them, the connection manager's memory too. */
static void close__leaves_no_descriptors(void **state)
{
	static struct vb_slots slots;
	static struct vb_cm_memory kept;
	unsigned before = descriptors_of(getpid());

	(void)state;
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_slots_start(&slots), 0);
	assert_int_equal(vb_cm_memory_open(&kept, &slots), 0);
	vb_cm_memory_close(&kept);
	vb_slots_close(&slots);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A slot that cannot be made is nobody's, at whichever of its descriptors the process has no more;
 * with one more each time it is made at last. */
static void take__without_descriptors(void **state)
{
	static struct vb_slots slots;
	const unsigned before = descriptors_of(getpid());
	struct rlimit was, few;
	int k = -1;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_slots_start(&slots), 0);

	const uint32_t cnt = slots.group.cnt;
	const unsigned open = descriptors_of(getpid());
	unsigned failed = 0;

	few = was;
	few.rlim_cur = (rlim_t)dup(0); /* the first number that is free */
	close((int)few.rlim_cur);
	while (k < 0) {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		k = vb_slots_take(&slots, getpid(), "test");
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
		few.rlim_cur++;
		if (k >= 0)
			break;
		assert_int_equal(k, -EMFILE);
		assert_int_equal(slots.group.cnt, cnt);
		assert_false(slots.slot[cnt].is_taken);
		assert_int_equal(descriptors_of(getpid()), open);
		failed++;
	}
	assert_int_equal(k, VB_SLOT_FIRST);
	assert_uint_in_range(failed, 2, 8);
	vb_slots_close(&slots);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* Memory that is not to be mapped is an error, and its descriptor is closed. */
static void init__without_memory(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		static struct vb_slots slots;
		unsigned before = descriptors_of(getpid());

		if (!deny_call(SYS_mmap, 3, MAP_SHARED, ENOMEM))
			_exit(77);
		if (vb_slots_init(&slots) != -ENOMEM || slots.host)
			_exit(1);
		_exit(descriptors_of(getpid()) == before ? 0 : 2);
	}

	int status = child_status(pid);

	if (status == 77)
		skip(); /* a kernel that lets no process deny itself system calls */
	assert_int_equal(status, 0);
}

struct items {
	int cnt;
	struct vb_fd_store_item item[VB_SLOT_CNT];
	struct vb_fds fds[VB_SLOT_CNT];
};

static int take_item(void *ctx, const struct vb_fd_store_item *item, struct vb_fds *fds)
{
	struct items *all = ctx;

	assert_uint_in_range(all->cnt, 0, VB_SLOT_CNT - 1);
	all->item[all->cnt] = *item;
	all->fds[all->cnt++] = *fds;
	return 0;
}

/* A descriptor store comes from another process. Socket k of the group is slot k, so a slot behind
 * a gap would have packets of another. */
static void adopt__slots_without_gaps(void **state)
{
	static struct vb_slots slots, next;
	static struct items all;

	(void)state;
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_slots_start(&slots), 0);
	assert_int_equal(vb_slots_take(&slots, getpid(), "test"), VB_SLOT_FIRST);
	assert_int_equal(vb_fd_store_walk(slots.fd_store, take_item, &all), 0);
	assert_int_equal(vb_slots_init(&next), 0);
	for (int wrong = 1; wrong >= 0; wrong--) {
		int store = vb_fd_store_create();

		for (int i = 0; i < all.cnt; i++)
			assert_int_equal(
			    vb_fd_store_put(store, all.item[i].kind,
					    all.item[i].slot +
						(wrong && all.item[i].slot == VB_SLOT_FIRST),
					    &all.fds[i]),
			    0);
		assert_int_equal(vb_slots_adopt(&next, store), wrong ? -EINVAL : 0);
	}
	for (int i = 0; i < all.cnt; i++)
		vb_fds_close(&all.fds[i]);
	vb_slots_close(&next);
	vb_slots_close(&slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(quiet__one_socket_takes_groups),
	    cmocka_unit_test(close__leaves_no_descriptors),
	    cmocka_unit_test(take__without_descriptors),
	    cmocka_unit_test(init__without_memory),
	    cmocka_unit_test(adopt__slots_without_gaps),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
