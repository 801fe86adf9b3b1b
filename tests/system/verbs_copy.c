/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Verbs by copies of libibverbs that are in this process for themselves, as an application or a
 * plug-in brings them:
 *
 *   verbs_copy COPY...      each is opened by its path, and then used by itself
 *
 * Each connects two QPs of a device to each other; messages are waited for by a completion channel,
 * and an SRQ's limit by an async event. With COPY_LINKED the copy is in the program, from
 * libibverbs.a.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_query_port
#undef ibv_get_device_list

#define NEED(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			printf("verbs_copy.c:%d: %s: %s\n", __LINE__, #what, strerror(errno));     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define FUNCTIONS                                                                                  \
	F(ibv_get_device_list)                                                                     \
	F(ibv_free_device_list)                                                                    \
	F(ibv_get_device_guid)                                                                     \
	F(ibv_open_device)                                                                         \
	F(ibv_close_device)                                                                        \
	F(ibv_alloc_pd)                                                                            \
	F(ibv_dealloc_pd)                                                                          \
	F(ibv_reg_mr)                                                                              \
	F(ibv_rereg_mr)                                                                            \
	F(ibv_dereg_mr)                                                                            \
	F(ibv_create_comp_channel)                                                                 \
	F(ibv_destroy_comp_channel)                                                                \
	F(ibv_create_cq)                                                                           \
	F(ibv_destroy_cq)                                                                          \
	F(ibv_get_cq_event)                                                                        \
	F(ibv_ack_cq_events)                                                                       \
	F(ibv_create_srq)                                                                          \
	F(ibv_modify_srq)                                                                          \
	F(ibv_destroy_srq)                                                                         \
	F(ibv_create_qp)                                                                           \
	F(ibv_modify_qp)                                                                           \
	F(ibv_destroy_qp)                                                                          \
	F(ibv_query_gid)                                                                           \
	F(ibv_query_pkey)                                                                          \
	F(ibv_get_async_event)                                                                     \
	F(ibv_ack_async_event)

static struct {
#define F(name) __typeof__(name) *name;
	FUNCTIONS
#undef F
	int (*ibv_query_port)(struct ibv_context *context, uint8_t port,
			      struct _compat_ibv_port_attr *attr);
} f;

#ifdef COPY_LINKED
static void load_copy(const char *path)
{
	(void)path;
#define F(name) f.name = name;
	FUNCTIONS
#undef F
	f.ibv_query_port = ibv_query_port;
}
#else
static void load_copy(const char *path)
{
	void *copy = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!copy)
		puts(dlerror());
	NEED(copy);
#define F(name) NEED((*(void **)&f.name = dlsym(copy, #name)));
	FUNCTIONS
#undef F
	NEED((*(void **)&f.ibv_query_port = dlsym(copy, "ibv_query_port")));
}
#endif

#define LEN 64
#define MESSAGES 8

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp[2];
	char data[2][LEN];
};

static void connect_qp(struct ibv_qp *qp, uint32_t to, const union ibv_gid *gid)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	NEED(!f.ibv_modify_qp(
	    qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	a = (struct ibv_qp_attr){
	    .qp_state = IBV_QPS_RTR,
	    .path_mtu = IBV_MTU_1024,
	    .dest_qp_num = to,
	    .min_rnr_timer = 12,
	    .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = *gid, .hop_limit = 1}}};
	NEED(!f.ibv_modify_qp(qp, &a,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER));
	a = (struct ibv_qp_attr){
	    .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
	NEED(!f.ibv_modify_qp(qp, &a,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
	NEED(qp->state == IBV_QPS_RTS);
}

static void open_end(struct end *e, struct ibv_device *device)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 2 * MESSAGES, .max_sge = 1}};
	struct _compat_ibv_port_attr *port = calloc(1, sizeof(struct ibv_port_attr));
	union ibv_gid gid;
	__be16 pkey = 0;

	NEED((e->context = f.ibv_open_device(device)));
	NEED(e->context->device == device);
	NEED(!f.ibv_query_port(e->context, 1, port));
	NEED(((struct ibv_port_attr *)port)->state == IBV_PORT_ACTIVE);
	free(port);
	NEED(!f.ibv_query_gid(e->context, 1, 0, &gid));
	NEED(!f.ibv_query_pkey(e->context, 1, 0, &pkey) && pkey == 0xffff);
	NEED((e->pd = f.ibv_alloc_pd(e->context)));
	NEED((e->mr = f.ibv_reg_mr(e->pd, e->data, sizeof e->data, IBV_ACCESS_LOCAL_WRITE)));
	NEED(f.ibv_rereg_mr(e->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ) == 0);
	NEED((e->channel = f.ibv_create_comp_channel(e->context)));
	NEED((e->cq = f.ibv_create_cq(e->context, 4 * MESSAGES, e, e->channel, 0)));
	NEED(e->cq->channel == e->channel && e->channel->refcnt == 1);
	NEED((e->srq = f.ibv_create_srq(e->pd, &srq)));
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr a = {.send_cq = e->cq,
					     .recv_cq = e->cq,
					     .srq = e->srq,
					     .qp_type = IBV_QPT_RC,
					     .cap = {.max_send_wr = MESSAGES, .max_send_sge = 1}};

		NEED((e->qp[i] = f.ibv_create_qp(e->pd, &a)));
	}
	connect_qp(e->qp[0], e->qp[1]->qp_num, &gid);
	connect_qp(e->qp[1], e->qp[0]->qp_num, &gid);
}

