/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets in script syntax: read, printed, compared with what was sent, and injected.
 *
 *   RC_WRITE_FIRST psn=100 reth(va=R+0 rkey=R len=3000) pay=1024@P+0
 *   RC_ACK nak(psn_seq) psn=101 msn=0
 */
#include "drill.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD_MAX 8192

/* Which fields a line has named. */
enum given {
	GIVEN_PSN = 1 << 0,
	GIVEN_SYNDROME = 1 << 1,
	GIVEN_CREDIT = 1 << 2,
	GIVEN_MSN = 1 << 3,
	GIVEN_VA = 1 << 4,
	GIVEN_RKEY = 1 << 5,
	GIVEN_LEN = 1 << 6,
	GIVEN_SWAP = 1 << 7,
	GIVEN_COMPARE = 1 << 8,
	GIVEN_IMM = 1 << 9,
	GIVEN_INV = 1 << 10,
	GIVEN_ORIG = 1 << 11,
	GIVEN_QKEY = 1 << 12,
	GIVEN_SQPN = 1 << 13,
	GIVEN_CONTENT = 1 << 14,
	GIVEN_SRQN = 1 << 15,
};

/* A packet as a line says it. */
struct spec {
	uint32_t given; /* set of enum given */
	struct vb_hdr hdr;
	uint32_t payload_len;
	const uint8_t *payload;
	struct script_qp *qp;
};

static uint8_t opcode_of(struct drill *d, const char *name)
{
	for (unsigned i = 0; i < 256; i++)
		if (vb_opcode[i].name != NULL && strcmp(vb_opcode[i].name, name) == 0)
			return (uint8_t)i;
	drill_fail(d, "\"%s\" is no opcode", name);
}

/* The value of @key into *@field of @size bytes, noting that it was given. */
static void take(struct drill *d, struct spec *s, struct args *args, const char *key, uint32_t bit,
		 uint64_t *field)
{
	const char *text = args_value(args, key);

	if (text == NULL)
		return;
	s->given |= bit;
	*field = bit == GIVEN_RKEY ? world_key(d, text, true) : world_number(d, text);
}

static void take32(struct drill *d, struct spec *s, struct args *args, const char *key,
		   uint32_t bit, uint32_t *field)
{
	uint64_t v = *field;

	take(d, s, args, key, bit, &v);
	*field = (uint32_t)v;
}

/* The words inside "reth( ... )" and the like. */
static bool group(struct drill *d, struct args *args, const char *key, struct args *inner)
{
	static char text[512];
	const char *val = args_value(args, key);
	const char *wrong;

	if (val == NULL)
		return false;
	snprintf(text, sizeof text, "%s", val);
	wrong = args_split(inner, text);
	if (wrong != NULL)
		drill_fail(d, "%s", wrong);
	return true;
}

static void group_done(struct drill *d, const struct args *inner)
{
	if (args_left(inner) != NULL)
		drill_fail(d, "unknown word \"%s\"", args_left(inner));
}

static void take_extended(struct drill *d, struct spec *s, struct args *args)
{
	struct args in;

	if (group(d, args, "reth", &in)) {
		take(d, s, &in, "va", GIVEN_VA, &s->hdr.reth.va);
		take32(d, s, &in, "rkey", GIVEN_RKEY, &s->hdr.reth.rkey);
		take32(d, s, &in, "len", GIVEN_LEN, &s->hdr.reth.len);
		group_done(d, &in);
	}
	if (group(d, args, "atomic", &in)) {
		take(d, s, &in, "va", GIVEN_VA, &s->hdr.atomic.va);
		take32(d, s, &in, "rkey", GIVEN_RKEY, &s->hdr.atomic.rkey);
		take(d, s, &in, "swap", GIVEN_SWAP, &s->hdr.atomic.swap_add);
		take(d, s, &in, "add", GIVEN_SWAP, &s->hdr.atomic.swap_add);
		take(d, s, &in, "compare", GIVEN_COMPARE, &s->hdr.atomic.compare);
		group_done(d, &in);
	}
	if (group(d, args, "deth", &in)) {
		take32(d, s, &in, "qkey", GIVEN_QKEY, &s->hdr.deth.qkey);
		take32(d, s, &in, "sqpn", GIVEN_SQPN, &s->hdr.deth.sqpn);
		group_done(d, &in);
	}
	const char *srqn = args_value(args, "srqn");

	if (srqn != NULL) {
		s->given |= GIVEN_SRQN;
		s->hdr.xrc_srqn = xrc_number(d, srqn);
	}
	take32(d, s, args, "imm", GIVEN_IMM, &s->hdr.imm);
	s->hdr.imm = htonl(s->hdr.imm);
	take32(d, s, args, "inv", GIVEN_INV, &s->hdr.inv_rkey);
	take(d, s, args, "orig", GIVEN_ORIG, &s->hdr.atomic_orig);
}

