/* SPDX-License-Identifier: BSD-2-Clause */
/* The sockets of the slots, before and after they have an owner. node/store/group.h */
#include "cmocka_env.h"
#include "deny.h"
#include "descriptors.h"
#include "link/memory.h"
#include "netns.h"
#include "node/cm/memory.h"
#include "node/store/fd_store.h"
#include "node/store/group.h"
#include "node/store/slots.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

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
		assert_int_equal(vb_group_grow(&g, 1), 0);
		assert_int_equal(takes_groups(g.fd[i]), i == 0);
	}
	vb_group_open(&g, 2);
	vb_group_quiet(&g, 2);
	assert_int_equal(takes_groups(g.fd[2]), 0);
	vb_group_close(&g);
}

/* The descriptors of the slots are closed with them, the connection manager's memory too. */
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

/* A datagram to the slot, as a packet to one of its QPs. */
static void send_to_slot(uint8_t slot)
{
	const struct sockaddr_in6 to = {.sin6_family = AF_INET6,
					.sin6_port = htons(VB_ROCE_PORT),
					.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const uint8_t bth[12] = {[7] = slot};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(sendto(fd, bth, sizeof bth, 0, (const struct sockaddr *)&to, sizeof to),
			 sizeof bth);
	close(fd);
}

/* The next owner finds no packets of the last owner, however many. */
static void quiet__drops_all_that_came(void **state)
{
	struct vb_group g;
	char byte;

	(void)state;
	vb_group_init(&g);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(vb_group_grow(&g, 1), 0);
	for (int again = 0; again < 2; again++) {
		vb_group_open(&g, 2);
		for (int i = 0; i < 5; i++)
			send_to_slot(2);
		assert_int_equal(recv(g.fd[2], &byte, 1, MSG_PEEK | MSG_DONTWAIT), 1);
		if (!again)
			vb_group_quiet(&g, 2);
	}
	vb_group_open(&g, 2);
	assert_int_equal(recv(g.fd[2], &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	vb_group_close(&g);
}

static int receive_buffer(int fd)
{
	int size = 0;
	socklen_t len = sizeof size;

	(void)getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len);
	return size;
}

/* A process that may not exceed net.core.rmem_max gets that much. socket(7) SO_RCVBUFFORCE */
static void open__without_the_privilege(void **state)
{
	struct vb_group g;
	pid_t pid;
	int status;

	(void)state;
	vb_group_init(&g);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(vb_group_grow(&g, 1), 0);
	pid = fork();
	if (pid == 0) {
		int quiet = receive_buffer(g.fd[2]);

		if (!deny_call(SYS_setsockopt, 2, SO_RCVBUFFORCE & ~1u, EPERM))
			_exit(77);
		vb_group_open(&g, 2);
		_exit(receive_buffer(g.fd[2]) >= 8 * quiet ? 0 : 1);
	}
	status = child_status(pid);
	vb_group_close(&g);
	if (status == 77)
		skip(); /* this kernel lets no process deny itself system calls */
	assert_int_equal(status, 0);
}

/* A slot that the descriptor store lacks is not given: the next broker would not know it. */
static void take__without_a_store(void **state)
{
	static struct vb_slots slots;
	int store;

	(void)state;
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_slots_start(&slots), 0);

	const uint32_t cnt = slots.group.cnt;
	const unsigned open = descriptors_of(getpid());

	store = slots.fd_store;
	slots.fd_store = -1;
	assert_int_equal(vb_slots_take(&slots, getpid(), "test"), -EBADF);
	slots.fd_store = store;
	assert_int_equal(slots.group.cnt, cnt);
	assert_int_equal(descriptors_of(getpid()), open);
	assert_int_equal(vb_slots_take(&slots, getpid(), "test"), VB_SLOT_FIRST);
	vb_slots_close(&slots);
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

/* A store without the broker's own slots is refused: no broker left it. */
static void adopt__the_brokers_own_slots_as_well(void **state)
{
	static struct vb_slots slots, next;
	static struct items all;

	(void)state;
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_slots_start(&slots), 0);
	assert_int_equal(vb_fd_store_walk(slots.fd_store, take_item, &all), 0);
	assert_int_equal(vb_slots_init(&next), 0);
	assert_int_equal(all.cnt, 1 + VB_SLOT_FIRST); /* host memory, own slots */
	for (int cnt = 0; cnt <= all.cnt; cnt++) {
		int store = vb_fd_store_create();

		for (int i = 0; i < cnt; i++)
			assert_int_equal(
			    vb_fd_store_put(store, all.item[i].kind, all.item[i].slot, &all.fds[i]),
			    0);
		assert_int_equal(vb_slots_adopt(&next, store), cnt < all.cnt ? -EINVAL : 0);
	}
	for (int i = 0; i < all.cnt; i++)
		vb_fds_close(&all.fds[i]);
	vb_slots_close(&next);
	vb_slots_close(&slots);
}

/* The result of adopting a store with the items of @all. @change changes item @i before it is put,
 * or puts another one before it. */
static int adopt_changed(const struct items *all, int store,
			 void (*change)(int store, int i, struct vb_fd_store_item *item,
					struct vb_fds *fds))
{
	static struct vb_slots next;

	assert_int_equal(vb_slots_init(&next), 0);
	for (int i = 0; i < all->cnt; i++) {
		struct vb_fd_store_item item = all->item[i];
		struct vb_fds fds = all->fds[i];

		change(store, i, &item, &fds);
		assert_int_equal(vb_fd_store_put(store, item.kind, item.slot, &fds), 0);
	}

	int rc = vb_slots_adopt(&next, store);

	vb_slots_close(&next);
	return rc;
}

static void change_nothing(int store, int i, struct vb_fd_store_item *item, struct vb_fds *fds)
{
	(void)store, (void)i, (void)item, (void)fds;
}

/* The last slot has no memory. */
static void leave_memory_out(int store, int i, struct vb_fd_store_item *item, struct vb_fds *fds)
{
	(void)store, (void)i;
	if (item->kind == VB_FD_STORE_SLOT && item->slot == VB_SLOT_FIRST)
		fds->cnt = 1;
}

/* Host memory, that of the connection manager and each of its stores come twice. */
static enum vb_fd_store_kind twice;

static void put_twice(int store, int i, struct vb_fd_store_item *item, struct vb_fds *fds)
{
	(void)i;
	if (item->kind == twice)
		assert_int_equal(vb_fd_store_put(store, item->kind, item->slot, fds), 0);
}

static void put_behind_the_last(int store, int i, struct vb_fd_store_item *item, struct vb_fds *fds)
{
	if (i == 1)
		assert_int_equal(vb_fd_store_put(store, VB_FD_STORE_CHANNELS, VB_CM_STORES, fds),
				 0);
	(void)item;
}

static void put_unknown(int store, int i, struct vb_fd_store_item *item, struct vb_fds *fds)
{
	if (i == 1)
		assert_int_equal(vb_fd_store_put(store, (enum vb_fd_store_kind)99, 0, fds), 0);
	(void)item;
}

/* Host memory is of another version. */
static int stale_fd;

static void put_stale_memory(int store, int i, struct vb_fd_store_item *item, struct vb_fds *fds)
{
	(void)store, (void)i;
	if (item->kind == VB_FD_STORE_HOST)
		fds->fd[0] = stale_fd;
}

/* A store that a program has spoiled is refused, and no descriptor of it stays: each thing is there
 * once and whole, and nothing else is. */
static void adopt__each_thing_once(void **state)
{
	static const enum vb_fd_store_kind kinds[] = {VB_FD_STORE_HOST, VB_FD_STORE_CM,
						      VB_FD_STORE_CHANNELS};
	static struct vb_slots slots;
	static struct vb_cm_memory kept;
	static struct items all;
	unsigned before;
	int pair[2];

	(void)state;
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_slots_start(&slots), 0);
	assert_int_equal(vb_slots_take(&slots, getpid(), "test"), VB_SLOT_FIRST);
	assert_int_equal(vb_cm_memory_open(&kept, &slots), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	vb_cm_memory_add(&kept, 0, 7, pair[1]);
	assert_int_equal(vb_fd_store_walk(slots.fd_store, take_item, &all), 0);
	before = descriptors_of(getpid());
	assert_int_equal(adopt_changed(&all, vb_fd_store_create(), change_nothing), 0);
	assert_int_equal(adopt_changed(&all, vb_fd_store_create(), leave_memory_out), -EINVAL);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		twice = kinds[i];
		assert_int_equal(adopt_changed(&all, vb_fd_store_create(), put_twice), -EINVAL);
	}
	assert_int_equal(adopt_changed(&all, vb_fd_store_create(), put_behind_the_last), -EINVAL);
	assert_int_equal(adopt_changed(&all, vb_fd_store_create(), put_unknown), -EINVAL);
	stale_fd = vb_memory_create(VB_MEMORY_HOST, sizeof(struct vb_host_memory));
	assert_int_equal(adopt_changed(&all, vb_fd_store_create(), put_stale_memory), -EPROTO);
	close(stale_fd);
	assert_int_equal(descriptors_of(getpid()), before);
	for (int i = 0; i < all.cnt; i++)
		vb_fds_close(&all.fds[i]);
	close(pair[0]);
	close(pair[1]);
	vb_cm_memory_close(&kept);
	vb_slots_close(&slots);
}

