/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers: where each field lies, what may be set, and what a SET leaves alone. */
#include "base/rng.h"
#include "reg/file.h"

#include "cmocka_env.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ACCL 0x402c
#define SELECT_PROFILE (1u << 28)

/* ROCE_ACCL shows nothing that is not kept in it. */
static const struct vb_reg_env env;
static struct vb_reg_fault fault;

static void word_put(uint8_t *image, unsigned at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		image[at + (unsigned)i] = (uint8_t)(v >> (24 - 8 * i));
}

static uint32_t word(const uint8_t *image, unsigned at)
{
	return (uint32_t)image[at] << 24 | (uint32_t)image[at + 1] << 16 |
	       (uint32_t)image[at + 2] << 8 | image[at + 3];
}

static void put(const struct vb_reg *reg, uint8_t *image, const char *name, uint64_t v)
{
	unsigned others;
	const struct vb_reg_field *f = vb_reg_find(reg, name, strlen(name), &others);

	assert_non_null(f);
	vb_reg_field_put(reg, f, image, v);
}

static uint64_t get(const struct vb_reg *reg, const uint8_t *image, const char *name)
{
	unsigned others;
	const struct vb_reg_field *f = vb_reg_find(reg, name, strlen(name), &others);

	assert_non_null(f);
	return vb_reg_field_get(reg, f, image);
}

static struct vb_reg_file fresh(void)
{
	struct vb_reg_file f;

	vb_reg_file_reset(&f, 0);
	return f;
}

static void read_accl(struct vb_reg_file *f, uint32_t id, uint8_t *image)
{
	memset(image, 0, 0x80);
	word_put(image, 4, id << 28);
	assert_int_equal(vb_reg_get(f, &env, ACCL, image, 0x80, &fault), 0);
}

/* The ladder of the worked example, in the words of facts E.3. */
static void example(uint8_t *image)
{
	memset(image, 0, 0x80);
	word_put(image, 0x00, SELECT_PROFILE);
	word_put(image, 0x04, 1u << 28);
	word_put(image, 0x10, 0xa0400004);
	word_put(image, 0x14, 0x00000c04);
	word_put(image, 0x18, 0x04020c04);
	word_put(image, 0x1c, 0x00011003);
}

static int set_accl(struct vb_reg_file *f, const uint8_t *image)
{
	return vb_reg_set(f, &env, ACCL, image, 0x80, &fault);
}

/* Sets the example with one field changed; it must be refused for that field, and change nothing.
 */
static void assert_refused(const char *name, uint64_t value, const char *path)
{
	struct vb_reg_file f = fresh(), before = f;
	uint8_t image[0x80];

	example(image);
	/* Half of it would be visible. */
	word_put(image, 0, SELECT_PROFILE | 0x6ff);
	put(&vb_reg_roce_accl, image, name, value);
	assert_int_equal(set_accl(&f, image), -EINVAL);
	assert_non_null(fault.field);
	assert_string_equal(fault.field->path, path);
	assert_true(fault.value == value);
	assert_non_null(fault.rule);
	assert_memory_equal(&f, &before, sizeof f);
}

/* REG-11, REG-12, REG-13, REG-15, REG-32, REG-37, ADP-32: the answer of a new adapter, word by
 * word, and REG-04: reserved bits of word 0 are 0. */
static void get__first_values(void **state)
{
	struct vb_reg_file f = fresh();
	uint8_t image[0x80];

	(void)state;
	read_accl(&f, 0, image);
	assert_int_equal(word(image, 0x00), 0x100006ff);
	assert_int_equal(word(image, 0x04), 0x03000085);
	assert_int_equal(word(image, 0x08), 0x41000fa0);
	for (unsigned at = 0x0c; at < 0x80; at += 4)
		assert_int_equal(word(image, at), 0);
}

