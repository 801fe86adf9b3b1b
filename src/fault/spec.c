/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of a fault specification: rules behind commas, options of a rule behind colons. Numbers
 * are read in integers, so that the same text is the same fault everywhere. docs/simulator.md
 */
#include "fault/fault.h"

#include "wire/mad/cm.h"
#include "wire/opcode.h"

#include <errno.h>
#include <string.h>

#define QPN_MAX 0xffffffu
#define UD_SEND_ONLY (VB_TRANSPORT_UD | VB_OP_SEND_ONLY) /* of every MAD */

struct parser {
	const char *text, *at, *end; /* end: of the item that is being read */
	struct vb_fault_error *err;
};

static const char *const kind_name[VB_FAULT_KIND_CNT] = {
#define KIND(name, word, loses) [VB_FAULT_##name] = (word),
#include "fault/kind.def"
#undef KIND
};

const char *vb_fault_kind_name(enum vb_fault_kind kind)
{
	return kind_name[kind];
}

bool vb_fault_kind_loses(enum vb_fault_kind kind)
{
	static const bool loses_packets[VB_FAULT_KIND_CNT] = {
#define KIND(name, word, loses) [VB_FAULT_##name] = (loses),
#include "fault/kind.def"
#undef KIND
	};

	return loses_packets[kind];
}

