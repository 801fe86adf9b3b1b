/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a program finds and starts its broker: where the command is looked for, what the new process
 * gets of the program, and that the program keeps nothing of it. The broker here is this test,
 * which says what it finds and ends. node/client/spawn.h
 */
#include "cmocka_env.h"
#include "descriptors.h"
#include "node/client/spawn.h"
#include "node/store/fd_store.h"
#include "node/store/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000

/* Variables that tell the process that is started its role, and the file of its report. */
#define ROLE "VERBENA_TEST_ROLE"
#define REPORT "VERBENA_TEST_REPORT"

static char own[PATH_MAX], why[512];
static char folder[] = "/dev/shm/verbena-test-XXXXXX";

static void target_of(int fd, char *to, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	n = readlink(path, to, size - 1);
	to[n > 0 ? n : 0] = 0;
}

/* The process that was started: says what it has of the program. */
static int report(int argc, char **argv)
{
	char in[PATH_MAX], err[PATH_MAX];
	struct stat st;
	bool has_store = fstat(3, &st) == 0 && S_ISSOCK(st.st_mode);
	FILE *f = fopen(getenv(REPORT), "we");
	struct sigaction child;
	sigset_t mask;
	int blocked = 0;

	if (!f || sigaction(SIGCHLD, NULL, &child))
		return 1;
	target_of(STDIN_FILENO, in, sizeof in);
	target_of(STDERR_FILENO, err, sizeof err);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int sig = 1; sig < 32; sig++)
		blocked += sigismember(&mask, sig);
	for (int i = 0; i < argc; i++)
		fprintf(f, "%s ", argv[i]);
	if (argc == 2)
		fprintf(f, "in=%s err=%s preload=%d before=%s behind=%s ", in, err,
			getenv("LD_PRELOAD") != NULL, getenv("VERBENA_TEST_BEFORE"),
			getenv("VERBENA_TEST_BEHIND"));
	fprintf(f, "session=%d blocked=%d", getsid(0) == getpid(), blocked);
	if (argc == 3)
		fprintf(f, " ignored=%d store=%d", child.sa_handler == SIG_IGN, has_store);
	return fclose(f) ? 1 : 0;
}

static int play_role(const char *role, int argc, char **argv)
{
	char path[PATH_MAX];

	if (strcmp(role, "report") == 0)
		return report(argc, argv);
	if (strcmp(role, "complain") == 0)
		return printf("the moon is full\nand more\n") < 0;
	if (strcmp(role, "silent") == 0) {
		/* Until it is told to end. */
		(void)alarm(PATIENCE_MS / 1000);
		FILE *f = fopen(getenv(REPORT), "we");

		fprintf(f, "%d\n", (int)getpid());
		fclose(f);
		for (;;)
			(void)pause();
	}
	if (strcmp(role, "find") == 0)
		return vb_verbena_path(path, sizeof path) ? 77 : puts(path) < 0;
	return 1;
}

static char *file_of(const char *name)
{
	static char path[4][PATH_MAX];
	static int turn;
	char *p = path[turn++ % 4];

	snprintf(p, PATH_MAX, "%s/%s", folder, name);
	return p;
}

static int setup(void **state)
{
	(void)state;
	why[0] = 0;
	setenv("VERBENA_BIN", own, 1);
	setenv(REPORT, file_of("report"), 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(file_of("report"));
	unsetenv("VERBENA_BIN");
	unsetenv(ROLE);
	unsetenv(REPORT);
	return 0;
}

static void put_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void read_report(char *to, size_t size)
{
	FILE *f = fopen(file_of("report"), "re");

	assert_non_null(f);
	if (!fgets(to, (int)size, f))
		to[0] = 0;
	fclose(f);
}

/* The broker is a process of its own: it has a session, no blocked signal, nothing of the program's
 * standard files, and all of its environment but what is preloaded. */
static void spawn__is_its_own_process(void **state)
{
	char text[PATH_MAX];
	sigset_t some, old, now;

	(void)state;
	setenv(ROLE, "report", 1);
	setenv("VERBENA_TEST_BEFORE", "1", 1);
	setenv("LD_PRELOAD", "", 1);
	setenv("VERBENA_TEST_BEHIND", "2", 1);
	sigemptyset(&some);
	sigaddset(&some, SIGTERM);
	sigaddset(&some, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &some, &old), 0);
	assert_int_equal(vb_broker_spawn(PATIENCE_MS, why, sizeof why), 0);
	/* The program's own mask is what it was. */
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, &now), 0);
	for (int sig = 1; sig < 32; sig++)
		assert_int_equal(sigismember(&now, sig),
				 sigismember(&old, sig) || sigismember(&some, sig));
	unsetenv("LD_PRELOAD");
	read_report(text, sizeof text);
	assert_string_equal(text, "verbena broker in=/dev/null err=/dev/null preload=0 before=1 "
				  "behind=2 session=1 blocked=0");
}

