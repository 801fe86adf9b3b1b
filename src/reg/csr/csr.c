/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CSR space: where its words are, and the global ones, which show the settings of congestion
 * control. CC-45...49, facts C.3
 */
#include "base/assert.h"
#include "reg/csr/priv.h"

#include <errno.h>
#include <string.h>

#define FIELD(b, w, name, member, counts, what)                                                    \
	{                                                                                          \
		.path = (name), .bit = (b), .width = (w), .access = VB_REG_RW, .unit = (counts),   \
		.select = VB_REG_NO_SELECT, .text = (what), VB_REG_SHOWS(cc.member)                \
	}
#define SAME(b, w, name, what) FIELD(b, w, #name, name, VB_REG_PLAIN, what)
#define RATE(b, w, name, what) FIELD(b, w, #name, name, VB_REG_RATE, what)

static const struct vb_reg_field cnp_timer_fields[] = {
    SAME(0, 16, cnp_timer_thrd,
	 "us after a CNP for which a QP has 8 WQEs outstanding at most, not 16"),
};
static VB_CSR(cnp_timer, 0x2000a0, "CNP_TIMER", "Outstanding work after a CNP", cnp_timer_fields);

static const struct vb_reg_field cnp_irq_fields[] = {
    SAME(0, 1, cnp_irq_en, "a CNP raises an event"),
};
static VB_CSR(cnp_irq, 0x2000a8, "CNP_IRQ", "The interrupt of CNPs", cnp_irq_fields);

static const struct vb_reg_field increase_fields[] = {
    SAME(0, 16, dcqcn_nocnp_timer_th, "us between increases by time; 0: none by time"),
    RATE(16, 16, dcqcn_max_rate, "highest rate, in units"),
    SAME(32, 19, dcqcn_byte_cnt_th,
	 "bytes << byte_cnt_unit_log2 between increases by bytes; 0: none by bytes"),
    {.path = "dcqcn_nocnp_timer_busy",
     .bit = 51,
     .width = 1,
     .access = VB_REG_RO,
     .select = VB_REG_NO_SELECT,
     .text = "a command to a QP of this device is under way"},
};
static VB_CSR(increase, 0x200200, "DCQCN_INCREASE", "When rates rise, and how far",
	      increase_fields);

static const struct vb_reg_field alpha_timer_fields[] = {
    SAME(0, 16, dcqcn_alpha_timer_th, "us without a CNP after which alpha decays; 0: never"),
};
static VB_CSR(alpha_timer, 0x200218, "DCQCN_ALPHA_TIMER", "Decay of alpha", alpha_timer_fields);

static const struct vb_reg_field control_fields[] = {
    SAME(0, 16, dcqcn_rx_cnp_merge_period, "us in which several CNPs cut once; 0: each cuts"),
    SAME(24, 1, dcqcn_hw_en, "the adapter computes the rates"),
    SAME(25, 1, hw_rate_throttle_en, "with speed_limiter_en: QPs keep to CC_RATE_MEM"),
    SAME(26, 1, tx_wqe_ost_limit_en, "QPs have 16 WQEs outstanding at most, 8 after a CNP"),
    SAME(54, 1, speed_limiter_en, "with hw_rate_throttle_en: QPs keep to CC_RATE_MEM"),
};
static VB_CSR(control, 0x200220, "DCQCN_CONTROL", "Merging of CNPs, and the scheme",
	      control_fields);

static const struct vb_reg_field alpha_fields[] = {
    SAME(0, 10, dcqcn_upd_alpha_g, "weight of the new sample in alpha, /1024; 0: alpha stays"),
    SAME(16, 4, dcqcn_alpha_rate_shift, "a cut takes alpha / 2^(this + 10) of the rate"),
    SAME(24, 4, alpha_frac_bits, "bits that alpha has below its 10, at most 10"),
    SAME(32, 10, initial_alpha, "alpha of a QP at first, /1024"),
    SAME(48, 7, min_dec_fac, "percent of the rate that a cut leaves at least, at most 100"),
};
static VB_CSR(alpha, 0x200240, "DCQCN_ALPHA", "Alpha, and what it cuts", alpha_fields);

