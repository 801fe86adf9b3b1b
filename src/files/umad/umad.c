/* SPDX-License-Identifier: BSD-2-Clause */
/* Open umad and issm files of a program, see umad.h. */
#include "files/umad/umad.h"

#include "files/inode.h"
#include "files/next.h"
#include "files/umad/session.h"
#include "link/memory.h"
#include "node/subnet/page.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME_PREFIX "verbena-umad-"
#define ISSM_RETRY_MS 50

/* The end that a program holds has a name, by which another process knows it again. */
static socklen_t file_name(struct sockaddr_un *a, uint64_t token)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, NAME_PREFIX "%016" PRIx64 "-%s",
			 token, vb_umad_has_fabric() ? getenv("VERBENA_FABRIC") : "host");

	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Asks until an issm file that another one has open is free, unless the program does not wait. */
static int call_open(const struct vb_subnet_call *call, bool waits, struct vb_subnet_answer *answer,
		     struct vb_fds *fds)
{
	int rc;

	while ((rc = vb_umad_call(call, -1, answer, fds)) == -EAGAIN && waits)
		if (poll(NULL, 0, ISSM_RETRY_MS) < 0 && errno == EINTR)
			return -EINTR;
	if (!rc && fds->cnt == 0)
		rc = -EIO;
	return rc;
}

/* The pages of the fabric's files. They stay mapped, as other threads may look at them; those of a
 * fabric that has ended are the only ones that are no longer used. */
static struct {
	pthread_mutex_t mutex;
	struct vb_subnet_page *at;
	ino_t ino;
} pages = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void pages_keep(int fd)
{
	struct stat st;
	void *p;

	pthread_mutex_lock(&pages.mutex);
	if (vb_inode_stat(fd, &st) == 0 && (!pages.at || st.st_ino != pages.ino) &&
	    vb_memory_map(fd, VB_SUBNET_PAGES * sizeof *pages.at, true, &p) == 0) {
		__atomic_store_n(&pages.at, p, __ATOMIC_RELEASE);
		pages.ino = st.st_ino;
	}
	pthread_mutex_unlock(&pages.mutex);
}

/* NULL: it has none, or was handed over by another process. */
static struct vb_subnet_page *page_of(const struct vb_fd *f)
{
	struct vb_subnet_page *p = __atomic_load_n(&pages.at, __ATOMIC_ACQUIRE);

	return p && f->session != 0 && f->session <= VB_SUBNET_PAGES ? p + f->session - 1 : NULL;
}

static int enter_file(int fd, const struct vb_subnet_answer *answer, int flags)
{
	struct vb_fd f = {.kind = VB_FD_UMAD, .token = answer->token, .session = answer->page};
	struct sockaddr_un a;
	socklen_t len = file_name(&a, f.token);

	atomic_store_explicit(&vb_umad_is_used, true, memory_order_relaxed);
	return bind(fd, (struct sockaddr *)&a, len) ? -errno : vb_fd_enter_opened(fd, &f, flags);
}

/* A file that is not there: its index is of no port, or the tree that had it is gone. MAD-01 */
static int missing_error(const struct vb_tree_path *p, const char *dev)
{
	char root[VB_PATH_BYTES];

	snprintf(root, sizeof root, "%.*s/class", (int)(dev - p->text), p->text);
	return VB_NEXT(access)(root, F_OK) ? -ENXIO : -ENOENT;
}

/* The port that "umad0" or "issm0" at the end of the path is of, by the tree. */
static int port_of(const struct vb_tree_path *p)
{
	char path[VB_PATH_BYTES + 64], line[16];
	const char *name = strrchr(p->text, '/') + 1;
	const char *dev = strstr(p->text, "/class/dev/infiniband");
	FILE *f;
	int port = -ENOENT;

	if (!dev)
		return -ENOENT;
	snprintf(path, sizeof path, "%.*s/class/infiniband_mad/%s/port", (int)(dev - p->text),
		 p->text, name);
	f = VB_NEXT(fopen)(path, "re");
	if (!f)
		return missing_error(p, dev);
	if (fgets(line, sizeof line, f))
		port = atoi(line);
	fclose(f);
	return port;
}

/* The N of umadN. */
static uint32_t number_of(const struct vb_tree_path *p)
{
	const char *name = strrchr(p->text, '/') + 1;

	return (uint32_t)strtoul(name + strlen("umad"), NULL, 10);
}

