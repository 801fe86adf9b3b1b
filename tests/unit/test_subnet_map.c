/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map that a fabric's process makes for the programs at its nodes: all of each table, and no
 * more; the states of links. And the device table of a node. link/ib/map.h; LNK-30, FAB-01, FAB-02
 */
#include "subnet_process_env.h"

#include "link/ib/map.h"
#include "link/memory.h"
#include "wire/ib/rate.h"

#include <sys/resource.h>

static int sock; /* of a program that has the adapter */

static int map_begin(void **state)
{
	(void)fabric_begin(state);
	sock = fabric_attach("H-A");
	assert_int_equal(fabric_ask(sock, VB_SUBNET_ADAPTER, "me", NULL), 0);
	return 0;
}

static int map_end(void **state)
{
	close(sock);
	return fabric_end(state);
}

static struct vb_ib_map *the_map(void)
{
	return fabric->adapter->map;
}

static struct vb_ib_map_port *map_port(uint32_t node, uint8_t port)
{
	return &vb_ib_map_ports(the_map())[vb_subnet_map_port(fabric->adapter, place(node, port))];
}

/* Data is sent by a link that is active, and received by one that is armed as well. LNK-30 */
static void ports__carry_data_by_their_state(void **state)
{
	(void)state;
	for (int s = VB_LINK_DOWN; s <= VB_LINK_ACT_DEFER; s++) {
		link_of(HOST_A, 1)->state = s;
		vb_subnet_map_follow(fabric, HOST_A);
		assert_int_equal(map_port(HOST_A, 1)->may_send, s == VB_LINK_ACTIVE);
		assert_int_equal(map_port(HOST_A, 1)->may_receive,
				 s == VB_LINK_ARMED || s == VB_LINK_ACTIVE);
	}
	/* Port 0 of a switch has no link. */
	assert_false(map_port(SWITCH_A, 0)->may_send || map_port(SWITCH_A, 0)->may_receive);
	assert_int_equal(map_port(SWITCH_A, 0)->lane_cnt, 0);
	link_of(HOST_A, 1)->state = VB_LINK_DOWN;
}

/* A switch has a map of lanes for each port where packets come in, 0 to the last, at each port
 * where they leave; an adapter has one. No two share a place. */
static void lanes__are_of_each_pair_of_ports(void **state)
{
	const struct vb_ib_map *m = the_map();
	uint8_t is_used[56] = {0};

	(void)state;
	assert_int_equal(m->lanes_cnt, 2 * 5 * 5 + 2 * 3);
	for (uint32_t node = 0; node < NODES; node++) {
		bool is_switch = node <= SWITCH_B;

		for (uint8_t p = 0; p <= topo.node[node].port_cnt; p++) {
			struct vb_sma_port *s = vb_subnet_sma_port(&fabric->subnet, place(node, p));

			if (p == 0 && !is_switch)
				continue;
			for (uint32_t in = 0; in < (is_switch ? 5u : 1u); in++)
				s->sl2vl[in].vl[15] = (uint8_t)(node * 50 + p * 5u + in + 1);
		}
		vb_subnet_map_follow(fabric, node);
	}
	for (uint32_t node = 0; node < NODES; node++)
		for (uint8_t p = node <= SWITCH_B ? 0 : 1; p <= topo.node[node].port_cnt; p++)
			for (uint32_t in = 0; in < (node <= SWITCH_B ? 5u : 1u); in++) {
				uint32_t at = map_port(node, p)->sl2vl + in;

				assert_true(at < m->lanes_cnt);
				assert_int_equal(is_used[at]++, 0);
				assert_int_equal(vb_ib_map_lanes(m)[at].vl[15],
						 node * 50 + p * 5u + in + 1);
			}
}

/* Of a forwarding table all entries up to its top are there, of a multicast table all that there
 * are; the tables of two switches are two. FAB-01, FAB-02 */
