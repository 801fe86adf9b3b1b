/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The opcode table against the list of the standard, written out a second time and by opcode value.
 * IBA 9.2 table 38; facts B.2
 */
#include "cmocka_env.h"
#include "wire/hdr.h"
#include "wire/opcode.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Operation, what follows the BTH (RC form) and how many bytes that is; who has it: r, u, d, x. */
static const struct {
	uint8_t op;
	const char *name, *who;
	uint16_t ext;
	uint8_t ext_len;
	bool payload;
} row[] = {
    {0x00, "SEND_FIRST", "rux", 0, 0, true},
    {0x01, "SEND_MIDDLE", "rux", 0, 0, true},
    {0x02, "SEND_LAST", "rux", 0, 0, true},
    {0x03, "SEND_LAST_IMM", "rux", VB_EXT_IMMDT, 4, true},
    {0x04, "SEND_ONLY", "rudx", 0, 0, true},
    {0x05, "SEND_ONLY_IMM", "rudx", VB_EXT_IMMDT, 4, true},
    {0x06, "WRITE_FIRST", "rux", VB_EXT_RETH, 16, true},
    {0x07, "WRITE_MIDDLE", "rux", 0, 0, true},
    {0x08, "WRITE_LAST", "rux", 0, 0, true},
    {0x09, "WRITE_LAST_IMM", "rux", VB_EXT_IMMDT, 4, true},
    {0x0a, "WRITE_ONLY", "rux", VB_EXT_RETH, 16, true},
    {0x0b, "WRITE_ONLY_IMM", "rux", VB_EXT_RETH | VB_EXT_IMMDT, 20, true},
    {0x0c, "READ_REQUEST", "rx", VB_EXT_RETH, 16, false},
    {0x0d, "READ_RESP_FIRST", "rx", VB_EXT_AETH, 4, true},
    {0x0e, "READ_RESP_MIDDLE", "rx", 0, 0, true},
    {0x0f, "READ_RESP_LAST", "rx", VB_EXT_AETH, 4, true},
    {0x10, "READ_RESP_ONLY", "rx", VB_EXT_AETH, 4, true},
    {0x11, "ACK", "rx", VB_EXT_AETH, 4, false},
    {0x12, "ATOMIC_ACK", "rx", VB_EXT_AETH | VB_EXT_ATOMICACKETH, 12, false},
    {0x13, "COMPARE_SWAP", "rx", VB_EXT_ATOMICETH, 28, false},
    {0x14, "FETCH_ADD", "rx", VB_EXT_ATOMICETH, 28, false},
    {0x16, "SEND_LAST_INV", "rx", VB_EXT_IETH, 4, true},
    {0x17, "SEND_ONLY_INV", "rx", VB_EXT_IETH, 4, true},
    {0x1c, "FLUSH", "rx", VB_EXT_FETH | VB_EXT_RETH, 20, false},
    {0x1d, "ATOMIC_WRITE", "rx", VB_EXT_RETH, 16, true},
};
#define ROW_CNT (sizeof row / sizeof row[0])

static bool is_response(uint8_t op)
{
	return op >= 0x0d && op <= 0x12;
}

static unsigned check_transport(char who, const char *prefix, uint8_t base)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < ROW_CNT; i++) {
		const struct vb_opcode_info *o = &vb_opcode[base | row[i].op];
		uint16_t ext = row[i].ext;
		size_t len = 12u + row[i].ext_len;
		char name[32];

		if (strchr(row[i].who, who == 'c' ? 'x' : who) == NULL) {
			assert_null(o->name);
			continue;
		}
		cnt++;
		if (who == 'd') {
			ext |= VB_EXT_DETH;
			len += 8;
		}
		if (who == 'c') {
			ext |= VB_EXT_DCETH;
			len += 8;
		}
		if (who == 'x' && !is_response(row[i].op)) {
			ext |= VB_EXT_XRCETH;
			len += 4;
		}
		snprintf(name, sizeof name, "%s_%s", prefix, row[i].name);
		assert_string_equal(o->name, name);
		assert_int_equal(o->ext, ext);
		assert_int_equal(o->hdr_len, len);
		assert_true(len <= VB_HDR_MAX);
		assert_int_equal(!!(o->flags & VB_OP_PAYLOAD), row[i].payload);
		assert_int_equal(!!(o->flags & VB_OP_RESPONSE), is_response(row[i].op));
		assert_int_equal(!!(o->flags & VB_OP_REQUEST), !is_response(row[i].op));
	}
	return cnt;
}

