/* SPDX-License-Identifier: BSD-2-Clause */
/* An observer's questions to adapters of other hosts by way of its broker (node/gsi/ask.h), and the
 * adapter of this host that it needs for them. See broker.h. */
#include "node/broker/broker.h"
#include "node/client/dial.h"
#include "node/host/clock.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int vb_broker_ask_begin(struct vb_broker_observer *o, uint32_t tag, const struct vb_broker_ask *ask)
{
	struct vb_broker_msg m;
	int rc;

	vb_broker_msg_init(&m, VB_BROKER_ASK);
	m.slot = tag;
	m.ask = *ask;
	rc = vb_fds_send(o->sock, &m, sizeof m, NULL);
	return rc == -EPIPE ? -ECONNRESET : rc;
}

int vb_broker_ask_take(struct vb_broker_observer *o, uint32_t *tag, struct vb_broker_ask *ask,
		       int *status)
{
	struct vb_fds fds = {.cnt = 0};
	struct vb_broker_msg m;
	int rc = vb_broker_msg_recv(o->sock, &m, &fds, MSG_DONTWAIT);

	vb_fds_close(&fds);
	if (rc <= 0)
		return rc == 0 ? -ECONNRESET : rc;
	*tag = m.slot;
	*ask = m.ask;
	*status = m.status;
	return 0;
}

int vb_broker_ask(struct vb_broker_observer *o, struct vb_broker_ask *ask, int *status,
		  uint32_t cnt)
{
	vb_time deadline = vb_clock_now() + VB_BROKER_PATIENCE_NS;
	struct vb_broker_msg m;
	int rc = 0;

	for (uint32_t i = 0; i < cnt && !rc; i++) {
		status[i] = -ETIMEDOUT;
		deadline = vb_time_max(deadline, vb_clock_now() + VB_BROKER_PATIENCE_NS +
						     ask[i].attempts * ask[i].timeout);
		rc = vb_broker_ask_begin(o, i, &ask[i]);
	}
	for (uint32_t i = 0; i < cnt && !rc; i++) {
		struct vb_fds fds = {.cnt = 0};

		rc = vb_broker_await(o->sock, &m, &fds, deadline);
		vb_fds_close(&fds);
		if (rc || m.slot >= cnt)
			continue;
		status[m.slot] = m.status;
		ask[m.slot] = m.ask;
	}
	return rc;
}

int vb_broker_hold(char *why, size_t why_size)
{
	struct vb_fds fds = {.cnt = 0};
	struct vb_broker_msg m;
	int sock;

	/* As a program without QPs: a connection of the connection manager that makes no call. */
	vb_broker_msg_init(&m, VB_BROKER_CM);
	sock = vb_broker_dial(&m, &fds, true, why, why_size);
	vb_fds_close(&fds);
	return sock;
}