int vb_umad_open(const struct vb_tree_path *p, int flags)
{
	bool is_issm = p->device == VB_PATH_ISSM;
	struct vb_subnet_call call = {.op = is_issm ? VB_SUBNET_ISSM_OPEN : VB_SUBNET_UMAD_OPEN};
	struct vb_subnet_answer answer;
	struct vb_fds fds = {.cnt = 0};
	int rc = port_of(p);

	if (rc >= 0) {
		/* A device of the host has one port; its place in the table is the file's number.
		 */
		call.number = vb_umad_has_fabric() ? (uint32_t)rc : number_of(p) + 1;
		rc = call_open(&call, is_issm && !(flags & O_NONBLOCK), &answer, &fds);
		if (rc == -EIO) /* the fabric has ended */
			rc = -ENXIO;
	}
	if (!rc)
		rc = enter_file(fds.fd[0], &answer, flags);
	if (fds.cnt > 1)
		pages_keep(fds.fd[1]);
	for (uint32_t i = rc ? 0 : 1; i < fds.cnt; i++)
		VB_NEXT(close)(fds.fd[i]);
	if (!rc)
		return fds.fd[0];
	errno = -rc;
	return -1;
}

void vb_umad_adopt(int fd)
{
	struct vb_fd f = {.kind = VB_FD_UMAD};
	struct sockaddr_un a = {.sun_family = AF_UNSPEC}, is;
	socklen_t len = sizeof a;
	int was = errno;

	if (getsockname(fd, (struct sockaddr *)&a, &len) == 0 && a.sun_family == AF_UNIX &&
	    len > offsetof(struct sockaddr_un, sun_path) + 1 && !a.sun_path[0]) {
		a.sun_path[sizeof a.sun_path - 1] = 0;
		if (sscanf(a.sun_path + 1, NAME_PREFIX "%16" SCNx64, &f.token) == 1 &&
		    file_name(&is, f.token) == len && memcmp(&is, &a, len) == 0) {
			atomic_store_explicit(&vb_umad_is_used, true, memory_order_relaxed);
			(void)vb_fd_enter(fd, &f);
		}
	}
	errno = was;
}

/* One look at, or the taking of, the first message. The descriptor of its memory is *memory. */
static ssize_t receive_message(int fd, struct vb_subnet_prefix *prefix, void *to, size_t len,
			       int flags, int *memory)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov[2] = {{prefix, sizeof *prefix}, {to, len}};
	struct msghdr mh = {.msg_iov = iov,
			    .msg_iovlen = 2,
			    .msg_control = control.buf,
			    .msg_controllen = sizeof control.buf};
	ssize_t n = VB_NEXT(recvmsg)(fd, &mh, flags | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&mh) : NULL;

	*memory = -1;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(memory, CMSG_DATA(c), sizeof *memory);
	return n;
}

/* The error of a read of @len bytes for the message of @p; 0: none. MAD-14, MAD-15 */
static int check_room(const struct vb_subnet_prefix *p, size_t len)
{
	size_t first = p->hdr_len + VB_MAD_LEN;

	if (len >= p->len)
		return 0;
	return p->len > first && len >= first ? -ENOSPC : -EINVAL;
}

/* Takes the message off the queue. */
static void drop_message(int fd)
{
	struct vb_subnet_prefix prefix;
	int memory;

	(void)receive_message(fd, &prefix, NULL, 0, MSG_DONTWAIT, &memory);
	if (memory >= 0)
		VB_NEXT(close)(memory);
}

/* Messages that a program has not read go with the device. The page tells of an end in order; a
 * fabric that was killed closed the file alone, and what it had sent is read. MAD-16 */
static bool is_dead(int fd, const struct vb_fd *f)
{
	const struct vb_subnet_page *p = page_of(f);

	return (!p || __atomic_load_n(&p->token, __ATOMIC_ACQUIRE) != f->token) &&
	       vb_umad_is_gone(fd);
}

