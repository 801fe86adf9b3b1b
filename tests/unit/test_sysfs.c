/* SPDX-License-Identifier: BSD-2-Clause */
/* The sysfs-like tree: the kernel's names and formats, replacement as a whole, counters in place.
 */
#include "cmocka_env.h"
#include "descriptors.h"
#include "node/sysfs/device_node.h"
#include "node/sysfs/dir.h"
#include "node/sysfs/sysfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[] = "/dev/shm/verbena-test-XXXXXX";
static struct vb_sysfs tree;
static struct vb_host_shm host;
static struct vb_counters total[VB_HCA_PORTS_MAX + 1];

static int setup(void **state)
{
	struct vb_device *d = &host.device[0];

	(void)state;
	memset(&host, 0, sizeof host);
	memset(total, 0, sizeof total);
	host.device_cnt = 1;
	*d = (struct vb_device){.name = "verbena0",
				.ifname = "eth0",
				.ifindex = 2,
				.netdev_mtu = 1500,
				.active_mtu = VB_MTU_1024,
				.is_up = 1,
				.speed_mbps = 25000,
				.guid = UINT64_C(0x00fc11fffe223344),
				.pkey = {VB_PKEY_DEFAULT, [15] = 0x8001}};
	d->gid[0].type = VB_GID_IPV6;
	memcpy(d->gid[0].gid.b, (uint8_t[]){0xfe, 0x80, [15] = 7}, 16);
	d->gid[2].type = VB_GID_IPV4;
	memcpy(d->gid[2].gid.b, (uint8_t[]){[10] = 0xff, 0xff, 192, 0, 2, 1}, 16);
	setenv("XDG_RUNTIME_DIR", base, 1);
	vb_sysfs_init(&tree);
	return vb_sysfs_publish(&tree, &host, total, NULL);
}

static int teardown(void **state)
{
	(void)state;
	vb_sysfs_remove(&tree);
	return 0;
}

static const char *content(const char *name)
{
	static char text[256];
	char path[512];

	snprintf(path, sizeof path, "%s/class/%s", tree.root, name);
	FILE *f = fopen(path, "r");
	if (!f)
		return NULL;
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	return text;
}

static void assert_file(const char *name, const char *text)
{
	const char *is = content(name);

	if (!is)
		fail_msg("%s is missing", name);
	assert_string_equal(is, text);
}

static void publish__device_files(void **state)
{
	(void)state;
	assert_file("infiniband/verbena0/node_type", "1: CA\n");
	assert_file("infiniband/verbena0/node_guid", "00fc:11ff:fe22:3344\n");
	assert_file("infiniband/verbena0/sys_image_guid", "00fc:11ff:fe22:3344\n");
	assert_file("infiniband/verbena0/device/net/eth0/ifindex", "2\n");
	assert_file("infiniband_verbs/abi_version", "6\n");
	assert_file("infiniband_verbs/uverbs0/ibdev", "verbena0\n");
	assert_file("infiniband_verbs/uverbs0/dev", "231:192\n");
}

/* Where programs look for what a device is attached to: the folder of its PCI function. */
static void publish__place_of_the_device(void **state)
{
	(void)state;
	assert_file("infiniband/verbena0/../../local_cpulist",
		    content("infiniband/verbena0/device/local_cpulist"));
	assert_file("infiniband/verbena0/../../numa_node", "-1\n");
	assert_file("infiniband/verbena0/../../net/eth0/ifindex", "2\n");
	assert_file("infiniband_verbs/uverbs0/device/infiniband/verbena0/node_type", "1: CA\n");
	assert_file("../devices/pci5642:01/5642:01:00.0/class", "0x020700\n");
	assert_file("infiniband_mad/abi_version", "5\n");
	assert_file("misc/rdma_cm/abi_version", "4\n");
	assert_file("misc/rdma_cm/dev", "10:122\n");
	/* The folder is /sys and /sys/class in one. */
	assert_file("class/misc/rdma_cm/dev", "10:122\n");
	assert_file("infiniband/verbena0/ports/1/cm_tx_msgs/req", "0\n");
	assert_file("infiniband/verbena0/ports/1/cm_rx_duplicates/sidr_rep", "0\n");
}

