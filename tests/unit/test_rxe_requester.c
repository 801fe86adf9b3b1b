/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answers of an rdma_rxe responder (tests/data/rxe) drive our requester: it has posted what the
 * captured requester had, and comes to the same completions. Where the captured requester sent
 * again and ours has no reason to yet, our timer is let run out. IBA 9.7.5, 9.7.6
 */
#include "replay.h"

#define MESSAGES_MAX 256
#define PLACE (REPLAY_LOCAL / MESSAGES_MAX) /* of each in local memory */
#define SENT_MAX 8192

/* A work request, read off its packets. */
struct message {
	struct vb_psn first;
	uint32_t psns; /* it takes */
	uint32_t len;
	struct vb_hdr h; /* of its first packet */
	bool is_posted;
};

struct sent {
	uint8_t opcode;
	struct vb_psn psn;
	bool is_matched;
};

struct requester {
	struct replay r;
	struct message msg[MESSAGES_MAX];
	uint32_t msg_cnt;
	struct sent sent[SENT_MAX];
	uint32_t sent_cnt;
	uint32_t success, errors;
	struct vb_wc failed;
};

static struct message *message_of(struct requester *q, struct vb_psn psn)
{
	for (uint32_t i = 0; i < q->msg_cnt; i++)
		if (vb_psn_span(q->msg[i].first, psn) < q->msg[i].psns)
			return &q->msg[i];
	return NULL;
}

/* The packet that ends the SEND or WRITE that begins at @psn, wherever in the capture it is. */
static bool find_end(const struct replay *r, struct vb_psn psn, uint32_t *psns, uint32_t *len)
{
	*len = 0;
	for (uint32_t k = 0; k < REPLAY_PSNS; k++) {
		bool found = false;
		struct vb_hdr h;

		for (size_t i = 0; i < r->c->cnt && !found; i++) {
			found = replay_is_request(r, i, &h) && vb_psn_eq(h.psn, vb_psn_add(psn, k));
			if (found)
				*len += replay_payload(&r->c->pkt[i], &h);
		}
		if (!found)
			return false;
		if (vb_hdr_opcode(&h)->flags & VB_OP_LAST) {
			*psns = k + 1;
			return true;
		}
	}
	return false;
}

static void survey_messages(struct requester *q)
{
	const struct replay *r = &q->r;
	struct vb_hdr h;

	for (size_t i = 0; i < r->c->cnt; i++) {
		struct message m = {.psns = 1};

		if (!replay_is_request(r, i, &h) || message_of(q, h.psn) ||
		    !(vb_hdr_opcode(&h)->flags & (VB_OP_FIRST | VB_OP_READ | VB_OP_ATOMIC)))
			continue;
		m.h = h;
		m.first = h.psn;
		if (vb_hdr_opcode(&h)->flags & VB_OP_READ) {
			m.len = h.reth.len;
			m.psns = m.len ? (m.len + r->mtu - 1) / r->mtu : 1;
		} else if (vb_hdr_opcode(&h)->flags & VB_OP_ATOMIC) {
			m.len = 8;
		} else {
			assert_true(find_end(r, h.psn, &m.psns, &m.len));
		}
		assert_true(q->msg_cnt < MESSAGES_MAX);
		q->msg[q->msg_cnt++] = m;
	}
}

/* By the operation of the packet that begins a message; the Immediate of longer ones is in their
 * last packet, and makes no difference to the requester. */
static enum vb_wr_opcode wr_opcode(uint8_t opcode)
{
	switch (opcode & VB_OP_MASK) {
	case VB_OP_SEND_ONLY_IMM:
		return VB_WR_SEND_IMM;
	case VB_OP_SEND_ONLY_INV:
		return VB_WR_SEND_INV;
	case VB_OP_WRITE_FIRST:
	case VB_OP_WRITE_ONLY:
		return VB_WR_RDMA_WRITE;
	case VB_OP_WRITE_ONLY_IMM:
		return VB_WR_RDMA_WRITE_IMM;
	case VB_OP_READ_REQUEST:
		return VB_WR_RDMA_READ;
	case VB_OP_COMPARE_SWAP:
		return VB_WR_COMPARE_SWAP;
	case VB_OP_FETCH_ADD:
		return VB_WR_FETCH_ADD;
	case VB_OP_ATOMIC_WRITE:
		return VB_WR_ATOMIC_WRITE;
	default:
		return VB_WR_SEND;
	}
}

static void post(struct requester *q, struct message *m)
{
	bool is_atomic = vb_hdr_opcode(&m->h)->flags & VB_OP_ATOMIC;
	struct vb_sge sge = {.addr = (uint64_t)(m - q->msg) * PLACE,
			     .length = m->len,
			     .lkey = vb_mr_lkey(q->r.local)};
	struct vb_send_wr wr = {.wr_id = m->first.v,
				.sge = &sge,
				.sge_cnt = 1,
				.opcode = wr_opcode(m->h.opcode),
				.flags = VB_SEND_SIGNALED,
				.remote_addr = is_atomic ? m->h.atomic.va : m->h.reth.va,
				.rkey = is_atomic ? m->h.atomic.rkey : m->h.reth.rkey,
				.compare_add = m->h.atomic.compare,
				.swap = m->h.atomic.swap_add};

	m->is_posted = true;
	assert_true(m->len <= PLACE);
	assert_int_equal(vb_qp_post_send(q->r.qp, &wr, q->r.now), 0);
}