static const struct vb_reg_field steps_fields[] = {
    FIELD(0, 24, "dcqcn_rate_ai", dcqcn_rate_ai_q8, VB_REG_RATE_Q8,
	  "step of additive increase, 1/256 units"),
    FIELD(32, 24, "dcqcn_rate_hai", dcqcn_rate_hai_q8, VB_REG_RATE_Q8,
	  "step of hyper increase, 1/256 units"),
};
static VB_CSR(steps, 0x200248, "DCQCN_STEPS", "Steps of increases", steps_fields);

static const struct vb_reg_field rates_fields[] = {
    RATE(0, 16, dcqcn_min_rate, "lowest rate, in units; 0 counts as 1"),
    RATE(16, 16, initial_rate, "rate of a QP at first, in units; 0: dcqcn_max_rate"),
};
static VB_CSR(rates, 0x200250, "DCQCN_RATES", "Lowest and first rate", rates_fields);

static const struct vb_reg_field modes_fields[] = {
    SAME(0, 8, dcqcn_fr_threshold, "rounds of fast recovery after a cut"),
    SAME(8, 4, byte_cnt_unit_log2, "unit of dcqcn_byte_cnt_th: 2^this bytes"),
    SAME(12, 2, clamp_mode,
	 "a cut makes the rate the target: 0 always, 1 after an increase, 2 after one by bytes"),
    SAME(16, 1, cut_mode, "0: a CNP cuts at once, 1: at the end of a merge period that had one"),
    SAME(20, 1, alpha_mode,
	 "alpha decays, 0: after a cut until the rate is at its maximum, 1: always"),
    SAME(32, 16, inactivity_th,
	 "us without a packet after which a QP starts over with its first rate; 0: never"),
};
static VB_CSR(modes, 0x200258, "DCQCN_MODES", "Stages and variants", modes_fields);

static const struct vb_reg_field clock_fields[] = {
    SAME(0, 32, cc_clk_hz,
	 "clock of which 1024 cycles are a window, 1 MHz to 4 GHz: a unit is this * 8 / 1024 "
	 "bit/s"),
};
static VB_CSR(clock, 0x200260, "CC_CLOCK", "The unit of rates", clock_fields);

static const struct vb_reg_field limiter_fields[] = {
    SAME(0, 32, limiter_burst_ns,
	 "ns for which unused rate is kept, at most 1 s; 0: one window, and no GSO batches"),
};
static VB_CSR(limiter, 0x200268, "CC_LIMITER", "The rate limiter", limiter_fields);

static const struct vb_reg_field notify_fields[] = {
    SAME(0, 1, np_en, "packets marked CE are answered with CNPs"),
    SAME(1, 1, ecn_en, "data leaves as ECT(0), so that it can be marked"),
    SAME(16, 16, np_min_cnp_us, "us between two CNPs of a QP at least; 0: one for each mark"),
    SAME(32, 6, np_cnp_dscp, "DSCP of CNPs"),
};
static VB_CSR(notify, 0x200270, "CNP_NOTIFY", "The notification point", notify_fields);

static const struct vb_reg_field queue_fields[] = {
    SAME(0, 1, rxq_en, "with np_en: a receive queue that fills up marks what arrives"),
    SAME(16, 10, rxq_kmin, "percent of what senders may leave in it below which it marks nothing"),
    SAME(32, 10, rxq_kmax, "... above which it marks all, at least rxq_kmin, at most 1000"),
    SAME(48, 7, rxq_pmax, "percent of what arrives that it marks just below rxq_kmax"),
};
static VB_CSR(queue, 0x200278, "CNP_QUEUE", "The own receive queue as a place of congestion",
	      queue_fields);

const struct vb_reg *const vb_csr_all[] = {
    &cnp_timer,
    &cnp_irq,
    &increase,
    &alpha_timer,
    &control,
    &alpha,
    &steps,
    &rates,
    &modes,
    &clock,
    &limiter,
    &notify,
    &queue,
    &vb_csr_qp_control,
    &vb_csr_qp_state,
    &vb_csr_dfx_ctrl,
    &vb_csr_dfx_info,
    &vb_csr_dfx_cnt,
    &vb_csr_dfx_overflow,
    &vb_csr_qp_clock,
    &vb_csr_qp_retry,
    &vb_csr_cnp_merge_mem,
    &vb_csr_rate_mem,
    &vb_csr_alpha_mem,
    &vb_csr_byte_counter_mem,
    &vb_csr_t_bc_mem,
    &vb_csr_cc_rate_mem,
    &vb_csr_cc_byte_cnt_mem,
};
const unsigned vb_csr_cnt = sizeof vb_csr_all / sizeof vb_csr_all[0];

