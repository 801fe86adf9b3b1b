/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three programs: one has memory registered, one imports it by the first one's cmd_fd, which comes
 * through a Unix socket, and one writes and reads it by RDMA through the second.
 *
 *   verbs_import DEVICE export SOCKET memfd|private   says "exporting"; "byte" asks for the first
 *                                                     byte of the memory, "dereg" ends the region
 *   verbs_import DEVICE import SOCKET PEER            says "imported", or "refused" and the errno;
 *                                                     "again" imports the region once more
 *   verbs_import DEVICE peer PEER                     "write N" fills the memory with N and reads
 *                                                     it back; says "wrote N" or "error STATUS"
 *
 * Each ends with its input.
 */
#include "verbs_need.h"
#include "verbs_rc.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SIZE 65536
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* The data that the exporter tells besides its descriptor. */
struct export
{
	uint32_t pd, mr;
	uint64_t addr;
};

/* The data that the two ends of a connection tell each other. */
struct end {
	uint32_t qpn, rkey;
	uint64_t addr;
	union ibv_gid gid;
};

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = NULL;

	NEED(list);
	for (int i = 0; list[i] && !c; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			c = ibv_open_device(list[i]);
	}
	NEED(c);
	ibv_free_device_list(list);
	return c;
}

static struct sockaddr_un address(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	NEED(strlen(path) < sizeof a.sun_path);
	memcpy(a.sun_path, path, strlen(path));
	return a;
}

static int accept_at(const char *path)
{
	struct sockaddr_un a = address(path);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	NEED(bind(s, (struct sockaddr *)&a, sizeof a) == 0 && listen(s, 1) == 0);
	say("listening");

	int c = accept(s, NULL, NULL);

	NEED(c >= 0);
	return c;
}

static int connect_to(const char *path)
{
	struct sockaddr_un a = address(path);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	NEED(connect(s, (struct sockaddr *)&a, sizeof a) == 0);
	return s;
}

/* A message with room for a descriptor. */
struct letter {
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov;
	struct msghdr msg;
};

static void letter_init(struct letter *l, struct export *e)
{
	memset(l, 0, sizeof *l);
	l->iov = (struct iovec){e, sizeof *e};
	l->msg = (struct msghdr){.msg_iov = &l->iov,
				 .msg_iovlen = 1,
				 .msg_control = l->control,
				 .msg_controllen = sizeof l->control};
}

static void send_fd(int s, int fd, struct export *e)
{
	struct letter l;

	letter_init(&l, e);

	struct cmsghdr *head = CMSG_FIRSTHDR(&l.msg);

	head->cmsg_len = CMSG_LEN(sizeof fd);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(head), &fd, sizeof fd);
	NEED(sendmsg(s, &l.msg, 0) == sizeof *e);
}

static int recv_fd(int s, struct export *e)
{
	struct letter l;
	int fd;

	letter_init(&l, e);
	NEED(recvmsg(s, &l.msg, MSG_WAITALL) == sizeof *e && CMSG_FIRSTHDR(&l.msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&l.msg)), sizeof fd);
	return fd;
}

static void export_memory(const char *device, const char *path, const char *kind)
{
	struct ibv_context *c = open_device(device);
	struct ibv_pd *pd = ibv_alloc_pd(c);
	int fd = memfd_create("exported", 0);
	uint8_t *p;
	char line[32];

	NEED(pd && fd >= 0 && ftruncate(fd, SIZE) == 0);
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		 strcmp(kind, "memfd") == 0 ? MAP_SHARED : MAP_PRIVATE, fd, 0);
	NEED(p != MAP_FAILED);

	struct ibv_mr *mr = ibv_reg_mr(pd, p, SIZE, ACCESS);

	NEED(mr);
	send_fd(accept_at(path), c->cmd_fd, &(struct export){pd->handle, mr->handle, (uintptr_t)p});
	say("exporting");
	while (fgets(line, sizeof line, stdin)) {
		if (strcmp(line, "dereg\n") == 0) {
			NEED(ibv_dereg_mr(mr) == 0);
			say("gone");
		} else {
			printf("byte %u\n", p[SIZE - 1]);
			fflush(stdout);
		}
	}
}

