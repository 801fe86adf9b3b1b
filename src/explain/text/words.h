/* SPDX-License-Identifier: BSD-2-Clause */
/* How things are called in explanations: times, addresses, states, statuses; and lines of text. */
#ifndef VB_EXPLAIN_TEXT_WORDS_H
#define VB_EXPLAIN_TEXT_WORDS_H

#include "core/types.h"

#include <stddef.h>

#define VB_LINES_MAX 12u
#define VB_LINE_MAX 360u

/* Sentences, in order. Text that does not fit is cut at the end of a line, or left out. */
struct vb_lines {
	uint32_t cnt;
	char text[VB_LINES_MAX][VB_LINE_MAX];
};

/* Appends a line. */
__attribute__((format(printf, 2, 3))) void vb_line(struct vb_lines *l, const char *fmt, ...);
/* Goes on with the last one. */
__attribute__((format(printf, 2, 3))) void vb_line_more(struct vb_lines *l, const char *fmt, ...);

/* Short-lived text, by value so that several fit into one call. */
struct vb_word {
	char s[64];
};
struct vb_word vb_word_ns(vb_dur ns); /* "8.389 ms"; VB_NEVER: "for ever" */
struct vb_word
vb_word_bytes(uint64_t cnt); /* "64 KiB" when it is that exactly, else "1000 bytes" */
struct vb_word vb_word_gid(const struct vb_gid *gid); /* 192.0.2.7, or fe80::1 */
/* The other end of a path: its GID, or "LID 7" where that is all. */
struct vb_word vb_word_peer(const struct vb_path *p);
struct vb_word vb_word_timeout(uint8_t exp);   /* "14 (67.11 ms)", "0 (for ever)" */
struct vb_word vb_word_nak(uint64_t syndrome); /* "NAK, remote access error" */

const char *vb_word_state(enum vb_qp_state state); /* "RTS" */
const char *vb_word_type(enum vb_qp_type type);    /* "RC", "XRCI" */
const char *vb_word_status(uint32_t wc_status);    /* "IBV_WC_RETRY_EXC_ERR" */
const char *vb_word_wr(uint32_t wr_opcode);        /* "RDMA WRITE" */

#endif
