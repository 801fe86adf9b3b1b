/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings of congestion control as files in the broker's tree: what they show, and how they
 * take writes. CC-29 */
#include "cmocka_env.h"
#include "deny.h"
#include "descriptors.h"
#include "node/broker/state.h"
#include "reg/csr/cc_names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUGFS "infiniband/verbena0/cc_params/"
#define ECN "net/eth0/ecn/"

static char base[] = "/dev/shm/verbena-test-XXXXXX";
static struct vb_host_memory mem;
static struct vb_broker b;
static uint32_t epoch;

/* A device, a virtual function of it, and another device. */
static int setup(void **state)
{
	static struct vb_counters total[VB_HCA_PORTS_MAX + 1];

	(void)state;
	memset(&mem, 0, sizeof mem);
	memset(&b, 0, sizeof b);
	b.slots.host = &mem.host;
	vb_adapter_init(&mem.adapter);
	mem.host.device_cnt = 3;
	for (uint32_t i = 0; i < 3; i++) {
		struct vb_device *d = &mem.host.device[i];

		d->ifindex = i == 2 ? 3 : 2;
		d->speed_mbps = i == 2 ? 40000 : 25000;
		d->parent = i == 1; /* the second is the first one's */
		snprintf(d->name, sizeof d->name, "verbena%u", i);
		snprintf(d->ifname, sizeof d->ifname, "%s", i == 2 ? "eth1" : "eth0");
	}
	setenv("XDG_RUNTIME_DIR", base, 1);
	vb_sysfs_init(&b.sysfs);
	assert_int_equal(vb_sysfs_publish(&b.sysfs, &mem.host, total, NULL), 0);
	b.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(vb_broker_params_start(&b), 0);
	vb_broker_params_publish(&b);
	epoch = vb_adapter_state(&mem.adapter)->pf[0].cc_epoch;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(b.params.fd);
	close(b.epoll_fd);
	vb_sysfs_remove(&b.sysfs);
	return 0;
}

static const char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof path, "%s/class/%s", b.sysfs.root, name);
	return path;
}

/* The number in the file; UINT64_MAX: no file. */
static uint64_t shown(const char *name)
{
	char text[32] = "";
	FILE *f = fopen(path_of(name), "re");

	if (!f)
		return UINT64_MAX;
	(void)!fread(text, 1, sizeof text - 1, f);
	fclose(f);
	return strtoull(text, NULL, 10);
}

/* Writes @text as a shell does, and lets the broker see it. */
static void put(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	vb_broker_params_handle(&b);
}

static ino_t inode(const char *name)
{
	struct stat st;

	assert_int_equal(stat(path_of(name), &st), 0);
	return st.st_ino;
}

static const struct vb_cc_settings *settings(void)
{
	return &vb_adapter_state(&mem.adapter)->pf[0].reg.cc;
}

static uint64_t value(const char *name)
{
	return vb_cc_name_find(name, strlen(name))->get(settings());
}

/* Each setting is in the folders where the table has it, and in no other. */
static void files__show_what_holds(void **state)
{
	char name[128];
	unsigned cnt = 0;

	(void)state;
	for (unsigned i = 0; i < vb_cc_name_cnt; i++) {
		const struct vb_cc_name *n = &vb_cc_names[i];

		if (n->debugfs) {
			snprintf(name, sizeof name, DEBUGFS "%s", n->debugfs);
			assert_true(shown(name) == n->get(settings()));
			cnt++;
		}
		if (n->sysfs) {
			snprintf(name, sizeof name, ECN "%s", n->sysfs);
			assert_true(shown(name) == n->get(settings()));
			cnt++;
		}
	}
	assert_true(cnt > vb_cc_name_cnt);
	assert_true(shown(ECN "roce_np/rpg_ai_rate") == UINT64_MAX);
	assert_true(shown(ECN "roce_rp/min_time_between_cnps") == UINT64_MAX);
	assert_true(shown("infiniband/verbena1/cc_params/rp_ai_rate") == UINT64_MAX);
}

