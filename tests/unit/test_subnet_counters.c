/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of a fabric's ports: each file shows its own, packets of all programs and of all nodes
 * count, and traps say which packet was refused. FAB-36, FAB-37, LNK-38, LNK-39
 */
#include "subnet_process_env.h"

#include "link/ib/route.h"
#include "wire/be.h"
#include "wire/mad/smp.h"

#define PORTS "class/infiniband/verbena0/ports/"

static int adapter_at(const char *node)
{
	int sock = fabric_attach(node);

	assert_int_equal(fabric_ask(sock, VB_SUBNET_ADAPTER, "me", NULL), 0);
	return sock;
}

static const char *counter_file(uint32_t node, unsigned port, const char *name)
{
	char path[96];

	snprintf(path, sizeof path, PORTS "%u/%s", port, name);
	return text_below(seat_at(node)->root, path);
}

/* All files are written by the next turn of the loop. */
static void files_write(void)
{
	fabric->counters_due = 0;
	fabric_turn();
}

/* Each of the 21 files has the counter of its name. IBA 16.1.3.5 */
static void files__show_each_counter(void **state)
{
	static const struct {
		const char *name, *text;
	} files[] = {
	    {"symbol_error", "1\n"},
	    {"link_error_recovery", "2\n"},
	    {"link_downed", "3\n"},
	    {"port_rcv_errors", "4\n"},
	    {"port_rcv_remote_physical_errors", "5\n"},
	    {"port_rcv_switch_relay_errors", "6\n"},
	    {"port_xmit_discards", "7\n"},
	    {"port_xmit_constraint_errors", "8\n"},
	    {"port_rcv_constraint_errors", "9\n"},
	    {"local_link_integrity_errors", "10\n"},
	    {"excessive_buffer_overrun_errors", "11\n"},
	    {"VL15_dropped", "12\n"},
	    {"port_xmit_data", "4294967396\n"},
	    {"port_rcv_data", "4294967397\n"},
	    {"port_xmit_packets", "4294967398\n"},
	    {"port_rcv_packets", "4294967399\n"},
	    {"unicast_xmit_packets", "4294967391\n"},
	    {"unicast_rcv_packets", "4294967391\n"},
	    {"multicast_xmit_packets", "7\n"},
	    {"multicast_rcv_packets", "8\n"},
	};
	struct vb_pma_port *pma = &fabric->subnet.node[HOST_A].pma.port[2];
	struct vb_ib_counters *c = &link_of(HOST_A, 2)->counters;
	int sock = fabric_attach("H-A");
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		snprintf(name, sizeof name, "counters/%s", files[i].name);
		assert_string_equal(counter_file(HOST_A, 2, name), "0\n");
	}
	memset(c, 0, sizeof *c);
	for (unsigned i = 0; i < VB_PMA_ERROR_COUNTERS; i++)
		pma->reported[i] = i + 1;
	c->xmit_data = UINT64_C(4294967396);
	c->rcv_data = UINT64_C(4294967397);
	c->xmit_packets = UINT64_C(4294967398);
	c->rcv_packets = UINT64_C(4294967399);
	pma->multicast_xmit_packets = 7;
	pma->multicast_rcv_packets = 8;
	c->xmit_wait_ns = 1000000;
	files_write();
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		snprintf(name, sizeof name, "counters/%s", files[i].name);
		if (strcmp(counter_file(HOST_A, 2, name), files[i].text) != 0)
			fail_msg("%s is %s", files[i].name, counter_file(HOST_A, 2, name));
	}
	assert_true(strtoull(counter_file(HOST_A, 2, "counters/port_xmit_wait"), NULL, 10) > 0);
	assert_string_equal(counter_file(HOST_A, 1, "counters/symbol_error"), "0\n");
	/* A counter that was set back is shorter. */
	pma->zero[VB_PMA_VL15_DROPPED] = 12;
	files_write();
	assert_string_equal(counter_file(HOST_A, 2, "counters/VL15_dropped"), "0\n");
	close(sock);
}

/* A switch shows port 0, which counts nothing, and has no files of counters. */
static void files__are_of_adapters(void **state)
{
	int sock = fabric_attach("S-A");

	(void)state;
	assert_string_equal(counter_file(SWITCH_A, 0, "counters/symbol_error"), "");
	assert_string_equal(counter_file(SWITCH_A, 0, "cm_tx_msgs/req"), "");
	assert_string_equal(counter_file(SWITCH_A, 1, "counters/symbol_error"), "");
	files_write();
	assert_string_equal(counter_file(SWITCH_A, 0, "counters/symbol_error"), "");
	close(sock);
}

/* The counts from before a program came are in its files at once, and messages of connections come
 * to them as they are counted. LNK-39 */
