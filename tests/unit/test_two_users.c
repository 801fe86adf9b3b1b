/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another user of the host can do this to an adapter's names: take them first. That costs the name,
 * and is told; it does not block, mislead or change settings.
 */
#include "broker_env.h"
#include "node/client/msg.h"
#include "node/sysfs/sysfs.h"
#include "reg/csr/cc_names.h"
#include "two_users.h"

#include <sys/mman.h>
#include <sys/un.h>

/* The memory that the users share. */
static struct {
	struct vb_sysfs tree;
	uint32_t ready, go, done;
	pid_t stranger;
} * common;

static struct vb_host_shm host;
static struct vb_counters total[VB_HCA_PORTS_MAX + 1];
static char usual[128]; /* the name that the tree has by rights */

/* A child checks without cmocka, whose jump back is to the parent's code. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void await(const uint32_t *flag)
{
	for (int i = 0; i < BROKER_PATIENCE_MS && !__atomic_load_n(flag, __ATOMIC_SEQ_CST); i++)
		(void)poll(NULL, 0, 1);
}

static void raise_flag(uint32_t *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
}

static bool is_of(const char *path, unsigned uid)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_uid == uid;
}

static int setup(void **state)
{
	struct stat ns;

	(void)state;
	memset(common, 0, sizeof *common);
	assert_int_equal(stat("/proc/self/ns/net", &ns), 0);
	snprintf(usual, sizeof usual, "/dev/shm/verbena-%d-%llu", VICTIM,
		 (unsigned long long)ns.st_ino);
	memset(&host, 0, sizeof host);
	host.device_cnt = 1;
	host.device[0] = (struct vb_device){
	    .name = "verbena0", .ifname = "lo", .ifindex = 1, .netdev_mtu = 1500, .is_up = 1};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	/* Of a broker that was stopped, and of the stranger. */
	return system("rm -rf /dev/shm/* /tmp/*");
}

static void make_trees(void)
{
	vb_sysfs_init(&common->tree);
	MUST(vb_sysfs_publish(&common->tree, &host, total, NULL) == 0);
	raise_flag(&common->ready);
	await(&common->go);
	for (int i = 0; i < 300; i++)
		MUST(vb_sysfs_publish(&common->tree, &host, total, NULL) == 0);
}

static void grab_names(void)
{
	static const char *const below[] = {"", ".new", "/class", "/class.new",
					    "/class/infiniband"};
	char path[200];

	raise_flag(&common->go);
	for (;;)
		for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
			snprintf(path, sizeof path, "%s%s", usual, below[i]);
			(void)mkdir(path, 0777);
		}
}

/* At each change of an address the tree is replaced: no moment of it gives the name away. */
static void replace__the_name_cannot_be_won(void **state)
{
	pid_t victim = user_start(VICTIM, make_trees), stranger;
	char path[200];

	(void)state;
	await(&common->ready);
	assert_string_equal(common->tree.root, usual);
	stranger = user_start(STRANGER, grab_names);
	assert_int_equal(user_end(victim), 0);
	kill(stranger, SIGKILL);
	(void)user_end(stranger);
	assert_true(is_of(usual, VICTIM));
	snprintf(path, sizeof path, "%s/class/infiniband/verbena0/node_type", usual);
	assert_true(is_of(path, VICTIM));
}

static void take_names(void)
{
	char path[200];

	/* In one directory a folder with all in it that a tree has, in the other a FIFO. */
	MUST(mkdir(usual, 0777) == 0 && chmod(usual, 0777) == 0);
	snprintf(path, sizeof path, "%s/class", usual);
	MUST(mkdir(path, 0777) == 0);
	snprintf(path, sizeof path, "/tmp/%s", strrchr(usual, '/') + 1);
	MUST(mkfifo(path, 0666) == 0);
}

static void make_tree_elsewhere(void)
{
	struct vb_sysfs *t = &common->tree;
	struct stat st;

	(void)alarm(10);
	vb_sysfs_init(t);
	MUST(t->root_fd >= 0 && strcmp(t->root, usual) != 0);
	MUST(fstat(t->root_fd, &st) == 0 && st.st_uid == VICTIM && (st.st_mode & 0777) == 0700);
	MUST(vb_sysfs_publish(t, &host, total, NULL) == 0);
	total[1].v[0]++;
	vb_sysfs_counters(t, &host, 0, &total[1]);
	vb_sysfs_remove(t);
	MUST(stat(t->root, &st) == -1);
}

/* The tree has another name then, and the reason names the path and the owner. */
static void init__the_names_are_taken(void **state)
{
	(void)state;
	assert_int_equal(user_run(STRANGER, take_names), 0);
	assert_int_equal(user_run(VICTIM, make_tree_elsewhere), 0);
	assert_non_null(strstr(common->tree.note, usual));
	assert_non_null(strstr(common->tree.note, "of user 1002"));
	assert_true(is_of(usual, STRANGER)); /* nothing of it is taken away */
}

