/* SPDX-License-Identifier: BSD-2-Clause */
/* Which answers of the broker a program uses again, and for how long. */
#include "cmocka_env.h"
#include "files/cm/ahead.h"
#include "link/memory.h"
#include "ucma/abi.h"
#include "ucma/command/ahead.h"

#include <unistd.h>

#define CHANNEL 0x1234u
#define ID 70u
#define ROOM 144u
#define PLACES 1024u /* ids of which something is kept */

static uint32_t *version;
static int versions_fd;

static int setup(void **state)
{
	void *p;

	(void)state;
	versions_fd = vb_memory_create("test-versions", VB_CM_VERSIONS_BYTES);
	assert_true(versions_fd >= 0);
	assert_int_equal(vb_memory_map(versions_fd, VB_CM_VERSIONS_BYTES, true, &p), 0);
	version = p;
	vb_cm_ahead_begin(versions_fd);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vb_cm_ahead_begin(-1);
	vb_memory_unmap(version, VB_CM_VERSIONS_BYTES);
	return close(versions_fd);
}

/* An answer of @len bytes that brings those to INIT_QP_ATTR for states 1 and 2 of @id along. */
static struct vb_cm_answer answer_make(uint32_t id, uint32_t len)
{
	struct vb_cm_answer a = {.status = 1, .len = len, .ahead_id = id};
	uint32_t at = (len + 7u) & ~7u;

	memset(a.body, 0xaa, at);
	for (uint16_t i = 1; i <= 2; i++) {
		struct vb_ucma_ahead h = {VB_UCMA_INIT_QP_ATTR, i, ROOM};

		memcpy(a.body + at + a.ahead_len, &h, sizeof h);
		memset(a.body + at + a.ahead_len + sizeof h, 0x10 + i, ROOM);
		a.ahead_len += (uint32_t)sizeof h + ROOM;
	}
	a.ahead_version = id < VB_CM_VERSIONS ? version[id] : 0;
	return a;
}

static struct vb_cm_call call_make(uint64_t channel, uint32_t id, uint32_t qp_state, uint16_t room)
{
	struct vb_ucma_hdr h = {VB_UCMA_INIT_QP_ATTR, sizeof(struct vb_ucma_init_qp_attr), room};
	struct vb_ucma_init_qp_attr b = {.id = id, .qp_state = qp_state};
	struct vb_cm_call c = {
	    .op = VB_CM_CALL_COMMAND, .channel = channel, .len = sizeof h + sizeof b};

	memcpy(c.body, &h, sizeof h);
	memcpy(c.body + sizeof h, &b, sizeof b);
	return c;
}

static bool is_known(uint64_t channel, uint32_t id, uint32_t qp_state, uint16_t room)
{
	struct vb_cm_call c = call_make(channel, id, qp_state, room);
	struct vb_cm_answer a;

	return vb_cm_ahead_answer(&c, &a);
}

static void ahead__answers(void **state)
{
	struct vb_cm_answer a = answer_make(ID, 21), got;
	struct vb_cm_call c = call_make(CHANNEL, ID, 2, ROOM + 8);

	(void)state;
	vb_cm_ahead_keep(CHANNEL, &a);
	memset(&got, 0xee, sizeof got);
	assert_true(vb_cm_ahead_answer(&c, &got));
	assert_int_equal(got.status, c.len); /* what write(2) returns */
	assert_int_equal(got.len, ROOM);
	assert_int_equal(got.body[0], 0x12);
	assert_int_equal(got.body[ROOM - 1], 0x12);
	assert_true(is_known(CHANNEL, ID, 1, ROOM));
}

static void ahead__only_what_is_right(void **state)
{
	struct vb_cm_answer a = answer_make(ID, 0);

	(void)state;
	assert_false(is_known(CHANNEL, ID, 1, ROOM));
	vb_cm_ahead_keep(CHANNEL, &a);
	assert_true(is_known(CHANNEL, ID, 1, ROOM));
	assert_false(is_known(CHANNEL + 1, ID, 1, ROOM)); /* the id is another file's */
	assert_false(is_known(CHANNEL, ID + PLACES, 1, ROOM));
	assert_false(is_known(CHANNEL, ID, 3, ROOM));     /* did not come along */
	assert_false(is_known(CHANNEL, ID, 1, ROOM - 1)); /* the broker cuts it, or refuses */
	version[ID]++;
	assert_false(is_known(CHANNEL, ID, 1, ROOM));
	/* Another id takes the place. */
	a = answer_make(ID, 0);
	vb_cm_ahead_keep(CHANNEL, &a);
	assert_true(is_known(CHANNEL, ID, 1, ROOM));
	a = answer_make(ID + PLACES, 0);
	vb_cm_ahead_keep(CHANNEL, &a);
	assert_false(is_known(CHANNEL, ID, 1, ROOM));
	assert_true(is_known(CHANNEL, ID + PLACES, 1, ROOM));
	/* Another broker knows other ids. */
	vb_cm_ahead_begin(versions_fd);
	assert_false(is_known(CHANNEL, ID + PLACES, 1, ROOM));
}

