/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QP1 of the host among its users, and what a user can do to another one by it: take no service,
 * read no message, use up nothing. Users are real ones, and write to the wire what they like.
 * CMP-13, CMP-17, MAD-07, MAD-09
 */
#include "carrier_gsi_env.h"
#include "link/carried/status.h"
#include "link/memory.h"
#include "wire/mad/vendor.h"

static struct vb_carrier_user_status status_of(uint32_t uid)
{
	struct vb_carrier_answer answer;
	struct vb_carrier_user_status u = {.uid = UINT32_MAX};
	void *p;
	int fd;

	MUST(vb_carrier_look(VB_CARRIER_STATUS, &answer, &fd) == 0);
	MUST(vb_memory_map(fd, sizeof(struct vb_carrier_status), false, &p) == 0);
	close(fd);
	for (uint32_t i = 0; i < ((struct vb_carrier_status *)p)->user_cnt; i++)
		if (((struct vb_carrier_status *)p)->user[i].uid == uid)
			u = ((struct vb_carrier_status *)p)->user[i];
	vb_memory_unmap(p, sizeof(struct vb_carrier_status));
	return u;
}

static void claims_of_victim(void)
{
	struct vb_carried c = attach_gsi();

	common->slot[0] = c.part;
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE + 1, &loopback) == 0);
	MUST(claim(&c, VB_CARRIER_CLAIM_CLASS, vb_carrier_class_key(9, 1, 1, 0), &any) == 0);
	/* As often as it likes, and no other one than these. */
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE + 2, &any) == -EDQUOT);
	MUST(claim(&c, VB_CARRIER_RELEASE, SERVICE, &any) == 0);
	/* Low ports are root's, whatever the user's broker lets him have. */
	MUST(claim(&c, VB_CARRIER_CLAIM, UINT64_C(0x1060016), &any) == -EACCES);
	step_to(1);
	await(&common->go, 1);
	/* Its broker is killed, and the next one comes. */
	close(c.sock);
	c.sock = -1;
	step_to(2);
	await(&common->go, 2);
	c = attach_gsi();
	MUST(c.part == common->slot[0]);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	step_to(3);
	await(&common->go, 3);
	/* Given back as often as it was made. */
	MUST(claim(&c, VB_CARRIER_RELEASE, SERVICE, &any) == 0);
	step_to(4);
	await(&common->go, 4);
}

static void claims_of_stranger(void)
{
	const struct vb_gid other = {.b = {[15] = 2}};
	struct vb_carried c = attach_gsi();

	MUST(c.part != common->slot[0]);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == -EADDRINUSE);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &other) == -EADDRINUSE);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE + 1, &any) == -EADDRINUSE);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE + 1, &loopback) == -EADDRINUSE);
	MUST(claim(&c, VB_CARRIER_CLAIM_CLASS, vb_carrier_class_key(9, 1, 1, 0), &any) ==
	     -EADDRINUSE);
	/* A claim of another one is not given back by this user. */
	MUST(claim(&c, VB_CARRIER_RELEASE, SERVICE, &any) == 0);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == -EADDRINUSE);
	MUST(status_of(STRANGER).counts.refused[VB_CARRIER_REFUSED_services] == 6);
	MUST(status_of(VICTIM).uid == UINT32_MAX); /* nothing is said of others */
	/* Another address, another method: nobody's. */
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE + 1, &other) == 0);
	MUST(claim(&c, VB_CARRIER_CLAIM_CLASS, vb_carrier_class_key(9, 1, 2, 0), &any) == 0);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	/* While the victim has no broker, it is still the victim's. */
	await(&common->ready, 2);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == -EADDRINUSE);
	__atomic_store_n(&common->go, 2, __ATOMIC_SEQ_CST);
	await(&common->ready, 3);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == -EADDRINUSE);
	__atomic_store_n(&common->go, 3, __ATOMIC_SEQ_CST);
	await(&common->ready, 4);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	__atomic_store_n(&common->go, 4, __ATOMIC_SEQ_CST);
}

