/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of libibverbs, linked to rdma-core's library as any other, that runs with the adapter
 * preloaded: a message and a WRITE through two QPs of its own, by inline verbs, by versioned
 * symbols, and with helpers that still come from rdma-core. Compiled once as it is and once without
 * optimisation, where <infiniband/verbs.h> chooses other entry points. Says "ok", or what was
 * wrong.
 */
#include "verbs_need.h"
#include "verbs_rc.h"

#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint8_t buf[8192];

static struct ibv_context *open_lo(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *found = NULL;

	NEED(list);
	for (int i = 0; list[i] && !found; i++) {
		struct ibv_port_attr port;
		struct ibv_context *c = ibv_open_device(list[i]);

		NEED(c);
		NEED(ibv_query_port(c, 1, &port) == 0);
		NEED(port.link_layer == IBV_LINK_LAYER_ETHERNET);
		if (port.state == IBV_PORT_ACTIVE)
			found = c;
		else
			NEED(ibv_close_device(c) == 0);
	}
	ibv_free_device_list(list);
	NEED(found);
	return found;
}

static void to_rts(struct ibv_qp *qp, uint32_t dqpn)
{
	struct ibv_gid_entry gid[1];
	struct ibv_qp_attr a = {.port_num = 1,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = dqpn,
				.timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.min_rnr_timer = 1,
				.ah_attr = {.is_global = 1, .port_num = 1}};

	for (uint32_t i = 0; ibv_query_gid_ex(qp->context, 1, i, gid, 0); i++)
		NEED(i < 255);
	a.ah_attr.grh.sgid_index = (uint8_t)gid->gid_index;
	a.ah_attr.grh.dgid = gid->gid;
	NEED(rc_to_rts(qp, &a) == 0);
}

static struct ibv_wc completion(struct ibv_cq *cq)
{
	time_t end = time(NULL) + 20;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		NEED(time(NULL) < end);
	NEED(n == 1);
	return wc;
}

static void exchange(struct ibv_qp *from, struct ibv_qp *to, const struct ibv_mr *mr)
{
	struct ibv_sge in = {(uintptr_t)buf, 4096, mr->lkey};
	struct ibv_sge out = {(uintptr_t)buf + 4096, 3000, mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &in, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = {.sg_list = &out,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad_send;
	struct ibv_wc wc;

	memset(buf, 0, 4096);
	memset(buf + 4096, 0x5a, 4096);
	NEED(ibv_post_recv(to, &recv, &bad_recv) == 0);
	NEED(ibv_post_send(from, &send, &bad_send) == 0);
	wc = completion(to->recv_cq);
	NEED(wc.status == IBV_WC_SUCCESS && wc.byte_len == 3000);
	NEED(memcmp(buf, buf + 4096, 3000) == 0 && buf[3000] == 0);
	NEED(completion(from->send_cq).status == IBV_WC_SUCCESS);

	/* With a wrong key: an error whose name rdma-core's library knows. */
	send.opcode = IBV_WR_RDMA_WRITE;
	send.wr.rdma.remote_addr = (uintptr_t)buf;
	send.wr.rdma.rkey = ~mr->rkey;
	NEED(ibv_post_send(from, &send, &bad_send) == 0);
	wc = completion(from->send_cq);
	NEED(strcmp(ibv_wc_status_str(wc.status), "remote access error") == 0);
}

int main(int argc, char **argv)
{
	struct ibv_context *c = open_lo();
	struct ibv_pd *pd = ibv_alloc_pd(c);
	/* Neither a constant: the header's other way into registration. */
	int access = IBV_ACCESS_LOCAL_WRITE | (argc > 0 && argv ? IBV_ACCESS_REMOTE_WRITE : 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof buf, access);
	struct ibv_mr *constant = ibv_reg_mr(pd, buf, sizeof buf, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_cq *cq[2] = {ibv_create_cq(c, 10, NULL, NULL, 0),
				ibv_create_cq(c, 10, NULL, NULL, 0)};
	struct ibv_qp *qp[2];

	NEED(pd && mr && constant && cq[0] && cq[1]);
	NEED(strcmp(ibv_node_type_str(c->device->node_type), "InfiniBand channel adapter") == 0);
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = {.send_cq = cq[i],
						.recv_cq = cq[i],
						.cap = {4, 4, 1, 1, 0},
						.qp_type = IBV_QPT_RC};

		qp[i] = ibv_create_qp(pd, &init);
		NEED(qp[i]);
	}
	to_rts(qp[0], qp[1]->qp_num);
	to_rts(qp[1], qp[0]->qp_num);
	exchange(qp[0], qp[1], mr);
	for (int i = 0; i < 2; i++) {
		NEED(ibv_destroy_qp(qp[i]) == 0);
		NEED(ibv_destroy_cq(cq[i]) == 0);
	}
	NEED(ibv_dereg_mr(constant) == 0);
	NEED(ibv_dereg_mr(mr) == 0);
	NEED(ibv_dealloc_pd(pd) == 0);
	NEED(ibv_close_device(c) == 0);
	puts("ok");
	return 0;
}
