/* SPDX-License-Identifier: BSD-2-Clause */
/* A program's side of the adapter at a node of a fabric, whose process runs in another thread here.
 * node/subnet/adapter/attach.h */
#include "subnet_process_env.h"

#include "core/adapter.h"
#include "link/ib/ib.h"
#include "node/engine/priv.h"
#include "node/subnet/adapter/attach.h"

#include <pthread.h>
#include <sys/un.h>
#include <sys/wait.h>

static pthread_t thread;
static int serve_rc;
static bool is_served;

/* No cmocka here: its jump goes to the other thread. */
static void *serve(void *rc)
{
	*(int *)rc = vb_subnet_daemon_serve(fabric);
	return NULL;
}

static int serve_begin(void **state)
{
	(void)fabric_begin(state);
	fabric_configure();
	setenv("VERBENA_FABRIC", fabric_name, 1);
	setenv("VERBENA_NODE", "H-B", 1);
	is_served = pthread_create(&thread, NULL, serve, &serve_rc) == 0;
	assert_true(is_served);
	return 0;
}

/* Ends the fabric as "verbena fabric down" does. */
static void serve_stop(void)
{
	int sock;

	if (!is_served)
		return;
	is_served = false;
	sock = fabric_dial();
	call = (struct vb_subnet_call){.op = VB_SUBNET_DOWN};
	assert_int_equal(vb_subnet_ask(sock, &call, -1, &answer, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(serve_rc, 0);
	close(sock);
	close(fabric_control);
	vb_subnet_daemon_close(fabric);
	vb_topo_free(&topo);
}

static int serve_end(void **state)
{
	(void)state;
	serve_stop();
	unsetenv("VERBENA_FABRIC");
	unsetenv("VERBENA_NODE");
	return 0;
}

static struct vb_broker_client client(void)
{
	struct vb_broker_client c;

	if (vb_broker_connect(&c, fabric_why, sizeof fabric_why))
		fail_msg("%s", fabric_why);
	return c;
}

/* Whether this process may write where @p points, as /proc/self/maps has it. */
static bool is_writable(const void *p)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char line[512], mode[5];
	bool found = false;

	assert_non_null(f);
	while (!found && fgets(line, sizeof line, f))
		found = sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 &&
			from <= (unsigned long)p && (unsigned long)p < to;
	fclose(f);
	assert_true(found);
	return mode[1] == 'w';
}

/* A client maps its slot, its node's table read-only, and memory of all nodes. */
static void clients__map_what_is_theirs(void **state)
{
	struct vb_broker_client a = client(), b = client();

	(void)state;
	assert_true(vb_subnet_is_wanted());
	assert_int_equal(a.slot, VB_SLOT_FIRST);
	assert_int_equal(b.slot, VB_SLOT_FIRST + 1);
	assert_int_equal(a.shm->slot, a.slot);
	assert_int_equal(a.host->device_cnt, 2);
	assert_int_equal(a.host->device[1].ib.number, 2);
	assert_false(is_writable(a.host));
	assert_true(is_writable(a.shm) && is_writable(a.flow) && is_writable(a.bell));
	assert_false(is_writable(a.fabric->map));
	assert_true(is_writable(a.fabric->routes));
	/* One memory for the packets of all nodes. */
	a.wakeup[a.slot].rings = 77;
	assert_int_equal(b.wakeup[a.slot].rings, 77);
	a.mailbox[a.slot].sent = 78;
	assert_int_equal(b.mailbox[a.slot].sent, 78);
	a.queue_idle[1] = 79;
	assert_true(b.queue_idle[1] == 79);
	assert_int_equal(a.fabric->port[1], a.host->device[0].ib.map_port);
	assert_int_equal(a.fabric->port[2], a.host->device[1].ib.map_port);
	assert_int_equal(a.fabric->port[3], VB_IB_NOWHERE);
	assert_int_equal(vb_broker_check(&a), 0);
	vb_broker_disconnect(&a);
	vb_broker_disconnect(&b);
}

/* The device ends with its fabric, and each program sees that it has changed. */
static void clients__lose_the_device_with_the_fabric(void **state)
{
	struct vb_broker_client a = client(), b = client();
	uint32_t generation = a.host->generation;

	(void)state;
	assert_true(a.host->device[1].gid[0].type != 0);
	serve_stop();
	assert_int_equal(vb_broker_check(&a), -ENOTCONN);
	assert_int_equal(a.sock, -1);
	assert_int_equal(b.host->device_cnt, 0);
	assert_int_equal(b.host->generation, generation + 1);
	for (int i = 0; i < 2; i++) {
		const struct vb_device *d = &b.host->device[i];
		static const struct vb_device_ib none;
		static const uint8_t no_gid[16];

		assert_int_equal(d->ifindex, 0);
		assert_int_equal(d->is_up, 0);
		assert_memory_equal(&d->ib, &none, sizeof none);
		assert_memory_equal(d->gid[0].gid.b, no_gid, sizeof no_gid);
	}
	/* The second client changes nothing more. */
	assert_int_equal(vb_broker_check(&b), -ENOTCONN);
	assert_int_equal(vb_broker_check(&b), -ENOTCONN);
	assert_int_equal(b.host->generation, generation + 1);
	vb_broker_disconnect(&a);
	vb_broker_disconnect(&b);
}

/* Clients hear the reason. */
static void clients__are_told_why_they_get_none(void **state)
{
	struct vb_broker_client c;
	int before = fd_cnt();

	(void)state;
	setenv("VERBENA_NODE", "S-A", 1);
	assert_int_equal(vb_broker_connect(&c, fabric_why, sizeof fabric_why), -ENODEV);
	assert_non_null(strstr(fabric_why, "'S-A' is a switch"));
	setenv("VERBENA_NODE", "H-C", 1);
	assert_int_equal(vb_broker_connect(&c, fabric_why, sizeof fabric_why), -ENOENT);
	assert_non_null(strstr(fabric_why, "no node 'H-C'"));
	setenv("VERBENA_FABRIC", "a/b", 1);
	assert_int_equal(vb_broker_connect(&c, fabric_why, sizeof fabric_why), -EINVAL);
	setenv("VERBENA_FABRIC", fabric_name, 1);
	serve_stop();
	assert_int_equal(vb_broker_connect(&c, fabric_why, sizeof fabric_why), -ECONNREFUSED);
	assert_non_null(strstr(fabric_why, "'verbena fabric up' starts one"));
	/* The fabric has closed its descriptors. */
	assert_true(fd_cnt() < before);
	setenv("VERBENA_FABRIC", "", 1);
	assert_false(vb_subnet_is_wanted());
}

/* Mappings of memory that adapters share, of this process. proc(5) */
static unsigned shared_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned cnt = 0;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		cnt += strstr(line, "memfd:verbena") != NULL;
	fclose(f);
	return cnt;
}