/* A service is the first user's who asks, at an address or at all, until he gives it back; his
 * broker may be killed meanwhile. He has so many. */
static void services__are_one_users(void **state)
{
	pid_t victim = user_start(VICTIM, claims_of_victim);

	(void)state;
	await(&common->ready, 1);
	assert_int_equal(user_run(STRANGER, claims_of_stranger), 0);
	assert_int_equal(user_end(victim), 0);
}

static void hold_service(void)
{
	struct vb_carried c = attach_gsi(), p = attach(0, 0);
	char why[VB_CARRIER_TEXT_MAX];

	common->slot[1] = c.part;
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	step_to(1);
	await(&common->go, 1);
	MUST(vb_carried_attach(&c, why, sizeof why) == 0 && c.part == common->slot[1]);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	MUST(vb_carried_attach(&p, why, sizeof why) == 0 && p.slot == common->slot[0]);
}

static void steal_after_restart(void)
{
	struct vb_carried c;

	(void)attach(2, common->slot[0]);
	(void)attach(3, common->slot[0] ^ 31); /* of the same low byte */
	c = attach_gsi();
	common->slot[4] = c.part;
	common->rc[4] = claim(&c, VB_CARRIER_CLAIM, SERVICE, &any);
}

/* The shared broker is killed. All that users had from it is held for them by the next one, and a
 * user who is there sooner gets none of it. */
static void restart__holds_what_users_have(void **state)
{
	pid_t victim = user_start(VICTIM, hold_service);

	(void)state;
	await(&common->ready, 1);
	carrier_kill();
	carrier_start();
	assert_int_equal(user_run(STRANGER, steal_after_restart), 0);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
	assert_int_equal(common->rc[2], -EBUSY);
	assert_int_equal(common->rc[3], -EBUSY);
	assert_int_equal(common->rc[4], -EADDRINUSE);
	assert_int_not_equal(common->slot[4], common->slot[1]);
}

static unsigned long long netns_inode(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	return st.st_ino;
}

static void claim_and_end(void)
{
	struct vb_carried c = attach_gsi();

	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
}

/* Numbers of network namespaces come again: the users of one that has gone hold nothing in the next
 * one of its number. */
static void restart__in_another_namespace(void **state)
{
	char from[64], to[64];

	(void)state;
	assert_int_equal(user_run(VICTIM, claim_and_end), 0);
	carrier_kill();
	snprintf(from, sizeof from, "/run/verbena-shared/%llu", netns_inode());
	assert_true(netns_enter());
	snprintf(to, sizeof to, "/run/verbena-shared/%llu", netns_inode());
	assert_int_equal(rename(from, to), 0);
	carrier_start();
	assert_int_equal(user_run(STRANGER, claim_and_end), 0);
}

static void read_messages(void)
{
	struct vb_carried c = attach_gsi();
	struct reader r = {.ring = {.mem = c.mem}};
	uint8_t stranger;

	common->slot[0] = c.part;
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	step_to(1);
	await(&common->go, 1);
	stranger = (uint8_t)common->slot[1];
	must_read(&r, VB_CM_REQ, 1);
	must_read(&r, VB_CM_RTU, 77);
	must_read(&r, VB_CM_DREQ, 77);
	/* The request again, though nobody listens any more; and its sender gives up. */
	MUST(claim(&c, VB_CARRIER_RELEASE, SERVICE, &any) == 0);
	step_to(2);
	must_read(&r, VB_CM_REQ, 1);
	must_read(&r, VB_CM_REJ, 1);
	/* A response to what this user has asked. */
	MUST(mad_next(&r, BROKER_PATIENCE_MS));
	MUST(!mad_next(&r, 50));
	(void)stranger;
}

