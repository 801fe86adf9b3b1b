/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two devices beside each other, "lo" and an interface that comes and goes: which device a list
 * shows, and what one of them has that is not the other's. ibv_get_device_list(3)
 */
#include "descriptors.h"
#include "verbs/priv.h"
#include "verbs_env.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* The interface of the second device, with a MAC that ends with @last. False: a kernel without such
 * interfaces. */
static bool link_add(unsigned last)
{
	char command[256];

	snprintf(command, sizeof command,
		 "ip link add vbd0 address 02:00:00:00:00:%02x type veth peer name vbd1 "
		 "2>/dev/null && ip link set vbd0 up && ip addr add 10.81.0.1/24 dev vbd0",
		 last);
	return system(command) == 0;
}

static void link_del(void)
{
	assert_int_equal(system("ip link del vbd0"), 0);
}

/* Device @index of the first list that has @cnt of them; a program keeps its pointer. */
static struct ibv_device *device_when(int cnt, int index)
{
	struct ibv_device *d = NULL;

	while (!d) {
		int is = -1;
		struct ibv_device **list = ibv_get_device_list(&is);

		assert_non_null(list);
		d = is == cnt ? list[index] : NULL;
		ibv_free_device_list(list);
		assert_true(patience_left());
	}
	return d;
}

/* Skips the test that calls it when there is none. */
static struct ibv_context *open_second(void)
{
	struct ibv_context *c;

	if (!link_add(1))
		skip();
	c = ibv_open_device(device_when(2, 1));
	assert_non_null(c);
	return c;
}

/* A device is the same in every list while it exists. One that takes its place and its name is
 * another one, with a GUID of its own; contexts keep the one that they were opened on. */
static void device_list__of_a_device_that_is_made_again(void **state)
{
	struct ibv_context *c = open_second();
	struct ibv_device *before = c->device, *after;

	(void)state;
	assert_ptr_equal(device_when(2, 1), before);
	assert_ptr_equal(device_when(2, 0), ctx->device);
	assert_ptr_equal(device_when(2, 0), ctx->device);
	/* EUI-64 of the MAC, RFC 4291 */
	assert_int_equal(be64toh(ibv_get_device_guid(before)), 0x000000fffe000001);
	link_del();
	assert_ptr_equal(device_when(1, 0), ctx->device);
	assert_true(link_add(2));
	after = device_when(2, 1);
	assert_ptr_not_equal(after, before);
	assert_string_equal(ibv_get_device_name(after), ibv_get_device_name(before));
	assert_int_equal(ibv_get_device_index(after), ibv_get_device_index(before));
	assert_int_equal(be64toh(ibv_get_device_guid(after)), 0x000000fffe000002);
	assert_int_equal(be64toh(ibv_get_device_guid(c->device)), 0x000000fffe000001);
	assert_ptr_equal(device_when(2, 1), after);
	assert_int_equal(ibv_close_device(c), 0);
	link_del();
}

/* Device memory is registered with the domains of its device: of any context of that, and of no
 * other device. ibv_reg_dm_mr(3) */
static void reg_dm_mr__of_another_device(void **state)
{
	struct ibv_context *second = open_second(), *again = ibv_open_device(ctx->device);
	struct ibv_alloc_dm_attr attr = {.length = 64};
	struct ibv_dm *far = ibv_alloc_dm(second, &attr), *near = ibv_alloc_dm(again, &attr);
	struct ibv_mr *m;

	(void)state;
	assert_true(far && near);
	errno = 0;
	assert_null(ibv_reg_dm_mr(pd, far, 0, 64, IBV_ACCESS_ZERO_BASED));
	assert_int_equal(errno, EINVAL);
	assert_string_equal(verbena_refusal(), "pd is of verbena0, and dm of verbena1");
	m = ibv_reg_dm_mr(pd, near, 0, 64, IBV_ACCESS_ZERO_BASED);
	assert_non_null(m);
	assert_int_equal(ibv_dereg_mr(m), 0);
	assert_int_equal(ibv_free_dm(near), 0);
	assert_int_equal(ibv_free_dm(far), 0);
	assert_int_equal(ibv_close_device(again), 0);
	assert_int_equal(ibv_close_device(second), 0);
	link_del();
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *c, int fd, int oflags)
{
	struct ibv_xrcd_init_attr a = {.comp_mask =
					   IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = fd,
				       .oflags = oflags};

	errno = 0;
	return ibv_open_xrcd(c, &a);
}

