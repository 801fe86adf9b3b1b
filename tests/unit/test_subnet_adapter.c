/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapter of the programs at the nodes of a fabric, as its process keeps it: slots, device
 * tables, the map, and counters. node/subnet/adapter/adapter.h; FAB-37, LNK-38, LNK-39 */
#include "subnet_process_env.h"

#include "link/ib/map.h"
#include "wire/ib/rate.h"
#include "wire/mad/smp.h"

#include <sys/mman.h>

/* A program at a node. */
struct program {
	int sock;
	uint32_t slot;
};

static struct program program_at(const char *node)
{
	struct program p = {.sock = fabric_attach(node)};

	assert_int_equal(fabric_ask(p.sock, VB_SUBNET_ADAPTER, "a program of the test", NULL), 0);
	p.slot = (uint32_t)answer.token;
	return p;
}

static void program_end(struct program *p)
{
	close(p->sock);
	fabric_turn();
}

static struct vb_subnet_slot *slot_of(const struct program *p)
{
	return &fabric->adapter->slot[p->slot];
}

static struct vb_ib_routes *routes_of(uint32_t slot)
{
	return vb_ib_map_routes(fabric->adapter->map, slot);
}

/* A slot names its program and its node. */
static void slots__are_of_a_program(void **state)
{
	struct program a = program_at("H-A"), b = program_at("H-B");

	(void)state;
	assert_int_equal(a.slot, VB_SLOT_FIRST);
	assert_int_equal(b.slot, VB_SLOT_FIRST + 1);
	assert_int_equal(slot_of(&a)->shm->pid, getpid());
	assert_int_equal(slot_of(&a)->shm->slot, a.slot);
	assert_string_equal(slot_of(&a)->shm->comm, "a program of th");
	assert_int_equal(routes_of(a.slot)->node, HOST_A);
	assert_int_equal(routes_of(b.slot)->node, HOST_B);
	assert_int_equal(routes_of(VB_SLOT_FIRST + 2)->node, VB_IB_NOWHERE);
	assert_int_equal(routes_of(VB_IB_SLOTS - 1)->node, VB_IB_NOWHERE);
	assert_int_equal(fabric->adapter->taken_cnt, 2);
	assert_true(fabric->adapter->due != VB_NEVER);
	program_end(&a);
	assert_true(fabric->adapter->due != VB_NEVER);
	program_end(&b);
	/* Once more, for what it has sent. */
	assert_true(fabric->adapter->due != VB_NEVER);
	vb_subnet_adapter_step(fabric, fabric->adapter->due);
	assert_true(fabric->adapter->due == VB_NEVER);
}

/* QPNs of the last fabric and of a slot's last owner are not reused. */
static void slots__begin_with_other_qpns(void **state)
{
	struct program p[4];
	uint32_t all = 0, first;

	(void)state;
	for (int i = 0; i < 4; i++) {
		p[i] = program_at("H-A");
		all |= slot_of(&p[i])->shm->qpn_next;
	}
	assert_true(all != 0); /* random numbers of 16 bits */
	/* This owner reports no last QPN. */
	first = slot_of(&p[0])->shm->qpn_next;
	program_end(&p[0]);
	p[0] = program_at("H-A");
	assert_int_equal(p[0].slot, VB_SLOT_FIRST);
	assert_int_equal(slot_of(&p[0])->shm->qpn_next, (first + 2048) & 0xffff);
	/* This one does. */
	slot_of(&p[0])->shm->qpn_next = 0x10003;
	program_end(&p[0]);
	p[0] = program_at("H-A");
	assert_int_equal(slot_of(&p[0])->shm->qpn_next, 3);
	for (int i = 0; i < 4; i++)
		program_end(&p[i]);
}

