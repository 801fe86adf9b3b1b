/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking a slot at a node of a fabric, see attach.h. */
#include "node/subnet/adapter/attach.h"

#include "link/ib/ib.h"
#include "link/memory.h"
#include "node/netdev/devices.h"
#include "node/subnet/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

bool vb_subnet_is_wanted(void)
{
	const char *fabric = getenv("VERBENA_FABRIC");

	return fabric && *fabric;
}

/* The facts of the fabric that the link needs: the map, and which of its ports are the device's. */
static int fabric_describe(struct vb_broker_client *c, uint32_t slot, int fd)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct vb_ib_link_config *f = calloc(1, sizeof *f);
	struct stat st;
	void *p;
	int rc;

	if (!f)
		return -ENOMEM;
	c->fabric = f;
	if (fstat(fd, &st))
		return -errno;
	rc = vb_memory_map(fd, (size_t)st.st_size, true, &p);
	if (rc)
		return rc;
	f->map = p;
	f->map_size = (size_t)st.st_size;
	if (!vb_ib_map_is_whole(f->map, f->map_size, page) || slot >= VB_IB_SLOTS)
		return -EPROTO;
	c->carrier = f->map->carrier;
	f->routes = vb_ib_map_routes(f->map, slot);
	f->capture = &c->shm->capture;
	for (uint32_t i = 0; i < VB_LINK_PORTS_MAX; i++)
		f->port[i] = VB_IB_NOWHERE;
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		if (c->host->device[i].ib.number)
			f->port[i + 1] = c->host->device[i].ib.map_port;
	return vb_memory_protect(p, f->map->shared_at);
}

void vb_subnet_leave_slot(struct vb_broker_client *c)
{
	vb_memory_unmap(c->common, sizeof(struct vb_host_memory));
	if (!c->fabric)
		return;
	vb_memory_unmap(c->fabric->map, c->fabric->map_size);
	free(c->fabric);
}

static int memory_map_all(struct vb_broker_client *c, uint32_t slot, const struct vb_fds *fds)
{
	struct vb_host_memory *common;
	void *p;
	int rc = vb_memory_map(fds->fd[VB_SUBNET_SLOT], sizeof *c->shm, true, &p);

	if (rc)
		return rc;
	c->shm = p;
	rc = vb_memory_map(fds->fd[VB_SUBNET_NODE], sizeof *common, true, &p);
	if (rc)
		return rc;
	c->host = p;
	rc = vb_memory_protect(p, offsetof(struct vb_host_memory, flow));
	if (rc)
		return rc;
	c->bell = ((struct vb_host_memory *)p)->bell;
	rc = vb_memory_map(fds->fd[VB_SUBNET_COMMON], sizeof *common, true, &p);
	if (rc)
		return rc;
	c->common = common = p;
	c->flow = common->flow;
	c->queue_idle = common->queue_idle;
	c->wakeup = common->wakeup;
	c->mailbox = common->mailbox;
	if (c->shm->version != VB_SHM_VERSION || c->host->version != VB_SHM_VERSION)
		return -EPROTO;
	return fabric_describe(c, slot, fds->fd[VB_SUBNET_MAP]);
}

/* Asks for a slot on a connection that is at the node. */
static int slot_ask(int sock, struct vb_subnet_answer *answer, struct vb_fds *fds)
{
	static struct vb_subnet_call call;
	const char *node = getenv("VERBENA_NODE");
	char name[16] = "";
	int rc;

	(void)prctl(PR_GET_NAME, name);
	vb_subnet_call_text(&call, VB_SUBNET_ATTACH, node ? node : "");
	rc = vb_subnet_ask(sock, &call, -1, answer, NULL);
	if (rc || answer->status)
		return rc ? rc : answer->status;
	vb_subnet_call_text(&call, VB_SUBNET_ADAPTER, name);
	rc = vb_subnet_ask(sock, &call, -1, answer, fds);
	if (!rc && answer->status)
		rc = answer->status;
	return !rc && fds->cnt != VB_SUBNET_FD_CNT ? -EPROTO : rc;
}

int vb_subnet_take_slot(struct vb_broker_client *c, char *why, size_t why_size)
{
	struct vb_subnet_answer answer = {.status = 0};
	struct vb_fds fds = {.cnt = 0};
	const char *fabric = getenv("VERBENA_FABRIC");
	int rc, sock = vb_subnet_dial(fabric, why, why_size);

	if (sock < 0)
		return sock;
	rc = slot_ask(sock, &answer, &fds);
	if (!rc)
		rc = memory_map_all(c, (uint32_t)answer.token, &fds);
	vb_fds_close(&fds);
	if (!rc) {
		c->sock = sock;
		c->slot = (uint32_t)answer.token;
		why[0] = 0;
		return 0;
	}
	close(sock);
	vb_broker_abandon(c);
	answer.text[sizeof answer.text - 1] = 0;
	if (answer.status && answer.text[0])
		snprintf(why, why_size, "%s", answer.text);
	else
		snprintf(why, why_size, "the fabric '%s' gives no adapter: %s", fabric,
			 rc == -EPROTO ? "it is of another version of verbena" : strerror(-rc));
	return rc;
}

/* The fabric has ended, and with it the device: the first of the node's programs to notice says so
 * in the table. */
static void device_end(struct vb_broker_client *c)
{
	struct vb_host_shm *host = (struct vb_host_shm *)(uintptr_t)c->host;

	if (host->device_cnt == 0 ||
	    mprotect(host, offsetof(struct vb_host_memory, flow), PROT_READ | PROT_WRITE))
		return;
	vb_host_write_begin(host);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		struct vb_device *d = &host->device[i];

		d->ifindex = d->is_up = 0;
		memset(&d->ib, 0, sizeof d->ib);
		memset(d->gid, 0, sizeof d->gid);
	}
	host->device_cnt = 0;
	host->generation++;
	vb_host_write_end(host);
}

int vb_subnet_check_slot(struct vb_broker_client *c)
{
	uint32_t word;
	ssize_t n;

	if (c->sock < 0)
		return -ENOTCONN;
	while ((n = recv(c->sock, &word, sizeof word, MSG_DONTWAIT)) > 0)
		;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	close(c->sock);
	c->sock = -1;
	device_end(c);
	return -ENOTCONN;
}