static void files__show_messages_of_connections(void **state)
{
	struct vb_cm_port_counters *c;
	struct vb_subnet_cm *cm;
	int first, second;

	(void)state;
	first = fabric_attach("H-A");
	assert_string_equal(counter_file(HOST_A, 2, "cm_rx_msgs/rep"), "0\n");
	cm = vb_subnet_cm_at(fabric, HOST_A);
	assert_non_null(cm);
	c = (struct vb_cm_port_counters *)(uintptr_t)vb_ucma_port_counters(cm->host.ucma);
	c[1].tx_msgs[0] = 5;
	c[2].rx_msgs[3] = 6;
	files_write();
	assert_string_equal(counter_file(HOST_A, 1, "cm_tx_msgs/req"), "5\n");
	assert_string_equal(counter_file(HOST_A, 2, "cm_rx_msgs/rep"), "6\n");
	assert_string_equal(counter_file(HOST_A, 1, "cm_rx_msgs/rep"), "0\n");
	close(first);
	fabric_turn();
	assert_null(seat_at(HOST_A));
	fabric->subnet.node[HOST_A].pma.port[1].reported[VB_PMA_RCV_ERRORS] = 4;
	second = fabric_attach("H-A");
	assert_string_equal(counter_file(HOST_A, 1, "cm_tx_msgs/req"), "5\n");
	assert_string_equal(counter_file(HOST_A, 2, "cm_rx_msgs/rep"), "6\n");
	assert_string_equal(counter_file(HOST_A, 1, "counters/port_rcv_errors"), "4\n");
	close(second);
}

/* Files that need no writing leave no descriptor open, nor do those that are written. */
static void files__leave_no_descriptors(void **state)
{
	int sock = fabric_attach("H-A"), before = fd_cnt();

	(void)state;
	for (int i = 0; i < 3; i++) {
		link_of(HOST_A, 1)->counters.xmit_data += (uint64_t)i;
		files_write();
		assert_int_equal(fd_cnt(), before);
	}
	close(sock);
}

/* Once a second the loop counts what the programs of all nodes have sent, at the ports of all
 * nodes, to the last slot and the last port. */
static void counts__are_of_all_programs_and_all_ports(void **state)
{
	int first = adapter_at("H-A"), last;
	struct vb_subnet_adapter *a = fabric->adapter;
	struct vb_subnet_seat nowhere = {.index = NODES};
	struct vb_subnet_conn taken = {.seat = &nowhere};
	struct vb_ib_map_counters *of_port = vb_ib_map_counters(a->map);
	uint32_t to = vb_subnet_map_port(a, place(HOST_B, 2));
	uint64_t before = link_of(HOST_B, 2)->counters.rcv_packets;

	(void)state;
	for (uint32_t k = VB_SLOT_FIRST + 1; k < VB_IB_SLOT_LAST; k++)
		a->slot[k].owner = &taken;
	last = adapter_at("H-B");
	for (uint32_t k = VB_SLOT_FIRST + 1; k < VB_IB_SLOT_LAST; k++)
		a->slot[k].owner = NULL;
	assert_int_equal(answer.token, VB_IB_SLOT_LAST);
	for (uint32_t k = VB_SLOT_FIRST; k <= VB_IB_SLOT_LAST;
	     k += VB_IB_SLOT_LAST - VB_SLOT_FIRST) {
		struct vb_ib_routes *r = vb_ib_map_routes(a->map, k);

		r->route[0] = (struct vb_ib_route){.fate = VB_IB_ARRIVES,
						   .at = to,
						   .hop_cnt = 1,
						   .hop[0] = {.out = VB_IB_NOWHERE, .in = to}};
		vb_ib_route_count(r, &r->route[0], 3, 30);
	}
	of_port[vb_subnet_map_port(a, place(HOST_A, 1))].xmit_data = 7;
	a->due = 0;
	fabric_turn();
	assert_int_equal(link_of(HOST_B, 2)->counters.rcv_packets - before, 6);
	assert_int_equal(link_of(HOST_B, 2)->counters.rcv_data, 60);
	assert_int_equal(link_of(HOST_A, 1)->counters.xmit_data, 7);
	/* Packets that a process sent before it ended count as well, though it had its lock. */
	vb_ib_route_count(vb_ib_map_routes(a->map, VB_IB_SLOT_LAST),
			  &vb_ib_map_routes(a->map, VB_IB_SLOT_LAST)->route[0], 1, 10);
	vb_ib_map_routes(a->map, VB_IB_SLOT_LAST)->lock = 1;
	close(last);
	fabric_turn();
	a->due = 0;
	fabric_turn();
	assert_int_equal(link_of(HOST_B, 2)->counters.rcv_packets - before, 7);
	close(first);
}

/* The performance agent asks for the packets of programs before it answers. */
static void counts__are_asked_for_by_the_agent(void **state)
{
	int sock = adapter_at("H-A");
	struct vb_ib_map_counters *of_port = vb_ib_map_counters(fabric->adapter->map);

	(void)state;
	of_port[vb_subnet_map_port(fabric->adapter, place(HOST_B, 1))].xmit_packets = 9;
	assert_non_null(fabric->subnet.count);
	fabric->subnet.count(fabric->subnet.count_ctx, HOST_B);
	assert_int_equal(link_of(HOST_B, 1)->counters.xmit_packets, 9);
	close(sock);
}

