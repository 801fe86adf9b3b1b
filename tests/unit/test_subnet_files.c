/* SPDX-License-Identifier: BSD-2-Clause */
/* Open umad and issm files at the nodes of a fabric, as its process has them, and the MADs between
 * them. MAD-02 to MAD-05, MAD-08, MAD-11, MAD-12, MAD-17, MAD-23 */
#include "subnet_files_env.h"

#include <sys/resource.h>

/* A CA has a file for each port, a switch one for port 0. MAD-01 */
static void files__are_of_ports_that_there_are(void **state)
{
	int a = fabric_attach("H-A"), s = fabric_attach("S-A");
	struct vb_fds fds;

	(void)state;
	for (uint32_t port = 0; port <= 3; port++) {
		bool is_there = port == 1 || port == 2;

		assert_int_equal(open_ask(a, VB_SUBNET_UMAD_OPEN, port, &fds),
				 is_there ? 0 : -ENOENT);
		vb_fds_close(&fds);
		assert_int_equal(open_ask(s, VB_SUBNET_UMAD_OPEN, port, &fds),
				 port == 0 ? 0 : -ENOENT);
		vb_fds_close(&fds);
	}
	assert_int_equal(open_ask(s, VB_SUBNET_ISSM_OPEN, 1, NULL), -ENOENT);
	close(a);
	close(s);
	fabric_turn();
	assert_true(vb_list_is_empty(&fabric->users));
}

/* issm opens once, its port has a manager meanwhile, and its close is noticed. MAD-17 */
static void issm__is_of_one_program_until_it_closes(void **state)
{
	int sock = fabric_attach("H-A"), before = fd_cnt();
	struct file f = file_open(sock, VB_SUBNET_ISSM_OPEN, 1), umad;

	(void)state;
	assert_null(f.page);
	assert_true(info_of(HOST_A, 1)->cap_mask & VB_CAP_IS_SM);
	assert_false(info_of(HOST_A, 2)->cap_mask & VB_CAP_IS_SM);
	assert_int_equal(open_ask(sock, VB_SUBNET_ISSM_OPEN, 1, NULL), -EAGAIN);
	/* issm is no umad file, and umad files can open. */
	assert_int_equal(register_agent(&f, 1, CLASS), -EIO);
	umad = file_open(sock, VB_SUBNET_UMAD_OPEN, 1);
	close(umad.fd);
	fabric_turn();
	assert_true(info_of(HOST_A, 1)->cap_mask & VB_CAP_IS_SM);
	close(f.fd);
	fabric_turn();
	assert_false(info_of(HOST_A, 1)->cap_mask & VB_CAP_IS_SM);
	assert_int_equal(fd_cnt(), before);
	f = file_open(sock, VB_SUBNET_ISSM_OPEN, 1);
	close(f.fd);
	close(sock);
}

/* A file's token cannot be guessed from another's. */
static void tokens__are_random(void **state)
{
	int sock = fabric_attach("H-A"), fd[4];
	uint64_t token[4], all = 0;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct file f = file_open(sock, VB_SUBNET_UMAD_OPEN, 1);

		fd[i] = f.fd;
		token[i] = f.token;
		all |= f.token;
		for (int k = 0; k < i; k++)
			assert_true(token[k] != token[i]);
	}
	assert_true(all >> 32);
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	close(sock);
}

