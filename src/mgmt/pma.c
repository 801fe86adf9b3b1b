/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of performance management, out of the counters of ports, see pma.h. IBA 16.1.3 */
#include "mgmt/pma.h"

#include "base/assert.h"
#include "wire/mad/smp.h"

#include <string.h>

#define SAMPLE_TICK 255 /* Tick: of 256 symbols, 82 ns of EDR. IBA 16.1.3.2 */
#define SAMPLE_WIDTH 4  /* 32 bits */
/* Each counter of a sample counts any of what is mandatory, and nothing else. IBA 16.1.3.2 */
#define SAMPLE_MASK0_9 01111111111u
#define SAMPLE_MASK10_14 011111u
#define TICK_SYMBOLS 16 /* of XmitWait: the time of four words on the link. LNK-38 */

/* The value of a counter of PortCounters since the link began; XmitWait in nanoseconds. Errors of
 * both kinds of packets are errors of reception. IBA 16.1.3.5 */
static uint64_t link_counter(const struct vb_pma_port *p, enum vb_pma_counter i)
{
	const struct vb_ib_counters *c = &p->link->counters;

	switch (i) {
	case VB_PMA_SYMBOL_ERRORS:
		return c->symbol_errors;
	case VB_PMA_LINK_ERROR_RECOVERY:
		return c->link_error_recovery;
	case VB_PMA_LINK_DOWNED:
		return c->link_downed;
	case VB_PMA_RCV_ERRORS:
		return c->rcv_errors + c->local_link_errors + c->flow_unknown + c->buffer_overruns;
	case VB_PMA_RCV_SWITCH_RELAY_ERRORS:
		return p->switch_relay_errors;
	case VB_PMA_XMIT_DISCARDS:
		return c->xmit_discards;
	case VB_PMA_XMIT_CONSTRAINT_ERRORS:
		return p->xmit_constraint_errors + c->xmit_filtered;
	case VB_PMA_RCV_CONSTRAINT_ERRORS:
		return p->rcv_constraint_errors + c->rcv_filtered;
	case VB_PMA_LINK_INTEGRITY_ERRORS:
		return c->link_integrity_errors;
	case VB_PMA_BUFFER_OVERRUN_ERRORS:
		return c->excessive_overruns;
	case VB_PMA_VL15_DROPPED:
		return c->vl15_dropped;
	case VB_PMA_XMIT_DATA:
		return c->xmit_data;
	case VB_PMA_RCV_DATA:
		return c->rcv_data;
	case VB_PMA_XMIT_PACKETS:
		return c->xmit_packets;
	case VB_PMA_RCV_PACKETS:
		return c->rcv_packets;
	case VB_PMA_XMIT_WAIT:
		return c->xmit_wait_ns;
	default: /* VB_PMA_RCV_REMOTE_PHYSICAL_ERRORS */
		return c->remote_physical_errors;
	}
}

static uint64_t counter_now(const struct vb_pma_port *p, enum vb_pma_counter i)
{
	return link_counter(p, i) + (i < VB_PMA_ERROR_COUNTERS ? p->reported[i] : 0);
}

static uint64_t ext_counter_now(const struct vb_pma_port *p, enum vb_pma_ext_counter i)
{
	const struct vb_ib_counters *c = &p->link->counters;

	switch (i) {
	case VB_PMA_EXT_XMIT_DATA:
		return c->xmit_data;
	case VB_PMA_EXT_RCV_DATA:
		return c->rcv_data;
	case VB_PMA_EXT_XMIT_PACKETS:
		return c->xmit_packets;
	case VB_PMA_EXT_RCV_PACKETS:
		return c->rcv_packets;
	case VB_PMA_EXT_UNICAST_XMIT:
		return c->xmit_packets - p->multicast_xmit_packets;
	case VB_PMA_EXT_UNICAST_RCV:
		return c->rcv_packets - p->multicast_rcv_packets;
	case VB_PMA_EXT_MULTICAST_XMIT:
		return p->multicast_xmit_packets;
	default:
		return p->multicast_rcv_packets;
	}
}

/* A whole of @a * @b / @c whose product may need more than 64 bits, but not by much. */
static uint64_t scale_number(uint64_t a, uint64_t b, uint64_t c)
{
	return a / c * b + a % c * b / c;
}

static uint64_t ticks_of_ns(const struct vb_pma_port *p, uint64_t ns)
{
	return scale_number(ns, 1000, TICK_SYMBOLS * p->link->config.symbol_ps);
}

/* The shortest time that has so many ticks. */
static uint64_t ns_of_ticks(const struct vb_pma_port *p, uint64_t ticks)
{
	uint64_t ns = scale_number(ticks, TICK_SYMBOLS * p->link->config.symbol_ps, 1000);

	VB_ASSERT_ALL(p->link->config.symbol_ps > 0);

	return ticks_of_ns(p, ns) < ticks ? ns + 1 : ns;
}

static uint32_t counter_cnt(enum vb_pma_attr attr)
{
	return attr == VB_PMA_PORT_COUNTERS_EXT ? (uint32_t)VB_PMA_EXT_COUNTERS
						: (uint32_t)VB_PMA_COUNTERS;
}

