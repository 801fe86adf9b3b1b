/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection manager: its creation, and the way of a message to the connection that it is for.
 * IBA 12.9.8; CMP-52
 */
#include "cm/priv.h"

#include <errno.h>

#define CONNS_MAX (1u << 24)
/* Connections for each bucket of an index, on average, when all are there. */
#define CONNS_BUCKET 4

static uint32_t bucket_cnt(uint32_t conns)
{
	uint32_t n = 16;

	while (n < conns / CONNS_BUCKET)
		n *= 2;
	return n;
}

static int tables_alloc(struct vb_cm *cm)
{
	const struct vb_cm_config *cfg = &cm->cfg;
	size_t buckets = (size_t)cm->bucket_mask + 1;

	for (int i = 0; i < VB_CM_INDEX_CNT; i++) {
		cm->bucket[i] = cfg->alloc(cfg->alloc_ctx, buckets * sizeof *cm->bucket[i]);
		if (!cm->bucket[i])
			return -ENOMEM;
	}
	cm->port_cnt = cfg->alloc(cfg->alloc_ctx, ((size_t)cfg->ports + 1) * sizeof *cm->port_cnt);
	if (!cm->port_cnt)
		return -ENOMEM;
	cm->timers.cap = cfg->conns;
	cm->timers.node =
	    cfg->alloc(cfg->alloc_ctx, ((size_t)cfg->conns + 1) * sizeof(struct vb_heap_node *));
	return cm->timers.node ? 0 : -ENOMEM;
}

int vb_cm_create(struct vb_cm **out, const struct vb_cm_config *cfg)
{
	struct vb_cm *cm;
	int err;

	if (cfg->conns == 0 || cfg->conns > CONNS_MAX)
		return -EINVAL;
	cm = cfg->alloc(cfg->alloc_ctx, sizeof *cm);
	if (!cm)
		return -ENOMEM;
	cm->cfg = *cfg;
	cm->rng = vb_rng_stream(cfg->seed, "communication IDs", 0);
	cm->hash_key[0] = vb_rng_next(&cm->rng);
	cm->hash_key[1] = vb_rng_next(&cm->rng);
	cm->bucket_mask = bucket_cnt(cfg->conns) - 1;
	vb_list_init(&cm->all);
	vb_list_init(&cm->tx);
	vb_list_init(&cm->events);
	err = tables_alloc(cm);
	if (err) {
		vb_cm_destroy(cm);
		return err;
	}
	*out = cm;
	return 0;
}

static void table_free(struct vb_cm *cm, void *p)
{
	if (p)
		cm->cfg.free(cm->cfg.alloc_ctx, p);
}

void vb_cm_destroy(struct vb_cm *cm)
{
	while (!vb_list_is_empty(&cm->all))
		vb_cm_conn_free(vb_container_of(cm->all.next, struct vb_cm_conn, all));
	assert(cm->conn_cnt == 0 && vb_list_is_empty(&cm->events));
	for (int i = 0; i < VB_CM_INDEX_CNT; i++)
		table_free(cm, cm->bucket[i]);
	table_free(cm, cm->timers.node);
	table_free(cm, cm->port_cnt);
	cm->cfg.free(cm->cfg.alloc_ctx, cm);
}

const struct vb_cm_counters *vb_cm_counters(const struct vb_cm *cm)
{
	return &cm->cnt;
}

const struct vb_cm_port_counters *vb_cm_port_counters(const struct vb_cm *cm)
{
	return cm->port_cnt;
}

/* The connection that a message between two of them is for; NULL: none, or with another peer. */
static struct vb_cm_conn *conn_of_message(const struct vb_cm *cm, const struct vb_cm_msg *m)
{
	struct vb_cm_conn *c;

	/* A REJ for a timeout comes from a peer that does not know our ID. CMP-09 */
	if (m->attr == VB_CM_REJ && m->rej.reason == VB_CM_REJ_TIMEOUT)
		return vb_cm_find(cm, VB_CM_BY_REMOTE_ID, vb_cm_info_guid(m->rej.info),
				  m->local_id);
	c = vb_cm_find(cm, VB_CM_BY_ID, 0, m->remote_id);
	if (!c || c->state == VB_CM_STATE_LISTEN)
		return NULL;
	/* Before its first answer the peer's ID is not known. */
	if (c->remote_id && c->remote_id != m->local_id)
		return NULL;
	return c;
}

/* A DREQ for a connection that is gone is answered, so that the peer's can end. CMP-19 */
static void unmatched_message(struct vb_cm *cm, const struct vb_path *path,
			      const struct vb_cm_msg *m)
{
	const struct vb_cm_msg drep = {
	    .attr = VB_CM_DREP, .tid = m->tid, .local_id = m->remote_id, .remote_id = m->local_id};

	if (m->attr == VB_CM_DREQ)
		vb_cm_send_stray(cm, path, 0, &drep);
	else if (m->attr != VB_CM_REJ || !vb_cm_park_forget(&cm->park, path, m->local_id))
		cm->cnt.rx_unmatched++;
}

