/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapter under test, its memory, and the passing of virtual time. */
#include "drill.h"

#include <stdlib.h>
#include <string.h>

#define PEER_RKEY 0x5050
#define STEPS_AT_ONE_INSTANT_MAX 1000

static void *world_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void world_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static void on_trace(void *ctx, const struct vb_trace_event *ev)
{
	struct drill *d = ctx;

	d->trace[d->trace_cnt++ % TRACE_KEEP] = *ev;
}

/* Byte @i of the pattern that fills region number @n. */
static uint8_t pattern(unsigned n, uint64_t i)
{
	return (uint8_t)(i * 7 + (i >> 8) * 13 + n * 31 + 1);
}

static void add_region(struct drill *d, const char *name, uint64_t length)
{
	struct region *r = &d->region[d->region_cnt];

	if (d->region_cnt == REGION_MAX || strlen(name) >= sizeof r->name)
		drill_fail(d, "too many regions, or too long a name: %s", name);
	d->region_cnt++;
	memcpy(r->name, name, strlen(name) + 1);
	r->iova = (uint64_t)d->region_cnt << 28;
	r->length = length;
	r->host = calloc(1, length + 1);
	if (r->host == NULL)
		drill_fail(d, "no memory");
}

void world_add_region(struct drill *d, struct vb_pd *pd, const char *name, uint64_t length,
		      uint32_t access)
{
	add_region(d, name, length);
	struct region *r = &d->region[d->region_cnt - 1];
	struct vb_mr_attr attr = {
	    .iova = r->iova, .length = r->length, .host = r->host, .access = access};
	int rc = vb_mr_create(pd, &attr, &r->mr);

	if (rc != 0)
		drill_fail(d, "vb_mr_create: %d", rc);
	r->lkey = vb_mr_lkey(r->mr);
	r->rkey = vb_mr_rkey(r->mr);
}

static void fill(struct region *r, unsigned n)
{
	for (uint64_t i = 0; i < r->length; i++)
		r->host[i] = pattern(n, i);
}

void world_create(struct drill *d)
{
	uint32_t all = (uint32_t)name_value(name_access, "all");
	int rc;

	if (d->hca != NULL)
		return;
	d->cfg.alloc = world_alloc;
	d->cfg.free = world_free;
	d->cfg.trace = (struct vb_trace){.mask = UINT64_MAX, .emit = on_trace, .ctx = d};
	d->cfg.port[1].counters = &d->counters;
	rc = vb_hca_create(&d->hca, &d->cfg, d->now);
	if (rc == 0)
		rc = vb_pd_create(d->hca, &d->pd);
	if (rc == 0)
		rc = vb_pd_create(d->hca, &d->other_pd);
	if (rc == 0)
		rc = vb_cq_create(d->hca, d->cqe, NULL, &d->cq);
	if (rc != 0)
		drill_fail(d, "the adapter cannot be made: %d", rc);
	/* L: local data to send. R: open to the peer. B: receive buffers. P: the peer's memory. */
	world_add_region(d, d->pd, "L", REGION_BYTES, all);
	world_add_region(d, d->pd, "R", REGION_BYTES, all | VB_ACCESS_MW_BIND);
	world_add_region(d, d->pd, "B", REGION_BYTES, VB_ACCESS_LOCAL_WRITE);
	add_region(d, "P", REGION_BYTES);
	d->region[3].rkey = PEER_RKEY;
	fill(&d->region[0], 1);
	fill(&d->region[3], 4);
}

void world_destroy(struct drill *d)
{
	if (d->hca != NULL)
		vb_hca_destroy(d->hca);
	cm_destroy(d);
	for (unsigned i = 0; i < d->region_cnt; i++)
		free(d->region[i].host);
	for (unsigned i = 0; i < d->sent_tail; i++)
		free(d->sent[i].payload);
}

struct region *world_region(struct drill *d, const char *name)
{
	for (unsigned i = 0; i < d->region_cnt; i++)
		if (strcmp(d->region[i].name, name) == 0)
			return &d->region[i];
	return NULL;
}

struct region *world_place(struct drill *d, const char *text, uint64_t *offset)
{
	char name[16];
	size_t n = strcspn(text, "+");
	char *end;

	*offset = 0;
	if (n >= sizeof name)
		return NULL;
	memcpy(name, text, n);
	name[n] = '\0';
	if (text[n] == '+') {
		*offset = strtoull(text + n + 1, &end, 0);
		if (*end != '\0')
			return NULL;
	}
	return world_region(d, name);
}

uint8_t *world_bytes(struct drill *d, const char *text, uint64_t len)
{
	uint64_t offset;
	struct region *r = world_place(d, text, &offset);

	if (r == NULL)
		drill_fail(d, "\"%s\" is no place in memory", text);
	if (offset > r->length || len > r->length - offset)
		drill_fail(d, "%s is shorter than that", r->name);
	return r->host + offset;
}