static void assert_node(const char *name, dev_t number)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof path, "%s/class/dev/infiniband/%s", tree.root, name);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | VB_NODE_FILE_MODE);
	assert_int_equal(st.st_size, number);
}

static void publish__device_nodes(void **state)
{
	(void)state;
	assert_node("rdma_cm", makedev(10, 122));
	assert_node("uverbs0", makedev(231, 192));
}

/* Each device has all files of a driver's folder. */
static void publish__what_drivers_show(void **state)
{
	static const struct {
		const char *name, *text;
	} files[] = {
	    {"infiniband/verbena0/node_desc", "verbena0 on eth0\n"},
	    {"infiniband/verbena0/fw_ver", TEST_VERSION "\n"},
	    {"infiniband/verbena0/hca_type", "verbena\n"},
	    {"infiniband/verbena0/board_id", "verbena\n"},
	    {"infiniband/verbena0/hw_rev", "0x0\n"},
	    {"infiniband/verbena0/uevent", "NAME=verbena0\n"},
	    {"infiniband/verbena0/ports/1/cap_mask", "0x04000000\n"}, /* GIDs are addresses */
	    {"infiniband/verbena0/subsystem/verbena0/node_type", "1: CA\n"},
	    {"infiniband_verbs/uverbs0/abi_version", "1\n"},
	    {"infiniband_verbs/uverbs0/subsystem/uverbs0/ibdev", "verbena0\n"},
	    {"infiniband_verbs/uverbs0/uevent",
	     "MAJOR=231\nMINOR=192\nDEVNAME=infiniband/uverbs0\nDEVMODE=0666\n"},
	    {"misc/rdma_cm/uevent",
	     "MAJOR=10\nMINOR=122\nDEVNAME=infiniband/rdma_cm\nDEVMODE=0666\n"},
	    {"infiniband/verbena0/device/vendor", "0x0000\n"},
	    {"infiniband/verbena0/device/device", "0x0000\n"},
	    {"infiniband/verbena0/device/subsystem_vendor", "0x0000\n"},
	    {"infiniband/verbena0/device/subsystem_device", "0x0000\n"},
	    {"infiniband/verbena0/device/revision", "0x00\n"},
	    {"infiniband/verbena0/device/uevent",
	     "DRIVER=verbena\nPCI_CLASS=20700\nPCI_SLOT_NAME=5642:01:00.0\n"},
	    {"infiniband/verbena0/device/net/eth0/mtu", "1500\n"},
	    {"infiniband/verbena0/device/net/eth0/dev_id", "0x0\n"},
	    {"infiniband/verbena0/device/net/eth0/dev_port", "0\n"},
	    {"infiniband/verbena0/device/net/eth0/operstate", "up\n"},
	    {"infiniband/verbena0/device/net/eth0/address", "02:00:5e:10:20:30\n"},
	    /* The second device has each second number. */
	    {"infiniband/verbena1/node_guid", "0000:0000:0000:0009\n"},
	    {"infiniband/verbena1/device/net/eth1/operstate", "down\n"},
	    {"infiniband_verbs/uverbs1/ibdev", "verbena1\n"},
	    {"infiniband_verbs/uverbs1/dev", "231:193\n"},
	    {"../devices/pci5642:02/5642:02:00.0/net/eth1/ifindex", "3\n"},
	};
	struct vb_device *d = host.device;
	unsigned before = descriptors_of(getpid());
	char path[512], link[64] = "";

	(void)state;
	memcpy(d[0].mac, (uint8_t[]){2, 0, 0x5e, 0x10, 0x20, 0x30}, 6);
	d[1] = (struct vb_device){.name = "verbena1", .ifname = "eth1", .ifindex = 3, .guid = 9};
	host.device_cnt = 2;
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, NULL), 0);
	assert_int_equal(descriptors_of(getpid()), before);
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		assert_file(files[i].name, files[i].text);
	assert_null(content("infiniband/verbena2/node_type"));
	assert_node("uverbs1", makedev(231, 193));
	/* The bus link, by its name alone. */
	snprintf(path, sizeof path, "%s/class/infiniband/verbena0/device/subsystem", tree.root);
	assert_true(readlink(path, link, sizeof link - 1) > 0);
	assert_string_equal(strrchr(link, '/'), "/pci");
	assert_int_equal(access(path, F_OK), 0);
}

