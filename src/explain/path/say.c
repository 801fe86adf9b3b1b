/* SPDX-License-Identifier: BSD-2-Clause */
/* The causes of path/cause.def in words, see path.h. */
#include "explain/path/path.h"

#include "fabric/ib/link_state.h"
#include "wire/mad/smp.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static const struct cause_row {
	const char *word, *brief, *what, *advice;
	uint32_t counters;
} causes[VB_PATH_CAUSE_CNT] = {
#define CAUSE(id, word, brief, counters, what, advice) {word, brief, what, advice, counters},
#include "explain/path/cause.def"
#undef CAUSE
};

/* The values that stand for $ in the texts. */
struct words_of {
	const struct vb_path_view *v; /* NULL: a port by itself */
	const struct vb_path_verdict *is;
	const char *fabric;
	const struct vb_path_manager *manager;
};

const char *vb_path_cause_word(enum vb_path_cause cause)
{
	return (unsigned)cause < VB_PATH_CAUSE_CNT ? causes[cause].word : "?";
}

const char *vb_path_state(uint8_t state)
{
	switch (state) {
#define LINK_STATE(name, code, send_mgmt, send_data, receive_mgmt, receive_data)                   \
	case VB_LINK_##name:                                                                       \
		return #name;
#include "fabric/ib/link_state.def"
#undef LINK_STATE
	default:
		return "?";
	}
}

static void say_place(const struct vb_path_port *p, struct vb_lines *l)
{
	if (p->node[0])
		vb_line_more(l, "port %u of %s", p->number, p->node);
	else
		vb_line_more(l, "a port that nobody has");
}

/* "S-0000, S-0001, S-0000": from a port that the packet leaves by twice to its second time. */
static void say_circle(const struct vb_path_view *v, struct vb_lines *l)
{
	const struct vb_path_hop *last = &v->hop[v->hop_cnt - 1];
	uint32_t from = v->hop_cnt - 1;

	while (from-- > 0)
		if (v->hop[from].out.number == last->out.number &&
		    strcmp(v->hop[from].out.node, last->out.node) == 0)
			break;
	for (uint32_t i = from + 1 ? from : 0; i < v->hop_cnt; i++)
		vb_line_more(l, "%s%s", i == from ? "" : ", ", v->hop[i].out.node);
}

static void say_programs(const struct vb_path_view *v, struct vb_lines *l)
{
	for (uint32_t i = 0; i < v->stopped_cnt; i++)
		vb_line_more(l, "%sprocess %" PRIu32 " %s", i ? ", " : "", v->stopped[i].pid,
			     v->stopped[i].comm);
}

/* The values that a view alone has. */
static void say_of_view(const struct words_of *w, char what, struct vb_lines *l)
{
	const struct vb_path_view *v = w->v;

	if (!v)
		return;
	switch (what) {
	case 'b':
		say_place(&v->from, l);
		break;
	case 'o':
		say_place(&v->to, l);
		break;
	case 'd':
		vb_line_more(l, "%u", v->dlid);
		break;
	case 's':
		vb_line_more(l, "%u", v->sl);
		break;
	case 'k':
		vb_line_more(l, "0x%04x", v->pkey);
		break;
	case 'w':
		vb_line_more(l, "%u", vb_mtu_bytes(v->mtu));
		break;
	case 'e':
		vb_line_more(l, "%u", v->entry);
		break;
	case 't':
		vb_line_more(l, "%u", v->at_top);
		break;
	case 'c':
		vb_line_more(l, "%u", v->at_port_cnt);
		break;
	case 'x':
		vb_line_more(l, "%u", v->hop_limit);
		break;
	case 'S':
		vb_line_more(l, "%s%s", vb_path_state(v->at.state),
			     v->end == VB_PATH_RECEIVED_NOT ? " and takes no data" : "");
		break;
	case 'P':
		vb_line_more(l, "0x%016" PRIx64, v->from_prefix);
		break;
	case 'Q':
		vb_line_more(l, "0x%016" PRIx64, v->prefix);
		break;
	case 'L':
		say_circle(v, l);
		break;
	case 'p':
		say_programs(v, l);
		break;
	default:
		break;
	}
}

/* By the manager's own node, or else by the port that it cannot configure. */
static uint32_t refusals_of(const struct words_of *w)
{
	return w->manager->refused ? w->manager->refused : w->is->at.mkey_violations;
}