/* The keeper gets the descriptor store as its descriptor 3, and nothing of the broker's signals. */
static void keeper__is_its_own_process(void **state)
{
	int store = vb_fd_store_create();
	sigset_t some, old;
	char text[PATH_MAX];

	(void)state;
	assert_true(store >= 0);
	setenv(ROLE, "report", 1);
	sigemptyset(&some);
	sigaddset(&some, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &some, &old), 0);
	assert_true(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	assert_int_equal(vb_keeper_start(store), 0);
	/* Nobody waits for it, so that this returns when it has ended. */
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_true(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
	read_report(text, sizeof text);
	assert_string_equal(text, "verbena broker --keeper session=1 blocked=0 ignored=0 store=1");
	setenv("VERBENA_BIN", "/nonexistent/verbena", 1);
	assert_int_equal(vb_keeper_start(store), -ENOENT);
	setenv("VERBENA_BIN", file_of("none"), 1);
	put_file(file_of("none"), "nothing\n", 0755);
	assert_int_equal(vb_keeper_start(store), -ENOEXEC);
	assert_int_equal(unlink(file_of("none")), 0);
	close(store);
}

/* Pages of this process's address space. proc(5) */
static unsigned long pages(void)
{
	unsigned long n = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &n), 1);
	fclose(f);
	return n;
}

/* Nothing of it stays in the program: no child of any kind, no descriptor, no memory. */
static void spawn__leaves_nothing(void **state)
{
	unsigned long before;
	unsigned descriptors;

	(void)state;
	setenv(ROLE, "report", 1);
	assert_int_equal(vb_broker_spawn(PATIENCE_MS, why, sizeof why), 0);
	descriptors = descriptors_of(getpid());
	before = pages();
	/* Each maps a stack of 64 pages for a while. */
	for (int i = 0; i < 12; i++)
		assert_int_equal(vb_broker_spawn(PATIENCE_MS, why, sizeof why), 0);
	assert_int_equal(descriptors_of(getpid()), descriptors);
	assert_true(pages() < before + 12 * 64 / 2);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

/* A broker that cannot start says why: the user is told the first line of it. */
static void spawn__says_why_not(void **state)
{
	(void)state;
	setenv(ROLE, "complain", 1);
	assert_int_equal(vb_broker_spawn(PATIENCE_MS, why, sizeof why), -EIO);
	assert_string_equal(why, "the moon is full");
}

/* A broker that neither listens nor ends is waited for as long as was said. */
static void spawn__has_no_end(void **state)
{
	unsigned descriptors = descriptors_of(getpid());
	char text[32] = "";

	(void)state;
	setenv(ROLE, "silent", 1);
	assert_int_equal(vb_broker_spawn(50, why, sizeof why), -ETIMEDOUT);
	assert_string_equal(why, "the broker was started but does not answer");
	assert_int_equal(descriptors_of(getpid()), descriptors);
	for (int ms = 0; atoi(text) == 0 && ms < PATIENCE_MS; ms++) {
		FILE *f = fopen(file_of("report"), "re");

		if (f && !fgets(text, sizeof text, f))
			text[0] = 0;
		if (f)
			fclose(f);
		usleep(1000);
	}
	assert_true(atoi(text) > 1);
	assert_int_equal(kill(atoi(text), SIGKILL), 0);
}

/* A program that has closed its standard files starts a broker as any other does. */
static void spawn__without_standard_files(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	setenv(ROLE, "complain", 1);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		_exit(vb_broker_spawn(PATIENCE_MS, why, sizeof why) == -EIO &&
			      strcmp(why, "the moon is full") == 0
			  ? 0
			  : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A file that is no program is named, with what the kernel says of it. */
static void spawn__of_no_program(void **state)
{
	unsigned descriptors = descriptors_of(getpid());
	const char *path = file_of("nothing");

	(void)state;
	put_file(path, "nothing\n", 0755);
	setenv("VERBENA_BIN", path, 1);
	assert_int_equal(vb_broker_spawn(PATIENCE_MS, why, sizeof why), -ENOEXEC);
	assert_non_null(strstr(why, "cannot start the broker "));
	assert_non_null(strstr(why, path));
	/* A file that nobody may run is not tried. */
	put_file(path, "nothing\n", 0644);
	assert_int_equal(vb_broker_spawn(PATIENCE_MS, why, sizeof why), -ENOENT);
	assert_non_null(strstr(why, "VERBENA_BIN"));
	assert_int_equal(descriptors_of(getpid()), descriptors);
	assert_int_equal(unlink(path), 0);
}

/* A hard limit of 1024 files is enough for the broker of a host, one less is not. */
static void spawn__as_many_files_as_a_broker_needs(void **state)
{
	struct rlimit is;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &is), 0);
	if (is.rlim_max < 1024) {
		print_message("no more than %lu files here\n", (unsigned long)is.rlim_max);
		skip();
	}
	setenv(ROLE, "report", 1);
	for (rlim_t most = 1023; most <= 1024; most++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0) {
			const struct rlimit few = {1000, most};
			int rc = setrlimit(RLIMIT_NOFILE, &few)
				     ? 1
				     : vb_broker_spawn(PATIENCE_MS, why, sizeof why);

			if (most == 1024)
				_exit(rc == 0 ? 0 : 1);
			_exit(rc == -EMFILE && strstr(why, "is 1023 and") &&
				      strstr(why, "needs 1024")
				  ? 0
				  : 2);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* The path has to fit, with the end of its text. */
static void path__has_to_fit(void **state)
{
	const char *file = file_of("verbena");
	char path[PATH_MAX];

	(void)state;
	put_file(file, "", 0755);
	setenv("VERBENA_BIN", file, 1);
	assert_int_equal(vb_verbena_path(path, strlen(file) + 1), 0);
	assert_string_equal(path, file);
	assert_int_equal(vb_verbena_path(path, strlen(file)), -ENOENT);
	assert_int_equal(unlink(file), 0);
}

/* The path that a copy of this program at @prog finds; "": none. @name is its name for itself. */
static void found_by(const char *prog, const char *name, char *to, size_t size)
{
	int pipes[2], status;
	ssize_t n, at = 0;
	pid_t pid;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		unsetenv("VERBENA_BIN");
		setenv(ROLE, "find", 1);
		if (dup2(pipes[1], STDOUT_FILENO) >= 0 && chdir(folder) == 0)
			execl(prog, name, (char *)NULL);
		_exit(1);
	}
	close(pipes[1]);
	while ((n = read(pipes[0], to + at, size - 1 - (size_t)at)) > 0)
		at += n;
	close(pipes[0]);
	to[at] = 0;
	to[strcspn(to, "\n")] = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), at ? 0 : 77);
}

