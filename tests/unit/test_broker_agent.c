/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answers of an adapter: how a QP stands to the QP that it is connected to, nothing to
 * anybody else, and no more than so many. MAD-08
 */
#include "node/gsi/agent.h"

#include "cmocka_env.h"
#include "core/denial.h"
#include "node/client/dial.h"
#include "node/host/clock.h"
#include "wire/mad/vendor.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOT 5u
#define QPN (0x777700u | SLOT)
#define PEER 0x4321u

static struct vb_slots slots;
static struct vb_host_memory *host;
static struct vb_agent agent;
static struct vb_qp_entry *entry;
static struct vb_path path;
static vb_time now;

/* A QP in RTS that is connected to QP PEER at 192.0.2.7, of this process. */
static int setup(void **state)
{
	static const uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 7};

	(void)state;
	memset(&agent, 0, sizeof agent);
	memset(&slots, 0, sizeof slots);
	host = aligned_alloc(_Alignof(struct vb_host_memory), sizeof *host);
	assert_non_null(host);
	memset(host, 0, sizeof *host);
	slots.host = &host->host;
	slots.slot[SLOT].shm = calloc(1, sizeof *slots.slot[SLOT].shm);
	slots.group.cnt = SLOT + 1;
	slots.slot[SLOT].is_used = true;
	slots.slot[SLOT].shm->pid = (uint32_t)getpid();
	now = vb_clock_now();
	path = (struct vb_path){.port = 1};
	memcpy(path.sgid.b, gid, sizeof gid);
	entry = &slots.slot[SLOT].shm->qp_entry[(QPN >> 8) % VB_QP_ENTRIES];
	*entry = (struct vb_qp_entry){.qpn = QPN,
				      .dest_qpn = PEER,
				      .rq_psn = 99,
				      .state = VB_QPS_RTS,
				      .type = VB_QPT_RC,
				      .at = now - 3 * VB_SEC,
				      .dgid = path.sgid};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(slots.slot[SLOT].shm);
	free(slots.host);
	return 0;
}

/* The answer about QP @qpn to QP @from of 192.0.2.7. */
static struct vb_vendor_qp answer_to(uint32_t from, uint32_t qpn)
{
	struct vb_vendor_msg m = {.status = 0x1c,
				  .tid = 4711,
				  .attr = VB_VENDOR_QP,
				  .qp = {.from_qpn = from, .qpn = qpn}};
	uint8_t mad[VB_MAD_LEN], answer[VB_MAD_LEN];

	vb_vendor_emit(&m, mad);
	now += VB_SEC;
	assert_true(vb_agent_answer(&agent, &slots, &path, mad, now, answer));
	assert_int_equal(vb_vendor_parse(&m, answer), 0);
	assert_true(m.is_response);
	assert_int_equal(m.status, 0);
	assert_int_equal(m.tid, 4711);
	assert_int_equal(m.qp.from_qpn, from);
	assert_int_equal(m.qp.qpn, qpn);
	return m.qp;
}

/* Nothing but the question comes back. */
static void expect_nothing(uint32_t from, uint32_t qpn)
{
	const struct vb_vendor_qp none = {.from_qpn = from, .qpn = qpn}, q = answer_to(from, qpn);

	assert_memory_equal(&q, &none, sizeof none);
}

static void qp__to_its_peer(void **state)
{
	struct vb_vendor_qp q = answer_to(PEER, QPN);

	(void)state;
	assert_int_equal(q.standing, VB_VENDOR_CONNECTED);
	assert_int_equal(q.state, VB_QPS_RTS);
	assert_int_equal(q.stopped, 0);
	assert_int_equal(q.is_qpn, QPN);
	assert_int_equal(q.rq_psn, 99);
	assert_int_equal(q.age, 4 * VB_SEC);
	assert_int_equal(q.denial[0], 0);
	/* Under the wrong number it is the same QP. */
	assert_int_equal(answer_to(PEER, QPN + 0x100).is_qpn, QPN);
	entry->state = VB_QPS_ERR;
	assert_int_equal(answer_to(PEER, QPN).state, VB_QPS_ERR);
	entry->state = VB_QPS_RESET;
	assert_int_equal(answer_to(PEER, QPN).standing, VB_VENDOR_RESET);
	entry->state = VB_QPS_RTS;
	entry->has_ended = 1;
	assert_int_equal(answer_to(PEER, QPN).standing, VB_VENDOR_ENDED);
	now += VB_PAST_NS;
	expect_nothing(PEER, QPN);
}

