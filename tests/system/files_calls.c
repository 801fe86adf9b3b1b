/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every call of the C library by which a program comes to /sys/class/infiniband and
 * /dev/infiniband: each finds what the others find. Built with and without _FORTIFY_SOURCE. Says
 * "ok".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CLASS "/sys/class/infiniband"
#define NODE "/dev/infiniband/uverbs0"

#define need(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #x, strerror(errno));        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static char device[64], type_file[256], text[64];
static volatile int flags_read = O_RDONLY;
/* Lengths that a compiler does not know call the fortified forms. */
static volatile size_t text_len = sizeof text - 1, path_len = PATH_MAX - 1;

static int is_type(const char *s)
{
	return strcmp(s, "1: CA\n") == 0;
}

static int reads_type(int fd)
{
	ssize_t n;

	memset(text, 0, sizeof text);
	need(fd >= 0);
	n = read(fd, text, text_len);
	close(fd);
	return n > 0 && is_type(text);
}

static int stream_is_type(FILE *f)
{
	need(f);
	memset(text, 0, sizeof text);
	need(fgets(text, sizeof text, f));
	fclose(f);
	return is_type(text);
}

static void find_device(void)
{
	DIR *d = opendir(CLASS);
	struct dirent *e;

	need(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			snprintf(device, sizeof device, "%.60s", e->d_name);
	closedir(d);
	need(device[0]);
	snprintf(type_file, sizeof type_file, CLASS "/%s/node_type", device);
}

static void open_all_ways(void)
{
	int class = open("/sys/class", O_RDONLY | O_DIRECTORY), dir = open(CLASS, flags_read);
	char below[256], beside[256];

	snprintf(below, sizeof below, "%s/node_type", device);
	snprintf(beside, sizeof beside, "infiniband/%s/node_type", device);
	need(reads_type(open(type_file, O_RDONLY)));
	need(reads_type(open(type_file, flags_read)));
	need(reads_type(open64(type_file, flags_read)));
	need(reads_type(openat(AT_FDCWD, type_file, flags_read)));
	need(reads_type(openat64(dir, below, flags_read)));
	need(reads_type(openat(dir, below, flags_read)));
	need(reads_type(openat(class, beside, flags_read)));
	need(stream_is_type(fopen(type_file, "r")));
	need(stream_is_type(fopen64(type_file, "re")));
	need(stream_is_type(freopen(type_file, "r", fopen("/dev/null", "r"))));
	need(stream_is_type(freopen64(type_file, "r", fopen("/dev/null", "r"))));
	need(stream_is_type(fdopen(open(type_file, O_RDONLY), "r")));
	/* Nothing is made or changed there. */
	need(open(type_file, O_WRONLY | O_TRUNC) < 0 && errno == EACCES);
	need(open(CLASS "/new", O_RDWR | O_CREAT, 0644) < 0 && errno == EACCES);
	need(creat(type_file, 0644) < 0 && errno == EACCES);
	need(creat64(type_file, 0644) < 0 && errno == EACCES);
	need(!fopen(type_file, "w") && errno == EACCES);
	need(open(CLASS "/none", O_RDONLY) < 0 && errno == ENOENT);
	close(class);
	close(dir);
}

/* The names that stat() had in programs that were linked before glibc 2.33. */
int __xstat(int version, const char *path, struct stat *st);
int __lxstat(int version, const char *path, struct stat *st);
int __fxstat(int version, int fd, struct stat *st);
int __fxstatat(int version, int at, const char *path, struct stat *st, int flags);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstat64(int version, int fd, struct stat64 *st);
int __fxstatat64(int version, int at, const char *path, struct stat64 *st, int flags);

#ifdef __x86_64__
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif

static void look_as_old_programs(void)
{
	int dir = open("/dev", O_RDONLY | O_DIRECTORY), fd = open(NODE, O_RDWR | O_CLOEXEC);
	const char *below = "infiniband/uverbs0";
	struct stat st;
	struct stat64 st64;

	need(__xstat(STAT_VERSION, NODE, &st) == 0 && S_ISCHR(st.st_mode));
	need(__lxstat(STAT_VERSION, NODE, &st) == 0 && S_ISCHR(st.st_mode));
	need(__fxstat(STAT_VERSION, fd, &st) == 0 && S_ISCHR(st.st_mode));
	need(__fxstatat(STAT_VERSION, dir, below, &st, 0) == 0 && S_ISCHR(st.st_mode));
	need(__xstat64(STAT_VERSION, NODE, &st64) == 0 && S_ISCHR(st64.st_mode));
	need(__lxstat64(STAT_VERSION, NODE, &st64) == 0 && S_ISCHR(st64.st_mode));
	need(__fxstat64(STAT_VERSION, fd, &st64) == 0 && S_ISCHR(st64.st_mode));
	need(__fxstatat64(STAT_VERSION, dir, below, &st64, 0) == 0 && S_ISCHR(st64.st_mode));
	close(fd);
	close(dir);
}

static void look_all_ways(void)
{
	int dir = open("/dev", O_RDONLY | O_DIRECTORY), fd = open(NODE, O_RDWR | O_CLOEXEC);
	struct stat st;
	struct stat64 st64;
	struct statx sx;
	const dev_t number = makedev(231, 192);

	need(stat(NODE, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == number);
	need(lstat(NODE, &st) == 0 && S_ISCHR(st.st_mode) && st.st_size == 0);
	need(stat64(NODE, &st64) == 0 && S_ISCHR(st64.st_mode) && st64.st_rdev == number);
	need(lstat64(NODE, &st64) == 0 && S_ISCHR(st64.st_mode));
	need(fstatat(dir, "infiniband/uverbs0", &st, 0) == 0 && S_ISCHR(st.st_mode));
	need(fstatat64(AT_FDCWD, NODE, &st64, 0) == 0 && S_ISCHR(st64.st_mode));
	need(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == number);
	need(fstat64(fd, &st64) == 0 && S_ISCHR(st64.st_mode));
	need(fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISCHR(st.st_mode));
	need(statx(AT_FDCWD, NODE, 0, STATX_BASIC_STATS, &sx) == 0 && S_ISCHR(sx.stx_mode) &&
	     sx.stx_rdev_major == 231 && sx.stx_rdev_minor == 192);
	need(access(NODE, R_OK | W_OK) == 0 && eaccess(NODE, R_OK | W_OK) == 0);
	need(faccessat(dir, "infiniband/uverbs0", R_OK | W_OK, 0) == 0);
	need(access("/dev/infiniband/uverbs99", F_OK) < 0 && errno == ENOENT);
	need(stat("/dev/null", &st) == 0 && st.st_rdev == makedev(1, 3));
	/* Calls through it are the library's. */
	need(ioctl(fd, 0xc0181b01, NULL) < 0 && errno == ENOTTY);
	need(write(fd, text, 8) < 0 && errno == EOPNOTSUPP);
	need(read(fd, text, 8) < 0 && errno == EOPNOTSUPP);
	need(close(fd) == 0 && open("/dev/null", O_RDWR) == fd && write(fd, text, 8) == 8);
	close(fd);
	close(dir);
}

static void resolve_names(void)
{
	char path[PATH_MAX], link[PATH_MAX], up[PATH_MAX];
	struct stat st;
	ssize_t n;
	int dir = open(CLASS, O_RDONLY | O_DIRECTORY);

	snprintf(path, sizeof path, CLASS "/%s", device);
	n = readlink(path, link, path_len);
	need(n > 0);
	link[n] = 0;
	need(strstr(link, "/pci5642:") && strstr(link, device));
	need(readlinkat(AT_FDCWD, path, link, path_len) == n);
	memset(link, 0, sizeof link);
	need(dir >= 0 && readlinkat(dir, device, link, path_len) == n && strstr(link, device));
	close(dir);
	snprintf(path, sizeof path, CLASS "/%s/../../local_cpulist", device);
	need(stat(path, &st) == 0);
	snprintf(path, sizeof path, CLASS "/%s/../..", device);
	need(realpath(path, up) && strstr(up, "/5642:"));
	need(stat(up, &st) == 0 && S_ISDIR(st.st_mode));
	char *same = canonicalize_file_name(path);
	need(same && strcmp(same, up) == 0);
	free(same);
	need(getxattr(type_file, "user.none", up, sizeof up) < 0 && errno != ENOENT);
}

static void change_directory(void)
{
	char path[PATH_MAX];

	need(chdir("/sys/class") == 0);
	need(reads_type(open(type_file + strlen("/sys/class/"), O_RDONLY)));
	need(chdir("infiniband") == 0);
	snprintf(path, sizeof path, "%s/node_type", device);
	need(reads_type(open(path, O_RDONLY)));
	need(chdir("/") == 0);
}

static int any_entry(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int visits;

static int visit_file(const char *path, const struct stat *st, int type)
{
	(void)type;
	need(strncmp(path, "/dev/infiniband", 15) == 0);
	visits += S_ISCHR(st->st_mode);
	return 0;
}

static int visit_at(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)type;
	need(strncmp(path, CLASS, strlen(CLASS)) == 0);
	need(at->level == 0 || path[at->base - 1] == '/');
	visits += S_ISLNK(st->st_mode);
	return 0;
}

static int any_entry64(const struct dirent64 *e)
{
	return e->d_name[0] != '.';
}

static int visit_file64(const char *path, const struct stat64 *st, int type)
{
	(void)type;
	need(strncmp(path, "/dev/infiniband", 15) == 0);
	visits += S_ISCHR(st->st_mode);
	return 0;
}

static int visit_at64(const char *path, const struct stat64 *st, int type, struct FTW *at)
{
	(void)type;
	need(at->level == 0 || path[at->base - 1] == '/');
	visits += S_ISLNK(st->st_mode);
	return 0;
}

/* The same calls by the names that programs with 64-bit offsets have. */
static void walk_by_64_bits(void)
{
	static char root[] = CLASS "/";
	char *const roots[] = {root, NULL};
	int dir = open("/dev", O_RDONLY | O_DIRECTORY), found = 0;
	struct dirent64 **list;
	glob64_t g;
	FTS64 *f = fts64_open(roots, FTS_LOGICAL, NULL);

	need(scandir64(CLASS, &list, any_entry64, alphasort64) >= 1);
	need(strncmp(list[0]->d_name, "verbena", 7) == 0);
	need(scandirat64(dir, "infiniband", &list, any_entry64, alphasort64) >= 2);
	need(strcmp(list[0]->d_name, "rdma_cm") == 0);
	need(glob64("/sys/class/infiniband_verbs/*/ibdev", 0, NULL, &g) == 0 && g.gl_pathc >= 1);
	globfree64(&g);
	visits = 0;
	need(ftw64("/dev/infiniband", visit_file64, 8) == 0 && visits >= 2);
	visits = 0;
	need(nftw64(CLASS, visit_at64, 8, FTW_PHYS) == 0 && visits >= 1);
	need(f);
	for (FTSENT64 *e; (e = fts64_read(f));)
		found += strcmp(e->fts_name, "node_type") == 0;
	need(found && fts64_close(f) == 0);
	close(dir);
}

static void walk_all_ways(void)
{
	static char root[] = CLASS "/";
	char *const roots[] = {root, NULL};
	int dir = open("/dev", O_RDONLY | O_DIRECTORY);
	struct dirent **list;
	glob_t g;

	need(scandir(CLASS, &list, any_entry, alphasort) >= 1);
	need(strncmp(list[0]->d_name, "verbena", 7) == 0);
	need(scandirat(AT_FDCWD, "/dev/infiniband", &list, any_entry, alphasort) >= 2);
	need(strcmp(list[0]->d_name, "rdma_cm") == 0);
	need(scandirat(dir, "infiniband", &list, any_entry, alphasort) >= 2);
	need(strcmp(list[0]->d_name, "rdma_cm") == 0);
	close(dir);
	need(glob(CLASS "/*/node_type", 0, NULL, &g) == 0 && g.gl_pathc >= 1);
	need(strncmp(g.gl_pathv[0], CLASS "/verbena", strlen(CLASS "/verbena")) == 0);
	globfree(&g);
	need(glob("/etc/pass*d", 0, NULL, &g) == 0 && g.gl_pathc == 1);
	globfree(&g);
	need(ftw("/dev/infiniband", visit_file, 8) == 0 && visits >= 2);
	visits = 0;
	need(nftw(CLASS, visit_at, 8, FTW_PHYS) == 0 && visits >= 1);
	FTS *f = fts_open(roots, FTS_LOGICAL, NULL);
	int found = 0;
	need(f);
	for (FTSENT *e; (e = fts_read(f));)
		found += strcmp(e->fts_name, "node_type") == 0;
	fts_close(f);
	need(found);
}

/* The files that the C library opens in the child, and the calls of a child of vfork(). */
static void spawn_children(void)
{
	static char program[] = "/usr/bin/grep", quiet[] = "-q", pattern[] = "1: CA";
	char *const argv[] = {program, quiet, pattern, NULL};
	posix_spawn_file_actions_t actions;
	int status, fd = open(NODE, O_RDWR);
	pid_t pid;

	need(posix_spawn_file_actions_init(&actions) == 0);
	need(posix_spawn_file_actions_addopen(&actions, 0, type_file, O_RDONLY, 0) == 0);
	need(posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) == 0);
	need(waitpid(pid, &status, 0) == pid && status == 0);
	posix_spawn_file_actions_destroy(&actions);
	pid = vfork();
	if (pid == 0) {
		close(fd); /* NOLINT: the child's number alone is closed */
		_exit(0);
	}
	need(waitpid(pid, &status, 0) == pid && status == 0);
	need(ioctl(fd, 0xc0181b01, NULL) < 0 && errno == ENOTTY);
	need(write(fd, text, 8) < 0 && errno == EOPNOTSUPP);
	close(fd);
}

/* A program that a shell of this one's starts, and a file that it reads for it. */
static void spawn_by_shell(void)
{
	char line[512];

	snprintf(line, sizeof line, "test -c " NODE " && grep -q '1: CA' %s", type_file);
	need(system(line) == 0); /* NOLINT(cert-env33-c): a shell is what this is about */
	snprintf(line, sizeof line, "cat %s", type_file);
	FILE *f = popen(line, "r"); /* NOLINT(cert-env33-c) */
	need(f && fgets(text, sizeof text, f) && is_type(text) && pclose(f) == 0);
}

int main(void)
{
	find_device();
	open_all_ways();
	look_all_ways();
	resolve_names();
	change_directory();
	look_as_old_programs();
	walk_all_ways();
	walk_by_64_bits();
	spawn_by_shell();
	spawn_children();
	puts("ok");
	return 0;
}