/* A QP in @pd that is connected to the other end of @s, which has told *far. */
static struct ibv_qp *connected(int s, struct ibv_pd *pd, struct end *near, struct end *far)
{
	struct ibv_cq *cq = ibv_create_cq(pd->context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
	    .send_cq = cq, .recv_cq = cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = cq ? ibv_create_qp(pd, &init) : NULL;
	struct ibv_gid_entry gid;

	NEED(qp);
	for (uint32_t i = 0; ibv_query_gid_ex(pd->context, 1, i, &gid, 0); i++)
		NEED(i < 255);
	near->qpn = qp->qp_num;
	near->gid = gid.gid;
	NEED(send(s, near, sizeof *near, 0) == sizeof *near);
	NEED(recv(s, far, sizeof *far, MSG_WAITALL) == sizeof *far);

	struct ibv_qp_attr a = {
	    .port_num = 1,
	    .qp_access_flags = ACCESS,
	    .path_mtu = IBV_MTU_1024,
	    .dest_qp_num = far->qpn,
	    .timeout = 14,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	    .min_rnr_timer = 1,
	    .max_rd_atomic = 1,
	    .max_dest_rd_atomic = 1,
	    .ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.dgid = far->gid, .sgid_index = (uint8_t)gid.gid_index}}};

	NEED(rc_to_rts(qp, &a) == 0);
	/* Neither sends before both can receive. */
	NEED(send(s, "+", 1, 0) == 1 && recv(s, &(char){0}, 1, MSG_WAITALL) == 1);
	return qp;
}

static void import_memory(const char *path, const char *peer)
{
	struct export e;
	struct end far;
	struct ibv_context *c = ibv_import_device(recv_fd(connect_to(path), &e));
	struct ibv_pd *pd = c ? ibv_import_pd(c, e.pd) : NULL;
	struct ibv_mr *mr = pd ? ibv_import_mr(pd, e.mr) : NULL;
	char line[32];

	if (!mr) {
		printf("refused %s\n", strerrorname_np(errno));
		return;
	}

	struct ibv_qp *qp =
	    connected(connect_to(peer), pd, &(struct end){.rkey = mr->rkey, .addr = e.addr}, &far);

	say("imported");
	while (fgets(line, sizeof line, stdin)) {
		struct ibv_mr *again = ibv_import_mr(pd, e.mr);

		printf("again %s\n", again ? "yes" : strerrorname_np(errno));
		fflush(stdout);
		if (again)
			ibv_unimport_mr(again);
	}
	NEED(ibv_destroy_qp(qp) == 0);
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd);
	NEED(ibv_close_device(c) == 0);
}

static enum ibv_wc_status rdma(struct ibv_qp *qp, enum ibv_wr_opcode opcode,
			       const struct ibv_mr *mr, const struct end *far)
{
	struct ibv_sge sge = {(uintptr_t)mr->addr, SIZE, mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {far->addr, far->rkey}},
			   *bad;
	time_t end = time(NULL) + 20;
	struct ibv_wc wc;
	int n;

	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	while ((n = ibv_poll_cq(qp->send_cq, 1, &wc)) == 0)
		NEED(time(NULL) < end);
	NEED(n == 1);
	return wc.status;
}

static void be_peer(const char *device, const char *path)
{
	static uint8_t buf[SIZE], want[SIZE];
	struct ibv_context *c = open_device(device);
	struct ibv_pd *pd = ibv_alloc_pd(c);
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, buf, SIZE, ACCESS) : NULL;
	struct end far;
	unsigned value;

	NEED(mr);

	struct ibv_qp *qp = connected(accept_at(path), pd, &(struct end){0}, &far);

	say("connected");
	while (scanf(" write %u", &value) == 1) {
		memset(buf, (int)value, SIZE);
		memset(want, (int)value, SIZE);

		enum ibv_wc_status status = rdma(qp, IBV_WR_RDMA_WRITE, mr, &far);

		memset(buf, 0, SIZE);
		if (status == IBV_WC_SUCCESS)
			status = rdma(qp, IBV_WR_RDMA_READ, mr, &far);
		NEED(status || memcmp(buf, want, SIZE) == 0);
		printf(status ? "error %u\n" : "wrote %u\n", status ? status : value);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[2], "export") == 0)
		export_memory(argv[1], argv[3], argv[4]);
	else if (argc == 5 && strcmp(argv[2], "import") == 0)
		import_memory(argv[3], argv[4]);
	else if (argc == 4 && strcmp(argv[2], "peer") == 0)
		be_peer(argv[1], argv[3]);
	else
		return 2;
	return 0;
}
