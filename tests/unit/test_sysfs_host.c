/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The facts that the tree takes over from the host: where a network device is, and which processors
 * there are, in both of the kernel's forms. The host's files are the test's own here.
 * node/sysfs/pci.h, Documentation/ABI/testing/sysfs-bus-pci
 */
#include "cmocka_env.h"
#include "descriptors.h"
#include "node/sysfs/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define ONLINE "/sys/devices/system/cpu/online"
#define NETDEVS "/sys/class/net"

static char base[] = "/dev/shm/verbena-test-XXXXXX", online[64];
static struct vb_sysfs tree;
static struct vb_host_shm host;
static struct vb_counters total[VB_HCA_PORTS_MAX + 1];

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int setup(void **state)
{
	(void)state;
	memset(&host, 0, sizeof host);
	memset(total, 0, sizeof total);
	host.device_cnt = 2;
	for (unsigned i = 0; i < 2; i++) {
		struct vb_device *d = &host.device[i];

		*d = (struct vb_device){.ifindex = i + 2, .netdev_mtu = 1500, .is_up = 1};
		snprintf(d->name, sizeof d->name, "verbena%u", i);
		snprintf(d->ifname, sizeof d->ifname, "test%u", i);
	}
	vb_sysfs_init(&tree);
	return tree.root_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	vb_sysfs_remove(&tree);
	return 0;
}

/* Text of a file of device @i's PCI function. */
static const char *function_file(unsigned i, const char *name)
{
	static char text[512];
	char path[512];
	int fd;
	ssize_t n;

	snprintf(path, sizeof path, "%s/class/infiniband/verbena%u/device/%s", tree.root, i, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return "(none)";
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return text;
}

static void publish(void)
{
	unsigned before = descriptors_of(getpid());

	assert_int_equal(vb_sysfs_publish(&tree, &host, total, NULL), 0);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A device without a place of its own is near to all processors there are, as a list and as bits,
 * 32 to a word, the highest first. */
static void place__is_all_processors(void **state)
{
	static const struct {
		const char *list, *mask;
	} rows[] = {
	    {"0", "1\n"},
	    {"0-1", "3\n"},
	    {"0-3", "f\n"},
	    {"1,3", "a\n"},
	    {"0-2,5,32-34,64", "1,00000007,00000027\n"},
	    {"0-31", "ffffffff\n"},
	    {"0-32", "1,ffffffff\n"},
	    {"31-32", "1,80000000\n"},
	    {"5-7,0", "e1\n"},
	    {"96", "1,00000000,00000000,00000000\n"},
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		snprintf(text, sizeof text, "%s\n", rows[i].list);
		write_text(online, text);
		publish();
		assert_string_equal(function_file(0, "local_cpulist"), text);
		assert_string_equal(function_file(0, "local_cpus"), rows[i].mask);
		assert_string_equal(function_file(1, "local_cpus"), rows[i].mask);
		assert_string_equal(function_file(0, "numa_node"), "-1\n");
	}
}

/* Processors beyond those that a mask has are left out, and a mask that has no room is cut. */
static void place__has_a_bound(void **state)
{
	(void)state;
	write_text(online, "0,1023-1030\n");
	publish();
	assert_int_equal(strncmp(function_file(0, "local_cpus"), "80000000,00000000,", 18), 0);
	write_text(online, "2000-2001\n");
	publish();
	assert_string_equal(function_file(0, "local_cpus"), "0\n");
	write_text(online, "0-4294967295\n");
	publish();
	assert_int_equal(strncmp(function_file(0, "local_cpus"), "ffffffff,ffffffff,", 18), 0);
	assert_true(strlen(function_file(0, "local_cpus")) <= 200);
}

/* The kernel's files about the network device's place count, each by itself; of each the first
 * line. */
static void place__is_that_of_the_network_device(void **state)
{
	(void)state;
	assert_int_equal(mkdir(NETDEVS "/test1", 0755), 0);
	assert_int_equal(mkdir(NETDEVS "/test1/device", 0755), 0);
	write_text(NETDEVS "/test1/device/numa_node", "1\nmore\n");
	write_text(NETDEVS "/test1/device/local_cpulist", "4-7\n");
	write_text(NETDEVS "/test1/device/local_cpus", "f0");
	write_text(online, "0-1\n");
	publish();
	assert_string_equal(function_file(1, "numa_node"), "1\n");
	assert_string_equal(function_file(1, "local_cpulist"), "4-7\n");
	assert_string_equal(function_file(1, "local_cpus"), "f0\n");
	assert_string_equal(function_file(0, "numa_node"), "-1\n");
	assert_string_equal(function_file(0, "local_cpulist"), "0-1\n");
	assert_string_equal(function_file(0, "local_cpus"), "3\n");
	write_text(NETDEVS "/test1/device/numa_node", "");
	publish();
	assert_string_equal(function_file(1, "numa_node"), "-1\n");
}

static const char *port_file(unsigned i, const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "infiniband/verbena%u/ports/1/%s", i, name);
	return function_file(i, path);
}

/* Each device has its own counters, of its own HCA port, whether the tree is made or they are
 * written anew; files that do not change are left alone, and nothing stays open. */
static void counters__are_of_each_device(void **state)
{
	static struct vb_cm_port_counters cm[VB_HCA_PORTS_MAX + 1];
	unsigned before;

	(void)state;
	total[1].v[VB_COUNTER_port_xmit_packets] = 11;
	total[2].v[VB_COUNTER_port_xmit_packets] = 22;
	cm[1].tx_msgs[0] = 33;
	cm[2].tx_msgs[0] = 44;
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, cm), 0);
	assert_string_equal(port_file(0, "counters/port_xmit_packets"), "11\n");
	assert_string_equal(port_file(1, "counters/port_xmit_packets"), "22\n");
	assert_string_equal(port_file(0, "cm_tx_msgs/req"), "33\n");
	assert_string_equal(port_file(1, "cm_tx_msgs/req"), "44\n");
	before = descriptors_of(getpid());
	total[2].v[VB_COUNTER_port_xmit_packets] = 23;
	total[2].v[VB_COUNTER_out_of_sequence] = 5;
	vb_sysfs_counters(&tree, &host, 1, &total[2]);
	cm[2].tx_msgs[0] = 45;
	cm[2].rx_duplicates[VB_CM_MSGS - 1] = 46;
	vb_sysfs_cm_counters(&tree, &host, 1, &cm[2]);
	assert_int_equal(descriptors_of(getpid()), before);
	assert_string_equal(port_file(1, "counters/port_xmit_packets"), "23\n");
	assert_string_equal(port_file(1, "hw_counters/out_of_sequence"), "5\n");
	assert_string_equal(port_file(0, "hw_counters/out_of_sequence"), "0\n");
	assert_string_equal(port_file(1, "cm_tx_msgs/req"), "45\n");
	assert_string_equal(port_file(1, "cm_rx_duplicates/apr"), "46\n");
	assert_string_equal(port_file(0, "cm_tx_msgs/req"), "33\n");
	/* A counter that has not changed is not written. */
	assert_true(tree.shown[1].v[VB_COUNTER_out_of_sequence] == 5);
	assert_true(tree.cm_shown[1].tx_msgs[0] == 45);
}

