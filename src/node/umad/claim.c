/* SPDX-License-Identifier: BSD-2-Clause */
/* The classes of agents that answer requests, among the users of the shared broker: see claim.h. */
#include "node/umad/claim.h"

#include "link/carried/carried.h"
#include "node/broker/state.h"

#include <errno.h>

#define METHODS 128u

static int method_ask(struct vb_gsi *gsi, const struct vb_agent_request *r, uint32_t method,
		      enum vb_carrier_ask_op op)
{
	struct vb_carrier_ask ask = {.op = op,
				     .service_id = vb_carrier_class_key(
					 r->mgmt_class, r->class_version, (uint8_t)method, r->oui)};

	return vb_gsi_claim(gsi, &ask);
}

static bool has_method(const struct vb_agent_request *r, uint32_t method)
{
	return r->mgmt_class && (r->methods[method / 64] >> method % 64 & 1);
}

static void methods_release(struct vb_gsi *gsi, const struct vb_agent_request *r, uint32_t end)
{
	for (uint32_t i = 0; i < end; i++)
		if (has_method(r, i))
			(void)method_ask(gsi, r, i, VB_CARRIER_RELEASE_CLASS);
}

int vb_umad_claim(struct vb_broker *b, const struct vb_agent_request *r)
{
	struct vb_gsi *gsi = b->slots.is_carried ? vb_broker_cm_gsi(b) : NULL;
	int rc = 0;

	for (uint32_t i = 0; gsi && !rc && i < METHODS; i++) {
		rc = has_method(r, i) ? method_ask(gsi, r, i, VB_CARRIER_CLAIM_CLASS) : 0;
		if (rc)
			methods_release(gsi, r, i);
	}
	/* As a kernel says that another agent has one of its methods. MAD-07 */
	return rc == -EADDRINUSE ? -EINVAL : rc;
}

void vb_umad_release(struct vb_broker *b, const struct vb_agent_request *r)
{
	struct vb_gsi *gsi = b->slots.is_carried ? vb_broker_cm_gsi(b) : NULL;

	if (gsi)
		methods_release(gsi, r, METHODS);
}
