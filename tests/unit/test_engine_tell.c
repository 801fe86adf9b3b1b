/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records that an engine writes into its slot memory as things happen: where its QPs stand,
 * histories of trouble, samples of several QPs, what fault rules have done on several ports; and
 * the index of its QPs in the CSR space. node/engine/priv.h, node/control/
 */
#include "core/adapter.h"
#include "core/cc/cc.h"
#include "core/cc/dfx.h"
#include "core_env.h"
#include "node/engine/priv.h"

#include "link/middle/fault.h"

#include <stdio.h>

#define SLOT 5u

static struct env env;
static struct vb_engine engine;
static struct vb_slot_shm slot;
static struct vb_host_memory memory;

/* As a process with a slot has its numbers. */
static int setup(void **state)
{
	(void)state;
	env_config(&env);
	env.cfg.qpn_stride = 256;
	env.cfg.qpn_base = SLOT;
	env_open(&env, 16);
	memset(&engine, 0, sizeof engine);
	memset(&slot, 0, sizeof slot);
	memset(&memory, 0, sizeof memory);
	slot.pid = 4711;
	engine.hca = env.hca;
	engine.broker.shm = &slot;
	engine.broker.host = &memory.host;
	engine.broker.flow = memory.flow;
	engine.broker.slot = SLOT;
	engine.adopts = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vb_hca_set_trace(env.hca, 0);
	env_close(&env);
	return 0;
}

/* Several QPs are looked at by themselves: one that comes on has samples, those that rest have
 * none.
 */
static void look__at_several_qps(void **state)
{
	struct vb_qp *qp[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		qp[i] = env_rts(&env, VB_QPT_RC, 2, 0x123);
	for (int i = 0; i < 5; i++) {
		env.now += VB_MSEC;
		vb_engine_look_at_rates(&engine, env.now);
	}
	assert_int_equal(slot.rates.cnt, 6); /* as they were, and that they rest */
	for (int i = 0; i < 6; i++)
		assert_int_equal(slot.rates.entry[i].qpn, vb_qp_number(qp[i % 3]));
	qp[1]->req.psn_una.v++;
	vb_engine_look_at_rates(&engine, env.now);
	assert_int_equal(slot.rates.cnt, 7);
	assert_int_equal(slot.rates.entry[6].qpn, vb_qp_number(qp[1]));
	assert_int_equal(slot.rates.entry[6].psn_una, qp[1]->req.psn_una.v);
}

/* Each figure of a sample counts: another one is written, and once more when it stays. Where and
 * when it was taken does not. */
static void look__for_each_figure(void **state)
{
	struct vb_rate_seen *seen;
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);
	uint64_t cnt;

	(void)state;
	seen = &engine.rates.seen[(vb_qp_number(qp) >> 8) % VB_QP_ENTRIES];
	for (int i = 0; i < 3; i++)
		vb_engine_look_at_rates(&engine, env.now);
	assert_int_equal(seen->last.qpn, vb_qp_number(qp));
	assert_true(seen->rests);
	for (int i = 0; i < 9; i++) {
		struct vb_qp_sample *s = &seen->last;

		cnt = slot.rates.cnt;
		s->qpn += i == 0;
		s->psn_una += i == 1;
		s->epsn += i == 2;
		s->clk_hz += i == 3;
		s->rate = (uint16_t)(s->rate + (i == 4));
		s->target = (uint16_t)(s->target + (i == 5));
		s->alpha = (uint16_t)(s->alpha + (i == 6));
		s->at += i == 7;
		s->sgid.b[0] = (uint8_t)(s->sgid.b[0] + (i == 8));
		vb_engine_look_at_rates(&engine, env.now);
		assert_int_equal(slot.rates.cnt, cnt + (i < 7));
		assert_int_equal(seen->rests, i >= 7);
		for (int n = 0; n < 2; n++) {
			vb_engine_look_at_rates(&engine, env.now);
			assert_int_equal(slot.rates.cnt, cnt + (i < 7 ? 2 : 0));
			assert_true(seen->rests);
		}
	}
}

