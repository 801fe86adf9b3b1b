/* SPDX-License-Identifier: BSD-2-Clause */
/* The slots as one owner leaves them to the next, and one broker to the next: the parts given back,
 * the counts summed up, and what each slot has of its own. node/store/slots.h */
#include "cmocka_env.h"
#include "deny.h"
#include "descriptors.h"
#include "mappings.h"
#include "netns.h"
#include "node/shared/adapter.h"
#include "node/store/fd_store.h"
#include "node/store/slots.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

static struct vb_slots slots;
static unsigned descriptors, mappings;

static int setup(void **state)
{
	(void)state;
	descriptors = descriptors_of(getpid());
	mappings = mappings_of("verbena-");
	assert_int_equal(vb_slots_init(&slots), 0);
	return vb_slots_start(&slots);
}

/* Nothing that a test has made stays. */
static int teardown(void **state)
{
	(void)state;
	vb_slots_close(&slots);
	assert_int_equal(descriptors_of(getpid()), descriptors);
	assert_int_equal(mappings_of("verbena-"), mappings);
	return 0;
}

static struct vb_host_memory *memory(void)
{
	return (struct vb_host_memory *)slots.host;
}

static struct vb_slot_shm *taken(const char *comm)
{
	int k = vb_slots_take(&slots, 4711, comm);

	assert_true(k >= VB_SLOT_FIRST);
	return slots.slot[k].shm;
}

/* Memory says what it is, and whose. */
static void init__says_what_it_is(void **state)
{
	const struct vb_slot_shm *s = taken("program");

	(void)state;
	assert_int_equal(slots.host->magic, VB_SHM_MAGIC);
	assert_int_equal(slots.host->version, VB_SHM_VERSION);
	assert_int_equal(slots.host->broker_pid, getpid());
	assert_int_equal(s->magic, VB_SHM_MAGIC);
	assert_int_equal(s->version, VB_SHM_VERSION);
	assert_int_equal(s->slot, VB_SLOT_FIRST);
	assert_int_equal(s->pid, 4711);
	assert_string_equal(s->comm, "program");
	assert_true(s->qpn_next <= 0xffff);
	assert_int_equal(slots.host->taken[VB_SLOT_FIRST], VB_SLOT_TAKEN);
	assert_int_equal(slots.host->taken[VB_SLOT_GSI], VB_SLOT_NEW);
	/* Slot 0 has a socket alone. */
	assert_null(slots.slot[0].shm);
	assert_int_equal(slots.slot[0].mem_fd, -1);
	assert_non_null(slots.slot[VB_SLOT_GSI].shm);
	/* Recovery begins as it leaves the factory. */
	assert_memory_equal(&vb_adapter_state(vb_slots_adapter(&slots))->pf[3].reg.recovery,
			    &vb_recovery_default, sizeof vb_recovery_default);
}

/* Each owner has the lowest slot that is free. */
static void take__the_lowest_free_one(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(vb_slots_take(&slots, 1 + i, "p"), VB_SLOT_FIRST + i);
	vb_slots_release(&slots, VB_SLOT_FIRST + 2);
	vb_slots_release(&slots, VB_SLOT_FIRST + 1);
	assert_int_equal(slots.host->taken[VB_SLOT_FIRST + 1], VB_SLOT_VACANT);
	assert_int_equal(vb_slots_take(&slots, 7, "p"), VB_SLOT_FIRST + 1);
	assert_int_equal(vb_slots_take(&slots, 8, "p"), VB_SLOT_FIRST + 2);
	assert_int_equal(vb_slots_take(&slots, 9, "p"), VB_SLOT_FIRST + 4);
	assert_int_equal(slots.slot[VB_SLOT_FIRST + 1].shm->pid, 7);
	assert_int_equal(slots.group.cnt, VB_SLOT_FIRST + 5);
}

/* The next owner gets nothing of the last one; the last one's counts become the past's, of each
 * port and each counter. */
