/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One XRC target and SRQs of two processes behind it: this process has the initiator, one child the
 * target and an SRQ, another an SRQ in the same domain. IBT-22
 *
 *   verbs_xrc COUNT                  requests of every kind to both, and what they have done
 *   verbs_xrc kill-idle              the process with the other SRQ is killed between messages,
 *   verbs_xrc kill-busy              ... when it had the last message,
 *   verbs_xrc kill-owner             ... or the one with the target
 */
#include "verbs_need.h"
#include "verbs_rc.h"

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WINDOW 24u
#define SLOTS 32u /* more than the window: none is written while it is read */
#define SLOT 8192u
#define RECVS 128u
#define LAST 0xffffffffu /* the immediate of the last message */

enum { OWNER, OTHER, SERVERS };

struct info {
	uint32_t qpn, srqn, rkey;
	uint64_t addr;
};

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
};

/* A server: slots that are written, receives, and a counter behind them. */
#define RECV_AT (SLOTS * SLOT)
#define COUNT_AT (RECV_AT + RECVS * SLOT)
static _Alignas(4096) uint8_t memory[COUNT_AT + 4096];

static uint8_t pattern(uint64_t nr, size_t at)
{
	return (uint8_t)(nr * 31 + at * 7 + (at >> 8));
}

static void fill(uint8_t *to, uint64_t nr, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = pattern(nr, i);
}

static bool is_filled(const uint8_t *of, uint64_t nr, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (of[i] != pattern(nr, i))
			return false;
	return true;
}

static void open_side(struct side *s)
{
	s->context = open_first();
	s->pd = ibv_alloc_pd(s->context);
	s->channel = ibv_create_comp_channel(s->context);
	NEED(s->pd && s->channel);
	s->cq = ibv_create_cq(s->context, 2 * RECVS, NULL, s->channel, 0);
	s->mr = ibv_reg_mr(s->pd, memory, sizeof memory,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	NEED(s->cq && s->mr);
}

static void to_ready(struct side *s, uint32_t dqpn, bool sends)
{
	struct ibv_qp_attr a = {.port_num = 1,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						   IBV_ACCESS_REMOTE_READ |
						   IBV_ACCESS_REMOTE_ATOMIC,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = dqpn,
				.rq_psn = 0xfffff0,
				.sq_psn = 0xfffff0,
				.max_rd_atomic = 4,
				.max_dest_rd_atomic = 4,
				.timeout = 12,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.min_rnr_timer = 3,
				.ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64}};

	NEED(ibv_query_gid(s->context, 1, 0, &a.ah_attr.grh.dgid) == 0);
	NEED(rc_to(sends ? IBV_QPS_RTS : IBV_QPS_RTR, s->qp, &a) == 0);
}

static void post_recv(struct side *s, uint32_t slot)
{
	struct ibv_sge sge = {(uintptr_t)memory + RECV_AT + slot * SLOT, SLOT, s->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1}, *bad;

	NEED(ibv_post_srq_recv(s->srq, &wr, &bad) == 0);
}

static void open_server(struct side *s, int domain, struct info *mine, bool owner)
{
	struct ibv_xrcd_init_attr x = {.comp_mask =
					   IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = domain,
				       .oflags = O_CREAT};
	struct ibv_srq_init_attr_ex srq = {.attr = {.max_wr = RECVS, .max_sge = 1},
					   .comp_mask =
					       IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
					       IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					   .srq_type = IBV_SRQT_XRC};
	struct ibv_qp_init_attr_ex qp = {.qp_type = IBV_QPT_XRC_RECV,
					 .comp_mask = IBV_QP_INIT_ATTR_XRCD};

	open_side(s);
	s->xrcd = ibv_open_xrcd(s->context, &x);
	NEED(s->xrcd);
	srq.pd = s->pd;
	srq.cq = s->cq;
	srq.xrcd = qp.xrcd = s->xrcd;
	s->srq = ibv_create_srq_ex(s->context, &srq);
	NEED(s->srq && ibv_get_srq_num(s->srq, &mine->srqn) == 0);
	mine->rkey = s->mr->rkey;
	mine->addr = (uintptr_t)memory;
	if (owner) {
		s->qp = ibv_create_qp_ex(s->context, &qp);
		NEED(s->qp);
		mine->qpn = s->qp->qp_num;
	}
	for (uint32_t i = 0; i < RECVS; i++)
		post_recv(s, i);
}

