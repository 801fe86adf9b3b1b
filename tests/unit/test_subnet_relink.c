/* SPDX-License-Identifier: BSD-2-Clause */
/* Cables of a fabric that were pulled, and the command that puts them back. FAB-32 */
#include "subnet_view_env.h"

/* A cable that was pulled is put back, one or all of a node; nothing else is. */
static void commands__put_cables_back(void **state)
{
	(void)state;
	fabric_configure();
	assert_int_equal(command("relink H-A 1"), -EALREADY);
	assert_non_null(strstr(fabric_why, "the cable at port 1 of 'H-A' is not pulled"));
	assert_int_equal(command("relink H-A"), -EALREADY);
	assert_non_null(strstr(fabric_why, "no cable of 'H-A' is pulled"));
	assert_int_equal(command("relink H-A 2"), -ENOENT);
	assert_non_null(strstr(fabric_why, "no cable is at port 2 of 'H-A'"));
	assert_int_equal(command("relink H-A 3"), -EINVAL);
	assert_int_equal(command("relink H-C"), -ENOENT);
	assert_int_equal(command("unlink S-A 1"), 0);
	assert_int_equal(command("unlink S-A 2"), 0);
	assert_false(port_of(HOST_A, 1)->is_plugged);
	assert_int_equal(command("relink H-A 1"), 0);
	assert_true(port_of(HOST_A, 1)->is_plugged);
	assert_int_equal(port_of(HOST_A, 1)->link.state, VB_LINK_INIT);
	assert_false(port_of(SWITCH_A, 2)->is_plugged);
	assert_int_equal(command("unlink H-A 1"), 0);
	assert_int_equal(command("relink S-A"), 0);
	assert_true(port_of(SWITCH_A, 1)->is_plugged);
	assert_true(port_of(SWITCH_B, 2)->is_plugged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(commands__put_cables_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
