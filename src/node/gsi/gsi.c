/* SPDX-License-Identifier: BSD-2-Clause */
/* QP1 of the broker, see gsi.h. IBA 3.5.7, 13.5; CMP-01 */
#include "node/gsi/gsi.h"

#include "link/carried/carried.h"
#include "node/engine/engine.h"
#include "node/engine/priv.h"
#include "node/host/error_hints.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* MADs that wait to be read, of all ports, and to be sent, of each. */
#define GSI_RECVS 256u
#define GSI_SENDS 128u
#define GSI_MESSAGE (VB_GRH_LEN + VB_GSI_MESSAGE_MAX)
/* Messages longer than a MAD that wait to be sent, of all ports. */
#define GSI_LONG_SENDS 8u
/* Steps in a row while packets are known to wait: the broker has others to serve. */
#define GSI_STEPS_MAX 8
#define GSI_HOP_LIMIT 64
/* The shared broker is asked after so often. */
#define GSI_LOOK_NS (50 * VB_MSEC)

struct gsi_port {
	struct vb_gsi *gsi;
	struct vb_qp *qp; /* NULL: there is no such device */
	uint8_t port;
};

struct vb_gsi {
	struct vb_engine *engine;
	struct vb_slots *slots;
	vb_gsi_handler *handler;
	void *ctx;
	struct vb_pd *pd;
	struct vb_cq *cq;
	struct vb_srq *srq;
	struct vb_mr *mr;
	struct gsi_port port[VB_HCA_PORTS_MAX + 1];
	struct {
		uint8_t recv[GSI_RECVS][GSI_MESSAGE];
		uint8_t send[GSI_LONG_SENDS][VB_GSI_MESSAGE_MAX];
	} buffer; /* registered */
	bool is_sending[GSI_LONG_SENDS];
	struct vb_carried *carried; /* as it came; NULL: QP1 has a socket of the group */
	bool has_more;              /* there are packets that the descriptor does not show */
	vb_time look_at;            /* when to look after the shared broker */
};

static void post_buffer(struct vb_gsi *g, uint64_t i)
{
	struct vb_sge sge = {(uint64_t)(uintptr_t)g->buffer.recv[i], GSI_MESSAGE,
			     vb_mr_lkey(g->mr)};
	struct vb_recv_wr wr = {.wr_id = i, .sge = &sge, .sge_cnt = 1};
	int err = vb_srq_post(g->srq, &wr);

	assert(!err); /* as many as there are buffers */
	(void)err;
}

static int modify_port(struct vb_qp *qp, enum vb_qp_state to, uint32_t mask)
{
	struct vb_qp_attr a = {.qp_state = to, .qkey = VB_QKEY_GSI};

	return vb_qp_modify(qp, &a, VB_QP_STATE | mask, vb_clock_now());
}

/* QP1 of port @i, ready. -EINVAL: the port has no P_Key at index 0. */
static int open_port(struct vb_gsi *g, uint8_t i)
{
	struct gsi_port *p = &g->port[i];
	struct vb_qp_init init = {
	    .type = VB_QPT_GSI,
	    .send_cq = g->cq,
	    .recv_cq = g->cq,
	    .srq = g->srq,
	    .cap = {.max_send_wr = GSI_SENDS, .max_send_sge = 1, .max_inline_data = VB_MAD_LEN},
	    .owner = p,
	    .port = i};
	struct vb_qp *qp;
	int err = vb_qp_create(g->pd, &init, &qp);

	if (err)
		return err;
	err = modify_port(qp, VB_QPS_INIT, VB_QP_PKEY_INDEX | VB_QP_QKEY);
	if (!err)
		err = modify_port(qp, VB_QPS_RTR, 0);
	if (!err)
		err = modify_port(qp, VB_QPS_RTS, VB_QP_SQ_PSN);
	if (err) {
		(void)vb_qp_destroy(qp); /* it is in no group */
		return err;
	}
	*p = (struct gsi_port){.gsi = g, .qp = qp, .port = i};
	return 0;
}

static void close_port(struct vb_gsi *g, uint8_t i)
{
	if (g->port[i].qp)
		(void)vb_qp_destroy(g->port[i].qp);
	g->port[i].qp = NULL;
}

void vb_gsi_follow(struct vb_gsi *g)
{
	const struct vb_host_shm *host = g->slots->host;

	vb_engine_reload(g->engine);
	for (uint8_t i = 1; i <= VB_HCA_PORTS_MAX; i++) {
		const struct vb_device *d = &host->device[i - 1];
		/* A virtual function has its parent's addresses, and its parent's QP1. */
		bool wanted = i <= host->device_cnt && d->ifindex && !d->parent;

		if (!wanted)
			close_port(g, i);
		else if (!g->port[i].qp)
			(void)open_port(g, i); /* without one the next change tries again */
	}
}