/* Waits for the next completion, asleep. */
static void next_wc(struct side *s, struct ibv_wc *wc)
{
	struct ibv_cq *cq;
	void *ctx;
	int n = ibv_poll_cq(s->cq, 1, wc);

	while (n == 0) {
		NEED(ibv_req_notify_cq(s->cq, 0) == 0);
		n = ibv_poll_cq(s->cq, 1, wc);
		if (n == 0) {
			NEED(ibv_get_cq_event(s->channel, &cq, &ctx) == 0);
			ibv_ack_cq_events(cq, 1);
			n = ibv_poll_cq(s->cq, 1, wc);
		}
	}
	NEED(n == 1);
}

/* Takes messages, each the next one and whole, until the last. */
static void take_messages(struct side *s)
{
	struct ibv_wc wc;

	for (uint32_t nr = 0;; nr++) {
		next_wc(s, &wc);
		NEED(wc.status == IBV_WC_SUCCESS);

		uint8_t *at = memory + RECV_AT + wc.wr_id * SLOT;
		bool has_imm = wc.wc_flags & IBV_WC_WITH_IMM;

		if (has_imm && wc.imm_data == LAST)
			return;
		NEED(!has_imm || wc.imm_data == nr);
		NEED(wc.opcode != IBV_WC_RECV || is_filled(at, nr, wc.byte_len));
		post_recv(s, (uint32_t)wc.wr_id);
	}
}

static void close_server(struct side *s)
{
	NEED(!s->qp || ibv_destroy_qp(s->qp) == 0);
	NEED(ibv_destroy_srq(s->srq) == 0);
	NEED(ibv_close_xrcd(s->xrcd) == 0);
	NEED(ibv_destroy_cq(s->cq) == 0 && ibv_dereg_mr(s->mr) == 0);
	NEED(ibv_dealloc_pd(s->pd) == 0 && ibv_destroy_comp_channel(s->channel) == 0);
	NEED(ibv_close_device(s->context) == 0);
}

static void server(int domain, int sock, bool owner)
{
	struct side s = {0};
	struct info mine = {0};
	struct ibv_async_event ev;
	uint32_t dqpn;
	char what;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_server(&s, domain, &mine, owner);
	NEED(write(sock, &mine, sizeof mine) == sizeof mine);
	NEED(read(sock, &dqpn, sizeof dqpn) == sizeof dqpn);
	if (owner)
		to_ready(&s, dqpn, false);
	NEED(write(sock, "r", 1) == 1);
	while (read(sock, &what, 1) == 1 && what != 'q') {
		if (what == 'm')
			take_messages(&s);
		while (what == 'f') {
			NEED(ibv_get_async_event(s.context, &ev) == 0);
			if (ev.event_type == IBV_EVENT_QP_FATAL)
				what = 'r';
			ibv_ack_async_event(&ev);
		}
		NEED(write(sock, "r", 1) == 1);
	}
	close_server(&s);
	exit(0);
}

struct child {
	pid_t pid;
	int sock;
	struct info info;
	uint32_t messages; /* sent to it */
	uint32_t counted;  /* added */
	uint32_t slot;     /* written last, and with what */
	uint64_t written;
	uint32_t len;
};

static struct child child[SERVERS];

static void say(int to, char what)
{
	NEED(write(child[to].sock, &what, 1) == 1);
}

static void hear(int from)
{
	char ok;

	NEED(read(child[from].sock, &ok, 1) == 1);
}