/* The next owner gets nothing of the last. */
static void slots__are_empty_for_the_next_owner(void **state)
{
	struct program p = program_at("H-A");
	struct vb_slot_shm *shm = slot_of(&p)->shm;
	struct vb_subnet_adapter *a = fabric->adapter;

	(void)state;
	shm->counters[1].v[0] = shm->counters[2].v[VB_COUNTER_qkey_viol_cntr] = 9;
	shm->fired[1].slot[0] = 9;
	shm->qp_entry[0].qpn = shm->qp_cnt = shm->cq_cnt = shm->mr_cnt = 9;
	shm->queues = 9;
	memset(&shm->explain, 9, sizeof shm->explain);
	a->common->wakeup[p.slot].token = a->common->mailbox[p.slot].token = 9;
	routes_of(p.slot)->group[3] = 9;
	program_end(&p);
	assert_int_equal(shm->pid, 0);
	assert_string_equal(shm->comm, "");
	assert_int_equal(shm->counters[1].v[0], 0);
	assert_int_equal(shm->counters[2].v[VB_COUNTER_qkey_viol_cntr], 0);
	assert_int_equal(shm->fired[1].slot[0], 0);
	assert_int_equal(shm->qp_entry[0].qpn, 0);
	assert_int_equal(shm->qp_cnt + shm->cq_cnt + shm->mr_cnt, 0);
	assert_true(shm->queues == 0);
	assert_int_equal(((uint8_t *)&shm->explain)[0], 0);
	assert_int_equal(((uint8_t *)&shm->explain)[sizeof shm->explain - 1], 0);
	assert_true(a->common->wakeup[p.slot].token == 0);
	assert_true(a->common->mailbox[p.slot].token == 0);
	assert_int_equal(routes_of(p.slot)->node, VB_IB_NOWHERE);
	p = program_at("H-B");
	assert_int_equal(p.slot, VB_SLOT_FIRST);
	assert_true(routes_of(p.slot)->group[3] == 0);
	assert_int_equal(routes_of(p.slot)->node, HOST_B);
	program_end(&p);
}

/* 253 slots. */
static void slots__run_out(void **state)
{
	struct program p = program_at("H-A");
	struct vb_subnet_conn *c = slot_of(&p)->owner, other = {.seat = c->seat};
	struct vb_fds fds = {.cnt = 0};

	(void)state;
	for (uint32_t k = VB_SLOT_FIRST + 1; k <= VB_IB_SLOT_LAST; k++)
		fabric->adapter->slot[k].owner = c;
	assert_int_equal(vb_subnet_slot_take(fabric, &other, &answer, &fds), -ENOSPC);
	assert_non_null(strstr(answer.text, "all 253 slots"));
	assert_int_equal(fds.cnt, 0);
	for (uint32_t k = VB_SLOT_FIRST + 1; k <= VB_IB_SLOT_LAST; k++)
		fabric->adapter->slot[k].owner = NULL;
	program_end(&p);
}

/* Packets that a program's QPs refuse count once, at its port, up to the field's maximum. FAB-37;
 * IBA 14.2.5.6 */
static void violations__count_once_at_their_port(void **state)
{
	struct program p = program_at("H-A"), other;
	struct vb_slot_shm *shm = slot_of(&p)->shm;
	uint64_t *pkey = &shm->counters[2].v[VB_COUNTER_port_rcv_constraint_errors],
		 *qkey = &shm->counters[2].v[VB_COUNTER_qkey_viol_cntr];

	(void)state;
	*pkey = 3;
	*qkey = 5;
	for (int i = 0; i < 2; i++)
		vb_subnet_count(fabric, HOST_A);
	assert_int_equal(info_of(HOST_A, 2)->pkey_violations, 3);
	assert_int_equal(info_of(HOST_A, 2)->qkey_violations, 5);
	assert_int_equal(info_of(HOST_A, 1)->pkey_violations, 0);
	*qkey = 6;
	*pkey = 5;
	vb_subnet_count(fabric, HOST_A);
	assert_int_equal(info_of(HOST_A, 2)->pkey_violations, 5);
	assert_int_equal(info_of(HOST_A, 2)->qkey_violations, 6);
	/* Other nodes' violations do not count. */
	other = program_at("H-B");
	slot_of(&other)->shm->counters[2].v[VB_COUNTER_qkey_viol_cntr] = 1;
	vb_subnet_count(fabric, HOST_A);
	assert_int_equal(info_of(HOST_B, 2)->qkey_violations, 0);
	/* A program's last violations count at its end; the next begins at 0. */
	*qkey = 7;
	program_end(&p);
	assert_int_equal(info_of(HOST_A, 2)->qkey_violations, 7);
	p = program_at("H-A");
	assert_ptr_equal(slot_of(&p)->shm, shm);
	*qkey = 7;
	*pkey = 5;
	vb_subnet_count(fabric, HOST_A);
	assert_int_equal(info_of(HOST_A, 2)->qkey_violations, 14);
	assert_int_equal(info_of(HOST_A, 2)->pkey_violations, 10);
	*qkey = 70000;
	vb_subnet_count(fabric, HOST_A);
	assert_int_equal(info_of(HOST_A, 2)->qkey_violations, 0xffff);
	program_end(&p);
	program_end(&other);
}

