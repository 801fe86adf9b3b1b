/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker as a process that outlives the program that started it: what it has of that program,
 * what it keeps open, and when it gives up the adapter.
 */
#include "broker_env.h"
#include "descriptors.h"
#include "node/shared/adapter.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ipv6.h>
#include <sys/resource.h>

/* Nothing is preloaded into the broker, whatever the program was started with. */
static void spawn__without_preload(void **state)
{
	char path[64], text[65536];
	struct vb_broker_client c;
	ssize_t n, at = 0;
	bool is_empty = true;
	int fd;

	(void)state;
	setenv("LD_PRELOAD", "/nonexistent/libpreload.so", 1);
	setenv("VERBENA_TEST_MARK", "1", 1);
	c = client_connect();
	unsetenv("LD_PRELOAD");
	unsetenv("VERBENA_TEST_MARK");
	snprintf(path, sizeof path, "/proc/%d/environ", (int)c.host->broker_pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	n = read(fd, text, sizeof text - 1);
	close(fd);
	assert_true(n > 0);
	text[n] = 0;
	for (; at < n; at += (ssize_t)strlen(text + at) + 1) {
		assert_int_not_equal(strncmp(text + at, "LD_PRELOAD=", 11), 0);
		is_empty &= strcmp(text + at, "VERBENA_TEST_MARK=1") != 0;
	}
	assert_false(is_empty); /* the rest of the environment is there */
	vb_broker_disconnect(&c);
}

/* Fault rules of the program that happens to start the broker are not those of the broker's QP. */
static void spawn__without_rules_of_the_program(void **state)
{
	struct vb_broker_observer o;
	struct vb_broker_client c;

	(void)state;
	setenv("VERBENA_FAULT", "loss=0.5", 1);
	c = client_connect();
	unsetenv("VERBENA_FAULT");
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	assert_non_null(o.slot[VB_SLOT_GSI]);
	assert_int_equal(o.slot[VB_SLOT_GSI]->pid, c.host->broker_pid);
	assert_string_equal(o.slot[VB_SLOT_GSI]->fault[0].rules.text, "");
	vb_broker_observe_end(&o);
	vb_broker_disconnect(&c);
}

/* Gives "lo" the address 2001:db8::1, or takes it away, and waits until the broker has seen it. */
static void change_address(const struct vb_broker_client *c, bool add)
{
	struct in6_ifreq r = {.ifr6_prefixlen = 128, .ifr6_ifindex = (int)if_nametoindex("lo")};
	uint32_t was = __atomic_load_n(&c->host->generation, __ATOMIC_ACQUIRE);
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), ms;

	assert_int_equal(inet_pton(AF_INET6, "2001:db8::1", &r.ifr6_addr), 1);
	assert_int_equal(ioctl(fd, add ? SIOCSIFADDR : SIOCDIFADDR, &r), 0);
	close(fd);
	for (ms = 0; ms < BROKER_PATIENCE_MS; ms++) {
		if (__atomic_load_n(&c->host->generation, __ATOMIC_ACQUIRE) != was)
			return;
		(void)poll(NULL, 0, 1);
	}
	fail_msg("the broker has not seen the address");
}

/* A program that the broker starts gets no descriptor of it. */
static void descriptors__close_on_exec(void **state)
{
	struct vb_broker_client c = client_connect();
	char path[300], line[128];
	unsigned cnt = 0;
	struct dirent *entry;
	DIR *d;

	(void)state;
	snprintf(path, sizeof path, "/proc/%u/fdinfo", c.host->broker_pid);
	d = opendir(path);
	assert_non_null(d);
	while ((entry = readdir(d))) {
		unsigned flags = 0;
		FILE *f;

		if (atoi(entry->d_name) <= STDERR_FILENO)
			continue;
		snprintf(path, sizeof path, "/proc/%u/fdinfo/%s", c.host->broker_pid,
			 entry->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		while (fgets(line, sizeof line, f) && sscanf(line, "flags: %o", &flags) != 1)
			continue;
		fclose(f);
		if (!(flags & O_CLOEXEC))
			fail_msg("descriptor %s", entry->d_name);
		cnt++;
	}
	closedir(d);
	assert_true(cnt > 5);
	vb_broker_disconnect(&c);
}

/* Each change of an address makes the tree anew, and no descriptor stays open for it. */
static void refresh__leaves_no_descriptors(void **state)
{
	struct vb_broker_client c = client_connect();
	pid_t pid = (pid_t)c.host->broker_pid;
	struct vb_broker_observer o;
	unsigned before;

	(void)state;
	change_address(&c, true);
	before = descriptors_of(pid);
	for (int i = 0; i < 10; i++)
		change_address(&c, i % 2);
	/* An answer comes after everything that the last change has brought. */
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	vb_broker_observe_end(&o);
	assert_uint_in_range(descriptors_of(pid), 0, before + 1);
	vb_broker_disconnect(&c);
}

/* A program that cannot come back to the broker tries again and again: no try leaves anything. */
static void return__that_fails_leaves_no_descriptors(void **state)
{
	struct vb_broker_client c = client_connect();
	int fd_store = c.fd_store;
	unsigned before;

	(void)state;
	close(c.sock);
	c.sock = -1;
	c.fd_store = INT_MAX; /* it cannot be handed on */
	before = descriptors_of(getpid());
	for (int i = 0; i < 3; i++) {
		c.retry_ns = 0;
		assert_int_equal(vb_broker_check(&c), -EBADF);
	}
	assert_int_equal(descriptors_of(getpid()), before);
	c.fd_store = fd_store;
	vb_broker_disconnect(&c);
}

/* A history that did not end well, for which the broker stays when its clients have gone. */
static void tell_of_trouble(struct vb_broker_client *c)
{
	struct vb_qp_history *t = vb_qp_histories_new(&c->shm->explain.histories, c->slot);

	t->state = VB_QP_HISTORY_FAILED;
	t->at = 1;
}

/* True once nobody has UDP port 4791. */
static bool port_gets_free(void)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(VB_ROCE_PORT)};

	for (int ms = 0; ms < BROKER_PATIENCE_MS; ms += 10) {
		int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		bool is_free = bind(fd, (struct sockaddr *)&a, sizeof a) == 0;

		close(fd);
		if (is_free)
			return true;
		(void)poll(NULL, 0, 10);
	}
	return false;
}