static void post_receive(struct end *e)
{
	struct ibv_sge sge = {(uintptr_t)e->data[1], LEN, e->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad;

	NEED(!ibv_post_srq_recv(e->srq, &wr, &bad));
}

/* Sends one message and waits for both completions, by events alone. */
static void send_message(struct end *e, int n)
{
	struct ibv_sge sge = {(uintptr_t)e->data[0], LEN, e->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	memset(e->data, n, LEN);
	NEED(!ibv_req_notify_cq(e->cq, 0));
	NEED(!ibv_post_send(e->qp[0], &wr, &bad));
	for (int done = 0; done < 2;) {
		struct ibv_cq *cq;
		struct ibv_wc wc;
		void *context;
		int got;

		NEED(!f.ibv_get_cq_event(e->channel, &cq, &context));
		NEED(cq == e->cq && context == e);
		f.ibv_ack_cq_events(cq, 1);
		NEED(!ibv_req_notify_cq(e->cq, 0));
		while ((got = ibv_poll_cq(cq, 1, &wc)) > 0) {
			NEED(wc.status == IBV_WC_SUCCESS);
			done++;
		}
		NEED(got == 0);
	}
	NEED(memcmp(e->data[0], e->data[1], LEN) == 0);
}

static void run_copy(const char *path)
{
	static struct end e;
	struct ibv_async_event event;
	struct ibv_srq_attr limit = {.srq_limit = 2};
	int cnt = 0;

	load_copy(path);

	struct ibv_device **list = f.ibv_get_device_list(&cnt);

	NEED(list && cnt > 0);
	NEED(f.ibv_get_device_guid(list[0]) != 0);
	open_end(&e, list[0]);
	f.ibv_free_device_list(list);
	for (int i = 1; i <= MESSAGES; i++) {
		post_receive(&e);
		send_message(&e, i);
	}
	post_receive(&e);
	post_receive(&e);
	NEED(!f.ibv_modify_srq(e.srq, &limit, IBV_SRQ_LIMIT));
	send_message(&e, 77);
	NEED(!f.ibv_get_async_event(e.context, &event));
	NEED(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == e.srq);
	f.ibv_ack_async_event(&event);

	int fd = e.channel->fd;

	NEED(f.ibv_destroy_comp_channel(e.channel) == EBUSY);
	NEED(!f.ibv_destroy_qp(e.qp[0]) && !f.ibv_destroy_qp(e.qp[1]));
	NEED(!f.ibv_destroy_srq(e.srq) && !f.ibv_destroy_cq(e.cq));
	NEED(!f.ibv_destroy_comp_channel(e.channel));
	/* The number is the program's again, and stays so. */
	NEED(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
	NEED(dup2(STDOUT_FILENO, fd) == fd);
	NEED(!f.ibv_dereg_mr(e.mr) && !f.ibv_dealloc_pd(e.pd));
	NEED(!f.ibv_close_device(e.context));
	NEED(!close(fd));
}

int main(int argc, char **argv)
{
	alarm(20);
	for (int i = 1; i < argc; i++)
		run_copy(argv[i]);
	puts("ok");
	return 0;
}
