/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Umad files of a real broker's RoCE devices, call by call as the library makes them: opening,
 * agents, and MADs by QP1 between two files over "lo". MAD-01, MAD-06 to MAD-09, MAD-11, MAD-16
 */
#include "broker_env.h"
#include "node/client/dial.h"
#include "node/host/clock.h"
#include "node/subnet/client.h"
#include "wire/mad/vendor.h"

#include <time.h>

#define CLASS 0x09 /* vendors', without an OUI */

static struct vb_subnet_call call;
static struct vb_subnet_answer answer;
static uint32_t lo;      /* HCA port of "lo" */
static uint8_t lo_index; /* of the GID of 127.0.0.1 there */

/* An open file. */
struct file {
	int fd;
	uint64_t token;
};

static int dial(void)
{
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 0};
	int sock;

	vb_broker_msg_init(&m, VB_BROKER_UMAD);
	sock = vb_broker_dial(&m, &fds, true, broker_why, sizeof broker_why);
	if (sock < 0)
		fail_msg("dial: %d %s", sock, broker_why);
	assert_int_equal(fds.cnt, 0);
	return sock;
}

/* The number of the HCA port of network device @name, in a broker that runs; 0: none. */
static uint32_t port_of(const struct vb_broker_observer *o, const char *name)
{
	for (uint32_t i = 0; i < o->host->device_cnt; i++)
		if (strcmp(o->host->device[i].ifname, name) == 0 && o->host->device[i].ifindex)
			return i + 1;
	return 0;
}

/* Finds the device of "lo". */
static void lo_find(void)
{
	static const uint8_t local[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
	struct vb_broker_observer o;

	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	lo_index = 0;
	lo = port_of(&o, "lo");
	assert_int_not_equal(lo, 0);
	while (memcmp(o.host->device[lo - 1].gid[lo_index].gid.b, local, sizeof local) != 0)
		assert_true(++lo_index < VB_GIDS_MAX);
	vb_broker_observe_end(&o);
}

static int ask(int sock, enum vb_subnet_op op, uint64_t token, uint32_t number, struct vb_fds *fds)
{
	call.op = op;
	call.token = token;
	call.number = number;
	assert_int_equal(vb_subnet_ask(sock, &call, -1, &answer, fds), 0);
	return answer.status;
}

static struct file file_open(int sock)
{
	struct vb_fds fds = {.cnt = 0};

	call.len = 0;
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_OPEN, 0, lo, &fds), 0);
	assert_int_equal(fds.cnt, 1);
	assert_true(answer.token != 0 && answer.page == 0);
	return (struct file){fds.fd[0], answer.token};
}

/* REGISTER_AGENT2: the number of the agent, or a negative errno. */
static int agent_new(int sock, const struct file *f, uint32_t qpn, uint8_t mgmt_class,
		     uint8_t version, uint8_t method, uint32_t oui)
{
	const uint64_t methods = UINT64_C(1) << method;
	uint32_t id;
	int rc;

	memset(call.body, 0, VB_UMAD_REG2_LEN);
	memcpy(call.body + 4, &qpn, sizeof qpn);
	call.body[8] = mgmt_class;
	call.body[9] = version;
	memcpy(call.body + 16, &methods, sizeof methods);
	memcpy(call.body + 32, &oui, sizeof oui);
	call.len = VB_UMAD_REG2_LEN;
	rc = ask(sock, VB_SUBNET_UMAD_IOCTL, f->token, VB_UMAD_REGISTER_AGENT2, NULL);
	memcpy(&id, answer.body, sizeof id);
	return rc ? rc : (int)id;
}

/* A write of agent 0 to 127.0.0.1; @a may be changed before. */
static int mad_write(int sock, const struct file *f, const struct vb_mad_addr *a,
		     const struct vb_mad_hdr *h, uint32_t timeout_ms)
{
	uint8_t mad[VB_MAD_LEN] = {0};
	const struct vb_mad_message m = {
	    .timeout_ms = timeout_ms, .len = VB_MAD_LEN, .addr = *a, .mad = mad};

	vb_mad_hdr_emit(h, mad);
	vb_umad_write_emit(&m, call.body, VB_UMAD_HDR_LEN);
	call.len = VB_UMAD_HDR_LEN + VB_MAD_LEN;
	return ask(sock, VB_SUBNET_UMAD_WRITE, f->token, 0, NULL);
}