/* A port that somebody has is none, and leaves no descriptor. */
static void probe__port_is_taken(void **state)
{
	static struct vb_slots slots;
	struct vb_group g;
	unsigned before;

	(void)state;
	vb_group_init(&g);
	assert_int_equal(vb_group_grow(&g, 1), 0);
	before = descriptors_of(getpid());
	assert_int_equal(vb_group_probe(), -EADDRINUSE);
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_slots_start(&slots), -EADDRINUSE);
	assert_int_equal(slots.fd_store, -1);
	vb_slots_close(&slots);
	assert_int_equal(descriptors_of(getpid()), before);
	vb_group_close(&g);
}

/* A slot's QPNs are not reused soon: the next owner begins where the last one says it stopped, else
 * some numbers further on. The next broker does the same. */
static void release__leaves_out_numbers(void **state)
{
	static struct vb_slots slots, next;
	static struct items all;
	int k, store = vb_fd_store_create();
	uint32_t first;

	(void)state;
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_slots_start(&slots), 0);
	k = vb_slots_take(&slots, getpid(), "test");
	for (int i = 0; i < 3; i++) {
		struct vb_slots *s = i < 2 ? &slots : &next;

		if (i == 2) {
			all.cnt = 0;
			assert_int_equal(vb_fd_store_walk(slots.fd_store, take_item, &all), 0);
			for (int n = 0; n < all.cnt; n++)
				assert_int_equal(vb_fd_store_put(store, all.item[n].kind,
								 all.item[n].slot, &all.fds[n]),
						 0);
			assert_int_equal(vb_slots_init(&next), 0);
			assert_int_equal(vb_slots_adopt(&next, store), 0);
			assert_true(next.slot[k].is_taken);
		}
		first = s->slot[k].shm->qpn_next;
		if (i == 1)
			s->slot[k].shm->qpn_next = (first + 3) & 0xffff;
		vb_slots_release(s, (uint32_t)k);
		assert_int_equal(s->slot[k].shm->qpn_next, (first + (i == 1 ? 3 : 2048)) & 0xffff);
		if (i < 2)
			assert_int_equal(vb_slots_take(s, getpid(), "next"), k);
	}
	for (int n = 0; n < all.cnt; n++)
		vb_fds_close(&all.fds[n]);
	vb_slots_close(&next);
	vb_slots_close(&slots);
}

