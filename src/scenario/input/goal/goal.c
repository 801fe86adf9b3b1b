/* SPDX-License-Identifier: BSD-2-Clause */
/* GOAL to a graph, statement by statement. See goal.h. */
#include "scenario/input/goal/goal.h"

#include "base/assert.h"
#include "scenario/input/goal/labels.h"
#include "scenario/input/goal/words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TAG_MAX (UINT32_MAX - 1) /* the last one is any tag, in LogGOPSim */

struct goal {
	const char *text;
	size_t len;
	const struct vb_complaint *c;
	struct vb_goal_words w;
	struct vb_goal_labels labels;
	struct vb_graph *g;
	uint32_t rank_cnt, rank;
	uint8_t *is_there; /* by rank */
};

static int goal_expect(const struct goal *p, const char *what)
{
	char shown[VB_TOKEN_SHOWN];

	if (p->w.kind == VB_GOAL_END)
		return vb_complain(p->c, p->w.word.line, p->w.word.column,
				   "%s is missing here, at the end", what);
	return vb_complain(p->c, p->w.word.line, p->w.word.column,
			   "%s is expected here, not \"%s\"", what,
			   vb_token_show(&p->w.word, shown));
}

/* The present word is @text: goes on behind it. */
static bool word_take(struct goal *p, const char *text)
{
	if (p->w.kind == VB_GOAL_END || !vb_token_is(&p->w.word, text))
		return false;
	vb_goal_words_next(&p->w);
	return true;
}

/* A number up to @max, which @what is. */
static int number_take(struct goal *p, const char *what, uint64_t max, uint64_t *out)
{
	char shown[VB_TOKEN_SHOWN];

	*out = 0;
	if (p->w.kind == VB_GOAL_SIGN && p->w.word.text[0] == '-')
		return vb_complain(p->c, p->w.word.line, p->w.word.column,
				   "%s is a number: any source and any tag (-1) are not taken here",
				   what);
	if (p->w.kind != VB_GOAL_NUMBER)
		return goal_expect(p, what);
	if (!vb_token_number(&p->w.word, max, out))
		return vb_complain(p->c, p->w.word.line, p->w.word.column,
				   "%s is 0 to %" PRIu64 ", not %s", what, max,
				   vb_token_show(&p->w.word, shown));
	vb_goal_words_next(&p->w);
	return 0;
}

static bool is_statement_end(const struct goal *p)
{
	return p->w.kind == VB_GOAL_END || p->w.word.line > p->w.last_line ||
	       vb_token_is(&p->w.word, ";") || vb_token_is(&p->w.word, "}");
}

/* Behind an operation: tag, cpu and nic, in any order. */
static int options_read(struct goal *p, struct vb_graph_op *op)
{
	while (!is_statement_end(p)) {
		bool is_message = op->kind != VB_GRAPH_CALC;
		uint64_t v;
		int bad;

		if (is_message && word_take(p, "tag")) {
			bad = number_take(p, "a tag", TAG_MAX, &v);
			op->tag = (uint32_t)v;
		} else if (word_take(p, "cpu")) {
			bad = number_take(p, "a cpu", VB_GRAPH_STREAMS_MAX - 1, &v);
			op->stream = is_message ? 0 : (uint8_t)v;
		} else if (is_message && word_take(p, "nic")) {
			bad = number_take(p, "a nic (a host has one)", 0, &v);
		} else {
			return goal_expect(p, is_message ? "tag, cpu, nic or the end of the line"
							 : "cpu or the end of the line");
		}
		if (bad)
			return bad;
	}
	return 0;
}

/* "8b to 1", "8b from 0". */
static int message_read(struct goal *p, struct vb_graph_op *op)
{
	bool sends = op->kind == VB_GRAPH_SEND;
	struct vb_token place;
	uint64_t peer;
	int bad = number_take(p, "the size of a message", VB_GRAPH_BYTES_MAX, &op->amount);

	if (bad)
		return bad;
	if (!word_take(p, "b"))
		return goal_expect(p, "b, for bytes,");
	if (!word_take(p, sends ? "to" : "from"))
		return goal_expect(p, sends ? "to" : "from");
	place = p->w.word;
	bad = number_take(p, "a rank", p->rank_cnt - 1, &peer);
	if (!bad && peer == p->rank)
		bad = vb_complain(p->c, place.line, place.column, "rank %u %s itself", p->rank,
				  sends ? "sends to" : "receives from");
	op->peer = (uint32_t)peer;
	return bad;
}

