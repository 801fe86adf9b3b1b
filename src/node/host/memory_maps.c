/* SPDX-License-Identifier: BSD-2-Clause */
/* The mappings of a process, see memory_maps.h. */
#include "node/host/memory_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

FILE *vb_memory_maps_open(pid_t pid)
{
	char path[32] = "/proc/self/maps";

	if (pid)
		snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	return fopen(path, "re");
}

/* The rest of the line is a name, of which only a newline is escaped. */
static void read_name(FILE *f, struct vb_map *m)
{
	size_t len = 0;
	int c;

	do {
		c = getc(f);
	} while (c == ' ');
	for (; c != EOF && c != '\n'; c = getc(f)) {
		if (len + 1 < sizeof m->name)
			m->name[len++] = (char)c;
	}
	m->name[len] = 0;
}

bool vb_memory_maps_next(FILE *f, struct vb_map *m)
{
	char mode[5];

	if (fscanf(f, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64,
		   &m->start, &m->end, mode, &m->offset, &m->major, &m->minor, &m->ino) != 7)
		return false;
	m->readable = mode[0] == 'r';
	m->writable = mode[1] == 'w';
	m->shared = mode[3] == 's';
	read_name(f, m);
	return true;
}

bool vb_map_same_object(const struct vb_map *a, const struct vb_map *b)
{
	return a->ino && a->ino == b->ino && a->major == b->major && a->minor == b->minor &&
	       a->shared && b->shared;
}

int vb_memory_maps_find(pid_t pid, uint64_t addr, uint64_t len, struct vb_map *m)
{
	FILE *f = vb_memory_maps_open(pid);
	struct vb_map next;
	uint64_t end;

	if (!f)
		return -errno;
	if (__builtin_add_overflow(addr, len, &end))
		end = 0; /* nothing reaches it */
	m->start = m->end = 0;
	while (m->end <= addr && vb_memory_maps_next(f, m)) {
	}

	bool found = end && m->start <= addr && addr < m->end;

	while (found && m->end < end) {
		found = vb_memory_maps_next(f, &next) && next.start == m->end &&
			vb_map_same_object(m, &next) &&
			next.offset == m->offset + (m->end - m->start) &&
			next.readable == m->readable && next.writable == m->writable;
		if (found)
			m->end = next.end;
	}
	fclose(f);
	return found ? 0 : -EFAULT;
}
