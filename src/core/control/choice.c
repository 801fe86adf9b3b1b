/* SPDX-License-Identifier: BSD-2-Clause */
/* The algorithm of a port and its parameters. See choice.h. */
#include "core/control/choice.h"

#include "base/assert.h"
#include "core/control/number.h"

#include <errno.h>
#include <string.h>

static const struct vb_unit units_number[] = {{"", 1}, {NULL, 0}};
static const struct vb_unit units_time[] = {
    {"ns", 1}, {"us", VB_USEC}, {"ms", VB_MSEC}, {"s", VB_SEC}, {NULL, 0}};
static const struct vb_unit units_bytes[] = {
    {"", 1},           {"B", 1},          {"kB", 1000},      {"MB", 1000000}, {"GB", 1000000000},
    {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}, {NULL, 0}};
/* The first one is how values are shown. */
static const struct vb_unit units_share[] = {{"%", 10000}, {"", 1000000}, {NULL, 0}};

static const struct {
	const struct vb_unit *units;
	const char *noun;
} unit_of[] = {
    [VERBENA_CC_NUMBER] = {units_number, "a number"}, [VERBENA_CC_TIME] = {units_time, "a time"},
    [VERBENA_CC_RATE] = {vb_units_rate, "a rate"},    [VERBENA_CC_BYTES] = {units_bytes, "bytes"},
    [VERBENA_CC_SHARE] = {units_share, "a share"},
};
#define UNIT_CNT (sizeof unit_of / sizeof unit_of[0])

static bool name_is_good(const char *name)
{
	size_t len = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;

	return len > 0 && len < 32 && !name[len];
}

/* The table of parameters. */
static const char *parameters_check(const struct verbena_cc_algorithm *a)
{
	if (a->parameter_cnt > VERBENA_CC_PARAMETERS_MAX)
		return "has more than 24 parameters";
	if (a->parameter_cnt && !a->parameter)
		return "has a count of parameters and no table of them";
	for (uint32_t i = 0; i < a->parameter_cnt; i++) {
		const struct verbena_cc_parameter *p = &a->parameter[i];

		if (!name_is_good(p->name))
			return "has a parameter whose name is not small letters, digits and "
			       "hyphens";
		if (vb_cc_parameter_find(a, p->name, strlen(p->name)) != p)
			return "has two parameters of one name";
		if (p->unit >= UNIT_CNT)
			return "has a parameter of an unknown unit";
		if (p->min > p->max)
			return "has a parameter whose minimum is above its maximum";
	}
	return NULL;
}

const char *vb_cc_algorithm_check(const struct verbena_cc_algorithm *a)
{
	/* First of all: with another version the rest lies elsewhere. */
	if (a->version != VERBENA_CC_VERSION)
		return "is made for another version of verbena/cc.h";
	if (!name_is_good(a->name))
		return "has a name that is not small letters, digits and hyphens";
	if (!a->init || !a->on_ack)
		return "lacks init() or on_ack()";
	if (a->state_bytes > VERBENA_CC_STATE_MAX)
		return "has a state of more than 65536 bytes";
	if (a->needs &
	    ~(uint32_t)(VERBENA_CC_NEEDS_ECN | VERBENA_CC_NEEDS_CNP | VERBENA_CC_NEEDS_INT))
		return "needs what is not known here";
	return parameters_check(a);
}

void vb_cc_choice_begin(struct vb_cc_choice *c, const struct verbena_cc_algorithm *a,
			uint64_t line_rate)
{
	VB_ASSERT(line_rate > 0 && a->parameter_cnt <= VERBENA_CC_PARAMETERS_MAX);
	*c = (struct vb_cc_choice){.algorithm = a, .line_rate = line_rate};
	for (uint32_t i = 0; i < a->parameter_cnt; i++)
		c->value[i] = a->parameter[i].value;
}

const struct verbena_cc_parameter *vb_cc_parameter_find(const struct verbena_cc_algorithm *a,
							const char *name, size_t len)
{
	for (uint32_t i = 0; i < a->parameter_cnt; i++)
		if (a->parameter[i].name && vb_word_is(a->parameter[i].name, name, len))
			return &a->parameter[i];
	return NULL;
}

