/* SPDX-License-Identifier: BSD-2-Clause */
/* A line of a list becomes a flow. See flows.h. */
#include "scenario/input/flows.h"

#include "scenario/input/nics.h"
#include "scenario/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_LEN 1024
#define FIELDS_MAX 16
#define BYTES_MAX (UINT64_C(1) << 40)
#define START_MAX (100000 * VB_SEC)

enum column { SRC, DST, BYTES, START, OP, CLASS, SL, PRIORITY, PORT, COLUMN_CNT };

static const char *const column_name[COLUMN_CNT] = {
    [SRC] = "src",     [DST] = "dst", [BYTES] = "bytes",
    [START] = "start", [OP] = "op",   [CLASS] = "traffic-class",
    [SL] = "sl",
};

/* The columns of ns-3's form. */
static const enum column ns3_columns[] = {SRC, DST, PRIORITY, PORT, BYTES, START};
#define NS3_CNT (sizeof ns3_columns / sizeof ns3_columns[0])

struct vb_flows {
	struct vb_load_list list;
	struct vb_flows_config cfg;
	FILE *f;
	char name[1024], why[1200];
	struct vb_complaint complaint;
	bool is_csv;
	enum column column[FIELDS_MAX];
	uint32_t column_cnt;
	uint64_t cnt;        /* of ns-3's form, as it says itself */
	uint32_t count_line; /* where */
	long first;          /* where the first flow is */
	uint32_t first_line; /* lines before it */
	uint32_t line;       /* the one that was read last */
	uint64_t made;       /* flows so far */
	vb_time start;       /* of the last one */
	uint32_t start_line;
	char text[LINE_LEN];
	struct vb_token field[FIELDS_MAX];
	uint32_t field_cnt;
};

static int field_complain(const struct vb_flows *l, const struct vb_token *field, const char *what)
{
	char shown[VB_TOKEN_SHOWN];

	return vb_complain(&l->complaint, field->line, field->column, "%s, not \"%s\"", what,
			   vb_token_show(field, shown));
}

/* Fields between commas, without the blanks around them. 0 or -EINVAL. */
static int fields_split_csv(struct vb_flows *l, const char *end)
{
	const char *at = l->text;

	for (;;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;
		struct vb_tokens inner = vb_tokens_of(at, (size_t)(stop - at), l->line);
		struct vb_token *field, more;

		if (l->field_cnt == FIELDS_MAX)
			return vb_complain(&l->complaint, l->line, 1,
					   "a line has at most %d columns", FIELDS_MAX);
		field = &l->field[l->field_cnt++];
		(void)vb_tokens_next(&inner, field);
		/* A name may have blanks in it. */
		while (vb_tokens_next(&inner, &more))
			field->len = (uint32_t)(more.text + more.len - field->text);
		field->line = l->line;
		field->column = (uint32_t)(field->text - l->text) + 1;
		if (!comma)
			return 0;
		at = comma + 1;
	}
}

static int fields_split(struct vb_flows *l, size_t len)
{
	struct vb_tokens words = vb_tokens_of(l->text, len, l->line);
	struct vb_token word;

	l->field_cnt = 0;
	if (l->is_csv)
		return fields_split_csv(l, l->text + len);
	while (vb_tokens_next(&words, &word)) {
		if (l->field_cnt == FIELDS_MAX)
			return vb_complain(&l->complaint, l->line, 1,
					   "a line has at most %d columns", FIELDS_MAX);
		l->field[l->field_cnt++] = word;
	}
	return 0;
}

/* The next line that is not empty and no comment, in fields. 1, 0 at the end, or -EINVAL. */
static int line_read(struct vb_flows *l)
{
	while (fgets(l->text, sizeof l->text, l->f)) {
		size_t len = strlen(l->text);
		struct vb_tokens words = vb_tokens_of(l->text, len, 1);
		struct vb_token word;
		int bad;

		l->line++;
		if ((len == 0 || l->text[len - 1] != '\n') && !feof(l->f))
			return vb_complain(&l->complaint, l->line, 1,
					   "a line has at most %d characters, and no zero",
					   LINE_LEN - 2);
		if (!vb_tokens_next(&words, &word))
			continue;
		bad = fields_split(l, len);
		return bad ? bad : 1;
	}
	return ferror(l->f) ? vb_complain(&l->complaint, l->line + 1, 1, "cannot be read: %s",
					  strerror(errno))
			    : 0;
}

