/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault layer: its language, its rules, its chances. */
#include "cmocka_env.h"
#include "fault/fault.h"
#include "wire/mad/cm.h"
#include "wire/opcode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RC_SEND_ONLY (VB_TRANSPORT_RC | VB_OP_SEND_ONLY)

static struct vb_fault start(const char *text)
{
	struct vb_fault_spec spec;
	struct vb_fault_error err;
	struct vb_fault f;

	if (vb_fault_parse(text, &spec, &err))
		fail_msg("%s: column %u: %s", text, err.column, err.text);
	vb_fault_init(&f, &spec, 42, 0, 1000);
	return f;
}

static struct vb_fault_fate judge(struct vb_fault *f, uint8_t opcode, uint32_t psn, vb_time now)
{
	struct vb_fault_packet p = {VB_FAULT_TX, opcode, 17, vb_psn(psn), 1000, NULL};
	struct vb_fault_fate fate;

	vb_fault_judge(f, &p, now, &fate);
	return fate;
}

/* How many of packets 0 ... n - 1 are lost; bit i of *which is packet i. */
static uint32_t lost(struct vb_fault *f, uint32_t n, uint64_t *which)
{
	uint32_t cnt = 0;

	*which = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!judge(f, RC_SEND_ONLY, i, 1000 + i).drop)
			continue;
		cnt++;
		*which |= i < 64 ? UINT64_C(1) << i : 0;
	}
	return cnt;
}