static void assert_no_node(const char *name)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof path, "%s/class/dev/infiniband/%s", tree.root, name);
	assert_int_equal(stat(path, &st), -1);
}

/* A port that has a QP1 has a umad file, by the number of its device; a virtual function has none,
 * and nobody has an issm file. MAD-01 */
static void publish__mad_files(void **state)
{
	struct vb_device *d = host.device;

	(void)state;
	host.device_cnt = 3;
	d[1] = (struct vb_device){.name = "vf0", .ifname = "eth1", .ifindex = 3, .parent = 1};
	d[2] = (struct vb_device){.name = "verbena2", .ifname = "eth2", .ifindex = 4};
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, NULL), 0);
	assert_file("infiniband_mad/umad0/ibdev", "verbena0\n");
	assert_file("infiniband_mad/umad0/port", "1\n");
	assert_file("infiniband_mad/umad0/dev", "231:0\n");
	assert_node("umad0", makedev(231, 0));
	assert_file("infiniband_mad/umad2/ibdev", "verbena2\n");
	assert_file("infiniband_mad/umad2/dev", "231:2\n");
	assert_node("umad2", makedev(231, 2));
	assert_null(content("infiniband_mad/umad1/ibdev"));
	assert_no_node("umad1");
	for (int i = 0; i < 3; i++) {
		char name[64];

		snprintf(name, sizeof name, "infiniband_mad/issm%d/ibdev", i);
		assert_null(content(name));
		snprintf(name, sizeof name, "issm%d", i);
		assert_no_node(name);
		/* Each is a device of the verbs. */
		snprintf(name, sizeof name, "infiniband_verbs/uverbs%d/ibdev", i);
		assert_non_null(content(name));
	}
	/* A place that a function has left is another device's. */
	d[1].parent = 0;
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, NULL), 0);
	assert_file("infiniband_mad/umad1/ibdev", "vf0\n");
	assert_node("umad1", makedev(231, 1));
}

/* Counters that an Ethernet link cannot have are there, for tools that expect them. */
static void publish__counters_without_a_source(void **state)
{
	static const char *const names[] = {"VL15_dropped",
					    "excessive_buffer_overrun_errors",
					    "link_downed",
					    "link_error_recovery",
					    "local_link_integrity_errors",
					    "port_rcv_remote_physical_errors",
					    "port_rcv_switch_relay_errors",
					    "symbol_error"};
	char name[128];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(name, sizeof name, "infiniband/verbena0/ports/1/counters/%s", names[i]);
		assert_file(name, "0\n");
	}
	assert_file("infiniband/verbena0/ports/1/hw_counters/lifespan", "1000\n");
	for (int i = 0; i < VB_COUNTER_CNT; i++) {
		snprintf(name, sizeof name, "infiniband/verbena0/ports/1/%s/%s",
			 vb_counter_info[i].file == VB_COUNTER_HW ? "hw_counters" : "counters",
			 vb_counter_info[i].name);
		assert_file(name, "0\n");
	}
}

