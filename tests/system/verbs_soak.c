/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One of two ends that work with each other for SECONDS and check every byte and the order of
 * everything: SENDs and WRITEs with immediate whose bytes both ends compute from SEED, WRITEs that
 * are read back, and atomics that must have been carried out once each. For tests with faults.
 *
 *   verbs_soak DEVICE GID_INDEX PORT TIMEOUT SEED SECONDS [SERVER]
 *
 * TIMEOUT is the QPs' local ACK timeout, retry_cnt is 7. Without SERVER waits for the other end on
 * TCP port PORT. An odd SEED sleeps on a completion channel, an even one polls. Closes with one
 * line of totals.
 */
#include "verbs_need.h"
#include "verbs_rc.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Messages that the other end has not checked yet, at most; a power of two. */
#define SLOTS 32u
#define MESSAGE_MAX 16384u
/* Blocks that are written and read back. */
#define BLOCKS 4u
#define RECVS 128u
/* Work requests in flight, at most; a power of two. */
#define DEPTH 64u
#define POSTS_MAX 48u
/* Immediate data that is no message's number. */
#define IMM_CREDIT 0xffffffffu
#define IMM_END 0xfffffffeu

enum kind { MESSAGE, WRITTEN, READ_BACK, ADDED, SWAPPED, CREDITED, ENDED };

/* Open to the other end. */
struct region {
	uint8_t slot[SLOTS][MESSAGE_MAX];
	uint8_t block[BLOCKS][MESSAGE_MAX];
	uint64_t sum, swapped; /* of its atomics */
	uint64_t checked;      /* messages of ours that it has checked */
};

static _Alignas(8) struct {
	struct region region;
	uint8_t out[SLOTS][MESSAGE_MAX];
	uint8_t in[RECVS][MESSAGE_MAX];
	uint8_t written[BLOCKS][MESSAGE_MAX], back[BLOCKS][MESSAGE_MAX];
	uint64_t result[DEPTH], credit[DEPTH];
} mem;

struct info {
	union ibv_gid gid;
	uint64_t region;
	uint32_t qpn, rkey;
};

static struct {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct info peer;
	uint64_t seed, chance;
	unsigned side;
	/* The posted requests, in order: the completions must come so. */
	struct {
		enum kind kind;
		uint64_t number;
	} post[DEPTH];
	uint64_t posted, done;
	uint64_t sent, sent_done, received, credited; /* messages */
	uint64_t blocks, blocks_done;                 /* written and read back */
	uint64_t adds, swaps;
	uint64_t bytes;
	bool end_sent, end_seen;
} s;

static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* The key, which both ends know, of message @number of @side. */
static uint64_t key_of(unsigned side, uint64_t number)
{
	return mix(mix(s.seed * 2 + side) + number);
}

static uint32_t length_of(uint64_t key)
{
	uint32_t most = MESSAGE_MAX >> key % 14;

	return 1 + (uint32_t)(key >> 32) % most;
}

static void fill_bytes(uint8_t *p, uint64_t key, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t word = mix(key + i);

		memcpy(p + i, &word, len - i < 8 ? len - i : 8);
	}
}

static void wrong(const char *what, uint64_t number)
{
	fprintf(stderr, "WRONG: %s %" PRIu64 " (received %" PRIu64 ", done %" PRIu64 ")\n", what,
		number, s.received, s.done);
	exit(1);
}

static void check_bytes(const char *what, uint64_t number, const uint8_t *p, uint64_t key,
			uint32_t len)
{
	static uint8_t want[MESSAGE_MAX];

	fill_bytes(want, key, len);
	if (memcmp(p, want, len) != 0)
		wrong(what, number);
	s.bytes += len;
}

static void post_recv(uint64_t buffer)
{
	struct ibv_sge sge = {(uintptr_t)mem.in[buffer], MESSAGE_MAX, s.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = buffer, .sg_list = &sge, .num_sge = 1}, *bad;

	NEED(ibv_post_recv(s.qp, &wr, &bad) == 0);
}

