/* SPDX-License-Identifier: BSD-2-Clause */
/* The base of every kind of object: a device, a PD, memory, a CQ, QPs. See verbs_churn.h. */
#include "verbs_churn.h"
#include "verbs_rc.h"

static struct ibv_device *device;
struct ibv_ah_attr address = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64};

struct ibv_context *open_context(void)
{
	struct ibv_context *c = ibv_open_device(device);

	NEED(c);
	return c;
}

struct ibv_context *choose_device(struct ibv_device ***all)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_gid_entry gid;

	NEED(list);
	*all = list;
	for (int i = 0; list[i]; i++) {
		device = list[i];

		struct ibv_context *c = open_context();

		for (uint32_t k = 0; k < 16; k++) {
			if (ibv_query_gid_ex(c, 1, k, &gid, 0))
				continue;
			address.grh.sgid_index = (uint8_t)k;
			address.grh.dgid = gid.gid;
			return c;
		}
		NEED(ibv_close_device(c) == 0);
	}
	fprintf(stderr, "verbs_churn: no device has a GID\n");
	exit(1);
}

void base_open(struct base *b, struct ibv_context *c)
{
	b->context = c;
	b->mem = malloc(SIZE);
	NEED(b->mem);
	memset(b->mem, 0, SIZE);
	b->pd = ibv_alloc_pd(c);
	NEED(b->pd);
	b->mr = ibv_reg_mr(b->pd, b->mem, SIZE, RIGHTS);
	b->cq = ibv_create_cq(c, 64, NULL, NULL, 0);
	NEED(b->mr && b->cq);
}

void base_close(struct base *b)
{
	NEED(ibv_destroy_cq(b->cq) == 0);
	NEED(ibv_dereg_mr(b->mr) == 0);
	NEED(ibv_dealloc_pd(b->pd) == 0);
	free(b->mem);
}

struct ibv_qp *qp_new(struct base *b, enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {.send_cq = b->cq,
					.recv_cq = b->cq,
					.srq = srq,
					.qp_type = type,
					.cap = {8, 8, 1, 1, 16}};
	struct ibv_qp *qp = ibv_create_qp(b->pd, &init);

	NEED(qp);
	return qp;
}

void qp_to_rts(struct ibv_qp *qp, uint32_t dqpn)
{
	struct ibv_qp_attr a = {.port_num = 1,
				.qp_access_flags = RIGHTS & ~IBV_ACCESS_MW_BIND,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = dqpn,
				.timeout = 16,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.min_rnr_timer = 1,
				.max_rd_atomic = 1,
				.max_dest_rd_atomic = 1,
				.ah_attr = address};

	NEED(rc_to_rts(qp, &a) == 0);
}

void await(struct ibv_cq *cq, int cnt)
{
	struct ibv_wc wc;
	int n;

	while (cnt) {
		n = ibv_poll_cq(cq, 1, &wc);
		NEED(n >= 0);
		if (n && wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "a completion of QP %#x: %s, vendor_err %#x\n", wc.qp_num,
				ibv_wc_status_str(wc.status), wc.vendor_err);
			exit(1);
		}
		cnt -= n;
	}
}

void post_recv(struct ibv_qp *qp, struct ibv_srq *srq, const struct base *b)
{
	struct ibv_sge sge = {(uintptr_t)b->mem, SIZE / 2, b->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	NEED((srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad)) == 0);
}

void post_send(struct ibv_qp *qp, const struct base *b, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = {(uintptr_t)b->mem + SIZE / 2, SIZE / 2, b->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)b->mem, b->mr->rkey}},
			   *bad;

	NEED(ibv_post_send(qp, &wr, &bad) == 0);
}