static void write_messages(void)
{
	struct vb_carried c = attach_gsi();
	struct reader r = {.ring = {.mem = c.mem}};
	struct vb_cm_msg m = req(SERVICE, 1), rej = {.attr = VB_CM_REJ, .local_id = 1};
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = 9,
			       .class_version = 1,
			       .method = VB_MAD_METHOD_GET_RESP};
	uint8_t mad[VB_MAD_LEN] = {0};

	common->slot[1] = c.part;
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE + 1, &any) == 0);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	message_send(&m);
	m = to_part(VB_CM_RTU, common->slot[0]);
	message_send(&m);
	m = to_part(VB_CM_DREQ, common->slot[0]);
	message_send(&m);
	await(&common->ready, 2);
	m = req(SERVICE, 1);
	message_send(&m);
	rej.rej.reason = VB_CM_REJ_TIMEOUT;
	message_send(&rej);
	h.tid = (uint64_t)common->slot[0] << VB_CARRIER_TID_SHIFT | 5;
	vb_mad_hdr_emit(&h, mad);
	mad_send(mad, 1);
	/* None of it is for this user; his own is. */
	m = req(SERVICE + 1, 2);
	message_send(&m);
	must_read(&r, VB_CM_REQ, 2);
	MUST(!mad_next(&r, 50));
}

/* Each message is its user's, and nobody else's. */
static void messages__come_to_their_user(void **state)
{
	pid_t victim = user_start(VICTIM, read_messages);

	(void)state;
	await(&common->ready, 1);
	assert_int_equal(user_run(STRANGER, write_messages), 0);
	assert_int_equal(user_end(victim), 0);
}

static struct vb_carrier_status totals_read(void)
{
	struct vb_carrier_answer answer;
	struct vb_carrier_status s;
	void *p;
	int fd;

	assert_int_equal(vb_carrier_look(VB_CARRIER_STATUS, &answer, &fd), 0);
	assert_int_equal(vb_memory_map(fd, sizeof s, false, &p), 0);
	close(fd);
	s = *(struct vb_carrier_status *)p;
	vb_memory_unmap(p, sizeof s);
	return s;
}

static void connect_to_nobody(void)
{
	struct vb_carried c = attach_gsi();
	struct reader r = {.ring = {.mem = c.mem}};
	uint32_t own = c.part << VB_CARRIER_ID_SHIFT | 5;
	struct vb_cm_msg m = req(SERVICE, own);

	/* Refused after a moment, in which a listener may come. */
	message_send(&m);
	MUST(mad_next(&r, BROKER_PATIENCE_MS));
	MUST(vb_cm_msg_parse(&m, r.mad) == 0 && m.attr == VB_CM_REJ && m.remote_id == own &&
	     m.rej.reason == VB_CM_REJ_INVALID_SERVICE_ID);
	m = (struct vb_cm_msg){
	    .attr = VB_CM_SIDR_REQ, .local_id = own, .sidr_req = {.service_id = SERVICE}};
	message_send(&m);
	MUST(mad_next(&r, BROKER_PATIENCE_MS));
	MUST(vb_cm_msg_parse(&m, r.mad) == 0 && m.attr == VB_CM_SIDR_REP &&
	     m.sidr_rep.status == VB_CM_SIDR_UNSUPPORTED);
	/* Of a connection that nobody has. */
	m = (struct vb_cm_msg){.attr = VB_CM_DREQ, .local_id = own, .remote_id = 3};
	message_send(&m);
	must_read(&r, VB_CM_DREP, 3);
	m = req(SERVICE, own + 1);
	message_send(&m);
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	must_read(&r, VB_CM_REQ, own + 1);
}

/* Requests that no user has a listener for are answered, and counted. */
static void requests__for_nobody(void **state)
{
	struct vb_carrier_status s;

	(void)state;
	assert_int_equal(user_run(VICTIM, connect_to_nobody), 0);
	s = totals_read();
	assert_int_equal(s.gsi_refused, 3);
}

