/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two users and one fabric: a user that does not own the fabric is not served, and one that has its
 * name without owning it is not believed. And folders that another user, or root, has.
 * node/subnet/client.h, node/sysfs/dir.h
 */
#include "two_users.h"

#include "node/subnet/client.h"
#include "node/subnet/state.h"
#include "node/sysfs/dir.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/un.h>

#define PATIENCE_MS 20000
#define NAME "two-users"

/* The memory that the users share. */
static struct {
	uint32_t ready;
} * common;

/* A child checks without cmocka, whose jump back is to the parent's code. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void await_ready(void)
{
	for (int i = 0; i < PATIENCE_MS && !__atomic_load_n(&common->ready, __ATOMIC_SEQ_CST); i++)
		(void)poll(NULL, 0, 1);
}

static void raise_ready(void)
{
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
}

static int setup(void **state)
{
	(void)state;
	memset(common, 0, sizeof *common);
	return 0;
}

static void *topo_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void topo_release(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static void serve_fabric(void)
{
	static const char text[] = "Switch 2 \"S\"\n[1] \"H\"[1]\nCa 1 \"H\"\n";
	const struct vb_topo_config cfg = {.alloc = topo_alloc, .free = topo_release};
	struct vb_subnet_daemon *d;
	struct vb_topo topo;
	char why[256];

	MUST(vb_topo_parse(&topo, &cfg, text, sizeof text - 1, why, sizeof why) == 0);
	MUST(vb_subnet_daemon_open(&d, NAME, &topo, why, sizeof why) == 0);
	raise_ready();
	MUST(vb_subnet_daemon_serve(d) == 0);
}

static int ask_attach(int sock, char *text, size_t size)
{
	static struct vb_subnet_call call;
	struct vb_subnet_answer answer;
	int rc;

	vb_subnet_call_text(&call, VB_SUBNET_ATTACH, "H");
	rc = vb_subnet_ask(sock, &call, -1, &answer, NULL);
	if (!rc)
		snprintf(text, size, "%.255s", answer.text);
	return rc ? rc : answer.status;
}

/* Of the victim's fabric anybody can find the address. */
static void ask_as_stranger(void)
{
	struct sockaddr_un a;
	unsigned len = vb_subnet_address(&a, VICTIM, NAME);
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char text[256], why[256];

	MUST(connect(sock, (struct sockaddr *)&a, len) == 0);
	MUST(ask_attach(sock, text, sizeof text) == -EPIPE);
	/* A user's own fabrics have addresses of his own. */
	MUST(vb_subnet_dial(NAME, why, sizeof why) == -ECONNREFUSED);
}

static void ask_as_owner(void)
{
	char text[256], why[256], path[300];
	int sock = vb_subnet_dial(NAME, why, sizeof why);
	static struct vb_subnet_call down = {.op = VB_SUBNET_DOWN};
	struct vb_subnet_answer answer;
	struct stat st;

	MUST(sock >= 0);
	MUST(ask_attach(sock, text, sizeof text) == 0);
	/* The trees are its user's alone. */
	snprintf(path, sizeof path, "%s/..", text);
	MUST(stat(path, &st) == 0 && st.st_uid == VICTIM && (st.st_mode & 0777) == 0700);
	MUST(vb_subnet_ask(sock, &down, -1, &answer, NULL) == 0);
}

/* A fabric serves its user, and nobody else. unix(7) SO_PEERCRED */
static void fabric__serves_its_user(void **state)
{
	pid_t fabric = user_start(VICTIM, serve_fabric);

	(void)state;
	await_ready();
	assert_int_equal(user_run(STRANGER, ask_as_stranger), 0);
	assert_int_equal(user_run(VICTIM, ask_as_owner), 0);
	assert_int_equal(user_end(fabric), 0);
}

static void hold_name(void)
{
	struct sockaddr_un a;
	unsigned len = vb_subnet_address(&a, VICTIM, NAME);
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	MUST(bind(sock, (struct sockaddr *)&a, len) == 0 && listen(sock, 8) == 0);
	raise_ready();
	pause();
}

static void dial_in_vain(void)
{
	char why[256];

	MUST(vb_subnet_dial(NAME, why, sizeof why) == -EPERM);
	MUST(strcmp(why, "the fabric '" NAME "' is another user's") == 0);
}

/* The process that listens at the address of a user's fabric has to be that user's. */
static void name__of_another_user_is_no_fabric(void **state)
{
	pid_t stranger = user_start(STRANGER, hold_name);

	(void)state;
	await_ready();
	assert_int_equal(user_run(VICTIM, dial_in_vain), 0);
	kill(stranger, SIGKILL);
	(void)user_end(stranger);
}

static void make_folders(void)
{
	(void)umask(0);
	MUST(mkdir("/dev/shm/theirs", 0755) == 0);
	MUST(mkdir("/dev/shm/shared", 01777) == 0 && chmod("/dev/shm/shared", 01777) == 0);
}

static void open_folders(void)
{
	int fd = vb_dir_open_base("/dev/shm/shared");

	/* Others cannot take away what this user makes in a sticky folder, whoever owns it. */
	MUST(fd >= 0);
	MUST(vb_file_open(fd, "of-root", O_RDONLY) >= 0);
	MUST(vb_file_open(fd, "of-another", O_RDONLY) == -EPERM);
	MUST(vb_dir_open_base("/dev/shm/theirs") == -EPERM);
	/* Root may do all, but this user could make nothing there. */
	MUST(vb_dir_open_base("/dev/shm/roots") == -EACCES);
}

static void make_file(void)
{
	int fd = open("/dev/shm/shared/of-another", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	MUST(fd >= 0);
	close(fd);
}

/* A base is safe where nobody else but root owns it, or where it is sticky; files are safe that are
 * this user's or root's. */
static void base__is_of_this_user_or_of_root(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(user_run(STRANGER, make_folders), 0);
	assert_int_equal(user_run(STRANGER, make_file), 0);
	assert_int_equal(mkdir("/dev/shm/roots", 0755), 0);
	fd = open("/dev/shm/shared/of-root", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(user_run(VICTIM, open_folders), 0);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    T(fabric__serves_its_user),
	    T(name__of_another_user_is_no_fabric),
	    T(base__is_of_this_user_or_of_root),
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