/* Whether HOST_A sends trap @trap soon, and no other one but @before, again. */
static bool sends_trap(uint16_t trap, uint16_t before)
{
	struct vb_subnet_mad m;
	struct vb_notice n;

	for (int i = 0; i < 100; i++) {
		if (!vb_subnet_poll_trap(&fabric->subnet, &m, vb_clock_now() + (vb_time)i * VB_SEC))
			continue;
		vb_notice_parse(&n, m.mad);
		assert_int_equal(m.at.node, HOST_A);
		if (n.trap == trap)
			return true;
		assert_int_equal(n.trap, before);
	}
	return false;
}

/* A packet that a QP of a program refuses for its P_Key or Q_Key raises the trap of that key.
 * FAB-37; IBA 14.2.5.1 */
static void violations__raise_their_trap(void **state)
{
	struct vb_slot_shm *shm;
	struct program p;

	(void)state;
	fabric_configure();
	p = program_at("H-A");
	shm = slot_of(&p)->shm;
	shm->bad_keys[1].pkey = (struct vb_bad_key){.key = 0x8005, .slid = 3};
	shm->bad_keys[1].qkey = (struct vb_bad_key){.key = 0x1234, .slid = 4};
	vb_subnet_count(fabric, HOST_A);
	assert_false(sends_trap(VB_TRAP_PKEY, 0));
	shm->counters[1].v[VB_COUNTER_port_rcv_constraint_errors] = 1;
	vb_subnet_count(fabric, HOST_A);
	assert_true(sends_trap(VB_TRAP_PKEY, 0));
	shm->counters[1].v[VB_COUNTER_qkey_viol_cntr] = 1;
	vb_subnet_count(fabric, HOST_A);
	assert_true(sends_trap(VB_TRAP_QKEY, VB_TRAP_PKEY));
	program_end(&p);
}

/* A node's table has the manager's settings of each of its ports. */
static void tables__show_what_a_manager_sets(void **state)
{
	static struct vb_host_shm table;
	struct program p = program_at("H-B");
	struct vb_sma_port *s = vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2));
	const struct vb_device *d = &table.device[1];

	(void)state;
	fabric_configure();
	s->info.phys_state = VB_PHYS_LINK_UP;
	s->info.lmc = 3;
	s->info.sm_sl = 6;
	s->info.vl_cap = 4;
	s->info.mtu_cap = 5;
	s->info.neighbor_mtu = 3;
	s->info.init_reply = 9;
	s->info.subnet_timeout = 18;
	s->info.cap_mask = 0xab0001;
	s->pkey[31] = 0x8abc;
	assert_true(vb_subnet_table_write(fabric, HOST_B, &table));
	assert_int_equal(table.device_cnt, 2);
	assert_int_equal(table.generation, 1);
	assert_string_equal(d->name, "verbena0");
	assert_true(d->ifindex != 0 && d->is_up && !table.device[0].is_up);
	assert_int_equal(d->active_mtu, 3);
	assert_int_equal(d->guid, topo.node[HOST_B].node_guid);
	assert_int_equal(d->pkey[31], 0x8abc);
	assert_int_equal(d->speed_mbps, 100000);
	assert_int_equal(d->ib.number, 2);
	assert_int_equal(d->ib.port_cnt, 2);
	assert_int_equal(d->ib.state, VB_LINK_ACTIVE);
	assert_int_equal(d->ib.phys_state, VB_PHYS_LINK_UP);
	assert_int_equal(d->ib.lid, LID(HOST_B));
	assert_int_equal(d->ib.lmc, 3);
	assert_int_equal(d->ib.sm_lid, LID(HOST_A));
	assert_int_equal(d->ib.sm_sl, 6);
	assert_int_equal(d->ib.vl_cap, 4);
	assert_int_equal(d->ib.mtu_cap, 5);
	assert_int_equal(d->ib.init_reply, 9);
	assert_int_equal(d->ib.subnet_timeout, 18);
	assert_int_equal(d->ib.width, VB_IB_4X);
	assert_int_equal(d->ib.speed, VB_IB_EDR);
	assert_int_equal(d->ib.gid_cnt, s->info.guid_cap);
	assert_int_equal(d->ib.pkey_cnt, 32);
	assert_int_equal(d->ib.cap_mask, 0xab0001);
	assert_int_equal(d->ib.system_guid, 0x5a);
	assert_int_equal(d->ib.map_port, vb_subnet_map_port(fabric->adapter, place(HOST_B, 2)));
	/* An equal write changes nothing; a reregistration, which is of one port, does. FAB-24 */
	assert_false(vb_subnet_table_write(fabric, HOST_B, &table));
	assert_int_equal(table.generation, 1);
	s->reregisters++;
	assert_true(vb_subnet_table_write(fabric, HOST_B, &table));
	assert_true(d->ib.reregisters == 1 && table.device[0].ib.reregisters == 0);
	assert_int_equal(table.generation, 2);
	program_end(&p);
}

