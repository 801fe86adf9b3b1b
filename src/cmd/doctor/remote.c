/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena doctor HOST`: what is between the adapter here and the one at another host. */
#include "cmd/ping/remote.h"
#include "cmd/doctor/doctor.h"

#include <inttypes.h>
#include <string.h>

/* The other adapter answers 32 questions at once. */
#define QUESTIONS 5
#define QUESTION_NS VB_SEC
#define LISTEN_ATTEMPTS 3
#define LISTEN_NS (100 * VB_MSEC)
/* Clocks further apart are set by nobody. */
#define CLOCK_GOOD_NS (100 * VB_MSEC)

/* Sentences one behind the other. */
static void join_lines(char *to, size_t size, const struct vb_lines *l)
{
	size_t at = 0;

	to[0] = 0;
	for (uint32_t i = 0; i < l->cnt && at < size; i++)
		at += (size_t)snprintf(to + at, size - at, "%s%s", i ? " " : "", l->text[i]);
}

/* Asks QUESTIONS times at once. Returns how many were answered, or a negative errno. */
static int ask_often(struct vb_remote *r)
{
	struct vb_broker_ask ask[QUESTIONS];
	int status[QUESTIONS], answered = 0, rc;

	for (int i = 0; i < QUESTIONS; i++)
		ask[i] = vb_remote_question(r, VB_MAD_LEN, 1, QUESTION_NS);
	rc = vb_broker_ask(&r->o, ask, status, QUESTIONS);
	if (rc)
		return rc;
	for (int i = 0; i < QUESTIONS; i++) {
		if (status[i])
			continue;
		answered++;
		vb_remote_take(r, &ask[i]);
	}
	if (answered) {
		vb_remote_heed(r);
		return answered;
	}
	/* An ICMP message about the last packet is heard of with another one. */
	vb_remote_heed(r);
	ask[0] = vb_remote_question(r, VB_MAD_LEN, LISTEN_ATTEMPTS, LISTEN_NS);
	rc = vb_broker_ask(&r->o, ask, status, 1);
	return rc;
}

static int ask_sizes(struct vb_remote *r, uint32_t round)
{
	struct vb_broker_ask ask[VB_REMOTE_SIZES];
	uint32_t size[VB_REMOTE_SIZES], cnt = 0;
	int status[VB_REMOTE_SIZES], rc;

	for (uint32_t i = VB_REMOTE_SIZES; i > 0; i--)
		if (vb_remote_probe(r, i - 1, round, &ask[cnt]))
			size[cnt++] = i - 1;
	rc = cnt ? vb_broker_ask(&r->o, ask, status, cnt) : 0;
	for (uint32_t i = 0; i < cnt && !rc; i++) {
		if (status[i] == 0)
			vb_remote_take(r, &ask[i]);
		else
			r->fit[size[i]] = VB_FIT_NO;
	}
	if (!rc && round == 0 && vb_remote_fitting(r) < vb_remote_mtu(r))
		rc = ask_sizes(r, 1);
	return rc;
}

static void look_way(const struct vb_remote *r, struct vb_check_result *to)
{
	snprintf(to->found, sizeof to->found, "%s by %s on %s, from %s", r->address,
		 r->host.device[r->device].name, r->host.device[r->device].ifname,
		 vb_word_gid(&r->from).s);
}

static void look_adapter(const struct vb_remote *r, struct vb_check_result *to)
{
	const struct vb_vendor_adapter *a = &r->adapter;
	int len;

	if (r->kind == VB_REMOTE_FOREIGN) {
		snprintf(to->found, sizeof to->found,
			 "an adapter that is no Verbena answers at %s; it does not say more",
			 r->address);
		return;
	}
	len = snprintf(to->found, sizeof to->found, "Verbena %.*s answers after %s; GIDs",
		       VB_VENDOR_VERSION_MAX, a->version, vb_word_ns(r->best).s);
	for (int i = 0; i < a->gid_cnt && (size_t)len < sizeof to->found; i++)
		len += snprintf(to->found + len, sizeof to->found - (size_t)len, "%s %s",
				i ? "," : "", vb_word_gid(&a->gid[i]).s);
	if (strcmp(a->version, VERBENA_VERSION) != 0) {
		to->verdict = VB_CHECK_WARN;
		snprintf(to->remedy, sizeof to->remedy, "this host has version %s: have one alike",
			 VERBENA_VERSION);
	}
}

static void look_silence(const struct vb_remote *r, struct vb_check_result *to)
{
	struct vb_explanation why;

	vb_remote_silence(r, &why);
	to->verdict = VB_CHECK_FAIL;
	join_lines(to->found, sizeof to->found, &why.what);
	join_lines(to->remedy, sizeof to->remedy, &why.advice);
}

static void look_loss(int answered, struct vb_check_result *to)
{
	snprintf(to->found, sizeof to->found, "%d of %d questions were answered", answered,
		 QUESTIONS);
	if (answered == QUESTIONS)
		return;
	to->verdict = VB_CHECK_WARN;
	snprintf(to->remedy, sizeof to->remedy,
		 "packets get lost on the way, unless the adapter there has just had many "
		 "questions from here: it answers 10 a second; 'verbena ping' asks for longer, "
		 "'verbena fault list' "
		 "shows rules that take packets away");
}

static void look_mtu(const struct vb_remote *r, struct vb_check_result *to)
{
	struct vb_lines what = {.cnt = 0}, advice = {.cnt = 0};

	if (!vb_remote_fitting(r)) {
		to->verdict = VB_CHECK_UNSEEN;
		snprintf(to->found, sizeof to->found, "no padded packet was answered");
		return;
	}
	if (!vb_remote_say_mtu(r, &what, &advice))
		to->verdict = VB_CHECK_WARN;
	join_lines(to->found, sizeof to->found, &what);
	join_lines(to->remedy, sizeof to->remedy, &advice);
}

static void look_clock(const struct vb_remote *r, struct vb_check_result *to)
{
	uint64_t off = (uint64_t)(r->offset < 0 ? -r->offset : r->offset);

	if (r->kind != VB_REMOTE_VERBENA || !r->best) {
		to->verdict = VB_CHECK_UNSEEN;
		snprintf(to->found, sizeof to->found, "that adapter does not tell the time");
		return;
	}
	snprintf(to->found, sizeof to->found, "that of %s is %s %s this one, to within %s",
		 r->address, vb_word_ns(off).s, r->offset < 0 ? "behind" : "ahead of",
		 vb_word_ns(r->best / 2).s);
	if (off <= CLOCK_GOOD_NS + r->best / 2)
		return;
	to->verdict = VB_CHECK_WARN;
	snprintf(
	    to->remedy, sizeof to->remedy,
	    "captures and logs of the two hosts do not line up: have both set by NTP (chrony)");
}

/* It answers. */
static void look_closer(const struct vb_remote *r, struct vb_check_show *s, int answered)
{
	struct vb_check_result to = {.verdict = VB_CHECK_OK};

	look_loss(answered, &to);
	vb_check_show(s, "loss", &to);
	to = (struct vb_check_result){.verdict = VB_CHECK_OK};
	look_mtu(r, &to);
	vb_check_show(s, "path MTU", &to);
	to = (struct vb_check_result){.verdict = VB_CHECK_OK};
	look_clock(r, &to);
	vb_check_show(s, "clock", &to);
}

void vb_doctor_remote(struct vb_check_show *s, const char *host)
{
	static struct vb_remote r;
	struct vb_check_result to = {.verdict = VB_CHECK_FAIL};
	int answered;

	if (vb_remote_open(&r, host, NULL, to.found, sizeof to.found)) {
		vb_check_show(s, "way", &to);
		return;
	}
	to.verdict = VB_CHECK_OK;
	look_way(&r, &to);
	vb_check_show(s, "way", &to);

	to = (struct vb_check_result){.verdict = VB_CHECK_OK};
	answered = ask_often(&r);
	if (answered < 0 || (answered && ask_sizes(&r, 0))) {
		to.verdict = VB_CHECK_FAIL;
		snprintf(to.found, sizeof to.found, "the broker of this host does not answer");
	} else if (!answered) {
		look_silence(&r, &to);
	} else {
		look_adapter(&r, &to);
	}
	vb_check_show(s, "peer", &to);
	if (to.verdict != VB_CHECK_FAIL)
		look_closer(&r, s, answered);
	vb_remote_close(&r);
}
