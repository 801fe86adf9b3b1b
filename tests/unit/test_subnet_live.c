/* SPDX-License-Identifier: BSD-2-Clause */
/* A fabric in real time, turn by turn: packets of programs through its process, what programs say
 * of themselves, programs that end, and settings of managers. node/subnet/live/live.h; LNK-03,
 * LNK-21, LNK-37, LNK-38, FAB-45 to FAB-48 */
#include "subnet_program_env.h"

#include "link/shm/carrier.h"
#include "node/subnet/live/live.h"
#include "node/subnet/path/path.h"

#include <sched.h>
#include <time.h>

#define TURNS_MAX 2000000

static int setup(void **state)
{
	fabric_begin(state);
	vb_subnet_daemon_set_real_time(fabric, 1);
	fabric_configure();
	return 0;
}

/* Turns until @to has received @cnt packets, whose PSNs count on from @first. */
static void packets_await(const struct program *to, uint32_t first, uint32_t cnt)
{
	struct vb_rx rx[16];
	uint32_t got = 0;

	for (uint32_t i = 0; got < cnt; i++) {
		uint32_t n;

		assert_true(i < TURNS_MAX);
		vb_subnet_live_step(fabric);
		n = to->link->ops->recv(to->link, rx, 16, vb_clock_now());
		for (uint32_t k = 0; k < n; k++, got++) {
			assert_int_equal(rx[k].len, VB_BTH_LEN + PAYLOAD);
			assert_int_equal(be32_get(rx[k].pkt + 8), first + got);
			assert_int_equal(rx[k].path->port, to->port);
		}
		if (n == 0)
			sched_yield();
	}
}

/* Turns until the fabric is empty; @to hears nothing meanwhile. */
static void silence_await(const struct program *to)
{
	struct vb_rx rx[1];

	for (uint32_t i = 0; i < TURNS_MAX; i++) {
		vb_subnet_live_step(fabric);
		assert_int_equal(to->link->ops->recv(to->link, rx, 1, vb_clock_now()), 0);
		if (!fabric->live->is_busy && vb_ib_net_due(&fabric->live->net) == VB_NEVER)
			break;
	}
	assert_int_equal(fabric->live->net.pool.used, 0);
}

static struct vb_ib_counters counted(uint32_t node, uint8_t port)
{
	vb_subnet_count(fabric, node);
	return link_of(node, port)->counters;
}

/* Packets of a program pass the ports on their way, which count them, and arrive whole and in their
 * order. LNK-38 */
static void packets__pass_the_fabric(void **state)
{
	struct program a, b;
	uint32_t number = 0;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	program_begin(&b, "H-B", HOST_B, 2);
	assert_int_equal(fabric->adapter->map->carrier, VB_IB_CARRIER);
	for (int i = 0; i < 10; i++, number += 20) {
		for (uint32_t k = 0; k < 20; k++)
			(void)packet_add(&a, &b, number + k);
		batch_send(&a);
		packets_await(&b, number, 20);
	}
	silence_await(&b);
	assert_int_equal(counted(HOST_A, 1).xmit_packets, 200);
	assert_int_equal(counted(SWITCH_A, 1).rcv_packets, 200);
	assert_int_equal(counted(SWITCH_A, 2).xmit_packets, 200);
	assert_int_equal(counted(SWITCH_B, 1).xmit_packets, 200);
	assert_int_equal(counted(HOST_B, 2).rcv_packets, 200);
	assert_int_equal(counted(HOST_B, 2).rcv_data, 200 * (8 + 12 + PAYLOAD + 4) / 4);
	/* Once. */
	assert_int_equal(counted(HOST_B, 2).rcv_packets, 200);
	program_end(&a);
	program_end(&b);
}

/* A packet to the own port does not leave it, and needs nobody to carry it. */
static void packets__to_the_own_port_stay(void **state)
{
	struct program a;
	struct vb_rx rx[1];

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	vb_subnet_map_follow(fabric, HOST_A);
	(void)packet_add(&a, &a, 7);
	batch_send(&a);
	assert_int_equal(a.link->ops->recv(a.link, rx, 1, vb_clock_now()), 1);
	assert_int_equal(be32_get(rx[0].pkt + 8), 7);
	program_end(&a);
}

