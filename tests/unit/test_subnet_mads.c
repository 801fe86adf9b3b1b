/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MADs between the open files of a fabric, in time and in their order: long messages, requests that
 * nobody answers, what was written before, and what a port lets out. MAD-08 to MAD-13, MAD-18,
 * MAD-19, FAB-09
 */
#include "subnet_files_env.h"

#include "wire/ib/lrh.h"
#include "wire/mad/cm.h"
#include "wire/mad/smp.h"

#define LONG_LEN 20000u
#define OUI_AT 37

/* A file's program writes @len bytes of @text as memory. */
static int long_ask(const struct file *f, const uint8_t *text, size_t len)
{
	int memory = memfd_create("message", MFD_CLOEXEC), rc;

	assert_int_equal(write(memory, text, len), len);
	memset(&call, 0, VB_SUBNET_CALL_HEADER);
	call.op = VB_SUBNET_UMAD_WRITE;
	call.token = f->token;
	rc = fabric_ask_with(f->sock, memory, NULL);
	close(memory);
	return rc;
}

/* A message of many MADs, longer than a file's socket takes, comes as memory; one that is a little
 * shorter comes by the socket. */
static void messages__that_are_long_come_as_memory(void **state)
{
	static uint8_t whole[VB_UMAD_HDR_LEN + LONG_LEN], got[VB_UMAD_HDR_LEN + LONG_LEN + 1000];
	static const uint32_t lengths[] = {VB_SUBNET_INLINE_MAX - VB_UMAD_HDR_LEN,
					   VB_SUBNET_INLINE_MAX - VB_UMAD_HDR_LEN + 4, LONG_LEN};
	const struct vb_mad_hdr h = {.base_version = 1,
				     .mgmt_class = CLASS_OUI,
				     .class_version = 1,
				     .method = VB_MAD_METHOD_GET,
				     .tid = 77};
	const struct vb_rmpp r = {.version = 1, .type = VB_RMPP_DATA, .flags = VB_RMPP_ACTIVE};
	uint8_t mad[LONG_LEN];

	(void)state;
	assert_int_equal(register_agent2(&sender, CLASS_OUI, 1, 0), 1);
	assert_int_equal(register_agent2(&receiver, CLASS_OUI, 1, 0), 1);
	for (size_t i = 0; i < sizeof mad; i++)
		mad[i] = (uint8_t)(i * 31 + i / 256);
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		struct vb_mad_message m = {.agent = 1,
					   .len = lengths[i],
					   .timeout_ms = 60000,
					   .addr = to_host_b,
					   .mad = mad};
		struct vb_subnet_prefix prefix;
		struct vb_fds fds;
		int before;
		ssize_t n;

		vb_mad_hdr_emit(&h, mad);
		vb_mad_tid_put(mad, 100 + i);
		vb_rmpp_emit(&r, mad);
		memcpy(mad + OUI_AT - 1, (uint8_t[]){0, 0, 0, 1}, 4);
		vb_umad_write_emit(&m, whole, VB_UMAD_HDR_LEN);
		before = fd_cnt();
		assert_int_equal(long_ask(&sender, whole, VB_UMAD_HDR_LEN + m.len), 0);
		n = vb_fds_recv(receiver.fd, got, sizeof got, &fds, MSG_DONTWAIT);
		assert_true(n >= (ssize_t)sizeof prefix);
		memcpy(&prefix, got, sizeof prefix);
		assert_int_equal(prefix.hdr_len, VB_UMAD_HDR_LEN);
		assert_int_equal(prefix.len, VB_UMAD_HDR_LEN + m.len);
		assert_int_equal(fds.cnt, i > 0);
		if (fds.cnt) {
			assert_int_equal(n, sizeof prefix);
			assert_int_equal(pread(fds.fd[0], got, sizeof got, 0), prefix.len);
		} else {
			assert_int_equal(n, sizeof prefix + prefix.len);
			memmove(got, got + sizeof prefix, prefix.len);
		}
		assert_int_equal(vb_umad_write_parse(&m, got, prefix.len, prefix.hdr_len), 0);
		assert_int_equal(m.agent, 1);
		assert_int_equal(m.addr.lid, LID(HOST_A));
		assert_memory_equal(m.mad + 40, mad + 40, m.len - 40);
		vb_fds_close(&fds);
		/* Nothing of it stays open at either side. */
		assert_int_equal(fd_cnt(), before);
	}
}

