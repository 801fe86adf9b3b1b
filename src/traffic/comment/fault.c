/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults in words, and back. See fault.h. */
#include "traffic/comment/fault.h"

#include "fault/fault.h"

#include <stdio.h>
#include <string.h>

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

/* True: @word stands in @text, with a space before it and a space or a comma behind it, or the end.
 */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if (at > text && at[-1] == ' ' &&
		    (at[len] == ' ' || at[len] == ',' || at[len] == 0))
			return true;
	return false;
}

uint16_t vb_fault_comment_read(const char *comments)
{
	char text[VB_FAULT_COMMENT_MAX];
	unsigned mark = 0;

	while (strncmp(comments, "fault:", 6) != 0) {
		comments = strchr(comments, '\n');
		if (!comments)
			return 0;
		comments++;
	}
	snprintf(text, sizeof text, "%.*s", (int)strcspn(comments, "\n"), comments);
	for (int kind = 0; kind < VB_FAULT_KIND_CNT; kind++)
		if (has_word(text, vb_fault_kind_name((enum vb_fault_kind)kind)))
			mark |= 1u << kind;
	mark |= has_word(text, "dropped") ? VB_FAULT_MARK_DROPPED : 0;
	mark |= has_word(text, "the copy") ? VB_FAULT_MARK_COPY : 0;
	mark |= has_word(text, "no room to hold it back") ? VB_FAULT_MARK_FULL : 0;
	return (uint16_t)mark;
}