/* Another process that has the domain of the file open at the first device; @ready says so. */
static pid_t open_elsewhere(int fd, int ready)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct ibv_device **list = ibv_get_device_list(NULL);
		struct ibv_context *own = ibv_open_device(list[0]);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(!own || !open_xrcd(own, fd, O_CREAT) || write(ready, "", 1) != 1 || pause());
	}
	return pid;
}

/* A file stands for a domain at each device: that one device has it open says nothing of another,
 * in this process and in others. ibv_open_xrcd(3) */
static void open_xrcd__of_each_device(void **state)
{
	struct ibv_context *second = open_second();
	int fd = memfd_create("domain", MFD_CLOEXEC), ready[2];
	struct ibv_xrcd *x, *y;
	char byte;
	pid_t pid;

	(void)state;
	x = open_xrcd(ctx, fd, O_CREAT | O_EXCL);
	assert_non_null(x);
	assert_null(open_xrcd(second, fd, 0));
	assert_int_equal(errno, EAGAIN);
	y = open_xrcd(second, fd, O_CREAT | O_EXCL);
	assert_non_null(y);
	assert_int_equal(ibv_close_xrcd(x), 0);
	assert_null(open_xrcd(ctx, fd, 0));
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(ibv_close_xrcd(y), 0);
	assert_int_equal(pipe(ready), 0);
	pid = open_elsewhere(fd, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_null(open_xrcd(second, fd, 0));
	assert_int_equal(errno, EAGAIN);
	x = open_xrcd(ctx, fd, 0);
	assert_non_null(x);
	assert_int_equal(ibv_close_xrcd(x), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ready[0]), close(fd);
	assert_int_equal(ibv_close_device(second), 0);
	link_del();
}

/* Another process that has the second device open; the descriptor of it there goes to @out. */
static pid_t open_second_elsewhere(int out)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct ibv_device **list = ibv_get_device_list(NULL);
		struct ibv_context *own = ibv_open_device(list[1]);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(!own || write(out, &own->cmd_fd, sizeof own->cmd_fd) < 0 || pause());
	}
	return pid;
}

/* A descriptor of another process opens the device that it is of. ibv_import_device(3) */
static void import_device__of_the_second(void **state)
{
	struct ibv_context *second = open_second(), *imported;
	char path[64];
	int number[2], fd;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(number), 0);
	pid = open_second_elsewhere(number[1]);
	close(number[1]);
	assert_int_equal(read(number[0], &fd, sizeof fd), sizeof fd);
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	imported = ibv_import_device(fd);
	assert_non_null(imported);
	assert_ptr_equal(imported->device, second->device);
	assert_int_equal(imported->cmd_fd, fd);
	assert_int_equal(ibv_close_device(imported), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(number[0]);
	assert_int_equal(ibv_close_device(second), 0);
	link_del();
}

/* Calls that open a device in vain, for want of a descriptor or by one that is wrong. */
static void open_in_vain(void)
{
	struct rlimit was, few;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	for (rlim_t room = 0; room < 2; room++) {
		int last = dup(0);

		close(last);
		few = (struct rlimit){(rlim_t)last + room, was.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_null(ibv_open_device(ctx->device));
		assert_null(ibv_import_device(ctx->async_fd));
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	}
}

/* The adapter of a process goes with the last device that it has open, whatever has failed before:
 * its descriptors go, and a broker without clients ends. */
static void close_device__ends_the_adapter(void **state)
{
	unsigned before = 0;

	(void)state;
	for (int i = 0; i < 2; i++) {
		if (i)
			open_in_vain();
		assert_int_equal(ibv_close_device(ctx), 0);
		ctx = NULL;
		alarm(VERBS_PATIENCE_S);
		assert_int_equal(waitpid(verbs_broker, NULL, 0), verbs_broker);
		alarm(0);
		if (i)
			assert_int_equal(descriptors_of(getpid()), before);
		before = descriptors_of(getpid());
		assert_int_equal(verbs_open(NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(device_list__of_a_device_that_is_made_again),
	    VERBS_TEST(reg_dm_mr__of_another_device),
	    VERBS_TEST(open_xrcd__of_each_device),
	    VERBS_TEST(import_device__of_the_second),
	    VERBS_TEST(close_device__ends_the_adapter),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