/* The ring of samples goes round. */
static void look__goes_round(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);

	(void)state;
	slot.rates.cnt = VB_RATES - 1;
	vb_engine_look_at_rates(&engine, env.now);
	qp->resp.epsn.v++;
	vb_engine_look_at_rates(&engine, env.now);
	assert_int_equal(slot.rates.cnt, VB_RATES + 1);
	assert_int_equal(slot.rates.entry[VB_RATES - 1].qpn, vb_qp_number(qp));
	assert_int_equal(slot.rates.entry[0].qpn, vb_qp_number(qp));
	assert_int_equal(slot.rates.entry[0].epsn, qp->resp.epsn.v);
	assert_int_equal(slot.rates.entry[1].qpn, 0);
}

static uint64_t wanted_events(void)
{
	return env.hca->cfg.trace.mask;
}

/* CNPs are told of while somebody captures, and no longer; the events of histories always are. */
static void capture__has_cnps_told(void **state)
{
	const uint64_t cnp = UINT64_C(1) << VB_TRACE_CNP_RECEIVED;

	(void)state;
	vb_engine_follow_probes(&engine);
	assert_true(wanted_events() == VB_QP_HISTORY_EVENTS);
	for (int i = 0; i < 2; i++) {
		slot.capture.enabled = 1;
		vb_engine_follow_capture(&engine);
		assert_true(engine.rates.has_cnps);
		assert_true(wanted_events() == (VB_QP_HISTORY_EVENTS | cnp));
	}
	slot.capture.enabled = 0;
	vb_engine_follow_capture(&engine);
	assert_false(engine.rates.has_cnps);
	assert_true(wanted_events() == VB_QP_HISTORY_EVENTS);
}

static void tell(enum vb_trace_id id, uint32_t qpn, vb_time at, uint64_t a, uint64_t b)
{
	const struct vb_trace_event ev = {.time = at, .qpn = qpn, .id = id, .arg = {a, b}};
	uint32_t seq = slot.explain.seq;

	vb_engine_tell(&engine, &ev);
	assert_int_equal(slot.explain.seq % 2, 0);
	assert_true(slot.explain.seq >= seq);
}

/* A CNP that is told of has a sample of its QP, while somebody captures. */
static void tell__of_a_cnp(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);

	(void)state;
	tell(VB_TRACE_CNP_RECEIVED, vb_qp_number(qp), 50, 0, 0);
	assert_int_equal(slot.rates.cnt, 0);
	engine.rates.has_cnps = true;
	tell(VB_TRACE_CNP_RECEIVED, vb_qp_number(qp), 60, 0, 0);
	assert_int_equal(slot.rates.cnt, 1);
	assert_true(slot.rates.entry[0].at == 60);
	assert_int_equal(slot.explain.seq, 0);
}

/* To whom a QP is connected is noted when its state changes, with the new state. One that is no
 * more has the entry that it had. */
static void tell__of_a_state(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);
	uint32_t qpn = vb_qp_number(qp);
	const struct vb_qp_entry *e = &slot.qp_entry[(qpn >> 8) % VB_QP_ENTRIES];
	const struct vb_gid to = env_gid(2);
	vb_time before = vb_clock_now();

	(void)state;
	qp->attr.rq_psn = 99;
	tell(VB_TRACE_QP_STATE, qpn, 70, VB_QPS_RTS, VB_QPS_ERR);
	assert_int_equal(e->qpn, qpn);
	assert_int_equal(e->dest_qpn, 0x123);
	assert_int_equal(e->rq_psn, 99);
	assert_int_equal(e->type, VB_QPT_RC);
	assert_int_equal(e->state, VB_QPS_ERR);
	assert_int_equal(e->has_ended, 0);
	assert_true(e->at == 70);
	assert_true(vb_gid_eq(&e->dgid, &to));
	assert_int_equal(slot.explain.seq, 2);
	/* A caller that destroys a QP has no need of the time. */
	tell(VB_TRACE_QP_STATE, qpn, 0, VB_QPS_ERR, VB_QPS_RESET);
	assert_int_equal(e->state, VB_QPS_RESET);
	assert_true(e->at >= before && e->at <= vb_clock_now());
	tell(VB_TRACE_QP_STATE, qpn + 0x100, 80, VB_QPS_ERR, VB_QPS_RESET);
	assert_int_equal(slot.qp_entry[((qpn >> 8) + 1) % VB_QP_ENTRIES].qpn, 0);
	/* A change of state is no trouble. */
	assert_null(vb_qp_histories_find(&slot.explain.histories, qpn));
}