/* An operation, whose word is the present one; @label may be NULL. */
static int op_read(struct goal *p, const struct vb_token *label, uint32_t mark)
{
	struct vb_graph_op op = {.rank = p->rank, .mark = mark};
	uint32_t number;
	int bad;

	if (word_take(p, "send"))
		op.kind = VB_GRAPH_SEND;
	else if (word_take(p, "recv"))
		op.kind = VB_GRAPH_RECV;
	else if (word_take(p, "calc"))
		op.kind = VB_GRAPH_CALC;
	else
		return goal_expect(p, "send, recv or calc");
	bad = op.kind == VB_GRAPH_CALC
		  ? number_take(p, "the time of a calc, in ns,", VB_GRAPH_TIME_MAX, &op.amount)
		  : message_read(p, &op);
	if (!bad)
		bad = options_read(p, &op);
	if (bad)
		return bad;
	if (vb_graph_is_full(p->g))
		return -E2BIG;
	number = vb_graph_add(p->g, &op);
	bad = label ? vb_goal_labels_add(&p->labels, label, number) : 0;
	if (bad == -EEXIST) {
		char shown[VB_TOKEN_SHOWN];

		return vb_complain(p->c, label->line, label->column,
				   "rank %u has a label \"%s\" already", p->rank,
				   vb_token_show(label, shown));
	}
	return bad;
}

/* The operation that the present word is the label of. */
static int label_take(struct goal *p, const struct vb_token *label, uint32_t *op)
{
	char shown[VB_TOKEN_SHOWN];

	*op = vb_goal_labels_find(&p->labels, label);
	if (*op == UINT32_MAX)
		return vb_complain(p->c, label->line, label->column,
				   "rank %u has no label \"%s\" above", p->rank,
				   vb_token_show(label, shown));
	return 0;
}

/* "l2 requires l1", behind its first word. */
static int requirement_read(struct goal *p, const struct vb_token *label)
{
	bool at_start = vb_token_is(&p->w.word, "irequires");
	uint32_t op, before;
	int bad = label_take(p, label, &op);

	vb_goal_words_next(&p->w);
	if (!bad && p->w.kind != VB_GOAL_NAME)
		bad = goal_expect(p, "a label");
	if (!bad)
		bad = label_take(p, &p->w.word, &before);
	if (bad)
		return bad;
	vb_goal_words_next(&p->w);
	if (!is_statement_end(p))
		return goal_expect(p, "the end of the line");
	if (vb_graph_is_full(p->g))
		return -E2BIG;
	vb_graph_require(p->g, op, before, at_start);
	return 0;
}

/* A line of a rank. */
static int statement_read(struct goal *p)
{
	uint32_t mark = vb_goal_words_mark(&p->w);
	struct vb_goal_words first = p->w;

	if (p->w.kind != VB_GOAL_NAME)
		return goal_expect(p, "an operation, a label or }");
	vb_goal_words_next(&p->w);
	if (p->w.kind == VB_GOAL_NAME &&
	    (vb_token_is(&p->w.word, "requires") || vb_token_is(&p->w.word, "irequires")))
		return requirement_read(p, &first.word);
	if (word_take(p, ":"))
		return op_read(p, &first.word, mark);
	if (!vb_token_is(&first.word, "send") && !vb_token_is(&first.word, "recv") &&
	    !vb_token_is(&first.word, "calc"))
		return goal_expect(p, "\":\", requires or irequires");
	p->w = first;
	return op_read(p, NULL, mark);
}

/* "rank 0 { ... }". */
static int rank_read(struct goal *p)
{
	struct vb_token place;
	uint64_t rank;
	int bad;

	if (!word_take(p, "rank"))
		return goal_expect(p, "rank");
	place = p->w.word;
	bad = number_take(p, "a rank", p->rank_cnt - 1, &rank);
	if (bad)
		return bad;
	if (p->is_there[rank])
		return vb_complain(p->c, place.line, place.column, "rank %u is there twice",
				   (uint32_t)rank);
	p->is_there[rank] = 1;
	p->rank = (uint32_t)rank;
	if (!word_take(p, "{"))
		return goal_expect(p, "{");
	vb_goal_labels_begin(&p->labels);
	while (!bad && !word_take(p, "}"))
		bad = word_take(p, ";") ? 0 : statement_read(p);
	return bad;
}

