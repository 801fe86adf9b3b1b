/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes from the form of protobuf: messages with their lengths before them. See trace.h. Fields
 * that do not count are skipped, as protobuf has it. */
#include "scenario/input/chakra/trace.h"
#include "scenario/input/chakra/wire.h"

#include "base/assert.h"

#include <errno.h>

/* Fields of Node, and of AttributeProto. */
enum {
	NODE_ID = 1,
	NODE_TYPE = 3,
	NODE_CTRL_DEPS,
	NODE_DATA_DEPS,
	NODE_MICROS = 7,
	NODE_ATTR = 10
};
enum {
	ATTR_NAME = 1,
	ATTR_FIRST = 3, /* of the values */
	ATTR_INT32 = 7,
	ATTR_INT64 = 9,
	ATTR_UINT32 = 11,
	ATTR_UINT64 = 13,
	ATTR_SINT32 = 15,
	ATTR_SINT64 = 17,
	ATTR_FIXED32 = 19,
	ATTR_FIXED64 = 21,
	ATTR_SFIXED32 = 23,
	ATTR_SFIXED64 = 25,
	ATTR_BOOL = 27,
	ATTR_BOOL_LIST = 28,
	ATTR_STRING = 29,
	ATTR_LAST = 32
};

struct proto {
	struct vb_chakra *t;
	const uint8_t *text;
};

static int proto_fail(const struct proto *p, const uint8_t *at, const char *wrong)
{
	return vb_chakra_complain(p->t, p->t->rank_cnt, (uint64_t)(at - p->text), "%s", wrong);
}

/* A message has been read; perhaps it broke off. */
static int end_check(const struct proto *p, const struct vb_wire *w)
{
	return w->wrong ? proto_fail(p, w->at, w->wrong) : 0;
}

/* The field has the kind that the schema says. */
static int kind_check(const struct proto *p, const uint8_t *at, const struct vb_wire_field *f,
		      enum vb_wire_kind kind)
{
	return f->kind == kind ? 0
			       : proto_fail(p, at, "a field has another kind than in the schema");
}

/* A value that is a number; false of floats and of lists. */
static bool number_of(const struct vb_wire_field *f, int64_t *v)
{
	*v = (int64_t)f->value;
	switch (f->number) {
	case ATTR_INT32:
	case ATTR_INT64:
	case ATTR_UINT32:
	case ATTR_UINT64:
	case ATTR_BOOL:
		return f->kind == VB_WIRE_VARINT;
	case ATTR_SINT32:
	case ATTR_SINT64:
		*v = (int64_t)((f->value >> 1) ^ (0 - (f->value & 1)));
		return f->kind == VB_WIRE_VARINT;
	case ATTR_SFIXED32:
		*v = (int32_t)(uint32_t)f->value;
		return f->kind == VB_WIRE_32;
	case ATTR_FIXED32:
		return f->kind == VB_WIRE_32;
	case ATTR_FIXED64:
	case ATTR_SFIXED64:
		return f->kind == VB_WIRE_64;
	default:
		return false;
	}
}

/* Of a list of bools, packed or each on its own. */
static int bools_read(const struct proto *p, struct vb_wire w, struct vb_chakra_attr *a)
{
	struct vb_wire_field f;
	uint64_t v;

	while (vb_wire_next(&w, &f)) {
		if (f.number != 1)
			continue;
		if (f.kind == VB_WIRE_VARINT)
			vb_chakra_bool(a, f.value != 0);
		while (f.kind == VB_WIRE_BYTES && f.bytes.at < f.bytes.end) {
			if (!vb_wire_varint(&f.bytes, &v))
				return end_check(p, &f.bytes);
			vb_chakra_bool(a, v != 0);
		}
	}
	return end_check(p, &w);
}