static int column_add(struct vb_flows *l, const struct vb_token *field)
{
	enum column c = SRC;

	while (c <= SL && !vb_token_is(field, column_name[c]))
		c++;
	if (c > SL)
		return field_complain(
		    l, field, "a column is src, dst, bytes, start, op, traffic-class or sl");
	if ((c == SL && !l->cfg.is_infiniband) || (c == CLASS && l->cfg.is_infiniband))
		return vb_complain(&l->complaint, field->line, field->column,
				   "%s is of %s: packets have a %s here", column_name[c],
				   l->cfg.is_infiniband ? "Ethernet" : "InfiniBand",
				   l->cfg.is_infiniband ? "service level" : "traffic class");
	for (uint32_t i = 0; i < l->column_cnt; i++)
		if (l->column[i] == c)
			return vb_complain(&l->complaint, field->line, field->column,
					   "column %s is there twice", column_name[c]);
	l->column[l->column_cnt++] = c;
	return 0;
}

static int header_read(struct vb_flows *l)
{
	bool has[COLUMN_CNT] = {false};
	int bad = 0;

	for (uint32_t i = 0; !bad && i < l->field_cnt; i++) {
		bad = column_add(l, &l->field[i]);
		if (!bad)
			has[l->column[i]] = true;
	}
	if (!bad && !(has[SRC] && has[DST] && has[BYTES] && has[START]))
		bad = vb_complain(&l->complaint, l->line, 1,
				  "a list of flows has the columns src, dst, bytes and start");
	return bad;
}

/* The line that tells the form: a number, or names of columns. */
static int beginning_read(struct vb_flows *l)
{
	int rc = line_read(l);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return vb_complain(&l->complaint, l->line + 1, 1, "there is no list of flows here");
	if (l->field_cnt == 1 && vb_token_number(&l->field[0], UINT32_MAX, &l->cnt)) {
		l->count_line = l->line;
		memcpy(l->column, ns3_columns, sizeof ns3_columns);
		l->column_cnt = NS3_CNT;
		return 0;
	}
	l->is_csv = true;
	rc = fields_split(l, strlen(l->text));
	return rc ? rc : header_read(l);
}

int vb_flows_open(struct vb_flows **out, FILE *f, const struct vb_flows_config *cfg,
		  const struct vb_complaint *c)
{
	struct vb_flows *l = calloc(1, sizeof *l);
	int bad;

	if (!l) {
		fclose(f);
		return -ENOMEM;
	}
	l->list = (struct vb_load_list){vb_flows_next, l};
	l->cfg = *cfg;
	l->f = f;
	snprintf(l->name, sizeof l->name, "%s", c->file);
	l->complaint = (struct vb_complaint){l->name, l->why, sizeof l->why};
	bad = beginning_read(l);
	l->first = bad ? 0 : ftell(f);
	l->first_line = l->line;
	if (l->first < 0)
		bad = vb_complain(&l->complaint, 1, 1, "a list of flows is an ordinary file");
	if (bad) {
		snprintf(c->text, c->size, "%s", l->why);
		vb_flows_close(l);
		return bad;
	}
	*out = l;
	return 0;
}

void vb_flows_close(struct vb_flows *l)
{
	if (!l)
		return;
	fclose(l->f);
	free(l);
}

static int host_read(const struct vb_flows *l, const struct vb_token *field, uint32_t *out)
{
	char shown[VB_TOKEN_SHOWN];
	char why[160];

	if (vb_net_end(l->cfg.net, field, false, out, why, sizeof why))
		return vb_complain(&l->complaint, field->line, field->column, "%s", why);
	if (vb_nic_host(l->cfg.nics, *out) >= l->cfg.hosts)
		return vb_complain(&l->complaint, field->line, field->column,
				   "there is no host %s among the %u that take part",
				   vb_token_show(field, shown), l->cfg.hosts);
	return 0;
}

static int bytes_read(const struct vb_flows *l, const struct vb_token *field, uint64_t *out)
{
	char text[32];

	if (!vb_token_copy(field, text, sizeof text) || !reader_value(KEY_BYTES64, text, out) ||
	    *out > BYTES_MAX)
		return field_complain(l, field, "a size is such as 4096 or 1MB, up to 1 TiB");
	return 0;
}

/* Seconds, or a time with its unit. */
static int start_read(const struct vb_flows *l, const struct vb_token *field, vb_time *out)
{
	char text[40];

	if (!vb_token_decimal(field, 9, out) &&
	    (!vb_token_copy(field, text, sizeof text) || !reader_value(KEY_TIME, text, out)))
		return field_complain(l, field, "a start is in seconds, or such as 1.5us");
	if (*out > START_MAX)
		return field_complain(l, field, "a start is up to 100000 seconds");
	if (*out < l->start)
		return vb_complain(&l->complaint, field->line, field->column,
				   "flows are in the order of their starts: this one begins before "
				   "the one in line %u",
				   l->start_line);
	return 0;
}