/* A number is taken over, shows in all places, and begins an epoch. */
static void files__take_a_number(void **state)
{
	uint64_t is = value("rp_ai_rate");
	ino_t file = inode(DEBUGFS "rp_ai_rate");
	char text[32];

	(void)state;
	snprintf(text, sizeof text, "%" PRIu64 "\n", is + 1);
	put(DEBUGFS "rp_ai_rate", text);
	assert_true(value("rp_ai_rate") == is + 1);
	/* The file stays: its writer may have begun to write the next number. */
	assert_true(inode(DEBUGFS "rp_ai_rate") == file);
	assert_true(shown(ECN "roce_rp/rpg_ai_rate") == is + 1);
	assert_int_equal(vb_adapter_state(&mem.adapter)->pf[0].cc_epoch, epoch + 1);
	snprintf(text, sizeof text, "0x%" PRIx64, is + 2);
	put(ECN "roce_rp/rpg_ai_rate", text);
	assert_true(value("rp_ai_rate") == is + 2);
	assert_true(shown(DEBUGFS "rp_ai_rate") == is + 2);
	assert_true(shown(ECN "roce_rp/rpg_ai_rate") == is + 2); /* decimal by now */
	assert_int_equal(vb_adapter_state(&mem.adapter)->pf[0].cc_epoch, epoch + 2);
	is = value("np_min_time_between_cnps");
	snprintf(text, sizeof text, "%" PRIu64 "\n", is + 1);
	put(ECN "roce_np/min_time_between_cnps", text);
	assert_true(value("np_min_time_between_cnps") == is + 1);
	/* A second write works too. */
	snprintf(text, sizeof text, "%" PRIu64 "\n", is);
	put(ECN "roce_np/min_time_between_cnps", text);
	assert_true(value("np_min_time_between_cnps") == is);
}

/* A write that is no valid number restores the old one. */
static void files__put_back_what_is_refused(void **state)
{
	static const char *const wrong[] = {
	    "", "x", "-1", " 5", "5x", "18446744073709551616", "+5", "5 6", "18446744073709551615"};
	uint64_t is = value("rp_ai_rate");
	unsigned before = descriptors_of(getpid());

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		put(DEBUGFS "rp_ai_rate", wrong[i]);
		assert_true(value("rp_ai_rate") == is);
		assert_true(shown(DEBUGFS "rp_ai_rate") == is);
		assert_true(shown(ECN "roce_rp/rpg_ai_rate") == is);
	}
	/* A file of no setting, and one of the other folder. */
	put(DEBUGFS "other", "5");
	put(ECN "roce_np/rpg_ai_rate", "5");
	assert_true(value("rp_ai_rate") == is);
	assert_int_equal(vb_adapter_state(&mem.adapter)->pf[0].cc_epoch, epoch);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A change by other means shows with the new generation. */
static void files__follow_registers(void **state)
{
	static struct vb_adapter_state next;
	uint64_t is = value("rp_ai_rate");
	const char *rule;

	(void)state;
	next = *vb_adapter_state(&mem.adapter);
	assert_int_equal(
	    vb_cc_name_set(vb_cc_name_find("rp_ai_rate", 10), &next.pf[0].reg.cc, is + 1, 0, &rule),
	    0);
	vb_adapter_commit(&mem.adapter, &next);
	vb_broker_params_show(&b);
	assert_true(shown(DEBUGFS "rp_ai_rate") == is + 1);
	assert_true(shown(ECN "roce_rp/rpg_ai_rate") == is + 1);
	/* The broker's own writes are no change. */
	vb_broker_params_handle(&b);
	assert_int_equal(vb_adapter_state(&mem.adapter)->pf[0].cc_epoch, epoch);
	/* A tree made again has the files, and takes changes. */
	vb_broker_params_publish(&b);
	put(DEBUGFS "rp_ai_rate", "7");
	assert_true(value("rp_ai_rate") == 7);
}

static uint64_t value_of(uint32_t pf, const char *name)
{
	return vb_cc_name_find(name, strlen(name))
	    ->get(&vb_adapter_state(&mem.adapter)->pf[pf].reg.cc);
}

/* Each device has files of its own; a rate of 0 is that of its link. A setting that is taken over
 * wakes the programs. */
