/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An algorithm of congestion control that writes down what it is told, and answers as a test wants,
 * at a QP of an adapter for unit tests. verbena/cc.h
 */
#ifndef VB_TESTS_UNIT_CC_PROBE_ENV_H
#define VB_TESTS_UNIT_CC_PROBE_ENV_H

#include "core/control/choice.h"
#include "core_env.h"

#define MTU 1024u
#define LINE UINT64_C(100000000000)

/* The events that the algorithm was told of, and its answer. */
static struct seen {
	uint32_t inits, sents, acks, cnps, naks, timeouts, timers;
	struct verbena_cc_facts facts;
	struct verbena_cc_sent sent;
	struct verbena_cc_ack ack;
	struct verbena_cc_hop hop[VERBENA_CC_HOPS_MAX];
	uint64_t value, now;
	struct verbena_cc_control found;
} seen;
static struct verbena_cc_control want;
static bool answers; /* @want, each time */
static const struct verbena_cc_control no_limit = {
    .rate = VERBENA_CC_NONE, .window = VERBENA_CC_NONE, .timer = VERBENA_CC_NONE};
static struct env env;
static struct vb_tx_batch b;
static struct vb_cc_choice choice;

static inline void answer(struct verbena_cc_control *out)
{
	seen.found = *out;
	if (answers)
		*out = want;
}

static inline void probe_init(void *state, const struct verbena_cc_facts *facts,
			      const uint64_t *value, struct verbena_cc_control *out)
{
	assert_int_equal((uintptr_t)state % 16, 0);
	assert_int_equal(*(uint64_t *)state, 0);
	*(uint64_t *)state = 77;
	seen.inits++;
	seen.facts = *facts;
	seen.value = value[0];
	answer(out);
}

static inline void probe_on_sent(void *state, const struct verbena_cc_sent *sent,
				 struct verbena_cc_control *out)
{
	assert_int_equal(*(uint64_t *)state, 77);
	seen.sents++;
	seen.sent = *sent;
	answer(out);
}

static inline void probe_on_ack(void *state, const struct verbena_cc_ack *ack,
				struct verbena_cc_control *out)
{
	assert_int_equal(*(uint64_t *)state, 77);
	seen.acks++;
	seen.ack = *ack;
	if (ack->hop_cnt)
		memcpy(seen.hop, ack->hop, ack->hop_cnt * sizeof *ack->hop);
	answer(out);
}

#define NOTES(what)                                                                                \
	static inline void probe_on_##what(void *state, uint64_t now,                              \
					   struct verbena_cc_control *out)                         \
	{                                                                                          \
		assert_int_equal(*(uint64_t *)state, 77);                                          \
		seen.what##s++;                                                                    \
		seen.now = now;                                                                    \
		answer(out);                                                                       \
	}
NOTES(cnp)
NOTES(nak)
NOTES(timeout)
NOTES(timer)

static const struct verbena_cc_parameter probe_parameter[] = {
    {.name = "knob", .text = "a knob", .unit = VERBENA_CC_NUMBER, .max = 100, .value = 42},
};

static struct verbena_cc_algorithm probe;

static inline struct vb_qp *open_probe(uint32_t needs)
{
	probe = (struct verbena_cc_algorithm){
	    .version = VERBENA_CC_VERSION,
	    .name = "probe",
	    .state_bytes = 8,
	    .needs = needs,
	    .parameter_cnt = 1,
	    .parameter = probe_parameter,
	    .init = probe_init,
	    .on_sent = probe_on_sent,
	    .on_ack = probe_on_ack,
	    .on_cnp = probe_on_cnp,
	    .on_nak = probe_on_nak,
	    .on_timeout = probe_on_timeout,
	    .on_timer = probe_on_timer,
	};
	seen = (struct seen){0};
	vb_cc_choice_begin(&choice, &probe, LINE);
	env_config(&env);
	env.cfg.choice = &choice;
	env.now = 1000;
	env_open(&env, 256);
	return env_rts(&env, VB_QPT_RC, 2, 0x21);
}

static inline struct vb_qp *open_with(struct verbena_cc_control out)
{
	want = out;
	answers = true;
	return open_probe(0);
}

/* @cnt WRITEs of @len bytes. */
static inline void post(struct vb_qp *qp, uint32_t cnt, uint32_t len)
{
	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_RDMA_WRITE, len), 0);
}

static inline enum vb_verdict answer_rx(struct vb_qp *qp, uint32_t psn, uint8_t syndrome, bool becn)
{
	struct vb_hdr h = {.opcode = VB_OP_ACK,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(psn),
			   .becn = becn,
			   .aeth.syndrome = syndrome};

	return env_rx(&env, 2, &h, 0);
}

static inline void ack(struct vb_qp *qp, uint32_t psn)
{
	assert_int_equal(answer_rx(qp, psn, 0x1f, false), VB_VERDICT_OK);
}

#endif
