/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_open_qp() of a target of another process: this process has the initiator, the first child the
 * target, all three children the domain, the second one also an SRQ in it. IBT-22
 *
 *   verbs_open_qp shared         what handles do, and hear
 *   verbs_open_qp crossed        two processes that open each other's
 *   verbs_open_qp closed         the maker is done with the target before the others
 *   verbs_open_qp killed-maker   ... or killed
 *   verbs_open_qp killed-opener  the last who has it open is killed
 *   verbs_open_qp stopped        the maker does not answer
 */
#include "verbs_need.h"
#include "verbs_rc.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAKER, LEFT, RIGHT, CHILDREN };

/* An order to a child, and its result. */
struct order {
	enum what {
		TARGET, /* a target: its number */
		READY,  /* that for the initiator @number, by the handle it has */
		OPEN,   /* the target @number; 0 or the errno */
		BOTH,   /* the same by two threads at once; 0 */
		STATE,  /* of the handle */
		EVENT,  /* one of type @number, for each handle */
		REFUSE, /* posting */
		ERROR,  /* is made of the target */
		DROP,   /* the last handle */
		LEAVE,  /* the domain */
		QUIT,
	} what;
	uint32_t number;
};

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_qp *qp[4];
	uint32_t cnt;
};

static void open_side(struct side *s)
{
	s->context = open_first();
	s->pd = ibv_alloc_pd(s->context);
	s->cq = ibv_create_cq(s->context, 16, NULL, NULL, 0);
	NEED(s->pd && s->cq);
}

static void to_ready(struct side *s, struct ibv_qp *qp, uint32_t dqpn, bool sends)
{
	struct ibv_qp_attr a = {.port_num = 1,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = dqpn,
				.max_rd_atomic = 1,
				.max_dest_rd_atomic = 1,
				.timeout = 12,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.min_rnr_timer = 3,
				.ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 61}};

	NEED(ibv_query_gid(s->context, 1, 0, &a.ah_attr.grh.dgid) == 0);
	NEED(rc_to(sends ? IBV_QPS_RTS : IBV_QPS_RTR, qp, &a) == 0);
}

static void enter_domain(struct side *s, int file)
{
	struct ibv_xrcd_init_attr x = {.comp_mask =
					   IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = file,
				       .oflags = O_CREAT};

	open_side(s);
	s->xrcd = ibv_open_xrcd(s->context, &x);
	NEED(s->xrcd);
}

/* An SRQ with room for messages without payload; returns its number. */
static uint32_t make_srq(struct side *s)
{
	struct ibv_srq_init_attr_ex init = {.attr = {.max_wr = 8, .max_sge = 1},
					    .comp_mask =
						IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					    .srq_type = IBV_SRQT_XRC,
					    .pd = s->pd,
					    .cq = s->cq,
					    .xrcd = s->xrcd};
	struct ibv_recv_wr wr = {0}, *bad;
	uint32_t number;

	s->srq = ibv_create_srq_ex(s->context, &init);
	NEED(s->srq && ibv_get_srq_num(s->srq, &number) == 0);
	for (int i = 0; i < 8; i++)
		NEED(ibv_post_srq_recv(s->srq, &wr, &bad) == 0);
	return number;
}

static uint32_t make_target(struct side *s)
{
	struct ibv_qp_init_attr_ex init = {
	    .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = s->xrcd};

	s->qp[s->cnt] = ibv_create_qp_ex(s->context, &init);
	NEED(s->qp[s->cnt]);
	return s->qp[s->cnt++]->qp_num;
}

static struct ibv_qp *open_handle(struct side *s, uint32_t number)
{
	struct ibv_qp_open_attr open = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						     IBV_QP_OPEN_ATTR_TYPE |
						     IBV_QP_OPEN_ATTR_CONTEXT,
					.qp_num = number,
					.xrcd = s->xrcd,
					.qp_context = s,
					.qp_type = IBV_QPT_XRC_RECV};
	struct ibv_qp *qp = ibv_open_qp(s->context, &open);

	NEED(!qp || (qp->qp_num == number && qp->qp_context == s));
	return qp;
}

static uint32_t open_target(struct side *s, uint32_t number)
{
	struct ibv_qp *qp = open_handle(s, number);

	if (!qp)
		return (uint32_t)errno;
	NEED(s->cnt < 4);
	s->qp[s->cnt++] = qp;
	return 0;
}

