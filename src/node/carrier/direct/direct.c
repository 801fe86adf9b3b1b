/* SPDX-License-Identifier: BSD-2-Clause */
/* The sockets of processes that packets are steered to, see direct.h. setfsuid(2), udp(7) */
#include "node/carrier/direct/direct.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* Ports from here to the last one are drawn from: those that IANA leaves to nobody. RFC 6335 */
#define PORT_FIRST 49152u
#define PORT_CNT (65536u - PORT_FIRST)
#define DRAWS_MAX 64

/* From now on sockets are @uid's: their owner is who made them. False: this process may not. */
static bool owner_become(uid_t uid)
{
	(void)setfsuid(uid);
	return (uid_t)setfsuid(uid) == uid;
}

int vb_carrier_direct_open(struct vb_carrier *c, char *why, size_t why_size)
{
	bool may;

	if (!c->is_direct)
		return 0;
	if (c->faults.rule_cnt) {
		snprintf(why, why_size,
			 "--fault is for packets that pass through the shared broker, and with "
			 "--direct they do not");
		return -EINVAL;
	}
	may = owner_become(1);
	if (!owner_become(0) || !may) {
		snprintf(why, why_size,
			 "--direct needs the capability CAP_SETUID: sockets have to be their "
			 "users' own");
		return -EPERM;
	}
	return vb_carrier_rules_open(&c->rules, why, why_size);
}

void vb_carrier_direct_close(struct vb_carrier *c)
{
	if (c->is_direct)
		vb_carrier_rules_close(&c->rules);
}

/* A port that is named keeps its number until the socket closes, whatever its user does with it;
 * the kernel's choice would not. Returns a descriptor or a negative errno. */
static int socket_make(uint16_t *port)
{
	int fd = -EADDRINUSE;
	uint16_t n;

	for (int i = 0; i < DRAWS_MAX && fd == -EADDRINUSE; i++) {
		if (getrandom(&n, sizeof n, 0) != (ssize_t)sizeof n)
			return -errno;
		*port = (uint16_t)(PORT_FIRST + n % PORT_CNT);
		fd = vb_group_own_socket(*port);
	}
	return fd;
}

void vb_carrier_direct_give(struct vb_carrier *c, struct vb_carrier_client *p)
{
	uint16_t port = 0;
	int fd;

	if (!c->is_direct || !vb_carrier_has_memory(c, p->user, VB_CARRIER_SOCKET_MIB))
		return;
	fd = owner_become(c->kept->user[p->user].uid) ? socket_make(&port) : -EPERM;
	if (!owner_become(0) || fd < 0 || vb_carrier_rules_set(&c->rules, p->slot, port)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	p->rx_fd = fd;
	c->user[p->user].sockets++;
}

void vb_carrier_direct_take_back(struct vb_carrier *c, struct vb_carrier_client *p)
{
	if (p->rx_fd < 0)
		return;
	(void)vb_carrier_rules_set(&c->rules, p->slot, 0);
	close(p->rx_fd);
	p->rx_fd = -1;
	c->user[p->user].sockets--;
}
