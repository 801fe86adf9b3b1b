/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that carries the packets of others: rings that are looked at one by one, and credit
 * towards such a process. link/shm/carrier.h; LNK-21 */
#include "shm_world.h"

#include "link/shm/carrier.h"

#include <unistd.h>

#define LEN 1000

/* A process with slot @slot that has handed in a ring. */
struct writer {
	int fd, mem_fd;
	uint32_t slot;
	uint64_t token;
	struct vb_ring_tx ring;
};

static void writer_begin(struct writer *s, uint32_t slot)
{
	void *mem;

	memset(s, 0, sizeof *s);
	s->slot = slot;
	s->fd = vb_wakeup_open(&s->token);
	s->mem_fd = vb_memory_create(VB_MEMORY_RING, VB_RING_HEAD_BYTES + VB_RING_BYTES);
	assert_int_equal(vb_memory_map_ring(s->mem_fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem), 0);
	s->ring.mem = mem;
	w.wakeup[slot].token = s->token;
	assert_false(vb_shm_carrier_has_news(w.shm));
	assert_int_equal(vb_wakeup_notify(s->fd, w.wakeup[SLOT].token, VB_WAKEUP_RING,
					  (uint8_t)slot, s->token, s->mem_fd),
			 0);
	w.wakeup[SLOT].rings++;
	assert_true(vb_shm_carrier_has_news(w.shm));
}

static void writer_end(struct writer *s)
{
	vb_memory_unmap(s->ring.mem, VB_RING_MAP_BYTES);
	close(s->mem_fd);
	close(s->fd);
}

/* @cnt packets whose lengths begin at LEN, by port @port. */
static void packets_write(struct fixture *f, struct writer *s, uint32_t cnt, uint32_t port)
{
	struct vb_ring_way way = {.path = f->path4, .ifindex = port};

	f->batch.cnt = f->batch.seg_cnt = 0;
	for (uint32_t i = 0; i < cnt; i++)
		add_for(f, SLOT, LEN + 4 * i);
	assert_int_equal(vb_ring_put(&s->ring, &way, f->batch.pkt, cnt, 0), cnt);
}

/* Each ring is read by itself; what is not taken stays, and the writer has the room of what was
 * given back. */
static void rings__are_read_one_by_one(void **state)
{
	struct fixture *f = *state;
	struct writer a, b;
	struct vb_ring_way way;
	struct vb_rx rx;

	writer_begin(&a, OTHER);
	assert_int_equal(vb_shm_carrier_rings(w.shm), 1);
	writer_begin(&b, OTHER + 1);
	assert_int_equal(vb_shm_carrier_rings(w.shm), 2);
	assert_int_equal(vb_shm_carrier_cnt(w.shm), 2);
	assert_int_equal(vb_shm_carrier_slot(w.shm, 0), OTHER);
	assert_int_equal(vb_shm_carrier_slot(w.shm, 1), OTHER + 1);
	packets_write(f, &b, 3, 7);
	assert_false(vb_shm_carrier_has_packets(w.shm, 0));
	assert_true(vb_shm_carrier_has_packets(w.shm, 1));
	assert_false(vb_shm_carrier_look(w.shm, 0, &way));
	for (uint32_t i = 0; i < 3; i++) {
		/* To look changes nothing. */
		for (int k = 0; k < 3; k++)
			assert_true(vb_shm_carrier_look(w.shm, 1, &way));
		assert_int_equal(way.ifindex, 7);
		assert_true(vb_shm_carrier_take(w.shm, 1, &rx));
		assert_int_equal(rx.len - rx.avail, LEN + 4 * i);
		assert_int_equal(vb_ring_backlog_now(&b.ring, 0) != 0, true);
	}
	assert_false(vb_shm_carrier_look(w.shm, 1, &way));
	vb_shm_carrier_give_back(w.shm, 1);
	assert_int_equal(vb_ring_backlog_now(&b.ring, 0), 0);
	writer_end(&a);
	writer_end(&b);
}