uint64_t world_number(struct drill *d, const char *text)
{
	uint64_t offset;
	struct region *r;
	char *end;
	uint64_t v = strtoull(text, &end, 0);

	if (end != text && *end == '\0')
		return v;
	r = world_place(d, text, &offset);
	if (r == NULL)
		drill_fail(d, "\"%s\" is neither a number nor a place in memory", text);
	return r->iova + offset;
}

uint32_t world_key(struct drill *d, const char *text, bool remote)
{
	uint64_t offset;
	struct region *r = world_place(d, text, &offset);

	if (r == NULL)
		return (uint32_t)world_number(d, text);
	return remote ? r->rkey : r->lkey;
}

uint64_t world_arg(struct drill *d, struct args *args, const char *key, uint64_t otherwise)
{
	const char *text = args_value(args, key);

	return text != NULL ? world_number(d, text) : otherwise;
}

struct vb_gid world_gid(unsigned host, bool ipv6)
{
	struct vb_gid g = {{0}};

	if (ipv6) {
		g.b[0] = 0xfd;
	} else {
		g.b[10] = g.b[11] = 0xff;
		g.b[12] = 10;
	}
	g.b[15] = (uint8_t)host;
	return g;
}

struct script_qp *world_qp(struct drill *d, struct args *args)
{
	const char *name = args_value(args, "qp");

	if (d->qp_cnt == 0)
		drill_fail(d, "there is no QP yet");
	if (name == NULL)
		return &d->qp[0];
	for (unsigned i = 0; i < d->qp_cnt; i++)
		if (strcmp(d->qp[i].name, name) == 0)
			return &d->qp[i];
	drill_fail(d, "there is no QP \"%s\"", name);
}

static void keep_sent(struct drill *d, const struct vb_tx *tx)
{
	struct sent *s = &d->sent[d->sent_tail];
	uint32_t at = 0, len = tx->hdr_len + tx->payload_len + tx->pad;

	if (d->sent_tail == SENT_MAX)
		drill_fail(d, "more than %d packets were sent", SENT_MAX);
	d->sent_tail++;
	*s = (struct sent){.time = d->now, .path = *tx->path};
	enum vb_verdict v = vb_hdr_parse(&s->hdr, tx->hdr, tx->hdr_len, len);

	if (v != VB_VERDICT_OK)
		drill_fail(d, "sent a packet that is %s", vb_verdict_name(v));
	at = tx->hdr_len - vb_hdr_len(tx->hdr); /* a report */
	s->payload_len = at + tx->payload_len;
	s->payload = malloc(s->payload_len + 1);
	if (s->payload == NULL)
		drill_fail(d, "no memory");
	memcpy(s->payload, tx->hdr + tx->hdr_len - at, at);
	for (unsigned i = 0; i < tx->seg_cnt; i++) {
		if (tx->seg[i].len > s->payload_len - at)
			drill_fail(d, "the segments of a packet are longer than its payload");
		memcpy(s->payload + at, tx->seg[i].p, tx->seg[i].len);
		at += tx->seg[i].len;
	}
	if (at != s->payload_len)
		drill_fail(d, "the segments of a packet are shorter than its payload");
}

static void collect_packets(struct drill *d)
{
	static struct vb_tx_batch b;

	do {
		b.cnt = b.seg_cnt = 0;
		vb_hca_poll_transmit(d->hca, &b, d->now);
		for (uint32_t i = 0; i < b.cnt; i++)
			keep_sent(d, &b.pkt[i]);
	} while (b.cnt != 0);
}

void world_collect(struct drill *d)
{
	struct vb_event ev;

	cm_collect(d);
	if (d->hca == NULL)
		return;
	collect_packets(d);
	while (vb_hca_poll_event(d->hca, &ev)) {
		if (d->event_cnt == EVENTS_MAX)
			drill_fail(d, "more than %d events", EVENTS_MAX);
		d->event[d->event_cnt++] = ev;
	}
}

void world_sleep(struct drill *d, vb_dur gap)
{
	world_collect(d);
	world_create(d);
	d->now += gap;
	vb_hca_add_gap(d->hca, gap);
	vb_hca_handle_timeout(d->hca, d->now);
	world_collect(d);
}

/* The next instant at which the adapter or the connection manager has something to do. */
static vb_time world_due(const struct drill *d)
{
	return vb_time_min(d->hca != NULL ? vb_hca_poll_timeout(d->hca) : VB_NEVER, cm_due(d));
}

void world_advance(struct drill *d, vb_time to)
{
	unsigned steps = 0;
	vb_time due;

	if (to == d->now)
		return;
	world_collect(d);
	while ((due = world_due(d)) <= to) {
		if (due > d->now) {
			d->now = due;
			steps = 0;
		}
		if (++steps > STEPS_AT_ONE_INSTANT_MAX)
			drill_fail(d, "a deadline at %llu ns never passes",
				   (unsigned long long)due);
		if (d->hca != NULL)
			vb_hca_handle_timeout(d->hca, d->now);
		if (cm_due(d) <= d->now)
			vb_cm_handle_timeout(d->cm.cm, d->now);
		world_collect(d);
	}
	d->now = to;
}
