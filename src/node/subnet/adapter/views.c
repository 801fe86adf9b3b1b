/* SPDX-License-Identifier: BSD-2-Clause */
/* How the QPs of programs at the nodes stand, and stood when these ended, see adapter.h. */
#include "node/subnet/adapter/adapter.h"

#include "node/netdev/devices.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int fd_copy(int from, struct vb_fds *fds)
{
	int fd = fcntl(from, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	fds->fd[fds->cnt++] = fd;
	return 0;
}

int vb_subnet_views_ask(struct vb_subnet_daemon *d, uint32_t qpn, uint64_t *token,
			struct vb_fds *fds)
{
	struct vb_subnet_adapter *a;
	int rc = vb_subnet_adapter_need(d);

	if (rc)
		return rc;
	a = d->adapter;
	*token = ++a->asked;
	for (struct vb_list *l = d->seats.next; l != &d->seats; l = l->next) {
		struct vb_subnet_seat *s = vb_container_of(l, struct vb_subnet_seat, node);

		if (!s->host)
			continue;
		vb_host_write_begin(&s->host->host);
		s->host->host.explain_qpn = qpn;
		s->host->host.explain_asked = a->asked;
		vb_host_write_end(&s->host->host);
		vb_subnet_programs_wake(d, s);
	}
	return fd_copy(a->common_fd, fds);
}

int vb_subnet_slot_show(struct vb_subnet_daemon *d, uint32_t number,
			struct vb_subnet_answer *answer, struct vb_fds *fds)
{
	const struct vb_subnet_adapter *a = d->adapter;
	bool is_past = number >= VB_SLOT_CNT;
	uint32_t node;

	if (!a || number >= VB_SLOT_CNT + VB_PAST_QPS ||
	    (!is_past && (number >= VB_IB_SLOTS || !a->slot[number].owner)))
		return -ENOENT;
	node = is_past ? a->past_node[number - VB_SLOT_CNT] : a->slot[number].owner->seat->index;
	snprintf(answer->text, sizeof answer->text, "%s", d->topo->node[node].name);
	return is_past ? 0 : fd_copy(a->slot[number].mem_fd, fds);
}
