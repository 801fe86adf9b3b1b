/* SPDX-License-Identifier: BSD-2-Clause */
/* A client's side of the broker connection, see broker.h. */
#include "node/broker/broker.h"

#include "link/carried/carried.h"
#include "link/memory.h"
#include "node/client/dial.h"
#include "node/client/spawn.h"
#include "node/host/clock.h"
#include "node/host/error_hints.h"
#include "node/subnet/adapter/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define RETRY_NS VB_SEC
/* A broker that is started for an application in full swing must not hold it up for long. */
#define RESTART_MS 100

static void (*return_hook)(void);
static uint32_t client_cnt;

void vb_broker_on_return(void (*hook)(void))
{
	__atomic_store_n(&return_hook, hook, __ATOMIC_RELEASE);
}

bool vb_broker_has_clients(void)
{
	return __atomic_load_n(&client_cnt, __ATOMIC_RELAXED) != 0;
}

static void fill_comm(char *comm, size_t size)
{
	char name[16] = "";

	(void)prctl(PR_GET_NAME, name);
	snprintf(comm, size, "%s", name);
}

static int map_memory(struct vb_broker_client *c, const struct vb_fds *fds)
{
	void *slot, *host;
	int rc = vb_memory_map(fds->fd[VB_WELCOME_SLOT], sizeof *c->shm, true, &slot);

	if (rc)
		return rc;
	rc = vb_memory_map(fds->fd[VB_WELCOME_HOST], sizeof(struct vb_host_memory), true, &host);
	if (!rc)
		rc = vb_memory_protect(host, offsetof(struct vb_host_memory, flow));
	if (rc) {
		vb_memory_unmap(slot, sizeof *c->shm);
		return rc;
	}
	c->shm = slot;
	c->host = host;
	c->flow = ((struct vb_host_memory *)host)->flow;
	c->bell = ((struct vb_host_memory *)host)->bell;
	c->queue_idle = ((struct vb_host_memory *)host)->queue_idle;
	c->wakeup = ((struct vb_host_memory *)host)->wakeup;
	c->mailbox = ((struct vb_host_memory *)host)->mailbox;
	if (c->shm->version == VB_SHM_VERSION && c->host->version == VB_SHM_VERSION)
		return 0;
	vb_memory_unmap(slot, sizeof *c->shm);
	vb_memory_unmap(host, sizeof(struct vb_host_memory));
	return -EPROTO;
}

/* A slot from the shared broker, where one runs. */
static int take_carried(struct vb_broker_client *c, char *why, size_t why_size)
{
	struct vb_carried at = vb_carried_nothing(VB_CARRIER_SLOT);
	int rc = vb_carried_attach(&at, why, why_size);

	if (rc == -ENOENT)
		return 0;
	if (!rc) {
		c->carried = malloc(sizeof *c->carried);
		rc = c->carried ? 0 : -ENOMEM;
	}
	if (!rc) {
		*c->carried = at;
		c->qp_max = at.qp_max;
		return 0;
	}
	vb_carried_detach(&at);
	return why[0] ? rc : vb_error_hint(why, why_size, rc, "cannot reach the broker");
}

static void give_back_carried(struct vb_broker_client *c)
{
	if (!c->carried)
		return;
	vb_carried_detach(c->carried);
	free(c->carried);
	c->carried = NULL;
}

static int take_slot(struct vb_broker_client *c, char *why, size_t why_size)
{
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 0};

	vb_broker_msg_init(&m, VB_BROKER_CLIENT);
	fill_comm(m.comm, sizeof m.comm);
	if (c->carried) {
		m.slot = c->carried->slot;
		m.cnt = c->carried->others;
	}
	int sock = vb_broker_dial(&m, &fds, true, why, why_size);
	if (sock < 0)
		return sock;
	int rc =
	    m.op == VB_BROKER_WELCOME && fds.cnt == VB_WELCOME_CNT ? map_memory(c, &fds) : -EPROTO;
	if (rc) {
		rc = vb_error_hint(why, why_size, rc, "cannot map the broker's memory");
		vb_fds_close(&fds);
		close(sock);
		return rc;
	}
	close(fds.fd[VB_WELCOME_SLOT]);
	close(fds.fd[VB_WELCOME_HOST]);
	c->sock = sock;
	c->slot = m.slot;
	c->rx_fd = fds.fd[VB_WELCOME_RX];
	c->fd_store = fds.fd[VB_WELCOME_FD_STORE];
	if (c->carried && c->carried->has_socket) {
		close(c->rx_fd);
		c->rx_fd = c->carried->rx_fd;
		c->carried->rx_fd = -1;
		c->is_direct = true;
	}
	__atomic_add_fetch(&client_cnt, 1, __ATOMIC_RELAXED);
	why[0] = 0;
	return 0;
}

