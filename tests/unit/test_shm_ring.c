/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring between two processes: packets in and out, and what the other side may do to it. */
#include "base/rng.h"
#include "cmocka_env.h"
#include "link/memory.h"
#include "link/shm/ring.h"
#include "wire/opcode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BATCH 8
#define OPCODE_SEND_ONLY 0x04

struct fixture {
	struct vb_ring_tx tx;
	struct vb_ring_rx rx;
	struct vb_ring_way way;
	struct vb_path path;
	struct vb_tx pkt[BATCH];
	struct vb_seg seg[BATCH][2];
	uint8_t payload[BATCH][4096];
	uint8_t copy[VB_RING_COPY_BYTES];
	struct vb_rng rng;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	int fd = vb_memory_create(VB_MEMORY_RING, VB_RING_HEAD_BYTES + VB_RING_BYTES);
	void *mem;

	assert_non_null(f);
	assert_true(fd >= 0);
	/* Each side has a mapping of its own, as two processes do. */
	assert_int_equal(vb_memory_map_ring(fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem), 0);
	f->tx.mem = mem;
	assert_int_equal(vb_memory_map_ring(fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem), 0);
	f->rx.mem = mem;
	close(fd);
	f->path = (struct vb_path){.flow_label = 0xabcde,
				   .udp_sport = 0xc123,
				   .traffic_class = 0x6a,
				   .hop_limit = 9,
				   .port = 1};
	memset(f->path.sgid.b, 0x11, sizeof f->path.sgid.b);
	memset(f->path.dgid.b, 0x22, sizeof f->path.dgid.b);
	f->way = (struct vb_ring_way){.path = f->path, .ifindex = 7};
	f->rng = vb_rng_stream(1, "ring", 0);
	for (size_t i = 0; i < sizeof f->payload; i++)
		((uint8_t *)f->payload)[i] = (uint8_t)vb_rng_next(&f->rng);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vb_memory_unmap(f->tx.mem, VB_RING_MAP_BYTES);
	vb_memory_unmap(f->rx.mem, VB_RING_MAP_BYTES);
	free(f);
	return 0;
}

/* Packet @k: a SEND with @len bytes, gathered from two places. */
static void make(struct fixture *f, uint32_t k, uint32_t len)
{
	uint32_t first = len / 3;

	f->seg[k][0] = (struct vb_seg){f->payload[k], first};
	f->seg[k][1] = (struct vb_seg){f->payload[k] + first, len - first};
	f->pkt[k] = (struct vb_tx){.path = &f->path,
				   .seg = f->seg[k],
				   .payload_len = len,
				   .seg_cnt = 2,
				   .pad = (uint8_t)(-len & 3),
				   .hdr_len = VB_BTH_LEN};
	f->pkt[k].hdr[0] = OPCODE_SEND_ONLY;
	f->pkt[k].hdr[7] = 5;
	f->pkt[k].hdr[11] = (uint8_t)k;
}

static void check(struct fixture *f, uint32_t k, const struct vb_rx *rx)
{
	static const uint8_t zero[VB_PAD_MAX];
	const struct vb_tx *tx = &f->pkt[k];
	const uint8_t *payload = rx->body ? rx->body : rx->pkt + VB_BTH_LEN;

	assert_int_equal(rx->len, VB_BTH_LEN + tx->payload_len + tx->pad);
	assert_int_equal(vb_rx_bytes(rx), rx->len);
	assert_memory_equal(rx->pkt, tx->hdr, VB_BTH_LEN);
	assert_memory_equal(payload, f->payload[k], tx->payload_len);
	assert_memory_equal(payload + tx->payload_len, zero, tx->pad);
	assert_int_equal(rx->body != NULL, tx->payload_len > VB_RING_COPY_MAX);
}