/* A history begins with trouble, and has all that comes after that, with how the QP stood; events
 * of no matter to histories are left out. */
static void tell__of_trouble(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);
	uint32_t qpn = vb_qp_number(qp), seq;
	const struct vb_qp_history *t;
	vb_time before;

	(void)state;
	tell(VB_TRACE_RECOVERED, qpn, 10, 0, 0);
	tell(VB_TRACE_PACKET_SENT, qpn, 11, 0, 0);
	assert_null(vb_qp_histories_find(&slot.explain.histories, qpn));
	assert_int_equal(slot.explain.seq, 0);
	tell(VB_TRACE_TIMER_FIRED, qpn, 20, 1, 2);
	t = vb_qp_histories_find(&slot.explain.histories, qpn);
	assert_non_null(t);
	assert_int_equal(t->state, VB_QP_HISTORY_OPEN);
	assert_int_equal(t->timeouts, 1);
	assert_true(t->begun == 20);
	assert_int_equal(t->view.qpn, qpn);
	assert_int_equal(t->view.attr.dest_qpn, 0x123);
	seq = slot.explain.seq;
	assert_int_equal(seq, 2);
	tell(VB_TRACE_COMPLETION, qpn, 21, 0, 0);
	assert_int_equal(slot.explain.seq, seq);
	tell(VB_TRACE_RECOVERED, qpn, 30, 0, 0);
	assert_ptr_equal(vb_qp_histories_find(&slot.explain.histories, qpn), t);
	assert_int_equal(t->state, VB_QP_HISTORY_RECOVERED);
	assert_int_equal(slot.explain.seq, seq + 2);
	/* A QP that is destroyed in its trouble ends now, although its caller passes no time. */
	tell(VB_TRACE_TIMER_FIRED, qpn, 31, 1, 2);
	before = vb_clock_now();
	tell(VB_TRACE_QP_STATE, qpn, 0, VB_QPS_RTS, VB_QPS_RESET);
	assert_int_equal(t->is_gone, 1);
	assert_true(t->at >= before && t->at <= vb_clock_now());
	/* That of a QP which is no more has no view, and is one nevertheless. */
	tell(VB_TRACE_FAILED, qpn + 0x100, 40, 0, 0);
	t = vb_qp_histories_find(&slot.explain.histories, qpn + 0x100);
	assert_non_null(t);
	assert_int_equal(t->view.qpn, 0);
}

/* Each QP has the first index that is free, until there is none; an index is given back by the QP
 * that has it, and by no other one. CC-31 */
static void index__of_each_qp(void **state)
{
	uint32_t *table = memory.qp_index;

	(void)state;
	assert_int_equal(vb_engine_index_qp(&engine, 0x105, 0), 1);
	assert_int_equal(vb_engine_index_qp(&engine, 0x205, 2), 2);
	assert_int_equal(table[0], 1u << 24 | 0x105);
	assert_int_equal(table[1], 3u << 24 | 0x205);
	vb_engine_unindex_qp(&engine, 1, 0x205);
	vb_engine_unindex_qp(&engine, 0, 0x105);
	assert_int_equal(table[0], 1u << 24 | 0x105);
	vb_engine_unindex_qp(&engine, 1, 0x105);
	assert_int_equal(table[0], 0);
	assert_int_equal(table[1], 3u << 24 | 0x205);
	assert_int_equal(vb_engine_index_qp(&engine, 0x305, 15), 1);
	assert_int_equal(table[0], 16u << 24 | 0x305);
	for (uint32_t i = 2; i < VB_CSR_QPS - 1; i++)
		table[i] = 1;
	assert_int_equal(vb_engine_index_qp(&engine, 0x405, 0), VB_CSR_QPS);
	assert_int_equal(vb_engine_index_qp(&engine, 0x505, 0), 0);
	vb_engine_unindex_qp(&engine, VB_CSR_QPS, 0x405);
	assert_int_equal(table[VB_CSR_QPS - 1], 0);
}

