/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as WQEs in the queues of living QPs. Reading them never goes beyond the copy that was
 * made of them; what is read is executed, as the host layer does it, and what is no good takes its
 * turn and fails; whatever leaves is a packet that any receiver accepts, memory outside of regions
 * stays as it is, and each request completes once at most (rx_world.c).
 *
 * Input: for each WQE three bytes, the QP, what is put right in it and DS, and the WQE.
 */
#include "input.h"
#undef require
#include "rx_world.h"
#include "wqe/wqe.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

enum {
	RIGHT_CONTROL = 1, /* index, QPN and DS */
	RIGHT_KEYS = 2,    /* those of a region, whose memory is named */
	RIGHT_RECEIVE = 4, /* the bytes are a receive WQE as well */
	RIGHT_TIME = 8,    /* time passes behind it */
};

/* QPs of the world with a send queue of their own. */
static const uint8_t senders[] = {0, 1, 4, 5, 6, 8, 10, 12, 13, 15};

static void put_keys(struct world *w, uint8_t *wqe, uint32_t bytes, unsigned region)
{
	for (uint32_t at = VB_CTRL_BYTES; at + 16 <= bytes; at += 16) {
		uint8_t *s = wqe + at;
		uint64_t addr = (uintptr_t)world_memory(w, region) + (s[15] & 0xf8u);

		/* As a remote address and as a data segment: the kind is for the fuzzer to find. */
		if (s[4] == 0xfe) {
			vb_wqe_put(s, VB_RADDR_ADDR, addr);
			vb_wqe_put(s, VB_RADDR_RKEY, w->rkey[region]);
		} else if (s[4] == 0xff) {
			vb_wqe_put(s, VB_DATA_LKEY, w->lkey[region]);
			vb_wqe_put(s, VB_DATA_ADDR, addr);
		}
	}
}

static void check_read(const struct vb_wqe_send *s, const uint8_t *wqe, uint32_t bytes)
{
	require(s->wr.sge_cnt <= VB_WQE_SGES_MAX);
	require(s->wr.opcode < VB_WR_CNT);
	if (!(s->wr.flags & VB_SEND_INLINE))
		return;
	for (uint32_t i = 0; i < s->wr.sge_cnt; i++) {
		const uint8_t *p = (const uint8_t *)(uintptr_t)s->sge[i].addr;

		require(p >= wqe && p + s->sge[i].length <= wqe + bytes);
	}
}

static void post(struct world *w, unsigned q, const uint8_t *wqe, uint32_t blocks)
{
	const struct vb_wqe_queue queue = {.type = w->type[q], .qpn = w->qpn[q]};
	struct vb_ah ah = {.pd = w->pd, .path = world_path()};
	struct vb_wqe_send s;
	bool is_good = vb_wqe_read(&queue, wqe, blocks, 7, &s);
	int err = -1;

	if (w->wr_cnt >= WR_MAX)
		return;
	require(is_good == (s.fault == VB_WQE_GOOD));
	(void)vb_wqe_fault_text(s.fault);
	s.wr.wr_id = w->wr_cnt;
	if (is_good) {
		check_read(&s, wqe, blocks * VB_WQE_BLOCK);
		s.wr.ah = s.has_av ? &ah : NULL;
		err = vb_qp_post_send(w->qp[q], &s.wr, w->now);
	} else {
		s.wr.opcode = VB_WR_SEND;
	}
	if (err && err != -ENOMEM)
		err = vb_qp_post_failed(w->qp[q], &s.wr, VB_WC_LOC_QP_OP_ERR, w->now);
	if (!err)
		w->wr_cnt++;
}

static void show(const struct world *w, unsigned q, const uint8_t *wqe, uint32_t blocks)
{
	char text[512];

	struct vb_wqe_page page;

	vb_wqe_page_begin(&page, text, sizeof text);
	vb_wqe_walk_send(w->type[q], wqe, blocks, &page.visitor);
	vb_wqe_walk_receive(wqe, blocks * 64, blocks & 1, &page.visitor);
	vb_cqe_walk(wqe, blocks > 1 ? 128 : 64, &page.visitor);
	require(vb_wqe_page_end(&page) < sizeof text);
}

static void take_wqe(struct world *w, struct fuzz_input *in)
{
	uint8_t wqe[VB_WQE_BYTES_MAX] = {0};
	unsigned q = senders[take_byte(in) % sizeof senders];
	uint8_t right = take_byte(in), ds = take_byte(in);
	uint32_t blocks;

	take_bytes(in, wqe, (size_t)(ds % (VB_WQE_DS_MAX + 1)) * VB_WQE_UNIT);
	if (right & RIGHT_CONTROL) {
		vb_wqe_put(wqe, VB_CTRL_INDEX, 7);
		vb_wqe_put(wqe, VB_CTRL_QPN, w->qpn[q]);
		vb_wqe_put(wqe, VB_CTRL_DS, ds);
	}
	blocks = vb_wqe_blocks(wqe);
	require(blocks >= 1 && blocks * VB_WQE_BLOCK <= VB_WQE_BYTES_MAX);
	if (right & RIGHT_KEYS)
		put_keys(w, wqe, blocks * VB_WQE_BLOCK, right >> 6);
	show(w, q, wqe, blocks);
	/* The copy is just so long, for AddressSanitizer. */
	uint8_t *copy = malloc(blocks * VB_WQE_BLOCK);

	require(copy != NULL);
	memcpy(copy, wqe, blocks * VB_WQE_BLOCK);
	post(w, q, copy, blocks);
	free(copy);
	if (right & RIGHT_RECEIVE) {
		struct vb_sge sge[3];
		uint32_t cnt = vb_wqe_read_receive(wqe + 16, blocks * 64 - 16, sge, 3);

		require(cnt <= 3);
	}
	if (right & RIGHT_TIME)
		world_pass(w, VB_MSEC);
	world_drain(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct world w;
	struct fuzz_input in = {bytes, len};

	world_open(&w);
	while (in.len)
		take_wqe(&w, &in);
	world_check_memory(&w);
	world_close(&w);
	return 0;
}