/* The fabric's process has seen what was done before: connections that ended, too. */
static void fabric_sync(void)
{
	int sock = fabric_dial();

	vb_subnet_call_text(&call, VB_SUBNET_COMMAND, "dump");
	assert_int_equal(vb_subnet_ask(sock, &call, -1, &answer, NULL), 0);
	assert_int_equal(answer.status, 0);
	close(sock);
}

static void connect_in_vain(const char *reason)
{
	struct vb_broker_client c;

	assert_int_equal(vb_broker_connect(&c, fabric_why, sizeof fabric_why), -EPROTO);
	if (!strstr(fabric_why, reason))
		fail_msg("the reason is '%s'", fabric_why);
	fabric_sync();
}

/* Memory of another version, of the node, of the slot or of the fabric, is not used; nothing stays
 * mapped or open of it. */
static void clients__take_no_other_version(void **state)
{
	struct vb_broker_client a = client(), b;
	char other[128];
	struct vb_host_shm *node;
	struct vb_slot_shm *slot;
	unsigned maps;

	(void)state;
	snprintf(other, sizeof other,
		 "the fabric '%s' gives no adapter: it is of another version of verbena",
		 fabric_name);
	node = &seat_at(HOST_B)->host->host;
	slot = fabric->adapter->slot[VB_SLOT_FIRST + 1].shm;
	assert_null(slot); /* it is made for the second client... */
	b = client();
	slot = fabric->adapter->slot[VB_SLOT_FIRST + 1].shm;
	assert_non_null(slot);
	vb_broker_disconnect(&b);
	fabric_sync();
	maps = shared_maps();
	node->version--;
	connect_in_vain(other);
	node->version++;
	slot->version++; /* ... and whoever comes next gets it */
	connect_in_vain(other);
	slot->version--;
	fabric->adapter->map->magic++;
	connect_in_vain(other);
	fabric->adapter->map->magic--;
	assert_int_equal(shared_maps(), maps);
	b = client();
	assert_true(shared_maps() > maps);
	assert_int_equal(vb_broker_check(&b), 0);
	vb_broker_disconnect(&b);
	assert_int_equal(shared_maps(), maps);
	vb_broker_disconnect(&a);
}