static struct {
	struct side *side;
	uint32_t number;
} wanted;

static void *open_in_thread(void *unused)
{
	(void)unused;
	return open_handle(wanted.side, wanted.number);
}

static void open_both(struct side *s, uint32_t number)
{
	pthread_t thread[2];
	void *qp;

	wanted.side = s;
	wanted.number = number;
	for (int i = 0; i < 2; i++)
		NEED(pthread_create(&thread[i], NULL, open_in_thread, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		NEED(pthread_join(thread[i], &qp) == 0 && qp && s->cnt < 4);
		s->qp[s->cnt++] = qp;
	}
}

/* The state, after a look at what else there is to know of a target that is ready. */
static uint32_t state_of(const struct side *s)
{
	struct ibv_qp_attr a;
	struct ibv_qp_init_attr init;
	union ibv_gid gid;

	NEED(ibv_query_qp(s->qp[0], &a, IBV_QP_STATE, &init) == 0);
	NEED(init.qp_type == IBV_QPT_XRC_RECV && s->qp[0]->state == a.qp_state);
	if (a.qp_state == IBV_QPS_RTR) {
		NEED(ibv_query_gid(s->context, 1, 0, &gid) == 0);
		NEED(memcmp(&a.ah_attr.grh.dgid, &gid, sizeof gid) == 0);
		NEED(a.ah_attr.grh.hop_limit == 61 && a.path_mtu == IBV_MTU_1024);
		NEED(a.port_num == 1 && a.dest_qp_num != 0 && a.min_rnr_timer == 3);
	}
	return a.qp_state;
}

/* Each handle hears of it; of others that are no matter here some may have. */
static void await_event(struct side *s, enum ibv_event_type type)
{
	struct ibv_async_event ev;
	uint32_t heard = 0;

	while (heard != (1u << s->cnt) - 1) {
		NEED(ibv_get_async_event(s->context, &ev) == 0);
		for (uint32_t i = 0; i < s->cnt; i++)
			if (ev.event_type == type && ev.element.qp == s->qp[i])
				heard |= 1u << i;
		ibv_ack_async_event(&ev);
	}
}

static void refuse_posting(struct side *s)
{
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad_send;
	struct ibv_recv_wr recv = {0}, *bad_recv;

	NEED(ibv_post_send(s->qp[0], &send, &bad_send) == EINVAL);
	NEED(ibv_post_recv(s->qp[0], &recv, &bad_recv) == EINVAL);
}

static uint32_t obey(struct side *s, const struct order *o)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	switch (o->what) {
	case TARGET:
		return make_target(s);
	case READY:
		NEED(ibv_modify_qp(s->qp[0], &reset, IBV_QP_STATE) == 0);
		to_ready(s, s->qp[0], o->number, false);
		return 0;
	case OPEN:
		return open_target(s, o->number);
	case BOTH:
		open_both(s, o->number);
		return 0;
	case STATE:
		return state_of(s);
	case EVENT:
		await_event(s, (enum ibv_event_type)o->number);
		return 0;
	case REFUSE:
		refuse_posting(s);
		return 0;
	case ERROR:
		return (uint32_t)ibv_modify_qp(s->qp[0], &error, IBV_QP_STATE);
	case DROP:
		NEED(ibv_destroy_qp(s->qp[--s->cnt]) == 0);
		return 0;
	case LEAVE:
		return (uint32_t)ibv_close_xrcd(s->xrcd);
	default:
		return 0;
	}
}

static void child_main(int file, int sock, bool has_srq)
{
	struct side s = {0};
	struct order o;
	uint32_t result;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	enter_domain(&s, file);
	result = has_srq ? make_srq(&s) : 0;
	NEED(write(sock, &result, sizeof result) == sizeof result);
	while (read(sock, &o, sizeof o) == sizeof o) {
		result = obey(&s, &o);
		NEED(write(sock, &result, sizeof result) == sizeof result);
		if (o.what == QUIT)
			break;
	}
	NEED(ibv_close_device(s.context) == 0);
	exit(0);
}

static struct {
	pid_t pid;
	int sock;
} child[CHILDREN];

static void say(int to, enum what what, uint32_t number)
{
	struct order o = {what, number};

	NEED(write(child[to].sock, &o, sizeof o) == sizeof o);
}

static uint32_t hear(int from)
{
	uint32_t result;

	NEED(read(child[from].sock, &result, sizeof result) == sizeof result);
	return result;
}

