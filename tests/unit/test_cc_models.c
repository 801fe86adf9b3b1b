/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The algorithms of congestion control against models of them. Each model is written from the paper
 * alone, in floating point, and shares nothing with the algorithm: both get the same events, random
 * ones, and after each of them rate and window are the same within 0.1 % and a few bytes.
 */
#include "base/rng.h"
#include "cmocka_env.h"
#include "core/control/algorithm/algorithm.h"
#include "core/control/choice.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS 20000
#define PACKET 1024u
#define LINE UINT64_C(100000000000)
#define NEAR 0.001

/* One algorithm at work. */
struct subject {
	const struct verbena_cc_algorithm *a;
	struct vb_cc_choice choice;
	struct verbena_cc_control out;
	_Alignas(16) uint8_t state[4096];
};

static struct subject subject;

static void subject_begin(const struct verbena_cc_algorithm *a, const char *parameters)
{
	struct verbena_cc_facts facts = {.line_rate = LINE, .packet_bytes = PACKET};
	struct vb_cc_choice_fault fault;

	assert_null(vb_cc_algorithm_check(a));
	assert_true(a->state_bytes <= sizeof subject.state);
	subject = (struct subject){
	    .a = a,
	    .out = {.rate = VERBENA_CC_NONE, .window = VERBENA_CC_NONE, .timer = VERBENA_CC_NONE}};
	vb_cc_choice_begin(&subject.choice, a, LINE);
	if (vb_cc_choice_read(&subject.choice, parameters, &fault))
		fail_msg("%s: %s", parameters + fault.at, fault.what);
	a->init(subject.state, &facts, subject.choice.value, &subject.out);
}

static double parameter(const char *name)
{
	const struct verbena_cc_parameter *p = vb_cc_parameter_find(subject.a, name, strlen(name));

	assert_non_null(p);
	return (double)subject.choice.value[p - subject.a->parameter];
}

/* @got is @want, within NEAR of it and @slack. */
static void assert_near(uint64_t got, double want, double slack, const char *what, int event)
{
	if (fabs((double)got - want) > NEAR * want + slack)
		fail_msg("event %d: %s is %" PRIu64 " and not %.1f", event, what, got, want);
}

static uint64_t random_to(struct vb_rng *r, uint64_t n)
{
	return vb_rng_next(r) % n;
}

/* A stream of ACKs of a network whose queue wanders; about one in @loss events is a loss. */
struct stream {
	struct vb_rng rng;
	struct verbena_cc_ack ack;
	double queue; /* ns */
};

static void stream_begin(struct stream *s, const char *name)
{
	*s = (struct stream){.rng = vb_rng_stream(7, name, 0), .ack = {.now = 1000000}};
}

/* @kb: of data in flight. */
static void stream_next(struct stream *s, uint64_t base, uint64_t swing, uint64_t kb)
{
	uint64_t packets = 1 + random_to(&s->rng, 4);

	s->queue += (double)random_to(&s->rng, swing) - (double)swing / 2;
	s->queue = s->queue < 0 ? 0 : s->queue > 20.0 * (double)swing ? 0 : s->queue;
	s->ack.now += 100 + random_to(&s->rng, 2000);
	s->ack.rtt = base + (uint64_t)s->queue + random_to(&s->rng, 50);
	s->ack.bytes = packets * PACKET;
	s->ack.acked += s->ack.bytes;
	s->ack.sent = s->ack.acked + (1 + random_to(&s->rng, kb)) * PACKET;
	s->ack.marked = s->queue > 8.0 * (double)swing ? s->ack.bytes : 0;
}

