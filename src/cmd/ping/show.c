/* SPDX-License-Identifier: BSD-2-Clause */
/* How `verbena ping` shows what it found. */
#include "cmd/ping/ping.h"

#include "cmd/explain/draw.h"
#include "cmd/explain/explain.h"
#include "cmd/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void vb_ping_show_answer(const struct vb_ping *p, uint32_t seq, vb_dur trip)
{
	if (p->json || p->quiet)
		return;
	printf("answer %" PRIu32 " from %s%s after %s\n", seq, p->r.address,
	       p->r.kind == VB_REMOTE_FOREIGN ? ", an adapter that is no Verbena," : "",
	       vb_word_ns(trip).s);
	fflush(stdout);
}

void vb_ping_show_loss(struct vb_ping *p, uint32_t seq)
{
	uint64_t cnt;
	int err = vb_remote_error(&p->r, &cnt);

	if (p->json || p->quiet || p->is_too_long)
		return;
	printf("no answer %" PRIu32 " from %s in %s", seq, p->r.address, vb_word_ns(p->timeout).s);
	/* An ICMP message is about an earlier packet: which one is not known. */
	if (err == ECONNREFUSED && cnt != p->error_cnt)
		printf(": UDP port 4791 is unreachable there (ICMP)");
	else if (err && cnt != p->error_cnt)
		printf(": %s", strerror(err));
	p->error_cnt = cnt;
	putchar('\n');
	fflush(stdout);
}

static int by_length(const void *va, const void *vb)
{
	vb_dur a = *(const vb_dur *)va, b = *(const vb_dur *)vb;

	return a < b ? -1 : a > b;
}

static vb_dur median_of(struct vb_ping *p)
{
	uint32_t n = p->answered < VB_PING_KEPT ? p->answered : VB_PING_KEPT;

	qsort(p->trip, n, sizeof p->trip[0], by_length);
	return n % 2 ? p->trip[n / 2] : (p->trip[n / 2 - 1] + p->trip[n / 2]) / 2;
}

static void show_lines(const char *head, const struct vb_lines *l)
{
	for (uint32_t i = 0; i < l->cnt; i++)
		printf("%s%s\n", i ? "  " : head, l->text[i]);
}

static void show_adapter(const struct vb_remote *r)
{
	const struct vb_vendor_adapter *a = &r->adapter;

	if (r->kind == VB_REMOTE_FOREIGN) {
		puts("adapter: one that is no Verbena; it does not say more");
		return;
	}
	printf("adapter: Verbena %.*s, path MTU %u, GIDs", VB_VENDOR_VERSION_MAX, a->version,
	       vb_mtu_bytes((enum vb_mtu)a->mtu));
	for (int i = 0; i < a->gid_cnt; i++)
		printf("%s %s", i ? "," : "", vb_word_gid(&a->gid[i]).s);
	putchar('\n');
}

static void show_mtu(const struct vb_ping *p)
{
	struct vb_lines what = {.cnt = 0}, advice = {.cnt = 0};

	if (p->probes || !vb_remote_fitting(&p->r)) {
		puts("path MTU: not known yet");
		return;
	}
	(void)vb_remote_say_mtu(&p->r, &what, &advice);
	show_lines("path MTU ", &what);
	show_lines("  -> ", &advice);
}

static void show_clock(const struct vb_remote *r)
{
	uint64_t off = (uint64_t)(r->offset < 0 ? -r->offset : r->offset);

	if (r->kind != VB_REMOTE_VERBENA || !r->best)
		return;
	printf("clock: %s %s this one, to within %s\n", vb_word_ns(off).s,
	       r->offset < 0 ? "behind" : "ahead of", vb_word_ns(r->best / 2).s);
}

static void show_words(struct vb_ping *p)
{
	struct vb_explanation why;
	uint32_t known = p->answered + p->lost;

	printf("%s--- %s ---\n%" PRIu32 " asked, %" PRIu32 " answered, %" PRIu32 " not (%.0f%%)",
	       p->quiet ? "" : "\n", p->host, p->sent, p->answered, p->lost,
	       known ? 100.0 * p->lost / known : 0.0);
	if (p->sent > known)
		printf(", %" PRIu32 " open", p->sent - known);
	putchar('\n');
	if (!p->answered && p->lost) {
		vb_remote_silence(&p->r, &why);
		show_lines("", &why.what);
		show_lines("  -> ", &why.advice);
	}
	if (!p->answered)
		return;
	printf("round trip: %s at least, %s median, %s at most\n", vb_word_ns(p->shortest).s,
	       vb_word_ns(median_of(p)).s, vb_word_ns(p->longest).s);
	show_adapter(&p->r);
	show_mtu(p);
	show_clock(&p->r);
}

static void json_adapter(const struct vb_remote *r)
{
	const struct vb_vendor_adapter *a = &r->adapter;
	char version[VB_VENDOR_VERSION_MAX + 1] = "";

	printf(",\n \"adapter\": ");
	if (r->kind != VB_REMOTE_VERBENA) {
		printf(r->kind == VB_REMOTE_FOREIGN ? "{\"kind\": \"other\"}" : "null");
		return;
	}
	memcpy(version, a->version, VB_VENDOR_VERSION_MAX);
	printf("{\"kind\": \"verbena\", \"version\": ");
	vb_json_text(stdout, version);
	printf(", \"mtu\": %u, \"gids\": [", vb_mtu_bytes((enum vb_mtu)a->mtu));
	for (int i = 0; i < a->gid_cnt; i++)
		printf("%s\"%s\"", i ? ", " : "", vb_word_gid(&a->gid[i]).s);
	printf("]}");
	if (r->best)
		printf(",\n \"clock_offset_ns\": %" PRId64 ", \"clock_error_ns\": %" PRIu64,
		       r->offset, r->best / 2);
}

static void json_mtu(const struct vb_ping *p)
{
	enum vb_mtu fits = vb_remote_fitting(&p->r);

	/* The MTU that both adapters have; then the largest that came there and back. */
	printf(",\n \"mtu\": %u", vb_mtu_bytes(vb_remote_mtu(&p->r)));
	if (fits && !p->probes)
		printf(", \"path_mtu\": %u", vb_mtu_bytes(fits));
}

static void show_json(struct vb_ping *p)
{
	struct vb_explanation why = {.cause = p->answered ? "answers" : "open"};

	if (!p->answered && p->lost)
		vb_remote_silence(&p->r, &why);
	printf("{\"address\": \"%s\", \"from\": \"%s\", \"device\": ", p->r.address,
	       vb_word_gid(&p->r.from).s);
	vb_json_text(stdout, p->r.host.device[p->r.device].name);
	printf(",\n \"bytes\": %" PRIu32 ", \"asked\": %" PRIu32 ", \"answered\": %" PRIu32
	       ", \"lost\": %" PRIu32 ", \"cause\": \"%s\"",
	       p->bytes, p->sent, p->answered, p->lost, why.cause);
	if (p->answered)
		printf(",\n \"round_trip_ns\": {\"min\": %" PRIu64 ", \"median\": %" PRIu64
		       ", \"max\": %" PRIu64 "}",
		       p->shortest, median_of(p), p->longest);
	json_adapter(&p->r);
	json_mtu(p);
	vb_json_lines(stdout, "what", &why.what);
	vb_json_lines(stdout, "advice", &why.advice);
	puts("\n}");
}

void vb_ping_show_summary(struct vb_ping *p)
{
	if (p->json)
		show_json(p);
	else
		show_words(p);
}