/* CC-31: address = base + (i - 1) * 0x100 */
const struct vb_reg *vb_csr_at(uint32_t address, uint32_t *index)
{
	uint32_t base = address >= VB_CSR_MEM_BASE ? VB_CSR_MEM_BASE : VB_CSR_QP_BASE;
	uint32_t first = address;

	*index = 0;
	if (address >= VB_CSR_QP_BASE) {
		*index = (address - base) / VB_CSR_STRIDE + 1;
		first = base + (address - base) % VB_CSR_STRIDE;
	}
	for (unsigned i = 0; *index <= VB_CSR_QPS && i < vb_csr_cnt; i++)
		if (vb_csr_all[i]->id == first) {
			VB_ASSERT_ALL((*index != 0) == vb_csr_is_of_qp(vb_csr_all[i]));
			return vb_csr_all[i];
		}
	return NULL;
}

const struct vb_reg *vb_csr_by_name(const char *name, size_t len)
{
	for (unsigned i = 0; i < vb_csr_cnt; i++)
		if (vb_reg_name_is(vb_csr_all[i]->name, name, len))
			return vb_csr_all[i];
	return NULL;
}

const struct vb_reg_field *vb_csr_find(const char *name, size_t len, const struct vb_reg **reg,
				       unsigned *others)
{
	const char *dot = memchr(name, '.', len);
	size_t reg_len = dot ? (size_t)(dot - name) : 0;
	size_t skip = dot ? reg_len + 1 : 0;
	const struct vb_reg_field *found = NULL;

	*others = 0;
	for (unsigned i = 0; i < vb_csr_cnt; i++) {
		const struct vb_reg *r = vb_csr_all[i];
		const struct vb_reg_field *f;
		unsigned more;

		if (dot && !vb_reg_name_is(r->name, name, reg_len))
			continue;
		f = vb_reg_find(r, name + skip, len - skip, &more);
		if (f && found)
			++*others;
		if (f && !found) {
			found = f;
			*reg = r;
		}
	}
	return *others ? NULL : found;
}

static int no_register(struct vb_reg_fault *fault)
{
	return vb_reg_broken(fault, NULL, 0, "there is no register at this address");
}

int vb_csr_get(const struct vb_reg_file *file, bool busy, uint32_t address, uint64_t *word,
	       struct vb_reg_fault *fault)
{
	uint32_t index;
	const struct vb_reg *reg = vb_csr_at(address, &index);

	if (!reg || index)
		return no_register(fault);
	*word = vb_csr_load(reg, file);
	if (reg == &increase)
		*word = vb_csr_field_put(reg, &increase_fields[3], *word, busy);
	return 0;
}

/* The fault in the words of a table: the rule is that of the field, which may be of another
 * register. */
static int explain_fault(const struct vb_cc_fault *why, const struct vb_reg_file *file,
			 struct vb_reg_fault *fault)
{
	const struct vb_reg *reg;
	unsigned others;
	const struct vb_reg_field *f = vb_csr_find(why->field, strlen(why->field), &reg, &others);

	return vb_reg_broken(fault, f, f ? vb_csr_field_get(reg, f, vb_csr_load(reg, file)) : 0,
			     why->rule);
}

int vb_csr_set(struct vb_reg_file *file, uint32_t address, uint64_t word,
	       struct vb_reg_fault *fault)
{
	uint32_t index;
	const struct vb_reg *reg = vb_csr_at(address, &index);
	struct vb_reg_file next = *file;
	struct vb_cc_fault why;

	if (!reg || index)
		return no_register(fault);
	vb_csr_store(reg, word, &next);
	/* While all is off the check lets the clock be 0; here it always counts. */
	if (next.cc.cc_clk_hz < VB_CC_CLK_HZ_MIN || next.cc.cc_clk_hz > VB_CC_CLK_HZ_MAX)
		return vb_reg_broken(fault, &clock_fields[0], next.cc.cc_clk_hz,
				     "must be 1 MHz to 4 GHz");
	if (vb_cc_settings_check(&next.cc, &why))
		return explain_fault(&why, &next, fault);
	*file = next;
	return 0;
}