static void parse__reads_every_form(void **state)
{
	static const struct {
		const char *text;
		enum vb_fault_kind kind;
		uint32_t ppb;
		vb_dur time, jitter;
	} t[] = {
	    {"loss=0.001", VB_FAULT_LOSS, 1000000, 0, 0},
	    {"loss=1e-3", VB_FAULT_LOSS, 1000000, 0, 0},
	    {"loss=.5%", VB_FAULT_LOSS, 5000000, 0, 0},
	    {"loss=20ppm", VB_FAULT_LOSS, 20000, 0, 0},
	    {"loss=7ppb", VB_FAULT_LOSS, 7, 0, 0},
	    {"loss=1", VB_FAULT_LOSS, VB_FAULT_ONE, 0, 0},
	    {"loss=100%", VB_FAULT_LOSS, VB_FAULT_ONE, 0, 0},
	    {"dup=0", VB_FAULT_DUPLICATE, 0, 0, 0},
	    {"reorder=1e-2/20us", VB_FAULT_REORDER, 10000000, 20000, 0},
	    {"delay=1.5us", VB_FAULT_DELAY, VB_FAULT_ONE, 1500, 0},
	    {"delay=2ms/500ns", VB_FAULT_DELAY, VB_FAULT_ONE, 2000000, 500},
	    {"blackout=1s/10ms", VB_FAULT_BLACKOUT, 0, VB_SEC, 10000000},
	    {"corrupt=1E-9", VB_FAULT_CORRUPT, 1, 0, 0},
	    {"ecn=50%", VB_FAULT_ECN, 500000000, 0, 0},
	    {"queue=1.5Gbps/2ms", VB_FAULT_QUEUE, 0, 2000000, 0},
	    {"queue=40Mbps/1s/0B/1MB/5%", VB_FAULT_QUEUE, 0, VB_SEC, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_fault f = start(t[i].text);

		assert_int_equal(f.spec.rule_cnt, 1);
		assert_int_equal(f.spec.rule[0].kind, t[i].kind);
		assert_int_equal(f.spec.rule[0].ppb, t[i].ppb);
		assert_int_equal(f.spec.rule[0].time, t[i].time);
		assert_int_equal(f.spec.rule[0].jitter, t[i].jitter);
	}
	assert_int_equal(start("").spec.rule_cnt, 0);
	assert_int_equal(start("loss=1e-3,dup=1%:op=ACK,delay=1us").spec.rule_cnt, 3);
}

static void parse__says_what_is_wrong_and_where(void **state)
{
	static const struct {
		const char *text;
		uint32_t column;
		const char *part;
	} t[] = {
	    {"los=1", 1, "unknown fault"},
	    {"loss", 5, "expected ="},
	    {"loss=", 6, "expected a probability"},
	    {"loss=2", 6, "at most 1"},
	    {"loss=1e-10", 6, "at least 1e-9"},
	    {"loss=1x", 7, "no unit"},
	    {"loss=1,", 7, "missing behind the comma"},
	    {"loss=0.1/3", 9, "a part too many"},
	    {"delay=5", 8, "needs a unit"},
	    {"delay=5us/x", 11, "expected a time"},
	    {"delay=99999999999999s", 7, "too long"},
	    {"reorder=1e-3", 13, "PROBABILITY/HELD"},
	    {"burst=1e-3", 11, "BEGIN/END"},
	    {"blackout=1s", 12, "BEGIN/LENGTH"},
	    {"loss=1:dirr=tx", 8, "unknown option"},
	    {"loss=1:dir=up", 12, "tx, rx or both"},
	    {"loss=1:op=RC_SEMD", 11, "no such opcode"},
	    {"loss=1:psn=5-x", 14, "expected a number"},
	    {"loss=1:psn=16777216", 12, "too large"},
	    {"loss=1:every=0", 14, "at least 1"},
	    {"loss=1:nth=0", 8, "counts from 1"},
	    {"loss=1:first=3x", 15, "unexpected text"},
	    {"dup=1,loss=1:", 14, "unknown option"},
	    {"queue=1Gbps", 12, "RATE/TIME"},
	    {"queue=1/2ms", 8, "kbps, Mbps or Gbps"},
	    {"queue=0Mbps/1s", 7, "1kbps to 1000Gbps"},
	    {"queue=2000Gbps/1s", 7, "1kbps to 1000Gbps"},
	    {"queue=1Mbps/11s", 7, "at most what takes it 10s"},
	    {"queue=1Mbps/1s/1kB", 19, "KMIN/KMAX/PMAX"},
	    {"queue=1Mbps/1s/2kB/1kB/1%", 7, "KMIN of a queue"},
	    {"queue=1Mbps/1s/1kB/2kB/2", 24, "at most 1"},
	    {"queue=1Mbps/1s/1kB/9GB/1", 21, "needs a unit: B"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_fault_spec spec;
		struct vb_fault_error err;

		if (vb_fault_parse(t[i].text, &spec, &err) != -EINVAL)
			fail_msg("accepted: %s", t[i].text);
		if (err.column != t[i].column || !strstr(err.text, t[i].part))
			fail_msg("%s: column %u: %s", t[i].text, err.column, err.text);
	}
}

static void rule__hits_the_packets_it_names(void **state)
{
	static const struct {
		const char *text;
		uint64_t which; /* of 20 RC SEND Only with PSNs 0 ... 19, one per ns */
	} t[] = {
	    {"loss=1:nth=4", 0x8},
	    {"loss=1:first=3", 0x7},
	    {"loss=1:every=5", 0x84210},
	    {"loss=1:skip=10:every=3", 1 << 12 | 1 << 15 | 1 << 18},
	    {"loss=1:psn=7-9", 0x380},
	    {"loss=1:psn=18-", 0xc0000},
	    {"loss=1:psn=0xfffff0-1", 0x3},
	    {"loss=1:psn=3:psn=4", 0x10},
	    {"loss=1:msg=2-3", 0x6},
	    {"loss=1:after=15ns", 0xf8000},
	    {"loss=1:after=2ns:until=4ns", 0xc},
	    {"loss=1:op=ACK", 0},
	    {"loss=1:op=RC_SEND*:first=1", 0x1},
	    {"loss=1:op=SEND_ONLY:nth=2", 0x2},
	    {"loss=1:qpn=18-", 0},
	    {"loss=1:qpn=0x11:first=1", 0x1},
	    {"loss=1:dir=rx", 0},
	    {"loss=1:dir=tx:first=1", 0x1},
	    {"blackout=4ns/2ns", 0x30},
	    {"blackout=4ns/1ns/8ns", 0x1010},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_fault f = start(t[i].text);
		uint64_t which;

		lost(&f, 20, &which);
		if (which != t[i].which)
			fail_msg("%s: 0x%llx", t[i].text, (unsigned long long)which);
		assert_int_equal(f.hits[f.spec.rule[0].kind], __builtin_popcountll(which));
	}
}

static void loss__has_its_rate(void **state)
{
	struct vb_fault f = start("loss=1%");
	uint64_t which;

	(void)state;
	assert_uint_in_range(lost(&f, 1000000, &which), 9700, 10300);
}

static void burst__is_the_gilbert_elliott_chain(void **state)
{
	/* Mean burst 10 packets, 1 % of time begun: 1/11 of the packets are inside. */
	struct vb_fault f = start("burst=1%/10%");
	uint32_t runs = 0, cnt = 0;
	bool last = false;

	(void)state;
	for (uint32_t i = 0; i < 1000000; i++) {
		bool drop = judge(&f, RC_SEND_ONLY, i, 1000).drop;

		runs += drop && !last;
		cnt += drop;
		last = drop;
	}
	assert_uint_in_range(cnt, 87000, 95000);
	assert_uint_in_range(cnt * 100 / runs, 960, 1040);
}

static void delay__keeps_the_order_and_reorder_breaks_it(void **state)
{
	struct vb_fault f = start("delay=100ns/900ns");
	vb_time last = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		struct vb_fault_fate fate = judge(&f, RC_SEND_ONLY, i, 1000 + i);

		assert_true(fate.at >= last && fate.at >= 1100 + i);
		last = fate.at;
	}
	f = start("reorder=1/50ns:nth=1");
	assert_int_equal(judge(&f, RC_SEND_ONLY, 0, 1000).at, 1050);
	assert_int_equal(judge(&f, RC_SEND_ONLY, 1, 1001).at, 1001);
}

static void rule__added_moves_no_other(void **state)
{
	struct vb_fault a = start("loss=10%"), b = start("loss=10%,corrupt=50%");
	uint64_t which_a, which_b;

	(void)state;
	assert_int_equal(lost(&a, 10000, &which_a), lost(&b, 10000, &which_b));
	assert_int_equal(which_a, which_b);
}

static void corrupt__changes_one_to_three_bits(void **state)
{
	(void)state;
	for (uint64_t bits = 0; bits < 2000; bits++) {
		uint8_t p[40] = {0};
		uint32_t cnt = 0;

		vb_fault_corrupt(p, 1 + bits % 40, bits * UINT64_C(0x9e3779b97f4a7c15));
		for (unsigned i = 0; i < sizeof p; i++)
			cnt += (uint32_t)__builtin_popcount(p[i]);
		assert_uint_in_range(cnt, 1, 3);
	}
}

/* 8 Mb/s: 1000 bytes take a ms. Packets wait, are marked by the queue, and lost in the end. */
static void queue__is_a_bottleneck(void **state)
{
	struct vb_fault f = start("queue=8Mbps/5ms/2kB/3kB/50%"), g = f;
	vb_time shared = 0;

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		struct vb_fault_fate fate = judge(&f, RC_SEND_ONLY, i, VB_SEC);

		assert_false(fate.drop);
		assert_int_equal(fate.at, VB_SEC + (i + 1) * VB_MSEC);
		assert_true(i < 3 || i == 3 || fate.mark); /* 3 kB: by chance */
		assert_false(i <= 2 && fate.mark);
	}
	assert_true(judge(&f, RC_SEND_ONLY, 6, VB_SEC).drop);
	assert_false(judge(&f, RC_SEND_ONLY, 7, VB_SEC + VB_MSEC).drop);
	/* It is idle in between: nothing is saved up. */
	assert_int_equal(judge(&f, RC_SEND_ONLY, 8, 2 * VB_SEC).at, 2 * VB_SEC + VB_MSEC);
	/* Two that share it wait for each other. */
	f.queue_idle = g.queue_idle = &shared;
	assert_int_equal(judge(&f, RC_SEND_ONLY, 9, 3 * VB_SEC).at, 3 * VB_SEC + VB_MSEC);
	assert_int_equal(judge(&g, RC_SEND_ONLY, 9, 3 * VB_SEC).at, 3 * VB_SEC + 2 * VB_MSEC);
	/* Without thresholds it never marks. */
	f = start("queue=8Mbps/5ms");
	for (uint32_t i = 0; i < 6; i++)
		assert_false(judge(&f, RC_SEND_ONLY, i, VB_SEC).mark);
}