/* A request that is not answered comes back to its file when its time is over, and until then the
 * loop is due and the page counts it. MAD-13 */
static void requests__come_back_when_nobody_answers(void **state)
{
	const uint32_t *cnt = &sender.page->outstanding[vb_agents_counter_of(CLASS, 9)];
	struct vb_mad_addr to = to_host_b;
	uint32_t got[64]; /* a prefix, and the header: number of the agent, status */
	struct vb_mad_message m;
	vb_time now;

	(void)state;
	assert_true(vb_subnet_due(fabric) == VB_NEVER || vb_subnet_due(fabric) > vb_clock_now());
	to.qpn = 2; /* where nobody is */
	timeout_ms = 50000;
	assert_int_equal(write_ask(&sender, &to, CLASS, 1, 9), 0);
	now = vb_clock_now();
	assert_true(vb_subnet_due(fabric) <= now + 50 * VB_SEC);
	assert_true(vb_subnet_due(fabric) > now);
	assert_int_equal(*cnt, 1);
	assert_false(message_read(&sender, &m));
	vb_subnet_move(fabric, now + 60 * VB_SEC);
	assert_true(recv(sender.fd, got, sizeof got, MSG_DONTWAIT) > 16);
	assert_int_equal(got[0], VB_UMAD_HDR_LEN);
	assert_int_equal(got[2], 0);
	assert_int_equal(got[3], ETIMEDOUT);
	assert_int_equal(*cnt, 0);
}

/* Each user, each connection manager and the subnet itself may be the first that is due. */
static void loop__is_due_with_the_first(void **state)
{
	struct vb_mad_addr to = to_host_b;
	struct file third = file_open(receiver.sock, VB_SUBNET_UMAD_OPEN, 1);
	vb_time first, second;

	(void)state;
	assert_int_equal(register_agent(&third, 1, 0), 0);
	to.qpn = 2;
	timeout_ms = 50000;
	assert_int_equal(write_ask(&sender, &to, CLASS, 1, 9), 0);
	first = vb_subnet_due(fabric);
	timeout_ms = 20000;
	assert_int_equal(write_ask(&third, &to, CLASS, 1, 9), 0);
	second = vb_subnet_due(fabric);
	assert_true(second < first);
	/* A trap that waits to be sent again. */
	vb_subnet_set_description(&fabric->subnet, HOST_B, "x", vb_clock_now());
	assert_true(vb_subnet_due(fabric) < second);
	close(third.fd);
}

/* A message of connections that waits for its listener is answered when its time is over, by the
 * loop. CMP-17 */
static void loop__passes_the_time_to_connection_managers(void **state)
{
	const struct vb_cm_msg msg = {.tid = 9,
				      .attr = VB_CM_SIDR_REQ,
				      .local_id = 5,
				      .sidr_req = {.service_id = 0x1061d2f, .pkey = 0xffff}};
	struct vb_subnet_mad m = {.at = place(HOST_B, 2),
				  .slid = LID(HOST_A),
				  .dlid = LID(HOST_B),
				  .src_qp = 1,
				  .dst_qp = 1,
				  .qkey = VB_MAD_QKEY,
				  .pkey = 0xffff};
	const struct vb_cm_port_counters *c;
	struct vb_subnet_cm *cm;
	vb_time due;

	(void)state;
	assert_non_null(vb_subnet_cm_at(fabric, HOST_A)); /* another one, which is before it */
	vb_cm_msg_emit(&msg, m.mad);
	assert_true(vb_subnet_cm_take(fabric, &m, vb_clock_now()));
	cm = vb_subnet_cm_find(fabric, HOST_B);
	c = vb_ucma_port_counters(cm->host.ucma);
	due = vb_ucma_poll_timeout(cm->host.ucma);
	assert_true(due != VB_NEVER);
	assert_true(vb_subnet_due(fabric) <= due);
	vb_subnet_move(fabric, due - 1);
	assert_int_equal(c[2].tx_msgs[VB_CM_SIDR_REP - VB_CM_ATTR_FIRST], 0);
	vb_subnet_move(fabric, due);
	assert_int_equal(c[2].tx_msgs[VB_CM_SIDR_REP - VB_CM_ATTR_FIRST], 1);
}