static void publish__port_files(void **state)
{
	(void)state;
	assert_file("infiniband/verbena0/ports/1/state", "4: ACTIVE\n");
	assert_file("infiniband/verbena0/ports/1/phys_state", "5: LinkUp\n");
	assert_file("infiniband/verbena0/ports/1/link_layer", "Ethernet\n");
	assert_file("infiniband/verbena0/ports/1/rate", "25 Gb/sec (1X EDR)\n");
	assert_file("infiniband/verbena0/ports/1/lid", "0x0\n");
	assert_file("infiniband/verbena0/ports/1/lid_mask_count", "0\n");
	assert_file("infiniband/verbena0/ports/1/sm_lid", "0x0\n");
	assert_file("infiniband/verbena0/ports/1/sm_sl", "0\n");
	assert_file("infiniband/verbena0/ports/1/pkeys/0", "0xffff\n");
	assert_file("infiniband/verbena0/ports/1/pkeys/1", "0x0000\n");
	assert_file("infiniband/verbena0/ports/1/pkeys/15", "0x8001\n");
	assert_null(content("infiniband/verbena0/ports/1/pkeys/16"));
	host.device[0].is_up = 0;
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, NULL), 0);
	assert_file("infiniband/verbena0/ports/1/state", "1: DOWN\n");
	assert_file("infiniband/verbena0/ports/1/phys_state", "3: Disabled\n");
}

static void publish__gids(void **state)
{
	(void)state;
	assert_file("infiniband/verbena0/ports/1/gids/0",
		    "fe80:0000:0000:0000:0000:0000:0000:0007\n");
	assert_file("infiniband/verbena0/ports/1/gids/1",
		    "0000:0000:0000:0000:0000:0000:0000:0000\n");
	assert_file("infiniband/verbena0/ports/1/gids/2",
		    "0000:0000:0000:0000:0000:ffff:c000:0201\n");
	assert_file("infiniband/verbena0/ports/1/gids/31",
		    "0000:0000:0000:0000:0000:0000:0000:0000\n");
	assert_null(content("infiniband/verbena0/ports/1/gids/32"));
	assert_file("infiniband/verbena0/ports/1/gid_attrs/types/0", "RoCE v2\n");
	assert_file("infiniband/verbena0/ports/1/gid_attrs/types/2", "RoCE v2\n");
	assert_file("infiniband/verbena0/ports/1/gid_attrs/ndevs/2", "eth0\n");
	assert_null(content("infiniband/verbena0/ports/1/gid_attrs/types/1"));
}

static void counters__rewritten_in_place(void **state)
{
	(void)state;
	assert_file("infiniband/verbena0/ports/1/counters/port_xmit_packets", "0\n");
	assert_file("infiniband/verbena0/ports/1/counters/symbol_error", "0\n");
	total[1].v[VB_COUNTER_port_xmit_packets] = 18446744073709551615u;
	total[1].v[VB_COUNTER_out_of_sequence] = 12;
	vb_sysfs_counters(&tree, &host, 0, &total[1]);
	assert_file("infiniband/verbena0/ports/1/counters/port_xmit_packets",
		    "18446744073709551615\n");
	assert_file("infiniband/verbena0/ports/1/hw_counters/out_of_sequence", "12\n");
	/* And they stay when the tree is made anew. */
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, NULL), 0);
	assert_file("infiniband/verbena0/ports/1/hw_counters/out_of_sequence", "12\n");
}

/* A counter that was set back has fewer digits, and nothing of the old ones is left. */
static void counters__that_get_shorter(void **state)
{
	static const char name[] = "infiniband/verbena0/ports/1/counters/port_xmit_packets";

	(void)state;
	total[1].v[VB_COUNTER_port_xmit_packets] = 123456;
	vb_sysfs_counters(&tree, &host, 0, &total[1]);
	assert_file(name, "123456\n");
	total[1].v[VB_COUNTER_port_xmit_packets] = 7;
	vb_sysfs_counters(&tree, &host, 0, &total[1]);
	assert_file(name, "7\n");
}

