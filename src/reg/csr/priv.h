/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared declarations: csr.c has the CSR space, qp.c the words of a QP, word.c words. */
#ifndef VB_REG_CSR_PRIV_H
#define VB_REG_CSR_PRIV_H

#include "reg/csr/csr.h"

#define VB_CSR(symbol, address, shown, what, table)                                                \
	const struct vb_reg symbol = {                                                             \
	    .name = (shown),                                                                       \
	    .text = (what),                                                                        \
	    .id = (address),                                                                       \
	    .word = 8,                                                                             \
	    .len = 8,                                                                              \
	    .len_short = 8,                                                                        \
	    .field_cnt = sizeof(table) / sizeof(table)[0],                                         \
	    .field = (table),                                                                      \
	}

/* qp.c */
extern const struct vb_reg vb_csr_qp_control, vb_csr_qp_state, vb_csr_dfx_ctrl, vb_csr_dfx_info,
    vb_csr_dfx_cnt, vb_csr_dfx_overflow, vb_csr_qp_clock, vb_csr_qp_retry, vb_csr_cnp_merge_mem,
    vb_csr_rate_mem, vb_csr_alpha_mem, vb_csr_byte_counter_mem, vb_csr_t_bc_mem, vb_csr_cc_rate_mem,
    vb_csr_cc_byte_cnt_mem;

/* The word that shows the members of @from, and what of a word @to takes over. */
uint64_t vb_csr_load(const struct vb_reg *reg, const void *from);
void vb_csr_store(const struct vb_reg *reg, uint64_t word, void *to);

#endif
