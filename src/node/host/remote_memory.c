/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of another process, see remote_memory.h. An object that is opened or found is believed
 * only when the kernel says of the finished mapping, in /proc/self/maps, that it is of the same
 * object: stat(2) tells other numbers of a file than the maps do on some stacked file systems.
 */
#include "node/host/remote_memory.h"
#include "node/host/memory_maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The memory to map: an object, and which of its bytes. */
struct wanted {
	struct vb_map map; /* as the other process has it */
	uint64_t skip;     /* bytes of it before those that are asked for */
	bool write;
};

/* @p is a mapping of this process: take it when it is of the object that is wanted. */
static bool accept_mapping(const struct wanted *w, void *p, struct vb_remote_memory *out)
{
	uint64_t size = w->map.end - w->map.start;
	struct vb_map got;

	if (vb_memory_maps_find(0, (uintptr_t)p, size, &got) == 0 &&
	    vb_map_same_object(&got, &w->map) && (!w->write || got.writable) &&
	    got.offset + ((uintptr_t)p - got.start) == w->map.offset) {
		*out = (struct vb_remote_memory){
		    .base = p, .size = (size_t)size, .at = (uint8_t *)p + w->skip};
		return true;
	}
	munmap(p, (size_t)size);
	return false;
}

/* Opens @path, a regular file with the inode that is wanted, and maps it. 0 or a negative errno. */
static int map_path(const struct wanted *w, const char *path, struct vb_remote_memory *out)
{
	struct stat st;

	/* Opening other things than files may have effects. */
	if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_ino != w->map.ino)
		return -EOPNOTSUPP;

	int fd = open(path, (w->write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;

	void *p = mmap(NULL, (size_t)(w->map.end - w->map.start),
		       w->write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd,
		       (off_t)w->map.offset);
	int rc = p == MAP_FAILED ? -errno : accept_mapping(w, p, out) ? 0 : -EOPNOTSUPP;

	if (rc == 0) {
		int seals = fcntl(fd, F_GET_SEALS);

		out->may_shrink = seals < 0 || !(seals & F_SEAL_SHRINK);
	}
	close(fd);
	return rc;
}

/* By a descriptor that the process has: the way to a memfd. */
static int map_descriptor(const struct wanted *w, pid_t pid, struct vb_remote_memory *out)
{
	char path[32 + NAME_MAX];
	int rc = -EOPNOTSUPP, len = snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	DIR *d = opendir(path);
	struct dirent *e;

	if (!d)
		return -errno;
	while (rc && (e = readdir(d))) {
		snprintf(path + len, sizeof path - (size_t)len, "/%s", e->d_name);
		int err = map_path(w, path, out);

		if (err != -EOPNOTSUPP)
			rc = err;
	}
	closedir(d);
	return rc;
}

/* By the path that the kernel tells, as that process sees it. */
static int map_named(const struct wanted *w, pid_t pid, struct vb_remote_memory *out)
{
	char path[sizeof w->map.name + 32];

	if (w->map.name[0] != '/')
		return -EOPNOTSUPP;
	snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, w->map.name);
	return map_path(w, path, out);
}

/* By a mapping that this process has, by fork() or its own doing: another one is made of it, so
 * that what the program does with its own does not matter. mremap(2), old_size 0 */
static int map_own(const struct wanted *w, struct vb_remote_memory *out)
{
	uint64_t size = w->map.end - w->map.start;
	FILE *f = vb_memory_maps_open(0);
	struct vb_map own;
	int rc = -EOPNOTSUPP;

	if (!f)
		return -errno;
	while (rc && vb_memory_maps_next(f, &own)) {
		if (!vb_map_same_object(&own, &w->map) || own.offset > w->map.offset ||
		    own.offset + (own.end - own.start) < w->map.offset + size)
			continue;

		void *p = (void *)(uintptr_t)(own.start + (w->map.offset - own.offset));

		p = mremap(p, 0, (size_t)size, MREMAP_MAYMOVE);
		if (p != MAP_FAILED && accept_mapping(w, p, out))
			rc = 0;
	}
	fclose(f);
	/* Shared memory without a name cannot be truncated, for want of a descriptor. */
	if (rc == 0)
		out->may_shrink = strcmp(w->map.name, "/dev/zero (deleted)") != 0;
	return rc;
}

int vb_remote_memory_map(pid_t pid, uint64_t addr, uint64_t len, bool write,
			 struct vb_remote_memory *out)
{
	struct wanted w = {.write = write};
	int rc = vb_memory_maps_find(pid, addr, len, &w.map), err;

	if (rc)
		return rc;
	if (!w.map.readable || (write && !w.map.writable))
		return -EFAULT;
	if (!w.map.shared || !w.map.ino)
		return -EOPNOTSUPP;
	w.skip = addr - w.map.start;
	rc = map_descriptor(&w, pid, out);
	if (rc) {
		err = map_named(&w, pid, out);
		if (err)
			err = map_own(&w, out) ? err : 0;
		/* Why it did not go, from where there was something to go to. */
		rc = err == -EOPNOTSUPP ? rc : err;
	}
	return rc;
}

void vb_remote_memory_unmap(const struct vb_remote_memory *m)
{
	if (m->base)
		munmap(m->base, m->size);
}
