/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of one QP: its controller as the memories of an RDMA core have it, control, and the
 * recorder. CC-31...44, CC-47, CC-50...54
 */
#include "base/assert.h"
#include "reg/csr/priv.h"

#include <errno.h>
#include <stddef.h>

/* All values that the registers of a QP show and may change. */
struct vb_csr_view {
	uint64_t byte_cnt, dfx_time;
	uint32_t qpn, cc_bytes, overflow, clk_hz;
	uint16_t merge_left, cur, tgt, alpha, t, bc, cc_rate;
	uint16_t dfx_rate, decreases, byte_increases, timer_increases;
	uint8_t sq_arb_mask, start, timer_on, window, state;
	uint8_t merging, recording, unread, dfx_event;
	uint8_t extended_retry_count;
};

#define RATE(b, w, name, member, rights, what)                                                     \
	{                                                                                          \
		.path = (name), .bit = (b), .width = (w), .access = (rights), .unit = VB_REG_RATE, \
		.select = VB_REG_NO_SELECT, .text = (what),                                        \
		.at = offsetof(struct vb_csr_view, member),                                        \
		.size = sizeof(((struct vb_csr_view *)0)->member)                                  \
	}
#define SHOWS(b, w, name, member, rights, what)                                                    \
	{                                                                                          \
		.path = (name), .bit = (b), .width = (w), .access = (rights),                      \
		.select = VB_REG_NO_SELECT, .text = (what),                                        \
		.at = offsetof(struct vb_csr_view, member),                                        \
		.size = sizeof(((struct vb_csr_view *)0)->member)                                  \
	}

static const struct vb_reg_field control_fields[] = {
    SHOWS(1, 1, "sq_arb_mask", sq_arb_mask, VB_REG_RW, "no send WQE is begun while this is set"),
    SHOWS(5, 1, "dcqcn_nocnp_timer_start", start, VB_REG_W1,
	  "starts the timer of increases, if it is off and the rate below dcqcn_max_rate"),
    SHOWS(6, 1, "nocnp_timer_on", timer_on, VB_REG_RO, "the timer of increases runs"),
    SHOWS(8, 5, "tx_wqe_ost", window, VB_REG_RO, "WQEs outstanding at most; 0: no limit"),
};
VB_CSR(vb_csr_qp_control, VB_CSR_QP_BASE, "QP_CONTROL", "Work and timer of a QP", control_fields);

static const struct vb_reg_field state_fields[] = {
    SHOWS(0, 24, "qpn", qpn, VB_REG_RO, "the number of the QP that has this index"),
    SHOWS(24, 3, "qp_state", state, VB_REG_RO,
	  "0 RESET, 1 INIT, 2 RTR, 3 RTS, 4 SQD, 5 SQE, 6 ERR"),
};
VB_CSR(vb_csr_qp_state, VB_CSR_QP_STATE, "QP_STATE", "Which QP this is", state_fields);

static const struct vb_reg_field dfx_ctrl_fields[] = {
    SHOWS(0, 1, "dfx_en", recording, VB_REG_RW,
	  "writing 1 starts a window of 64 events, empty; 0 stops it, to be read"),
};
VB_CSR(vb_csr_dfx_ctrl, VB_CSR_DFX_CTRL, "DFX_CTRL", "The recorder of a QP's rate",
       dfx_ctrl_fields);

/* CC-52, CC-53 */
static const struct vb_reg_field dfx_info_fields[] = {
    SHOWS(0, 3, "dfx_event", dfx_event, VB_REG_RO,
	  "0 Decrease; by bytes 1 FastRecovery, 2 HyperIncrease, 3 AdditiveIncrease; by time 5, "
	  "6, 7; 4: there is no entry"),
    RATE(3, 16, "dfx_rate", dfx_rate, VB_REG_RO, "the rate after the event, in units"),
    SHOWS(19, 45, "dfx_time", dfx_time, VB_REG_RO, "when it was, us of the adapter's clock"),
};
VB_CSR(vb_csr_dfx_info, VB_CSR_DFX_INFO, "DFX_INFO", "Takes the oldest entry of the window",
       dfx_info_fields);

static const struct vb_reg_field dfx_cnt_fields[] = {
    SHOWS(0, 16, "dfx_decrease", decreases, VB_REG_RO, "cuts in the window, all of them"),
    SHOWS(16, 16, "dfx_bytecounter_increase", byte_increases, VB_REG_RO, "increases by bytes"),
    SHOWS(32, 16, "dfx_nocnp_timer_increase", timer_increases, VB_REG_RO, "increases by time"),
    SHOWS(48, 7, "dfx_unread", unread, VB_REG_RO, "entries left to read"),
};
VB_CSR(vb_csr_dfx_cnt, VB_CSR_DFX_CNT, "DFX_CNT", "Events of the window", dfx_cnt_fields);