static int goal_make(void *ctx, struct vb_graph *g)
{
	struct goal *p = ctx;
	struct vb_goal_words begin = p->w;
	int bad = 0;

	p->g = g;
	for (uint32_t i = 0; i < p->rank_cnt; i++)
		p->is_there[i] = 0;
	while (!bad && p->w.kind != VB_GOAL_END)
		bad = rank_read(p);
	p->w = begin; /* for the second time */
	return bad;
}

/* Its name in complaints: "l2 of rank 1", or without a label "send of rank 1"; and its line. */
static uint32_t op_name(const struct goal *p, const struct vb_graph_op *op, char *name, size_t size)
{
	struct vb_goal_words w = vb_goal_words_at(p->text, p->len, op->mark);
	char shown[VB_TOKEN_SHOWN];

	snprintf(name, size, "%s of rank %u", vb_token_show(&w.word, shown), op->rank);
	return w.word.line;
}

static int fault_complain(const struct goal *p, const struct vb_graph_fault *f)
{
	struct vb_goal_words w;
	char op[80], other[80];
	uint32_t line;

	if (f->kind == VB_GRAPH_TOO_LARGE)
		return vb_complain(p->c, p->w.word.line, p->w.word.column,
				   "there are more than %u operations, or %u requirements, or "
				   "ranks times cpus",
				   VB_GRAPH_OPS_MAX, VB_GRAPH_EDGES_MAX);
	w = vb_goal_words_at(p->text, p->len, f->op.mark);
	(void)op_name(p, &f->op, op, sizeof op);
	line = op_name(p, &f->other, other, sizeof other);
	switch (f->kind) {
	case VB_GRAPH_UNSENT:
		return vb_complain(
		    p->c, w.word.line, w.word.column,
		    "%s waits for ever: rank %u has no send to it with tag %u that no "
		    "other recv takes",
		    op, f->op.peer, f->op.tag);
	case VB_GRAPH_UNRECEIVED:
		return vb_complain(
		    p->c, w.word.line, w.word.column,
		    "nobody takes %s: rank %u has no recv from it with tag %u that no "
		    "other send is for",
		    op, f->op.peer, f->op.tag);
	case VB_GRAPH_TOO_SHORT:
		return vb_complain(p->c, w.word.line, w.word.column,
				   "%s has room for %" PRIu64
				   " bytes: %s in line %u sends %" PRIu64,
				   op, f->op.amount, other, line, f->other.amount);
	default:
		VB_ASSERT(f->kind == VB_GRAPH_CIRCLE);
		return vb_complain(p->c, w.word.line, w.word.column,
				   "%s never starts or ends: it waits for %s in line %u, and "
				   "that one in the end for it",
				   op, other, line);
	}
}

/* "num_ranks 2". */
static int head_read(struct goal *p, uint32_t hosts)
{
	struct vb_token place;
	uint64_t ranks;
	int bad;

	if (!word_take(p, "num_ranks"))
		return goal_expect(p, "num_ranks");
	place = p->w.word;
	bad = number_take(p, "the number of ranks", VB_GRAPH_RANKS_MAX, &ranks);
	if (!bad && (ranks == 0 || ranks > hosts))
		bad = vb_complain(p->c, place.line, place.column,
				  "there are %" PRIu64 " ranks, and %u hosts", ranks, hosts);
	p->rank_cnt = (uint32_t)ranks;
	return bad;
}

int vb_goal_parse(struct vb_graph **out, const char *text, size_t len, uint32_t hosts,
		  const struct vb_sim_memory *memory, const struct vb_complaint *c)
{
	struct goal p = {.text = text, .len = len, .c = c, .w = vb_goal_words_of(text, len)};
	const struct vb_graph_maker maker = {goal_make, &p};
	struct vb_graph_fault fault;
	int bad = head_read(&p, hosts);

	VB_ASSERT(len <= VB_GOAL_TEXT_MAX);
	if (bad)
		return bad;
	VB_ASSERT(p.rank_cnt > 0);
	p.is_there = calloc(p.rank_cnt, 1);
	bad = p.is_there ? vb_graph_create(out, p.rank_cnt, &maker, memory, &fault) : -ENOMEM;
	if (bad == -EINVAL && fault.kind != VB_GRAPH_IS_GOOD)
		bad = fault_complain(&p, &fault);
	vb_goal_labels_free(&p.labels);
	free(p.is_there);
	return bad;
}
