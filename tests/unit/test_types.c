/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of the verbs, written down once more: programs, captures and other adapters know them
 * by these values. IBT-57...64
 */
#include "cmocka_env.h"
#include "core/types.h"
#include "wire/hdr.h"

#define ROW(name, value)                                                                           \
	{                                                                                          \
		name, value, #name                                                                 \
	}

static const struct {
	int name, value;
	const char *text;
} rows[] = {
    /* IBT-57, IBT-64 */
    ROW(VB_WC_SUCCESS, 0),
    ROW(VB_WC_LOC_LEN_ERR, 1),
    ROW(VB_WC_LOC_QP_OP_ERR, 2),
    ROW(VB_WC_LOC_EEC_OP_ERR, 3),
    ROW(VB_WC_LOC_PROT_ERR, 4),
    ROW(VB_WC_WR_FLUSH_ERR, 5),
    ROW(VB_WC_MW_BIND_ERR, 6),
    ROW(VB_WC_BAD_RESP_ERR, 7),
    ROW(VB_WC_LOC_ACCESS_ERR, 8),
    ROW(VB_WC_REM_INV_REQ_ERR, 9),
    ROW(VB_WC_REM_ACCESS_ERR, 10),
    ROW(VB_WC_REM_OP_ERR, 11),
    ROW(VB_WC_RETRY_EXC_ERR, 12),
    ROW(VB_WC_RNR_RETRY_EXC_ERR, 13),
    ROW(VB_WC_LOC_RDD_VIOL_ERR, 14),
    ROW(VB_WC_REM_INV_RD_REQ_ERR, 15),
    ROW(VB_WC_REM_ABORT_ERR, 16),
    ROW(VB_WC_INV_EECN_ERR, 17),
    ROW(VB_WC_INV_EEC_STATE_ERR, 18),
    ROW(VB_WC_FATAL_ERR, 19),
    ROW(VB_WC_RESP_TIMEOUT_ERR, 20),
    ROW(VB_WC_GENERAL_ERR, 21),
    /* IBT-58 */
    ROW(VB_WC_SEND, 0),
    ROW(VB_WC_RDMA_WRITE, 1),
    ROW(VB_WC_RDMA_READ, 2),
    ROW(VB_WC_COMP_SWAP, 3),
    ROW(VB_WC_FETCH_ADD, 4),
    ROW(VB_WC_FLUSH, 8),
    ROW(VB_WC_ATOMIC_WRITE, 9),
    ROW(VB_WC_BIND_MW, 5),
    ROW(VB_WC_LOCAL_INV, 6),
    ROW(VB_WC_RECV, 0x80),
    ROW(VB_WC_RECV_RDMA_WITH_IMM, 0x81),
    /* IBT-59 */
    ROW(VB_WC_GRH, 1),
    ROW(VB_WC_WITH_IMM, 2),
    ROW(VB_WC_WITH_INV, 8),
    /* IBT-60 */
    ROW(VB_SEND_FENCE, 1),
    ROW(VB_SEND_SIGNALED, 2),
    ROW(VB_SEND_SOLICITED, 4),
    ROW(VB_SEND_INLINE, 8),
    /* IBT-61 */
    ROW(VB_WR_RDMA_WRITE, 0),
    ROW(VB_WR_RDMA_WRITE_IMM, 1),
    ROW(VB_WR_SEND, 2),
    ROW(VB_WR_SEND_IMM, 3),
    ROW(VB_WR_RDMA_READ, 4),
    ROW(VB_WR_COMPARE_SWAP, 5),
    ROW(VB_WR_FETCH_ADD, 6),
    ROW(VB_WR_FLUSH, 14),
    ROW(VB_WR_ATOMIC_WRITE, 15),
    ROW(VB_WR_LOCAL_INV, 7),
    ROW(VB_WR_BIND_MW, 8),
    ROW(VB_WR_SEND_INV, 9),
    ROW(VB_WR_NOP, 16), /* of no verb */
    /* IBT-62 */
    ROW(VB_QPT_RC, 2),
    ROW(VB_QPT_UC, 3),
    ROW(VB_QPT_UD, 4),
    ROW(VB_QPT_XRC_INI, 9),
    ROW(VB_QPT_XRC_TGT, 10),
    ROW(VB_QPS_RESET, 0),
    ROW(VB_QPS_INIT, 1),
    ROW(VB_QPS_RTR, 2),
    ROW(VB_QPS_RTS, 3),
    ROW(VB_QPS_SQD, 4),
    ROW(VB_QPS_SQE, 5),
    ROW(VB_QPS_ERR, 6),
    /* IBT-63 */
    ROW(VB_ASYNC_CQ_ERR, 0),
    ROW(VB_ASYNC_QP_FATAL, 1),
    ROW(VB_ASYNC_QP_REQ_ERR, 2),
    ROW(VB_ASYNC_QP_ACCESS_ERR, 3),
    ROW(VB_ASYNC_COMM_EST, 4),
    ROW(VB_ASYNC_SQ_DRAINED, 5),
    ROW(VB_ASYNC_PATH_MIG, 6),
    ROW(VB_ASYNC_PATH_MIG_ERR, 7),
    ROW(VB_ASYNC_SRQ_ERR, 14),
    ROW(VB_ASYNC_SRQ_LIMIT_REACHED, 15),
    ROW(VB_ASYNC_QP_LAST_WQE_REACHED, 16),
    /* IBT-83 */
    ROW(VB_ACCESS_LOCAL_WRITE, 1),
    ROW(VB_ACCESS_REMOTE_WRITE, 2),
    ROW(VB_ACCESS_REMOTE_READ, 4),
    ROW(VB_ACCESS_REMOTE_ATOMIC, 8),
    ROW(VB_ACCESS_MW_BIND, 0x10),
    ROW(VB_ACCESS_ZERO_BASED, 0x20),
    ROW(VB_ACCESS_ON_DEMAND, 0x40),
    ROW(VB_ACCESS_HUGETLB, 0x80),
    ROW(VB_ACCESS_FLUSH_GLOBAL, 0x100),
    ROW(VB_ACCESS_FLUSH_PERSISTENT, 0x200),
    /* IBT-10: AETH syndromes. facts B.6 */
    ROW(VB_NAK_PSN_SEQ, 0x60),
    ROW(VB_NAK_INVALID_REQUEST, 0x61),
    ROW(VB_NAK_REMOTE_ACCESS, 0x62),
    ROW(VB_NAK_REMOTE_OP, 0x63),
    ROW(VB_NAK_INVALID_RD, 0x64),
    ROW(VB_SYNDROME_ACK, 0),
    ROW(VB_SYNDROME_RNR, 0x20),
    ROW(VB_CREDIT_UNLIMITED, 0x1f),
};

static void numbers__are_those_of_the_verbs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (rows[i].name != rows[i].value)
			fail_msg("%s is %d, not %d", rows[i].text, rows[i].name, rows[i].value);
	}
}

static void mtu__bytes(void **state)
{
	(void)state;
	for (unsigned m = 1; m <= 5; m++)
		assert_int_equal(vb_mtu_bytes((enum vb_mtu)m), 128u << m);
	assert_int_equal(vb_mtu_bytes(VB_MTU_4096), 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers__are_those_of_the_verbs),
	    cmocka_unit_test(mtu__bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
