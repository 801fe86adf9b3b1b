/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that are out: given to where a program takes them without a command, until the caller says
 * what became of them. CMP-33, CMP-34, CMP-35, CMP-46, CMP-51
 */
#include "ucma/command/ahead.h"
#include "ucma_env.h"

static struct ucma_net net;
static struct vb_ucma_file *f;

static int setup(void **state)
{
	(void)state;
	ucma_open(&net);
	f = ucma_file(&net.host[0]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ucma_close(&net);
	return 0;
}

/* An id of @file with an event, ADDR_RESOLVED. */
static uint32_t event_make(struct vb_ucma_file *file)
{
	struct vb_ucma_addr a = ucma_addr(2, true, 99);
	uint32_t id = ucma_id(&net, file, 1, VB_UCMA_PS_TCP, 2);

	assert_int_equal(ucma_resolve(&net, file, id, &a), 0);
	return id;
}

/* Gives out the next event of @file. Returns its number. */
static uint64_t give(struct vb_ucma_file *file, uint32_t id)
{
	struct vb_ucma_event_reply r;
	uint64_t seq = 0, again = 0;
	bool repeats;

	assert_true(vb_ucma_event_next(file, &r, &seq, &repeats));
	assert_false(repeats);
	assert_int_equal(r.id, id);
	/* Asked again it is the same. */
	assert_true(vb_ucma_event_next(file, &r, &again, &repeats));
	assert_int_equal(again, seq);
	assert_true(seq > 0);
	vb_ucma_event_given(file);
	return seq;
}

static int destroy(struct vb_ucma_file *file, uint32_t id)
{
	struct vb_ucma_destroy_id b = {.id = id};
	struct vb_ucma_number_reply r = {0};
	int rc = UCMA_ASK(&net, file, VB_UCMA_DESTROY_ID, b, r);

	return rc ? rc : (int)r.n;
}

/* They are counted when they are taken, and the oldest ones are taken first. */
static void out__is_counted_when_taken(void **state)
{
	uint32_t id[3];
	uint64_t seq[3];

	(void)state;
	for (uint32_t n = 0; n < 3; n++)
		id[n] = event_make(f);
	for (uint32_t n = 0; n < 3; n++) {
		assert_int_equal(vb_ucma_events_out(f), n);
		seq[n] = give(f, id[n]);
		assert_true(!n || seq[n] > seq[n - 1]);
	}
	assert_int_equal(vb_ucma_file_events(f), 3);
	vb_ucma_events_taken(f, 2);
	assert_int_equal(vb_ucma_file_events(f), 1);
	assert_int_equal(vb_ucma_events_out(f), 1);
	assert_int_equal(destroy(f, id[0]), 1);
	assert_int_equal(destroy(f, id[1]), 1);
	assert_int_equal(destroy(f, id[2]), -EINPROGRESS);
	/* More than are out cannot have been. */
	vb_ucma_events_taken(f, 7);
	assert_int_equal(destroy(f, id[2]), 1);
}

/* Events that come back wait again, all others were taken. */
static void out__comes_back(void **state)
{
	uint32_t id[4];
	uint64_t seq[4];

	(void)state;
	for (uint32_t n = 0; n < 4; n++)
		id[n] = event_make(f);
	for (uint32_t n = 0; n < 3; n++)
		seq[n] = give(f, id[n]);
	vb_ucma_events_return(f, (uint64_t[]){seq[2], seq[0], 12345}, 3);
	assert_int_equal(vb_ucma_events_out(f), 0);
	assert_int_equal(vb_ucma_file_events(f), 3);
	assert_int_equal(destroy(f, id[0]), 0);
	assert_int_equal(destroy(f, id[1]), 1);
	assert_int_equal(give(f, id[2]), seq[2]);
	assert_true(give(f, id[3]) > seq[2]);
	vb_ucma_events_return(f, NULL, 0);
	assert_int_equal(destroy(f, id[2]), 1);
	assert_int_equal(destroy(f, id[3]), 1);
}

/* GET_EVENT gives what is not out. */
static void out__is_not_given_by_get_event(void **state)
{
	uint32_t first = event_make(f), second = event_make(f);

	(void)state;
	(void)give(f, first);
	assert_int_equal(ucma_event(&net, f, VB_UCMA_EV_ADDR_RESOLVED).id, second);
	assert_int_equal(vb_ucma_events_out(f), 1);
	vb_ucma_events_taken(f, 1);
	ucma_no_event(&net, f);
}

/* An event that is taken changes nothing that QUERY tells: replies read ahead stay right. */
static void out__leaves_versions(void **state)
{
	static uint32_t version[128];
	uint32_t id, was;

	(void)state;
	vb_ucma_set_versions(net.host[0].u, version);
	id = event_make(f);
	(void)give(f, id);
	was = version[id];
	vb_ucma_events_taken(f, 1);
	assert_int_equal(version[id], was);
	vb_ucma_set_versions(net.host[0].u, NULL);
}

/* The id of a request can be named once its event is out, and goes with its listener. */
static void out__request(void **state)
{
	struct vb_ucma_file *client = ucma_file(&net.host[1]);
	struct vb_ucma_addr here = ucma_addr(1, true, UCMA_PORT);
	struct vb_ucma_reject b = {0};
	struct vb_ucma_event_reply r;
	uint32_t listener = ucma_id(&net, f, 5, VB_UCMA_PS_TCP, 2), active[2];
	uint64_t seq;
	bool repeats;

	(void)state;
	assert_int_equal(ucma_bind(&net, f, listener, &here), 0);
	assert_int_equal(ucma_listen(&net, f, listener, 8), 0);
	for (int n = 0; n < 2; n++) {
		active[n] = ucma_id(&net, client, 6, VB_UCMA_PS_TCP, 2);
		assert_int_equal(ucma_resolve(&net, client, active[n], &here), 0);
		(void)ucma_event(&net, client, VB_UCMA_EV_ADDR_RESOLVED);
		assert_int_equal(ucma_resolve_route(&net, client, active[n]), 0);
		(void)ucma_event(&net, client, VB_UCMA_EV_ROUTE_RESOLVED);
		assert_int_equal(ucma_connect(&net, client, active[n], 0x41 + 2 * (uint32_t)n, ""),
				 0);
	}
	assert_true(vb_ucma_event_next(f, &r, &seq, &repeats));
	vb_ucma_event_given(f);
	b.id = r.id;
	/* Its event goes with it. */
	assert_int_equal(destroy(f, r.id), -EINPROGRESS);
	assert_int_equal(UCMA_CALL(&net, f, VB_UCMA_REJECT, b), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_REJECTED);
	assert_int_equal(destroy(f, listener), -EINPROGRESS);
	vb_ucma_events_return(f, &seq, 1);
	assert_int_equal(UCMA_CALL(&net, f, VB_UCMA_REJECT, b), -ENOENT);
	/* Nobody has taken any of the two. */
	assert_int_equal(destroy(f, listener), 0);
	ucma_settle(&net);
	(void)ucma_event(&net, client, VB_UCMA_EV_REJECTED);
	assert_int_equal(vb_ucma_file_events(f), 0);
}

/* An id moves to another file with events that are not out, and they come last there. */
static void out__before_it_moves(void **state)
{
	struct vb_ucma_file *other = ucma_file(&net.host[0]);
	uint32_t id = event_make(f), there = event_make(other);
	struct vb_ucma_migrate_id b = {.id = id, .fd = 9};
	struct vb_ucma_hdr h = {VB_UCMA_MIGRATE_ID, sizeof b, 4};
	uint8_t bytes[sizeof h + sizeof b], got[VB_UCMA_REPLY_MAX];
	struct vb_ucma_command c = {.bytes = bytes, .len = sizeof bytes, .other = f};
	uint64_t seq = give(f, id);
	uint32_t len;

	(void)state;
	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, &b, sizeof b);
	assert_int_equal(vb_ucma_command(other, &c, got, &len, net.now), -EINPROGRESS);
	vb_ucma_events_return(f, &seq, 1);
	assert_int_equal(vb_ucma_command(other, &c, got, &len, net.now), sizeof bytes);
	assert_int_equal(vb_ucma_file_events(f), 0);
	seq = give(other, there);
	assert_true(give(other, id) > seq);
	vb_ucma_events_taken(other, 2);
	assert_int_equal(destroy(other, id), 1);
}

