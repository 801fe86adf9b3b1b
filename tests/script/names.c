/* SPDX-License-Identifier: BSD-2-Clause */
/* The words that scripts use for numbers of the verbs and of the wire. */
#include "drill.h"

#include "wire/mad/cm.h"

#include <errno.h>
#include <string.h>

const struct name name_nak[] = {
    {"psn_seq", 0},   {"invalid_request", 1}, {"remote_access", 2},
    {"remote_op", 3}, {"invalid_rd", 4},      {NULL, 0},
};

const struct name name_wr[] = {
    {"WRITE", VB_WR_RDMA_WRITE},
    {"WRITE_IMM", VB_WR_RDMA_WRITE_IMM},
    {"SEND", VB_WR_SEND},
    {"SEND_IMM", VB_WR_SEND_IMM},
    {"READ", VB_WR_RDMA_READ},
    {"CAS", VB_WR_COMPARE_SWAP},
    {"FAA", VB_WR_FETCH_ADD},
    {"LOCAL_INV", VB_WR_LOCAL_INV},
    {"BIND_MW", VB_WR_BIND_MW},
    {"SEND_INV", VB_WR_SEND_INV},
    {"ATOMIC_WRITE", VB_WR_ATOMIC_WRITE},
    {NULL, 0},
};

const struct name name_wc_status[] = {
    {"SUCCESS", VB_WC_SUCCESS},
    {"LOC_LEN", VB_WC_LOC_LEN_ERR},
    {"LOC_QP_OP", VB_WC_LOC_QP_OP_ERR},
    {"LOC_PROT", VB_WC_LOC_PROT_ERR},
    {"WR_FLUSH", VB_WC_WR_FLUSH_ERR},
    {"MW_BIND", VB_WC_MW_BIND_ERR},
    {"BAD_RESP", VB_WC_BAD_RESP_ERR},
    {"LOC_ACCESS", VB_WC_LOC_ACCESS_ERR},
    {"REM_INV_REQ", VB_WC_REM_INV_REQ_ERR},
    {"REM_ACCESS", VB_WC_REM_ACCESS_ERR},
    {"REM_OP", VB_WC_REM_OP_ERR},
    {"RETRY_EXC", VB_WC_RETRY_EXC_ERR},
    {"RNR_RETRY_EXC", VB_WC_RNR_RETRY_EXC_ERR},
    {"REM_INV_RD_REQ", VB_WC_REM_INV_RD_REQ_ERR},
    {"REM_ABORT", VB_WC_REM_ABORT_ERR},
    {"FATAL", VB_WC_FATAL_ERR},
    {"RESP_TIMEOUT", VB_WC_RESP_TIMEOUT_ERR},
    {"GENERAL", VB_WC_GENERAL_ERR},
    {NULL, 0},
};

const struct name name_wc_opcode[] = {
    {"SEND", VB_WC_SEND},
    {"WRITE", VB_WC_RDMA_WRITE},
    {"READ", VB_WC_RDMA_READ},
    {"CAS", VB_WC_COMP_SWAP},
    {"FAA", VB_WC_FETCH_ADD},
    {"BIND_MW", VB_WC_BIND_MW},
    {"LOCAL_INV", VB_WC_LOCAL_INV},
    {"ATOMIC_WRITE", VB_WC_ATOMIC_WRITE},
    {"RECV", VB_WC_RECV},
    {"RECV_WRITE_IMM", VB_WC_RECV_RDMA_WITH_IMM},
    {NULL, 0},
};

const struct name name_state[] = {
    {"RESET", VB_QPS_RESET}, {"INIT", VB_QPS_INIT}, {"RTR", VB_QPS_RTR}, {"RTS", VB_QPS_RTS},
    {"SQD", VB_QPS_SQD},     {"SQE", VB_QPS_SQE},   {"ERR", VB_QPS_ERR}, {NULL, 0},
};

const struct name name_qp_type[] = {
    {"RC", VB_QPT_RC},           {"UC", VB_QPT_UC},
    {"UD", VB_QPT_UD},           {"XRC_INI", VB_QPT_XRC_INI},
    {"XRC_TGT", VB_QPT_XRC_TGT}, {"DCI", VB_QPT_DCI},
    {"DCT", VB_QPT_DCT},         {NULL, 0},
};