/* A MAD that was written without an answer leaves before a MAD that is written by a call, and
 * before its agent ends. MAD-11 */
static void writes__keep_their_order(void **state)
{
	uint8_t buf[VB_SUBNET_WRITE_MAX];
	uint32_t len = write_make(buf, &to_host_b, CLASS, 1, 1, VB_UMAD_HDR_LEN), id = 0;
	const struct vb_fds none = {.cnt = 0};
	struct vb_mad_message m;
	struct vb_mad_hdr h;

	(void)state;
	assert_int_equal(send(sender.fd, buf, len, 0), len);
	memset(&call, 0, VB_SUBNET_CALL_HEADER);
	call.op = VB_SUBNET_UMAD_WRITE;
	call.token = sender.token;
	call.len = write_make(call.body, &to_host_b, CLASS, 1, 2, VB_UMAD_HDR_LEN);
	assert_int_equal(vb_subnet_file_write(fabric, &call, &none), 0);
	vb_subnet_move(fabric, vb_clock_now());
	for (uint32_t i = 1; i <= 2; i++) {
		assert_true(message_read(&receiver, &m));
		vb_mad_hdr_parse(&h, m.mad);
		assert_int_equal((uint32_t)h.tid, i);
	}
	(void)write_make(buf, &to_host_b, CLASS, 1, 3, VB_UMAD_HDR_LEN);
	assert_int_equal(send(sender.fd, buf, len, 0), len);
	assert_int_equal(ioctl_ask(&sender, VB_UMAD_UNREGISTER_AGENT, &id, sizeof id), 0);
	assert_true(message_read(&receiver, &m));
	/* And none leaves by an agent that has ended. */
	(void)write_make(buf, &to_host_b, CLASS, 1, 4, VB_UMAD_HDR_LEN);
	assert_int_equal(send(sender.fd, buf, len, 0), len);
	fabric_turn();
	assert_false(message_read(&receiver, &m));
}

/* A program that writes past the library spoils nothing but its own writes. */
static void writes__that_are_too_short_are_lost(void **state)
{
	uint8_t buf[VB_SUBNET_WRITE_MAX];
	uint32_t len = write_make(buf, &to_host_b, CLASS, 1, 1, VB_UMAD_HDR_LEN);
	static const uint32_t lengths[] = {1, VB_UMAD_HDR_LEN, VB_UMAD_HDR_LEN + VB_MAD_HDR_LEN - 1,
					   VB_UMAD_HDR_LEN + VB_MAD_HDR_LEN};
	uint32_t *cnt = &sender.page->outstanding[vb_agents_counter_of(CLASS, 1)];
	struct vb_mad_message m;

	(void)state;
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		*cnt = 1;
		assert_int_equal(send(sender.fd, buf, lengths[i], 0), lengths[i]);
		fabric_turn();
		assert_false(message_read(&receiver, &m));
		/* A write that has the header of a MAD counted as under way. */
		assert_int_equal(*cnt, i < 3);
	}
	*cnt = 0;
	assert_int_equal(send(sender.fd, buf, len, 0), len);
	fabric_turn();
	assert_true(message_read(&receiver, &m));
}