/* A program's word about itself is not believed: a LID that its port has not, an opcode that nobody
 * knows; a packet for a program elsewhere ends where it arrives. LNK-03 */
static void programs__are_not_believed(void **state)
{
	struct program a, b;
	uint64_t discards;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	program_begin(&b, "H-B", HOST_B, 2);
	discards = counted(HOST_A, 1).xmit_discards;
	a.path.slid = LID(HOST_B);
	(void)packet_add(&a, &b, 1);
	batch_send(&a);
	silence_await(&b);
	assert_int_equal(counted(HOST_A, 1).xmit_discards, discards + 1);
	a.path.slid = LID(HOST_A);
	packet_add(&a, &b, 2)->hdr[0] = 0xff;
	batch.pkt[0].payload_len = batch.seg[0].len = 64;
	batch_send(&a);
	silence_await(&b);
	assert_int_equal(counted(HOST_A, 1).xmit_discards, discards + 2);
	packet_add(&a, &b, 3)->hdr[7] = (uint8_t)a.slot;
	batch_send(&a);
	silence_await(&b);
	/* Port 2 is not in use, and 9 does not exist. */
	for (uint8_t port = 0; port <= 9; port++) {
		if (port == 1)
			continue;
		(void)packet_add(&a, &b, 4);
		assert_int_equal(vb_link_copy(a.link->lower, &batch, 0, 1,
					      (struct vb_link_copy){VB_IB_CARRIER, port},
					      vb_clock_now()),
				 1);
		batch.cnt = 0;
		silence_await(&b);
	}
	/* The rings are whole. */
	(void)packet_add(&a, &b, 6);
	batch_send(&a);
	packets_await(&b, 6, 1);
	program_end(&a);
	program_end(&b);
}

/* Packets that a program has sent arrive though it has ended meanwhile, as the last acknowledgement
 * has to; the next program in its slot is another one. Packets on their way to a program that ends
 * are dropped. LNK-21 */
static void programs__end_with_packets_in_flight(void **state)
{
	struct program a, b, c;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	program_begin(&b, "H-B", HOST_B, 2);
	for (uint32_t k = 0; k < 40; k++)
		(void)packet_add(&a, &b, k);
	batch_send(&a);
	close(a.sock);
	fabric_turn();
	program_begin(&c, "H-B", HOST_B, 2);
	assert_int_equal(c.slot, a.slot);
	packets_await(&b, 0, 40);
	a.link->ops->close(a.link);
	for (uint32_t i = 0; fabric->live->net.pool.used || i < 1000; i++) {
		assert_true(i < TURNS_MAX);
		vb_subnet_live_step(fabric);
	}
	/* The receiver ends, too. */
	for (uint32_t k = 0; k < 40; k++)
		(void)packet_add(&c, &b, k);
	batch_send(&c);
	program_end(&b);
	for (uint32_t i = 0; fabric->live->net.pool.used || i < 1000; i++) {
		assert_true(i < TURNS_MAX);
		vb_subnet_live_step(fabric);
	}
	program_begin(&a, "H-A", HOST_A, 1);
	(void)packet_add(&a, &c, 1);
	batch_send(&a);
	packets_await(&c, 1, 1);
	program_end(&a);
	program_end(&c);
}

/* LNK-37, FAB-36: a port of a switch bars a P_Key, which its counter and a trap tell. */
static void settings__bar_partitions(void **state)
{
	struct program a, b;
	struct vb_sma_port *s = vb_subnet_sma_port(&fabric->subnet, place(SWITCH_A, 1));
	const struct vb_pma_port *pma = &fabric->subnet.node[SWITCH_A].pma.port[1];

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	program_begin(&b, "H-B", HOST_B, 2);
	s->info.enforce_in = 1;
	s->pkey[0] = 0x8001;
	vb_subnet_live_follow(fabric, SWITCH_A);
	(void)packet_add(&a, &b, 1);
	batch_send(&a);
	silence_await(&b);
	vb_subnet_count(fabric, SWITCH_A);
	assert_int_equal(pma->rcv_constraint_errors, 1);
	assert_non_null(vb_trap_find(&fabric->subnet.node[SWITCH_A].traps, VB_TRAP_SWITCH_PKEY));
	s->info.enforce_in = 0;
	vb_subnet_live_follow(fabric, SWITCH_A);
	(void)packet_add(&a, &b, 2);
	batch_send(&a);
	packets_await(&b, 2, 1);
	program_end(&a);
	program_end(&b);
}