/* Reads one GSO batch of @cnt packets that are 0 ... @cnt - 1 of the batch. */
static void read_batch(struct fixture *f, uint32_t cnt)
{
	struct vb_ring_way way;
	struct vb_rx rx;

	assert_true(vb_ring_has_packets(&f->rx));
	assert_true(vb_ring_begin(&f->rx, &way));
	assert_true(vb_gid_eq(&way.path.sgid, &f->path.sgid));
	assert_true(vb_gid_eq(&way.path.dgid, &f->path.dgid));
	assert_int_equal(way.path.flow_label, f->path.flow_label);
	assert_int_equal(way.path.udp_sport, f->path.udp_sport);
	assert_int_equal(way.path.traffic_class, f->path.traffic_class);
	assert_int_equal(way.path.hop_limit, f->path.hop_limit);
	assert_int_equal(way.ifindex, 7);
	for (uint32_t k = 0; k < cnt; k++) {
		assert_true(vb_ring_take(&f->rx, &rx, f->copy));
		check(f, k, &rx);
	}
	assert_false(vb_ring_take(&f->rx, &rx, f->copy));
}

static void take__what_was_put_in_any_length_many_times_around(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; f->tx.head < 20 * (uint64_t)VB_RING_BYTES; i++) {
		uint32_t cnt = 1 + (uint32_t)vb_rng_below(&f->rng, BATCH);

		for (uint32_t k = 0; k < cnt; k++)
			make(f, k, (uint32_t)vb_rng_below(&f->rng, 4097));
		assert_false(vb_ring_has_packets(&f->rx));
		cnt = vb_ring_put(&f->tx, &f->way, f->pkt, cnt, i);
		assert_true(cnt > 0);
		read_batch(f, cnt);
		vb_ring_give_back(&f->rx);
		assert_int_equal(vb_ring_backlog(&f->tx, i) <= VB_RING_BYTES / 4 + 40960, 1);
	}
}

static void put__one_path_to_a_batch(void **state)
{
	struct fixture *f = *state;
	struct vb_path other = f->path;

	for (uint32_t k = 0; k < 3; k++)
		make(f, k, 100);
	f->pkt[2].path = &other;
	assert_int_equal(vb_ring_put(&f->tx, &f->way, f->pkt, 3, 0), 2);
}

/* A GSO batch is whole or is not there. */
static void begin__not_before_the_first_word_is_written(void **state)
{
	struct fixture *f = *state;
	uint32_t *ready = (uint32_t *)(void *)(f->tx.mem + VB_RING_HEAD_BYTES), len;
	struct vb_ring_way way;

	make(f, 0, 4096);
	assert_int_equal(vb_ring_put(&f->tx, &f->way, f->pkt, 1, 0), 1);
	len = *ready;
	*ready = 0; /* as a writer leaves it that is killed on the way */
	assert_false(vb_ring_has_packets(&f->rx));
	assert_false(vb_ring_begin(&f->rx, &way));
	*ready = len;
	read_batch(f, 1);
}

/* The reader gets the path that the writer says, without bits that no packet has. */
static void begin__has_the_way_of_the_writer(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way, was = f->way;

	was.path.slid = 0x1234;
	was.path.dlid = 0xc056;
	was.path.sl = 7;
	for (int wild = 0; wild < 2; wild++) {
		struct vb_ring_way put = was;

		f->tx = (struct vb_ring_tx){.mem = f->tx.mem};
		f->rx = (struct vb_ring_rx){.mem = f->rx.mem};
		make(f, 0, 64);
		if (wild) {
			put.path.flow_label |= 0xfff00000;
			put.path.sl |= 0xf0;
		}
		assert_int_equal(vb_ring_put(&f->tx, &put, f->pkt, 1, 0), 1);
		memset(&way, 0xff, sizeof way);
		assert_true(vb_ring_begin(&f->rx, &way));
		assert_int_equal(way.ifindex, was.ifindex);
		assert_memory_equal(&way.path.sgid, &was.path.sgid, 16);
		assert_memory_equal(&way.path.dgid, &was.path.dgid, 16);
		assert_int_equal(way.path.flow_label, was.path.flow_label);
		assert_int_equal(way.path.udp_sport, was.path.udp_sport);
		assert_int_equal(way.path.slid, was.path.slid);
		assert_int_equal(way.path.dlid, was.path.dlid);
		assert_int_equal(way.path.sl, was.path.sl);
		assert_int_equal(way.path.traffic_class, was.path.traffic_class);
		assert_int_equal(way.path.hop_limit, was.path.hop_limit);
	}
}

