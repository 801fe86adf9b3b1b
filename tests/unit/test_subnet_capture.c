/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures of a fabric in its process, turn by turn: who observes, what is written meanwhile, and
 * that nothing is left on when an observer goes, however it does. node/subnet/capture/capture.h;
 * FAB-12, LNK-13, LNK-16, LNK-38
 */
#include "subnet_program_env.h"

#include "link/ib/capture.h"
#include "link/memory.h"
#include "node/client/ring_reader.h"
#include "node/subnet/capture/capture.h"
#include "node/subnet/capture/observe.h"
#include "node/subnet/live/live.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define TURNS_MAX 2000000
#define PACKETS 40u

static struct vb_ring_reader *reader;
static struct vb_ib_captured captured;

static int setup(void **state)
{
	fabric_begin(state);
	fabric_configure();
	reader = calloc(1, sizeof *reader);
	return reader ? 0 : -1;
}

static int setup_live(void **state)
{
	fabric_begin(state);
	vb_subnet_daemon_set_real_time(fabric, 1);
	fabric_configure();
	reader = calloc(1, sizeof *reader);
	return reader ? 0 : -1;
}

static int teardown(void **state)
{
	free(reader);
	return fabric_end(state);
}

/* A connection that observes, and captures if @on. */
static int observer_begin(bool on)
{
	int sock = fabric_dial();

	assert_int_equal(fabric_ask(sock, VB_SUBNET_OBSERVE, "", NULL), 0);
	assert_int_equal(answer.token, 0);
	call = (struct vb_subnet_call){.op = VB_SUBNET_CAPTURE, .number = on};
	assert_int_equal(fabric_ask_with(sock, -1, NULL), 0);
	return sock;
}

static bool record_next(void)
{
	if (reader->has_rec)
		vb_ring_reader_pop(reader);
	return vb_ring_reader_peek(reader) &&
	       vb_ib_captured_parse(&captured, reader->data, reader->rec.len);
}

/* A MAD from HOST_A to HOST_B. */
static void mad_send(bool on_qp0)
{
	struct vb_subnet_mad m = {.at = place(HOST_A, 1),
				  .on_qp0 = on_qp0,
				  .slid = LID(HOST_A),
				  .dlid = LID(HOST_B),
				  .src_qp = !on_qp0,
				  .dst_qp = !on_qp0,
				  .qkey = on_qp0 ? 0 : VB_MAD_QKEY,
				  .pkey = 0xffff};

	m.mad[0] = 1;
	assert_true(vb_subnet_carry(&fabric->subnet, &m, vb_clock_now()));
}

/* MADs are in the ring of the process at each link that they pass, and nothing is while nobody
 * captures. FAB-12, LNK-13 */
static void mads__at_each_link(void **state)
{
	static const uint32_t from[] = {HOST_A, SWITCH_A, SWITCH_B}, out[] = {1, 2, 1},
			      to[] = {SWITCH_A, SWITCH_B, HOST_B}, in[] = {1, 2, 2};
	int sock = observer_begin(false);

	(void)state;
	vb_ring_reader_init(reader, fabric->capture->ring, true);
	mad_send(true);
	assert_false(record_next());
	close(sock);
	fabric_turn();
	sock = observer_begin(true);
	vb_ring_reader_init(reader, fabric->capture->ring, true);
	for (int on_qp0 = 0; on_qp0 < 2; on_qp0++) {
		mad_send(on_qp0);
		for (uint32_t i = 0; i < 3; i++) {
			uint8_t bytes[VB_IB_CAPTURED_MAX];
			struct vb_subnet_mad m;
			struct vb_ib_hop hop;

			assert_true(record_next());
			assert_int_equal(captured.hop_cnt, 1);
			hop = vb_ib_captured_hop(&captured, 0);
			assert_int_equal(
			    hop.out,
			    vb_subnet_map_port(fabric->adapter, place(from[i], (uint8_t)out[i])));
			assert_int_equal(hop.in, vb_subnet_map_port(fabric->adapter,
								    place(to[i], (uint8_t)in[i])));
			assert_int_equal(hop.vl, on_qp0 ? VB_VL_MGMT : 0);
			assert_int_equal(
			    vb_subnet_mad_parse(&m, bytes,
						vb_ib_captured_emit(&captured, &hop, bytes)),
			    0);
			assert_int_equal(m.on_qp0, on_qp0);
			assert_int_equal(m.vl, hop.vl);
		}
	}
	assert_false(record_next());
	close(sock);
	fabric_turn();
}