/* FAB-45, FAB-46, FAB-48: settings of congestion control as they are meant; a port's own before
 * those of its switch. Events come into the logs. */
static void settings__of_congestion_control(void **state)
{
	struct vb_cca_node *sw = &fabric->subnet.node[SWITCH_A].cca;
	struct vb_cca_node *ca = &fabric->subnet.node[HOST_A].cca;
	const struct vb_cct_level *level;
	struct vb_ib_congestion *marks;
	struct vb_ib_hca *hca;
	struct program a;
	uint32_t first;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	first = vb_subnet_map_port(fabric->adapter, place(SWITCH_A, 1));
	marks = &fabric->live->marks[first];
	assert_int_equal(marks[0].threshold, 0);
	sw->sw.threshold = 15;
	sw->sw.packet_size = 8;
	sw->sw.marking_rate = 3;
	sw->sw.victims[31] = 1 << 2;
	sw->sw_port[2] = (struct vb_ibcc_port_setting){.valid = 1, .threshold = 1};
	sw->sw_port[3] = (struct vb_ibcc_port_setting){.valid = 1, .starves = 1, .threshold = 1};
	vb_subnet_live_follow(fabric, SWITCH_A);
	assert_int_equal(marks[0].threshold, 2048);
	assert_int_equal(marks[0].packet_min, 512);
	assert_int_equal(marks[0].marking_rate, 3);
	assert_false(marks[0].marks_victims);
	assert_int_equal(marks[1].threshold, 30720);
	assert_int_equal(marks[1].packet_min + marks[1].marking_rate, 0);
	assert_true(marks[1].marks_victims);
	assert_int_equal(marks[2].threshold, 2048);

	ca->port[1].limit = 9;
	ca->port[1].entry[9] = 77;
	ca->port[1].ca.level[3] = (struct vb_ibcc_level){5, 2, 4, 20};
	ca->port[1].ca.port_control = VB_IBCC_BY_LEVEL;
	vb_subnet_live_follow(fabric, HOST_A);
	hca = fabric->live->net.port[vb_subnet_map_port(fabric->adapter, place(HOST_A, 1))].hca;
	level = &hca->cct.level[3];
	assert_int_equal(hca->cct.limit, 9);
	assert_int_equal(level->timer, 5 * 1024);
	assert_int_equal(level->increase, 2);
	assert_int_equal(level->trigger, 4);
	assert_int_equal(level->index_min, 20);
	assert_false(hca->cct.by_qp);
	assert_int_equal(hca->cct.entry[9], 77);

	fabric->live->marker[first + 1].marks = 70000;
	fabric->live->marker[first + 1].last[69999 % VB_IB_EVENTS].slid = 0x77;
	hca->source.events = 2;
	hca->source.event_sls = 1 << 3;
	hca->source.last[1].qpn = 0x99;
	vb_subnet_count(fabric, SWITCH_A);
	vb_subnet_count(fabric, HOST_A);
	vb_subnet_count(fabric, HOST_A);
	assert_int_equal(sw->port[0].log.events, UINT16_MAX);
	assert_int_equal(sw->port[0].log.ports[31], 1 << 2);
	assert_int_equal(sw->port[0].log.event[0].slid, 0x77);
	assert_int_equal(ca->port[1].log.events, 2);
	assert_int_equal(ca->port[1].log.levels, 1 << 3);
	assert_int_equal(ca->port[1].log.event[0].qp, 0x99);
	assert_int_equal(ca->port[1].log.event[2].now, 0);
	program_end(&a);
}