static void put__full_until_given_back(void **state)
{
	struct fixture *f = *state;
	uint32_t batches = 0;

	make(f, 0, 4096);
	while (vb_ring_put(&f->tx, &f->way, f->pkt, 1, 5) != 0)
		batches++;
	assert_true(batches > VB_RING_BYTES / 4400);
	assert_true(vb_ring_backlog(&f->tx, 5) <= VB_RING_BYTES);
	/* A batch that is taken is still being read... */
	read_batch(f, 1);
	assert_int_equal(vb_ring_put(&f->tx, &f->way, f->pkt, 1, 6), 0);
	/* ... until it is given back. */
	vb_ring_give_back(&f->rx);
	assert_int_equal(vb_ring_put(&f->tx, &f->way, f->pkt, 1, 7), 1);
	for (uint32_t i = 0; i < batches; i++)
		read_batch(f, 1);
	assert_false(vb_ring_has_packets(&f->rx));
}

static void is_stuck__only_while_full_and_unmoved(void **state)
{
	struct fixture *f = *state;
	vb_time t = 50 * VB_SEC; /* long idle: that is not the reader's fault */

	make(f, 0, 4096);
	while (vb_ring_put(&f->tx, &f->way, f->pkt, 1, t))
		;
	assert_false(vb_ring_is_stuck(&f->tx, t + VB_RING_STUCK_NS));
	assert_true(vb_ring_is_stuck(&f->tx, t + VB_RING_STUCK_NS + 1));
	read_batch(f, 1);
	vb_ring_give_back(&f->rx);
	t += VB_SEC;
	assert_false(vb_ring_is_stuck(&f->tx, t));
	assert_true(vb_ring_is_stuck(&f->tx, t + VB_RING_STUCK_NS + 1));
}

/* The reader may claim to have taken anything. */
static void put__reader_lies(void **state)
{
	static const uint64_t claims[] = {1,
					  VB_RING_BYTES,
					  VB_RING_BYTES * 9ull,
					  UINT64_MAX,
					  UINT64_MAX - VB_RING_BYTES,
					  UINT64_C(1) << 63};
	struct fixture *f = *state;

	make(f, 0, 4096);
	for (size_t c = 0; c < sizeof claims / sizeof claims[0]; c++) {
		((struct vb_ring_head *)(void *)f->rx.mem)->taken = claims[c];
		for (uint32_t i = 0; i < 2 * VB_RING_BYTES / 4096; i++) {
			(void)vb_ring_put(&f->tx, &f->way, f->pkt, 1, i);
			assert_true(vb_ring_backlog(&f->tx, i) <= VB_RING_BYTES);
		}
	}
}

static bool is_inside(const struct fixture *f, const uint8_t *p, uint32_t len)
{
	const uint8_t *ring = f->rx.mem + VB_RING_HEAD_BYTES;

	return p >= ring && p + len <= ring + 2 * (size_t)VB_RING_BYTES;
}

