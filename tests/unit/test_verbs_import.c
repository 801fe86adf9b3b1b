/* SPDX-License-Identifier: BSD-2-Clause */
/* Imports of a device, its PDs, regions and device memory from another process. */
#include "import_env.h"

#include "link/memory.h"
#include "verbs/memory/export.h"
#include "verbs/refuse.h"

#include <sys/resource.h>
#include <sys/stat.h>

/* Two QPs of this adapter in an imported PD, which stands for the first one's peer as well. */
struct pair {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct verbs_end a, b;
};

static struct pair pair_new(void)
{
	struct pair p = {.context = ibv_import_device(passed_fd())};
	struct ibv_context *ours = ctx;
	struct ibv_pd *our_pd = pd;

	assert_non_null(p.context);
	p.pd = ibv_import_pd(p.context, ex->story->pd);
	assert_non_null(p.pd);
	assert_int_equal(p.pd->handle, ex->story->pd);
	ctx = p.context;
	pd = p.pd;
	p.a = end_new(IBV_QPT_RC, NULL, NULL);
	p.b = end_new(IBV_QPT_RC, NULL, NULL);
	verbs_connect(p.a.qp, p.b.qp, false);
	ctx = ours;
	pd = our_pd;
	return p;
}

static void pair_free(struct pair *p)
{
	end_free(&p->a);
	end_free(&p->b);
	ibv_unimport_pd(p->pd);
	assert_int_equal(ibv_close_device(p->context), 0);
}

/* WRITEs the bytes at @from of @m to @to of it, through both QPs: its L_Key and its R_Key. */
static enum ibv_wc_status copy(const struct pair *p, const struct ibv_mr *m, uint64_t from,
			       uint64_t to, uint32_t len)
{
	struct ibv_sge sge = {from, len, m->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {to, m->rkey}},
			   *bad;

	assert_int_equal(ibv_post_send(p->a.qp, &wr, &bad), 0);
	return wc_next(p->a.cq).status;
}

/* Shared memory without a name, by a mapping that both have from fork(); and its life. */
static void import_mr__of_shared_memory(void **state)
{
	struct pair p = pair_new();
	struct ibv_mr *m = ibv_import_mr(p.pd, ex->story->mr[SHARED]), *again;
	uint64_t at = ex->story->at[SHARED];

	(void)state;
	assert_non_null(m);
	assert_null(m->addr);
	assert_int_equal(m->length, SIZE);
	assert_int_equal(m->handle, ex->story->mr[SHARED]);
	/* Once more is the same region; it stays until the last goes. */
	again = ibv_import_mr(p.pd, ex->story->mr[SHARED]);
	assert_int_equal(again->lkey, m->lkey);
	ibv_unimport_mr(again);
	memset(shared, 0x42, 8192);
	memset(shared + 8192, 0, 8192);
	assert_int_equal(copy(&p, m, at, at + 8192, 8192), IBV_WC_SUCCESS);
	assert_memory_equal(shared, shared + 8192, 8192);
	/* Handing it back destroys nothing. */
	ibv_unimport_mr(m);
	m = ibv_import_mr(p.pd, ex->story->mr[SHARED]);
	assert_non_null(m);
	assert_int_equal(copy(&p, m, at, at + 8192, 8192), IBV_WC_SUCCESS);
	/* When it is deregistered there, its keys end here. */
	tell('d');
	assert_null(ibv_import_mr(p.pd, 0x7fffff));
	assert_int_equal(copy(&p, m, at, at + 8192, 8), IBV_WC_LOC_PROT_ERR);
	ibv_unimport_mr(m);
	assert_null(ibv_import_mr(p.pd, ex->story->mr[SHARED]));
	assert_int_equal(errno, ENOENT);
	pair_free(&p);
}

