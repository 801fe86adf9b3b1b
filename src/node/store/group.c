/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The SO_REUSEPORT group, see group.h. socket(7) SO_REUSEPORT, SO_ATTACH_REUSEPORT_CBPF.
 *
 * The kernel numbers the sockets of a group in the order in which they were bound and, when one
 * closes, moves the last one into the gap. So no socket is ever closed before all of them are: the
 * broker keeps each, and the descriptor store keeps them beyond the broker.
 */
#include "node/store/group.h"

#include "link/udp/udp.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RX_BUFFER_BYTES (16 << 20)
#define BTH_DQPN_MID 6 /* offsets in the UDP payload */
#define BTH_DQPN_LOW 7

void vb_group_init(struct vb_group *g)
{
	g->cnt = 0;
	g->by_byte = false;
	memset(g->fd, 0xff, sizeof g->fd);
}

/* Dual-stack, so that one socket serves IPv4 GIDs too; IPv4 alone where IPv6 is switched off. */
static int socket_bind(uint16_t port, bool shared)
{
	int one = 1, zero = 0;
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a = {.in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)}};
	socklen_t len = sizeof a.in6;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 && errno == EAFNOSUPPORT) {
		a.in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		len = sizeof a.in;
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	} else if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	if (fd < 0)
		return -errno;
	if ((shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one)) ||
	    bind(fd, &a.sa, len)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

static void group_drain(int fd)
{
	char byte;
	int err;
	socklen_t len = sizeof err;

	/* Ends: the buffer is bounded and new packets come slower than they are dropped here. */
	for (int i = 0; i < 1 << 16 && recv(fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) >= 0; i++)
		;
	(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
}

static int group_bind(bool shared)
{
	return socket_bind(VB_ROCE_PORT, shared);
}

/* Beyond net.core.rmem_max with the privilege, else up to it: both are only limits. */
static void buffer_enlarge(int fd)
{
	int size = RX_BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size))
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

int vb_group_no_socket(void)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog prog = {.len = 1, .filter = &nothing};
	int fd = socket_bind(0, false);

	if (fd < 0)
		return fd;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof prog)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	group_drain(fd);
	/* The engine takes the windows of its peers from it. */
	buffer_enlarge(fd);
	return fd;
}

int vb_group_own_socket(uint16_t port)
{
	int fd = socket_bind(port, false);

	if (fd >= 0)
		buffer_enlarge(fd);
	return fd;
}

int vb_group_probe(void)
{
	int fd = group_bind(false);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int group_attach(const struct vb_group *g, struct sock_filter *code, unsigned short len)
{
	struct sock_fprog prog = {.len = len, .filter = code};

	if (setsockopt(g->fd[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof prog))
		return -errno;
	return 0;
}

/*
 * Slots from @cnt on, which do not exist, go to socket 0, the broker's: otherwise the kernel would
 * pick a process by hash. The program belongs to the group; attaching it again replaces it at once.
 * While all slots are wide, one load is enough.
 */
static int group_steer(const struct vb_group *g, uint32_t cnt)
{
	struct sock_filter wide[] = {
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, BTH_DQPN_LOW),
	    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, cnt, 1, 0),
	    BPF_STMT(BPF_RET | BPF_A, 0),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	/* vb_slot_of_qpn() */
	struct sock_filter all[] = {
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, BTH_DQPN_LOW),
	    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, VB_SLOT_WIDE, 1, 0),
	    BPF_STMT(BPF_RET | BPF_A, 0),
	    BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, VB_SLOT_WIDE),
	    BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, VB_SLOT_SHARE_BITS),
	    BPF_STMT(BPF_MISC | BPF_TAX, 0),
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, BTH_DQPN_MID),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, VB_SLOT_SHARE - 1),
	    BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
	    BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, VB_SLOT_WIDE),
	    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, cnt, 1, 0),
	    BPF_STMT(BPF_RET | BPF_A, 0),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};

	/* All sockets are there; the last one takes QP1's. */
	struct sock_filter bytes[] = {
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, BTH_DQPN_LOW),
	    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, VB_SLOT_WIDE, 0, 2),
	    BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, VB_SLOT_WIDE - 1),
	    BPF_STMT(BPF_RET | BPF_A, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, VB_SLOT_GSI, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, cnt - 1),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};

	if (g->by_byte)
		return group_attach(g, bytes, sizeof bytes / sizeof bytes[0]);
	return cnt <= VB_SLOT_WIDE ? group_attach(g, wide, sizeof wide / sizeof wide[0])
				   : group_attach(g, all, sizeof all / sizeof all[0]);
}

/* Closes the newest sockets. The program has not named them, or names them no longer. */
static void group_cut(struct vb_group *g, uint32_t cnt)
{
	while (g->cnt > cnt) {
		g->cnt--;
		if (g->fd[g->cnt] >= 0) /* carried slots have none */
			close(g->fd[g->cnt]);
		g->fd[g->cnt] = -1;
	}
}

int vb_group_grow(struct vb_group *g, uint32_t cnt)
{
	uint32_t before = g->cnt;
	int rc = 0;

	if (before + cnt > VB_SLOT_LAST + 1)
		return -ENOSPC;
	while (!rc && g->cnt < before + cnt) {
		int fd = group_bind(true);

		if (fd < 0) {
			rc = fd;
			break;
		}
		g->fd[g->cnt++] = fd;
		vb_group_quiet(g, g->cnt - 1);
	}
	if (!rc)
		rc = group_steer(g, g->cnt);
	if (rc)
		group_cut(g, before);
	return rc;
}

void vb_group_shrink(struct vb_group *g, uint32_t cnt)
{
	/* Best effort: where the program stays, the kernel picks a socket by hash for QPNs of slots
	 * that nobody has. */
	if (g->cnt > cnt)
		(void)group_steer(g, g->cnt - cnt);
	group_cut(g, g->cnt - cnt);
}

int vb_group_adopt(struct vb_group *g, int fd)
{
	int on = 0;
	socklen_t len = sizeof on;

	if (g->cnt > VB_SLOT_LAST || getsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, &len) || !on)
		return -EINVAL;
	g->fd[g->cnt++] = fd;
	return 0;
}

void vb_group_open(struct vb_group *g, uint32_t slot)
{
	group_drain(g->fd[slot]);
	buffer_enlarge(g->fd[slot]);
}

void vb_group_quiet(struct vb_group *g, uint32_t slot)
{
	int fd = g->fd[slot], size = 0; /* the kernel makes it its minimum, about one packet */

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	/*
	 * Nor do multicast packets come here: they would come to every slot. Socket 0 takes them,
	 * and drops them: for a packet that one socket alone wants, Linux would ask the program of
	 * the group after all (udp_v4_early_demux() since 6.9), which knows no slot for the
	 * multicast QPN.
	 */
	vb_udp_sock_take_groups(fd, slot == 0);
	group_drain(fd);
}

void vb_group_close(struct vb_group *g)
{
	group_cut(g, 0);
}
