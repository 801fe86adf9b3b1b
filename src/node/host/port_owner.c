/* SPDX-License-Identifier: BSD-2-Clause */
/* Owners of UDP port 4791: /proc/net/udp{,6} give the sockets, /proc/PID/fd their processes.
 * proc(5) */
#include "node/host/port_owner.h"

#include "link/memory.h"
#include "wire/icrc.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int sockets_of(const char *table, struct vb_port_owner *o, int cnt, int max)
{
	char line[512];
	FILE *f = fopen(table, "re");

	if (!f)
		return cnt;
	while (cnt < max && fgets(line, sizeof line, f)) {
		unsigned port, uid;
		uint64_t inode;

		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %u %*s %" SCNu64,
			   &port, &uid, &inode) == 3 &&
		    port == VB_ROCE_PORT)
			o[cnt++] = (struct vb_port_owner){.uid = uid, .inode = inode};
	}
	fclose(f);
	return cnt;
}

static void comm_of(pid_t pid, char *comm, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(comm, (int)size, f))
		comm[strcspn(comm, "\n")] = 0;
	fclose(f);
}

static bool maps_slot(pid_t pid)
{
	char path[64], line[512];
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof line, f))
		found = strstr(line, "/memfd:" VB_MEMORY_SLOT) != NULL;
	if (f)
		fclose(f);
	return found;
}

/* Sets the pid of each socket in @o that process @pid has. */
static void match_process(pid_t pid, struct vb_port_owner *o, int cnt)
{
	char dir[64], path[384], link[64];

	snprintf(dir, sizeof dir, "/proc/%d/fd", (int)pid);
	DIR *d = opendir(dir);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		uint64_t inode;
		ssize_t n;

		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		n = readlink(path, link, sizeof link - 1);
		if (n <= 0)
			continue;
		link[n] = 0;
		if (sscanf(link, "socket:[%" SCNu64 "]", &inode) != 1)
			continue;
		for (int i = 0; i < cnt; i++)
			if (!o[i].pid && o[i].inode && o[i].inode == inode) {
				o[i].pid = pid;
				o[i].is_client = maps_slot(pid);
				comm_of(pid, o[i].comm, sizeof o[i].comm);
			}
	}
	closedir(d);
}

int vb_port_owners(struct vb_port_owner *o, int max)
{
	int cnt = sockets_of("/proc/net/udp6", o, 0, max);

	cnt = sockets_of("/proc/net/udp", o, cnt, max);
	DIR *proc = cnt ? opendir("/proc") : NULL;
	if (!proc)
		return cnt;
	for (struct dirent *e; (e = readdir(proc));)
		if (isdigit((unsigned char)e->d_name[0]))
			match_process((pid_t)atoi(e->d_name), o, cnt);
	closedir(proc);
	return cnt;
}

bool vb_port_is_adopted(const struct vb_port_owner *o, int cnt)
{
	for (int i = 0; i < cnt; i++)
		if (o[i].inode && o[i].uid == geteuid() &&
		    (o[i].is_client || !o[i].pid || strncmp(o[i].comm, "verbena", 7) == 0))
			return true;
	return false;
}

/* The one that tells most: a client, a process, anything. */
static const struct vb_port_owner *best_owner(const struct vb_port_owner *o, int cnt)
{
	const struct vb_port_owner *best = NULL;

	for (int i = 0; i < cnt; i++)
		if (!best || (o[i].is_client && !best->is_client) || (o[i].pid && !best->pid))
			best = &o[i];
	return best;
}

void vb_port_explain(const struct vb_port_owner *owner, int cnt, char *text, size_t size)
{
	const struct vb_port_owner *o = best_owner(owner, cnt);

	if (!o)
		snprintf(
		    text, size,
		    "UDP port 4791 is taken by a socket that /proc/net/udp does not show; find its "
		    "owner with 'ss -ulpn sport = 4791' as root");
	else if (o->is_client && o->uid != geteuid())
		snprintf(
		    text, size,
		    "UDP port 4791 is held by the Verbena of user %u (process %d, %s); one user "
		    "of a network namespace has it at a time: have that user's programs end "
		    "('verbena hca stop'), let root run 'verbena broker --shared', or use another "
		    "network namespace",
		    (unsigned)o->uid, (int)o->pid, o->comm);
	else if (o->is_client)
		snprintf(
		    text, size,
		    "UDP port 4791 is held by process %d (%s), whose broker was killed and which "
		    "does not answer; end or continue it",
		    (int)o->pid, o->comm);
	else if (o->pid)
		snprintf(
		    text, size,
		    "UDP port 4791 is taken by process %d (%s) of user %u; end it, or use another "
		    "network namespace",
		    (int)o->pid, o->comm, (unsigned)o->uid);
	else if (o->inode == 0)
		snprintf(
		    text, size,
		    "UDP port 4791 is taken by the kernel (rdma_rxe?); remove its devices with "
		    "'rdma link delete', or use another network namespace");
	else
		snprintf(text, size,
			 "UDP port 4791 is taken by a process of user %u; end it, or use another "
			 "network "
			 "namespace (as that user 'ss -ulpn sport = 4791' names it)",
			 (unsigned)o->uid);
}