/* The peer's side of a region that is taken back. */
static void import_mr__key_ends_for_the_peer(void **state)
{
	struct pair p = pair_new();
	struct ibv_mr *m = ibv_import_mr(p.pd, ex->story->mr[SHARED]);
	struct ibv_mr *file = ibv_import_mr(p.pd, ex->story->mr[FILE_MR]);
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	(void)state;
	assert_non_null(m);
	assert_non_null(file);
	sge = (struct ibv_sge){ex->story->at[FILE_MR], 64, file->lkey};
	wr.wr.rdma.remote_addr = ex->story->at[SHARED];
	wr.wr.rdma.rkey = m->rkey;
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	assert_int_equal(wc_next(p.a.cq).status, IBV_WC_SUCCESS);
	/* Neither can the importer change it, nor does it outlive a re-registration. */
	assert_int_equal(ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	tell('r');
	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	assert_int_equal(wc_next(p.a.cq).status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(m), 0);
	m = ibv_import_mr(p.pd, ex->story->mr[SHARED]);
	assert_non_null(m);
	assert_int_equal(m->length, 4096);
	assert_int_equal(ibv_dereg_mr(m), 0);
	assert_int_equal(ibv_dereg_mr(file), 0);
	pair_free(&p);
}

/* By a descriptor of the exporter's and by a path; a file that is cut off is an error. */
static void import_mr__of_files(void **state)
{
	struct pair p = pair_new();
	struct ibv_mr *m = ibv_import_mr(p.pd, ex->story->mr[MEMFD]);
	struct ibv_mr *file = ibv_import_mr(p.pd, ex->story->mr[FILE_MR]);
	uint64_t at = ex->story->at[FILE_MR];
	uint8_t seen[64], want[64];
	int fd = open(file_path, O_RDWR);

	(void)state;
	assert_non_null(m);
	assert_int_equal(m->length, SIZE - 4096);
	assert_non_null(file);
	memset(want, 0x77, sizeof want);
	assert_int_equal(pwrite(fd, want, sizeof want, 100), sizeof want);
	assert_int_equal(copy(&p, file, at + 100, at + 9000, 64), IBV_WC_SUCCESS);
	assert_int_equal(pread(fd, seen, sizeof seen, 9000), sizeof seen);
	assert_memory_equal(seen, want, sizeof want);
	close(fd);
	at = ex->story->at[MEMFD];
	assert_int_equal(copy(&p, m, at, at + 8192, 64), IBV_WC_SUCCESS);
	/* Outside of it, though that is mapped. */
	tell('t');
	assert_int_equal(copy(&p, m, at, at + 8192, 64), IBV_WC_LOC_PROT_ERR);
	ibv_unimport_mr(m);
	ibv_unimport_mr(file);
	pair_free(&p);
}

static void import_mr__refused(void **state)
{
	struct ibv_context *c = ibv_import_device(passed_fd());
	struct ibv_pd *own, *theirs = ibv_import_pd(c, ex->story->pd), *handle_of_own;
	struct ibv_mr *m;
	const struct {
		uint32_t handle;
		int err;
		const char *why;
	} no[] = {
	    {ex->story->mr[PRIVATE], EOPNOTSUPP, " cannot be mapped here, as memory that no file "},
	    {ex->story->mr[ALL], EOPNOTSUPP, "it is all memory of another process"},
	    {ex->story->mr[OTHER_PD], EINVAL, "the region is of another protection domain"},
	    {0, ENOENT, "the process that it is from has no such object"},
	    {VB_EXPORT_MRS + 1, ENOENT, "the process that it is from has no such object"},
	    {UINT32_MAX, ENOENT, "the process that it is from has no such object"},
	    {VB_HANDLE_OWN, ENOENT, "the process that it is from has no such object"},
	};

	(void)state;
	assert_non_null(theirs);
	for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
		errno = 0;
		assert_null(ibv_import_mr(theirs, no[i].handle));
		assert_int_equal(errno, no[i].err);

		const char *why = verbena_refusal();

		assert_true(why && strstr(why, no[i].why));
	}
	assert_null(ibv_import_pd(c, 0x12345));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_pd(c, UINT32_MAX));
	assert_int_equal(errno, ENOENT);
	/* An object made in the imported context is nobody else's, under a handle of its own. */
	own = ibv_alloc_pd(c);
	assert_true(own->handle & VB_HANDLE_OWN);
	handle_of_own = ibv_import_pd(c, own->handle);
	assert_non_null(handle_of_own);
	ibv_unimport_pd(handle_of_own);
	m = ibv_reg_mr(own, shared, SIZE, ALL_ACCESS);
	assert_true(m->handle & VB_HANDLE_OWN);
	assert_int_equal(ibv_dereg_mr(m), 0);
	assert_int_equal(ibv_dealloc_pd(own), 0);
	/* A region that is not writable there is not here. */
	m = ibv_import_mr(theirs, ex->story->mr[READ_ONLY]);
	assert_non_null(m);
	ibv_unimport_mr(m);
	m = ibv_import_mr(theirs, ex->story->mr[NOTHING]);
	assert_non_null(m);
	assert_int_equal(m->rkey, 0);
	ibv_unimport_mr(m);
	ibv_unimport_pd(theirs);
	assert_int_equal(ibv_close_device(c), 0);
}

