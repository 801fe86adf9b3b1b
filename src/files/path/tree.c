/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reaching the broker's tree, see tree.h. The descriptor is this library's, but its number is the
 * program's to close: before each use it is looked at whether it still is what was opened.
 */
#include "files/path/tree.h"

#include "files/next.h"
#include "files/own_fd.h"
#include "files/umad/umad.h"
#include "node/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

_Atomic(dev_t) vb_tree_dev;

static struct {
	pthread_mutex_t mutex;
	struct vb_own_fd sock;
	char root[256];
	char last[256]; /* of a fabric: the root that this process has had */
} tree = {.mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, .sock = VB_OWN_FD_NONE};

static void lock_tree(void)
{
	pthread_mutex_lock(&tree.mutex);
}

static void unlock_tree(void)
{
	pthread_mutex_unlock(&tree.mutex);
}

/* The child has one thread, and the lock as it was. */
static void renew_lock(void)
{
	tree.mutex = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

static bool is_held(void)
{
	char byte;

	return vb_own_fd_is_there(&tree.sock) &&
	       recv(tree.sock.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0;
}

/* The tree of a node of a fabric, which VERBENA_FABRIC and VERBENA_NODE name. */
static bool reach_fabric(void)
{
	char why[256];
	int sock = vb_umad_attach(tree.root, sizeof tree.root, why, sizeof why);

	if (sock < 0)
		return false;
	vb_own_fd_take(&tree.sock, sock);
	memcpy(tree.last, tree.root, sizeof tree.last);
	return true;
}

/* Connects to the broker as one that looks on, and keeps of it the socket and the root. */
static bool reach_broker(void)
{
	struct vb_broker_observer o;
	char why[256];

	if (vb_broker_observe(&o, true, why, sizeof why))
		return false;
	snprintf(tree.root, sizeof tree.root, "%.*s", (int)sizeof o.host->sysfs_path - 1,
		 o.host->sysfs_path);
	vb_own_fd_take(&tree.sock, o.sock);
	o.sock = -1;
	vb_broker_observe_end(&o);
	return true;
}

static bool reach_tree(void)
{
	static bool is_prepared;
	struct stat st;

	if (is_held())
		return tree.root[0];
	if (!is_prepared)
		is_prepared = pthread_atfork(lock_tree, unlock_tree, renew_lock) == 0;
	vb_own_fd_drop(&tree.sock);
	tree.root[0] = 0;
	if (vb_umad_has_fabric() ? !reach_fabric() : !reach_broker())
		return false;
	if (!tree.root[0] || VB_NEXT(stat)(tree.root, &st))
		return false;
	atomic_store(&vb_tree_dev, st.st_dev);
	return true;
}

/* The root of the tree, NULL: there is none. When its fabric has ended, the node of a program has
 * lost its device: the host's is none of its own, and its device files are told apart. MAD-01 */
static const char *root_now(void)
{
	if (reach_tree())
		return tree.root;
	return vb_umad_has_fabric() && tree.last[0] ? tree.last : NULL;
}

/* @path as an absolute one, which may still have links and dots in it. */
static bool make_absolute(int at, const char *path, char *to, size_t size)
{
	char link[32], dir[PATH_MAX];
	ssize_t n;

	if (path[0] == '/')
		return (size_t)snprintf(to, size, "%s", path) < size;
	if (at == AT_FDCWD)
		snprintf(link, sizeof link, "/proc/self/cwd");
	else
		snprintf(link, sizeof link, "/proc/self/fd/%d", at);
	n = VB_NEXT(readlink)(link, dir, sizeof dir - 1);
	if (n <= 0 || dir[0] != '/')
		return false;
	dir[n] = 0;
	return (size_t)snprintf(to, size, "%s/%s", dir, path) < size;
}

bool vb_tree_find(int at, const char *path, struct vb_tree_path *to)
{
	char absolute[VB_PATH_BYTES], any[VB_PATH_BYTES];
	int was = errno;
	bool found = make_absolute(at, path, absolute, sizeof absolute);

	/* Asked of the text first: nothing else brings a program to the broker. */
	bool of_host = found && vb_path_in_tree(absolute, "", any, sizeof any);
	if (found && (of_host || atomic_load(&vb_tree_dev))) {
		const char *root = tree.root;

		lock_tree();
		if (of_host) {
			root = root_now();
			found = root && vb_path_in_tree(absolute, root, to->text, sizeof to->text);
		} else {
			snprintf(to->text, sizeof to->text, "%s", absolute);
		}
		to->device = found ? vb_path_device(to->text, root) : VB_PATH_NO_DEVICE;
		/* A path into the tree by its own name needs nothing but to be told as a device. */
		found = found && (of_host || to->device != VB_PATH_NO_DEVICE);
		unlock_tree();
	} else {
		found = false;
	}
	errno = was;
	return found;
}
