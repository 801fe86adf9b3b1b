/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that have their slots from the shared broker (node/carrier/): this broker, which is
 * their user's, has everything of theirs but packets and the numbers of slots.
 */
#include "link/carried/carried.h"
#include "node/broker/state.h"
#include "node/host/error_hints.h"

#include <errno.h>
#include <unistd.h>

static int slots_begin(struct vb_broker *b)
{
	int rc = vb_slots_start_carried(&b->slots);

	if (!rc)
		vb_broker_group_ready(b);
	return rc;
}

static void begin_refuse(struct vb_broker *b, struct vb_conn *c, int rc)
{
	char text[VB_BROKER_TEXT_MAX];

	rc = vb_error_hint(text, sizeof text, rc,
			   "your broker cannot serve programs of the "
			   "shared broker");
	vb_conn_refuse(b, c, rc, text);
}

bool vb_conn_begin_carried(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	struct vb_carrier_answer answer;
	int fd, rc;

	if (b->slots.fd_store >= 0)
		return true;
	rc = vb_carrier_look(VB_CARRIER_STATUS, &answer, &fd);
	if (rc)
		return true; /* none runs, or it says nothing: then the port says who has it */
	close(fd);
	/* As below. */
	if (answer.others && vb_time_since(c->since, now) < VB_SURVIVORS_NS) {
		b->retry_due = now + VB_RETRY_NS;
		return false;
	}
	rc = slots_begin(b);
	if (rc)
		begin_refuse(b, c, rc);
	return true;
}

bool vb_conn_serve_carried(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	char text[VB_BROKER_TEXT_MAX];
	uint32_t slot = c->slot;
	int rc = 0, rx_fd = -1;

	/* Some of those others may be of an earlier broker, and bring what it had. */
	if (b->slots.fd_store < 0 && c->others && vb_time_since(c->since, now) < VB_SURVIVORS_NS) {
		b->retry_due = now + VB_RETRY_NS;
		return false;
	}
	if (b->slots.fd_store < 0)
		rc = slots_begin(b);
	if (!rc)
		rx_fd = vb_group_no_socket();
	if (!rc && rx_fd < 0)
		rc = rx_fd;
	if (!rc)
		rc = vb_slots_take_carried(&b->slots, slot, c->pid, c->comm);
	if (!rc) {
		vb_conn_welcome(b, c, slot, rx_fd);
	} else {
		rc = vb_error_hint(text, sizeof text, rc,
				   "your broker cannot take slot %u of the shared broker", slot);
		vb_conn_refuse(b, c, rc, text);
	}
	if (rx_fd >= 0)
		close(rx_fd);
	return true;
}