static const struct vb_reg_field dfx_overflow_fields[] = {
    SHOWS(0, 32, "dfx_overflow", overflow, VB_REG_RO, "events after the window was full"),
};
VB_CSR(vb_csr_dfx_overflow, 0x400028, "DFX_OVERFLOW", "Events without an entry",
       dfx_overflow_fields);

/* CC-01 */
static const struct vb_reg_field qp_clock_fields[] = {
    SHOWS(0, 32, "qp_clk_hz", clk_hz, VB_REG_RO,
	  "clock that its unit of rates comes from: cc_clk_hz, or what its program began with"),
};
VB_CSR(vb_csr_qp_clock, 0x400030, "QP_CLOCK", "The unit of a QP's rates", qp_clock_fields);

/* REG-18 */
static const struct vb_reg_field retry_fields[] = {
    SHOWS(0, 8, "extended_retry_count", extended_retry_count, VB_REG_RW,
	  "the QP's total of adaptive timers is this times its timeout; 0: as the adapter says"),
};
VB_CSR(vb_csr_qp_retry, 0x400038, "QP_RETRY", "When a QP gives up", retry_fields);

/* CC-35 */
static const struct vb_reg_field merge_fields[] = {
    SHOWS(0, 16, "merge_left", merge_left, VB_REG_RW, "us that the merge period goes on"),
    SHOWS(16, 1, "merge_active", merging, VB_REG_RW, "a merge period is under way"),
};
VB_CSR(vb_csr_cnp_merge_mem, VB_CSR_MEM_BASE, "CNP_MERGE_MEM", "Merging of CNPs", merge_fields);

/* CC-32 */
static const struct vb_reg_field rate_fields[] = {
    RATE(0, 16, "current_rate", cur, VB_REG_RW, "what the algorithm is at, in units"),
    RATE(16, 16, "target_rate", tgt, VB_REG_RW,
	 "what it recovers to, in units; writing 0: current_rate"),
};
VB_CSR(vb_csr_rate_mem, 0x600008, "RATE_MEM", "The rates of the algorithm", rate_fields);

/* CC-34 */
static const struct vb_reg_field alpha_fields[] = {
    SHOWS(0, 10, "alpha", alpha, VB_REG_RW, "congestion seen, /1024"),
};
VB_CSR(vb_csr_alpha_mem, 0x600010, "ALPHA_MEM", "Alpha", alpha_fields);

/* CC-36 */
static const struct vb_reg_field byte_fields[] = {
    SHOWS(0, 34, "byte_counter", byte_cnt, VB_REG_RW, "bytes since the last increase by bytes"),
};
VB_CSR(vb_csr_byte_counter_mem, 0x600018, "BYTE_COUNTER_MEM", "The byte counter", byte_fields);

/* CC-37 */
static const struct vb_reg_field t_bc_fields[] = {
    SHOWS(0, 16, "t", t, VB_REG_RW, "increases by time since the last cut"),
    SHOWS(16, 16, "bc", bc, VB_REG_RW, "increases by bytes since the last cut"),
};
VB_CSR(vb_csr_t_bc_mem, 0x600020, "T_BC_MEM", "The stages", t_bc_fields);

/* CC-33 */
static const struct vb_reg_field cc_rate_fields[] = {
    RATE(0, 16, "cc_rate", cc_rate, VB_REG_RW,
	 "what the limiter enforces, in units; the algorithm, where it is on, overwrites it"),
};
VB_CSR(vb_csr_cc_rate_mem, 0x600028, "CC_RATE_MEM", "The limiter's rate", cc_rate_fields);

/* CC-38 */
static const struct vb_reg_field cc_bytes_fields[] = {
    SHOWS(0, 17, "cc_byte_cnt", cc_bytes, VB_REG_RW,
	  "bytes charged to the limiter's window and owed behind it; reads at most 131071"),
};
VB_CSR(vb_csr_cc_byte_cnt_mem, 0x600030, "CC_BYTE_CNT_MEM", "The limiter's account",
       cc_bytes_fields);

static uint64_t at_most(uint64_t v, uint64_t max)
{
	return v < max ? v : max;
}

static void view_dfx(const struct vb_dfx *d, struct vb_csr_view *v)
{
	v->recording = d->recording;
	v->decreases = d->decreases;
	v->byte_increases = d->byte_increases;
	v->timer_increases = d->timer_increases;
	VB_ASSERT_ALL(d->cnt <= UINT8_MAX);
	v->unread = (uint8_t)d->cnt;
	v->overflow = d->overflow;
}

