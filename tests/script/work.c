/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines that post work, and lines that look at completions, events, memory and counters. */
#include "drill.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SGE_MAX 16

void work_result(struct drill *d, struct args *args, int rc)
{
	int want = 0;

	if (args_flag(args, "=")) {
		struct arg *word = args_next_word(args);

		want = word != NULL ? name_value(name_errno, word->key) : -1;
		if (word == NULL || (want == -1 && strcmp(word->key, "-EPERM") != 0))
			drill_fail(d, "which errno?");
	}
	if (rc != want)
		drill_fail(d, "result: expected %s (%d), actual %s (%d)", name_of(name_errno, want),
			   want, name_of(name_errno, rc), rc);
}

/* "sge=L+0:100|L+200:50", else "len=150" at @home. Returns the number of SGEs. */
static uint32_t take_sge(struct drill *d, struct args *args, const char *home, struct vb_sge *sge)
{
	const char *list = args_value(args, "sge"), *lkey = args_value(args, "lkey");
	const char *addr = args_value(args, "addr");
	uint64_t len = world_arg(d, args, "len", 0);
	uint32_t cnt = 0;

	if (addr == NULL)
		addr = home;
	if (list == NULL && len != 0)
		sge[cnt++] = (struct vb_sge){.addr = world_number(d, addr),
					     .length = (uint32_t)len,
					     .lkey = world_key(d, addr, false)};
	while (list != NULL && *list != '\0') {
		char place[64];
		size_t n = strcspn(list, ":");
		char *end;

		if (cnt == SGE_MAX || list[n] == '\0' || n >= sizeof place)
			drill_fail(d, "an SGE is PLACE:LENGTH");
		memcpy(place, list, n);
		place[n] = '\0';
		sge[cnt].addr = world_number(d, place);
		sge[cnt].lkey = world_key(d, place, false);
		sge[cnt++].length = (uint32_t)strtoul(list + n + 1, &end, 0);
		list = end + (*end == '|');
	}
	if (lkey != NULL && cnt > 0)
		sge[0].lkey = world_key(d, lkey, false);
	return cnt;
}

/* "post_send wr=1 WRITE len=3000 raddr=P+0 rkey=P imm=1 signaled fence se inline" */
void work_post_send(struct drill *d, struct args *args)
{
	struct script_qp *q = world_qp(d, args);
	struct arg *word = args_next_word(args);
	struct vb_sge sge[SGE_MAX];
	struct vb_ah ah = {.pd = d->pd, .path = q->path};
	const char *rkey = args_value(args, "rkey");
	struct vb_send_wr wr = {.sge = sge};
	int op = word != NULL ? name_value(name_wr, word->key) : -1;

	if (op < 0)
		drill_fail(d, "which operation?");
	wr.opcode = (enum vb_wr_opcode)op;
	wr.wr_id = world_arg(d, args, "wr", 0);
	wr.flags = (args_flag(args, "unsignaled") ? 0u : VB_SEND_SIGNALED) |
		   (args_flag(args, "fence") ? VB_SEND_FENCE : 0u) |
		   (args_flag(args, "se") ? VB_SEND_SOLICITED : 0u) |
		   (args_flag(args, "inline") ? VB_SEND_INLINE : 0u);
	wr.imm = htonl((uint32_t)world_arg(d, args, "imm", 0));
	wr.inv_rkey = (uint32_t)world_arg(d, args, "inv", 0);
	wr.remote_addr = world_arg(d, args, "raddr", world_number(d, "P+0"));
	wr.rkey = world_key(d, rkey != NULL ? rkey : "P", true);
	wr.compare_add = world_arg(d, args, "compare", world_arg(d, args, "add", 0));
	wr.swap = world_arg(d, args, "swap", 0);
	wr.srqn = (uint32_t)world_arg(d, args, "srqn", 0);
	wr.sge_cnt = take_sge(d, args, "L", sge);
	dc_take_work(d, args, &wr);
	if (q->type == VB_QPT_UD || q->type == VB_QPT_DCI) {
		const char *to = args_value(args, "to");

		if (to != NULL)
			ah.path.dgid = world_gid((unsigned)world_number(d, to), false);
		wr.ah = &ah;
		wr.dqpn = (uint32_t)world_arg(d, args, "dqpn", q->peer_qpn);
		wr.qkey = (uint32_t)world_arg(d, args, "qkey", 0x11111111);
	}
	/* Inline data is taken from any address of the caller. */
	for (uint32_t i = 0; wr.flags & VB_SEND_INLINE && i < wr.sge_cnt; i++)
		sge[i].addr = (uintptr_t)world_region(d, "L")->host +
			      (sge[i].addr - world_region(d, "L")->iova);
	work_result(d, args, vb_qp_post_send(q->qp, &wr, d->now));
}

/* "post_recv wr=1 len=1024 addr=B+0" */
void work_post_recv(struct drill *d, struct args *args)
{
	struct script_qp *q = world_qp(d, args);
	struct vb_sge sge[SGE_MAX];
	struct vb_recv_wr wr = {.wr_id = world_arg(d, args, "wr", 0), .sge = sge};

	wr.sge_cnt = take_sge(d, args, "B", sge);
	work_result(d, args, vb_qp_post_recv(q->qp, &wr, d->now));
}

