/* SPDX-License-Identifier: BSD-2-Clause */
/* The public interface: version, devices and counters as a program outside sees them. */
#include "broker_env.h"
#include "descriptors.h"
#include "mappings.h"
#include "node/host/clock.h"
#include "verbena/verbena.h"

#include <linux/futex.h>
#include <linux/ipv6.h>
#include <sys/time.h>

static void version__of_header_and_library(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof text, "%d.%d.%d", VERBENA_VERSION_MAJOR, VERBENA_VERSION_MINOR,
		 VERBENA_VERSION_PATCH);
	assert_string_equal(verbena_version(), text);
	assert_string_equal(verbena_version(), TEST_VERSION);
}

static void devices__loopback(void **state)
{
	static const uint8_t localhost[16] = {[15] = 1};
	struct verbena_device dev[2];
	struct verbena *v;
	unsigned before, mapped;

	(void)state;
	before = descriptors_of(getpid());
	mapped = mappings_of("verbena-");
	assert_int_equal(verbena_open(&v, broker_why, sizeof broker_why), 0);
	memset(dev, 0xff, sizeof dev);
	assert_int_equal(verbena_devices(v, dev, 0), 1);
	assert_int_equal((uint8_t)dev[0].name[0], 0xff);
	assert_int_equal(verbena_devices(v, dev, 2), 1);
	assert_string_equal(dev[0].name, "verbena0");
	assert_string_equal(dev[0].netdev, "lo");
	assert_int_equal(dev[0].active_mtu, 4096);
	assert_int_equal(dev[0].is_active, 1);
	assert_memory_equal(dev[0].gid[1], localhost, 16);
	verbena_close(v);
	verbena_close(NULL);
	assert_int_equal(descriptors_of(getpid()), before);
	assert_int_equal(mappings_of("verbena-"), mapped);
}

/* Gives "lo" the addresses 2001:db8::1 to 2001:db8::@cnt, or takes them away. */
static void change_addresses(uint8_t cnt, bool add)
{
	struct in6_ifreq r = {.ifr6_prefixlen = 128, .ifr6_ifindex = (int)if_nametoindex("lo")};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET6, "2001:db8::", &r.ifr6_addr), 1);
	for (uint8_t i = 1; i <= cnt; i++) {
		r.ifr6_addr.s6_addr[15] = i;
		assert_int_equal(ioctl(fd, add ? SIOCSIFADDR : SIOCDIFADDR, &r), 0);
	}
	close(fd);
}