/* The writer may write anything, at any time. */
static void take__writer_lies(void **state)
{
	struct fixture *f = *state;
	uint32_t broken = 0, taken = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		uint8_t *ring = f->tx.mem + VB_RING_HEAD_BYTES;
		struct vb_ring_way way;
		struct vb_rx rx;

		f->tx = (struct vb_ring_tx){.mem = f->tx.mem};
		f->rx = (struct vb_ring_rx){.mem = f->rx.mem};
		for (uint32_t k = 0; k < 3; k++)
			make(f, k, (uint32_t)vb_rng_below(&f->rng, 600));
		assert_int_equal(vb_ring_put(&f->tx, &f->way, f->pkt, 3, 0), 3);
		for (uint32_t k = (uint32_t)vb_rng_below(&f->rng, 4); k < 4; k++)
			ring[vb_rng_below(&f->rng, k & 1 ? 96 : (uint32_t)f->tx.head)] =
			    (uint8_t)vb_rng_next(&f->rng);
		for (uint32_t k = 0; k < 200 && vb_ring_begin(&f->rx, &way); k++)
			while (vb_ring_take(&f->rx, &rx, f->copy)) {
				taken++;
				assert_true(rx.avail <= sizeof f->copy);
				assert_true(rx.avail == rx.len || rx.body);
				if (!rx.body)
					continue;
				assert_true(is_inside(f, rx.body, rx.len - rx.avail));
				/* The core subtracts what the opcode has. */
				assert_int_equal(vb_opcode[rx.pkt[0]].hdr_len, rx.avail);
			}
		broken += f->rx.is_broken;
		assert_true(!f->rx.is_broken || !vb_ring_has_packets(&f->rx));
	}
	assert_true(broken > 100);
	assert_true(taken > 20000);
}

/* GSO batches that would fill the ring to its last byte leave the first word of the first one
 * alone. */
static void put__full_ring_keeps_its_first_batch(void **state)
{
	struct fixture *f = *state;
	uint32_t put = 0, got = 0;

	make(f, 0, 20);
	while (vb_ring_put(&f->tx, &f->way, f->pkt, 1, 0))
		put++;
	assert_int_equal(VB_RING_BYTES % (f->tx.head / put), 0);
	for (; vb_ring_has_packets(&f->rx); got++)
		read_batch(f, 1);
	assert_int_equal(got, put);
}

/* A packet that is longer than any can be ends the ring, though its GSO batch has place for it. */
static void take__payload_longer_than_any(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way;
	struct vb_rx rx;
	uint32_t len = VB_PAYLOAD_MAX + 4, gso;

	for (uint32_t k = 0; k < 3; k++)
		make(f, k, VB_PAYLOAD_MAX);
	assert_int_equal(vb_ring_put(&f->tx, &f->way, f->pkt, 3, 0), 3);
	assert_true(vb_ring_begin(&f->rx, &way));
	gso = f->rx.at; /* where the first packet says how long it is */
	memcpy(f->tx.mem + VB_RING_HEAD_BYTES + gso, &len, sizeof len);
	assert_false(vb_ring_take(&f->rx, &rx, f->copy));
	assert_true(f->rx.is_broken);
}

/* Headers of a wrong length and pad beyond a word break the ring. */
static void take__headers_and_pad_of_no_packet(void **state)
{
	static const struct {
		uint32_t at; /* offset behind the packet's length */
		uint8_t value;
	} wrong[] = {{4, VB_BTH_LEN - 1}, {4, VB_HDR_MAX + 1}, {5, VB_PAD_MAX + 1}};
	struct fixture *f = *state;
	struct vb_ring_way way;
	struct vb_rx rx;

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		f->tx = (struct vb_ring_tx){.mem = f->tx.mem};
		f->rx = (struct vb_ring_rx){.mem = f->rx.mem};
		make(f, 0, 64);
		assert_int_equal(vb_ring_put(&f->tx, &f->way, f->pkt, 1, 0), 1);
		assert_true(vb_ring_begin(&f->rx, &way));
		f->tx.mem[VB_RING_HEAD_BYTES + f->rx.at + wrong[i].at] = wrong[i].value;
		assert_false(vb_ring_take(&f->rx, &rx, f->copy));
		assert_true(f->rx.is_broken);
	}
}

/* Nor is a packet read that ends behind its GSO batch. */
static void take__packet_longer_than_its_batch(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way;
	struct vb_rx rx;

	make(f, 0, 1000);
	assert_int_equal(vb_ring_put(&f->tx, &f->way, f->pkt, 1, 0), 1);
	assert_true(vb_ring_begin(&f->rx, &way));
	f->rx.len = f->rx.at + 512;
	assert_false(vb_ring_take(&f->rx, &rx, f->copy));
	assert_true(f->rx.is_broken);
}