/* A packet's fate, as the link that carries it needs it; a second one is like it but whole. */
static void decide__says_how_a_packet_goes_on(void **state)
{
	struct vb_fault_packet p = {VB_FAULT_TX, RC_SEND_ONLY, 17, vb_psn(3), 1000, NULL};
	struct vb_fault f = start("loss=1:psn=9,dup=1,corrupt=1,ecn=1,delay=5us,reorder=1/1us");
	struct vb_fault_outcome out;
	const uint16_t hits = 1 << VB_FAULT_DUPLICATE | 1 << VB_FAULT_CORRUPT | 1 << VB_FAULT_ECN |
			      1 << VB_FAULT_DELAY | 1 << VB_FAULT_REORDER;

	(void)state;
	vb_fault_decide(&f, &p, 0xb8 | VB_ECN_ECT0, 1000, &out);
	assert_int_equal(out.cnt, 2);
	assert_int_equal(out.mark, hits);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(out.go[i].at, 1000 + 6 * VB_USEC);
		assert_int_equal(out.go[i].traffic_class, 0xb8 | VB_ECN_CE);
		assert_int_equal(out.go[i].damage == 0, i);
		assert_int_equal(out.go[i].mark, hits | (i ? VB_FAULT_MARK_COPY : 0));
		assert_true(out.go[i].overtaken);
	}
	/* RFC 3168 5: a sender that is not ECN-capable is told nothing. */
	vb_fault_decide(&f, &p, 0xb8, 1000, &out);
	assert_int_equal(out.go[0].traffic_class, 0xb8);
	p.psn = vb_psn(9);
	vb_fault_decide(&f, &p, 0, 1000, &out);
	assert_int_equal(out.cnt, 0);
	assert_true(out.mark & VB_FAULT_MARK_DROPPED);
	f = start("delay=5us");
	vb_fault_decide(&f, &p, 0, 1000, &out);
	assert_int_equal(out.cnt, 1);
	assert_false(out.go[0].overtaken);
	assert_int_equal(out.go[0].damage, 0);
}

