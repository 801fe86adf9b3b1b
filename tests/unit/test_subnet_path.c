/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts that a fabric's process gives of a way through it, by the walk of packets. FAB-01,
 * LNK-12 */
#include "subnet_process_env.h"

#include "node/subnet/path/path.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static struct vb_path_view view[2];
static struct vb_explanation why;

/* Makes the map as a manager's SMPs would have it made. */
static void follow(void)
{
	for (uint32_t i = 0; fabric->adapter && i < NODES; i++)
		vb_subnet_adapter_follow(fabric, i);
}

/* The views that the command @text writes; less than 0: it refuses. */
static int ask(const char *text)
{
	int fd = memfd_create("views", MFD_CLOEXEC), rc;
	ssize_t n;

	assert_true(fd >= 0);
	follow();
	fabric_why[0] = 0;
	rc = vb_subnet_command(fabric, text, fd, fabric_why, sizeof fabric_why);
	n = pread(fd, view, sizeof view, 0);
	close(fd);
	if (rc)
		return rc;
	assert_int_equal((size_t)n % sizeof view[0], 0);
	return (int)((size_t)n / sizeof view[0]);
}

static void expect(const char *cause, const char *text)
{
	if (ask("path sl=2\tH-A\tH-B") < 1)
		fail_msg("%s", fabric_why);
	vb_path_heal(&view[0]);
	vb_path_explain(&view[0], &why);
	if (strcmp(why.cause, cause) != 0 || !strstr(why.what.text[0], text))
		fail_msg("%s: %s", why.cause, why.what.text[0]);
}

static void path__there_and_back(void **state)
{
	(void)state;
	fabric_configure();
	assert_int_equal(ask("path sl=2\tH-A\tH-B"), 2);
	assert_int_equal(view[0].end, VB_PATH_ARRIVES);
	assert_int_equal(view[0].hop_cnt, 3);
	assert_string_equal(view[0].from.node, "H-A");
	assert_string_equal(view[0].to.node, "H-B");
	assert_int_equal(view[0].to.number, 2);
	assert_int_equal(view[0].slid, LID(HOST_A));
	assert_int_equal(view[0].dlid, LID(HOST_B));
	assert_int_equal(view[0].pkey, 0xffff);
	assert_string_equal(view[0].hop[1].out.node, "S-A");
	assert_int_equal(view[0].hop[1].out.number, 2);
	assert_int_equal(view[0].hop[1].in_port, 1);
	assert_string_equal(view[0].hop[1].in.node, "S-B");
	assert_int_equal(view[0].hop[1].in.number, 2);
	assert_string_equal(view[1].from.node, "H-B");
	assert_string_equal(view[1].to.node, "H-A");
	assert_int_equal(view[1].end, VB_PATH_ARRIVES);
	/* To a switch: it sends nothing back. To itself: there is no way. */
	assert_int_equal(ask("path \tH-A\tS-B"), 1);
	assert_int_equal(view[0].end, VB_PATH_ARRIVES);
	assert_string_equal(view[0].at.node, "S-B");
	assert_int_equal(ask("path \tH-A\tH-A"), 1);
	/* By LID alone. */
	assert_int_equal(ask("path dlid=0x13\tH-A\t"), 2);
	assert_string_equal(view[0].to.node, "H-B");
	expect("well", "");
	/* By one of the LIDs that an LMC gives the port, and no further. */
	info_of(HOST_B, 2)->lmc = 1;
	for (uint16_t lid = LID(HOST_B) + 1; lid <= LID(HOST_B) + 2; lid++) {
		fabric->subnet.node[SWITCH_A].forward.unicast[lid] = 2;
		fabric->subnet.node[SWITCH_B].forward.unicast[lid] = 1;
	}
	assert_int_equal(ask("path dlid=0x14\tH-A\t"), 2);
	assert_string_equal(view[0].to.node, "H-B");
	assert_int_equal(view[0].dlid, LID(HOST_B) + 1);
	assert_int_equal(view[0].end, VB_PATH_ARRIVES);
	(void)ask("path dlid=0x15\tH-A\t");
	assert_string_equal(view[0].to.node, "");
}