static void say_value(const struct words_of *w, char what, struct vb_lines *l)
{
	const struct vb_path_verdict *is = w->is;

	switch (what) {
	case 'a':
		say_place(&is->at, l);
		break;
	case 'A':
		vb_line_more(l, "%s", is->at.node);
		break;
	case 'f':
		say_place(&is->far, l);
		break;
	case 'q':
		vb_line_more(l, "%u", is->at.number);
		break;
	case 'i':
		vb_line_more(l, "%u", is->in_port);
		break;
	case 'l':
		vb_line_more(l, "%u", is->at.lid);
		break;
	case 'v':
		vb_line_more(l, "%u", is->vl);
		break;
	case 'n':
		vb_line_more(l, "%u", is->at.lane_cnt);
		break;
	case 'm':
		vb_line_more(l, "%u", vb_mtu_bytes(is->at.mtu));
		break;
	case 'r':
		vb_line_more(l, "%u", refusals_of(w));
		break;
	case 'R':
		vb_line_more(l, "%s", w->manager->refused ? w->manager->node : is->at.node);
		break;
	case 'z':
		vb_line_more(l, "%s", vb_word_ns(is->stalled).s);
		break;
	case 'g':
		vb_line_more(l, "%s", w->manager->node);
		break;
	case 'F':
		vb_line_more(l, "%s", w->fabric);
		break;
	default:
		say_of_view(w, what, l);
		break;
	}
}

/* A line of @text with what stands for each $; a place that begins it has a capital letter. */
static void say_text(const struct words_of *w, const char *text, struct vb_lines *l)
{
	char *first;

	vb_line(l, "%s", "");
	for (const char *p = text; *p; p++) {
		if (*p == '$')
			say_value(w, *++p, l);
		else
			vb_line_more(l, "%c", *p);
	}
	first = l->cnt ? l->text[l->cnt - 1] : NULL;
	if (first && text[0] == '$' && strncmp(first, "port ", 5) == 0)
		first[0] = 'P';
}

/* "There: PortRcvSwitchRelayErrors 12." */
static void say_counters(const struct vb_path_verdict *is, struct vb_lines *l)
{
	const struct vb_path_port *at = &is->at;
	uint32_t mask = causes[is->cause].counters;
	const char *before = "";

	for (uint32_t i = 0; i < VB_PMA_COUNTERS; i++) {
		if (!(mask >> i & 1))
			continue;
		if (!before[0]) {
			vb_line(l, "Counted by ");
			say_place(at, l);
			before = ": ";
		}
		vb_line_more(l, "%s%s %" PRIu64, before, vb_pma_counter_name(i), at->counter[i]);
		before = ", ";
	}
	if (is->cause == VB_PATH_CAUSE_PKEY_RECEIVER || is->cause == VB_PATH_CAUSE_PKEY_LIMITED) {
		vb_line(l, "Counted by ");
		say_place(at, l);
		vb_line_more(l, ": P_KeyViolations %u", at->pkey_violations);
		before = ", ";
	}
	if (is->cause == VB_PATH_CAUSE_NOT_ROUTED || is->cause == VB_PATH_CAUSE_HOP_LIMIT) {
		vb_line(l, "Counted by ");
		say_place(at, l);
		vb_line_more(l,
			     ": %" PRIu64 " not routed, %" PRIu64 " at the end of their hop limit",
			     at->not_routed, at->hops_ended);
		before = ", ";
	}
	if (before[0])
		vb_line_more(l, ".");
}

static const char *method_name(uint8_t method)
{
	return method == VB_MAD_METHOD_SET ? "Set" : method == VB_MAD_METHOD_GET ? "Get" : "method";
}

