/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames for tests of one machine of a fabric: a pool, and packets between numbered hosts. */
#ifndef VB_TESTS_UNIT_FABRIC_ENV_H
#define VB_TESTS_UNIT_FABRIC_ENV_H

#include "cmocka_env.h"
#include "fabric/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FABRIC_FRAME_MAX 4096u /* BTH through pad */

static inline void *fabric_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static inline void fabric_release(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

/* An empty pool of up to 1000 frames; @with_data: with room for a payload. */
static inline void fabric_pool(struct vb_frame_pool *pool, bool with_data)
{
	*pool = (struct vb_frame_pool){
	    .stride = (sizeof(struct vb_frame) + (with_data ? FABRIC_FRAME_MAX : VB_HDR_MAX) + 63) &
		      ~(size_t)63,
	    .max = 1000,
	    .alloc = fabric_alloc,
	    .release = fabric_release,
	};
}

static inline struct vb_gid fabric_gid(uint32_t host)
{
	return (struct vb_gid){{[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(host + 1)}};
}

/* A SEND ONLY packet of @len bytes, BTH through payload, from one host to another in priority
 * @prio. */
static inline struct vb_frame *fabric_frame(struct vb_frame_pool *pool, uint32_t from, uint32_t to,
					    uint8_t prio, uint32_t len)
{
	struct vb_path path = {.sgid = fabric_gid(from),
			       .dgid = fabric_gid(to),
			       .udp_sport = 0xc001,
			       .traffic_class = (uint8_t)(prio << 5 | VB_ECN_ECT0)};
	struct vb_seg seg = {NULL, len - VB_BTH_LEN};
	struct vb_tx tx = {.path = &path,
			   .seg = &seg,
			   .payload_len = seg.len,
			   .seg_cnt = seg.len != 0,
			   .hdr_len = VB_BTH_LEN};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_SEND_ONLY, .dqpn = 5, .pkey = 0xffff};
	struct vb_frame *f = vb_frame_pool_take(pool);

	assert_non_null(f);
	assert_int_equal(vb_hdr_emit(&h, tx.hdr), VB_BTH_LEN);
	vb_frame_fill(f, &tx, pool->stride > 1024);
	return f;
}

#endif