static uint32_t order(int to, enum what what, uint32_t number)
{
	say(to, what, number);
	return hear(to);
}

/* Returns the number of the second child's SRQ. */
static uint32_t start(struct side *s)
{
	int file = memfd_create("domain", MFD_CLOEXEC), pair[2];
	struct ibv_qp_init_attr_ex init = {.cap = {.max_send_wr = 4, .max_send_sge = 1},
					   .qp_type = IBV_QPT_XRC_SEND,
					   .comp_mask = IBV_QP_INIT_ATTR_PD};
	uint32_t srqn[CHILDREN];

	NEED(file >= 0);
	for (int i = 0; i < CHILDREN; i++) {
		NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
		child[i].pid = fork();
		NEED(child[i].pid >= 0);
		if (child[i].pid == 0) {
			close(pair[0]);
			child_main(file, pair[1], i == LEFT);
		}
		close(pair[1]);
		child[i].sock = pair[0];
	}
	for (int i = 0; i < CHILDREN; i++)
		srqn[i] = hear(i);
	open_side(s);
	init.pd = s->pd;
	init.send_cq = s->cq;
	s->qp[s->cnt] = ibv_create_qp_ex(s->context, &init);
	NEED(s->qp[s->cnt++]);
	return srqn[LEFT];
}

/* A message without payload, and what becomes of it. */
static enum ibv_wc_status send_one(struct side *s, uint32_t srqn)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED,
				 .qp_type.xrc.remote_srqn = srqn},
			   *bad;
	struct ibv_wc wc;
	int n;

	NEED(ibv_post_send(s->qp[0], &wr, &bad) == 0);
	do
		n = ibv_poll_cq(s->cq, 1, &wc);
	while (n == 0);
	NEED(n == 1);
	return wc.status;
}