/* Each ioctl needs an open file and its length of argument. */
static void ioctls__are_checked(void **state)
{
	struct file f = file_open(fabric_attach("H-A"), VB_SUBNET_UMAD_OPEN, 1), none = f;
	const uint8_t zero[VB_UMAD_REG2_LEN + 1] = {0};
	uint32_t id = 0;

	(void)state;
	none.token = 0;
	assert_int_equal(ioctl_ask(&none, VB_UMAD_ENABLE_PKEY, "", 0), -EIO);
	none.token = f.token + 1;
	assert_int_equal(ioctl_ask(&none, VB_UMAD_ENABLE_PKEY, "", 0), -EIO);
	assert_int_equal(ioctl_ask(&f, VB_UMAD_ENABLE_PKEY + 1, "", 0), -ENOTTY);
	for (int d = -1; d <= 1; d += 2) {
		assert_int_equal(
		    ioctl_ask(&f, VB_UMAD_REGISTER_AGENT, zero, (uint32_t)(VB_UMAD_REG_LEN + d)),
		    -EINVAL);
		assert_int_equal(
		    ioctl_ask(&f, VB_UMAD_REGISTER_AGENT2, zero, (uint32_t)(VB_UMAD_REG2_LEN + d)),
		    -EINVAL);
		assert_int_equal(
		    ioctl_ask(&f, VB_UMAD_UNREGISTER_AGENT, zero, (uint32_t)((int)sizeof id + d)),
		    -EINVAL);
	}
	assert_int_equal(ioctl_ask(&f, VB_UMAD_UNREGISTER_AGENT, &id, sizeof id), -EINVAL);
	assert_int_equal(register_agent(&f, 1, CLASS), 0);
	assert_int_equal(answer.len, VB_UMAD_REG_LEN);
	assert_int_equal(register_agent2(&f, CLASS + 1, 0, 0), 1);
	assert_int_equal(answer.len, VB_UMAD_REG2_LEN);
	assert_int_equal(register_agent(&f, 1, CLASS), -EINVAL); /* in use */
	assert_int_equal(ioctl_ask(&f, VB_UMAD_ENABLE_PKEY, "", 0), -EINVAL);
	assert_int_equal(ioctl_ask(&f, VB_UMAD_UNREGISTER_AGENT, &id, sizeof id), 0);
	assert_int_equal(register_agent(&f, 1, CLASS), 0);
	close(f.fd);
	close(f.sock);
}

/* A file's page shows its kind, its port and its agents. MAD-11 */
static void pages__show_the_file(void **state)
{
	struct file f = file_open(fabric_attach("H-B"), VB_SUBNET_UMAD_OPEN, 2), s;
	uint32_t id;

	(void)state;
	assert_true(f.page->token == f.token);
	assert_int_equal(f.page->port, 2);
	assert_int_equal(f.page->port_cnt, 2);
	assert_false(f.page->is_switch);
	assert_int_equal(f.page->hdr_len, VB_UMAD_HDR_LEN_OLD);
	assert_int_equal(ioctl_ask(&f, VB_UMAD_ENABLE_PKEY, "", 0), 0);
	assert_int_equal(f.page->hdr_len, VB_UMAD_HDR_LEN);
	assert_int_equal(f.page->agents, 0);
	assert_int_equal(register_agent(&f, 1, CLASS), 0);
	assert_int_equal(register_agent2(&f, CLASS_SA, 1, 0), 1);
	assert_int_equal(register_agent2(&f, CLASS_OUI, 1, 1), 2);
	assert_int_equal(f.page->agents, 7);
	assert_int_equal(f.page->with_rmpp, 6);
	assert_int_equal(f.page->user_rmpp, 4);
	id = 1;
	assert_int_equal(ioctl_ask(&f, VB_UMAD_UNREGISTER_AGENT, &id, sizeof id), 0);
	assert_int_equal(f.page->agents, 5);
	/* Agent 1 again, of another kind. */
	assert_int_equal(register_agent2(&f, CLASS + 1, 0, 0), 1);
	assert_int_equal(f.page->agents, 7);
	assert_int_equal(f.page->with_rmpp, 4);
	s = file_open(fabric_attach("S-A"), VB_SUBNET_UMAD_OPEN, 0);
	assert_int_equal(s.page->port, 0);
	assert_int_equal(s.page->port_cnt, 4);
	assert_true(s.page->is_switch);
	/* REGISTER_AGENT2 sets the long header. MAD-03 */
	assert_int_equal(s.page->hdr_len, VB_UMAD_HDR_LEN_OLD);
	assert_int_equal(register_agent2(&s, CLASS, 0, 0), 0);
	assert_int_equal(s.page->hdr_len, VB_UMAD_HDR_LEN);
	close(s.fd);
	close(s.sock);
	close(f.fd);
	close(f.sock);
}

