/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures in memory for tests of src/traffic: packets between A and B, written and played. */
#ifndef VB_TESTS_TRAFFIC_ENV_H
#define VB_TESTS_TRAFFIC_ENV_H

#include "cmocka_env.h"
#include "export/pcapng.h"
#include "traffic/traffic.h"
#include "wire/hdr.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

#include <stdlib.h>
#include <string.h>

#define A "\xa\x9\0\1"
#define B "\xa\x9\0\2"
#define QPN_A 0x102u
#define QPN_B 0x203u
#define T0 (UINT64_C(1700000000) * VB_SEC)

/* A capture that is written to memory. */
struct file {
	char *bytes;
	size_t len;
	FILE *f;
	struct vb_pcapng out;
};

static inline void begin_file(struct file *c)
{
	c->f = open_memstream(&c->bytes, &c->len);
	assert_int_equal(vb_pcapng_begin(&c->out, c->f, "test"), 0);
	assert_int_equal(vb_pcapng_interface(&c->out, "verbena0", "eth0", 0, VB_PCAPNG_IP), 0);
}

static inline struct vb_gid address(const char *ip)
{
	struct vb_gid g = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};

	memcpy(g.b + 12, ip, 4);
	return g;
}

/* A packet from A (or else from B) as seen there or at its destination. */
struct pkt {
	uint64_t us;
	bool from_a, sent;
	uint8_t opcode, syndrome;
	uint32_t psn, payload, dqpn; /* dqpn 0: QPN_A or QPN_B */
	const char *comment;
	uint32_t unique; /* what the ICRC would differ by */
};

static inline void put(struct file *c, const struct pkt *k)
{
	uint8_t b[VB_HDR_MAX + 4096 + 8] = {0};
	struct vb_hdr h = {.opcode = k->opcode,
			   .dqpn = k->dqpn     ? k->dqpn
				   : k->from_a ? QPN_B
					       : QPN_A,
			   .psn = vb_psn(k->psn),
			   .ack_req = true,
			   .aeth = {.syndrome = k->syndrome, .msn = 7}};
	size_t len = vb_hdr_emit(&h, b) + k->payload;
	struct vb_udp_frame f = {.src = address(k->from_a ? A : B),
				 .dst = address(k->from_a ? B : A),
				 .sport = 50000,
				 .dport = VB_ROCE_PORT,
				 .hop_limit = 64,
				 .payload = b,
				 .payload_len = (uint32_t)len + VB_ICRC_LEN};

	memcpy(b + len, &k->unique, sizeof k->unique);
	assert_int_equal(vb_pcapng_packet(&c->out, 0, T0 + k->us * 1000, k->sent, &f, k->comment),
			 0);
}

static inline void end_file(struct file *c)
{
	fclose(c->f);
}

/* Reads what was written. */
static inline int take(struct vb_traffic *t, struct file *c, char *why, size_t size)
{
	FILE *f = fmemopen(c->bytes, c->len, "r");
	int rc = vb_traffic_read(t, f, why, size);

	fclose(f);
	return rc;
}

static inline struct vb_traffic *play(struct file *a, struct file *b)
{
	struct vb_traffic *t = vb_traffic_new();
	char why[200] = "";

	end_file(a);
	assert_int_equal(take(t, a, why, sizeof why), 0);
	if (b) {
		end_file(b);
		assert_int_equal(take(t, b, why, sizeof why), 0);
		free(b->bytes);
	}
	free(a->bytes);
	assert_int_equal(vb_traffic_play(t), 0);
	return t;
}

static inline const struct vb_step *find_step(const struct vb_traffic *t, uint32_t kind, uint32_t n)
{
	for (uint32_t i = 0; i < vb_traffic_step_cnt(t); i++)
		if (vb_traffic_step(t, i)->kind == kind && n-- == 0)
			return vb_traffic_step(t, i);
	return NULL;
}

#define WRITE(at, n)                                                                               \
	{                                                                                          \
		.us = (at), .from_a = true, .sent = true, .opcode = VB_OP_WRITE_ONLY, .psn = (n),  \
		.payload = 256                                                                     \
	}
#define ANSWER(at, n, how)                                                                         \
	{                                                                                          \
		.us = (at), .opcode = VB_OP_ACK, .psn = (n), .syndrome = (how)                     \
	}

#endif
