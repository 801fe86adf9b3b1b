/* SPDX-License-Identifier: BSD-2-Clause */
/* The CSR space of congestion control: addresses, rights, the flows of s4, and any writes. */
#include "base/rng.h"
#include "reg/csr/csr.h"

#include "cmocka_env.h"

#include <errno.h>
#include <string.h>

#define GLOBAL_ALPHA_TIMER 0x200218u
#define GLOBAL_INCREASE 0x200200u
#define GLOBAL_CONTROL 0x200220u
#define QP_CONTROL(i) (0x400000u + ((i)-1) * 0x100u)
#define MEM(i, offset) (0x600000u + ((i)-1) * 0x100u + (offset))
#define BIT(n) (UINT64_C(1) << (n))
#define SCHEME_1 (BIT(24) | BIT(25) | BIT(26) | BIT(54))
#define SCHEME_2 (BIT(25) | BIT(26) | BIT(54))

struct world {
	struct vb_reg_file file;
	struct vb_cc cc;
	struct vb_dfx dfx;
	struct vb_cc_access qp;
	bool busy;
	vb_time now;
};

static struct world w;

static void begin(void)
{
	memset(&w, 0, sizeof w);
	w.now = VB_SEC;
	vb_reg_file_reset(&w.file, 0);
	w.qp = (struct vb_cc_access){
	    .ctl = &w.cc, .set = &w.file.cc, .qpn = 0x1234, .state = VB_QPS_RTS, .runs = true};
	vb_cc_reset(&w.cc, &w.file.cc, w.now);
}

static int put(uint32_t address, uint64_t word)
{
	struct vb_cc_settings from = w.file.cc;
	struct vb_reg_fault fault;
	uint32_t index;
	const struct vb_reg *reg = vb_csr_at(address, &index);
	int err;

	if (reg && index)
		return vb_csr_qp_set(reg, &w.qp, word, w.now, &fault);
	err = vb_csr_set(&w.file, address, word, &fault);
	if (err) {
		assert_non_null(fault.rule);
		return err;
	}
	vb_cc_adopt(&w.cc, &from, &w.file.cc, w.now);
	return 0;
}

static uint64_t get(uint32_t address)
{
	uint64_t word = 0;
	struct vb_reg_fault fault;
	uint32_t index;
	const struct vb_reg *reg = vb_csr_at(address, &index);

	assert_non_null(reg);
	if (index)
		return vb_csr_qp_get(reg, &w.qp, w.now);
	assert_int_equal(vb_csr_get(&w.file, w.busy, address, &word, &fault), 0);
	return word;
}

/* CC-08 CC-48 CC-49: the four words of the description, bit by bit. */
static void globals__lie_where_the_text_has_them(void **state)
{
	(void)state;
	begin();
	assert_int_equal(put(0x2000a0, 0x1234), 0);
	assert_int_equal(w.file.cc.cnp_timer_thrd, 0x1234);
	assert_int_equal(put(GLOBAL_INCREASE, UINT64_C(0x5a5a5) << 32 | 0xc0deu << 16 | 0x37), 0);
	assert_int_equal(w.file.cc.dcqcn_nocnp_timer_th, 0x37);
	assert_int_equal(w.file.cc.dcqcn_max_rate, 0xc0de);
	assert_int_equal(w.file.cc.dcqcn_byte_cnt_th, 0x5a5a5);
	assert_int_equal(put(GLOBAL_ALPHA_TIMER, 0x4321), 0);
	assert_int_equal(w.file.cc.dcqcn_alpha_timer_th, 0x4321);
	assert_int_equal(put(GLOBAL_CONTROL, BIT(24) | 0x99), 0);
	assert_int_equal(w.file.cc.dcqcn_rx_cnp_merge_period, 0x99);
	assert_true(w.file.cc.dcqcn_hw_en);
	assert_false(w.file.cc.hw_rate_throttle_en || w.file.cc.tx_wqe_ost_limit_en ||
		     w.file.cc.speed_limiter_en);
	assert_int_equal(put(GLOBAL_CONTROL, BIT(25) | BIT(26) | BIT(54)), 0);
	assert_true(w.file.cc.hw_rate_throttle_en && w.file.cc.tx_wqe_ost_limit_en &&
		    w.file.cc.speed_limiter_en);
	assert_false(w.file.cc.dcqcn_hw_en);
	assert_int_equal(get(GLOBAL_CONTROL), SCHEME_2);
}