/* The page of a closed file is free, and begins empty for the next file. */
static void pages__are_free_after_the_file(void **state)
{
	int sock = fabric_attach("H-A");
	struct file f = file_open(sock, VB_SUBNET_UMAD_OPEN, 1), next;

	(void)state;
	assert_int_equal(register_agent2(&f, CLASS, 0, 0), 0);
	f.page->outstanding[3] = 1; /* of a program that was killed before it sent */
	close(f.fd);
	fabric_turn();
	assert_true(f.page->token == 0);
	next = file_open(sock, VB_SUBNET_UMAD_OPEN, 1);
	assert_ptr_equal(next.page, f.page);
	assert_true(next.page->token == next.token);
	assert_int_equal(next.page->agents, 0);
	assert_int_equal(next.page->outstanding[3], 0);
	assert_int_equal(next.page->hdr_len, VB_UMAD_HDR_LEN_OLD);
	close(next.fd);
	close(sock);
}

/* A MAD has its sender's address, with the path bits and indices of its receiver's port. MAD-02,
 * MAD-12 */
static void mads__bring_the_address_along(void **state)
{
	struct vb_sma_port *a = vb_subnet_sma_port(&fabric->subnet, place(HOST_A, 1)),
			   *b = vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2));
	struct vb_mad_addr to = to_host_b;
	struct vb_mad_message m;
	uint8_t gid[16];

	(void)state;
	a->pkey[1] = b->pkey[3] = 0x8001;
	a->guid[1] = 0xabcd;
	a->info.lmc = 1;
	b->info.lid = 0x20;
	b->info.lmc = 2;
	fabric->subnet.node[SWITCH_A].forward.unicast[0x22] = 2;
	fabric->subnet.node[SWITCH_B].forward.unicast[0x22] = 1;
	to.lid = 0x22;
	to.path_bits = 3; /* the highest is beyond the LMC */
	to.pkey_index = 1;
	to.has_grh = true;
	to.gid_index = 1;
	to.hop_limit = 7;
	to.traffic_class = 0x55;
	to.flow_label = 0x12345;
	vb_sma_gid(b, 0, to.gid);
	assert_int_equal(write_ask(&sender, &to, CLASS, 1, 7), 0);
	assert_true(message_read(&receiver, &m));
	assert_int_equal(m.addr.qpn, 1);
	assert_int_equal(m.addr.qkey, VB_MAD_QKEY);
	assert_int_equal(m.addr.lid, LID(HOST_A) | 1);
	assert_int_equal(m.addr.sl, 1);
	assert_int_equal(m.addr.path_bits, 2);
	assert_int_equal(m.addr.pkey_index, 3);
	assert_true(m.addr.has_grh);
	vb_sma_gid(a, 1, gid);
	assert_memory_equal(m.addr.gid, gid, sizeof gid);
	assert_int_equal(m.addr.hop_limit, 7);
	assert_int_equal(m.addr.traffic_class, 0x55);
	assert_int_equal(m.addr.flow_label, 0x12345);
	/* No GRH, and an invalid P_Key index. */
	to.has_grh = false;
	to.pkey_index = VB_SUBNET_PKEYS;
	to.path_bits = 0;
	assert_int_equal(write_ask(&sender, &to, CLASS, 1, 8), 0);
	assert_true(message_read(&receiver, &m));
	assert_false(m.addr.has_grh);
	assert_int_equal(m.addr.lid, LID(HOST_A));
	assert_int_equal(m.addr.pkey_index, 0);
	/* The Q_Key is that of QP 1, whatever the program writes. */
	to.qkey = 5;
	assert_int_equal(write_ask(&sender, &to, CLASS, 1, 9), 0);
	assert_true(message_read(&receiver, &m));
	assert_int_equal(m.addr.qkey, VB_MAD_QKEY);
}

