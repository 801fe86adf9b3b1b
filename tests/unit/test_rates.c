/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records in slot memory for other processes. Samples of QPs for pages with rates over time: when
 * they are written, and what a reader gets of a ring that is written on. A look at a recorder,
 * which takes nothing away. CC-53. And what `verbena explain` reads of refusals and QPs.
 */
#include "core/cc/cc.h"
#include "core/cc/dfx.h"
#include "core_env.h"
#include "node/engine/priv.h"

#include <stdio.h>

static struct env env;
static struct vb_engine engine;
static struct vb_slot_shm slot;
static struct vb_host_memory memory;

static int setup(void **state)
{
	(void)state;
	env_config(&env);
	env_open(&env, 16);
	memset(&engine, 0, sizeof engine);
	memset(&slot.rates, 0, sizeof slot.rates);
	slot.capture.enabled = 0;
	engine.hca = env.hca;
	engine.broker.shm = &slot;
	engine.broker.host = &memory.host;
	engine.adopts = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	/* The engine had events emitted, which nobody takes here. */
	vb_hca_set_trace(env.hca, 0);
	env_close(&env);
	return 0;
}

static struct vb_qp_sample sample_at(uint64_t at)
{
	struct vb_qp_sample s;

	assert_true(vb_rates_read(&slot.rates, at, &s));
	return s;
}

static struct vb_qp *controlled_qp(void)
{
	struct vb_cc_settings set;

	vb_cc_settings_paper(&set, UINT64_C(40000000000));
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &set, env.now), 0);
	return env_rts(&env, VB_QPT_RC, 2, 0x123);
}

static void look__writes_what_has_changed(void **state)
{
	struct vb_qp *qp = controlled_qp();
	struct vb_qp_sample first, s;

	(void)state;
	vb_engine_look_at_rates(&engine, env.now);
	assert_int_equal(slot.rates.cnt, 1);
	first = sample_at(0);
	assert_int_equal(first.qpn, vb_qp_number(qp));
	assert_int_equal(first.at, env.now);
	assert_true(first.clk_hz != 0);
	/* Where it came to rest is written once more, and then nothing. */
	for (int i = 0; i < 4; i++) {
		env.now += 10 * VB_MSEC;
		vb_engine_look_at_rates(&engine, env.now);
		assert_int_equal(slot.rates.cnt, 2);
	}
	vb_qp_set_cc_rate(qp, 77, env.now);
	vb_engine_look_at_rates(&engine, env.now);
	assert_int_equal(slot.rates.cnt, 3);
	s = sample_at(2);
	assert_int_equal(s.rate, 77);
	assert_int_equal(s.alpha, first.alpha);
	assert_false(vb_rates_read(&slot.rates, 3, &s));
}

/* 10 ms apart, and 1 ms while somebody captures. */
static void look__not_too_often(void **state)
{
	(void)state;
	controlled_qp();
	vb_engine_look_at_rates(&engine, env.now);
	assert_int_equal(engine.rates.due, env.now + 10 * VB_MSEC);
	slot.capture.enabled = 1;
	vb_engine_look_at_rates(&engine, env.now);
	assert_int_equal(engine.rates.due, env.now + VB_MSEC);
}

static void look__less_often_at_many(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		env_rts(&env, VB_QPT_RC, 2, 0x123);
	slot.capture.enabled = 1;
	vb_engine_look_at_rates(&engine, env.now);
	assert_int_equal(engine.rates.due, env.now + 2 * VB_MSEC);
}

/* While somebody captures each CNP is noted, also between two looks; and otherwise not. */
static void cnp__noted_while_captured(void **state)
{
	struct vb_qp *qp = controlled_qp();

	(void)state;
	vb_engine_look_at_rates(&engine, env.now);
	vb_qp_set_cc_rate(qp, 77, env.now);
	vb_engine_note_cnp(&engine, vb_qp_number(qp), env.now);
	assert_int_equal(slot.rates.cnt, 1);
	slot.capture.enabled = 1;
	vb_engine_follow_capture(&engine);
	vb_engine_look_at_rates(&engine, env.now);
	assert_int_equal(slot.rates.cnt, 2);
	vb_qp_set_cc_rate(qp, 55, env.now);
	vb_engine_note_cnp(&engine, vb_qp_number(qp), env.now + 1);
	assert_int_equal(slot.rates.cnt, 3);
	assert_int_equal(sample_at(2).rate, 55);
	assert_int_equal(sample_at(2).at, env.now + 1);
}