/* Rules see the same of a packet before it leaves and where it arrives. */
static void see__the_same_on_both_sides(void **state)
{
	uint8_t bytes[128] = {[0] = RC_SEND_ONLY, [5] = 0xab, [7] = 0x12, [9] = 0x01, [11] = 0x7f};
	struct vb_seg seg = {bytes + 12, 100};
	struct vb_tx tx = {.seg = &seg, .seg_cnt = 1, .payload_len = 100, .hdr_len = 12};
	struct vb_rx rx = {.pkt = bytes, .len = 112, .avail = 112};
	struct vb_fault_packet sent, seen;

	(void)state;
	memcpy(tx.hdr, bytes, 12);
	sent = vb_fault_see_sent(&tx);
	seen = vb_fault_see(VB_FAULT_RX, &rx);
	assert_int_equal(sent.dir, VB_FAULT_TX);
	assert_int_equal(seen.dir, VB_FAULT_RX);
	assert_int_equal(sent.opcode, RC_SEND_ONLY);
	assert_int_equal(sent.dqpn, 0xab0012);
	assert_int_equal(sent.psn.v, 0x01007f);
	assert_int_equal(sent.bytes, 116);
	assert_int_equal(seen.opcode, sent.opcode);
	assert_int_equal(seen.dqpn, sent.dqpn);
	assert_int_equal(seen.psn.v, sent.psn.v);
	assert_int_equal(seen.bytes, sent.bytes);
	assert_null(sent.mad);
	assert_null(seen.mad);
}

