/* SPDX-License-Identifier: BSD-2-Clause */
/* The histogram of adaptive timers that fired: its configuration and its bins. REG-34 */
#include "reg/file.h"

#include "cmocka_env.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CONFIG 0xc01d
#define HISTOGRAM 0xc01e

/* Function 0 with one virtual function, 3; both have the same counters. */
static struct vb_adp_fired counters;

static int fired(void *ctx, int vhca, struct vb_adp_fired *out)
{
	(void)ctx;
	if (vhca != -1 && vhca != 0 && vhca != 3)
		return -ENODEV;
	*out = counters;
	for (int i = 0; vhca == -1 && i < VB_ADP_FIRED_SLOTS; i++)
		out->slot[i] *= 2;
	return 0;
}

static const struct vb_reg_env env = {fired, NULL};
static struct vb_reg_fault fault;

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
	memset(&counters, 0, sizeof counters);
	return f;
}

static int set_config(struct vb_reg_file *f, const char *name, uint64_t value)
{
	const struct vb_reg *reg = &vb_reg_adp_histogram_config;
	uint8_t image[0x80] = {0};

	assert_int_equal(vb_reg_get(f, &env, CONFIG, image, 0x80, &fault), 0);
	put(reg, image, name, value);
	return vb_reg_set(f, &env, CONFIG, image, 0x80, &fault);
}

static uint64_t bin(struct vb_reg_file *f, int n)
{
	uint8_t image[0x90] = {0};
	char name[16];

	assert_int_equal(vb_reg_get(f, &env, HISTOGRAM, image, 0x90, &fault), 0);
	assert_int_equal(get(&vb_reg_adp_histogram, image, "bin_num"), f->histogram.bin_num);
	snprintf(name, sizeof name, "bin[%d]", n);
	return get(&vb_reg_adp_histogram, image, name);
}

/* REG-34: the layout, the rules, and the bins. */
static void histogram__config(void **state)
{
	struct vb_reg_file f = fresh();
	uint8_t image[0x80] = {0};

	(void)state;
	assert_int_equal(vb_reg_get(&f, &env, CONFIG, image, 0x80, &fault), 0);
	assert_int_equal(word(image, 0x00), 0x85f00000);
	assert_int_equal(word(image, 0x04), 0x10100000);
	assert_int_equal(word(image, 0x08), 0x10001000);
	assert_int_equal(set_config(&f, "bin_width_mode", 2), -EINVAL);
	assert_int_equal(set_config(&f, "bin_num", 0), -EINVAL);
	assert_int_equal(set_config(&f, "bin_num", 17), -EINVAL);
	assert_int_equal(set_config(&f, "bin0_width", 0), -EINVAL);
	assert_int_equal(set_config(&f, "bin1_width", 0), -EINVAL);
	assert_int_equal(set_config(&f, "vhca_id", 9), 0);
	assert_int_equal(set_config(&f, "vhca_id_valid", 1), -EINVAL);
	assert_string_equal(fault.field->path, "vhca_id");
	assert_int_equal(vb_reg_set(&f, &env, HISTOGRAM, image, 0x90, &fault), -EINVAL);
}

static void histogram__counts(void **state)
{
	struct vb_reg_file f = fresh();

	(void)state;
	counters.slot[2 + 10] = 3; /* 4096 us */
	counters.slot[2 + 11] = 5;
	counters.slot[64 + 3] = 7; /* 32.8 us */
	assert_int_equal(bin(&f, 0), 14);
	assert_int_equal(bin(&f, 1), 6);
	assert_int_equal(bin(&f, 2), 10);
	counters.slot[63] = 1; /* beyond all bins: the last one */
	assert_int_equal(bin(&f, 15), 2);
	/* Bins of 1 ms: 4.096 and 8.192 ms are in bins 4 and 8. */
	assert_int_equal(set_config(&f, "time_unit", 3), 0);
	assert_int_equal(set_config(&f, "bin_width_mode", 0), 0);
	assert_int_equal(set_config(&f, "bin0_width", 1), 0);
	assert_int_equal(set_config(&f, "bin1_width", 1), 0);
	assert_int_equal(bin(&f, 4), 6);
	assert_int_equal(bin(&f, 8), 10);
	/* Not counted while switched off; reading clears. */
	assert_int_equal(set_config(&f, "count_enable", 0), 0);
	counters.slot[12] += 100;
	assert_int_equal(bin(&f, 4), 6);
	assert_int_equal(set_config(&f, "count_enable", 1), 0);
	assert_int_equal(bin(&f, 4), 6);
	assert_int_equal(set_config(&f, "clear_on_read", 1), 0);
	counters.slot[12]++;
	assert_int_equal(bin(&f, 4), 8);
	assert_int_equal(bin(&f, 4), 0);
	/* One function of two. */
	assert_int_equal(set_config(&f, "vhca_id", 3), 0);
	assert_int_equal(set_config(&f, "vhca_id_valid", 1), 0);
	counters.slot[12]++;
	assert_int_equal(bin(&f, 4), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(histogram__config),
	    cmocka_unit_test(histogram__counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