/* The SMPs that a node has refused, for their M_Key. FAB-16, FAB-17 */
static void say_refused(const struct vb_path_port *p, struct vb_explanation *out)
{
	struct vb_lines *l = &out->what;

	vb_line(l, "%s has an M_Key (protection %u), and refused %u SMP%s that did not have it",
		p->node, p->mkey_protect, p->mkey_violations, p->mkey_violations == 1 ? "" : "s");
	if (p->has_refused)
		vb_line_more(l, ", the last one %s of attribute 0x%04x",
			     method_name(p->refused_method), p->refused_attr);
	if (p->mkey_ends != VB_NEVER)
		vb_line_more(l, "; its lease ends in %s, and with it the protection",
			     vb_word_ns(p->mkey_ends).s);
	else if (p->mkey_lease)
		vb_line_more(l, "; its lease of %u s does not run, since its owner has asked since",
			     p->mkey_lease);
	else
		vb_line_more(l, "; its lease is for ever");
	vb_line_more(l, ".");
	vb_line(
	    &out->advice,
	    "Whoever asks %s needs its M_Key: 'm_key' in the options of opensm, 'smpquery -m KEY', "
	    "'ibportstate -m KEY'.",
	    p->node);
}

/* Of a port by itself: a switch has one M_Key, at its port 0. */
static bool has_refused(const struct vb_path_port *p, bool by_itself)
{
	return p->has_mkey && p->mkey_violations != 0 &&
	       !(by_itself && p->type == VB_NODE_SWITCH && p->number != 0);
}

static void say_cause(const struct words_of *w, struct vb_explanation *out)
{
	const struct cause_row *row = &causes[w->is->cause];

	out->cause = row->word;
	out->rank = w->is->rank;
	say_text(w, row->what, &out->what);
	say_counters(w->is, &out->what);
	if (row->advice[0])
		say_text(w, row->advice, &out->advice);
}

void vb_path_say(const struct vb_path_view *v, const struct vb_path_verdict *is,
		 struct vb_explanation *out)
{
	const struct words_of w = {v, is, v->fabric, &v->manager};
	enum vb_explain_rank rank = out->rank;

	say_cause(&w, out);
	out->rank = rank;
}

void vb_path_reason(const struct vb_path_view *v, struct vb_lines *out)
{
	struct vb_path_verdict is;
	const struct words_of w = {v, &is, v->fabric, &v->manager};

	*out = (struct vb_lines){.cnt = 0};
	vb_path_judge_way(v, &is);
	if (is.cause != VB_PATH_CAUSE_WELL)
		say_text(&w, causes[is.cause].brief, out);
}

#define REFUSALS_MAX 3u

void vb_path_explain(const struct vb_path_view *v, struct vb_explanation *out)
{
	struct vb_path_verdict is;
	const struct words_of w = {v, &is, v->fabric, &v->manager};
	const char *told = "";
	uint32_t n = 0;

	*out = (struct vb_explanation){.rank = VB_RANK_WELL};
	vb_path_judge(v, &is);
	say_cause(&w, out);
	for (uint32_t i = 0; i < v->hop_cnt && n < REFUSALS_MAX; i++) {
		const struct vb_path_port *ends[] = {&v->hop[i].out, &v->hop[i].in};

		for (size_t k = 0; k < 2 && n < REFUSALS_MAX; k++) {
			if (!has_refused(ends[k], false) || strcmp(told, ends[k]->node) == 0)
				continue;
			told = ends[k]->node;
			say_refused(ends[k], out);
			n++;
		}
	}
}

void vb_path_explain_port(const struct vb_path_port *p, const struct vb_path_port *far,
			  const char *fabric, const struct vb_path_manager *manager,
			  struct vb_explanation *out)
{
	struct vb_path_verdict is = {.cause = VB_PATH_CAUSE_WELL, .at = *p, .far = *far};
	const struct words_of w = {NULL, &is, fabric, manager};
	bool has_link = p->number != 0;

	*out = (struct vb_explanation){.rank = VB_RANK_WELL};
	assert(fabric && manager);
	if (has_link)
		is.cause = vb_path_judge_link(p, manager);
	if (is.cause == VB_PATH_CAUSE_DOWN && far->phys == VB_PHYS_DISABLED) {
		is.cause = VB_PATH_CAUSE_DISABLED;
		is.at = *far;
		is.far = *p;
	}
	if (is.cause == VB_PATH_CAUSE_WELL) {
		out->cause = vb_path_cause_word(is.cause);
		vb_line(&out->what,
			has_link ? "Its link carries data." : "It is the switch's own port.");
	} else {
		is.rank = VB_RANK_FAILED;
		say_cause(&w, out);
	}
	if (has_refused(p, true)) {
		say_refused(p, out);
		if (out->rank == VB_RANK_WELL)
			out->rank = VB_RANK_TROUBLED;
	}
}
