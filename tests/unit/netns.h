/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network namespace of the test's own, with "lo" up: what a test binds and starts there disturbs
 * nobody. As an unprivileged user by way of a user namespace.
 */
#ifndef VB_TESTS_UNIT_NETNS_H
#define VB_TESTS_UNIT_NETNS_H

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static inline void netns_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	ssize_t n = write(fd, text, strlen(text));
	(void)n;
	close(fd);
}

static inline bool netns_set_up(const char *ifname)
{
	struct ifreq ifr = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(ifr.ifr_name, sizeof ifr.ifr_name, "%s", ifname);
	ifr.ifr_flags = IFF_UP;
	bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &ifr) == 0;

	close(fd);
	return ok;
}

/* Enters a fresh namespace. False where that is not allowed. Call it before any thread starts. */
static inline bool netns_enter(void)
{
	char map[32];
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWNET) == 0)
		return netns_set_up("lo");
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	netns_write("/proc/self/setgroups", "deny");
	snprintf(map, sizeof map, "%u %u 1", uid, uid);
	netns_write("/proc/self/uid_map", map);
	snprintf(map, sizeof map, "%u %u 1", gid, gid);
	netns_write("/proc/self/gid_map", map);
	return netns_set_up("lo");
}

#endif
