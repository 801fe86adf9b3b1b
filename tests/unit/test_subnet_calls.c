/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections to the process of a fabric: the calls that it takes, and their nodes.
 * node/subnet/call.h */
#include "subnet_process_env.h"

#include "node/cm/call.h"

#include <stddef.h>

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Sends @sent bytes of a call of @op and @len. The answer's status, -EPIPE: the connection ends. */
static int raw_ask(uint32_t version, enum vb_subnet_op op, uint32_t len, size_t sent, char last)
{
	int sock = fabric_dial(), rc;
	ssize_t n;

	memset(&call, 'x', sizeof call);
	call.version = version;
	call.op = op;
	call.len = len;
	if (len)
		call.body[len - 1] = (uint8_t)last;
	assert_int_equal(vb_fds_send(sock, &call, sent, NULL), 0);
	fabric_turn();
	n = recv(sock, &answer, sizeof answer, MSG_DONTWAIT);
	rc = n <= 0 ? -EPIPE : answer.status;
	close(sock);
	return rc;
}

/* A call that is cut, of another version, or whose text has no end, ends the connection. */
static void calls__that_are_not_whole_end_the_connection(void **state)
{
	const uint32_t good = VB_SUBNET_CALL_VERSION;
	const size_t head = VB_SUBNET_CALL_HEADER, room = sizeof call.text;

	(void)state;
	assert_int_equal(raw_ask(good, VB_SUBNET_COMMAND, 5, head + 5, 0), -EINVAL);
	assert_int_equal(raw_ask(good, VB_SUBNET_COMMAND, 5, head + 5, 'x'), -EPIPE);
	assert_int_equal(raw_ask(good, VB_SUBNET_COMMAND, 5, head + 4, 0), -EPIPE);
	assert_int_equal(raw_ask(good, VB_SUBNET_COMMAND, 5, head + 6, 0), -EPIPE);
	assert_int_equal(raw_ask(good, VB_SUBNET_COMMAND, 0, head, 0), -EPIPE);
	assert_int_equal(raw_ask(good, VB_SUBNET_COMMAND, (uint32_t)room, head + room, 0), -EINVAL);
	assert_int_equal(raw_ask(good, VB_SUBNET_COMMAND, (uint32_t)room + 1, head + room + 1, 0),
			 -EPIPE);
	assert_int_equal(raw_ask(good, VB_SUBNET_ATTACH, 5, head + 5, 'x'), -EPIPE);
	assert_int_equal(raw_ask(good, VB_SUBNET_ADAPTER, 5, head + 5, 'x'), -EPIPE);
	assert_int_equal(raw_ask(good, VB_SUBNET_CM, 5, head + 5, 'x'), -EPIPE);
	assert_int_equal(raw_ask(good + 1, VB_SUBNET_COMMAND, 5, head + 5, 0), -EPIPE);
	assert_int_equal(raw_ask(good, VB_SUBNET_COMMAND, 0, head - 1, 0), -EPIPE);
	assert_int_equal(raw_ask(good, VB_SUBNET_CAPTURE + 1, 0, head, 0), -ENOSYS);
}

/* Descriptors of a call that is cut are closed, as those of one that takes none. */
static void calls__leave_no_descriptors(void **state)
{
	static const uint32_t version[] = {VB_SUBNET_CALL_VERSION + 1, VB_SUBNET_CALL_VERSION};
	struct vb_fds fds = {.cnt = 1};
	int before = fd_cnt();

	(void)state;
	for (int i = 0; i < 2; i++) {
		int sock = fabric_dial(), pipes[2];

		assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
		fds.fd[0] = pipes[0];
		vb_subnet_call_text(&call, VB_SUBNET_COMMAND, "dump");
		call.version = version[i];
		assert_int_equal(vb_fds_send(sock, &call, VB_SUBNET_CALL_HEADER + call.len, &fds),
				 0);
		fabric_turn();
		close(sock);
		close(pipes[0]);
		close(pipes[1]);
		fabric_turn();
		assert_int_equal(fd_cnt(), before);
	}
}

/* Calls about a node need one. */
static void calls__need_a_node(void **state)
{
	int sock = fabric_dial();

	(void)state;
	assert_int_equal(fabric_ask(sock, VB_SUBNET_UMAD_OPEN, "", NULL), -EINVAL);
	assert_int_equal(fabric_ask(sock, VB_SUBNET_ISSM_OPEN, "", NULL), -EINVAL);
	assert_int_equal(fabric_ask(sock, VB_SUBNET_ADAPTER, "me", NULL), -EINVAL);
	assert_int_equal(fabric_ask(sock, VB_SUBNET_CM, "me", NULL), -EINVAL);
	assert_int_equal(fabric_ask(sock, VB_SUBNET_ATTACH, "H-C", NULL), -ENOENT);
	assert_non_null(strstr(answer.text, "no node 'H-C'"));
	assert_non_null(strstr(answer.text, fabric_name));
	close(sock);
}