static void release__gives_everything_back(void **state)
{
	struct vb_slot_shm *s = taken("program");
	const struct vb_counters *past = slots.host->past;
	const struct vb_adp_fired *fired = vb_slots_adapter(&slots)->past_fired;

	(void)state;
	for (int again = 1; again <= 2; again++) {
		for (int port = 1; port <= VB_HCA_PORTS_MAX; port++) {
			for (int i = 0; i < VB_COUNTER_CNT; i++)
				s->counters[port].v[i] =
				    UINT64_C(1000) * (unsigned)port + (unsigned)i;
			for (int i = 0; i < VB_ADP_FIRED_SLOTS; i++)
				s->fired[port].slot[i] =
				    UINT64_C(100) * (unsigned)port + (unsigned)i;
		}
		s->qp_cnt = s->cq_cnt = s->mr_cnt = 9;
		s->queues = 9;
		memset(&s->explain.refused, 9, sizeof s->explain.refused);
		memset(&s->explain.view[VB_VIEWS - 1], 9, sizeof s->explain.view[0]);
		s->capture.data[0] = s->capture.data[VB_CAPTURE_RING_BYTES - 1] = 9;
		memory()->wakeup[s->slot].token = memory()->mailbox[s->slot].token = 9;
		vb_slots_release(&slots, s->slot);
		assert_int_equal(slots.host->seq % 2, 0);
		for (int port = 1; port <= VB_HCA_PORTS_MAX; port++) {
			for (int i = 0; i < VB_COUNTER_CNT; i++)
				assert_int_equal(past[port].v[i], again * (1000 * port + i));
			for (int i = 0; i < VB_ADP_FIRED_SLOTS; i++)
				assert_int_equal(fired[port].slot[i], again * (100 * port + i));
		}
		assert_int_equal(s->counters[1].v[0] + s->counters[VB_HCA_PORTS_MAX].v[0], 0);
		assert_int_equal(s->fired[1].slot[1] + s->fired[VB_HCA_PORTS_MAX].slot[0], 0);
		assert_int_equal(s->qp_cnt + s->cq_cnt + s->mr_cnt, 0);
		assert_true(s->queues == 0);
		assert_int_equal(s->pid, 0);
		assert_string_equal(s->comm, "");
		assert_int_equal(s->explain.refused[0].cnt, 0);
		assert_int_equal(s->explain.view[VB_VIEWS - 1].qpn, 0);
		assert_int_equal(s->capture.data[0] | s->capture.data[VB_CAPTURE_RING_BYTES - 1],
				 0);
		assert_true(memory()->wakeup[s->slot].token == 0);
		assert_true(memory()->mailbox[s->slot].token == 0);
		assert_false(slots.slot[s->slot].is_taken);
		assert_int_equal(slots.host->taken[s->slot], VB_SLOT_VACANT);
		assert_ptr_equal(taken("next"), s);
	}
}

/* Histories of trouble that did not end well outlive their slot. */
static void release__keeps_the_trouble(void **state)
{
	struct vb_slot_shm *s = taken("program");
	struct vb_qp_history *t = vb_qp_histories_new(&s->explain.histories, 0x102);

	(void)state;
	t->qpn = 0x102;
	t->state = VB_QP_HISTORY_FAILED;
	t->at = 1;
	vb_slots_release(&slots, s->slot);
	assert_int_equal(vb_slots_past(&slots)->history[0].history.qpn, 0x102);
	assert_int_equal(vb_slots_past(&slots)->history[0].pid, 4711);
	assert_string_equal(vb_slots_past(&slots)->history[0].comm, "program");
}

/* QPs end with their owner: the place of each in the CSR space is free, and peers can be told when
 * it was. QPs of other owners, and QPs that have ended before, stay as they are. */