/* "ack", "ack(31)", "rnr(12)", "nak(psn_seq)", "syndrome=0x40" */
static void take_syndrome(struct drill *d, struct spec *s, struct args *args)
{
	const char *text;
	uint32_t raw = 0;

	s->hdr.aeth.syndrome = VB_SYNDROME_ACK | VB_CREDIT_UNLIMITED;
	if (args_flag(args, "ack"))
		s->given |= GIVEN_SYNDROME;
	if ((text = args_value(args, "ack")) != NULL) {
		s->given |= GIVEN_SYNDROME | GIVEN_CREDIT;
		s->hdr.aeth.syndrome = (uint8_t)(VB_SYNDROME_ACK | world_number(d, text));
	}
	if ((text = args_value(args, "rnr")) != NULL) {
		s->given |= GIVEN_SYNDROME | GIVEN_CREDIT;
		s->hdr.aeth.syndrome = (uint8_t)(VB_SYNDROME_RNR | world_number(d, text));
	}
	if ((text = args_value(args, "nak")) != NULL) {
		int code = name_value(name_nak, text);

		s->given |= GIVEN_SYNDROME | GIVEN_CREDIT;
		if (code < 0)
			code = (int)world_number(d, text);
		s->hdr.aeth.syndrome = (uint8_t)(VB_SYNDROME_NAK | code);
	}
	take32(d, s, args, "syndrome", GIVEN_SYNDROME | GIVEN_CREDIT, &raw);
	if (raw != 0)
		s->hdr.aeth.syndrome = (uint8_t)raw;
	take32(d, s, args, "msn", GIVEN_MSN, &s->hdr.aeth.msn);
}

/* "pay=1024" or "pay=1024@L+0" */
static void take_payload(struct drill *d, struct spec *s, struct args *args, bool inbound)
{
	const char *text = args_value(args, "report");
	char len[32];
	size_t n;

	if (text != NULL) {
		s->given |= GIVEN_CONTENT;
		s->payload = recovery_report(d, text, inbound, &s->payload_len);
	}
	text = args_value(args, "pay");
	if (text == NULL)
		return;
	n = strcspn(text, "@");
	snprintf(len, sizeof len, "%.*s", (int)n, text);
	s->payload_len = (uint32_t)world_number(d, len);
	if (s->payload_len > PAYLOAD_MAX)
		drill_fail(d, "payload longer than %d", PAYLOAD_MAX);
	if (text[n] == '@') {
		s->given |= GIVEN_CONTENT;
		s->payload = world_bytes(d, text + n + 1, s->payload_len);
	}
}

static void spec_read(struct drill *d, struct args *args, struct spec *s, bool inbound)
{
	struct arg *word = args_next_word(args);
	uint32_t psn = 0;

	*s = (struct spec){.hdr.pkey = VB_PKEY_DEFAULT};
	if (word == NULL || word->val != NULL)
		drill_fail(d, "which opcode?");
	s->hdr.opcode = opcode_of(d, word->key);
	s->qp = world_qp(d, args);
	s->hdr.solicited = args_flag(args, "se");
	/* 1 as well where automatic path migration is not in use. IBA 17.2.8.1 */
	s->hdr.migrated = world_arg(d, args, "mig", 1) != 0;
	s->hdr.ack_req = args_flag(args, "ackreq");
	s->hdr.becn = args_flag(args, "becn");
	s->hdr.fecn = args_flag(args, "fecn");
	s->hdr.selective = args_flag(args, "sel");
	s->hdr.pkey = (uint16_t)world_arg(d, args, "pkey", s->hdr.pkey);
	s->hdr.dqpn = (uint32_t)world_arg(d, args, "dqpn", inbound ? s->qp->qpn : s->qp->peer_qpn);
	take32(d, s, args, "psn", GIVEN_PSN, &psn);
	s->hdr.psn = vb_psn(psn);
	dc_take_header(d, args, &s->hdr, s->qp, inbound);
	take_extended(d, s, args);
	take_syndrome(d, s, args);
	take_payload(d, s, args, inbound);
}

