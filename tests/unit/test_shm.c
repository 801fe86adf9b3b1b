/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared-memory link in front of a real UDP link: what goes which way, and what becomes of it
 * when the other process sleeps, is stopped, dies or has another link. One link talks to itself in
 * slot 5; other slots are doors that the test opens.
 */
#include "udp_world.h"

#include "link/fault.h"
#include "link/memory.h"
#include "link/shm_priv.h"
#include "wire/icrc.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/un.h>

#define SLOT 5
#define OTHER 6
#define KNOCK_MAGIC 0x56424b4eu

struct world {
	struct fixture *f;
	struct vb_link *shm;
	struct vb_shm_door *door;
};

static struct world w;

static uint32_t ifindex_of(void *ctx, uint8_t port)
{
	(void)ctx;
	assert_int_equal(port, 1);
	return 1;
}

/* 127.0.0.1 and ::1 are ours, nothing else. */
static uint8_t shm_port_of(void *ctx, const struct vb_gid *local, uint32_t ifindex)
{
	struct fixture *f = ctx;

	assert_int_equal(ifindex, 1);
	return vb_gid_eq(local, &f->path4.sgid) || vb_gid_eq(local, &f->path6.sgid) ? f->port : 0;
}

static int shm_setup(void **state)
{
	struct fixture *f;
	struct vb_shm_config cfg = {
	    .slot = SLOT, .port_of = shm_port_of, .ifindex_of = ifindex_of, .tap = tap};

	setup(state);
	f = *state;
	w.f = f;
	w.door = mmap(NULL, VB_SHM_SLOTS * sizeof *w.door, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(w.door, MAP_FAILED);
	cfg.lower = f->link;
	cfg.door = w.door;
	cfg.counters[1] = &f->counters;
	cfg.tap_on = &f->tap_on;
	cfg.ctx = f;
	assert_int_equal(vb_shm_open(&w.shm, &cfg), 0);
	f->link = w.shm;
	return 0;
}

static int shm_teardown(void **state)
{
	munmap(w.door, VB_SHM_SLOTS * sizeof *w.door);
	return teardown(state);
}

#define S(name) cmocka_unit_test_setup_teardown(name, shm_setup, shm_teardown)

/* A packet for @slot. */
static struct vb_tx *add_for(struct fixture *f, uint32_t slot, uint32_t payload_len)
{
	struct vb_tx *tx = add(f, &f->path4, payload_len, 2);

	tx->hdr[7] = (uint8_t)slot;
	return tx;
}

/* The system calls of an engine that sleeps: has the descriptor something? */
static bool is_readable(const struct vb_link *l)
{
	struct pollfd p = {l->ops->fd(l), POLLIN, 0};

	return poll(&p, 1, 0) == 1;
}

static void check_rx(const struct fixture *f, const struct vb_rx *rx, uint32_t k)
{
	const struct vb_tx *tx = &f->batch.pkt[k];
	uint8_t bytes[VB_HDR_MAX + PAYLOAD_MAX + VB_PAD_MAX];

	assert_int_equal(rx->len, vb_tx_wire_len(tx) - VB_ICRC_LEN);
	assert_int_equal(vb_rx_bytes(rx), rx->len);
	vb_rx_copy(rx, bytes);
	assert_memory_equal(bytes, tx->hdr, tx->hdr_len);
	assert_memory_equal(bytes + tx->hdr_len, f->payload + k * PAYLOAD_MAX, tx->payload_len);
	assert_memory_equal(&rx->path->sgid, &tx->path->sgid, 16);
	assert_memory_equal(&rx->path->dgid, &tx->path->dgid, 16);
	assert_int_equal(rx->path->port, 1);
	assert_int_equal(rx->path->traffic_class, tx->path->traffic_class);
	assert_int_equal(rx->path->hop_limit, tx->path->hop_limit ? tx->path->hop_limit : 64);
	assert_int_equal(rx->path->flow_label, tx->path->flow_label);
}

static uint32_t recv_all(struct fixture *f, uint32_t portion)
{
	struct vb_rx rx[VB_TX_BATCH_PKTS];
	uint32_t k = 0, n;

	while ((n = recv_some(f, rx, portion)) != 0)
		for (uint32_t i = 0; i < n; i++)
			check_rx(f, &rx[i], k++);
	return k;
}

/* Everything that a packet carries arrives, and no datagram has left. */
static void send__arrives_by_shared_memory(void **state)
{
	static const uint32_t portions[] = {4, 7, 64};
	struct fixture *f = *state;

	for (uint32_t p = 0; p < 3; p++)
		for (uint32_t hop = 0; hop < 2; hop++) {
			clear(f);
			for (uint32_t k = 0; k < 40; k++)
				add_for(f, SLOT, k * 101 % 4097);
			f->path4.hop_limit = (uint8_t)(hop * 3);
			f->path4.traffic_class = 0xb8 | VB_ECN_CE;
			f->path4.flow_label = 0x12345;
			assert_int_equal(send_all(f), 40);
			assert_true(vb_link_has_packets(f->link));
			assert_int_equal(f->udp->socks.cnt, 0);
			assert_int_equal(recv_all(f, portions[p]), 40);
			assert_false(vb_link_has_packets(f->link));
			assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), 40);
			assert_int_equal(counter(f, VB_COUNTER_port_rcv_packets), 40);
			assert_int_equal(counter(f, VB_COUNTER_port_xmit_data),
					 counter(f, VB_COUNTER_port_rcv_data));
		}
}