static void release__ends_the_qps_of_its_owner(void **state)
{
	struct vb_slot_shm *s = taken("program"), *other = taken("other");
	uint32_t *index = memory()->qp_index;

	(void)state;
	index[0] = 1u << 24 | 0x100 | s->slot;
	index[1] = 1u << 24 | 0x100 | other->slot;
	index[VB_CSR_QPS - 1] = 3u << 24 | 0x200 | s->slot;
	s->qp_entry[0] = (struct vb_qp_entry){.qpn = 0x102, .state = VB_QPS_RTS, .at = 5};
	s->qp_entry[1] = (struct vb_qp_entry){.qpn = 0x202, .state = VB_QPS_RESET, .at = 6};
	s->qp_entry[2] =
	    (struct vb_qp_entry){.qpn = 0x302, .state = VB_QPS_RTR, .has_ended = 1, .at = 7};
	s->qp_entry[VB_QP_ENTRIES - 1] =
	    (struct vb_qp_entry){.qpn = 0x402, .state = VB_QPS_INIT, .at = 8};
	other->qp_entry[0] = (struct vb_qp_entry){.qpn = 0x103, .state = VB_QPS_RTS, .at = 9};
	vb_slots_release(&slots, s->slot);
	assert_int_equal(index[0], 0);
	assert_int_equal(index[1], 1u << 24 | 0x100 | other->slot);
	assert_int_equal(index[VB_CSR_QPS - 1], 0);
	assert_int_equal(s->qp_entry[0].has_ended, 1);
	assert_true(s->qp_entry[0].at > 9);
	assert_int_equal(s->qp_entry[1].has_ended, 0);
	assert_int_equal(s->qp_entry[1].at, 6);
	assert_int_equal(s->qp_entry[2].at, 7);
	assert_int_equal(s->qp_entry[3].has_ended, 0); /* there was none */
	assert_int_equal(s->qp_entry[VB_QP_ENTRIES - 1].has_ended, 1);
	assert_int_equal(other->qp_entry[0].has_ended, 0);
	assert_int_equal(other->qp_entry[0].at, 9);
}

/* The first QPNs of new slots have nothing to do with each other, and are no small numbers. */
static void take__qpns_begin_anywhere(void **state)
{
	uint32_t next[4], equal = 0, small = 0;

	(void)state;
	for (int i = 0; i < 4; i++) {
		next[i] = taken("new")->qpn_next;
		small += next[i] < 64;
		for (int k = 0; k < i; k++)
			equal += next[i] == next[k];
	}
	assert_uint_in_range(equal, 0, 1);
	assert_uint_in_range(small, 0, 2);
}

/* Numbers of QPs go round: 16 bits of them are a slot's own. */
static void release__numbers_go_round(void **state)
{
	struct vb_slot_shm *s = taken("program");

	(void)state;
	s->qpn_next = 0x10000;
	vb_slots_release(&slots, s->slot);
	assert_int_equal(s->qpn_next, 0);
}

/* The sum of a port is that of all its processes, the broker's own QP1 among them, and of the past.
 */
static void total__of_all_slots(void **state)
{
	struct vb_counters total;
	struct vb_slot_shm *s[3] = {slots.slot[VB_SLOT_GSI].shm, taken("a"), taken("b")};

	(void)state;
	for (int port = 1; port <= VB_HCA_PORTS_MAX; port++)
		for (int i = 0; i < VB_COUNTER_CNT; i++) {
			slots.host->past[port].v[i] =
			    UINT64_C(10000) * (unsigned)port + (unsigned)i;
			for (int k = 0; k < 3; k++)
				s[k]->counters[port].v[i] = (uint64_t)(unsigned)port << k;
		}
	for (int port = 1; port <= VB_HCA_PORTS_MAX; port++) {
		memset(&total, 0xff, sizeof total);
		vb_slots_total(&slots, (uint32_t)port, &total);
		for (int i = 0; i < VB_COUNTER_CNT; i++)
			assert_int_equal(total.v[i], 10000 * port + i + 7 * port);
	}
}

/* While somebody captures, all slots do, QP1's too, and slots that are made or taken meanwhile. A
 * record of a slot without an owner goes when the capture ends, an owner's does not. */