/* One that did not come in at the other end left all the same, as both count it. LNK-38 */
static void mads__that_nobody_took(void **state)
{
	struct vb_subnet_mad m = {.at = place(HOST_A, 1),
				  .slid = LID(HOST_A),
				  .dlid = LID(HOST_B),
				  .src_qp = 1,
				  .dst_qp = 1,
				  .pkey = 0xffff};
	int sock = observer_begin(true);

	(void)state;
	vb_ring_reader_init(reader, fabric->capture->ring, true);
	link_of(SWITCH_A, 1)->state = VB_LINK_INIT;
	assert_false(vb_subnet_carry(&fabric->subnet, &m, vb_clock_now()));
	assert_true(record_next());
	assert_int_equal(vb_ib_captured_hop(&captured, 0).in, VB_IB_NOWHERE);
	assert_int_equal(link_of(HOST_A, 1)->counters.xmit_packets, 1);
	assert_int_equal(link_of(SWITCH_A, 1)->counters.rcv_packets, 0);
	/* One that its own port does not let out is not there. */
	link_of(HOST_A, 1)->state = VB_LINK_INIT;
	m.at = place(HOST_A, 1);
	assert_false(vb_subnet_carry(&fabric->subnet, &m, vb_clock_now()));
	assert_false(record_next());
	close(sock);
	fabric_turn();
}

static bool writes(const struct program *p)
{
	return fabric->adapter->slot[p->slot].shm->capture.enabled;
}

/* Programs write as long as one captures, those that come later as well; with the last observer
 * everything is gone, the memory of their rings, too. */
static void observers__come_and_go(void **state)
{
	struct program a, b;
	int one, two, fds = fd_cnt();
	struct stat before, after;
	struct vb_subnet_slot *s;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	assert_false(writes(&a));
	one = observer_begin(true);
	two = observer_begin(true);
	assert_true(writes(&a));
	program_begin(&b, "H-B", HOST_B, 2);
	assert_true(writes(&b));
	s = &fabric->adapter->slot[a.slot];
	memset(s->shm->capture.data, 1, sizeof s->shm->capture.data);
	assert_int_equal(fstat(s->mem_fd, &before), 0);
	/* As the kernel does for one that is killed. */
	close(one);
	fabric_turn();
	assert_true(writes(&a) && writes(&b) && fabric->subnet.seen);
	call = (struct vb_subnet_call){.op = VB_SUBNET_CAPTURE};
	assert_int_equal(fabric_ask_with(two, -1, NULL), 0);
	assert_false(writes(&a) || writes(&b) || fabric->subnet.seen);
	assert_non_null(fabric->capture); /* its ring is still to be read */
	/* Once more is no more. */
	call = (struct vb_subnet_call){.op = VB_SUBNET_CAPTURE};
	assert_int_equal(fabric_ask_with(two, -1, NULL), 0);
	close(two);
	fabric_turn();
	assert_null(fabric->capture);
	assert_int_equal(fstat(s->mem_fd, &after), 0);
	assert_true((before.st_blocks - after.st_blocks) * 512 >=
		    (blkcnt_t)VB_CAPTURE_RING_BYTES - 8192);
	program_end(&a);
	program_end(&b);
	assert_true(fd_cnt() <= fds + 8);
}

/* Slots are told once, and each of them. */
static void observers__learn_of_slots(void **state)
{
	struct program a, b;
	struct vb_fds fds = {.cnt = 0};
	int sock;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	sock = observer_begin(false);
	call = (struct vb_subnet_call){.op = VB_SUBNET_OBSERVE_SLOTS, .len = VB_SUBNET_KNOWN_LEN};
	assert_int_equal(fabric_ask_with(sock, -1, &fds), 0);
	assert_int_equal(answer.len, 1);
	assert_int_equal(fds.cnt, 1);
	assert_int_equal(answer.slots[0], a.slot);
	assert_int_equal(answer.token, 0);
	vb_fds_close(&fds);
	program_begin(&b, "H-B", HOST_B, 2);
	call = (struct vb_subnet_call){.op = VB_SUBNET_OBSERVE_SLOTS, .len = VB_SUBNET_KNOWN_LEN};
	call.body[a.slot / 8] = (uint8_t)(1u << a.slot % 8);
	assert_int_equal(fabric_ask_with(sock, -1, &fds), 0);
	assert_int_equal(answer.len, 1);
	assert_int_equal(answer.slots[0], b.slot);
	vb_fds_close(&fds);
	call.len = 1;
	assert_int_equal(fabric_ask_with(sock, -1, NULL), -EINVAL);
	close(sock);
	program_end(&a);
	program_end(&b);
}

