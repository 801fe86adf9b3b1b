/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resources of the shared-memory link: rings of others, its rings to them, sleepers that it wakes;
 * and cleanup after an open that failed.
 */
#include "shm_world.h"

#include "link/guard.h"

#include <errno.h>

/* The endpoint of a process that sends to SLOT, and a ring of its own, empty. */
struct sender {
	int fd, mem_fd;
	uint64_t token;
	struct vb_ring_tx ring;
};

static void sender_open(struct sender *s)
{
	void *mem;

	memset(s, 0, sizeof *s);
	s->fd = vb_wakeup_open(&s->token);
	s->mem_fd = vb_memory_create(VB_MEMORY_RING, VB_RING_HEAD_BYTES + VB_RING_BYTES);
	assert_int_equal(vb_memory_map_ring(s->mem_fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem), 0);
	s->ring.mem = mem;
	w.wakeup[OTHER].token = s->token;
}

/* Hands the ring in, and has it taken. */
static void sender_announce(const struct sender *s)
{
	struct vb_rx rx[1];

	assert_int_equal(vb_wakeup_notify(s->fd, w.wakeup[SLOT].token, VB_WAKEUP_RING, OTHER,
					  s->token, s->mem_fd),
			 0);
	w.wakeup[SLOT].rings++;
	assert_int_equal(recv_some(w.f, rx, 1), 0);
}

static void sender_close(struct sender *s)
{
	vb_memory_unmap(s->ring.mem, VB_RING_MAP_BYTES);
	close(s->mem_fd);
	close(s->fd);
}

/* A process hands in one ring. More would take memory and places of other processes. */
static void recv__one_ring_of_a_process(void **state)
{
	unsigned maps = ring_maps();
	struct sender s;

	(void)state;
	sender_open(&s);
	for (int i = 0; i < 3; i++)
		sender_announce(&s);
	assert_int_equal(vb_shm_of(w.shm)->source_cnt, 1);
	sender_close(&s);
	assert_int_equal(ring_maps(), maps + 2); /* both halves of it */
}

/* At most two owners of a slot have packets to be read: the present one and the last. */
static void recv__two_rings_of_a_slot(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way = {.path = f->path4, .ifindex = 1};
	struct vb_rx rx[8];
	struct sender s[3];

	add_for(f, SLOT, 20);
	for (int i = 0; i < 3; i++) {
		sender_open(&s[i]);
		assert_int_equal(vb_ring_put(&s[i].ring, &way, f->batch.pkt, 1, 0), 1);
		assert_int_equal(vb_wakeup_notify(s[i].fd, w.wakeup[SLOT].token, VB_WAKEUP_RING,
						  OTHER, s[i].token, s[i].mem_fd),
				 0);
		w.wakeup[SLOT].rings++;
	}
	assert_int_equal(recv_some(f, rx, 8), 2);
	assert_int_equal(recv_some(f, rx, 8), 0);
	for (int i = 0; i < 3; i++)
		sender_close(&s[i]);
}

/* A broken entry is a receive error of the port, and its ring is given up. */
static void recv__a_broken_ring_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way = {.path = f->path4, .ifindex = 1};
	struct vb_rx rx[4];
	struct sender s;

	sender_open(&s);
	sender_announce(&s);
	add_for(f, SLOT, 20);
	assert_int_equal(vb_ring_put(&s.ring, &way, f->batch.pkt, 1, 0), 1);
	memset(s.ring.mem + VB_RING_HEAD_BYTES + 56, 0xff, 8); /* the packet's length */
	assert_int_equal(recv_some(f, rx, 4), 0);
	assert_int_equal(counter(f, VB_COUNTER_port_rcv_errors), 1);
	vb_link_sweep(f->link);
	assert_int_equal(vb_shm_of(w.shm)->source_cnt, 0);
	sender_close(&s);
}

/* The next sweep frees a ring to a process that has gone. */
static void sweep__gives_up_the_ring_to_who_is_gone(void **state)
{
	struct fixture *f = *state;
	int fd = vb_wakeup_open(&w.wakeup[OTHER].token);
	unsigned maps = ring_maps();

	add_for(f, OTHER, 64);
	assert_int_equal(send_all(f), 1);
	vb_link_sweep(f->link);
	assert_int_equal(ring_maps(), maps + 2); /* it is there still */
	w.wakeup[OTHER].token = 0;
	vb_link_sweep(f->link);
	assert_int_equal(ring_maps(), maps);
	close(fd);
}

/* Another thread ends only a nap: a wait for the descriptor goes on, and the next packet ends
 * it. */
static void nap__is_all_that_is_ended(void **state)
{
	struct fixture *f = *state;

	assert_false(vb_link_end_nap(f->link));
	vb_link_park(f->link, true);
	assert_int_not_equal(w.wakeup[SLOT].asleep, 0);
	assert_false(vb_link_end_nap(f->link));
	add_for(f, SLOT, 8);
	assert_int_equal(send_all(f), 1);
	assert_true(is_readable(f->link));
	vb_link_park(f->link, false);
	assert_int_equal(recv_all(f, 64), 1);
}

/* A copy to a group's process has all packets, in as many GSO batches as they take. */
static void copy__all_packets(void **state)
{
	struct fixture *f = *state;
	const struct vb_link_copy whom = {.slot = SLOT, .port = 1};
	struct vb_rx rx[VB_TX_BATCH_PKTS];
	uint32_t n = 0, m;

	for (uint32_t k = 0; k < 3 * VB_RING_GSO_MAX / 4096; k++)
		add_for(f, OTHER, 4096);
	vb_link_copy(f->link, &f->batch, 1, f->batch.cnt, whom, 0);
	while ((m = recv_some(f, rx, VB_TX_BATCH_PKTS)) != 0)
		for (uint32_t i = 0; i < m; i++)
			check_rx(f, &rx[i], ++n);
	assert_int_equal(n, f->batch.cnt - 1);
	/* No copy counts as sent. */
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), 0);
}