/* CC-43 CC-48: reserved bits and RO ones are ignored; busy comes from the command interface. */
static void globals__ignore_reserved_and_read_only_bits(void **state)
{
	(void)state;
	begin();
	assert_int_equal(put(GLOBAL_CONTROL, UINT64_MAX), 0);
	assert_int_equal(get(GLOBAL_CONTROL), SCHEME_1 | 0xffff);
	assert_int_equal(put(GLOBAL_INCREASE, UINT64_MAX), 0);
	assert_int_equal(get(GLOBAL_INCREASE), BIT(51) - 1);
	w.busy = true;
	assert_int_equal(get(GLOBAL_INCREASE), BIT(52) - 1);
	assert_int_equal(put(GLOBAL_INCREASE, 0), 0);
	assert_int_equal(get(GLOBAL_INCREASE), BIT(51));
}

/* CC-31: base + (i - 1) * 0x100, from 1. */
static void address__finds_register_and_index(void **state)
{
	static const uint32_t nowhere[] = {0,        8,          0x200204,   0x20009f, 0x2000b0,
					   0x400001, 0x4000f8,   0x600038,   0x600004, 0x3ffff8,
					   0x800000, 0xffffff00, UINT32_MAX, 0x200280};
	uint32_t index;

	(void)state;
	for (unsigned i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++)
		assert_null(vb_csr_at(nowhere[i], &index));
	for (uint32_t i = 1; i <= VB_CSR_QPS; i += 8191) {
		for (unsigned k = 0; k < vb_csr_cnt; k++) {
			const struct vb_reg *r = vb_csr_all[k];

			if (!vb_csr_is_of_qp(r))
				continue;
			assert_ptr_equal(vb_csr_at(vb_csr_address(r, i), &index), r);
			assert_int_equal(index, i);
		}
	}
	assert_string_equal(vb_csr_at(0x600128, &index)->name, "CC_RATE_MEM");
	assert_int_equal(index, 2);
	assert_int_equal(vb_csr_address(vb_csr_at(0x600028, &index), 3), 0x600228);
}

/* CC-38 CC-39: in order, eight bytes apart, no word and no bit twice. CC-57: one name for a timer.
 */
static void table__is_sound(void **state)
{
	(void)state;
	for (unsigned k = 0; k < vb_csr_cnt; k++) {
		const struct vb_reg *r = vb_csr_all[k];
		uint64_t taken = 0;

		assert_int_equal(r->id % 8, 0);
		assert_true(k == 0 || vb_csr_all[k - 1]->id < r->id);
		assert_ptr_equal(vb_csr_by_name(r->name, strlen(r->name)), r);
		for (unsigned i = 0; i < r->field_cnt; i++) {
			const struct vb_reg_field *f = &r->field[i];
			const struct vb_reg *of;
			unsigned others;
			uint64_t mask = vb_reg_field_max(f) << f->bit;

			assert_true(f->bit + f->width <= 64);
			assert_int_equal(taken & mask, 0);
			taken |= mask;
			/* Names alone are enough. */
			assert_ptr_equal(vb_csr_find(f->path, strlen(f->path), &of, &others), f);
			assert_ptr_equal(of, r);
			assert_null(strstr(f->path, "noncnp"));
			assert_null(strstr(f->path, "no_cnp"));
		}
	}
}

