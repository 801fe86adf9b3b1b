/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that appear whole. See whole_file.h. */
#include "export/file/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES 1000

/* A new file beside the path; those that killed processes have left are in the way of none. */
static int open_beside(struct vb_whole_file *w, mode_t mode)
{
	int fd = -1;

	for (int i = 0; fd < 0 && i < NAMES; i++) {
		snprintf(w->beside, sizeof w->beside, "%s.%d.%d.tmp", w->path, (int)getpid(), i);
		fd = open(w->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	return fd < 0 ? -EEXIST : fd;
}

/* The place of the file: through links, so that they stay. */
static int find_place(struct vb_whole_file *w, const char *path)
{
	char *real = realpath(path, NULL);
	int n = snprintf(w->path, sizeof w->path, "%s", real ? real : path);

	free(real);
	return n < 0 || (size_t)n >= sizeof w->path ? -ENAMETOOLONG : 0;
}

int vb_whole_file_begin(struct vb_whole_file *w, const char *path)
{
	struct stat st;
	bool is_there = stat(path, &st) == 0, is_file = !is_there || S_ISREG(st.st_mode);
	int err = find_place(w, path), fd;

	if (!err && is_there && access(path, W_OK) != 0)
		err = -errno;
	if (err)
		return err;
	w->beside[0] = '\0';
	w->text = NULL;
	if (!is_file)
		fd = open(path, O_WRONLY | O_CLOEXEC);
	else
		fd = open_beside(w, is_there ? st.st_mode & 0777 : 0666);
	if (fd < 0)
		return is_file ? fd : -errno;
	w->f = fdopen(fd, "w");
	if (w->f)
		return 0;
	err = -errno;
	close(fd);
	if (w->beside[0])
		unlink(w->beside);
	return err;
}

int vb_whole_file_begin_in(struct vb_whole_file *w, const char *dir, const char *name)
{
	char path[VB_WHOLE_FILE_PATH];

	if (dir) {
		snprintf(path, sizeof path, "%s/%s", dir, name);
		return vb_whole_file_begin(w, path);
	}
	snprintf(w->path, sizeof w->path, "%s", name);
	w->beside[0] = '\0';
	w->f = open_memstream(&w->text, &w->len);
	return w->f ? 0 : -errno;
}

int vb_whole_file_copy(struct vb_whole_file *w, FILE *to)
{
	if (fflush(w->f) != 0)
		return -errno;
	if (!w->text)
		return -ENOENT;
	return fwrite(w->text, 1, w->len, to) == w->len ? 0 : -errno;
}

int vb_whole_file_end(struct vb_whole_file *w, int err)
{
	if (ferror(w->f) && !err)
		err = -EIO;
	if (fflush(w->f) != 0 && !err)
		err = -errno;
	/* Whole also after the machine stops: the name must not be there before the bytes. */
	if (!err && w->beside[0] && fsync(fileno(w->f)) != 0)
		err = -errno;
	if (fclose(w->f) != 0 && !err)
		err = -errno;
	w->f = NULL;
	free(w->text);
	w->text = NULL;
	if (!err && w->beside[0] && rename(w->beside, w->path) != 0)
		err = -errno;
	if (err && w->beside[0])
		unlink(w->beside);
	return err;
}

int vb_whole_file_check(const char *path)
{
	struct vb_whole_file w;
	struct stat st;
	int err;

	/* A path that is no file is not opened twice: the reader of a pipe would see its end. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : access(path, W_OK) != 0 ? -errno : 0;
	err = vb_whole_file_begin(&w, path);
	if (err)
		return err;
	fclose(w.f);
	if (w.beside[0])
		unlink(w.beside);
	return 0;
}
