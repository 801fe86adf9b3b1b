/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups of users of the shared broker, and limits of what a user has there. IBA A17.4.2
 */
#include "carrier_env.h"
#include "link/carried/status.h"
#include "link/memory.h"
#include "udp_forged.h"

#include <net/if.h>

#define DF 0x4000

/* 239.0.0.7, by the loopback device. */
static const struct vb_gid group = {.b = {[10] = 0xff, 0xff, 239, [15] = 7}};

static int group_ask(struct vb_carried *c, enum vb_carrier_ask_op op, uint8_t which)
{
	struct vb_carrier_ask ask = {.op = op, .gid = group, .ifindex = if_nametoindex("lo")};

	ask.gid.b[15] = which;
	return vb_carried_ask(c, &ask);
}

/* Packets in the ring of @c, by the last byte of the group that each came to; [0]: all. */
static void ring_count(struct vb_carried *c, uint32_t cnt[256])
{
	struct vb_ring_rx ring = {.mem = c->mem};
	static uint8_t copy[VB_RING_COPY_BYTES];
	struct vb_ring_way way;
	struct vb_rx rx;

	while (vb_ring_begin(&ring, &way))
		while (vb_ring_take(&ring, &rx, copy)) {
			cnt[0]++;
			cnt[way.path.dgid.b[15]]++;
		}
}

static void group_send(uint8_t which, uint32_t cnt)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(VB_ROCE_PORT)};
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct ip_mreqn by = {.imr_ifindex = (int)if_nametoindex("lo")};
	struct vb_path way = {.sgid = {{[10] = 0xff, 0xff, 127, 0, 0, 1}}, .dgid = group};
	const struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
				 .pkey = 0xffff,
				 .dqpn = 0xffffff,
				 .deth = {1, 5}};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof own;
	struct forged o;

	way.dgid.b[15] = which;
	memcpy(&to.sin_addr, way.dgid.b + 12, 4);
	forge(&o, &way, 0, 0, 40);
	close(o.fd);
	memset(o.pkt, 0, sizeof o.pkt);
	(void)vb_hdr_emit(&h, o.pkt);
	MUST(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by) == 0);
	MUST(bind(fd, (struct sockaddr *)&own, sizeof own) == 0);
	MUST(getsockname(fd, (struct sockaddr *)&own, &len) == 0);
	o.sport = ntohs(own.sin_port);
	forge_icrc(&o, &way, 0, DF);
	for (uint32_t i = 0; i < cnt; i++)
		MUST(sendto(fd, o.pkt, o.len, 0, (struct sockaddr *)&to, sizeof to) ==
		     (ssize_t)o.len);
	close(fd);
}

static void be_member(void)
{
	struct vb_carried c = attach(0, 0), d = attach(1, 0);
	uint32_t of_c[256] = {0}, of_d[256] = {0};

	MUST(common->rc[0] == 0 && common->rc[1] == 0);
	MUST(group_ask(&c, VB_CARRIER_JOIN, 7) == 0);
	MUST(group_ask(&c, VB_CARRIER_JOIN, 7) == 0); /* once */
	MUST(group_ask(&d, VB_CARRIER_JOIN, 8) == 0);
	MUST(group_ask(&d, VB_CARRIER_JOIN, 9) == -EDQUOT);
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
	MUST(group_ask(&d, VB_CARRIER_LEAVE, 8) == 0);
	MUST(group_ask(&d, VB_CARRIER_JOIN, 7) == 0);
	__atomic_store_n(&common->ready, 2, __ATOMIC_SEQ_CST);
	await(&common->go, 2);
	ring_count(&c, of_c);
	ring_count(&d, of_d);
	MUST(of_c[0] == 2 && of_c[7] == 2);
	MUST(of_d[0] == 2 && of_d[7] == 1 && of_d[8] == 1);
}

static void be_another(void)
{
	struct vb_carried c = attach(2, 0);
	uint32_t cnt[256] = {0};
	struct vb_carrier_ask ask = {.op = VB_CARRIER_JOIN, .gid = group, .ifindex = 9999};

	MUST(common->rc[2] == 0);
	MUST(vb_carried_ask(&c, &ask) == -ENODEV);
	MUST(group_ask(&c, VB_CARRIER_JOIN, 9) == 0);
	MUST(group_ask(&c, VB_CARRIER_LEAVE, 7) == 0); /* the victim's stays */
	for (uint32_t n = 1; n <= 2; n++) {
		await(&common->ready, n);
		group_send(7, 1);
		if (n == 1)
			group_send(8, 1);
		(void)poll(NULL, 0, 200);
		__atomic_store_n(&common->go, n, __ATOMIC_SEQ_CST);
	}
	group_send(9, 1);
	for (int i = 0; i < BROKER_PATIENCE_MS && cnt[9] == 0; i++) {
		ring_count(&c, cnt);
		(void)poll(NULL, 0, 1);
	}
	MUST(cnt[9] == 1 && cnt[0] == 1);
}