static struct vb_csr_view csr_view(const struct vb_cc_access *qp, vb_time now)
{
	const struct vb_cc *cc = qp->ctl;
	vb_dur left = vb_time_since(now, cc->merge_end);
	struct vb_csr_view v = {
	    .byte_cnt = cc->byte_cnt,
	    .qpn = qp->qpn,
	    .clk_hz = qp->set->cc_clk_hz,
	    .cc_bytes = (uint32_t)at_most(vb_limiter_bytes(cc, qp->set, now), (1u << 17) - 1),
	    .merge_left = (uint16_t)at_most((left + VB_USEC - 1) / VB_USEC, UINT16_MAX),
	    .cur = vb_cc_current_rate(cc),
	    .tgt = vb_cc_target_rate(cc),
	    .alpha = vb_cc_alpha(cc),
	    .t = cc->t,
	    .bc = cc->bc,
	    .cc_rate = cc->cc_rate,
	    .sq_arb_mask = qp->sq_arb_mask,
	    .extended_retry_count = qp->extended_retry_count,
	    .timer_on = qp->set->dcqcn_hw_en && qp->runs && cc->nocnp_at != VB_NEVER,
	    .window = cc->window,
	    .state = (uint8_t)qp->state,
	    .merging = left != 0,
	    .dfx_event = VB_CSR_DFX_NONE,
	};

	VB_ASSERT_ALL(v.alpha <= VB_CC_ALPHA_MAX);
	if (cc->dfx)
		view_dfx(cc->dfx, &v);
	return v;
}

uint64_t vb_csr_qp_get(const struct vb_reg *reg, const struct vb_cc_access *qp, vb_time now)
{
	if (qp->runs)
		vb_cc_on_time(qp->ctl, qp->set, now);

	struct vb_csr_view v = csr_view(qp, now);
	uint64_t entry;

	if (reg == &vb_csr_dfx_info && qp->ctl->dfx && vb_dfx_read(qp->ctl->dfx, &entry))
		return entry;
	return vb_csr_load(reg, &v);
}

static void set_recorder(struct vb_dfx *d, bool on)
{
	if (d && on)
		vb_dfx_start(d);
	else if (d)
		vb_dfx_stop(d);
}

/* A word of a memory. */
static void set_memory(const struct vb_reg *reg, const struct vb_cc_access *qp,
		       const struct vb_csr_view *v, vb_time now)
{
	struct vb_cc *cc = qp->ctl;

	if (reg == &vb_csr_cnp_merge_mem)
		vb_cc_set_merge(cc, qp->set, v->merging ? v->merge_left : 0, now);
	else if (reg == &vb_csr_rate_mem)
		vb_cc_set_current(cc, qp->set, v->cur, v->tgt, now);
	else if (reg == &vb_csr_alpha_mem)
		vb_cc_set_alpha(cc, qp->set, v->alpha, now);
	else if (reg == &vb_csr_byte_counter_mem)
		cc->byte_cnt = v->byte_cnt;
	else if (reg == &vb_csr_t_bc_mem)
		cc->t = v->t, cc->bc = v->bc;
	else if (reg == &vb_csr_cc_rate_mem)
		vb_cc_set_rate(cc, qp->set, v->cc_rate, now);
	else if (reg == &vb_csr_cc_byte_cnt_mem)
		vb_limiter_set_bytes(cc, qp->set, v->cc_bytes, now);
}

int vb_csr_qp_set(const struct vb_reg *reg, struct vb_cc_access *qp, uint64_t word, vb_time now,
		  struct vb_reg_fault *fault)
{
	if (qp->runs)
		vb_cc_on_time(qp->ctl, qp->set, now);

	struct vb_csr_view v = csr_view(qp, now);

	vb_csr_store(reg, word, &v);
	if (reg == &vb_csr_dfx_ctrl) {
		set_recorder(qp->ctl->dfx, v.recording);
		return 0;
	}
	if ((reg->id >= VB_CSR_MEM_BASE || v.start) && !qp->runs) {
		vb_reg_broken(fault, NULL, 0,
			      "the QP has no controller before RTR and after an error");
		return -EAGAIN;
	}
	if (v.start)
		vb_cc_start_nocnp_timer(qp->ctl, qp->set, now);
	qp->sq_arb_mask = v.sq_arb_mask;
	qp->extended_retry_count = v.extended_retry_count;
	set_memory(reg, qp, &v, now);
	return 0;
}