static void conn_message_take(struct vb_cm_conn *c, const struct vb_path *path,
			      const struct vb_cm_msg *m, vb_time now)
{
	switch (m->attr) {
	case VB_CM_REP:
		vb_cm_on_rep(c, path, m, now);
		break;
	case VB_CM_RTU:
		vb_cm_on_rtu(c, path, m);
		break;
	case VB_CM_MRA:
		vb_cm_on_mra(c, m, now);
		break;
	case VB_CM_REJ:
		vb_cm_on_rej(c, path, m, now);
		break;
	case VB_CM_DREQ:
		vb_cm_on_dreq(c, path, m, now);
		break;
	case VB_CM_DREP:
		vb_cm_on_drep(c, path, m, now);
		break;
	case VB_CM_SIDR_REP:
		vb_cm_on_sidr_rep(c, path, m);
		break;
	case VB_CM_LAP:
		vb_cm_on_lap(c, path, m);
		break;
	case VB_CM_APR:
		vb_cm_on_apr(c, path, m);
		break;
	default:
		c->cm->cnt.rx_unmatched++;
	}
}

static bool is_first_message(const struct vb_cm_msg *m)
{
	return m->attr == VB_CM_REQ || m->attr == VB_CM_SIDR_REQ;
}

/* A message that begins something. False: nobody listens for it. */
static bool first_message_take(struct vb_cm *cm, const struct vb_path *path,
			       const struct vb_cm_msg *m, vb_time now)
{
	return m->attr == VB_CM_REQ ? vb_cm_on_req(cm, path, m, now)
				    : vb_cm_on_sidr_req(cm, path, m);
}

static void first_message_refuse(struct vb_cm *cm, const struct vb_path *path,
				 const struct vb_cm_msg *m)
{
	if (m->attr == VB_CM_REQ)
		vb_cm_reject_stray(cm, path, m, VB_CM_ABOUT_REQ, VB_CM_REJ_INVALID_SERVICE_ID);
	else
		vb_cm_sidr_refuse(cm, path, m);
}

/* Lets a message wait for its listener. False: it is to be refused now. */
static bool park_message(struct vb_cm *cm, const struct vb_path *path, const struct vb_cm_msg *m,
			 vb_time now)
{
	if (!cm->cfg.listen_wait_ns)
		return false;
	if (vb_cm_park_has(&cm->park, path, m->local_id)) {
		vb_cm_port_of(cm, path)->rx_duplicates[vb_cm_counter(m->attr)]++;
		return true;
	}
	return vb_cm_park_add(&cm->park, path, m, vb_time_after(now, cm->cfg.listen_wait_ns));
}

void vb_cm_handle_timeout(struct vb_cm *cm, vb_time now)
{
	struct vb_cm_parked p;

	vb_cm_requests_timeout(cm, now);
	while (vb_cm_park_take(&cm->park, &p, now))
		if (!first_message_take(cm, &p.path, &p.msg, now))
			first_message_refuse(cm, &p.path, &p.msg);
}

vb_time vb_cm_poll_timeout(const struct vb_cm *cm)
{
	return vb_time_min(vb_heap_due(&cm->timers), vb_cm_park_due(&cm->park));
}

/* Only the peer itself speaks for its connections, by either of their paths. */
static bool is_from_peer(const struct vb_cm_conn *c, const struct vb_path *path)
{
	const struct vb_path *alt = &c->qp.alt.path;

	return vb_path_is_from(path, &c->qp.path) ||
	       (vb_path_has_lid(alt) && vb_path_is_from(path, alt));
}

void vb_cm_handle_mad(struct vb_cm *cm, const struct vb_path *path, const uint8_t mad[VB_MAD_LEN],
		      vb_time now)
{
	struct vb_cm_conn *c;
	struct vb_cm_msg m;

	if (vb_cm_msg_parse(&m, mad)) {
		cm->cnt.rx_bad++;
		return;
	}
	vb_cm_port_of(cm, path)->rx_msgs[vb_cm_counter(m.attr)]++;
	if (is_first_message(&m)) {
		if (!first_message_take(cm, path, &m, now) && !park_message(cm, path, &m, now))
			first_message_refuse(cm, path, &m);
		return;
	}
	/* The ID of a SIDR request is the requester's, in the answer too. */
	c = m.attr == VB_CM_SIDR_REP ? vb_cm_find(cm, VB_CM_BY_ID, 0, m.local_id)
				     : conn_of_message(cm, &m);
	if (!c || !is_from_peer(c, path)) {
		unmatched_message(cm, path, &m);
		return;
	}
	vb_cm_hear(c, now);
	conn_message_take(c, path, &m, now);
}
