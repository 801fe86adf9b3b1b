/* SPDX-License-Identifier: BSD-2-Clause */
/* Histories of a process that is gone: those that did not end well are kept, the newest first, each
 * once, with what the kernel said of their way. */
#include "cmocka_env.h"
#include "node/broker/past.h"
#include "node/host/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct vb_gid to = {.b = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 7}};

static struct vb_qp_history *tell(struct vb_slot_shm *shm, uint32_t qpn,
				  enum vb_qp_history_state how, vb_time at)
{
	struct vb_qp_history *t = vb_qp_histories_new(&shm->explain.histories, qpn);

	t->state = how;
	t->at = at;
	t->view.qpn = qpn;
	t->view.attr.path.dgid = to;
	return t;
}

static void take__each_once_with_its_error(void **state)
{
	static struct vb_slots slots;
	static struct vb_host_memory memory;
	static struct vb_slot_shm slot;
	struct vb_slots *s = &slots;
	struct vb_slot_shm *shm = &slot;
	const struct vb_past *p;

	(void)state;
	s->host = &memory.host;
	s->slot[5].shm = shm;
	shm->pid = 321;
	(void)tell(shm, 0x105, VB_QP_HISTORY_FAILED, 10);
	(void)tell(shm, 0x205, VB_QP_HISTORY_OPEN, 30);
	shm->explain.error[1] = (struct vb_send_error){.gid = to, .err = EHOSTUNREACH, .cnt = 4};
	vb_past_take(vb_slots_past(s), s->slot[5].shm);
	p = vb_slots_past(s);
	assert_int_equal(p->next, 2);
	assert_int_equal(p->history[0].history.view.qpn, 0x205);
	assert_int_equal(p->history[1].history.view.qpn, 0x105);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(p->history[i].pid, 321);
		assert_int_equal(p->history[i].error.err, EHOSTUNREACH);
		assert_int_equal(p->history[i].error.cnt, 4);
	}
	assert_true(vb_past_until(p) > p->history[1].ended);
}

/* The rules of the port that the QP had stay with its history: of the first port, and of the last.
 */
static void take__with_the_faults_of_its_port(void **state)
{
	static struct vb_slots slots;
	static struct vb_host_memory memory;
	static struct vb_slot_shm slot;
	static const uint32_t port[] = {1, VB_DEVICES_MAX, VB_DEVICES_MAX + 1, 0};
	const struct vb_past *p;

	(void)state;
	slots.host = &memory.host;
	slots.slot[5].shm = &slot;
	strcpy(slot.fault[0].rules.text, "loss=0.1");
	strcpy(slot.fault[VB_DEVICES_MAX - 1].rules.text, "dup=0.1");
	for (uint32_t i = 0; i < 4; i++)
		tell(&slot, 0x105 + (i << 8), VB_QP_HISTORY_FAILED, 40 - i)->view.attr.port =
		    (uint8_t)port[i];
	vb_past_take(vb_slots_past(&slots), slots.slot[5].shm);
	p = vb_slots_past(&slots);
	assert_string_equal(p->history[0].fault.rules.text, "loss=0.1");
	assert_string_equal(p->history[1].fault.rules.text, "dup=0.1");
	assert_string_equal(p->history[2].fault.rules.text, "");
	assert_string_equal(p->history[3].fault.rules.text, "");
}

#define SLOT 7u

static struct vb_host_memory mem;
static struct vb_slot_shm shm;
static struct vb_slots slots;

static int setup(void **state)
{
	(void)state;
	memset(&mem, 0, sizeof mem);
	memset(&shm, 0, sizeof shm);
	shm.pid = 77;
	shm.slot = SLOT;
	snprintf(shm.comm, sizeof shm.comm, "gone");
	slots.host = &mem.host;
	slots.slot[SLOT].shm = &shm;
	return 0;
}

static struct vb_qp_history *history(uint32_t qpn, enum vb_qp_history_state is, vb_time at)
{
	struct vb_qp_history *h = vb_qp_histories_new(&shm.explain.histories, qpn);

	assert_non_null(h);
	h->state = is;
	h->qpn = qpn;
	h->at = at;
	return h;
}

static const struct vb_past_qp *kept(uint32_t i)
{
	return &mem.past.history[i];
}