static void print_extended(const struct vb_hdr *h, char *out, size_t size)
{
	uint16_t ext = vb_hdr_opcode(h)->ext;
	uint8_t syn = h->aeth.syndrome, value = syn & VB_SYNDROME_VALUE;
	size_t n = 0;

#define PUT(...) n += (size_t)snprintf(out + n, n < size ? size - n : 0, __VA_ARGS__)
	out[0] = '\0';
	if (ext & VB_EXT_RETH)
		PUT(" reth(va=%#llx rkey=%#x len=%u)", (unsigned long long)h->reth.va, h->reth.rkey,
		    h->reth.len);
	if (ext & VB_EXT_ATOMICETH)
		PUT(" atomic(va=%#llx rkey=%#x swap=%#llx compare=%#llx)",
		    (unsigned long long)h->atomic.va, h->atomic.rkey,
		    (unsigned long long)h->atomic.swap_add, (unsigned long long)h->atomic.compare);
	if (ext & VB_EXT_DETH)
		PUT(" deth(qkey=%#x sqpn=%#x)", h->deth.qkey, h->deth.sqpn);
	if (ext & VB_EXT_DCETH)
		n += dc_print(h, out + n, size - n);
	if (ext & VB_EXT_XRCETH)
		PUT(" srqn=%#x", h->xrc_srqn);
	if (ext & VB_EXT_AETH) {
		if ((syn & VB_SYNDROME_CLASS) == VB_SYNDROME_ACK)
			PUT(" ack(%u)", value);
		else if ((syn & VB_SYNDROME_CLASS) == VB_SYNDROME_RNR)
			PUT(" rnr(%u)", value);
		else if ((syn & VB_SYNDROME_CLASS) == VB_SYNDROME_NAK)
			PUT(" nak(%s)", name_of(name_nak, value));
		else
			PUT(" syndrome=%#x", syn);
		PUT(" msn=%u", h->aeth.msn);
	}
	if (ext & VB_EXT_ATOMICACKETH)
		PUT(" orig=%#llx", (unsigned long long)h->atomic_orig);
	if (ext & VB_EXT_IMMDT)
		PUT(" imm=%#x", ntohl(h->imm));
	if (ext & VB_EXT_IETH)
		PUT(" inv=%#x", h->inv_rkey);
#undef PUT
}

void packet_print(const struct sent *s, char *out, size_t size)
{
	const struct vb_hdr *h = &s->hdr;
	char ext[512];

	print_extended(h, ext, sizeof ext);
	snprintf(out, size, "%s psn=%u%s%s%s%s%s%s pay=%u  (at %llu ns, dqpn=%#x pkey=%#x)",
		 vb_hdr_opcode(h)->name, h->psn.v, h->ack_req ? " ackreq" : "",
		 h->solicited ? " se" : "", h->becn ? " becn" : "", h->fecn ? " fecn" : "",
		 h->selective ? " sel" : "", ext, s->payload_len, (unsigned long long)s->time,
		 h->dqpn, h->pkey);
}

static void differ(struct drill *d, const struct sent *got, const char *field,
		   unsigned long long expected, unsigned long long actual)
{
	char text[1024];

	packet_print(got, text, sizeof text);
	drill_fail(d, "%s: expected %llu (%#llx), actual %llu (%#llx)\n  sent: %s", field, expected,
		   expected, actual, actual, text);
}

void packet_none_left(struct drill *d)
{
	char text[1024];

	world_collect(d);
	if (d->sent_head == d->sent_tail)
		return;
	packet_print(&d->sent[d->sent_head], text, sizeof text);
	drill_fail(d, "a packet that no line expects\n  sent: %s", text);
}

