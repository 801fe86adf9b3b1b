/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of drivers, and what a caller gets of a link that does not do something itself: the
 * link below does, and at the bottom nobody. link/driver.h, link/link.h
 */
#include "cmocka_env.h"
#include "link/driver.h"
#include "link/ib/ib.h"
#include "link/shm/shm.h"
#include "link/udp/udp.h"

/* Users name two drivers, and the first of them by no name. */
static void drivers__have_names(void **state)
{
	char names[32] = "";

	(void)state;
	assert_string_equal(vb_link_driver_find("")->name, "udp");
	assert_string_equal(vb_link_driver_find("udp")->name, "udp");
	assert_string_equal(vb_link_driver_find("shm")->name, "shm");
	assert_null(vb_link_driver_find("infiniband"));
	assert_null(vb_link_driver_find("ud"));
	assert_null(vb_link_driver_find("UDP"));
	vb_link_driver_names(names, sizeof names);
	assert_string_equal(names, "udp or shm");
	vb_link_driver_names(names, 5);
	assert_string_equal(names, "udp ");
	vb_link_driver_names(names, 1);
	assert_string_equal(names, "");
}

/* Each driver is opened by its own call, before the driver that it needs, and says what it is made
 * of. */
static void drivers__stand_before_each_other(void **state)
{
	const struct vb_link_driver *udp = vb_link_driver_find("udp"),
				    *shm = vb_link_driver_find("shm"),
				    *ib = vb_link_driver_fabric();

	(void)state;
	assert_ptr_equal(udp->open, vb_udp_open);
	assert_null(udp->below);
	assert_string_equal(udp->what, "the UDP sockets");
	assert_ptr_equal(shm->open, vb_shm_open);
	assert_ptr_equal(shm->below, udp);
	assert_string_equal(shm->what, "the shared-memory link");
	assert_string_equal(ib->name, "infiniband");
	assert_ptr_equal(ib->open, vb_ib_link_open);
	assert_string_equal(ib->what, "the port");
	assert_string_equal(ib->below->name, "shm");
	assert_ptr_equal(ib->below->open, vb_shm_open);
	assert_string_equal(ib->below->what, "the shared-memory link");
	assert_string_equal(ib->below->below->name, "nowhere");
	assert_ptr_equal(ib->below->below->open, vb_nowhere_open);
	assert_string_equal(ib->below->below->what, "a descriptor");
	assert_null(ib->below->below->below);
}

/* The calls that the link at the bottom has had. */
static struct {
	int fd;
	uint32_t parks, naps, ends, copies, sweeps, laters, taps, joins, leaves, follows;
	bool answer;
	uint32_t sent_from, sent_cnt;
	const struct vb_tx_fate *fate;
	const struct vb_tx_batch *sent;
} did;

static uint32_t do_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, vb_time now)
{
	(void)l, (void)now;
	did.sent = b;
	did.sent_from = from;
	did.sent_cnt = b->cnt;
	did.fate = b->fate;
	return 1;
}

static int do_fd(const struct vb_link *l)
{
	(void)l;
	return did.fd;
}

static bool do_answer(const struct vb_link *l)
{
	(void)l;
	return did.answer;
}

static void do_park(struct vb_link *l, bool on)
{
	(void)l;
	did.parks += on;
}

static uint32_t do_begin_nap(struct vb_link *l, vb_time now)
{
	(void)l;
	return (uint32_t)now;
}

static void do_nap(struct vb_link *l, uint32_t word, vb_dur d)
{
	(void)l, (void)d;
	did.naps += word;
}

static bool do_end_nap(struct vb_link *l)
{
	(void)l;
	did.ends++;
	return true;
}

static bool do_rx_credit(struct vb_link *l, uint32_t dqpn, vb_time now, uint32_t *credit)
{
	(void)l, (void)now;
	*credit = dqpn + 1;
	return true;
}

static int do_join(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid)
{
	(void)l, (void)gid, (void)lid;
	did.joins += port;
	return 5;
}

static void do_leave(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid)
{
	(void)l, (void)gid, (void)lid;
	did.leaves += port;
}

static uint32_t do_copy(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, uint32_t to,
			struct vb_link_copy whom, vb_time now)
{
	(void)l, (void)b, (void)from, (void)to, (void)now;
	did.copies += whom.slot;
	return to - from;
}

static void do_follow_port(struct vb_link *l, uint8_t port, uint32_t ifindex)
{
	(void)l, (void)port;
	did.follows += ifindex;
}

