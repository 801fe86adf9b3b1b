/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of an engine at its slot: sizes, ports, what its link is told, and how all of that
 * follows the device table. And the remains of an engine that could not be made.
 */
#include "core/adapter.h"
#include "core/qp/qp.h"
#include "engine_slot_env.h"
#include "link/udp/priv.h"

#define LAST VB_DEVICES_MAX

static const struct vb_udp *udp_of(const struct vb_engine *e)
{
	return (const struct vb_udp *)e->link->lower;
}

/* In flight towards a peer is what its socket takes, in batches and pieces of READs that fit; QPNs
 * are those of the slot. */
static void open__sizes_and_numbers(void **state)
{
	struct vb_engine *e;
	const struct vb_hca_config *cfg;

	(void)state;
	slots.slot[VB_SLOT_FIRST].shm->qpn_next = 99;
	e = engine_open();
	cfg = &e->hca->cfg;
	assert_int_equal(cfg->peer_window_bytes, 2 * e->flow.alone < e->link->window_max
						     ? 2 * e->flow.alone
						     : e->link->window_max);
	assert_int_equal(cfg->read_piece_bytes, cfg->peer_window_bytes / 2);
	assert_int_equal(cfg->gso_bytes,
			 e->flow.gso < e->link->batch_max ? e->flow.gso : e->link->batch_max);
	assert_int_equal(cfg->qpn_base, VB_SLOT_FIRST);
	assert_int_equal(cfg->qpn_stride, 256);
	assert_int_equal(cfg->qpn_first, 99);
	assert_int_equal(cfg->port_cnt, VB_DEVICES_MAX);
	assert_true(vb_engine_is_alive(e));
	assert_ptr_equal(vb_engine_hca(e), e->hca);
	assert_ptr_equal(vb_engine_host(e), slots.host);
	assert_ptr_equal(vb_engine_slot(e), slots.slot[VB_SLOT_FIRST].shm);
	vb_engine_close_inside(e);
}

/* Two engines draw their choices from seeds of their own. */
static void open__seeds_differ(void **state)
{
	uint64_t seed[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct vb_engine *e = engine_open();

		seed[i] = e->hca->cfg.seed;
		vb_engine_close_inside(e);
	}
	assert_true(seed[0] != seed[1]);
}

/* The link counts each port where others look, knows its interface, and is in the right slot. The
 * slot's previous owner takes no packets by shared memory any more. */
static void open__what_the_link_is_told(void **state)
{
	struct vb_slot_shm *shm = slots.slot[VB_SLOT_FIRST].shm;
	struct vb_device last = slots.host->device[0];
	const struct vb_link_config *cfg;
	struct vb_engine *e;

	(void)state;
	last.ifindex = 4711;
	device_write(LAST - 1, &last);
	host_memory()->wakeup[VB_SLOT_FIRST].token = 77;
	e = engine_open();
	cfg = &udp_of(e)->cfg;
	assert_int_equal(host_memory()->wakeup[VB_SLOT_FIRST].token, 0);
	for (uint32_t i = 1; i <= LAST; i++) {
		assert_ptr_equal(cfg->counters[i], &shm->counters[i]);
		assert_int_equal(cfg->ifindex[i], slots.host->device[i - 1].ifindex);
	}
	assert_int_equal(cfg->ifindex[LAST], 4711);
	assert_int_equal(cfg->slot, VB_SLOT_FIRST);
	assert_ptr_equal(cfg->flow, host_memory()->flow);
	assert_ptr_equal(cfg->own, e->flow_own);
	assert_ptr_equal(cfg->tap_on, &shm->capture.enabled);
	assert_ptr_equal(cfg->generation, &e->addr.generation);
	assert_int_equal(e->broker.rx_fd, -1);
	vb_engine_close_inside(e);
}

/* A port of the adapter is as its device, and counts in the slot's memory; a hole in the table has
 * no MTU. */
static void expect_port(struct vb_engine *e, uint32_t port)
{
	const struct vb_device *d = &slots.host->device[port - 1];
	const struct vb_hca_port *p = &e->hca->cfg.port[port];
	struct vb_slot_shm *shm = slots.slot[VB_SLOT_FIRST].shm;

	assert_int_equal(p->active_mtu, d->ifindex ? d->active_mtu : 0);
	assert_int_equal(p->parent, d->parent);
	assert_int_equal(p->lmc, d->ib.lmc & 7);
	assert_memory_equal(p->pkey, d->pkey, sizeof p->pkey);
	assert_ptr_equal(p->counters, &shm->counters[port]);
	assert_ptr_equal(p->adp_fired, &shm->fired[port]);
	assert_ptr_equal(p->bad_keys, &shm->bad_keys[port]);
}