/* A QP that nothing controls has samples, too: how far it is. */
static void look__of_a_qp_without_control(void **state)
{
	(void)state;
	env_rts(&env, VB_QPT_RC, 2, 0x123);
	vb_engine_look_at_rates(&engine, env.now);
	assert_int_equal(sample_at(0).clk_hz, 0);
	assert_int_equal(sample_at(0).rate, 0);
}

static void ring__the_oldest_go(void **state)
{
	struct vb_rates_shm *r = &slot.rates;
	struct vb_qp_sample s;

	(void)state;
	assert_int_equal(vb_rates_first(r), 0);
	for (uint64_t i = 0; i < VB_RATES + 100; i++) {
		r->entry[i % VB_RATES].at = i;
		r->cnt++;
	}
	/* The one before could be written at this moment. */
	assert_int_equal(vb_rates_first(r), 101);
	assert_false(vb_rates_read(r, 100, &s));
	assert_int_equal(sample_at(101).at, 101);
	assert_int_equal(sample_at(VB_RATES + 99).at, VB_RATES + 99);
	assert_false(vb_rates_read(r, VB_RATES + 100, &s));
}

static void ask(struct vb_broker_msg *m, struct vb_qp *qp, enum vb_broker_csr_method method)
{
	memset(m, 0, sizeof *m);
	m->csr.method = method;
	m->csr.qpn = vb_qp_number(qp);
	for (int i = 0; i < 4; i++)
		m->csr.access[m->csr.cnt++].at = VB_CSR_DFX_INFO;
	vb_engine_serve_csr(&engine, m);
	assert_int_equal(m->status, 0);
}

/* A look gives the entries in their order and leaves them; a read takes them away. */
static void recorder__a_look_keeps_it(void **state)
{
	struct vb_qp *qp = controlled_qp();
	static struct vb_broker_msg m;
	struct vb_cc_access at;

	(void)state;
	ask(&m, qp, VB_BROKER_CSR_LOOK); /* there is no recorder yet */
	assert_int_equal(vb_dfx_event_of(m.csr.access[0].word), VB_CSR_DFX_NONE);
	assert_int_equal(vb_qp_cc_make_recorder(qp), 0);
	vb_qp_cc_open(qp, &at);
	vb_dfx_start(at.ctl->dfx);
	for (uint16_t i = 1; i <= 3; i++)
		vb_dfx_put(at.ctl->dfx, VB_DFX_DECREASE, i, i * VB_MSEC);
	for (int n = 0; n < 2; n++) {
		ask(&m, qp, VB_BROKER_CSR_LOOK);
		for (uint16_t i = 1; i <= 3; i++)
			assert_int_equal(vb_dfx_rate_of(m.csr.access[i - 1].word), i);
		assert_int_equal(vb_dfx_event_of(m.csr.access[3].word), VB_CSR_DFX_NONE);
	}
	ask(&m, qp, VB_BROKER_CSR_READ);
	assert_int_equal(vb_dfx_rate_of(m.csr.access[0].word), 1);
	ask(&m, qp, VB_BROKER_CSR_LOOK);
	assert_int_equal(vb_dfx_event_of(m.csr.access[0].word), VB_CSR_DFX_NONE);
}

/* A write of some bits reads the others first; that takes no entry away. CC-31 */
static void recorder__a_write_keeps_it(void **state)
{
	struct vb_qp *qp = controlled_qp();
	static struct vb_broker_msg m;
	struct vb_cc_access at;

	(void)state;
	assert_int_equal(vb_qp_cc_make_recorder(qp), 0);
	vb_qp_cc_open(qp, &at);
	vb_dfx_start(at.ctl->dfx);
	for (uint16_t i = 1; i <= 3; i++)
		vb_dfx_put(at.ctl->dfx, VB_DFX_DECREASE, i, i * VB_MSEC);
	memset(&m, 0, sizeof m);
	m.csr.method = VB_BROKER_CSR_WRITE;
	m.csr.qpn = vb_qp_number(qp);
	m.csr.cnt = 1;
	m.csr.access[0].at = VB_CSR_DFX_INFO;
	m.csr.access[0].mask = 0xffff;
	vb_engine_serve_csr(&engine, &m);
	ask(&m, qp, VB_BROKER_CSR_LOOK);
	for (uint16_t i = 1; i <= 3; i++)
		assert_int_equal(vb_dfx_rate_of(m.csr.access[i - 1].word), i);
}