static void do_sweep(struct vb_link *l)
{
	(void)l;
	did.sweeps++;
}

static void do_tap_later(struct vb_link *l, bool on)
{
	(void)l;
	did.laters += on;
}

static void do_tap_received(struct vb_link *l, uint32_t i, const struct vb_rx *rx, uint16_t mark)
{
	(void)l, (void)rx, (void)mark;
	did.taps += i;
}

static const struct vb_link_ops nothing = {.name = "nothing", .send = do_send};
static const struct vb_link_ops all = {.name = "all",
				       .send = do_send,
				       .fd = do_fd,
				       .has_packets = do_answer,
				       .is_emptied = do_answer,
				       .park = do_park,
				       .begin_nap = do_begin_nap,
				       .nap = do_nap,
				       .end_nap = do_end_nap,
				       .rx_credit = do_rx_credit,
				       .join = do_join,
				       .leave = do_leave,
				       .copy = do_copy,
				       .follow_port = do_follow_port,
				       .sweep = do_sweep,
				       .tap_later = do_tap_later,
				       .tap_received = do_tap_received};

/* A link that does nothing itself is as the one below it. */
static void links__hand_down_what_they_do_not_do(void **state)
{
	struct vb_link bottom = vb_link_before(NULL, &all), l = vb_link_before(&bottom, &nothing);
	const struct vb_link_copy whom = {.slot = 3};
	uint32_t credit = 0;
	int fd[VB_LINK_FDS_MAX] = {-1};

	(void)state;
	memset(&did, 0, sizeof did);
	did.fd = 17;
	assert_int_equal(vb_link_fd(&l), 17);
	assert_int_equal(vb_link_fds(&l, fd), 1);
	assert_int_equal(fd[0], 17);
	for (int i = 0; i < 2; i++) {
		did.answer = i;
		assert_int_equal(vb_link_has_packets(&l), i);
		assert_int_equal(vb_link_is_emptied(&l), i);
	}
	vb_link_park(&l, true);
	vb_link_park(&l, false);
	assert_int_equal(did.parks, 1);
	assert_true(vb_link_is_silent(&l));
	assert_int_equal(vb_link_begin_nap(&l, 9), 9);
	vb_link_nap(&l, 4, 1);
	assert_int_equal(did.naps, 4);
	assert_true(vb_link_end_nap(&l));
	assert_int_equal(did.ends, 1);
	assert_true(vb_link_rx_credit(&l, 7, 0, &credit));
	assert_int_equal(credit, 8);
	assert_int_equal(vb_link_join(&l, 2, NULL, 0), 5);
	vb_link_leave(&l, 3, NULL, 0);
	assert_int_equal(did.joins, 2);
	assert_int_equal(did.leaves, 3);
	assert_int_equal(vb_link_copy(&l, NULL, 0, 1, whom, 0), 1);
	assert_int_equal(did.copies, 3);
	vb_link_follow_port(&l, 1, 6);
	assert_int_equal(did.follows, 6);
	vb_link_sweep(&l);
	assert_int_equal(did.sweeps, 1);
	vb_link_tap_later(&l, true);
	assert_int_equal(did.laters, 1);
	vb_link_tap_received(&l, 5, NULL, 0);
	assert_int_equal(did.taps, 5);
}

/* At the bottom nobody does it: the caller gets what the header says. */
static void links__at_the_bottom_do_nothing(void **state)
{
	struct vb_link l = vb_link_before(NULL, &nothing);
	const struct vb_link_copy whom = {.slot = 3};
	uint32_t credit = 9;
	int fd[VB_LINK_FDS_MAX];

	(void)state;
	assert_int_equal(vb_link_fd(&l), -1);
	assert_int_equal(vb_link_fds(&l, fd), 0);
	assert_false(vb_link_has_packets(&l));
	assert_false(vb_link_is_emptied(&l));
	assert_false(vb_link_is_silent(&l));
	assert_int_equal(vb_link_begin_nap(&l, 9), 0);
	assert_false(vb_link_end_nap(&l));
	assert_false(vb_link_rx_credit(&l, 7, 0, &credit));
	assert_int_equal(credit, 9);
	assert_int_equal(vb_link_join(&l, 2, NULL, 0), -EOPNOTSUPP);
	vb_link_park(&l, true);
	vb_link_nap(&l, 1, 1);
	vb_link_leave(&l, 2, NULL, 0);
	assert_int_equal(vb_link_copy(&l, NULL, 2, 5, whom, 0), 3);
	vb_link_follow_port(&l, 1, 1);
	vb_link_sweep(&l);
	vb_link_tap_later(&l, true);
	vb_link_tap_received(&l, 0, NULL, 0);
	assert_ptr_equal(l.ops, &nothing);
	assert_null(l.lower);
	assert_true(l.due == VB_NEVER);
	assert_int_equal(l.window_max, UINT32_MAX);
	assert_int_equal(l.batch_max, 0);
}

