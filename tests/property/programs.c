/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two hosts whose programs write any commands to the RDMA connection manager in any order, move
 * ids between files, and die, while the network loses, doubles and delays messages, and the
 * machines are killed and go on from what they kept (programs_restart.c); beside them a model of
 * what a kernel answers. A command succeeds only in its states, each event is of an id that its
 * file has, DESTROY_ID tells how many were taken, who connects is told how that ended, and when all
 * is given up nothing is left. Answers that came along with others are right as long as the version
 * of their id is the same. CMP-22, CMP-23, CMP-33 to CMP-37, CMP-44, CMP-46
 */
#include "programs.h"
#include "scenarios.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *host_alloc(void *ctx, size_t size)
{
	((struct host *)ctx)->blocks++;
	return calloc(1, size);
}

static void host_free(void *ctx, void *p)
{
	((struct host *)ctx)->blocks--;
	free(p);
}

static uint32_t draw(struct program_world *w, uint32_t bound)
{
	return vb_rng_below(&w->rng, bound);
}

static bool chance(struct program_world *w, uint32_t of_100)
{
	return draw(w, 100) < of_100;
}

static int host_local(void *ctx, const struct vb_ucma_addr *a, struct vb_ucma_local *out)
{
	const struct host *h = ctx;

	if (a->gid.b[12] != 10 || a->gid.b[15] != h->address)
		return -EADDRNOTAVAIL;
	*out =
	    (struct vb_ucma_local){.hca_port = 1, .mtu = 5, .node_guid = h->address, .gid = a->gid};
	return 0;
}

static int host_route(void *ctx, struct vb_ucma_addr *src, const struct vb_ucma_addr *dst,
		      struct vb_ucma_local *out)
{
	src->gid = dst->gid;
	src->gid.b[15] = ((const struct host *)ctx)->address;
	return host_local(ctx, src, out);
}

static int host_group(void *ctx, const struct vb_ucma_local *l, const struct vb_gid *g, bool join)
{
	(void)ctx, (void)l, (void)g, (void)join;
	return 0;
}

static bool host_binds_low(void *ctx)
{
	(void)ctx;
	return true;
}

static void file_reopen(struct program_world *w, struct host *h, uint32_t file)
{
	if (h->file[file])
		vb_ucma_file_close(h->file[file], w->now);
	programs_file_open(w, h, file);
	vb_ucma_keep(h->u);
	for (uint32_t i = 0; i < IDS; i++)
		if (h->id[i].file == file)
			h->id[i].state = NONE;
}

void programs_machine_open(struct program_world *w, struct host *h)
{
	struct vb_ucma_config cfg = {.cm = {.seed = w->seed + h->address + 2 * h->restarts,
					    .hi_tid = h->address,
					    .conns = 4 * IDS,
					    .ack_delay = 15,
					    .alloc = host_alloc,
					    .free = host_free,
					    .alloc_ctx = h},
				     .ids = IDS,
				     .events = 4096,
				     .port_first = 40000,
				     .port_last = 40999,
				     .env = {.local = host_local,
					     .route = host_route,
					     .group = host_group,
					     .may_bind_low = host_binds_low,
					     .ctx = h}};

	PROGRAM_CHECK(w, vb_ucma_create(&h->u, &cfg) == 0);
	h->base_blocks = h->blocks;
	vb_ucma_set_versions(h->u, h->version);
}

static void program_world_open(struct program_world *w, uint64_t seed)
{
	memset(w, 0, sizeof *w);
	w->seed = seed;
	w->rng = vb_rng_stream(seed, "programs", 0);
	w->loss = draw(w, 40);
	w->doubled = draw(w, 20);
	w->killed = draw(w, 4);
	for (uint32_t i = 0; i < HOSTS; i++) {
		struct host *h = &w->host[i];

		h->address = (uint8_t)(i + 1);
		programs_machine_open(w, h);
		programs_keep_begin(w, h);
		for (uint32_t k = 0; k < FILES; k++)
			programs_file_open(w, h, k);
	}
}

