/* SPDX-License-Identifier: BSD-2-Clause */
/* Which paths are found in the broker's tree, and where; the table of descriptors. */
#include "cmocka_env.h"
#include "files/fd.h"
#include "files/path/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOT "/run/tree"

static void assert_found(const char *path, const char *where)
{
	char to[VB_PATH_BYTES];

	assert_true(vb_path_may_be_ours(path));
	assert_true(vb_path_in_tree(path, ROOT, to, sizeof to));
	assert_string_equal(to, where);
}

static void assert_left(const char *path)
{
	char to[VB_PATH_BYTES];

	assert_false(vb_path_in_tree(path, ROOT, to, sizeof to));
}

static void path__folders_of_ours(void **state)
{
	(void)state;
	assert_found("/sys/class/infiniband", ROOT "/class/infiniband");
	assert_found("/sys/class/infiniband/", ROOT "/class/infiniband/");
	assert_found("/sys/class/infiniband/verbena0/ports/1/state",
		     ROOT "/class/infiniband/verbena0/ports/1/state");
	assert_found("/sys/class/infiniband_verbs/uverbs0/dev",
		     ROOT "/class/infiniband_verbs/uverbs0/dev");
	assert_found("/sys/class/infiniband_mad/abi_version",
		     ROOT "/class/infiniband_mad/abi_version");
	assert_found("/sys/class/misc/rdma_cm/abi_version", ROOT "/class/misc/rdma_cm/abi_version");
	assert_found("/dev/infiniband/rdma_cm", ROOT "/class/dev/infiniband/rdma_cm");
	assert_found("/sys/devices/pci5642:01/5642:01:00.0/numa_node",
		     ROOT "/devices/pci5642:01/5642:01:00.0/numa_node");
}

static void path__others_are_the_hosts(void **state)
{
	(void)state;
	assert_left("/sys/class/infinibandx");
	assert_left("/sys/class/net/eth0");
	assert_left("/sys/class");
	assert_left("/sys/class/misc");
	assert_left("/home/me/infiniband");
	assert_left("/mnt/sys/class/infiniband");
	assert_left("/dev/infiniband_x/rdma_cm");
	assert_left("/sys/devices/pci0000:01/0000:01:00.0");
	assert_false(vb_path_may_be_ours("/etc/passwd"));
}

static void path__text_before_the_folder(void **state)
{
	(void)state;
	assert_found("//sys/./class//infiniband//verbena0", ROOT "/class/infiniband//verbena0");
	assert_found("/sys/class/net/../infiniband/x", ROOT "/class/infiniband/x");
	assert_found("/../dev/infiniband/uverbs3", ROOT "/class/dev/infiniband/uverbs3");
	/* Behind it the tree has links of its own. */
	assert_found("/sys/class/infiniband/verbena0/../../x",
		     ROOT "/class/infiniband/verbena0/../../x");
}

static void path__too_long(void **state)
{
	char path[VB_PATH_BYTES + 64] = "/sys/class/infiniband/";
	char to[VB_PATH_BYTES];

	(void)state;
	memset(path + strlen(path), 'x', VB_PATH_BYTES);
	assert_false(vb_path_in_tree(path, ROOT, to, sizeof to));
	memset(path, 'y', sizeof path - 1);
	path[0] = '/';
	assert_false(vb_path_in_tree(path, ROOT, to, sizeof to));
}

/* Settings can be written, and at the node of a fabric its description; all else is for reading.
 * FAB-19
 */
static void path__settings(void **state)
{
	const char *desc = ROOT "/class/infiniband/verbena0/node_desc";

	(void)state;
	for (int is_fabric = 0; is_fabric < 2; is_fabric++) {
		assert_true(vb_path_is_setting(ROOT "/debug/verbena0/cc_params/x", is_fabric));
		assert_int_equal(vb_path_is_setting(desc, is_fabric), is_fabric);
		assert_false(
		    vb_path_is_setting(ROOT "/class/infiniband/verbena0/node_guid", is_fabric));
		assert_false(vb_path_is_setting(ROOT "/class/node_desc/x", is_fabric));
	}
}

static void path__devices(void **state)
{
	(void)state;
	assert_int_equal(vb_path_device(ROOT "/class/dev/infiniband/rdma_cm", ROOT),
			 VB_PATH_RDMA_CM);
	assert_int_equal(vb_path_device(ROOT "/class/dev/infiniband/uverbs12", ROOT),
			 VB_PATH_UVERBS);
	assert_int_equal(vb_path_device(ROOT "/class/dev/infiniband/rdma_cm2", ROOT),
			 VB_PATH_NO_DEVICE);
	assert_int_equal(vb_path_device(ROOT "/class/infiniband/rdma_cm", ROOT), VB_PATH_NO_DEVICE);
	assert_int_equal(vb_path_device("/else/class/dev/infiniband/rdma_cm", ROOT),
			 VB_PATH_NO_DEVICE);
	/* Without a tree nothing is in it. */
	assert_int_equal(vb_path_device("/class/dev/infiniband/rdma_cm", ""), VB_PATH_NO_DEVICE);
}

/* A number that was closed behind our back is the file's that has it now. */
static void fd__stale_entry_is_forgotten(void **state)
{
	struct vb_fd f = {.kind = VB_FD_RDMA_CM, .token = 7}, got;
	int pair[2], other = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(vb_fd_enter(pair[0], &f), 0);
	assert_int_equal(vb_fd_get(pair[0], &got), VB_FD_RDMA_CM);
	assert_int_equal(got.token, 7);
	assert_int_equal(dup2(other, pair[0]), pair[0]);
	/* With the wrappers linked in, dup2() itself says so; without them the inode does. */
	assert_int_equal(vb_fd_get(pair[0], &got), VB_FD_PLAIN);
	assert_true(vb_fd_is_plain(pair[0]));
	close(pair[0]);
	close(pair[1]);
	close(other);
}

static void fd__copies_and_ranges(void **state)
{
	struct vb_fd f = {.kind = VB_FD_UVERBS}, got;
	int a = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(vb_fd_enter(a, &f), 0);
	int b = fcntl(a, F_DUPFD_CLOEXEC, 300);
	assert_int_equal(vb_fd_copy(a, b), 0);
	assert_int_equal(vb_fd_get(b, &got), VB_FD_UVERBS);
	vb_fd_forget_range((unsigned)b, ~0u);
	assert_int_equal(vb_fd_get(b, &got), VB_FD_PLAIN);
	assert_int_equal(vb_fd_get(a, &got), VB_FD_UVERBS);
	assert_int_equal(vb_fd_enter((int)VB_FDS_MAX, &f), -EMFILE);
	vb_fd_forget(a);
	assert_true(vb_fd_is_plain(a));
	close(a);
	close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(path__folders_of_ours),
	    cmocka_unit_test(path__others_are_the_hosts),
	    cmocka_unit_test(path__text_before_the_folder),
	    cmocka_unit_test(path__too_long),
	    cmocka_unit_test(path__settings),
	    cmocka_unit_test(path__devices),
	    cmocka_unit_test(fd__stale_entry_is_forgotten),
	    cmocka_unit_test(fd__copies_and_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
