/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of a fabric, asked for and shown, see path.h. */
#include "cmd/explain/path.h"

#include "cmd/explain/draw.h"
#include "cmd/json.h"
#include "node/subnet/client.h"
#include "node/subnet/path/path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Asks the fabric's process. Returns a descriptor of the records that come back, or a negative
 * errno with @why. */
static int records_ask(const char *fabric, const char *text, char *why, size_t why_size)
{
	static struct vb_subnet_call call;
	struct vb_subnet_answer answer = {.status = 0};
	struct vb_fds fds = {.cnt = 0};
	int sock = vb_subnet_dial(fabric, why, why_size), rc;

	if (sock < 0)
		return sock;
	vb_subnet_call_text(&call, VB_SUBNET_COMMAND, text);
	rc = vb_subnet_ask(sock, &call, -1, &answer, &fds);
	close(sock);
	if (!rc && answer.status == 0 && fds.cnt == 1)
		return fds.fd[0];
	vb_fds_close(&fds);
	answer.text[sizeof answer.text - 1] = 0;
	if (!rc)
		rc = answer.status ? answer.status : -EPROTO;
	if (answer.text[0])
		snprintf(why, why_size, "%s", answer.text);
	else
		snprintf(why, why_size, "the fabric '%s' does not say: %s", fabric, strerror(-rc));
	return rc;
}

int vb_explain_path_question(const char *fabric, const char *question, struct vb_path_view v[2],
			     char *why, size_t why_size)
{
	int fd = records_ask(fabric, question, why, why_size), cnt = 0;

	if (fd < 0)
		return fd;
	while (cnt < 2 &&
	       pread(fd, &v[cnt], sizeof v[0], (off_t)(cnt * sizeof v[0])) == (ssize_t)sizeof v[0])
		vb_path_heal(&v[cnt++]);
	close(fd);
	if (cnt)
		return cnt;
	snprintf(why, why_size, "the fabric '%s' is of another version of verbena", fabric);
	return -EPROTO;
}

static uint32_t mtu_code(uint32_t bytes)
{
	uint32_t code = 1;

	while (code < VB_MTU_4096 && vb_mtu_bytes(code) < bytes)
		code++;
	return bytes ? code : 0;
}

int vb_explain_path_ask(const char *fabric, const struct vb_explain_path *p,
			struct vb_path_view v[2], char *why, size_t why_size)
{
	char text[250], pkey[24] = "", dlid[24] = "";
	int n;

	if (p->pkey >= 0)
		snprintf(pkey, sizeof pkey, " pkey=%d", p->pkey);
	if (p->dlid >= 0)
		snprintf(dlid, sizeof dlid, " dlid=%d", p->dlid);
	n = snprintf(text, sizeof text, "path sl=%d mtu=%u%s%s\t%s\t%s", p->sl < 0 ? 0 : p->sl,
		     mtu_code(p->mtu), pkey, dlid, p->from, p->to ? p->to : "");
	if (n >= (int)sizeof text) {
		snprintf(why, why_size, "the names of the nodes are too long");
		return -EINVAL;
	}
	return vb_explain_path_question(fabric, text, v, why, why_size);
}

static const char *word_of(const struct vb_explanation *why)
{
	if (strcmp(why->cause, vb_path_cause_word(VB_PATH_CAUSE_WELL)) == 0)
		return "works";
	if (strcmp(why->cause, vb_path_cause_word(VB_PATH_CAUSE_AWAY)) == 0)
		return "leaves this fabric";
	return why->rank == VB_RANK_FAILED  ? "is broken"
	       : why->rank == VB_RANK_STUCK ? "is stuck"
					    : "waits";
}

static void show_end(FILE *f, const struct vb_path_port *p, uint16_t lid)
{
	if (!p->node[0]) {
		fprintf(f, "LID %u", lid);
		return;
	}
	fprintf(f, "%s port %u", p->node, p->number);
	if (p->lid)
		fprintf(f, " (LID %u)", p->lid);
}