/* FAB-45, FAB-47, FAB-48: without PortControl's bit programs have what they need to slow down their
 * QPs, by the clock, and tell of indices that came to their triggers. */
static void settings__of_indices_of_qps(void **state)
{
	struct vb_cca_node *ca = &fabric->subnet.node[HOST_A].cca;
	const struct vb_host_shm *table;
	struct vb_cct_events *events;
	const struct vb_ib_net_port *port;
	const struct vb_ib_hca *hca;
	struct program a;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	fabric->live->scale = 10;
	table = &seat_at(HOST_A)->host->host;
	ca->port[1].limit = 9;
	ca->port[1].entry[9] = 77;
	ca->port[1].ca.level[3] = (struct vb_ibcc_level){5, 2, 4, 20};
	vb_subnet_adapter_follow(fabric, HOST_A);
	port = &fabric->live->net.port[vb_subnet_map_port(fabric->adapter, place(HOST_A, 1))];
	hca = port->hca;
	assert_true(hca->cct.by_qp && table->device[0].cct.table.by_qp);
	assert_int_equal(table->device[0].cct.table.entry[9], 77);
	assert_int_equal(table->device[0].cct.table.level[3].timer, 5 * 1024 * 10);
	assert_true(table->device[0].cct.rate_bps == port->line->rate_bps / 10);
	ca->port[1].ca.port_control = VB_IBCC_BY_LEVEL;
	vb_subnet_adapter_follow(fabric, HOST_A);
	assert_false(hca->cct.by_qp || table->device[0].cct.table.by_qp);

	events = &fabric->adapter->slot[a.slot].shm->cct_events[1];
	events->cnt = 70000;
	events->last[69999 % VB_CCT_EVENTS] = (struct vb_cct_event){
	    .qpn = 0xff000099, .remote_qpn = 0x77, .lid = 5, .sl = 0xf3, .service = 0xf1};
	vb_subnet_count(fabric, HOST_A);
	vb_subnet_count(fabric, HOST_A);
	assert_int_equal(ca->port[1].log.events, UINT16_MAX);
	assert_int_equal(ca->port[1].log.levels, 1 << 3 | 1);
	assert_int_equal(ca->port[1].log.event[0].qp, 0x99);
	assert_int_equal(ca->port[1].log.event[0].remote_qp, 0x77);
	assert_int_equal(ca->port[1].log.event[0].slid, 5);
	assert_int_equal(ca->port[1].log.event[0].sl, 3);
	assert_int_equal(ca->port[1].log.event[0].service, 1);
	assert_true(hca->has_qp(hca->ctx, hca, a.slot | 0x100));
	assert_false(hca->has_qp(hca->ctx, hca, (a.slot + 1) | 0x100));
	program_end(&a);
	assert_false(hca->has_qp(hca->ctx, hca, a.slot | 0x100));
}

/* The lifetime that a manager gives a switch holds at its ports: LNK-29 */
static void settings__of_lifetimes(void **state)
{
	struct vb_switch_info *sw = &fabric->subnet.node[SWITCH_A].sma.sw;
	struct program a;
	const struct vb_ib_port_config *c;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	c = &fabric->live->net.end[vb_subnet_map_port(fabric->adapter, place(SWITCH_A, 1))]
		 .port.config;
	assert_int_equal(c->lifetime, UINT64_C(4096) << 19);
	sw->life_time = 18;
	vb_subnet_live_follow(fabric, SWITCH_A);
	assert_int_equal(c->lifetime, UINT64_C(4096) << 18);
	sw->life_time = 20;
	vb_subnet_live_follow(fabric, SWITCH_A);
	assert_int_equal(c->lifetime, 0);
	program_end(&a);
}

/* A link that trains again at another speed is as fast as it says; XmitWait that is not over yet
 * counts as well. LNK-35, LNK-38 */