/* Each width and speed of a link comes to the table by its code of verbs. IBT-94 */
static void tables__have_all_widths_and_speeds(void **state)
{
	static struct vb_host_shm table;
	struct program p = program_at("H-B");
	struct vb_port_info *i = &vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2))->info;
	const struct vb_device_ib *ib = &table.device[1].ib;

	(void)state;
	fabric_configure();
	for (uint32_t width = VB_IB_1X; width <= VB_IB_2X; width <<= 1)
		for (uint32_t speed = VB_IB_SDR; speed <= VB_IB_XDR; speed <<= 1) {
			const struct vb_ib_speed_row *row = vb_ib_speed_row(speed);

			if (speed == VB_IB_FDR10) /* PortInfo has no bit for it */
				continue;
			i->width_active = (uint8_t)width;
			i->speed_active = row->port_info;
			i->ext_speed_active = row->port_info_ext;
			assert_true(vb_subnet_table_write(fabric, HOST_B, &table));
			assert_true(ib->width == width && ib->speed == speed);
			assert_int_equal(table.device[1].speed_mbps,
					 100 * row->nominal * vb_ib_lanes(width));
		}
	program_end(&p);
}

/* GIDs are the prefix with the GUIDs of the port and of the manager. FAB-20, FAB-56 */
static void tables__have_gids_of_prefix_and_guids(void **state)
{
	static struct vb_host_shm table;
	struct program p = program_at("H-B");
	struct vb_sma_port *s = vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2));
	const struct vb_device *d = &table.device[1];
	uint8_t gid[16];

	(void)state;
	fabric_configure();
	s->guid[3] = 0xabcd;
	assert_true(vb_subnet_table_write(fabric, HOST_B, &table));
	/* An index without a GUID has no GID. */
	vb_sma_gid(s, 3, gid);
	assert_memory_equal(d->gid[3].gid.b, gid, sizeof gid);
	assert_int_equal(d->gid[3].type, VB_GID_IB);
	memset(gid, 0, sizeof gid);
	assert_memory_equal(d->gid[2].gid.b, gid, sizeof gid);
	assert_int_equal(d->gid[2].type, 0);
	vb_sma_gid(s, 0, gid);
	assert_memory_equal(gid, ((uint8_t[]){0xfe, 0x80, 0, 0, 0, 0, 0, 0}), 8);
	assert_int_equal(gid[15], (uint8_t)topo.node[HOST_B].port[2].guid);
	assert_memory_equal(d->gid[0].gid.b, gid, sizeof gid);
	/* Another prefix is that of all. */
	s->info.prefix = UINT64_C(0xfec0000000000007);
	assert_true(vb_subnet_table_write(fabric, HOST_B, &table));
	for (uint32_t i = 0; i <= 3; i += 3) {
		vb_sma_gid(s, i, gid);
		assert_memory_equal(gid, ((uint8_t[]){0xfe, 0xc0, 0, 0, 0, 0, 0, 7}), 8);
		assert_memory_equal(d->gid[i].gid.b, gid, sizeof gid);
	}
	/* A GUID that the manager takes back is no address any more. */
	s->guid[3] = 0;
	assert_true(vb_subnet_table_write(fabric, HOST_B, &table));
	assert_int_equal(d->gid[3].type, VB_GID_NONE);
	program_end(&p);
}