static void files__of_each_device(void **state)
{
	uint64_t is = value_of(0, "rp_ai_rate");
	struct vb_broker_msg m;
	struct vb_fds fds;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	b.conn[9] = (struct vb_conn){.in_use = true, .kind = VB_CONN_CLIENT, .sock = pair[0]};
	b.conn_end = 10;
	put("infiniband/verbena2/cc_params/rp_ai_rate", "71\n");
	assert_true(value_of(2, "rp_ai_rate") == 71);
	assert_true(value_of(0, "rp_ai_rate") == is);
	assert_true(shown("net/eth1/ecn/roce_rp/rpg_ai_rate") == 71);
	assert_true(shown(DEBUGFS "rp_ai_rate") == is);
	assert_int_equal(vb_adapter_state(&mem.adapter)->pf[2].cc_epoch, 1);
	assert_int_equal(vb_adapter_state(&mem.adapter)->pf[0].cc_epoch, epoch);
	assert_int_equal(vb_broker_msg_recv(pair[1], &m, &fds, MSG_DONTWAIT), 1);
	assert_int_equal(m.op, VB_BROKER_DONE);
	put("net/eth1/ecn/roce_rp/rpg_max_rate", "0\n");
	assert_true(value_of(2, "rp_max_rate") == 40000);
	assert_true(shown("net/eth1/ecn/roce_rp/rpg_max_rate") == 40000);
	assert_int_equal(vb_broker_msg_recv(pair[1], &m, &fds, MSG_DONTWAIT), 1);
	put("net/eth1/ecn/roce_rp/rpg_max_rate", "fast\n");
	assert_int_equal(vb_broker_msg_recv(pair[1], &m, &fds, MSG_DONTWAIT), -EAGAIN);
	b.conn[9].in_use = false;
	close(pair[0]);
	close(pair[1]);
}

/* Several writes that are heard of at once are all taken. */
static void files__of_several_writes(void **state)
{
	static const char *const name[] = {DEBUGFS "rp_ai_rate", DEBUGFS "rp_hai_rate",
					   "infiniband/verbena2/cc_params/rp_ai_rate"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		FILE *f = fopen(path_of(name[i]), "we");

		assert_non_null(f);
		fprintf(f, "%d\n", 81 + (int)i);
		fclose(f);
	}
	vb_broker_params_handle(&b);
	assert_true(value_of(0, "rp_ai_rate") == 81);
	assert_true(value_of(0, "rp_hai_rate") == 82);
	assert_true(value_of(2, "rp_ai_rate") == 83);
	assert_int_equal(vb_adapter_state(&mem.adapter)->pf[0].cc_epoch, epoch + 2);
	/* There is nothing more to hear of. */
	vb_broker_params_handle(&b);
	assert_int_equal(vb_adapter_state(&mem.adapter)->pf[0].cc_epoch, epoch + 2);
}

/* The loop hears of writes; where the user has no more instances of inotify files only show. */
static void start__with_and_without_inotify(void **state)
{
	struct epoll_event e;
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(fcntl(b.params.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(epoll_wait(b.epoll_fd, &e, 1, 0), 0);
	FILE *f = fopen(path_of(DEBUGFS "rp_ai_rate"), "we");

	assert_non_null(f);
	fclose(f);
	assert_int_equal(epoll_wait(b.epoll_fd, &e, 1, 0), 1);
	assert_true(e.data.u64 == (uint64_t)VB_SOURCE_PARAMS << 32);
	vb_broker_params_handle(&b);
	vb_broker_params_handle(&b); /* the file that it has put back */
	assert_int_equal(epoll_wait(b.epoll_fd, &e, 1, 0), 0);
	pid = fork();
	if (pid == 0) {
		if (!deny_call(SYS_inotify_init1, 0, UINT32_MAX, EMFILE))
			_exit(77);
		if (vb_broker_params_start(&b) || b.params.fd >= 0)
			_exit(1);
		vb_broker_params_publish(&b);
		_exit(shown(DEBUGFS "rp_ai_rate") == value("rp_ai_rate") ? 0 : 2);
	}
	status = child_status(pid);
	if (status == 77) {
		print_message("this kernel lets no process deny itself system calls\n");
		skip();
	}
	assert_int_equal(status, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(files__show_what_holds),          T(files__take_a_number),
	    T(files__put_back_what_is_refused), T(files__follow_registers),
	    T(files__of_each_device),           T(files__of_several_writes),
	    T(start__with_and_without_inotify),
	};

	if (!mkdtemp(base))
		return 1;
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	(void)rmdir(base);
	return rc;
}