static uint64_t blocks_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_blocks;
}

/* Nobody writes into the capture ring of a slot without an owner. Its pages go back only when the
 * capture ends: its last packets are still unread. */
static void release__ring_of_a_capture(void **state)
{
	static struct vb_slots slots;
	uint64_t before;
	int k;

	(void)state;
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_slots_start(&slots), 0);
	k = vb_slots_take(&slots, getpid(), "test");
	slots.slot[k].shm->rates.cnt = 5;
	vb_slots_capture(&slots, true);
	memset(slots.slot[k].shm->capture.data, 1, VB_CAPTURE_RING_BYTES);
	before = blocks_of(slots.slot[k].mem_fd);
	vb_slots_release(&slots, (uint32_t)k);
	assert_int_equal(slots.slot[k].shm->capture.data[0], 1);
	vb_slots_capture(&slots, false);
	assert_int_equal(slots.slot[k].shm->capture.data[0], 0);
	assert_true(blocks_of(slots.slot[k].mem_fd) + VB_CAPTURE_RING_BYTES / 512 / 2 < before);
	/* The next owner begins at 0. */
	assert_int_equal(vb_slots_take(&slots, getpid(), "next"), k);
	assert_int_equal(slots.slot[k].shm->rates.cnt, 0);
	assert_string_equal(slots.slot[k].shm->comm, "next");
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
	    cmocka_unit_test(quiet__drops_all_that_came),
	    cmocka_unit_test(open__without_the_privilege),
	    cmocka_unit_test(take__without_a_store),
	    cmocka_unit_test(adopt__the_brokers_own_slots_as_well),
	    cmocka_unit_test(adopt__each_thing_once),
	    cmocka_unit_test(probe__port_is_taken),
	    cmocka_unit_test(release__leaves_out_numbers),
	    cmocka_unit_test(release__ring_of_a_capture),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