/* An entry of the table that is not in use is no device, and the next one keeps its number. */
static void devices__leave_out_what_is_not_in_use(void **state)
{
	char path[300];

	(void)state;
	host.device[0].ifindex = 0;
	publish();
	snprintf(path, sizeof path, "%s/class/infiniband/verbena0", tree.root);
	assert_int_equal(access(path, F_OK), -1);
	assert_string_equal(function_file(1, "../5642:02:00.0/class"), "0x020700\n");
	snprintf(path, sizeof path, "%s/class/infiniband_verbs/uverbs1/ibdev", tree.root);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof path, "%s/class/infiniband_verbs/uverbs0", tree.root);
	assert_int_equal(access(path, F_OK), -1);
}

/* A tree that could not be made is not written to. */
static void nothing__is_done_without_a_tree(void **state)
{
	static struct vb_sysfs none = {.root_fd = -1, .base_fd = -1};
	static const struct vb_cm_port_counters cm = {.tx_msgs = {1}};

	(void)state;
	total[1].v[0] = 1;
	assert_int_equal(vb_sysfs_publish(&none, &host, total, NULL), 0);
	vb_sysfs_counters(&none, &host, 0, &total[1]);
	vb_sysfs_cm_counters(&none, &host, 0, &cm);
	assert_true(none.shown[0].v[0] == 0);
	vb_sysfs_remove(&none);
	assert_int_equal(none.root_fd, -1);
}

static void write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

/* Mounts of the test's own. */
static bool mounts_enter(void)
{
	char map[32];
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWNS) != 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			return false;
		write_map("/proc/self/setgroups", "deny");
		snprintf(map, sizeof map, "%u %u 1", uid, uid);
		write_map("/proc/self/uid_map", map);
		snprintf(map, sizeof map, "%u %u 1", gid, gid);
		write_map("/proc/self/gid_map", map);
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", NETDEVS, "tmpfs", 0, "mode=0755") == 0 &&
	       mount(online, ONLINE, NULL, MS_BIND, NULL) == 0;
}

#define H(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    H(place__is_all_processors),
	    H(place__has_a_bound),
	    H(place__is_that_of_the_network_device),
	    H(counters__are_of_each_device),
	    H(devices__leave_out_what_is_not_in_use),
	    H(nothing__is_done_without_a_tree),
	};
	bool has_mounts;
	int fd, rc = 77;

	if (!mkdtemp(base))
		return 1;
	snprintf(online, sizeof online, "%s/online", base);
	fd = open(online, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	close(fd);
	setenv("XDG_RUNTIME_DIR", base, 1);
	has_mounts = mounts_enter();
	if (has_mounts)
		rc = cmocka_run_group_tests(tests, NULL, NULL);
	else
		fprintf(stderr, "nothing may be mounted here: test skipped\n");
	if (has_mounts)
		(void)umount(ONLINE);
	(void)unlink(online);
	(void)rmdir(base);
	return rc;
}
