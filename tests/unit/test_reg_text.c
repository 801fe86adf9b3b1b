/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields as operators write them: names, numbers, the raw form, and every way to be wrong. */
#include "reg/file.h"
#include "reg/text.h"

#include "cmocka_env.h"

#include <errno.h>
#include <string.h>

static struct vb_reg_text_fault fault;

static int apply(const char *text, uint8_t *image)
{
	return vb_reg_text_apply(&vb_reg_roce_accl, text, false, image, &fault);
}

static void number__bases(void **state)
{
	static const struct {
		const char *text;
		uint32_t value;
	} good[] = {{"0", 0},
		    {"7", 7},
		    {"010", 8},
		    {"0x10", 16},
		    {"0XfF", 255},
		    {"4294967295", UINT32_MAX},
		    {"0xffffffff", UINT32_MAX}};
	static const char *const bad[] = {"",   "x",   "0x",         "08",  "1 ",
					  " 1", "1e3", "4294967296", "0x1g"};
	uint32_t v;

	(void)state;
	for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_int_equal(vb_reg_text_number(good[i].text, strlen(good[i].text), &v, &fault),
				 0);
		assert_int_equal(v, good[i].value);
	}
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(vb_reg_text_number(bad[i], strlen(bad[i]), &v, &fault), -EINVAL);
		assert_int_equal(fault.error, VB_REG_TEXT_NUMBER);
	}
	assert_int_equal(vb_reg_text_number("-1", 2, &v, &fault), -EINVAL);
	assert_int_equal(fault.error, VB_REG_TEXT_NEGATIVE);
}

/* A name matches the end of a path, at a dot, whatever its case. */
static void apply__names(void **state)
{
	uint8_t image[0x80] = {0};
	unsigned others;

	(void)state;
	assert_int_equal(
	    apply("roce_tx_window_en=1,ACK_DSCP=46,timeout_range[2].range_size=0x5", image), 0);
	assert_int_equal(image[0x20 + 3], 5);
	assert_int_equal(image[0x06], 46 << 2);
	assert_int_equal(image[0x07], 2);
	assert_int_equal(apply("adp_retx_profile.timeout_range[3].dec_mode=2", image), 0);
	assert_int_equal(image[0x24], 2 << 2);
	/* One of four: the first. */
	assert_non_null(vb_reg_find(&vb_reg_roce_accl, "range_size", 10, &others));
	assert_int_equal(others, 3);
	assert_int_equal(apply("range_size=9", image), 0);
	assert_int_equal(image[0x18 + 3], 9);
	/* Not at a dot. */
	assert_int_equal(apply("dscp=1", image), -EINVAL);
	assert_int_equal(apply("", image), 0);
}

static void assert_error(const char *text, enum vb_reg_text_error error, const char *at)
{
	uint8_t image[0x80] = {0};

	assert_int_equal(apply(text, image), -EINVAL);
	assert_int_equal(fault.error, error);
	assert_int_equal(fault.len, strlen(at));
	assert_memory_equal(fault.at, at, strlen(at));
}

/* REG-35: to name a read-only field is an error. */
static void apply__errors(void **state)
{
	(void)state;
	assert_error("roce_tx_window_en", VB_REG_TEXT_FORM, "roce_tx_window_en");
	assert_error("a=1=2", VB_REG_TEXT_FORM, "a=1=2");
	assert_error("ack_dscp=,b=1", VB_REG_TEXT_FORM, "ack_dscp=");
	assert_error("=1", VB_REG_TEXT_FORM, "=1");
	assert_error("ack_dscp=1,,", VB_REG_TEXT_FORM, "");
	assert_error("ack_dscp=one", VB_REG_TEXT_NUMBER, "one");
	assert_error("ack_dscp=-1", VB_REG_TEXT_NEGATIVE, "-1");
	assert_error("ack_dscp=64", VB_REG_TEXT_WIDE, "ack_dscp");
	assert_int_equal(fault.a, 64);
	assert_int_equal(fault.b, 6);
	assert_error("no_such_field=1", VB_REG_TEXT_NO_FIELD, "no_such_field");
	assert_error("adp_retx_profile_max_id=1", VB_REG_TEXT_READ_ONLY, "adp_retx_profile_max_id");
}

/* REG-06 */
static void apply__indexes(void **state)
{
	uint8_t image[0x80] = {0};
	const struct vb_reg *reg = &vb_reg_roce_accl;

	(void)state;
	assert_int_equal(vb_reg_text_apply(reg, "adp_retx_profile_id=1", true, image, &fault), 0);
	assert_int_equal(image[4], 1 << 4);
	assert_int_equal(vb_reg_text_apply(reg, "ack_dscp=1", true, image, &fault), -EINVAL);
	assert_int_equal(fault.error, VB_REG_TEXT_NOT_INDEX);
	assert_int_equal(vb_reg_text_apply(reg, "adp_retx_profile_id=1,adp_retx_profile_id=0", true,
					   image, &fault),
			 -EINVAL);
	assert_int_equal(fault.error, VB_REG_TEXT_TWICE);
}

static void apply_raw__form(void **state)
{
	static const struct {
		const char *text;
		enum vb_reg_text_error error;
	} bad[] = {
	    {"0x04.28:3", VB_REG_TEXT_FORM},
	    {"0x04.28=1", VB_REG_TEXT_FORM},
	    {"0x04:3=1", VB_REG_TEXT_FORM},
	    {"0x04.x:3=1", VB_REG_TEXT_NUMBER},
	    {"0x04.28:0=1", VB_REG_TEXT_SIZE},
	    {"0x04.0:33=1", VB_REG_TEXT_SIZE},
	    {"0x05.0:3=1", VB_REG_TEXT_ALIGN},
	    {"0x40.0:3=1", VB_REG_TEXT_ADDRESS},
	    {"0xfffffffc.0:3=1", VB_REG_TEXT_ADDRESS},
	    {"0x04.30:3=1", VB_REG_TEXT_BITS},
	    {"0x04.4294967295:2=1", VB_REG_TEXT_BITS},
	    {"0x04.28:3=8", VB_REG_TEXT_WIDE},
	};
	uint8_t image[0x40] = {0};

	(void)state;
	assert_int_equal(vb_reg_text_apply_raw("0x04.28:3=1,0x10.0:32=0xa0400004,0x3c.31:1=1",
					       image, sizeof image, &fault),
			 0);
	assert_int_equal(image[4], 0x10);
	assert_memory_equal(image + 0x10, "\xa0\x40\x00\x04", 4);
	assert_int_equal(image[0x3c], 0x80);
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(vb_reg_text_apply_raw(bad[i].text, image, sizeof image, &fault),
				 -EINVAL);
		assert_int_equal(fault.error, bad[i].error);
	}
}

static void next__names(void **state)
{
	const char *text = "a=1,bad,bc=2", *name;
	size_t len;

	(void)state;
	assert_true(vb_reg_text_next(&text, &name, &len));
	assert_true(len == 1 && *name == 'a');
	assert_true(vb_reg_text_next(&text, &name, &len));
	assert_true(len == 2 && *name == 'b');
	assert_false(vb_reg_text_next(&text, &name, &len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(number__bases),   cmocka_unit_test(apply__names),
	    cmocka_unit_test(apply__errors),   cmocka_unit_test(apply__indexes),
	    cmocka_unit_test(apply_raw__form), cmocka_unit_test(next__names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