void work_post_srq(struct drill *d, struct args *args)
{
	struct vb_sge sge[SGE_MAX];
	struct vb_recv_wr wr = {.wr_id = world_arg(d, args, "wr", 0), .sge = sge};

	wr.sge_cnt = take_sge(d, args, "B", sge);

	const char *name = args_value(args, "srq");
	struct vb_srq *srq = name != NULL ? xrc_srq_named(d, name) : d->srq;

	if (srq == NULL)
		drill_fail(d, "there is no SRQ");
	work_result(d, args, vb_srq_post(srq, &wr));
}

static void print_wc(const struct vb_wc *wc, char *out, size_t size)
{
	snprintf(out, size,
		 "[ wr=%" PRIu64 " %s %s ] len=%u imm/inv=%#x flags=%#x qpn=%#x src_qpn=%#x "
		 "vendor=%u (at %" PRIu64 " ns)",
		 wc->wr_id, name_of(name_wc_status, (int)wc->status),
		 name_of(name_wc_opcode, (int)wc->opcode), wc->byte_len, wc->imm, wc->flags,
		 wc->qpn, wc->src_qpn, wc->vendor_err, wc->time);
}

static void wc_differs(struct drill *d, const struct vb_wc *wc, const char *field)
{
	char text[512];

	print_wc(wc, text, sizeof text);
	drill_fail(d, "%s of a completion differs\n  completion: %s", field, text);
}

static void wc_unexpected(struct drill *d, const struct vb_wc *wc)
{
	char text[512];

	print_wc(wc, text, sizeof text);
	drill_fail(d, "a completion that no line expects\n  completion: %s", text);
}

static void compare_wc_success(struct drill *d, struct args *in, const struct vb_wc *wc)
{
	const char *text = NULL;
	uint32_t flags = 0;

	for (unsigned i = 0; i < in->cnt && text == NULL; i++)
		if (name_value(name_wc_opcode, in->a[i].key) >= 0 && in->a[i].val == NULL) {
			text = in->a[i].key;
			in->a[i].used = true;
		}
	if (text == NULL)
		drill_fail(d, "a successful completion needs its opcode");
	if ((int)wc->opcode != name_value(name_wc_opcode, text))
		wc_differs(d, wc, "opcode");
	if (wc->byte_len != world_arg(d, in, "len", wc->byte_len))
		wc_differs(d, wc, "len");
	if ((text = args_value(in, "imm")) != NULL) {
		flags |= VB_WC_WITH_IMM;
		if (ntohl(wc->imm) != world_number(d, text))
			wc_differs(d, wc, "imm");
	}
	if ((text = args_value(in, "inv")) != NULL) {
		flags |= VB_WC_WITH_INV;
		if (wc->imm != world_key(d, text, true))
			wc_differs(d, wc, "inv");
	}
	if (args_flag(in, "grh"))
		flags |= VB_WC_GRH;
	if (wc->flags != flags)
		wc_differs(d, wc, "flags");
	if (wc->src_qpn != world_arg(d, in, "src_qpn", wc->src_qpn))
		wc_differs(d, wc, "src_qpn");
}

static void compare_wc(struct drill *d, struct args *in, const struct vb_wc *wc)
{
	struct arg *word = args_next_word(in);
	int status = word != NULL ? name_value(name_wc_status, word->key) : -1;

	if (status < 0)
		drill_fail(d, "which status?");
	if (wc->wr_id != world_arg(d, in, "wr", wc->wr_id))
		wc_differs(d, wc, "wr");
	if ((int)wc->status != status)
		wc_differs(d, wc, "status");
	if (wc->time != d->now)
		wc_differs(d, wc, "time");
	if (args_value(in, "qp") != NULL && world_qp(d, in)->qpn != wc->qpn)
		wc_differs(d, wc, "qp");
	if (wc->vendor_err != world_arg(d, in, "vendor", wc->vendor_err))
		wc_differs(d, wc, "vendor");
	if (status == VB_WC_SUCCESS)
		compare_wc_success(d, in, wc);
	if (args_left(in) != NULL)
		drill_fail(d, "unknown word \"%s\"", args_left(in));
}

/* "cq [ wr=1 SUCCESS SEND ] [ wr=2 WR_FLUSH ]": these and no others, in this order. */
void work_cq(struct drill *d, struct args *args)
{
	struct vb_wc wc;
	struct arg *group;

	world_create(d);
	world_collect(d);
	while ((group = args_next_word(args)) != NULL) {
		static char text[512];
		struct args in;

		if (group->key[0] != '[')
			drill_fail(d, "unknown word \"%s\"", group->key);
		snprintf(text, sizeof text, "%s", group->val);
		if (strspn(text, " ") == strlen(text))
			continue;
		if (args_split(&in, text) != NULL)
			drill_fail(d, "malformed completion");
		int n = vb_cq_poll(d->cq, &wc, 1);

		if (n != 1)
			drill_fail(d, "expected a completion, but there is none (%d)", n);
		compare_wc(d, &in, &wc);
	}
	if (vb_cq_poll(d->cq, &wc, 1) == 1)
		wc_unexpected(d, &wc);
}