/* Memory that its maker could make shorter under a reader is not mapped. */
static void map__only_what_cannot_shrink(void **state)
{
	const size_t size = 4096;
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *p;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(vb_memory_map(fd, size, true, &p), -EINVAL);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	assert_int_equal(vb_memory_map(fd, size, true, &p), -EINVAL);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(vb_memory_map(fd, size, true, &p), 0);
	vb_memory_unmap(p, size);
	assert_int_equal(vb_memory_map(fd, 2 * size, true, &p), -EINVAL);
	close(fd);
}

/* No writer has more under way than the ring holds. A writer that claims more, with GSO batches all
 * over the ring, is not read around and around. */
static void begin__not_more_than_the_ring_holds(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way;
	struct vb_rx rx;
	uint32_t taken = 0, len = 0;

	make(f, 0, 20);
	/* As one who need not wait for the reader: GSO batches of equal length, all around. */
	do {
		f->tx.taken = f->tx.head;
		assert_int_equal(vb_ring_put(&f->tx, &f->way, f->pkt, 1, 0), 1);
		len = len ? len : (uint32_t)f->tx.head;
	} while (f->tx.head < VB_RING_BYTES);
	assert_int_equal(f->tx.head, VB_RING_BYTES);
	memcpy(f->tx.mem + VB_RING_HEAD_BYTES, &len, sizeof len);
	while (taken <= VB_RING_BYTES / 64 && vb_ring_begin(&f->rx, &way))
		while (vb_ring_take(&f->rx, &rx, f->copy))
			taken++;
	assert_true(f->rx.is_broken);
	assert_true(taken <= VB_RING_BYTES / 64);
}

/* Headers are read once: the copy is parsed. */
static void take__headers_cannot_change_underneath(void **state)
{
	struct fixture *f = *state;
	struct vb_ring_way way;
	struct vb_rx rx;
	uint8_t hdr[VB_BTH_LEN];

	make(f, 0, 2000);
	memcpy(hdr, f->pkt[0].hdr, sizeof hdr);
	assert_int_equal(vb_ring_put(&f->tx, &f->way, f->pkt, 1, 0), 1);
	assert_true(vb_ring_begin(&f->rx, &way));
	assert_true(vb_ring_take(&f->rx, &rx, f->copy));
	memset(f->tx.mem + VB_RING_HEAD_BYTES, 0xff, 256);
	assert_memory_equal(rx.pkt, hdr, sizeof hdr);
	assert_int_equal(rx.len, VB_BTH_LEN + 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(take__what_was_put_in_any_length_many_times_around,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(put__one_path_to_a_batch, setup, teardown),
	    cmocka_unit_test_setup_teardown(begin__not_before_the_first_word_is_written, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(begin__has_the_way_of_the_writer, setup, teardown),
	    cmocka_unit_test_setup_teardown(put__full_until_given_back, setup, teardown),
	    cmocka_unit_test_setup_teardown(put__full_ring_keeps_its_first_batch, setup, teardown),
	    cmocka_unit_test_setup_teardown(is_stuck__only_while_full_and_unmoved, setup, teardown),
	    cmocka_unit_test_setup_teardown(put__reader_lies, setup, teardown),
	    cmocka_unit_test_setup_teardown(take__writer_lies, setup, teardown),
	    cmocka_unit_test_setup_teardown(take__payload_longer_than_any, setup, teardown),
	    cmocka_unit_test_setup_teardown(take__headers_and_pad_of_no_packet, setup, teardown),
	    cmocka_unit_test_setup_teardown(take__packet_longer_than_its_batch, setup, teardown),
	    cmocka_unit_test(map__only_what_cannot_shrink),
	    cmocka_unit_test_setup_teardown(begin__not_more_than_the_ring_holds, setup, teardown),
	    cmocka_unit_test_setup_teardown(take__headers_cannot_change_underneath, setup,
					    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