static const struct {
	const char *path;
	unsigned address, bit, width;
	enum vb_reg_access access;
} places[] = {
    {"roce_adp_retrans_field_select", 0x00, 0, 1, VB_REG_RW},
    {"roce_tx_window_field_select", 0x00, 1, 1, VB_REG_RW},
    {"roce_slow_restart_field_select", 0x00, 2, 1, VB_REG_RW},
    {"roce_slow_restart_idle_field_select", 0x00, 3, 1, VB_REG_RW},
    {"min_ack_timeout_limit_disabled_field_select", 0x00, 4, 1, VB_REG_RW},
    {"adaptive_routing_forced_en_field_select", 0x00, 5, 1, VB_REG_RW},
    {"selective_repeat_forced_en_field_select", 0x00, 6, 1, VB_REG_RW},
    {"dc_half_handshake_en_field_select", 0x00, 7, 1, VB_REG_RW},
    {"cc_per_plane_en_field_select", 0x00, 8, 1, VB_REG_RW},
    {"ack_dscp_force_field_select", 0x00, 9, 1, VB_REG_RW},
    {"cc_burst_size_select", 0x00, 10, 1, VB_REG_RW},
    {"cc_probe_mp_mode_select", 0x00, 11, 1, VB_REG_RW},
    {"ifa2_turn_around_select", 0x00, 27, 1, VB_REG_RW},
    {"adp_retx_profile_select", 0x00, 28, 1, VB_REG_RW},
    {"roce_adp_retrans_en", 0x04, 0, 1, VB_REG_RW},
    {"roce_tx_window_en", 0x04, 1, 1, VB_REG_RW},
    {"roce_slow_restart_en", 0x04, 2, 1, VB_REG_RW},
    {"roce_slow_restart_idle_en", 0x04, 3, 1, VB_REG_RW},
    {"min_ack_timeout_limit_disabled", 0x04, 4, 1, VB_REG_RW},
    {"adaptive_routing_forced_en", 0x04, 5, 1, VB_REG_RW},
    {"selective_repeat_forced_en", 0x04, 6, 1, VB_REG_RW},
    {"dc_half_handshake_en", 0x04, 7, 1, VB_REG_RW},
    {"cc_per_plane_en", 0x04, 8, 1, VB_REG_RW},
    {"ack_dscp_force", 0x04, 9, 1, VB_REG_RW},
    {"ack_dscp", 0x04, 10, 6, VB_REG_RW},
    {"cc_burst_size", 0x04, 24, 3, VB_REG_RW},
    {"ifa2_turn_around_en", 0x04, 27, 1, VB_REG_RW},
    {"adp_retx_profile_id", 0x04, 28, 3, VB_REG_INDEX},
    {"adp_retx_base_timeout_min", 0x08, 0, 20, VB_REG_RO},
    {"cc_probe_mp_mode", 0x08, 20, 2, VB_REG_RW},
    {"adp_retx_profile_max_id", 0x08, 24, 3, VB_REG_RO},
    {"adp_retx_profile_max_range_num", 0x08, 28, 3, VB_REG_RO},
    {"adp_retx_profile.time_base", 0x10, 0, 16, VB_REG_RW},
    {"adp_retx_profile.time_unit", 0x10, 22, 2, VB_REG_RW},
    {"adp_retx_profile.start_range_index", 0x10, 24, 3, VB_REG_RW},
    {"adp_retx_profile.range_num", 0x10, 28, 3, VB_REG_RW},
    {"adp_retx_profile.qp_total_timeout", 0x10, 31, 1, VB_REG_RW},
    {"adp_retx_profile.timeout_init_range_size", 0x14, 0, 8, VB_REG_RW},
    {"adp_retx_profile.timeout_init_low_bound", 0x14, 8, 8, VB_REG_RW},
    {"adp_retx_profile.retx_total_timeout", 0x14, 24, 8, VB_REG_RW},
};
static const struct {
	const char *name;
	unsigned bit, width;
} range[] = {{"range_size", 0, 8},
	     {"range_low_bound", 8, 8},
	     {"timeout_retry_num", 16, 10},
	     {"dec_mode", 26, 2},
	     {"prev_range_index", 28, 3}};

