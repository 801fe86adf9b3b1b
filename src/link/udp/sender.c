/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which IPv4 identifications to believe. The ICRC covers the identification, a UDP socket does not
 * show it, and the one that makes a damaged packet's ICRC right exists for one packet in 2^16: so
 * an identification that was solved for counts only where the sender could have used it. Linux
 * counts the datagrams of a connected socket; those of rdma_rxe by a counter that all datagrams
 * between two addresses share, and that also advances by chance, by up to one for each tick that
 * passed; others send the same one always. A row of expected identifications makes a sender
 * predictable, and it is not believed to skip many by one packet.
 *
 * Anybody can send packets with a right ICRC in the name of another, so nothing that one packet
 * says shuts a sender out: it has two tracks, and two packets in order that were not believed are
 * the next one. docs/wire.md
 */
#include "link/udp/priv.h"

#include <stdlib.h>

/* So far from the expected one an identification is near: packets lost, or in another order. */
#define NEAR 64

/* A packet may be late by so many. */
#define LATE 1024

/* GSO batches in a row that came where they were expected, and their sender is predictable. */
#define PREDICTABLE 16

/* A counter of the kernel advances by one in this time at most, and has been anywhere after the
 * other. */
#define ADVANCE_NS VB_USEC
#define ANYWHERE_NS (65536 * ADVANCE_NS)

/* A sender whose counter has skipped many numbers may do so again for so long. */
#define SKIPS_NS (60 * VB_SEC)

/* Packets that waited in the socket have come since it was empty; so much of that time counts. */
#define WAITED_MAX_NS (8 * VB_MSEC)

/* Damaged packets within DOUBT_NS that make any far identification doubtful: one in 2^15 of them
 * has one. */
#define DOUBT_NS VB_SEC
#define DOUBT_MAX 1024

void vb_udp_doubt(struct vb_udp_doubt *d, vb_time now)
{
	if (vb_time_since(d->since, now) >= DOUBT_NS)
		*d = (struct vb_udp_doubt){.since = now};
	d->damaged++;
}

static bool is_doubtful(const struct vb_udp_doubt *d, vb_time now)
{
	return d->damaged >= DOUBT_MAX && vb_time_since(d->since, now) < DOUBT_NS;
}

static uint16_t next_of(const struct vb_udp_track *t)
{
	return (uint16_t)(t->id + t->step);
}

static int distance_to(const struct vb_udp_track *t, uint16_t id)
{
	return (int16_t)(uint16_t)(id - next_of(t));
}

static bool is_predictable(const struct vb_udp_sender *s)
{
	return s->track[0].run >= PREDICTABLE || s->track[1].run >= PREDICTABLE;
}

static bool has_skipped(const struct vb_udp_sender *s, vb_time now)
{
	return s->skipped && vb_time_since(s->skipped, now) < SKIPS_NS;
}

/* Track @i goes on with @id. */
static void track_follow(struct vb_udp_sender *s, uint32_t i, uint16_t id, vb_time now)
{
	struct vb_udp_track t = s->track[i];
	int ahead = distance_to(&t, id);

	/* A late packet moves nothing, unless all are late. */
	if (ahead < 0 && id != t.id && t.run > 0) {
		t.run--;
	} else {
		t.step = id != t.id;
		t.id = id;
		t.run += t.run < UINT8_MAX;
	}
	t.heard = now;
	s->track[i] = s->track[0];
	s->track[0] = t;
}

/* A track that begins with @id. The sender has to become predictable again. */
static void track_begin(struct vb_udp_sender *s, uint16_t id, uint16_t frag, vb_time now)
{
	s->track[1] = s->track[0];
	s->track[0] = (struct vb_udp_track){.id = id, .frag = frag, .step = 1, .heard = now};
	s->track[1].run = 0;
	s->track_cnt = s->track_cnt < 2 ? s->track_cnt + 1 : 2;
	s->has_stray = false;
}

/* The track of packets with @frag that @id is near to, and nearest; -1: none. */
static int track_near(const struct vb_udp_sender *s, uint16_t id, uint16_t frag)
{
	int best = NEAR + 1, found = -1;

	for (uint32_t i = 0; i < s->track_cnt; i++) {
		int d = abs(distance_to(&s->track[i], id));

		if (s->track[i].frag == frag && d < best) {
			best = d;
			found = (int)i;
		}
	}
	return found;
}