/* CC-55: the fourteen rows of the summary. CC-57: by the names that it gives them. */
static void table__has_the_summary(void **state)
{
	static const struct {
		const char *name;
		uint32_t address; /* 0: the summary leaves it open */
		uint8_t bit, width;
	} row[] = {
	    {"dcqcn_rx_cnp_merge_period", 0x200220, 0, 16},
	    {"dcqcn_nocnp_timer_th", 0x200200, 0, 16},
	    {"dcqcn_byte_cnt_th", 0x200200, 32, 19},
	    {"dcqcn_max_rate", 0x200200, 16, 16},
	    {"dcqcn_alpha_timer_th", 0x200218, 0, 16},
	    {"dcqcn_upd_alpha_g", 0, 0, 0},
	    {"dcqcn_alpha_rate_shift", 0, 0, 0},
	    {"dcqcn_rate_ai", 0, 0, 0},
	    {"dcqcn_rate_hai", 0, 0, 0},
	    {"dcqcn_hw_en", 0x200220, 24, 1},
	    {"hw_rate_throttle_en", 0x200220, 25, 1},
	    {"tx_wqe_ost_limit_en", 0x200220, 26, 1},
	    {"speed_limiter_en", 0x200220, 54, 1},
	    {"cnp_timer_thrd", 0x2000a0, 0, 16},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof row / sizeof row[0]; i++) {
		const struct vb_reg *of = NULL;
		unsigned others;
		const struct vb_reg_field *f =
		    vb_csr_find(row[i].name, strlen(row[i].name), &of, &others);

		assert_non_null(f);
		assert_true(row[i].address == 0 || of->id == row[i].address);
		assert_true(row[i].address == 0 || f->bit == row[i].bit);
		assert_true(row[i].address == 0 || f->width == row[i].width);
	}
}

/* CC-40...44: 9.6 step by step, with nothing but reads and writes. */
static void initialization__works_through_registers_alone(void **state)
{
	const uint16_t initial = 10000;

	(void)state;
	begin();
	/* 1: the global parameters; the QP begins at the maximum, its timer is off. */
	assert_int_equal(put(GLOBAL_INCREASE, UINT64_C(0) << 32 | 51200u << 16 | 55), 0);
	assert_int_equal(put(GLOBAL_CONTROL, SCHEME_1 | 50), 0);
	assert_int_equal(get(QP_CONTROL(1)) & BIT(6), 0);
	/* 2: the memories. */
	assert_int_equal(put(MEM(1, 0x08), initial), 0);
	assert_int_equal(put(MEM(1, 0x28), initial), 0);
	assert_int_equal(put(MEM(1, 0x10), 512), 0);
	assert_int_equal(put(MEM(1, 0x00), 0), 0);
	assert_int_equal(put(MEM(1, 0x18), 0), 0);
	assert_int_equal(put(MEM(1, 0x20), 0), 0);
	assert_int_equal(put(MEM(1, 0x30), 0), 0);
	assert_int_equal(get(MEM(1, 0x08)), (uint32_t)initial << 16 | initial);
	assert_int_equal(get(MEM(1, 0x28)), initial);
	assert_int_equal(get(MEM(1, 0x10)), 512);
	assert_int_equal(get(MEM(1, 0x30)), 0);
	/* 3: the rate is not the maximum, so software starts the timer. */
	assert_int_equal(get(GLOBAL_INCREASE) & BIT(51), 0);
	w.now += 200 * VB_USEC;
	assert_int_equal(get(MEM(1, 0x20)), 0);
	assert_int_equal(put(QP_CONTROL(1), BIT(5)), 0);
	assert_int_equal(get(QP_CONTROL(1)) & (BIT(5) | BIT(6)), BIT(6));
	w.now += 6 * 55 * VB_USEC;
	assert_int_equal(get(MEM(1, 0x20)), 6);
	/* Five rounds of fast recovery reach a target that is the rate; then it rises. CC-19...21
	 */
	assert_true((get(MEM(1, 0x08)) & 0xffff) > initial);
	/* CC-33: the limiter follows. */
	assert_int_equal(get(MEM(1, 0x28)), get(MEM(1, 0x08)) & 0xffff);
}

/* CC-44: at the maximum the timer does not start. */
static void start__does_nothing_at_the_maximum(void **state)
{
	(void)state;
	begin();
	assert_int_equal(put(GLOBAL_CONTROL, SCHEME_1 | 50), 0);
	assert_int_equal(put(QP_CONTROL(1), BIT(5)), 0);
	assert_int_equal(get(QP_CONTROL(1)) & BIT(6), 0);
	assert_true(vb_cc_on_cnp(&w.cc, &w.file.cc, w.now));
	assert_int_equal(get(QP_CONTROL(1)) & BIT(6), BIT(6));
}

