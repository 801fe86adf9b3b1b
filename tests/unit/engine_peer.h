/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of an RC connection through a live engine, for tests of the engine: a process opens a
 * peer, tells the other process about it over a socket, and posts. A failure ends the process.
 */
#ifndef VB_TESTS_UNIT_ENGINE_PEER_H
#define VB_TESTS_UNIT_ENGINE_PEER_H

#include "node/engine/engine.h"
#include "node/host/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PEER_MEM (256u << 10)

#define NEED(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: process %d: not true: %s\n", __FILE__, __LINE__,   \
				(int)getpid(), #cond);                                             \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The data that the other side has to know. */
struct peer_info {
	uint32_t qpn, rkey;
	uint64_t addr;
};

struct peer {
	struct vb_engine *e;
	struct vb_pd *pd;
	struct vb_cq *cq;
	struct vb_qp *qp;
	struct vb_mr *mr;
	uint8_t *mem; /* PEER_MEM bytes */
	struct peer_info other;
	int event_fd; /* eventfd, written for each CQ_NOTIFY */
	int sock;     /* to the other process */
	uint8_t timeout, retry_cnt;
};

static inline void peer_event(void *ctx, const struct vb_event *ev)
{
	struct peer *p = ctx;

	if (ev->kind == VB_EVENT_CQ_NOTIFY)
		NEED(write(p->event_fd, &(uint64_t){1}, 8) == 8);
}

/* 127.0.0.1 on "lo", as path to ourselves. */
static inline struct vb_path peer_path(struct peer *p)
{
	struct vb_path path = {.sgid = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}},
			       .hop_limit = 64};
	static struct vb_host_shm host;

	path.dgid = path.sgid;
	path.udp_sport = 0xc123;
	vb_host_read(vb_engine_host(p->e), &host);
	for (uint32_t d = 0; d < host.device_cnt; d++)
		for (uint32_t i = 0; host.device[d].ifindex && i < VB_GIDS_MAX; i++)
			if (vb_gid_eq(&host.device[d].gid[i].gid, &path.sgid))
				path.port = (uint8_t)(d + 1);
	NEED(path.port);
	return path;
}

/* Acquires the engine and creates everything up to the QP, in INIT. */
static inline void peer_open(struct peer *p, int sock)
{
	struct vb_qp_init init = {
	    .type = VB_QPT_RC,
	    .cap = {.max_send_wr = 256, .max_recv_wr = 256, .max_send_sge = 1, .max_recv_sge = 1}};
	char why[256] = "";
	int err;

	*p = (struct peer){.sock = sock, .timeout = 14, .retry_cnt = 7};
	err = vb_engine_acquire(&p->e, why, sizeof why);
	if (err)
		fprintf(stderr, "%s: %s\n", strerror(-err), why);
	NEED(!err);
	p->event_fd = eventfd(0, EFD_CLOEXEC);
	p->mem = calloc(1, PEER_MEM);
	NEED(p->mem && p->event_fd >= 0);
	vb_engine_lock(p->e);
	vb_engine_set_sink(p->e, &(struct vb_engine_sink){.event = peer_event, .ctx = p});
	NEED(vb_pd_create(vb_engine_hca(p->e), &p->pd) == 0);
	NEED(vb_cq_create(vb_engine_hca(p->e), 1024, p, &p->cq) == 0);

	struct vb_mr_attr attr = {.iova = (uintptr_t)p->mem,
				  .length = PEER_MEM,
				  .host = p->mem,
				  .access = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE |
					    VB_ACCESS_REMOTE_READ};

	NEED(vb_mr_create(p->pd, &attr, &p->mr) == 0);
	init.send_cq = init.recv_cq = p->cq;
	NEED(vb_qp_create(p->pd, &init, &p->qp) == 0);

	struct vb_qp_attr a = {.qp_state = VB_QPS_INIT,
			       .port = peer_path(p).port,
			       .access = VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ};

	NEED(vb_qp_modify(p->qp, &a,
			  VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS,
			  vb_clock_now()) == 0);
	vb_engine_unlock(p->e);
}