static void path__that_a_question_names_wrongly(void **state)
{
	static const struct {
		const char *text, *why;
		int rc;
	} rows[] = {
	    {"path sl=16\tH-A\tH-B", "'sl' is nothing", -EINVAL},
	    {"path pkey=65536\tH-A\tH-B", "'pkey' is nothing", -EINVAL},
	    {"path dlid=0\tH-A\tH-B", "'dlid' is nothing", -EINVAL},
	    {"path mtu=6\tH-A\tH-B", "'mtu' is nothing", -EINVAL},
	    {"path hops=256\tH-A\tH-B", "'hops' is nothing", -EINVAL},
	    {"path sl=x\tH-A\tH-B", "nothing that a packet has", -EINVAL},
	    {"path frob=1\tH-A\tH-B", "'frob' is nothing", -EINVAL},
	    {"path sl\tH-A\tH-B", "'sl' is nothing", -EINVAL},
	    {"path ", "where it begins", -EINVAL},
	    {"path \tH-A\t", "where it leads", -EINVAL},
	    {"path \tH-A", "where it leads", -EINVAL},
	    {"path \tH-C\tH-B", "no node 'H-C'", -ENOENT},
	    {"path \tH-A\tH-C:1", "no node 'H-C:1'", -ENOENT},
	    {"path \tH-A:3\tH-B", "'H-A' has the ports 1 to 2", -EINVAL},
	    {"path \tH-A:0\tH-B", "'H-A' has the ports 1 to 2", -EINVAL},
	    {"path \tH-A:1x\tH-B", "'H-A' has the ports 1 to 2", -EINVAL},
	    {"path \tS-A\tH-B", "'S-A' is no adapter", -EINVAL},
	    {"node H-C", "no node 'H-C'", -ENOENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int rc = ask(rows[i].text);

		if (rc != rows[i].rc || !strstr(fabric_why, rows[i].why))
			fail_msg("'%s': %d, %s", rows[i].text, rc, fabric_why);
	}
	/* A port may be named, also one that no cable is at. */
	fabric_configure();
	assert_int_equal(ask("path \tH-A:2\tH-B:2"), 2);
	vb_path_explain(&view[0], &why);
	assert_string_equal(why.cause, "no-cable");
}

/* Each end of a walk becomes its cause. */
static void path__that_tables_break(void **state)
{
	struct vb_subnet_node *n = fabric->subnet.node;
	struct vb_sma_port *out = vb_subnet_sma_port(&fabric->subnet, place(SWITCH_A, 2));

	(void)state;
	expect("no-manager", "Port 1 of H-A is in INIT");
	info_of(HOST_B, 2)->cap_mask |= VB_CAP_IS_SM;
	expect("init", "one is at H-B");
	fabric_configure();
	n[SWITCH_B].forward.unicast[LID(HOST_B)] = 255;
	expect("no-entry", "The forwarding table of S-B has no entry for LID 19");
	n[SWITCH_B].forward.unicast[LID(HOST_B)] = 9;
	expect("bad-entry", "to port 9, and it has the ports 1 to 4");
	n[SWITCH_B].forward.unicast[LID(HOST_B)] = 2;
	expect("back", "back by port 2");
	n[SWITCH_B].forward.unicast[LID(HOST_B)] = 3;
	expect("no-cable", "Port 3 of S-B has no cable");
	n[SWITCH_B].forward.unicast[LID(HOST_B)] = 1;
	n[SWITCH_B].forward.unicast_top = 0x12;
	expect("above-top", "of S-B, which is 18");
	n[SWITCH_B].forward.unicast_top = 0x100;
	out->sl2vl[1].vl[2] = 15;
	expect("sl-vl15", "SL 2 has lane 15 in the SL2VL map of S-A from port 1 to port 2");
	out->sl2vl[1].vl[2] = 9;
	expect("sl-lane", "SL 2 has lane 9 in the SL2VL map of S-A from port 1 to port 2");
	out->sl2vl[1].vl[2] = 0;
	info_of(HOST_B, 2)->lid = 0x40;
	expect("no-entry", "The forwarding table of S-A has no entry for LID 64");
	assert_int_equal(ask("path dlid=65\tH-A\tH-B"), 2);
	vb_path_explain(&view[0], &why);
	assert_string_equal(why.cause, "no-such-lid");
	assert_int_equal(ask("path dlid=17\tH-A\tH-B"), 2);
	vb_path_explain(&view[0], &why);
	assert_string_equal(why.cause, "other-node");
	info_of(HOST_B, 2)->lid = 0;
	expect("no-lid", "Port 2 of H-B has no LID");
	info_of(HOST_B, 2)->lid = LID(HOST_B);
	link_of(SWITCH_B, 1)->state = VB_LINK_INIT;
	expect("init", "Port 1 of S-B is in INIT");
	link_of(SWITCH_B, 1)->state = VB_LINK_ACTIVE;
	link_of(HOST_B, 2)->state = VB_LINK_INIT;
	expect("init", "Port 2 of H-B is in INIT");
	link_of(HOST_B, 2)->state = VB_LINK_ACTIVE;
	assert_int_equal(vb_subnet_plug(&fabric->subnet, place(SWITCH_A, 2), false, 0), 0);
	expect("unplugged", "The cable of port 2 of S-A is pulled");
}

static void path__that_partitions_break(void **state)
{
	(void)state;
	fabric_configure();
	vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2))->pkey[0] = 0x8001;
	expect("pkey-receiver", "no P_Key that goes with 0xffff");
	vb_subnet_sma_port(&fabric->subnet, place(SWITCH_B, 1))->pkey[0] = 0x8001;
	info_of(SWITCH_B, 1)->enforce_out = 1;
	expect("pkey-switch-out", "Port 1 of S-B lets no packet with P_Key 0xffff out");
	vb_subnet_sma_port(&fabric->subnet, place(SWITCH_A, 1))->pkey[0] = 0x8001;
	info_of(SWITCH_A, 1)->enforce_in = 1;
	expect("pkey-switch-in", "Port 1 of S-A lets no packet with P_Key 0xffff in");
	assert_int_equal(ask("path pkey=0x8001\tH-A\tH-B"), 2);
	vb_path_explain(&view[0], &why);
	assert_string_equal(why.cause, "pkey-sender");
	/* Back it goes by the P_Key of the partition there. */
	assert_int_equal(view[1].pkey, 0x8001);
	/* A limited member answers as one. */
	vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2))->pkey[0] = 1;
	assert_int_equal(ask("path pkey=0x8001\tH-A\tH-B"), 2);
	assert_int_equal(view[1].pkey, 1);
}

