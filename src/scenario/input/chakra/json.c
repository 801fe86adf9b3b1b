/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes from the form of JSON, an object behind the other: names as protobuf turns them for JSON,
 * or as they are in the schema; numbers of 64 bits may be in strings. See trace.h. */
#include "scenario/input/chakra/trace.h"
#include "scenario/input/chakra/words.h"

#include "base/assert.h"

#include <errno.h>

struct form {
	struct vb_chakra *t;
	struct vb_json j;
};

static int form_fail(const struct form *f, const char *wrong)
{
	return vb_chakra_complain(f->t, f->t->rank_cnt, f->j.line, "%s", wrong);
}

static int end_check(const struct form *f)
{
	return f->j.wrong ? form_fail(f, f->j.wrong) : 0;
}

static int number_read(struct form *f, uint64_t *number)
{
	struct vb_json_value v;

	if (!vb_json_value(&f->j, &v))
		return end_check(f);
	return vb_json_number(&v, number) ? 0 : form_fail(f, "a whole number is expected here");
}

static int type_read(struct form *f, uint8_t *type)
{
	struct vb_json_value v;
	uint64_t number;

	if (!vb_json_value(&f->j, &v))
		return end_check(f);
	if (!vb_json_number(&v, &number))
		number = v.kind == VB_JSON_STRING ? vb_chakra_word(v.text, v.len) : 0;
	*type = number < UINT8_MAX ? (uint8_t)number : UINT8_MAX;
	return 0;
}

static int deps_read(struct form *f)
{
	bool is_first = true;
	uint64_t id = 0;
	int bad = 0;

	if (!vb_json_take(&f->j, '['))
		return form_fail(f, "a list is expected here");
	while (!bad && vb_json_member(&f->j, &is_first, NULL)) {
		bad = number_read(f, &id);
		if (!bad)
			bad = vb_chakra_dep(f->t, id, f->j.line);
	}
	return bad ? bad : end_check(f);
}

/* A member of an attribute, whose name says what it is. */
static void attr_take(struct vb_chakra_attr *a, const struct vb_json_value *key,
		      const struct vb_json_value *v)
{
	bool is_string = vb_json_is(key, "string_val");

	if (vb_json_is(key, "doc_string"))
		return;
	if (vb_json_is(key, "name")) {
		a->name = v->text;
		a->name_len = v->len;
		return;
	}
	a->bools = v->bools;
	a->bool_cnt = v->bool_cnt;
	a->text = v->text;
	a->text_len = v->len;
	if (vb_json_is(key, "bool_val")) {
		a->number = v->kind == VB_JSON_WORD && v->len == 4; /* true */
		a->kind = VB_CHAKRA_WHOLE;
	} else if (is_string && v->kind == VB_JSON_STRING) {
		a->kind = VB_CHAKRA_TEXT;
	} else {
		a->kind =
		    !is_string && vb_json_number(v, &a->number) ? VB_CHAKRA_WHOLE : VB_CHAKRA_OTHER;
	}
}

static int attrs_read(struct form *f)
{
	bool is_first = true;
	int bad = 0;

	if (!vb_json_take(&f->j, '['))
		return form_fail(f, "a list is expected here");
	while (!bad && vb_json_member(&f->j, &is_first, NULL)) {
		struct vb_chakra_attr a = {.name = ""};
		struct vb_json_value key, v;
		uint32_t line = f->j.line;
		bool is_begin = true;

		if (!vb_json_take(&f->j, '{'))
			return form_fail(f, "an attribute is expected here");
		while (vb_json_member(&f->j, &is_begin, &key) && vb_json_value(&f->j, &v))
			attr_take(&a, &key, &v);
		bad = end_check(f);
		if (!bad)
			bad = vb_chakra_attr(f->t, &a, line);
	}
	return bad ? bad : end_check(f);
}

static int member_read(struct form *f, const struct vb_json_value *key)
{
	struct vb_chakra_node *n = &f->t->node[f->t->node_cnt - 1];
	struct vb_json_value skipped;

	if (vb_json_is(key, "id"))
		return number_read(f, &n->id);
	if (vb_json_is(key, "type"))
		return type_read(f, &n->type);
	if (vb_json_is(key, "duration_micros"))
		return number_read(f, &n->micros);
	if (vb_json_is(key, "data_deps") || vb_json_is(key, "ctrl_deps"))
		return deps_read(f);
	if (vb_json_is(key, "attr"))
		return attrs_read(f);
	return vb_json_value(&f->j, &skipped) ? 0 : end_check(f);
}

static int node_read(struct form *f)
{
	struct vb_json_value key;
	bool is_first = true;
	int bad;

	(void)vb_json_is_end(&f->j);
	if (!vb_chakra_begin(f->t, f->j.line, &bad))
		return bad;
	if (!vb_json_take(&f->j, '{'))
		return form_fail(f, "a node is expected here");
	while (!bad && vb_json_member(&f->j, &is_first, &key))
		bad = member_read(f, &key);
	return bad ? bad : end_check(f);
}

/* GlobalMetadata has nothing that counts. */
static int head_read(struct form *f)
{
	struct vb_json_value key, v;
	bool is_first = true;

	if (!vb_json_take(&f->j, '{'))
		return form_fail(f, "global metadata is expected here");
	while (vb_json_member(&f->j, &is_first, &key) && vb_json_value(&f->j, &v))
		if (vb_json_is(&key, "id") || vb_json_is(&key, "type"))
			return form_fail(f, "global metadata is expected here, not a node");
	return end_check(f);
}

int vb_chakra_read_json(struct vb_chakra *t, const char *text, size_t len)
{
	struct form f = {t, {text, text + len, 1, NULL}};
	int bad = head_read(&f);

	while (!bad && !vb_json_is_end(&f.j))
		bad = node_read(&f);
	VB_ASSERT(bad || f.j.at == f.j.end);
	return bad;
}