/* Neither another QP of the peer's host nor another host hears that there is a QP. */
static void qp__to_strangers(void **state)
{
	(void)state;
	expect_nothing(PEER + 1, QPN);
	path.sgid.b[15]++;
	expect_nothing(PEER, QPN);
	entry->type = VB_QPT_UD;
	path.sgid.b[15]--;
	expect_nothing(PEER, QPN);
	entry->type = VB_QPT_RC;
	entry->qpn = QPN + 1; /* of another slot, as nobody can write but a program gone mad */
	expect_nothing(PEER, QPN);
	entry->qpn = QPN;
	entry->at = UINT64_MAX;
	expect_nothing(PEER, QPN);
}

/* A QP without a peer yet: an asker that names its number hears that, and not one more word. */
static void qp__in_init(void **state)
{
	struct vb_vendor_qp q;

	(void)state;
	entry->state = VB_QPS_INIT;
	entry->dest_qpn = 0;
	q = answer_to(PEER, QPN);
	assert_int_equal(q.standing, VB_VENDOR_NOT_READY);
	assert_int_equal(q.state, VB_QPS_INIT);
	assert_int_equal(q.rq_psn, 0);
	expect_nothing(PEER, QPN + 0x100);
	expect_nothing(PEER, QPN + (VB_QP_ENTRIES << 8));
	/* Not even QP 0 of the address of nobody is its peer. */
	entry->dgid = path.sgid;
	assert_int_equal(answer_to(0, QPN).standing, VB_VENDOR_NOT_READY);
	entry->has_ended = 1;
	expect_nothing(PEER, QPN);
}

static void qp__of_a_target(void **state)
{
	(void)state;
	entry->type = VB_QPT_DCT;
	entry->state = VB_QPS_RTR;
	entry->dest_qpn = 0;
	assert_int_equal(answer_to(PEER, QPN).standing, VB_VENDOR_TARGET);
	entry->state = VB_QPS_RESET;
	expect_nothing(PEER, QPN);
}

/* Of several QPs that are or were connected to the asker's: the one that is, then the newest. */
static void qp__of_several(void **state)
{
	struct vb_qp_entry *other = entry + 1;

	(void)state;
	*other = *entry;
	other->qpn = QPN + 0x100;
	other->at++;
	assert_int_equal(answer_to(PEER, QPN).is_qpn, QPN + 0x100);
	other->state = VB_QPS_RESET;
	assert_int_equal(answer_to(PEER, QPN).is_qpn, QPN);
	entry->has_ended = 1;
	assert_int_equal(answer_to(PEER, QPN).is_qpn, QPN + 0x100);
	entry->at = other->at + 1;
	assert_int_equal(answer_to(PEER, QPN).is_qpn, QPN);
	other->state = VB_QPS_RTS; /* in the place behind, and older */
	assert_int_equal(answer_to(PEER, QPN).is_qpn, QPN + 0x100);
}

