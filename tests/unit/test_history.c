/* SPDX-License-Identifier: BSD-2-Clause */
/* Histories of a process that is gone: those that did not end well are kept, the newest first, each
 * once, with what the kernel said of their way. */
#include "cmocka_env.h"
#include "node/broker/past.h"

#include <errno.h>
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
	vb_past_take(s, 5);
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
	vb_past_take(&slots, 5);
	p = vb_slots_past(&slots);
	assert_string_equal(p->history[0].fault.rules.text, "loss=0.1");
	assert_string_equal(p->history[1].fault.rules.text, "dup=0.1");
	assert_string_equal(p->history[2].fault.rules.text, "");
	assert_string_equal(p->history[3].fault.rules.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(take__each_once_with_its_error),
	    cmocka_unit_test(take__with_the_faults_of_its_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
