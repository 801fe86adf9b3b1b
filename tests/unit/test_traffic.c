/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures read back (src/traffic): QPs in pairs, packets sent again and why, losses between two
 * captures, clocks that differ, and files that are no captures.
 */
#include "fault/fault.h"
#include "traffic/comment/fault.h"
#include "traffic/mad_kind.h"
#include "traffic/pcap_reader.h"
#include "traffic_env.h"
#include "wire/icrc.h"
#include "wire/mad/mad.h"
#include "wire/opcode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* PSNs alone tell who answers whom; what a requester heard tells why it goes back. */
static void one_end__why_it_goes_back(void **state)
{
	static const struct pkt seen[] = {WRITE(0, 10),
					  WRITE(1, 11),
					  WRITE(2, 12),
					  ANSWER(20, 10, 0x1f),
					  ANSWER(30, 11, VB_NAK_PSN_SEQ),
					  WRITE(31, 11),
					  WRITE(32, 12),
					  ANSWER(40, 12, 0x1f),
					  WRITE(50, 13),
					  WRITE(5050, 13),
					  ANSWER(5060, 13, 0x1f),
					  WRITE(5070, 14),
					  ANSWER(5080, 14, VB_SYNDROME_RNR | 1),
					  WRITE(5100, 14),
					  ANSWER(5110, 14, 0x1f)};
	const struct vb_traffic_sums *n;
	struct vb_step_ends e;
	struct file a;

	(void)state;
	begin_file(&a);
	for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
		put(&a, &seen[i]);

	struct vb_traffic *t = play(&a, NULL);

	n = vb_traffic_sums(t);
	assert_int_equal(n->packets, 15);
	assert_int_equal(n->resent, 4);
	assert_int_equal(n->rewinds[VB_TRAFFIC_NAK], 1);
	assert_int_equal(n->rewinds[VB_TRAFFIC_TIMEOUT], 1);
	assert_int_equal(n->rewinds[VB_TRAFFIC_RNR], 1);
	assert_int_equal(n->naks, 1);
	assert_int_equal(n->rnr_naks, 1);
	assert_int_equal(n->lost + n->lost_to_faults + n->both_ends, 0);
	assert_int_equal(vb_traffic_connection_cnt(t), 1);
	vb_traffic_ends(t, 0, &e);
	assert_int_equal(e.qpn[0], QPN_A);
	assert_int_equal(e.qpn[1], QPN_B);
	/* The timer ran since PSN 13 was sent, with nothing else on its way. */
	assert_int_equal(find_step(t, VB_STEP_TIMER, 0)->c, 5000);
	assert_int_equal(find_step(t, VB_STEP_TIMER, 0)->a, 13);
	assert_int_equal(find_step(t, VB_STEP_REWOUND, 0)->c, VB_TRAFFIC_NAK);
	assert_true(find_step(t, VB_STEP_PACKET, 0)->flags & VB_STEP_END_UNSEEN);
	assert_true(find_step(t, VB_STEP_PACKET, 3)->flags & VB_STEP_START_UNSEEN);
	vb_traffic_free(t);
}

/* Two QPs between the same hosts, whose PSNs are far apart. */
static void one_end__two_connections(void **state)
{
	struct vb_step_ends e;
	struct file a;

	(void)state;
	begin_file(&a);
	for (uint32_t i = 0; i < 8; i++) {
		struct pkt one = WRITE(20 * i, 100 + i), other = WRITE(20 * i + 1, 90000 + i);
		struct pkt two = ANSWER(20 * i + 11, 100 + i, 0x1f);
		struct pkt four = ANSWER(20 * i + 10, 90000 + i, 0x1f);

		other.dqpn = 0x999;
		four.dqpn = 0x888;
		put(&a, &one);
		put(&a, &other);
		/* The first answer is that of the second. */
		put(&a, &four);
		put(&a, &two);
	}

	struct vb_traffic *t = play(&a, NULL);

	assert_int_equal(vb_traffic_connection_cnt(t), 2);
	vb_traffic_ends(t, 0, &e);
	assert_int_equal(e.qpn[0], QPN_A);
	assert_int_equal(e.qpn[1], QPN_B);
	vb_traffic_ends(t, 1, &e);
	assert_int_equal(e.qpn[0], 0x888);
	assert_int_equal(e.qpn[1], 0x999);
	vb_traffic_free(t);
}

