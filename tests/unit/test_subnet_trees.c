/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trees by which the programs at a node see its device: all files of a device, where the trees
 * are, what is left of those of processes that were killed, and how files change. MAD-01, FAB-19
 */
#include "subnet_process_env.h"

#include "descriptors.h"
#include "node/sysfs/device_node.h"
#include "wire/ib/rate.h"

#include <sys/stat.h>

#define DEVICE "class/infiniband/verbena0/"

/* The root of a new connection's tree at @node. */
static const char *root_at(const char *node, int *sock)
{
	static char root[256];

	*sock = fabric_attach(node);
	snprintf(root, sizeof root, "%s", answer.text);
	return root;
}

/* A device has the files of a driver's folder, and the classes what libraries look for. */
static void trees__have_all_files_of_a_device(void **state)
{
	static const struct {
		const char *path, *text;
	} files[] = {
	    {DEVICE "node_type", "1: CA\n"},
	    {DEVICE "node_desc", "H-A\n"},
	    {DEVICE "fw_ver", TEST_VERSION "\n"},
	    {DEVICE "hw_rev", "0\n"},
	    {DEVICE "hca_type", "verbena\n"},
	    {DEVICE "board_id", "verbena\n"},
	    {DEVICE "ports/1/link_layer", "InfiniBand\n"},
	    {DEVICE "ports/2/lid", "0x0\n"},
	    {"class/infiniband_verbs/abi_version", "6\n"},
	    {"class/infiniband_mad/abi_version", "5\n"},
	    {"class/misc/rdma_cm/abi_version", "4\n"},
	    {"class/infiniband_mad/issm0/ibdev", "verbena0\n"},
	};
	const char *root;
	char text[64];
	uint64_t g;
	int sock;

	(void)state;
	root = root_at("H-A", &sock);
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		assert_string_equal(text_below(root, files[i].path), files[i].text);
	g = topo.node[HOST_A].node_guid;
	snprintf(text, sizeof text, "%04x:%04x:%04x:%04x\n", (unsigned)(g >> 48),
		 (unsigned)(g >> 32 & 0xffff), (unsigned)(g >> 16 & 0xffff),
		 (unsigned)(g & 0xffff));
	assert_string_equal(text_below(root, DEVICE "node_guid"), text);
	close(sock);
}

static void expect_node(const char *root, const char *name, dev_t number)
{
	char path[400];
	struct stat st;

	snprintf(path, sizeof path, "%s/class/dev/infiniband/%s", root, name);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | VB_NODE_FILE_MODE);
	assert_int_equal(st.st_size, number);
}

/* Each port has its device files: umad from minor 0, issm from minor 64 on. */
static void trees__have_device_files(void **state)
{
	const char *root;
	int sock;

	(void)state;
	root = root_at("H-B", &sock);
	expect_node(root, "umad0", makedev(231, 0));
	expect_node(root, "umad1", makedev(231, 1));
	expect_node(root, "issm0", makedev(231, 64));
	expect_node(root, "issm1", makedev(231, 65));
	expect_node(root, "rdma_cm", makedev(10, 122));
	close(sock);
}

/* GIDs have each 16 bits of prefix and GUID at their place; a port has as many as it says, and 32
 * P_Keys. */
static void trees__have_whole_tables(void **state)
{
	struct vb_sma_port *p = vb_subnet_sma_port(&fabric->subnet, place(HOST_A, 1));
	const char *root;
	char path[96];
	int sock;

	(void)state;
	p->info.prefix = 0x1122334455667788;
	p->guid[0] = 0x99aabbccddeeff01;
	p->pkey[0] = 0x8001;
	root = root_at("H-A", &sock);
	assert_string_equal(text_below(root, DEVICE "ports/1/gids/0"),
			    "1122:3344:5566:7788:99aa:bbcc:ddee:ff01\n");
	assert_string_equal(text_below(root, DEVICE "ports/1/pkeys/0"), "0x8001\n");
	assert_string_equal(text_below(root, DEVICE "ports/1/pkeys/31"), "0x0000\n");
	assert_string_equal(text_below(root, DEVICE "ports/1/pkeys/32"), "");
	snprintf(path, sizeof path, DEVICE "ports/1/gids/%u", p->info.guid_cap - 1u);
	assert_string_not_equal(text_below(root, path), "");
	snprintf(path, sizeof path, DEVICE "ports/1/gids/%u", p->info.guid_cap);
	assert_string_equal(text_below(root, path), "");
	close(sock);
}