static void copy_program(const char *to)
{
	static char bytes[1 << 16];
	int in = open(own, O_RDONLY | O_CLOEXEC), out;
	ssize_t n;

	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, bytes, sizeof bytes)) > 0)
		assert_int_equal(write(out, bytes, (size_t)n), n);
	close(in);
	close(out);
}

/* Without being told where it is, the command is looked for where it lies beside a library or a
 * program of a build, the nearest place first, by any name that the program calls itself. */
static void path__beside_the_program(void **state)
{
	static const char *const place[] = {"a/b/c/verbena", "a/b/bin/verbena", "a/bin/verbena",
					    "a/b/verbena",   "a/verbena",       "verbena"};
	static const char *const dirs[] = {"a", "a/b", "a/b/c", "a/b/bin", "a/bin"};
	static char prog[PATH_MAX];
	char text[PATH_MAX], real[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
		assert_int_equal(mkdir(file_of(dirs[i]), 0755), 0);
	snprintf(prog, sizeof prog, "%s", file_of("a/b/c/prog"));
	copy_program(prog);
	/* A file of that name where the program works is another one. */
	put_file(file_of("prog"), "", 0755);
	for (size_t i = 0; i < sizeof place / sizeof place[0]; i++)
		put_file(file_of(place[i]), "", 0755);
	for (size_t i = 0; i < sizeof place / sizeof place[0]; i++) {
		found_by(prog, i % 2 ? "prog" : prog, text, sizeof text);
		assert_non_null(realpath(text, real));
		assert_string_equal(real, file_of(place[i]));
		/* A file that cannot be run is passed over. */
		assert_int_equal(chmod(file_of(place[i]), 0644), 0);
	}
	/* By a name that leads nowhere, and where nothing is. */
	found_by(prog, "./not/there", text, sizeof text);
	assert_string_equal(text, "");
	put_file(file_of("a/b/verbena"), "", 0755);
	found_by(prog, "./not/there", text, sizeof text);
	assert_non_null(realpath(text, real));
	assert_string_equal(real, file_of("a/b/verbena"));
	for (size_t i = 0; i < sizeof place / sizeof place[0]; i++)
		assert_int_equal(unlink(file_of(place[i])), 0);
	assert_int_equal(unlink(prog), 0);
	assert_int_equal(unlink(file_of("prog")), 0);
	for (size_t i = sizeof dirs / sizeof dirs[0]; i-- > 0;)
		assert_int_equal(rmdir(file_of(dirs[i])), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    T(spawn__is_its_own_process), T(keeper__is_its_own_process),
	    T(spawn__leaves_nothing),     T(spawn__says_why_not),
	    T(spawn__has_no_end),         T(spawn__without_standard_files),
	    T(spawn__of_no_program),      T(spawn__as_many_files_as_a_broker_needs),
	    T(path__has_to_fit),          T(path__beside_the_program),
	};
	const char *role = getenv(ROLE);

	if (role)
		return play_role(role, argc, argv);
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

	if (n <= 0 || !mkdtemp(folder))
		return 1;
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	(void)rmdir(folder);
	return rc;
}