/* IBT-05 (RC), IBT-11 (UC), IBT-15 (UD: SEND with and without immediate), IBT-22 (XRC) */
static void opcode__each_row_is_the_standards(void **state)
{
	unsigned cnt = 0, named = 0;

	(void)state;
	cnt += check_transport('r', "RC", 0x00);
	cnt += check_transport('u', "UC", 0x20);
	cnt += check_transport('d', "UD", 0x60);
	cnt += check_transport('x', "XRC", 0xa0);
	cnt += check_transport('c', "DC", 0x40);
	assert_string_equal(vb_opcode[0x55].name, "DC_CONNECT");
	assert_int_equal(vb_opcode[0x55].hdr_len, 20);
	assert_string_equal(vb_opcode[0x81].name, "CNP");
	assert_int_equal(vb_opcode[0x81].hdr_len, 28);
	assert_string_equal(vb_opcode[0x80].name, "CNP_IB"); /* FAB-47 */
	assert_int_equal(vb_opcode[0x80].hdr_len, 12);
	assert_int_equal(vb_opcode[0x80].flags | vb_opcode[0x80].ext, 0);
	for (unsigned i = 0; i < 256; i++)
		named += vb_opcode[i].name != NULL;
	assert_int_equal(named, cnt + 3);
	assert_int_equal(cnt, 25 + 12 + 2 + 25 + 25);
}

static void opcode__position_follows_the_name(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 256; i++) {
		const char *name = vb_opcode[i].name;

		if (name == NULL || vb_opcode_is_cnp((uint8_t)i))
			continue;
		bool first = strstr(name, "_LAST") == NULL && strstr(name, "_MIDDLE") == NULL;
		bool last = strstr(name, "_FIRST") == NULL && strstr(name, "_MIDDLE") == NULL;

		assert_int_equal(!!(vb_opcode[i].flags & VB_OP_FIRST), first);
		assert_int_equal(!!(vb_opcode[i].flags & VB_OP_LAST), last);
	}
}

/* IBT-65, IBT-67: what ends a SEND, and an RDMA WRITE with immediate, takes a receive WQE. */
static void opcode__who_takes_a_receive_wqe(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 256; i++) {
		unsigned op = i & VB_OP_MASK;
		bool takes =
		    (op >= 2 && op <= 5) || op == 0x09 || op == 0x0b || op == 0x16 || op == 0x17;

		if (vb_opcode[i].name == NULL || vb_opcode_is_cnp((uint8_t)i))
			continue;
		assert_int_equal(!!(vb_opcode[i].flags & VB_OP_RECV_WQE), takes);
	}
}

static void opcode__each_belongs_to_one_operation(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 256; i++) {
		const char *name = vb_opcode[i].name;
		uint16_t flags = vb_opcode[i].flags;

		if (name == NULL || vb_opcode_is_cnp((uint8_t)i))
			continue;
		bool is_atomic = strstr(name, "ATOMIC_ACK") || strstr(name, "COMPARE_SWAP") ||
				 strstr(name, "FETCH_ADD");

		if (!!(flags & VB_OP_SEND) != !!strstr(name, "_SEND_") ||
		    !!(flags & VB_OP_READ) != !!strstr(name, "_READ_") ||
		    !!(flags & VB_OP_WRITE) != !!strstr(name, "C_WRITE_") ||
		    !!(flags & VB_OP_ATOMIC) != is_atomic)
			fail_msg("%s has flags 0x%x of another operation than its name", name,
				 flags);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(opcode__each_row_is_the_standards),
	    cmocka_unit_test(opcode__position_follows_the_name),
	    cmocka_unit_test(opcode__who_takes_a_receive_wqe),
	    cmocka_unit_test(opcode__each_belongs_to_one_operation),
	};

	return cmocka_run_group_tests_name("opcode", tests, NULL, NULL);
}
