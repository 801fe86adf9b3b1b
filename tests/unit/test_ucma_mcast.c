/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups of ids, as librdmacm joins and leaves them. CMP-47, CMP-49 */
#include "ucma_env.h"

#define GROUP_UID 0x700

static struct ucma_net net;
static struct ucma_host *host;
static struct vb_ucma_file *file, *other;

static int setup(void **state)
{
	(void)state;
	ucma_open(&net);
	host = &net.host[0];
	file = ucma_file(host);
	other = ucma_file(host);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ucma_close(&net);
	return 0;
}

/* An id that is bound to the device's address. */
static uint32_t bound_id(uint16_t ps)
{
	uint32_t id = ucma_id(&net, file, 0x600, ps, 4);
	struct vb_ucma_addr a = ucma_addr(1, true, 0);

	assert_int_equal(ucma_bind(&net, file, id, &a), 0);
	return id;
}

static int group_join(uint32_t id, uint8_t first, uint16_t flags, uint32_t *number)
{
	struct vb_ucma_join_mcast b = {
	    .uid = GROUP_UID, .id = id, .addr_size = 16, .join_flags = flags};
	struct vb_ucma_addr a = {.family = VB_UCMA_AF_INET,
				 .gid = {{[10] = 0xff, 0xff, first, 0, 0, first ? 7 : 0}}};
	struct vb_ucma_number_reply r = {0};
	int rc;

	ucma_sockaddr(&a, b.addr);
	rc = UCMA_ASK(&net, file, VB_UCMA_JOIN_MCAST, b, r);
	*number = r.n;
	return rc;
}

/* Joins a group that is named as a struct sockaddr_ib names one. */
static int gid_join(uint32_t id, struct vb_gid gid, uint32_t *number)
{
	struct vb_ucma_join_mcast b = {.uid = GROUP_UID, .id = id, .addr_size = 48};
	const uint16_t family = VB_UCMA_AF_IB;
	struct vb_ucma_number_reply r = {0};
	int rc;

	memcpy(b.addr, &family, sizeof family);
	memcpy(b.addr + 8, gid.b, sizeof gid.b);
	rc = UCMA_ASK(&net, file, VB_UCMA_JOIN_MCAST, b, r);
	*number = r.n;
	return rc;
}

static int group_leave(struct vb_ucma_file *f, uint32_t number, uint32_t *reported)
{
	struct vb_ucma_destroy_id b = {.id = number};
	struct vb_ucma_number_reply r = {0};
	int rc = UCMA_ASK(&net, f, VB_UCMA_LEAVE_MCAST, b, r);

	*reported = r.n;
	return rc;
}

/* CMP-49: the event has uid and number of the group, and the address handle for it. */
static void join__event_and_leave(void **state)
{
	uint32_t id = bound_id(VB_UCMA_PS_UDP), group, reported;
	struct vb_ucma_event_reply ev;

	(void)state;
	assert_int_equal(group_join(id, 239, 0, &group), 0);
	assert_int_equal(host->groups, 1);
	ev = ucma_event(&net, file, VB_UCMA_EV_MULTICAST_JOIN);
	assert_int_equal(ev.uid, GROUP_UID);
	assert_int_equal(ev.id, group);
	assert_int_equal(ev.status, 0);
	assert_int_equal(ev.ud.qp_num, 0xffffff);
	assert_int_equal(ev.ud.qkey, 0x01234567);
	assert_int_equal(ev.ud.ah.dgid[12], 239);
	assert_int_equal(ev.ud.ah.hop_limit, 64);
	assert_int_equal(group_leave(file, group + 1, &reported), -ENOENT);
	assert_int_equal(group_leave(other, group, &reported), -EINVAL);
	assert_int_equal(group_leave(file, group, &reported), 0);
	assert_int_equal(reported, 1);
	assert_int_equal(host->groups, 0);
	assert_int_equal(group_leave(file, group, &reported), -ENOENT);
}

/* Nobody is robbed of a group by those who were never in it. */
static void leave__only_who_joined(void **state)
{
	uint32_t id = bound_id(VB_UCMA_PS_UDP), member, sender, refused, reported;

	(void)state;
	assert_int_equal(group_join(id, 239, 0, &member), 0);
	assert_int_equal(group_join(id, 239, 1, &sender), 0);
	host->refuses_groups = true;
	assert_int_equal(group_join(id, 239, 0, &refused), 0);
	(void)ucma_event(&net, file, VB_UCMA_EV_MULTICAST_JOIN);
	(void)ucma_event(&net, file, VB_UCMA_EV_MULTICAST_JOIN);
	assert_int_equal(ucma_event(&net, file, VB_UCMA_EV_MULTICAST_ERROR).status, -ENOBUFS);
	assert_int_equal(group_leave(file, sender, &reported), 0);
	assert_int_equal(group_leave(file, refused, &reported), 0);
	assert_int_equal(host->groups, 1);
	assert_int_equal(ucma_destroy(&net, file, id), 3);
	assert_int_equal(host->groups, 0);
}

/* As mckey -M does: a group by its GID, of the family of the id's address or not. */
static void join__by_gid(void **state)
{
	uint32_t id = bound_id(VB_UCMA_PS_UDP), group;

	(void)state;
	assert_int_equal(gid_join(id, (struct vb_gid){{0xff, 0x0e, [15] = 7}}, &group), -EINVAL);
	assert_int_equal(host->groups, 0);
	ucma_no_event(&net, file);
	assert_int_equal(gid_join(id, (struct vb_gid){{[10] = 0xff, 0xff, 239, 1, 2, 3}}, &group),
			 0);
	assert_int_equal(ucma_event(&net, file, VB_UCMA_EV_MULTICAST_JOIN).ud.ah.dgid[12], 239);
}

/* CMP-47 */
static void join__refused(void **state)
{
	uint32_t tcp = bound_id(VB_UCMA_PS_TCP), id = bound_id(VB_UCMA_PS_UDP), group;

	(void)state;
	assert_int_equal(group_join(tcp, 239, 0, &group), -EINVAL);
	assert_int_equal(group_join(id, 239, 2, &group), -EINVAL);
	assert_int_equal(group_join(id, 0, 0, &group), -EINVAL);
	assert_int_equal(group_join(id, 10, 0, &group), -EINVAL);
	assert_int_equal(host->groups, 0);
	ucma_no_event(&net, file);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(join__event_and_leave),
	    T(leave__only_who_joined),
	    T(join__by_gid),
	    T(join__refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
