/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program with a copy of libibverbs of its own, as wheels and bundles have one: the copy is
 * loaded by its path, and all calls go to it by dlsym(3). Two RC QPs of this process send to each
 * other, with completion events, and an async event comes at the end.
 *
 *   verbs_copy LIBRARY...
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef ibv_reg_mr
#undef ibv_query_port

#define FUNCTIONS(F)                                                                               \
	F(ibv_get_device_list)                                                                     \
	F(ibv_free_device_list)                                                                    \
	F(ibv_get_device_name)                                                                     \
	F(ibv_open_device)                                                                         \
	F(ibv_close_device)                                                                        \
	F(ibv_alloc_pd)                                                                            \
	F(ibv_dealloc_pd)                                                                          \
	F(ibv_reg_mr)                                                                              \
	F(ibv_dereg_mr)                                                                            \
	F(ibv_create_comp_channel)                                                                 \
	F(ibv_destroy_comp_channel)                                                                \
	F(ibv_create_cq)                                                                           \
	F(ibv_destroy_cq)                                                                          \
	F(ibv_get_cq_event)                                                                        \
	F(ibv_ack_cq_events)                                                                       \
	F(ibv_create_qp)                                                                           \
	F(ibv_modify_qp)                                                                           \
	F(ibv_destroy_qp)                                                                          \
	F(ibv_create_srq)                                                                          \
	F(ibv_destroy_srq)                                                                         \
	F(ibv_query_gid)                                                                           \
	F(ibv_query_device)                                                                        \
	F(ibv_get_async_event)                                                                     \
	F(ibv_ack_async_event)

static struct {
#define MEMBER(name) __typeof__(&name) name;
	FUNCTIONS(MEMBER)
#undef MEMBER
} v;

#define BYTES 4096
#define ROUNDS 200

static uint8_t buf[2][BYTES];

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void load_copy(const char *path)
{
	void *copy = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!copy) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
