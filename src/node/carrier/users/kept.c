/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of what outlives the shared broker, see kept.h. mmap(2), namespaces(7) */
#include "node/carrier/users/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x56424b31u
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* Linux 5.14 */
#endif
#define FOLDER "/run/verbena-shared"

/* A number that no other network namespace has had since the host began; 0: the kernel tells none.
 */
static uint64_t netns_cookie(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t cookie = 0;
	socklen_t len = sizeof cookie;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len))
		cookie = 0;
	if (fd >= 0)
		close(fd);
	return cookie;
}

/* Each network namespace has a shared broker of its own. */
static int path_of(char *to, size_t size)
{
	struct stat st;

	if (stat("/proc/self/ns/net", &st))
		return -errno;
	snprintf(to, size, FOLDER "/%llu", (unsigned long long)st.st_ino);
	return 0;
}

/* Only root may have been there. */
static bool is_roots(int fd, mode_t kind)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & S_IFMT) == kind &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int file_open(void)
{
	char path[64];
	int dir, fd, rc = path_of(path, sizeof path);

	if (rc)
		return rc;
	(void)mkdir(FOLDER, 0700);
	dir = open(FOLDER, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = is_roots(dir, S_IFDIR) ? openat(dir, path + sizeof FOLDER,
					     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)
				    : -1;
	rc = fd < 0 ? -errno : 0;
	close(dir);
	if (fd >= 0 && (!is_roots(fd, S_IFREG) || ftruncate(fd, sizeof(struct vb_carrier_kept)))) {
		close(fd);
		return -EPERM;
	}
	return rc ? rc : fd;
}

/* The file, with room for all that is not a claim; -1: there can be none. */
static int file_take(void)
{
	int fd = file_open();

	if (fd < 0 || posix_fallocate(fd, 0, offsetof(struct vb_carrier_kept, claim)) == 0)
		return fd;
	close(fd);
	vb_carrier_kept_remove();
	return -1;
}

int vb_carrier_kept_make_room(int fd, uint32_t user, uint32_t i)
{
	size_t at = offsetof(struct vb_carrier_kept, claim) +
		    ((size_t)user * VB_CARRIER_CLAIMS + i) * sizeof(struct vb_carrier_claim);

	if (fd < 0)
		return 0;
	return -posix_fallocate(fd, (off_t)at, sizeof(struct vb_carrier_claim));
}

int vb_carrier_kept_open(struct vb_carrier_kept **out, int *file, bool *found)
{
	int fd = *file = file_take();
	struct vb_carrier_kept *k =
	    mmap(NULL, sizeof *k, PROT_READ | PROT_WRITE,
		 fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED, fd, 0);

	if (k == MAP_FAILED) {
		int rc = -errno;

		if (fd >= 0)
			close(fd);
		return rc;
	}
	*found = k->magic == MAGIC && k->size == sizeof *k && k->netns == netns_cookie();
	if (!*found) {
		/* Claims from claim_end on are not looked at, and their pages not touched. */
		memset(k, 0, offsetof(struct vb_carrier_kept, claim));
		k->size = sizeof *k;
		k->netns = netns_cookie();
		k->magic = MAGIC;
	}
	*out = k;
	return 0;
}

void vb_carrier_kept_remove(void)
{
	char path[64];

	if (path_of(path, sizeof path) == 0)
		(void)unlink(path);
}
