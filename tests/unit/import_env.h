/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exporters: processes that have memory registered for others to import. They are forked before
 * anything else happens, so that each process opens its device by itself, and wait until a test
 * needs one; their objects are told in memory that all of them share, as is some of the memory that
 * is imported.
 */
#ifndef VB_TESTS_UNIT_IMPORT_ENV_H
#define VB_TESTS_UNIT_IMPORT_ENV_H

#include "verbs/memory/export.h"
#include "verbs/priv.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define SIZE 16384

enum region { SHARED, MEMFD, FILE_MR, PRIVATE, OTHER_PD, READ_ONLY, DEVICE, NOTHING, ALL, REGIONS };

/* The data that an exporter tells. */
struct story {
	int cmd_fd;
	uint32_t pd, other_pd, dm, mr[REGIONS];
	uint64_t at[REGIONS]; /* in the exporter's addresses */
	uint32_t rkey;        /* of SHARED */
};

static struct exporter {
	pid_t pid;
	int talk; /* a letter each: what to do, and that it is done */
	struct story *story;
} exporters[12], *ex;
static unsigned exporter_cnt;
static uint8_t *shared; /* SIZE bytes, mapped by all of them */
static char file_path[64];

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			_exit(__LINE__ & 0x7f);                                                    \
	} while (0)

static inline void export_region(struct story *s, enum region r, struct ibv_mr *m, void *at)
{
	CHECK(m);
	s->mr[r] = m->handle;
	s->at[r] = (uintptr_t)at;
}

static struct ibv_mr *kept[REGIONS];
static struct ibv_dm *kept_dm;
static struct ibv_pd *kept_pd;
static int memfd;

static inline void export_all(struct story *s)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_alloc_dm_attr dm = {.length = 4096};
	struct ibv_pd *other;
	uint8_t *in_memfd, *in_file;
	int fd = open(file_path, O_RDWR);

	CHECK(list && list[0] && fd >= 0);
	ctx = ibv_open_device(list[0]);
	CHECK(ctx);
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	other = ibv_alloc_pd(ctx);
	memfd = memfd_create("import test", MFD_CLOEXEC);
	CHECK(pd && other && ftruncate(memfd, SIZE) == 0);
	in_memfd = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	in_file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd); /* by its path alone */
	CHECK(in_memfd != MAP_FAILED && in_file != MAP_FAILED);
	kept[SHARED] = ibv_reg_mr(pd, shared, SIZE, ALL_ACCESS);
	export_region(s, SHARED, kept[SHARED], shared);
	s->rkey = kept[SHARED]->rkey;
	kept[MEMFD] = ibv_reg_mr(pd, in_memfd + 4096, SIZE - 4096, ALL_ACCESS);
	export_region(s, MEMFD, kept[MEMFD], in_memfd + 4096);
	kept[FILE_MR] = ibv_reg_mr(pd, in_file, SIZE, ALL_ACCESS);
	export_region(s, FILE_MR, kept[FILE_MR], in_file);
	export_region(s, PRIVATE, ibv_reg_mr(pd, buf, SIZE, ALL_ACCESS), buf);
	export_region(s, OTHER_PD, ibv_reg_mr(other, shared, SIZE, ALL_ACCESS), shared);
	export_region(s, READ_ONLY, ibv_reg_mr(pd, in_memfd, SIZE, IBV_ACCESS_REMOTE_READ),
		      in_memfd);
	kept_dm = ibv_alloc_dm(ctx, &dm);
	CHECK(kept_dm);
	kept[DEVICE] =
	    ibv_reg_dm_mr(pd, kept_dm, 1024, 2048,
			  IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	export_region(s, DEVICE, kept[DEVICE], NULL);
	export_region(s, NOTHING, ibv_alloc_null_mr(pd), NULL);
	export_region(s, ALL, ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND), NULL);
	s->cmd_fd = ctx->cmd_fd;
	s->pd = pd->handle;
	s->other_pd = other->handle;
	s->dm = kept_dm->handle;
}

