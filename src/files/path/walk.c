/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that go through directories inside the C library: patterns and walks. The names that
 * glob(3) and ftw(3) give are those that the program asked for; fts(3) has the names of the
 * broker's tree.
 */
#include "files/next.h"
#include "files/path/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void *glob_opendir(const char *path)
{
	return opendir(path);
}

static void glob_closedir(void *dir)
{
	(void)closedir(dir);
}

static struct dirent *glob_readdir(void *dir)
{
	return readdir(dir);
}

static struct dirent64 *glob_readdir64(void *dir)
{
	return readdir64(dir);
}

/* The C library's own directory calls inside glob() do not pass here: it gets ours by name. */
int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *g)
{
	if (flags & GLOB_ALTDIRFUNC || !vb_path_may_be_ours(pattern))
		return VB_NEXT(glob)(pattern, flags, failed, g);
	g->gl_opendir = glob_opendir;
	g->gl_closedir = glob_closedir;
	g->gl_readdir = glob_readdir;
	g->gl_stat = stat;
	g->gl_lstat = lstat;
	return VB_NEXT(glob)(pattern, flags | GLOB_ALTDIRFUNC, failed, g);
}

int glob64(const char *pattern, int flags, int (*failed)(const char *, int), glob64_t *g)
{
	if (flags & GLOB_ALTDIRFUNC || !vb_path_may_be_ours(pattern))
		return VB_NEXT(glob64)(pattern, flags, failed, g);
	g->gl_opendir = glob_opendir;
	g->gl_closedir = glob_closedir;
	g->gl_readdir = glob_readdir64;
	g->gl_stat = stat64;
	g->gl_lstat = lstat64;
	return VB_NEXT(glob64)(pattern, flags | GLOB_ALTDIRFUNC, failed, g);
}

/* The walk that this thread is in: its callbacks have no argument to say so. */
struct walk {
	const char *asked; /* the path that the program gave */
	size_t real_len;   /* of the path that was walked in its place */
	int (*plain)(const char *, const struct stat *, int);
	int (*deep)(const char *, const struct stat *, int, struct FTW *);
};

static _Thread_local struct walk walk;

/* @path with its beginning as the program knows it. NULL: too long. */
static const char *asked_name(const char *path, char *to, size_t size)
{
	return (size_t)snprintf(to, size, "%s%s", walk.asked, path + walk.real_len) < size ? to
											   : NULL;
}

/* The walk found these with the C library's own stat(2). */
static struct stat device_shown(const char *path, const struct stat *st)
{
	struct stat is = *st;

	if (vb_tree_is_node(st->st_dev, st->st_mode))
		(void)lstat(path, &is);
	return is;
}

static int visit_plain(const char *path, const struct stat *st, int type)
{
	struct walk w = walk;
	char name[VB_PATH_BYTES];
	const char *is = asked_name(path, name, sizeof name);
	struct stat shown = device_shown(path, st);
	int rc = is ? w.plain(is, &shown, type) : 0;

	walk = w;
	return rc;
}

static int visit_deep(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct walk w = walk;
	char name[VB_PATH_BYTES];
	const char *is = asked_name(path, name, sizeof name);
	struct stat shown = device_shown(path, st);
	struct FTW asked = *at;

	asked.base += (int)strlen(w.asked) - (int)w.real_len;
	int rc = is ? w.deep(is, &shown, type, &asked) : 0;
	walk = w;
	return rc;
}

int ftw(const char *path, int (*visit)(const char *, const struct stat *, int), int fds)
{
	struct walk outer = walk;
	struct vb_tree_path p;

	if (!vb_tree_has(AT_FDCWD, path, &p))
		return VB_NEXT(ftw)(path, visit, fds);
	walk = (struct walk){.asked = path, .real_len = strlen(p.text), .plain = visit};
	int rc = VB_NEXT(ftw)(p.text, visit_plain, fds);
	walk = outer;
	return rc;
}

int nftw(const char *path, int (*visit)(const char *, const struct stat *, int, struct FTW *),
	 int fds, int flags)
{
	struct walk outer = walk;
	struct vb_tree_path p;

	if (!vb_tree_has(AT_FDCWD, path, &p))
		return VB_NEXT(nftw)(path, visit, fds, flags);
	walk = (struct walk){.asked = path, .real_len = strlen(p.text), .deep = visit};
	int rc = VB_NEXT(nftw)(p.text, visit_deep, fds, flags);
	walk = outer;
	return rc;
}

/* struct stat64 is struct stat, see stat.c; so these are the same calls. */
int ftw64(const char *path, int (*visit)(const char *, const struct stat64 *, int), int fds)
{
	return ftw(path, (int (*)(const char *, const struct stat *, int))(vb_next_fn)visit, fds);
}

int nftw64(const char *path, int (*visit)(const char *, const struct stat64 *, int, struct FTW *),
	   int fds, int flags)
{
	return nftw(
	    path, (int (*)(const char *, const struct stat *, int, struct FTW *))(vb_next_fn)visit,
	    fds, flags);
}

/* The paths of @argv, those of ours as they are in the tree. NULL: none is ours, or no memory. */
static char **paths_in_tree(char *const *argv)
{
	size_t cnt = 0, ours = 0;
	struct vb_tree_path p;

	while (argv[cnt])
		ours += vb_tree_has(AT_FDCWD, argv[cnt++], &p);
	if (!ours)
		return NULL;
	char **copy = calloc(cnt + 1, sizeof *copy);
	for (size_t i = 0; copy && i < cnt; i++) {
		copy[i] = strdup(vb_tree_has(AT_FDCWD, argv[i], &p) ? p.text : argv[i]);
		if (!copy[i]) {
			while (i--)
				free(copy[i]);
			free(copy);
			return NULL;
		}
	}
	return copy;
}

static void free_paths(char **paths)
{
	for (char **p = paths; p && *p; p++)
		free(*p);
	free(paths);
}

FTS *fts_open(char *const *argv, int options, int (*order)(const FTSENT **, const FTSENT **))
{
	char **ours = paths_in_tree(argv);
	FTS *f = VB_NEXT(fts_open)(ours ? ours : argv, options, order);

	free_paths(ours);
	return f;
}

FTS64 *fts64_open(char *const *argv, int options,
		  int (*order)(const FTSENT64 **, const FTSENT64 **))
{
	char **ours = paths_in_tree(argv);
	FTS64 *f = VB_NEXT(fts64_open)(ours ? ours : argv, options, order);

	free_paths(ours);
	return f;
}
