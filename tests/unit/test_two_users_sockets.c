/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another user of the host can send to the sockets of an adapter: to the broker's, whose name
 * everybody knows, and to wakeup endpoints. That wakes nobody, holds nobody up and brings nothing.
 */
#include "broker_env.h"
#include "node/client/msg.h"
#include "two_users.h"

#include <sys/mman.h>
#include <sys/un.h>

/* The memory that the users share. */
static struct {
	uint32_t ready, go, done, again, is_own;
	uint64_t wakeup; /* the token of the victim's */
} * common;

/* A message of one process to another. */
static char mail[128] = "mail";

/* A child checks without cmocka, whose jump back is to the parent's code. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void await(const uint32_t *flag)
{
	for (int i = 0; i < BROKER_PATIENCE_MS && !__atomic_load_n(flag, __ATOMIC_SEQ_CST); i++)
		(void)poll(NULL, 0, 1);
}

static void raise_flag(uint32_t *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
}

static int setup(void **state)
{
	(void)state;
	memset(common, 0, sizeof *common);
	return 0;
}

static void serve(void)
{
	(void)vb_broker_main();
}

/* A TCP socket that nobody reads from, and that close() waits a minute for. */
static int lingering_socket(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof a;
	int to = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	static const char bytes[65536];

	MUST(bind(to, (struct sockaddr *)&a, len) == 0 && listen(to, 1) == 0);
	MUST(getsockname(to, (struct sockaddr *)&a, &len) == 0);
	MUST(connect(fd, (struct sockaddr *)&a, len) == 0 && accept(to, NULL, NULL) >= 0);
	MUST(setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 60},
			sizeof(struct linger)) == 0);
	while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
		;
	return fd;
}

/* The broker's answer to a stranger is a refusal, whatever it finds with the request. */
static void leave_descriptor(void)
{
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, VICTIM);
	struct vb_fds fds = {.cnt = 1, .fd = {lingering_socket()}};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct vb_broker_msg m;

	(void)alarm(40);
	for (int ms = 0; connect(fd, (struct sockaddr *)&a, len) && ms < BROKER_PATIENCE_MS; ms++)
		(void)poll(NULL, 0, 1);
	vb_broker_msg_init(&m, VB_BROKER_CLIENT);
	MUST(vb_fds_send(fd, &m, sizeof m, &fds) == 0);
	close(fds.fd[0]);
	MUST(vb_broker_msg_recv(fd, &m, &fds, 0) == 1 && m.status == -EACCES);
	raise_flag(&common->ready);
	pause();
}

static void be_served(void)
{
	struct vb_broker_observer o;

	(void)alarm(40);
	MUST(vb_broker_observe(&o, false, broker_why, sizeof broker_why) == 0);
	vb_broker_observe_end(&o);
}

static void connect__a_strangers_descriptor_holds_up_nobody(void **state)
{
	pid_t broker = user_start(VICTIM, serve), stranger = user_start(STRANGER, leave_descriptor);

	(void)state;
	await(&common->ready);
	assert_int_equal(user_run(VICTIM, be_served), 0);
	kill(broker, SIGKILL);
	(void)user_end(broker);
	kill(stranger, SIGKILL);
	(void)user_end(stranger);
}

static void notify_and_send(void)
{
	struct iovec part = {(void *)(uintptr_t)mail, sizeof mail};
	uint64_t token;
	int fd = vb_wakeup_open(&token);

	MUST(fd >= 0);
	MUST(vb_wakeup_notify(fd, common->wakeup, VB_WAKEUP_RING, 5, token, fd) == 0);
	MUST(vb_wakeup_send(fd, common->wakeup, &part, 1) == 0);
}

/* A datagram with a descriptor for each wakeup endpoint that /proc/net/unix tells of, none of which
 * knows what its messages begin with. */