/* CC-45...47: the schemes by one write each. */
static void control__switches_the_schemes(void **state)
{
	uint64_t line;

	(void)state;
	begin();
	assert_int_equal(put(GLOBAL_CONTROL, SCHEME_1 | 50), 0);
	line = get(MEM(1, 0x28));
	assert_true(vb_cc_on_cnp(&w.cc, &w.file.cc, w.now));
	assert_true(get(MEM(1, 0x28)) < line);
	assert_int_equal(get(QP_CONTROL(1)) >> 8 & 31, 8);
	/* 2: CNPs no longer move the rate; software does. */
	assert_int_equal(put(GLOBAL_CONTROL, SCHEME_2 | 50), 0);
	assert_int_equal(put(MEM(1, 0x28), 1000), 0);
	w.now += VB_SEC;
	assert_true(vb_cc_on_cnp(&w.cc, &w.file.cc, w.now));
	assert_int_equal(get(MEM(1, 0x28)), 1000);
	assert_int_equal(get(QP_CONTROL(1)) >> 8 & 31, 8);
	/* 3: nothing limits but the mask. */
	assert_int_equal(put(GLOBAL_CONTROL, 50), 0);
	assert_false(vb_cc_on_cnp(&w.cc, &w.file.cc, w.now));
	assert_int_equal(get(QP_CONTROL(1)), 0);
	assert_true(vb_cc_send_at(&w.cc, &w.file.cc, w.now) <= w.now);
	assert_int_equal(put(QP_CONTROL(1), BIT(1)), 0);
	assert_true(w.qp.sq_arb_mask);
	assert_int_equal(get(QP_CONTROL(1)), BIT(1));
}

/* CC-32 CC-60 CC-62: software cannot leave the limits. */
static void memories__keep_rates_within_limits(void **state)
{
	(void)state;
	begin();
	assert_int_equal(put(0x200250, 100), 0);
	assert_int_equal(put(GLOBAL_INCREASE, 20000u << 16 | 55), 0);
	assert_int_equal(put(GLOBAL_CONTROL, SCHEME_1 | 50), 0);
	assert_int_equal(put(MEM(1, 0x08), 0), 0);
	assert_int_equal(get(MEM(1, 0x08)), 100u << 16 | 100);
	assert_int_equal(put(MEM(1, 0x08), UINT32_MAX), 0);
	assert_int_equal(get(MEM(1, 0x08)), 20000u << 16 | 20000);
	assert_int_equal(put(MEM(1, 0x28), 1), 0);
	assert_int_equal(get(MEM(1, 0x28)), 100);
	assert_int_equal(put(MEM(1, 0x28), UINT64_MAX), 0);
	assert_int_equal(get(MEM(1, 0x28)), 20000);
	assert_int_equal(put(GLOBAL_CONTROL, SCHEME_2 | 50), 0);
	assert_int_equal(put(GLOBAL_INCREASE, 5000u << 16 | 55), 0);
	assert_int_equal(get(MEM(1, 0x28)), 5000);
}

/* CC-34...38: what is written is read. */
static void memories__hold_what_is_written(void **state)
{
	(void)state;
	begin();
	assert_int_equal(put(GLOBAL_INCREASE, 20000u << 16), 0); /* no increases */
	assert_int_equal(put(GLOBAL_CONTROL, SCHEME_1 | 50), 0);
	assert_int_equal(put(MEM(1, 0x10), 0xfff), 0); /* 10 bits */
	assert_int_equal(get(MEM(1, 0x10)), 1023);
	assert_int_equal(put(MEM(1, 0x10), 300), 0);
	assert_int_equal(get(MEM(1, 0x10)), 300);
	assert_int_equal(w.cc.alpha_q20, 300u << 10);
	assert_int_equal(put(MEM(1, 0x00), BIT(16) | 40), 0);
	assert_int_equal(get(MEM(1, 0x00)), BIT(16) | 40);
	/* Within the period a CNP does not cut. CC-09 */
	assert_true(vb_cc_on_cnp(&w.cc, &w.file.cc, w.now));
	assert_int_equal(get(MEM(1, 0x28)), 20000);
	w.now += 40 * VB_USEC;
	assert_int_equal(get(MEM(1, 0x00)), 0);
	assert_int_equal(put(MEM(1, 0x18), 12345), 0);
	assert_int_equal(get(MEM(1, 0x18)), 12345);
	assert_int_equal(put(MEM(1, 0x20), 7u << 16 | 3), 0);
	assert_int_equal(get(MEM(1, 0x20)), 7u << 16 | 3);
	assert_int_equal(put(MEM(1, 0x30), 5000), 0);
	assert_uint_in_range(get(MEM(1, 0x30)), 4990, 5000);
	assert_int_equal(put(MEM(1, 0x30), 0), 0);
	assert_int_equal(get(MEM(1, 0x30)), 0);
	vb_cc_on_sent(&w.cc, &w.file.cc, 1000, w.now);
	assert_uint_in_range(get(MEM(1, 0x30)), 990, 1000);
}

