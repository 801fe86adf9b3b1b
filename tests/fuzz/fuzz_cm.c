/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any messages into a connection manager that listens, with a consumer that does whatever the input
 * says. It has to keep its assertions and to give all of its memory back.
 *
 * Input: a byte for each step: 0...15 act on an object, 16...31 let time pass, others are a
 * message, which is a template (a REQ to the listener, or what the manager sent last) with as many
 * bytes changed as follow: place, value.
 */
#include "cm/cm.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

#define CONNS 8
#define SERVICE 7

struct fuzz_world {
	struct vb_cm *cm;
	struct vb_cm_conn *conn[CONNS];
	struct vb_path peer; /* as of a packet that comes */
	uint8_t mad[VB_MAD_LEN];
	vb_time now;
	int blocks;
};

static void *counted_alloc(void *ctx, size_t size)
{
	((struct fuzz_world *)ctx)->blocks++;
	return calloc(1, size);
}

static void counted_free(void *ctx, void *p)
{
	((struct fuzz_world *)ctx)->blocks--;
	free(p);
}

static void world_open(struct fuzz_world *w)
{
	const struct vb_cm_config cfg = {.conns = CONNS,
					 .seed = 1,
					 .hi_tid = 1,
					 .ack_delay = 15,
					 .early_resend_ns = 100 * VB_MSEC,
					 .listen_wait_ns = 20 * VB_MSEC,
					 .alloc = counted_alloc,
					 .free = counted_free,
					 .alloc_ctx = w};

	memset(w, 0, sizeof *w);
	w->peer.sgid.b[15] = 1;
	w->peer.dgid.b[15] = 2;
	if (vb_cm_create(&w->cm, &cfg) || vb_cm_conn_create(w->cm, NULL, &w->conn[0]) ||
	    vb_cm_listen(w->conn[0], SERVICE))
		abort();
}

static void template_req(struct fuzz_world *w)
{
	const struct vb_cm_msg m = {
	    .attr = VB_CM_REQ,
	    .local_id = 5,
	    .req = {.service_id = SERVICE,
		    .ca_guid = 9,
		    .qpn = 3,
		    .mtu = 5,
		    .primary = {.local_gid = w->peer.sgid, .remote_gid = w->peer.dgid}}};

	vb_cm_msg_emit(&m, w->mad);
}

static void conn_act(struct fuzz_world *w, uint32_t what, uint32_t which)
{
	struct vb_cm_conn *c = w->conn[which % CONNS];
	struct vb_path path = w->peer;
	const struct vb_cm_private data = {"data", 5};

	path.sgid = w->peer.dgid;
	path.dgid = w->peer.sgid;

	const struct vb_cm_request r = {
	    .path = path, .service_id = 1, .ca_guid = 2, .qpn = 4, .mtu = 1, .max_cm_retries = 2};
	const struct vb_cm_sidr_request s = {.path = path, .service_id = 1};
	const struct vb_cm_reply_param p = {.ca_guid = 2, .qpn = 6};
	const struct vb_cm_sidr_reply y = {.qpn = 6};

	if (!c) {
		(void)vb_cm_conn_create(w->cm, NULL, &w->conn[which % CONNS]);
	} else if (what == 0) {
		vb_cm_conn_destroy(c, w->now);
		w->conn[which % CONNS] = NULL;
	} else {
		(void)(what == 1   ? vb_cm_connect(c, &r, w->now)
		       : what == 2 ? vb_cm_reply(c, &p, w->now)
		       : what == 3 ? vb_cm_ready(c, &data)
		       : what == 4 ? vb_cm_delay(c, (uint8_t)which)
		       : what == 5 ? vb_cm_reject(c, 28, &data, &data, w->now)
		       : what == 6 ? vb_cm_establish(c)
		       : what == 7 ? vb_cm_disconnect(c, &data, w->now)
		       : what == 8 ? vb_cm_sidr_request(c, &s, w->now)
		       : what == 9 ? vb_cm_sidr_reply(c, &y)
				   : vb_cm_listen(c, which));
	}
}

/* The place of @c; NULL: a free one. There must be one. */
static uint32_t conn_place(const struct fuzz_world *w, const struct vb_cm_conn *c)
{
	uint32_t i = 0;

	while (i < CONNS && w->conn[i] != c)
		i++;
	if (i == CONNS && c)
		return conn_place(w, NULL);
	if (i == CONNS)
		abort();
	return i;
}

static void world_settle(struct fuzz_world *w)
{
	struct vb_cm_event ev;
	struct vb_path path;
	uint16_t pkey;

	while (vb_cm_poll_event(w->cm, &ev))
		w->conn[conn_place(w, ev.conn)] = ev.conn;
	while (vb_cm_poll_transmit(w->cm, &path, &pkey, w->mad))
		;
}

/* Takes the message that the input describes; returns what is left of the input. */
static size_t message_take(struct fuzz_world *w, uint8_t step, const uint8_t *in, size_t len)
{
	size_t used = 0;

	if (step & 0x80)
		template_req(w);
	for (uint32_t n = step & 15; n > 0 && used + 2 <= len; n--, used += 2)
		w->mad[in[used]] = in[used + 1];
	vb_cm_handle_mad(w->cm, &w->peer, w->mad, w->now);
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	struct fuzz_world w;

	world_open(&w);
	while (len > 0) {
		uint8_t step = *in++;

		len--;
		if (step < 16 && len > 0) {
			conn_act(&w, step, *in++);
			len--;
		} else if (step < 32) {
			w.now += VB_MSEC << (step & 15);
			vb_cm_handle_timeout(w.cm, w.now);
		} else {
			size_t used = message_take(&w, step, in, len);

			in += used;
			len -= used;
		}
		world_settle(&w);
	}
	vb_cm_destroy(w.cm);
	if (w.blocks != 0)
		abort();
	return 0;
}