static void post(enum kind kind, uint64_t number, struct ibv_send_wr *wr, void *p, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)p, len, s.mr->lkey};
	struct ibv_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->wr_id = s.posted;
	wr->send_flags = IBV_SEND_SIGNALED;
	s.post[s.posted % DEPTH].kind = kind;
	s.post[s.posted % DEPTH].number = number;
	s.posted++;
	NEED(ibv_post_send(s.qp, wr, &bad) == 0);
}

static struct ibv_send_wr rdma(enum ibv_wr_opcode op, const void *mine, uint32_t imm)
{
	struct ibv_send_wr wr = {.opcode = op, .imm_data = htonl(imm)};

	wr.wr.rdma.remote_addr =
	    s.peer.region + (uint64_t)((const uint8_t *)mine - (const uint8_t *)&mem.region);
	wr.wr.rdma.rkey = s.peer.rkey;
	return wr;
}

static void post_message(void)
{
	uint64_t n = s.sent++, key = key_of(s.side, n);
	uint8_t *p = mem.out[n % SLOTS];
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl((uint32_t)n)};

	fill_bytes(p, key, length_of(key));
	if (key >> 31 & 1)
		wr = rdma(IBV_WR_RDMA_WRITE_WITH_IMM, mem.region.slot[n % SLOTS], (uint32_t)n);
	post(MESSAGE, n, &wr, p, length_of(key));
}

static void post_block(void)
{
	uint64_t n = s.blocks++, key = key_of(2 + s.side, n);
	uint8_t *there = mem.region.block[n % BLOCKS];
	struct ibv_send_wr write = rdma(IBV_WR_RDMA_WRITE, there, 0);
	struct ibv_send_wr read = rdma(IBV_WR_RDMA_READ, there, 0);

	fill_bytes(mem.written[n % BLOCKS], key, length_of(key));
	post(WRITTEN, n, &write, mem.written[n % BLOCKS], length_of(key));
	post(READ_BACK, n, &read, mem.back[n % BLOCKS], length_of(key));
}

static void post_atomic(enum kind kind)
{
	struct ibv_send_wr wr = {.opcode = kind == ADDED ? IBV_WR_ATOMIC_FETCH_AND_ADD
							 : IBV_WR_ATOMIC_CMP_AND_SWP};
	struct ibv_send_wr at =
	    rdma(wr.opcode, kind == ADDED ? &mem.region.sum : &mem.region.swapped, 0);
	uint64_t n = kind == ADDED ? s.adds++ : s.swaps++;

	wr.wr.atomic.remote_addr = at.wr.rdma.remote_addr;
	wr.wr.atomic.rkey = s.peer.rkey;
	wr.wr.atomic.compare_add = kind == ADDED ? 1 : n;
	wr.wr.atomic.swap = n + 1;
	post(kind, n, &wr, &mem.result[s.posted % DEPTH], 8);
}

/* Tells the other end how much of its work is checked, or that this was all (@imm). */
static void post_note(enum kind kind, uint32_t imm)
{
	uint64_t *p = &mem.credit[s.posted % DEPTH];
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE_WITH_IMM, &mem.region.checked, imm);

	*p = s.credited = s.received;
	post(kind, *p, &wr, p, 8);
}

/* Posts what may be posted: one thing; false: nothing. */
static bool post_work(bool over)
{
	uint64_t checked = *(volatile uint64_t *)&mem.region.checked;

	if (s.posted - s.done >= POSTS_MAX)
		return false;
	if (s.received - s.credited >= SLOTS / 4) {
		post_note(CREDITED, IMM_CREDIT);
		return true;
	}
	if (over)
		return false;
	switch ((s.chance = mix(s.chance)) % 8) {
	case 0:
		post_atomic(ADDED);
		return true;
	case 1:
		post_atomic(SWAPPED);
		return true;
	case 2:
	case 3:
		if (s.blocks - s.blocks_done < BLOCKS) {
			post_block();
			return true;
		}
		break;
	default:
		break;
	}
	if (s.sent - checked >= SLOTS || s.sent - s.sent_done >= SLOTS)
		return false;
	post_message();
	return true;
}

