/* SPDX-License-Identifier: BSD-2-Clause */
/* How `verbena explain` shows what it found: a table, one QP in words with a drawing, or JSON. */
#include "cmd/explain/explain.h"
#include "cmd/json.h"
#include "explain/path/path.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct vb_word process_of(const struct vb_qp_case *k)
{
	struct vb_word w;

	snprintf(w.s, sizeof w.s, "%" PRIu32 " %.15s", k->pid, k->comm);
	return w;
}

static bool is_connected(const struct vb_qp_view *v)
{
	return v->type != VB_QPT_UD && v->state >= VB_QPS_RTR;
}

/* The cause in a few words, where the headline tells the symptom alone: no answer. */
static const char *cause_in_short(const char *cause)
{
	static const struct {
		const char *cause, *says;
	} words[] = {
	    {"refused", "UDP port 4791 is unreachable there"},
	    {"firewall", "a firewall rejects the packets"},
	    {"send-error", "sending fails here"},
	    {"no-route", "this host has no route there"},
	    {"unresolved", "the address does not resolve"},
	    {"peer-gone", "the process there has ended"},
	    {"peer-stopped", "the process there is stopped"},
	    {"peer-qpn-unknown", "that QP is not there"},
	    {"peer-destroyed", "the QP there was destroyed"},
	    {"wrong-qpn", "the QPN is wrong"},
	    {"peer-not-ready", "the QP there is not in RTR yet"},
	    {"peer-error", "the QP there is in the error state"},
	    {"peer-of-another", "the QP there is connected to another"},
	    {"wrong-psn", "the QP there expects another PSN"},
	    {"fault", "fault rules of this process"},
	    {"network-mtu", "the network drops packets as long as the path MTU"},
	    {"dropped", "packets are dropped on the way"},
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i].cause, cause) == 0)
			return words[i].says;
	return NULL;
}

/* It is one of explain/path/cause.def. */
static bool is_cause_of_way(const char *cause)
{
	for (uint32_t i = 0; i < VB_PATH_CAUSE_CNT; i++)
		if (strcmp(vb_path_cause_word((enum vb_path_cause)i), cause) == 0)
			return true;
	return false;
}

static void show_because(FILE *f, const struct vb_explanation *why)
{
	const char *cause = why->rank <= VB_RANK_WAITING ? cause_in_short(why->cause) : NULL;

	fputs(why->what.cnt ? why->what.text[0] : "", f);
	if (cause)
		fprintf(f, " Cause: %s.", cause);
	else if (why->rank <= VB_RANK_WAITING && is_cause_of_way(why->cause))
		fprintf(f, " Cause: the way through the fabric (%s).", why->cause);
	else if (why->check)
		fprintf(f, " Check: %s.", why->check);
	fputc('\n', f);
}

void vb_explain_show_table(FILE *f, const struct vb_qp_cases *c, const uint32_t *which,
			   uint32_t cnt)
{
	uint32_t of_rank[VB_RANK_CNT] = {0}, past = 0;

	fprintf(f, "%-9s %-4s %-5s %-10s %-22s %-10s %s\n", "QPN", "TYPE", "STATE", "DEVICE",
		"PROCESS", "IT IS", "BECAUSE");
	for (uint32_t i = 0; i < cnt; i++) {
		const struct vb_qp_case *k = &c->at[which[i]];
		const struct vb_qp_view *v = vb_case_view(k);

		fprintf(f, "0x%06" PRIx32 "  %-4s %-5s %-10s %-22s %-10s ", k->qpn,
			vb_word_type(v->type), k->has_view ? vb_word_state(v->state) : "gone",
			k->device, process_of(k).s, vb_rank_name(k->why.rank));
		show_because(f, &k->why);
		of_rank[k->why.rank]++;
		past += k->ended != 0;
	}
	fprintf(f, "%u failed, %u stuck, %u waiting, %u recovered, %u well", of_rank[0], of_rank[1],
		of_rank[2], of_rank[3], of_rank[4]);
	if (past)
		fprintf(f, "; %u of programs that have ended", past);
	fputc('\n', f);
	if (of_rank[VB_RANK_FAILED] + of_rank[VB_RANK_STUCK] + of_rank[VB_RANK_WAITING])
		fputs("'verbena explain QPN' tells the whole of one, and what can be done.\n", f);
	if (c->unseen)
		fprintf(f,
			"%u more QPs, without trouble, are not listed; 'verbena explain QPN' shows "
			"them.\n",
			c->unseen);
	if (c->mute_cnt)
		fprintf(
		    f,
		    "%u program%s did not answer (stopped, or without a chance to run): their QPs "
		    "as they last stood, in trouble only.\n",
		    c->mute_cnt, c->mute_cnt == 1 ? "" : "s");
	if (c->lost)
		fprintf(f, "%u histories of trouble were thrown away for later ones.\n", c->lost);
}

void vb_explain_show_refused(FILE *f, const struct vb_qp_cases *c, uint32_t pid, uint32_t qpn)
{
	bool is_first = true;
	char name[16];

	snprintf(name, sizeof name, "QP 0x%06" PRIx32 ":", qpn);
	for (uint32_t i = 0; i < c->refused_cnt; i++) {
		const struct vb_refused_case *k = &c->refused[i];
		const struct vb_refused *r = &k->refused;
		const char *err = strerrorname_np(r->err);

		if ((pid && k->pid != pid) || (qpn && !strstr(r->text, name)))
			continue;
		if (is_first)
			fputs("\nRefused:\n", f);
		is_first = false;
		fprintf(f, "  %s ago, process %" PRIu32 " %s, %s: %s",
			vb_word_ns(c->now > r->at ? c->now - r->at : 0).s, k->pid, k->comm,
			err ? err : "?", r->text);
		if (r->cnt > 1)
			fprintf(f, " (%" PRIu32 " times)", r->cnt);
		fputc('\n', f);
	}
}