/* A node's tree exists from its first connection to its last; another ATTACH moves the connection
 * to the other node. */
static void trees__are_there_while_somebody_is_at_the_node(void **state)
{
	char a[256], b[256];
	int one = fabric_attach("H-A"), two, before;

	(void)state;
	snprintf(a, sizeof a, "%s", answer.text);
	assert_true(exists(a));
	two = fabric_attach("H-A");
	assert_string_equal(answer.text, a);
	assert_int_equal(fabric_ask(two, VB_SUBNET_ATTACH, "H-B", NULL), 0);
	snprintf(b, sizeof b, "%s", answer.text);
	assert_string_not_equal(a, b);
	assert_true(exists(a) && exists(b));
	close(one);
	fabric_turn();
	assert_false(exists(a));
	assert_true(exists(b));
	assert_int_equal(fabric_ask(two, VB_SUBNET_ATTACH, "H-A", NULL), 0);
	assert_true(exists(a));
	assert_false(exists(b));
	/* ATTACH to its present node. */
	assert_int_equal(fabric_ask(two, VB_SUBNET_ATTACH, "H-A", NULL), 0);
	assert_true(exists(a));
	before = fd_cnt();
	close(two);
	fabric_turn();
	assert_false(exists(a));
	assert_true(vb_list_is_empty(&fabric->seats));
	assert_true(fd_cnt() < before);
}

/* A connection has one adapter, that of one node; a switch has none. */
static void adapters__are_one_of_a_connection(void **state)
{
	struct vb_fds fds;
	int sock = fabric_attach("H-A"), at_switch = fabric_attach("S-A");

	(void)state;
	assert_int_equal(fabric_ask(sock, VB_SUBNET_ADAPTER, "me", &fds), 0);
	assert_int_equal(fds.cnt, VB_SUBNET_FD_CNT);
	vb_fds_close(&fds);
	assert_int_equal(fabric_ask(sock, VB_SUBNET_ADAPTER, "me", NULL), -EINVAL);
	assert_int_equal(fabric->adapter->taken_cnt, 1);
	assert_int_equal(fabric_ask(sock, VB_SUBNET_CM, "me", NULL), -EINVAL);
	assert_int_equal(fabric_ask(sock, VB_SUBNET_ATTACH, "H-B", NULL), -EBUSY);
	assert_int_equal(fabric_ask(at_switch, VB_SUBNET_ADAPTER, "me", NULL), -ENODEV);
	assert_non_null(strstr(answer.text, "'S-A' is a switch"));
	assert_int_equal(fabric_ask(at_switch, VB_SUBNET_CM, "me", NULL), -ENODEV);
	close(at_switch);
	close(sock);
	fabric_turn();
	assert_int_equal(fabric->adapter->taken_cnt, 0);
}

/* A message that is no CM call ends the connection. */
static void connections_of_cm__end_by_what_is_no_call(void **state)
{
	static struct vb_cm_call cut;
	char byte;
	int sock = fabric_attach("H-A");

	(void)state;
	assert_int_equal(fabric_ask(sock, VB_SUBNET_CM, "me", NULL), 0);
	assert_int_equal(send(sock, &cut, offsetof(struct vb_cm_call, body) - 1, 0),
			 offsetof(struct vb_cm_call, body) - 1);
	fabric_turn();
	assert_int_equal(recv(sock, &byte, 1, MSG_DONTWAIT), 0);
	close(sock);
	assert_true(vb_list_is_empty(&fabric->seats));
}

/* Each node has one connection manager of its own. */
static void connection_managers__are_one_of_a_node(void **state)
{
	int a = fabric_attach("H-A"), b = fabric_attach("H-B"), more = fabric_attach("H-A");
	struct vb_subnet_cm *cm;

	(void)state;
	assert_int_equal(fabric_ask(a, VB_SUBNET_CM, "me", NULL), 0);
	assert_int_equal(fabric_ask(b, VB_SUBNET_CM, "me", NULL), 0);
	assert_int_equal(fabric_ask(more, VB_SUBNET_CM, "me", NULL), 0);
	cm = vb_subnet_cm_find(fabric, HOST_A);
	assert_non_null(cm);
	assert_int_equal(cm->index, HOST_A);
	assert_ptr_equal(cm, vb_subnet_cm_at(fabric, HOST_A));
	assert_int_equal(vb_subnet_cm_find(fabric, HOST_B)->index, HOST_B);
	assert_null(vb_subnet_cm_find(fabric, SWITCH_A));
	close(a);
	close(b);
	close(more);
}

