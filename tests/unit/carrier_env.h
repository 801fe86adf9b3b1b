/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A shared broker, a child that is root, and two users, children as well. They write what they
 * find into memory that all share.
 */
#ifndef VB_TESTS_UNIT_CARRIER_ENV_H
#define VB_TESTS_UNIT_CARRIER_ENV_H

#include "broker_env.h"
#include "link/carried/carried.h"
#include "node/carrier/carrier.h"
#include "two_users.h"

#include <sys/mman.h>
#include <sys/un.h>

#define LIMIT 2u /* processes of a user */
#define SERVICE_LIMIT 3u
#define GROUP_LIMIT 2u

static struct {
	uint32_t slot[8];
	int rc[8];
	uint32_t ready, go, packets[8];
	uint8_t mark[8];
	char why[8][VB_CARRIER_TEXT_MAX];
} * common;

static pid_t carrier;

/* A child checks without cmocka, whose jump back is to the parent's code. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static inline void await(const uint32_t *flag, uint32_t value)
{
	for (int i = 0; i < BROKER_PATIENCE_MS && __atomic_load_n(flag, __ATOMIC_SEQ_CST) < value;
	     i++)
		(void)poll(NULL, 0, 1);
	MUST(__atomic_load_n(flag, __ATOMIC_SEQ_CST) >= value);
}

/* The process that listens by the name is the one that was started last. */
static inline bool carrier_answers(void)
{
	struct sockaddr_un a;
	socklen_t len = vb_carrier_address(&a), size = sizeof(struct ucred);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct ucred who;
	bool is_it = connect(fd, (struct sockaddr *)&a, len) == 0 &&
		     getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
		     who.pid == carrier;

	close(fd);
	return is_it;
}

static inline struct vb_carrier_options carrier_options(void)
{
	return (struct vb_carrier_options){.limits = {.processes = LIMIT,
						      .qps = 100,
						      .services = SERVICE_LIMIT,
						      .groups = GROUP_LIMIT},
					   .fault_text = ""};
}

static inline void carrier_start_with(const struct vb_carrier_options *options)
{
	carrier = fork();
	assert_true(carrier >= 0);
	if (carrier == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(vb_carrier_main(options));
	}
	for (int i = 0; i < BROKER_PATIENCE_MS && !carrier_answers(); i++)
		(void)poll(NULL, 0, 1);
	assert_true(vb_carrier_runs());
}

static inline void carrier_start(void)
{
	struct vb_carrier_options options = carrier_options();

	carrier_start_with(&options);
}

static inline void carrier_kill(void)
{
	assert_int_equal(kill(carrier, SIGKILL), 0);
	assert_int_equal(waitpid(carrier, NULL, 0), carrier);
}

static inline int carrier_setup(void **state)
{
	(void)state;
	memset(common, 0, sizeof *common);
	carrier_start();
	return 0;
}

/* It ends in an orderly way: the next one knows no user. */
static inline int carrier_teardown(void **state)
{
	(void)state;
	assert_int_equal(kill(carrier, SIGTERM), 0);
	assert_int_equal(waitpid(carrier, NULL, 0), carrier);
	return 0;
}

/* Attaches, and writes down at place @i of @common what comes of it. */
static inline struct vb_carried attach(uint32_t i, uint32_t slot)
{
	struct vb_carried c = vb_carried_nothing(VB_CARRIER_SLOT);

	c.slot = slot;
	common->rc[i] = vb_carried_attach(&c, common->why[i], sizeof common->why[i]);
	common->slot[i] = c.slot;
	return c;
}

/* QP1 of this user. */
static inline struct vb_carried attach_gsi(void)
{
	struct vb_carried c = vb_carried_nothing(VB_CARRIER_QP1);
	char why[VB_CARRIER_TEXT_MAX];

	MUST(vb_carried_attach(&c, why, sizeof why) == 0);
	return c;
}

/* False: there is no second user here. */
static inline bool carrier_env_enter(char **argv)
{
	if (!two_users_enter(argv)) {
		fprintf(stderr, "no second user here: tests not run\n");
		return false;
	}
	/* The file that the shared broker keeps is this test's own, too. */
	assert_int_equal(mount("tmpfs", "/run", "tmpfs", 0, "mode=755"), 0);
	common =
	    mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(common != MAP_FAILED);
	return true;
}

#define carrier_test(f) cmocka_unit_test_setup_teardown(f, carrier_setup, carrier_teardown)

#endif