static struct vb_mad_addr local_addr(void)
{
	return (struct vb_mad_addr){.qpn = 1,
				    .has_grh = true,
				    .gid_index = lo_index,
				    .gid = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1}};
}

/* The next message of a file: its header fields, and the address that it came from. */
static struct vb_mad_hdr mad_read(const struct file *f, struct vb_mad_addr *from)
{
	struct pollfd p = {.fd = f->fd, .events = POLLIN};
	uint8_t buf[sizeof(struct vb_subnet_prefix) + VB_UMAD_HDR_LEN + VB_MAD_LEN];
	struct vb_mad_message m;
	struct vb_mad_hdr h;

	assert_int_equal(poll(&p, 1, BROKER_PATIENCE_MS), 1);
	assert_int_equal(read(f->fd, buf, sizeof buf), sizeof buf);
	assert_int_equal(vb_umad_write_parse(&m, buf + sizeof(struct vb_subnet_prefix),
					     VB_UMAD_HDR_LEN + VB_MAD_LEN, VB_UMAD_HDR_LEN),
			 0);
	vb_mad_hdr_parse(&h, m.mad);
	if (from)
		*from = m.addr;
	return h;
}

static struct vb_mad_hdr get_of(uint8_t mgmt_class, uint64_t tid)
{
	return (struct vb_mad_hdr){.base_version = VB_MAD_BASE_VERSION,
				   .mgmt_class = mgmt_class,
				   .class_version = 1,
				   .method = VB_MAD_METHOD_GET,
				   .tid = tid,
				   .attr_id = 0x10};
}

/* MAD-01: a device of the host has a file, others give ENXIO; there is no issm file. */
static void file__of_devices_that_there_are(void **state)
{
	int sock = dial();
	struct file f = file_open(sock);

	(void)state;
	call.len = 0;
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_OPEN, 0, 0, NULL), -ENXIO);
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_OPEN, 0, lo + 1, NULL), -ENXIO);
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_OPEN, 0, UINT32_MAX, NULL), -ENXIO);
	assert_int_equal(ask(sock, VB_SUBNET_ISSM_OPEN, 0, lo, NULL), -EINVAL);
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_IOCTL, f.token + 1, VB_UMAD_ENABLE_PKEY, NULL),
			 -EIO);
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_IOCTL, f.token, 0x5401, NULL), -ENOTTY);
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_IOCTL, f.token, VB_UMAD_ENABLE_PKEY, NULL), 0);
	close(f.fd);
	close(sock);
}

/* MAD-01: a virtual function has no QP1, and so no file. */
static void file__of_a_virtual_function(void **state)
{
	struct vb_broker_observer o;
	uint32_t vf = 0;
	int sock;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_stay(&o, true, 1), 0);
	for (uint32_t i = 0; i < o.host->device_cnt; i++)
		if (o.host->device[i].ifindex && o.host->device[i].parent)
			vf = i + 1;
	assert_int_not_equal(vf, 0);
	sock = dial();
	call.len = 0;
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_OPEN, 0, vf, NULL), -ENXIO);
	assert_int_equal(vb_broker_stay(&o, false, 0), 0);
	vb_broker_observe_end(&o);
	close(sock);
}

/* MAD-06, MAD-07: the classes of a port without QP0, and those that the host serves itself; an
 * agent ends with its file. */