static void capture__of_all_slots(void **state)
{
	struct vb_slot_shm *gsi = slots.slot[VB_SLOT_GSI].shm, *a = taken("a"), *b = taken("b");
	struct vb_slot_shm *late;

	(void)state;
	vb_slots_capture(&slots, true);
	assert_true(slots.capture);
	assert_true(gsi->capture.enabled && a->capture.enabled && b->capture.enabled);
	late = taken("late");
	assert_true(late->capture.enabled);
	a->capture.data[5] = b->capture.data[5] = late->capture.data[5] = 9;
	vb_slots_release(&slots, a->slot);
	vb_slots_release(&slots, late->slot);
	assert_int_equal(a->capture.data[5], 9); /* it is still to be read */
	vb_slots_capture(&slots, false);
	assert_false(slots.capture);
	assert_false(gsi->capture.enabled || a->capture.enabled || b->capture.enabled ||
		     late->capture.enabled);
	assert_int_equal(a->capture.data[5], 0);
	assert_int_equal(late->capture.data[5], 0);
	assert_int_equal(b->capture.data[5], 9);
	assert_ptr_equal(taken("a"), a);
	assert_false(a->capture.enabled);
}

static int put_again(void *ctx, const struct vb_fd_store_item *item, struct vb_fds *fds)
{
	int rc = vb_fd_store_put(*(int *)ctx, (enum vb_fd_store_kind)item->kind, item->slot, fds);

	vb_fds_close(fds);
	return rc;
}

/* Another broker's slots are taken over as they are: an owner has its slot still, and the capture
 * of this broker is theirs. This broker's own memory goes. */
static void adopt__goes_on_with_them(void **state)
{
	static struct vb_slots next;
	struct vb_slot_shm *a = taken("a"), *b = taken("b");
	int store = vb_fd_store_create();

	(void)state;
	slots.host->broker_pid = 1;
	b->qpn_next = 0x1234;
	vb_slots_release(&slots, a->slot);
	/* Half of a change, and a table that says the opposite. */
	slots.host->seq |= 1;
	slots.host->taken[a->slot] = VB_SLOT_TAKEN;
	slots.host->taken[b->slot] = VB_SLOT_NEW;
	slots.host->taken[200] = VB_SLOT_TAKEN;
	assert_int_equal(vb_fd_store_walk(slots.fd_store, put_again, &store), 0);
	assert_int_equal(vb_slots_init(&next), 0);
	next.capture = true;
	assert_int_equal(vb_slots_adopt(&next, store), 0);
	assert_int_equal(next.host->broker_pid, getpid());
	assert_int_equal(next.host->seq % 2, 0);
	assert_int_equal(next.group.cnt, slots.group.cnt);
	assert_int_equal(next.host->taken[a->slot], VB_SLOT_VACANT);
	assert_int_equal(next.host->taken[b->slot], VB_SLOT_TAKEN);
	assert_int_equal(next.host->taken[200], VB_SLOT_NEW);
	assert_false(next.slot[a->slot].is_taken);
	assert_true(next.slot[b->slot].is_taken);
	assert_int_equal(next.slot[b->slot].qpn_start, 0x1234);
	assert_true(next.capture);
	assert_true(b->capture.enabled && a->capture.enabled);
	assert_true(slots.slot[VB_SLOT_GSI].shm->capture.enabled);
	vb_slots_close(&next);
}