static void show_hop(FILE *f, const struct vb_path_view *v, uint32_t i)
{
	const struct vb_path_hop *h = &v->hop[i];
	uint64_t waits = h->out.counter[VB_PMA_XMIT_WAIT];

	fprintf(f, "  %c %s port %u -> ", i < vb_path_links(v) ? ' ' : 'X', h->out.node,
		h->out.number);
	if (h->in.node[0])
		fprintf(f, "%s port %u", h->in.node, h->in.number);
	else
		fputs(h->out.is_away ? "tunnel" : "nothing", f);
	fprintf(f, ": %s, VL %u, MTU %u", vb_path_state(h->out.state), h->vl,
		vb_mtu_bytes(h->out.mtu));
	if (waits)
		fprintf(f, ", PortXmitWait %" PRIu64, waits);
	if (h->waiting)
		fprintf(f, ", %" PRIu32 " bytes wait", h->waiting);
	if (h->stalled)
		fprintf(f, " without credits for %s", vb_word_ns(h->stalled).s);
	fputc('\n', f);
}

void vb_explain_path_show(FILE *f, const struct vb_path_view *v)
{
	static struct vb_explanation why;

	vb_path_explain(v, &why);
	show_end(f, &v->from, v->slid);
	fputs(" to ", f);
	show_end(f, &v->to, v->dlid);
	fprintf(f, ": %s\n  SL %u, P_Key 0x%04x", word_of(&why), v->sl, v->pkey);
	if (v->dlid)
		fprintf(f, ", DLID %u", v->dlid);
	if (v->mtu_found)
		fprintf(f, ", path MTU %u", vb_mtu_bytes(v->mtu_found));
	fputc('\n', f);
	for (uint32_t i = 0; i < v->hop_cnt; i++)
		show_hop(f, v, i);
	vb_explain_draw(f, &why, NULL, 0, "");
}

static void json_port(FILE *f, const char *name, const struct vb_path_port *p)
{
	fprintf(f, "\"%s\": ", name);
	if (!p->node[0]) {
		fputs("null", f);
		return;
	}
	fputs("{\"node\": ", f);
	vb_json_text(f, p->node);
	fprintf(f, ", \"port\": %u, \"lid\": %u, \"state\": \"%s\"}", p->number, p->lid,
		vb_path_state(p->state));
}

static void json_counters(FILE *f, const struct vb_path_port *p)
{
	fputs("{", f);
	for (uint32_t i = 0; i < VB_PMA_COUNTERS; i++)
		fprintf(f, "%s\"%s\": %" PRIu64, i ? ", " : "", vb_pma_counter_name(i),
			p->counter[i]);
	fprintf(f, ", \"PKeyViolations\": %u, \"MKeyViolations\": %u}", p->pkey_violations,
		p->mkey_violations);
}

void vb_explain_path_json(FILE *f, const struct vb_path_view *v)
{
	static struct vb_explanation why;
	struct vb_path_verdict is;

	vb_path_explain(v, &why);
	vb_path_judge(v, &is);
	fputs("{", f);
	json_port(f, "from", &v->from);
	fputs(", ", f);
	json_port(f, "to", &v->to);
	fprintf(f,
		",\n   \"slid\": %u, \"dlid\": %u, \"sl\": %u, \"pkey\": %u, \"path_mtu\": %u, "
		"\"routers\": %u, \"works\": %s, \"rank\": \"%s\", \"cause\": \"%s\",\n   ",
		v->slid, v->dlid, v->sl, v->pkey, v->mtu_found ? vb_mtu_bytes(v->mtu_found) : 0,
		v->router_cnt, is.cause == VB_PATH_CAUSE_WELL ? "true" : "false",
		vb_rank_name(why.rank), why.cause);
	json_port(f, "place", &is.at);
	if (is.at.node[0]) {
		fputs(", \"counters\": ", f);
		json_counters(f, &is.at);
	}
	fputs(",\n   \"way\": [", f);
	for (uint32_t i = 0; i < v->hop_cnt; i++) {
		const struct vb_path_hop *h = &v->hop[i];

		fputs(i ? ",\n    {" : "\n    {", f);
		json_port(f, "out", &h->out);
		fputs(", ", f);
		json_port(f, "in", &h->in);
		fprintf(f,
			", \"vl\": %u, \"mtu\": %u, \"xmit_wait\": %" PRIu64
			", \"waiting\": %" PRIu32 ", \"stalled_ns\": %" PRIu64 "}",
			h->vl, vb_mtu_bytes(h->out.mtu), h->out.counter[VB_PMA_XMIT_WAIT],
			h->waiting, h->stalled);
	}
	fputs("]", f);
	vb_json_lines(f, "what", &why.what);
	vb_json_lines(f, "advice", &why.advice);
	fputs("}", f);
}