/* The name of a fabric is taken while it runs, and is free again afterwards. */
static void names__are_of_one_fabric(void **state)
{
	struct vb_subnet_daemon *second;
	int before = fd_cnt();

	(void)state;
	assert_int_equal(
	    vb_subnet_daemon_open(&second, fabric_name, &topo, fabric_why, sizeof fabric_why),
	    -EADDRINUSE);
	assert_non_null(strstr(fabric_why, "runs already"));
	assert_non_null(strstr(fabric_why, fabric_name));
	assert_int_equal(fd_cnt(), before);
	close(fabric_control);
	vb_subnet_daemon_close(fabric);
	assert_int_equal(
	    vb_subnet_daemon_open(&fabric, fabric_name, &topo, fabric_why, sizeof fabric_why), 0);
	fabric_control = fabric_dial();
}

/* A folder for the trees that another one has is left alone: the next place is taken, and nothing
 * stays open of the first. */
static void trees__are_elsewhere_where_the_place_is_taken(void **state)
{
	char base[] = "/tmp/verbena-test-XXXXXX", path[64];
	int cnt[2], fd;

	(void)state;
	assert_non_null(mkdtemp(base));
	snprintf(path, sizeof path, "%s/verbena-fabric-%d", base, (int)getpid());
	setenv("XDG_RUNTIME_DIR", base, 1);
	for (int taken = 0; taken < 2; taken++) {
		close(fabric_control);
		vb_subnet_daemon_close(fabric);
		if (taken) {
			fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
			assert_true(fd >= 0);
			close(fd);
		}
		assert_int_equal(vb_subnet_daemon_open(&fabric, fabric_name, &topo, fabric_why,
						       sizeof fabric_why),
				 0);
		fabric_control = fabric_dial();
		assert_int_equal(strncmp(fabric->root, base, strlen(base)) == 0, !taken);
		cnt[taken] = fd_cnt();
	}
	assert_int_equal(cnt[0], cnt[1]);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(base), 0);
	unsetenv("XDG_RUNTIME_DIR");
}

/* Nodes are as the topology has them. FAB-18 */
static void nodes__are_those_of_the_topology(void **state)
{
	(void)state;
	assert_int_equal(fabric->subnet.node_cnt, NODES);
	assert_int_equal(fabric->subnet.node[HOST_B].sma.info.system_guid, 0x5a);
	assert_int_equal(fabric->subnet.node[HOST_B].sma.info.vendor_id, 0x2c9);
	assert_int_equal(fabric->subnet.node[HOST_B].sma.info.device_id, 0x1013);
	for (uint32_t i = 0; i < NODES; i++) {
		const struct vb_node_info *is = &fabric->subnet.node[i].sma.info;
		const struct vb_topo_node *n = &topo.node[i];

		assert_int_equal(is->type, n->type);
		assert_int_equal(is->port_cnt, n->port_cnt);
		assert_int_equal(is->node_guid, n->node_guid);
		assert_int_equal(is->system_guid, n->system_guid);
		assert_int_equal(is->vendor_id, n->vendor_id);
		assert_int_equal(is->device_id, n->device_id);
		uint32_t first = i < HOST_A ? 0 : 1, last = i < HOST_A ? 0 : n->port_cnt;

		for (uint32_t p = first; p <= last; p++)
			assert_int_equal(fabric->subnet.node[i].sma.port[p].guid[0],
					 n->port[p].guid);
		for (uint8_t p = 1; p <= n->port_cnt; p++)
			assert_int_equal(fabric->subnet.node[i].port[p].has_cable,
					 n->port[p].peer != VB_TOPO_NO_PEER);
	}
	assert_int_equal(fabric->subnet.node[HOST_B].port[2].peer.node, SWITCH_B);
	assert_int_equal(fabric->subnet.node[HOST_B].port[2].peer.port, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(calls__that_are_not_whole_end_the_connection),
	    T(calls__leave_no_descriptors),
	    T(calls__need_a_node),
	    T(trees__are_there_while_somebody_is_at_the_node),
	    T(adapters__are_one_of_a_connection),
	    T(connections_of_cm__end_by_what_is_no_call),
	    T(connection_managers__are_one_of_a_node),
	    T(names__are_of_one_fabric),
	    T(trees__are_elsewhere_where_the_place_is_taken),
	    T(nodes__are_those_of_the_topology),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