/* A device shows all of its table entry, up to its last address. */
static void devices__as_the_table_has_them(void **state)
{
	static const uint8_t none[16];
	struct verbena_device dev[1];
	struct vb_broker_observer o;
	struct verbena *v;

	(void)state;
	change_addresses(VB_GIDS_MAX, true);
	assert_int_equal(verbena_open(&v, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	for (int ms = 0; o.host->device[0].gid[VB_GIDS_MAX - 1].type == 0; ms++) {
		assert_true(ms < BROKER_PATIENCE_MS);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(verbena_devices(v, dev, 1), 1);

	const struct vb_device *d = &o.host->device[0];

	assert_int_equal(dev[0].ifindex, if_nametoindex("lo"));
	assert_int_not_equal(dev[0].guid, 0);
	assert_true(dev[0].guid == d->guid);
	assert_int_equal(dev[0].netdev_mtu, d->netdev_mtu);
	assert_int_equal(dev[0].speed_mbps, d->speed_mbps);
	for (int k = 0; k < VB_GIDS_MAX; k++)
		assert_memory_equal(dev[0].gid[k], d->gid[k].gid.b, 16);
	assert_memory_not_equal(dev[0].gid[VB_GIDS_MAX - 1], none, 16);
	vb_broker_observe_end(&o);
	verbena_close(v);
	change_addresses(VB_GIDS_MAX, false);
}

static uint64_t value(struct verbena *v, const char *name)
{
	struct verbena_counter c[VB_COUNTER_CNT];

	assert_int_equal(verbena_counters(v, "verbena0", c, VB_COUNTER_CNT), VB_COUNTER_CNT);
	for (int i = 0; i < VB_COUNTER_CNT; i++)
		if (strcmp(c[i].name, name) == 0)
			return c[i].value;
	fail();
	return 0;
}

static void counters__live_and_past(void **state)
{
	struct vb_broker_client c = client_connect();
	struct verbena *v;

	(void)state;
	assert_int_equal(verbena_open(&v, broker_why, sizeof broker_why), 0);
	assert_int_equal(verbena_counters(v, "verbena7", NULL, 0), -ENODEV);
	assert_int_equal(value(v, "rx_read_requests"), 0);
	vb_count_add(&c.shm->counters[1], VB_COUNTER_rx_read_requests, 7);
	assert_int_equal(value(v, "rx_read_requests"), 7);
	vb_broker_disconnect(&c);
	assert_int_equal(value(v, "rx_read_requests"), 7);
	verbena_close(v);
}

/* Totals are of each port, the last one too. */
static void totals__of_every_port(void **state)
{
	static struct vb_counters total[VB_HCA_PORTS_MAX + 1];
	uint64_t was[VB_HCA_PORTS_MAX + 1];
	struct vb_broker_client c = client_connect();
	struct vb_broker_observer o;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	vb_broker_totals(&o, total);
	for (int port = 1; port <= VB_HCA_PORTS_MAX; port++)
		was[port] = total[port].v[VB_COUNTER_rx_read_requests];
	for (int port = 1; port <= VB_HCA_PORTS_MAX; port++)
		vb_count_add(&c.shm->counters[port], VB_COUNTER_rx_read_requests, (uint64_t)port);
	for (int i = 0; i < 2; i++) {
		memset(total, 0, sizeof total);
		vb_broker_totals(&o, total);
		for (int port = 1; port <= VB_HCA_PORTS_MAX; port++)
			assert_int_equal(total[port].v[VB_COUNTER_rx_read_requests] - was[port],
					 port);
		if (i == 0)
			vb_broker_disconnect(&c);
	}
	vb_broker_observe_end(&o);
}

/* CC-07: the interrupt of CNPs, seen from outside, once or as several; and it wakes who waits. */
static void cnp__wakes_who_waits(void **state)
{
	vb_time begin;
	struct vb_broker_client c = client_connect();
	uint32_t count = 0, qpn = 0;
	struct verbena *v;
	int status = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(verbena_open(&v, broker_why, sizeof broker_why), 0);
	assert_int_equal(verbena_wait_cnp(v, "verbena7", &count, &qpn, -1), -ENODEV);
	assert_int_equal(verbena_wait_cnp(v, "verbena0", &count, &qpn, 0), 0);
	vb_cnp_ring(&c.bell[0], 0x123);
	vb_cnp_ring(&c.bell[0], 0x456);
	vb_cnp_ring(&c.bell[1], 0x789); /* another device */
	assert_int_equal(verbena_wait_cnp(v, "verbena0", &count, &qpn, -1), 1);
	assert_int_equal(count, 2);
	assert_int_equal(qpn, 0x456);
	begin = vb_clock_now();
	assert_int_equal(verbena_wait_cnp(v, "verbena0", &count, &qpn, 60), 0);
	assert_true(vb_clock_now() - begin >= 60 * VB_MSEC);
	assert_int_equal(qpn, 0x456);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(verbena_wait_cnp(v, "verbena0", &count, &qpn, -1) == 1 && qpn == 9 ? 0 : 1);
	vb_cnp_ring(&c.bell[0], 9);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	verbena_close(v);
	vb_broker_disconnect(&c);
}

/* CC-07: a CNP wakes who waits at once, and not only at the next look after the broker. */
static void cnp__wakes_at_once(void **state)
{
	struct vb_broker_client c = client_connect();
	const struct timespec patience = {BROKER_PATIENCE_MS / 1000, 0};
	uint32_t *cnt = &c.bell[0].cnt;
	int status = 0;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		long rc;

		do {
			rc = syscall(SYS_futex, cnt, FUTEX_WAIT,
				     __atomic_load_n(cnt, __ATOMIC_RELAXED), &patience, NULL, 0);
		} while (rc < 0 && errno == EAGAIN); /* there was one before it slept */
		_exit(rc == 0 ? 0 : 1);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		vb_cnp_ring(&c.bell[0], 9);
		(void)poll(NULL, 0, 10);
	}
	assert_int_equal(status, 0);
	vb_broker_disconnect(&c);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* A signal ends the wait: the program has something else to do. */
static void cnp__wait_is_interrupted(void **state)
{
	const struct itimerval often = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
	const struct sigaction handler = {.sa_handler = on_alarm};
	struct vb_broker_client c = client_connect();
	uint32_t count = 0, qpn = 0;
	struct sigaction old;
	struct verbena *v;
	int rc;

	(void)state;
	assert_int_equal(verbena_open(&v, broker_why, sizeof broker_why), 0);
	assert_int_equal(sigaction(SIGALRM, &handler, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	do /* the first time for what came before */
		rc = verbena_wait_cnp(v, "verbena0", &count, &qpn, BROKER_PATIENCE_MS);
	while (rc == 1);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
	assert_int_equal(rc, -EINTR);
	verbena_close(v);
	vb_broker_disconnect(&c);
}

/* Of several devices each has its own entry, counters and CNPs; no more is written than there is
 * room for. */
static void devices__the_second_one(void **state)
{
	struct vb_broker_client c = client_connect();
	struct verbena_counter cnt[2] = {{.name = "none"}, {.name = "none"}};
	struct verbena_device dev[3];
	struct vb_broker_observer o;
	uint32_t count = 0, qpn = 0, was;
	struct verbena *v;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_stay(&o, true, 1), 0);
	assert_int_equal(verbena_open(&v, broker_why, sizeof broker_why), 0);
	memset(dev, 0xff, sizeof dev);
	assert_int_equal(verbena_devices(v, dev, 1), 2);
	assert_string_equal(dev[0].name, "verbena0");
	assert_int_equal((uint8_t)dev[1].name[0], 0xff);
	assert_int_equal(verbena_devices(v, dev, 3), 2);
	assert_string_equal(dev[1].name, "verbena0v1");
	assert_string_equal(dev[1].netdev, "lo");
	assert_int_equal((uint8_t)dev[2].name[0], 0xff);
	vb_count_add(&c.shm->counters[1], (enum vb_counter_id)0, 5);
	vb_count_add(&c.shm->counters[2], (enum vb_counter_id)0, 7);
	assert_int_equal(verbena_counters(v, "verbena0v1", cnt, 1), VB_COUNTER_CNT);
	assert_int_equal(cnt[0].value, 7);
	assert_string_equal(cnt[0].name, vb_counter_info[0].name);
	assert_string_equal(cnt[0].text, vb_counter_info[0].text);
	assert_string_equal(cnt[1].name, "none");
	(void)verbena_wait_cnp(v, "verbena0v1", &count, &qpn, 0);
	was = count;
	vb_cnp_ring(&c.bell[0], 0x111);
	vb_cnp_ring(&c.bell[1], 0x222);
	vb_cnp_ring(&c.bell[1], 0x333);
	assert_int_equal(verbena_wait_cnp(v, "verbena0v1", &count, &qpn, BROKER_PATIENCE_MS), 1);
	assert_int_equal(count, was + 2);
	assert_int_equal(qpn, 0x333);
	assert_int_equal(vb_broker_stay(&o, false, 0), 0);
	vb_broker_observe_end(&o);
	verbena_close(v);
	vb_broker_disconnect(&c);
}

static void view__broker_killed(void **state)
{
	struct verbena_device dev[1];
	struct verbena *v;
	struct vb_broker_observer o;
	uint32_t cnt = 0, qpn;

	(void)state;
	assert_int_equal(verbena_open(&v, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	pid_t pid = (pid_t)o.host->broker_pid;
	(void)vb_broker_wait_cnp(&o, 0, &cnt, &qpn, 0);
	kill(pid, SIGKILL);
	assert_true(process_ends(pid));
	/* An observer that waits for CNPs does not wait for a dead broker. */
	assert_int_equal(vb_broker_wait_cnp(&o, 0, &cnt, &qpn, BROKER_PATIENCE_MS), -ECONNRESET);
	vb_broker_observe_end(&o);
	assert_int_equal(verbena_devices(v, dev, 1), -ECONNRESET);
	assert_int_equal(verbena_counters(v, "verbena0", NULL, 0), -ECONNRESET);
	verbena_close(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(version__of_header_and_library),
	    cmocka_unit_test(devices__loopback),
	    cmocka_unit_test(devices__as_the_table_has_them),
	    cmocka_unit_test(counters__live_and_past),
	    cmocka_unit_test(totals__of_every_port),
	    cmocka_unit_test(cnp__wakes_who_waits),
	    cmocka_unit_test(cnp__wait_is_interrupted),
	    cmocka_unit_test(cnp__wakes_at_once),
	    cmocka_unit_test(devices__the_second_one),
	    cmocka_unit_test(view__broker_killed),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