static bool is_killed(struct program_world *w)
{
	return chance(w, w->killed);
}

/* Carries out a command; returns what write(2) does. */
static int command_carry(struct program_world *w, struct host *h, uint32_t file,
			 struct vb_ucma_command *c, uint8_t *got, uint32_t *got_len)
{
	struct vb_ucma_hdr hdr;

	memcpy(&hdr, c->bytes, sizeof hdr);
	if (hdr.cmd == VB_UCMA_MIGRATE_ID) {
		struct vb_ucma_migrate_id b;

		memcpy(&b, (const uint8_t *)c->bytes + sizeof hdr, sizeof b);
		c->other = h->file[b.fd];
	}
	return vb_ucma_command(h->file[file], c, got, got_len, w->now);
}

/*
 * Writes a command; returns 0 for its length. A machine that is killed before it has kept what the
 * command changed has not answered it: the program's library sends it again.
 */
static int command_write(struct program_world *w, struct host *h, uint32_t file, uint32_t cmd,
			 const void *body, size_t len, void *reply, size_t room)
{
	uint8_t bytes[VB_UCMA_COMMAND_MAX], got[VB_UCMA_REPLY_MAX];
	struct vb_ucma_hdr hdr = {cmd, (uint16_t)len, (uint16_t)room};
	struct vb_ucma_command c = {bytes, (uint32_t)(sizeof hdr + len), NULL, 0, NULL};
	uint32_t got_len;
	int rc;

	memcpy(bytes, &hdr, sizeof hdr);
	memcpy(bytes + sizeof hdr, body, len);
	if (is_killed(w)) {
		programs_foresee(w, h);
		(void)command_carry(w, h, file, &c, got, &got_len);
		programs_restart(w, h);
	}
	rc = command_carry(w, h, file, &c, got, &got_len);
	vb_ucma_keep(h->u);
	PROGRAM_CHECK(w, rc < 0 ? got_len == 0 : rc == (int)c.len && got_len == room);
	if (rc < 0)
		return rc;
	if (room)
		memcpy(reply, got, room);
	return 0;
}

#define WRITE(w, h, file, cmd, body) command_write(w, h, file, cmd, &(body), sizeof(body), NULL, 0)
#define ASK(w, h, file, cmd, body, reply)                                                          \
	command_write(w, h, file, cmd, &(body), sizeof(body), &(reply), sizeof(reply))

static void sockaddr_make(uint8_t *to, uint8_t host, uint16_t port)
{
	to[0] = VB_UCMA_AF_INET;
	to[3] = (uint8_t)port;
	if (host)
		memcpy(to + 4, (uint8_t[]){10, 0, 0, host}, 4);
}

static void id_create(struct program_world *w, struct host *h)
{
	struct vb_ucma_create_id b = {.uid = ++w->uid_next,
				      .ps = chance(w, 80) ? VB_UCMA_PS_TCP : VB_UCMA_PS_UDP};
	struct vb_ucma_number_reply r;
	uint32_t file = draw(w, FILES);

	if (ASK(w, h, file, VB_UCMA_CREATE_ID, b, r))
		return;
	PROGRAM_CHECK(w, r.n < IDS && h->id[r.n].state == NONE);
	h->id[r.n] = (struct model_id){
	    .state = IDLE, .file = file, .uid = b.uid, .is_ud = b.ps == VB_UCMA_PS_UDP};
}

static void id_destroy(struct program_world *w, struct host *h, uint32_t n)
{
	struct vb_ucma_destroy_id b = {.id = n};
	struct vb_ucma_number_reply r;

	PROGRAM_CHECK(w, ASK(w, h, h->id[n].file, VB_UCMA_DESTROY_ID, b, r) == 0);
	PROGRAM_CHECK(w, r.n == h->id[n].taken);
	h->id[n].state = NONE;
}