static void take_received(const struct ibv_wc *wc)
{
	uint32_t imm = ntohl(wc->imm_data);
	bool is_write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;

	if (!(wc->wc_flags & IBV_WC_WITH_IMM))
		wrong("no immediate data in message", s.received);
	if (is_write && imm == IMM_END)
		s.end_seen = true;
	if (!is_write || (imm != IMM_END && imm != IMM_CREDIT)) {
		uint64_t n = s.received, key = key_of(!s.side, n);
		const uint8_t *p = is_write ? mem.region.slot[n % SLOTS] : mem.in[wc->wr_id];

		if (imm != (uint32_t)n || wc->byte_len != length_of(key) ||
		    is_write != (key >> 31 & 1))
			wrong("order of message", n);
		check_bytes("bytes of message", n, p, key, wc->byte_len);
		s.received++;
	}
	post_recv(wc->wr_id);
}

static void take_done(const struct ibv_wc *wc)
{
	uint64_t n = s.post[s.done % DEPTH].number, key;

	if (wc->wr_id != s.done)
		wrong("order of completion", wc->wr_id);
	switch (s.post[s.done % DEPTH].kind) {
	case MESSAGE:
		s.sent_done++;
		break;
	case READ_BACK:
		key = key_of(2 + s.side, n);
		check_bytes("bytes of block", n, mem.back[n % BLOCKS], key, length_of(key));
		s.blocks_done++;
		break;
	case ADDED:
	case SWAPPED:
		if (mem.result[s.done % DEPTH] != n) {
			fprintf(stderr, "%s: %" PRIu64 "\n",
				s.post[s.done % DEPTH].kind == ADDED ? "added" : "swapped",
				mem.result[s.done % DEPTH]);
			wrong("result of atomic", n);
		}
		break;
	default:
		break;
	}
	s.done++;
}

static void wait_event(void)
{
	struct pollfd p = {s.channel->fd, POLLIN, 0};
	struct ibv_cq *cq;
	void *context;

	if (poll(&p, 1, 100) <= 0)
		return;
	NEED(ibv_get_cq_event(s.channel, &cq, &context) == 0);
	ibv_ack_cq_events(cq, 1);
	NEED(ibv_req_notify_cq(s.cq, 0) == 0);
}

static void take_completions(void)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(s.cq, 16, wc);

	NEED(n >= 0);
	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS) {
			fprintf(stderr, "FAILED: work request %" PRIu64 ": %s (vendor %u)\n",
				wc[i].wr_id, ibv_wc_status_str(wc[i].status), wc[i].vendor_err);
			exit(1);
		}
		if (wc[i].opcode & IBV_WC_RECV)
			take_received(&wc[i]);
		else
			take_done(&wc[i]);
	}
	if (n == 0 && s.seed & 1)
		wait_event();
	else if (n == 0)
		usleep(50);
}

static void work(double seconds)
{
	struct timespec t;
	double end;

	clock_gettime(CLOCK_MONOTONIC, &t);
	end = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + seconds;
	while (!s.end_sent || !s.end_seen || s.done != s.posted) {
		clock_gettime(CLOCK_MONOTONIC, &t);

		bool over = (double)t.tv_sec + (double)t.tv_nsec / 1e9 >= end;

		while (post_work(over))
			;
		if (over && !s.end_sent && s.done == s.posted) {
			post_note(ENDED, IMM_END);
			s.end_sent = true;
		}
		take_completions();
	}
}