static void agents__of_a_port(void **state)
{
	int sock = dial();
	struct file f = file_open(sock), other = file_open(sock);
	uint32_t id = 0;

	(void)state;
	assert_int_equal(agent_new(sock, &f, 0, 0x81, 1, VB_MAD_METHOD_GET, 0), -EPROTONOSUPPORT);
	assert_int_equal(agent_new(sock, &f, 1, 0x81, 1, VB_MAD_METHOD_GET, 0), -EINVAL);
	assert_int_equal(agent_new(sock, &f, 1, VB_MAD_CLASS_CM, 2, VB_MAD_METHOD_SEND, 0),
			 -EINVAL);
	assert_int_equal(
	    agent_new(sock, &f, 1, VB_MAD_CLASS_VERBENA, 1, VB_MAD_METHOD_GET, VB_VENDOR_OUI),
	    -EINVAL);
	assert_int_equal(agent_new(sock, &f, 1, CLASS, 1, VB_MAD_METHOD_GET, 0), 0);
	assert_int_equal(agent_new(sock, &other, 1, CLASS, 1, VB_MAD_METHOD_GET, 0), -EINVAL);
	memcpy(call.body, &id, sizeof id);
	call.len = sizeof id;
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_IOCTL, f.token, VB_UMAD_UNREGISTER_AGENT, NULL),
			 0);
	assert_int_equal(agent_new(sock, &other, 1, CLASS, 1, VB_MAD_METHOD_GET, 0), 0);
	close(other.fd);
	for (int i = 0; agent_new(sock, &f, 1, CLASS, 1, VB_MAD_METHOD_GET, 0) < 0; i++) {
		assert_true(i < BROKER_PATIENCE_MS);
		(void)poll(NULL, 0, 1);
	}
	close(f.fd);
	close(sock);
}

/* MAD-08, MAD-09, MAD-12: a request by QP1 to the agent of its class, and the answer back; what
 * nobody takes is refused. */
static void mads__go_by_qp1(void **state)
{
	int sock = dial();
	struct file server = file_open(sock), client = file_open(sock);
	struct vb_mad_addr from, to = local_addr();
	struct vb_mad_hdr h = get_of(CLASS, 7), got;

	(void)state;
	assert_int_equal(agent_new(sock, &server, 1, CLASS, 1, VB_MAD_METHOD_GET, 0), 0);
	assert_int_equal(agent_new(sock, &client, 1, CLASS, 1, VB_MAD_METHOD_SEND, 0), 0);
	for (uint64_t tid = 7; tid < 10; tid++) {
		h.tid = tid;
		assert_int_equal(mad_write(sock, &client, &to, &h, 5000), 0);
		got = mad_read(&server, &from);
		assert_true(got.method == VB_MAD_METHOD_GET && (uint32_t)got.tid == tid);
		assert_true(from.has_grh && from.qpn == 1 && from.gid_index == lo_index);
		assert_memory_equal(from.gid, to.gid, sizeof to.gid);
		got.method = VB_MAD_METHOD_GET_RESP;
		assert_int_equal(mad_write(sock, &server, &from, &got, 0), 0);
		got = mad_read(&client, NULL);
		assert_true(got.method == VB_MAD_METHOD_GET_RESP && (uint32_t)got.tid == tid);
	}
	h = get_of(CLASS + 1, 11);
	assert_int_equal(agent_new(sock, &client, 1, CLASS + 1, 1, VB_MAD_METHOD_SEND, 0), 1);
	assert_int_equal(mad_write(sock, &client, &to, &h, 5000), 0);
	got = mad_read(&client, NULL);
	assert_true(got.status == VB_MAD_STATUS_UNSUPPORTED && (uint32_t)got.tid == 11);
	close(server.fd);
	close(client.fd);
	close(sock);
}

/* MAD-09: a request that nobody answers comes back when its timeout has passed, which counts from
 * the request on, also where the broker has slept until then. */