int vb_explain_path_run(const struct vb_cmd *cmd, const char *fabric,
			const struct vb_explain_path *p, bool json)
{
	static struct vb_path_view v[2];
	char why[512];
	int cnt = vb_explain_path_ask(fabric, p, v, why, sizeof why);

	if (cnt < 0) {
		vb_cmd_error(cmd, "%s", why);
		return 1;
	}
	if (json)
		fputs("[\n  ", stdout);
	for (int i = 0; i < cnt; i++) {
		if (i)
			fputs(json ? ",\n  " : "\n", stdout);
		if (json)
			vb_explain_path_json(stdout, &v[i]);
		else
			vb_explain_path_show(stdout, &v[i]);
	}
	if (json)
		fputs("\n]\n", stdout);
	return vb_cmd_finish(cmd);
}

static void show_port(const char *fabric, const struct vb_subnet_node_answer *a, bool is_first)
{
	static struct vb_explanation why;

	vb_path_explain_port(&a->port, &a->far, fabric, &a->manager, &why);
	if (!is_first)
		fputc('\n', stdout);
	printf("%s port %u: ", a->port.node, a->port.number);
	if (a->port.has_cable)
		printf("%s, ", vb_path_state(a->port.state));
	printf("LID %u%s\n", a->port.lid, why.rank == VB_RANK_FAILED ? ", is broken" : "");
	vb_explain_draw(stdout, &why, NULL, 0, "");
}

static void json_node_port(const char *fabric, const struct vb_subnet_node_answer *a, bool is_first)
{
	static struct vb_explanation why;

	vb_path_explain_port(&a->port, &a->far, fabric, &a->manager, &why);
	fputs(is_first ? "\n  {" : ",\n  {", stdout);
	json_port(stdout, "place", &a->port);
	fputs(", ", stdout);
	json_port(stdout, "far", &a->far);
	printf(", \"rank\": \"%s\", \"cause\": \"%s\",\n   \"counters\": ", vb_rank_name(why.rank),
	       why.cause);
	json_counters(stdout, &a->port);
	vb_json_lines(stdout, "what", &why.what);
	vb_json_lines(stdout, "advice", &why.advice);
	fputs("}", stdout);
}

int vb_explain_node_run(const struct vb_cmd *cmd, const char *fabric, const char *node, bool json)
{
	struct vb_subnet_node_answer a;
	char text[250], why[512];
	off_t at = 0;
	int fd;

	if (snprintf(text, sizeof text, "node %s", node) >= (int)sizeof text)
		return vb_cmd_usage(cmd, "the name of the node is too long");
	fd = records_ask(fabric, text, why, sizeof why);
	if (fd < 0) {
		vb_cmd_error(cmd, "%s", why);
		return 1;
	}
	if (json)
		fputs("[", stdout);
	for (; pread(fd, &a, sizeof a, at) == (ssize_t)sizeof a; at += (off_t)sizeof a) {
		vb_path_port_heal(&a.port);
		vb_path_port_heal(&a.far);
		a.manager.node[sizeof a.manager.node - 1] = 0;
		if (json)
			json_node_port(fabric, &a, at == 0);
		else
			show_port(fabric, &a, at == 0);
	}
	if (json)
		fputs("\n]\n", stdout);
	close(fd);
	return vb_cmd_finish(cmd);
}