static void make_folder(void)
{
	(void)umask(0);
	MUST(mkdir(usual, 0755) == 0);
}

static void make_folder_for_all(void)
{
	(void)umask(0);
	MUST(mkdir(usual, 0777) == 0);
}

/* Root could do as it likes with a stranger's folder; it is the stranger's all the same. So is one
 * of our own that everybody could write to. */
static void init__a_folder_of_another_and_one_for_all(void **state)
{
	struct vb_sysfs t;
	struct stat ns;

	(void)state;
	assert_int_equal(user_run(VICTIM, make_folder_for_all), 0);
	assert_int_equal(user_run(VICTIM, make_tree_elsewhere), 0);
	assert_int_equal(stat("/proc/self/ns/net", &ns), 0);
	snprintf(usual, sizeof usual, "/dev/shm/verbena-0-%llu", (unsigned long long)ns.st_ino);
	assert_int_equal(user_run(STRANGER, make_folder), 0);
	vb_sysfs_init(&t);
	assert_string_not_equal(t.root, usual);
	assert_non_null(strstr(t.note, "of user 1002"));
	vb_sysfs_remove(&t);
	assert_true(is_of(usual, STRANGER));
}

static void put_fifos(void)
{
	char path[300];
	struct vb_sysfs t;

	(void)alarm(10);
	vb_sysfs_init(&t);
	MUST(vb_sysfs_publish(&t, &host, total, NULL) == 0);
	snprintf(path, sizeof path, "%s/class/infiniband/verbena0/ports/1/counters/%s", t.root,
		 vb_counter_info[VB_COUNTER_port_xmit_packets].name);
	MUST(unlink(path) == 0 && mkfifo(path, 0666) == 0);
	total[1].v[VB_COUNTER_port_xmit_packets]++;
	vb_sysfs_counters(&t, &host, 0, &total[1]);
	snprintf(path, sizeof path, "%s/class.new", t.root);
	MUST(mkfifo(path, 0666) == 0);
	MUST(vb_sysfs_publish(&t, &host, total, NULL) == 0);
	vb_sysfs_remove(&t);
}

/* A FIFO in the tree, which only its user or root can have put there, is not waited for. */
static void publish__a_fifo_is_not_waited_for(void **state)
{
	(void)state;
	assert_int_equal(user_run(VICTIM, put_fifos), 0);
}

static void serve(void)
{
	(void)vb_broker_main();
}

static const char *const folder = "class/infiniband/verbena0/cc_params";

/* Writes @value to a setting in the tree @root. */
static void write_setting(const char *root, const char *value)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s/rp_dce_tcp_g", root, folder);
	f = fopen(path, "w");
	MUST(f && fputs(value, f) >= 0 && fclose(f) == 0);
}

/* Makes the tree before the broker comes, and writes to it when there is one. */
static void set_as_stranger(void)
{
	char path[400];

	(void)umask(0);
	MUST(mkdir(usual, 0777) == 0);
	for (const char *p = folder; p; p = strchr(p + 1, '/')) {
		size_t len = strcspn(p + 1, "/");

		snprintf(path, sizeof path, "%s/%.*s", usual, (int)(p + 1 + len - folder), folder);
		MUST(mkdir(path, 0777) == 0);
	}
	raise_flag(&common->ready);
	await(&common->go);
	for (int i = 0; i < 20; i++) {
		write_setting(usual, "77\n");
		(void)poll(NULL, 0, 5);
	}
}

static uint64_t setting(const struct vb_broker_observer *o)
{
	const struct vb_cc_name *n = vb_cc_name_find("rp_dce_tcp_g", strlen("rp_dce_tcp_g"));

	return n->get(&vb_adapter_state(vb_broker_adapter(o))->pf[0].reg.cc);
}

static void set_as_owner(void)
{
	struct vb_broker_observer o;
	int rc, ms = 0;

	while ((rc = vb_broker_observe(&o, false, broker_why, sizeof broker_why)) ==
		   -ECONNREFUSED &&
	       ms++ < BROKER_PATIENCE_MS)
		(void)poll(NULL, 0, 1);
	MUST(rc == 0);
	MUST(strcmp(o.host->sysfs_path, usual) != 0 && strstr(o.host->sysfs_note, usual));
	uint32_t before = vb_broker_adapter(&o)->generation;
	raise_flag(&common->go);
	await(&common->done);
	MUST(vb_broker_adapter(&o)->generation == before);
	/* Where the settings are, a number that is written is taken over. */
	write_setting(o.host->sysfs_path, "55\n");
	for (ms = 0; vb_broker_adapter(&o)->generation == before && ms < BROKER_PATIENCE_MS; ms++)
		(void)poll(NULL, 0, 1);
	MUST(setting(&o) == 55 && vb_broker_adapter(&o)->generation == before + 1);
	vb_broker_observe_end(&o);
}