/* Memory that this process has for reading alone is not imported for writing. */
static void import_mr__where_this_process_may_only_read(void **state)
{
	struct ibv_context *c = ibv_import_device(passed_fd());
	struct ibv_pd *theirs = ibv_import_pd(c, ex->story->pd);
	struct ibv_mr *m;

	(void)state;
	assert_non_null(theirs);
	assert_int_equal(mprotect(shared, SIZE, PROT_READ), 0);
	errno = 0;
	m = ibv_import_mr(theirs, ex->story->mr[SHARED]);
	assert_int_equal(mprotect(shared, SIZE, PROT_READ | PROT_WRITE), 0);
	assert_null(m);
	assert_int_equal(errno, EOPNOTSUPP);
	m = ibv_import_mr(theirs, ex->story->mr[SHARED]);
	assert_non_null(m);
	ibv_unimport_mr(m);
	ibv_unimport_pd(theirs);
	assert_int_equal(ibv_close_device(c), 0);
}

static void import_dm__of_another_process(void **state)
{
	struct pair p = pair_new();
	struct ibv_dm *dm = ibv_import_dm(p.context, ex->story->dm);
	struct ibv_mr *m = ibv_import_mr(p.pd, ex->story->mr[DEVICE]);
	uint32_t in = 0x1234567, out = 0;

	(void)state;
	assert_non_null(dm);
	assert_non_null(m);
	assert_int_equal(m->length, 2048);
	assert_int_equal(ibv_memcpy_to_dm(dm, 1024 + 8, &in, 4), 0);
	assert_int_equal(ibv_memcpy_to_dm(dm, 4096, &in, 4), EFAULT);
	assert_int_equal(copy(&p, m, 8, 2040, 4), IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(&out, dm, 1024 + 2040, 4), 0);
	assert_int_equal(out, in);
	ibv_unimport_mr(m);
	m = ibv_reg_dm_mr(p.pd, dm, 0, 4096,
			  IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(m);
	assert_int_equal(copy(&p, m, 1032, 0, 4), IBV_WC_SUCCESS);
	/* Freed there, it is nobody's here. */
	tell('f');
	assert_int_equal(ibv_memcpy_from_dm(&out, dm, 0, 4), EFAULT);
	assert_int_equal(copy(&p, m, 1032, 0, 4), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dereg_mr(m), 0);
	ibv_unimport_dm(dm);
	assert_null(ibv_import_dm(p.context, ex->story->dm));
	assert_int_equal(errno, ENOENT);
	pair_free(&p);
}

/* A PD that its process has deallocated is there for nobody else. A process that had imported it
 * has it still. */
static void import_pd__that_has_gone(void **state)
{
	struct ibv_context *c = ibv_import_device(passed_fd());
	struct ibv_pd *theirs, *again;

	(void)state;
	tell('p');
	theirs = ibv_import_pd(c, ex->story->other_pd);
	assert_non_null(theirs);
	tell('q');
	again = ibv_import_pd(c, ex->story->other_pd);
	assert_non_null(again); /* of this process, which has it */
	ibv_unimport_pd(again);
	ibv_unimport_pd(theirs);
	errno = 0;
	assert_null(ibv_import_pd(c, ex->story->other_pd));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(ibv_close_device(c), 0);
}

/* The exporter is killed: objects that were imported go on, and no more are. */
static void import__exporter_is_killed(void **state)
{
	struct pair p = pair_new();
	struct ibv_mr *m = ibv_import_mr(p.pd, ex->story->mr[MEMFD]);
	uint64_t at = ex->story->at[MEMFD];
	int fd = passed_fd(), fd2 = dup(fd);

	(void)state;
	assert_non_null(m);
	kill_exporter();
	assert_int_equal(copy(&p, m, at, at + 8192, 64), IBV_WC_SUCCESS);
	errno = 0;
	assert_null(ibv_import_mr(p.pd, ex->story->mr[FILE_MR]));
	assert_int_equal(errno, EIO);
	assert_null(ibv_import_pd(p.context, ex->story->other_pd));
	assert_int_equal(errno, EIO);
	ibv_unimport_mr(m);
	pair_free(&p);
	errno = 0;
	assert_null(ibv_import_device(fd));
	assert_int_equal(errno, EIO);
	close(fd);
	close(fd2);
}

/* It closes its device in an orderly way: the same. */
static void import__exporter_closes_the_device(void **state)
{
	struct pair p = pair_new();
	struct ibv_mr *m = ibv_import_mr(p.pd, ex->story->mr[MEMFD]);
	uint64_t at = ex->story->at[MEMFD];
	int fd = passed_fd();

	(void)state;
	tell('c');
	assert_int_equal(copy(&p, m, at, at + 8192, 64), IBV_WC_SUCCESS);
	errno = 0;
	assert_null(ibv_import_mr(p.pd, ex->story->mr[FILE_MR]));
	assert_int_equal(errno, EIO);
	ibv_unimport_mr(m);
	pair_free(&p);
	assert_null(ibv_import_device(fd));
	assert_int_equal(errno, EIO);
	close(fd);
}

/* Memory that its process can shrink is no device memory, whatever the table says. */
static void import_dm__that_may_shrink(void **state)
{
	struct pair p = pair_new();

	(void)state;
	tell('m');
	assert_null(ibv_import_dm(p.context, ex->story->dm));
	assert_int_equal(errno, EINVAL);
	pair_free(&p);
}

static void refused(int fd, int err)
{
	errno = 0;
	assert_null(ibv_import_device(fd));
	assert_int_equal(errno, err);
	if (fd >= 0)
		close(fd);
}

/* A table as somebody makes it who means harm, or who is of another version. */
static int forged(const struct vb_export_table *head)
{
	int fd = vb_memory_create("forged", sizeof *head);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, head, offsetof(struct vb_export_table, pd), 0),
			 offsetof(struct vb_export_table, pd));
	return fd;
}

