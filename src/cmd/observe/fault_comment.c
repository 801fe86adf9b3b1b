/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults in words. See fault_comment.h. */
#include "cmd/observe/fault_comment.h"

#include "fault/fault.h"

#include <stdio.h>

const char *vb_fault_comment(uint16_t mark, char text[VB_FAULT_COMMENT_MAX])
{
	size_t n, size = VB_FAULT_COMMENT_MAX;

	if (!mark)
		return NULL;
	n = (size_t)snprintf(text, size, "fault:");
	for (int kind = 0; kind < VB_FAULT_KIND_CNT && n < size; kind++)
		if (mark & 1u << kind)
			n += (size_t)snprintf(text + n, size - n, " %s",
					      vb_fault_kind_name((enum vb_fault_kind)kind));
	if (n < size && mark & VB_FAULT_MARK_FULL)
		n += (size_t)snprintf(text + n, size - n, " no room to hold it back");
	if (n < size && mark & VB_FAULT_MARK_DROPPED)
		n += (size_t)snprintf(text + n, size - n, ", dropped");
	if (n < size && mark & VB_FAULT_MARK_COPY)
		snprintf(text + n, size - n, ", the copy");
	return text;
}
