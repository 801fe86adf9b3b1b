/* SPDX-License-Identifier: BSD-2-Clause */
/* The wheel, the heap and the set of deadlines. See eventq.h. */
#include "sim/eventq.h"

#include "base/assert.h"
#include "base/cold.h"
#include <assert.h>
#include <stdbool.h>

/* A machine in line has left the wheel, or the heap, and is known by its deadline: it is now. */
enum where { NOWHERE, IN_WHEEL, IN_HEAP, IN_SET };

/* A line of up to so many is sorted by counting who is before whom, a longer one by way of the set.
 */
#define LINE_SHORT 16u

static size_t set_words(uint32_t ids, int level)
{
	size_t n = ids;

	for (int i = 0; i <= level; i++)
		n = (n + 63) / 64;
	return n;
}

size_t vb_eventq_size(uint32_t ids)
{
	size_t size = (size_t)ids * (sizeof(struct vb_eventq_place) +
				     sizeof(struct vb_eventq_entry) + 3 * sizeof(uint32_t)) +
		      sizeof(struct vb_eventq_place);

	for (int i = 0; i < 4; i++)
		size += set_words(ids, i) * sizeof(uint64_t);
	return size;
}

void vb_eventq_init(struct vb_eventq *q, void *mem, uint32_t ids)
{
	uint64_t *words;

	assert(ids <= 1u << 24);
	*q = (struct vb_eventq){.ids = ids, .place = (struct vb_eventq_place *)mem + 1};
	q->heap = (struct vb_eventq_entry *)(void *)(q->place + ids);
	words = (uint64_t *)(void *)(q->heap + ids);
	for (int i = 0; i < 4; i++) {
		q->set[i] = words;
		words += set_words(ids, i);
		if (!q->levels && set_words(ids, i) <= 1)
			q->levels = (uint32_t)i + 1;
	}
	q->turn = (uint32_t *)(void *)words;
	q->wheel_at = VB_NEVER;
}

static void set_add(struct vb_eventq *q, uint32_t id)
{
	VB_ASSERT_ALL(id < q->ids && !(q->set[0][id >> 6] >> (id & 63) & 1));
	q->set_cnt++;
	for (uint32_t i = 0; i < q->levels; i++, id >>= 6)
		q->set[i][id >> 6] |= UINT64_C(1) << (id & 63);
}

static void set_remove(struct vb_eventq *q, uint32_t id)
{
	VB_ASSERT_ALL(q->set_cnt > 0 && (q->set[0][id >> 6] >> (id & 63) & 1));
	q->set_cnt--;
	for (uint32_t i = 0; i < q->levels; i++) {
		uint64_t *w = &q->set[i][id >> 6];

		*w &= ~(UINT64_C(1) << (id & 63));
		if (*w)
			return;
		id >>= 6;
	}
}

static uint32_t set_first(const struct vb_eventq *q)
{
	uint32_t id = 0;

	for (uint32_t i = q->levels; i-- > 0;)
		id = id << 6 | (uint32_t)__builtin_ctzll(q->set[i][id]);
	return id;
}

/* Moves the machines of the set to @line, by id. */
static void set_drain(struct vb_eventq *q, uint32_t *line)
{
	const uint32_t *end = line + q->set_cnt;

	q->set_cnt = 0;
	while (line < end) {
		uint32_t at = set_first(q) >> 6;

		for (uint64_t bits = q->set[0][at]; bits; bits &= bits - 1)
			*line++ = at << 6 | (uint32_t)__builtin_ctzll(bits);
		q->set[0][at] = 0;
		for (uint32_t i = 1; i < q->levels; i++, at >>= 6) {
			uint64_t *w = &q->set[i][at >> 6];

			*w &= ~(UINT64_C(1) << (at & 63));
			if (*w)
				break;
		}
	}
}

/* The first deadline in the wheel behind @from, which is now or one that is less than a turn away;
 * VB_NEVER: there is none. */