/* Programs at a node hear of its changes, and others do not. */
static void programs__hear_of_changes_at_their_node(void **state)
{
	struct program a = program_at("H-A"), b = program_at("H-B");
	uint32_t word, generation = seat_at(HOST_A)->host->host.generation;

	(void)state;
	info_of(HOST_A, 1)->lid = 0x77;
	vb_subnet_adapter_follow(fabric, HOST_A);
	assert_int_equal(recv(a.sock, &word, sizeof word, MSG_DONTWAIT), sizeof word);
	assert_int_equal(recv(b.sock, &word, sizeof word, MSG_DONTWAIT), -1);
	assert_int_equal(seat_at(HOST_A)->host->host.device[0].ib.lid, 0x77);
	assert_int_equal(seat_at(HOST_A)->host->host.generation, generation + 1);
	vb_subnet_adapter_follow(fabric, HOST_A);
	assert_int_equal(recv(a.sock, &word, sizeof word, MSG_DONTWAIT), -1);
	/* One that has just ended is told in vain, and nothing else happens. */
	close(b.sock);
	info_of(HOST_B, 1)->lid = 0x78;
	vb_subnet_adapter_follow(fabric, HOST_B);
	fabric_turn();
	assert_int_equal(fabric->adapter->taken_cnt, 1);
	assert_true(vb_list_is_empty(&fabric->gone));
	program_end(&a);
}

static struct vb_ib_map_port *map_port(uint32_t node, uint8_t port)
{
	return &vb_ib_map_ports(
	    fabric->adapter->map)[vb_subnet_map_port(fabric->adapter, place(node, port))];
}

/* The map has all nodes and cables, and separate tables of each switch. */
static void maps__have_nodes_and_cables(void **state)
{
	struct program p = program_at("H-A");
	const struct vb_ib_map *m = fabric->adapter->map;
	const struct vb_ib_map_node *n = vb_ib_map_nodes(m);

	(void)state;
	assert_int_equal(m->node_cnt, NODES);
	assert_int_equal(m->port_cnt, 5 + 5 + 3 + 3);
	assert_int_equal(m->lft_cnt, 2);
	for (uint32_t i = 0; i < NODES; i++) {
		assert_int_equal(n[i].is_switch, i <= SWITCH_B);
		assert_int_equal(n[i].port_cnt, topo.node[i].port_cnt);
		for (uint8_t k = i <= SWITCH_B ? 0 : 1; k <= n[i].port_cnt; k++) {
			const struct vb_topo_port *t = &topo.node[i].port[k];

			assert_int_equal(map_port(i, k)->node, i);
			assert_int_equal(map_port(i, k)->number, k);
			assert_int_equal(map_port(i, k)->peer,
					 k == 0 || t->peer == VB_TOPO_NO_PEER
					     ? VB_IB_NOWHERE
					     : vb_subnet_map_port(fabric->adapter,
								  place(t->peer, t->peer_port)));
		}
	}
	assert_int_not_equal(n[SWITCH_A].lft, n[SWITCH_B].lft);
	fabric_configure();
	for (uint32_t i = 0; i < NODES; i++)
		vb_subnet_map_follow(fabric, i);
	assert_int_equal(n[SWITCH_A].unicast_top, 0x100);
	assert_int_equal(vb_ib_map_lft(m, n[SWITCH_A].lft)[LID(HOST_B)], 2);
	assert_int_equal(vb_ib_map_lft(m, n[SWITCH_B].lft)[LID(HOST_B)], 1);
	program_end(&p);
}

