/* SPDX-License-Identifier: BSD-2-Clause */
/* The congestion control agent, see cca.h. IBA A10.4.3 */
#include "mgmt/cca.h"

#include "base/assert.h"
#include "wire/mad/pma.h"
#include "wire/mad/smp.h"

#include <string.h>

#define TICK_NS 1024 /* of time stamps */
#define TABLE_LEN (VB_CCA_BLOCKS * VB_IBCC_ENTRIES)

/* A request on its way through the agent. */
struct request {
	struct vb_cca_node *node;
	struct vb_cca_port *port;
	uint8_t *mad;
	uint32_t mod;
	bool set;
	const struct vb_cca_sender *from;
	vb_time now;
};

static bool is_switch(const struct vb_cca_node *n)
{
	return n->sw_port != NULL;
}

static uint16_t class_answer(struct request *r)
{
	struct vb_class_port_info info;

	if (r->set) {
		vb_class_port_info_parse(&info, r->mad);
		r->port->trap_to = info.traps;
		memset(r->mad + VB_IBCC_DATA_AT, 0, VB_MAD_LEN - VB_IBCC_DATA_AT);
	}
	info = (struct vb_class_port_info){.base_version = VB_MAD_BASE_VERSION,
					   .class_version = VB_IBCC_CLASS_VERSION,
					   .cap_mask = VB_CLASS_CAP_TRAPS,
					   .resp_time = r->node->resp_time,
					   .traps = r->port->trap_to};
	vb_class_port_info_emit(&info, r->mad);
	return VB_SMP_GOOD;
}

static uint16_t info_answer(struct request *r)
{
	const struct vb_ibcc_info info = {.table_cap = is_switch(r->node) ? 0 : VB_CCA_BLOCKS};

	vb_ibcc_info_emit(&info, r->mad);
	return VB_SMP_GOOD;
}

static uint16_t key_answer(struct request *r)
{
	struct vb_ibcc_key_info *k = &r->port->key, want;

	if (r->set) {
		vb_ibcc_key_info_parse(&want, r->mad);
		k->key = want.key;
		k->protect = want.protect;
		k->lease = want.lease;
		if (want.violations == 0)
			k->violations = 0;
	}
	vb_ibcc_key_info_emit(k, r->mad);
	return VB_SMP_GOOD;
}

static uint16_t log_answer(struct request *r)
{
	struct vb_ibcc_log *log = &r->port->log;

	log->type = is_switch(r->node) ? VB_IBCC_LOG_OF_SWITCH : VB_IBCC_LOG_OF_CA;
	log->flags = r->port->lease_ends != VB_NEVER;
	log->now = (uint32_t)(r->now / TICK_NS);

	memset(r->mad + VB_IBCC_LOG_AT, 0, VB_MAD_LEN - VB_IBCC_LOG_AT);
	vb_ibcc_log_emit(log, r->mad);
	/* Events that have been sent are no longer to be told. */
	*log = (struct vb_ibcc_log){0};
	return VB_SMP_GOOD;
}

/* The control map names the fields that a Set means. */
static void switch_setting_set(struct vb_ibcc_switch_setting *to,
			       const struct vb_ibcc_switch_setting *want)
{
	to->control_map = want->control_map;
	if (want->control_map & VB_IBCC_VICTIMS)
		memcpy(to->victims, want->victims, sizeof to->victims);
	if (want->control_map & VB_IBCC_CREDITS)
		memcpy(to->credits, want->credits, sizeof to->credits);
	if (want->control_map & VB_IBCC_THRESHOLD) {
		to->threshold = want->threshold;
		to->packet_size = want->packet_size;
	}
	if (want->control_map & VB_IBCC_STARVATION) {
		to->starvation = want->starvation;
		to->return_delay = want->return_delay;
	}
	if (want->control_map & VB_IBCC_MARKING_RATE)
		to->marking_rate = want->marking_rate;
}

static uint16_t switch_answer(struct request *r)
{
	struct vb_ibcc_switch_setting want;

	if (r->set) {
		vb_ibcc_switch_setting_parse(&want, r->mad);
		switch_setting_set(&r->node->sw, &want);
	}
	vb_ibcc_switch_setting_emit(&r->node->sw, r->mad);
	return VB_SMP_GOOD;
}

/* The modifier names a block of ports; those that the switch lacks read as 0. */
static uint16_t ports_answer(struct request *r)
{
	uint32_t first = r->mod * VB_IBCC_PORTS, cnt;
	struct vb_ibcc_ports block = {0};

	VB_ASSERT(is_switch(r->node));
	if (r->mod > r->node->port_cnt / VB_IBCC_PORTS)
		return VB_SMP_BAD_FIELD;
	cnt = r->node->port_cnt + 1u - first;
	cnt = cnt < VB_IBCC_PORTS ? cnt : VB_IBCC_PORTS;
	if (r->set) {
		vb_ibcc_ports_parse(&block, r->mad);
		memcpy(&r->node->sw_port[first], block.port, cnt * sizeof block.port[0]);
		block = (struct vb_ibcc_ports){0};
	}
	memcpy(block.port, &r->node->sw_port[first], cnt * sizeof block.port[0]);
	vb_ibcc_ports_emit(&block, r->mad);
	return VB_SMP_GOOD;
}