static void tables__are_there_to_their_end(void **state)
{
	struct vb_lid_forward *a = &fabric->subnet.node[SWITCH_A].forward,
			      *b = &fabric->subnet.node[SWITCH_B].forward;
	const struct vb_ib_map_node *n = vb_ib_map_nodes(the_map());

	(void)state;
	a->unicast_top = 0x300;
	a->unicast[0x300] = 3;
	a->unicast[0x301] = 2;
	b->unicast_top = VB_IB_LIDS - 1;
	b->unicast[0x300] = 1;
	b->unicast[VB_IB_LIDS - 1] = 4;
	a->multicast[0].word[0] = 1 << 1;
	a->multicast[VB_IB_MULTICASTS - 1].word[VB_IB_MASK_WORDS - 1] = 1 << 2;
	b->multicast[1].word[0] = 1 << 3;
	for (uint32_t i = 0; i < NODES; i++)
		vb_subnet_map_follow(fabric, i);
	assert_int_equal(n[SWITCH_A].unicast_top, 0x300);
	assert_int_equal(vb_ib_map_lft(the_map(), n[SWITCH_A].lft)[0x300], 3);
	assert_int_not_equal(vb_ib_map_lft(the_map(), n[SWITCH_A].lft)[0x301], 2);
	assert_int_equal(vb_ib_map_lft(the_map(), n[SWITCH_B].lft)[0x300], 1);
	assert_int_equal(vb_ib_map_lft(the_map(), n[SWITCH_B].lft)[VB_IB_LIDS - 1], 4);
	assert_int_equal(vb_ib_map_mft(the_map(), n[SWITCH_A].lft)[0].word[0], 1 << 1);
	assert_int_equal(vb_ib_map_mft(the_map(), n[SWITCH_A].lft)[VB_IB_MULTICASTS - 1]
			     .word[VB_IB_MASK_WORDS - 1],
			 1 << 2);
	assert_int_equal(vb_ib_map_mft(the_map(), n[SWITCH_A].lft)[1].word[0], 0);
	assert_int_equal(vb_ib_map_mft(the_map(), n[SWITCH_B].lft)[1].word[0], 1 << 3);
}

/* The memory that a program can read and must not write ends where the counters begin; the map that
 * it gets is all of it, and is the fabric's own. */
static void map__is_the_memory_that_programs_get(void **state)
{
	struct vb_fds fds = {.cnt = 0};
	int more = fabric_attach("H-B");
	void *p;

	(void)state;
	assert_int_equal(fabric_ask(more, VB_SUBNET_ADAPTER, "me", &fds), 0);
	assert_int_equal(vb_memory_map(fds.fd[VB_SUBNET_MAP], the_map()->size, false, &p), 0);
	assert_memory_equal(p, the_map(), sizeof *the_map());
	assert_true(vb_ib_map_is_whole(p, the_map()->size, (uint64_t)sysconf(_SC_PAGESIZE)));
	vb_memory_unmap(p, the_map()->size);
	vb_fds_close(&fds);
	close(more);
}

/* The memory of a node and that of all nodes say what they are, as a broker's does: to programs,
 * and to `verbena`. */
static void memory__says_what_it_is(void **state)
{
	const struct vb_host_shm *of[] = {&seat_at(HOST_A)->host->host,
					  &fabric->adapter->common->host};
	const struct vb_slot_shm *slot = fabric->adapter->slot[VB_SLOT_FIRST].shm;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(of[i]->magic, VB_SHM_MAGIC);
		assert_int_equal(of[i]->version, VB_SHM_VERSION);
		assert_int_equal(of[i]->broker_pid, getpid());
		assert_int_equal(of[i]->is_open, 1);
		assert_int_equal(of[i]->seq % 2, 0);
	}
	assert_string_equal(of[0]->sysfs_path, seat_at(HOST_A)->root);
	assert_string_equal(of[1]->sysfs_path, "");
	assert_int_equal(slot->magic, VB_SHM_MAGIC);
	assert_int_equal(slot->version, VB_SHM_VERSION);
	/* Registers are as they leave the factory. */
	struct vb_reg_file fresh;

	memset(&fresh, 0, sizeof fresh);
	vb_reg_file_reset(&fresh, 0);
	assert_memory_equal(
	    &vb_adapter_state(&seat_at(HOST_A)->host->adapter)->pf[VB_HCA_PORTS_MAX - 1].reg,
	    &fresh, sizeof fresh);
}

/* A port is up when its link carries data, also while that is to train again; a link that is down
 * shows the best that its port can do. */
