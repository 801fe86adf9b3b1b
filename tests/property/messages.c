/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two ports whose agents send each other messages of one or many MADs, and a network that loses,
 * doubles and delays each MAD. Programs at one port ask, a program at the other answers. A read
 * brings the bytes that were written, each request has one end, its answer or a timeout, and none
 * times out that has retries enough; when all is closed nothing is left. IBA 13.6; MAD-19, MAD-20
 */
#include "base/rng.h"
#include "mgmt/agents.h"
#include "scenarios.h"
#include "wire/mad/rmpp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKETS 4096
#define REQUESTS 24
#define GET_TABLE 0x12
#define HDR 56 /* of SA */
#define RECORD 112
#define RECORDS 10000
#define LEN_MAX (HDR + RECORDS * RECORD)

struct packet {
	vb_time due;
	int to; /* side */
	struct vb_mad_addr from;
	bool on_qp0;
	uint8_t mad[VB_MAD_LEN];
};

struct request {
	uint32_t tid; /* lower half: which one it is */
	uint32_t len, answer_len;
	bool ended;
};

struct mad_world {
	uint64_t seed;
	struct vb_rng rng;
	struct vb_agents *side[2]; /* 0 asks, 1 answers */
	int file[2];
	uint32_t blocks;
	struct packet packet[PACKETS];
	uint32_t packet_cnt, loss, doubled, late; /* the last three of 1000 */
	struct request request[REQUESTS];
	uint32_t request_cnt, ended, answered;
	bool patient; /* there are retries enough for any loss */
	vb_time now;
	uint8_t bytes[LEN_MAX];
};

#define MAD_CHECK(w, cond)                                                                         \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s; messages of seed %llu\n", __FILE__, __LINE__,  \
				#cond, (unsigned long long)(w)->seed);                             \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void *world_alloc(void *ctx, size_t size)
{
	((struct mad_world *)ctx)->blocks++;
	return calloc(1, size);
}

static void world_free(void *ctx, void *p)
{
	((struct mad_world *)ctx)->blocks--;
	free(p);
}

static bool chance(struct mad_world *w, uint32_t of_1000)
{
	return vb_rng_below(&w->rng, 1000) < of_1000;
}

/* The bytes behind the headers of a message, from which request and direction can be told. */
static uint8_t content_byte(const struct request *r, bool is_answer, uint32_t at)
{
	return (uint8_t)((at * 7 + at / 251) ^ r->tid * 13 ^ (is_answer ? 0x55 : 0));
}

static void content_make(struct mad_world *w, const struct request *r, const struct vb_mad_hdr *h,
			 bool is_answer, uint32_t len)
{
	struct vb_rmpp rmpp = {.version = 1, .type = VB_RMPP_DATA};

	rmpp.flags = is_answer || len > VB_MAD_LEN ? VB_RMPP_ACTIVE : 0;
	for (uint32_t i = VB_RMPP_HDR_LEN; i < len; i++)
		w->bytes[i] = content_byte(r, is_answer, i);
	vb_mad_hdr_emit(h, w->bytes);
	vb_rmpp_emit(&rmpp, w->bytes);
}

static void content_check(struct mad_world *w, const struct vb_mad_message *m,
			  const struct request *r, bool is_answer, uint32_t len)
{
	/* A plain MAD is filled up with zeros. */
	MAD_CHECK(w, m->len == len || (m->len == VB_MAD_LEN && len < VB_MAD_LEN && !is_answer));
	for (uint32_t i = VB_RMPP_HDR_LEN; i < len; i++)
		MAD_CHECK(w, m->mad[i] == content_byte(r, is_answer, i));
}

static struct request *request_of(struct mad_world *w, const struct vb_mad_message *m)
{
	uint8_t mad[VB_MAD_LEN] = {0};
	struct vb_mad_hdr h;

