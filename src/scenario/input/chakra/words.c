/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of JSON. See words.h. */
#include "scenario/input/chakra/words.h"

#include "base/assert.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_MAX 64u

static bool json_fail(struct vb_json *j, const char *wrong)
{
	VB_ASSERT(wrong);
	if (!j->wrong)
		j->wrong = wrong;
	return false;
}

bool vb_json_is_end(struct vb_json *j)
{
	VB_ASSERT(j->at <= j->end);
	while (j->at < j->end &&
	       (*j->at == ' ' || *j->at == '\t' || *j->at == '\r' || *j->at == '\n'))
		j->line += *j->at++ == '\n';
	return j->at == j->end;
}

bool vb_json_take(struct vb_json *j, char sign)
{
	if (j->wrong || vb_json_is_end(j) || *j->at != sign)
		return false;
	j->at++;
	return true;
}

/* Behind its first sign. */
static bool string_read(struct vb_json *j, struct vb_json_value *v)
{
	v->kind = VB_JSON_STRING;
	v->text = j->at;
	for (; j->at < j->end && *j->at != '"'; j->at++) {
		if ((unsigned char)*j->at < ' ')
			return json_fail(j, "a string goes beyond its line");
		if (*j->at == '\\' && ++j->at == j->end)
			break;
	}
	if (j->at == j->end)
		return json_fail(j, "a string goes beyond the end");
	v->len = (size_t)(j->at++ - v->text);
	return true;
}

static bool word_read(struct vb_json *j, struct vb_json_value *v)
{
	v->kind = VB_JSON_WORD;
	v->text = j->at;
	while (j->at < j->end &&
	       (isalnum((unsigned char)*j->at) || (*j->at && strchr("+-.", *j->at))))
		j->at++;
	v->len = (size_t)(j->at - v->text);
	return v->len ? true : json_fail(j, "a value is expected here");
}

/* A word in a list. */
static void list_word(struct vb_json_value *list, const struct vb_json_value *word)
{
	bool is = vb_json_is(word, "true");

	if (!is && !vb_json_is(word, "false"))
		return;
	if (list->bool_cnt < 64)
		list->bools |= (uint64_t)is << list->bool_cnt;
	list->bool_cnt++;
}

/* Up to the sign that ends what has just begun. Strings and signs are looked at, and no grammar. */
static bool list_skip(struct vb_json *j, struct vb_json_value *v)
{
	char close[DEPTH_MAX];
	unsigned depth = 0;

	do {
		struct vb_json_value inner;

		if (vb_json_is_end(j))
			return json_fail(j, "a list or an object goes beyond the end");
		switch (*j->at) {
		case '{':
		case '[':
			if (depth == DEPTH_MAX)
				return json_fail(j, "lists in lists are more than 64 deep");
			close[depth++] = *j->at++ == '{' ? '}' : ']';
			break;
		case '}':
		case ']':
			if (depth == 0 || *j->at++ != close[--depth])
				return json_fail(j, "a list ends as an object, or the reverse");
			break;
		case ',':
		case ':':
			j->at++;
			break;
		case '"':
			j->at++;
			if (!string_read(j, &inner))
				return false;
			break;
		default:
			if (!word_read(j, &inner))
				return false;
			list_word(v, &inner);
		}
	} while (depth > 0);
	v->kind = VB_JSON_LIST;
	return true;
}

bool vb_json_value(struct vb_json *j, struct vb_json_value *v)
{
	*v = (struct vb_json_value){.text = ""};
	if (j->wrong)
		return false;
	if (vb_json_is_end(j))
		return json_fail(j, "a value is missing at the end");
	if (*j->at == '{' || *j->at == '[')
		return list_skip(j, v);
	return vb_json_take(j, '"') ? string_read(j, v) : word_read(j, v);
}

bool vb_json_member(struct vb_json *j, bool *is_first, struct vb_json_value *key)
{
	char close = key ? '}' : ']';

	if (j->wrong || vb_json_take(j, close))
		return false;
	if (!*is_first && !vb_json_take(j, ','))
		return json_fail(j, key ? "\",\" or \"}\" is expected here"
					: "\",\" or \"]\" is expected here");
	*is_first = false;
	if (!key)
		return true;
	if (!vb_json_take(j, '"'))
		return json_fail(j, "a name in \" is expected here");
	return string_read(j, key) &&
	       (vb_json_take(j, ':') || json_fail(j, "\":\" is expected here"));
}

bool vb_json_number(const struct vb_json_value *v, uint64_t *number)
{
	*number = 0;
	if (v->kind == VB_JSON_LIST || v->len == 0)
		return false;
	for (size_t i = 0; i < v->len; i++) {
		unsigned digit = (unsigned char)v->text[i] - (unsigned)'0';

		if (digit > 9 || *number > (UINT64_MAX - digit) / 10)
			return false;
		*number = *number * 10 + digit;
	}
	return true;
}

bool vb_json_is(const struct vb_json_value *key, const char *name)
{
	size_t i = 0;

	for (; *name && i < key->len; name++, i++) {
		if (*name == '_' && key->text[i] != '_' &&
		    key->text[i] == toupper((unsigned char)name[1]))
			name++;
		else if (key->text[i] != *name)
			return false;
	}
	return !*name && i == key->len;
}