/* Slots without this link, and other hosts, get datagrams; the order of each is kept. */
static void send__others_by_udp(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[8];
	uint32_t n = 0, m;

	for (uint32_t k = 0; k < 6; k++)
		add_for(f, k % 2 ? SLOT : OTHER, 300);
	assert_int_equal(send_all(f), 6);
	for (int i = 0; i < 100 && n < 6; i++) {
		m = recv_some(f, rx, 8);
		/* Rings come first. */
		for (uint32_t k = 0; k < m; k++, n++)
			assert_int_equal(rx[k].pkt[11], n < 3 ? 2 * n + 1 : 2 * (n - 3));
	}
	assert_int_equal(n, 6);
	clear(f);
	f->path4.dgid = gid("::ffff:127.0.0.2");
	add_for(f, SLOT, 64);
	assert_int_equal(send_all(f), 1);
	assert_false(vb_link_has_packets(f->link));
}

/* Who sleeps on the descriptor hears of datagrams too. */
static void fd__readable_for_the_link_below(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];

	assert_false(is_readable(f->link));
	add_for(f, OTHER, 300);
	assert_int_equal(send_all(f), 1);
	assert_true(is_readable(f->link));
	assert_int_equal(recv_some(f, rx, 1), 1);
}

/* The tap sees both sides, with an ICRC that is right. */
static void tap__both_sides_with_icrc(void **state)
{
	struct fixture *f = *state;
	uint8_t icrc[VB_ICRC_LEN];

	f->tap_on = 1;
	for (uint32_t k = 0; k < 4; k++)
		add_for(f, SLOT, k * 333);
	assert_int_equal(send_all(f), 4);
	assert_int_equal(recv_all(f, 64), 4);
	assert_int_equal(f->tap_cnt, 8);
	for (uint32_t k = 0; k < 8; k++) {
		const struct vb_udp_tap *t = &f->tap[k];
		const struct vb_tx *tx = &f->batch.pkt[k % 4];
		uint32_t len = vb_tx_wire_len(tx);

		assert_int_equal(t->sent, k < 4);
		assert_int_equal(t->port, 1);
		assert_int_equal(f->tap_len[k], len);
		vb_icrc_finish(vb_icrc_headers(vb_icrc_start(&t->udp, len), f->tap_bytes[k],
					       len - VB_ICRC_LEN),
			       icrc);
		assert_memory_equal(f->tap_bytes[k] + len - VB_ICRC_LEN, icrc, VB_ICRC_LEN);
	}
}