static void import_device__of_anything_else(void **state)
{
	static struct vb_export_table head;
	int fds[2], passed = passed_fd(), fd;
	struct ibv_context *c;

	(void)state;
	refused(-1, EBADF);
	refused(open("/", O_RDONLY), EINVAL);
	refused(open("/dev/null", O_RDWR), EINVAL);
	refused(open(file_path, O_RDWR), EINVAL);
	assert_int_equal(pipe(fds), 0);
	refused(fds[0], EINVAL);
	refused(fds[1], EINVAL);
	refused(socket(AF_UNIX, SOCK_STREAM, 0), EINVAL);
	refused(memfd_create("empty", 0), EINVAL);
	fd = memfd_create("not sealed", MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd, sizeof head), 0);
	refused(fd, EINVAL);
	refused(forged(&head), EINVAL);

	assert_int_equal(pread(passed, &head, offsetof(struct vb_export_table, pd), 0),
			 offsetof(struct vb_export_table, pd));
	head.version++;
	refused(forged(&head), EINVAL);
	head.version--;
	head.pid_start++; /* the process that had this number before */
	refused(forged(&head), EIO);
	head.pid_start--;
	head.guid++;
	refused(forged(&head), ENODEV);
	head.guid--;
	head.pid = 0;
	refused(forged(&head), EINVAL);
	head.pid = (uint32_t)ex->pid;

	/* A table that tells of memory which nobody has. */
	fd = forged(&head);
	struct vb_export_slot lie = {.generation = 1, .handle = 5, .entry = {.pd = 3}};
	off_t mr_at = offsetof(struct vb_export_table, mr) + 5 * (off_t)sizeof lie;
	const uint64_t bad[][2] = {
	    {0, 4096}, {0, 0}, {UINT64_MAX - 10, 100}, {4096, UINT64_MAX}, {UINT64_MAX / 2, 1}};

	assert_int_equal(pwrite(fd, &(struct vb_export_slot){.generation = 1, .handle = 3},
				sizeof lie, offsetof(struct vb_export_table, pd) + 3 * sizeof lie),
			 sizeof lie);
	c = ibv_import_device(fd);
	assert_non_null(c);
	struct ibv_pd *p = ibv_import_pd(c, 3);

	assert_non_null(p);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		lie.entry.addr = bad[i][0];
		lie.entry.length = bad[i][1];
		assert_int_equal(pwrite(fd, &lie, sizeof lie, mr_at), sizeof lie);
		assert_null(ibv_import_mr(p, 5));
		assert_true(errno == EFAULT || errno == EINVAL || errno == EOPNOTSUPP);
	}
	lie.entry.kind = 77;
	assert_int_equal(pwrite(fd, &lie, sizeof lie, mr_at), sizeof lie);
	assert_null(ibv_import_mr(p, 5));
	assert_int_equal(errno, EINVAL);
	ibv_unimport_pd(p);
	assert_int_equal(ibv_close_device(c), 0);
	/* Processes that it is passed to can neither write nor cut it. */
	fd = passed_fd();
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(write(fd, "x", 1), -1);
	close(fd);
	close(passed);
}