	memcpy(mad, m->mad, m->len < VB_MAD_LEN ? m->len : VB_MAD_LEN);
	vb_mad_hdr_parse(&h, mad);
	MAD_CHECK(w, (uint32_t)h.tid < w->request_cnt);
	return &w->request[(uint32_t)h.tid];
}

static void packet_put(struct mad_world *w, int from, const struct vb_agents_out *out)
{
	struct packet *p;

	if (w->packet_cnt == PACKETS || chance(w, w->loss))
		return;
	p = &w->packet[w->packet_cnt++];
	*p = (struct packet){.to = !from,
			     .due = w->now + 5 * VB_USEC + vb_rng_below(&w->rng, 1000),
			     .on_qp0 = out->on_qp0,
			     .from = {.qpn = 1, .lid = (uint16_t)(from + 1)}};
	if (chance(w, w->late))
		p->due += vb_rng_below(&w->rng, 100) * VB_MSEC;
	memcpy(p->mad, out->mad, VB_MAD_LEN);
	if (w->packet_cnt < PACKETS && chance(w, w->doubled)) {
		w->packet[w->packet_cnt] = *p;
		w->packet[w->packet_cnt++].due += vb_rng_below(&w->rng, 10) * VB_MSEC;
	}
}

static void request_write(struct mad_world *w, uint32_t answer_len)
{
	struct request *r = &w->request[w->request_cnt];
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = VB_MAD_CLASS_SA,
			       .class_version = 2,
			       .method = GET_TABLE,
			       .tid = w->request_cnt};
	struct vb_mad_message m = {.timeout_ms = 500 + vb_rng_below(&w->rng, 3000),
				   .retries = w->patient ? 100 : vb_rng_below(&w->rng, 3),
				   .addr = {.qpn = 1, .lid = 2},
				   .mad = w->bytes};

	*r = (struct request){.tid = w->request_cnt++, .answer_len = answer_len};
	r->len = chance(w, 500) ? VB_MAD_LEN : HDR + vb_rng_below(&w->rng, 4000);
	m.len = r->len;
	/* A message that has arrived in several MADs is not repeated for want of an answer. */
	if (w->patient && r->len > VB_MAD_LEN)
		m.timeout_ms = 600000;
	content_make(w, r, &h, false, r->len);
	MAD_CHECK(w, vb_agents_write(w->side[0], w->file[0], &m) == 0);
}

/* The side that asks reads an answer or that there is none. */
static void answer_read(struct mad_world *w, const struct vb_mad_message *m)
{
	struct request *r = request_of(w, m);

	MAD_CHECK(w, !r->ended);
	r->ended = true;
	w->ended++;
	if (m->status == ETIMEDOUT) {
		MAD_CHECK(w, m->len == VB_MAD_HDR_LEN && !w->patient);
		return;
	}
	MAD_CHECK(w, m->status == 0);
	content_check(w, m, r, true, r->answer_len);
	w->answered++;
}

/* The side that answers reads a request, which it may have answered already. */
static void request_read(struct mad_world *w, const struct vb_mad_message *m)
{
	struct request *r = request_of(w, m);
	struct vb_mad_message answer = {.retries = w->patient ? 100 : 3,
					.len = r->answer_len,
					.addr = m->addr,
					.mad = w->bytes};
	struct vb_mad_hdr h;

	if (m->status == ETIMEDOUT)
		return; /* nobody took the answer */
	content_check(w, m, r, false, r->len);
	vb_mad_hdr_parse(&h, m->mad);
	h.method |= VB_MAD_METHOD_RESPONSE;
	content_make(w, r, &h, true, r->answer_len);
	(void)vb_agents_write(w->side[1], w->file[1], &answer);
}

static void side_work(struct mad_world *w, int side)
{
	const struct vb_mad_message *m;
	struct vb_agents_out out;

	while (vb_agents_poll_readable(w->side[side]) >= 0)
		while ((m = vb_agents_peek(w->side[side], w->file[side])) != NULL) {
			if (side == 0)
				answer_read(w, m);
			else
				request_read(w, m);
			vb_agents_take(w->side[side], w->file[side]);
		}
	while (vb_agents_poll_transmit(w->side[side], &out, w->now))
		packet_put(w, side, &out);
}