/* The details of trap @trap, which @node sends; NULL: it sends none. */
static const uint8_t *trap_details(uint16_t trap, uint32_t node)
{
	static struct vb_subnet_mad m;
	struct vb_notice n;

	for (int i = 0; i < 100; i++) {
		if (!vb_subnet_poll_trap(&fabric->subnet, &m, vb_clock_now() + (vb_time)i * VB_SEC))
			continue;
		vb_notice_parse(&n, m.mad);
		if (n.trap == trap && m.at.node == node)
			return m.mad + VB_SMP_DATA_AT + VB_NOTICE_DETAILS_AT;
	}
	return NULL;
}

/* A switch tells of the packet that its port barred: LIDs, P_Key, service level and port, whether
 * it barred one that came in or one that was to go out. FAB-36; IBA 14.3.8 */
static void traps__tell_of_what_a_switch_barred(void **state)
{
	int sock;

	(void)state;
	fabric_configure();
	sock = adapter_at("H-A");
	for (int is_out = 0; is_out < 2; is_out++) {
		uint8_t port = is_out ? 2 : 1;
		struct vb_ib_map_counters *c = &vb_ib_map_counters(
		    fabric->adapter
			->map)[vb_subnet_map_port(fabric->adapter, place(SWITCH_A, port))];
		const uint8_t *d;

		*(is_out ? &c->xmit_constraint : &c->rcv_constraint) = 1;
		c->barred = vb_ib_barred(0x1122, 0x3344, 0x8566, 7);
		vb_subnet_count(fabric, SWITCH_A);
		d = trap_details(VB_TRAP_SWITCH_PKEY, SWITCH_A);
		assert_non_null(d);
		assert_int_equal(be16_get(d + 2), 0x1122);
		assert_int_equal(be16_get(d + 4), 0x3344);
		assert_int_equal(be16_get(d + 6), 0x8566);
		assert_int_equal(be32_get(d + 8) >> 28, 7);
		assert_int_equal(d[50], port);
		vb_subnet_count(fabric, SWITCH_A); /* and once only */
		fabric->subnet.node[SWITCH_A].traps = (struct vb_traps){.tid = 1};
	}
	close(sock);
}

/* A host tells of the packet that a QP of a program refused for its key, all of it. FAB-37; IBA
 * 14.3.8 */
static void traps__tell_of_what_a_qp_refused(void **state)
{
	struct vb_bad_key bad = {.key = 0x12345678,
				 .src_qp = 0xff111111,
				 .dst_qp = 0xff222222,
				 .slid = 0x3333,
				 .dlid = 0x4444,
				 .sl = 0xf5,
				 .sgid = {1, [15] = 2},
				 .dgid = {3, [15] = 4}};
	struct vb_slot_shm *shm;
	const uint8_t *d;
	int sock;

	(void)state;
	fabric_configure();
	sock = adapter_at("H-B");
	shm = fabric->adapter->slot[VB_SLOT_FIRST].shm;
	shm->bad_keys[2].qkey = bad;
	shm->counters[2].v[VB_COUNTER_qkey_viol_cntr] = 1;
	vb_subnet_count(fabric, HOST_B);
	d = trap_details(VB_TRAP_QKEY, HOST_B);
	assert_non_null(d);
	assert_int_equal(be16_get(d + 2), 0x3333);
	assert_int_equal(be16_get(d + 4), 0x4444);
	assert_int_equal(be32_get(d + 6), 0x12345678);
	assert_int_equal(be32_get(d + 10), 5u << 28 | 0x111111);
	assert_int_equal(be32_get(d + 14), 0x222222);
	assert_memory_equal(d + 18, bad.sgid, 16);
	assert_memory_equal(d + 34, bad.dgid, 16);
	/* A record that is being written all the time is told of with the next. */
	fabric->subnet.node[HOST_B].traps = (struct vb_traps){.tid = 1};
	shm->bad_keys[2].qkey.seq = 1;
	shm->counters[2].v[VB_COUNTER_qkey_viol_cntr] = 2;
	vb_subnet_count(fabric, HOST_B);
	assert_null(trap_details(VB_TRAP_QKEY, HOST_B));
	assert_int_equal(info_of(HOST_B, 2)->qkey_violations, 2);
	close(sock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(files__show_each_counter),
	    T(files__are_of_adapters),
	    T(files__show_messages_of_connections),
	    T(files__leave_no_descriptors),
	    T(counts__are_of_all_programs_and_all_ports),
	    T(counts__are_asked_for_by_the_agent),
	    T(traps__tell_of_what_a_switch_barred),
	    T(traps__tell_of_what_a_qp_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
