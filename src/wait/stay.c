/* SPDX-License-Identifier: BSD-2-Clause */
/* Which stores to doorbells poll for an answer. See stay.h. */
#include "wait/stay.h"

#include "wait/tuned.h"

static void count_in_vain(struct vb_stay *s)
{
	s->skip = 1u << s->in_vain;
	s->in_vain += s->in_vain < VB_WAIT_STAY_SKIP_MAX;
}

bool vb_stay_begins(struct vb_stay *s, bool is_idle, uint64_t seen, vb_time now, uint32_t slow)
{
	bool has_come = seen != s->seen;
	bool was_prompt = vb_time_since(s->found_at, now) < slow * (vb_dur)VB_WAIT_STAY_PROMPT_NS;

	if (s->found_at && was_prompt)
		s->in_vain = 0;
	else if (s->found_at)
		count_in_vain(s);
	s->found_at = 0;
	s->seen = seen;
	if (!is_idle || !has_come) {
		s->answers = 0;
		return false;
	}
	s->answers += s->answers < VB_WAIT_STAY_ANSWERS_MIN;
	if (s->answers < VB_WAIT_STAY_ANSWERS_MIN)
		return false;
	if (!s->skip)
		return true;
	s->skip--;
	return false;
}

void vb_stay_ended(struct vb_stay *s, bool found, vb_time now)
{
	if (found)
		s->found_at = now;
	else
		count_in_vain(s);
}