static void path__that_is_too_small(void **state)
{
	(void)state;
	fabric_configure();
	info_of(SWITCH_A, 2)->neighbor_mtu = VB_MTU_1024;
	assert_int_equal(ask("path mtu=4\tH-A\tH-B"), 2);
	vb_path_explain(&view[0], &why);
	assert_string_equal(why.cause, "mtu");
	assert_int_equal(ask("path mtu=3\tH-A\tH-B"), 2);
	assert_int_equal(view[0].end, VB_PATH_ARRIVES);
	assert_int_equal(view[0].mtu_found, VB_MTU_1024);
}

/* A packet that goes around in a circle. LNK-29 */
static void path__that_leads_around(void **state)
{
	struct vb_subnet_node *n = fabric->subnet.node;

	(void)state;
	fabric_configure();
	/* With two cables between the switches. */
	assert_int_equal(vb_subnet_join(&fabric->subnet, place(SWITCH_A, 3), place(SWITCH_B, 3),
					VB_IB_EDR, VB_IB_4X, 0),
			 0);
	link_of(SWITCH_A, 3)->state = link_of(SWITCH_B, 3)->state = VB_LINK_ACTIVE;
	n[SWITCH_B].forward.unicast[LID(HOST_B)] = 3;
	expect("loop", "around in a circle: S-B, S-A, S-B");
}

/* The values are those that perfquery shows. FAB-41 */
static void port__with_its_counters(void **state)
{
	(void)state;
	fabric_configure();
	fabric->subnet.node[SWITCH_B].pma.port[2].switch_relay_errors = 5;
	fabric->subnet.node[SWITCH_B].forward.unicast[LID(HOST_B)] = 255;
	expect("no-entry", "");
	assert_int_equal(view[0].at.counter[VB_PMA_RCV_SWITCH_RELAY_ERRORS], 5);
	fabric->subnet.node[SWITCH_B].pma.port[2].zero[VB_PMA_RCV_SWITCH_RELAY_ERRORS] = 3;
	expect("no-entry", "");
	assert_int_equal(view[0].at.counter[VB_PMA_RCV_SWITCH_RELAY_ERRORS], 2);
}

