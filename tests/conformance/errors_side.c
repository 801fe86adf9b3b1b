/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts that all sides have in common: their memory, the completions and events of each, and
 * the ways of their QPs through the states. Masks are those of ibv_modify_qp(3), which are the
 * core's too. IBA 11.2.5.2
 */
#include "errors.h"

#include <stdlib.h>
#include <string.h>

static struct {
	struct done done[DONE_MAX];
	uint32_t cnt;
	uint32_t events;
	uint8_t *block;
} at[SIDES];

bool open_blocks(void)
{
	at[REQUESTER].block = calloc(1, BLOCK);
	at[RESPONDER].block = calloc(1, BLOCK);
	return at[REQUESTER].block && at[RESPONDER].block;
}

void close_blocks(void)
{
	free(at[REQUESTER].block);
	free(at[RESPONDER].block);
}

uint8_t *block_of(enum side side)
{
	return at[side].block;
}

uint64_t address_of(enum side side, const uint8_t *p)
{
	(void)side; /* regions are named by the addresses of their memory */
	return (uintptr_t)p;
}

void note_nothing(void)
{
	forget_completions();
	at[REQUESTER].events = at[RESPONDER].events = 0;
}

void note_completion(enum side side, uint64_t wr_id, enum vb_wc_status status)
{
	if (at[side].cnt < DONE_MAX)
		at[side].done[at[side].cnt++] = (struct done){wr_id, status};
}

void note_event(enum side side, uint32_t event)
{
	if (event != VB_ASYNC_COMM_EST)
		at[side].events |= 1u << event;
}

uint32_t completion_cnt(enum side side)
{
	return at[side].cnt;
}

uint32_t completions_of(enum side side, struct done *done, uint32_t max)
{
	uint32_t cnt = at[side].cnt < max ? at[side].cnt : max;

	memcpy(done, at[side].done, cnt * sizeof *done);
	return cnt;
}

void forget_completions(void)
{
	at[REQUESTER].cnt = at[RESPONDER].cnt = 0;
}

uint32_t events_of(enum side side)
{
	return at[side].events;
}

enum vb_qp_type qp_type(const struct setup *s, enum side side, bool is_other)
{
	if (is_other)
		return s->type == VB_QPT_UC ? VB_QPT_UC : VB_QPT_RC;
	if (side == RESPONDER && s->type == VB_QPT_XRC_INI)
		return VB_QPT_XRC_TGT;
	if (side == RESPONDER && s->type == VB_QPT_DCI)
		return VB_QPT_DCT;
	return s->type;
}

#define INIT_CONN (VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS)
#define RTR_CONN (VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN)
#define RTR_ANSWERS (VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER)
#define RTS_ASKS                                                                                   \
	(VB_QP_SQ_PSN | VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY | VB_QP_MAX_QP_RD_ATOMIC)

static const struct {
	enum vb_qp_type type;
	uint32_t init, rtr, rts; /* 0: it has no such state, or needs nothing */
} masks[] = {
    {VB_QPT_RC, INIT_CONN, RTR_CONN | RTR_ANSWERS, RTS_ASKS},
    {VB_QPT_UC, INIT_CONN, RTR_CONN, VB_QP_SQ_PSN},
    {VB_QPT_UD, VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_QKEY, 0, VB_QP_SQ_PSN},
    {VB_QPT_XRC_INI, INIT_CONN, RTR_CONN, RTS_ASKS},
    {VB_QPT_XRC_TGT, INIT_CONN, RTR_CONN | RTR_ANSWERS, VB_QP_SQ_PSN | VB_QP_TIMEOUT},
    {VB_QPT_DCI, VB_QP_PKEY_INDEX | VB_QP_PORT, VB_QP_PATH_MTU, RTS_ASKS},
    {VB_QPT_DCT, INIT_CONN, VB_QP_PATH_MTU | VB_QP_AV | VB_QP_MIN_RNR_TIMER, 0},
};

uint32_t steps_to(enum vb_qp_type type, enum vb_qp_state to, struct step step[STEPS_MAX])
{
	uint32_t cnt = 0, i = 0;

	while (masks[i].type != type)
		i++;
	if (to >= VB_QPS_INIT)
		step[cnt++] = (struct step){VB_QPS_INIT, masks[i].init};
	if (to >= VB_QPS_RTR)
		step[cnt++] = (struct step){VB_QPS_RTR, masks[i].rtr};
	if (to >= VB_QPS_RTS && masks[i].rts)
		step[cnt++] = (struct step){VB_QPS_RTS, masks[i].rts};
	/* SQD and ERR come behind. */
	if (to > VB_QPS_RTS)
		step[cnt++] = (struct step){to, 0};
	return cnt;
}