static uint16_t ca_answer(struct request *r)
{
	struct vb_ibcc_ca_setting *s = &r->port->ca, want;

	if (r->set) {
		vb_ibcc_ca_setting_parse(&want, r->mad);
		s->port_control = want.port_control;
		s->control_map = want.control_map;
		for (uint32_t i = 0; i < VB_IBCC_LEVELS; i++)
			if (want.control_map >> i & 1)
				s->level[i] = want.level[i];
	}
	vb_ibcc_ca_setting_emit(s, r->mad);
	return VB_SMP_GOOD;
}

/* The modifier names a block of entries. */
static uint16_t table_answer(struct request *r)
{
	struct vb_cca_port *p = r->port;
	struct vb_ibcc_table t;

	if (r->mod >= VB_CCA_BLOCKS)
		return VB_SMP_BAD_FIELD;
	if (r->set) {
		vb_ibcc_table_parse(&t, r->mad);
		if (t.limit >= TABLE_LEN)
			return VB_SMP_BAD_FIELD;
		p->limit = t.limit;
		memcpy(&p->entry[r->mod * VB_IBCC_ENTRIES], t.entry, sizeof t.entry);
	}
	VB_ASSERT(p->limit < TABLE_LEN);
	t.limit = p->limit;
	memcpy(t.entry, &p->entry[r->mod * VB_IBCC_ENTRIES], sizeof t.entry);
	vb_ibcc_table_emit(&t, r->mad);
	return VB_SMP_GOOD;
}

static uint16_t time_answer(struct request *r)
{
	vb_ibcc_timestamp_emit((uint32_t)(r->now / TICK_NS), r->mad);
	return VB_SMP_GOOD;
}

enum { SETTABLE = 1, OF_SWITCHES = 2, OF_CAS = 4 };

static const struct {
	uint16_t attr;
	uint8_t flags;
	uint16_t (*answer)(struct request *r);
} attributes[] = {
    {VB_IBCC_CLASS_PORT_INFO, SETTABLE, class_answer},
    {VB_IBCC_INFO, 0, info_answer},
    {VB_IBCC_KEY_INFO, SETTABLE, key_answer},
    {VB_IBCC_LOG, 0, log_answer},
    {VB_IBCC_SWITCH_SETTING, SETTABLE | OF_SWITCHES, switch_answer},
    {VB_IBCC_PORT_SETTING, SETTABLE | OF_SWITCHES, ports_answer},
    {VB_IBCC_CA_SETTING, SETTABLE | OF_CAS, ca_answer},
    {VB_IBCC_TABLE, SETTABLE | OF_CAS, table_answer},
    {VB_IBCC_TIMESTAMP, 0, time_answer},
};

static uint16_t attribute_answer(struct request *r, uint16_t attr)
{
	for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
		uint8_t flags = attributes[i].flags;

		if (attributes[i].attr != attr)
			continue;
		if ((r->set && !(flags & SETTABLE)) ||
		    (flags & (is_switch(r->node) ? OF_CAS : OF_SWITCHES)))
			break;
		/* An answer to Get has nothing of the question. */
		if (!r->set)
			memset(r->mad + VB_IBCC_DATA_AT, 0, VB_MAD_LEN - VB_IBCC_DATA_AT);
		return attributes[i].answer(r);
	}
	return VB_SMP_BAD_METHOD_ATTR;
}

static void trap_raise(struct request *r, const struct vb_mad_hdr *h)
{
	if (r->port->trap_to.lid == 0)
		return;
	r->port->trap = (struct vb_cca_trap){.is_raised = true,
					     .tid = ++r->node->tid,
					     .due = r->now,
					     .details = {.slid = r->from->slid,
							 .method = h->method,
							 .attr_id = h->attr_id,
							 .attr_mod = h->attr_mod,
							 .qpn = r->from->qpn & 0xffffff,
							 .key = vb_ibcc_key(r->mad),
							 .prefix = r->from->prefix,
							 .guid = r->from->guid}};
}

/* The manager has heard it. */
static void trap_repress(struct vb_cca_port *p, uint64_t tid)
{
	if (p->trap.tid == tid)
		p->trap.is_raised = false;
}

vb_time vb_cca_poll_timeout(const struct vb_cca_node *node)
{
	uint32_t first = is_switch(node) ? 0 : 1, last = is_switch(node) ? 0 : node->port_cnt;
	vb_time due = VB_NEVER;

	for (uint32_t i = first; i <= last; i++)
		if (node->port[i].trap.is_raised)
			due = vb_time_min(due, node->port[i].trap.due);
	return due;
}