/* A program that is stopped. */
static void process__that_is_stopped(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		(void)raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	slots.slot[SLOT].shm->pid = (uint32_t)pid;
	assert_int_equal(answer_to(PEER, QPN).stopped, 1);
	entry->has_ended = 1; /* the number may be another program's by now */
	assert_int_equal(answer_to(PEER, QPN).stopped, 0);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The refusal of the QP, from the history of a process that runs and of one that has ended. */
static void denial__goes_along(void **state)
{
	struct vb_slot_shm *shm = slots.slot[SLOT].shm;
	struct vb_past_qp *past = &vb_slots_past(&slots)->history[3];
	const struct vb_trace_event ev = {
	    .time = now, .qpn = QPN, .id = VB_TRACE_REFUSED, .arg = {VB_DENIAL_QP_RIGHT, 2, 3, 4}};
	struct vb_qp_history history = {.state = VB_QP_HISTORY_NONE};
	struct vb_vendor_qp q;

	(void)state;
	vb_qp_history_add(&history, &ev, NULL);
	history.state = VB_QP_HISTORY_FAILED;
	*vb_qp_histories_new(&shm->explain.histories, QPN) = history;
	q = answer_to(PEER, QPN);
	assert_memory_equal(q.denial, ev.arg, sizeof q.denial);
	assert_int_equal(q.denial_age, VB_SEC);
	expect_nothing(PEER + 1, QPN);
	/* The denial of a QP that goes on is no reason. */
	for (uint32_t state_of = VB_QP_HISTORY_RECOVERED; state_of < VB_QP_HISTORY_FAILED;
	     state_of++) {
		vb_qp_histories_find(&shm->explain.histories, QPN)->state = state_of;
		assert_int_equal(answer_to(PEER, QPN).denial[0], 0);
	}

	memset(&shm->explain, 0, sizeof shm->explain);
	assert_int_equal(answer_to(PEER, QPN).denial[0], 0);
	past->history = history;
	assert_int_equal(answer_to(PEER, QPN).denial[0], 0); /* the place is free */
	past->ended = now;
	entry->has_ended = 1;
	q = answer_to(PEER, QPN);
	assert_memory_equal(q.denial, ev.arg, sizeof q.denial);
}

static void adapter__tells_what_it_is(void **state)
{
	struct vb_vendor_msg m = {.attr = VB_VENDOR_ADAPTER};
	uint8_t mad[VB_MAD_LEN], answer[VB_MAD_LEN];
	struct vb_device *d = &slots.host->device[0];

	(void)state;
	d->active_mtu = VB_MTU_2048;
	for (int i = 2; i < VB_GIDS_MAX; i++) {
		d->gid[i].type = VB_GID_IPV6;
		d->gid[i].gid.b[0] = (uint8_t)i;
	}
	vb_vendor_emit(&m, mad);
	assert_true(vb_agent_answer(&agent, &slots, &path, mad, now, answer));
	assert_int_equal(vb_vendor_parse(&m, answer), 0);
	assert_string_equal(m.adapter.version, TEST_VERSION);
	assert_int_equal(m.adapter.mtu, VB_MTU_2048);
	assert_int_equal(m.adapter.gid_cnt, VB_VENDOR_GIDS);
	assert_int_equal(m.adapter.gid[0].b[0], 2);
	assert_uint_in_range(m.adapter.clock, UINT64_C(1700000000) * VB_SEC, INT64_MAX);
	path.port = VB_DEVICES_MAX + 1;
	assert_true(vb_agent_answer(&agent, &slots, &path, mad, now, answer));
	assert_int_equal(vb_vendor_parse(&m, answer), 0);
	assert_int_equal(m.adapter.gid_cnt, 0);
}

/* MAD-08: Get and Set of a class that nobody has are answered, all else is dropped. */
static void request__of_another_class(void **state)
{
	static const uint8_t methods[] = {VB_MAD_METHOD_GET, VB_MAD_METHOD_SET};
	struct vb_mad_hdr h = {.base_version = 1, .mgmt_class = 4, .class_version = 1, .tid = 5};
	uint8_t mad[VB_MAD_LEN], answer[VB_MAD_LEN];

	(void)state;
	memset(mad, 0x5a, sizeof mad);
	for (int method = 0; method < 256; method++) {
		bool wanted = method == methods[0] || method == methods[1];

		h.method = (uint8_t)method;
		vb_mad_hdr_emit(&h, mad);
		assert_int_equal(vb_agent_answer(&agent, &slots, &path, mad, now, answer), wanted);
		if (!wanted)
			continue;
		assert_memory_equal(answer + VB_MAD_HDR_LEN, mad + VB_MAD_HDR_LEN,
				    VB_MAD_LEN - VB_MAD_HDR_LEN);
		vb_mad_hdr_parse(&h, answer);
		assert_int_equal(h.method, VB_MAD_METHOD_GET_RESP);
		assert_int_equal(h.status, VB_MAD_STATUS_UNSUPPORTED);
		assert_int_equal(h.tid, 5);
		h.status = 0;
	}
}

static uint32_t answers_of(uint32_t asked)
{
	const struct vb_vendor_msg m = {.attr = VB_VENDOR_ADAPTER};
	uint8_t mad[VB_MAD_LEN], answer[VB_MAD_LEN];
	uint32_t cnt = 0;

	vb_vendor_emit(&m, mad);
	for (uint32_t i = 0; i < asked; i++)
		cnt += vb_agent_answer(&agent, &slots, &path, mad, now, answer);
	return cnt;
}

/* One source has 32 answers at once and ten a second, all together 128 and a hundred a second. */
static void answers__are_limited(void **state)
{
	uint32_t sum;

	(void)state;
	assert_int_equal(answers_of(1000), 32);
	now += VB_SEC;
	assert_int_equal(answers_of(1000), 10);
	now += 100 * VB_SEC;
	sum = answers_of(1000);
	assert_int_equal(sum, 32);
	for (int i = 0; i < 1000; i++) {
		path.sgid.b[14] = (uint8_t)(i >> 8);
		path.sgid.b[13] = (uint8_t)i;
		sum += answers_of(1);
	}
	assert_int_equal(sum, 128);
	now += VB_SEC;
	for (int i = 0; i < 1000; i++) {
		path.sgid.b[13] = (uint8_t)i;
		sum += answers_of(2);
	}
	assert_int_equal(sum, 228);
}

/* A source that asks in turn with others has no more answers for that. */
static void answers__of_several_sources(void **state)
{
	uint32_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		path.sgid.b[13] = (uint8_t)(i % 3);
		sum += answers_of(1);
	}
	assert_int_equal(sum, 3 * 32);
}