/* CMP-46: a file takes no more events by ids that come to it than it takes one by one. */
static void out__before_it_moves_it_fits(void **state)
{
	enum { EVENTS = 48 };
	struct vb_ucma_file *other = ucma_file(&net.host[0]);
	uint32_t id[2], len;

	(void)state;
	for (int i = 0; i < EVENTS - 1; i++)
		(void)event_make(other);
	for (int i = 0; i < 2; i++) {
		struct vb_ucma_migrate_id b = {.id = id[i] = event_make(f), .fd = 9};
		struct vb_ucma_hdr h = {VB_UCMA_MIGRATE_ID, sizeof b, 4};
		uint8_t bytes[sizeof h + sizeof b], got[VB_UCMA_REPLY_MAX];
		struct vb_ucma_command c = {.bytes = bytes, .len = sizeof bytes, .other = f};

		memcpy(bytes, &h, sizeof h);
		memcpy(bytes + sizeof h, &b, sizeof b);
		assert_int_equal(vb_ucma_command(other, &c, got, &len, net.now),
				 i == 0 ? (int)sizeof bytes : -ENOMEM);
	}
	assert_int_equal(vb_ucma_file_events(other), EVENTS);
	/* The one that was refused stays with its event. */
	(void)give(f, id[1]);
	vb_ucma_events_taken(f, 1);
	assert_int_equal(destroy(f, id[1]), 1);
}

