/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the core and the port. See nic.h. */
#include "sim/nic.h"

#include "base/assert.h"
#include "fabric/eth/pfc.h"

#include <assert.h>

void vb_nic_list(struct vb_nic *nic)
{
	struct vb_nic_group *g = nic->group;

	if (nic->listed)
		return;
	nic->listed = true;
	nic->next = NULL;
	VB_ASSERT_ALL(!g->first || !g->last->next);
	if (g->first)
		g->last->next = nic;
	else
		g->first = nic;
	g->last = nic;
}

struct vb_nic *vb_nic_take(struct vb_nic_group *g)
{
	struct vb_nic *nic = g->first;

	if (!nic)
		return NULL;
	g->first = nic->next;
	VB_ASSERT_ALL(nic->listed);
	nic->listed = false;
	return nic;
}

vb_time vb_nic_poll_timeout(const struct vb_nic *nic)
{
	return vb_hca_poll_timeout(nic->hca);
}

void vb_nic_handle_timeout(struct vb_nic *nic, vb_time now)
{
	nic->deadline = VB_NEVER;
	vb_hca_handle_timeout(nic->hca, now);
	vb_nic_list(nic);
}

enum vb_verdict vb_nic_frame_take(struct vb_nic *nic, const struct vb_frame *f, vb_time now)
{
	struct vb_counters *c = &nic->counters;
	struct vb_rx rx = vb_frame_rx(f);
	enum vb_verdict v;

	if (nic->group->telemetry_at)
		rx.telemetry = vb_frame_telemetry(f, nic->group->telemetry_at);
	vb_count(c, VB_COUNTER_port_rcv_packets);
	vb_count_add(c, VB_COUNTER_port_rcv_data, (f->len + VB_ICRC_LEN) / 4);
	v = vb_hca_handle_packet(nic->hca, &rx, now);
	vb_nic_list(nic);
	return v;
}

void vb_nic_handle_packet(struct vb_nic *nic, struct vb_frame *f, vb_time now)
{
	if (f->kind != VB_FRAME_DATA) {
		(void)vb_pfc_receive(nic->port, f, now);
	} else if (!vb_frame_is_whole(f)) {
		vb_count(&nic->counters, VB_COUNTER_rx_icrc_encapsulated);
		vb_count(&nic->counters, VB_COUNTER_port_rcv_errors);
	} else {
		(void)vb_nic_frame_take(nic, f, now);
	}
	vb_frame_pool_give(nic->group->pool, f);
}

/* True when a frame has somewhere to go: to another NIC, or to many. */
static bool frame_goes_out(const struct vb_nic *nic, const struct vb_frame *f)
{
	return f->to_group ||
	       (f->to - nic->group->address < nic->group->cnt && f->to != nic->address);
}

/* A frame leaves without records, or with those that it returns, and takes their bytes on the wire.
 */
static void telemetry_begin(const struct vb_nic *nic, struct vb_frame *f,
			    const struct vb_telemetry *returned)
{
	struct vb_telemetry *t = vb_frame_telemetry(f, nic->group->telemetry_at);

	t->hop_cnt = t->is_return = 0;
	if (returned)
		*t = *returned;
	f->frame_len += VB_TELEMETRY_BYTES;
}

struct vb_frame *vb_nic_fetch(struct vb_nic *nic, vb_time now)
{
	struct vb_tx_batch *b = &nic->group->batch;

	/* A batch with room for one: the core appends to what is there. */
	b->cnt = VB_TX_BATCH_PKTS - 1;
	b->seg_cnt = 0;
	vb_nic_list(nic);
	if (vb_hca_poll_transmit(nic->hca, b, now) != VB_TX_BATCH_PKTS)
		return NULL;

	struct vb_frame *f = vb_frame_pool_take(nic->group->pool);

	if (!f)
		return NULL;
	vb_frame_fill(f, &b->pkt[VB_TX_BATCH_PKTS - 1], nic->group->carry_data);
	if (nic->group->telemetry_at)
		telemetry_begin(nic, f, b->pkt[VB_TX_BATCH_PKTS - 1].telemetry);
	vb_count(&nic->counters, VB_COUNTER_port_xmit_packets);
	vb_count_add(&nic->counters, VB_COUNTER_port_xmit_data, (f->len + VB_ICRC_LEN) / 4);
	/* A packet to a group also goes to the members of this host. IBA 10.5.2 */
	if (f->to_group)
		(void)vb_nic_frame_take(nic, f, now);
	if (frame_goes_out(nic, f))
		return f;
	vb_count(&nic->counters, VB_COUNTER_port_xmit_discards);
	vb_frame_pool_give(nic->group->pool, f);
	return NULL;
}