int vb_broker_connect(struct vb_broker_client *c, char *why, size_t why_size)
{
	int rc;

	*c = (struct vb_broker_client){.sock = -1, .rx_fd = -1, .fd_store = -1};
	if (vb_subnet_is_wanted())
		return vb_subnet_take_slot(c, why, why_size);
	rc = take_carried(c, why, why_size);
	if (!rc)
		rc = take_slot(c, why, why_size);
	if (rc)
		give_back_carried(c);
	return rc;
}

/* Connects to the broker that runs now, or to a new one, and hands it the descriptor store. The
 * answer is looked at by the next vb_broker_check(), so that nobody waits here. */
static int reattach_client(struct vb_broker_client *c)
{
	char why[256];
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 1, .fd = {c->fd_store}};
	int sock = vb_broker_connect_once(why, sizeof why);

	if (sock == -ECONNREFUSED) {
		int rc = vb_broker_spawn(RESTART_MS, why, sizeof why);

		if (rc)
			return rc;
		sock = vb_broker_connect_once(why, sizeof why);
	}
	if (sock < 0)
		return sock;
	vb_broker_msg_init(&m, VB_BROKER_REATTACH);
	m.slot = c->slot;
	int rc = vb_fds_send(sock, &m, sizeof m, &fds);
	if (rc) {
		close(sock);
		return rc;
	}
	c->sock = sock;
	return 0;
}

static int client_return(struct vb_broker_client *c)
{
	void (*hook)(void) = __atomic_load_n(&return_hook, __ATOMIC_ACQUIRE);
	int rc = reattach_client(c);

	if (!rc && hook)
		hook();
	return rc;
}

int vb_broker_check(struct vb_broker_client *c)
{
	struct vb_broker_msg m;
	struct vb_fds fds;
	vb_time now;

	if (c->fabric)
		return vb_subnet_check_slot(c);
	if (c->sock >= 0) {
		int rc = vb_broker_msg_recv(c->sock, &m, &fds, MSG_DONTWAIT);

		if (rc == -EAGAIN)
			return 0;
		if (rc > 0) {
			vb_fds_close(&fds);
			if (m.op == VB_BROKER_CSR && c->serve_csr) {
				c->serve_csr(c->serve_ctx, &m);
				/* A broker that cannot take it has not waited for it. */
				(void)vb_fds_send(c->sock, &m, sizeof m, NULL);
				return 0;
			}
			if (m.status == 0)
				return 0;
		}
		close(c->sock);
		c->sock = -1;
	}
	now = vb_clock_now();
	if (now < c->retry_ns)
		return -ENOTCONN;
	c->retry_ns = now + RETRY_NS;
	return client_return(c);
}

void vb_broker_abandon(struct vb_broker_client *c)
{
	vb_memory_unmap(c->shm, sizeof *c->shm);
	vb_memory_unmap(c->host, sizeof(struct vb_host_memory));
	vb_subnet_leave_slot(c);
	give_back_carried(c);
	if (c->rx_fd >= 0)
		close(c->rx_fd);
	if (c->fd_store >= 0) {
		close(c->fd_store);
		__atomic_sub_fetch(&client_cnt, 1, __ATOMIC_RELAXED);
	}
	if (c->sock >= 0)
		close(c->sock);
	*c = (struct vb_broker_client){.sock = -1, .rx_fd = -1, .fd_store = -1};
}

void vb_broker_disconnect(struct vb_broker_client *c)
{
	/* Closing is the farewell: the broker frees the slot. shutdown also ends a connection of
	 * which a forked child has a copy. */
	if (c->sock >= 0)
		(void)shutdown(c->sock, SHUT_RDWR);
	vb_broker_abandon(c);
}