static int fail_at(struct parser *p, const char *at, const char *what)
{
	size_t n = strlen(what);

	if (n >= sizeof p->err->text)
		n = sizeof p->err->text - 1;
	memcpy(p->err->text, what, n);
	p->err->text[n] = '\0';
	p->err->column = (uint32_t)(at - p->text) + 1;
	return -EINVAL;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A non-negative decimal number as mantissa * 10^exp; the unit behind it is left. */
static bool read_decimal(struct parser *p, uint64_t *mantissa, int *exp)
{
	const char *start = p->at;
	bool digits = false, point = false;

	*mantissa = 0;
	*exp = 0;
	for (; p->at < p->end; p->at++) {
		if (*p->at == '.' && !point) {
			point = true;
		} else if (is_digit(*p->at)) {
			if (*mantissa > UINT64_MAX / 100)
				break;
			*mantissa = *mantissa * 10 + (uint64_t)(*p->at - '0');
			*exp -= point;
			digits = true;
		} else {
			break;
		}
	}
	if (digits && p->at + 1 < p->end && (*p->at == 'e' || *p->at == 'E')) {
		const char *q = p->at + 1;
		bool minus = *q == '-';
		int e = 0;

		q += *q == '-' || *q == '+';
		if (q == p->end || !is_digit(*q))
			return true; /* the e belongs to a unit */
		for (; q < p->end && is_digit(*q) && e < 1000; q++)
			e = e * 10 + (*q - '0');
		*exp += minus ? -e : e;
		p->at = q;
	}
	return digits && p->at > start;
}

/* mantissa * 10^exp, rounded down; false when it does not fit. */
static bool scale_decimal(uint64_t mantissa, int exp, uint64_t *out)
{
	for (; exp < 0 && mantissa; exp++)
		mantissa /= 10;
	for (; exp > 0 && mantissa; exp--) {
		if (mantissa > UINT64_MAX / 10)
			return false;
		mantissa *= 10;
	}
	*out = mantissa;
	return true;
}

/* Takes @word if it stands here and nothing but the end of a value follows. */
static bool take_word(struct parser *p, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
		return false;
	if (p->at + n < p->end && p->at[n] != '/')
		return false;
	p->at += n;
	return true;
}

static bool at_value_end(const struct parser *p)
{
	return p->at == p->end || *p->at == '/';
}

static int read_probability(struct parser *p, uint32_t *ppb)
{
	const char *start = p->at;
	uint64_t m, v;
	int e;

	if (!read_decimal(p, &m, &e))
		return fail_at(p, start, "expected a probability such as 0.001, 1e-3, 0.1%, 20ppm");
	if (take_word(p, "%"))
		e += 7;
	else if (take_word(p, "ppm"))
		e += 3;
	else if (!take_word(p, "ppb"))
		e += 9;
	if (!at_value_end(p))
		return fail_at(p, p->at, "a probability has no unit, or %, ppm, ppb");
	if (!scale_decimal(m, e, &v) || v > VB_FAULT_ONE)
		return fail_at(p, start, "a probability is at most 1");
	if (v == 0 && m != 0)
		return fail_at(p, start, "a probability is 0 or at least 1e-9");
	*ppb = (uint32_t)v;
	return 0;
}

static int read_duration(struct parser *p, vb_dur *d)
{
	const char *start = p->at;
	uint64_t m;
	int e;

	if (!read_decimal(p, &m, &e))
		return fail_at(p, start, "expected a time such as 500ns, 20us, 1.5ms, 2s");
	if (take_word(p, "us"))
		e += 3;
	else if (take_word(p, "ms"))
		e += 6;
	else if (take_word(p, "s"))
		e += 9;
	else if (!take_word(p, "ns"))
		return fail_at(p, p->at, "a time needs a unit: ns, us, ms or s");
	if (!scale_decimal(m, e, d))
		return fail_at(p, start, "the time is too long");
	return 0;
}

static int read_rate(struct parser *p, uint64_t *bps)
{
	const char *start = p->at;
	uint64_t m;
	int e;

	if (!read_decimal(p, &m, &e))
		return fail_at(p, start, "expected a rate such as 40Mbps or 1.5Gbps");
	if (take_word(p, "kbps"))
		e += 3;
	else if (take_word(p, "Mbps"))
		e += 6;
	else if (take_word(p, "Gbps"))
		e += 9;
	else
		return fail_at(p, p->at, "a rate needs a unit: kbps, Mbps or Gbps");
	if (!scale_decimal(m, e, bps) || *bps < 1000 || *bps > VB_FAULT_QUEUE_BPS_MAX)
		return fail_at(p, start, "the rate of a queue is 1kbps to 1000Gbps");
	return 0;
}

static int read_bytes(struct parser *p, uint32_t *bytes)
{
	const char *start = p->at;
	uint64_t m, v;
	int e;

	if (!read_decimal(p, &m, &e))
		return fail_at(p, start, "expected a number of bytes such as 40kB");
	if (take_word(p, "kB"))
		e += 3;
	else if (take_word(p, "MB"))
		e += 6;
	else if (!take_word(p, "B"))
		return fail_at(p, p->at, "a number of bytes needs a unit: B, kB or MB");
	if (!scale_decimal(m, e, &v) || v > UINT32_MAX)
		return fail_at(p, start, "that is too much for a queue");
	*bytes = (uint32_t)v;
	return 0;
}

static int read_number(struct parser *p, uint64_t max, uint64_t *out)
{
	const char *start = p->at;
	uint32_t base = 10;
	uint64_t v = 0;

	if (p->end - p->at > 2 && p->at[0] == '0' && p->at[1] == 'x') {
		base = 16;
		p->at += 2;
	}
	for (; p->at < p->end; p->at++) {
		char c = *p->at;
		uint32_t d = is_digit(c)                          ? (uint32_t)(c - '0')
			     : base == 16 && c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
								  : base;

		if (d >= base)
			break;
		if (v > (max - d) / base)
			return fail_at(p, start, "the number is too large");
		v = v * base + d;
	}
	if (p->at == start)
		return fail_at(p, start, "expected a number");
	*out = v;
	return 0;
}

static int read_range(struct parser *p, uint64_t max, uint64_t *lo, uint64_t *hi)
{
	int err = read_number(p, max, lo);

	if (err)
		return err;
	*hi = *lo;
	if (p->at < p->end && *p->at == '-') {
		p->at++;
		if (p->at == p->end) /* "5-": and everything behind */
			*hi = max;
		else
			err = read_number(p, max, hi);
	}
	if (!err && p->at != p->end)
		return fail_at(p, p->at, "expected a number or a range such as 3-7");
	return err;
}

/* Does the name of an opcode, with or without its transport, fit @want (a * at its end allowed)? */
static bool name_fits(const char *name, const char *want, size_t len)
{
	bool open = len > 0 && want[len - 1] == '*';
	const char *part[2] = {name, memchr(name, '_', strlen(name))};

	if (open)
		len--;
	if (part[1])
		part[1]++;
	for (int i = 0; i < 2; i++) {
		if (part[i] && strncmp(part[i], want, len) == 0 && (open || part[i][len] == '\0'))
			return true;
	}
	return false;
}

#define CM_PREFIX "CM_"
#define CM_PREFIX_LEN (sizeof CM_PREFIX - 1)

/* MAD: every MAD; CM_REQ, CM_SIDR*: messages of the connection manager. */
static bool read_mads(struct parser *p, struct vb_fault_filter *f)
{
	const char *want = p->at + CM_PREFIX_LEN;
	size_t len = (size_t)(p->end - p->at), prefix;

	f->mads = len == 3 && memcmp(p->at, "MAD", len) == 0;
	f->cm = 0;
	if (!f->mads && (len <= CM_PREFIX_LEN || memcmp(p->at, CM_PREFIX, CM_PREFIX_LEN) != 0))
		return false;
	len -= CM_PREFIX_LEN;
	prefix = len && want[len - 1] == '*' ? len - 1 : len;
	for (int a = VB_CM_ATTR_FIRST; !f->mads && a <= VB_CM_ATTR_LAST; a++) {
		const char *name = vb_cm_attr_name((enum vb_cm_attr)a);

		if (strncmp(name, want, prefix) == 0 && (prefix < len || name[len] == '\0'))
			f->cm |= (uint16_t)(1u << (a - VB_CM_ATTR_FIRST));
	}
	if (!f->mads && !f->cm)
		return false;
	f->mads = true;
	memset(f->opcode, 0, sizeof f->opcode);
	f->opcode[UD_SEND_ONLY >> 6] = UINT64_C(1) << (UD_SEND_ONLY & 63);
	p->at = p->end;
	return true;
}

static int read_opcodes(struct parser *p, struct vb_fault_filter *f)
{
	uint64_t *set = f->opcode;
	size_t len = (size_t)(p->end - p->at);
	bool any = false;

	if (read_mads(p, f))
		return 0;
	memset(set, 0, sizeof f->opcode);
	for (uint32_t i = 0; i < 256; i++) {
		if (!vb_opcode[i].name || !name_fits(vb_opcode[i].name, p->at, len))
			continue;
		set[i >> 6] |= UINT64_C(1) << (i & 63);
		any = true;
	}
	if (!any)
		return fail_at(
		    p, p->at,
		    "no such opcode; names are as RC_SEND_ONLY, ACK, READ_RESP* or RC_*, and "
		    "of MADs MAD, CM_REQ or CM_SIDR*");
	p->at = p->end;
	return 0;
}

static int read_option(struct parser *p, const char *name, size_t len, struct vb_fault_filter *f)
{
	uint64_t lo = 0, hi = 0;
	int err;
#define IS(word) (len == sizeof(word) - 1 && memcmp(name, word, len) == 0)

	if (IS("dir")) {
		if (take_word(p, "tx"))
			f->dirs = VB_FAULT_TX;
		else if (take_word(p, "rx"))
			f->dirs = VB_FAULT_RX;
		else if (!take_word(p, "both"))
			return fail_at(p, p->at, "dir is tx, rx or both");
		return 0;
	}
	if (IS("op"))
		return read_opcodes(p, f);
	if (IS("qpn")) {
		err = read_range(p, QPN_MAX, &lo, &hi);
		f->qpn_lo = (uint32_t)lo;
		f->qpn_hi = (uint32_t)hi;
		return err;
	}
	if (IS("psn")) {
		err = read_range(p, VB_PSN_MASK, &lo, &hi);
		f->psn_lo = vb_psn((uint32_t)lo);
		f->psn_hi = vb_psn((uint32_t)hi);
		f->any_psn = false;
		return err;
	}
	if (IS("msg"))
		return read_range(p, UINT64_MAX, &f->msg_lo, &f->msg_hi);
	if (IS("after"))
		return read_duration(p, &f->after);
	if (IS("until"))
		return read_duration(p, &f->until);
	if (IS("skip"))
		return read_number(p, UINT64_MAX, &f->skip);
	if (IS("first"))
		return read_number(p, UINT64_MAX, &f->first);
	if (IS("nth")) { /* the n-th and no other */
		err = read_number(p, UINT64_MAX, &f->skip);
		if (!err && f->skip-- == 0)
			return fail_at(p, name, "nth counts from 1");
		f->first = 1;
		return err;
	}
	if (IS("every")) {
		const char *at = p->at;

		err = read_number(p, UINT64_MAX, &f->every);
		if (!err && f->every == 0)
			return fail_at(p, at, "every is at least 1");
		return err;
	}
#undef IS
	return fail_at(
	    p, name,
	    "unknown option; there are dir op qpn psn msg after until skip first nth every");
}

static bool take_slash(struct parser *p)
{
	if (p->at == p->end || *p->at != '/')
		return false;
	p->at++;
	return true;
}

/* RATE/TIME, and KMIN/KMAX/PMAX for one that marks. */
static int read_queue(struct parser *p, struct vb_fault_rule *r)
{
	const char *start = p->at;
	uint32_t ppb = 0;
	int err = read_rate(p, &r->bps);

	if (!err && !take_slash(p))
		return fail_at(p, p->at, "queue is RATE/TIME or RATE/TIME/KMIN/KMAX/PMAX");
	if (!err)
		err = read_duration(p, &r->time);
	if (!err && r->time > VB_FAULT_QUEUE_NS_MAX)
		return fail_at(p, start, "a queue holds at most what takes it 10s");
	if (err || p->at == p->end)
		return err;
	if (!take_slash(p))
		return fail_at(p, p->at, "queue is RATE/TIME or RATE/TIME/KMIN/KMAX/PMAX");
	err = read_bytes(p, &r->red.kmin);
	if (!err && !take_slash(p))
		return fail_at(p, p->at, "queue is RATE/TIME or RATE/TIME/KMIN/KMAX/PMAX");
	if (!err)
		err = read_bytes(p, &r->red.kmax);
	if (!err && r->red.kmin > r->red.kmax)
		return fail_at(p, start, "KMIN of a queue is at most KMAX");
	if (!err && !take_slash(p))
		return fail_at(p, p->at, "queue is RATE/TIME or RATE/TIME/KMIN/KMAX/PMAX");
	if (!err)
		err = read_probability(p, &ppb);
	r->red.pmax_ppm = ppb / 1000;
	return err;
}

/* The value of a rule: the parts that its kind has, behind slashes. */
static int read_value(struct parser *p, struct vb_fault_rule *r)
{
	int err;

	switch (r->kind) {
	case VB_FAULT_DELAY:
		r->ppb = VB_FAULT_ONE;
		err = read_duration(p, &r->time);
		if (!err && take_slash(p))
			err = read_duration(p, &r->jitter);
		return err;
	case VB_FAULT_BLACKOUT:
		err = read_duration(p, &r->time);
		if (!err && !take_slash(p))
			return fail_at(p, p->at, "blackout is BEGIN/LENGTH or BEGIN/LENGTH/PERIOD");
		if (!err)
			err = read_duration(p, &r->jitter);
		if (!err && take_slash(p))
			err = read_duration(p, &r->period);
		return err;
	case VB_FAULT_BURST:
		r->ppb_in = VB_FAULT_ONE;
		err = read_probability(p, &r->ppb);
		if (!err && !take_slash(p))
			return fail_at(p, p->at,
				       "burst is BEGIN/END, BEGIN/END/INSIDE or "
				       "BEGIN/END/INSIDE/OUTSIDE, all probabilities");
		if (!err)
			err = read_probability(p, &r->ppb_end);
		if (!err && take_slash(p))
			err = read_probability(p, &r->ppb_in);
		if (!err && take_slash(p))
			err = read_probability(p, &r->ppb_out);
		return err;
	case VB_FAULT_QUEUE:
		return read_queue(p, r);
	case VB_FAULT_REORDER:
		err = read_probability(p, &r->ppb);
		if (!err && !take_slash(p))
			return fail_at(p, p->at, "reorder is PROBABILITY/HELD, such as 1e-3/20us");
		return err ? err : read_duration(p, &r->time);
	default:
		return read_probability(p, &r->ppb);
	}
}

static const char *find_char(const char *at, const char *end, char c)
{
	const char *q = memchr(at, c, (size_t)(end - at));

	return q ? q : end;
}

static void text_append(char *to, size_t size, const char *word)
{
	size_t at = strlen(to), len = strlen(word);

	if (len >= size - at)
		len = size - at - 1;
	memcpy(to + at, word, len);
	to[at + len] = '\0';
}

static int fail_unknown(struct parser *p, const char *at)
{
	char text[sizeof p->err->text] = "unknown fault; there are";

	for (int k = 0; k < VB_FAULT_KIND_CNT; k++) {
		text_append(text, sizeof text, " ");
		text_append(text, sizeof text, kind_name[k]);
	}
	text_append(text, sizeof text, ", each with =VALUE");
	return fail_at(p, at, text);
}

static int read_rule(struct parser *p, const char *end, struct vb_fault_rule *r)
{
	const char *name = p->at, *eq;
	int kind = 0, err;

	*r = (struct vb_fault_rule){.filter = {
					.dirs = VB_FAULT_TX | VB_FAULT_RX,
					.qpn_hi = QPN_MAX,
					.any_psn = true,
					.msg_hi = UINT64_MAX,
					.until = VB_NEVER,
					.every = 1,
					.first = UINT64_MAX,
				    }};
	memset(r->filter.opcode, 0xff, sizeof r->filter.opcode);
	p->end = find_char(p->at, end, ':');
	eq = find_char(name, p->end, '=');
	while (kind < VB_FAULT_KIND_CNT && (strlen(kind_name[kind]) != (size_t)(eq - name) ||
					    memcmp(kind_name[kind], name, (size_t)(eq - name))))
		kind++;
	if (kind == VB_FAULT_KIND_CNT)
		return fail_unknown(p, name);
	if (eq == p->end)
		return fail_at(p, eq, "expected = and a value");
	r->kind = (enum vb_fault_kind)kind;
	p->at = eq + 1;
	err = read_value(p, r);
	if (!err && p->at != p->end)
		return fail_at(p, p->at, "the value has a part too many");
	while (!err && p->end != end) {
		name = p->end + 1;
		p->end = find_char(name, end, ':');
		eq = find_char(name, p->end, '=');
		p->at = eq == p->end ? eq : eq + 1;
		err = read_option(p, name, (size_t)(eq - name), &r->filter);
		if (!err && p->at != p->end)
			return fail_at(p, p->at, "unexpected text behind the option's value");
	}
	return err;
}

int vb_fault_parse(const char *text, struct vb_fault_spec *spec, struct vb_fault_error *err)
{
	struct parser p = {.text = text, .at = text, .err = err};
	const char *end = text + strlen(text);

	*spec = (struct vb_fault_spec){0};
	*err = (struct vb_fault_error){0};
	while (p.at < end) {
		const char *stop = find_char(p.at, end, ',');

		if (spec->rule_cnt == VB_FAULT_RULES_MAX)
			return fail_at(&p, p.at, "too many rules, at most 16");

		int bad = read_rule(&p, stop, &spec->rule[spec->rule_cnt]);

		if (bad)
			return bad;
		spec->rule_cnt++;
		if (stop < end && stop + 1 == end)
			return fail_at(&p, stop, "a rule is missing behind the comma");
		p.at = stop < end ? stop + 1 : end;
	}
	return 0;
}
