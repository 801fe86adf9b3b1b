/* SPDX-License-Identifier: BSD-2-Clause */
/* The device management agent, see device.h. IBA 16.3.3 */
#include "mgmt/device/device.h"

#include "base/assert.h"
#include "wire/mad/pma.h"
#include "wire/mad/smp.h"

#include <string.h>

/* A request on its way through the agent. */
struct request {
	struct vb_device_node *node;
	struct vb_device_port *port;
	uint8_t *mad;
	uint32_t mod;
	bool set;
};

/* The controller in @slot; NULL: none is there. */
static const struct vb_topo_ioc *ioc_find(const struct vb_device_node *n, uint32_t slot)
{
	const struct vb_topo_ioc *c = n->ioc;

	while (c && c->slot != slot)
		c = c->next;
	return c;
}

/* The slots that the node has: the last one is not empty. */
static uint32_t slot_cnt(const struct vb_device_node *n)
{
	const struct vb_topo_ioc *c = n->ioc;

	while (c->next)
		c = c->next;
	return c->slot;
}

static uint16_t class_answer(struct request *r)
{
	const struct vb_class_port_info info = {.base_version = VB_MAD_BASE_VERSION,
						.class_version = VB_DEVICE_CLASS_VERSION,
						.resp_time = r->node->resp_time};

	/* A manager says where traps go, and reads it again; this agent has none to send. */
	if (r->set)
		memcpy(r->port->trap, vb_io_trap(r->mad), sizeof r->port->trap);
	memset(r->mad + VB_DEVICE_DATA_AT, 0, VB_MAD_LEN - VB_DEVICE_DATA_AT);
	vb_class_port_info_emit(&info, r->mad);
	memcpy(vb_io_trap(r->mad), r->port->trap, sizeof r->port->trap);
	return VB_SMP_GOOD;
}

static uint16_t unit_answer(struct request *r)
{
	struct vb_io_unit_info u = {.change_id = 1, .max_controllers = (uint8_t)slot_cnt(r->node)};

	for (uint32_t slot = 1; slot <= 2 * sizeof u.list; slot++)
		vb_io_slot_set(&u, slot,
			       slot > u.max_controllers  ? VB_IO_SLOT_NONE
			       : ioc_find(r->node, slot) ? VB_IO_SLOT_PRESENT
							 : VB_IO_SLOT_EMPTY);
	vb_io_unit_info_emit(&u, r->mad);
	return VB_SMP_GOOD;
}

/* A slot that does not exist is a bad modifier, an empty one has no controller to answer. */
static uint16_t slot_error(const struct request *r, uint32_t slot)
{
	return slot == 0 || slot > slot_cnt(r->node) ? VB_SMP_BAD_FIELD : VB_DEVICE_NO_CONTROLLER;
}

static uint16_t profile_answer(struct request *r)
{
	const struct vb_topo_ioc *c = ioc_find(r->node, r->mod);

	if (!c)
		return slot_error(r, r->mod);
	vb_io_controller_profile_emit(&c->profile, r->mad);
	return VB_SMP_GOOD;
}

/* The modifier has the slot, and the last and the first service that are asked for. */
static uint16_t services_answer(struct request *r)
{
	uint32_t slot = r->mod >> 16, last = r->mod >> 8 & 0xff, first = r->mod & 0xff, n = 0;
	const struct vb_topo_ioc *c = ioc_find(r->node, slot);
	struct vb_io_services s = {.entry = {{.id = 0}}};
	const struct vb_topo_service *v;

	if (!c)
		return slot_error(r, slot);
	if (last < first || last - first >= VB_IO_ENTRIES)
		return VB_SMP_BAD_FIELD;
	if (first >= c->profile.service_cnt)
		return VB_DEVICE_NO_SERVICE;
	for (v = c->service; v && n <= last; v = v->next, n++)
		if (n >= first)
			s.entry[n - first] = v->service;
	vb_io_services_emit(&s, r->mad);
	return VB_SMP_GOOD;
}

static const struct {
	uint16_t attr;
	bool settable;
	uint16_t (*answer)(struct request *r);
} attributes[] = {
    {VB_DEVICE_CLASS_PORT_INFO, true, class_answer},
    {VB_DEVICE_IO_UNIT_INFO, false, unit_answer},
    {VB_DEVICE_IO_CONTROLLER_PROFILE, false, profile_answer},
    {VB_DEVICE_SERVICE_ENTRIES, false, services_answer},
};

static uint16_t attribute_answer(struct request *r, uint16_t attr)
{
	for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
		if (attributes[i].attr != attr)
			continue;
		if (r->set && !attributes[i].settable)
			break;
		/* An answer to Get has nothing of the question. */
		if (!r->set)
			memset(r->mad + VB_DEVICE_DATA_AT, 0, VB_MAD_LEN - VB_DEVICE_DATA_AT);
		return attributes[i].answer(r);
	}
	return VB_SMP_BAD_METHOD_ATTR;
}

bool vb_device_handle(struct vb_device_node *node, uint8_t mad[VB_MAD_LEN], uint8_t in_port)
{
	struct request r = {.node = node, .port = &node->port[in_port], .mad = mad};
	struct vb_mad_hdr h;

	VB_ASSERT_ALL(node->ioc && in_port >= 1 && in_port <= node->port_cnt);
	vb_mad_hdr_parse(&h, mad);
	r.set = h.method == VB_MAD_METHOD_SET;
	r.mod = h.attr_mod;
	if (!r.set && h.method != VB_MAD_METHOD_GET)
		return false;
	h.status = h.class_version == VB_DEVICE_CLASS_VERSION ? attribute_answer(&r, h.attr_id)
							      : VB_SMP_BAD_VERSION;
	h.method = VB_MAD_METHOD_GET_RESP;
	vb_mad_hdr_emit(&h, mad);
	return true;
}
