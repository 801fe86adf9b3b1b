/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups of programs at a node, after its subnet manager has set a port by an SMP. FAB-24 */
#include "subnet_process_env.h"

#include "node/cm/call.h"
#include "ucma/abi.h"
#include "wire/mad/subnet/sa.h"

#define MLID 0xc001
#define OTHER_LID 0x33

static struct vb_subnet_cm *cm;
static struct vb_ucma_file *file; /* of the one channel of HOST_B */
static int program;
static vb_time now;
static uint16_t manager; /* its LID, as HOST_B knows it */

static uint32_t command(uint32_t cmd, const void *body, uint16_t len)
{
	const struct vb_ucma_hdr h = {cmd, len, sizeof(struct vb_ucma_number_reply)};
	uint8_t bytes[VB_CM_CALL_BODY], reply[VB_UCMA_REPLY_MAX] = {0};
	struct vb_ucma_command c = {.bytes = bytes, .len = (uint32_t)sizeof h + len};
	uint32_t reply_len, number;

	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, body, len);
	assert_int_equal(vb_ucma_command(file, &c, reply, &reply_len, now), c.len);
	memcpy(&number, reply, sizeof number);
	return number;
}

/* The next question of HOST_B to the administrator, which is answered. */
static struct vb_sa_msg question_answer(void)
{
	struct vb_subnet_mad m;
	struct vb_sa_msg asked, answers;

	assert_true(vb_subnet_cm_transmit(cm, &m));
	assert_int_equal(m.dlid, manager);
	assert_int_equal(vb_sa_parse(&asked, m.mad), 0);
	answers = asked;
	answers.method = VB_MAD_METHOD_GET_RESP;
	answers.member.mlid = MLID;
	vb_sa_emit(&answers, m.mad);
	m.at = place(HOST_B, 2);
	assert_true(vb_subnet_cm_take(fabric, &m, now));
	return asked;
}

/* A program at HOST_B has joined a group through its port 2. */
static int member_begin(void **state)
{
	struct vb_ucma_create_id create = {.ps = VB_UCMA_PS_UDP, .qp_type = 4};
	struct vb_ucma_bind bind = {.addr_size = 16, .addr = {AF_INET, [4] = 10, 0, 0, 4}};
	struct vb_ucma_join_mcast join = {.addr_size = 16, .addr = {AF_INET, [4] = 239, 1, 2, 3}};
	uint64_t token;
	int pair[2];

	(void)fabric_begin(state);
	fabric_configure();
	now = vb_clock_now();
	manager = LID(HOST_A);
	vb_subnet_move(fabric, now);
	cm = vb_subnet_cm_at(fabric, HOST_B);
	assert_non_null(cm);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(vb_channel_open(&cm->host, pair[1], &token), 0);
	program = pair[0];
	file = vb_channel_find(&cm->host, token)->file;
	bind.id = join.id = command(VB_UCMA_CREATE_ID, &create, sizeof create);
	(void)command(VB_UCMA_BIND, &bind, sizeof bind);
	(void)command(VB_UCMA_JOIN_MCAST, &join, sizeof join);
	assert_int_equal(question_answer().method, VB_MAD_METHOD_GET);
	assert_int_equal(question_answer().method, VB_MAD_METHOD_SET);
	assert_int_equal(vb_ucma_poll_timeout(cm->host.ucma), VB_NEVER);
	return 0;
}

static int member_end(void **state)
{
	close(program);
	return fabric_end(state);
}

/* HOST_A sets PortInfo of port @port of HOST_B. */
static void port_set(uint8_t port, const struct vb_port_info *info)
{
	struct vb_mad_hdr h = {.base_version = VB_MAD_BASE_VERSION,
			       .mgmt_class = VB_MAD_CLASS_SUBN_LID,
			       .class_version = VB_SMP_CLASS_VERSION,
			       .method = VB_MAD_METHOD_SET,
			       .tid = 7,
			       .attr_id = VB_SMP_PORT_INFO,
			       .attr_mod = port};
	struct vb_subnet_mad m = {.at = place(HOST_A, 1),
				  .on_qp0 = true,
				  .slid = LID(HOST_A),
				  .dlid = info_of(HOST_B, 2)->lid};

	vb_port_info_emit(info, m.mad);
	vb_mad_hdr_emit(&h, m.mad);
	assert_true(vb_subnet_send(&fabric->subnet, &m, now));
	vb_mad_hdr_parse(&h, m.mad);
	assert_int_equal(h.method, VB_MAD_METHOD_GET_RESP);
	assert_int_equal(h.status, 0);
	vb_subnet_move(fabric, now);
}

/* PortInfo of @port, as a Set that changes nothing has it. */
static struct vb_port_info same_info(uint8_t port)
{
	struct vb_port_info p = *info_of(HOST_B, port);

	p.state = p.phys_state = 0;
	return p;
}

static void expect_rejoin(void)
{
	vb_time due = vb_ucma_poll_timeout(cm->host.ucma);
	struct vb_sa_msg m;

	assert_true(due > now && due != VB_NEVER);
	assert_true(vb_subnet_due(fabric) <= due);
	vb_ucma_handle_timeout(cm->host.ucma, due);
	m = question_answer();
	assert_int_equal(m.method, VB_MAD_METHOD_SET);
	assert_int_equal(m.attr_id, VB_SA_MCMEMBER_RECORD);
	assert_int_equal(m.member.mlid, MLID);
	assert_int_equal(vb_ucma_poll_timeout(cm->host.ucma), VB_NEVER);
}

/* ClientReregister of the port, and of no other one. */
static void groups__when_clients_are_to_register_again(void **state)
{
	struct vb_port_info p = same_info(2), other = same_info(1);

	(void)state;
	port_set(2, &p);
	other.lid = OTHER_LID;
	other.sm_lid = LID(HOST_A);
	other.client_reregister = 1;
	port_set(1, &other);
	assert_int_equal(vb_ucma_poll_timeout(cm->host.ucma), VB_NEVER);
	p.client_reregister = 1;
	port_set(2, &p);
	expect_rejoin();
	port_set(2, &p);
	expect_rejoin();
}

/* Another LID, and another manager, are as good as its word, as they are to a kernel. */
static void groups__when_lid_or_manager_is_another(void **state)
{
	struct vb_port_info p = same_info(2);

	(void)state;
	fabric->subnet.node[SWITCH_A].forward.unicast[OTHER_LID] = 2;
	fabric->subnet.node[SWITCH_B].forward.unicast[OTHER_LID] = 1;
	p.lid = OTHER_LID;
	port_set(2, &p);
	expect_rejoin();
	p.sm_lid = manager = LID(SWITCH_A);
	port_set(2, &p);
	expect_rejoin();
}

/* A node without programs has no groups. */
static void groups__of_a_node_without_any(void **state)
{
	(void)state;
	assert_null(vb_subnet_cm_find(fabric, HOST_A));
	vb_subnet_cm_follow(fabric, HOST_A, now);
	assert_null(vb_subnet_cm_find(fabric, HOST_A));
}

#define M(f) cmocka_unit_test_setup_teardown(f, member_begin, member_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    M(groups__when_clients_are_to_register_again),
	    M(groups__when_lid_or_manager_is_another),
	    M(groups__of_a_node_without_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