static void id_migrate(struct program_world *w, struct host *h, uint32_t n)
{
	struct vb_ucma_migrate_id b = {.id = n, .fd = h->id[n].file};
	struct vb_ucma_number_reply r;
	uint32_t file = draw(w, FILES);

	PROGRAM_CHECK(w, ASK(w, h, file, VB_UCMA_MIGRATE_ID, b, r) == 0);
	PROGRAM_CHECK(w, r.n == h->id[n].taken);
	h->id[n].file = file;
}

/* Where it is right, a command leads from one of the states @from to @to. */
static void id_step(struct program_world *w, struct model_id *id, int rc, uint32_t from,
		    enum state to)
{
	if (!(from & 1u << id->state))
		PROGRAM_CHECK(w, rc == -EINVAL);
	if (rc == 0)
		id->state = to;
}

static void id_bind(struct program_world *w, struct host *h, uint32_t n)
{
	struct vb_ucma_bind b = {.id = n, .addr_size = VB_UCMA_SOCKADDR_IN};

	sockaddr_make(b.addr, chance(w, 50) ? h->address : 0, (uint16_t)draw(w, PORTS + 1));
	id_step(w, &h->id[n], WRITE(w, h, h->id[n].file, VB_UCMA_BIND, b), 1u << IDLE, BOUND);
}

static void id_resolve(struct program_world *w, struct host *h, uint32_t n)
{
	struct vb_ucma_resolve_addr b = {.id = n, .timeout_ms = 1, .dst_size = VB_UCMA_SOCKADDR_IN};

	sockaddr_make(b.dst, (uint8_t)(1 + draw(w, HOSTS)), (uint16_t)(1 + draw(w, PORTS)));
	id_step(w, &h->id[n], WRITE(w, h, h->id[n].file, VB_UCMA_RESOLVE_ADDR, b),
		1u << IDLE | 1u << BOUND, RESOLVED);
}

static void id_connect(struct program_world *w, struct host *h, uint32_t n)
{
	struct vb_ucma_connect b = {
	    .id = n, .param = {.valid = 1, .qp_num = 2 + draw(w, 1u << 20), .retry_count = 7}};

	id_step(w, &h->id[n], WRITE(w, h, h->id[n].file, VB_UCMA_CONNECT, b), 1u << ROUTED,
		CONNECTING);
}

static void id_accept(struct program_world *w, struct host *h, uint32_t n)
{
	struct model_id *id = &h->id[n];
	struct vb_ucma_accept b = {
	    .id = n,
	    .uid = ++w->uid_next,
	    .param = {.valid = id->state == REQUESTED, .qp_num = 2 + draw(w, 1u << 20)}};
	int rc = WRITE(w, h, id->file, VB_UCMA_ACCEPT, b);

	/* CMP-51 */
	PROGRAM_CHECK(w, rc == 0 || id->state != REQUESTED || !id->is_broken);
	if (rc == 0 && id->state == REQUESTED) {
		id->uid = b.uid;
		id->is_told |= id->is_ud; /* a SIDR_REP has no answer */
	}
	id_step(w, id, rc, 1u << REQUESTED | 1u << CONNECTING, CONNECTING);
}

static void id_listen(struct program_world *w, struct host *h, uint32_t n)
{
	struct vb_ucma_listen b = {n, (int32_t)draw(w, 4)};

	id_step(w, &h->id[n], WRITE(w, h, h->id[n].file, VB_UCMA_LISTEN, b),
		1u << IDLE | 1u << BOUND, LISTENING);
}

static void id_resolve_route(struct program_world *w, struct host *h, uint32_t n)
{
	struct vb_ucma_resolve_route b = {n, 1};

	id_step(w, &h->id[n], WRITE(w, h, h->id[n].file, VB_UCMA_RESOLVE_ROUTE, b), 1u << RESOLVED,
		ROUTED);
}

static void id_reject(struct program_world *w, struct host *h, uint32_t n)
{
	struct vb_ucma_reject b = {.id = n};

	/* The program that rejects knows it. */
	if (WRITE(w, h, h->id[n].file, VB_UCMA_REJECT, b) == 0)
		h->id[n].is_told = true;
}