/* A ring bounds what a peer has in flight, and batching saves nothing. */
static void open__bounds_what_is_in_flight(void **state)
{
	const struct fixture *f = *state;

	assert_int_equal(f->link->lower->window_max, UINT32_MAX);
	assert_int_equal(f->link->window_max, VB_SHM_WINDOW_BYTES);
	assert_int_equal(f->link->batch_max, 0);
}

static int no_fd(const struct vb_link *l)
{
	(void)l;
	return -1;
}

/* A lower link without a descriptor to wait for: the open fails and leaves nothing. */
static void open__fails_and_leaves_nothing(void **state)
{
	static const struct vb_link_ops ops = {.name = "below", .fd = no_fd};
	struct vb_link lower = vb_link_before(NULL, &ops), *l;
	struct vb_link_config cfg = vb_shm_of(w.shm)->cfg;
	unsigned before = descriptors_of(getpid());
	uint64_t token = w.wakeup[SLOT].token;

	(void)state;
	cfg.lower = &lower;
	assert_int_equal(vb_shm_open(&l, &cfg), -EBADF);
	assert_int_equal(descriptors_of(getpid()), before);
	assert_int_equal(w.wakeup[SLOT].token, token);
}

/* While packets come by shared memory alone, the link looks below now and then. Until it has, it is
 * not known to be empty; after a wakeup it looks in any case. */
static void recv__looks_below_now_and_then(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];
	vb_time now = VB_SEC;

	add_for(f, SLOT, 600);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(f->link->ops->recv(f->link, rx, 64, now), 1);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(f->link->ops->recv(f->link, rx, 1, now + i * VB_MSEC / 4), 0);
	now += 10 * VB_MSEC;
	assert_int_equal(f->link->ops->recv(f->link, rx, 1, now), 0);
	clear(f);
	add_for(f, OTHER, 300); /* which goes by the link below */
	assert_int_equal(send_all(f), 1);
	assert_int_equal(f->link->ops->recv(f->link, rx, 1, now + 1), 0);
	assert_false(vb_link_is_emptied(f->link));
	vb_link_park(f->link, true);
	vb_link_park(f->link, false);
	assert_int_equal(f->link->ops->recv(f->link, rx, 1, now + 2), 1);
	f->drains = 1;
	assert_int_equal(f->link->ops->recv(f->link, rx, 1, now + VB_SEC), 0);
	assert_true(vb_link_is_emptied(f->link));
	/* Not with a packet in a ring. */
	clear(f);
	add_for(f, SLOT, 600);
	assert_int_equal(send_all(f), 1);
	assert_false(vb_link_is_emptied(f->link));
	assert_int_equal(recv_all(f, 64), 1);
}

/* A ring handed in behind many messages is found, in as many calls as they take. */
static void recv__ring_behind_many_wakeups(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way = {.path = f->path4, .ifindex = 1};
	uint32_t calls = 0;
	struct vb_rx rx[1];
	struct sender s;

	sender_open(&s);
	for (int i = 0; i < 200; i++)
		if (vb_wakeup_notify(s.fd, w.wakeup[SLOT].token, VB_WAKEUP_WAKE, OTHER, s.token,
				     -1))
			break;
	if (vb_wakeup_notify(s.fd, w.wakeup[SLOT].token, VB_WAKEUP_RING, OTHER, s.token,
			     s.mem_fd)) {
		sender_close(&s);
		skip(); /* a queue that takes no more than a few */
	}
	w.wakeup[SLOT].rings++;
	add_for(w.f, SLOT, 20);
	assert_int_equal(vb_ring_put(&s.ring, &way, w.f->batch.pkt, 1, 0), 1);
	while (recv_some(w.f, rx, 1) == 0) {
		assert_true(vb_link_has_packets(w.f->link));
		assert_uint_in_range(++calls, 1, 8);
	}
	sender_close(&s);
}

/* A socket's queue here takes more messages than one call reads. */
static int setup_long_queue(void **state)
{
	netns_write("/proc/sys/net/unix/max_dgram_qlen", "512");
	return shm_setup(state);
}

/* A packet whose memory the program has unmapped since is lost, and no other waits behind it. */
static void send__memory_has_gone(void **state)
{
	struct fixture *f = *state;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct vb_rx rx[2];

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(vb_guard_open(), 0);
	clear(f);
	add_for(f, SLOT, 600);
	f->batch.seg[1].p = page;
	assert_int_equal(munmap(page, 4096), 0);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 1);
	assert_int_equal(recv_some(f, rx, 2), 0);
	clear(f);
	add_for(f, SLOT, 600);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_all(f, 2), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    S(recv__one_ring_of_a_process),
	    S(recv__two_rings_of_a_slot),
	    S(recv__a_broken_ring_is_an_error),
	    S(sweep__gives_up_the_ring_to_who_is_gone),
	    S(send__memory_has_gone),
	    S(nap__is_all_that_is_ended),
	    S(copy__all_packets),
	    S(open__bounds_what_is_in_flight),
	    S(open__fails_and_leaves_nothing),
	    S(recv__looks_below_now_and_then),
	    cmocka_unit_test_setup_teardown(recv__ring_behind_many_wakeups, setup_long_queue,
					    shm_teardown),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