/* REG-01...10, REG-14, REG-16...31, REG-37: the place of every field. */
static void table__places(void **state)
{
	const struct vb_reg *reg = &vb_reg_roce_accl;
	unsigned cnt = sizeof places / sizeof places[0], n = 0;

	(void)state;
	assert_int_equal(reg->field_cnt, cnt + 4 * 5);
	for (; n < cnt; n++) {
		const struct vb_reg_field *f = &reg->field[n];

		assert_string_equal(f->path, places[n].path);
		assert_int_equal(f->address, places[n].address);
		assert_int_equal(f->bit, places[n].bit);
		assert_int_equal(f->width, places[n].width);
		assert_int_equal(f->access, places[n].access);
	}
	for (unsigned r = 0; r < 4; r++)
		for (unsigned i = 0; i < 5; i++, n++) {
			const struct vb_reg_field *f = &reg->field[n];
			char path[64];

			snprintf(path, sizeof path, "adp_retx_profile.timeout_range[%u].%s", r,
				 range[i].name);
			assert_string_equal(f->path, path);
			assert_int_equal(f->address, 0x18 + 4 * r);
			assert_int_equal(f->bit, range[i].bit);
			assert_int_equal(f->width, range[i].width);
			/* REG-36 */
			assert_int_equal(f->access, VB_REG_RW);
		}
}

/* Facts E.3; REG-16...31 */
static void set__profile_vector(void **state)
{
	struct vb_reg_file f = fresh();
	const struct vb_adp_profile *p = &f.recovery.profile;
	uint8_t image[0x80], back[0x80];

	(void)state;
	example(image);
	assert_int_equal(set_accl(&f, image), 0);
	assert_int_equal(f.recovery.adp_retx_profile_id, 1);
	assert_true(p->qp_total_timeout);
	assert_int_equal(p->range_num, 2);
	assert_int_equal(p->start_range_index, 0);
	assert_int_equal(p->time_unit, 1);
	assert_int_equal(p->time_base, 4);
	assert_int_equal(p->retx_total_timeout, 0);
	assert_int_equal(p->timeout_init_low_bound, 12);
	assert_int_equal(p->timeout_init_range_size, 4);
	assert_int_equal(p->timeout_range[0].range_low_bound, 12);
	assert_int_equal(p->timeout_range[0].range_size, 4);
	assert_int_equal(p->timeout_range[0].timeout_retry_num, 2);
	assert_int_equal(p->timeout_range[0].dec_mode, VB_ADP_DEC_DIV_2);
	assert_int_equal(p->timeout_range[0].prev_range_index, 0);
	assert_int_equal(p->timeout_range[1].range_low_bound, 16);
	assert_int_equal(p->timeout_range[1].range_size, 3);
	assert_int_equal(p->timeout_range[1].timeout_retry_num, 1);
	assert_int_equal(p->timeout_range[1].dec_mode, VB_ADP_DEC_DIV_4);
	for (uint32_t id = 0; id <= 1; id++) {
		read_accl(&f, id, back);
		assert_int_equal(word(back, 0x04) >> 28, 1); /* ADP-28 */
		assert_memory_equal(back + 0x10, image + 0x10, 0x18);
	}
}

/* REG-06: the index says which profile is read; 0 is the active one, and what is behind the
 * advertised maximum is refused, whichever is active. */
static void get__by_index(void **state)
{
	uint8_t image[0x80], back[0x80];

	(void)state;
	for (uint32_t active = 0; active <= 1; active++) {
		struct vb_reg_file f = fresh();

		example(image);
		if (active)
			assert_int_equal(set_accl(&f, image), 0);
		read_accl(&f, 0, back);
		assert_int_equal(word(back, 0x04) >> 28, active);
		read_accl(&f, 1, back);
		assert_int_equal(word(back, 0x04) >> 28, 1);
		for (uint32_t id = 2; id <= 7; id++) {
			memset(back, 0, sizeof back);
			word_put(back, 4, id << 28);
			assert_int_equal(vb_reg_get(&f, &env, ACCL, back, 0x80, &fault), -EINVAL);
			assert_string_equal(fault.field->path, "adp_retx_profile_id");
			assert_int_equal(fault.value, id);
		}
	}
}

