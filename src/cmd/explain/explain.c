/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena explain`: why a QP, or a connection, of a program on this host is where it is. */
#include "cmd/explain/explain.h"
#include "cmd/explain/path.h"
#include "cmd/queues/queues.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define QPN_MAX 0xffffffu

enum {
	OPT_ALL,
	OPT_CM,
	OPT_DEVICE,
	OPT_PID,
	OPT_JSON,
	OPT_HTML,
	OPT_FABRIC,
	OPT_WQE,
	OPT_PATH,
	OPT_NODE,
	OPT_SL,
	OPT_PKEY,
	OPT_DLID,
	OPT_MTU
};

static const struct vb_cmd_option options[] = {
    [OPT_ALL] = {'a', "all", NULL, "all QPs, one line each, QPs with problems first"},
    [OPT_CM] = {'c', "cm", NULL, "connections of RDMA CM, and no QPs"},
    [OPT_DEVICE] = {'d', "device", "NAME", "only this device"},
    [OPT_PID] = {'p', "pid", "PID", "only this process"},
    [OPT_JSON] = {'j', "json", NULL, "print JSON"},
    [OPT_HTML] = {0, "html", "FILE", "write a page for a browser, with the ladder of each QP"},
    [OPT_FABRIC] = {'F', "fabric", "NAME",
		    "of the programs at the nodes of this fabric; --device is a node then"},
    [OPT_WQE] = {'w', "wqe", NULL, "the QP's queues in its program's memory, as bytes and fields"},
    [OPT_PATH] = {0, "path", "FROM",
		  "why packets get, or do not get, from this node to the next argument"},
    [OPT_NODE] = {0, "node", "NODE", "the ports of this node, and the SMPs that it refused"},
    [OPT_SL] = {0, "sl", "N", "of the path (0)"},
    [OPT_PKEY] = {0, "pkey", "P_KEY", "of the path (the first one of the sender)"},
    [OPT_DLID] = {0, "dlid", "LID", "of the path (the first one of the receiver)"},
    [OPT_MTU] = {0, "mtu", "BYTES", "that the path has to take"},
    {0},
};

struct request {
	const struct vb_cmd *cmd;
	const char *device, *html, *fabric, *node;
	struct vb_explain_path path; /* from NULL: it is not about one */
	uint32_t qpn, pid;           /* 0: any */
	bool all, cm, json, wqe;
};

/* A QPN as programs print it: 0x102, or decimal. */
static bool read_qpn(const char *text, uint32_t *qpn)
{
	char *end;
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	unsigned long n;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	n = strtoul(text, &end, is_hex ? 16 : 10);
	if (errno || *end || n > QPN_MAX)
		return false;
	*qpn = (uint32_t)n;
	return true;
}

/* A number of the path, "3" or "0x8001", from @least to @most. */
static int read_value(const struct vb_cmd *cmd, const char *name, const char *text, long least,
		      long most)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 0);
	if (!isdigit((unsigned char)text[0]) || errno || *end || n < least || n > most)
		exit(vb_cmd_usage(cmd, "--%s is a number from %ld to %ld, not '%s'", name, least,
				  most, text));
	return (int)n;
}

static void take_path_option(struct request *r, int i, const char *arg)
{
	if (i == OPT_PATH)
		r->path.from = arg;
	if (i == OPT_NODE)
		r->node = arg;
	if (i == OPT_SL)
		r->path.sl = read_value(r->cmd, "sl", arg, 0, 15);
	if (i == OPT_PKEY)
		r->path.pkey = read_value(r->cmd, "pkey", arg, 0, 0xffff);
	if (i == OPT_DLID)
		r->path.dlid = read_value(r->cmd, "dlid", arg, 1, 0xfffe);
	if (i == OPT_MTU)
		r->path.mtu = (uint32_t)read_value(r->cmd, "mtu", arg, 256, 4096);
}

/* @word: the argument that is no option, NULL: there is none. */
static int check_path(struct request *r, const char *word)
{
	bool has_values = r->path.sl >= 0 || r->path.pkey >= 0 || r->path.dlid >= 0 || r->path.mtu;

	if (!r->path.from && has_values)
		return vb_cmd_usage(r->cmd, "--sl, --pkey, --dlid and --mtu go with --path");
	if (!r->fabric)
		return vb_cmd_usage(r->cmd, "--%s goes with --fabric", r->node ? "node" : "path");
	if ((r->node && r->path.from) || r->all || r->cm || r->html || r->device || r->pid ||
	    r->wqe)
		return vb_cmd_usage(r->cmd, "--%s goes with --fabric and --json alone",
				    r->node ? "node" : "path");
	if (r->node && word)
		return vb_cmd_usage(r->cmd, "unexpected argument '%s'", word);
	if (r->path.from && !word && r->path.dlid < 0)
		return vb_cmd_usage(r->cmd, "--path FROM TO, or --path FROM --dlid LID");
	r->path.to = word;
	return 0;
}

static int parse_options(struct request *r, int argc, char **argv)
{
	const char *arg, *qpn = NULL;
	double pid;
	int i;

	for (;;) {
		while ((i = vb_cmd_next_option(r->cmd, argc, argv, &arg)) >= 0) {
			r->all |= i == OPT_ALL;
			r->cm |= i == OPT_CM;
			r->json |= i == OPT_JSON;
			r->wqe |= i == OPT_WQE;
			if (i == OPT_DEVICE)
				r->device = arg;
			if (i == OPT_FABRIC)
				r->fabric = arg;
			if (i == OPT_HTML)
				r->html = arg;
			take_path_option(r, i, arg);
			if (i == OPT_PID && !vb_cmd_number(arg, 1, 4194304, &pid))
				return vb_cmd_usage(r->cmd, "'%s' is no process", arg);
			if (i == OPT_PID)
				r->pid = (uint32_t)pid;
		}
		if (optind >= argc)
			break;
		if (qpn)
			return vb_cmd_usage(r->cmd, "unexpected argument '%s'", argv[optind]);
		qpn = argv[optind++];
	}
	if (r->path.from || r->node || r->path.sl >= 0 || r->path.pkey >= 0 || r->path.dlid >= 0 ||
	    r->path.mtu)
		return check_path(r, qpn);
	if (qpn && (r->all || r->cm))
		return vb_cmd_usage(r->cmd, "either a QPN or --%s", r->cm ? "cm" : "all");
	if (r->wqe && (!qpn || r->all || r->cm))
		return vb_cmd_usage(r->cmd, "--wqe goes with a QPN, and --json or --html");
	if (r->fabric && (r->wqe || r->html))
		return vb_cmd_usage(r->cmd, "--fabric does not go with --%s",
				    r->wqe ? "wqe" : "html");
	if (r->html && (r->cm || r->json))
		return vb_cmd_usage(r->cmd, "either --html or --%s", r->cm ? "cm" : "json");
	if (qpn && (!read_qpn(qpn, &r->qpn) || r->qpn == 0))
		return vb_cmd_usage(r->cmd, "'%s' is no QPN: 1 to 0xffffff, hexadecimal with 0x",
				    qpn);
	r->all = !qpn;
	return 0;
}

static bool is_meant(const struct request *r, const struct vb_qp_case *k)
{
	return (!r->qpn || k->qpn == r->qpn) && (!r->pid || k->pid == r->pid) &&
	       (!r->device || strcmp(r->device, k->device) == 0);
}

/* Nothing matches the request: says which QPs there are. */
static int not_found(const struct request *r, const struct vb_qp_cases *c)
{
	char list[240] = "";
	size_t at = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->cnt && at < sizeof list - 24; i++, n++)
		at += (size_t)snprintf(list + at, sizeof list - at, "%s0x%06x", i ? ", " : "",
				       c->at[i].qpn);
	if (r->cm)
		vb_cmd_error(r->cmd, "no connection is like that; 'verbena explain --cm' lists "
				     "them");
	else if (c->cnt == 0)
		vb_cmd_error(r->cmd, "no program on this host has a QP now%s",
			     c->mute_cnt ? ", of those that answer" : "");
	else if (r->qpn && !r->pid && !r->device)
		vb_cmd_error(r->cmd, "there is no QP 0x%06x on this host; there %s %s%s", r->qpn,
			     c->cnt == 1 ? "is" : "are", list, n < c->cnt ? " and more" : "");
	else
		vb_cmd_error(r->cmd, "no QP is like that; 'verbena explain --all' lists them");
	return 1;
}

/* A number that a living QP has is that QP's, whatever ended with it before. */
static bool is_outlived(const struct request *r, const struct vb_qp_cases *c, uint32_t i)
{
	if (!r->qpn || !c->at[i].ended)
		return false;
	for (uint32_t k = 0; k < c->cnt; k++)
		if (!c->at[k].ended && is_meant(r, &c->at[k]))
			return true;
	return false;
}

static bool is_meant_cm(const struct request *r, const struct vb_cm_case *k)
{
	return (!r->pid || k->view.pid == r->pid) &&
	       (!r->device || strcmp(r->device, k->device) == 0);
}

/* The connections that are meant: as a table of its own, or with --cm as JSON. */
static void show_connections(const struct request *r, const struct vb_qp_cases *c,
			     const uint32_t *which, uint32_t cnt, bool is_first)
{
	if (r->json) {
		vb_explain_cm_json(stdout, c, which, cnt);
		return;
	}
	fputs(is_first ? "" : "\n", stdout);
	vb_explain_cm_table(stdout, c, which, cnt);
}

static void show_qps(const struct request *r, const struct vb_qp_cases *c, const uint32_t *which,
		     uint32_t cnt)
{
	if (r->json)
		vb_explain_show_json(stdout, c, which, cnt);
	else if (r->all)
		vb_explain_show_table(stdout, c, which, cnt);
	for (uint32_t i = 0; i < cnt && !r->json && !r->all; i++) {
		fputs(i ? "\n" : "", stdout);
		vb_explain_show(stdout, c, &c->at[which[i]]);
	}
}

/* Of all QPs those that are well come last: they are in the charts, and have no story. */
static int write_page(const struct request *r, const struct vb_qp_cases *c, uint32_t *which,
		      uint32_t cnt)
{
	uint32_t told = 0;
	int err;

	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t k = which[i];

		if (!r->qpn && c->at[k].why.rank == VB_RANK_WELL)
			continue;
		memmove(&which[told + 1], &which[told], (i - told) * sizeof *which);
		which[told++] = k;
	}
	err = vb_explain_page(r->html, c, which, told, cnt);
	if (err)
		vb_cmd_error(r->cmd, "cannot write %s: %s", r->html, strerror(-err));
	return err ? 1 : 0;
}

static int show_cases(const struct request *r, const struct vb_qp_cases *c)
{
	uint32_t *which = calloc(c->cnt + c->cm_cnt + 1, sizeof *which), cnt = 0, cm_cnt = 0, *cm;

	if (!which) {
		vb_cmd_error(r->cmd, "out of memory");
		return 1;
	}
	for (uint32_t i = 0; i < c->cnt && !r->cm; i++)
		if (is_meant(r, &c->at[i]) && !is_outlived(r, c, i))
			which[cnt++] = i;
	cm = which + cnt;
	for (uint32_t i = 0; i < c->cm_cnt && (r->cm || (r->all && !r->json)); i++)
		if (is_meant_cm(r, &c->cm[i]))
			cm[cm_cnt++] = i;
	if (cnt + cm_cnt == 0 && (!r->all || r->device || r->pid)) {
		free(which);
		return not_found(r, c);
	}
	if (r->html) {
		int rc = write_page(r, c, which, cnt);

		free(which);
		return rc;
	}
	if (!r->cm)
		show_qps(r, c, which, cnt);
	if (!r->cm && !r->json)
		vb_explain_show_refused(stdout, c, r->pid, r->qpn);
	if (r->cm || cm_cnt)
		show_connections(r, c, cm, cm_cnt, r->cm);
	free(which);
	return vb_cmd_finish(r->cmd);
}

static int run_explain(const struct vb_cmd *cmd, int argc, char **argv)
{
	struct request r = {.cmd = cmd, .path = {.sl = -1, .pkey = -1, .dlid = -1}};
	struct vb_qp_cases c = {.cnt = 0};
	char why[512];
	int rc = parse_options(&r, argc, argv);

	if (rc)
		return rc;
	if (r.path.from)
		return vb_explain_path_run(cmd, r.fabric, &r.path, r.json);
	if (r.node)
		return vb_explain_node_run(cmd, r.fabric, r.node, r.json);
	if (r.wqe)
		return vb_explain_queues(cmd, r.qpn, r.json, r.html);
	if (r.fabric && r.cm)
		rc = vb_explain_fabric_gather(&c, r.fabric, why, sizeof why);
	else if (r.fabric)
		rc = vb_explain_gather_nodes(&c, r.fabric, r.qpn, why, sizeof why);
	else
		rc = vb_explain_gather(&c, r.qpn, why, sizeof why);
	if (rc == -ENOTCONN)
		vb_cmd_error(cmd, "no program uses the adapter now, and none has failed lately");
	else if (rc)
		vb_cmd_error(cmd, "%s", why);
	else
		rc = show_cases(&r, &c);
	free(c.at);
	free(c.cm);
	free(c.refused);
	return rc < 0 ? 1 : rc;
}

const struct vb_cmd vb_cmd_explain = {
    .name = "explain",
    .arguments =
	"[QPN | QPN --wqe | --all | --cm] [-F FABRIC] [-d NAME] [-p PID] [--json | --html FILE] | "
	"-F FABRIC --path FROM [TO] [--sl N] [--pkey P_KEY] [--dlid LID] [--mtu BYTES] [--json] | "
	"-F FABRIC --node NODE [--json]",
    .text = "Says in plain words why a QP or connection is where it is: waiting, stuck, failed.",
    .options = options,
    .run = run_explain,
};