static void send_to_all_names(void)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), cnt = 0;
	FILE *names = fopen("/proc/net/unix", "re");
	char line[300], *name, bytes[64] = {0};
	struct iovec part = {bytes, sizeof bytes};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct msghdr m = {.msg_name = &a,
			   .msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.buf,
			   .msg_controllen = sizeof control.buf};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	MUST(names);
	*c = (struct cmsghdr){
	    .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	while (fgets(line, sizeof line, names)) {
		if (!(name = strstr(line, "@verbena/shm/")))
			continue;
		name[strcspn(name, "\n")] = 0;
		memcpy(a.sun_path + 1, name + 1, strlen(name + 1));
		m.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
		/* The name shows nothing of it. */
		for (size_t len = 0; len <= sizeof bytes; len += 4) {
			uint64_t token = strtoull(strrchr(name, '/') + 1, NULL, 16);

			memcpy(bytes, &token, sizeof token);
			part.iov_len = len;
			MUST(sendmsg(fd, &m, MSG_DONTWAIT) == (ssize_t)len);
		}
		cnt++;
	}
	MUST(cnt == 1);
	(void)fclose(names);
}

static void hear_of_own_alone(void)
{
	struct vb_wakeup_msg k;
	int fd = vb_wakeup_open(&common->wakeup), mem_fd;
	struct pollfd p = {fd, POLLIN, 0};

	MUST(fd >= 0);
	raise_flag(&common->ready);
	await(&common->go);
	MUST(poll(&p, 1, 0) == 0);
	MUST(vb_wakeup_notify(fd, common->wakeup, VB_WAKEUP_WAKE, 5, 1, -1) == 0);
	MUST(poll(&p, 1, 0) == 1 && vb_wakeup_take(fd, &k, &mem_fd));
}

/* Another user, who sees the names of wakeup endpoints, wakes nobody by them and leaves no
 * descriptor: to close one may take as long as its sender likes. */
static void wakeup__names_are_not_enough(void **state)
{
	pid_t victim = user_start(VICTIM, hear_of_own_alone);

	(void)state;
	await(&common->ready);
	assert_int_equal(user_run(STRANGER, send_to_all_names), 0);
	raise_flag(&common->go);
	assert_int_equal(user_end(victim), 0);
}

/* Answers what a stranger and what a process of its own user have left at its wakeup endpoint. */
static void take_wakeups(void)
{
	char text[sizeof mail + 1];
	struct vb_wakeup_msg k;
	int fd = vb_wakeup_open(&common->wakeup), mem_fd;

	MUST(fd >= 0);
	raise_flag(&common->ready);
	await(&common->go);
	if (common->is_own) {
		MUST(vb_wakeup_take(fd, &k, &mem_fd) && k.kind == VB_WAKEUP_RING && mem_fd >= 0);
		MUST(vb_wakeup_receive(fd, text, sizeof text) == sizeof mail);
	} else {
		MUST(!vb_wakeup_take(fd, &k, &mem_fd));
		raise_flag(&common->done); /* once more: the answer has taken what was sent, too */
		await(&common->again);
		MUST(vb_wakeup_receive(fd, text, sizeof text) == 0);
	}
}

/* Rings and messages of another user are not taken, were it to know the wakeup endpoint's token. */
static void wakeup__of_another_user(void **state)
{
	(void)state;
	for (uint32_t own = 0; own < 2; own++) {
		unsigned who = own ? VICTIM : STRANGER;
		pid_t victim;

		memset(common, 0, sizeof *common);
		common->is_own = own;
		victim = user_start(VICTIM, take_wakeups);
		await(&common->ready);
		assert_int_equal(user_run(who, notify_and_send), 0);
		raise_flag(&common->go);
		if (!own) {
			await(&common->done);
			assert_int_equal(user_run(who, notify_and_send), 0);
			raise_flag(&common->again);
		}
		assert_int_equal(user_end(victim), 0);
	}
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    T(connect__a_strangers_descriptor_holds_up_nobody),
	    T(wakeup__names_are_not_enough),
	    T(wakeup__of_another_user),
	};

	(void)argc;
	if (!two_users_enter(argv)) {
		fprintf(stderr, "there are no two users here: test skipped\n");
		return 77;
	}
	common =
	    mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return common == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