bool vb_cca_poll_trap(struct vb_cca_node *node, uint8_t port, uint8_t mad[VB_MAD_LEN],
		      uint8_t producer, uint16_t lid, vb_dur interval, vb_time now)
{
	struct vb_cca_trap *t = &node->port[port].trap;
	const struct vb_mad_hdr hdr = {.base_version = VB_MAD_BASE_VERSION,
				       .mgmt_class = VB_MAD_CLASS_IBCC,
				       .class_version = VB_IBCC_CLASS_VERSION,
				       .method = VB_MAD_METHOD_TRAP,
				       .tid = t->tid,
				       .attr_id = VB_IBCC_NOTICE};
	const struct vb_notice notice = {.is_generic = 1,
					 .type = VB_NOTICE_SECURITY,
					 .producer = producer,
					 .trap = VB_IBCC_TRAP_KEY,
					 .issuer_lid = lid,
					 .count = t->count};

	VB_ASSERT_ALL(is_switch(node) ? port == 0 : port >= 1 && port <= node->port_cnt);
	if (!t->is_raised || now < t->due)
		return false;
	memset(mad, 0, VB_MAD_LEN);
	vb_mad_hdr_emit(&hdr, mad);
	vb_notice_emit(&notice, mad);
	vb_ibcc_key_trap_emit(&t->details, mad);
	t->count = (t->count + 1) & 0x7fff;
	t->due = vb_time_after(now, interval);
	return true;
}

/* As with the M_Key: a wrong key is counted, and begins the lease, which a right one ends. */
static bool key_check(struct request *r, const struct vb_mad_hdr *h)
{
	struct vb_cca_port *p = r->port;
	vb_dur lease = p->key.lease * VB_SEC;

	if (p->lease_ends <= r->now)
		p->key.protect = 0;
	if (p->key.key == 0 || p->key.key == vb_ibcc_key(r->mad)) {
		p->lease_ends = VB_NEVER;
		return true;
	}
	if (!r->set && !p->key.protect)
		return true;
	if (p->key.violations < UINT16_MAX)
		p->key.violations++;
	if (lease && p->lease_ends == VB_NEVER)
		p->lease_ends = vb_time_after(r->now, lease);
	trap_raise(r, h);
	return false;
}

static void events_add(uint16_t *to, uint64_t more)
{
	*to = (uint16_t)(more < UINT16_MAX - (uint64_t)*to ? *to + more : UINT16_MAX);
}

static struct vb_ibcc_log *log_of(struct vb_cca_node *node, uint8_t port)
{
	VB_ASSERT_ALL(port >= 1 && port <= node->port_cnt);
	return &node->port[is_switch(node) ? 0 : port].log;
}

void vb_cca_note(struct vb_cca_node *node, uint8_t port, uint64_t events, uint16_t sls)
{
	struct vb_ibcc_log *log;

	if (events == 0)
		return;
	log = log_of(node, port);
	events_add(&log->events, events);
	log->levels |= sls;
	log->ports[sizeof log->ports - 1 - port / 8] |= (uint8_t)(1u << port % 8);
}

void vb_cca_note_event(struct vb_cca_node *node, uint8_t port, const struct vb_ibcc_event *e,
		       vb_time at)
{
	struct vb_ibcc_log *log = log_of(node, port);

	memmove(log->event + 1, log->event, sizeof log->event - sizeof log->event[0]);
	log->event[0] = *e;
	log->event[0].now = (uint32_t)(at / TICK_NS);
}

bool vb_cca_handle(struct vb_cca_node *node, uint8_t mad[VB_MAD_LEN], uint8_t in_port,
		   const struct vb_cca_sender *from, vb_time now)
{
	struct request r = {.node = node,
			    .port = &node->port[is_switch(node) ? 0 : in_port],
			    .mad = mad,
			    .from = from,
			    .now = now};
	struct vb_mad_hdr h;

	VB_ASSERT_ALL(in_port <= node->port_cnt);
	vb_mad_hdr_parse(&h, mad);
	r.set = h.method == VB_MAD_METHOD_SET;
	r.mod = h.attr_mod;
	if (h.method == VB_MAD_METHOD_TRAP_REPRESS)
		trap_repress(r.port, h.tid);
	if ((!r.set && h.method != VB_MAD_METHOD_GET) || !key_check(&r, &h))
		return false;
	h.status = h.class_version == VB_IBCC_CLASS_VERSION ? attribute_answer(&r, h.attr_id)
							    : VB_SMP_BAD_VERSION;
	h.method = VB_MAD_METHOD_GET_RESP;
	vb_mad_hdr_emit(&h, mad);
	return true;
}