static void mads__wait_as_long_as_they_say(void **state)
{
	const struct timespec pause = {.tv_nsec = 300000000};
	int sock = dial();
	struct file server = file_open(sock), client = file_open(sock);
	struct pollfd back = {.fd = client.fd, .events = POLLIN};
	uint8_t buf[sizeof(struct vb_subnet_prefix) + VB_UMAD_HDR_LEN + VB_MAD_LEN];
	struct vb_mad_addr to = local_addr();
	struct vb_mad_hdr h = get_of(CLASS, 20);

	(void)state;
	assert_int_equal(agent_new(sock, &server, 1, CLASS, 1, VB_MAD_METHOD_GET, 0), 0);
	assert_int_equal(agent_new(sock, &client, 1, CLASS, 1, VB_MAD_METHOD_SEND, 0), 0);
	for (; h.tid < 23; h.tid++) {
		vb_time begin;

		nanosleep(&pause, NULL);
		begin = vb_clock_now();
		assert_int_equal(mad_write(sock, &client, &to, &h, 400), 0);
		assert_int_equal((uint32_t)mad_read(&server, NULL).tid, h.tid);
		assert_int_equal(poll(&back, 1, BROKER_PATIENCE_MS), 1);
		assert_true(vb_clock_now() - begin >= 400 * VB_MSEC);
		/* Of the request its header alone. */
		assert_int_equal(read(client.fd, buf, sizeof buf), sizeof(struct vb_subnet_prefix) +
								       VB_UMAD_HDR_LEN +
								       VB_MAD_HDR_LEN);
	}
	close(server.fd);
	close(client.fd);
	close(sock);
}

/* MAD-08: MADs that the socket of a file has no room for come when the program reads, in order,
 * with no other call and no other MAD to push them. */
static void mads__wait_for_room(void **state)
{
	int sock = dial();
	struct file server = file_open(sock), client = file_open(sock);
	struct vb_mad_addr to = local_addr();
	struct vb_mad_hdr h = get_of(CLASS, 1);
	const uint64_t many = 1500;

	(void)state;
	assert_int_equal(agent_new(sock, &server, 1, CLASS, 1, VB_MAD_METHOD_SEND, 0), 0);
	assert_int_equal(agent_new(sock, &client, 1, CLASS, 1, VB_MAD_METHOD_GET, 0), 0);
	h.method = VB_MAD_METHOD_SEND;
	for (h.tid = 1; h.tid <= many; h.tid++)
		assert_int_equal(mad_write(sock, &client, &to, &h, 0), 0);
	for (uint64_t tid = 1; tid <= many; tid++)
		assert_int_equal((uint32_t)mad_read(&server, NULL).tid, tid);
	close(server.fd);
	close(client.fd);
	close(sock);
}

/* MAD-11: addresses that a RoCE port has no way to. */
static void writes__that_are_refused(void **state)
{
	int sock = dial();
	struct file f = file_open(sock);
	struct vb_mad_hdr h = get_of(CLASS, 3);
	struct vb_mad_addr to = local_addr();

	(void)state;
	assert_int_equal(agent_new(sock, &f, 1, CLASS, 1, VB_MAD_METHOD_GET, 0), 0);
	to.has_grh = false;
	assert_int_equal(mad_write(sock, &f, &to, &h, 0), -EINVAL);
	to = local_addr();
	to.gid_index = 255;
	assert_int_equal(mad_write(sock, &f, &to, &h, 0), -EINVAL);
	to = local_addr();
	to.qpn = 5;
	assert_int_equal(mad_write(sock, &f, &to, &h, 0), -EINVAL);
	call.len = VB_UMAD_HDR_LEN + 10;
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_WRITE, f.token, 0, NULL), -EINVAL);
	call.len = 0;
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_WRITE, f.token + 1, 0, NULL), -EIO);
	close(f.fd);
	close(sock);
}