/* An exporter, told letter by letter what to do. */
static inline void be_exporter(int talk, struct story *s)
{
	char letter;

	while (read(talk, &letter, 1) == 1) {
		switch (letter) {
		case 'e':
			export_all(s);
			break;
		case 'd':
			CHECK(ibv_dereg_mr(kept[SHARED]) == 0);
			break;
		case 'r': { /* to less, and then another region where it was */
			CHECK(ibv_rereg_mr(kept[SHARED], IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
					   shared, 4096, 0) == 0);
			s->mr[SHARED] = kept[SHARED]->handle;
			break;
		}
		case 'f':
			CHECK(ibv_dereg_mr(kept[DEVICE]) == 0 && ibv_free_dm(kept_dm) == 0);
			break;
		case 'm': { /* its table says that a memfd is device memory */
			struct vb_export_table *t = vb_ibv_ctx(ctx)->file->table;
			struct vb_export_entry e = {.addr = s->at[MEMFD], .length = 4096};

			vb_export_drop(t, VB_EXPORT_DM, s->dm);
			CHECK(vb_export_put(t, VB_EXPORT_DM, s->dm, &e));
			break;
		}
		case 't':
			CHECK(ftruncate(memfd, 0) == 0);
			break;
		case 'p': /* a PD that comes, and goes */
			kept_pd = ibv_alloc_pd(ctx);
			CHECK(kept_pd);
			s->other_pd = kept_pd->handle;
			break;
		case 'q':
			CHECK(ibv_dealloc_pd(kept_pd) == 0);
			break;
		case 'c':
			CHECK(ibv_close_device(ctx) == 0);
			break;
		default:
			CHECK(false);
		}
		CHECK(write(talk, &letter, 1) == 1);
	}
	_exit(0);
}

static inline void tell(char letter)
{
	char answer = 0;

	assert_int_equal(write(ex->talk, &letter, 1), 1);
	assert_int_equal(read(ex->talk, &answer, 1), 1);
	assert_int_equal(answer, letter);
}

static inline void prepare_exporters(void)
{
	int fd;

	shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	snprintf(file_path, sizeof file_path, "/tmp/verbena-import-XXXXXX");
	fd = mkstemp(file_path);
	assert_true(fd >= 0 && ftruncate(fd, SIZE) == 0);
	close(fd);
	for (unsigned i = 0; i < sizeof exporters / sizeof exporters[0]; i++) {
		int pair[2];

		exporters[i].story = mmap(NULL, sizeof(struct story), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(exporters[i].story, MAP_FAILED);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		exporters[i].pid = fork();
		assert_true(exporters[i].pid >= 0);
		if (exporters[i].pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(pair[0]);
			be_exporter(pair[1], exporters[i].story);
		}
		close(pair[1]);
		exporters[i].talk = pair[0];
	}
}

/* The exporter's descriptor, as it comes by SCM_RIGHTS or by fork(). */
static inline int passed_fd(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)ex->pid, ex->story->cmd_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* How many mappings of files named @name this process has. proc(5) */
static inline unsigned mappings_named(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned cnt = 0;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		cnt += strstr(line, name) != NULL;
	fclose(f);
	return cnt;
}

/* This process's device, and the next exporter with everything. */
static inline int import_open(void **state)
{
	verbs_open(state);
	ex = &exporters[exporter_cnt++];
	tell('e');
	return 0;
}

static inline void end_exporter(void)
{
	int status;

	if (!ex->pid)
		return;
	shutdown(ex->talk, SHUT_WR); /* the other exporters have it too */
	close(ex->talk);
	assert_int_equal(waitpid(ex->pid, &status, 0), ex->pid);
	assert_int_equal(status, 0);
	ex->pid = 0;
}

static inline void kill_exporter(void)
{
	kill(ex->pid, SIGKILL);
	waitpid(ex->pid, NULL, 0);
	close(ex->talk);
	ex->pid = 0;
}

static inline int import_close(void **state)
{
	end_exporter();
	return verbs_close(state);
}

#define IMPORT_TEST(f) cmocka_unit_test_setup_teardown(f, import_open, import_close)

#endif