/* QP 0 has no Q_Key; its SMInfo goes to programs. MAD-08 */
static void smps__have_no_q_key(void **state)
{
	const struct vb_mad_addr to = {.qpn = 0, .lid = LID(HOST_B)};
	struct vb_mad_message m;
	struct file f = file_open(sender.sock, VB_SUBNET_UMAD_OPEN, 1);

	(void)state;
	assert_int_equal(register_agent(&f, 0, 0), 0);
	assert_int_equal(register_agent(&receiver, 0, VB_MAD_CLASS_SUBN_LID), 1);
	assert_int_equal(write_ask(&f, &to, VB_MAD_CLASS_SUBN_LID, 0x20, 7), 0);
	assert_true(message_read(&receiver, &m));
	assert_int_equal(m.agent, 1);
	assert_int_equal(m.addr.qpn, 0);
	assert_int_equal(m.addr.qkey, 0);
	assert_int_equal(m.addr.lid, LID(HOST_A));
	/* NodeInfo is the node's: no program gets it. */
	assert_int_equal(write_ask(&f, &to, VB_MAD_CLASS_SUBN_LID, 0x11, 8), 0);
	assert_false(message_read(&receiver, &m));
	close(f.fd);
}

/* A Get that nobody takes is refused. MAD-08 */
static void mads__that_nobody_takes_are_refused(void **state)
{
	struct vb_mad_message m;
	struct vb_mad_hdr h;

	(void)state;
	timeout_ms = 60000;
	assert_int_equal(write_ask(&sender, &to_host_b, CLASS + 1, 1, 7), 0);
	assert_false(message_read(&receiver, &m));
	assert_true(message_read(&sender, &m));
	vb_mad_hdr_parse(&h, m.mad);
	assert_int_equal(h.method, VB_MAD_METHOD_GET_RESP);
	assert_int_equal(h.status, VB_MAD_STATUS_UNSUPPORTED);
	assert_int_equal(m.addr.lid, LID(HOST_B));
	/* A Get to another QP is lost. */
	struct vb_mad_addr to = to_host_b;

	to.qpn = 2;
	assert_int_equal(write_ask(&sender, &to, CLASS, 1, 8), 0);
	assert_false(message_read(&receiver, &m));
	assert_false(message_read(&sender, &m));
}

/* A write that wants no answer leaves and counts no more; it leaves even if its file closes right
 * after. MAD-11, MAD-23 */
static void writes__without_an_answer_leave(void **state)
{
	uint8_t buf[VB_SUBNET_WRITE_MAX];
	uint32_t len = write_make(buf, &to_host_b, CLASS, 1, 7, VB_UMAD_HDR_LEN), *counter;
	struct vb_mad_message m;

	(void)state;
	assert_true(vb_subnet_page_claim(sender.page, sender.token, buf, len, &counter));
	assert_int_equal(*counter, 1);
	assert_int_equal(send(sender.fd, buf, len, 0), len);
	fabric_turn();
	assert_true(message_read(&receiver, &m));
	assert_int_equal(*counter, 0);
	/* More than one turn takes. */
	for (uint64_t tid = 100; tid < 170; tid++) {
		(void)write_make(buf, &to_host_b, CLASS, 1, tid, VB_UMAD_HDR_LEN);
		assert_int_equal(send(sender.fd, buf, len, MSG_DONTWAIT), len);
	}
	close(sender.fd);
	fabric_turn();
	for (int i = 0; i < 70; i++)
		assert_true(message_read(&receiver, &m));
	assert_false(message_read(&receiver, &m));
	sender.fd = -1;
}

