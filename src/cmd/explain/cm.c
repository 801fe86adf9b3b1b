/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of RDMA CM in `verbena explain`: a table, a line for a QP, or JSON. */
#include "cmd/explain/explain.h"

#include "cmd/json.h"
#include "explain/connection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Takes another program's view, and makes its texts safe to print. */
static void take_view(struct vb_cm_case *k, const struct vb_ucma_view *v,
		      const struct vb_broker_observer *o, const struct vb_host_shm *host,
		      vb_time now)
{
	static struct vb_explanation why;
	const struct vb_slot_shm *qp1 = o->slot[VB_SLOT_GSI];
	uint32_t port = v->hca_port;
	struct vb_fault_status st;

	k->view = *v;
	vb_printable(k->user, sizeof k->user, v->user);
	if (port >= 1 && port <= VB_DEVICES_MAX && host->device[port - 1].ifindex)
		vb_printable(k->device, sizeof k->device, host->device[port - 1].name);
	if (qp1 && port >= 1 && port <= VB_DEVICES_MAX && vb_fault_status_read(qp1, port - 1, &st))
		k->losses = vb_fault_status_losses(&st);
	vb_explain_connection(v, now, &why);
	k->rank = why.rank;
}

/* Live connections before ended ones, troubled ones before the rest, the last before the first. */
static int by_rank(const void *va, const void *vb)
{
	const struct vb_cm_case *a = va, *b = vb;

	if (a->view.is_gone != b->view.is_gone)
		return a->view.is_gone ? 1 : -1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->view.ended != b->view.ended)
		return a->view.ended > b->view.ended ? -1 : 1;
	return a->view.number < b->view.number ? -1 : a->view.number > b->view.number;
}

void vb_explain_cm_sort(struct vb_qp_cases *c)
{
	qsort(c->cm, c->cm_cnt, sizeof c->cm[0], by_rank);
}

int vb_explain_cm_gather(struct vb_qp_cases *c, struct vb_broker_observer *o,
			 const struct vb_host_shm *host)
{
	static struct vb_cm_table table;
	int rc = vb_broker_connections(o, &table);

	if (rc)
		return rc;
	c->cm = calloc(table.cnt + 1, sizeof *c->cm);
	if (!c->cm)
		return -ENOMEM;
	c->cm_cnt = table.cnt;
	c->cm_unseen = table.total > table.cnt ? table.total - table.cnt : 0;
	for (uint32_t i = 0; i < table.cnt; i++)
		take_view(&c->cm[i], &table.view[i], o, host, c->now);
	vb_explain_cm_sort(c);
	return 0;
}

static void explain_case(const struct vb_qp_cases *c, const struct vb_cm_case *k,
			 struct vb_explanation *why)
{
	vb_explain_connection(&k->view, c->now, why);
	if (k->losses && (why->rank == VB_RANK_STUCK || why->rank == VB_RANK_FAILED) &&
	    k->view.end != VB_UCMA_END_REJECTED)
		vb_line(&why->advice,
			"Fault rules have taken away %" PRIu64
			" MADs of %s: 'verbena fault' shows them.",
			k->losses, k->device);
}

static struct vb_word qpn_of(const struct vb_ucma_view *v)
{
	struct vb_word w = {""};

	if (v->local_qpn)
		snprintf(w.s, sizeof w.s, "0x%06" PRIx32, v->local_qpn & 0xffffff);
	return w;
}

void vb_explain_cm_table(FILE *f, const struct vb_qp_cases *c, const uint32_t *which, uint32_t cnt)
{
	static struct vb_explanation why;
	char process[32];

	fprintf(f, "%-8s %-5s %-16s %-10s %-22s %-21s %-8s %-10s %s\n", "RDMA CM", "SPACE", "STATE",
		"DEVICE", "PROCESS", "ADDRESS", "QPN", "IT IS", "BECAUSE");
	for (uint32_t i = 0; i < cnt; i++) {
		const struct vb_cm_case *k = &c->cm[which[i]];
		const struct vb_ucma_view *v = &k->view;

		explain_case(c, k, &why);
		snprintf(process, sizeof process, "%" PRIu32 " %.15s", v->pid, k->user);
		fprintf(f, "%-8s %-5s %-16s %-10s %-22s %-21s %-8s %-10s %s\n", vb_word_role(v),
			vb_word_port_space(v->ps), vb_word_cm_state(v), k->device, process,
			vb_word_addr(&v->src).s, qpn_of(v).s, vb_rank_name(why.rank),
			why.what.cnt ? why.what.text[0] : "");
		for (uint32_t n = 0; n < why.advice.cnt; n++)
			fprintf(f, "         %s\n", why.advice.text[n]);
	}
	if (c->cm_unseen)
		fprintf(f, "%u more, without trouble, are not listed.\n", c->cm_unseen);
}

void vb_explain_cm_of_qp(FILE *f, const struct vb_qp_cases *c, const struct vb_qp_case *q)
{
	static struct vb_explanation why;

	for (uint32_t i = 0; i < c->cm_cnt; i++) {
		const struct vb_ucma_view *v = &c->cm[i].view;

		if (v->local_qpn != q->qpn || v->pid != q->pid)
			continue;
		vb_explain_connection(v, c->now, &why);
		fprintf(f, "  RDMA CM, %s %s: %s\n", vb_word_role(v), vb_word_addr(&v->src).s,
			why.what.cnt ? why.what.text[0] : "");
	}
}

/* How long ago @at was, or null where that is not known. */
static void json_age(FILE *f, const char *name, vb_time at, vb_time now)
{
	if (at && at <= now)
		fprintf(f, ", \"%s\": %" PRIu64, name, now - at);
	else
		fprintf(f, ", \"%s\": null", name);
}

void vb_explain_cm_json(FILE *f, const struct vb_qp_cases *c, const uint32_t *which, uint32_t cnt)
{
	static struct vb_explanation why;

	fputs("[", f);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct vb_cm_case *k = &c->cm[which[i]];
		const struct vb_ucma_view *v = &k->view;

		explain_case(c, k, &why);
		fprintf(f,
			"%s\n  {\"id\": %" PRIu32 ", \"role\": \"%s\", \"space\": \"%s\", "
			"\"state\": \"%s\", \"gone\": %s, \"pid\": %" PRIu32 ", \"program\": ",
			i ? "," : "", v->number, vb_word_role(v), vb_word_port_space(v->ps),
			vb_word_cm_state(v), v->is_gone ? "true" : "false", v->pid);
		vb_json_text(f, k->user);
		fputs(", \"device\": ", f);
		vb_json_text(f, k->device);
		fprintf(f,
			",\n   \"local\": \"%s\", \"remote\": \"%s\", \"qpn\": %" PRIu32
			", \"dest_qpn\": %" PRIu32,
			vb_word_addr(&v->src).s, vb_word_addr(&v->dst).s, v->local_qpn,
			v->remote_qpn);
		fprintf(f,
			", \"rank\": \"%s\", \"cause\": \"%s\", \"reason\": %u, \"sent\": %" PRIu32,
			vb_rank_name(why.rank), why.cause, v->reason, v->sent);
		json_age(f, "sent_ago_ns", v->since, c->now);
		json_age(f, "ended_ago_ns", v->ended, c->now);
		fprintf(f,
			", \"backlog\": %" PRIu32 ", \"waiting\": %" PRIu32
			", \"dropped\": %" PRIu32,
			v->backlog, v->waiting, v->dropped);
		vb_json_lines(f, "what", &why.what);
		vb_json_lines(f, "advice", &why.advice);
		fputs("}", f);
	}
	fputs("\n]\n", f);
}