/* The map follows the manager; only a change gives a new generation. LNK-36 */
static void maps__follow_the_manager(void **state)
{
	struct program p = program_at("H-A");
	const struct vb_ib_map *m = fabric->adapter->map;
	struct vb_sma_port *s = vb_subnet_sma_port(&fabric->subnet, place(SWITCH_A, 1)),
			   *h = vb_subnet_sma_port(&fabric->subnet, place(HOST_A, 1));
	uint32_t generation;

	(void)state;
	assert_int_equal(m->generation % 2, 0);
	assert_false(map_port(HOST_A, 1)->may_send || map_port(HOST_A, 1)->may_receive);
	fabric_configure();
	s->info.enforce_in = 1;
	s->pkey[2] = 0x8003;
	s->info.lid = 0x55; /* only port 0 of a switch has a LID that counts */
	h->info.lmc = 2;
	h->info.neighbor_mtu = 4;
	h->info.enforce_in = h->info.enforce_out = 1; /* adapters do not */
	s->sl2vl[3].vl[5] = 1;
	generation = m->generation;
	vb_subnet_map_follow(fabric, SWITCH_A);
	assert_int_equal(m->generation, generation + 2);
	vb_subnet_map_follow(fabric, HOST_A);
	assert_int_equal(m->generation, generation + 4);
	vb_subnet_map_follow(fabric, HOST_A);
	vb_subnet_map_follow(fabric, SWITCH_A);
	assert_int_equal(m->generation, generation + 4);
	assert_true(map_port(SWITCH_A, 1)->enforces_in && !map_port(SWITCH_A, 1)->enforces_out);
	assert_true(map_port(SWITCH_A, 1)->may_send && map_port(SWITCH_A, 1)->may_receive);
	assert_int_equal(map_port(SWITCH_A, 1)->pkey[2], 0x8003);
	assert_int_equal(map_port(SWITCH_A, 1)->lid, 0);
	assert_int_equal(map_port(SWITCH_A, 0)->lid, LID(SWITCH_A));
	assert_int_equal(vb_ib_map_lanes(m)[map_port(SWITCH_A, 1)->sl2vl + 3].vl[5], 1);
	assert_int_equal(map_port(HOST_A, 1)->lid, LID(HOST_A));
	assert_int_equal(map_port(HOST_A, 1)->lmc, 2);
	assert_int_equal(map_port(HOST_A, 1)->mtu, 4);
	assert_int_equal(map_port(HOST_A, 1)->lane_cnt, link_of(HOST_A, 1)->config.data_cnt);
	assert_false(map_port(HOST_A, 1)->enforces_in || map_port(HOST_A, 1)->enforces_out);
	s->info.enforce_in = 0;
	s->info.enforce_out = 1;
	fabric->subnet.node[SWITCH_A].forward.multicast_primary = 3;
	fabric->subnet.node[SWITCH_A].forward.multicast_other = 4;
	fabric->subnet.node[SWITCH_A].forward.multicast_top = 0xc005;
	vb_subnet_map_follow(fabric, SWITCH_A);
	assert_true(!map_port(SWITCH_A, 1)->enforces_in && map_port(SWITCH_A, 1)->enforces_out);
	assert_int_equal(vb_ib_map_nodes(m)[SWITCH_A].multicast_primary, 3);
	assert_int_equal(vb_ib_map_nodes(m)[SWITCH_A].multicast_other, 4);
	assert_int_equal(vb_ib_map_nodes(m)[SWITCH_A].multicast_top, 0xc005);
	program_end(&p);
}