static vb_time wheel_next(const struct vb_eventq *q, vb_time from)
{
	uint32_t at = (uint32_t)(from + 1) & (VB_EVENTQ_SLOTS - 1), word = at >> 6;
	uint64_t bits = q->slot_bits[word] >> (at & 63);
	vb_time next;

	if (q->slot_words == 0)
		return VB_NEVER;
	if (bits) {
		next = from + 1 + (uint32_t)__builtin_ctzll(bits);
	} else {
		/* The words behind this one, the first ones again, and at last this one's lower
		 * part. */
		uint32_t turn = (word + 1) & 63;
		uint64_t words =
		    turn ? q->slot_words >> turn | q->slot_words << (64 - turn) : q->slot_words;
		uint32_t found = (word + 1 + (uint32_t)__builtin_ctzll(words)) & 63;
		uint32_t slot = found << 6 | (uint32_t)__builtin_ctzll(q->slot_bits[found]);

		next = from + 1 + ((slot - at) & (VB_EVENTQ_SLOTS - 1));
	}
	return next - q->now < VB_EVENTQ_SLOTS ? next : VB_NEVER; /* else it is before @from */
}

/* A deadline at @at comes or goes: lines from there on are to be looked at again. */
static VB_APART void lines_forget(struct vb_eventq *q, vb_time at)
{
	while (q->seen_cnt && q->seen[(q->seen_first + q->seen_cnt - 1) % VB_EVENTQ_SEEN].at >= at)
		q->seen_cnt--;

	uint32_t last = (q->seen_first + q->seen_cnt - 1) % VB_EVENTQ_SEEN;

	q->seen_to = q->seen_cnt ? q->seen[last].at : 0;
	q->seen_end = q->seen_cnt ? q->seen[last].end : q->turn_end;
}

static inline __attribute__((always_inline)) void wheel_add(struct vb_eventq *q, uint32_t id,
							    vb_time at)
{
	uint32_t slot = (uint32_t)at & (VB_EVENTQ_SLOTS - 1);
	uint32_t first = q->slot[slot];

	VB_ASSERT_ALL(at > q->now && at - q->now < VB_EVENTQ_SLOTS);
	VB_ASSERT_ALL(first == 0 || q->place[first - 1].at == at);
	if (at <= q->seen_to)
		lines_forget(q, at);
	q->wheel_at = vb_time_min(q->wheel_at, at);
	q->place[id].next = first;
	q->place[id].prev = 0;
	(q->place - 1)[first].prev = id + 1; /* of the first one there, or of nobody's place */
	q->slot[slot] = id + 1;
	q->slot_bits[slot >> 6] |= UINT64_C(1) << (slot & 63);
	q->slot_words |= UINT64_C(1) << (slot >> 6);
}

static void slot_empty(struct vb_eventq *q, uint32_t slot)
{
	q->slot[slot] = 0;
	q->slot_bits[slot >> 6] &= ~(UINT64_C(1) << (slot & 63));
	if (!q->slot_bits[slot >> 6])
		q->slot_words &= ~(UINT64_C(1) << (slot >> 6));
}

static void wheel_remove(struct vb_eventq *q, uint32_t id)
{
	const struct vb_eventq_place *p = &q->place[id];
	uint32_t slot = (uint32_t)p->at & (VB_EVENTQ_SLOTS - 1);

	VB_ASSERT_ALL(q->slot[slot] != 0 && (p->prev || q->slot[slot] == id + 1));
	if (p->at <= q->seen_to)
		lines_forget(q, p->at);
	if (p->next)
		q->place[p->next - 1].prev = p->prev;
	if (p->prev)
		q->place[p->prev - 1].next = p->next;
	else if (p->next)
		q->slot[slot] = p->next;
	else
		slot_empty(q, slot);
	if (p->at == q->wheel_at && !q->slot[slot])
		q->wheel_at = wheel_next(q, q->now);
}

static bool entry_before(const struct vb_eventq_entry *a, const struct vb_eventq_entry *b)
{
	return a->at < b->at || (a->at == b->at && a->id < b->id);
}

static void heap_put(struct vb_eventq *q, uint32_t i, struct vb_eventq_entry e)
{
	VB_ASSERT_ALL(i < q->heap_cnt && q->place[e.id].where == IN_HEAP);
	q->heap[i] = e;
	q->place[e.id].next = i;
}