/* TIMELY, algorithm 1. */
static void timely__as_its_paper(void **state)
{
	static const char *const variants[] = {"",
					       "t-low=20us, t-high=90us, weight=0.3, step=1Gbps",
					       "min-rtt=7us, decrease=30%, fast-events=3"};

	(void)state;
	for (size_t v = 0; v < 3; v++) {
		struct stream s;
		double rate = (double)LINE, diff = 0, prev = 0;
		int completions = 0;

		subject_begin(&vb_cc_timely, variants[v]);
		stream_begin(&s, variants[v]);
		for (int i = 0; i < EVENTS; i++) {
			double low = parameter("t-low"), high = parameter("t-high"), rtt, gradient;
			double beta = parameter("decrease") / 1e6, a = parameter("weight") / 1e6;
			double delta = parameter("step") > 1e15 ? LINE / 1000.0 : parameter("step");

			stream_next(&s, 15000, 12000, 64);
			rtt = (double)s.ack.rtt;
			if (prev > 0)
				diff = (1 - a) * diff + a * (rtt - prev);
			prev = rtt;
			gradient = diff / parameter("min-rtt");
			if (rtt < low) {
				completions = 0;
				rate += delta;
			} else if (rtt > high) {
				completions = 0;
				rate *= 1 - beta * (1 - high / rtt);
			} else if (gradient <= 0) {
				completions++;
				rate += (completions >= parameter("fast-events")
					     ? parameter("fast-events")
					     : 1) *
					delta;
			} else {
				completions = 0;
				rate *= 1 - beta * gradient;
			}
			rate = fmin(fmax(rate, parameter("min-rate")), (double)LINE);
			subject.a->on_ack(subject.state, &s.ack, &subject.out);
			assert_near(subject.out.rate, rate, 1000, "rate", i);
		}
	}
}

/* Swift, algorithm 1 and the flow scaling of section 3.5. */
struct swift_model {
	double cwnd, decreased, rtt;
	int timeouts;
};

static double swift_target(const struct swift_model *m)
{
	double range = parameter("flow-range");
	double alpha = range / (1 / sqrt(parameter("flow-min-window") / 1e6) -
				1 / sqrt(parameter("flow-max-window") / 1e6));
	double beta = -alpha / sqrt(parameter("flow-max-window") / 1e6);

	return parameter("base-target") + fmax(0, fmin(alpha / sqrt(m->cwnd) + beta, range));
}

static void swift_ends(struct swift_model *m, double before, double now)
{
	m->cwnd = fmin(fmax(m->cwnd, parameter("min-window") / 1e6), parameter("max-window") / 1e6);
	if (m->cwnd < before)
		m->decreased = now;
}

static void swift_acked(struct swift_model *m, const struct verbena_cc_ack *ack)
{
	double target = swift_target(m), before = m->cwnd, delay = (double)ack->rtt;
	double acked = (double)ack->bytes / PACKET, ai = parameter("increase") / 1e6;

	m->timeouts = 0;
	m->rtt = delay;
	if (delay < target)
		m->cwnd += m->cwnd >= 1 ? ai / m->cwnd * acked : ai * acked;
	else if ((double)ack->now - m->decreased >= m->rtt)
		m->cwnd *= fmax(1 - parameter("decrease") / 1e6 * ((delay - target) / delay),
				1 - parameter("max-decrease") / 1e6);
	swift_ends(m, before, (double)ack->now);
}

static void swift_lost(struct swift_model *m, bool is_timeout, double now)
{
	double before = m->cwnd;

	m->timeouts = is_timeout ? m->timeouts + 1 : 0;
	if (m->timeouts >= parameter("reset-timeouts"))
		m->cwnd = parameter("min-window") / 1e6;
	else if (now - m->decreased >= m->rtt)
		m->cwnd *= 1 - parameter("max-decrease") / 1e6;
	swift_ends(m, before, now);
}

static void swift__as_its_paper(void **state)
{
	static const char *const variants[] = {
	    "", "base-target=15us, flow-range=0us, increase=0.3, initial-window=3",
	    "base-target=14us, flow-range=90us, decrease=40%, max-decrease=25%, min-window=0.05"};
	bool was_small = false, was_large = false;

	(void)state;
	for (size_t v = 0; v < 3; v++) {
		struct stream s;
		struct swift_model m = {.decreased = -1e12};

		subject_begin(&vb_cc_swift, variants[v]);
		m.cwnd = parameter("initial-window") / 1e6;
		stream_begin(&s, variants[v]);
		for (int i = 0; i < EVENTS; i++) {
			uint64_t what = random_to(&s.rng, 400);

			stream_next(&s, 12000, i / 5000 % 2 ? 40000 : 6000, 64);
			if (what < 2) {
				swift_lost(&m, what == 0, (double)s.ack.now);
				(what ? subject.a->on_nak : subject.a->on_timeout)(
				    subject.state, s.ack.now, &subject.out);
			} else {
				swift_acked(&m, &s.ack);
				subject.a->on_ack(subject.state, &s.ack, &subject.out);
			}
			if (m.cwnd >= 1) {
				was_large = true;
				assert_int_equal(subject.out.rate, VERBENA_CC_NONE);
				assert_near(subject.out.window, m.cwnd * PACKET, 2, "window", i);
			} else if (m.rtt > 0) {
				was_small = true;
				assert_int_equal(subject.out.window, PACKET);
				/* One packet after another one in rtt / cwnd. */
				assert_near(subject.out.rate, PACKET * 8e9 * m.cwnd / m.rtt, 3e6,
					    "rate", i);
			}
		}
	}
	assert_true(was_small && was_large);
}