static struct vb_broker_msg m;

static void access_qp(const struct vb_qp *qp, enum vb_broker_csr_method method, uint32_t at,
		      uint64_t word, uint64_t mask)
{
	m.csr.method = method;
	m.csr.qpn = vb_qp_number(qp);
	m.csr.access[m.csr.cnt].at = at;
	m.csr.access[m.csr.cnt].word = word;
	m.csr.access[m.csr.cnt++].mask = mask;
}

static int serve_accesses(void)
{
	m.status = -EIO;
	snprintf(m.text, sizeof m.text, "of the question");
	vb_engine_serve_csr(&engine, &m);
	assert_false(vb_lock_is_held(&engine.lock));
	m.csr.cnt = m.status ? m.csr.cnt : 0;
	return m.status;
}

static struct vb_qp *controlled_qp(void)
{
	struct vb_cc_settings set;

	vb_cc_settings_paper(&set, UINT64_C(40000000000));
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &set, env.now), 0);
	return env_rts(&env, VB_QPT_RC, 2, 0x123);
}

/* A recorder is made when it is switched on; without memory there is none, and that is said.
 * Accesses behind the one that failed are not done. CC-50 */
static void serve__makes_a_recorder(void **state)
{
	struct vb_qp *qp = controlled_qp();
	struct vb_cc_access at;

	(void)state;
	memset(&m, 0, sizeof m);
	access_qp(qp, VB_BROKER_CSR_WRITE, VB_CSR_DFX_CTRL, 0, UINT64_MAX);
	assert_int_equal(serve_accesses(), 0);
	assert_string_equal(m.text, "");
	vb_qp_cc_open(qp, &at);
	assert_null(at.ctl->dfx);
	env.fail_at = env.calls + 1;
	access_qp(qp, VB_BROKER_CSR_WRITE, VB_CSR_DFX_CTRL, 1, UINT64_MAX);
	assert_int_equal(serve_accesses(), -ENOMEM);
	assert_string_equal(m.text, "0x400010: out of memory");
	assert_int_equal(m.csr.failed, 0);
	env.fail_at = 0;
	assert_int_equal(serve_accesses(), 0);
	vb_qp_cc_open(qp, &at);
	assert_non_null(at.ctl->dfx);
}

/* Bits that are not written stay as they are; accesses behind a refused one are not done; and no
 * more is done than a request has room for. */
static void serve__as_far_as_it_goes(void **state)
{
	struct vb_qp *qp = controlled_qp();
	const uint32_t rate = 0x600008; /* RATE_MEM */
	uint64_t was;

	(void)state;
	memset(&m, 0, sizeof m);
	access_qp(qp, VB_BROKER_CSR_READ, rate, 0, 0);
	assert_int_equal(serve_accesses(), 0);
	was = m.csr.access[0].word;
	assert_true(was != 0);
	for (int all = 0; all < 2; all++) {
		access_qp(qp, VB_BROKER_CSR_WRITE, rate, 1000, all ? UINT64_MAX : 0);
		assert_int_equal(serve_accesses(), 0);
		access_qp(qp, VB_BROKER_CSR_READ, rate, 0, 0);
		assert_int_equal(serve_accesses(), 0);
		assert_int_equal(m.csr.access[0].word == was, !all);
	}
	was = m.csr.access[0].word;
	assert_true(was != 0);
	access_qp(qp, VB_BROKER_CSR_READ, rate, 0, 0);
	access_qp(qp, VB_BROKER_CSR_READ, rate + 1, 77, 0);
	access_qp(qp, VB_BROKER_CSR_READ, rate, 78, 0);
	assert_int_equal(serve_accesses(), -EINVAL);
	assert_int_equal(m.csr.failed, 1);
	assert_true(m.csr.access[0].word == was);
	assert_int_equal(m.csr.access[1].word, 77);
	assert_int_equal(m.csr.access[2].word, 78);
	for (uint32_t i = 0; i < VB_BROKER_WORDS_MAX; i++)
		m.csr.access[i].at = rate;
	m.csr.cnt = UINT32_MAX;
	assert_int_equal(serve_accesses(), 0);
	assert_true(m.csr.access[VB_BROKER_WORDS_MAX - 1].word == was);
	m.csr.qpn += 0x100;
	m.csr.cnt = 1;
	assert_int_equal(serve_accesses(), -ENXIO);
	assert_string_equal(m.text, "the QP has been destroyed");
}