/* The second clock is 3 s behind, and drifts by 100 us a second; one packet does not arrive. */
static void two_ends__clocks_and_losses(void **state)
{
	enum { SECONDS = 8, PACKETS = SECONDS * 1000, LOST = 4321 };
	const int64_t ahead_us = -3000000;
	struct file a, b;

	(void)state;
	begin_file(&a);
	begin_file(&b);
	for (uint32_t i = 0; i < PACKETS; i++) {
		uint64_t us = 10000000 + (uint64_t)i * 1000;
		uint64_t there = us + (uint64_t)(ahead_us + (int64_t)i / 10);
		struct pkt k = WRITE(us, i), ack = ANSWER(us + 30, i, 0x1f);

		k.unique = ack.unique = i;
		put(&a, &k);
		put(&a, &ack);
		if (i == LOST)
			continue;
		k.sent = false;
		k.us = there + 10;
		put(&b, &k);
		ack.sent = true;
		ack.us = there + 20;
		put(&b, &ack);
	}

	struct vb_traffic *t = play(&a, &b);
	const struct vb_traffic_sums *n = vb_traffic_sums(t);

	assert_int_equal(n->both_ends, 2 * PACKETS - 2);
	assert_int_equal(n->lost, 1);
	assert_true(llabs(n->clock_ahead_ns - (ahead_us + 100) * 1000) < 200000);
	/* 10 us, and half of what the clock drifts within a stretch. */
	assert_true(n->clock_error_ns <= 110000);
	for (uint32_t i = 0; i < vb_traffic_step_cnt(t); i++) {
		const struct vb_step *s = vb_traffic_step(t, i);

		if (s->kind != VB_STEP_PACKET)
			continue;
		assert_int_equal(s->flags & VB_STEP_LOST ? 1 : 0, s->a == LOST && s->side == 0);
		/* 10 us each way, and what the clock drifts within a stretch at its ends. */
		if (!(s->flags & VB_STEP_LOST) && s->a > 1000 && s->a < PACKETS - 1000 &&
		    s->a != LOST)
			assert_uint_in_range(s->end - s->at, 0, 130000);
	}
	vb_traffic_free(t);
}

static void comments__say_what_faults_did(void **state)
{
	char text[VB_FAULT_COMMENT_MAX];
	struct file a;
	struct pkt k = WRITE(1, 1);

	(void)state;
	for (unsigned mark = 1; mark < 1u << 12; mark++)
		assert_int_equal(vb_fault_comment_read(vb_fault_comment((uint16_t)mark, text)),
				 mark);
	assert_int_equal(vb_fault_comment_read("fault: lossless"), 0);
	begin_file(&a);
	k.comment = "fault: loss, dropped";
	put(&a, &k);

	struct vb_traffic *t = play(&a, NULL);

	assert_int_equal(vb_traffic_sums(t)->lost_to_faults, 1);
	assert_true(find_step(t, VB_STEP_PACKET, 0)->flags & VB_STEP_LOST);
	vb_traffic_free(t);
}

/* Packets to QP1 are called by what they carry. */
static void mads__have_their_names(void **state)
{
	static const struct {
		uint8_t mgmt_class, method;
		uint16_t attr;
		const char *name;
	} row[] = {{0x07, 0x03, 0x10, "CM_REQ"},
		   {0x07, 0x03, 0x13, "CM_REP"},
		   {0x07, 0x03, 0x17, "CM_SIDR_REQ"},
		   {0x36, 0x01, 0x10, "VENDOR_ADAPTER_GET"},
		   {0x36, 0x81, 0x11, "VENDOR_QP_GET_RESP"},
		   {0x04, 0x01, 0x12, "MAD, class 0x04, attribute 0x0012"},
		   {0x07, 0x03, 0x99, "MAD, class 0x07, attribute 0x0099"}};
	char name[VB_MAD_KIND_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		uint8_t b[VB_HDR_MAX + VB_MAD_LEN + 8] = {0};
		struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
				   .dqpn = 1,
				   .deth = {.qkey = VB_MAD_QKEY, .sqpn = 1}};
		size_t at = vb_hdr_emit(&h, b);
		struct vb_mad_hdr m = {.base_version = 1,
				       .mgmt_class = row[i].mgmt_class,
				       .method = row[i].method,
				       .attr_id = row[i].attr};
		struct vb_udp_frame f = {.src = address(A),
					 .dst = address(B),
					 .sport = 50000,
					 .dport = VB_ROCE_PORT,
					 .payload = b,
					 .payload_len = (uint32_t)at + VB_MAD_LEN + VB_ICRC_LEN};
		struct file c;

		vb_mad_hdr_emit(&m, b + at);
		begin_file(&c);
		assert_int_equal(vb_pcapng_packet(&c.out, 0, T0, true, &f, NULL), 0);

		struct vb_traffic *t = play(&c, NULL);

		assert_string_equal(vb_mad_kind_name(find_step(t, VB_STEP_PACKET, 0)->c, name),
				    row[i].name);
		vb_traffic_free(t);
	}
}