/* To the next packet or deadline, and carries it out. False: there is none. */
static bool world_step(struct mad_world *w)
{
	vb_time next =
	    vb_time_min(vb_agents_poll_timeout(w->side[0]), vb_agents_poll_timeout(w->side[1]));
	uint32_t first = PACKETS;

	for (uint32_t i = 0; i < w->packet_cnt; i++)
		if (w->packet[i].due < next) {
			next = w->packet[i].due;
			first = i;
		}
	if (next == VB_NEVER)
		return false;
	w->now = vb_time_max(w->now, next);
	if (first < PACKETS) {
		struct packet p = w->packet[first];

		w->packet[first] = w->packet[--w->packet_cnt];
		(void)vb_agents_handle(w->side[p.to], p.on_qp0, &p.from, p.mad, w->now);
	} else {
		vb_agents_handle_timeout(w->side[0], w->now);
		vb_agents_handle_timeout(w->side[1], w->now);
	}
	side_work(w, 0);
	side_work(w, 1);
	return true;
}

static void world_begin(struct mad_world *w, uint64_t seed)
{
	struct vb_agents_config c = {.alloc = world_alloc, .free = world_free, .alloc_ctx = w};
	struct vb_agent_request r = {
	    .qpn = 1, .mgmt_class = VB_MAD_CLASS_SA, .class_version = 2, .rmpp_version = 1};

	w->seed = seed;
	w->rng = vb_rng_stream(seed, "messages", 0);
	w->now = 1000;
	for (int i = 0; i < 2; i++) {
		w->side[i] = vb_agents_create(&c);
		MAD_CHECK(w, w->side[i]);
		w->file[i] = vb_agents_file_open(w->side[i]);
		r.methods[0] = i == 1 ? 1 << GET_TABLE : 0;
		MAD_CHECK(w, vb_agent_register(w->side[i], w->file[i], &r) == 0);
	}
}

static void world_end(struct mad_world *w)
{
	MAD_CHECK(w, w->ended == w->request_cnt);
	if (chance(w, 500))
		vb_agents_file_close(w->side[0], w->file[0]);
	for (int i = 0; i < 2; i++)
		vb_agents_destroy(w->side[i]);
	MAD_CHECK(w, w->blocks == 0);
}

static struct mad_world *world_make(uint64_t seed)
{
	struct mad_world *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	world_begin(w, seed);
	return w;
}

uint64_t messages_run(uint64_t seed)
{
	struct mad_world *w = world_make(seed);
	uint32_t requests = 1 + vb_rng_below(&w->rng, REQUESTS);
	uint64_t answered;

	w->patient = chance(w, 500);
	w->loss = vb_rng_below(&w->rng, chance(w, 300) ? 200 : 20);
	w->doubled = vb_rng_below(&w->rng, 50);
	w->late = vb_rng_below(&w->rng, 20);
	while (w->request_cnt < requests || w->ended < w->request_cnt) {
		if (w->request_cnt < requests && chance(w, 100)) {
			request_write(w, HDR + vb_rng_below(&w->rng, chance(w, 200) ? 40000 : 900));
			side_work(w, 0);
		} else {
			(void)world_step(w);
		}
	}
	if (chance(w, 800))
		while (world_step(w))
			;
	answered = w->answered;
	world_end(w);
	free(w);
	return answered;
}

/* FAB-55: a table of 10,000 NodeRecords, 1 in 100 of whose segments is lost. */
uint64_t messages_long_run(uint64_t seed)
{
	struct mad_world *w = world_make(seed);
	uint64_t answered;

	w->patient = true;
	w->loss = 10;
	request_write(w, HDR + RECORDS * RECORD);
	side_work(w, 0);
	while (world_step(w))
		;
	answered = w->answered;
	MAD_CHECK(w, answered == 1);
	world_end(w);
	free(w);
	return answered;
}