static int op_read(const struct vb_flows *l, const struct vb_token *field, uint8_t *out)
{
	static const char *const name[VB_LOAD_OP_CNT] = {
	    [VB_LOAD_SEND] = "send",
	    [VB_LOAD_WRITE] = "write",
	    [VB_LOAD_READ] = "read",
	    [VB_LOAD_ATOMIC] = "atomic",
	};
	uint8_t op = 0;

	if (field->len == 0)
		return 0;
	while (op < VB_LOAD_OP_CNT && !vb_token_is(field, name[op]))
		op++;
	if (op == VB_LOAD_OP_CNT)
		return field_complain(l, field, "op is send, write, read or atomic");
	if (l->cfg.type == VB_QPT_UD && op != VB_LOAD_SEND)
		return field_complain(l, field, "ud has SENDs only: op is send");
	if (l->cfg.type == VB_QPT_UC && (op == VB_LOAD_READ || op == VB_LOAD_ATOMIC))
		return field_complain(l, field, "uc has no READs and atomics: op is send or write");
	*out = op;
	return 0;
}

/* A traffic class, a service level, or a priority: the upper bits of a class, or a service level.
 */
static int class_read(const struct vb_flows *l, const struct vb_token *field, enum column c,
		      uint16_t *out)
{
	bool is_level = c == SL || (c == PRIORITY && l->cfg.is_infiniband);
	uint64_t max = is_level ? VB_SL_CNT - 1 : c == PRIORITY ? 7 : 255, v;
	char what[48];

	if (c != PRIORITY && field->len == 0)
		return 0;
	snprintf(what, sizeof what, "a %s is 0 to %u",
		 c == PRIORITY ? "priority" : (is_level ? "service level" : "traffic class"),
		 (unsigned)max);
	if (!vb_token_number(field, max, &v))
		return field_complain(l, field, what);
	if (c == PRIORITY && l->cfg.has_class)
		return 0;
	if (c == PRIORITY && !is_level)
		v = v << 5 | (l->cfg.traffic_class & 0x1f);
	*out = (uint16_t)(VB_LOAD_OWN_CLASS | v);
	return 0;
}

static int field_read(const struct vb_flows *l, const struct vb_token *field, enum column c,
		      struct vb_load_item *item)
{
	uint64_t port;

	switch (c) {
	case SRC:
		return host_read(l, field, &item->src);
	case DST:
		return host_read(l, field, &item->dst);
	case BYTES:
		return bytes_read(l, field, &item->bytes);
	case START:
		return start_read(l, field, &item->start);
	case OP:
		return op_read(l, field, &item->op);
	case PORT:
		return vb_token_number(field, 65535, &port)
			   ? 0
			   : field_complain(l, field, "a port is 0 to 65535");
	default:
		return class_read(l, field, c, &item->traffic_class);
	}
}

static int columns_complain(const struct vb_flows *l)
{
	if (l->is_csv)
		return vb_complain(&l->complaint, l->line, 1,
				   "a line has %u columns, as the first one, not %u", l->column_cnt,
				   l->field_cnt);
	return vb_complain(&l->complaint, l->line, 1,
			   "a flow is \"source destination priority port bytes seconds\"");
}

int vb_flows_next(void *ctx, struct vb_load_item *item)
{
	struct vb_flows *l = ctx;
	int rc;

	if (!l->is_csv && l->made == l->cnt)
		return 0;
	rc = line_read(l);
	if (rc == 0 && !l->is_csv)
		return vb_complain(&l->complaint, l->line + 1, 1,
				   "line %u says %llu flows, and there are %llu", l->count_line,
				   (unsigned long long)l->cnt, (unsigned long long)l->made);
	if (rc <= 0)
		return rc;
	if (l->field_cnt != l->column_cnt)
		return columns_complain(l);
	*item = (struct vb_load_item){.op = VB_LOAD_OP_CNT};
	for (uint32_t i = 0; i < l->column_cnt; i++) {
		int bad = field_read(l, &l->field[i], l->column[i], item);

		if (bad)
			return bad;
	}
	if (vb_nic_host(l->cfg.nics, item->src) == vb_nic_host(l->cfg.nics, item->dst))
		return vb_complain(&l->complaint, l->line, 1, "a flow goes to another host");
	if (!vb_nic_can(l->cfg.nics, item->src, item->dst))
		return vb_complain(&l->complaint, l->line, 1,
				   "a flow goes to a NIC that is reached from its own");
	l->start = item->start;
	l->start_line = l->line;
	l->made++;
	return 1;
}

const char *vb_flows_complaint(const struct vb_flows *l)
{
	return l->why;
}

int vb_flows_check(struct vb_flows *l, uint64_t *cnt)
{
	struct vb_load_item item;
	int rc;

	do
		rc = vb_flows_next(l, &item);
	while (rc > 0);
	if (rc < 0)
		return rc;
	*cnt = l->made;
	l->made = 0;
	l->start = 0;
	l->line = l->first_line;
	clearerr(l->f);
	return fseek(l->f, l->first, SEEK_SET) == 0
		   ? 0
		   : vb_complain(&l->complaint, 1, 1, "a list of flows is an ordinary file");
}

const struct vb_load_list *vb_flows_list(const struct vb_flows *l)
{
	return &l->list;
}
