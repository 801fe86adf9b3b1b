/* SPDX-License-Identifier: BSD-2-Clause */
/* The acknowledgement of asynchronous events of every type. ibv_get_async_event(3) */
#include "verbs_env.h"

/* Each event counts as acknowledged at the object that it names, and at no other; an event of a
 * port or of the device has none. ibv_get_async_event(3) */
static void ack__counts_at_the_object_of_the_event(void **state)
{
	static const enum ibv_event_type of_qp[] = {
	    IBV_EVENT_QP_FATAL,     IBV_EVENT_QP_REQ_ERR,         IBV_EVENT_QP_ACCESS_ERR,
	    IBV_EVENT_COMM_EST,     IBV_EVENT_SQ_DRAINED,         IBV_EVENT_PATH_MIG,
	    IBV_EVENT_PATH_MIG_ERR, IBV_EVENT_QP_LAST_WQE_REACHED};
	static const enum ibv_event_type of_srq[] = {IBV_EVENT_SRQ_ERR,
						     IBV_EVENT_SRQ_LIMIT_REACHED};
	static const enum ibv_event_type of_none[] = {
	    IBV_EVENT_DEVICE_FATAL, IBV_EVENT_PORT_ACTIVE,      IBV_EVENT_PORT_ERR,
	    IBV_EVENT_LID_CHANGE,   IBV_EVENT_PKEY_CHANGE,      IBV_EVENT_SM_CHANGE,
	    IBV_EVENT_GID_CHANGE,   IBV_EVENT_CLIENT_REREGISTER};
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	uint32_t qp_cnt = e.qp->events_completed, srq_cnt = srq->events_completed;
	uint32_t cq_cnt = e.cq->async_events_completed;
	struct ibv_async_event event;

	(void)state;
	for (uint32_t i = 0; i < sizeof of_qp / sizeof of_qp[0]; i++) {
		event = (struct ibv_async_event){.element.qp = e.qp, .event_type = of_qp[i]};
		ibv_ack_async_event(&event);
		assert_int_equal(e.qp->events_completed, qp_cnt + i + 1);
	}
	for (uint32_t i = 0; i < sizeof of_srq / sizeof of_srq[0]; i++) {
		event = (struct ibv_async_event){.element.srq = srq, .event_type = of_srq[i]};
		ibv_ack_async_event(&event);
		assert_int_equal(srq->events_completed, srq_cnt + i + 1);
	}
	event = (struct ibv_async_event){.element.cq = e.cq, .event_type = IBV_EVENT_CQ_ERR};
	ibv_ack_async_event(&event);
	assert_int_equal(e.cq->async_events_completed, cq_cnt + 1);
	for (uint32_t i = 0; i < sizeof of_none / sizeof of_none[0]; i++) {
		event = (struct ibv_async_event){.element.port_num = 1, .event_type = of_none[i]};
		ibv_ack_async_event(&event);
	}
	e.qp->events_completed = qp_cnt;
	srq->events_completed = srq_cnt;
	e.cq->async_events_completed = cq_cnt;
	assert_int_equal(ibv_destroy_srq(srq), 0);
	end_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(ack__counts_at_the_object_of_the_event),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
