/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast over the sockets of "lo": to QPs of one process and of several, and to nobody who has
 * left, whatever way. ibv_attach_mcast(3); IBT-20
 */
#include "verbs/priv.h"
#include "verbs_env.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define QKEY 0x11111111

static const union ibv_gid group = {
    .raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 7, 7, 7}};

static struct verbs_end ud_new(void)
{
	struct verbs_end e = end_new(IBV_QPT_UD, NULL, NULL);

	to_init(e.qp);
	to_rts(e.qp, 0, false);
	return e;
}

/* A message to the group, from @e, with @value in it. */
static void say(struct verbs_end *e, struct ibv_ah *ah, uint32_t value)
{
	struct ibv_send_wr wr = {
	    .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = value, .wr.ud = {ah, 0xffffff, QKEY}};

	post_send(e->qp, wr, 0, 100);
	assert_int_equal(wc_next(e->cq).status, IBV_WC_SUCCESS);
}

static struct ibv_ah *group_ah(void)
{
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct ibv_ah *ah;

	attr.grh.dgid = group;
	ah = ibv_create_ah(pd, &attr);
	assert_non_null(ah);
	return ah;
}

/* Whether the kernel has joined the group on "lo": /proc/net/igmp has it as the number it is here.
 */
static bool host_is_member(void)
{
	FILE *f = fopen("/proc/thread-self/net/igmp", "re");
	char line[256], want[16];
	uint32_t addr;
	bool found = false;

	assert_non_null(f);
	memcpy(&addr, group.raw + 12, sizeof addr);
	snprintf(want, sizeof want, "%08X", addr);
	while (!found && fgets(line, sizeof line, f))
		found = strstr(line, want);
	fclose(f);
	return found;
}

/* A message to a group is answered from the first address of the group's family. */
static void answer__from_the_family_of_the_group(void **state)
{
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH};
	struct ibv_ah_attr attr;
	union ibv_gid own, from;
	struct ibv_grh grh;

	(void)state;
	for (int i = 0; i < 2; i++) {
		(void)verbs_gid(i, &own);
		memset(&grh, 0, sizeof grh);
		if (i) {
			grh.version_tclass_flow = htobe32(6u << 28);
			grh.dgid.raw[0] = 0xff;
			grh.sgid = own;
		} else {
			uint8_t *ip = (uint8_t *)&grh + 20;
			uint32_t sum = 0;

			ip[0] = 0x45;
			memcpy(ip + 12, own.raw + 12, 4);
			memcpy(ip + 16, group.raw + 12, 4);
			for (int k = 0; k < 20; k += 2)
				sum += (uint32_t)ip[k] << 8 | ip[k + 1];
			sum = ~(sum + (sum >> 16));
			ip[10] = (uint8_t)(sum >> 8);
			ip[11] = (uint8_t)sum;
		}
		assert_int_equal(ibv_init_ah_from_wc(ctx, 1, &wc, &grh, &attr), 0);
		assert_memory_equal(&attr.grh.dgid, &own, sizeof own);
		assert_int_equal(ibv_query_gid(ctx, 1, attr.grh.sgid_index, &from), 0);
		assert_int_equal(from.raw[10] == 0xff, i == 0);
	}
}

static void mcast__joins_once_and_leaves_with_the_last(void **state)
{
	struct verbs_end e[2] = {ud_new(), ud_new()};

	(void)state;
	assert_false(host_is_member());
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_attach_mcast(e[i].qp, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(e[0].qp, &group, 0), 0);
	assert_true(host_is_member());
	assert_int_equal(ibv_detach_mcast(e[1].qp, &group, 0), 0);
	assert_false(host_is_member());
	for (int i = 0; i < 2; i++)
		end_free(&e[i]);
}