int vb_cc_choice_put(struct vb_cc_choice *c, const struct verbena_cc_parameter *p, const char *text,
		     size_t len)
{
	uint64_t value;

	VB_ASSERT(p >= c->algorithm->parameter &&
		  p < c->algorithm->parameter + c->algorithm->parameter_cnt);
	if (!vb_number_with_unit(unit_of[p->unit].units, text, len, &value) || value < p->min ||
	    value > p->max)
		return -EINVAL;
	c->value[p - c->algorithm->parameter] = value;
	return 0;
}

/* A text that grows at its end; the rest of what does not fit is left out. */
struct text_end {
	char *to;
	size_t room;
};

static void text_add(struct text_end *t, const char *s)
{
	size_t len = strlen(s);

	if (len >= t->room)
		len = t->room - 1;
	memcpy(t->to, s, len);
	t->to += len;
	t->room -= len;
	*t->to = 0;
}

static void number_add(struct text_end *t, uint64_t v)
{
	char digits[24], *p = digits + sizeof digits - 1;

	*p = 0;
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	text_add(t, p);
}

/* In the largest unit of which it is a whole number; the first one, if of none, with a fraction. */
static void value_add(struct text_end *t, const struct verbena_cc_parameter *p, uint64_t value)
{
	const struct vb_unit *unit = unit_of[p->unit].units, *best = unit;
	uint64_t rest;

	VB_ASSERT(best->name);
	if (value == VERBENA_CC_NONE) {
		text_add(t, "none");
		return;
	}
	for (; unit->name; unit++)
		if (value && value % unit->factor == 0 && unit->factor > best->factor &&
		    p->unit != VERBENA_CC_SHARE)
			best = unit;
	number_add(t, value / best->factor);
	rest = value % best->factor;
	if (rest) /* of a share: four digits */
		text_add(t, ".");
	for (uint64_t digit = best->factor / 10; rest; digit /= 10) {
		number_add(t, rest / digit);
		rest %= digit;
	}
	text_add(t, best->name);
}

void vb_cc_value_text(const struct verbena_cc_parameter *p, uint64_t value,
		      char to[VB_CC_VALUE_SIZE])
{
	struct text_end t = {to, VB_CC_VALUE_SIZE};

	value_add(&t, p, value);
}

void vb_cc_parameter_rule(const struct verbena_cc_parameter *p, char to[VB_CC_RULE_SIZE])
{
	struct text_end t = {to, VB_CC_RULE_SIZE};

	VB_ASSERT(p->unit < UNIT_CNT);
	text_add(&t, "is ");
	text_add(&t, unit_of[p->unit].noun);
	text_add(&t, " from ");
	value_add(&t, p, p->min);
	text_add(&t, " to ");
	value_add(&t, p, p->max);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int item_put(struct vb_cc_choice *c, const char *item, size_t len, uint32_t *given,
		    char what[VB_CC_RULE_SIZE])
{
	const char *eq = memchr(item, '=', len);
	const struct verbena_cc_parameter *p =
	    eq ? vb_cc_parameter_find(c->algorithm, item, (size_t)(eq - item)) : NULL;
	struct text_end t = {what, VB_CC_RULE_SIZE};
	uint32_t bit = p ? 1u << (p - c->algorithm->parameter) : 0;

	if (!eq)
		text_add(&t, "lacks its value, NAME=VALUE");
	else if (!p)
		text_add(&t, "is no parameter of the algorithm");
	else if (*given & bit)
		text_add(&t, "stands here twice");
	else if (vb_cc_choice_put(c, p, eq + 1, len - (size_t)(eq + 1 - item)))
		vb_cc_parameter_rule(p, what);
	else
		*given |= bit;
	return *given & bit && !what[0] ? 0 : -EINVAL;
}

int vb_cc_choice_read(struct vb_cc_choice *c, const char *text, struct vb_cc_choice_fault *fault)
{
	const char *at = text;
	uint32_t given = 0;

	for (;;) {
		size_t len;

		at += strspn(at, " \t\r\n,");
		if (!*at)
			return 0;
		len = strcspn(at, ",");
		*fault = (struct vb_cc_choice_fault){.at = (uint32_t)(at - text)};
		while (len && is_blank(at[len - 1]))
			len--;
		fault->len = (uint32_t)len;
		if (item_put(c, at, len, &given, fault->what))
			return -EINVAL;
		at += len;
	}
}