/* A state that no link has is named as none. */
static void trees__name_no_state_that_there_is_not(void **state)
{
	const char *root;
	int sock;

	(void)state;
	root = root_at("H-A", &sock);
	link_of(HOST_A, 1)->state = 6;
	info_of(HOST_A, 1)->phys_state = 8;
	vb_subnet_tree_update(fabric, seat_at(HOST_A));
	assert_string_equal(text_below(root, DEVICE "ports/1/state"), "6: NOP\n");
	assert_string_equal(text_below(root, DEVICE "ports/1/phys_state"), "8: \n");
	link_of(HOST_A, 1)->state = VB_LINK_DOWN;
	close(sock);
}

/* The rate is that of the speed that is active, not of a better one that is not; without one it is
 * the slowest. */
static void trees__show_the_active_rate(void **state)
{
	struct vb_port_info *p = info_of(HOST_A, 1);
	const char *root;
	int sock;

	(void)state;
	root = root_at("H-A", &sock);
	p->width_active = VB_IB_4X;
	p->speed_active = 4;
	p->ext_speed_active = vb_ib_speed_row(VB_IB_FDR)->port_info_ext;
	vb_subnet_tree_update(fabric, seat_at(HOST_A));
	assert_string_equal(text_below(root, DEVICE "ports/1/rate"), "56 Gb/sec (4X FDR)\n");
	p->speed_active = 2;
	p->ext_speed_active = 0;
	vb_subnet_tree_update(fabric, seat_at(HOST_A));
	assert_string_equal(text_below(root, DEVICE "ports/1/rate"), "20 Gb/sec (4X DDR)\n");
	p->speed_active = 0;
	vb_subnet_tree_update(fabric, seat_at(HOST_A));
	assert_string_equal(text_below(root, DEVICE "ports/1/rate"), "10 Gb/sec (4X SDR)\n");
	close(sock);
}

/* Names that a node gets later are in the same files, and nothing of the old ones is left. */
static void trees__change_names_in_place(void **state)
{
	const char *root;
	struct stat before, after;
	char path[400];
	int sock, descriptors;

	(void)state;
	root = root_at("H-A", &sock);
	vb_subnet_set_description(&fabric->subnet, HOST_A, "a long description of it",
				  vb_clock_now());
	vb_subnet_tree_update(fabric, seat_at(HOST_A));
	assert_string_equal(text_below(root, DEVICE "node_desc"), "a long description of it\n");
	snprintf(path, sizeof path, "%s/" DEVICE "node_desc", root);
	assert_int_equal(stat(path, &before), 0);
	descriptors = fd_cnt();
	vb_subnet_set_description(&fabric->subnet, HOST_A, "short", vb_clock_now());
	vb_subnet_set_system_guid(&fabric->subnet, HOST_A, 0x0123456789abcdef, vb_clock_now());
	vb_subnet_tree_update(fabric, seat_at(HOST_A));
	assert_string_equal(text_below(root, DEVICE "node_desc"), "short\n");
	assert_string_equal(text_below(root, DEVICE "sys_image_guid"), "0123:4567:89ab:cdef\n");
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(fd_cnt(), descriptors);
	close(sock);
}