static void settings__of_links(void **state)
{
	struct program a;
	uint32_t number;
	struct vb_ib_net_port *p;
	struct vb_ib_port *port;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	number = vb_subnet_map_port(fabric->adapter, place(HOST_A, 1));
	p = &fabric->live->net.port[number];
	port = &fabric->live->net.end[number].port;
	assert_int_equal(p->line->rate_bps, vb_ib_payload_bps(VB_IB_EDR, VB_IB_4X));
	assert_int_equal(port->state, VB_LINK_ACTIVE);
	assert_int_equal(vb_subnet_limit(&fabric->subnet, place(HOST_A, 1),
					 &(struct vb_subnet_limits){VB_IB_QDR, VB_IB_1X}, 0),
			 0);
	vb_subnet_live_follow(fabric, HOST_A);
	vb_subnet_live_follow(fabric, SWITCH_A);
	assert_int_equal(p->line->rate_bps, vb_ib_payload_bps(VB_IB_QDR, VB_IB_1X));
	assert_int_equal(port->state, VB_LINK_INIT);
	port->waits_since = fabric->live->net.now;
	fabric->live->net.now += 1000;
	assert_int_equal(counted(HOST_A, 1).xmit_wait_ns, 1000);
	port->waits_since = VB_NEVER;
	assert_int_equal(counted(HOST_A, 1).xmit_wait_ns, 1000);
	program_end(&a);
}

/* A link that was down has lost its packets once, and loses none when a setting changes later. */
static void settings__after_a_link_was_down(void **state)
{
	struct program a, b;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	program_begin(&b, "H-B", HOST_B, 2);
	silence_await(&b);
	link_of(HOST_A, 1)->counters.link_downed++;
	vb_subnet_live_follow(fabric, HOST_A);
	silence_await(&b);
	(void)packet_add(&a, &b, 0);
	batch_send(&a);
	packets_await(&b, 0, 1);
	for (uint32_t k = 1; k < 9; k++)
		(void)packet_add(&a, &b, k);
	batch_send(&a);
	assert_true(vb_subnet_live_send(fabric, vb_clock_now()));
	vb_subnet_live_follow(fabric, HOST_A);
	packets_await(&b, 1, 8);
	program_end(&a);
	program_end(&b);
}

/* The fabric's process does not wait while packets of a program are there, also not where it has
 * yet to take in the program's ring. */
static void wait__not_with_packets(void **state)
{
	struct program a, b;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	program_begin(&b, "H-B", HOST_B, 2);
	silence_await(&b);
	for (uint32_t i = 0; i < 2; i++) {
		while (vb_subnet_live_wait(fabric, 1000) == 0)
			vb_subnet_live_step(fabric);
		assert_false(vb_subnet_live_is_sent(fabric->live));
		assert_int_equal(vb_shm_carrier_cnt(fabric->live->link), i);
		(void)packet_add(&a, &b, i);
		batch_send(&a);
		assert_true(vb_subnet_live_is_sent(fabric->live));
		assert_int_equal(vb_subnet_live_wait(fabric, 1000), 0);
		packets_await(&b, i, 1);
		silence_await(&b);
	}
	program_end(&a);
	program_end(&b);
}

/* Time in which the process did not run, though it had to, is lost, and does not pass in the
 * fabric; time in which it had nothing to do passes. */
static void time__of_a_stopped_process_is_lost(void **state)
{
	const struct timespec pause = {.tv_nsec = 30000000};
	struct vb_subnet_live *v;
	struct program a;
	vb_time lost;

	(void)state;
	program_begin(&a, "H-A", HOST_A, 1);
	silence_await(&a);
	v = fabric->live;
	lost = v->lost;
	nanosleep(&pause, NULL);
	vb_subnet_live_step(fabric);
	assert_true(v->lost - lost >= 29 * VB_MSEC);
	while (vb_subnet_live_wait(fabric, 1000) == 0)
		vb_subnet_live_step(fabric);
	assert_int_equal(v->awake_at, VB_NEVER);
	lost = v->lost;
	nanosleep(&pause, NULL);
	vb_subnet_live_step(fabric);
	assert_int_equal(v->lost, lost);
	program_end(&a);
}

/* A lane whose credits do not come back is seen on the way, with what waits in it and since when.
 * LNK-26 */