bool vb_nic_may_fetch(const struct vb_nic *nic)
{
	return nic->staged < VB_NIC_STAGED_MAX && vb_hca_has_transmit(nic->hca);
}

static struct vb_frame *frame_next(struct vb_nic *nic, vb_time now)
{
	struct vb_port *p = nic->port;
	struct vb_frame *f = vb_port_poll_transmit(p, now);

	if (f) {
		assert(f->kind != VB_FRAME_DATA || nic->staged > 0);
		nic->staged -= f->kind == VB_FRAME_DATA;
		return f;
	}
	while (vb_nic_may_fetch(nic) && !nic->group->pool->ran_out) {
		f = vb_nic_fetch(nic, now);
		if (!f || !(p->held >> f->prio & 1))
			return f;
		vb_port_handle_packet(p, f, now);
		nic->staged++;
		VB_ASSERT_ALL(nic->staged <= VB_NIC_STAGED_MAX);
	}
	return NULL;
}

struct vb_frame *vb_nic_poll_transmit(struct vb_nic *nic, vb_time now)
{
	struct vb_frame *f = frame_next(nic, now);

	nic->port->more = f && vb_nic_may_fetch(nic);
	return f;
}

static struct vb_nic *nic_of(struct vb_machine *m)
{
	return (struct vb_nic *)m;
}

static void machine_handle_packet(struct vb_machine *m, uint32_t port, struct vb_frame *f,
				  vb_time now)
{
	(void)port;
	vb_nic_handle_packet(nic_of(m), f, now);
}

static struct vb_frame *machine_poll_transmit(struct vb_machine *m, uint32_t port, vb_time now)
{
	(void)port;
	return vb_nic_poll_transmit(nic_of(m), now);
}

static vb_time machine_poll_timeout(const struct vb_machine *m)
{
	return vb_nic_poll_timeout((const struct vb_nic *)m);
}

static void machine_handle_timeout(struct vb_machine *m, vb_time now)
{
	vb_nic_handle_timeout(nic_of(m), now);
}

static void machine_expect(const struct vb_machine *m, uint32_t port, const struct vb_frame *f,
			   enum vb_expect when)
{
	const struct vb_nic *nic = (const struct vb_nic *)m;

	(void)port;
	if (when == VB_EXPECT_SOON && f && f->kind == VB_FRAME_DATA)
		vb_hca_expect_number(nic->hca, f->bytes, f->hdr_len);
	else if (f && f->kind == VB_FRAME_DATA)
		vb_hca_expect_packet(nic->hca, f->bytes, f->hdr_len);
	else if (!f && when == VB_EXPECT_SOON)
		vb_hca_expect_transmit(nic->hca);
	else if (!f)
		vb_hca_expect_wqe(nic->hca);
}

static const struct vb_machine_ops nic_ops = {
    .handle_packet = machine_handle_packet,
    .poll_transmit = machine_poll_transmit,
    .poll_timeout = machine_poll_timeout,
    .handle_timeout = machine_handle_timeout,
    .expect = machine_expect,
};

int vb_nic_init(struct vb_nic *nic, const struct vb_hca_config *cfg, struct vb_port *port,
		struct vb_nic_group *group, uint32_t address, uint32_t cqe)
{
	struct vb_hca_config c = *cfg;

	*nic = (struct vb_nic){
	    .machine = {&nic_ops},
	    .deadline = VB_NEVER,
	    .port = port,
	    .group = group,
	    .address = address,
	};
	port->owner = &nic->machine;
	port->number = 0;
	if (!c.qpn_stride)
		c.qpn_stride = 1;
	c.qpn_first = 0x11;
	c.port_cnt = c.port_cap = 1;
	if (c.port[1].pkey[0] == 0)
		c.port[1].pkey[0] = VB_PKEY_DEFAULT;
	c.port[1].counters = &nic->counters;

	int err = vb_hca_create(&nic->hca, &c, 0);

	if (!err)
		err = vb_pd_create(nic->hca, &nic->pd);
	return err ? err : vb_cq_create(nic->hca, cqe, NULL, &nic->cq);
}

void vb_nic_destroy(struct vb_nic *nic)
{
	if (nic->hca)
		vb_hca_destroy(nic->hca);
}