/* The answer to a request comes by the TID that has the asker's part. */
static void ask_host(void)
{
	struct vb_carried c = attach_gsi();
	struct reader r = {.ring = {.mem = c.mem}};
	uint64_t tid = (uint64_t)c.part << VB_CARRIER_TID_SHIFT | 9;
	struct vb_vendor_msg v = {.tid = tid, .attr = VB_VENDOR_ADAPTER};
	/* Performance management, which no software adapter has. */
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = 4,
			       .class_version = 1,
			       .method = VB_MAD_METHOD_GET,
			       .attr_id = 0x12,
			       .tid = tid};
	uint8_t mad[VB_MAD_LEN] = {0};

	vb_vendor_emit(&v, mad);
	mad_send(mad, 1);
	MUST(mad_next(&r, BROKER_PATIENCE_MS));
	MUST(vb_vendor_parse(&v, r.mad) == 0 && v.is_response && v.adapter.gid_cnt > 0);
	memset(mad, 0, sizeof mad);
	vb_mad_hdr_emit(&h, mad);
	mad_send(mad, 1);
	MUST(mad_next(&r, BROKER_PATIENCE_MS));
	vb_mad_hdr_parse(&h, r.mad);
	MUST(h.method == VB_MAD_METHOD_GET_RESP && h.status == VB_MAD_STATUS_UNSUPPORTED);
	/* That is not for an ordinary user to change. */
	MUST(claim(&c, VB_CARRIER_CLAIM_CLASS, vb_carrier_class_key(4, 1, VB_MAD_METHOD_GET, 0),
		   &any) == -EACCES);
	/* For a vendor's class he may have an agent. */
	MUST(claim(&c, VB_CARRIER_CLAIM_CLASS, vb_carrier_class_key(15, 1, VB_MAD_METHOD_GET, 0),
		   &any) == 0);
	h = (struct vb_mad_hdr){.base_version = 1,
				.mgmt_class = 15,
				.class_version = 1,
				.method = VB_MAD_METHOD_GET,
				.attr_id = 0x12,
				.tid = tid};
	vb_mad_hdr_emit(&h, mad);
	mad_send(mad, 1);
	MUST(mad_next(&r, BROKER_PATIENCE_MS));
	vb_mad_hdr_parse(&h, r.mad);
	MUST(h.method == VB_MAD_METHOD_GET);
}

static void have_class(void)
{
	struct vb_carried c = attach_gsi();

	MUST(claim(&c, VB_CARRIER_CLAIM_CLASS, vb_carrier_class_key(4, 1, VB_MAD_METHOD_GET, 0),
		   &any) == 0);
}

/* The administrator may have agents of all classes. */
static void classes__of_the_administrator(void **state)
{
	(void)state;
	assert_int_equal(user_run(0, have_class), 0);
}

/* MAD-08 */
static void host__answers_what_no_user_does(void **state)
{
	(void)state;
	assert_int_equal(user_run(VICTIM, ask_host), 0);
	assert_int_equal(totals_read().gsi_answered, 2);
}

static void wait_for_one(void)
{
	struct vb_carried c = attach_gsi();
	struct reader r = {.ring = {.mem = c.mem}};

	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	step_to(1);
	await(&common->go, 1);
	must_read(&r, VB_CM_REQ, 1);
}

/* Many requests for a service of the stranger's, who does not read them; many that nobody has, of
 * which few wait; and what is no MAD. */
static void flood_gsi(void)
{
	struct vb_carried c = attach_gsi();
	struct vb_cm_msg m = req(SERVICE + 1, 3);
	uint8_t mad[VB_MAD_LEN];

	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE + 1, &any) == 0);
	vb_cm_msg_emit(&m, mad);
	for (int i = 0; i < 24; i++) {
		mad_send(mad, 500);
		(void)poll(NULL, 0, 2);
	}
	for (uint32_t i = 0; i < 200; i++) {
		m = req(SERVICE + 2, 1000 + i);
		message_send(&m);
	}
	memset(mad, 0xff, sizeof mad);
	mad_send(mad, 100);
	(void)poll(NULL, 0, 200);
	m = req(SERVICE, 1);
	message_send(&m);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	MUST(status_of(STRANGER).counts.gsi_dropped > 0);
}

