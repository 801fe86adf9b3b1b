/* SPDX-License-Identifier: BSD-2-Clause */
/* The part that the ways of a fabric have in an explanation of a QP, see explain.h. */
#include "explain/path/path.h"

const char *vb_explain_way(const struct vb_explain_in *in, bool is_late, struct vb_explanation *out)
{
	for (uint32_t i = 0; i < in->way_cnt; i++) {
		struct vb_path_verdict is;

		vb_path_judge(&in->way[i], &is);
		if (is.rank == VB_RANK_WELL || (is.rank == VB_RANK_STUCK) != is_late)
			continue;
		vb_line(&out->what,
			is_late ? "They are held up on the way %s."
				: "The way %s is broken, as the tables stand now.",
			i ? "of the answers" : "of its packets");
		vb_path_say(&in->way[i], &is, out);
		return vb_path_cause_word(is.cause);
	}
	return NULL;
}

const char *vb_explain_way_unknown(const struct vb_explain_in *in, struct vb_explanation *out)
{
	vb_line(&out->what,
		"Nothing breaks the way of its packets as the tables stand now%s: they were lost "
		"before, or the QP "
		"there drops them (another P_Key, PSN or sender).",
		in->way_cnt > 1 ? ", nor that of the answers" : "");
	vb_line(&out->advice, "See what the ports on the way have counted: 'perfquery', "
			      "'ibqueryerrors', and 'verbena explain --path'.");
	return "no-answer";
}