#define FIND(name)                                                                                 \
	*(void **)&v.name = dlsym(copy, #name);                                                    \
	need(v.name, #name);
	FUNCTIONS(FIND)
#undef FIND
}

static struct ibv_context *open_first(void)
{
	int cnt;
	struct ibv_device **list = v.ibv_get_device_list(&cnt);
	struct ibv_context *c = NULL;

	need(list, "ibv_get_device_list");
	if (cnt) {
		printf("%s\n", v.ibv_get_device_name(list[0]));
		need((c = v.ibv_open_device(list[0])) != NULL, "ibv_open_device");
	}
	for (int i = 1; i < cnt; i++)
		need(strcmp(v.ibv_get_device_name(list[0]), v.ibv_get_device_name(list[i])) != 0,
		     "a device is there twice");
	v.ibv_free_device_list(list);
	if (!c) {
		fprintf(stderr, "no device among %d\n", cnt);
		exit(1);
	}
	return c;
}

static void connect_to(struct ibv_qp *qp, uint32_t dqpn, const union ibv_gid *gid)
{
	struct ibv_qp_attr a = {
	    .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	need(v.ibv_modify_qp(
		 qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
	     "INIT");
	a = (struct ibv_qp_attr){
	    .qp_state = IBV_QPS_RTR,
	    .path_mtu = IBV_MTU_1024,
	    .dest_qp_num = dqpn,
	    .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = *gid, .hop_limit = 4}}};
	need(v.ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				 IBV_QP_MIN_RNR_TIMER) == 0,
	     "RTR");
	a = (struct ibv_qp_attr){
	    .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
	need(v.ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
	     "RTS");
}

/* Waits for an event of the channel, and takes all completions. Returns how many. */
static int wait_for_event(struct ibv_comp_channel *channel, struct ibv_cq *cq, void *context)
{
	struct ibv_cq *of;
	struct ibv_wc wc;
	void *cq_context;
	int cnt = 0;

	need(v.ibv_get_cq_event(channel, &of, &cq_context) == 0, "ibv_get_cq_event");
	need(of == cq && cq_context == context, "the event is another CQ's");
	v.ibv_ack_cq_events(cq, 1);
	need(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
	while (ibv_poll_cq(cq, 1, &wc) == 1) {
		need(wc.status == IBV_WC_SUCCESS, "a completion");
		cnt++;
	}
	return cnt;
}

static void exchange(struct ibv_qp *qp[2], struct ibv_mr *mr, struct ibv_comp_channel *channel,
		     struct ibv_cq *cq, void *context)
{
	need(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_sge from = {(uintptr_t)buf[i % 2], BYTES, mr->lkey};
		struct ibv_sge to = {(uintptr_t)buf[1 - i % 2], BYTES, mr->lkey};
		struct ibv_recv_wr recv = {.sg_list = &to, .num_sge = 1}, *bad_recv;
		struct ibv_send_wr send = {.sg_list = &from,
					   .num_sge = 1,
					   .opcode = IBV_WR_SEND,
					   .send_flags = IBV_SEND_SIGNALED},
				   *bad_send;

		memset(buf[i % 2], 'a' + i % 26, BYTES);
		need(ibv_post_recv(qp[1 - i % 2], &recv, &bad_recv) == 0, "ibv_post_recv");
		need(ibv_post_send(qp[i % 2], &send, &bad_send) == 0, "ibv_post_send");
		for (int done = 0; done < 2;)
			done += wait_for_event(channel, cq, context);
		need(memcmp(buf[0], buf[1], BYTES) == 0, "the bytes");
	}
}

/* A QP with an SRQ that goes into error tells when it takes no more of its receives. */
static void expect_event(struct ibv_context *c, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_async_event event;
	struct ibv_srq *srq;
	struct ibv_qp *qp;

	need((srq = v.ibv_create_srq(pd, &attr)) != NULL, "ibv_create_srq");
	struct ibv_qp_init_attr init = {.send_cq = cq,
					.recv_cq = cq,
					.srq = srq,
					.qp_type = IBV_QPT_RC,
					.cap = {4, 0, 1, 0, 0}};

	need((qp = v.ibv_create_qp(pd, &init)) != NULL, "ibv_create_qp");
	need(v.ibv_modify_qp(
		 qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
	     "INIT");
	a.qp_state = IBV_QPS_ERR;
	need(v.ibv_modify_qp(qp, &a, IBV_QP_STATE) == 0, "ERR");
	need(v.ibv_get_async_event(c, &event) == 0, "ibv_get_async_event");
	need(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && event.element.qp == qp,
	     "the event");
	v.ibv_ack_async_event(&event);
	need(v.ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
	need(v.ibv_destroy_srq(srq) == 0, "ibv_destroy_srq");
}

static void use_copy(const char *path)
{
	struct ibv_device_attr device;
	struct ibv_comp_channel *channel;
	struct ibv_context *c;
	union ibv_gid gid;
	struct ibv_qp *qp[2];
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	int mark;

	load_copy(path);
	c = open_first();
	need(v.ibv_query_device(c, &device) == 0 && device.max_qp > 0, "ibv_query_device");
	need((pd = v.ibv_alloc_pd(c)) != NULL, "ibv_alloc_pd");
	need((mr = v.ibv_reg_mr(pd, buf, sizeof buf, IBV_ACCESS_LOCAL_WRITE)) != NULL,
	     "ibv_reg_mr");
	need((channel = v.ibv_create_comp_channel(c)) != NULL, "ibv_create_comp_channel");
	need((cq = v.ibv_create_cq(c, 16, &mark, channel, 0)) != NULL, "ibv_create_cq");
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = {
		    .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}};

		need((qp[i] = v.ibv_create_qp(pd, &init)) != NULL, "ibv_create_qp");
	}
	need(v.ibv_query_gid(c, 1, 0, &gid) == 0, "ibv_query_gid");
	connect_to(qp[0], qp[1]->qp_num, &gid);
	connect_to(qp[1], qp[0]->qp_num, &gid);
	exchange(qp, mr, channel, cq, &mark);
	printf("%d messages of %d bytes\n", ROUNDS, BYTES);
	expect_event(c, pd, cq);
	printf("an async event\n");
	for (int i = 0; i < 2; i++)
		need(v.ibv_destroy_qp(qp[i]) == 0, "ibv_destroy_qp");
	need(v.ibv_destroy_cq(cq) == 0, "ibv_destroy_cq");
	need(v.ibv_destroy_comp_channel(channel) == 0, "ibv_destroy_comp_channel");
	need(v.ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
	need(v.ibv_dealloc_pd(pd) == 0, "ibv_dealloc_pd");
	need(v.ibv_close_device(c) == 0, "ibv_close_device");
	printf("closed\n");
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: verbs_copy LIBRARY...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		use_copy(argv[i]);
	return 0;
}