/* HPCC, algorithm 1, of two links. */
struct hpcc_model {
	double w, wc, u;
	int stage;
	uint64_t update;
	bool has_last;
	struct verbena_cc_hop last[2];
};

static double hpcc_inflight(struct hpcc_model *m, const struct verbena_cc_hop *hop)
{
	double base = parameter("base-rtt"), u = 0, tau = 0;

	for (int i = 0; i < 2; i++) {
		double dt = (double)(hop[i].at - m->last[i].at), b = (double)hop[i].rate;
		double tx = (double)(hop[i].tx_bytes - m->last[i].tx_bytes) * 8e9 / dt;
		double queue = fmin((double)hop[i].queue_bytes, (double)m->last[i].queue_bytes);
		double use = queue * 8e9 / (b * base) + tx / b;

		if (use > u) {
			u = use;
			tau = dt;
		}
	}
	tau = fmin(tau, base);
	m->u = (1 - tau / base) * m->u + tau / base * u;
	return m->u;
}

static void hpcc_acked(struct hpcc_model *m, const struct verbena_cc_ack *ack)
{
	double eta = parameter("utilization") / 1e6, add = parameter("increase");
	double most = (double)LINE * parameter("base-rtt") / 8e9;
	bool updates;

	if (m->has_last) {
		double u = hpcc_inflight(m, ack->hop);

		updates = ack->acked > m->update;
		if (u >= eta || m->stage >= parameter("max-stage")) {
			m->w = m->wc / (u / eta) + add;
			m->stage = updates ? 0 : m->stage;
		} else {
			m->w = m->wc + add;
			m->stage += updates;
		}
		m->w = fmin(fmax(m->w, 1), most);
		if (updates) {
			m->wc = m->w;
			m->update = ack->sent;
		}
	}
	m->has_last = true;
	memcpy(m->last, ack->hop, sizeof m->last);
}

static void hpcc__as_its_paper(void **state)
{
	static const char *const variants[] = {"", "base-rtt=30us, utilization=80%, max-stage=0",
					       "increase=500B, max-stage=2"};

	(void)state;
	for (size_t v = 0; v < 3; v++) {
		struct verbena_cc_hop hop[2] = {{.rate = LINE, .at = 1},
						{.rate = 4 * LINE, .at = 1}};
		struct hpcc_model m = {0};
		struct stream s;
		double load = 0.9;

		subject_begin(&vb_cc_hpcc, variants[v]);
		m.w = m.wc = (double)LINE * parameter("base-rtt") / 8e9;
		stream_begin(&s, variants[v]);
		for (int i = 0; i < EVENTS; i++) {
			stream_next(&s, 12000, 6000, 100);
			load = 0.4 + (double)random_to(&s.rng, 700) / 1000;
			for (int k = 0; k < 2; k++) {
				uint64_t dt = 100 + random_to(&s.rng, 20000);

				hop[k].at += dt;
				hop[k].tx_bytes += (uint64_t)((double)dt * (double)hop[k].rate *
							      fmin(load, 1) / 8e9);
				hop[k].queue_bytes =
				    random_to(&s.rng, i % 100 < 30 ? 300000 : 2000);
			}
			s.ack.hop = hop;
			s.ack.hop_cnt = 2;
			hpcc_acked(&m, &s.ack);
			subject.a->on_ack(subject.state, &s.ack, &subject.out);
			assert_near(subject.out.window, m.w, 20, "window", i);
			assert_near(subject.out.rate, m.w * 8e9 / parameter("base-rtt"), 2e7,
				    "rate", i);
		}
	}
}

/* DCTCP, section 3.2: alpha once a window, cuts by alpha / 2, and TCP's growth. */
struct dctcp_model {
	double cwnd, alpha, seen, marked, grown;
	uint64_t end;
	bool starts;
};