static void id_disconnect(struct program_world *w, struct host *h, uint32_t n)
{
	struct vb_ucma_disconnect b = {n};

	(void)WRITE(w, h, h->id[n].file, VB_UCMA_DISCONNECT, b);
}

typedef void id_command(struct program_world *w, struct host *h, uint32_t n);

/* Mostly the way that leads to a connection, else any command. */
static void id_act(struct program_world *w, struct host *h, uint32_t n)
{
	static id_command *const any[] = {id_bind,          id_listen,  id_resolve,
					  id_resolve_route, id_accept,  id_reject,
					  id_disconnect,    id_migrate, id_connect};
	static id_command *const next[] = {
	    [BOUND] = id_listen,     [RESOLVED] = id_resolve_route, [ROUTED] = id_connect,
	    [REQUESTED] = id_accept, [CONNECTING] = id_accept,      [LISTENING] = id_migrate};

	if (chance(w, 5))
		id_destroy(w, h, n);
	else if (chance(w, 40))
		any[draw(w, sizeof any / sizeof any[0])](w, h, n);
	else if (h->id[n].state == IDLE)
		(chance(w, 30) ? id_bind : id_resolve)(w, h, n);
	else
		next[h->id[n].state](w, h, n);
}

/* The id that the programs of @file know by @uid. */
static struct model_id *id_of(struct program_world *w, struct host *h, uint32_t file, uint64_t uid)
{
	uint32_t i = 0;

	while (i < IDS && (h->id[i].state == NONE || h->id[i].uid != uid))
		i++;
	PROGRAM_CHECK(w, i < IDS && h->id[i].file == file);
	return &h->id[i];
}

static void event_judge(struct program_world *w, struct host *h, uint32_t file,
			const struct vb_ucma_event_reply *r)
{
	struct model_id *id = id_of(w, h, file, r->uid);

	id->taken++;
	if (r->event == VB_UCMA_EV_CONNECT_REQUEST) {
		PROGRAM_CHECK(w, id->state == LISTENING);
		PROGRAM_CHECK(w, r->id < IDS && h->id[r->id].state == NONE);
		h->id[r->id] =
		    (struct model_id){.state = REQUESTED, .file = file, .is_ud = id->is_ud};
		return;
	}
	PROGRAM_CHECK(w, r->id == (uint32_t)(id - h->id));
	/* Each comes once, and none that is good news after the end. */
	PROGRAM_CHECK(w, r->event < 32 && !(id->seen & 1u << r->event));
	id->seen |= 1u << r->event;
	if (id->seen & (1u << VB_UCMA_EV_UNREACHABLE | 1u << VB_UCMA_EV_DISCONNECTED))
		PROGRAM_CHECK(w, r->event != VB_UCMA_EV_ESTABLISHED &&
				     r->event != VB_UCMA_EV_CONNECT_RESPONSE);
	switch (r->event) {
	case VB_UCMA_EV_ADDR_RESOLVED:
	case VB_UCMA_EV_ROUTE_RESOLVED:
		break;
	case VB_UCMA_EV_CONNECT_RESPONSE:
	case VB_UCMA_EV_UNREACHABLE:
	case VB_UCMA_EV_REJECTED:
	case VB_UCMA_EV_ESTABLISHED:
	case VB_UCMA_EV_DISCONNECTED:
	case VB_UCMA_EV_TIMEWAIT_EXIT:
		PROGRAM_CHECK(w, id->state == CONNECTING);
		PROGRAM_CHECK(w, !id->is_broken || r->event == VB_UCMA_EV_UNREACHABLE);
		id->is_broken = false;
		w->told += !id->is_told;
		id->is_told = true;
		break;
	default:
		PROGRAM_CHECK(w, !"an event that nobody asked for");
	}
}

