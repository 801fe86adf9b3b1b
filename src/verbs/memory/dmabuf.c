/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions of a dma-buf: memory that a descriptor stands for. Software reaches it as any program
 * does, by mapping it, and so every dma-buf will do whose exporter lets it be mapped. So will a
 * memfd, which is what udmabuf makes a dma-buf of. ibv_reg_dmabuf_mr(3)
 */
#include "verbs/priv.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define KNOWN                                                                                      \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING)

/* The length of @fd, the size of its pages, and *may_shrink: it can be truncated. 0 or an
 * errno. */
static int look_at(int fd, uint64_t *size, uint64_t *page, bool *may_shrink)
{
	struct statfs fs;
	struct stat st;
	int seals = 0;
	off_t end;

	if (fstatfs(fd, &fs))
		return VB_IBV_WHY(errno, "fd %d: %s", fd, strerrordesc_np(errno));
	if (fs.f_type == DMA_BUF_MAGIC) {
		end = lseek(fd, 0, SEEK_END);
		*may_shrink = false;
	} else {
		seals = fcntl(fd, F_GET_SEALS);
		if (seals < 0 || fstat(fd, &st))
			return VB_IBV_WHY(EINVAL, "fd %d is neither a dma-buf nor a memfd", fd);
		end = st.st_size;
		*may_shrink = !(seals & F_SEAL_SHRINK);
	}
	if (end < 0)
		return VB_IBV_WHY(EINVAL, "the dma-buf does not tell its length (lseek(2))");
	*size = (uint64_t)end;
	*page =
	    fs.f_type == HUGETLBFS_MAGIC ? (uint64_t)fs.f_bsize : (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

/* Maps [offset, offset + length) of @fd. 0 or an errno. */
static int map_dmabuf(int fd, uint64_t offset, size_t length, bool write,
		      struct vb_remote_memory *out)
{
	uint64_t size = 0, page = 1, skip, end;
	int err = look_at(fd, &size, &page, &out->may_shrink);
	void *p;

	if (err)
		return err;
	if (length == 0)
		return VB_IBV_WHY(EINVAL, "length is 0 (ibv_reg_dmabuf_mr(3))");
	if (__builtin_add_overflow(offset, length, &end) || end > size)
		return VB_IBV_WHY(EINVAL,
				  "offset %" PRIu64 " and length %zu end behind the %" PRIu64
				  " bytes of the dma-buf",
				  offset, length, size);
	skip = offset % page;
	out->size = (length + skip + page - 1) / page * page;
	p = mmap(NULL, out->size, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd,
		 (off_t)(offset - skip));
	if (p == MAP_FAILED)
		return VB_IBV_WHY(errno == ENODEV ? EOPNOTSUPP : errno,
				  "the dma-buf does not let itself be mapped: %s (mmap(2))",
				  strerrordesc_np(errno));
	out->base = p;
	out->at = (uint8_t *)p + skip;
	err = vb_engine_check_memory(out->at, length, write);
	return err ? VB_IBV_WHY(err, "not all of the %zu bytes of the dma-buf can be %s", length,
				write ? "written" : "read")
		   : 0;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	uint64_t in_page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	struct vb_ibv_mr_origin origin = {.is_own = true};
	struct vb_mr_attr attr = {
	    .iova = iova, .length = length, .access = (uint32_t)access, .kind = VB_MR_HOST};
	struct ibv_mr *mr = NULL;
	int was = errno, err = vb_ibv_access_check(attr.access);

	if (!err && access & ~KNOWN)
		err = VB_IBV_WHY(EINVAL, "access 0x%x has rights that a dma-buf does not have",
				 (unsigned)access & ~(unsigned)KNOWN);
	if (!err && (offset ^ iova) & in_page)
		err = VB_IBV_WHY(EINVAL,
				 "iova 0x%" PRIx64 " and offset 0x%" PRIx64
				 " are at different places of a page",
				 iova, offset);
	if (!err)
		err =
		    map_dmabuf(fd, offset, length, access & IBV_ACCESS_LOCAL_WRITE, &origin.memory);
	if (!err) {
		attr.host = origin.memory.at;
		/* Then a hole is an error of the access. */
		if (origin.memory.may_shrink)
			attr.access |= VB_ACCESS_ON_DEMAND;
		mr = vb_ibv_mr_create(pd, &attr, NULL, &origin);
		err = mr ? 0 : errno;
	} else {
		(void)vb_ibv_refuse(NULL, err, "ibv_reg_dmabuf_mr");
	}
	if (!mr) {
		vb_remote_memory_unmap(&origin.memory);
		errno = err;
		return NULL;
	}
	errno = was;                          /* that of looking at the memory is nobody's */
	mr->addr = (void *)(uintptr_t)offset; /* as rdma-core has it */
	return mr;
}