static uint64_t value_get(const struct vb_pma_port *p, enum vb_pma_attr attr, uint32_t i)
{
	uint64_t v;

	if (attr == VB_PMA_PORT_COUNTERS_EXT)
		return ext_counter_now(p, i) - p->ext_zero[i];
	v = counter_now(p, i) - p->zero[i];
	return i == VB_PMA_XMIT_WAIT ? ticks_of_ns(p, v) : v;
}

uint64_t vb_pma_value(const struct vb_pma_port *p, enum vb_pma_counter i)
{
	return p->link ? value_get(p, VB_PMA_PORT_COUNTERS, i) : 0;
}

static void value_set(struct vb_pma_port *p, enum vb_pma_attr attr, uint32_t i, uint64_t v)
{
	if (attr == VB_PMA_PORT_COUNTERS_EXT)
		p->ext_zero[i] = ext_counter_now(p, i) - v;
	else
		p->zero[i] = counter_now(p, i) - (i == VB_PMA_XMIT_WAIT ? ns_of_ticks(p, v) : v);
}

/* A sum that stays at the end of its range. */
static uint64_t value_add(uint64_t a, uint64_t b, enum vb_pma_attr attr)
{
	return attr == VB_PMA_PORT_COUNTERS && b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* PortCounters or PortCountersExtended of one port, or of all. FAB-41, FAB-42 */
static uint16_t counters_answer(struct vb_pma_node *n, enum vb_pma_attr attr, bool set,
				uint8_t mad[VB_MAD_LEN])
{
	struct vb_pma_counts ask, got;
	bool all, first = true;

	vb_pma_counts_parse(&ask, attr, mad);
	all = ask.port == VB_PMA_PORT_ALL;
	if (!all && (ask.port > n->port_cnt || !n->port[ask.port].link))
		return VB_SMP_BAD_FIELD;
	got = (struct vb_pma_counts){.port = ask.port, .select = ask.select};
	for (uint32_t k = all ? 1 : ask.port; k <= (all ? n->port_cnt : ask.port); k++) {
		struct vb_pma_port *p = &n->port[k];

		if (!p->link)
			continue;
		for (uint32_t i = 0; i < counter_cnt(attr); i++) {
			/* Of all ports, the first one gets what is written, the others 0. */
			if (set && (ask.select >> i & 1))
				value_set(p, attr, i, first ? ask.value[i] : 0);
			got.value[i] = value_add(got.value[i], value_get(p, attr, i), attr);
		}
		first = false;
	}
	memset(mad + VB_PMA_DATA_AT, 0, VB_PMA_DATA_LEN);
	vb_pma_counts_emit(&got, attr, mad);
	return VB_SMP_GOOD;
}

static const enum vb_pma_counter sampled[VB_PMA_SAMPLED_END] = {
    [VB_PMA_SAMPLED_XMIT_DATA] = VB_PMA_XMIT_DATA,
    [VB_PMA_SAMPLED_RCV_DATA] = VB_PMA_RCV_DATA,
    [VB_PMA_SAMPLED_XMIT_PACKETS] = VB_PMA_XMIT_PACKETS,
    [VB_PMA_SAMPLED_RCV_PACKETS] = VB_PMA_RCV_PACKETS,
    [VB_PMA_SAMPLED_XMIT_WAIT] = VB_PMA_XMIT_WAIT,
};

static vb_time sample_after(const struct vb_pma_port *p, vb_time from, uint32_t ticks)
{
	return vb_time_after(
	    from, scale_number(ticks, (SAMPLE_TICK + 1) * p->link->config.symbol_ps, 1000));
}

/* Begins or ends the node's sample, if that is due. */
static void sample_step(struct vb_pma_node *n, vb_time now)
{
	struct vb_pma_sample *s = &n->sample;

	while (s->status != VB_PMA_SAMPLE_DONE && s->due <= now) {
		const struct vb_pma_port *p = &n->port[s->port];
		bool ends = s->status == VB_PMA_SAMPLE_RUNNING;

		for (uint32_t i = 1; i < VB_PMA_SAMPLED_END; i++)
			s->count[i] = link_counter(p, sampled[i]) - (ends ? s->count[i] : 0);
		s->status = ends ? VB_PMA_SAMPLE_DONE : VB_PMA_SAMPLE_RUNNING;
		s->due = sample_after(p, s->due, s->interval);
	}
}

/* Set begins a sample, unless one is under way. FAB-44 */
static uint16_t control_set(struct vb_pma_node *n, const struct vb_pma_control *c, vb_time now)
{
	struct vb_pma_sample *s = &n->sample;

	if (s->status != VB_PMA_SAMPLE_DONE)
		return VB_MAD_STATUS_BUSY;
	*s = (struct vb_pma_sample){.status = VB_PMA_SAMPLE_DELAYED,
				    .port = c->port,
				    .tag = c->tag,
				    .start = c->start,
				    .interval = c->interval,
				    .due = sample_after(&n->port[c->port], now, c->start)};
	memcpy(s->select, c->select, sizeof s->select);
	sample_step(n, now);
	return VB_SMP_GOOD;
}

/* PortSamplesControl: the node's last sample, and what samples there are. FAB-44 */
static uint16_t control_answer(struct vb_pma_node *n, bool set, uint8_t mad[VB_MAD_LEN],
			       vb_time now)
{
	const struct vb_pma_sample *s = &n->sample;
	struct vb_pma_control c = {0};
	uint16_t status = VB_SMP_GOOD;
	uint8_t port;

	vb_pma_control_parse(&c, mad);
	port = c.port;
	if (port > n->port_cnt || !n->port[port].link)
		return VB_SMP_BAD_FIELD;
	if (set)
		status = control_set(n, &c, now);
	c = (struct vb_pma_control){.port = port,
				    .tick = SAMPLE_TICK,
				    .width = SAMPLE_WIDTH,
				    .mask0_9 = SAMPLE_MASK0_9,
				    .mask10_14 = SAMPLE_MASK10_14,
				    .status = s->status,
				    .start = s->start,
				    .interval = s->interval,
				    .tag = s->tag};
	memcpy(c.select, s->select, sizeof c.select);
	memset(mad + VB_PMA_DATA_AT, 0, VB_PMA_DATA_LEN);
	vb_pma_control_emit(&c, mad);
	return status;
}

/* Counter @i of a sample that is done; it stays at the end of its range. */
static uint32_t sample_value(const struct vb_pma_node *n, uint32_t i)
{
	const struct vb_pma_sample *s = &n->sample;
	uint64_t v;

	if (s->status != VB_PMA_SAMPLE_DONE || s->select[i] >= VB_PMA_SAMPLED_END)
		return 0;
	v = s->count[s->select[i]];
	if (v != 0 && s->select[i] == VB_PMA_SAMPLED_XMIT_WAIT)
		v = ticks_of_ns(&n->port[s->port], v);
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

/* PortSamplesResult. FAB-44 */
static uint16_t result_answer(const struct vb_pma_node *n, uint8_t mad[VB_MAD_LEN])
{
	struct vb_pma_result r = {.tag = n->sample.tag, .status = n->sample.status};

	for (uint32_t i = 0; i < VB_PMA_SAMPLES; i++)
		r.counter[i] = sample_value(n, i);
	memset(mad + VB_PMA_DATA_AT, 0, VB_PMA_DATA_LEN);
	vb_pma_result_emit(&r, mad);
	return VB_SMP_GOOD;
}

vb_time vb_pma_poll_timeout(const struct vb_pma_node *node)
{
	return node->sample.status == VB_PMA_SAMPLE_DONE ? VB_NEVER : node->sample.due;
}

void vb_pma_handle_timeout(struct vb_pma_node *node, vb_time now)
{
	sample_step(node, now);
}

/* FAB-40 */
static uint16_t class_answer(const struct vb_pma_node *n, uint8_t mad[VB_MAD_LEN])
{
	const struct vb_class_port_info info = {
	    .base_version = VB_MAD_BASE_VERSION,
	    .class_version = VB_PMA_CLASS_VERSION,
	    .cap_mask = VB_PMA_CAP_ALL_PORTS | VB_PMA_CAP_EXTENDED | VB_PMA_CAP_XMIT_WAIT,
	    .resp_time = n->resp_time,
	};

	memset(mad + VB_PMA_DATA_AT, 0, VB_PMA_DATA_LEN);
	vb_class_port_info_emit(&info, mad);
	return VB_SMP_GOOD;
}

static uint16_t attribute_answer(struct vb_pma_node *n, const struct vb_mad_hdr *h,
				 uint8_t mad[VB_MAD_LEN], vb_time now)
{
	bool set = h->method == VB_MAD_METHOD_SET;

	if (h->class_version != VB_PMA_CLASS_VERSION)
		return VB_SMP_BAD_VERSION;
	switch (h->attr_id) {
	case VB_PMA_CLASS_PORT_INFO:
		return set ? VB_SMP_BAD_METHOD_ATTR : class_answer(n, mad);
	case VB_PMA_SAMPLES_CONTROL:
		return h->attr_mod ? VB_SMP_BAD_FIELD : control_answer(n, set, mad, now);
	case VB_PMA_SAMPLES_RESULT:
		return set ? VB_SMP_BAD_METHOD_ATTR : result_answer(n, mad);
	case VB_PMA_PORT_COUNTERS:
	case VB_PMA_PORT_COUNTERS_EXT:
		return counters_answer(n, h->attr_id, set, mad);
	default:
		return VB_MAD_STATUS_UNSUPPORTED; /* FAB-43 */
	}
}

bool vb_pma_handle(struct vb_pma_node *node, uint8_t mad[VB_MAD_LEN], vb_time now)
{
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, mad);
	if (h.method != VB_MAD_METHOD_GET && h.method != VB_MAD_METHOD_SET)
		return false;
	sample_step(node, now);
	h.status = attribute_answer(node, &h, mad, now);
	h.method = VB_MAD_METHOD_GET_RESP;
	vb_mad_hdr_emit(&h, mad);
	return true;
}