/* A client has the name of its thread, and a slot's memory has it until the client ends. */
static void clients__are_named(void **state)
{
	struct vb_broker_client a;

	(void)state;
	assert_int_equal(pthread_setname_np(pthread_self(), "by this name"), 0);
	a = client();
	assert_string_equal(a.shm->comm, "by this name");
	assert_int_equal(a.shm->pid, getpid());
	assert_int_equal(fcntl(a.sock, F_GETFD), FD_CLOEXEC);
	vb_broker_disconnect(&a);
}

/* A change of the table is a message, which a look at the connection takes away: all of them. */
static void clients__take_what_they_are_told(void **state)
{
	struct vb_broker_client a = client();
	uint32_t word = 0, generation = a.host->generation;
	int sock = fabric_dial();

	(void)state;
	for (int i = 0; i < 3; i++) {
		vb_subnet_call_text(&call, VB_SUBNET_COMMAND,
				    i % 2 ? "link H-B 2" : "unlink H-B 2");
		assert_int_equal(vb_subnet_ask(sock, &call, -1, &answer, NULL), 0);
		assert_int_equal(answer.status, 0);
	}
	assert_int_not_equal(a.host->generation, generation);
	assert_int_equal(recv(a.sock, &word, sizeof word, MSG_PEEK), sizeof word);
	assert_int_equal(vb_broker_check(&a), 0);
	assert_int_equal(recv(a.sock, &word, sizeof word, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(sock);
	vb_broker_disconnect(&a);
}

/* Without a node there is no such node, and without a fabric no fabric is wanted. */
static void clients__need_a_node(void **state)
{
	struct vb_broker_client c;

	(void)state;
	unsetenv("VERBENA_NODE");
	assert_int_equal(vb_broker_connect(&c, fabric_why, sizeof fabric_why), -ENOENT);
	assert_non_null(strstr(fabric_why, "no node ''"));
	unsetenv("VERBENA_FABRIC");
	assert_false(vb_subnet_is_wanted());
}

/* A process that gives a slot without its memory is of another version, too. */
static void clients__take_no_slot_without_memory(void **state)
{
	struct vb_broker_client c;
	struct sockaddr_un a;
	char other[VB_SUBNET_NAME_MAX + 8];
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	socklen_t len;
	pid_t pid;

	(void)state;
	snprintf(other, sizeof other, "%.20s-other", fabric_name);
	len = vb_subnet_address(&a, geteuid(), other);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int sock = accept(fd, NULL, NULL);

		answer = (struct vb_subnet_answer){.status = 0};
		while (recv(sock, &call, sizeof call, 0) > 0)
			(void)send(sock, &answer, sizeof answer, MSG_NOSIGNAL);
		_exit(0);
	}
	setenv("VERBENA_FABRIC", other, 1);
	assert_int_equal(vb_broker_connect(&c, fabric_why, sizeof fabric_why), -EPROTO);
	assert_non_null(strstr(fabric_why, "another version of verbena"));
	setenv("VERBENA_FABRIC", fabric_name, 1);
	close(fd);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* In a fabric no socket sets a limit to what is in flight; the rings do. */
static void engine__sends_what_rings_take(void **state)
{
	struct vb_engine *e;

	(void)state;
	assert_int_equal(vb_engine_acquire(&e, fabric_why, sizeof fabric_why), 0);
	assert_true(e->link->window_max < UINT32_MAX);
	assert_int_equal(e->hca->cfg.peer_window_bytes, e->link->window_max);
	vb_engine_release(e);
}

#define S(f) cmocka_unit_test_setup_teardown(f, serve_begin, serve_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    S(clients__map_what_is_theirs),
	    S(clients__lose_the_device_with_the_fabric),
	    S(clients__are_told_why_they_get_none),
	    S(clients__take_no_other_version),
	    S(engine__sends_what_rings_take),
	    S(clients__take_no_slot_without_memory),
	    S(clients__are_named),
	    S(clients__take_what_they_are_told),
	    S(clients__need_a_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