static void start(struct side *s)
{
	int domain = memfd_create("domain", MFD_CLOEXEC), pair[2];
	struct ibv_qp_init_attr_ex init = {.cap = {.max_send_wr = WINDOW, .max_send_sge = 1},
					   .qp_type = IBV_QPT_XRC_SEND,
					   .comp_mask = IBV_QP_INIT_ATTR_PD};

	NEED(domain >= 0);
	for (int i = 0; i < SERVERS; i++) {
		NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
		child[i].pid = fork();
		NEED(child[i].pid >= 0);
		if (child[i].pid == 0) {
			close(pair[0]);
			server(domain, pair[1], i == OWNER);
		}
		close(pair[1]);
		child[i].sock = pair[0];
	}
	open_side(s);
	init.pd = s->pd;
	init.send_cq = s->cq;
	s->qp = ibv_create_qp_ex(s->context, &init);
	NEED(s->qp);
	for (int i = 0; i < SERVERS; i++) {
		NEED(read(child[i].sock, &child[i].info, sizeof child[i].info) ==
		     sizeof child[i].info);
		NEED(write(child[i].sock, &s->qp->qp_num, 4) == 4);
	}
	hear(OWNER);
	hear(OTHER);
	to_ready(s, child[OWNER].info.qpn, true);
}

/* The result to be found when request wr_id % WINDOW is done. */
static struct {
	enum ibv_wr_opcode op;
	uint64_t expect;
	uint32_t len;
} asked[WINDOW];

static uint32_t draw(uint32_t below)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 11) % below);
}

static void post(struct side *s, uint32_t nr, int to, enum ibv_wr_opcode op)
{
	struct child *c = &child[to];
	uint8_t *at = memory + (nr % WINDOW) * SLOT;
	uint32_t len = 1 + draw(draw(4) ? 600 : 6000);
	struct ibv_sge sge = {(uintptr_t)at, len, s->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = nr,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {c->info.addr, c->info.rkey},
				 .qp_type.xrc.remote_srqn = c->info.srqn},
			   *bad;

	switch (op) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		c->slot = (c->slot + 1) % SLOTS;
		c->written = nr;
		c->len = len;
		fill(at, nr, len);
		break;
	case IBV_WR_RDMA_READ:
		sge.length = len = c->len;
		asked[nr % WINDOW].expect = c->written;
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		sge.length = len = 8;
		asked[nr % WINDOW].expect = c->counted++;
		wr.wr.atomic.remote_addr = c->info.addr + COUNT_AT;
		wr.wr.atomic.rkey = c->info.rkey;
		wr.wr.atomic.compare_add = 1;
		break;
	default:
		fill(at, c->messages, len);
		break;
	}
	if (op != IBV_WR_ATOMIC_FETCH_AND_ADD)
		wr.wr.rdma.remote_addr += c->slot * SLOT;
	wr.imm_data = c->messages;
	if (op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_RDMA_WRITE_WITH_IMM)
		c->messages++;
	asked[nr % WINDOW].op = op;
	asked[nr % WINDOW].len = len;
	NEED(ibv_post_send(s->qp, &wr, &bad) == 0);
}

static void check(const struct ibv_wc *wc)
{
	uint32_t i = (uint32_t)(wc->wr_id % WINDOW);
	uint8_t *at = memory + i * SLOT;
	uint64_t orig;

	if (wc->status != IBV_WC_SUCCESS)
		fprintf(stderr, "request %lu: %s\n", (unsigned long)wc->wr_id,
			ibv_wc_status_str(wc->status));
	NEED(wc->status == IBV_WC_SUCCESS);
	memcpy(&orig, at, sizeof orig);
	NEED(asked[i].op != IBV_WR_RDMA_READ || is_filled(at, asked[i].expect, asked[i].len));
	NEED(asked[i].op != IBV_WR_ATOMIC_FETCH_AND_ADD || orig == asked[i].expect);
}

