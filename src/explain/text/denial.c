/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of denials: the texts of core/denial.def with their values in place. */
#include "explain/text/denial.h"

#include <inttypes.h>

static const struct {
	const char *word, *text, *advice;
} checks[VB_DENIAL_CNT] = {
#define DENIAL(name, word, text, advice) [VB_DENIAL_##name] = {word, text, advice},
#include "core/denial.def"
#undef DENIAL
};

const char *vb_denial_word(const struct vb_denial *d)
{
	return checks[d->check].word;
}

static void add_rights(struct vb_lines *l, uint32_t access)
{
	static const struct {
		uint32_t right;
		const char *name;
	} names[] = {
	    {VB_ACCESS_LOCAL_WRITE, "LOCAL_WRITE"},
	    {VB_ACCESS_REMOTE_WRITE, "REMOTE_WRITE"},
	    {VB_ACCESS_REMOTE_READ, "REMOTE_READ"},
	    {VB_ACCESS_REMOTE_ATOMIC, "REMOTE_ATOMIC"},
	    {VB_ACCESS_FLUSH_GLOBAL, "FLUSH_GLOBAL"},
	    {VB_ACCESS_FLUSH_PERSISTENT, "FLUSH_PERSISTENT"},
	};
	const char *between = "";

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (!(access & names[i].right))
			continue;
		vb_line_more(l, "%sIBV_ACCESS_%s", between, names[i].name);
		between = " and ";
	}
}

/* A field of core/denial.def. */
static void add_field(struct vb_lines *l, const struct vb_denial *d, char field)
{
	if (field == 'K')
		vb_line_more(l, "%s", d->is_local ? "L_Key" : "R_Key");
	else if (field == 'k')
		vb_line_more(l, "0x%x", d->key);
	else if (field == 'a')
		add_rights(l, d->access);
	else if (field == 'b')
		vb_line_more(l, "%s", vb_word_bytes(d->by).s);
	else
		vb_line_more(l, "%" PRIu64, field == 'n' ? d->by : d->va);
}

static void add_text(struct vb_lines *l, const struct vb_denial *d, const char *text)
{
	for (; *text; text++) {
		if (*text == '$')
			add_field(l, d, *++text);
		else
			vb_line_more(l, "%c", *text);
	}
}

/* The operation, as work requests are called. */
static const char *operation_of(uint8_t opcode)
{
	uint16_t flags = vb_opcode[opcode].flags;

	if (opcode == VB_OPCODE_DC_CONNECT)
		return "DC connect";
	if (flags & VB_OP_SEND)
		return "SEND";
	if (flags & VB_OP_WRITE)
		return "RDMA WRITE";
	if (flags & VB_OP_READ)
		return "RDMA READ";
	switch (opcode & VB_OP_MASK) {
	case VB_OP_COMPARE_SWAP:
		return vb_word_wr(VB_WR_COMPARE_SWAP);
	case VB_OP_FETCH_ADD:
		return vb_word_wr(VB_WR_FETCH_ADD);
	case VB_OP_FLUSH:
		return vb_word_wr(VB_WR_FLUSH);
	case VB_OP_ATOMIC_WRITE:
		return vb_word_wr(VB_WR_ATOMIC_WRITE);
	default:
		return "request";
	}
}

void vb_denial_say(struct vb_lines *l, const struct vb_denial *d)
{
	vb_line_more(l, "%s", operation_of(d->opcode));
	if (d->len)
		vb_line_more(l, "%s %s at 0x%" PRIx64 " under %s 0x%x",
			     d->is_local ? ", received into" : " of", vb_word_bytes(d->len).s,
			     d->va, d->is_local ? "L_Key" : "R_Key", d->key);
	if (!vb_denial_word(d))
		return;
	vb_line_more(l, ": ");
	add_text(l, d, checks[d->check].text);
	vb_line_more(l, ".");
}

void vb_denial_advise(struct vb_lines *l, const struct vb_denial *d)
{
	if (!vb_denial_word(d))
		return;
	vb_line(l, "%s", "");
	add_text(l, d, checks[d->check].advice);
}