static void mcast__to_the_members_of_a_process(void **state)
{
	struct verbs_end from = ud_new(), to[3] = {ud_new(), ud_new(), ud_new()};
	struct ibv_ah *ah = group_ah(), *back;
	struct ibv_wc wc;

	(void)state;
	for (int i = 0; i < 3; i++)
		post_recv(to[i].qp, (uint64_t)i, 4096 * (size_t)(i + 1), 200);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_attach_mcast(to[i].qp, &group, 0), 0);
	assert_int_equal(ibv_attach_mcast(to[0].qp, &group, 0), 0); /* is in it already */
	memset(buf, 0x5a, 100);
	say(&from, ah, 1);
	for (int i = 0; i < 2; i++) {
		wc = wc_next(to[i].cq);
		assert_true(wc.status == IBV_WC_SUCCESS && wc.imm_data == 1 && wc.byte_len == 140);
		assert_int_equal(wc.src_qp, from.qp->qp_num);
		assert_memory_equal(buf + 4096 * (size_t)(i + 1) + 40, buf, 100);
	}
	assert_int_equal(ibv_poll_cq(to[2].cq, 1, &wc), 0);
	/* A receiver can answer, from an address of its own. */
	wc = (struct ibv_wc){.wc_flags = IBV_WC_GRH};
	back = ibv_create_ah_from_wc(pd, &wc, (struct ibv_grh *)(void *)(buf + 4096), 1);
	assert_non_null(back);
	post_recv(from.qp, 9, 16384, 200);
	post_send(
	    to[0].qp,
	    (struct ibv_send_wr){.opcode = IBV_WR_SEND, .wr.ud = {back, from.qp->qp_num, QKEY}}, 0,
	    100);
	assert_int_equal(wc_next(from.cq).wr_id, 9);
	assert_int_equal(wc_next(to[0].cq).opcode, IBV_WC_SEND);
	assert_int_equal(ibv_destroy_ah(back), 0);

	assert_int_equal(ibv_destroy_qp(to[1].qp), EBUSY);
	assert_int_equal(ibv_detach_mcast(to[1].qp, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(to[1].qp, &group, 0), EINVAL);
	post_recv(to[0].qp, 3, 4096, 200);
	post_recv(to[1].qp, 4, 8192, 200);
	say(&from, ah, 2);
	assert_int_equal(wc_next(to[0].cq).imm_data, 2);
	assert_int_equal(ibv_poll_cq(to[1].cq, 1, &wc), 0);
	assert_int_equal(ibv_detach_mcast(to[0].qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	end_free(&from);
	for (int i = 0; i < 3; i++)
		end_free(&to[i]);
}

/* Opens the device @name as soon as there is one. */
static struct ibv_context *open_on(const char *name)
{
	struct ibv_context *c = NULL;

	while (!c) {
		struct ibv_device **list = ibv_get_device_list(NULL);

		assert_non_null(list);
		for (int i = 0; list[i] && !c; i++)
			if (strcmp(ibv_get_device_name(list[i]), name) == 0)
				c = ibv_open_device(list[i]);
		ibv_free_device_list(list);
		assert_true(patience_left());
	}
	return c;
}

/* A group that stays on the interface (scope 1) is one of the loopback alone: Linux sends nothing
 * of it to a network. RFC 4291 2.7 */
static void mcast__of_the_interface_alone(void **state)
{
	static const union ibv_gid local = {.raw = {0xff, 0x01, [15] = 0x77}};
	struct verbs_end e = ud_new(), other;
	struct ibv_pd *first_pd = pd;
	struct ibv_context *first = ctx;

	(void)state;
	assert_int_equal(ibv_attach_mcast(e.qp, &local, 0), 0);
	assert_int_equal(ibv_detach_mcast(e.qp, &local, 0), 0);
	if (system("ip link add vb0 type veth peer name vb1 2>/dev/null && ip link set vb1 up && "
		   "ip link set vb0 up && ip addr add 10.78.0.1/24 dev vb0"))
		skip(); /* a kernel without such interfaces */
	ctx = open_on("verbena1");
	pd = ibv_alloc_pd(ctx);
	other = ud_new();
	assert_int_equal(ibv_attach_mcast(other.qp, &local, 0), EINVAL);
	end_free(&other);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
	ctx = first;
	pd = first_pd;
	end_free(&e);
	assert_int_equal(system("ip link del vb0"), 0);
}

static void mcast__refused(void **state)
{
	struct verbs_end rc = end_new(IBV_QPT_RC, NULL, NULL), ud = ud_new();
	union ibv_gid unicast;

	(void)state;
	(void)verbs_gid(false, &unicast);
	assert_int_equal(ibv_attach_mcast(rc.qp, &group, 0), EINVAL);
	assert_int_equal(ibv_attach_mcast(ud.qp, &unicast, 0), EINVAL);
	/* A QP that is left attached goes with the device. */
	assert_int_equal(ibv_attach_mcast(ud.qp, &group, 0), 0);
}

/* A QP is in no group that the host cannot join, here for want of a descriptor. */
static void mcast__host_does_not_join(void **state)
{
	struct verbs_end e = ud_new();
	struct rlimit old, few;
	int last = dup(0);

	(void)state;
	close(last);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit){(rlim_t)last, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(ibv_attach_mcast(e.qp, &group, 0), EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_false(host_is_member());
	assert_int_equal(ibv_detach_mcast(e.qp, &group, 0), EINVAL);
	/* Twice is once. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_attach_mcast(e.qp, &group, 0), 0);
	assert_true(host_is_member());
	assert_int_equal(ibv_detach_mcast(e.qp, &group, 0), 0);
	assert_false(host_is_member());
	assert_int_equal(ibv_detach_mcast(e.qp, &group, 0), EINVAL);
	end_free(&e);
}

/* With the device that its members were of the host leaves a group, and the adapter goes on. */
static void close_device__leaves_its_groups(void **state)
{
	struct ibv_context *first = ctx;
	struct ibv_pd *first_pd = pd;
	union ibv_gid other = group;
	struct verbs_end e;

	(void)state;
	other.raw[15] ^= 1;
	ctx = ibv_open_device(ctx->device);
	pd = ibv_alloc_pd(ctx);
	assert_non_null(pd);
	for (int i = 0; i < 2; i++) {
		e = ud_new();
		/* Whichever group a QP is found to be in first, it leaves the other one as well. */
		assert_int_equal(ibv_attach_mcast(e.qp, i ? &other : &group, 0), 0);
		assert_int_equal(ibv_attach_mcast(e.qp, i ? &group : &other, 0), 0);
	}
	assert_true(host_is_member());
	assert_int_equal(ibv_close_device(ctx), 0);
	ctx = first;
	pd = first_pd;
	assert_false(host_is_member());
	e = ud_new();
	assert_int_equal(ibv_attach_mcast(e.qp, &group, 0), 0);
	assert_true(host_is_member());
	assert_int_equal(ibv_detach_mcast(e.qp, &group, 0), 0);
	end_free(&e);
}

/* Groups of a fabric have a LID, from the first multicast LID to the last. IBA 4.1.1 */
static void mcast__lids_of_a_fabric(void **state)
{
	static const struct {
		uint16_t lid;
		int err;
	} rows[] = {{0, EINVAL},     {0xbfff, EINVAL},      {VB_IBV_MLID_FIRST, 0},
		    {0xc001, 0},     {VB_IBV_MLID_LAST, 0}, {VB_IBV_MLID_LAST + 1, EINVAL},
		    {0xffff, EINVAL}};
	struct verbs_end ud = ud_new();

	(void)state;
	vb_ibv_ctx(ctx)->is_ib = true;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_int_equal(ibv_attach_mcast(ud.qp, &group, rows[i].lid), rows[i].err);
		if (!rows[i].err)
			assert_int_equal(ibv_detach_mcast(ud.qp, &group, rows[i].lid), 0);
	}
	vb_ibv_ctx(ctx)->is_ib = false;
}

/* Groups are many more than descriptors: the device's 8192 would fit below the usual 1024 as these
 * 1000 do below 128. */
static void mcast__many_groups_few_descriptors(void **state)
{
	const struct rlimit few = {128, 128};
	struct verbs_end e = ud_new();
	union ibv_gid gid = group;

	(void)state;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	/* Half of them go, in another order than they came, and come again. */
	for (int pass = 0; pass < 4; pass++) {
		for (int i = 0; i < (pass % 3 == 0 ? 1000 : 500); i++) {
			int k = 0x707 + (pass == 1 || pass == 2 ? 2 * i : i);
			int (*call)(struct ibv_qp *, const union ibv_gid *, uint16_t) =
			    pass % 2 ? ibv_detach_mcast : ibv_attach_mcast;

			gid.raw[14] = (uint8_t)(k >> 8), gid.raw[15] = (uint8_t)k;
			assert_int_equal(call(e.qp, &gid, 0), 0);
		}
		assert_int_equal(host_is_member(), pass % 2 == 0);

		struct ibv_context *other = ibv_open_device(ctx->device);

		assert_non_null(other);
		assert_int_equal(ibv_close_device(other), 0);
	}
	end_free(&e);
}

#if !defined(__SANITIZE_THREAD__) /* which does not survive a thread in such a child */
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			_exit(__LINE__ & 0x7f);                                                    \
	} while (0)

/* Another process: joins the group, says so, and ends with the first message, or at once. */
static void member(int ready, bool dies)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_wc wc;

	CHECK(list);
	ctx = ibv_open_device(list[0]);
	CHECK(ctx);
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	mr = ibv_reg_mr(pd, buf, sizeof buf, ALL_ACCESS);
	CHECK(mr);

	struct verbs_end e = ud_new();

	post_recv(e.qp, 5, 4096, 200);
	CHECK(ibv_attach_mcast(e.qp, &group, 0) == 0);
	CHECK(write(ready, "x", 1) == 1);
	if (dies)
		kill(getpid(), SIGKILL);
	wc = wc_next(e.cq);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.imm_data == 42 && wc.wr_id == 5);
	_exit(0);
}