static void ahead__without_versions(void **state)
{
	struct vb_cm_answer a = answer_make(ID, 0);

	(void)state;
	vb_cm_ahead_begin(-1);
	vb_cm_ahead_keep(CHANNEL, &a);
	assert_false(is_known(CHANNEL, ID, 1, ROOM));
}

/* Lengths and numbers that no broker sends. */
static void ahead__nonsense(void **state)
{
	struct vb_cm_answer a = answer_make(VB_CM_VERSIONS, 0);
	struct vb_ucma_ahead h = {VB_UCMA_INIT_QP_ATTR, 1, UINT32_MAX - 7};

	(void)state;
	vb_cm_ahead_keep(CHANNEL, &a);
	assert_false(is_known(CHANNEL, VB_CM_VERSIONS, 1, ROOM));
	a = answer_make(ID, 0);
	a.ahead_len = VB_CM_ANSWER_BODY;
	vb_cm_ahead_keep(CHANNEL, &a);
	a.ahead_len = VB_UCMA_AHEAD_MAX;
	a.len = VB_CM_ANSWER_BODY - 8;
	vb_cm_ahead_keep(CHANNEL, &a);
	assert_false(is_known(CHANNEL, ID, 1, ROOM));
	/* An entry that says it is longer than what came. */
	a = answer_make(ID, 0);
	memcpy(a.body, &h, sizeof h);
	vb_cm_ahead_keep(CHANNEL, &a);
	assert_false(is_known(CHANNEL, ID, 1, UINT16_MAX));
	assert_false(is_known(CHANNEL, ID, 2, ROOM));
}

static struct vb_cm_call disconnect_make(uint64_t channel, uint32_t id)
{
	struct vb_ucma_hdr h = {VB_UCMA_DISCONNECT, sizeof(struct vb_ucma_disconnect), 0};
	struct vb_ucma_disconnect b = {id};
	struct vb_cm_call c = {
	    .op = VB_CM_CALL_COMMAND, .channel = channel, .len = sizeof h + sizeof b};

	memcpy(c.body, &h, sizeof h);
	memcpy(c.body + sizeof h, &b, sizeof b);
	return c;
}

/* A grant is for one command, of its channel and its id, and for one time. */
static void grant__is_used_once(void **state)
{
	struct vb_cm_answer a = answer_make(ID, 0);
	struct vb_cm_call c = disconnect_make(CHANNEL, ID), other;

	(void)state;
	assert_false(vb_cm_ahead_use_grant(&c));
	vb_cm_ahead_keep(CHANNEL, &a);
	assert_false(vb_cm_ahead_use_grant(&c));
	a.grants = 1u << VB_UCMA_DISCONNECT;
	vb_cm_ahead_grant(CHANNEL, ID, &a);
	other = disconnect_make(CHANNEL + 1, ID);
	assert_false(vb_cm_ahead_use_grant(&other));
	other = disconnect_make(CHANNEL, ID + PLACES);
	assert_false(vb_cm_ahead_use_grant(&other));
	other = call_make(CHANNEL, ID, 1, ROOM);
	assert_false(vb_cm_ahead_use_grant(&other));
	assert_true(is_known(CHANNEL, ID, 1, ROOM));
	assert_true(vb_cm_ahead_use_grant(&c));
	assert_false(vb_cm_ahead_use_grant(&c));
	/* The command changes what was known. */
	assert_false(is_known(CHANNEL, ID, 1, ROOM));
	/* The next event counts, not the one before. */
	vb_cm_ahead_grant(CHANNEL, ID, &a);
	a.grants = 1u << VB_UCMA_ACCEPT;
	vb_cm_ahead_grant(CHANNEL, ID, &a);
	assert_false(vb_cm_ahead_use_grant(&c));
	/* Another id takes the place, and another broker has granted nothing. */
	a.grants = 1u << VB_UCMA_DISCONNECT;
	vb_cm_ahead_grant(CHANNEL, ID, &a);
	vb_cm_ahead_grant(CHANNEL, ID + PLACES, &a);
	assert_false(vb_cm_ahead_use_grant(&c));
	vb_cm_ahead_begin(versions_fd);
	other = disconnect_make(CHANNEL, ID + PLACES);
	assert_false(vb_cm_ahead_use_grant(&other));
	vb_cm_ahead_grant(CHANNEL, VB_CM_VERSIONS, &a);
	other = disconnect_make(CHANNEL, VB_CM_VERSIONS);
	assert_false(vb_cm_ahead_use_grant(&other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(ahead__answers, setup, teardown),
	    cmocka_unit_test_setup_teardown(ahead__only_what_is_right, setup, teardown),
	    cmocka_unit_test_setup_teardown(ahead__without_versions, setup, teardown),
	    cmocka_unit_test_setup_teardown(ahead__nonsense, setup, teardown),
	    cmocka_unit_test_setup_teardown(grant__is_used_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