ssize_t vb_umad_read(int fd, const struct vb_fd *f, void *to, size_t len)
{
	struct vb_subnet_prefix prefix;
	ssize_t n, got;
	int memory, rc;

	if (len < VB_UMAD_HDR_LEN_OLD) {
		errno = EINVAL;
		return -1;
	}
	if (is_dead(fd, f)) {
		errno = EIO;
		return -1;
	}
	n = receive_message(fd, &prefix, to, len, MSG_PEEK, &memory);
	if (n < (ssize_t)sizeof prefix) {
		if (n >= 0)
			errno = EIO; /* the fabric has ended */
		return -1;
	}
	rc = check_room(&prefix, len);
	got = (ssize_t)(rc ? prefix.hdr_len + VB_MAD_LEN : prefix.len);
	if (memory >= 0) {
		if (rc != -EINVAL && pread(memory, to, (size_t)got, 0) != got)
			rc = -EIO;
		VB_NEXT(close)(memory);
	}
	if (!rc) {
		drop_message(fd);
		return got;
	}
	errno = -rc;
	return -1;
}

/* A message too long for a call goes as memory. */
static int memory_make(const void *from, size_t len)
{
	int fd = vb_memory_create("verbena-mad", len);

	if (fd >= 0 && pwrite(fd, from, len, 0) != (ssize_t)len) {
		VB_NEXT(close)(fd);
		return -ENOMEM;
	}
	return fd;
}

/* Writes what cannot be refused, without waiting. False: nothing was written. MAD-11 */
static bool write_ahead(int fd, const struct vb_fd *f, const void *from, size_t len)
{
	struct vb_subnet_page *p = page_of(f);
	struct iovec iov = {(void *)(uintptr_t)from, len};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
	uint32_t *counter;

	if (!p || !vb_subnet_page_claim(p, f->token, from, len, &counter))
		return false;
	if (VB_NEXT(sendmsg)(fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return true;
	/* The socket is full, or the fabric has ended: a call tells. */
	__atomic_fetch_sub(counter, 1, __ATOMIC_RELEASE);
	return false;
}

ssize_t vb_umad_write(int at, const struct vb_fd *f, const void *from, size_t len)
{
	struct vb_subnet_call call;
	struct vb_subnet_answer answer;
	int fd = -1, rc = 0;

	if (write_ahead(at, f, from, len))
		return (ssize_t)len;
	memset(&call, 0, VB_SUBNET_CALL_HEADER);
	call.op = VB_SUBNET_UMAD_WRITE;
	call.token = f->token;
	if (len > VB_MAD_MESSAGE_MAX) {
		rc = -EINVAL;
	} else if (len > sizeof call.body) {
		fd = memory_make(from, len);
		rc = fd < 0 ? fd : 0;
	} else {
		memcpy(call.body, from, len);
		call.len = (uint32_t)len;
	}
	if (!rc)
		rc = vb_umad_call(&call, fd, &answer, NULL);
	if (fd >= 0)
		VB_NEXT(close)(fd);
	if (!rc)
		return (ssize_t)len;
	errno = -rc;
	return -1;
}

/* The bytes that an ioctl's argument has. */
static uint32_t argument_len(unsigned long request)
{
	switch (request) {
	case VB_UMAD_REGISTER_AGENT:
		return VB_UMAD_REG_LEN;
	case VB_UMAD_REGISTER_AGENT2:
		return VB_UMAD_REG2_LEN;
	case VB_UMAD_UNREGISTER_AGENT:
		return sizeof(uint32_t);
	default:
		return 0;
	}
}

int vb_umad_ioctl(const struct vb_fd *f, unsigned long request, void *arg)
{
	struct vb_subnet_call call = {.op = VB_SUBNET_UMAD_IOCTL,
				      .token = f->token,
				      .number = (uint32_t)request,
				      .len = argument_len((uint32_t)request)};
	struct vb_subnet_answer answer = {.len = 0};
	int rc = call.len && !arg ? -EFAULT : 0;

	if (!rc && call.len)
		memcpy(call.body, arg, call.len);
	if (!rc)
		rc = vb_umad_call(&call, -1, &answer, NULL);
	/* The fabric has ended: to a program its device is gone. MAD-16 */
	if (rc == -EIO && call.number != VB_UMAD_UNREGISTER_AGENT)
		rc = -EPIPE;
	if (answer.len && answer.len <= call.len)
		memcpy(arg, answer.body, answer.len);
	if (!rc)
		return 0;
	errno = -rc;
	return -1;
}