static int attr_read(const struct proto *p, struct vb_wire w, bool is_kept)
{
	const uint8_t *begin = w.at;
	struct vb_chakra_attr a = {.name = ""};
	struct vb_wire_field f;
	int64_t v;
	int bad = 0;

	while (!bad && vb_wire_next(&w, &f)) {
		if (f.number == ATTR_NAME && f.kind == VB_WIRE_BYTES) {
			a.name = (const char *)f.bytes.at;
			a.name_len = (size_t)(f.bytes.end - f.bytes.at);
		} else if (f.number == ATTR_STRING && f.kind == VB_WIRE_BYTES) {
			a.kind = VB_CHAKRA_TEXT;
			a.text = (const char *)f.bytes.at;
			a.text_len = (size_t)(f.bytes.end - f.bytes.at);
		} else if (f.number >= ATTR_FIRST && f.number <= ATTR_LAST) {
			/* The highest bit is a sign, or the number is too large in any case. */
			a.kind = number_of(&f, &v) && v >= 0 ? VB_CHAKRA_WHOLE : VB_CHAKRA_OTHER;
			a.number = (uint64_t)v;
			if (f.number == ATTR_BOOL_LIST && f.kind == VB_WIRE_BYTES)
				bad = bools_read(p, f.bytes, &a);
		}
	}
	if (!bad)
		bad = end_check(p, &w);
	if (bad || !is_kept)
		return bad;
	return vb_chakra_attr(p->t, &a, (uint64_t)(begin - p->text));
}

static int deps_read(const struct proto *p, const uint8_t *at, struct vb_wire_field *f)
{
	uint64_t id;
	int bad = 0;

	if (f->kind == VB_WIRE_VARINT)
		return vb_chakra_dep(p->t, f->value, (uint64_t)(at - p->text));
	bad = kind_check(p, at, f, VB_WIRE_BYTES);
	while (!bad && f->bytes.at < f->bytes.end) {
		if (!vb_wire_varint(&f->bytes, &id))
			return end_check(p, &f->bytes);
		bad = vb_chakra_dep(p->t, id, (uint64_t)(at - p->text));
	}
	return bad;
}

static int field_read(const struct proto *p, const uint8_t *at, struct vb_wire_field *f)
{
	struct vb_chakra_node *n = &p->t->node[p->t->node_cnt - 1];
	int bad;

	switch (f->number) {
	case NODE_ID:
		n->id = f->value;
		return kind_check(p, at, f, VB_WIRE_VARINT);
	case NODE_TYPE:
		n->type = f->value < UINT8_MAX ? (uint8_t)f->value : UINT8_MAX;
		return kind_check(p, at, f, VB_WIRE_VARINT);
	case NODE_MICROS:
		n->micros = f->value;
		return kind_check(p, at, f, VB_WIRE_VARINT);
	case NODE_CTRL_DEPS:
	case NODE_DATA_DEPS:
		return deps_read(p, at, f);
	case NODE_ATTR:
		bad = kind_check(p, at, f, VB_WIRE_BYTES);
		return bad ? bad : attr_read(p, f->bytes, true);
	default:
		return 0;
	}
}

static int node_read(const struct proto *p, struct vb_wire w)
{
	struct vb_wire_field f;
	const uint8_t *at = w.at;
	int bad;

	if (!vb_chakra_begin(p->t, (uint64_t)(at - p->text), &bad))
		return bad;
	while (!bad && vb_wire_next(&w, &f)) {
		bad = field_read(p, at, &f);
		at = w.at;
	}
	return bad ? bad : end_check(p, &w);
}

/* GlobalMetadata has a version and attributes; none of them counts. */
static int head_read(const struct proto *p, struct vb_wire w)
{
	struct vb_wire_field f;
	const uint8_t *at = w.at;
	int bad = 0;

	while (!bad && vb_wire_next(&w, &f)) {
		if (f.number <= NODE_TYPE && f.kind != VB_WIRE_BYTES)
			bad = proto_fail(p, at, "global metadata is expected here, not a node");
		else if (f.number == 2)
			bad = attr_read(p, f.bytes, false);
		at = w.at;
	}
	return bad ? bad : end_check(p, &w);
}

int vb_chakra_read_proto(struct vb_chakra *t, const uint8_t *text, size_t len)
{
	const struct proto p = {t, text};
	struct vb_wire w = {text, text + len, NULL}, message;
	int bad;

	if (len == 0)
		return proto_fail(&p, text, "the file is empty");
	if (len >= 2 && text[0] == 0x1f && text[1] == 0x8b)
		return proto_fail(&p, text, "the file is compressed: unpack it with gzip -d");
	bad = vb_wire_bytes(&w, &message) ? head_read(&p, message) : end_check(&p, &w);
	while (!bad && w.at < w.end)
		bad = vb_wire_bytes(&w, &message) ? node_read(&p, message) : end_check(&p, &w);
	VB_ASSERT(bad || w.at == w.end);
	return bad;
}
