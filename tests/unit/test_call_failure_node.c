/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory, descriptors and all else that the kernel gives run out where an engine's parts and a
 * fabric's process are opened, at each call that asks for some, see call_env.h.
 */
#include "call_env.h"
#include "subnet_process_env.h"

#include "netns.h"
#include "node/bell/bell.h"
#include "node/broker/state.h"
#include "node/cm/cm.h"
#include "node/engine/priv.h"
#include "node/gsi/gsi.h"
#include "node/netdev/devices.h"
#include "node/netdev/netdev.h"
#include "node/store/slots.h"

static int made;

static void descriptor_end(int rc)
{
	if (rc == 0)
		close(made);
}

static int keep_made(int fd)
{
	made = fd;
	return fd < 0 ? fd : 0;
}

static struct vb_slots slots;

static void slots_end(int rc)
{
	(void)rc;
	vb_slots_close(&slots);
}

static struct vb_engine *engine;
static struct vb_gsi *gsi;
static struct vb_bell bell;

static void host_before(void)
{
	static struct vb_netdevs n;

	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_netdev_read(&n), 0);
	assert_true(vb_devices_update(slots.host, &n, 0));
	assert_int_equal(vb_slots_start(&slots), 0);
}

static void on_mad(void *ctx, const struct vb_path *path, const uint8_t *mad, uint32_t len,
		   vb_time now)
{
	(void)ctx, (void)path, (void)mad, (void)len, (void)now;
}

static int gsi_make(void)
{
	char why[256];

	return vb_gsi_open(&gsi, &slots, on_mad, NULL, why, sizeof why);
}

static void gsi_end(int rc)
{
	if (rc == 0)
		vb_gsi_close(gsi);
	slots_end(rc);
}

static struct vb_broker broker;