static void refused(const void *bytes, size_t len, const char *says)
{
	struct vb_traffic *t = vb_traffic_new();
	struct file c = {.bytes = (char *)(uintptr_t)bytes, .len = len};
	char why[200] = "";

	assert_int_equal(take(t, &c, why, sizeof why), -EINVAL);
	assert_non_null(strstr(why, says));
	vb_traffic_free(t);
}

/* An error in a file is said with the offset. */
static void file__refused(void **state)
{
	struct pkt k = WRITE(1, 1);
	struct file a;
	uint32_t at, word;

	(void)state;
	refused("#!/bin/sh\n", 10, "no capture");
	refused("ab", 2, "less than 4");
	begin_file(&a);
	fflush(a.f);
	at = (uint32_t)a.len;
	put(&a, &k);
	end_file(&a);

	char where[40];

	snprintf(where, sizeof where, "offset %u: a block of 13 bytes", at);
	word = 13;
	memcpy(a.bytes + at + 4, &word, 4);
	refused(a.bytes, a.len, where);
	word = (uint32_t)a.len - at;
	memcpy(a.bytes + at + 4, &word, 4);
	word = 77; /* the interface */
	memcpy(a.bytes + at + 8, &word, 4);
	refused(a.bytes, a.len, "a packet of interface 77");
	word = 0;
	memcpy(a.bytes + at + 8, &word, 4);
	word = 1u << 20; /* its length */
	memcpy(a.bytes + at + 20, &word, 4);
	refused(a.bytes, a.len, "a packet of 1048576 bytes");
	free(a.bytes);
}

/* A file that ends within a packet counts up to there. */
static void file__cut(void **state)
{
	struct pkt k = WRITE(1, 1);
	struct vb_traffic *t = vb_traffic_new();
	char why[200] = "";
	struct file a;

	(void)state;
	begin_file(&a);
	put(&a, &k);
	k.psn = 2;
	put(&a, &k);
	end_file(&a);
	a.len -= 7;
	assert_int_equal(take(t, &a, why, sizeof why), 0);
	assert_true(vb_traffic_file(t, 0)->is_cut);
	assert_int_equal(vb_traffic_file(t, 0)->packets, 1);
	free(a.bytes);
	vb_traffic_free(t);
}

/* Classic pcap of the other byte order, Ethernet with a VLAN, microseconds. */
static void file__classic(void **state)
{
	static const uint8_t head[24] = {0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4, 0, 0, 0, 0,
					 0,    0,    0,    0,    0, 0, 1, 0, 0, 0, 0, 1};
	uint8_t b[256] = {0}, *at = b + sizeof head + 16;
	struct vb_hdr h = {.opcode = VB_OP_SEND_ONLY, .dqpn = QPN_B, .psn = vb_psn(5)};
	uint8_t bth[VB_HDR_MAX];
	struct vb_udp_frame f = {.src = address(A),
				 .dst = address(B),
				 .sport = 50000,
				 .dport = VB_ROCE_PORT,
				 .payload = bth,
				 .payload_len = VB_BTH_LEN + VB_ICRC_LEN};
	struct vb_traffic *t = vb_traffic_new();
	struct file c = {.bytes = (char *)b};
	char why[200] = "";
	size_t len;

	(void)state;
	memset(bth, 0, sizeof bth);
	vb_hdr_emit(&h, bth);
	memcpy(b, head, sizeof head);
	b[24 + 3] = 9; /* 9.000007 s */
	b[24 + 7] = 7;
	at[12] = 0x81; /* VLAN, then IPv4 */
	at[16] = 0x08;
	len = 18 + vb_udp_frame_emit(&f, at + 18);
	memcpy(at + len, bth, f.payload_len);
	len += f.payload_len;
	b[24 + 11] = b[24 + 15] = (uint8_t)len;
	c.len = sizeof head + 16 + len;
	assert_int_equal(take(t, &c, why, sizeof why), 0);
	assert_int_equal(vb_traffic_file(t, 0)->packets, 1);
	assert_false(vb_traffic_file(t, 0)->has_directions);
	assert_int_equal(vb_traffic_play(t), 0);
	assert_int_equal(vb_traffic_first_ns(t), UINT64_C(9000007000));
	assert_int_equal(find_step(t, VB_STEP_PACKET, 0)->a, 5);
	vb_traffic_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_end__why_it_goes_back),
	    cmocka_unit_test(one_end__two_connections),
	    cmocka_unit_test(two_ends__clocks_and_losses),
	    cmocka_unit_test(comments__say_what_faults_did),
	    cmocka_unit_test(mads__have_their_names),
	    cmocka_unit_test(file__refused),
	    cmocka_unit_test(file__cut),
	    cmocka_unit_test(file__classic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