static int open_objects(struct vb_gsi *g)
{
	struct vb_hca *h = vb_engine_hca(g->engine);
	struct vb_mr_attr a = {.iova = (uint64_t)(uintptr_t)&g->buffer,
			       .length = sizeof g->buffer,
			       .host = &g->buffer,
			       .access = VB_ACCESS_LOCAL_WRITE};
	int err = vb_pd_create(h, &g->pd);

	if (!err)
		err = vb_cq_create(h, GSI_RECVS + VB_HCA_PORTS_MAX * GSI_SENDS, NULL, &g->cq);
	if (!err)
		err = vb_srq_create(g->pd, GSI_RECVS, 1, 0, NULL, &g->srq);
	if (!err)
		err = vb_mr_create(g->pd, &a, &g->mr);
	for (uint64_t i = 0; !err && i < GSI_RECVS; i++)
		post_buffer(g, i);
	return err;
}

/* The slot as a client would have got it. */
static int describe_slot(struct vb_slots *s, struct vb_broker_client *c)
{
	struct vb_host_memory *m = (struct vb_host_memory *)s->host;
	int rx_fd = s->is_carried ? vb_group_no_socket()
				  : fcntl(s->group.fd[VB_SLOT_GSI], F_DUPFD_CLOEXEC, 0);

	if (rx_fd < 0)
		return -errno;
	*c = (struct vb_broker_client){
	    .sock = -1,
	    .rx_fd = rx_fd,
	    .fd_store = -1,
	    .slot = VB_SLOT_GSI,
	    .shm = s->slot[VB_SLOT_GSI].shm,
	    .host = s->host,
	    .flow = m->flow,
	    .bell = m->bell,
	    .queue_idle = m->queue_idle,
	    .wakeup = m->wakeup,
	    .mailbox = m->mailbox,
	};
	return 0;
}

/* The loop waits for the descriptor from now on. */
static void gsi_rest(struct vb_gsi *g, vb_time now)
{
	struct vb_link *l = g->engine->link;

	vb_link_park(l, true);
	g->has_more = vb_link_has_packets(l);
	g->look_at = vb_carried_of(l) ? now + GSI_LOOK_NS : VB_NEVER;
}

/* QP1 from the shared broker. */
static int carried_take(struct vb_gsi *g, char *why, size_t why_size)
{
	struct vb_carried at = vb_carried_nothing(VB_CARRIER_QP1);
	int rc = vb_carried_attach(&at, why, why_size);

	if (!rc) {
		g->carried = malloc(sizeof *g->carried);
		rc = g->carried ? 0 : -ENOMEM;
	}
	if (rc)
		vb_carried_detach(&at);
	else
		*g->carried = at;
	return rc;
}

static void gsi_free(struct vb_gsi *g)
{
	if (g && g->carried) {
		vb_carried_detach(g->carried);
		free(g->carried);
	}
	free(g);
}

int vb_gsi_open(struct vb_gsi **out, struct vb_slots *s, vb_gsi_handler *handler, void *ctx,
		char *why, size_t why_size)
{
	struct vb_gsi *g = calloc(1, sizeof *g);
	struct vb_broker_client at;
	int err = !g ? -ENOMEM : s->is_carried ? carried_take(g, why, why_size) : 0;

	if (!err)
		err = describe_slot(s, &at);
	if (err) {
		gsi_free(g);
		return vb_error_hint(why, why_size, err, "cannot set up QP1");
	}
	at.carried = g->carried;
	g->slots = s;
	g->handler = handler;
	g->ctx = ctx;
	vb_slots_occupy(s, VB_SLOT_GSI, getpid(), "verbena broker");
	err = vb_engine_open_inside(&g->engine, &at, why, why_size);
	if (err) {
		gsi_free(g);
		return err;
	}
	vb_engine_make_grh(g->engine);
	err = open_objects(g);
	if (err) {
		vb_gsi_close(g);
		return vb_error_hint(why, why_size, err, "cannot set up QP1");
	}
	vb_gsi_follow(g);
	gsi_rest(g, vb_clock_now());
	*out = g;
	return 0;
}

void vb_gsi_close(struct vb_gsi *g)
{
	vb_engine_close_inside(g->engine);
	gsi_free(g);
}

int vb_gsi_fd(const struct vb_gsi *g)
{
	return vb_link_fd(g->engine->link);
}

uint8_t vb_gsi_part(const struct vb_gsi *g)
{
	const struct vb_carried *c = vb_carried_of(g->engine->link);

	return c ? (uint8_t)c->part : 0;
}

uint32_t vb_gsi_attached(const struct vb_gsi *g)
{
	const struct vb_carried *c = vb_carried_of(g->engine->link);

	return c ? c->attached : 0;
}

int vb_gsi_claim(struct vb_gsi *g, struct vb_carrier_ask *ask)
{
	struct vb_carried *c = vb_carried_of(g->engine->link);
	int rc = c ? vb_carried_ask(c, ask) : 0;

	/* The next shared broker is asked again. */
	return rc == -ENOTCONN || rc == -ETIMEDOUT ? 0 : rc;
}

