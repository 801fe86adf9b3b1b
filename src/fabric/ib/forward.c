/* SPDX-License-Identifier: BSD-2-Clause */
/* Look-ups in the forwarding tables of a switch, see forward.h. */
#include "fabric/ib/forward.h"

#include "wire/ib/lrh.h"

#include <string.h>

uint8_t vb_lid_forward_unicast(const struct vb_lid_forward *f, uint16_t dlid, uint8_t in_port)
{
	uint8_t port;

	if (dlid == 0 || dlid > f->unicast_top || dlid >= f->unicast_cap)
		return VB_PORT_NONE;
	port = f->unicast[dlid];
	return port == in_port ? VB_PORT_NONE : port;
}

static void mask_set(struct vb_port_mask *m, uint8_t port)
{
	m->word[port / VB_MFT_MASK_PORTS] |= (uint16_t)(1u << port % VB_MFT_MASK_PORTS);
}

static void mask_clear(struct vb_port_mask *m, uint8_t port)
{
	m->word[port / VB_MFT_MASK_PORTS] &= (uint16_t) ~(1u << port % VB_MFT_MASK_PORTS);
}

static bool mask_is_empty(const struct vb_port_mask *m)
{
	static const struct vb_port_mask empty;

	return memcmp(m, &empty, sizeof empty) == 0;
}

bool vb_lid_forward_multicast(const struct vb_lid_forward *f, uint16_t dlid, uint8_t in_port,
			      struct vb_port_mask *out)
{
	uint16_t entry = (uint16_t)(dlid - VB_LID_MULTICAST);
	bool counts =
	    entry < f->multicast_cap && (f->multicast_top == 0 || dlid <= f->multicast_top);

	memset(out, 0, sizeof *out);
	if (counts && !mask_is_empty(&f->multicast[entry])) {
		*out = f->multicast[entry];
		mask_clear(out, in_port);
	} else {
		uint8_t port =
		    f->multicast_primary == in_port ? f->multicast_other : f->multicast_primary;

		if (port != VB_PORT_NONE && port != in_port)
			mask_set(out, port);
	}
	return !mask_is_empty(out);
}