/* REG-06, REG-19...22, REG-28, ADP-10, ADP-15, ADP-24: each rule, and nothing half applied. */
static void set__each_rule(void **state)
{
#define P "adp_retx_profile."
	(void)state;
	assert_refused("range_num", 0, P "range_num");
	assert_refused("range_num", 5, P "range_num");
	assert_refused("start_range_index", 2, P "start_range_index");
	assert_refused("time_unit", 0, P "time_unit");
	assert_refused("time_unit", 2, P "time_unit");
	assert_refused("time_base", 0, P "time_base");
	assert_refused("time_base", 2, P "time_base");
	assert_refused("time_base", 6, P "time_base");
	assert_refused("timeout_range[0].prev_range_index", 1,
		       P "timeout_range[0].prev_range_index");
	assert_refused("timeout_range[1].prev_range_index", 1,
		       P "timeout_range[1].prev_range_index");
	assert_refused("timeout_range[0].dec_mode", 3, P "timeout_range[0].dec_mode");
	assert_refused("timeout_range[1].dec_mode", 3, P "timeout_range[1].dec_mode");
	assert_refused("timeout_range[1].range_low_bound", 12,
		       P "timeout_range[1].range_low_bound");
	assert_refused("adp_retx_profile_id", 0, "adp_retx_profile_id");
	assert_refused("adp_retx_profile_id", 2, "adp_retx_profile_id");
#undef P
}

/* REG-01, REG-02, REG-05, REG-07, REG-08, REG-35: a switch changes if and only if it is selected.
 */
static void set__only_selected(void **state)
{
	static const struct {
		const char *name;
		unsigned select;
		uint64_t value;
	} fields[] = {
	    {"roce_adp_retrans_en", 0, 0},
	    {"roce_tx_window_en", 1, 1},
	    {"roce_slow_restart_en", 2, 0},
	    {"roce_slow_restart_idle_en", 3, 1},
	    {"min_ack_timeout_limit_disabled", 4, 1},
	    {"adaptive_routing_forced_en", 5, 1},
	    {"selective_repeat_forced_en", 6, 1},
	    {"dc_half_handshake_en", 7, 0},
	    {"cc_burst_size", 10, 2},
	    {"ack_dscp_force", 9, 1},
	    {"ack_dscp", 9, 46},
	    {"adp_retx_profile_id", 28, 1},
	};
	const struct vb_reg *reg = &vb_reg_roce_accl;

	(void)state;
	for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		struct vb_reg_file f = fresh(), before = f;
		uint8_t image[0x80], back[0x80];

		example(image);
		for (unsigned k = 0; k < sizeof fields / sizeof fields[0]; k++)
			put(reg, image, fields[k].name, fields[k].value);
		word_put(image, 0, 0);
		assert_int_equal(set_accl(&f, image), 0);
		assert_memory_equal(&f, &before, sizeof f);
		word_put(image, 0, 1u << fields[i].select);
		assert_int_equal(set_accl(&f, image), 0);
		read_accl(&f, 0, back);
		for (unsigned k = 0; k < sizeof fields / sizeof fields[0]; k++)
			assert_int_equal(get(reg, back, fields[k].name) == fields[k].value,
					 fields[k].select == fields[i].select);
		assert_int_equal(get(reg, back, "adp_retx_profile.range_num"),
				 fields[i].select == 28 ? 2 : 0);
	}
}

/*
 * absent: REG-03, REG-07, REG-10, REG-14
 * A field of a function that this adapter does not have reads 0, is not selected by a write back,
 * and cannot be selected.
 */
static void set__absent_functions(void **state)
{
	static const char *const absent[][2] = {
	    {"cc_per_plane_en_field_select", "cc_per_plane_en"},
	    {"cc_probe_mp_mode_select", "cc_probe_mp_mode"},
	    {"ifa2_turn_around_select", "ifa2_turn_around_en"},
	};
	const struct vb_reg *reg = &vb_reg_roce_accl;

	(void)state;
	for (unsigned i = 0; i < sizeof absent / sizeof absent[0]; i++) {
		struct vb_reg_file f = fresh();
		uint8_t image[0x80] = {0};

		put(reg, image, absent[i][1], 1);
		assert_int_equal(set_accl(&f, image), 0);
		read_accl(&f, 0, image);
		assert_int_equal(get(reg, image, absent[i][0]), 0);
		assert_int_equal(get(reg, image, absent[i][1]), 0);
		put(reg, image, absent[i][0], 1);
		assert_int_equal(set_accl(&f, image), -EINVAL);
		assert_string_equal(fault.field->path, absent[i][0]);
	}
}