static void send_last(struct side *s, int to)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM,
				 .imm_data = LAST,
				 .send_flags = IBV_SEND_SIGNALED,
				 .qp_type.xrc.remote_srqn = child[to].info.srqn},
			   *bad;
	struct ibv_wc wc;

	NEED(ibv_post_send(s->qp, &wr, &bad) == 0);
	next_wc(s, &wc);
	NEED(wc.status == IBV_WC_SUCCESS);
}

static void exchange(struct side *s, uint32_t cnt)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_SEND,       IBV_WR_SEND_WITH_IMM,
						 IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
						 IBV_WR_RDMA_READ,  IBV_WR_ATOMIC_FETCH_AND_ADD};
	uint32_t posted = 0, done = 0;
	struct ibv_wc wc;

	say(OWNER, 'm');
	say(OTHER, 'm');
	for (int i = 0; i < SERVERS; i++, posted++)
		post(s, posted, i, IBV_WR_RDMA_WRITE);
	while (done < cnt) {
		for (; posted < cnt && posted - done < WINDOW; posted++)
			post(s, posted, (int)draw(SERVERS), ops[draw(6)]);
		next_wc(s, &wc);
		check(&wc);
		done++;
	}
	for (int i = 0; i < SERVERS; i++) {
		send_last(s, i);
		hear(i);
	}
}

/* A message of one byte, and what becomes of it. */
static enum ibv_wc_status send_one(struct side *s, int to)
{
	struct ibv_sge sge = {(uintptr_t)memory, 1, s->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED,
				 .qp_type.xrc.remote_srqn = child[to].info.srqn},
			   *bad;
	struct ibv_wc wc;

	NEED(ibv_post_send(s->qp, &wr, &bad) == 0);
	next_wc(s, &wc);
	return wc.status;
}

static void stop(int which, int sig)
{
	int status;

	if (sig)
		NEED(kill(child[which].pid, sig) == 0);
	else
		say(which, 'q');
	NEED(waitpid(child[which].pid, &status, 0) == child[which].pid);
	NEED(sig ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void kill_one(struct side *s, const char *how)
{
	NEED(send_one(s, OWNER) == IBV_WC_SUCCESS);
	NEED(send_one(s, OTHER) == IBV_WC_SUCCESS);
	if (strcmp(how, "kill-owner") == 0) {
		stop(OWNER, SIGKILL);
		NEED(send_one(s, OTHER) == IBV_WC_RETRY_EXC_ERR);
		stop(OTHER, 0);
		return;
	}
	if (strcmp(how, "kill-idle") == 0) {
		NEED(send_one(s, OWNER) == IBV_WC_SUCCESS);
		stop(OTHER, SIGKILL);
		NEED(send_one(s, OWNER) == IBV_WC_SUCCESS);
		NEED(send_one(s, OTHER) == IBV_WC_REM_INV_REQ_ERR);
	} else {
		/* Nobody knows its last work, unless that was so long ago that it had
		 * given the state back. */
		stop(OTHER, SIGKILL);

		enum ibv_wc_status status = send_one(s, OWNER);

		NEED(status == IBV_WC_SUCCESS || status == IBV_WC_RETRY_EXC_ERR);
		if (status != IBV_WC_SUCCESS) {
			say(OWNER, 'f');
			hear(OWNER);
		}
	}
	stop(OWNER, 0);
}

int main(int argc, char **argv)
{
	struct side s = {0};

	NEED(argc == 2);
	start(&s);
	if (strncmp(argv[1], "kill-", 5) == 0) {
		kill_one(&s, argv[1]);
	} else {
		exchange(&s, (uint32_t)strtoul(argv[1], NULL, 10));
		stop(OWNER, 0);
		stop(OTHER, 0);
	}
	NEED(ibv_destroy_qp(s.qp) == 0 && ibv_destroy_cq(s.cq) == 0);
	puts("ok");
	return 0;
}
