/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC domains. Domains opened by descriptors of one file are one domain, as with a device of the
 * kernel, in other processes too (core/share/migration.h); the file has no other use. A process
 * that has a domain open holds a lock on a byte of the file that nobody uses, so that the processes
 * of a host know of each other and a killed one leaves nothing behind. ibv_open_xrcd(3); IBT-22
 */
#include "verbs/priv.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The state that the handles of one domain share. Under the engine's lock. */
struct vb_ibv_xrc_domain {
	struct vb_xrcd *core;
	uint32_t refs;
	int lock_fd; /* -1: no file */
	dev_t dev;
	ino_t ino;
};

/* The byte that stands for this adapter's device, behind the end of any file. */
static struct flock lock_of(const struct vb_ibv_context *c, short type)
{
	return (struct flock){.l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = INT64_MAX - 1 - (off_t)c->dev->index,
			      .l_len = 1};
}

/* Another description of the file, so that its lock is ours alone. -1 and errno. */
static int lock_open(int fd)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static struct vb_ibv_xrc_domain *domain_find(const struct vb_ibv_context *of, const struct stat *st)
{
	for (struct vb_list *l = vb_ibv_contexts.next; l != &vb_ibv_contexts; l = l->next) {
		struct vb_ibv_context *c = vb_container_of(l, struct vb_ibv_context, link);

		for (struct vb_list *x = c->xrcds.next;
		     c->dev->index == of->dev->index && x != &c->xrcds; x = x->next) {
			struct vb_ibv_xrc_domain *d =
			    vb_container_of(x, struct vb_ibv_xrcd, link)->domain;

			if (d->lock_fd >= 0 && d->dev == st->st_dev && d->ino == st->st_ino)
				return d;
		}
	}
	return NULL;
}

/* Whether another process has the domain of the file open. */
static bool is_open_elsewhere(const struct vb_ibv_context *c, int lock_fd)
{
	struct flock lock = lock_of(c, F_WRLCK);

	return fcntl(lock_fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static int domain_new(struct vb_ibv_context *c, int lock_fd, const struct stat *st,
		      struct vb_ibv_xrc_domain **out)
{
	struct vb_ibv_xrc_domain *d = calloc(1, sizeof *d);

	if (!d)
		return ENOMEM;

	int err = -vb_xrcd_create(vb_engine_hca(c->engine), &d->core);

	if (err) {
		free(d);
		return vb_ibv_why_core(c, err);
	}
	d->lock_fd = lock_fd;
	d->dev = st->st_dev;
	d->ino = st->st_ino;
	if (lock_fd >= 0) {
		/* One for each device, as the file stands for as many. */
		const struct vb_xrcd_name name = {
		    .dev = (uint64_t)d->dev ^ (uint64_t)c->dev->index << 56, .ino = d->ino};

		vb_engine_share_xrcd(c->engine, d->core, &name);
	}
	*out = d;
	return 0;
}

/* Whether @oflags let a domain be opened that is there or is not. Returns 0 or an errno. */
static int may_open(bool is_there, int oflags)
{
	if (is_there && oflags & O_EXCL)
		return VB_IBV_WHY(EINVAL, "oflags have O_EXCL, and the file has a domain already "
					  "(ibv_open_xrcd(3))");
	if (!is_there && !(oflags & O_CREAT))
		return VB_IBV_WHY(EAGAIN, "oflags lack O_CREAT, and the file has no domain yet "
					  "(ibv_open_xrcd(3))");
	return 0;
}

/* The domain of the file behind @fd, found or made as @oflags say. Returns 0 or an errno. */
static int domain_of_file(struct vb_ibv_context *c, int fd, int oflags,
			  struct vb_ibv_xrc_domain **out)
{
	struct stat st;

	if (fstat(fd, &st))
		return VB_IBV_WHY(errno, "fd %d: %s", fd, strerrordesc_np(errno));
	*out = domain_find(c, &st);
	if (*out)
		return may_open(true, oflags);

	int lock_fd = lock_open(fd);

	if (lock_fd < 0)
		return VB_IBV_WHY(errno, "the file behind fd %d does not open for a lock: %s", fd,
				  strerrordesc_np(errno));

	int err = may_open(is_open_elsewhere(c, lock_fd), oflags);

	if (!err) {
		struct flock lock = lock_of(c, F_RDLCK);

		/* A file system without locks does not tell processes apart, and serves one. */
		(void)fcntl(lock_fd, F_OFD_SETLK, &lock);
		err = domain_new(c, lock_fd, &st, out);
	}
	if (err)
		close(lock_fd);
	return err;
}

struct ibv_xrcd *vb_ibv_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;

	int err = 0;

	if (attr->comp_mask & ~needed)
		err = VB_IBV_WHY(EOPNOTSUPP, "comp_mask has 0x%x, which the adapter does not know",
				 attr->comp_mask & ~needed);
	else if (attr->comp_mask != needed)
		err = VB_IBV_WHY(EINVAL,
				 "comp_mask 0x%x lacks IBV_XRCD_INIT_ATTR_FD or "
				 "IBV_XRCD_INIT_ATTR_OFLAGS",
				 attr->comp_mask);
	if (err)
		return VB_IBV_REFUSE_NULL(c, err, "ibv_open_xrcd");

	struct vb_ibv_xrcd *x = vb_object_new(VB_OBJECT_XRCD, sizeof *x);

	err = EIO;

	if (!x)
		return vb_ibv_null(ENOMEM);
	x->ibv.context = context;
	vb_object_name(x, context, 0);
	if (vb_ibv_enter(c)) {
		err = attr->fd == -1 ? domain_new(c, -1, &(struct stat){0}, &x->domain)
				     : domain_of_file(c, attr->fd, attr->oflags, &x->domain);
		if (!err) {
			assert(x->domain);
			x->core = x->domain->core;
			x->domain->refs++;
			vb_list_append(&c->xrcds, &x->link);
		}
		vb_ibv_leave(c);
	}
	if (err) {
		vb_object_free(x);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_open_xrcd");
	}
	return &x->ibv;
}

int vb_ibv_xrcd_free(struct vb_ibv_xrcd *x)
{
	struct vb_ibv_xrc_domain *d = x->domain;
	int err = 0;

	vb_list_remove(&x->link);
	vb_object_free(x);
	if (--d->refs)
		return 0;
	err = vb_xrcd_destroy(d->core);
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	free(d);
	return err;
}

int vb_ibv_close_xrcd(struct ibv_xrcd *ibv)
{
	if (vb_ibv_check_plain(ibv, VB_OBJECT_XRCD))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_close_xrcd");

	struct vb_ibv_xrcd *x = (struct vb_ibv_xrcd *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_close_xrcd");

	int err = x->user_cnt ? VB_IBV_WHY(EBUSY, "QPs or SRQs still use it (ibv_close_xrcd(3))")
			      : -vb_ibv_xrcd_free(x);

	vb_ibv_leave(c);
	return err ? vb_ibv_refuse(c, err, "ibv_close_xrcd") : 0;
}