/* A table that was mapped to be looked at, and is no good, stays in view no longer. */
static void import__refused_leaves_no_mapping(void **state)
{
	static struct vb_export_table head;
	int passed = passed_fd(), fd;
	struct ibv_context *c = ibv_import_device(passed);
	struct ibv_pd *theirs = ibv_import_pd(c, ex->story->pd);

	(void)state;
	assert_non_null(theirs);
	assert_int_equal(pread(passed, &head, offsetof(struct vb_export_table, pd), 0),
			 offsetof(struct vb_export_table, pd));
	for (int i = 0; i < 3; i++) {
		head.version += i == 0;
		head.pid_start += i == 1;
		head.guid += i == 2;
		fd = forged(&head);
		assert_null(ibv_import_device(fd));
		assert_int_equal(mappings_named("forged"), 0);
		close(fd);
		head.version -= i == 0;
		head.pid_start -= i == 1;
		head.guid -= i == 2;
	}
	tell('t');
	assert_null(ibv_import_mr(theirs, ex->story->mr[MEMFD]));
	assert_int_equal(errno, EFAULT);
	assert_int_equal(mappings_named("import test"), 0);
	ibv_unimport_pd(theirs);
	assert_int_equal(ibv_close_device(c), 0);
}

/* A handle that found its place taken goes, and what has the place stays. */
static void drop__of_a_handle_without_a_place(void **state)
{
	const struct vb_export_entry e = {.pd = 3, .length = 4096};
	const struct vb_export_table *seen;
	struct vb_export_table *t;
	struct vb_export_entry got;
	const uint32_t *lease;
	uint32_t leased;
	int fd = vb_export_open(1, &t);

	(void)state;
	assert_true(fd >= 0);
	assert_non_null(t);
	assert_int_equal(vb_import_table(fd, &seen), 0);
	assert_true(vb_export_put(t, VB_EXPORT_MR, 7, &e));
	assert_false(vb_export_put(t, VB_EXPORT_MR, 7 + VB_EXPORT_MRS, &e));
	vb_export_drop(t, VB_EXPORT_MR, 7 + VB_EXPORT_MRS);
	assert_int_equal(vb_import_find(seen, VB_EXPORT_MR, 7, &got, &lease, &leased), 0);
	assert_int_equal(got.length, 4096);
	assert_int_equal(*lease, leased);
	vb_export_drop(t, VB_EXPORT_MR, 7);
	assert_int_not_equal(*lease, leased);
	assert_int_equal(vb_import_find(seen, VB_EXPORT_MR, 7, &got, &lease, &leased), ENOENT);
	vb_export_unmap(seen);
	vb_export_close(t);
	vb_export_unmap(t);
	close(fd);
}

/* A process that may open nothing more is told so, and has no table. */
static void export_open__without_descriptors(void **state)
{
	struct vb_export_table *table;
	struct rlimit was, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);

	int fd = vb_export_open(1, &table);

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(fd, -EMFILE);
	assert_null(table);
}

/* A process that may make no file of that size exports nothing. Its device has a descriptor all the
 * same, of its own and closed by exec(). docs/verbs.md */
static void open_device__where_files_are_small(void **state)
{
	const struct rlimit small = {4096, RLIM_INFINITY};
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct vb_export_table *table;
	struct ibv_context *c;
	struct rlimit was;
	struct stat a, b;
	int fd;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	c = ibv_open_device(list[0]);
	fd = vb_export_open(1, &table);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	ibv_free_device_list(list);
	assert_non_null(c);
	assert_true(fd >= 0);
	assert_null(table);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(c->cmd_fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstat(fd, &a), 0);
	assert_int_equal(fstat(c->cmd_fd, &b), 0);
	assert_true(a.st_ino != b.st_ino);
	close(fd);
	/* The device works in its process. */
	pd = ibv_alloc_pd(c);
	mr = ibv_reg_mr(pd, buf, 64, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(c), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(drop__of_a_handle_without_a_place),
	    cmocka_unit_test(export_open__without_descriptors),
	    VERBS_BROKER_TEST(open_device__where_files_are_small),
	    IMPORT_TEST(import_mr__of_shared_memory),
	    IMPORT_TEST(import_mr__key_ends_for_the_peer),
	    IMPORT_TEST(import_mr__of_files),
	    IMPORT_TEST(import_mr__refused),
	    IMPORT_TEST(import_mr__where_this_process_may_only_read),
	    IMPORT_TEST(import_dm__of_another_process),
	    IMPORT_TEST(import_dm__that_may_shrink),
	    IMPORT_TEST(import_pd__that_has_gone),
	    IMPORT_TEST(import__exporter_is_killed),
	    IMPORT_TEST(import__exporter_closes_the_device),
	    IMPORT_TEST(import_device__of_anything_else),
	    IMPORT_TEST(import__refused_leaves_no_mapping),
	};

	VERBS_MAIN_OR_SKIP();
	prepare_exporters();

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	unlink(file_path);
	return failed;
}