static void settings__a_strangers_tree_changes_none(void **state)
{
	pid_t broker, owner;

	(void)state;
	common->stranger = user_start(STRANGER, set_as_stranger);
	await(&common->ready);
	broker = user_start(VICTIM, serve);
	owner = user_start(VICTIM, set_as_owner);
	assert_int_equal(user_end(common->stranger), 0);
	raise_flag(&common->done);
	assert_int_equal(user_end(owner), 0);
	kill(broker, SIGKILL);
	(void)user_end(broker);
}

static void hold_name(int listens)
{
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, VICTIM);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	MUST(bind(fd, (struct sockaddr *)&a, len) == 0);
	MUST(!listens || listen(fd, 0) == 0);
	/* Connections until nobody else gets one in. */
	for (int rc = 0; listens == 2 && rc == 0;)
		rc = connect(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0),
			     (struct sockaddr *)&a, len);
	raise_flag(&common->ready);
	pause();
}

static void hold_deaf(void)
{
	hold_name(0);
}

static void hold_and_listen(void)
{
	hold_name(1);
}

static void hold_and_be_full(void)
{
	hold_name(2);
}

static void connect_in_vain(void)
{
	struct vb_broker_client c;

	/* The broker that is started finds its address taken. */
	setenv("VERBENA_BIN", "/bin/true", 1);
	(void)alarm(4);
	MUST(vb_broker_connect(&c, broker_why, sizeof broker_why) == -EACCES);
	MUST(strstr(broker_why, "@verbena/1001") && strstr(broker_why, "of user 1002"));
}

/* The user that has the broker's socket name, listening or not, is named; nobody waits for him. */
static void connect__the_name_is_taken(void **state)
{
	static void (*const hold[])(void) = {hold_deaf, hold_and_listen, hold_and_be_full};

	(void)state;
	for (size_t i = 0; i < sizeof hold / sizeof hold[0]; i++) {
		pid_t stranger;

		common->ready = 0;
		stranger = user_start(STRANGER, hold[i]);
		await(&common->ready);
		assert_int_equal(user_run(VICTIM, connect_in_vain), 0);
		kill(stranger, SIGKILL);
		(void)user_end(stranger);
	}
}

/* The port of RoCEv2, of somebody whose processes the victim cannot look into. */
static void hold_port(void)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(VB_ROCE_PORT)};
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	MUST(bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
	raise_flag(&common->ready);
	pause();
}

static void connect_and_be_refused(void)
{
	struct vb_broker_observer o;
	struct vb_broker_msg m;
	struct vb_fds fds;
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, VICTIM);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	for (int ms = 0; connect(fd, (struct sockaddr *)&a, len) && ms < BROKER_PATIENCE_MS; ms++)
		(void)poll(NULL, 0, 1);
	vb_broker_msg_init(&m, VB_BROKER_CLIENT);
	MUST(send(fd, &m, sizeof m, 0) == sizeof m);
	/* By the time that others are answered twice, so is this. */
	for (int i = 0; i < 2; i++) {
		MUST(vb_broker_observe(&o, false, broker_why, sizeof broker_why) == 0);
		vb_broker_observe_end(&o);
	}
	MUST(vb_broker_msg_recv(fd, &m, &fds, MSG_DONTWAIT) == 1);
	MUST(m.status == -EADDRINUSE && strstr(m.text, "user 1002"));
}

/* Processes of an earlier broker of one's own are waited for, for they will bring their sockets; a
 * process of another user never will. */
static void connect__the_port_is_a_strangers(void **state)
{
	pid_t broker, stranger = user_start(STRANGER, hold_port);

	(void)state;
	await(&common->ready);
	broker = user_start(VICTIM, serve);
	assert_int_equal(user_run(VICTIM, connect_and_be_refused), 0);
	kill(broker, SIGKILL);
	(void)user_end(broker);
	kill(stranger, SIGKILL);
	(void)user_end(stranger);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    T(replace__the_name_cannot_be_won),           T(init__the_names_are_taken),
	    T(init__a_folder_of_another_and_one_for_all), T(publish__a_fifo_is_not_waited_for),
	    T(settings__a_strangers_tree_changes_none),   T(connect__the_name_is_taken),
	    T(connect__the_port_is_a_strangers),
	};

	(void)argc;
	if (!two_users_enter(argv)) {
		fprintf(stderr, "there are no two users here: test skipped\n");
		return 77;
	}
	common =
	    mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return common == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