struct region {
	struct vb_journal journal;
	struct vb_ucma_kept kept;
};

/* Another process cannot know whether the one before gave out an event that was kept as waiting,
 * and says so, until the event has come back. */
static void out__may_repeat_after_a_restart(void **state)
{
	struct region *region = calloc(1, sizeof *region);
	struct vb_ucma_region r = {region, &region->journal, &region->kept};
	struct ucma_host *h = &net.host[0];
	struct vb_ucma_event_reply reply;
	uint64_t seq;
	uint32_t id;
	bool repeats;

	(void)state;
	vb_ucma_file_set_number(f, 3);
	vb_ucma_set_region(h->u, &r);
	id = event_make(f);
	vb_ucma_keep(h->u);
	vb_ucma_set_region(h->u, NULL);
	vb_ucma_destroy(h->u);
	ucma_host_open(h, 77);
	f = ucma_file(h);
	vb_ucma_file_set_number(f, 3);
	vb_ucma_set_region(h->u, &r);
	vb_ucma_restore(h->u, net.now);
	assert_true(vb_ucma_event_next(f, &reply, &seq, &repeats));
	assert_int_equal(reply.id, id);
	assert_true(repeats);
	vb_ucma_event_given(f);
	vb_ucma_events_return(f, &seq, 1);
	assert_int_equal(give(f, id), seq);
	vb_ucma_events_taken(f, 1);
	assert_int_equal(destroy(f, id), 1);
	vb_ucma_set_region(h->u, NULL);
	free(region);
}

/* Another process goes on: events that are out stay out, with their number, and numbers grow. */
static void out__after_a_restart(void **state)
{
	struct region *region = calloc(1, sizeof *region);
	struct vb_ucma_region r = {region, &region->journal, &region->kept};
	struct ucma_host *h = &net.host[0];
	uint32_t id[3];
	uint64_t seq[3];

	(void)state;
	vb_ucma_file_set_number(f, 3);
	vb_ucma_set_region(h->u, &r);
	for (uint32_t n = 0; n < 2; n++) {
		id[n] = event_make(f);
		seq[n] = give(f, id[n]);
	}
	vb_ucma_keep(h->u);
	vb_ucma_set_region(h->u, NULL);
	vb_ucma_destroy(h->u);
	ucma_host_open(h, 77);
	f = ucma_file(h);
	vb_ucma_file_set_number(f, 3);
	vb_ucma_set_region(h->u, &r);
	vb_ucma_restore(h->u, net.now);
	assert_int_equal(vb_ucma_events_out(f), 2);
	vb_ucma_events_void(f);
	vb_ucma_events_return(f, &seq[1], 1);
	assert_int_equal(destroy(f, id[0]), 1);
	assert_int_equal(give(f, id[1]), seq[1]);
	id[2] = event_make(f);
	seq[2] = give(f, id[2]);
	assert_true(seq[2] > seq[1]);
	vb_ucma_events_taken(f, 2);
	vb_ucma_set_region(h->u, NULL);
	free(region);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(out__is_counted_when_taken),
	    T(out__comes_back),
	    T(out__is_not_given_by_get_event),
	    T(out__leaves_versions),
	    T(out__request),
	    T(out__before_it_moves),
	    T(out__before_it_moves_it_fits),
	    T(out__after_a_restart),
	    T(out__may_repeat_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