/* A number that is no register of a QP is refused and named; an unknown QP is refused. */
static void access__of_what_there_is_not(void **state)
{
	struct vb_qp *qp = controlled_qp();
	static struct vb_broker_msg m;

	(void)state;
	m.csr.method = VB_BROKER_CSR_READ;
	m.csr.qpn = vb_qp_number(qp);
	m.csr.cnt = 3;
	m.csr.access[0].at = m.csr.access[1].at = VB_CSR_DFX_INFO;
	m.csr.access[2].at = 0x200218; /* not a QP's */
	vb_engine_serve_csr(&engine, &m);
	assert_int_equal(m.status, -EINVAL);
	assert_int_equal(m.csr.failed, 2);
	assert_non_null(strstr(m.text, "0x200218: there is no register"));
	m.csr.cnt = 2;
	vb_engine_serve_csr(&engine, &m);
	assert_int_equal(m.status, 0);
	assert_string_equal(m.text, "");
	m.csr.qpn++;
	vb_engine_serve_csr(&engine, &m);
	assert_int_equal(m.status, -ENXIO);
}

static const struct vb_send_error *error_of(uint8_t host)
{
	const struct vb_gid g = env_gid(host);

	for (uint32_t i = 0; i < VB_SEND_ERRORS; i++)
		if (slot.explain.error[i].err && vb_gid_eq(&slot.explain.error[i].gid, &g))
			return &slot.explain.error[i];
	return NULL;
}

static void refuse_peer(uint8_t host, int err)
{
	const struct vb_gid g = env_gid(host);

	vb_engine_note_refusal(&engine, &g, err);
	assert_int_equal(slot.explain.seq % 2, 0);
}

/* The kernel's refusals are counted for each peer. The peer that was met longest ago makes room for
 * a new one, which begins at 1. */
static void refusals__by_their_peer(void **state)
{
	(void)state;
	memset(&slot.explain, 0, sizeof slot.explain);
	for (uint8_t i = 0; i < VB_SEND_ERRORS; i++)
		refuse_peer(i, EHOSTUNREACH);
	for (uint8_t i = 0; i < VB_SEND_ERRORS; i++) {
		assert_non_null(error_of(i));
		assert_int_equal(error_of(i)->cnt, 1);
		assert_int_equal(error_of(i)->err, EHOSTUNREACH);
		assert_true(error_of(i)->at != 0);
	}
	refuse_peer(0, ENETUNREACH);
	assert_int_equal(error_of(0)->cnt, 2);
	assert_int_equal(error_of(0)->err, ENETUNREACH);
	refuse_peer(200, EPERM);
	assert_int_equal(error_of(200)->cnt, 1);
	assert_null(error_of(1));
	assert_int_equal(error_of(0)->cnt, 2);
	assert_non_null(error_of(VB_SEND_ERRORS - 1));
}

static const struct vb_refused *refused_at(uint32_t k)
{
	return &slot.explain.refused[k % VB_REFUSED_CNT];
}

/* The adapter's last refusals to its program are kept in words; the same refusal once more counts,
 * and is no other one. */