/* A MAD that was received; anything else that came to QP1 is dropped. */
static void take_mad(struct vb_gsi *g, const struct vb_wc *wc, vb_time now)
{
	const struct gsi_port *p = vb_qp_owner(wc->qp);
	const uint8_t *message = g->buffer.recv[wc->wr_id];
	struct vb_path path;

	if (wc->status == VB_WC_SUCCESS && wc->byte_len >= VB_GRH_LEN + VB_MAD_LEN &&
	    wc->src_qpn == VB_QPN_GSI && vb_path_parse_grh(&path, message) == 0) {
		path.port = p->port;
		g->handler(g->ctx, &path, message + VB_GRH_LEN, wc->byte_len - VB_GRH_LEN, now);
	}
	post_buffer(g, wc->wr_id);
}

static void take_completions(struct vb_gsi *g, vb_time now)
{
	struct vb_wc wc;

	while (vb_cq_poll(g->cq, &wc, 1) == 1) {
		if (wc.wr_id >= GSI_RECVS) {
			if (wc.wr_id - GSI_RECVS < GSI_LONG_SENDS)
				g->is_sending[wc.wr_id - GSI_RECVS] = false;
			continue;
		}
		/* Of a port that is gone, or whose queue ended: nothing else posts receives. */
		take_mad(g, &wc, now);
	}
}

/* Packets that nobody knows of make the socket readable: an empty one is not looked at. */
void vb_gsi_step(struct vb_gsi *g, vb_time now)
{
	struct vb_link *l = g->engine->link;

	vb_link_park(l, false);
	for (int i = 0; i < GSI_STEPS_MAX; i++) {
		(void)vb_engine_step(g->engine, now);
		take_completions(g, now);
		if (!g->engine->rx_more)
			break;
	}
	gsi_rest(g, now);
}

void vb_gsi_flush(struct vb_gsi *g, vb_time now)
{
	vb_engine_send(g->engine, now);
	take_completions(g, now);
}

vb_time vb_gsi_due(const struct vb_gsi *g, vb_time now)
{
	struct vb_wait_work work = vb_engine_work(g->engine);

	vb_time due = g->has_more ? now : vb_wait_due(&g->engine->wait, &work, now, 0);

	return vb_time_min(due, g->look_at);
}

bool vb_gsi_has_room(const struct vb_gsi *g)
{
	for (int i = 1; i <= VB_HCA_PORTS_MAX; i++)
		if (g->port[i].qp && !vb_qp_send_room(g->port[i].qp))
			return false;
	return true;
}

/* Takes a buffer for a message longer than a MAD: it goes from there. -EAGAIN: there is none. */
static int long_send(struct vb_gsi *g, const uint8_t mad[VB_MAD_LEN], struct vb_send_wr *wr,
		     struct vb_sge *sge)
{
	uint32_t i = 0;

	while (i < GSI_LONG_SENDS && g->is_sending[i])
		i++;
	if (i == GSI_LONG_SENDS)
		return -EAGAIN;
	memcpy(g->buffer.send[i], mad, VB_MAD_LEN);
	sge->addr = (uint64_t)(uintptr_t)g->buffer.send[i];
	sge->lkey = vb_mr_lkey(g->mr);
	wr->wr_id = GSI_RECVS + i;
	wr->flags = VB_SEND_SIGNALED;
	return 0;
}

int vb_gsi_send(struct vb_gsi *g, const struct vb_path *path, const uint8_t mad[VB_MAD_LEN],
		uint32_t len)
{
	struct vb_ah ah = {.pd = g->pd, .path = *path};
	struct vb_sge sge = {(uint64_t)(uintptr_t)mad, len, 0};
	struct vb_send_wr wr = {.wr_id = UINT64_MAX,
				.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_SEND,
				.flags = VB_SEND_INLINE,
				.ah = &ah,
				.dqpn = VB_QPN_GSI,
				.qkey = VB_QKEY_GSI};
	int err = 0;

	assert(len >= VB_MAD_LEN && len <= VB_GSI_MESSAGE_MAX && len % 4 == 0);
	if (path->port < 1 || path->port > VB_HCA_PORTS_MAX || !g->port[path->port].qp)
		return -ENODEV;
	if (len > vb_mtu_bytes((enum vb_mtu)g->slots->host->device[path->port - 1].active_mtu))
		return -EMSGSIZE;
	if (!ah.path.hop_limit)
		ah.path.hop_limit = GSI_HOP_LIMIT;
	/* One source port for all MADs, as rdma_rxe has one for each QP: the link has a socket for
	 * each, which costs more than the MAD does. */
	ah.path.udp_sport = vb_udp_sport(0, VB_QPN_GSI, VB_QPN_GSI);
	if (len > VB_MAD_LEN)
		err = long_send(g, mad, &wr, &sge);
	if (!err)
		err = vb_qp_post_send(g->port[path->port].qp, &wr, vb_clock_now());
	if (!err && wr.wr_id != UINT64_MAX)
		g->is_sending[wr.wr_id - GSI_RECVS] = true;
	return err == -ENOMEM ? -EAGAIN : err;
}

int vb_gsi_group(struct vb_gsi *g, uint8_t port, const struct vb_gid *gid, bool join)
{
	if (join)
		return vb_engine_join(g->engine, port, gid, 0);
	vb_engine_leave(g->engine, port, gid, 0);
	return 0;
}