/* Bytes that are no call are answered so, or end the connection; the broker serves on. */
static void calls__that_are_wrong(void **state)
{
	int sock = dial();
	struct vb_subnet_call c = {.version = VB_SUBNET_CALL_VERSION + 1};

	(void)state;
	assert_int_equal(vb_fds_send(sock, &c, VB_SUBNET_CALL_HEADER, NULL), 0);
	assert_int_equal(recv(sock, &answer, sizeof answer, 0), sizeof answer);
	assert_int_equal(answer.status, -EPROTO);
	c = (struct vb_subnet_call){.version = VB_SUBNET_CALL_VERSION, .len = UINT32_MAX};
	assert_int_equal(vb_fds_send(sock, &c, VB_SUBNET_CALL_HEADER, NULL), 0);
	assert_int_equal(recv(sock, &answer, sizeof answer, 0), sizeof answer);
	assert_int_equal(answer.status, -EPROTO);
	c = (struct vb_subnet_call){.version = VB_SUBNET_CALL_VERSION, .op = VB_SUBNET_DOWN};
	assert_int_equal(vb_fds_send(sock, &c, VB_SUBNET_CALL_HEADER, NULL), 0);
	assert_int_equal(recv(sock, &answer, sizeof answer, 0), sizeof answer);
	assert_int_equal(answer.status, -EINVAL);
	close(sock);
	sock = dial();
	close(file_open(sock).fd);
	close(sock);
}

static uint32_t port_await(const struct vb_broker_observer *o, const char *name)
{
	for (int ms = 0; port_of(o, name) == 0; ms++) {
		assert_true(ms < BROKER_PATIENCE_MS);
		(void)poll(NULL, 0, 1);
	}
	return port_of(o, name);
}

/* MAD-16: so is the file of a device that is gone, also when another one has its place at once. */
static void file__of_a_device_in_anothers_place(void **state)
{
	int sock;
	struct vb_broker_observer o;
	struct pollfd p = {.fd = -1};
	struct vb_fds fds = {.cnt = 0};
	pid_t broker;
	uint32_t port;

	(void)state;
	if (system("ip link add vb0 type veth peer name vb1 2>/dev/null && ip link set vb0 up && "
		   "ip link set vb1 up"))
		skip(); /* no ip(8), or a kernel without veth */
	sock = dial();
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	broker = (pid_t)o.host->broker_pid;
	port = port_await(&o, "vb0");
	call.len = 0;
	assert_int_equal(ask(sock, VB_SUBNET_UMAD_OPEN, 0, port, &fds), 0);
	p.fd = fds.fd[0];
	/* It hears of both changes at once. */
	assert_int_equal(kill(broker, SIGSTOP), 0);
	assert_int_equal(system("ip link del vb0 && ip link add vb2 type veth peer name vb3 && "
				"ip link set vb2 up && ip link set vb3 up"),
			 0);
	assert_int_equal(kill(broker, SIGCONT), 0);
	port_await(&o, "vb2");
	assert_int_equal(poll(&p, 1, BROKER_PATIENCE_MS), 1);
	assert_true(p.revents & POLLHUP);
	assert_int_equal(system("ip link del vb2"), 0);
	vb_broker_observe_end(&o);
	close(p.fd);
	close(sock);
}

/* MAD-16: the file of a broker that has ended is closed from the other end. */
static void file__of_a_broker_that_ended(void **state)
{
	int sock = dial();
	struct file f = file_open(sock);
	struct vb_broker_observer o;
	struct pollfd p = {.fd = f.fd};

	(void)state;
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	assert_int_equal(kill((pid_t)o.host->broker_pid, SIGTERM), 0);
	assert_int_equal(poll(&p, 1, BROKER_PATIENCE_MS), 1);
	assert_true(p.revents & POLLHUP);
	vb_broker_observe_end(&o);
	close(f.fd);
	close(sock);
}

static int find_device(void **state)
{
	(void)state;
	lo_find();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(file__of_devices_that_there_are),
	    cmocka_unit_test(file__of_a_virtual_function),
	    cmocka_unit_test(agents__of_a_port),
	    cmocka_unit_test(mads__go_by_qp1),
	    cmocka_unit_test(mads__wait_as_long_as_they_say),
	    cmocka_unit_test(mads__wait_for_room),
	    cmocka_unit_test(writes__that_are_refused),
	    cmocka_unit_test(calls__that_are_wrong),
	    cmocka_unit_test(file__of_a_device_in_anothers_place),
	    cmocka_unit_test(file__of_a_broker_that_ended),
	};

	if (!netns_enter())
		return 77;
	return cmocka_run_group_tests(tests, find_device, NULL);
}