static void ports__are_as_their_devices(void **state)
{
	struct vb_device d = slots.host->device[0];
	struct vb_engine *e;

	(void)state;
	d.active_mtu = VB_MTU_512;
	d.pkey[3] = 0x8123;
	d.ib.lmc = 3;
	device_write(LAST - 1, &d);
	e = engine_open();
	for (uint32_t i = 1; i <= LAST; i++)
		expect_port(e, i);
	/* Another device comes, one changes, one goes. */
	d.active_mtu = VB_MTU_2048;
	d.pkey[3] = 0x8124;
	d.ib.lmc = 15;
	d.ifindex = 4711;
	d.parent = 1;
	device_write(LAST - 2, &d);
	d.ifindex = 0;
	device_write(LAST - 1, &d);
	vb_engine_reload(e);
	assert_int_equal(e->generation, slots.host->generation);
	for (uint32_t i = 1; i <= LAST; i++) {
		expect_port(e, i);
		assert_int_equal(udp_of(e)->cfg.ifindex[i], slots.host->device[i - 1].ifindex);
	}
	assert_int_equal(e->hca->cfg.port[LAST - 1].lmc, 7);
	assert_int_equal(e->hca->cfg.port[LAST].active_mtu, 0);
	vb_engine_close_inside(e);
}

/* A QP in RTR whose receiver is at ::1. */
static struct vb_qp *qp_to_here(struct vb_engine *e)
{
	struct vb_qp_init init = {.type = VB_QPT_UC, .cap = {.max_send_wr = 1, .max_recv_wr = 1}};
	struct vb_qp_attr a = {.port = 1,
			       .path_mtu = VB_MTU_1024,
			       .dest_qpn = 5,
			       .path = {.port = 1, .dgid.b = {[15] = 1}, .sgid.b = {[15] = 1}}};
	struct vb_pd *pd;
	struct vb_qp *qp;

	assert_int_equal(vb_pd_create(e->hca, &pd), 0);
	assert_int_equal(vb_cq_create(e->hca, 8, NULL, &init.send_cq), 0);
	init.recv_cq = init.send_cq;
	assert_int_equal(vb_qp_create(pd, &init, &qp), 0);
	a.qp_state = VB_QPS_INIT;
	assert_int_equal(
	    vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS,
			 vb_clock_now()),
	    0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(
	    vb_qp_modify(qp, &a,
			 VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN,
			 vb_clock_now()),
	    0);
	return qp;
}

/* Paths say anew whether their receivers are here when addresses have changed. */
static void reload__paths_find_their_homes(void **state)
{
	struct vb_device d = slots.host->device[0];
	struct vb_engine *e = engine_open();
	struct vb_qp *qp = qp_to_here(e);

	(void)state;
	assert_true(vb_home_is_known(qp->attr.path.home, e->addr.generation));
	assert_true(vb_home_is_here(qp->attr.path.home));
	memset(d.gid, 0, sizeof d.gid);
	device_write(0, &d);
	vb_engine_reload(e);
	assert_true(vb_home_is_known(qp->attr.path.home, e->addr.generation));
	assert_false(vb_home_is_here(qp->attr.path.home));
	vb_engine_close_inside(e);
}

/* The next settings of all devices, as the broker writes them. */
static void settings_write(void)
{
	static struct vb_adapter_state next;
	struct vb_adapter_shm *a = vb_slots_adapter(&slots);

	next = *vb_adapter_state(a);
	for (uint32_t i = 0; i < VB_HCA_PORTS_MAX; i++) {
		next.pf[i].cc_epoch++;
		next.pf[i].recovery_epoch++;
	}
	vb_adapter_commit(a, &next);
}

/* The adopted settings of a device go with it; the other devices keep theirs. */
static void reload__another_device_begins_anew(void **state)
{
	struct vb_device d = slots.host->device[0];
	struct vb_engine *e;

	(void)state;
	d.ifindex = 4711;
	device_write(1, &d);
	e = engine_open();
	settings_write();
	vb_engine_reload(e); /* nothing has come or gone, but there are settings to adopt */
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(e->adopted[i].cc_epoch, 1);
		assert_int_equal(e->adopted[i].epoch, 1);
		assert_int_equal(e->adopted[i].cc_first, 0);
	}
	d.ifindex++;
	device_write(1, &d);
	vb_engine_reload(e);
	assert_int_equal(e->adopted[0].cc_first, 0);
	assert_int_equal(e->adopted[1].cc_first, 1);
	vb_engine_close_inside(e);
}