/* A change at one node is written to its tree, and to no other. */
static void trees__are_of_one_node(void **state)
{
	int a, b;
	char root_a[256], root_b[256];

	(void)state;
	snprintf(root_a, sizeof root_a, "%s", root_at("H-A", &a));
	snprintf(root_b, sizeof root_b, "%s", root_at("H-B", &b));
	vb_subnet_set_description(&fabric->subnet, HOST_A, "first", vb_clock_now());
	vb_subnet_set_description(&fabric->subnet, HOST_B, "second", vb_clock_now());
	fabric_turn();
	assert_string_equal(text_below(root_a, DEVICE "node_desc"), "first\n");
	assert_string_equal(text_below(root_b, DEVICE "node_desc"), "second\n");
	close(a);
	close(b);
}

/* Opens the fabric anew, with @base for its trees. */
static void open_in(const char *base)
{
	close(fabric_control);
	vb_subnet_daemon_close(fabric);
	setenv("XDG_RUNTIME_DIR", base, 1);
	assert_int_equal(
	    vb_subnet_daemon_open(&fabric, fabric_name, &topo, fabric_why, sizeof fabric_why), 0);
	unsetenv("XDG_RUNTIME_DIR");
	fabric_control = fabric_dial();
}

static bool is_below(const char *base)
{
	return strncmp(fabric->root, base, strlen(base)) == 0;
}

/* The trees are where the user's runtime directory is, by an absolute path that is not too long;
 * else in /dev/shm. A tree that a killed process left there goes. */
static void trees__are_in_the_runtime_directory(void **state)
{
	char base[] = "/tmp/verbena-test-XXXXXX", stale[64], own[64], deep[140];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(base));
	snprintf(stale, sizeof stale, "%s/verbena-fabric-1", base);
	snprintf(own, sizeof own, "%s/verbena-fabric-%d", base, (int)getpid());
	assert_int_equal(mkdir(stale, 0700), 0);
	open_in(base);
	assert_string_equal(fabric->root, own);
	assert_int_equal(stat(own, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(stale, &st), -1);
	/* Relative to somebody's folder, it would be nowhere. */
	assert_int_equal(chdir("/tmp"), 0);
	open_in(base + strlen("/tmp/"));
	assert_true(is_below("/dev/shm/"));
	assert_int_equal(chdir("/"), 0);
	/* 99 bytes of it, and one more. */
	for (int len = 99; len <= 100; len++) {
		snprintf(deep, sizeof deep, "%s/%0*d", base, len - (int)strlen(base) - 1, 0);
		assert_int_equal(strlen(deep), len);
		assert_int_equal(mkdir(deep, 0700), 0);
		open_in(deep);
		assert_int_equal(is_below(deep), len == 99);
		open_in("/dev/shm");
		assert_int_equal(rmdir(deep), 0);
	}
	assert_int_equal(rmdir(base), 0);
}

/* Nothing that the fabric's process has open goes to a program that it starts. */
static void descriptors__end_with_the_process(void **state)
{
	unsigned before = descriptors_for_exec();
	struct vb_fds fds;
	int sock, cm;

	(void)state;
	sock = fabric_attach("H-A");
	cm = fabric_attach("H-B");
	vb_subnet_call_text(&call, VB_SUBNET_UMAD_OPEN, "");
	call.number = 1;
	assert_int_equal(fabric_ask_with(sock, -1, &fds), 0);
	vb_fds_close(&fds);
	assert_int_equal(fabric_ask(sock, VB_SUBNET_ADAPTER, "me", &fds), 0);
	vb_fds_close(&fds);
	assert_int_equal(fabric_ask(cm, VB_SUBNET_CM, "me", &fds), 0);
	vb_fds_close(&fds);
	assert_int_equal(descriptors_for_exec(), before);
	close(cm);
	close(sock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(trees__have_all_files_of_a_device),
	    T(trees__have_device_files),
	    T(trees__have_whole_tables),
	    T(trees__name_no_state_that_there_is_not),
	    T(trees__show_the_active_rate),
	    T(trees__change_names_in_place),
	    T(trees__are_of_one_node),
	    T(trees__are_in_the_runtime_directory),
	    T(descriptors__end_with_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
