/* SPDX-License-Identifier: BSD-2-Clause */
/* A look of `verbena top` as a table, or as a line of JSON. */
#include "cmd/observe/top.h"

#include "cmd/json.h"
#include "explain/explain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#define LINE_BYTES 256

/* A table that ends with the screen. */
struct page {
	FILE *f;
	uint32_t rows, columns; /* that are left, and of each line; 0 columns: any */
	bool is_endless;
};

__attribute__((format(printf, 2, 3))) static void put_line(struct page *p, const char *fmt, ...)
{
	char line[LINE_BYTES];
	va_list ap;
	int len;

	if (!p->is_endless && !p->rows)
		return;
	p->rows -= !p->is_endless;
	va_start(ap, fmt);
	len = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (len >= LINE_BYTES)
		len = LINE_BYTES - 1;
	if (p->columns && (uint32_t)len > p->columns)
		len = (int)p->columns;
	fprintf(p->f, "%.*s\n", len, line);
}

static void put_head(struct page *p, const struct vb_top_sample *s)
{
	time_t seconds = (time_t)(s->real_ns / VB_SEC);
	double xmit = 0, rcv = 0;
	char stamp[16];
	struct tm tm;

	strftime(stamp, sizeof stamp, "%H:%M:%S", localtime_r(&seconds, &tm));
	for (uint32_t i = 0; i < s->process_cnt; i++) {
		xmit += s->process[i].xmit_bps;
		rcv += s->process[i].rcv_bps;
	}
	put_line(p, "%s  %u process%s, %u QPs%s; sent %.3f Gb/s, received %.3f Gb/s", stamp,
		 s->process_cnt, s->process_cnt == 1 ? "" : "es", s->qp_cnt + s->unseen,
		 s->unseen ? ", not all listed" : "", xmit / 1e9, rcv / 1e9);
}

static void put_process(struct page *p, const struct vb_top_process *r)
{
	put_line(p, "%8" PRIu32 " %-15s %6" PRIu32 " %10.3f %10.3f %11.0f %11.0f %9.0f%s", r->pid,
		 r->comm, r->qp_cnt, r->xmit_bps / 1e9, r->rcv_bps / 1e9, r->xmit_pps, r->rcv_pps,
		 r->resent_pps, r->is_mute ? "  does not answer" : "");
}

static void put_qp(struct page *p, const struct vb_top_qp *q)
{
	const struct vb_qp_view *v = &q->view;
	bool has_peer = v->type != VB_QPT_UD && v->state >= VB_QPS_RTR;

	put_line(p,
		 "0x%06" PRIx32 " %8" PRIu32 " %-15s %-4s %-5s %-10s %11.0f %11.0f %6" PRIu32
		 " %7" PRIu32 " %6" PRIu32 " %s",
		 v->qpn, q->pid, q->comm, vb_word_type(v->type), vb_word_state(v->state), q->device,
		 q->acked, q->expected, v->posted, v->unacked, v->recvs,
		 has_peer ? vb_word_gid(&v->attr.path.dgid).s : "");
}

void vb_top_table(FILE *f, const struct vb_top_sample *s, uint32_t rows, uint32_t columns)
{
	struct page p = {.f = f, .rows = rows, .columns = columns, .is_endless = rows == 0};
	/* Half of the screen for processes at most: QPs are the more. */
	uint32_t most = rows ? rows / 2 : s->process_cnt;

	put_head(&p, s);
	put_line(&p, "%s", "");
	put_line(&p, "%8s %-15s %6s %10s %10s %11s %11s %9s", "PID", "COMMAND", "QPS", "SENT Gb/s",
		 "RCVD Gb/s", "SENT pkt/s", "RCVD pkt/s", "RESENT/s");
	for (uint32_t i = 0; i < s->process_cnt && i < most; i++)
		put_process(&p, &s->process[i]);
	put_line(&p, "%s", "");
	put_line(&p, "%-8s %8s %-15s %-4s %-5s %-10s %11s %11s %6s %7s %6s %s", "QPN", "PID",
		 "COMMAND", "TYPE", "STATE", "DEVICE", "ACKED psn/s", "RCVD psn/s", "POSTED",
		 "UNACKED", "RECVS", "PEER");
	for (uint32_t i = 0; i < s->qp_cnt; i++)
		put_qp(&p, &s->qp[i]);
}

static void json_process(FILE *f, const struct vb_top_process *p)
{
	fprintf(f, "{\"pid\": %" PRIu32 ", \"program\": ", p->pid);
	vb_json_text(f, p->comm);
	fprintf(
	    f,
	    ", \"qps\": %" PRIu32 ", \"answers\": %s, \"xmit_bits_per_s\": %.0f, "
	    "\"rcv_bits_per_s\": %.0f, \"xmit_packets_per_s\": %.1f, \"rcv_packets_per_s\": %.1f, "
	    "\"resent_packets_per_s\": %.1f}",
	    p->qp_cnt, p->is_mute ? "false" : "true", p->xmit_bps, p->rcv_bps, p->xmit_pps,
	    p->rcv_pps, p->resent_pps);
}

static void json_qp(FILE *f, const struct vb_top_qp *q)
{
	const struct vb_qp_view *v = &q->view;
	bool has_peer = v->type != VB_QPT_UD && v->state >= VB_QPS_RTR;

	fprintf(f, "{\"qpn\": %" PRIu32 ", \"pid\": %" PRIu32 ", \"program\": ", v->qpn, q->pid);
	vb_json_text(f, q->comm);
	fputs(", \"device\": ", f);
	vb_json_text(f, q->device);
	fprintf(f,
		", \"type\": \"%s\", \"state\": \"%s\", \"remote\": \"%s\", \"dest_qpn\": %" PRIu32
		", \"acked_psns_per_s\": %.1f, \"rcvd_psns_per_s\": %.1f, \"posted\": %" PRIu32
		", \"unacked\": %" PRIu32 ", \"receives\": %" PRIu32 "}",
		vb_word_type(v->type), vb_word_state(v->state),
		has_peer ? vb_word_gid(&v->attr.path.dgid).s : "", v->attr.dest_qpn, q->acked,
		q->expected, v->posted, v->unacked, v->recvs);
}

void vb_top_json(FILE *f, const struct vb_top_sample *s)
{
	fprintf(f,
		"{\"time_ns\": %" PRIu64 ", \"seconds\": %.6f, \"unseen_qps\": %" PRIu32
		", \"processes\": [",
		s->real_ns, s->seconds, s->unseen);
	for (uint32_t i = 0; i < s->process_cnt; i++) {
		fputs(i ? ", " : "", f);
		json_process(f, &s->process[i]);
	}
	fputs("], \"qps\": [", f);
	for (uint32_t i = 0; i < s->qp_cnt; i++) {
		fputs(i ? ", " : "", f);
		json_qp(f, &s->qp[i]);
	}
	fputs("]}\n", f);
}