/* CC-35: the time that is left says nothing where the active bit says that no period is under way.
 */
static void merge__ends_where_it_is_not_active(void **state)
{
	(void)state;
	begin();
	assert_int_equal(put(GLOBAL_INCREASE, 20000u << 16), 0); /* no increases */
	assert_int_equal(put(GLOBAL_CONTROL, SCHEME_1 | 50), 0);
	assert_int_equal(put(MEM(1, 0x00), BIT(16) | 40), 0);
	assert_int_equal(put(MEM(1, 0x00), 40), 0);
	assert_int_equal(get(MEM(1, 0x00)), 0);
	assert_true(vb_cc_on_cnp(&w.cc, &w.file.cc, w.now));
	assert_true(get(MEM(1, 0x28)) < 20000);
	/* The cut has begun a period of its own. */
	assert_int_equal(get(MEM(1, 0x00)), BIT(16) | 50);
}

/* CC-01: a program that was started with settings of its own has a unit of its own. */
static void qp_clock__is_that_of_what_holds_for_it(void **state)
{
	struct vb_cc_settings own = {.cc_clk_hz = 5000000};

	(void)state;
	begin();
	w.qp.set = &own;
	assert_int_equal(get(0x400030), 5000000);
	assert_int_equal(put(0x400030, 1), 0); /* RO */
	assert_int_equal(get(0x400030), 5000000);
}

/* CC-51...54 through the registers: 64 reads, then none. */
static void dfx__is_read_by_registers(void **state)
{
	(void)state;
	begin();
	w.cc.dfx = &w.dfx;
	assert_int_equal(put(GLOBAL_CONTROL, SCHEME_1), 0); /* each CNP cuts */
	assert_int_equal(get(0x400018), VB_CSR_DFX_NONE);
	assert_int_equal(put(0x400010, 1), 0);
	for (int i = 0; i < 70; i++) {
		w.now += VB_USEC;
		assert_true(vb_cc_on_cnp(&w.cc, &w.file.cc, w.now));
	}
	assert_int_equal(get(0x400010), 1);
	assert_int_equal(put(0x400010, 0), 0);
	assert_int_equal(get(0x400020), UINT64_C(64) << 48 | 70);
	assert_int_equal(get(0x400028), 6);
	for (unsigned i = 0; i < 64; i++) {
		uint64_t e = get(0x400018);

		assert_int_equal(vb_dfx_event_of(e), VB_DFX_DECREASE);
		assert_int_equal(vb_dfx_usec_of(e), 1000001 + i);
	}
	assert_int_equal(get(0x400018), VB_CSR_DFX_NONE);
	assert_int_equal(put(0x400010, 1), 0);
	assert_int_equal(get(0x400020), 0);
}

static void write__is_refused_where_there_is_no_controller(void **state)
{
	(void)state;
	begin();
	w.qp.runs = false;
	w.qp.state = VB_QPS_INIT;
	assert_int_equal(put(MEM(1, 0x08), 5), -EAGAIN);
	assert_int_equal(put(QP_CONTROL(1), BIT(5) | BIT(1)), -EAGAIN);
	assert_false(w.qp.sq_arb_mask);
	assert_int_equal(put(QP_CONTROL(1), BIT(1)), 0);
	assert_int_equal(get(0x400008), (uint64_t)VB_QPS_INIT << 24 | 0x1234);
}