const struct name name_access[] = {
    {"none", 0},
    {"local_write", VB_ACCESS_LOCAL_WRITE},
    {"remote_write", VB_ACCESS_REMOTE_WRITE},
    {"remote_read", VB_ACCESS_REMOTE_READ},
    {"remote_atomic", VB_ACCESS_REMOTE_ATOMIC},
    {"mw_bind", VB_ACCESS_MW_BIND},
    {"all", VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |
		VB_ACCESS_REMOTE_ATOMIC},
    {NULL, 0},
};

const struct name name_async[] = {
    {"CQ_ERR", VB_ASYNC_CQ_ERR},
    {"QP_FATAL", VB_ASYNC_QP_FATAL},
    {"QP_REQ_ERR", VB_ASYNC_QP_REQ_ERR},
    {"QP_ACCESS_ERR", VB_ASYNC_QP_ACCESS_ERR},
    {"COMM_EST", VB_ASYNC_COMM_EST},
    {"SQ_DRAINED", VB_ASYNC_SQ_DRAINED},
    {"PATH_MIG", VB_ASYNC_PATH_MIG},
    {"PATH_MIG_ERR", VB_ASYNC_PATH_MIG_ERR},
    {"SRQ_ERR", VB_ASYNC_SRQ_ERR},
    {"SRQ_LIMIT_REACHED", VB_ASYNC_SRQ_LIMIT_REACHED},
    {"QP_LAST_WQE_REACHED", VB_ASYNC_QP_LAST_WQE_REACHED},
    {"CQ_NOTIFY", 1000},
    {NULL, 0},
};

const struct name name_apr[] = {
    {"LOADED", VB_CM_APR_LOADED},
    {"INVALID_COMM_ID", VB_CM_APR_INVALID_COMM_ID},
    {"UNSUPPORTED", VB_CM_APR_UNSUPPORTED},
    {"REJECT", VB_CM_APR_REJECT},
    {"REDIRECT", VB_CM_APR_REDIRECT},
    {"IS_CURRENT", VB_CM_APR_IS_CURRENT},
    {"INVALID_QPN", VB_CM_APR_INVALID_QPN},
    {"INVALID_LID", VB_CM_APR_INVALID_LID},
    {"INVALID_GID", VB_CM_APR_INVALID_GID},
    {"INVALID_FLOW_LABEL", VB_CM_APR_INVALID_FLOW_LABEL},
    {"INVALID_TCLASS", VB_CM_APR_INVALID_TCLASS},
    {"INVALID_HOP_LIMIT", VB_CM_APR_INVALID_HOP_LIMIT},
    {"INVALID_RATE", VB_CM_APR_INVALID_RATE},
    {"INVALID_SL", VB_CM_APR_INVALID_SL},
    {NULL, 0},
};

const struct name name_errno[] = {
    {"-EINVAL", -EINVAL},
    {"-ENOMEM", -ENOMEM},
    {"-EBUSY", -EBUSY},
    {"-ENOENT", -ENOENT},
    {"-EOVERFLOW", -EOVERFLOW},
    {"-EOPNOTSUPP", -EOPNOTSUPP},
    {"-EPERM", -EPERM},
    {"0", 0},
    {NULL, 0},
};

int name_value(const struct name *table, const char *text)
{
	for (; table->name != NULL; table++)
		if (strcmp(table->name, text) == 0)
			return table->value;
	return -1;
}

const char *name_of(const struct name *table, int value)
{
	for (; table->name != NULL; table++)
		if (table->value == value)
			return table->name;
	return "?";
}

uint32_t name_set(struct drill *d, const struct name *table, const char *text)
{
	uint32_t set = 0;

	while (*text != '\0') {
		size_t n = strcspn(text, "|");
		char word[32];

		if (n >= sizeof word)
			n = sizeof word - 1;
		memcpy(word, text, n);
		word[n] = '\0';
		int v = name_value(table, word);

		if (v < 0)
			drill_fail(d, "unknown word \"%s\"", word);
		set |= (uint32_t)v;
		text += n + (text[n] == '|');
	}
	return set;
}
