/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of captures, see page.h. */
#include "cmd/capture/page.h"

#include "explain/text/words.h"
#include "export/file/whole_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

struct capture_page {
	const struct vb_traffic *t;
	struct vb_capture_stories stories;
};

static const char *host_name(const struct vb_page *p, uint32_t host)
{
	static char name[sizeof(struct vb_word) + 16];
	const struct capture_page *c = p->ctx;
	bool is_twin;
	struct vb_word gid = vb_word_gid(vb_traffic_host(c->t, host, &is_twin));

	snprintf(name, sizeof name, "%s%s", gid.s, is_twin ? " (other end)" : "");
	return name;
}

static void connection_ends(const struct vb_page *p, uint32_t connection, struct vb_step_ends *out)
{
	const struct capture_page *c = p->ctx;

	vb_traffic_ends(c->t, connection, out);
}

static void fill_story(const struct vb_page *p, uint32_t i, struct vb_page_story *out)
{
	const struct capture_page *c = p->ctx;

	vb_capture_story_tell(&c->stories.at[i], c->t, out);
}

static void name_end(const void *ctx, uint32_t id, char *name, size_t len)
{
	const struct vb_traffic *t = ctx;
	struct vb_step_ends e;
	bool is_twin;

	vb_traffic_ends(t, id / 2, &e);
	snprintf(name, len, "%s QP 0x%06" PRIx32,
		 vb_word_gid(vb_traffic_host(t, e.host[id & 1], &is_twin)).s, e.qpn[id & 1]);
	if (e.qpn[id & 1] == 0)
		snprintf(name, len, "%s to QP 0x%06" PRIx32,
			 vb_word_gid(vb_traffic_host(t, e.host[id & 1], &is_twin)).s,
			 e.qpn[~id & 1]);
}

static int make_charts(struct vb_page_charts *c, const struct vb_traffic *t)
{
#define OVER_TIME(text, what, its_unit)                                                            \
	{                                                                                          \
		.title = (text), .x = {.name = "time", .unit = "µs"},                              \
		.y = {.name = (what), .unit = (its_unit)},                                         \
	}
	static const struct vb_page_kind kinds[] = {
	    {OVER_TIME("Sent by QPs", "rate", "Gb/s"), VB_TRAFFIC_RATE, 1e9 / 8, name_end},
	    {OVER_TIME("Sent and not acknowledged", "window", "PSNs"), VB_TRAFFIC_WINDOW, 1,
	     name_end},
	    {OVER_TIME("From a request to its acknowledgement", "time", "µs"), VB_TRAFFIC_ANSWER,
	     1e3, name_end},
	    {OVER_TIME("Sent again", "rate", "packets/s"), VB_TRAFFIC_RESENT, 1, name_end},
	    {OVER_TIME("CNPs that QPs received", "rate", "packets/s"), VB_TRAFFIC_CNP, 1, name_end},
	    {OVER_TIME("Rate that congestion control allows", "rate", "Gb/s"), VB_TRAFFIC_CC_RATE,
	     1e6, name_end},
	    {OVER_TIME("Target rate", "rate", "Gb/s"), VB_TRAFFIC_CC_TARGET, 1e6, name_end},
	    {OVER_TIME("Alpha, the congestion that it has seen", "alpha", ""), VB_TRAFFIC_CC_ALPHA,
	     1024, name_end},
	};
#undef OVER_TIME
	int rc = 0;

	memset(c, 0, sizeof *c);
	for (size_t k = 0; rc >= 0 && k < sizeof kinds / sizeof kinds[0]; k++)
		rc = vb_page_over_time(c, vb_traffic_series(t), &kinds[k], t);
	return rc < 0 ? rc : 0;
}