static void take_request(void *ctx, const struct vb_hdr *h, uint32_t len)
{
	struct requester *q = ctx;

	(void)len;
	assert_true(q->sent_cnt < SENT_MAX);
	q->sent[q->sent_cnt++] = (struct sent){.opcode = h->opcode, .psn = h->psn};
}

/* True when we have sent this packet as well; each of ours stands for one of theirs. */
static bool match(struct requester *q, const struct vb_hdr *h)
{
	for (uint32_t i = 0; i < q->sent_cnt; i++) {
		struct sent *s = &q->sent[i];

		if (!s->is_matched && vb_psn_eq(s->psn, h->psn)) {
			s->is_matched = true;
			return true;
		}
	}
	return false;
}

/* The bytes of a READ are those of its responses. */
static void check_read(const struct requester *q, const struct message *m)
{
	const uint8_t *place = q->r.local_bytes + (size_t)(m - q->msg) * PLACE;
	uint32_t bytes = 0;
	struct vb_hdr h;

	for (uint32_t k = 0; k < m->psns; k++) {
		for (size_t i = 0; i < q->r.c->cnt; i++) {
			const struct captured *p = &q->r.c->pkt[i];
			uint32_t len;

			if (!replay_is_response(&q->r, i, &h) ||
			    !vb_psn_eq(h.psn, vb_psn_add(m->first, k)) ||
			    !(vb_hdr_opcode(&h)->flags & VB_OP_READ))
				continue;
			len = replay_payload(p, &h);
			assert_memory_equal(place + (size_t)k * q->r.mtu,
					    packet_bth(&p->p) + vb_hdr_opcode(&h)->hdr_len, len);
			bytes += len;
			break;
		}
	}
	assert_int_equal(bytes, m->len);
}

static void collect(struct requester *q)
{
	struct vb_wc wc;

	while (vb_cq_poll(q->r.cq, &wc, 1) == 1) {
		if (wc.status == VB_WC_SUCCESS) {
			/* In order, each once. */
			assert_true(q->errors == 0 && q->success < q->msg_cnt);
			assert_int_equal(wc.wr_id, q->msg[q->success].first.v);
			if (q->msg[q->success].h.opcode == VB_OP_READ_REQUEST)
				check_read(q, &q->msg[q->success]);
			q->success++;
		} else {
			if (q->errors++ == 0)
				q->failed = wc;
		}
	}
}

static void run_timer(struct requester *q)
{
	vb_time t = vb_hca_poll_timeout(q->r.h);

	if (t == VB_NEVER)
		return;
	if (t > q->r.now)
		q->r.now = t;
	vb_hca_handle_timeout(q->r.h, q->r.now);
	replay_drain(&q->r, take_request, q);
	collect(q);
}

static void play(struct requester *q)
{
	struct replay *r = &q->r;
	struct vb_hdr h;

	survey_messages(q);
	replay_open(r, false);
	for (size_t i = 0; i < r->c->cnt; i++) {
		if (replay_is_response(r, i, &h)) {
			replay_feed(r, i);
			replay_drain(r, take_request, q);
			collect(q);
		} else if (replay_is_request(r, i, &h)) {
			struct message *m = message_of(q, h.psn);

			if (m && !m->is_posted) {
				post(q, m);
				replay_drain(r, take_request, q);
			}
			if (!match(q, &h) && !r->how->is_duplicated) {
				run_timer(q);
				(void)match(q, &h);
			}
		}
	}
	/* Where nobody answers any more, the retries run out. */
	for (int i = 0; i < 20 && r->how->last != VB_WC_SUCCESS && !q->errors; i++)
		run_timer(q);
	replay_close(r);
}

static void check(const struct requester *q)
{
	enum vb_wc_status last = q->r.how->last;

	if (q->errors && last == VB_WC_SUCCESS)
		fail_msg("%s: request of PSN %u ends with status %d", q->r.how->name,
			 (unsigned)q->failed.wr_id, q->failed.status);
	if (last != VB_WC_SUCCESS)
		assert_int_equal(q->failed.status, last);
	if (q->success + q->errors != q->msg_cnt)
		fail_msg("%s: %u requests, %u completions", q->r.how->name, q->msg_cnt,
			 q->success + q->errors);
	assert_int_equal(q->errors, last != VB_WC_SUCCESS);
}

static void requester__completes_as_rxe(void **state)
{
	static struct requester q;
	uint32_t total = 0;

	(void)state;
	for (size_t i = 0; i < REPLAY_CASES; i++) {
		char path[512];
		struct capture c;
		size_t from = 0, flows = 0;

		snprintf(path, sizeof path, "%s/rxe/%s.pcapng", TEST_DATA, replay_cases[i].name);
		assert_int_equal(capture_read(&c, path), 0);
		memset(&q, 0, sizeof q);
		while (replay_next(&q.r, &c, &replay_cases[i], &from)) {
			play(&q);
			check(&q);
			total += q.msg_cnt;
			flows++;
			memset(&q, 0, sizeof q);
		}
		assert_true(flows > 0);
		capture_free(&c);
	}
	print_message("%u work requests\n", total);
	assert_true(total > 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(requester__completes_as_rxe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