static void compare_extended(struct drill *d, const struct spec *want, const struct sent *got)
{
	const struct vb_hdr *w = &want->hdr, *g = &got->hdr;
	uint16_t ext = vb_hdr_opcode(g)->ext;
	bool atomic = ext & VB_EXT_ATOMICETH;
	uint8_t mask = want->given & GIVEN_CREDIT ? 0xff : VB_SYNDROME_CLASS;

#define CHECK(bit, name, a, b)                                                                     \
	do {                                                                                       \
		if (want->given & (bit) && (a) != (b))                                             \
			differ(d, got, name, a, b);                                                \
	} while (0)
	if (ext & VB_EXT_AETH && !(want->given & GIVEN_SYNDROME))
		drill_fail(d, "the line does not say which syndrome: ack, rnr() or nak()");
	CHECK(GIVEN_SYNDROME, "syndrome", w->aeth.syndrome & mask, g->aeth.syndrome & mask);
	CHECK(GIVEN_MSN, "msn", w->aeth.msn, g->aeth.msn);
	CHECK(GIVEN_VA, "va", atomic ? w->atomic.va : w->reth.va,
	      atomic ? g->atomic.va : g->reth.va);
	CHECK(GIVEN_RKEY, "rkey", atomic ? w->atomic.rkey : w->reth.rkey,
	      atomic ? g->atomic.rkey : g->reth.rkey);
	CHECK(GIVEN_LEN, "len", w->reth.len, g->reth.len);
	CHECK(GIVEN_SWAP, "swap", w->atomic.swap_add, g->atomic.swap_add);
	CHECK(GIVEN_COMPARE, "compare", w->atomic.compare, g->atomic.compare);
	CHECK(GIVEN_IMM, "imm", ntohl(w->imm), ntohl(g->imm));
	CHECK(GIVEN_INV, "inv", w->inv_rkey, g->inv_rkey);
	CHECK(GIVEN_ORIG, "orig", w->atomic_orig, g->atomic_orig);
	CHECK(GIVEN_QKEY, "qkey", w->deth.qkey, g->deth.qkey);
	CHECK(GIVEN_SRQN, "srqn", w->xrc_srqn, g->xrc_srqn);
	CHECK(GIVEN_SQPN, "sqpn", w->deth.sqpn, g->deth.sqpn);
#undef CHECK
}

static void compare(struct drill *d, const struct spec *want, const struct vb_path *path,
		    const struct sent *got)
{
	const struct vb_hdr *w = &want->hdr, *g = &got->hdr;
	char text[1024];

	if (w->opcode != g->opcode) {
		packet_print(got, text, sizeof text);
		drill_fail(d, "opcode: expected %s, actual %s\n  sent: %s", vb_hdr_opcode(w)->name,
			   vb_hdr_opcode(g)->name, text);
	}
	if (got->time != d->now)
		differ(d, got, "time in ns", d->now, got->time);
	if (want->given & GIVEN_PSN && !vb_psn_eq(w->psn, g->psn))
		differ(d, got, "psn", w->psn.v, g->psn.v);
	if (!(want->given & GIVEN_PSN) && w->opcode != VB_OPCODE_CNP)
		drill_fail(d, "the line does not say which psn");
	if (w->ack_req != g->ack_req)
		differ(d, got, "ackreq", w->ack_req, g->ack_req);
	if (w->solicited != g->solicited)
		differ(d, got, "se", w->solicited, g->solicited);
	if (w->becn != g->becn)
		differ(d, got, "becn", w->becn, g->becn);
	if (w->fecn != g->fecn)
		differ(d, got, "fecn", w->fecn, g->fecn);
	if (w->migrated != g->migrated)
		differ(d, got, "mig", w->migrated, g->migrated);
	if (w->selective != g->selective)
		differ(d, got, "sel", w->selective, g->selective);
	if (w->pkey != g->pkey)
		differ(d, got, "pkey", w->pkey, g->pkey);
	if (w->dqpn != g->dqpn)
		differ(d, got, "dqpn", w->dqpn, g->dqpn);
	if (want->payload_len != got->payload_len)
		differ(d, got, "pay", want->payload_len, got->payload_len);
	if (vb_hdr_opcode(g)->ext & VB_EXT_DCETH && dc_differs(want->qp, w, g) != NULL) {
		packet_print(got, text, sizeof text);
		drill_fail(d, "%s differs\n  sent: %s", dc_differs(want->qp, w, g), text);
	}
	compare_extended(d, want, got);
	for (uint32_t i = 0; want->given & GIVEN_CONTENT && i < want->payload_len; i++)
		if (want->payload[i] != got->payload[i])
			drill_fail(d, "payload byte %u: expected %#x, actual %#x", i,
				   want->payload[i], got->payload[i]);
	if (!vb_path_same_ends(&got->path, path))
		drill_fail(d, "the packet goes to, or comes from, a wrong address");
}