static void cm_counters__rewritten_in_place(void **state)
{
	static struct vb_cm_port_counters cm[2];
	enum { REQ, SIDR_REP = VB_CM_SIDR_REP - VB_CM_ATTR_FIRST, APR = VB_CM_MSGS - 1 };
	unsigned before;

	(void)state;
	assert_file("infiniband/verbena0/ports/1/cm_tx_msgs/req", "0\n");
	cm[1].tx_msgs[REQ] = 12;
	cm[1].tx_retries[REQ] = 2;
	cm[1].rx_msgs[SIDR_REP] = 3;
	cm[1].rx_duplicates[APR] = 4;
	before = descriptors_of(getpid());
	vb_sysfs_cm_counters(&tree, &host, 0, &cm[1]);
	assert_int_equal(descriptors_of(getpid()), before);
	assert_file("infiniband/verbena0/ports/1/cm_tx_msgs/req", "12\n");
	assert_file("infiniband/verbena0/ports/1/cm_tx_retries/req", "2\n");
	assert_file("infiniband/verbena0/ports/1/cm_rx_msgs/sidr_rep", "3\n");
	assert_file("infiniband/verbena0/ports/1/cm_rx_duplicates/apr", "4\n");
	assert_file("infiniband/verbena0/ports/1/cm_rx_duplicates/req", "0\n");
	/* And they stay when the tree is made anew. */
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, cm), 0);
	assert_file("infiniband/verbena0/ports/1/cm_tx_msgs/req", "12\n");
}

/* Each message of the connection manager has its file, in each group. */
static void cm_counters__of_each_message(void **state)
{
	static const char *const folder[] = {"cm_tx_msgs", "cm_tx_retries", "cm_rx_msgs",
					     "cm_rx_duplicates"};
	static const char *const kind[] = {"req",  "mra",      "rej",      "rep", "rtu", "dreq",
					   "drep", "sidr_req", "sidr_rep", "lap", "apr"};
	static struct vb_cm_port_counters cm[2];
	uint64_t *of[] = {cm[1].tx_msgs, cm[1].tx_retries, cm[1].rx_msgs, cm[1].rx_duplicates};
	char name[96], text[16];

	(void)state;
	assert_int_equal(sizeof kind / sizeof kind[0], VB_CM_MSGS);
	for (unsigned g = 0; g < 4; g++)
		for (unsigned k = 0; k < VB_CM_MSGS; k++)
			of[g][k] = g * 100 + k + 1;
	for (int again = 0; again < 2; again++) {
		if (again)
			assert_int_equal(vb_sysfs_publish(&tree, &host, total, cm), 0);
		else
			vb_sysfs_cm_counters(&tree, &host, 0, &cm[1]);
		for (unsigned g = 0; g < 4; g++)
			for (unsigned k = 0; k < VB_CM_MSGS; k++) {
				snprintf(name, sizeof name, "infiniband/verbena0/ports/1/%s/%s",
					 folder[g], kind[k]);
				snprintf(text, sizeof text, "%u\n", g * 100 + k + 1);
				assert_file(name, text);
			}
	}
}

/* Each byte of a GID has its place. */
static void publish__each_byte_of_a_gid(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++)
		host.device[0].gid[5].gid.b[i] = (uint8_t)(0x10 * i + i + 1);
	host.device[0].gid[5].type = VB_GID_IPV6;
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, NULL), 0);
	assert_file("infiniband/verbena0/ports/1/gids/5",
		    "0112:2334:4556:6778:899a:abbc:cdde:ef00\n");
}

static void publish__replaces_all(void **state)
{
	(void)state;
	snprintf(host.device[0].name, sizeof host.device[0].name, "verbena5");
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, NULL), 0);
	assert_null(content("infiniband/verbena0/node_type"));
	assert_file("infiniband/verbena5/node_type", "1: CA\n");
}