/* Time in which the sender's counter may have advanced without a word. */
static vb_dur time_unheard(const struct vb_udp_sender *s, const struct vb_udp_heard *h)
{
	vb_dur heard = vb_time_since(s->track[0].heard, h->now);
	vb_dur waited = vb_time_since(h->empty_at, h->now);

	if (waited > WAITED_MAX_NS)
		waited = WAITED_MAX_NS;
	return heard > waited ? heard : waited;
}

/*
 * The counter may have come to @id in @unheard, or have been there shortly before. One such packet
 * alone may be a damaged one; two within a minute show a counter that other packets advance, too.
 */
static bool track_reach(struct vb_udp_sender *s, uint16_t id, vb_dur unheard, vb_time now)
{
	struct vb_udp_track *t = &s->track[0];
	uint16_t ahead = (uint16_t)(id - next_of(t));
	bool is_late = (uint16_t)-ahead <= LATE, skips = has_skipped(s, now);

	if (!is_late && ahead > NEAR + unheard / ADVANCE_NS)
		return false;
	s->skipped = now;
	if (!skips)
		return false;
	if (!is_late)
		t->id = id;
	t->run /= 2;
	t->heard = now;
	return true;
}

/*
 * An identification that is not believed alone: is it the next one of the last such? A packet that
 * is damaged always in the same way has one that keeps its distance to the track of its sender, and
 * damaged packets in a row come without that track being heard between them.
 */
static bool confirms_stray(struct vb_udp_sender *s, uint16_t id, uint16_t frag, bool is_live,
			   vb_time now)
{
	uint16_t apart = id ^ next_of(&s->track[0]);
	struct vb_udp_track last = s->stray;
	bool moved = (apart ^ s->stray_apart) / 16 != 0;
	bool follows = s->has_stray && last.frag == frag && (uint16_t)(id - last.id) <= NEAR;

	if (follows && !(is_live && (!moved || s->track[0].heard < last.heard)))
		return true;
	s->stray = (struct vb_udp_track){.id = id, .frag = frag, .heard = now};
	s->stray_apart = apart;
	s->has_stray = true;
	return false;
}

bool vb_udp_sender_reaches(uint16_t ahead, vb_dur d)
{
	return ahead != 0 && d < ANYWHERE_NS && ahead <= NEAR + d / ADVANCE_NS;
}

enum vb_udp_belief vb_udp_sender_believes(struct vb_udp_sender *s, uint16_t id, uint16_t frag,
					  const struct vb_udp_heard *h)
{
	bool is_doubted = is_doubtful(h->doubt, h->now), is_live;
	int near = track_near(s, id, frag);

	if (near >= 0) {
		track_follow(s, (uint32_t)near, id, h->now);
		return VB_UDP_BELIEVED;
	}
	is_live = is_predictable(s) && vb_time_since(s->track[0].heard, h->now) < ANYWHERE_NS;
	if (is_live && !is_doubted && frag == s->track[0].frag &&
	    track_reach(s, id, time_unheard(s, h), h->now))
		return VB_UDP_SKIPPED;
	if (!is_live && !is_doubted) {
		track_begin(s, id, frag, h->now);
		return VB_UDP_BELIEVED;
	}
	if (!confirms_stray(s, id, frag, is_live, h->now))
		return VB_UDP_REFUSED;
	track_begin(s, id, frag, h->now);
	return VB_UDP_SKIPPED;
}

void vb_udp_sender_begin(struct vb_udp_sender *s, uint16_t id, vb_time now)
{
	track_begin(s, id, VB_IPV4_DF, now);
}

static struct vb_udp_sender *set_of(struct vb_udp_senders *t, const struct vb_path *p)
{
	return t->sender[(p->udp_sport ^ p->sgid.b[15]) % VB_UDP_SENDER_SETS];
}

struct vb_udp_sender *vb_udp_sender_find(struct vb_udp_senders *t, const struct vb_path *p)
{
	struct vb_udp_sender *set = set_of(t, p);

	for (uint32_t i = 0; i < VB_UDP_SENDER_WAYS; i++)
		if (set[i].port == p->udp_sport && vb_gid_eq(&set[i].gid, &p->sgid))
			return &set[i];
	t->stranger = (struct vb_udp_sender){.gid = p->sgid, .port = p->udp_sport};
	return &t->stranger;
}

struct vb_udp_sender *vb_udp_sender_keep(struct vb_udp_senders *t, const struct vb_path *p)
{
	struct vb_udp_sender *set = set_of(t, p), *oldest = set;

	for (uint32_t i = 1; i < VB_UDP_SENDER_WAYS; i++)
		if (set[i].track[0].heard < oldest->track[0].heard)
			oldest = &set[i];
	*oldest = t->stranger;
	return oldest;
}
