/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of memory that a peer is refused. */
#include "verbs_need.h"
#include "verbs_trouble.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REMOTE (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static uint8_t other[4096];

static struct ibv_mr *region(struct ibv_pd *in, int access)
{
	struct ibv_mr *made = ibv_reg_mr(in, other, sizeof other, access);

	NEED(made);
	return made;
}

/* A window of type 2 over the region, bound through the QP, which is in RTS. */
static struct ibv_mw *window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_mr *under = region(pd, REMOTE | IBV_ACCESS_MW_BIND);
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED}, *bad;
	struct ibv_wc wc;
	int n;

	NEED(mw);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info.mr = under;
	wr.bind_mw.bind_info.addr = (uintptr_t)other;
	wr.bind_mw.bind_info.length = sizeof other;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	NEED(n == 1 && wc.status == IBV_WC_SUCCESS);
	mw->rkey = wr.bind_mw.rkey;
	return mw;
}

/* A window that was bound, and is not any more. */
static uint32_t invalidated(void)
{
	struct ibv_mw *mw = window();
	struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV,
				 .send_flags = IBV_SEND_SIGNALED,
				 .invalidate_rkey = mw->rkey},
			   *bad;
	struct ibv_wc wc;
	int n;

	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	NEED(n == 1 && wc.status == IBV_WC_SUCCESS);
	return mw->rkey;
}

void make_key(void)
{
	char kind[64];
	uint32_t rkey;

	word(kind);
	if (strcmp(kind, "read_only") == 0) {
		rkey = region(pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)->rkey;
	} else if (strcmp(kind, "other_pd") == 0) {
		struct ibv_pd *another = ibv_alloc_pd(context);

		NEED(another);
		rkey = region(another, REMOTE)->rkey;
	} else if (strcmp(kind, "gone") == 0) {
		struct ibv_mr *gone = region(pd, REMOTE);

		rkey = gone->rkey;
		NEED(ibv_dereg_mr(gone) == 0);
	} else {
		NEED(strcmp(kind, "window") == 0);
		rkey = invalidated();
	}
	printf("key %u addr %" PRIuPTR "\n", rkey, (uintptr_t)other);
}