/* The ring of a process that has gone is given up with what is in it: the next owner of the slot is
 * not taken for it. */
static void rings__of_the_gone_are_given_up(void **state)
{
	struct fixture *f = *state;
	struct writer a, b;
	struct vb_ring_way way;

	writer_begin(&a, OTHER);
	assert_int_equal(vb_shm_carrier_rings(w.shm), 1);
	packets_write(f, &a, 3, 1);
	writer_begin(&b, OTHER);
	assert_int_equal(vb_shm_carrier_rings(w.shm), 1);
	assert_false(vb_shm_carrier_look(w.shm, 0, &way));
	packets_write(f, &b, 1, 2);
	assert_true(vb_shm_carrier_look(w.shm, 0, &way));
	assert_int_equal(way.ifindex, 2);
	w.wakeup[OTHER].token = 0;
	assert_int_equal(vb_shm_carrier_rings(w.shm), 0);
	writer_end(&a);
	writer_end(&b);
}

/* A writer whose bytes make no sense is heard no longer. */
static void rings__that_are_broken_are_given_up(void **state)
{
	struct fixture *f = *state;
	struct writer a;
	struct vb_ring_way way;
	struct vb_rx rx;

	writer_begin(&a, OTHER);
	packets_write(f, &a, 1, 1);
	assert_int_equal(vb_shm_carrier_rings(w.shm), 1);
	memset(a.ring.mem + VB_RING_HEAD_BYTES + 56, 0xff, 8); /* lengths of the packet */
	assert_true(vb_shm_carrier_look(w.shm, 0, &way));
	assert_false(vb_shm_carrier_take(w.shm, 0, &rx));
	assert_int_equal(vb_shm_carrier_rings(w.shm), 0);
	writer_end(&a);
}

/* Towards a carrier little may wait, its progress is seen at once, and it is waited for however
 * long it stands still. */
static void credit__towards_a_carrier(void **state)
{
	struct fixture *f = *state;
	int fd = vb_wakeup_open(&w.wakeup[OTHER].token), mem_fd;
	struct vb_wakeup_msg k;
	struct vb_ring_rx ring = {.mem = NULL};
	struct vb_ring_way way;
	const struct vb_link_copy whom = {OTHER, 1};
	uint8_t copy[VB_RING_COPY_BYTES];
	struct vb_rx rx;
	uint32_t room, sent = 0, again = 0;
	void *mem;

	vb_shm_of(w.shm)->cfg.carrier = OTHER;
	add_for(f, OTHER, 4096);
	while (vb_shm_rx_credit(w.shm, OTHER, VB_SEC, &room) && room >= 4096 + 16)
		sent += vb_link_copy(w.shm, &f->batch, 0, 1, whom, VB_SEC);
	assert_true(sent >= 25 && sent <= 33);
	assert_true(vb_shm_rx_credit(w.shm, OTHER, VB_SEC + 2 * VB_RING_STUCK_NS, &room));
	assert_true(room < 4096 + 16);
	assert_true(vb_wakeup_take(fd, &k, &mem_fd));
	assert_int_equal(vb_memory_map_ring(mem_fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem), 0);
	ring.mem = mem;
	for (int i = 0; i < 5; i++) {
		assert_true(vb_ring_begin(&ring, &way));
		assert_true(vb_ring_take(&ring, &rx, copy));
	}
	vb_ring_give_back(&ring);
	while (vb_shm_rx_credit(w.shm, OTHER, VB_SEC, &room) && room >= 4096 + 16)
		again += vb_link_copy(w.shm, &f->batch, 0, 1, whom, VB_SEC);
	assert_int_equal(again, 5);
	vb_memory_unmap(mem, VB_RING_MAP_BYTES);
	close(mem_fd);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    S(rings__are_read_one_by_one),
	    S(rings__of_the_gone_are_given_up),
	    S(rings__that_are_broken_are_given_up),
	    S(credit__towards_a_carrier),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