static void lane__without_credits_is_explained(void **state)
{
	static struct vb_path_view view;
	static struct vb_explanation why;
	const struct vb_subnet_question q = {
	    .from = {HOST_A, 1}, .to = {HOST_B, 2}, .has_to = true};
	const struct timespec pause = {.tv_nsec = 30000000};
	struct vb_credit_tx *credit;
	struct program a, b;
	uint16_t limit;

	(void)state;
	link_of(SWITCH_B, 1)->config.hoq_life = VB_HOQ_LIFE_MAX + 1; /* for ever */
	program_begin(&a, "H-A", HOST_A, 1);
	program_begin(&b, "H-B", HOST_B, 2);
	credit = &fabric->live->net.end[vb_subnet_map_port(fabric->adapter, place(SWITCH_B, 1))]
		      .port.lane[0]
		      .tx;
	/* All that the ends of the links have to tell is told. */
	(void)packet_add(&a, &b, 0);
	batch_send(&a);
	packets_await(&b, 0, 1);
	silence_await(&b);
	limit = credit->fccl;
	credit->fccl = credit->fctbs;
	for (uint32_t k = 1; k < 5; k++)
		(void)packet_add(&a, &b, k);
	batch_send(&a);
	for (int i = 0; i < TURNS_MAX && view.hop[2].waiting < 4 * PAYLOAD; i++)
		vb_subnet_path_view(fabric, &q, &view);
	assert_int_equal(view.end, VB_PATH_ARRIVES);
	assert_int_equal(view.hop_cnt, 3);
	assert_true(view.hop[2].waiting >= 4 * PAYLOAD);
	assert_int_equal(view.hop[1].stalled, 0);
	/* It sleeps until something happens, so that time goes on. */
	while (vb_subnet_live_wait(fabric, 1) == 0)
		vb_subnet_live_step(fabric);
	nanosleep(&pause, NULL);
	vb_subnet_path_view(fabric, &q, &view);
	vb_path_explain(&view, &why);
	assert_string_equal(why.cause, "credits");
	assert_int_equal(why.rank, VB_RANK_STUCK);
	assert_non_null(strstr(why.what.text[0], "Lane 0 of port 1 of S-B has had no credits for"));
	assert_true(view.hop[2].out.counter[VB_PMA_XMIT_WAIT] > 0);
	credit->fccl = limit;
	/* The port looks again when something comes. */
	(void)packet_add(&a, &b, 5);
	batch_send(&a);
	packets_await(&b, 1, 5);
	vb_subnet_path_view(fabric, &q, &view);
	vb_path_explain(&view, &why);
	assert_string_equal(why.cause, "well");
	assert_int_equal(view.hop[2].waiting, 0);
	program_end(&a);
	program_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(packets__pass_the_fabric, setup, fabric_end),
	    cmocka_unit_test_setup_teardown(packets__to_the_own_port_stay, setup, fabric_end),
	    cmocka_unit_test_setup_teardown(programs__are_not_believed, setup, fabric_end),
	    cmocka_unit_test_setup_teardown(programs__end_with_packets_in_flight, setup,
					    fabric_end),
	    cmocka_unit_test_setup_teardown(settings__bar_partitions, setup, fabric_end),
	    cmocka_unit_test_setup_teardown(settings__of_congestion_control, setup, fabric_end),
	    cmocka_unit_test_setup_teardown(settings__of_indices_of_qps, setup, fabric_end),
	    cmocka_unit_test_setup_teardown(settings__of_lifetimes, setup, fabric_end),
	    cmocka_unit_test_setup_teardown(settings__of_links, setup, fabric_end),
	    cmocka_unit_test_setup_teardown(settings__after_a_link_was_down, setup, fabric_end),
	    cmocka_unit_test_setup_teardown(lane__without_credits_is_explained, setup, fabric_end),
	    cmocka_unit_test_setup_teardown(wait__not_with_packets, setup, fabric_end),
	    cmocka_unit_test_setup_teardown(time__of_a_stopped_process_is_lost, setup, fabric_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