/* The fate of a MAD of this class and attribute. */
static bool mad_is_lost(const char *rule, uint8_t mgmt_class, uint16_t attr_id)
{
	const struct vb_mad_hdr h = {
	    .base_version = VB_MAD_BASE_VERSION, .mgmt_class = mgmt_class, .attr_id = attr_id};
	uint8_t mad[VB_MAD_LEN] = {0};
	struct vb_fault f = start(rule);
	struct vb_fault_packet p = {
	    VB_FAULT_TX, VB_TRANSPORT_UD | VB_OP_SEND_ONLY, 1, vb_psn(0), 280, mad};
	struct vb_fault_fate fate;

	vb_mad_hdr_emit(&h, mad);
	vb_fault_judge(&f, &p, 1000, &fate);
	return fate.drop;
}

static void note_opcode(void *ctx, const struct vb_trace_event *ev)
{
	*(uint64_t *)ctx = ev->arg[2];
}

/* The opcode of the event of a MAD that is hit. */
static uint64_t logged_opcode(uint8_t mgmt_class, uint16_t attr_id)
{
	const struct vb_mad_hdr h = {
	    .base_version = VB_MAD_BASE_VERSION, .mgmt_class = mgmt_class, .attr_id = attr_id};
	uint8_t mad[VB_MAD_LEN] = {0};
	struct vb_fault f = start("loss=1");
	struct vb_fault_packet p = {
	    VB_FAULT_TX, VB_TRANSPORT_UD | VB_OP_SEND_ONLY, 1, vb_psn(0), 280, mad};
	struct vb_fault_fate fate;
	uint64_t opcode = 0;
	struct vb_trace t = {
	    .mask = UINT64_C(1) << VB_TRACE_FAULT, .emit = note_opcode, .ctx = &opcode};

	vb_mad_hdr_emit(&h, mad);
	f.trace = &t;
	vb_fault_judge(&f, &p, 1000, &fate);
	return opcode;
}

/* Events name the message of the connection manager beside the opcode, and no other MAD. */
static void event__of_mads(void **state)
{
	const uint64_t send = VB_TRANSPORT_UD | VB_OP_SEND_ONLY;

	(void)state;
	assert_int_equal(logged_opcode(VB_MAD_CLASS_CM, VB_CM_ATTR_FIRST),
			 send | VB_CM_ATTR_FIRST << 8);
	assert_int_equal(logged_opcode(VB_MAD_CLASS_CM, VB_CM_ATTR_LAST),
			 send | VB_CM_ATTR_LAST << 8);
	assert_int_equal(logged_opcode(VB_MAD_CLASS_CM, VB_CM_ATTR_FIRST - 1), send);
	assert_int_equal(logged_opcode(VB_MAD_CLASS_CM, VB_CM_ATTR_LAST + 1), send);
	assert_int_equal(logged_opcode(VB_MAD_CLASS_CM - 1, VB_CM_ATTR_FIRST), send);
}

