/* SPDX-License-Identifier: BSD-2-Clause */
/* The comment of captures, live and simulated, on a packet that has met a fault. */
#ifndef VB_TRAFFIC_COMMENT_FAULT_H
#define VB_TRAFFIC_COMMENT_FAULT_H

#include <stddef.h>
#include <stdint.h>

#define VB_FAULT_COMMENT_MAX 128

/* Words for @mark (enum vb_fault_mark) in @text, and returns it: "fault: loss, dropped". NULL: it
 * met none. */
const char *vb_fault_comment(uint16_t mark, char text[VB_FAULT_COMMENT_MAX]);

/* The mark that a line of @comments speaks of; 0: none does. */
uint16_t vb_fault_comment_read(const char *comments);

#endif