static void dctcp_acked(struct dctcp_model *m, const struct verbena_cc_ack *ack)
{
	double g = parameter("gain") / 1e6;

	m->seen += (double)ack->bytes;
	m->marked += (double)ack->marked;
	if (ack->marked)
		m->starts = false;
	if (m->starts) {
		m->cwnd += (double)ack->bytes;
	} else if (!ack->marked) {
		m->grown += (double)ack->bytes;
		if (m->grown >= m->cwnd) {
			m->grown -= m->cwnd;
			m->cwnd += PACKET;
		}
	}
	m->cwnd = fmin(m->cwnd, parameter("max-window"));
	if (ack->acked < m->end)
		return;
	m->alpha = (1 - g) * m->alpha + g * (m->marked / m->seen);
	if (m->marked > 0) {
		m->cwnd = fmax(m->cwnd * (1 - m->alpha / 2), PACKET);
		m->grown = 0;
	}
	m->seen = m->marked = 0;
	m->end = ack->sent;
}

static void dctcp__as_its_paper(void **state)
{
	static const char *const variants[] = {"", "gain=0.3, initial-window=40kB",
					       "max-window=60kB, gain=1%"};

	(void)state;
	for (size_t v = 0; v < 3; v++) {
		struct dctcp_model m = {.alpha = 1, .starts = true};
		struct stream s;

		subject_begin(&vb_cc_dctcp, variants[v]);
		m.cwnd = v == 1 ? 40000 : 10 * PACKET;
		stream_begin(&s, variants[v]);
		for (int i = 0; i < EVENTS; i++) {
			stream_next(&s, 12000, 6000, 40);
			dctcp_acked(&m, &s.ack);
			subject.a->on_ack(subject.state, &s.ack, &subject.out);
			assert_near(subject.out.window, m.cwnd, 30, "window", i);
		}
	}
}

/* Section 3: a loss halves the window, and another one in the same window of data does not. */
static void dctcp__one_loss_a_window(void **state)
{
	struct verbena_cc_ack ack = {
	    .now = 1000, .acked = 10000, .sent = 50000, .bytes = 10000, .rtt = 1000};
	uint64_t window;

	(void)state;
	subject_begin(&vb_cc_dctcp, "initial-window=400kB");
	subject.a->on_ack(subject.state, &ack, &subject.out);
	window = subject.out.window;
	subject.a->on_nak(subject.state, 2000, &subject.out);
	assert_int_equal(subject.out.window, window / 2);
	subject.a->on_nak(subject.state, 2001, &subject.out);
	assert_int_equal(subject.out.window, window / 2);
	ack.acked = 49999;
	subject.a->on_ack(subject.state, &ack, &subject.out);
	window = subject.out.window;
	subject.a->on_nak(subject.state, 3000, &subject.out);
	assert_int_equal(subject.out.window, window);
	ack.acked = ack.sent = 50000;
	subject.a->on_ack(subject.state, &ack, &subject.out);
	window = subject.out.window;
	subject.a->on_nak(subject.state, 4000, &subject.out);
	assert_int_equal(subject.out.window, window / 2);
}

/* A timeout is a loss: the window becomes the least one, and grows from there by a packet in each
 * round trip, as after any sign of congestion. */
static void dctcp__timeout_ends_the_start(void **state)
{
	struct verbena_cc_ack ack = {
	    .now = 1000, .acked = 10000, .sent = 90000, .bytes = 10000, .rtt = 1000};
	uint64_t least;

	(void)state;
	subject_begin(&vb_cc_dctcp, "initial-window=400kB");
	subject.a->on_timeout(subject.state, 500, &subject.out);
	least = subject.out.window;
	assert_true(least < ack.bytes);
	subject.a->on_ack(subject.state, &ack, &subject.out);
	assert_int_equal(subject.out.window, 2 * least);
}

static void fixed__stays(void **state)
{
	struct stream s;

	(void)state;
	subject_begin(&vb_cc_fixed, "window=64KiB, rate=2.5Gbps");
	stream_begin(&s, "fixed");
	for (int i = 0; i < 100; i++) {
		stream_next(&s, 1000, 1000, 10);
		subject.a->on_ack(subject.state, &s.ack, &subject.out);
		assert_int_equal(subject.out.window, 65536);
		assert_int_equal(subject.out.rate, UINT64_C(2500000000));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(timely__as_its_paper),
	    cmocka_unit_test(swift__as_its_paper),
	    cmocka_unit_test(hpcc__as_its_paper),
	    cmocka_unit_test(dctcp__as_its_paper),
	    cmocka_unit_test(dctcp__one_loss_a_window),
	    cmocka_unit_test(dctcp__timeout_ends_the_start),
	    cmocka_unit_test(fixed__stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
