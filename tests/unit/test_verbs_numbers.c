/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of the verbs that documents and other adapters name, and the layout of what processes of
 * two builds may share, one by one: other tests take them by their names, and would follow one that
 * has changed.
 */
#include "verbs/ring/ring.h"

#include "cmocka_env.h"

/* The numbers that a device says of itself; docs/verbs.md, IBA 8.3 */
static void device__numbers(void **state)
{
	(void)state;
	assert_int_equal(VB_IBV_VENDOR, 0xffffff);
	assert_int_equal(VB_IBV_PORT, 1);
	assert_int_equal(VB_IBV_UNKNOWN_MBPS, 100000);
	assert_int_equal(VB_DM_SIZE, 16777216);
	assert_int_equal(VB_IBV_MLID_FIRST, 0xc000);
	assert_int_equal(VB_IBV_MLID_LAST, 0xc3ff);
}

/* Queues as hardware has them; docs/mlx5dv.md */
static void ring__numbers(void **state)
{
	(void)state;
	assert_int_equal(VB_RING_SGES, 32);
	assert_int_equal(VB_RING_INLINE, 512);
	assert_int_equal(VB_RING_RECEIVE_BYTES, 1024);
	assert_int_equal(VB_RECORD_RECEIVE, 0);
	assert_int_equal(VB_RECORD_SEND, 1);
	assert_int_equal(VB_RECORD_READ, 0);
	assert_int_equal(VB_RECORD_ARM, 1);
	assert_int_equal(VB_RECORD_BYTES, 64);
}

/* The table behind a cmd_fd, which a process of another build may import. */
static void export__layout(void **state)
{
	(void)state;
	assert_true(VB_EXPORT_MAGIC == UINT64_C(0x76624578706f7274));
	assert_int_equal(VB_EXPORT_VERSION, 1);
	assert_int_equal(VB_EXPORT_PDS, 65536);
	assert_int_equal(VB_EXPORT_DMS, 65536);
	assert_int_equal(VB_EXPORT_MRS, 1048576);
	assert_int_equal(VB_HANDLE_OWN, UINT32_C(0x80000000));
	assert_int_equal(sizeof(struct vb_export_entry), 40);
	assert_int_equal(sizeof(struct vb_export_slot), 48);
	assert_int_equal(offsetof(struct vb_export_table, pid_start), 16);
	assert_int_equal(offsetof(struct vb_export_table, guid), 24);
	assert_int_equal(offsetof(struct vb_export_table, is_closed), 32);
	assert_int_equal(offsetof(struct vb_export_table, pd), 72);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(device__numbers),
	    cmocka_unit_test(ring__numbers),
	    cmocka_unit_test(export__layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