/* SMPs with another M_Key are counted where they were refused. FAB-16 */
static void node__that_has_an_m_key(void **state)
{
	struct vb_subnet_node_answer a[8];
	uint8_t mad[VB_MAD_LEN] = {0};
	const struct vb_mad_hdr h = {.base_version = 1,
				     .mgmt_class = VB_MAD_CLASS_SUBN_LID,
				     .class_version = 1,
				     .method = VB_MAD_METHOD_SET,
				     .attr_id = VB_SMP_PORT_INFO};
	struct vb_subnet_mad m = {.at = {HOST_A, 1}, .on_qp0 = true, .slid = LID(HOST_A)};
	int fd = memfd_create("node", MFD_CLOEXEC);

	(void)state;
	fabric_configure();
	info_of(SWITCH_B, 0)->mkey = 0x77;
	info_of(SWITCH_B, 0)->mkey_protect = 2;
	info_of(SWITCH_B, 0)->mkey_lease = 60;
	vb_mad_hdr_emit(&h, mad);
	memcpy(m.mad, mad, sizeof mad);
	m.dlid = LID(SWITCH_B);
	(void)vb_subnet_send(&fabric->subnet, &m, vb_clock_now());
	assert_int_equal(vb_subnet_command(fabric, "node S-B", fd, fabric_why, sizeof fabric_why),
			 0);
	assert_int_equal(pread(fd, a, sizeof a, 0), 5 * sizeof a[0]);
	close(fd);
	assert_true(a[0].port.has_mkey);
	assert_int_equal(a[0].port.mkey_violations, 1);
	assert_int_equal(a[0].port.refused_method, VB_MAD_METHOD_SET);
	assert_int_equal(a[0].port.refused_attr, VB_SMP_PORT_INFO);
	assert_true(a[0].port.mkey_ends > 0 && a[0].port.mkey_ends <= 60 * VB_SEC);
	assert_string_equal(a[1].far.node, "H-B");
	assert_string_equal(a[2].far.node, "S-A");
	assert_string_equal(a[3].far.node, "");
	expect("well", "");
	assert_int_equal(why.what.cnt, 2);
	assert_non_null(
	    strstr(why.what.text[1], "S-B has an M_Key (protection 2), and refused 1 SMP"));
}

/* The copy of a multicast packet for one port. FAB-02 */
static void group__that_a_port_has_joined(void **state)
{
	struct vb_subnet_node *n = fabric->subnet.node;

	(void)state;
	fabric_configure();
	assert_int_equal(ask("path dlid=0xc001\tH-A\t"), -EINVAL);
	assert_int_equal(ask("path dlid=0xc001\tH-A\tH-B"), 1);
	vb_path_explain(&view[0], &why);
	assert_string_equal(why.cause, "not-in-tree");
	n[SWITCH_A].forward.multicast[1].word[0] = 1 << 2;
	assert_int_equal(ask("path dlid=0xc001\tH-A\tH-B"), 1);
	vb_path_explain(&view[0], &why);
	assert_string_equal(why.cause, "not-in-group");
	assert_string_equal(view[0].at.node, "S-B");
	assert_int_equal(view[0].hop_cnt, 3);
	n[SWITCH_B].forward.multicast[1].word[0] = 1 << 1;
	assert_int_equal(ask("path dlid=0xc001\tH-A\tH-B"), 1);
	vb_path_explain(&view[0], &why);
	assert_string_equal(why.cause, "well");
	assert_string_equal(view[0].hop[0].out.node, "H-A");
	assert_string_equal(view[0].hop[2].in.node, "H-B");
	assert_int_equal(view[0].hop[2].in_port, 2);
	link_of(SWITCH_B, 1)->state = VB_LINK_INIT;
	assert_int_equal(ask("path dlid=0xc001\tH-A\tH-B"), 1);
	vb_path_explain(&view[0], &why);
	assert_string_equal(why.cause, "no-manager");
	assert_string_equal(view[0].hop[2].out.node, "S-B");
	assert_int_equal(ask("path dlid=0xc001\tH-A\tH-A"), 1);
}

/* For explanations of QPs: programs are asked for views, and what was wrong outlives them. */
static void programs__and_their_histories(void **state)
{
	int sock = fabric_attach("H-B"), asker = fabric_dial();
	struct vb_fds fds = {.cnt = 0};
	const struct vb_past_qp *past;
	struct vb_qp_histories *h;
	uint32_t slot, asked, word;

	(void)state;
	assert_int_equal(fabric_ask(sock, VB_SUBNET_ADAPTER, "sender", NULL), 0);
	slot = (uint32_t)answer.token;
	asked = seat_at(HOST_B)->host->host.explain_asked;
	vb_subnet_call_text(&call, VB_SUBNET_VIEWS, "");
	call.number = 0x102;
	assert_int_equal(fabric_ask_with(asker, -1, &fds), 0);
	assert_int_equal(fds.cnt, 1);
	vb_fds_close(&fds);
	assert_int_not_equal(answer.token, asked);
	assert_int_equal(seat_at(HOST_B)->host->host.explain_asked, answer.token);
	assert_int_equal(seat_at(HOST_B)->host->host.explain_qpn, 0x102);
	assert_int_equal(recv(sock, &word, sizeof word, MSG_DONTWAIT), sizeof word);
	vb_subnet_call_text(&call, VB_SUBNET_SLOT_SHOW, "");
	call.number = slot;
	assert_int_equal(fabric_ask_with(asker, -1, &fds), 0);
	assert_string_equal(answer.text, "H-B");
	assert_int_equal(fds.cnt, 1);
	vb_fds_close(&fds);
	call.number = slot + 1;
	assert_int_equal(fabric_ask_with(asker, -1, NULL), -ENOENT);
	call.number = UINT32_MAX;
	assert_int_equal(fabric_ask_with(asker, -1, NULL), -ENOENT);
	h = &fabric->adapter->slot[slot].shm->explain.histories;
	*vb_qp_histories_new(h, 0x105) =
	    (struct vb_qp_history){.state = VB_QP_HISTORY_FAILED, .qpn = 0x105};
	*vb_qp_histories_new(h, 0x106) =
	    (struct vb_qp_history){.state = VB_QP_HISTORY_RECOVERED, .qpn = 0x106};
	close(sock);
	fabric_turn();
	past = fabric->adapter->common->past.history;
	assert_int_equal(past[0].history.qpn, 0x105);
	assert_string_equal(past[0].comm, "sender");
	assert_true(past[0].ended != 0 && past[1].ended == 0);
	call.number = VB_SLOT_CNT;
	assert_int_equal(fabric_ask_with(asker, -1, NULL), 0);
	assert_string_equal(answer.text, "H-B");
	close(asker);
}