static void filter__mads(void **state)
{
	uint64_t which;
	struct vb_fault f = start("loss=1:op=MAD");
	struct vb_fault_spec spec;
	struct vb_fault_error err;
	char text[40];

	(void)state;
	for (int a = VB_CM_ATTR_FIRST; a <= VB_CM_ATTR_LAST; a++) {
		snprintf(text, sizeof text, "loss=1:op=CM_%s", vb_cm_attr_name((enum vb_cm_attr)a));
		for (int b = VB_CM_ATTR_FIRST - 1; b <= VB_CM_ATTR_LAST + 1; b++)
			assert_int_equal(mad_is_lost(text, VB_MAD_CLASS_CM, (uint16_t)b), a == b);
		assert_false(mad_is_lost(text, VB_MAD_CLASS_CM - 1, (uint16_t)a));
		assert_true(mad_is_lost("loss=1:op=CM_*", VB_MAD_CLASS_CM, (uint16_t)a));
		assert_int_equal(mad_is_lost("loss=1:op=CM_SIDR*", VB_MAD_CLASS_CM, (uint16_t)a),
				 a == VB_CM_SIDR_REQ || a == VB_CM_SIDR_REP);
	}
	assert_true(mad_is_lost("loss=1:op=MAD", 1, 7));
	assert_true(mad_is_lost("loss=1:op=UD_*", 1, 7));
	assert_true(mad_is_lost("loss=1:op=MAD:op=UD_SEND_ONLY", 1, 7));
	/* Packets that are no MADs. */
	assert_int_equal(lost(&f, 5, &which), 0);
	f = start("loss=1:op=CM_REQ:op=*");
	assert_int_equal(lost(&f, 5, &which), 5);
	assert_int_equal(vb_fault_parse("loss=1:op=CM_RQ", &spec, &err), -EINVAL);
	assert_int_equal(vb_fault_parse("loss=1:op=CM_", &spec, &err), -EINVAL);
	assert_int_equal(vb_fault_parse("loss=1:op=MA", &spec, &err), -EINVAL);
}

/* The table says of a kind what its rules do. */
static void kind__that_loses_packets(void **state)
{
	static const char *const always[VB_FAULT_KIND_CNT] = {
	    [VB_FAULT_LOSS] = "loss=1",
	    [VB_FAULT_BURST] = "burst=1/1e-9/1/1",
	    [VB_FAULT_REORDER] = "reorder=1/20us",
	    [VB_FAULT_DUPLICATE] = "dup=1",
	    [VB_FAULT_DELAY] = "delay=20us",
	    [VB_FAULT_CORRUPT] = "corrupt=1",
	    [VB_FAULT_ECN] = "ecn=1",
	    [VB_FAULT_BLACKOUT] = "blackout=1s/1s",
	    [VB_FAULT_QUEUE] = "queue=1Gbps/2ms",
	};

	(void)state;
	for (int kind = 0; kind < VB_FAULT_KIND_CNT; kind++) {
		assert_non_null(always[kind]);

		struct vb_fault f = start(always[kind]);
		struct vb_fault_fate fate = judge(&f, RC_SEND_ONLY, 1, 1500 * VB_MSEC);

		/* A queue hits what it drops, or marks. */
		assert_int_equal(fate.hits, kind == VB_FAULT_QUEUE ? 0 : 1u << kind);
		assert_int_equal(fate.drop || fate.corrupt,
				 vb_fault_kind_loses((enum vb_fault_kind)kind));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parse__reads_every_form),
	    cmocka_unit_test(decide__says_how_a_packet_goes_on),
	    cmocka_unit_test(see__the_same_on_both_sides),
	    cmocka_unit_test(event__of_mads),
	    cmocka_unit_test(filter__mads),
	    cmocka_unit_test(parse__says_what_is_wrong_and_where),
	    cmocka_unit_test(rule__hits_the_packets_it_names),
	    cmocka_unit_test(loss__has_its_rate),
	    cmocka_unit_test(burst__is_the_gilbert_elliott_chain),
	    cmocka_unit_test(delay__keeps_the_order_and_reorder_breaks_it),
	    cmocka_unit_test(rule__added_moves_no_other),
	    cmocka_unit_test(queue__is_a_bottleneck),
	    cmocka_unit_test(corrupt__changes_one_to_three_bits),
	    cmocka_unit_test(kind__that_loses_packets),
	};

	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