static void end(int which, int sig)
{
	int status;

	if (sig)
		NEED(kill(child[which].pid, sig) == 0);
	else
		(void)order(which, QUIT, 0);
	NEED(waitpid(child[which].pid, &status, 0) == child[which].pid);
	NEED(sig ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A target that is ready for the initiator, and that for it. */
static uint32_t connect_target(struct side *s)
{
	uint32_t qpn = order(MAKER, TARGET, 0);

	NEED(order(MAKER, READY, s->qp[0]->qp_num) == 0);
	to_ready(s, s->qp[0], qpn, true);
	return qpn;
}

static void shared(struct side *s, uint32_t srqn)
{
	uint32_t qpn = connect_target(s);

	NEED(order(LEFT, OPEN, qpn ^ 0x10000) == EINVAL);
	NEED(order(LEFT, OPEN, s->qp[0]->qp_num) == EINVAL);
	NEED(order(LEFT, OPEN, qpn) == 0 && order(LEFT, OPEN, qpn) == 0);
	NEED(order(RIGHT, OPEN, qpn) == 0);
	NEED(order(LEFT, STATE, 0) == IBV_QPS_RTR && order(RIGHT, STATE, 0) == IBV_QPS_RTR);
	NEED(order(LEFT, REFUSE, 0) == 0);
	NEED(order(LEFT, LEAVE, 0) == EBUSY);
	NEED(send_one(s, srqn) == IBV_WC_SUCCESS);
	/* There is no such SRQ. */
	NEED(send_one(s, srqn ^ 0x10000) == IBV_WC_REM_INV_REQ_ERR);
	for (int i = 0; i < CHILDREN; i++)
		NEED(order(i, EVENT, IBV_EVENT_QP_REQ_ERR) == 0);
	NEED(order(LEFT, STATE, 0) == IBV_QPS_ERR && order(MAKER, STATE, 0) == IBV_QPS_ERR);
	/* A handle is as good as another. */
	NEED(order(RIGHT, READY, s->qp[0]->qp_num) == 0);
	NEED(order(MAKER, STATE, 0) == IBV_QPS_RTR);
	NEED(order(LEFT, DROP, 0) == 0 && order(LEFT, ERROR, 0) == 0);
	NEED(order(RIGHT, STATE, 0) == IBV_QPS_ERR);
	NEED(order(LEFT, DROP, 0) == 0);
	NEED(order(MAKER, DROP, 0) == 0);
	NEED(order(RIGHT, STATE, 0) == IBV_QPS_ERR && order(RIGHT, DROP, 0) == 0);
	NEED(order(LEFT, OPEN, qpn) == EINVAL);
}

static void crossed(void)
{
	uint32_t qpn[2] = {order(MAKER, TARGET, 0), order(LEFT, TARGET, 0)};

	for (int i = 0; i < 100; i++) {
		say(MAKER, OPEN, qpn[1]);
		say(LEFT, OPEN, qpn[0]);
		NEED(hear(MAKER) == 0 && hear(LEFT) == 0);
		say(MAKER, DROP, 0);
		say(LEFT, DROP, 0);
		NEED(hear(MAKER) == 0 && hear(LEFT) == 0);
		NEED(order(RIGHT, BOTH, qpn[0]) == 0);
		NEED(order(RIGHT, DROP, 0) == 0 && order(RIGHT, DROP, 0) == 0);
	}
}

static void closed(struct side *s, uint32_t srqn)
{
	uint32_t qpn = connect_target(s);

	NEED(order(LEFT, OPEN, qpn) == 0);
	NEED(order(MAKER, DROP, 0) == 0);
	NEED(send_one(s, srqn) == IBV_WC_SUCCESS);
	NEED(order(MAKER, OPEN, qpn) == 0 && order(MAKER, STATE, 0) == IBV_QPS_RTR);
	NEED(order(MAKER, DROP, 0) == 0 && order(MAKER, LEAVE, 0) == 0);
	NEED(send_one(s, srqn) == IBV_WC_SUCCESS);
	NEED(order(RIGHT, OPEN, qpn) == 0 && order(LEFT, DROP, 0) == 0);
	NEED(order(RIGHT, STATE, 0) == IBV_QPS_RTR);
	NEED(order(RIGHT, DROP, 0) == 0);
	NEED(order(RIGHT, OPEN, qpn) == EINVAL);
}

static void killed_maker(struct side *s)
{
	uint32_t qpn = connect_target(s);

	NEED(order(LEFT, OPEN, qpn) == 0 && order(RIGHT, OPEN, qpn) == 0);
	end(MAKER, SIGKILL);
	/* A process that asks finds out before the probe does. */
	for (int i = LEFT; i < CHILDREN; i++) {
		NEED(order(i, STATE, 0) == IBV_QPS_ERR);
		NEED(order(i, EVENT, IBV_EVENT_QP_FATAL) == 0);
		NEED(order(i, ERROR, 0) == EIO);
	}
	NEED(order(LEFT, DROP, 0) == 0);
	NEED(order(LEFT, OPEN, qpn) == EINVAL);
}

static void killed_opener(struct side *s)
{
	uint32_t qpn = connect_target(s);

	NEED(order(LEFT, OPEN, qpn) == 0);
	NEED(order(MAKER, DROP, 0) == 0);
	end(LEFT, SIGKILL);
	/* Until the maker's process has found out, it can still be had. */
	while (order(RIGHT, OPEN, qpn) == 0)
		NEED(order(RIGHT, DROP, 0) == 0);
}

static void stopped(struct side *s)
{
	uint32_t qpn = connect_target(s);
	int status;

	NEED(kill(child[MAKER].pid, SIGSTOP) == 0);
	NEED(waitpid(child[MAKER].pid, &status, WUNTRACED) == child[MAKER].pid);
	NEED(order(LEFT, OPEN, qpn) == ETIMEDOUT);
	NEED(kill(child[MAKER].pid, SIGCONT) == 0);
	NEED(order(LEFT, OPEN, qpn) == 0 && order(LEFT, STATE, 0) == IBV_QPS_RTR);
}

int main(int argc, char **argv)
{
	struct side s = {0};
	bool gone[CHILDREN] = {false};
	uint32_t srqn;

	NEED(argc == 2);
	srqn = start(&s);
	if (strcmp(argv[1], "shared") == 0)
		shared(&s, srqn);
	else if (strcmp(argv[1], "crossed") == 0)
		crossed();
	else if (strcmp(argv[1], "closed") == 0)
		closed(&s, srqn);
	else if (strcmp(argv[1], "killed-maker") == 0)
		killed_maker(&s), gone[MAKER] = true;
	else if (strcmp(argv[1], "killed-opener") == 0)
		killed_opener(&s), gone[LEFT] = true;
	else
		stopped(&s);
	for (int i = 0; i < CHILDREN; i++)
		if (!gone[i])
			end(i, 0);
	NEED(ibv_close_device(s.context) == 0);
	puts("ok");
	return 0;
}