/* A store that cannot be taken over changes nothing, and is closed. */
static void adopt__of_nothing_changes_nothing(void **state)
{
	static struct vb_slots next;
	unsigned before = descriptors_of(getpid());
	int store = vb_fd_store_create();

	(void)state;
	assert_int_equal(vb_slots_init(&next), 0);
	assert_int_equal(vb_slots_adopt(&next, store), -EINVAL);
	assert_non_null(next.host);
	assert_int_equal(next.fd_store, -1);
	assert_int_equal(next.host->version, VB_SHM_VERSION);
	vb_slots_close(&next);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A socket that is none of such a group is not taken for one, and a group is full with its last
 * slot. */
static void group__takes_over_its_own_alone(void **state)
{
	static struct vb_group g;
	int one = 1, fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	vb_group_init(&g);
	assert_int_equal(g.fd[0], -1);
	assert_int_equal(g.fd[VB_SLOT_CNT - 1], -1);
	assert_int_equal(vb_group_adopt(&g, fd), -EINVAL);
	assert_int_equal(vb_group_adopt(&g, -1), -EINVAL);
	assert_int_equal(g.cnt, 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one), 0);
	assert_int_equal(vb_group_adopt(&g, fd), 0);
	assert_int_equal(g.cnt, 1);
	assert_int_equal(g.fd[0], fd);
	g.cnt = VB_SLOT_CNT;
	assert_int_equal(vb_group_adopt(&g, fd), -EINVAL);
	assert_int_equal(vb_group_grow(&g, 1), -ENOSPC);
	assert_int_equal(g.cnt, VB_SLOT_CNT);
	g.cnt = 1;
	vb_group_close(&g);
	assert_int_equal(g.cnt, 0);
	assert_int_equal(g.fd[0], -1);
}

static int receive_buffer(int fd)
{
	int size = 0;
	socklen_t len = sizeof size;

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len), 0);
	return size;
}

/* A slot with an owner has 16 MB for packets that wait, where that is allowed; one without has the
 * least that the kernel gives. */
static void group__buffers_are_the_owners(void **state)
{
	int size = 16 << 20, fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), quiet;
	bool allowed = setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) == 0;
	struct vb_slot_shm *s;

	(void)state;
	close(fd);
	quiet = receive_buffer(slots.group.fd[VB_SLOT_GSI]);
	assert_true(quiet < 16384);
	s = taken("program");
	/* The kernel doubles what it is told. socket(7) */
	if (allowed)
		assert_int_equal(receive_buffer(slots.group.fd[s->slot]), 2 * size);
	else
		assert_true(receive_buffer(slots.group.fd[s->slot]) > quiet);
	vb_slots_release(&slots, s->slot);
	assert_int_equal(receive_buffer(slots.group.fd[s->slot]), quiet);
}

/* A host without IPv6 has a group of IPv4 alone. */
static void group__without_ipv6(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	/* A store keeps sockets that are closed. */
	vb_slots_close(&slots);
	assert_int_equal(vb_slots_init(&slots), 0);
	pid = fork();
	if (pid == 0) {
		static struct vb_group g;
		struct sockaddr_storage a = {0};
		socklen_t len = sizeof a;

		/* The bit 8 is in AF_INET6 and not in AF_INET. */
		if (!deny_call(SYS_socket, 0, 8, EAFNOSUPPORT))
			_exit(77);
		vb_group_init(&g);
		if (vb_group_probe() || vb_group_grow(&g, 1) || vb_group_grow(&g, 1) ||
		    getsockname(g.fd[1], (struct sockaddr *)&a, &len))
			_exit(1);
		_exit(a.ss_family == AF_INET &&
			      ((struct sockaddr_in *)&a)->sin_port == htons(VB_ROCE_PORT)
			  ? 0
			  : 2);
	}
	status = child_status(pid);
	if (status == 77) {
		print_message("this kernel lets no process deny itself system calls\n");
		skip();
	}
	assert_int_equal(status, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(init__says_what_it_is),
	    T(take__the_lowest_free_one),
	    T(take__qpns_begin_anywhere),
	    T(release__gives_everything_back),
	    T(release__keeps_the_trouble),
	    T(release__ends_the_qps_of_its_owner),
	    T(release__numbers_go_round),
	    T(total__of_all_slots),
	    T(capture__of_all_slots),
	    T(adopt__goes_on_with_them),
	    T(adopt__of_nothing_changes_nothing),
	    T(group__takes_over_its_own_alone),
	    T(group__buffers_are_the_owners),
	    T(group__without_ipv6),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
