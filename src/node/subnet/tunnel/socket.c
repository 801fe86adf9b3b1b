/* SPDX-License-Identifier: BSD-2-Clause */
/* The sockets of tunnels and their addresses, see tunnel.h. ip(7), ipv6(7), udp(7) */
#include "node/subnet/tunnel/tunnel.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So much waits for this process, where the host's limits let it. */
#define BUFFER (4 << 20)

static int refuse_address(const char *text, char *why, size_t why_size)
{
	snprintf(why, why_size,
		 "'%s' is no address and port, as 192.0.2.1:4000 and [2001:db8::1]:4000 are", text);
	return -EINVAL;
}

int vb_tunnel_address(struct sockaddr_storage *out, socklen_t *len, const char *text, char *why,
		      size_t why_size)
{
	static const struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
						.ai_socktype = SOCK_DGRAM};
	char host[VB_SUBNET_ADDRESS_TEXT], *end = host;
	const char *port = strrchr(text, ':');
	struct addrinfo *found;
	unsigned long number;
	bool is_six;

	if (!port || (size_t)snprintf(host, sizeof host, "%s", text) >= sizeof host)
		return refuse_address(text, why, why_size);
	host[port - text] = 0;
	is_six = host[0] == '[' && host[strlen(host) - 1] == ']';
	if (is_six) {
		host[strlen(host) - 1] = 0;
		end = host + 1;
	}
	if (strspn(port + 1, "0123456789") != strlen(port + 1) || strlen(port + 1) > 5 ||
	    (number = strtoul(port + 1, NULL, 10)) == 0 || number > UINT16_MAX || *end == 0 ||
	    (strchr(end, ':') != NULL) != is_six || getaddrinfo(end, port + 1, &numeric, &found))
		return refuse_address(text, why, why_size);
	memcpy(out, found->ai_addr, found->ai_addrlen);
	*len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

/* Packets of 4 KB may be longer than the path's MTU: IP divides them. */
static void let_divide(int fd, int family)
{
	static const int off = IP_PMTUDISC_DONT, off_six = IPV6_PMTUDISC_DONT, size = BUFFER;

	if (family == AF_INET)
		(void)setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &off, sizeof off);
	else
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &off_six, sizeof off_six);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

static void say_failure(const char *what, const char *local, const char *peer, char *why,
			size_t why_size)
{
	if (strcmp(what, "bind") != 0)
		snprintf(why, why_size, "%s cannot be reached from %s: %s", peer, local,
			 strerror(errno));
	else if (errno == EADDRINUSE)
		snprintf(why, why_size, "%s is in use by another socket of this host", local);
	else if (errno == EADDRNOTAVAIL)
		snprintf(why, why_size, "%s is no address of this host", local);
	else
		snprintf(why, why_size, "%s: %s", local, strerror(errno));
}

int vb_tunnel_socket(const char *local, const char *peer, char *why, size_t why_size)
{
	struct sockaddr_storage from, to;
	socklen_t from_len, to_len;
	const char *what = "bind";
	int fd, rc = vb_tunnel_address(&from, &from_len, local, why, why_size);

	if (!rc)
		rc = vb_tunnel_address(&to, &to_len, peer, why, why_size);
	if (rc)
		return rc;
	if (from.ss_family != to.ss_family) {
		snprintf(why, why_size, "%s and %s are of two families: IPv4 and IPv6", local,
			 peer);
		return -EINVAL;
	}
	fd = socket(from.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		rc = -errno;
		snprintf(why, why_size, "socket: %s", strerror(errno));
		return rc;
	}
	let_divide(fd, from.ss_family);
	rc = bind(fd, (struct sockaddr *)&from, from_len);
	if (!rc) {
		what = "connect";
		rc = connect(fd, (struct sockaddr *)&to, to_len);
	}
	if (rc) {
		rc = -errno;
		say_failure(what, local, peer, why, why_size);
		close(fd);
		return rc;
	}
	return fd;
}

struct vb_subnet_tunnel *vb_subnet_tunnel_at(const struct vb_subnet_daemon *d,
					     struct vb_subnet_place at)
{
	for (struct vb_list *l = d->tunnels.next; l != &d->tunnels; l = l->next) {
		struct vb_subnet_tunnel *t = vb_container_of(l, struct vb_subnet_tunnel, node);

		if (t->at.node == at.node && t->at.port == at.port)
			return t;
	}
	return NULL;
}

void vb_subnet_tunnel_put(struct vb_subnet_tunnel *t, const uint8_t *bytes, uint32_t len)
{
	/* An error is that of an earlier datagram: nobody was there. The next one may arrive. */
	for (int i = 0; i < 2; i++) {
		if (send(t->watch.fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len)
			return;
		if (errno != ECONNREFUSED)
			break;
	}
	t->unsent++;
}