/* Tells each other, and goes to RTS. */
static inline void peer_connect(struct peer *p)
{
	struct peer_info mine = {vb_qp_number(p->qp), vb_mr_rkey(p->mr), (uintptr_t)p->mem};
	struct vb_qp_attr a = {.qp_state = VB_QPS_RTR,
			       .path = peer_path(p),
			       .path_mtu = VB_MTU_1024,
			       .max_dest_rd_atomic = 4,
			       .max_rd_atomic = 4,
			       .min_rnr_timer = 1,
			       .timeout = p->timeout,
			       .retry_cnt = p->retry_cnt,
			       .rnr_retry = 7};

	NEED(write(p->sock, &mine, sizeof mine) == sizeof mine);
	NEED(read(p->sock, &p->other, sizeof p->other) == sizeof p->other);
	a.dest_qpn = p->other.qpn;
	vb_engine_lock(p->e);
	NEED(vb_qp_modify(p->qp, &a,
			  VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN |
			      VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER,
			  vb_clock_now()) == 0);
	a.qp_state = VB_QPS_RTS;
	NEED(vb_qp_modify(p->qp, &a,
			  VB_QP_STATE | VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY |
			      VB_QP_SQ_PSN | VB_QP_MAX_QP_RD_ATOMIC,
			  vb_clock_now()) == 0);
	vb_engine_unlock(p->e);
}

/* A byte to the other process, and one from it. */
static inline void peer_tell(struct peer *p)
{
	NEED(write(p->sock, "", 1) == 1);
}

static inline void peer_wait(struct peer *p)
{
	char byte;

	NEED(read(p->sock, &byte, 1) == 1);
}

/* Both ready to go on: nothing of the other process is still under way. */
static inline void peer_meet(struct peer *p)
{
	peer_tell(p);
	peer_wait(p);
}

static inline void peer_close(struct peer *p)
{
	vb_engine_lock(p->e);
	vb_engine_flush(p->e);
	NEED(vb_qp_destroy(p->qp) == 0);
	NEED(vb_cq_destroy(p->cq) == 0);
	NEED(vb_mr_destroy(p->mr) == 0);
	NEED(vb_pd_destroy(p->pd) == 0);
	vb_engine_unlock(p->e);
	vb_engine_release(p->e);
	close(p->event_fd);
	free(p->mem);
}

/* Posts on [off, off + len) of the own memory and rings the doorbell. */
static inline void peer_post(struct peer *p, enum vb_wr_opcode op, uint32_t off, uint32_t len,
			     uint64_t remote_off, uint32_t flags)
{
	vb_engine_lock(p->e);

	struct vb_sge sge = {(uintptr_t)p->mem + off, len, vb_mr_lkey(p->mr)};
	struct vb_send_wr wr = {.wr_id = off,
				.sge = &sge,
				.sge_cnt = 1,
				.opcode = op,
				.flags = flags,
				.remote_addr = p->other.addr + remote_off,
				.rkey = p->other.rkey};

	NEED(vb_qp_post_send(p->qp, &wr, vb_clock_now()) == 0);
	vb_engine_doorbell(p->e, p->qp, vb_clock_now());
	vb_engine_unlock(p->e);
}

static inline void peer_post_recv(struct peer *p, uint32_t off, uint32_t len)
{
	vb_engine_lock(p->e);

	struct vb_sge sge = {(uintptr_t)p->mem + off, len, vb_mr_lkey(p->mr)};
	struct vb_recv_wr wr = {off, &sge, 1};

	NEED(vb_qp_post_recv(p->qp, &wr, vb_clock_now()) == 0);
	vb_engine_unlock(p->e);
}

/* A completion, if there is one; makes progress if not. */
static inline bool peer_try(struct peer *p, struct vb_wc *wc)
{
	int n;

	vb_engine_lock(p->e);
	n = vb_cq_poll(p->cq, wc, 1);
	if (n == 0) {
		vb_engine_progress(p->e);
		n = vb_cq_poll(p->cq, wc, 1);
	}
	vb_engine_unlock(p->e);
	NEED(n >= 0);
	return n == 1;
}

static inline struct vb_wc peer_poll(struct peer *p)
{
	struct vb_wc wc;

	while (!peer_try(p, &wc))
		;
	return wc;
}

/* Waits, without polling, until byte @off of the own memory is @value. */
static inline void peer_await_byte(struct peer *p, uint32_t off, uint8_t value)
{
	for (;;) {
		uint8_t is;

		vb_engine_lock(p->e);
		is = p->mem[off];
		vb_engine_unlock(p->e);
		if (is == value)
			return;
		usleep(200); /* not to synchronise, but to leave the processor to the progress
				thread */
	}
}

#endif