/* A broker that has histories to tell gives up the adapter while nobody uses it, every time anew.
 */
static void rest__again_after_each_client(void **state)
{
	struct vb_broker_client c = client_connect();
	pid_t pid = (pid_t)c.host->broker_pid;

	(void)state;
	tell_of_trouble(&c);
	vb_broker_disconnect(&c);
	for (int i = 0; i < 2; i++) {
		assert_true(port_gets_free());
		assert_int_equal(kill(pid, 0), 0);
		c = client_connect();
		assert_int_equal(c.host->broker_pid, pid);
		assert_steered(&c, 1);
		vb_broker_disconnect(&c);
	}
	assert_true(port_gets_free());
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_true(process_ends(pid));
}

/* A broker in a child of the test's, which sees how it ends. */
static pid_t broker_start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(vb_broker_main());
	for (int ms = 0; ms < BROKER_PATIENCE_MS; ms++) {
		struct vb_broker_observer o;

		if (vb_broker_observe(&o, false, broker_why, sizeof broker_why) == 0) {
			vb_broker_observe_end(&o);
			return pid;
		}
		(void)poll(NULL, 0, 1);
	}
	fail_msg("no broker: %s", broker_why);
	return -1;
}

/* One that has histories to tell, and no descriptors for a host memory without the adapter, ends in
 * good order. */
static void rest__without_descriptors(void **state)
{
	pid_t pid = broker_start();
	struct vb_broker_client c = client_connect();
	const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
	int status;

	(void)state;
	assert_int_equal(c.host->broker_pid, pid);
	tell_of_trouble(&c);
	assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &none, NULL), 0);
	vb_broker_disconnect(&c);
	assert_true(process_ends(pid));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(port_gets_free());
}

/* Violations that one process has counted are told to all: ibv_query_port() adds those of others.
 */
static void counters__violations_are_of_the_port(void **state)
{
	struct vb_broker_client c = client_connect();
	const struct vb_port_violations *v = &c.host->violations[1];

	(void)state;
	vb_count_add(&c.shm->counters[1], VB_COUNTER_port_rcv_constraint_errors, 5);
	vb_count_add(&c.shm->counters[1], VB_COUNTER_qkey_viol_cntr, 7);
	for (int ms = 0; ms < BROKER_PATIENCE_MS; ms++) {
		if (__atomic_load_n(&v->bad_pkey, __ATOMIC_RELAXED) &&
		    __atomic_load_n(&v->bad_qkey, __ATOMIC_RELAXED))
			break;
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(v->bad_pkey, 5);
	assert_int_equal(v->bad_qkey, 7);
	vb_broker_disconnect(&c);
}

/* Each test begins without a broker. */
static int end_broker(void **state)
{
	struct vb_broker_observer o;
	char why[256];

	(void)state;
	if (vb_broker_observe(&o, false, why, sizeof why))
		return 0;

	pid_t pid = (pid_t)o.host->broker_pid;

	kill(pid, SIGTERM);
	vb_broker_observe_end(&o);
	return process_ends(pid) ? 0 : -1;
}

/* However it is told to end, it takes its tree along. */
static void end__by_each_signal(void **state)
{
	static const int sig[] = {SIGTERM, SIGINT, SIGHUP};

	(void)state;
	for (size_t i = 0; i < sizeof sig / sizeof sig[0]; i++) {
		struct vb_broker_client c = client_connect();
		pid_t pid = (pid_t)c.host->broker_pid;
		char path[sizeof c.host->sysfs_path];

		snprintf(path, sizeof path, "%s", c.host->sysfs_path);
		assert_int_equal(access(path, F_OK), 0);
		vb_broker_disconnect(&c);
		kill(pid, sig[i]);
		assert_true(process_ends(pid));
		assert_int_equal(access(path, F_OK), -1);
	}
}

/* A broker that is told to end takes the adapter that was to stay along only when no program uses
 * it: with one, the next broker finds it as it was. */
static void end__with_a_program_keeps_the_adapter(void **state)
{
	struct vb_broker_observer o;
	struct vb_broker_client c = client_connect();
	pid_t pid = (pid_t)c.host->broker_pid;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_stay(&o, true, 0), 0);
	vb_broker_observe_end(&o);
	kill(pid, SIGTERM);
	assert_true(process_ends(pid));
	for (int ms = 0; (pid_t)c.host->broker_pid == pid && ms < BROKER_PATIENCE_MS; ms++) {
		(void)vb_broker_check(&c);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_adapter_state(vb_broker_adapter(&o))->is_kept, 1);
	assert_int_equal(vb_broker_stay(&o, false, 0), 0);
	vb_broker_observe_end(&o);
	vb_broker_disconnect(&c);
}