/* REG-04, REG-11...13, REG-15, REG-32: reserved bits and RO fields of a SET are ignored, and read
 * as they were. */
static void set__reserved_and_read_only(void **state)
{
	const struct vb_reg *reg = &vb_reg_roce_accl;
	struct vb_reg_file f = fresh(), g = fresh();
	uint8_t image[0x80], all[0x80], a[0x80], b[0x80];

	(void)state;
	example(image);
	memset(all, 0xff, sizeof all);
	for (unsigned i = 0; i < reg->field_cnt; i++)
		if (reg->field[i].access != VB_REG_RO)
			vb_reg_field_put(reg, &reg->field[i], all,
					 vb_reg_field_get(reg, &reg->field[i], image));
	assert_int_equal(set_accl(&f, image), 0);
	assert_int_equal(set_accl(&g, all), 0);
	read_accl(&f, 1, a);
	read_accl(&g, 1, b);
	assert_memory_equal(a, b, sizeof a);
	assert_int_equal(word(b, 0x08), 0x41000fa0);
	assert_int_equal(word(b, 0x0c), 0);
	assert_int_equal(word(b, 0x28), 0);
}

/* REG-16: the register has 0x40 bytes for some tools and 0x80 for others. */
static void access__both_lengths(void **state)
{
	struct vb_reg_file f = fresh();
	uint8_t image[0x80];

	(void)state;
	example(image);
	assert_int_equal(vb_reg_set(&f, &env, ACCL, image, 0x40, &fault), 0);
	memset(image, 0, sizeof image);
	assert_int_equal(vb_reg_get(&f, &env, ACCL, image, 0x40, &fault), 0);
	assert_int_equal(word(image, 0x10), 0xa0400004);
	for (size_t len = 0; len <= 0x80; len += 4)
		assert_int_equal(vb_reg_get(&f, &env, ACCL, image, len, &fault),
				 len == 0x40 || len == 0x80 ? 0 : -EINVAL);
	assert_int_equal(vb_reg_get(&f, &env, 0x402d, image, 0x40, &fault), -EINVAL);
	assert_null(fault.field);
	assert_non_null(fault.rule);
}

/* As tools do: read, change one field, write all of it back. REG-06, REG-35, ADP-28 */
static void set__write_back(void **state)
{
	struct vb_reg_file f = fresh();
	uint8_t image[0x80];

	(void)state;
	for (int active = 0; active <= 1; active++) {
		struct vb_recovery was = f.recovery;

		read_accl(&f, 0, image);
		put(&vb_reg_roce_accl, image, "ack_dscp", 10 + (unsigned)active);
		assert_int_equal(set_accl(&f, image), 0);
		assert_int_equal(f.recovery.ack_dscp, 10 + active);
		was.ack_dscp = f.recovery.ack_dscp;
		assert_memory_equal(&was, &f.recovery, sizeof was);
		example(image);
		assert_int_equal(set_accl(&f, image), 0);
	}
}

/* ADP-25, ADP-27: only a reset goes back to profile 0. */
static void reset__only_way_back(void **state)
{
	struct vb_reg_file f = fresh(), first = f;
	uint8_t image[0x80];

	(void)state;
	example(image);
	assert_int_equal(set_accl(&f, image), 0);
	read_accl(&f, 0, image);
	put(&vb_reg_roce_accl, image, "adp_retx_profile_id", 0);
	assert_int_equal(set_accl(&f, image), -EINVAL);
	assert_string_equal(fault.field->path, "adp_retx_profile_id");
	assert_non_null(strstr(fault.rule, "fwreset"));
	vb_reg_file_reset(&f, 0);
	assert_memory_equal(&f, &first, sizeof f);
	assert_int_equal(f.recovery.adp_retx_profile_id, 0);
	assert_ptr_equal(vb_recovery_profile(&f.recovery), &vb_adp_firmware);
}