static void fill_items(struct vb_page *p, const struct vb_traffic *t)
{
	const struct vb_traffic_sums *n = vb_traffic_sums(t);
	double seconds = (double)vb_traffic_length(t) / 1e9;

	vb_page_item(p, "Packets", "%" PRIu64, n->packets);
	vb_page_item(p, "Bytes, IP headers included", "%" PRIu64, n->bytes);
	if (seconds > 0)
		vb_page_item(p, "Rate on average", "%.3f Gb/s",
			     (double)n->bytes * 8 / seconds / 1e9);
	vb_page_item(p, "Connections", "%u", vb_traffic_connection_cnt(t));
	vb_page_item(p, "Sent again", "%" PRIu64 " packets", n->resent);
	vb_page_item(p, "... because of",
		     "NAK %" PRIu64 ", timeout %" PRIu64 ", implied NAK %" PRIu64 ", RNR %" PRIu64,
		     n->rewinds[VB_TRAFFIC_NAK], n->rewinds[VB_TRAFFIC_TIMEOUT],
		     n->rewinds[VB_TRAFFIC_IMPLIED_NAK], n->rewinds[VB_TRAFFIC_RNR]);
	vb_page_item(p, "NAKs", "%" PRIu64 ", and %" PRIu64 " RNR NAKs", n->naks, n->rnr_naks);
	if (n->both_ends)
		vb_page_item(p, "Lost", "%" PRIu64 " to faults, %" PRIu64 " on the way",
			     n->lost_to_faults, n->lost);
	else
		vb_page_item(p, "Lost", "%" PRIu64 " to faults; else not known from one end",
			     n->lost_to_faults);
	if (n->damaged)
		vb_page_item(p, "Damaged", "%" PRIu64 " packets", n->damaged);
	vb_page_item(p, "Marked CE", "%" PRIu64 " packets", n->marked_ce);
	vb_page_item(p, "CNPs", "%" PRIu64, n->cnps);
	vb_page_item(p, "Seen at both ends", "%" PRIu64 " packets", n->both_ends);
	if (n->clock_samples)
		vb_page_item(p, "Clock of the second capture", "%.3f µs %s, to within %.3f µs",
			     fabs((double)n->clock_ahead_ns) / 1e3,
			     n->clock_ahead_ns < 0 ? "behind" : "ahead",
			     (double)n->clock_error_ns / 1e3);
}

/* Says which things the page does not show, and why. */
static void say_left_out(char *text, size_t size, const struct vb_capture_pages *c,
			 const struct vb_traffic *t, const struct vb_page_charts *charts)
{
	const struct vb_traffic_sums *n = vb_traffic_sums(t);

	text[0] = 0;
	for (uint32_t i = 0; i < c->read_cnt; i++) {
		const struct vb_traffic_file *f = vb_traffic_file(t, i);

		if (f->lost)
			vb_page_text(text, size,
				     "%s lacks %" PRIu64 " packets that came too fast for it: some "
				     "packets may seem lost that were not. ",
				     c->read[i], f->lost);
		if (f->is_cut)
			vb_page_text(text, size, "%s ends in the middle of a packet. ", c->read[i]);
		if (!f->has_directions)
			vb_page_text(text, size,
				     "%s does not tell which packets were sent and which received; "
				     "each is shown when it was seen. ",
				     c->read[i]);
		if (f->batches)
			vb_page_text(text, size,
				     "In %s %" PRIu64 " GSO batches were captured before "
				     "the kernel cut them; they are left out. ",
				     c->read[i], f->batches);
	}
	if (n->both_ends == 0)
		vb_page_text(text, size,
			     "One end was captured: level arrows have the time at which that end "
			     "saw them. ");
	if (n->is_full)
		vb_page_text(text, size, "Only the first %u packets were read. ",
			     VB_TRAFFIC_PACKETS_MAX);
	if (n->left_out)
		vb_page_text(text, size,
			     "The packet sequence has the first %u packets and of the later ones "
			     "those near NAKs, timers, losses and packets that were sent again, "
			     "%u steps in all; %" PRIu64 " are left out. ",
			     VB_TRAFFIC_STEPS_FIRST, vb_traffic_step_cnt(t), n->left_out);
	vb_page_text(text, size,
		     "Over time, each value stands for %.6g µs; bands reach from the least to the "
		     "most in it.",
		     charts->slot_us);
}