/* Trouble that did not end well is kept, newest first, with its owner. */
static void take__what_did_not_end_well(void **state)
{
	vb_time begin = vb_clock_now();

	(void)state;
	history(0x101, VB_QP_HISTORY_FAILED, 10);
	history(0x102, VB_QP_HISTORY_OPEN, 30);
	history(0x103, VB_QP_HISTORY_RECOVERED, 40);
	history(0x104, VB_QP_HISTORY_FAILED, 20);
	history(0x105, VB_QP_HISTORY_FAILED, 20);
	vb_past_take(vb_slots_past(&slots), slots.slot[SLOT].shm);
	assert_int_equal(mem.past.next, 4);
	assert_int_equal(kept(0)->history.qpn, 0x102);
	assert_int_equal(kept(1)->history.qpn, 0x104);
	assert_int_equal(kept(2)->history.qpn, 0x105);
	assert_int_equal(kept(3)->history.qpn, 0x101);
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(kept(i)->ended >= begin);
		assert_int_equal(kept(i)->pid, 77);
		assert_int_equal(kept(i)->slot, SLOT);
		assert_string_equal(kept(i)->comm, "gone");
	}
	assert_true(kept(4)->ended == 0);
	assert_true(vb_past_until(&mem.past) == kept(0)->ended + VB_PAST_NS);
}

/* A history has the send error of its QP's own address, and the faults of its QP's own port. */
static void take__the_error_of_its_own_peer(void **state)
{
	struct vb_qp_history *h = history(0x101, VB_QP_HISTORY_FAILED, 10);
	struct vb_explain_shm *e = &shm.explain;

	(void)state;
	h->view.attr.path.dgid.b[15] = 9;
	h->view.attr.port = 2;
	e->error[0] = (struct vb_send_error){.gid = {{[15] = 8}}, .err = 101, .cnt = 1};
	e->error[1] = (struct vb_send_error){.gid = {{[15] = 9}}, .err = 0, .cnt = 2};
	e->error[VB_SEND_ERRORS - 1] =
	    (struct vb_send_error){.gid = {{[15] = 9}}, .err = 113, .cnt = 3};
	snprintf(shm.fault[1].rules.text, sizeof shm.fault[1].rules.text, "drop 1/7");
	vb_past_take(vb_slots_past(&slots), slots.slot[SLOT].shm);
	assert_int_equal(kept(0)->error.err, 113);
	assert_int_equal(kept(0)->error.cnt, 3);
	assert_string_equal(kept(0)->fault.rules.text, "drop 1/7");
	/* A QP without send errors, at a port that does not exist. */
	memset(&e->histories, 0, sizeof e->histories);
	h = history(0x102, VB_QP_HISTORY_FAILED, 10);
	h->view.attr.path.dgid.b[15] = 7;
	h->view.attr.port = VB_DEVICES_MAX + 1;
	vb_past_take(vb_slots_past(&slots), slots.slot[SLOT].shm);
	assert_int_equal(kept(1)->history.qpn, 0x102);
	assert_int_equal(kept(1)->error.err, 0);
	assert_string_equal(kept(1)->fault.rules.text, "");
}

/* Histories of a process and of all are bounded: the oldest go. */
static void take__so_many_and_no_more(void **state)
{
	enum { PROCESSES = VB_PAST_QPS / VB_PAST_PER_PROCESS + 1 };

	(void)state;
	for (uint32_t i = 0; i < VB_PAST_PER_PROCESS + 8; i++)
		history(0x105 + (i << 8), VB_QP_HISTORY_FAILED, 10 + i);
	vb_past_take(vb_slots_past(&slots), slots.slot[SLOT].shm);
	assert_int_equal(mem.past.next, VB_PAST_PER_PROCESS);
	assert_int_equal(kept(0)->history.qpn, 0x105 + ((VB_PAST_PER_PROCESS + 7) << 8));
	assert_int_equal(kept(VB_PAST_PER_PROCESS - 1)->history.qpn, 0x905);
	assert_true(kept(VB_PAST_PER_PROCESS)->ended == 0);
	for (uint32_t k = 1; k < PROCESSES; k++) {
		shm.pid = 77 + k;
		vb_past_take(vb_slots_past(&slots), slots.slot[SLOT].shm);
	}
	assert_int_equal(mem.past.next, VB_PAST_PER_PROCESS);
	assert_int_equal(kept(0)->pid, 77 + PROCESSES - 1);
	assert_int_equal(kept(VB_PAST_PER_PROCESS)->pid, 78);
	assert_int_equal(kept(VB_PAST_QPS - 1)->pid, 77 + PROCESSES - 2);
}