/* The path of packets to the peer; with "alternate" on the line the other one. */
static struct vb_path path_of(const struct drill *d, struct args *args, const struct script_qp *q)
{
	return args_flag(args, "alternate") ? cm_way(d, true, true) : q->path;
}

void packet_expect(struct drill *d, struct args *args)
{
	struct spec want;
	const char *tclass = args_value(args, "tclass"), *to = args_value(args, "to");
	struct vb_path path;

	spec_read(d, args, &want, false);
	path = path_of(d, args, want.qp);
	if (args_left(args) != NULL)
		drill_fail(d, "unknown word \"%s\"", args_left(args));
	world_collect(d);
	if (d->sent_head == d->sent_tail)
		drill_fail(d, "expected %s, but nothing was sent", vb_hdr_opcode(&want.hdr)->name);
	if (tclass != NULL && world_number(d, tclass) != d->sent[d->sent_head].path.traffic_class)
		differ(d, &d->sent[d->sent_head], "tclass", world_number(d, tclass),
		       d->sent[d->sent_head].path.traffic_class);
	if (to != NULL)
		path.dgid = world_gid((unsigned)world_number(d, to), !vb_gid_is_ipv4(&path.dgid));
	compare(d, &want, &path, &d->sent[d->sent_head++]);
}

/* Words that only an injected packet has: its way here, and what the adapter makes of it. */
static void inject_path(struct drill *d, struct args *args, const struct script_qp *qp,
			struct vb_path *path)
{
	bool ipv6 = !vb_gid_is_ipv4(&qp->path.sgid);

	*path = path_of(d, args, qp);
	if (vb_path_has_lid(path)) {
		*path = vb_path_back(path);
		return;
	}
	path->sgid = world_gid((unsigned)world_arg(d, args, "from", qp->path.dgid.b[15]), ipv6);
	path->dgid = qp->path.sgid;
	path->traffic_class = (uint8_t)world_arg(d, args, "tclass", 0);
}

void packet_inject(struct drill *d, struct args *args)
{
	static uint8_t pkt[VB_HDR_MAX + PAYLOAD_MAX + VB_PAD_MAX];
	const char *verdict = args_value(args, "verdict");
	struct spec s;
	struct vb_path path;
	struct vb_rx rx = {.path = &path, .pkt = pkt};

	spec_read(d, args, &s, true);
	inject_path(d, args, s.qp, &path);
	if (!args_flag(args, "burst")) /* "burst": it came together with the packet before */
		packet_none_left(d);
	s.hdr.pad = (uint8_t)(-s.payload_len & 3);
	rx.len = (uint32_t)vb_hdr_emit(&s.hdr, pkt);
	if (s.payload == NULL)
		s.payload = world_bytes(d, "P", s.payload_len);
	memcpy(pkt + rx.len, s.payload, s.payload_len);
	memset(pkt + rx.len + s.payload_len, 0, s.hdr.pad);
	rx.len += s.payload_len + s.hdr.pad;
	/* "cut=4" takes bytes off the end, "tver=1" writes a wrong version, "padcnt=2" a pad count
	 */
	rx.len -= (uint32_t)world_arg(d, args, "cut", 0);
	pkt[1] = (uint8_t)(pkt[1] | world_arg(d, args, "tver", 0));
	pkt[1] = (uint8_t)((pkt[1] & ~0x30) | world_arg(d, args, "padcnt", s.hdr.pad) << 4);
	rx.avail = rx.len;
	enum vb_verdict v = vb_hca_handle_packet(d->hca, &rx, d->now);

	if (verdict != NULL && strcmp(verdict, vb_verdict_name(v)) != 0)
		drill_fail(d, "verdict: expected %s, actual %s", verdict, vb_verdict_name(v));
}