/* The bounds of a link hold for the link before it, too. */
static void links__are_like_the_one_below(void **state)
{
	struct vb_link bottom = vb_link_before(NULL, &nothing), l;

	(void)state;
	bottom.window_max = 1234;
	bottom.batch_max = 5678;
	bottom.due = 9;
	l = vb_link_before(&bottom, &nothing);
	assert_ptr_equal(l.lower, &bottom);
	assert_int_equal(l.window_max, 1234);
	assert_int_equal(l.batch_max, 5678);
	assert_true(l.due == VB_NEVER);
}

/* A part of a batch goes with its own packets and their fates; the rest of it as it is. */
static void send_part__has_packets_and_fates(void **state)
{
	static struct vb_tx_batch b = {.cnt = 5}, part;
	static struct vb_tx_fate fate[5];
	struct vb_link l = vb_link_before(NULL, &nothing);

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		b.pkt[i].payload_len = i;
	assert_int_equal(vb_link_send_part(&l, &part, &b, 2, 5, 0), 1);
	assert_ptr_equal(did.sent, &b);
	assert_int_equal(did.sent_from, 2);
	for (int with = 0; with < 2; with++) {
		b.fate = with ? fate : NULL;
		assert_int_equal(vb_link_send_part(&l, &part, &b, 1, 4, 0), 1);
		assert_ptr_equal(did.sent, &part);
		assert_int_equal(did.sent_from, 0);
		assert_int_equal(did.sent_cnt, 3);
		assert_ptr_equal(did.fate, with ? fate + 1 : NULL);
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(part.pkt[i].payload_len, i + 1);
	}
	b.fate = NULL;
}

static struct vb_gid asked;
static uint32_t asked_ifindex;

static uint8_t port_of(void *ctx, const struct vb_gid *local, uint32_t ifindex)
{
	asked = *local;
	asked_ifindex = ifindex;
	return *(const uint8_t *)ctx;
}

static uint8_t port_of_path(void *ctx, const struct vb_path *path)
{
	(void)ctx, (void)path;
	return 0;
}

/* Whether a receiver is here is asked about its address on the interface of the path's port; a
 * group, or a receiver by no port, is not. Where there are LIDs everybody is. */
static void here__is_who_has_an_address(void **state)
{
	uint8_t answer = 1;
	struct vb_link_config cfg = {.ifindex = {0, 11, 12, [VB_LINK_PORTS_MAX - 1] = 27},
				     .port_of = port_of,
				     .ctx = &answer};
	struct vb_path p = {.port = 2, .dgid = {{1, [15] = 2}}};

	(void)state;
	assert_true(vb_link_is_here(&cfg, &p));
	assert_memory_equal(&asked, &p.dgid, sizeof asked);
	assert_int_equal(asked_ifindex, 12);
	p.port = VB_LINK_PORTS_MAX - 1;
	assert_true(vb_link_is_here(&cfg, &p));
	assert_int_equal(asked_ifindex, 27);
	answer = 0;
	assert_false(vb_link_is_here(&cfg, &p));
	answer = 1;
	p.port = 0;
	assert_false(vb_link_is_here(&cfg, &p));
	p.port = VB_LINK_PORTS_MAX;
	assert_false(vb_link_is_here(&cfg, &p));
	p.port = 2;
	p.dgid.b[0] = 0xff;
	assert_false(vb_link_is_here(&cfg, &p));
	cfg.port_of_path = port_of_path;
	assert_true(vb_link_is_here(&cfg, &p));
	p.port = 0;
	assert_false(vb_link_is_here(&cfg, &p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(drivers__have_names),
	    cmocka_unit_test(drivers__stand_before_each_other),
	    cmocka_unit_test(links__hand_down_what_they_do_not_do),
	    cmocka_unit_test(links__at_the_bottom_do_nothing),
	    cmocka_unit_test(links__are_like_the_one_below),
	    cmocka_unit_test(send_part__has_packets_and_fates),
	    cmocka_unit_test(here__is_who_has_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