/* The ports on the way count the packets of programs, once. IBA 16.1.3.5 */
static void counters__take_what_programs_sent(void **state)
{
	struct program p = program_at("H-A");
	uint32_t number = vb_subnet_map_port(fabric->adapter, place(SWITCH_A, 2));
	struct vb_ib_map_counters *c = &vb_ib_map_counters(fabric->adapter->map)[number];
	const struct vb_pma_port *pma = &fabric->subnet.node[SWITCH_A].pma.port[2];
	const struct vb_ib_counters *is = &link_of(SWITCH_A, 2)->counters;
	const struct vb_ib_counters was = *is;

	(void)state;
	*c = (struct vb_ib_map_counters){.xmit_data = 1,
					 .rcv_data = 2,
					 .xmit_packets = 3,
					 .rcv_packets = 4,
					 .xmit_discards = 5,
					 .rcv_discards = 6,
					 .relay_errors = 7,
					 .xmit_constraint = 8,
					 .rcv_constraint = 9,
					 .multicast_xmit = 10,
					 .multicast_rcv = 11};
	for (int i = 0; i < 2; i++)
		vb_subnet_count(fabric, SWITCH_A);
	assert_int_equal(is->xmit_data - was.xmit_data, 1);
	assert_int_equal(is->rcv_data - was.rcv_data, 2);
	assert_int_equal(is->xmit_packets - was.xmit_packets, 3);
	assert_int_equal(is->rcv_packets - was.rcv_packets, 4);
	assert_int_equal(is->xmit_discards - was.xmit_discards, 5);
	assert_int_equal(is->rcv_discards - was.rcv_discards, 6);
	assert_int_equal(pma->switch_relay_errors, 7);
	assert_int_equal(pma->xmit_constraint_errors, 8);
	assert_int_equal(pma->rcv_constraint_errors, 9);
	assert_int_equal(pma->multicast_xmit_packets, 10);
	assert_int_equal(pma->multicast_rcv_packets, 11);
	/* All nodes count once a second while programs exist. */
	c->xmit_data = 20;
	vb_subnet_adapter_step(fabric, fabric->adapter->due - 1);
	assert_int_equal(is->xmit_data - was.xmit_data, 1);
	vb_time due = fabric->adapter->due;

	vb_subnet_adapter_step(fabric, due);
	assert_int_equal(is->xmit_data - was.xmit_data, 21);
	assert_true(fabric->adapter->due == due + VB_SEC);
	program_end(&p);
}

/* Each port of each node with programs has its files of counters. LNK-38 */
static void counter_files__are_of_each_port_of_each_node(void **state)
{
	static const char file[] = "class/infiniband/verbena0/ports/%d/counters/port_rcv_errors";
	static const char *const cm_files[] = {
	    "class/infiniband/verbena0/ports/1/cm_tx_msgs/req",
	    "class/infiniband/verbena0/ports/2/cm_rx_duplicates/drep"};
	int sock[] = {fabric_attach("H-A"), fabric_attach("H-B")};
	char path[96];
	vb_time due;

	(void)state;
	for (uint32_t node = HOST_A; node <= HOST_B; node++)
		for (int port = 1; port <= 2; port++)
			fabric->subnet.node[node].pma.port[port].reported[VB_PMA_RCV_ERRORS] =
			    node * 10u + (unsigned)port;
	due = fabric->counters_due;
	assert_true(due != VB_NEVER);
	vb_subnet_counter_files_step(fabric, due - 1);
	snprintf(path, sizeof path, file, 1);
	assert_string_equal(text_below(seat_at(HOST_A)->root, path), "0\n");
	/* Those of its connection manager are there before that has sent anything. LNK-39 */
	for (size_t i = 0; i < sizeof cm_files / sizeof cm_files[0]; i++)
		assert_string_equal(text_below(seat_at(HOST_B)->root, cm_files[i]), "0\n");
	vb_subnet_counter_files_step(fabric, due);
	assert_true(fabric->counters_due == due + VB_SEC);
	for (uint32_t node = HOST_A; node <= HOST_B; node++)
		for (int port = 1; port <= 2; port++) {
			char text[16];

			snprintf(path, sizeof path, file, port);
			snprintf(text, sizeof text, "%u\n", node * 10u + (unsigned)port);
			assert_string_equal(text_below(seat_at(node)->root, path), text);
		}
	close(sock[0]);
	close(sock[1]);
	fabric_turn();
	vb_subnet_counter_files_step(fabric, due + VB_SEC);
	assert_true(fabric->counters_due == VB_NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(slots__are_of_a_program),
	    T(slots__begin_with_other_qpns),
	    T(slots__are_empty_for_the_next_owner),
	    T(slots__run_out),
	    T(violations__count_once_at_their_port),
	    T(violations__raise_their_trap),
	    T(tables__show_what_a_manager_sets),
	    T(tables__have_all_widths_and_speeds),
	    T(tables__have_gids_of_prefix_and_guids),
	    T(programs__hear_of_changes_at_their_node),
	    T(maps__have_nodes_and_cables),
	    T(maps__follow_the_manager),
	    T(counters__take_what_programs_sent),
	    T(counter_files__are_of_each_port_of_each_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