/* What the link below has received it records itself, also later, by its own numbers. */
static void tap__later_of_the_link_below(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];

	vb_shm_of(w.shm)->cfg.tap = NULL;
	f->tap_on = 1;
	w.door[SLOT].token = 0; /* as if nobody shared memory: the packet goes by UDP */
	add_for(f, SLOT, 64);
	vb_shm_tap_later(f->link, true);
	assert_int_equal(send_all(f), 1);
	f->tap_cnt = 0;
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(f->tap_cnt, 0);
	vb_shm_tap_received(f->link, 0, rx, 0);
	assert_int_equal(f->tap_cnt, 1);
	vb_shm_tap_later(f->link, false);
}

/* Who looks all the time is not woken; who sleeps is, once. */
static void doze__woken_once(void **state)
{
	struct fixture *f = *state;

	add_for(f, SLOT, 8);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_all(f, 64), 1);
	assert_false(is_readable(f->link));
	assert_int_equal(send_all(f), 1);
	assert_false(is_readable(f->link));
	/* What was there before shows when asked for. */
	vb_link_doze(f->link, true);
	assert_true(vb_link_has_packets(f->link));
	vb_link_doze(f->link, false);
	assert_int_equal(recv_all(f, 64), 1);

	vb_link_doze(f->link, true);
	assert_false(vb_link_has_packets(f->link));
	assert_false(is_readable(f->link));
	assert_int_equal(send_all(f), 1);
	assert_true(is_readable(f->link));
	assert_int_equal(w.door[SLOT].asleep, 0);
	vb_link_doze(f->link, false);
	assert_false(is_readable(f->link));
	assert_int_equal(recv_all(f, 64), 1);
}

/* Another thread takes a new ring while one sleeps: the knock that it takes away is not missed. */
static void doze__another_takes_the_knock(void **state)
{
	struct fixture *f = *state;

	vb_link_doze(f->link, true);
	add_for(f, SLOT, 8);
	assert_int_equal(send_all(f), 1);
	assert_true(is_readable(f->link));
	assert_int_equal(recv_all(f, 64), 1);
	assert_false(is_readable(f->link));
	assert_int_equal(send_all(f), 1);
	assert_true(is_readable(f->link));
}

/* The other process neither reads nor ends: requests wait, then nobody waits for it. */
static void send__reader_is_stopped(void **state)
{
	struct fixture *f = *state;
	int fd = vb_door_open(&w.door[OTHER].token);
	vb_time now = VB_SEC;
	uint32_t room, sent = 0, n;

	assert_true(fd >= 0);
	for (uint32_t k = 0; k < 16; k++)
		add_for(f, OTHER, 4096);
	assert_true(vb_shm_room(f->link, OTHER, now, &room));
	assert_uint_in_range(room, VB_RING_BYTES / 2, VB_RING_BYTES);
	while ((n = f->link->ops->send(f->link, &f->batch, 0, now)) == 16)
		sent += n;
	sent += n;
	assert_true(sent > VB_RING_BYTES / 4096 - 20);
	assert_true(vb_shm_room(f->link, OTHER, now, &room));
	assert_int_equal(room, 0);
	/* It holds up nobody else for longer than this. */
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 0, now + VB_RING_STUCK_NS), 0);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 0, now + VB_RING_STUCK_NS + 1), 16);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 16);
	assert_true(vb_shm_room(f->link, OTHER, now + VB_RING_STUCK_NS + 1, &room));
	assert_int_equal(room, UINT32_MAX);
	close(fd);
}

/* A door behind which nobody lives: what goes there goes by UDP, where nobody is either. */
static void send__nobody_lives_there(void **state)
{
	struct fixture *f = *state;
	uint32_t room;

	w.door[OTHER].token = 77;
	add_for(f, OTHER, 64);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(f->udp->socks.cnt + f->udp->socks.own[0].is_bound, 0);
	assert_false(vb_shm_room(f->link, OTHER, 0, &room));
	assert_int_equal(w.door[OTHER].knocks, 0);
}

