/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fabric at its limits: an adapter with more ports than programs can have, more ports than there
 * are addresses, all pages of files in use; and numbers of fabrics in addresses. FAB-56, MAD-11
 */
#include "subnet_process_env.h"

#include "ucma/abi.h"

#define WIDE_PORTS 20

static int wide_begin(void **state)
{
	char name[VB_SUBNET_NAME_MAX];

	(void)state;
	snprintf(name, sizeof name, "wide-%d-300", (int)getpid());
	fabric_begin_with(name, "Switch 4 \"S\"\n[1] \"H\"[20]\n[2] \"H\"[16]\n[3] \"S\"[4]\n"
				"Ca 20 \"H\"\nCa 1 \"L\"\n");
	return 0;
}

static uint32_t node_named(const char *name)
{
	return (uint32_t)(vb_topo_find(&topo, name) - topo.node);
}

/* Programs have the first 16 ports of an adapter, in tables and files; the others are there for
 * MADs alone. */
static void ports__that_programs_have_are_the_first(void **state)
{
	uint32_t h = node_named("H");
	const struct vb_host_shm *table;
	int sock = fabric_attach("H");
	char path[96];

	(void)state;
	assert_int_equal(fabric_ask(sock, VB_SUBNET_ADAPTER, "me", NULL), 0);
	table = &seat_at(h)->host->host;
	assert_int_equal(table->device_cnt, VB_DEVICES_MAX);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		assert_int_equal(table->device[i].ib.number, i + 1);
		assert_int_equal(table->device[i].ib.port_cnt, VB_DEVICES_MAX);
		assert_int_equal(table->device[i].ib.map_port,
				 vb_subnet_map_port(fabric->adapter, place(h, (uint8_t)(i + 1))));
	}
	for (int port = 1; port <= WIDE_PORTS; port++) {
		bool has_counters = port <= VB_HCA_PORTS_MAX;

		snprintf(path, sizeof path, "class/infiniband/verbena0/ports/%d/lid", port);
		assert_string_equal(text_below(seat_at(h)->root, path), "0x0\n");
		snprintf(path, sizeof path,
			 "class/infiniband/verbena0/ports/%d/counters/symbol_error", port);
		assert_string_equal(text_below(seat_at(h)->root, path), has_counters ? "0\n" : "");
		snprintf(path, sizeof path, "class/infiniband_mad/umad%d/port", port - 1);
		assert_int_equal(strtol(text_below(seat_at(h)->root, path), NULL, 10), port);
	}
	/* Refused packets are counted at the ports that programs have. */
	fabric->adapter->slot[VB_SLOT_FIRST]
	    .shm->counters[VB_HCA_PORTS_MAX]
	    .v[VB_COUNTER_qkey_viol_cntr] = 2;
	vb_subnet_count(fabric, h);
	assert_int_equal(info_of(h, VB_HCA_PORTS_MAX)->qkey_violations, 2);
	fabric->counters_due = 0;
	fabric_turn();
	close(sock);
}

/* The same for connections: an address of a port that they do not have is not local. */
static void ports__that_connections_have_are_the_first(void **state)
{
	uint32_t h = node_named("H");
	struct vb_subnet_cm *cm = vb_subnet_cm_at(fabric, h);
	struct vb_ucma_env env = vb_subnet_cm_env(cm);
	struct vb_ucma_addr a = {.family = VB_UCMA_AF_INET, .gid = {{[10] = 0xff, [11] = 0xff}}};
	struct vb_ucma_addr loop = {.family = VB_UCMA_AF_INET,
				    .gid = {{[10] = 0xff, [11] = 0xff, 127, 0, 0, 1}}};
	struct vb_ucma_local local;
	struct vb_ucma_ib_port port;
	struct vb_gid g;

	(void)state;
	/* 300 is no byte. */
	memcpy(a.gid.b + 12, (uint8_t[]){10, 300 % 256, 0, VB_HCA_PORTS_MAX}, 4);
	assert_int_equal(env.local(env.ctx, &a, &local), 0);
	assert_int_equal(local.hca_port, VB_HCA_PORTS_MAX);
	assert_int_equal(env.ib_port(env.ctx, VB_HCA_PORTS_MAX, &port), 0);
	a.gid.b[15] = VB_HCA_PORTS_MAX + 1;
	assert_int_equal(env.local(env.ctx, &a, &local), -EADDRNOTAVAIL);
	assert_int_equal(env.ib_port(env.ctx, VB_HCA_PORTS_MAX + 1, &port), -ENODEV);
	/* It is somebody's address all the same. */
	assert_int_equal(env.ib_gid(env.ctx, &a, &g), 0);
	vb_sma_gid(vb_subnet_sma_port(&fabric->subnet, place(h, VB_HCA_PORTS_MAX + 1)), 0, a.gid.b);
	assert_false(vb_subnet_cm_gid_is_local(cm, &a.gid));
	vb_sma_gid(vb_subnet_sma_port(&fabric->subnet, place(h, VB_HCA_PORTS_MAX)), 0, a.gid.b);
	assert_true(vb_subnet_cm_gid_is_local(cm, &a.gid));
	/* Of several ports that carry data the first is chosen; one beyond them is not. */
	link_of(h, 20)->state = VB_LINK_ACTIVE;
	assert_int_equal(env.local(env.ctx, &loop, &local), 0);
	assert_int_equal(local.hca_port, 1);
	link_of(h, 16)->state = VB_LINK_ACTIVE;
	assert_int_equal(env.local(env.ctx, &loop, &local), 0);
	assert_int_equal(local.hca_port, 16);
	link_of(h, 3)->state = VB_LINK_ACTIVE;
	assert_int_equal(env.local(env.ctx, &loop, &local), 0);
	assert_int_equal(local.hca_port, 3);
	for (uint8_t p = 3; p <= 20; p++)
		link_of(h, p)->state = VB_LINK_DOWN;
	assert_ptr_equal(env.ctx, cm);
	assert_non_null(env.may_bind_low);
}