void work_arm(struct drill *d, struct args *args)
{
	vb_cq_arm(d->cq, args_flag(args, "solicited"));
}

/* "event SQ_DRAINED": it is the next one; "event" alone: there is none. */
void work_event(struct drill *d, struct args *args)
{
	struct arg *word;

	world_create(d);
	world_collect(d);
	while ((word = args_next_word(args)) != NULL) {
		int want = name_value(name_async, word->key);
		const struct vb_event *ev = &d->event[0];
		int got = ev->kind == VB_EVENT_CQ_NOTIFY ? 1000 : (int)ev->async;

		if (cm_event(d, word->key))
			continue;
		if (want < 0)
			drill_fail(d, "\"%s\" is no event", word->key);
		if (d->event_cnt == 0)
			drill_fail(d, "expected the event %s, but there is none", word->key);
		if (got != want)
			drill_fail(d, "event: expected %s, actual %s", word->key,
				   name_of(name_async, got));
		memmove(d->event, d->event + 1, --d->event_cnt * sizeof d->event[0]);
	}
	cm_no_event(d);
	if (d->event_cnt != 0)
		drill_fail(d, "an event that no line expects: %s",
			   name_of(name_async, d->event[0].kind == VB_EVENT_CQ_NOTIFY
						   ? 1000
						   : (int)d->event[0].async));
}

static void expect_bytes(struct drill *d, const uint8_t *got, const uint8_t *want, uint64_t len)
{
	for (uint64_t i = 0; i < len; i++)
		if (got[i] != want[i])
			drill_fail(d, "byte %" PRIu64 " of it: expected %#x, actual %#x", i,
				   want[i], got[i]);
}

/* "mem R+0 == P+0 len=3000", "mem R+8 u64=5", "mem B+0 hex=4500", "mem B+100 zero len=8" */
void work_mem(struct drill *d, struct args *args)
{
	static const uint8_t zero[REGION_BYTES];
	struct arg *place = args_next_word(args);
	const char *u64 = args_value(args, "u64"), *hex = args_value(args, "hex");
	uint64_t len = world_arg(d, args, "len", 8), v;

	if (place == NULL)
		drill_fail(d, "which place?");
	if (u64 != NULL) {
		memcpy(&v, world_bytes(d, place->key, 8), 8);
		if (v != world_number(d, u64))
			drill_fail(d, "u64: expected %s, actual %#" PRIx64, u64, v);
	} else if (hex != NULL) {
		uint8_t want[256];
		uint64_t n = 0;
		unsigned byte;

		while (n < sizeof want && sscanf(hex + 2 * n, "%2x", &byte) == 1)
			want[n++] = (uint8_t)byte;
		expect_bytes(d, world_bytes(d, place->key, n), want, n);
	} else if (args_flag(args, "zero")) {
		expect_bytes(d, world_bytes(d, place->key, len), zero, len);
	} else if (args_flag(args, "==")) {
		struct arg *other = args_next_word(args);

		if (other == NULL)
			drill_fail(d, "equal to what?");
		expect_bytes(d, world_bytes(d, place->key, len), world_bytes(d, other->key, len),
			     len);
	}
}

/* "set R+0 u64=5" */
void work_set(struct drill *d, struct args *args)
{
	struct arg *place = args_next_word(args);
	uint64_t v = world_arg(d, args, "u64", 0);

	world_create(d);
	if (place == NULL)
		drill_fail(d, "which place?");
	memcpy(world_bytes(d, place->key, 8), &v, 8);
}

static bool counter_named(const struct drill *d, const char *name, uint64_t *v)
{
	for (unsigned i = 0; i < VB_COUNTER_CNT; i++)
		if (strcmp(vb_counter_info[i].name, name) == 0) {
			*v = d->counters.v[i];
			return true;
		}
	return false;
}

/* "expect state == ERR", "expect unacked == 2", "expect out_of_sequence == 1" */
void work_expect(struct drill *d, struct args *args)
{
	struct script_qp *q = world_qp(d, args);
	struct arg *name = args_next_word(args);
	bool eq = args_flag(args, "==");
	struct arg *value = args_next_word(args);
	uint64_t got;

	if (name == NULL || !eq || value == NULL)
		drill_fail(d, "expect NAME == VALUE");
	world_collect(d);
	if (strcmp(name->key, "state") == 0) {
		const char *state = name_of(name_state, (int)vb_qp_get_state(q->qp));

		if (strcmp(state, value->key) != 0)
			drill_fail(d, "state: expected %s, actual %s", value->key, state);
		return;
	}
	if (strcmp(name->key, "unacked") == 0)
		got = vb_qp_unacked(q->qp);
	else if (!counter_named(d, name->key, &got))
		drill_fail(d, "\"%s\" is no counter", name->key);
	if (got != world_number(d, value->key))
		drill_fail(d, "%s: expected %s, actual %" PRIu64, name->key, value->key, got);
}