/* Of many sources, the one that was silent longest loses its place to another: a source that has
 * asked much does not begin again for that. */
static void answers__of_more_sources_than_places(void **state)
{
	uint32_t sum;

	(void)state;
	/* The source that comes first has the first place. */
	assert_int_equal(answers_of(100), 32);
	for (uint32_t i = 1; i <= 2 * VB_AGENT_SOURCES; i++) {
		path.sgid.b[13] = (uint8_t)i;
		now += 11 * VB_MSEC;
		assert_int_equal(answers_of(1), 1);
	}
	path.sgid.b[13] = 0;
	sum = answers_of(100);
	/* It has one answer for each 100 ms since then. */
	assert_uint_in_range(sum, 13, 15);
}

/* The QP may be of any program, the last one, too; a slot that has no memory has none. */
static void qp__of_any_slot(void **state)
{
	static const uint32_t slot[] = {VB_SLOT_FIRST, VB_SLOT_LAST};

	(void)state;
	entry->qpn = 0;
	for (int i = 0; i < 2; i++) {
		uint32_t qpn = vb_slot_qpn_base(slot[i]) + vb_slot_qpn_stride(slot[i]);
		struct vb_slot_shm *shm = calloc(1, sizeof *shm);

		assert_non_null(shm);
		slots.group.cnt = slot[i] + 1;
		slots.slot[slot[i]].shm = shm;
		slots.slot[slot[i]].is_used = true;
		shm->pid = (uint32_t)getpid();
		shm->qp_entry[VB_QP_ENTRIES - 1] = (struct vb_qp_entry){.qpn = qpn,
									.dest_qpn = PEER,
									.state = VB_QPS_RTS,
									.type = VB_QPT_RC,
									.at = now,
									.dgid = path.sgid};
		assert_int_equal(answer_to(PEER, 7).is_qpn, qpn);
		slots.group.cnt = slot[i];
		expect_nothing(PEER, 7);
		slots.slot[slot[i]].shm = NULL;
		free(shm);
	}
	/* Of a slot that was never used nothing is known, nor of the numbers of no slot. */
	expect_nothing(PEER, vb_slot_qpn_base(VB_SLOT_LAST) + 3 * vb_slot_qpn_stride(VB_SLOT_LAST));
}

/* A QP that has ended, or is in RESET, is told of for so long; one that lives for ever. */
static void qp__for_how_long(void **state)
{
	vb_time at = now;

	(void)state;
	entry->at = at;
	entry->state = VB_QPS_RESET;
	now = at + VB_PAST_NS - VB_SEC;
	assert_int_equal(answer_to(PEER, QPN).standing, VB_VENDOR_RESET);
	now = at + VB_PAST_NS - VB_SEC + 1;
	expect_nothing(PEER, QPN);
	entry->state = VB_QPS_ERR;
	entry->has_ended = 1;
	now = at + VB_PAST_NS - VB_SEC;
	assert_int_equal(answer_to(PEER, QPN).standing, VB_VENDOR_ENDED);
	now = at + VB_PAST_NS - VB_SEC + 1;
	expect_nothing(PEER, QPN);
	entry->has_ended = 0;
	now = at + 2 * VB_PAST_NS;
	assert_int_equal(answer_to(PEER, QPN).standing, VB_VENDOR_CONNECTED);
}