/* REG-25: entries behind range_num are kept, whatever they hold. */
static void set__unused_ranges(void **state)
{
	struct vb_reg_file f = fresh();
	uint8_t image[0x80], back[0x80];

	(void)state;
	example(image);
	word_put(image, 0x20, 0x7fffffff);
	word_put(image, 0x24, 0x4c030201);
	assert_int_equal(set_accl(&f, image), 0);
	read_accl(&f, 1, back);
	assert_int_equal(word(back, 0x20), 0x7fffffff);
	assert_int_equal(word(back, 0x24), 0x4c030201);
}

/* Random images, valid and not: a SET does all or nothing, and what a GET then answers can be set
 * again and is answered again. */
static void set__random_round_trip(void **state)
{
	struct vb_rng rng = vb_rng_stream(42, "reg", 0);
	struct vb_reg_file f = fresh();
	unsigned accepted = 0, refused = 0;

	(void)state;
	for (int n = 0; n < 50000; n++) {
		uint8_t image[0x80], a[0x80], b[0x80];
		struct vb_reg_file before = f;
		bool wild = vb_rng_below(&rng, 2);

		example(image);
		for (unsigned i = 0; i < vb_reg_roce_accl.field_cnt; i++)
			if (vb_rng_below(&rng, wild ? 2 : 12) == 0 &&
			    vb_reg_roce_accl.field[i].access == VB_REG_RW)
				vb_reg_field_put(&vb_reg_roce_accl, &vb_reg_roce_accl.field[i],
						 image, vb_rng_next(&rng));
		word_put(image, 0, (uint32_t)vb_rng_next(&rng) & 0x100006ff);
		if (set_accl(&f, image)) {
			refused++;
			assert_memory_equal(&f, &before, sizeof f);
			continue;
		}
		accepted++;
		assert_int_equal(vb_recovery_check(&f.recovery, NULL), 0);
		read_accl(&f, 0, a);
		before = f;
		assert_int_equal(set_accl(&f, a), 0);
		assert_memory_equal(&f, &before, sizeof f);
		read_accl(&f, 0, b);
		assert_memory_equal(a, b, sizeof a);
		if (word(image, 0) & SELECT_PROFILE)
			for (unsigned i = 0; i < vb_reg_roce_accl.field_cnt; i++) {
				const struct vb_reg_field *x = &vb_reg_roce_accl.field[i];

				if (x->select == 28)
					assert_true(vb_reg_field_get(&vb_reg_roce_accl, x, a) ==
						    vb_reg_field_get(&vb_reg_roce_accl, x, image));
			}
	}
	assert_true(accepted > 1000 && refused > 1000);
}

/* Words of 8 bytes, and fields over two words of 4. */
static void field__wide_words(void **state)
{
	static const struct vb_reg_field f[] = {
	    {.path = "low", .bit = 0, .width = 16},
	    {.path = "high", .bit = 32, .width = 19},
	    {.path = "top", .bit = 63, .width = 1},
	};
	static const struct vb_reg_field whole = {.path = "whole", .width = 64};
	static const struct vb_reg wide = {.word = 8, .len = 8}, narrow = {.word = 4, .len = 8};
	uint8_t image[8] = {0};

	(void)state;
	vb_reg_field_put(&wide, &f[0], image, 0x1234);
	vb_reg_field_put(&wide, &f[1], image, 0x7ffff);
	vb_reg_field_put(&wide, &f[2], image, 1);
	assert_true(vb_reg_field_get(&narrow, &whole, image) == UINT64_C(0x8007ffff00001234));
	assert_true(vb_reg_field_get(&wide, &f[1], image) == 0x7ffff);
	vb_reg_field_put(&narrow, &whole, image, UINT64_MAX);
	assert_true(vb_reg_field_get(&wide, &f[0], image) == 0xffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(get__first_values),      cmocka_unit_test(table__places),
	    cmocka_unit_test(set__profile_vector),    cmocka_unit_test(get__by_index),
	    cmocka_unit_test(set__each_rule),         cmocka_unit_test(set__only_selected),
	    cmocka_unit_test(set__absent_functions),  cmocka_unit_test(set__reserved_and_read_only),
	    cmocka_unit_test(access__both_lengths),   cmocka_unit_test(set__write_back),
	    cmocka_unit_test(reset__only_way_back),   cmocka_unit_test(set__unused_ranges),
	    cmocka_unit_test(set__random_round_trip), cmocka_unit_test(field__wide_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