/* The keeper of the broker @broker; 0: there is none. */
static pid_t keeper_of(pid_t broker)
{
	struct dirent *entry;
	pid_t found = 0;
	DIR *d = opendir("/proc");

	assert_non_null(d);
	while (!found && (entry = readdir(d))) {
		char path[300], comm[32];
		int pid, parent;
		FILE *f;

		snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%d (%31[^)]) %*c %d", &pid, comm, &parent) == 3 &&
		    (pid_t)parent == broker && strcmp(comm, "verbena-keeper") == 0)
			found = (pid_t)pid;
		fclose(f);
	}
	closedir(d);
	return found;
}

/* There is a keeper while the adapter is kept, and no longer. */
static void keeper__is_there_while_the_adapter_is_kept(void **state)
{
	struct vb_broker_client c = client_connect();
	pid_t broker = (pid_t)c.host->broker_pid, keeper = 0;
	struct vb_broker_observer o;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_stay(&o, true, 0), 0);
	for (int ms = 0; !keeper && ms < BROKER_PATIENCE_MS; ms += 10) {
		keeper = keeper_of(broker);
		(void)poll(NULL, 0, 10);
	}
	assert_int_not_equal(keeper, 0);
	assert_int_equal(vb_broker_stay(&o, false, 0), 0);
	assert_true(process_ends(keeper));
	vb_broker_observe_end(&o);
	vb_broker_disconnect(&c);
}

/* Sends a first message of another version; returns the broker's answer, or an empty one: it hung
 * up. */
static struct vb_broker_msg ask_as_other_version(enum vb_broker_op op)
{
	struct vb_broker_msg m, answer = {.magic = 0};
	int fd = raw_connect();

	vb_broker_msg_init(&m, op);
	m.version++;
	assert_true(send(fd, &m, sizeof m, MSG_NOSIGNAL) == sizeof m);
	assert_true(recv(fd, &answer, sizeof answer, 0) >= 0);
	close(fd);
	return answer;
}

/* A broker that stays for its histories gives way to a program of another version. While somebody
 * uses it, or the adapter is kept, it does not; nor to who only looks. */
static void broker__gives_way_to_another_version(void **state)
{
	struct vb_broker_observer o;
	struct vb_broker_client c = client_connect();
	pid_t pid = (pid_t)c.host->broker_pid;

	(void)state;
	assert_non_null(strstr(ask_as_other_version(VB_BROKER_CLIENT).text, "have ended"));
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_stay(&o, true, 0), 0);
	vb_broker_disconnect(&c);
	assert_non_null(strstr(ask_as_other_version(VB_BROKER_CLIENT).text, "keeps the adapter"));
	assert_int_equal(vb_broker_stay(&o, false, 0), 0);
	assert_non_null(strstr(ask_as_other_version(VB_BROKER_OBSERVER).text, "ten minutes"));
	assert_int_equal(ask_as_other_version(VB_BROKER_CM).magic, 0);
	/* An observer would keep it. */
	assert_true(process_ends(pid));
	vb_broker_observe_end(&o);
	c = client_connect();
	assert_int_not_equal(c.host->broker_pid, pid);
	vb_broker_disconnect(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(spawn__without_preload, end_broker),
	    cmocka_unit_test_teardown(spawn__without_rules_of_the_program, end_broker),
	    cmocka_unit_test_teardown(descriptors__close_on_exec, end_broker),
	    cmocka_unit_test_teardown(refresh__leaves_no_descriptors, end_broker),
	    cmocka_unit_test_teardown(return__that_fails_leaves_no_descriptors, end_broker),
	    cmocka_unit_test_teardown(counters__violations_are_of_the_port, end_broker),
	    cmocka_unit_test_teardown(rest__again_after_each_client, end_broker),
	    cmocka_unit_test_teardown(rest__without_descriptors, end_broker),
	    cmocka_unit_test(end__by_each_signal),
	    cmocka_unit_test(end__with_a_program_keeps_the_adapter),
	    cmocka_unit_test_teardown(keeper__is_there_while_the_adapter_is_kept, end_broker),
	    cmocka_unit_test(broker__gives_way_to_another_version),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