/* A process that does nothing, and is stopped if @is_stopped. */
static pid_t process_begin(bool is_stopped)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (is_stopped)
			raise(SIGSTOP);
		for (;;)
			pause();
	}
	if (is_stopped)
		assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

/* A program of process @pid at the node, with the name @comm. Returns its connection. */
static int program_of(const char *node, const char *comm, pid_t pid)
{
	int sock = fabric_attach(node);

	assert_int_equal(fabric_ask(sock, VB_SUBNET_ADAPTER, comm, NULL), 0);
	fabric->adapter->slot[(uint32_t)answer.token].shm->pid = (uint32_t)pid;
	return sock;
}

/* Of each way the stopped programs at the node that it leads to are named: none at another node,
 * and none that runs. */
static void programs__stopped_at_the_receiver(void **state)
{
	pid_t stopped[] = {process_begin(true), process_begin(true), process_begin(true)};
	pid_t running = process_begin(false);
	int sock[] = {program_of("H-A", "one", stopped[0]), program_of("H-B", "runs", running),
		      program_of("H-B", "two", stopped[1]), program_of("H-B", "three", stopped[2])};

	(void)state;
	fabric_configure();
	assert_int_equal(ask("path sl=2\tH-A\tH-B"), 2);
	assert_int_equal(view[0].stopped_cnt, 2);
	assert_int_equal(view[0].stopped[0].pid, stopped[1]);
	assert_string_equal(view[0].stopped[0].comm, "two");
	assert_int_equal(view[0].stopped[1].pid, stopped[2]);
	assert_string_equal(view[0].stopped[1].comm, "three");
	assert_int_equal(view[1].stopped_cnt, 1);
	assert_int_equal(view[1].stopped[0].pid, stopped[0]);
	assert_string_equal(view[1].stopped[0].comm, "one");
	/* By LID alone; to a node without programs; to nobody. */
	assert_int_equal(ask("path dlid=0x13\tH-A\t"), 2);
	assert_int_equal(view[0].stopped_cnt, 2);
	assert_int_equal(ask("path \tH-A\tS-B"), 1);
	assert_int_equal(view[0].stopped_cnt, 0);
	assert_int_equal(ask("path dlid=65\tH-A\t"), 1);
	assert_int_equal(view[0].stopped_cnt, 0);
	/* It goes on; and one whose program has ended is none of the node's. */
	assert_int_equal(kill(stopped[1], SIGCONT), 0);
	assert_int_equal(waitpid(stopped[1], NULL, WCONTINUED), stopped[1]);
	close(sock[3]);
	fabric_turn();
	assert_int_equal(ask("path sl=2\tH-A\tH-B"), 2);
	assert_int_equal(view[0].stopped_cnt, 0);
	assert_int_equal(view[1].stopped_cnt, 1);
	for (int i = 0; i < 4; i++) {
		pid_t pid = i < 3 ? stopped[i] : running;

		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		if (i < 3)
			close(sock[i]);
	}
	fabric_turn();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(path__there_and_back),
	    T(path__that_a_question_names_wrongly),
	    T(path__that_tables_break),
	    T(path__that_partitions_break),
	    T(path__that_is_too_small),
	    T(path__that_leads_around),
	    T(port__with_its_counters),
	    T(node__that_has_an_m_key),
	    T(group__that_a_port_has_joined),
	    T(programs__and_their_histories),
	    T(programs__stopped_at_the_receiver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