static void manager_before(void)
{
	host_before();
	broker = (struct vb_broker){.slots = slots, .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
	assert_true(broker.epoll_fd >= 0);
}

static int manager_make(void)
{
	vb_broker_cm_open(&broker);
	return broker.cm ? 0 : -ENOMEM;
}

/* A manager that got no QP1, or no memory to keep its connections in, gets them at the next look.
 */
static void manager_end(int rc)
{
	(void)rc;
	vb_broker_cm_open(&broker);
	assert_non_null(vb_broker_cm_gsi(&broker));
	vb_broker_cm_close(&broker);
	assert_null(broker.cm);
	close(broker.epoll_fd);
	slots = broker.slots;
	slots_end(0);
}

/* An engine in the first slot for a program, as the broker has one in its own. */
static void engine_before(void)
{
	struct vb_broker_client at = {.sock = -1, .fd_store = -1, .slot = VB_SLOT_FIRST};
	struct vb_host_memory *m;
	char why[256];

	host_before();
	assert_int_equal(vb_slots_take(&slots, getpid(), "test"), VB_SLOT_FIRST);
	m = (struct vb_host_memory *)slots.host;
	at.rx_fd = dup(slots.group.fd[VB_SLOT_FIRST]);
	at.shm = slots.slot[VB_SLOT_FIRST].shm;
	at.host = slots.host;
	at.flow = m->flow;
	at.bell = m->bell;
	at.queue_idle = m->queue_idle;
	at.wakeup = m->wakeup;
	at.mailbox = m->mailbox;
	assert_int_equal(vb_engine_open_inside(&engine, &at, why, sizeof why), 0);
}

static void engine_end(int rc)
{
	vb_engine_close_inside(engine);
	slots_end(rc);
}

static int sleeper_make(void)
{
	return vb_sleeper_open(engine);
}

static int thread_make(void)
{
	return vb_progress_thread_start(engine);
}

static int bell_make(void)
{
	int rc;

	bell = (struct vb_bell){.page = NULL};
	vb_engine_lock(engine);
	rc = vb_bell_open(engine, &bell);
	vb_engine_unlock(engine);
	return rc;
}

/* QP1, and what waits beside an engine: a sleeper, the progress thread, the one of doorbells. */
static void engine__is_open_or_not(void **state)
{
	static const struct attempt
	    mads = {.before = host_before, .make = gsi_make, .end = gsi_end, .optional = "?"},
	    manager = {.before = manager_before,
		       .make = manager_make,
		       .end = manager_end,
		       .optional = "?"},
	    sleeper = {.before = engine_before, .make = sleeper_make, .end = engine_end},
	    thread = {.before = engine_before, .make = thread_make, .end = engine_end},
	    doorbell = {.before = engine_before, .make = bell_make, .end = engine_end};

	(void)state;
	attempt_each("QP1", &mads, 40);
	attempt_each("a connection manager", &manager, 50);
	attempt_each("a sleeper", &sleeper, 3);
	attempt_each("the progress thread", &thread, 2);
	attempt_each("a doorbell", &doorbell, 4);
}

static int daemon_make(void)
{
	return vb_subnet_daemon_open(&fabric, fabric_name, &topo, fabric_why, sizeof fabric_why);
}

static void topo_before(void)
{
	static const char text[] = "Switch 4 \"S-A\"\n[1] \"H-A\"[1]\nCa 2 \"H-A\"\n";
	const struct vb_topo_config cfg = {.alloc = topo_alloc, .free = topo_release};

	snprintf(fabric_name, sizeof fabric_name, "unit-%d-f", (int)getpid());
	assert_int_equal(
	    vb_topo_parse(&topo, &cfg, text, sizeof text - 1, fabric_why, sizeof fabric_why), 0);
}

static void daemon_end(int rc)
{
	if (rc == 0)
		vb_subnet_daemon_close(fabric);
	vb_topo_free(&topo);
}

static int node_sock;

static void node_before(void)
{
	(void)fabric_begin(NULL);
	node_sock = fabric_attach("H-A");
}

static struct vb_subnet_seat *only_seat(void)
{
	return vb_container_of(fabric->seats.next, struct vb_subnet_seat, node);
}

static struct vb_subnet_conn program;
static struct vb_fds got;

static int adapter_make(void)
{
	program = (struct vb_subnet_conn){.seat = only_seat(), .watch = {.fd = node_sock}};
	got.cnt = 0;
	return vb_subnet_slot_take(fabric, &program, &answer, &got);
}

static void node_end(int rc)
{
	(void)rc;
	vb_fds_close(&got);
	vb_subnet_slot_release(fabric, &program);
	program.slot = 0;
	close(node_sock);
	(void)fabric_end(NULL);
}

static int umad_make(void)
{
	got.cnt = 0;
	return vb_subnet_file_open(fabric, only_seat(), 1, false, &answer, &got);
}

static struct vb_fds first_file;

/* The port has a file already, number 0. */
static void umad_before(void)
{
	node_before();
	assert_int_equal(umad_make(), 0);
	first_file = got;
	got.cnt = 0;
}

/* One that could not be opened has given its number back. */
static void umad_end(int rc)
{
	if (rc)
		assert_int_equal(umad_make(), 0);
	assert_int_equal(vb_subnet_file_of(fabric, answer.token)->umad.number, 1);
	vb_fds_close(&first_file);
	node_end(rc);
}

static int issm_make(void)
{
	got.cnt = 0;
	return vb_subnet_file_open(fabric, only_seat(), 1, true, &answer, &got);
}

static int dial_make(void)
{
	return keep_made(vb_subnet_dial(fabric_name, fabric_why, sizeof fabric_why));
}

static void dial_end(int rc)
{
	descriptor_end(rc);
	node_end(rc);
}

static void fabric__is_there_or_not(void **state)
{
	static const struct attempt
	    whole = {.before = topo_before, .make = daemon_make, .end = daemon_end},
	    adapter = {.before = node_before,
		       .make = adapter_make,
		       .end = node_end,
		       .optional = "get 1 17;"}, /* SO_PEERCRED */
	    umad = {.before = umad_before, .make = umad_make, .end = umad_end},
	    issm = {.before = node_before, .make = issm_make, .end = node_end},
	    dial = {.before = node_before, .make = dial_make, .end = dial_end};

	(void)state;
	attempt_each("a fabric", &whole, 20);
	attempt_each("a slot of a fabric", &adapter, 25);
	attempt_each("a umad file", &umad, 3);
	attempt_each("an issm file", &issm, 5);
	attempt_each("a connection to a fabric", &dial, 3);
}

/* The loop of a fabric's process goes on when that is stopped and continued. signal(7) */
static int serve_make(void)
{
	static struct vb_subnet_call down = {.version = VB_SUBNET_CALL_VERSION,
					     .op = VB_SUBNET_DOWN};
	struct vb_subnet_answer done;
	int rc = vb_fds_send(fabric_control, &down, VB_SUBNET_CALL_HEADER, NULL);

	if (!rc)
		rc = vb_subnet_daemon_serve(fabric);
	if (!rc && __real_recv(fabric_control, &done, sizeof done, MSG_DONTWAIT) != sizeof done)
		rc = -EPROTO;
	close(fabric->signals.fd);
	fabric->signals.fd = -1;
	return rc;
}

static void serve_before(void)
{
	(void)fabric_begin(NULL);
}

static void serve_end(int rc)
{
	(void)rc;
	(void)fabric_end(NULL);
}

static void signals__end_no_fabric(void **state)
{
	static const struct attempt serve = {
	    .before = serve_before, .make = serve_make, .end = serve_end};

	(void)state;
	interrupt_each("serving a fabric", &serve, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(engine__is_open_or_not),
	    cmocka_unit_test(fabric__is_there_or_not),
	    cmocka_unit_test(signals__end_no_fabric),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
