/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration and status registers of congestion control: 64-bit words at the addresses of an
 * RDMA core with DCQCN. Global ones show struct vb_cc_settings; those of a QP, at a stride of 0x100
 * from QP index 1 on, show its controller. Words that the description leaves open lie where
 * nothing else does: see docs/registers.md. CC-31...49
 *
 * A write is one word, taken over as a whole or not at all. Reserved bits and RO fields of it are
 * ignored and read 0 and their own value; there is no address beside the table's.
 */
#ifndef VB_REG_CSR_CSR_H
#define VB_REG_CSR_CSR_H

#include "core/cc/dfx.h"
#include "core/hca.h"
#include "reg/file.h"

#define VB_CSR_STRIDE 0x100u
#define VB_CSR_QP_BASE 0x400000u  /* control, state, recorder */
#define VB_CSR_MEM_BASE 0x600000u /* memories */
/* Indexes are 1...VB_CSR_QPS: that many fit between the two bases. */
#define VB_CSR_QPS ((VB_CSR_MEM_BASE - VB_CSR_QP_BASE) / VB_CSR_STRIDE)

/* Words that a tool has to know; all the others are found by name. */
#define VB_CSR_QP_STATE 0x400008u
#define VB_CSR_DFX_CTRL 0x400010u
#define VB_CSR_DFX_INFO 0x400018u
#define VB_CSR_DFX_CNT 0x400020u

#define VB_CSR_DFX_NONE UINT64_C(4)

/* All there are, in the order of addresses; those of a QP at the addresses of index 1. An image has
 * 8 bytes, and the address is the id. */
extern const struct vb_reg *const vb_csr_all[];
extern const unsigned vb_csr_cnt;

/* The register at @address and the QP's index, 0 in a global one. NULL: there is none. */
const struct vb_reg *vb_csr_at(uint32_t address, uint32_t *index);
static inline bool vb_csr_is_of_qp(const struct vb_reg *reg)
{
	return reg->id >= VB_CSR_QP_BASE;
}
static inline uint32_t vb_csr_address(const struct vb_reg *reg, uint32_t index)
{
	return reg->id + (index ? (index - 1) * VB_CSR_STRIDE : 0);
}

/* The fields of a word, and the word of an image. */
uint64_t vb_csr_field_get(const struct vb_reg *reg, const struct vb_reg_field *f, uint64_t word);
uint64_t vb_csr_field_put(const struct vb_reg *reg, const struct vb_reg_field *f, uint64_t word,
			  uint64_t value);

/*
 * The field that @name of @len bytes means: "REGISTER.FIELD", or "FIELD" alone, in upper or lower
 * case. NULL: none, or several; *others says how many more than one.
 */
const struct vb_reg_field *vb_csr_find(const char *name, size_t len, const struct vb_reg **reg,
				       unsigned *others);
/* A register by its name; NULL: there is none. */
const struct vb_reg *vb_csr_by_name(const char *name, size_t len);

/*
 * A global register. @busy: a command to a QP is under way. 0, or -EINVAL with @fault filled: there
 * is no such register, or vb_cc_settings_check() refuses what would come of it.
 */
int vb_csr_get(const struct vb_reg_file *file, bool busy, uint32_t address, uint64_t *word,
	       struct vb_reg_fault *fault);
int vb_csr_set(struct vb_reg_file *file, uint32_t address, uint64_t word,
	       struct vb_reg_fault *fault);

/*
 * Register @reg of a QP. Reading DFX_INFO takes the oldest entry; if there is none it is
 * VB_CSR_DFX_NONE, an event of the reserved kind. Writing: -EAGAIN with @fault filled for a
 * controller that does not run; a start of the recorder when ctl->dfx is NULL does nothing.
 * CC-31...51
 */
uint64_t vb_csr_qp_get(const struct vb_reg *reg, const struct vb_cc_access *qp, vb_time now);
int vb_csr_qp_set(const struct vb_reg *reg, struct vb_cc_access *qp, uint64_t word, vb_time now,
		  struct vb_reg_fault *fault);

#endif
