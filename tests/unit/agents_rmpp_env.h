/* SPDX-License-Identifier: BSD-2-Clause */
/* An agent that leaves segments to the machine, and its peer, which is played segment by segment.
 */
#ifndef VB_TESTS_AGENTS_RMPP_ENV_H
#define VB_TESTS_AGENTS_RMPP_ENV_H

#include "agents_env.h"

#define SA 3
#define GET_TABLE_RESP (GET_TABLE | VB_MAD_METHOD_RESPONSE)
#define HDR 56
#define ROOM 200
#define LONG (HDR + 70 * ROOM - 12) /* 70 segments */

static int file;
static uint8_t message[LONG], mad[VB_MAD_LEN];
static const struct vb_mad_addr peer = {.qpn = 1, .lid = PEER_LID, .sl = 3, .pkey_index = 2};

static inline int rmpp_begin(void **state)
{
	struct vb_agent_request r = wanted(1, SA, 2, 1 << GET | 1 << GET_TABLE);

	agents_begin(state);
	file = vb_agents_file_open(agents);
	r.rmpp_version = 1;
	assert_int_equal(registered(file, r), 0);
	for (size_t i = 0; i < sizeof message; i++)
		message[i] = (uint8_t)(i * 31 + i / 256);
	return 0;
}

static inline int write_message(struct vb_mad_hdr h, uint32_t len, uint32_t timeout_ms,
				uint32_t retries)
{
	struct vb_rmpp r = {.version = 1, .type = VB_RMPP_DATA, .flags = VB_RMPP_ACTIVE};
	struct vb_mad_message m = {
	    .timeout_ms = timeout_ms, .retries = retries, .len = len, .addr = peer, .mad = message};

	vb_mad_hdr_emit(&h, message);
	vb_rmpp_emit(&r, message);
	return vb_agents_write(agents, file, &m);
}

/* The next MAD that leaves, of this type and segment; its payload length or window is given back.
 */
static inline uint32_t expect_out(uint8_t type, uint32_t segment, uint8_t flags)
{
	struct vb_rmpp r;

	assert_true(transmitted());
	vb_rmpp_parse(&r, out.mad);
	assert_int_equal(r.version, 1);
	assert_int_equal(r.type, type);
	assert_int_equal(r.segment, segment);
	assert_int_equal(r.flags, VB_RMPP_ACTIVE | flags);
	assert_int_equal(out.addr.lid, PEER_LID);
	assert_int_equal(out.addr.sl, 3);
	assert_int_equal(out.addr.pkey_index, 2);
	return type == VB_RMPP_ABORT || type == VB_RMPP_STOP ? r.status : r.length;
}

static inline void expect_segment(uint32_t segment, uint32_t cnt, uint32_t len)
{
	uint8_t flags = (segment == 1 ? VB_RMPP_FIRST : 0) | (segment == cnt ? VB_RMPP_LAST : 0);
	uint32_t at = HDR + (segment - 1) * ROOM, room = len - at < ROOM ? len - at : ROOM;

	expect_out(VB_RMPP_DATA, segment, flags);
	assert_memory_equal(out.mad, message, 8);
	assert_memory_equal(out.mad + 36, message + 36, HDR - 36); /* SA's own header */
	assert_memory_equal(out.mad + HDR, message + at, room);
	for (uint32_t i = HDR + room; i < VB_MAD_LEN; i++)
		assert_int_equal(out.mad[i], 0);
}

/* A MAD of RMPP from the peer. */
static inline bool rmpp_came(struct vb_mad_hdr h, struct vb_rmpp r)
{
	mad_make(mad, h);
	r.version = r.version ? r.version : 1;
	r.flags |= VB_RMPP_ACTIVE;
	vb_rmpp_emit(&r, mad);
	if (r.type == VB_RMPP_DATA)
		memset(mad + HDR, (int)(r.segment & 0xff), ROOM);
	return vb_agents_handle(agents, false, &peer, mad, now);
}

static inline bool ack_came(struct vb_mad_hdr h, uint32_t segment, uint32_t window)
{
	h.method ^= VB_MAD_METHOD_RESPONSE;
	return rmpp_came(
	    h, (struct vb_rmpp){.type = VB_RMPP_ACK, .segment = segment, .length = window});
}

static inline bool data_came(struct vb_mad_hdr h, uint32_t segment, uint32_t cnt, uint32_t length)
{
	return rmpp_came(h, (struct vb_rmpp){.type = VB_RMPP_DATA,
					     .segment = segment,
					     .flags = (segment == 1 ? VB_RMPP_FIRST : 0) |
						      (segment == cnt ? VB_RMPP_LAST : 0),
					     .length = length});
}

static inline struct vb_mad_hdr response_header(void)
{
	return header(SA, 2, GET_TABLE_RESP, 0x11, 0x0000004200000001);
}

#endif
