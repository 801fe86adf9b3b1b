/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of refusals: the texts of core/refusal.def with their values in place. */
#include "explain/text/refusal.h"

#include "explain/text/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
	const char *text, *clause;
} rules[] = {
    [VB_REFUSAL_NONE] = {"", ""},
#define REFUSAL(name, text, clause) [VB_REFUSAL_##name] = {text, clause},
#include "core/refusal.def"
#undef REFUSAL
};

/* By bit of enum vb_qp_attr_mask, behind IBV_QP_. ibv_modify_qp(3) */
static const char *const mask_names[32] = {
    "STATE",
    "CUR_STATE",
    "EN_SQD_ASYNC_NOTIFY",
    "ACCESS_FLAGS",
    "PKEY_INDEX",
    "PORT",
    "QKEY",
    "AV",
    "PATH_MTU",
    "TIMEOUT",
    "RETRY_CNT",
    "RNR_RETRY",
    "RQ_PSN",
    "MAX_QP_RD_ATOMIC",
    "ALT_PATH",
    "MIN_RNR_TIMER",
    "SQ_PSN",
    "MAX_DEST_RD_ATOMIC",
    "PATH_MIG_STATE",
    "CAP",
    "DEST_QPN",
    [25] = "RATE_LIMIT",
};

struct text {
	char *to;
	size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void text_add(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->to + t->len, t->size - t->len, format, args);
	va_end(args);
	t->len += n < 0 ? 0 : (size_t)n;
	if (t->len >= t->size)
		t->len = t->size - 1;
}

static void text_add_mask(struct text *t, uint32_t mask)
{
	const char *between = "";

	for (int i = 0; i < 32; i++) {
		if (!(mask >> i & 1))
			continue;
		if (mask_names[i])
			text_add(t, "%sIBV_QP_%s", between, mask_names[i]);
		else
			text_add(t, "%sbit %d", between, i);
		between = ", ";
	}
}

static void text_add_field(struct text *t, const struct vb_refusal *r, char field)
{
	if (field == 'n')
		text_add(t, "%s", r->name ? r->name : "");
	else if (field == 'v' || field == 'b')
		text_add(t, "%" PRIu64, field == 'v' ? r->value : r->bound);
	else if (field == 'x')
		text_add(t, "%" PRIx64, r->value);
	else if (field == 's' || field == 't')
		text_add(t, "%s",
			 vb_word_state((enum vb_qp_state)(field == 's' ? r->value : r->bound)));
	else
		text_add_mask(t, r->mask);
}

void vb_refusal_words(const struct vb_refusal *r, char *to, size_t size)
{
	struct text t = {to, size, 0};

	to[0] = 0;
	if (r->rule == VB_REFUSAL_NONE)
		return;
	for (const char *p = rules[r->rule].text; *p; p++) {
		if (*p == '$')
			text_add_field(&t, r, *++p);
		else
			text_add(&t, "%c", *p);
	}
	text_add(&t, " (%s)", rules[r->rule].clause);
}