static int write_page(FILE *f, const struct vb_capture_pages *c, const struct vb_traffic *t)
{
	static struct capture_page of;
	static struct vb_page_charts charts;
	static char left_out[4096 + 2 * VB_WHOLE_FILE_PATH];
	static char title[2 * VB_WHOLE_FILE_PATH];
	struct vb_page p = {.title = title,
			    .left_out = left_out,
			    .charts = &charts,
			    .step = vb_traffic_step(t, 0),
			    .step_cnt = vb_traffic_step_cnt(t),
			    .host_name = host_name,
			    .host_cnt = vb_traffic_host_cnt(t),
			    .ends = connection_ends,
			    .story = fill_story,
			    .ctx = &of};
	time_t first = (time_t)(vb_traffic_first_ns(t) / VB_SEC);
	char clock[40];
	struct tm tm;
	int err = vb_capture_stories_find(&of.stories, t);

	if (err)
		return err;
	of.t = t;
	p.story_cnt = of.stories.cnt;
	p.stories_full = of.stories.is_full;
	title[0] = left_out[0] = 0;
	for (uint32_t i = 0; i < c->read_cnt; i++) {
		const char *name = strrchr(c->read[i], '/');

		vb_page_text(title, sizeof title, "%s%s", i ? " and " : "",
			     name ? name + 1 : c->read[i]);
	}
	strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", localtime_r(&first, &tm));
	snprintf(p.subtitle, sizeof p.subtitle, "%s.%06u, %s of live traffic", clock,
		 (unsigned)(vb_traffic_first_ns(t) % VB_SEC / 1000),
		 vb_word_ns(vb_traffic_length(t)).s);
	err = make_charts(&charts, t);
	if (!err) {
		fill_items(&p, t);
		say_left_out(left_out, sizeof left_out, c, t, &charts);
		err = vb_page_write(f, &p);
	}
	vb_page_charts_free(&charts);
	return err;
}

/* 0, or an exit status with the reason on stderr. */
static int read_captures(const struct vb_cmd *cmd, const struct vb_capture_pages *c,
			 struct vb_traffic *t)
{
	for (uint32_t i = 0; i < c->read_cnt; i++) {
		FILE *f = fopen(c->read[i], "re");
		char why[200];
		int rc;

		if (!f) {
			vb_cmd_error(cmd, "cannot read %s: %s", c->read[i], strerror(errno));
			return 1;
		}
		rc = vb_traffic_read(t, f, why, sizeof why);
		fclose(f);
		if (rc) {
			vb_cmd_error(cmd, "%s: %s", c->read[i], why);
			return 1;
		}
		if (vb_traffic_file(t, i)->packets == 0) {
			vb_cmd_error(cmd, "%s has no packet of RoCEv2", c->read[i]);
			return 1;
		}
		if (c->read_cnt > 1 && !vb_traffic_file(t, i)->has_directions) {
			vb_cmd_error(cmd,
				     "%s does not tell which packets were sent and which received, "
				     "so it cannot be put together with another capture",
				     c->read[i]);
			return 1;
		}
	}
	return 0;
}

int vb_capture_page_check(const struct vb_cmd *cmd, const struct vb_capture_pages *c)
{
	int err = vb_whole_file_check(c->page);

	if (err)
		vb_cmd_error(cmd, "cannot write %s: %s", c->page, strerror(-err));
	return err ? 1 : 0;
}

int vb_capture_page(const struct vb_cmd *cmd, const struct vb_capture_pages *c)
{
	struct vb_traffic *t = vb_traffic_new();
	struct vb_whole_file w;
	int rc = t ? read_captures(cmd, c, t) : 0, err;

	err = t ? (rc ? 0 : vb_traffic_play(t)) : -ENOMEM;
	if (!rc && !err && c->read_cnt > 1 && vb_traffic_sums(t)->clock_samples == 0) {
		vb_cmd_error(cmd,
			     "no packet is in both %s and %s: they are not of the two ends of "
			     "a connection",
			     c->read[0], c->read[1]);
		rc = 1;
	}
	if (!rc && !err)
		err = vb_whole_file_begin(&w, c->page);
	if (!rc && !err)
		err = vb_whole_file_end(&w, write_page(w.f, c, t));
	if (err)
		vb_cmd_error(cmd, "cannot write %s: %s", c->page, strerror(-err));
	vb_traffic_free(t);
	return rc ? rc : err ? 1 : 0;
}