/* The last history of each kind is read as the first one is, and of one QP's refusals the last. */
static void denial__wherever_it_is(void **state)
{
	struct vb_slot_shm *shm = slots.slot[SLOT].shm;
	struct vb_past_qp *past = vb_slots_past(&slots)->history;
	struct vb_trace_event ev = {
	    .time = now, .qpn = QPN, .id = VB_TRACE_REFUSED, .arg = {VB_DENIAL_QP_RIGHT, 2, 3, 4}};
	struct vb_qp_history history = {.state = VB_QP_HISTORY_NONE};

	(void)state;
	vb_qp_history_add(&history, &ev, NULL);
	ev.arg[1] = 9;
	vb_qp_history_add(&history, &ev, NULL);
	history.state = VB_QP_HISTORY_FAILED;
	shm->explain.histories.used[VB_QP_HISTORIES / 64 - 1] = UINT64_C(1) << 63;
	shm->explain.histories.history[VB_QP_HISTORIES - 1] = history;
	assert_int_equal(answer_to(PEER, QPN).denial[1], 9);
	memset(&shm->explain, 0, sizeof shm->explain);
	past[VB_PAST_QPS - 1].history = history;
	past[VB_PAST_QPS - 1].ended = now;
	assert_int_equal(answer_to(PEER, QPN).denial[1], 9);
	past[VB_PAST_QPS - 1].history.qpn = QPN + 0x100;
	assert_int_equal(answer_to(PEER, QPN).denial[1], 0);
}

/* A question that came by no port has an answer without addresses. */
static void adapter__of_no_port(void **state)
{
	struct vb_vendor_msg m = {.attr = VB_VENDOR_ADAPTER};
	uint8_t mad[VB_MAD_LEN], answer[VB_MAD_LEN];

	(void)state;
	for (int i = 0; i < VB_GIDS_MAX; i++)
		slots.host->device[VB_DEVICES_MAX - 1].gid[i].type =
		    i == 3 ? VB_GID_IPV4 : VB_GID_NONE;
	slots.host->device[VB_DEVICES_MAX - 1].active_mtu = VB_MTU_512;
	/* The bytes before the table are no device. */
	memset(slots.host->sysfs_path, 1, sizeof slots.host->sysfs_path);
	memset(slots.host->sysfs_note, 1, sizeof slots.host->sysfs_note);
	vb_vendor_emit(&m, mad);
	path.port = 0;
	assert_true(vb_agent_answer(&agent, &slots, &path, mad, now, answer));
	assert_int_equal(vb_vendor_parse(&m, answer), 0);
	assert_int_equal(m.adapter.gid_cnt, 0);
	assert_int_equal(m.adapter.mtu, 0);
	path.port = VB_DEVICES_MAX;
	assert_true(vb_agent_answer(&agent, &slots, &path, mad, now, answer));
	assert_int_equal(vb_vendor_parse(&m, answer), 0);
	assert_int_equal(m.adapter.gid_cnt, 1);
	assert_int_equal(m.adapter.mtu, VB_MTU_512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(qp__to_its_peer, setup, teardown),
	    cmocka_unit_test_setup_teardown(qp__to_strangers, setup, teardown),
	    cmocka_unit_test_setup_teardown(qp__in_init, setup, teardown),
	    cmocka_unit_test_setup_teardown(qp__of_a_target, setup, teardown),
	    cmocka_unit_test_setup_teardown(qp__of_several, setup, teardown),
	    cmocka_unit_test_setup_teardown(process__that_is_stopped, setup, teardown),
	    cmocka_unit_test_setup_teardown(denial__goes_along, setup, teardown),
	    cmocka_unit_test_setup_teardown(adapter__tells_what_it_is, setup, teardown),
	    cmocka_unit_test_setup_teardown(request__of_another_class, setup, teardown),
	    cmocka_unit_test_setup_teardown(answers__are_limited, setup, teardown),
	    cmocka_unit_test_setup_teardown(answers__of_several_sources, setup, teardown),
	    cmocka_unit_test_setup_teardown(answers__of_more_sources_than_places, setup, teardown),
	    cmocka_unit_test_setup_teardown(qp__of_any_slot, setup, teardown),
	    cmocka_unit_test_setup_teardown(qp__for_how_long, setup, teardown),
	    cmocka_unit_test_setup_teardown(denial__wherever_it_is, setup, teardown),
	    cmocka_unit_test_setup_teardown(adapter__of_no_port, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