static void tables__show_links_up_and_down(void **state)
{
	static struct vb_host_shm table;
	struct vb_port_info *p = info_of(HOST_A, 1);
	const struct vb_device *d = &table.device[0];

	(void)state;
	for (int s = VB_LINK_DOWN; s <= VB_LINK_ACT_DEFER; s++) {
		link_of(HOST_A, 1)->state = s;
		(void)vb_subnet_table_write(fabric, HOST_A, &table);
		assert_int_equal(d->is_up, s >= VB_LINK_ACTIVE);
		assert_int_equal(d->ifindex, 1);
		assert_int_equal(d->ib.state, s);
	}
	link_of(HOST_A, 1)->state = VB_LINK_DOWN;
	p->width_active = 0;
	p->ext_speed_active = 0;
	p->speed_active = 4;
	(void)vb_subnet_table_write(fabric, HOST_A, &table);
	assert_int_equal(d->ib.width, VB_IB_4X);
	assert_int_equal(d->ib.speed, VB_IB_QDR);
	assert_int_equal(d->speed_mbps, 40000);
	p->width_active = VB_IB_1X;
	p->speed_active = 0;
	(void)vb_subnet_table_write(fabric, HOST_A, &table);
	assert_int_equal(d->ib.width, VB_IB_1X);
	assert_int_equal(d->ib.speed, VB_IB_SDR);
	assert_int_equal(d->speed_mbps, 2500);
	p->ext_speed_active = vb_ib_speed_row(VB_IB_XDR)->port_info_ext;
	(void)vb_subnet_table_write(fabric, HOST_A, &table);
	assert_int_equal(d->ib.speed, VB_IB_XDR);
	assert_int_equal(table.seq % 2, 0);
	/* A GID that a port no longer has leaves the table. */
	vb_subnet_sma_port(&fabric->subnet, place(HOST_A, 1))->guid[1] = 0x77;
	(void)vb_subnet_table_write(fabric, HOST_A, &table);
	assert_int_equal(d->gid[1].type, VB_GID_IB);
	vb_subnet_sma_port(&fabric->subnet, place(HOST_A, 1))->guid[1] = 0;
	assert_true(vb_subnet_table_write(fabric, HOST_A, &table));
	assert_int_equal(d->gid[1].type, VB_GID_NONE);
}

/* A process that leaves its slot leaves no QP of its own in the index of all nodes' QPs. */
static void slots__forget_their_qps(void **state)
{
	uint32_t *qp = fabric->adapter->common->qp_index;

	(void)state;
	qp[0] = 0x1200 | VB_SLOT_FIRST;
	qp[1] = 0x1200 | (VB_SLOT_FIRST + 1);
	qp[VB_CSR_QPS - 1] = 0x3400 | VB_SLOT_FIRST;
	close(sock);
	fabric_turn();
	assert_int_equal(qp[0], 0);
	assert_int_equal(qp[1], 0x1200 | (VB_SLOT_FIRST + 1));
	assert_int_equal(qp[VB_CSR_QPS - 1], 0);
	sock = fabric_attach("H-A");
}

/* Only programs with the adapter are told of changes: to others each message is an answer. */
static void changes__are_told_to_those_with_the_adapter(void **state)
{
	int other = fabric_attach("H-A");
	uint32_t word = 0;

	(void)state;
	info_of(HOST_A, 1)->lid = 0x33;
	vb_subnet_adapter_follow(fabric, HOST_A);
	assert_int_equal(recv(other, &word, sizeof word, MSG_DONTWAIT), -1);
	assert_int_equal(recv(sock, &word, sizeof word, MSG_DONTWAIT), sizeof word);
	assert_int_equal(word, 1);
	assert_int_equal(map_port(HOST_A, 1)->lid, 0x33); /* so is the map */
	close(other);
}

/* A slot that there are no descriptors for is refused, with whose limits they are; nothing of it is
 * taken. */
static void slots__without_descriptors(void **state)
{
	struct vb_subnet_conn other = {.seat = seat_at(HOST_A), .watch = {.fd = -1}};
	struct vb_fds fds = {.cnt = 0};
	struct rlimit was, few;
	int rc;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = 3;
	memset(&answer, 0, sizeof answer);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	rc = vb_subnet_slot_take(fabric, &other, &answer, &fds);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(rc, -EMFILE);
	assert_non_null(strstr(answer.text, "the fabric's process, whose limits are those of the "
					    "shell that started it, cannot make a slot"));
	assert_int_equal(other.slot, 0);
	assert_int_equal(fds.cnt, 0);
	assert_int_equal(fabric->adapter->taken_cnt, 1);
	assert_null(fabric->adapter->slot[VB_SLOT_FIRST + 1].owner);
}

#define M(f) cmocka_unit_test_setup_teardown(f, map_begin, map_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    M(ports__carry_data_by_their_state), M(lanes__are_of_each_pair_of_ports),
	    M(tables__are_there_to_their_end),   M(map__is_the_memory_that_programs_get),
	    M(memory__says_what_it_is),          M(tables__show_links_up_and_down),
	    M(slots__forget_their_qps),          M(changes__are_told_to_those_with_the_adapter),
	    M(slots__without_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