/* Names of nodes, and what is refused. */
static void observers__ask_for_nodes(void **state)
{
	int sock = fabric_dial();
	struct vb_fds fds = {.cnt = 0};
	void *p;

	(void)state;
	call = (struct vb_subnet_call){.op = VB_SUBNET_CAPTURE, .number = 1};
	assert_int_equal(fabric_ask_with(sock, -1, NULL), -EINVAL);
	assert_int_equal(fabric_ask(sock, VB_SUBNET_OBSERVE, "H-C", NULL), -ENOENT);
	assert_non_null(strstr(answer.text, "has no node 'H-C'"));
	assert_null(fabric->capture);
	assert_int_equal(fabric_ask(sock, VB_SUBNET_OBSERVE, "H-B", &fds), 0);
	assert_int_equal(answer.token >> 32, 2);
	assert_int_equal((uint32_t)answer.token,
			 vb_subnet_map_port(fabric->adapter, place(HOST_B, 0)));
	assert_int_equal(fds.cnt, VB_SUBNET_OBSERVED_CNT);
	assert_int_equal(vb_memory_map(fds.fd[VB_SUBNET_NAMES],
				       NODES * sizeof(struct vb_subnet_name), false, &p),
			 0);
	assert_string_equal(((struct vb_subnet_name *)p)[SWITCH_B].text, "S-B");
	vb_memory_unmap(p, NODES * sizeof(struct vb_subnet_name));
	vb_fds_close(&fds);
	assert_int_equal(fabric_ask(sock, VB_SUBNET_OBSERVE, "", NULL), -EBUSY);
	close(sock);
	fabric_turn();
	assert_null(fabric->capture);
}

/* In real time the process writes the frames at each port, with the time of the links, and flow
 * control packets. LNK-16, LNK-38 */
static void frames__in_real_time(void **state)
{
	uint32_t sent = 0, came = 0, flow = 0;
	struct program a, b;
	struct vb_rx rx[4];
	uint64_t begin, first = 0, last = 0;
	struct timespec t;
	int sock;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	program_begin(&b, "H-B", HOST_B, 2);
	sock = observer_begin(true);
	vb_ring_reader_init(reader, fabric->capture->ring, true);
	clock_gettime(CLOCK_REALTIME, &t);
	begin = (uint64_t)t.tv_sec * VB_SEC + (uint64_t)t.tv_nsec;
	for (uint32_t i = 0; i < PACKETS; i++)
		(void)packet_add(&a, &b, i);
	batch_send(&a);
	for (uint32_t i = 0, got = 0; got < PACKETS; i++) {
		assert_true(i < TURNS_MAX);
		vb_subnet_live_step(fabric);
		got += b.link->ops->recv(b.link, rx, 4, vb_clock_now());
		sched_yield();
	}
	for (uint32_t i = 0; i < 1000; i++)
		vb_subnet_live_step(fabric);
	while (record_next()) {
		const struct vb_ib_hop hop = vb_ib_captured_hop(&captured, 0);

		if (vb_ib_captured_is_flow(&captured)) {
			flow++;
			continue;
		}
		assert_int_equal(hop.out == VB_IB_NOWHERE, hop.in != VB_IB_NOWHERE);
		sent += hop.out != VB_IB_NOWHERE;
		came += hop.in != VB_IB_NOWHERE;
		last = reader->rec.time_ns;
		first = first ? first : last;
		assert_int_equal(captured.len, VB_LRH_LEN + VB_BTH_LEN + PAYLOAD + VB_ICRC_LEN);
	}
	assert_int_equal(sent, 3 * PACKETS);
	assert_int_equal(came, 3 * PACKETS);
	assert_true(flow > 0);
	assert_true(first + VB_SEC > begin && last > first && last < begin + 60 * VB_SEC);
	close(sock);
	fabric_turn();
	assert_null(fabric->live->net.tap.seen);
	program_end(&a);
	program_end(&b);
}

#define C(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    C(mads__at_each_link),
	    C(mads__that_nobody_took),
	    C(observers__come_and_go),
	    C(observers__learn_of_slots),
	    C(observers__ask_for_nodes),
	    cmocka_unit_test_setup_teardown(frames__in_real_time, setup_live, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
