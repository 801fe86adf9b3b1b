/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of algorithms of congestion control and what people write of their parameters: what is
 * taken, and what is said of the rest. */
#include "cmocka_env.h"
#include "core/control/algorithm/algorithm.h"
#include "core/control/choice.h"

#include <errno.h>
#include <string.h>

static const struct verbena_cc_parameter all[] = {
    {.name = "count", .unit = VERBENA_CC_NUMBER, .min = 1, .max = 9, .value = 3},
    {.name = "time", .unit = VERBENA_CC_TIME, .min = 1000, .max = 10000000000, .value = 25000},
    {.name = "rate", .unit = VERBENA_CC_RATE, .min = 1000000, .max = 2000000000000, .value = 1},
    {.name = "bytes", .unit = VERBENA_CC_BYTES, .min = 0, .max = 1u << 30, .value = 64000},
    {.name = "share", .unit = VERBENA_CC_SHARE, .min = 0, .max = 1000000, .value = 875000},
};

static void nothing_init(void *state, const struct verbena_cc_facts *facts, const uint64_t *value,
			 struct verbena_cc_control *out)
{
	(void)state, (void)facts, (void)value, (void)out;
}

static void nothing_on_ack(void *state, const struct verbena_cc_ack *ack,
			   struct verbena_cc_control *out)
{
	(void)state, (void)ack, (void)out;
}

static struct verbena_cc_algorithm good(void)
{
	return (struct verbena_cc_algorithm){.version = VERBENA_CC_VERSION,
					     .name = "all-units",
					     .parameter_cnt = 5,
					     .parameter = all,
					     .init = nothing_init,
					     .on_ack = nothing_on_ack};
}

static void assert_wrong(const struct verbena_cc_algorithm *a, const char *what)
{
	const char *why = vb_cc_algorithm_check(a);

	assert_non_null(why);
	if (!strstr(why, what))
		fail_msg("\"%s\" lacks \"%s\"", why, what);
}

static void table__is_checked(void **state)
{
	struct verbena_cc_parameter bad[2] = {all[0], all[1]};
	struct verbena_cc_algorithm a = good();

	(void)state;
	assert_null(vb_cc_algorithm_check(&a));
	a.version++;
	assert_wrong(&a, "another version");
	a = good();
	a.name = "All";
	assert_wrong(&a, "name");
	a.name = NULL;
	assert_wrong(&a, "name");
	a = good();
	a.init = NULL;
	assert_wrong(&a, "lacks init()");
	a = good();
	a.on_ack = NULL;
	assert_wrong(&a, "on_ack()");
	a = good();
	a.state_bytes = VERBENA_CC_STATE_MAX + 1;
	assert_wrong(&a, "65536 bytes");
	a = good();
	a.needs = 8;
	assert_wrong(&a, "needs");
	a = good();
	a.parameter_cnt = VERBENA_CC_PARAMETERS_MAX + 1;
	assert_wrong(&a, "24 parameters");
	a.parameter_cnt = 1;
	a.parameter = NULL;
	assert_wrong(&a, "no table");
	a.parameter = bad;
	a.parameter_cnt = 2;
	bad[1].name = "count";
	assert_wrong(&a, "one name");
	bad[1].name = "co unt";
	assert_wrong(&a, "whose name");
	bad[1] = all[1];
	bad[1].unit = 5;
	assert_wrong(&a, "unknown unit");
	bad[1] = all[1];
	bad[1].min = bad[1].max + 1;
	assert_wrong(&a, "minimum");
	for (int i = 0; vb_cc_algorithms[i]; i++)
		assert_null(vb_cc_algorithm_check(vb_cc_algorithms[i]));
}

static void text__of_each_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t value[5];
	} cases[] = {
	    {"", {3, 25000, 1, 64000, 875000}},
	    {" count=9 , time=1.5ms", {9, 1500000, 1, 64000, 875000}},
	    {"rate=2.5Gbps,bytes=64KiB,share=80%", {3, 25000, 2500000000, 65536, 800000}},
	    {"rate=1Mbps,bytes=0,share=0.25,time=10s", {3, 10000000000, 1000000, 0, 250000}},
	};
	struct verbena_cc_algorithm a = good();

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct vb_cc_choice_fault fault;
		struct vb_cc_choice c;

		vb_cc_choice_begin(&c, &a, 1000);
		assert_int_equal(vb_cc_choice_read(&c, cases[i].text, &fault), 0);
		for (int k = 0; k < 5; k++)
			assert_int_equal(c.value[k], cases[i].value[k]);
	}
}

static void text__that_is_wrong(void **state)
{
	static const struct {
		const char *text, *item, *what;
	} cases[] = {
	    {"count", "count", "lacks its value"},
	    {"time=3us, colour=red", "colour=red", "no parameter"},
	    {"count=1,count=2", "count=2", "twice"},
	    {"count=0", "count=0", "is a number from 1 to 9"},
	    {"count=1.5x", "count=1.5x", "is a number from 1 to 9"},
	    {"time=5", "time=5", "is a time from 1us to 10s"},
	    {"time=999ns", "time=999ns", "is a time from 1us to 10s"},
	    {"rate=nan", "rate=nan", "is a rate from 1Mbps to 2Tbps"},
	    {"rate=-1Gbps", "rate=-1Gbps", "is a rate from 1Mbps to 2Tbps"},
	    {"bytes=2GB", "bytes=2GB", "is bytes from 0 to 1GiB"},
	    {"share=101%", "share=101%", "is a share from 0% to 100%"},
	    {"share=99999999999999999999", "share=99999999999999999999", "is a share"},
	};
	struct verbena_cc_algorithm a = good();

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct vb_cc_choice_fault fault;
		struct vb_cc_choice c;

		vb_cc_choice_begin(&c, &a, 1000);
		assert_int_equal(vb_cc_choice_read(&c, cases[i].text, &fault), -EINVAL);
		assert_int_equal(fault.len, strlen(cases[i].item));
		assert_memory_equal(cases[i].text + fault.at, cases[i].item, fault.len);
		if (!strstr(fault.what, cases[i].what))
			fail_msg("%s: \"%s\"", cases[i].text, fault.what);
	}
}

static void value__as_people_write_it(void **state)
{
	static const struct {
		int parameter;
		uint64_t value;
		const char *text;
	} cases[] = {{0, 7, "7"},
		     {1, 1500000, "1500us"},
		     {1, 0, "0ns"},
		     {2, 100000000000, "100Gbps"},
		     {3, 65536, "64KiB"},
		     {3, 1500, "1500"},
		     {4, 875000, "87.5%"},
		     {4, 62500, "6.25%"},
		     {2, VERBENA_CC_NONE, "none"}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[VB_CC_VALUE_SIZE];

		vb_cc_value_text(&all[cases[i].parameter], cases[i].value, text);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(table__is_checked),
	    cmocka_unit_test(text__of_each_unit),
	    cmocka_unit_test(text__that_is_wrong),
	    cmocka_unit_test(value__as_people_write_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