static void mcast__to_several_processes(void **state)
{
	struct verbs_end from = ud_new(), own = ud_new();
	struct ibv_ah *ah = group_ah();
	int ready[2], status;
	pid_t pid[3];
	char c;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	for (int i = 0; i < 3; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] == 0)
			member(ready[1], i == 0);
		assert_int_equal(read(ready[0], &c, 1), 1);
	}
	/* A process that died is no member any more, and is in nobody's way. */
	assert_int_equal(waitpid(pid[0], &status, 0), pid[0]);
	post_recv(own.qp, 1, 8192, 200);
	assert_int_equal(ibv_attach_mcast(own.qp, &group, 0), 0);
	say(&from, ah, 42);
	assert_int_equal(wc_next(own.cq).imm_data, 42);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(ibv_detach_mcast(own.qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	end_free(&from);
	end_free(&own);
	close(ready[0]);
	close(ready[1]);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		VERBS_TEST(answer__from_the_family_of_the_group),
		VERBS_TEST(mcast__joins_once_and_leaves_with_the_last),
		VERBS_TEST(mcast__to_the_members_of_a_process),
		VERBS_TEST(mcast__of_the_interface_alone),
		VERBS_TEST(mcast__refused),
		VERBS_TEST(mcast__host_does_not_join),
		VERBS_TEST(close_device__leaves_its_groups),
		VERBS_TEST(mcast__lids_of_a_fabric),
		VERBS_TEST(mcast__many_groups_few_descriptors),
#if !defined(__SANITIZE_THREAD__)
		VERBS_TEST(mcast__to_several_processes),
#endif
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