/* A slot's next owner gets a ring of its own, and the last owner's goes away. */
static void send__slot_has_a_new_owner(void **state)
{
	struct fixture *f = *state;
	int fd = vb_door_open(&w.door[OTHER].token), mem_fd;
	struct vb_knock k;

	add_for(f, OTHER, 64);
	assert_int_equal(send_all(f), 1);
	assert_true(vb_door_answer(fd, &k, &mem_fd));
	assert_int_equal(k.kind, VB_KNOCK_RING);
	assert_int_equal(k.slot, SLOT);
	assert_true(mem_fd >= 0);
	close(mem_fd);
	assert_int_equal(send_all(f), 1);
	assert_false(vb_door_answer(fd, &k, &mem_fd));
	close(fd);

	fd = vb_door_open(&w.door[OTHER].token);
	assert_int_equal(send_all(f), 1);
	assert_true(vb_door_answer(fd, &k, &mem_fd));
	assert_int_equal(k.kind, VB_KNOCK_RING);
	close(mem_fd);
	/* Its owner ends: nothing more is kept for it. */
	w.door[OTHER].token = 0;
	vb_shm_sweep(f->link);
	close(fd);
	fd = vb_door_open(&w.door[OTHER].token);
	assert_int_equal(send_all(f), 1);
	assert_true(vb_door_answer(fd, &k, &mem_fd));
	close(mem_fd);
	close(fd);
}

/* What a process sent before it ended is still received; then its ring is given up. */
static void recv__sender_is_gone(void **state)
{
	struct fixture *f = *state;
	uint64_t token = w.door[SLOT].token;

	add_for(f, SLOT, 600);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_all(f, 64), 1);
	assert_int_equal(send_all(f), 1);
	w.door[SLOT].token = 0;
	vb_shm_sweep(f->link);
	assert_int_equal(recv_all(f, 64), 1);
	vb_shm_sweep(f->link);
	w.door[SLOT].token = token;
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_all(f, 64), 1);
}

/* Knocks without a ring, with something else than a ring, with rubbish. */
static void door__rubbish_is_thrown_away(void **state)
{
	struct fixture *f = *state;
	uint64_t token;
	int fd = vb_door_open(&token), rubbish = memfd_create("rubbish", MFD_CLOEXEC);

	assert_int_equal(vb_door_knock(fd, w.door[SLOT].token, VB_KNOCK_RING, OTHER, token, -1), 0);
	assert_int_equal(
	    vb_door_knock(fd, w.door[SLOT].token, VB_KNOCK_RING, OTHER, token, rubbish), 0);
	assert_int_equal(vb_door_knock(fd, w.door[SLOT].token, 99, OTHER, token, rubbish), 0);
	w.door[SLOT].knocks++;
	assert_true(is_readable(f->link));
	assert_int_equal(recv_all(f, 64), 0);
	assert_false(is_readable(f->link));
	add_for(f, SLOT, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_all(f, 64), 1);
	close(rubbish);
	close(fd);
}

/* A knock brings one descriptor, and nothing else of who knocks. */
static void door__knock_brings_one_descriptor(void **state)
{
	uint64_t token, at;
	int fd = vb_door_open(&token), stranger = vb_door_open(&at);
	int mem_fd = memfd_create("ring", MFD_CLOEXEC);
	union {
		char buf[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	char bytes[256];
	struct iovec iov = {bytes, sizeof bytes};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.buf,
			   .msg_controllen = sizeof control.buf};
	uint32_t cnt = 0;

	(void)state;
	assert_int_equal(vb_door_knock(stranger, token, VB_KNOCK_RING, OTHER, at, mem_fd), 0);
	assert_true(recvmsg(fd, &m, MSG_DONTWAIT) > 0);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_type != SCM_RIGHTS)
			continue;
		assert_int_equal(c->cmsg_len, CMSG_LEN(sizeof(int)));
		close(*(int *)(void *)CMSG_DATA(c));
		cnt++;
	}
	assert_int_equal(cnt, 1);
	close(mem_fd);
	close(stranger);
	close(fd);
}