static void flood__of_one_user_harms_no_other(void **state)
{
	pid_t victim = user_start(VICTIM, wait_for_one);

	(void)state;
	await(&common->ready, 1);
	assert_int_equal(user_run(STRANGER, flood_gsi), 0);
	assert_int_equal(user_end(victim), 0);
}

/* Questions that are none, or not this process's to ask. */
static void ask_nonsense(void)
{
	struct vb_carried c = attach_gsi(), p = attach(0, 0);
	struct vb_carrier_ask ask = {.op = 99};
	const uint64_t one = 1;
	uint64_t before;

	MUST(vb_carried_ask(&c, &ask) == -EINVAL);
	MUST(claim(&p, VB_CARRIER_CLAIM, SERVICE, &any) == -EPERM);
	MUST(claim(&p, VB_CARRIER_CLAIM_CLASS, 1, &any) == -EPERM);
	ask = (struct vb_carrier_ask){.op = VB_CARRIER_JOIN, .gid = {{0xff, 2}}, .ifindex = 1};
	MUST(vb_carried_ask(&c, &ask) == -EPERM);
	ask.gid = loopback;
	MUST(vb_carried_ask(&p, &ask) == -EINVAL);
	before = status_of(VICTIM).counts.refused[VB_CARRIER_REFUSED_calls];
	MUST(before == 5);
	/* A bell without a question. */
	MUST(write(p.ask_fd, &one, sizeof one) == sizeof one);
	for (int i = 0; i < BROKER_PATIENCE_MS &&
			status_of(VICTIM).counts.refused[VB_CARRIER_REFUSED_calls] == before;
	     i++)
		(void)poll(NULL, 0, 1);
	MUST(status_of(VICTIM).counts.refused[VB_CARRIER_REFUSED_calls] == before + 1);
	/* A broker that comes later has QP1 instead. */
	(void)attach_gsi();
	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == -ENOTCONN);
}

static void questions__that_are_none(void **state)
{
	(void)state;
	assert_int_equal(user_run(VICTIM, ask_nonsense), 0);
}

static void wait_for_two(void)
{
	struct vb_carried c = attach_gsi();
	struct reader r = {.ring = {.mem = c.mem}};

	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	step_to(1);
	await(&common->go, 1);
	must_read(&r, VB_CM_REQ, 1);
}

/* The stranger has a request of each ID that a client may choose sent to a service of his own. */
static void guess_ids(void)
{
	struct vb_carried c = attach_gsi();
	struct reader r = {.ring = {.mem = c.mem}};
	struct vb_cm_msg m = req(SERVICE + 1, 1);

	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE + 1, &any) == 0);
	message_send(&m);
	must_read(&r, VB_CM_REQ, 1);
	m = req(SERVICE, 1); /* a client's, of this host */
	message_send(&m);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	MUST(!mad_next(&r, 200));
}

/* A request is a repetition only if it asks for the same service. */
static void requests__are_not_stolen_by_their_ids(void **state)
{
	pid_t victim = user_start(VICTIM, wait_for_two);

	(void)state;
	await(&common->ready, 1);
	assert_int_equal(user_run(STRANGER, guess_ids), 0);
	assert_int_equal(user_end(victim), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    carrier_test(services__are_one_users),
	    carrier_test(restart__holds_what_users_have),
	    carrier_test(messages__come_to_their_user),
	    carrier_test(requests__for_nobody),
	    carrier_test(classes__of_the_administrator),
	    carrier_test(host__answers_what_no_user_does),
	    carrier_test(flood__of_one_user_harms_no_other),
	    carrier_test(requests__are_not_stolen_by_their_ids),
	    carrier_test(questions__that_are_none),
	    carrier_test(restart__in_another_namespace),
	};

	(void)argc;
	if (!carrier_env_enter(argv))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