/* Cables have the speed and width of the topology at both ends, also two between the same nodes,
 * and one between two ports of a switch. */
static void cables__are_those_of_the_topology(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < topo.node_cnt; i++)
		for (uint8_t p = 1; p <= topo.node[i].port_cnt; p++) {
			const struct vb_topo_port *t = &topo.node[i].port[p];
			const struct vb_subnet_port *s = &fabric->subnet.node[i].port[p];

			assert_int_equal(s->has_cable, t->peer != VB_TOPO_NO_PEER);
			if (!s->has_cable)
				continue;
			assert_int_equal(s->peer.node, t->peer);
			assert_int_equal(s->peer.port, t->peer_port);
			assert_int_equal(s->speed, t->speed);
			assert_int_equal(s->width, t->width);
			assert_true(s->is_plugged);
		}
}

/* The number at the end of a name, of any length, is in the addresses. */
static void numbers__of_fabrics_are_in_addresses(void **state)
{
	static const struct {
		const char *name;
		uint32_t byte;
	} rows[] = {{"lab", 0},    {"lab7", 7},   {"7", 7},       {"lab255", 255},
		    {"lab256", 0}, {"a1b22", 22}, {"lab-007", 7}, {"lab3.x", 0}};
	static struct vb_subnet_daemon d;
	struct vb_topo_node n = {.type = VB_NODE_CA, .port_cnt = 2};
	const struct vb_topo t = {.node = &n, .node_cnt = 1};

	(void)state;
	d.topo = &t;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		snprintf(d.name, sizeof d.name, "%s", rows[i].name);
		assert_int_equal(vb_subnet_addresses_make(&d), 0);
		assert_int_equal(vb_subnet_address_of(&d, place(0, 2)),
				 10u << 24 | rows[i].byte << 16 | 2);
		free(d.addresses);
	}
}

/* Ports have addresses in their order, as many as a network of 16 bits has; switches have none, and
 * the ports behind them none of theirs. */
static void addresses__are_as_many_as_a_network_has(void **state)
{
	enum { CNT = 260 };
	static struct vb_topo_node n[CNT];
	static struct vb_subnet_daemon d = {.name = "lab"};
	const struct vb_topo t = {.node = n, .node_cnt = CNT};
	uint32_t number = 0;

	(void)state;
	for (uint32_t i = 0; i < CNT; i++)
		n[i] = (struct vb_topo_node){.type = i == 1 ? VB_NODE_SWITCH : VB_NODE_CA,
					     .port_cnt = VB_TOPO_PORT_CNT_MAX};
	d.topo = &t;
	assert_int_equal(vb_subnet_addresses_make(&d), 0);
	for (uint32_t i = 0; i < CNT; i++)
		for (unsigned p = 1; p <= VB_TOPO_PORT_CNT_MAX; p++) {
			uint32_t is = vb_subnet_address_of(&d, place(i, (uint8_t)p));

			number += n[i].type == VB_NODE_CA;
			if (n[i].type != VB_NODE_CA || number > 65534)
				assert_int_equal(is, 0);
			else
				assert_int_equal(is, 0x0a000000 | number);
		}
	assert_true(number > 65535);
	assert_int_equal(vb_subnet_address_of(&d, place(0, 0)), 0);
	assert_int_equal(vb_subnet_address_of(&d, place(CNT, 1)), 0);
	free(d.addresses);
}

static int file_ask(int sock, uint32_t port, struct vb_fds *fds)
{
	vb_subnet_call_text(&call, VB_SUBNET_UMAD_OPEN, "");
	call.number = port;
	return fabric_ask_with(sock, -1, fds);
}

/* A file that no page is left for opens without one; each file has a page of its own. */
static void pages__may_all_be_in_use(void **state)
{
	int sock = fabric_attach("L");
	struct vb_fds a, b, none;
	uint32_t first;

	(void)state;
	assert_int_equal(file_ask(sock, 1, &a), 0);
	assert_int_equal(a.cnt, 2);
	first = answer.page;
	assert_int_equal(file_ask(sock, 1, &b), 0);
	assert_int_equal(answer.page, first + 1);
	for (uint32_t i = 0; i < VB_SUBNET_PAGES; i++)
		fabric->page_used[i] = true;
	assert_int_equal(file_ask(sock, 1, &none), 0);
	assert_int_equal(answer.page, 0);
	assert_int_equal(none.cnt, 1);
	vb_fds_close(&none);
	fabric_turn();
	/* The last page there is. */
	fabric->page_used[VB_SUBNET_PAGES - 1] = false;
	assert_int_equal(file_ask(sock, 1, &none), 0);
	assert_int_equal(answer.page, VB_SUBNET_PAGES);
	assert_true(fabric->page_used[VB_SUBNET_PAGES - 1]);
	vb_fds_close(&none);
	fabric_turn();
	assert_false(fabric->page_used[VB_SUBNET_PAGES - 1]);
	vb_fds_close(&a);
	vb_fds_close(&b);
	close(sock);
}

#define W(f) cmocka_unit_test_setup_teardown(f, wide_begin, fabric_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    W(ports__that_programs_have_are_the_first),
	    W(ports__that_connections_have_are_the_first),
	    W(cables__are_those_of_the_topology),
	    cmocka_unit_test(numbers__of_fabrics_are_in_addresses),
	    cmocka_unit_test(addresses__are_as_many_as_a_network_has),
	    W(pages__may_all_be_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
