/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The document of a scenario file. The YAML library takes time in proportion to the square of the
 * depth of a document and of its anchors, and asks nobody: so its events are read once before,
 * which come while it reads, and what is too deep ends that at its line.
 */
#include "scenario/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64u
#define ANCHORS_MAX 1000u
#define FILE_MAX ((size_t)16 << 20)

static int say_problem(struct reader *r, const yaml_parser_t *p)
{
	snprintf(r->err, r->err_len, "%s:%zu:%zu: %s", r->file, p->problem_mark.line + 1,
		 p->problem_mark.column + 1, p->problem ? p->problem : "cannot be read");
	return -EINVAL;
}

static int say_too_much(struct reader *r, const yaml_event_t *ev, unsigned max, const char *what)
{
	snprintf(r->err, r->err_len, "%s:%zu:%zu: more than %u %s", r->file,
		 ev->start_mark.line + 1, ev->start_mark.column + 1, max, what);
	return -EINVAL;
}

/* Counts @ev in. Not 0: it is beyond what a document may be. */
static int check_event(struct reader *r, const yaml_event_t *ev, unsigned *depth, unsigned *anchors)
{
	const yaml_char_t *anchor = NULL;

	if (ev->type == YAML_SEQUENCE_START_EVENT || ev->type == YAML_MAPPING_START_EVENT) {
		anchor = ev->type == YAML_MAPPING_START_EVENT ? ev->data.mapping_start.anchor
							      : ev->data.sequence_start.anchor;
		if (++*depth > DEPTH_MAX)
			return say_too_much(r, ev, DEPTH_MAX, "lists and mappings in each other");
	} else if (ev->type == YAML_SEQUENCE_END_EVENT || ev->type == YAML_MAPPING_END_EVENT) {
		--*depth;
	} else if (ev->type == YAML_SCALAR_EVENT) {
		anchor = ev->data.scalar.anchor;
	}
	if (anchor && ++*anchors > ANCHORS_MAX)
		return say_too_much(r, ev, ANCHORS_MAX, "anchors");
	return 0;
}

static int check_events(struct reader *r, yaml_parser_t *p)
{
	unsigned depth = 0, anchors = 0;
	bool ends = false;
	int bad = 0;

	while (!bad && !ends) {
		yaml_event_t ev;

		if (!yaml_parser_parse(p, &ev))
			return say_problem(r, p);
		bad = check_event(r, &ev, &depth, &anchors);
		/* Text behind the first document is not read. */
		ends = ev.type == YAML_DOCUMENT_END_EVENT || ev.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&ev);
	}
	return bad;
}

static int load_document(struct reader *r, yaml_parser_t *p, yaml_document_t *doc)
{
	return yaml_parser_load(p, doc) ? 0 : say_problem(r, p);
}

/* One reading of the text from its beginning: of its events (@doc is NULL), or into @doc. */
static int parse_text(struct reader *r, const char *text, size_t len, yaml_document_t *doc)
{
	yaml_parser_t p;
	int bad;

	if (!yaml_parser_initialize(&p)) {
		snprintf(r->err, r->err_len, "%s: no memory", r->file);
		return -ENOMEM;
	}
	yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
	bad = doc ? load_document(r, &p, doc) : check_events(r, &p);
	yaml_parser_delete(&p);
	return bad;
}

/* The whole of @f, to be freed; NULL with the reason in r->err. */
static char *read_text(struct reader *r, FILE *f, size_t *len)
{
	size_t cap = 1 << 16, n;
	char *text = malloc(cap), *more;

	*len = 0;
	while (text && (n = fread(text + *len, 1, cap - *len, f)) != 0) {
		*len += n;
		if (*len > FILE_MAX) {
			snprintf(r->err, r->err_len, "%s is longer than 16 MiB", r->file);
			free(text);
			return NULL;
		}
		if (*len < cap)
			continue;
		more = realloc(text, cap * 2);
		if (!more)
			free(text);
		text = more;
		cap *= 2;
	}
	if (text && !ferror(f))
		return text;
	snprintf(r->err, r->err_len, "%s cannot be read: %s", r->file,
		 text ? strerror(errno) : "no memory");
	free(text);
	return NULL;
}

int reader_load(struct reader *r, FILE *f)
{
	size_t len;
	char *text = read_text(r, f, &len);
	int bad;

	if (!text)
		return -EINVAL;
	bad = parse_text(r, text, len, NULL);
	if (!bad)
		bad = parse_text(r, text, len, r->doc);
	free(text);
	return bad;
}