/* A directed route of @node's file at port @port that begins at port @first. */
static int directed_ask(const struct file *f, uint8_t first)
{
	const struct vb_mad_hdr h = {.base_version = 1,
				     .mgmt_class = VB_MAD_CLASS_SUBN_DIRECTED,
				     .class_version = 1,
				     .method = VB_MAD_METHOD_GET,
				     .tid = first,
				     .attr_id = VB_SMP_NODE_INFO};
	const struct vb_smp_route r = {
	    .hop_cnt = 1, .dr_slid = VB_LID_PERMISSIVE, .dr_dlid = VB_LID_PERMISSIVE};
	uint8_t mad[VB_MAD_LEN] = {0};
	const struct vb_mad_message m = {
	    .len = VB_MAD_LEN, .addr = {.lid = VB_LID_PERMISSIVE}, .mad = mad};

	vb_mad_hdr_emit(&h, mad);
	vb_smp_route_emit(&r, mad);
	vb_smp_initial_path(mad)[1] = first;
	memset(&call, 0, VB_SUBNET_CALL_HEADER);
	call.op = VB_SUBNET_UMAD_WRITE;
	call.token = f->token;
	vb_umad_write_emit(&m, call.body, f->page->hdr_len);
	call.len = f->page->hdr_len + VB_MAD_LEN;
	return fabric_ask_with(f->sock, -1, NULL);
}

/* A directed route begins at the port of the file; at a switch at any. FAB-09 */
static void routes__begin_at_the_port_of_the_file(void **state)
{
	struct file at_switch = file_open(fabric_attach("S-A"), VB_SUBNET_UMAD_OPEN, 0),
		    at_port = file_open(receiver.sock, VB_SUBNET_UMAD_OPEN, 2);

	(void)state;
	assert_int_equal(register_agent(&at_port, 0, 0), 0);
	assert_int_equal(directed_ask(&at_port, 1), -EINVAL);
	assert_int_equal(directed_ask(&at_port, 2), 0);
	assert_int_equal(register_agent(&at_switch, 0, 0), 0);
	assert_int_equal(directed_ask(&at_switch, 4), 0);
	assert_int_equal(directed_ask(&at_switch, 1), 0);
	close(at_port.fd);
	close(at_switch.fd);
	close(at_switch.sock);
}

/* Files of two ports of one node are of two: each has its own agents, and what comes to one port is
 * not read at the other. */
static void files__of_two_ports_are_two(void **state)
{
	struct file other = file_open(receiver.sock, VB_SUBNET_UMAD_OPEN, 1);
	struct vb_mad_message m;

	(void)state;
	assert_int_equal(register_agent(&other, 1, CLASS), 0); /* as at port 2 */
	assert_int_equal(write_ask(&sender, &to_host_b, CLASS, 1, 7), 0);
	assert_true(message_read(&receiver, &m));
	assert_false(message_read(&other, &m));
	/* Two files at one port are of the same agents: a class is one's. */
	assert_int_equal(register_agent(&other, 1, CLASS), -EINVAL);
	close(other.fd);
	/* The port that is closed is nobody's, and can be opened anew. */
	fabric_turn();
	other = file_open(receiver.sock, VB_SUBNET_UMAD_OPEN, 1);
	assert_int_equal(register_agent(&other, 1, CLASS), 0);
	close(other.fd);
}

/* Unread messages can still be read when the fabric has ended; nothing is left of open files. */
static void files__end_with_the_fabric(void **state)
{
	struct file issm = file_open(receiver.sock, VB_SUBNET_ISSM_OPEN, 1);
	char byte;

	for (uint32_t tid = 0; tid < 5; tid++)
		assert_int_equal(write_ask(&sender, &to_host_b, CLASS, 1, tid), 0);
	(void)fabric_end(state);
	assert_int_equal(recv(issm.fd, &byte, 1, MSG_DONTWAIT), 0);
	for (int i = 0; i < 5; i++)
		assert_true(recv(receiver.fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) > 1);
	assert_int_equal(recv(receiver.fd, &byte, 1, MSG_DONTWAIT), 0);
	close(issm.fd);
	close(receiver.fd);
	close(receiver.sock);
	close(sender.fd);
	close(sender.sock);
	(void)pair_begin(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    P(messages__that_are_long_come_as_memory),
	    P(requests__come_back_when_nobody_answers),
	    P(loop__is_due_with_the_first),
	    P(loop__passes_the_time_to_connection_managers),
	    P(writes__keep_their_order),
	    P(writes__that_are_too_short_are_lost),
	    P(routes__begin_at_the_port_of_the_file),
	    P(files__of_two_ports_are_two),
	    P(files__end_with_the_fabric),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