/* A message may come as memory; any other descriptor is refused. */
static void writes__come_as_memory(void **state)
{
	uint8_t buf[VB_SUBNET_WRITE_MAX];
	uint32_t len = write_make(buf, &to_host_b, CLASS, 1, 7, VB_UMAD_HDR_LEN);
	int memory = memfd_create("message", MFD_CLOEXEC), pipes[2], before = fd_cnt();
	struct vb_mad_message m;

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	memset(&call, 0, VB_SUBNET_CALL_HEADER);
	call.op = VB_SUBNET_UMAD_WRITE;
	call.token = sender.token;
	assert_int_equal(fabric_ask_with(sender.sock, memory, NULL), -EINVAL); /* empty */
	assert_int_equal(fabric_ask_with(sender.sock, pipes[0], NULL), -EINVAL);
	assert_int_equal(write(memory, buf, len), len);
	assert_int_equal(fabric_ask_with(sender.sock, memory, NULL), 0);
	assert_true(message_read(&receiver, &m));
	assert_int_equal(m.len, VB_MAD_LEN);
	assert_int_equal(ftruncate(memory, VB_MAD_MESSAGE_MAX + 1), 0);
	assert_int_equal(fabric_ask_with(sender.sock, memory, NULL), -EINVAL);
	call.token = sender.token + 1;
	assert_int_equal(fabric_ask_with(sender.sock, memory, NULL), -EIO);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(fd_cnt(), before);
	close(memory);
}

/* Messages that a file's socket has no room for wait until its program reads; the loop hears of
 * it. */
static void messages__wait_for_a_reader(void **state)
{
	struct vb_subnet_file *f = vb_subnet_file_of(fabric, receiver.token);
	struct pollfd loop = {.fd = fabric->epoll_fd, .events = POLLIN};
	int cnt = 0, least = 1;
	struct vb_mad_message m;

	(void)state;
	/* The smallest buffer. */
	assert_int_equal(setsockopt(f->watch.fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
	for (uint64_t tid = 0; tid < 60; tid++)
		assert_int_equal(write_ask(&sender, &to_host_b, CLASS, 1, tid), 0);
	assert_true(f->is_full);
	assert_int_equal(poll(&loop, 1, 0), 0);
	for (int turns = 0; cnt < 60 && turns < 60; turns++) {
		while (message_read(&receiver, &m)) {
			struct vb_mad_hdr h;

			vb_mad_hdr_parse(&h, m.mad);
			assert_int_equal((uint32_t)h.tid, cnt++);
		}
		if (f->is_full)
			assert_int_equal(poll(&loop, 1, 0), 1);
		fabric_turn();
	}
	assert_int_equal(cnt, 60);
	assert_false(f->is_full);
}

/* Without memory a long message waits, although its socket has room: the file is not to look full,
 * of which the loop would hear that it has room, again and again. MAD-14 */
static void messages__without_memory_wait(void **state)
{
	static uint8_t bytes[VB_SUBNET_INLINE_MAX + VB_MAD_LEN];
	const struct vb_mad_message m = {.len = sizeof bytes, .mad = bytes};
	struct vb_umad_file f = {0};
	struct vb_subnet_prefix prefix;
	struct rlimit was, few;
	struct vb_fds fds;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	f.sock = pair[0];
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = (struct rlimit){0, was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(vb_umad_file_send(&f, &m), -ENOMEM);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(vb_umad_file_send(&f, &m), 0);
	assert_int_equal(vb_fds_recv(pair[1], &prefix, sizeof prefix, &fds, 0), sizeof prefix);
	assert_int_equal(fds.cnt, 1);
	assert_int_equal(prefix.len, prefix.hdr_len + sizeof bytes);
	vb_fds_close(&fds);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(files__are_of_ports_that_there_are),
	    T(issm__is_of_one_program_until_it_closes),
	    T(tokens__are_random),
	    T(ioctls__are_checked),
	    T(pages__show_the_file),
	    T(pages__are_free_after_the_file),
	    P(mads__bring_the_address_along),
	    P(smps__have_no_q_key),
	    P(mads__that_nobody_takes_are_refused),
	    P(writes__without_an_answer_leave),
	    P(writes__come_as_memory),
	    P(messages__wait_for_a_reader),
	    cmocka_unit_test(messages__without_memory_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
