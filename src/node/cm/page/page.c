/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls by shared memory, see page.h. Each side writes what it has to say and then reads whether
 * the other one looks, with a full fence between the two; and a side that is about to sleep says so
 * first and looks again then. So one of the two sees the other.
 */
#include "node/cm/page/page.h"

#include <string.h>

#define CALL_HEADER offsetof(struct vb_cm_call, body)
#define ANSWER_HEADER offsetof(struct vb_cm_answer, body)

static void set_word(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static uint32_t get_word(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

bool vb_cm_page_call(struct vb_cm_page *p, const struct vb_cm_call *call)
{
	memcpy(&p->call, call, CALL_HEADER + call->len + call->extra_len);
	set_word(&p->called, p->called + 1);
	return !get_word(&p->looks);
}

bool vb_cm_page_answer(const struct vb_cm_page *p, struct vb_cm_answer *answer)
{
	size_t at;

	if (get_word(&p->answered) != p->called)
		return false;
	memcpy(answer, &p->answer, ANSWER_HEADER);
	if (answer->len > VB_CM_ANSWER_BODY)
		answer->len = answer->ahead_len = 0;
	at = (answer->len + 7u) & ~(size_t)7;
	if (at + answer->ahead_len > VB_CM_ANSWER_BODY)
		answer->ahead_len = 0;
	memcpy(answer->body, p->answer.body,
	       answer->ahead_len ? at + answer->ahead_len : answer->len);
	return true;
}

uint32_t vb_cm_page_pending(const struct vb_cm_page *p)
{
	uint32_t pending = p->posted - get_word(&p->carried_out);

	return pending < VB_CM_POSTS ? pending : VB_CM_POSTS;
}

bool vb_cm_page_post(struct vb_cm_page *p, const struct vb_cm_post *post, uint32_t *told)
{
	struct vb_cm_post *to = &p->post[p->posted % VB_CM_POSTS];

	memcpy(to, post, offsetof(struct vb_cm_post, body) + post->len);
	set_word(&p->posted, p->posted + 1);
	/* A broker that has not come to where it was told looks again after that. */
	if (get_word(&p->looks) || (int32_t)(*told - get_word(&p->carried_out)) > 0)
		return false;
	*told = p->posted;
	return true;
}

void vb_cm_page_unpost(struct vb_cm_page *p)
{
	set_word(&p->posted, p->posted - 1);
}

const struct vb_cm_post *vb_cm_page_pending_at(const struct vb_cm_page *p, uint32_t n)
{
	return &p->post[(get_word(&p->carried_out) + n) % VB_CM_POSTS];
}

void vb_cm_page_sleep(struct vb_cm_page *p, bool sleeps)
{
	set_word(&p->sleeps, sleeps);
}

bool vb_cm_page_is_called(const struct vb_cm_page *p, uint32_t served)
{
	return get_word(&p->called) != served;
}

size_t vb_cm_page_take(const struct vb_cm_page *p, uint32_t *served, struct vb_cm_call *call)
{
	*served = get_word(&p->called);
	memcpy(call, &p->call, CALL_HEADER);
	if (call->len > VB_CM_CALL_BODY || call->extra_len > VB_CM_CALL_BODY - call->len)
		return 0;
	memcpy(call->body, p->call.body, call->len + call->extra_len);
	return CALL_HEADER + call->len + call->extra_len;
}

uint32_t vb_cm_page_posts(const struct vb_cm_page *p, uint32_t done)
{
	return get_word(&p->posted) - done;
}

size_t vb_cm_page_take_post(const struct vb_cm_page *p, uint32_t done, struct vb_cm_call *call)
{
	const struct vb_cm_post *post = &p->post[done % VB_CM_POSTS];

	memset(call, 0, CALL_HEADER);
	call->op = VB_CM_CALL_POST;
	call->channel = post->channel;
	call->serial = post->serial;
	call->len = post->len;
	if (call->len > VB_CM_POST_BODY)
		return 0;
	memcpy(call->body, post->body, call->len);
	return CALL_HEADER + call->len;
}

void vb_cm_page_posts_done(struct vb_cm_page *p, uint32_t done)
{
	set_word(&p->carried_out, done);
}

bool vb_cm_page_give(struct vb_cm_page *p, uint32_t served, const struct vb_cm_answer *answer,
		     size_t len)
{
	memcpy(&p->answer, answer, len);
	set_word(&p->answered, served);
	return get_word(&p->sleeps);
}

void vb_cm_page_look(struct vb_cm_page *p, bool looks)
{
	set_word(&p->looks, looks);
}

void vb_cm_page_end(struct vb_cm_page *p)
{
	set_word(&p->ended, 1);
}

bool vb_cm_page_is_served(const struct vb_cm_page *p)
{
	return !get_word(&p->ended);
}