/* The door is full: the packet waits until the ring can be handed in, and is not lost. */
static void send__door_is_full(void **state)
{
	struct fixture *f = *state;
	struct vb_knock k = {0};
	uint64_t token;
	int stranger = vb_door_open(&token), mem_fd = -1;
	int fd = vb_door_open(&w.door[OTHER].token), cnt = 0;

	while (vb_door_knock(stranger, w.door[OTHER].token, VB_KNOCK_WAKE, 9, token, -1) == 0)
		cnt++;
	assert_true(cnt > 0);
	add_for(f, OTHER, 64);
	assert_int_equal(send_all(f), 0);
	while (cnt-- && vb_door_answer(fd, &k, &mem_fd))
		assert_int_equal(k.kind, VB_KNOCK_WAKE);
	assert_int_equal(send_all(f), 1);
	assert_true(vb_door_answer(fd, &k, &mem_fd));
	assert_int_equal(k.kind, VB_KNOCK_RING);
	close(mem_fd);
	close(fd);
	close(stranger);
}

/* A stranger who keeps the queue full has the owner asked to empty it, and costs the ring at worst:
 * packets go by UDP then. */
static void send__door_stays_full(void **state)
{
	struct fixture *f = *state;
	uint64_t token;
	int stranger = vb_door_open(&token), fd = vb_door_open(&w.door[OTHER].token);
	uint32_t room;

	while (vb_door_knock(stranger, w.door[OTHER].token, VB_KNOCK_WAKE, 9, token, -1) == 0)
		;
	add_for(f, OTHER, 64);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 0, VB_SEC), 0);
	assert_true(w.door[OTHER].knocks > 0);
	assert_true(vb_shm_room(f->link, OTHER, VB_SEC, &room));
	(void)f->link->ops->send(f->link, &f->batch, 0, VB_SEC + VB_RING_STUCK_NS + 1);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 0, VB_SEC + VB_RING_STUCK_NS + 2),
			 1);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 0);
	assert_false(vb_shm_room(f->link, OTHER, VB_SEC, &room));
	close(fd);
	close(stranger);
}

/* A ring of which the peer says that it is full of trains for an address that is not here, and will
 * ever be: the reader is done with it in a step. */
static void recv__ring_without_end(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[VB_TX_BATCH_PKTS];
	uint64_t token;
	int fd = vb_door_open(&token),
	    mem_fd = vb_memory_create(VB_MEMORY_RING, VB_RING_HEAD_BYTES + VB_RING_BYTES);
	struct vb_ring_way way = {.path = f->path4, .ifindex = 1};
	struct vb_ring_tx ring = {.mem = NULL};
	void *mem;
	uint32_t recvs = 0, len = 0;

	assert_int_equal(vb_memory_map_ring(mem_fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem), 0);
	ring.mem = mem;
	memset(way.path.dgid.b, 0x33, sizeof way.path.dgid.b);
	add_for(f, SLOT, 20);
	/* As one who need not wait for the reader: trains of equal length, all around. */
	do {
		ring.taken = ring.head;
		assert_int_equal(vb_ring_put(&ring, &way, f->batch.pkt, 1, 0), 1);
		len = len ? len : (uint32_t)ring.head;
	} while (ring.head < VB_RING_BYTES);
	assert_int_equal(ring.head, VB_RING_BYTES);
	memcpy(ring.mem + VB_RING_HEAD_BYTES, &len, sizeof len);
	assert_int_equal(vb_door_knock(fd, w.door[SLOT].token, VB_KNOCK_RING, OTHER, token, mem_fd),
			 0);
	w.door[SLOT].knocks++;
	assert_int_equal(recv_some(f, rx, 64), 0);
	assert_true(vb_link_has_packets(f->link)); /* it has not looked at them all */
	/* What is for us gets its turn, whatever that one does. */
	assert_int_equal(send_all(f), 1);
	while (recv_some(f, rx, 64) == 0)
		assert_uint_in_range(++recvs, 1, 4);
	vb_memory_unmap(mem, VB_RING_MAP_BYTES);
	close(mem_fd);
	close(fd);
}