/* Packets bring no more of their IP headers than somebody wants: a QP with GRHs all of it,
 * congestion control and faults of any port the class. */
static void bring__what_somebody_wants(void **state)
{
	struct vb_engine *e = engine_open();
	struct vb_fault_status *fault = &slots.slot[VB_SLOT_FIRST].shm->fault[LAST - 1];
	struct vb_cc_settings off = {.np_en = false}, on = {.np_en = true};

	(void)state;
	for (uint8_t i = 1; i <= LAST; i++)
		assert_int_equal(vb_hca_set_port_cc(e->hca, i, &off, 0), 0);
	vb_engine_follow_bring(e);
	assert_int_equal(e->bring, 0);
	fault->rules.text[0] = 'x';
	vb_engine_follow_bring(e);
	assert_int_equal(e->bring, VB_LINK_BRING_CLASS);
	fault->rules.text[0] = 0;
	for (uint8_t i = 1; i <= LAST; i += LAST - 1) {
		vb_engine_follow_bring(e);
		assert_int_equal(e->bring, 0);
		assert_int_equal(vb_hca_set_port_cc(e->hca, i, &on, 0), 0);
		vb_engine_follow_bring(e);
		assert_int_equal(e->bring, VB_LINK_BRING_CLASS);
		assert_int_equal(vb_hca_set_port_cc(e->hca, i, &off, 0), 0);
	}
	vb_engine_make_grh(e);
	assert_int_equal(e->bring, VB_LINK_BRING_ALL);
	assert_ptr_equal(udp_of(e)->cfg.bring, &e->bring);
	vb_engine_close_inside(e);
}

/* A captured packet has the time at which it was sent, or the time at which it is shown. */
static void tap__with_its_time(void **state)
{
	struct vb_engine *e = engine_open();
	struct vb_capture_ring *ring = &slots.slot[VB_SLOT_FIRST].shm->capture;
	uint8_t bytes[16] = {0};
	const struct vb_seg seg = {bytes, sizeof bytes};
	struct vb_link_tap t = {.port = 1, .seg_cnt = 1, .seg = &seg, .at_ns = 4711};
	vb_time before = vb_clock_read(CLOCK_REALTIME);
	bool has_its_own = false, has_another = false;

	(void)state;
	vb_engine_tap(e, &t);
	for (size_t i = 0; i + 8 <= 256; i++) {
		uint64_t at;

		memcpy(&at, ring->data + i, sizeof at);
		has_its_own |= at == 4711;
	}
	assert_true(has_its_own);
	t.at_ns = 0;
	vb_engine_tap(e, &t);
	for (size_t i = 0; i + 8 <= 512; i++) {
		uint64_t at;

		memcpy(&at, ring->data + i, sizeof at);
		has_another |= at >= before && at <= vb_clock_read(CLOCK_REALTIME);
	}
	assert_true(has_another);
	vb_engine_close_inside(e);
}

/* The settings that a process is started with may be wrong: it says so, and nothing stays open. */
static void open__with_wrong_settings(void **state)
{
	static const char *const names[] = {"VERBENA_LINK", "VERBENA_FAULT", "VERBENA_CC"};
	static const char *const says[] = {"VERBENA_LINK is 'none': it has to be udp or shm",
					   "VERBENA_FAULT, at character 1: ", "VERBENA_CC: 'none'"};
	unsigned before = descriptors_of(getpid());
	struct vb_engine *e;

	(void)state;
	for (int i = 0; i < 3; i++) {
		setenv(names[i], "none", 1);
		assert_int_equal(engine_try(&e), -EINVAL);
		unsetenv(names[i]);
		assert_ptr_equal(strstr(engine_why, says[i]), engine_why);
		assert_int_equal(descriptors_of(getpid()), before);
	}
	setenv("VERBENA_LINK", "udp", 1);
	vb_engine_close_inside(engine_open());
	setenv("VERBENA_LINK", "shm", 1);
	vb_engine_close_inside(engine_open());
	unsetenv("VERBENA_LINK");
	assert_int_equal(descriptors_of(getpid()), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SLOT_TEST(open__sizes_and_numbers),
	    SLOT_TEST(open__seeds_differ),
	    SLOT_TEST(open__what_the_link_is_told),
	    SLOT_TEST(ports__are_as_their_devices),
	    SLOT_TEST(reload__paths_find_their_homes),
	    SLOT_TEST(reload__another_device_begins_anew),
	    SLOT_TEST(bring__what_somebody_wants),
	    SLOT_TEST(tap__with_its_time),
	    SLOT_TEST(open__with_wrong_settings),
	};

	if (!netns_enter()) {
		fprintf(stderr, "skipped: no network namespace of our own to be had\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
