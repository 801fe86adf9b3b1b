/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena explain --wqe`: the queues of a QP as text, with the places where the program writes on
 * and the adapter reads on, as JSON, and as a page for a browser. */
#include "cmd/queues/queues.h"

#include "cmd/json.h"
#include "export/file/whole_file.h"
#include "export/page.h"

#include <errno.h>
#include <inttypes.h>

#define TEXT_MAX 16384u

static void show_head(FILE *f, const struct vb_queue_view *q)
{
	switch (q->kind) {
	case VB_QUEUE_SEND:
		fprintf(f,
			"%s: %u blocks of %u bytes; the doorbell record says %u, the adapter has "
			"read up to %u\n",
			q->name, q->cnt, q->stride, q->record, q->seen);
		break;
	case VB_QUEUE_RECEIVE:
		fprintf(f,
			"%s: %u WQEs of %u bytes; the doorbell record says %u, the adapter has "
			"read %u\n",
			q->name, q->cnt, q->stride, q->record, q->seen);
		break;
	case VB_QUEUE_SRQ:
		fprintf(f, "%s: %u WQEs of %u bytes; the doorbell record says %u\n", q->name,
			q->cnt, q->stride, q->record);
		break;
	case VB_QUEUE_ENTRIES:
		fprintf(f,
			"%s: %u entries of %u bytes; the doorbell record says that %u were read\n",
			q->name, q->cnt, q->stride, q->record);
		break;
	}
	if (!q->is_copied)
		fprintf(f, "  (its memory cannot be read)\n");
}

/* Between what is done and what is not. */
static void show_mark(FILE *f, const struct vb_queue_view *q)
{
	if (q->kind == VB_QUEUE_SEND)
		fprintf(f, "  ---- the adapter reads on at %u ----\n", q->seen);
	else if (q->kind == VB_QUEUE_ENTRIES)
		fprintf(f, "  ---- the program reads on at %u ----\n", q->record);
}

/* How an element stands; NULL: nothing tells. */
static const char *state_of(const struct vb_queue_view *q, const struct vb_queue_element *e)
{
	switch (q->kind) {
	case VB_QUEUE_SEND:
	case VB_QUEUE_RECEIVE:
		return e->is_new ? "posted" : "read by the adapter";
	case VB_QUEUE_ENTRIES:
		return e->is_new ? "to be read" : "read";
	case VB_QUEUE_SRQ:
		break;
	}
	return NULL;
}

static void walk_element(const struct vb_queues_view *v, const struct vb_queue_view *q,
			 const struct vb_queue_element *e, const struct vb_wqe_visitor *visitor)
{
	switch (q->kind) {
	case VB_QUEUE_SEND:
		vb_wqe_walk_send(v->type, e->bytes, e->len / VB_WQE_BLOCK, visitor);
		break;
	case VB_QUEUE_RECEIVE:
	case VB_QUEUE_SRQ:
		vb_wqe_walk_receive(e->bytes, e->len, q->kind == VB_QUEUE_SRQ, visitor);
		break;
	case VB_QUEUE_ENTRIES:
		if (e->mini_cnt)
			vb_cqe_walk_array(e->bytes, e->mini_cnt, e->has_sends, visitor);
		else
			vb_cqe_walk(e->bytes, e->len, visitor);
		break;
	}
}

static void show_element(FILE *f, const struct vb_queues_view *v, const struct vb_queue_view *q,
			 const struct vb_queue_element *e)
{
	const char *state = state_of(q, e);
	char text[TEXT_MAX];
	struct vb_wqe_page page;

	vb_wqe_page_begin(&page, text, sizeof text);
	walk_element(v, q, e, &page.visitor);
	vb_wqe_page_end(&page);
	fprintf(f, "  [%u]%s%s\n%s", e->index, state ? " " : "", state ? state : "", text);
}

static void show_queue(FILE *f, const struct vb_queues_view *v, const struct vb_queue_view *q)
{
	bool is_marked = false;

	show_head(f, q);
	for (uint32_t i = 0; i < q->element_cnt; i++) {
		if (q->element[i].is_new && !is_marked) {
			show_mark(f, q);
			is_marked = true;
		}
		show_element(f, v, q, &q->element[i]);
	}
	if (!is_marked && q->is_copied)
		show_mark(f, q);
	if (q->kind == VB_QUEUE_SEND && q->is_copied)
		fprintf(f, "  ---- doorbell: the program writes on at %u ----\n", q->record);
}

void vb_queues_show_text(FILE *f, const struct vb_queues_view *v)
{
	if (v->pid)
		fprintf(f, "QP 0x%06x of process %d: %s\n", v->qpn, (int)v->pid,
			v->is_raw ? "the program writes into its queues by itself"
				  : "verbs write into its queues");
	else
		fprintf(f, "QP %u of simulated host %u: its queues as a driver would write them\n",
			v->qpn, v->host);
	for (uint32_t i = 0; i < v->queue_cnt; i++)
		show_queue(f, v, &v->queue[i]);
}

/* The segments of one element, as JSON. */
struct json_segments {
	FILE *f;
	uint32_t segments, fields; /* of the element, of the segment */
};

static void json_segment_end(struct json_segments *j)
{
	if (j->segments)
		fputs("]}", j->f);
}

static void json_segment(void *ctx, const char *name, const uint8_t *s, uint32_t from,
			 uint32_t bytes)
{
	struct json_segments *j = ctx;

	json_segment_end(j);
	fprintf(j->f, "%s\n      {\"at\": %u, \"name\": ", j->segments++ ? "," : "", from);
	vb_json_text(j->f, name);
	fputs(", \"bytes\": \"", j->f);
	for (uint32_t i = 0; i < bytes; i++)
		fprintf(j->f, "%02x", s[i]);
	fputs("\", \"fields\": [", j->f);
	j->fields = 0;
}

/* A reader of JSON need not take numbers of 64 bits: hexadecimal ones are texts. */
static void json_field(void *ctx, const struct vb_wqe_shown *field)
{
	struct json_segments *j = ctx;

	fprintf(j->f, "%s{\"name\": ", j->fields++ ? ", " : "");
	vb_json_text(j->f, field->name);
	if (field->hex_digits)
		fprintf(j->f, ", \"value\": \"0x%0*" PRIx64 "\"", field->hex_digits, field->value);
	else
		fprintf(j->f, ", \"value\": %" PRIu64, field->value);
	if (field->word) {
		fputs(", \"word\": ", j->f);
		vb_json_text(j->f, field->word);
	}
	putc('}', j->f);
}

static void json_element(FILE *f, const struct vb_queues_view *v, const struct vb_queue_view *q,
			 const struct vb_queue_element *e)
{
	struct json_segments j = {.f = f};
	const char *state = state_of(q, e);

	fprintf(f, "\n    {\"index\": %u, ", e->index);
	if (state)
		fprintf(f, "\"state\": \"%s\", ", state);
	fputs("\"segments\": [", f);
	walk_element(v, q, e, &(struct vb_wqe_visitor){&j, json_segment, json_field});
	json_segment_end(&j);
	fputs("]}", f);
}

static void json_queue(FILE *f, const struct vb_queues_view *v, const struct vb_queue_view *q)
{
	fprintf(f, "\n  {\"name\": \"%s\", \"count\": %u, \"bytes\": %u, \"doorbell_record\": %u",
		q->name, q->cnt, q->stride, q->record);
	if (q->kind == VB_QUEUE_SEND || q->kind == VB_QUEUE_RECEIVE)
		fprintf(f, ", \"adapter_read\": %u", q->seen);
	fprintf(f, ", \"copied\": %s, \"elements\": [", q->is_copied ? "true" : "false");
	for (uint32_t i = 0; i < q->element_cnt; i++) {
		if (i)
			putc(',', f);
		json_element(f, v, q, &q->element[i]);
	}
	fputs("]}", f);
}

void vb_queues_show_json(FILE *f, const struct vb_queues_view *v)
{
	fprintf(f, "{\"qpn\": %u, ", v->qpn);
	if (v->pid)
		fprintf(f, "\"pid\": %d", (int)v->pid);
	else
		fprintf(f, "\"host\": %u", v->host);
	fprintf(f, ", \"raw\": %s, \"queues\": [", v->is_raw ? "true" : "false");
	for (uint32_t i = 0; i < v->queue_cnt; i++) {
		if (i)
			putc(',', f);
		json_queue(f, v, &v->queue[i]);
	}
	fputs("]}\n", f);
}

int vb_queues_show_page(const char *path, const struct vb_queues_view *v)
{
	struct vb_whole_file w;
	int err = vb_whole_file_begin(&w, path);

	if (err)
		return err;
	fputs((const char *)vb_queues_page_head, w.f);
	vb_queues_show_json(w.f, v);
	fputs((const char *)vb_queues_page_tail, w.f);
	return vb_whole_file_end(&w, ferror(w.f) ? -EIO : 0);
}