static uint32_t open_fds_of_this_process(void)
{
	uint32_t cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

/* More descriptors than anybody asked for are not kept: a stranger could use up all there are. */
static void door__descriptors_without_need(void **state)
{
	struct fixture *f = *state;
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	uint64_t token;
	int fd = vb_door_open(&token), two[2] = {fd, fd};
	struct vb_knock k = {.magic = KNOCK_MAGIC, .kind = VB_KNOCK_RING, .slot = OTHER};
	struct iovec iov = {&k, sizeof k};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int len = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "verbena/shm/%016llx",
			   (unsigned long long)w.door[SLOT].token);
	struct msghdr m = {
	    .msg_name = &a,
	    .msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len),
	    .msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = control.buf,
	    .msg_controllen = sizeof control.buf};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	uint32_t before = open_fds_of_this_process();

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof two);
	memcpy(CMSG_DATA(c), two, sizeof two);
	for (uint32_t i = 0; i < 5; i++) {
		k.magic = KNOCK_MAGIC + i % 2; /* and none with what is no knock at all */
		assert_int_equal(sendmsg(fd, &m, 0), sizeof k);
		w.door[SLOT].knocks++;
		assert_int_equal(recv_all(f, 64), 0);
	}
	assert_int_equal(open_fds_of_this_process(), before);
	close(fd);
}

/* A packet that is to be damaged leaves its ring to the others, and goes by the wire; the tap sees
 * each with the mark of its own fate. */
static void send__damaged_between_others(void **state)
{
	struct fixture *f = *state;
	struct vb_tx_fate fate[4] = {
	    {.mark = 1}, {.mark = 2}, {.mark = 4, .damage = 1}, {.mark = 8}};
	uint32_t n = 0;

	for (uint32_t k = 0; k < 4; k++)
		add_for(f, SLOT, 300);
	f->batch.fate = fate;
	f->tap_on = 1;
	assert_int_equal(send_all(f), 4);
	assert_int_equal(f->tap_cnt, 4);
	for (uint32_t k = 0; k < 4; k++)
		assert_int_equal(f->tap[k].mark, fate[k].mark);
	for (int i = 0; i < 100; i++) {
		struct vb_rx rx[8];

		n += recv_some(f, rx, 8);
	}
	assert_int_equal(n, 3);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 1);
	f->batch.fate = NULL;
}

/* Faults stand above, and what they damage is damaged on a real wire. */
static void fault__stands_above(void **state)
{
	struct fixture *f = *state;
	struct vb_fault_link_config cfg = {.lower = f->link,
					   .counters = {NULL, &f->counters},
					   .tap = tap,
					   .tap_on = &f->tap_on,
					   .ctx = f};
	struct vb_fault_spec spec;
	struct vb_fault_error err;
	struct vb_rx rx[16];
	uint32_t n = 0;

	assert_int_equal(vb_fault_parse("loss=1:dir=tx:nth=1,corrupt=1:dir=tx:nth=2,reorder=1/10us:"
					"dir=rx:nth=3",
					&spec, &err),
			 0);
	assert_int_equal(vb_fault_link_open(&f->link, &cfg), 0);
	assert_int_equal(vb_fault_link_set(f->link, 1, &spec, 7, 0), 0);
	f->tap_on = 1;
	for (uint32_t k = 0; k < 6; k++)
		add_for(f, SLOT, 3000);
	assert_int_equal(send_all(f), 6);
	for (int i = 0; i < 20; i++) {
		uint32_t m = f->link->ops->recv(f->link, rx, 16, (vb_time)i * VB_USEC);

		for (uint32_t k = 0; k < m; k++)
			check_rx(f, &rx[k], (const uint8_t[]){2, 3, 5, 4}[n++]);
	}
	assert_int_equal(n, 4);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 1);
	assert_int_equal(f->tap_cnt, 6 + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    S(send__arrives_by_shared_memory),
	    S(send__others_by_udp),
	    S(fd__readable_for_the_link_below),
	    S(tap__both_sides_with_icrc),
	    S(tap__later_of_the_link_below),
	    S(doze__woken_once),
	    S(doze__another_takes_the_knock),
	    S(send__reader_is_stopped),
	    S(send__nobody_lives_there),
	    S(send__slot_has_a_new_owner),
	    S(recv__sender_is_gone),
	    S(door__rubbish_is_thrown_away),
	    S(door__knock_brings_one_descriptor),
	    S(send__door_is_full),
	    S(send__door_stays_full),
	    S(recv__ring_without_end),
	    S(door__descriptors_without_need),
	    S(send__damaged_between_others),
	    S(fault__stands_above),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