/* The link below the faults. */
static uint32_t passed;

static uint32_t below_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from,
			   vb_time now)
{
	(void)l, (void)now;
	passed += b->cnt - from;
	return b->cnt - from;
}

static uint32_t below_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	(void)l, (void)rx, (void)cnt, (void)now;
	return 0;
}

static void below_close(struct vb_link *l)
{
	(void)l;
}

static const struct vb_link_ops below_ops = {
    .name = "below", .send = below_send, .recv = below_recv, .close = below_close};
static struct vb_link below;

static void faults_open(void)
{
	char why[256];

	below = vb_link_before(NULL, &below_ops);
	engine.link = &below;
	engine.hca = NULL; /* the link has its faults before there is an HCA */
	assert_int_equal(vb_engine_open_faults(&engine, why, sizeof why), 0);
}

static void faults_close(void)
{
	engine.link->ops->close(engine.link);
	engine.hca = env.hca;
}

/* Sends @cnt packets by HCA port @port, one by one; bit i: number i has passed. */
static uint64_t send_by(uint8_t port, uint32_t cnt)
{
	static struct vb_tx_batch b;
	const struct vb_path p = {.port = port};
	uint64_t bits = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		b.cnt = 1;
		b.pkt[0] = (struct vb_tx){.path = &p, .hdr_len = 12, .hdr = {[11] = (uint8_t)i}};
		passed = 0;
		assert_int_equal(engine.link->ops->send(engine.link, &b, 0, 0), 1);
		bits |= (uint64_t)(passed == 1) << i;
	}
	return bits;
}

static void set_rules(uint32_t device, const char *text, uint64_t seed)
{
	snprintf(engine.devices.fault[device].text, VB_FAULT_TEXT_MAX, "%s", text);
	engine.devices.fault[device].seed = seed;
	engine.devices.device[device].ifindex = device + 1;
}

/* Rules are those of their port, and so is what they have done; the log has all of it, and goes
 * round. Nothing of the last owner is left. */