static void heap_up(struct vb_eventq *q, uint32_t i, struct vb_eventq_entry e)
{
	while (i > 0 && entry_before(&e, &q->heap[(i - 1) / 2])) {
		heap_put(q, i, q->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_put(q, i, e);
}

static void heap_down(struct vb_eventq *q, uint32_t i, struct vb_eventq_entry e)
{
	for (;;) {
		uint32_t child = i * 2 + 1;

		if (child >= q->heap_cnt)
			break;
		if (child + 1 < q->heap_cnt && entry_before(&q->heap[child + 1], &q->heap[child]))
			child++;
		if (!entry_before(&q->heap[child], &e))
			break;
		heap_put(q, i, q->heap[child]);
		i = child;
	}
	heap_put(q, i, e);
}

static void heap_remove(struct vb_eventq *q, uint32_t i)
{
	struct vb_eventq_entry last = q->heap[--q->heap_cnt];

	VB_ASSERT_ALL(i <= q->heap_cnt);
	if (i == q->heap_cnt)
		return;
	if (i > 0 && entry_before(&last, &q->heap[(i - 1) / 2]))
		heap_up(q, i, last);
	else
		heap_down(q, i, last);
}

static bool is_in_line(const struct vb_eventq *q, uint32_t id)
{
	return q->place[id].at == q->now && q->place[id].where == IN_WHEEL;
}

/* Takes away the deadline of a machine that has one. */
static VB_APART void deadline_leave(struct vb_eventq *q, uint32_t id)
{
	const struct vb_eventq_place *p = &q->place[id];

	if (p->where == IN_HEAP) {
		heap_remove(q, p->next);
	} else if (p->at != q->now) {
		wheel_remove(q, id);
	} else {
		if (p->where == IN_SET)
			set_remove(q, id);
		VB_ASSERT_ALL(q->ready > 0);
		q->ready--;
	}
}

/* Whether a deadline stands in the wheel: soon, but not now. */
static inline bool is_near(const struct vb_eventq *q, vb_time at)
{
	return at - q->now - 1 < VB_EVENTQ_SLOTS - 1;
}

/* Sets a deadline in place of another one, or one that is not in the wheel: far off, now or never.
 */
static VB_APART void deadline_change(struct vb_eventq *q, uint32_t id, vb_time at)
{
	struct vb_eventq_place *p = &q->place[id];

	if (p->where != NOWHERE) {
		if (p->at == at)
			return;
		deadline_leave(q, id);
	}
	p->at = at;
	if (is_near(q, at)) {
		p->where = IN_WHEEL;
		wheel_add(q, id, at);
	} else if (at == VB_NEVER) {
		p->where = NOWHERE;
	} else if (at == q->now) {
		p->where = IN_SET;
		set_add(q, id);
		q->ready++;
	} else {
		p->where = IN_HEAP;
		VB_ASSERT_ALL(q->heap_cnt < q->ids);
		heap_up(q, q->heap_cnt++, (struct vb_eventq_entry){at, id});
	}
}

void vb_eventq_set(struct vb_eventq *q, uint32_t id, vb_time at)
{
	struct vb_eventq_place *p = &q->place[id];

	assert(id < q->ids && at >= q->now);
	if (p->where != NOWHERE || !is_near(q, at)) {
		deadline_change(q, id, at);
		return;
	}
	p->at = at;
	p->where = IN_WHEEL;
	wheel_add(q, id, at);
}

vb_time vb_eventq_next(const struct vb_eventq *q)
{
	if (q->ready)
		return q->now;
	return vb_time_min(q->wheel_at, q->heap_cnt ? q->heap[0].at : VB_NEVER);
}

/* Each machine goes where as many are before it as have a lower number. In no order as they are,
 * this takes less time than comparing two of them takes to be foretold. */
static void line_sort_short(uint32_t *line, uint32_t cnt)
{
	int32_t id[LINE_SHORT];

	for (uint32_t i = 0; i < LINE_SHORT; i++)
		id[i] = i < cnt ? (int32_t)line[i] : INT32_MAX;
	for (uint32_t i = 0; i < cnt; i++) {
		int32_t before_it = 0;

		for (uint32_t k = 0; k < LINE_SHORT; k++)
			before_it += id[k] < id[i];
		line[before_it] = (uint32_t)id[i];
	}
}

static void line_sort(struct vb_eventq *q, uint32_t *line, uint32_t cnt)
{
	if (cnt <= 1)
		return;
	if (cnt <= LINE_SHORT) {
		line_sort_short(line, cnt);
		return;
	}
	for (uint32_t i = 0; i < cnt; i++) /* the set is empty between two instants */
		set_add(q, line[i]);
	set_drain(q, line);
}

/* Makes room for all machines behind those that are seen. */
static void line_make_room(struct vb_eventq *q)
{
	uint32_t from = q->turn_at;

	VB_ASSERT_ALL(q->turn_at <= q->turn_end && q->turn_end <= q->seen_end);
	if (q->seen_end <= 2 * q->ids)
		return;
	for (uint32_t i = from; i < q->seen_end; i++)
		q->turn[i - from] = q->turn[i];
	for (uint32_t i = 0; i < q->seen_cnt; i++)
		q->seen[(q->seen_first + i) % VB_EVENTQ_SEEN].end -= from;
	q->turn_at = 0;
	q->turn_end -= from;
	q->seen_end -= from;
	VB_ASSERT_ALL(q->seen_end <= 2 * q->ids);
}

/* Appends the machines in the wheel at @at to those that are seen. */
static void look_at_slot(struct vb_eventq *q, vb_time at)
{
	uint32_t *seen, cnt = 0, last = (q->seen_first + q->seen_cnt) % VB_EVENTQ_SEEN;

	line_make_room(q);
	seen = q->turn + q->seen_end;
	for (uint32_t i = q->slot[at & (VB_EVENTQ_SLOTS - 1)]; i; i = q->place[i - 1].next)
		seen[cnt++] = i - 1;
	line_sort(q, seen, cnt);
	q->seen_end += cnt;
	VB_ASSERT_ALL(q->seen_end <= 3 * q->ids && q->seen_cnt < VB_EVENTQ_SEEN);
	q->seen[last].at = q->seen_to = at;
	q->seen[last].end = q->seen_end;
	q->seen_cnt++;
}

/* Looks at the next instants, until enough machines are seen. */
static void look_further(struct vb_eventq *q)
{
	while (q->seen_end - q->turn_at < VB_EVENTQ_AHEAD && q->seen_cnt < VB_EVENTQ_SEEN) {
		vb_time at = q->seen_cnt ? wheel_next(q, q->seen_to) : q->wheel_at;

		if (at == VB_NEVER)
			return;
		look_at_slot(q, at);
	}
}

/* Those of the heap that are due, to the end of the line. */
static void heap_drain(struct vb_eventq *q)
{
	lines_forget(q, 0);
	line_make_room(q);
	while (q->heap_cnt && q->heap[0].at == q->now) {
		uint32_t id = q->heap[0].id;

		heap_remove(q, 0);
		q->place[id].where = IN_WHEEL;
		q->turn[q->turn_end++] = id;
	}
	line_sort(q, q->turn + q->turn_at, q->turn_end - q->turn_at);
	q->seen_end = q->turn_end;
}

/* The next instant comes: its machines line up, and those behind it are looked at. */
static VB_APART void line_up(struct vb_eventq *q)
{
	VB_ASSERT_ALL(vb_eventq_next(q) > q->now);
	q->now = vb_eventq_next(q);
	q->turn_at = q->turn_end;
	if (q->wheel_at == q->now) {
		if (q->seen_cnt == 0)
			look_at_slot(q, q->now);
		VB_ASSERT_ALL(q->seen[q->seen_first].at == q->now);
		q->turn_end = q->seen[q->seen_first].end;
		q->seen_first = (q->seen_first + 1) % VB_EVENTQ_SEEN;
		if (--q->seen_cnt == 0)
			q->seen_to = 0;
		slot_empty(q, (uint32_t)q->now & (VB_EVENTQ_SLOTS - 1));
		q->wheel_at = wheel_next(q, q->now);
	}
	VB_ASSERT_ALL(q->wheel_at > q->now);
	if (q->heap_cnt && q->heap[0].at == q->now)
		heap_drain(q);
	q->ready = q->turn_end - q->turn_at;
	look_further(q);
}

/* The one whose turn it is, where the next in line may have stepped out or the set have an earlier
 * one, or where the next instant comes. */
static VB_APART uint32_t turn_find(struct vb_eventq *q)
{
	if (q->ready == 0)
		line_up(q);
	assert(q->ready);

	uint32_t at = q->turn_at, end = q->turn_end, id = UINT32_MAX;

	for (; at < end; at++) {
		id = q->turn[at];
		if (is_in_line(q, id))
			break;
		id = UINT32_MAX; /* has stepped out */
	}
	if (q->set_cnt && set_first(q) < id) {
		id = set_first(q);
		set_remove(q, id);
		q->turn_at = at;
	} else {
		q->turn_at = at + 1;
	}
	return id;
}

uint32_t vb_eventq_take(struct vb_eventq *q)
{
	uint32_t id;

	if (q->turn_at < q->turn_end && !q->set_cnt && is_in_line(q, q->turn[q->turn_at]))
		id = q->turn[q->turn_at++];
	else
		id = turn_find(q);
	VB_ASSERT_ALL(id < q->ids && q->ready > 0);
	q->ready--;
	q->place[id].where = NOWHERE;
	VB_ASSERT_ALL(q->place[id].at == q->now);
	return id;
}