static void event_take(struct program_world *w, struct host *h, uint32_t file)
{
	struct vb_ucma_get_event b = {0};
	struct vb_ucma_event_reply r;
	uint32_t cnt = vb_ucma_file_events(h->file[file]), restarts = h->restarts;
	int rc = ASK(w, h, file, VB_UCMA_GET_EVENT, b, r);

	PROGRAM_CHECK(w, rc == 0 || rc == -EAGAIN);
	PROGRAM_CHECK(w, h->restarts != restarts || (rc == 0) == (cnt != 0));
	if (rc == 0)
		event_judge(w, h, file, &r);
}

static void packet_queue(struct program_world *w, const struct packet *p)
{
	struct packet *q = &w->packet[w->packet_cnt];

	if (w->packet_cnt == PACKETS)
		return;
	*q = *p;
	q->due = w->now + (uint64_t)draw(w, 100) * VB_MSEC;
	w->packet_cnt++;
}

static void host_transmit(struct program_world *w, struct host *h)
{
	struct packet p;

	while (vb_ucma_poll_transmit(h->u, &p.path, &p.pkey, p.mad)) {
		if (!chance(w, w->loss))
			packet_queue(w, &p);
		if (chance(w, w->doubled))
			packet_queue(w, &p);
	}
	while (vb_ucma_poll_file(h->u))
		;
}

static void hosts_transmit(struct program_world *w)
{
	for (uint32_t i = 0; i < HOSTS; i++) {
		host_transmit(w, &w->host[i]);
		vb_ucma_keep(w->host[i].u);
	}
}

static vb_time next_instant(const struct program_world *w)
{
	vb_time t =
	    vb_time_min(vb_ucma_poll_timeout(w->host[0].u), vb_ucma_poll_timeout(w->host[1].u));

	for (uint32_t i = 0; i < w->packet_cnt; i++)
		t = vb_time_min(t, w->packet[i].due);
	return t;
}

static void packets_deliver(struct program_world *w)
{
	for (uint32_t i = 0; i < w->packet_cnt;) {
		struct packet p = w->packet[i];

		if (p.due > w->now) {
			i++;
			continue;
		}
		w->packet[i] = w->packet[--w->packet_cnt];
		vb_ucma_handle_mad(w->host[p.path.dgid.b[15] - 1].u, &p.path, p.mad, w->now);
	}
}

/* A machine that is killed on the way has sent its messages, but kept nothing of what they say. */
static void world_advance(struct program_world *w)
{
	struct host *killed = is_killed(w) ? &w->host[draw(w, HOSTS)] : NULL;
	vb_time to = next_instant(w);

	if (to == VB_NEVER)
		return;
	w->now = to > w->now ? to : w->now;
	if (killed)
		programs_foresee(w, killed);
	for (uint32_t i = 0; i < HOSTS; i++)
		vb_ucma_handle_timeout(w->host[i].u, w->now);
	packets_deliver(w);
	if (killed) {
		host_transmit(w, killed);
		programs_restart(w, killed);
	}
	hosts_transmit(w);
}

static void world_drain(struct program_world *w)
{
	for (uint32_t n = 0; next_instant(w) != VB_NEVER; n++) {
		PROGRAM_CHECK(w, n < 100000);
		world_advance(w);
	}
}

/* The network is well again, and listeners are gone: a program that still waits is told. */
static void world_finish(struct program_world *w)
{
	w->loss = w->doubled = w->killed = 0;
	for (uint32_t i = 0; i < HOSTS * IDS; i++) {
		struct host *h = &w->host[i / IDS];
		enum state state = h->id[i % IDS].state;

		if (state == LISTENING || state == REQUESTED)
			id_destroy(w, h, i % IDS);
	}
	hosts_transmit(w);
	world_drain(w);
	for (uint32_t i = 0; i < HOSTS * FILES; i++)
		while (vb_ucma_file_events(w->host[i / FILES].file[i % FILES]))
			event_take(w, &w->host[i / FILES], i % FILES);
	for (uint32_t i = 0; i < HOSTS * IDS; i++) {
		struct host *h = &w->host[i / IDS];

		PROGRAM_CHECK(w, h->id[i % IDS].state != CONNECTING ||
				     (h->id[i % IDS].is_told && !h->id[i % IDS].is_broken));
		if (h->id[i % IDS].state != NONE)
			id_destroy(w, h, i % IDS);
	}
	hosts_transmit(w);
	world_drain(w);
	for (uint32_t i = 0; i < HOSTS; i++) {
		struct host *h = &w->host[i];

		PROGRAM_CHECK(w, vb_ucma_id_cnt(h->u) == 0);
		PROGRAM_CHECK(w, h->blocks == h->base_blocks + FILES);
		vb_ucma_destroy(h->u);
		PROGRAM_CHECK(w, h->blocks == 0);
		programs_keep_end(h);
	}
}