static void faults__of_each_port(void **state)
{
	struct vb_fault_log *log = &slot.fault_log;
	const uint32_t last = VB_DEVICES_MAX - 1;
	uint32_t seq;

	(void)state;
	snprintf(slot.fault[3].rules.text, VB_FAULT_TEXT_MAX, "loss=1");
	slot.fault[0].hits[0] = 9;
	set_rules(0, "loss=1:nth=2,dup=1:nth=3", 7);
	set_rules(last, "loss=1", 8);
	log->cnt = VB_FAULT_LOG_CNT - 1;
	faults_open();
	assert_string_equal(slot.fault[0].rules.text, "loss=1:nth=2,dup=1:nth=3");
	assert_true(slot.fault[0].rules.seed == 7);
	assert_string_equal(slot.fault[last].rules.text, "loss=1");
	assert_string_equal(slot.fault[3].rules.text, "");
	assert_int_equal(slot.fault[0].hits[0], 0);
	assert_int_equal(slot.fault_seq % 2, 0);
	assert_int_equal(engine.bring & VB_LINK_BRING_CLASS, VB_LINK_BRING_CLASS);
	assert_true(send_by(1, 2) == 1);
	assert_true(send_by(2, 2) == 3); /* without rules */
	assert_true(send_by((uint8_t)(last + 1), 3) == 0);
	assert_int_equal(slot.fault[0].hits[0], 1);
	assert_int_equal(slot.fault[0].matched[0], 2);
	assert_int_equal(slot.fault[last].hits[0], 3);
	assert_int_equal(slot.fault[last].matched[0], 3);
	assert_int_equal(slot.fault[last].hits[1], 0);
	(void)send_by(1, 1);
	assert_int_equal(slot.fault[0].hits[1], 1);
	assert_int_equal(log->cnt, VB_FAULT_LOG_CNT + 4);
	assert_int_equal(log->hit[VB_FAULT_LOG_CNT - 1].event.node, 1);
	assert_int_equal(log->hit[VB_FAULT_LOG_CNT - 1].pid, 4711);
	assert_true(log->hit[VB_FAULT_LOG_CNT - 1].time_ns > UINT64_C(1000000000000000000));
	assert_int_equal(log->hit[0].event.node, last + 1);
	assert_int_equal(log->hit[2].event.node, last + 1);
	assert_int_equal(log->hit[3].event.node, 1);
	assert_int_equal(log->hit[3].event.id, VB_TRACE_FAULT);
	/* The same rules go on, others begin anew. */
	seq = slot.fault_seq;
	vb_engine_follow_faults(&engine);
	assert_int_equal(slot.fault_seq, seq);
	assert_int_equal(slot.fault[0].hits[0], 1);
	set_rules(0, "", 7);
	vb_engine_follow_faults(&engine);
	assert_int_equal(slot.fault_seq, seq + 2);
	assert_int_equal(slot.fault[0].hits[0], 0);
	assert_true(send_by(1, 2) == 3);
	assert_int_equal(slot.fault[last].hits[0], 3);
	/* A device that is not there has none. */
	engine.devices.device[1].ifindex = 0;
	snprintf(engine.devices.fault[1].text, VB_FAULT_TEXT_MAX, "loss=1");
	vb_engine_follow_faults(&engine);
	assert_string_equal(slot.fault[1].rules.text, "");
	/* A text that says nothing is no rule. */
	set_rules(last, "no rule", 8);
	vb_engine_follow_faults(&engine);
	assert_true(send_by((uint8_t)(last + 1), 3) == 7);
	faults_close();
}

/* Processes with the same rules lose other packets; one with the same numbers loses the same. */
static void faults__of_each_process(void **state)
{
	static const struct {
		uint64_t seed;
		uint32_t slot;
	} row[] = {{7, SLOT}, {7, SLOT + 1}, {8, SLOT}, {7, SLOT}};
	uint64_t bits[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		engine.broker.slot = row[i].slot;
		set_rules(0, "loss=0.5", row[i].seed);
		faults_open();
		bits[i] = send_by(1, 64);
		faults_close();
	}
	assert_true(bits[0] == bits[3]);
	assert_true(bits[0] != bits[1]);
	assert_true(bits[1] == bits[2]);
	assert_true(bits[0] != 0 && bits[0] != UINT64_MAX);
}

/* Rules that a process was started with hold on all its ports until somebody says otherwise. */
static void faults__of_its_own(void **state)
{
	(void)state;
	setenv("VERBENA_FAULT", "loss=1", 1);
	setenv("VERBENA_FAULT_SEED", "0x11", 1);
	set_rules(0, "", 0);
	set_rules(2, "dup=1", 3);
	engine.devices.fault_generation = 5;
	faults_open();
	unsetenv("VERBENA_FAULT");
	unsetenv("VERBENA_FAULT_SEED");
	for (uint32_t i = 0; i <= 2; i += 2) {
		assert_string_equal(slot.fault[i].rules.text, "loss=1");
		assert_true(slot.fault[i].rules.seed == 17);
		assert_true(send_by((uint8_t)(i + 1), 3) == 0);
	}
	assert_string_equal(slot.fault[1].rules.text, "");
	engine.devices.fault_generation = 6;
	vb_engine_follow_faults(&engine);
	assert_string_equal(slot.fault[0].rules.text, "");
	assert_string_equal(slot.fault[2].rules.text, "dup=1");
	faults_close();
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(look__at_several_qps),     T(look__for_each_figure), T(look__goes_round),
	    T(capture__has_cnps_told),   T(tell__of_a_cnp),        T(tell__of_a_state),
	    T(tell__of_trouble),         T(index__of_each_qp),     T(serve__makes_a_recorder),
	    T(serve__as_far_as_it_goes), T(faults__of_each_port),  T(faults__of_each_process),
	    T(faults__of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