/* A process gets the packets of its own groups, and of nobody else's; a user has so many. */
static void groups__of_two_users(void **state)
{
	pid_t victim = user_start(VICTIM, be_member);

	(void)state;
	assert_int_equal(user_run(STRANGER, be_another), 0);
	assert_int_equal(user_end(victim), 0);
}

static void be_flooded(void)
{
	struct vb_carried c = attach(0, 0);
	uint32_t cnt[256] = {0};

	MUST(common->rc[0] == 0 && group_ask(&c, VB_CARRIER_JOIN, 7) == 0);
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 2);
	for (int i = 0; i < 2000 && cnt[7] == 0; i++) {
		ring_count(&c, cnt);
		(void)poll(NULL, 0, 1);
	}
	MUST(cnt[7] == 1);
}

static void flood_group(void)
{
	struct vb_carried c = attach(1, 0);

	MUST(common->rc[1] == 0 && group_ask(&c, VB_CARRIER_JOIN, 9) == 0);
	__atomic_store_n(&common->ready, 2, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
	group_send(9, 80000); /* more than a socket has room for */
	group_send(7, 1);
	__atomic_store_n(&common->ready, 3, __ATOMIC_SEQ_CST);
	await(&common->go, 2);
}

/* While the shared broker has no time, packets of a group wait in the sockets of its members
 * alone: a user whose group is flooded takes nobody's room. */
static void groups__of_another_user_wait_elsewhere(void **state)
{
	pid_t victim = user_start(VICTIM, be_flooded), stranger;

	(void)state;
	await(&common->ready, 1);
	stranger = user_start(STRANGER, flood_group);
	await(&common->ready, 2);
	assert_int_equal(kill(carrier, SIGSTOP), 0);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	await(&common->ready, 3);
	assert_int_equal(kill(carrier, SIGCONT), 0);
	__atomic_store_n(&common->go, 2, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
	assert_int_equal(user_end(stranger), 0);
}

static int small_setup(void **state)
{
	struct vb_carrier_options options = carrier_options();

	(void)state;
	memset(common, 0, sizeof *common);
	options.limits.processes = 40;
	options.limits.memory_mib = 20; /* a socket, and two rings */
	carrier_start_with(&options);
	return 0;
}

static void use_memory(void)
{
	struct vb_carrier_answer answer;
	struct vb_carrier_status *s;
	void *p;
	int fd;

	for (uint32_t i = 0; i < 3; i++)
		(void)attach(i, 0);
	(void)attach(3, VB_SLOT_FIRST);
	MUST(vb_carrier_look(VB_CARRIER_STATUS, &answer, &fd) == 0);
	MUST(vb_memory_map(fd, sizeof *s, false, &p) == 0);
	s = p;
	MUST(s->user_cnt == 1 && s->user[0].uid == geteuid());
	MUST(s->user[0].processes == 2 && s->user[0].memory_mib == 20);
	MUST(s->user[0].counts.refused[VB_CARRIER_REFUSED_memory] == 1);
	MUST(s->user[0].counts.refused[VB_CARRIER_REFUSED_slots] == 1);
	MUST(s->limits.qps == 100 && s->limits.memory_mib == 20);
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
}

static void use_some(void)
{
	struct vb_carried c = attach(4, 0);

	MUST(c.qp_max == 100);
}

/* A user's packets have so much memory; another user at the same time has his. Refusals
 * are counted, and told to himself. */
static void memory__of_a_user(void **state)
{
	pid_t victim = user_start(VICTIM, use_memory);

	(void)state;
	await(&common->ready, 1);
	assert_int_equal(user_run(STRANGER, use_some), 0);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
	assert_int_equal(common->rc[0] | common->rc[1] | common->rc[4], 0);
	assert_int_equal(common->rc[2], -EDQUOT);
	assert_non_null(strstr(common->why[2], "of 20 that they may have"));
	assert_int_equal(common->rc[3], -EBUSY);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    carrier_test(groups__of_two_users),
	    carrier_test(groups__of_another_user_wait_elsewhere),
	    cmocka_unit_test_setup_teardown(memory__of_a_user, small_setup, carrier_teardown),
	};

	(void)argc;
	if (!carrier_env_enter(argv))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