/* Packets that rules took away, of all that they hit; a text that has no end says nothing. */
static void losses__of_rules_that_lose(void **state)
{
	struct vb_fault_status st = {.rules.text = "loss=0.1,dup=0.1,loss=0.2,delay=1us",
				     .hits = {1, 20, 300, 4000}},
			       got;

	(void)state;
	assert_int_equal(vb_fault_status_losses(&st), 301);
	strcpy(st.rules.text, "no rule");
	assert_int_equal(vb_fault_status_losses(&st), 0);
	memset(st.rules.text, 'x', sizeof st.rules.text);
	assert_int_equal(vb_fault_status_losses(&st), 0);
	assert_int_equal(strlen(st.rules.text), sizeof st.rules.text - 1);
	/* A status that a process is writing is not read; once it is written, it is. */
	memset(shm.fault[2].rules.text, 'y', sizeof shm.fault[2].rules.text);
	shm.fault_seq = 7;
	assert_false(vb_fault_status_read(&shm, 2, &got));
	shm.fault_seq = 8;
	assert_true(vb_fault_status_read(&shm, 2, &got));
	assert_int_equal(strlen(got.rules.text), sizeof got.rules.text - 1);
}

static void take__nothing(void **state)
{
	(void)state;
	vb_past_take(vb_slots_past(&slots), slots.slot[SLOT].shm);
	assert_int_equal(mem.past.next, 0);
	assert_true(vb_past_until(&mem.past) == 0);
}

/* A place that is used again has nothing of the history before. Where the next one is taken from is
 * an earlier broker's word. */
static void take__into_a_used_place(void **state)
{
	(void)state;
	memset(&mem.past, 0x5a, sizeof mem.past);
	mem.past.next = 3 * VB_PAST_QPS + VB_PAST_QPS - 1;
	history(0x101, VB_QP_HISTORY_FAILED, 30);
	history(0x201, VB_QP_HISTORY_FAILED, 20);
	/* A place without an error has an address of zeros, as has a QP that was never connected.
	 */
	shm.explain.error[0].cnt = 9;
	vb_past_take(vb_slots_past(&slots), slots.slot[SLOT].shm);
	assert_int_equal(kept(VB_PAST_QPS - 1)->history.qpn, 0x101);
	assert_int_equal(kept(0)->history.qpn, 0x201);
	assert_int_equal(mem.past.next, 1);
	assert_int_equal(kept(0)->error.err, 0);
	assert_int_equal(kept(0)->error.cnt, 0);
	assert_true(kept(0)->fault.hits[0] == 0);
	assert_string_equal(kept(0)->fault.rules.text, "");
}

/* Ten minutes after the end of the last of these processes there is nothing to tell any more. */
static void until__ten_minutes_after_the_last(void **state)
{
	(void)state;
	assert_true(vb_past_until(&mem.past) == 0);
	mem.past.history[0].ended = 5;
	assert_true(vb_past_until(&mem.past) == UINT64_C(600000000005));
	mem.past.history[VB_PAST_QPS - 1].ended = 9;
	assert_true(vb_past_until(&mem.past) == UINT64_C(600000000009));
	mem.past.history[40].ended = 7;
	assert_true(vb_past_until(&mem.past) == UINT64_C(600000000009));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(take__each_once_with_its_error),
	    cmocka_unit_test(take__with_the_faults_of_its_port),
	    cmocka_unit_test_setup(take__what_did_not_end_well, setup),
	    cmocka_unit_test_setup(take__the_error_of_its_own_peer, setup),
	    cmocka_unit_test_setup(take__so_many_and_no_more, setup),
	    cmocka_unit_test_setup(take__nothing, setup),
	    cmocka_unit_test_setup(losses__of_rules_that_lose, setup),
	    cmocka_unit_test_setup(take__into_a_used_place, setup),
	    cmocka_unit_test_setup(until__ten_minutes_after_the_last, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
