/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared broker where something has run out: descriptors, room in /run, the time in which a
 * request is repeated; and where what it kept is damaged.
 */
#include "carrier_gsi_env.h"
#include "node/carrier/users/kept.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

/* The shared broker's clock is ahead of the others by packets[7] seconds. */
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	int rc = __real_clock_gettime(id, t);

	if (common && carrier == 0)
		t->tv_sec += __atomic_load_n(&common->packets[7], __ATOMIC_SEQ_CST);
	return rc;
}

/* The milliseconds of processor time that the shared broker has had. */
static long busy_ms(void)
{
	char path[64], text[512] = "";
	unsigned long user, sys;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)carrier);
	fd = open(path, O_RDONLY);
	assert_true(read(fd, text, sizeof text - 1) > 0);
	close(fd);
	assert_int_equal(sscanf(strrchr(text, ')'),
				") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
				"%lu %lu",
				&user, &sys),
			 2);
	return (long)((user + sys) * 1000 / (unsigned long)sysconf(_SC_CLK_TCK));
}

static void attach_late(void)
{
	(void)attach(0, 0);
}

/* Without a descriptor for one more connection it does not try all the time, and takes those that
 * wait when there is one. */
static void descriptors__run_out(void **state)
{
	struct rlimit few, was;
	pid_t victim;
	long before;

	(void)state;
	/* It answers when it has all that it needs itself. */
	assert_int_equal(user_run(STRANGER, attach_late), 0);
	common->slot[0] = 0;
	assert_int_equal(prlimit(carrier, RLIMIT_NOFILE, NULL, &was), 0);
	few = (struct rlimit){.rlim_cur = 16, .rlim_max = was.rlim_max};
	assert_int_equal(prlimit(carrier, RLIMIT_NOFILE, &few, NULL), 0);
	victim = user_start(VICTIM, attach_late);
	(void)poll(NULL, 0, 50);
	before = busy_ms();
	(void)poll(NULL, 0, 500);
	assert_int_equal(common->rc[0], 0);
	assert_int_equal(common->slot[0], 0);
	assert_uint_in_range(busy_ms() - before, 0, 200);
	assert_int_equal(prlimit(carrier, RLIMIT_NOFILE, &was, NULL), 0);
	assert_int_equal(user_end(victim), 0);
	assert_int_equal(common->rc[0], 0);
	assert_int_not_equal(common->slot[0], 0);
}

static void claim_all(void)
{
	struct vb_carried c = attach_gsi();

	common->rc[0] = claim(&c, VB_CARRIER_CLAIM, SERVICE, &any);
}

/* Room for @kib KiB in /run, with a shared broker that begins there. */
static void run_limit(unsigned kib)
{
	char options[64];

	assert_int_equal(carrier_teardown(NULL), 0);
	assert_int_equal(umount("/run"), 0);
	snprintf(options, sizeof options, "mode=755,size=%uk", kib);
	assert_int_equal(mount("tmpfs", "/run", "tmpfs", 0, options), 0);
	carrier_start();
}

/* A store to a mapped file for which there is no room ends the process. */
static void folder__is_full(void **state)
{
	const unsigned first = (offsetof(struct vb_carrier_kept, claim) + 4095) / 4096 * 4;

	(void)state;
	run_limit(first); /* for users, and for no claim */
	assert_int_equal(user_run(VICTIM, claim_all), 0);
	assert_int_equal(common->rc[0], -EDQUOT);
	assert_int_equal(user_run(VICTIM, attach_late), 0);
	run_limit(4); /* not for users either: then nothing is kept */
	assert_int_equal(user_run(VICTIM, claim_all), 0);
	assert_int_equal(common->rc[0], 0);
	run_limit(100000);
}

/* The file of what is kept, mapped. */
static struct vb_carrier_kept *kept_map(void)
{
	char path[64];
	struct stat st;
	void *p;
	int fd;

	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	snprintf(path, sizeof path, "/run/verbena-shared/%llu", (unsigned long long)st.st_ino);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	p = mmap(NULL, sizeof(struct vb_carrier_kept), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(p != MAP_FAILED);
	close(fd);
	return p;
}

/* Numbers of users that are none are not believed. */
static void file__is_damaged(void **state)
{
	struct vb_carrier_kept *k;

	(void)state;
	/* It answers when the file is there. */
	assert_int_equal(user_run(STRANGER, attach_late), 0);
	k = kept_map();
	carrier_kill();
	k->byte_user[3] = VB_CARRIER_USERS + 1;
	k->byte_user[4] = UINT32_MAX;
	k->byte_user[5] = 77; /* a user that is not there */
	carrier_start();
	assert_int_equal(user_run(VICTIM, attach_late), 0);
	assert_int_equal(common->rc[0], 0);
	for (int i = 3; i < 6; i++)
		assert_int_equal(k->byte_user[i], 0);
	munmap(k, sizeof *k);
}

static void listen_for_one(void)
{
	struct vb_carried c = attach_gsi();
	struct reader r = {.ring = {.mem = c.mem}};

	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	step_to(1);
	must_read(&r, VB_CM_REQ, 5);
	MUST(claim(&c, VB_CARRIER_RELEASE, SERVICE, &any) == 0);
	step_to(2);
	/* A repetition is his although he does not listen any more. CMP-13 */
	must_read(&r, VB_CM_REQ, 5);
	step_to(3);
	await(&common->go, 3);
	MUST(!mad_next(&r, 50));
}

static void listen_later(void)
{
	struct vb_carried c = attach_gsi();
	struct reader r = {.ring = {.mem = c.mem}};

	MUST(claim(&c, VB_CARRIER_CLAIM, SERVICE, &any) == 0);
	step_to(4);
	must_read(&r, VB_CM_REQ, 5);
}

/* When no repetition can come any more, a request of the same number is another one. */
static void repetitions__end(void **state)
{
	pid_t victim = user_start(VICTIM, listen_for_one), stranger;
	struct vb_cm_msg m = req(SERVICE, 5);

	(void)state;
	await(&common->ready, 1);
	message_send(&m);
	await(&common->ready, 2);
	__atomic_store_n(&common->packets[7], 60, __ATOMIC_SEQ_CST);
	message_send(&m);
	await(&common->ready, 3);
	stranger = user_start(STRANGER, listen_later);
	await(&common->ready, 4);
	__atomic_store_n(&common->packets[7], 140, __ATOMIC_SEQ_CST);
	message_send(&m);
	assert_int_equal(user_end(stranger), 0);
	__atomic_store_n(&common->go, 3, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    carrier_test(descriptors__run_out),
	    carrier_test(folder__is_full),
	    carrier_test(file__is_damaged),
	    carrier_test(repetitions__end),
	};

	(void)argc;
	if (!carrier_env_enter(argv))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
