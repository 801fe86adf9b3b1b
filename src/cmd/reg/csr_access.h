/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by `verbena csr` and `verbena dfx`: a device, perhaps a QP of it, and accesses to its
 * registers through the broker. Failures are one line on stderr.
 */
#ifndef VB_CMD_REG_CSR_ACCESS_H
#define VB_CMD_REG_CSR_ACCESS_H

#include "cmd/cmd.h"
#include "node/broker/broker.h"
#include "reg/csr/csr.h"

struct vb_csr_tool {
	const struct vb_cmd *cmd;
	const char *device;  /* as given; NULL: not */
	uint32_t qpn, index; /* of the QP that was named, by either; index 0: none was */
	bool has_qpn;        /* qpn was given */
	uint32_t device_at;  /* in the device table */
	struct vb_broker_observer o;
	struct vb_broker_csr req;
};

/* Takes the arguments of --qp, a QPN, and --index. 0 or an exit status. */
int vb_csr_take_qpn(struct vb_csr_tool *t, const char *text);
int vb_csr_take_index(struct vb_csr_tool *t, const char *text);

/* Connects, and finds device and QP. 0 or an exit status. */
int vb_csr_open(struct vb_csr_tool *t);
void vb_csr_close(struct vb_csr_tool *t);

/* Builds t->req from its beginning; adds an access to @address, writing the bits @mask of @word.
 * False: there are too many. */
void vb_csr_begin(struct vb_csr_tool *t, enum vb_broker_csr_method method);
bool vb_csr_add(struct vb_csr_tool *t, uint32_t address, uint64_t word, uint64_t mask);
/* ... and sends it. 0, or an exit status with the reason on stderr. */
int vb_csr_send(struct vb_csr_tool *t);
/* The same without a word: 0, or a negative errno with the reason in @why. */
int vb_csr_try(struct vb_csr_tool *t, char *why, size_t why_size);

/* Reads one register of the tool's QP, or a global one. */
int vb_csr_read_one(struct vb_csr_tool *t, uint32_t address, uint64_t *word);

/* A number, decimal or 0x hexadecimal, of at most 64 bits. False: it is none. */
bool vb_csr_number(const char *text, size_t len, uint64_t *out);

/* "9.77 Gb/s", from units with 8 fraction bits, in one of a few static buffers. */
const char *vb_csr_rate_text(uint32_t units_q8, uint32_t clk_hz);

#endif