static void refused__the_last_in_words(void **state)
{
	static char text[2 * VB_REFUSED_TEXT_MAX];
	struct vb_explain_shm *x = &slot.explain;
	const uint32_t cnt = VB_REFUSED_CNT + 2;

	(void)state;
	memset(x, 0, sizeof *x);
	for (uint32_t i = 0; i < cnt; i++)
		for (uint32_t n = 1; n <= 3; n++) {
			snprintf(text, sizeof text, "refusal %u", i);
			vb_engine_note_refused(&engine, EINVAL, text);
			assert_int_equal(x->refused_cnt, i + 1);
			assert_int_equal(refused_at(i)->cnt, n);
		}
	for (uint32_t i = 2; i < cnt; i++) {
		snprintf(text, sizeof text, "refusal %u", i);
		assert_string_equal(refused_at(i)->text, text);
		assert_int_equal(refused_at(i)->err, EINVAL);
		assert_int_equal(refused_at(i)->cnt, 3);
		assert_true(refused_at(i)->at != 0);
	}
	/* The same words of another error. */
	vb_engine_note_refused(&engine, ENOMEM, text);
	assert_int_equal(x->refused_cnt, cnt + 1);
	assert_int_equal(refused_at(cnt)->cnt, 1);
	assert_int_equal(refused_at(cnt)->err, ENOMEM);
	memset(text, 'x', sizeof text - 1);
	vb_engine_note_refused(&engine, ENOMEM, text);
	assert_int_equal(strlen(refused_at(cnt + 1)->text), VB_REFUSED_TEXT_MAX - 1);
	assert_int_equal(x->seq % 2, 0);
}

/* An observer that asks gets views of the QP that was named, of QPs with trouble, then of others,
 * as many as there is room for; once for each question. */
static void answer__those_in_trouble_first(void **state)
{
	const uint32_t cnt = VB_VIEWS + 4;
	struct vb_explain_shm *x = &slot.explain;
	uint32_t qpn[VB_VIEWS + 4], named = 0, seq;

	(void)state;
	memset(x, 0, sizeof *x);
	for (uint32_t i = 0; i < cnt; i++)
		qpn[i] = vb_qp_number(env_qp_cap(&env, VB_QPT_RC, NULL, (struct vb_qp_cap){0}));
	for (uint32_t i = 1; i <= 2; i++) {
		struct vb_qp_history *h = vb_qp_histories_new(&x->histories, qpn[cnt - i]);

		h->qpn = qpn[cnt - i];
		h->state = VB_QP_HISTORY_OPEN;
	}
	memory.host.explain_qpn = qpn[cnt - 3];
	memory.host.explain_asked = 5;
	engine.backlog.batch.cnt = 1;
	vb_engine_answer(&engine);
	assert_int_equal(x->answered, 5);
	assert_int_equal(x->link_full, 1);
	assert_int_equal(x->qp_cnt, cnt);
	assert_int_equal(x->view_cnt, VB_VIEWS);
	assert_int_equal(x->view[0].qpn, qpn[cnt - 3]);
	for (uint32_t i = 1; i <= 2; i++)
		assert_true(x->view[i].qpn == qpn[cnt - 1] || x->view[i].qpn == qpn[cnt - 2]);
	for (uint32_t i = 0; i < VB_VIEWS; i++)
		named += x->view[i].qpn == qpn[cnt - 3];
	assert_int_equal(named, 1);
	seq = x->seq;
	assert_int_equal(seq % 2, 0);
	vb_engine_answer(&engine);
	assert_int_equal(x->seq, seq);
	engine.backlog.batch.cnt = 0;
	memory.host.explain_qpn = 0;
	memory.host.explain_asked = 6;
	vb_engine_answer(&engine);
	assert_int_equal(x->answered, 6);
	assert_int_equal(x->link_full, 0);
	assert_int_equal(x->qp_cnt, cnt);
	assert_int_equal(x->view_cnt, VB_VIEWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(look__writes_what_has_changed, setup, teardown),
	    cmocka_unit_test_setup_teardown(look__not_too_often, setup, teardown),
	    cmocka_unit_test_setup_teardown(look__less_often_at_many, setup, teardown),
	    cmocka_unit_test_setup_teardown(cnp__noted_while_captured, setup, teardown),
	    cmocka_unit_test_setup_teardown(look__of_a_qp_without_control, setup, teardown),
	    cmocka_unit_test_setup_teardown(ring__the_oldest_go, setup, teardown),
	    cmocka_unit_test_setup_teardown(recorder__a_look_keeps_it, setup, teardown),
	    cmocka_unit_test_setup_teardown(recorder__a_write_keeps_it, setup, teardown),
	    cmocka_unit_test_setup_teardown(access__of_what_there_is_not, setup, teardown),
	    cmocka_unit_test_setup_teardown(refusals__by_their_peer, setup, teardown),
	    cmocka_unit_test_setup_teardown(refused__the_last_in_words, setup, teardown),
	    cmocka_unit_test_setup_teardown(answer__those_in_trouble_first, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