static void init__takes_over_a_stale_tree(void **state)
{
	struct vb_sysfs next;

	(void)state;
	close(tree.root_fd); /* as a broker leaves it that is killed */
	close(tree.base_fd);
	vb_sysfs_init(&next);
	assert_string_equal(next.root, tree.root);
	assert_string_equal(next.note, "");
	tree = next;
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, NULL), 0);
	assert_file("infiniband/verbena0/node_type", "1: CA\n");
}

/* Another broker of this user is no stranger who has taken the name. */
static void init__beside_a_tree_that_is_in_use(void **state)
{
	struct vb_sysfs next;

	(void)state;
	vb_sysfs_init(&next);
	assert_true(next.root_fd >= 0);
	assert_string_not_equal(next.root, tree.root);
	assert_string_equal(next.note, "");
	vb_sysfs_remove(&next);
}

/* A file of another user, or anything but a directory, in our place is left alone. */
static void init__leaves_what_is_not_ours(void **state)
{
	struct vb_sysfs next;
	struct stat st;

	(void)state;
	vb_sysfs_remove(&tree);
	assert_int_equal(symlink("/", tree.root), 0);
	vb_sysfs_init(&next);
	assert_string_not_equal(next.root, tree.root);
	assert_int_equal(lstat(tree.root, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_non_null(strstr(next.note, tree.root));
	assert_non_null(strstr(next.note, "a symbolic link of user "));
	vb_sysfs_remove(&next);
	assert_int_equal(unlink(tree.root), 0);
}

/* The note says what has the name, whose it is and who wanted it: one note, of the first place. */
static void init__says_what_has_the_name(void **state)
{
	struct vb_sysfs next;
	char want[400];

	(void)state;
	vb_sysfs_remove(&tree);
	for (int is_folder = 0; is_folder < 2; is_folder++) {
		FILE *f;

		if (is_folder) {
			assert_int_equal(mkdir(tree.root, 0700), 0);
			assert_int_equal(chmod(tree.root, 0777), 0);
		} else {
			f = fopen(tree.root, "w");
			assert_non_null(f);
			fclose(f);
		}
		vb_sysfs_init(&next);
		snprintf(want, sizeof want,
			 "'%s' is taken: it is %s of user %u, and not a folder that user %u alone "
			 "may write to",
			 tree.root, is_folder ? "a folder" : "a file", (unsigned)geteuid(),
			 (unsigned)geteuid());
		assert_string_equal(next.note, want);
		assert_string_not_equal(next.root, tree.root);
		/* The same name, in the next place. */
		assert_string_equal(next.name, tree.name);
		vb_sysfs_remove(&next);
		assert_int_equal(is_folder ? rmdir(tree.root) : unlink(tree.root), 0);
	}
}

/* A runtime directory that is relative, or that is not there, is passed over. */
static void init__by_an_absolute_path(void **state)
{
	static const char *const bases[] = {"relative", "", "/nowhere/at/all"};
	struct vb_sysfs next;

	(void)state;
	for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
		setenv("XDG_RUNTIME_DIR", bases[i], 1);
		vb_sysfs_init(&next);
		assert_int_equal(strncmp(next.root, "/dev/shm/", 9), 0);
		assert_string_equal(next.note, "");
		vb_sysfs_remove(&next);
	}
	setenv("XDG_RUNTIME_DIR", base, 1);
}

/* Where nothing may be made there is no tree, and no trace of the attempt. */
static void publish__what_is_in_the_way(void **state)
{
	char path[400];

	(void)state;
	/* Left by a broker that was killed, a file and a whole tree. */
	snprintf(path, sizeof path, "%s/class.new", tree.root);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, NULL), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof path, "%s/class.new/infiniband", tree.root);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof path, "%s/class.new/infiniband/old", tree.root);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(vb_sysfs_publish(&tree, &host, total, NULL), 0);
	assert_null(content("infiniband/old"));
	snprintf(path, sizeof path, "%s/class.new", tree.root);
	assert_int_equal(access(path, F_OK), -1);
	assert_file("infiniband/verbena0/node_type", "1: CA\n");
}