static void write__is_refused_as_a_whole(void **state)
{
	struct vb_reg_file was;
	struct vb_reg_fault fault;

	(void)state;
	begin();
	assert_int_equal(vb_csr_set(&w.file, 0x200260, 0, &fault), -EINVAL);
	assert_int_equal(put(GLOBAL_CONTROL, SCHEME_1), 0);
	was = w.file;
	assert_int_equal(vb_csr_set(&w.file, 0x200260, 999999, &fault), -EINVAL);
	assert_string_equal(fault.field->path, "cc_clk_hz");
	assert_int_equal(fault.value, 999999);
	assert_int_equal(vb_csr_set(&w.file, 0x200240, UINT64_C(101) << 48, &fault), -EINVAL);
	assert_string_equal(fault.field->path, "min_dec_fac");
	assert_int_equal(vb_csr_set(&w.file, 0x200300, 0, &fault), -EINVAL);
	assert_int_equal(vb_csr_set(&w.file, 0x400000, 0, &fault), -EINVAL);
	assert_memory_equal(&w.file, &was, sizeof was);
}

/*
 * Any address, any value, with CNPs, packets and time between: rates stay within limits, alpha
 * below 1, and a QP that waits may send after a while that its rate explains. CC-60, CC-62
 */
static void writes__of_anything_do_no_harm(void **state)
{
	struct vb_rng rng = vb_rng_stream(5, "csr", 0);

	(void)state;
	for (int round = 0; round < 200; round++) {
		begin();
		w.cc.dfx = &w.dfx;
		(void)put(GLOBAL_CONTROL, SCHEME_1 | 50);
		for (int i = 0; i < 500; i++) {
			const struct vb_reg *r = vb_csr_all[vb_rng_below(&rng, vb_csr_cnt)];
			uint32_t address =
			    vb_rng_below(&rng, 4) ? r->id : (uint32_t)vb_rng_next(&rng);
			uint64_t word = vb_rng_next(&rng) >> vb_rng_below(&rng, 64);

			if (vb_rng_below(&rng, 3) == 0)
				(void)put(address, word);
			if (vb_csr_at(r->id, &(uint32_t){0}))
				(void)get(r->id);
			w.now += vb_rng_below(&rng, 200) * VB_USEC;
			if (vb_rng_below(&rng, 2))
				(void)vb_cc_on_cnp(&w.cc, &w.file.cc, w.now);
			vb_cc_on_sent(&w.cc, &w.file.cc, vb_rng_below(&rng, 4200), w.now);

			uint32_t lo = w.file.cc.dcqcn_min_rate ? w.file.cc.dcqcn_min_rate : 1;
			uint32_t hi = w.file.cc.dcqcn_max_rate > lo ? w.file.cc.dcqcn_max_rate : lo;

			if (!w.file.cc.dcqcn_hw_en && !vb_cc_limits(&w.file.cc))
				continue;
			assert_uint_in_range(w.cc.cc_rate, lo, hi);
			if (!w.file.cc.dcqcn_hw_en)
				continue;
			assert_uint_in_range(vb_cc_current_rate(&w.cc), lo, hi);
			assert_uint_in_range(vb_cc_target_rate(&w.cc), lo, hi);
			assert_true(w.cc.alpha_q20 < 1u << 20);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(globals__lie_where_the_text_has_them),
	    cmocka_unit_test(globals__ignore_reserved_and_read_only_bits),
	    cmocka_unit_test(address__finds_register_and_index),
	    cmocka_unit_test(table__is_sound),
	    cmocka_unit_test(table__has_the_summary),
	    cmocka_unit_test(initialization__works_through_registers_alone),
	    cmocka_unit_test(start__does_nothing_at_the_maximum),
	    cmocka_unit_test(control__switches_the_schemes),
	    cmocka_unit_test(memories__keep_rates_within_limits),
	    cmocka_unit_test(memories__hold_what_is_written),
	    cmocka_unit_test(merge__ends_where_it_is_not_active),
	    cmocka_unit_test(qp_clock__is_that_of_what_holds_for_it),
	    cmocka_unit_test(dfx__is_read_by_registers),
	    cmocka_unit_test(write__is_refused_where_there_is_no_controller),
	    cmocka_unit_test(write__is_refused_as_a_whole),
	    cmocka_unit_test(writes__of_anything_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