/* Observers see the ids that there are, and of them the facts that the model knows. */
static void views_check(struct program_world *w, const struct host *h)
{
	static struct vb_ucma_view view[IDS + 2 * VB_UCMA_PAST];
	const uint32_t room = sizeof view / sizeof view[0];
	uint32_t n = vb_ucma_views(h->u, view, room), there = 0;

	PROGRAM_CHECK(w, n <= room);
	for (uint32_t i = 0; i < n; i++) {
		const struct vb_ucma_view *v = &view[i];

		PROGRAM_CHECK(w, v->number < IDS && v->end < VB_UCMA_END_CNT &&
				     v->cm_state < VB_CM_STATE_CNT && v->waiting <= v->backlog);
		PROGRAM_CHECK(w, !v->is_gone || v->end != VB_UCMA_END_NONE);
		if (v->is_gone)
			continue;
		there++;
		PROGRAM_CHECK(w, v->is_listener == (h->id[v->number].state == LISTENING));
	}
	PROGRAM_CHECK(w, there == vb_ucma_id_cnt(h->u));
}

/* As a program does it that has asked one thing, and later asks the others. */
static void ahead_check(struct program_world *w, struct host *h, uint32_t n)
{
	const struct vb_ucma_hdr hdr = {VB_UCMA_QUERY, sizeof(struct vb_ucma_query), 0};
	const struct vb_ucma_query q = {.id = n};
	struct ahead *is = &h->ahead[n], was = *is;
	uint8_t bytes[sizeof hdr + sizeof q];
	struct vb_ucma_command c = {bytes, sizeof bytes, NULL, 0, NULL};
	uint32_t id;

	memcpy(bytes, &hdr, sizeof hdr);
	memcpy(bytes + sizeof hdr, &q, sizeof q);
	is->is_there = vb_ucma_ahead(h->file[h->id[n].file], &c, NULL, &id, is->bytes,
				     sizeof is->bytes, &is->len);
	is->version = h->version[n];
	PROGRAM_CHECK(w, !is->is_there || (id == n && is->len));
	if (was.is_there && was.version == is->version)
		PROGRAM_CHECK(w, is->is_there && was.len == is->len &&
				     memcmp(was.bytes, is->bytes, is->len) == 0);
}

uint64_t programs_run(uint64_t seed)
{
	static struct program_world w;

	program_world_open(&w, seed);
	for (uint32_t i = 0; i < STEPS; i++) {
		struct host *h = &w.host[draw(&w, HOSTS)];
		uint32_t n = draw(&w, ACTIVE);

		if (h->id[n].state != NONE)
			id_act(&w, h, n);
		else if (chance(&w, 30))
			id_create(&w, h);
		if (chance(&w, 60))
			event_take(&w, h, draw(&w, FILES));
		if (chance(&w, 1))
			file_reopen(&w, h, draw(&w, FILES));
		hosts_transmit(&w);
		if (i % 16 == 0)
			views_check(&w, h);
		for (uint32_t k = 0; k < HOSTS * ACTIVE; k++)
			ahead_check(&w, &w.host[k % HOSTS], k / HOSTS);
		if (chance(&w, 40))
			world_advance(&w);
	}
	world_finish(&w);
	return w.told;
}