static int meet(const char *server, const char *port)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *to;
	int fd, listener;

	hints.ai_flags = server ? 0 : AI_PASSIVE;
	NEED(getaddrinfo(server, port, &hints, &to) == 0);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	NEED(fd >= 0);
	if (server) {
		NEED(connect(fd, to->ai_addr, to->ai_addrlen) == 0);
	} else {
		listener = fd;
		NEED(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0);
		NEED(bind(listener, to->ai_addr, to->ai_addrlen) == 0 && listen(listener, 1) == 0);
		fd = accept(listener, NULL, NULL);
		NEED(fd >= 0);
		close(listener);
	}
	freeaddrinfo(to);
	return fd;
}

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	NEED(list);
	for (int i = 0; list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	NEED(context);
	return context;
}

static void open_objects(const char *device)
{
	struct ibv_context *context = open_named(device);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = {DEPTH, RECVS, 1, 1, 0}};

	s.channel = ibv_create_comp_channel(context);
	NEED(pd && s.channel);
	s.cq = init.send_cq = init.recv_cq =
	    ibv_create_cq(context, DEPTH + RECVS, NULL, s.channel, 0);
	s.mr = ibv_reg_mr(pd, &mem, sizeof mem,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	NEED(s.cq && s.mr && ibv_req_notify_cq(s.cq, 0) == 0);
	s.qp = ibv_create_qp(pd, &init);
	NEED(s.qp);
}

static void connect_qp(int sock, uint8_t gid_index, uint8_t timeout)
{
	struct info mine = {
	    .region = (uintptr_t)&mem.region, .qpn = s.qp->qp_num, .rkey = s.mr->rkey};
	struct ibv_qp_attr a = {
	    .port_num = 1,
	    .qp_access_flags =
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	    .path_mtu = s.seed & 2 ? IBV_MTU_1024 : IBV_MTU_4096,
	    .rq_psn = 0xfffff0,
	    .sq_psn = 0xfffff0,
	    .timeout = timeout,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	    .min_rnr_timer = 1,
	    .max_rd_atomic = 8,
	    .max_dest_rd_atomic = 8,
	    .ah_attr = {
		.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64, .sgid_index = gid_index}}};

	NEED(ibv_query_gid(s.qp->context, 1, gid_index, &mine.gid) == 0);
	NEED(send(sock, &mine, sizeof mine, 0) == sizeof mine);
	NEED(recv(sock, &s.peer, sizeof s.peer, MSG_WAITALL) == sizeof s.peer);
	a.dest_qp_num = s.peer.qpn;
	a.ah_attr.grh.dgid = s.peer.gid;
	NEED(rc_to_rts(s.qp, &a) == 0);
	for (uint64_t i = 0; i < RECVS; i++)
		post_recv(i);
}

/* Both are here. */
static void meet_again(int sock)
{
	char byte;

	NEED(send(sock, "", 1, 0) == 1 && recv(sock, &byte, 1, MSG_WAITALL) == 1);
}

int main(int argc, char **argv)
{
	int sock;

	if (argc != 7 && argc != 8) {
		fprintf(stderr, "usage: verbs_soak DEVICE GID_INDEX PORT TIMEOUT SEED SECONDS "
				"[SERVER]\n");
		return 2;
	}
	s.seed = strtoull(argv[5], NULL, 10);
	s.side = argc == 8;
	s.chance = mix(s.seed + s.side);
	open_objects(argv[1]);
	sock = meet(argv[7], argv[3]);
	connect_qp(sock, (uint8_t)atoi(argv[2]), (uint8_t)atoi(argv[4]));
	meet_again(sock);
	work(atof(argv[6]));
	meet_again(sock);
	if (mem.region.checked > s.sent)
		wrong("count of what was checked", mem.region.checked);
	printf("messages %" PRIu64 " blocks %" PRIu64 " atomics %" PRIu64 " bytes %" PRIu64 "\n",
	       s.received, s.blocks_done, s.adds + s.swaps, s.bytes);
	return 0;
}