/* Trees of brokers that were killed go; those of living ones stay. */
static void init__sweeps_what_has_no_owner(void **state)
{
	struct vb_sysfs next;
	char stale[300], owned[300];
	struct stat st;

	(void)state;
	snprintf(stale, sizeof stale, "%s/verbena-%u-1", base, (unsigned)geteuid());
	snprintf(owned, sizeof owned, "%s/verbena-%u-2", base, (unsigned)geteuid());
	assert_int_equal(mkdir(stale, 0755), 0);
	assert_int_equal(mkdir(owned, 0755), 0);
	int lock = vb_dir_claim(tree.base_fd, strrchr(owned, '/') + 1);
	assert_true(lock >= 0);
	close(tree.root_fd);
	close(tree.base_fd);
	vb_sysfs_init(&next);
	assert_int_equal(stat(stale, &st), -1);
	assert_int_equal(stat(owned, &st), 0);
	assert_file("infiniband/verbena0/node_type", "1: CA\n");
	close(lock);
	vb_dir_remove(next.base_fd, strrchr(owned, '/') + 1);
	tree = next;
}

static void remove__leaves_nothing(void **state)
{
	struct stat st;

	(void)state;
	vb_sysfs_remove(&tree);
	assert_int_equal(stat(tree.root, &st), -1);
	/* It closes once: the number may be reused by now. */
	assert_int_equal(tree.root_fd, -1);
	assert_int_equal(tree.base_fd, -1);
	vb_sysfs_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(publish__device_files, setup, teardown),
	    cmocka_unit_test_setup_teardown(publish__place_of_the_device, setup, teardown),
	    cmocka_unit_test_setup_teardown(publish__device_nodes, setup, teardown),
	    cmocka_unit_test_setup_teardown(publish__what_drivers_show, setup, teardown),
	    cmocka_unit_test_setup_teardown(publish__mad_files, setup, teardown),
	    cmocka_unit_test_setup_teardown(publish__counters_without_a_source, setup, teardown),
	    cmocka_unit_test_setup_teardown(publish__port_files, setup, teardown),
	    cmocka_unit_test_setup_teardown(publish__gids, setup, teardown),
	    cmocka_unit_test_setup_teardown(counters__rewritten_in_place, setup, teardown),
	    cmocka_unit_test_setup_teardown(counters__that_get_shorter, setup, teardown),
	    cmocka_unit_test_setup_teardown(cm_counters__rewritten_in_place, setup, teardown),
	    cmocka_unit_test_setup_teardown(cm_counters__of_each_message, setup, teardown),
	    cmocka_unit_test_setup_teardown(publish__each_byte_of_a_gid, setup, teardown),
	    cmocka_unit_test_setup_teardown(publish__replaces_all, setup, teardown),
	    cmocka_unit_test_setup_teardown(init__takes_over_a_stale_tree, setup, teardown),
	    cmocka_unit_test_setup_teardown(init__beside_a_tree_that_is_in_use, setup, teardown),
	    cmocka_unit_test_setup_teardown(init__leaves_what_is_not_ours, setup, teardown),
	    cmocka_unit_test_setup_teardown(init__says_what_has_the_name, setup, teardown),
	    cmocka_unit_test_setup_teardown(init__by_an_absolute_path, setup, teardown),
	    cmocka_unit_test_setup_teardown(publish__what_is_in_the_way, setup, teardown),
	    cmocka_unit_test_setup_teardown(init__sweeps_what_has_no_owner, setup, teardown),
	    cmocka_unit_test_setup_teardown(remove__leaves_nothing, setup, teardown),
	};

	if (!mkdtemp(base))
		return 1;
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	(void)rmdir(base);
	return rc;
}