static struct vb_word own_end(const struct vb_qp_view *v)
{
	struct vb_path own = {.dlid = v->attr.path.slid};

	if (vb_path_has_grh(&v->attr.path))
		own.dgid = v->attr.path.sgid;
	return vb_word_peer(&own);
}

static void show_head(FILE *f, const struct vb_qp_case *k)
{
	const struct vb_qp_view *v = vb_case_view(k);

	fprintf(f, "QP 0x%06" PRIx32 " (%" PRIu32 "), %s, %s, process %s%s: %s\n", k->qpn, k->qpn,
		vb_word_type(v->type), k->device[0] ? k->device : "no device yet", process_of(k).s,
		k->ended ? " (ended)" : "", vb_rank_name(k->why.rank));
	if (is_connected(v))
		fprintf(f, "  from %s to %s, QP 0x%06" PRIx32 " there; %s, path MTU %u\n",
			own_end(v).s, vb_word_peer(&v->attr.path).s, v->attr.dest_qpn,
			k->has_view ? vb_word_state(v->state) : "gone",
			vb_mtu_bytes(v->attr.path_mtu));
	else
		fprintf(f, "  %s\n", vb_word_state(v->state));
}

void vb_explain_show(FILE *f, const struct vb_qp_cases *c, const struct vb_qp_case *k)
{
	static struct vb_row row[VB_ROWS_MAX];
	uint32_t cnt = k->has_history ? vb_timeline(&k->history, k->in.view, row) : 0;
	char clock[32], from[48] = "";
	struct tm tm;

	show_head(f, k);
	if (cnt) {
		uint64_t real = c->real_ns - vb_time_since(row[0].at, c->now);
		time_t seconds = (time_t)(real / VB_SEC);

		strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&seconds, &tm));
		snprintf(from, sizeof from, "%s.%03u", clock, (unsigned)(real % VB_SEC / VB_MSEC));
	}
	vb_explain_cm_of_qp(f, c, k);
	vb_explain_draw(f, &k->why, row, cnt, from);
}

static void json_timeline(FILE *f, const struct vb_qp_cases *c, const struct vb_qp_case *k)
{
	static const char *const kind[VB_ROW_KIND_CNT] = {"sent",   "timeout",  "nak", "refused",
							  "resent", "progress", "end", "other",
							  "gap",    "next"};
	static struct vb_row row[VB_ROWS_MAX];
	uint32_t cnt = k->has_history ? vb_timeline(&k->history, k->in.view, row) : 0;

	fputs(",\n   \"timeline\": [", f);
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t real = c->real_ns + row[i].at - c->now;

		fprintf(f,
			"%s\n    {\"time_ns\": %" PRIu64 ", \"ran_ns\": %" PRIu64
			", \"kind\": \"%s\", \"text\": ",
			i ? "," : "", real, vb_time_since(row[i].from, row[i].at),
			kind[row[i].kind]);
		vb_json_text(f, row[i].text);
		putc('}', f);
	}
	putc(']', f);
}

void vb_explain_show_json(FILE *f, const struct vb_qp_cases *c, const uint32_t *which, uint32_t cnt)
{
	fputs("[", f);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct vb_qp_case *k = &c->at[which[i]];
		const struct vb_qp_view *v = vb_case_view(k);

		fprintf(f,
			"%s\n  {\"qpn\": %" PRIu32
			", \"type\": \"%s\", \"state\": \"%s\", \"pid\": "
			"%" PRIu32 ", \"ended\": %s, \"program\": ",
			i ? "," : "", k->qpn, vb_word_type(v->type),
			k->has_view ? vb_word_state(v->state) : "gone", k->pid,
			k->ended ? "true" : "false");
		vb_json_text(f, k->comm);
		fputs(", \"device\": ", f);
		vb_json_text(f, k->device);
		fprintf(f, ",\n   \"remote\": \"%s\", \"dest_qpn\": %" PRIu32,
			is_connected(v) ? vb_word_peer(&v->attr.path).s : "", v->attr.dest_qpn);
		fprintf(f, ", \"rank\": \"%s\", \"cause\": \"%s\"", vb_rank_name(k->why.rank),
			k->why.cause);
		if (k->why.check)
			fprintf(f, ", \"check\": \"%s\"", k->why.check);
		fprintf(f,
			", \"timeouts\": %" PRIu64 ", \"naks\": %" PRIu64
			", \"implied_naks\": %" PRIu64 ", \"rnr_naks\": %" PRIu64,
			k->history.timeouts, k->history.naks, k->history.implied_naks,
			k->history.rnr_naks);
		fprintf(f, ", \"posted\": %u, \"unacked\": %u, \"receives\": %u", v->posted,
			v->unacked, v->recvs);
		vb_json_lines(f, "what", &k->why.what);
		vb_json_lines(f, "advice", &k->why.advice);
		json_timeline(f, c, k);
		fputs("}", f);
	}
	fputs("\n]\n", f);
}
