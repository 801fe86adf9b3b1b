/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the adapter of another host, asks it and takes its answers; see remote.h. */
#include "cmd/ping/remote.h"

#include "cmd/json.h"
#include "node/host/clock.h"
#include "node/netdev/reachability.h"
#include "wire/icrc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* IP and UDP headers; BTH, DETH and ICRC of a UD packet. */
#define UDP_BYTES 8
#define UD_BYTES 24

#define PROBE_ATTEMPTS 3
#define PROBE_NS (300 * VB_MSEC)

static struct vb_gid gid_of(const struct sockaddr_storage *a)
{
	struct vb_gid g = {.b = {[10] = 0xff, [11] = 0xff}};

	if (a->ss_family == AF_INET)
		memcpy(g.b + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
	else
		memcpy(g.b, &((const struct sockaddr_in6 *)a)->sin6_addr, 16);
	return g;
}

static bool has_gid(const struct vb_device *d, const struct vb_gid *gid)
{
	for (int i = 0; i < VB_GIDS_MAX; i++)
		if (d->gid[i].type != VB_GID_NONE && vb_gid_eq(&d->gid[i].gid, gid))
			return true;
	return false;
}

static bool is_named(const struct vb_device *d, const char *name)
{
	return !name || strcmp(name, d->name) == 0 || strcmp(name, d->ifname) == 0;
}

/* The device with the address that this host sends from; virtual functions have their parent's. */
static int find_device(struct vb_remote *r, const char *name, uint32_t ifindex)
{
	for (uint32_t i = 0; i < r->host.device_cnt; i++) {
		const struct vb_device *d = &r->host.device[i];

		if (!d->ifindex || d->parent || !is_named(d, name) || !has_gid(d, &r->from) ||
		    (ifindex && ifindex != d->ifindex))
			continue;
		r->device = i;
		return 0;
	}
	return -ENODEV;
}

/* An address of the named device, which its way goes by. 0: it has none of the family. */
static uint32_t bind_device(const struct vb_remote *r, const char *name, int fd, bool is_ipv4)
{
	for (uint32_t i = 0; i < r->host.device_cnt; i++) {
		const struct vb_device *d = &r->host.device[i];

		if (!d->ifindex || d->parent || !is_named(d, name))
			continue;
		for (int n = 0; n < VB_GIDS_MAX; n++) {
			struct sockaddr_in in = {.sin_family = AF_INET};
			struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
						   .sin6_scope_id = d->ifindex};

			if (d->gid[n].type != (is_ipv4 ? VB_GID_IPV4 : VB_GID_IPV6))
				continue;
			memcpy(&in.sin_addr, d->gid[n].gid.b + 12, 4);
			memcpy(&in6.sin6_addr, d->gid[n].gid.b, 16);
			if (bind(fd, is_ipv4 ? (struct sockaddr *)&in : (struct sockaddr *)&in6,
				 is_ipv4 ? sizeof in : sizeof in6) == 0)
				return d->ifindex;
		}
	}
	return 0;
}

/* Whether, and from where, this host sends to @a; of a datagram socket this is the look-up alone.
 */
static int find_way(struct vb_remote *r, const struct addrinfo *a, const char *device, char *why,
		    size_t why_size)
{
	struct sockaddr_storage from = {0}, to = {0};
	struct sockaddr_in6 in6;
	socklen_t len = sizeof from;
	uint32_t ifindex = 0;
	int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	memcpy(&to, a->ai_addr, a->ai_addrlen);
	if (getnameinfo(a->ai_addr, a->ai_addrlen, r->address, sizeof r->address, NULL, 0,
			NI_NUMERICHOST))
		r->address[0] = 0;
	if (fd >= 0 && device)
		ifindex = bind_device(r, device, fd, a->ai_family == AF_INET);
	if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen) ||
	    getsockname(fd, (struct sockaddr *)&from, &len)) {
		rc = -errno;
		if (device)
			snprintf(why, why_size, "device '%s' does not lead to %s: %s", device,
				 r->address, strerror(-rc));
		else
			snprintf(why, why_size, "this host has no way to %s: %s", r->address,
				 strerror(-rc));
	}
	if (fd >= 0)
		close(fd);
	if (rc)
		return rc;
	r->to = gid_of(&to);
	r->from = gid_of(&from);
	memcpy(&in6, &from, sizeof in6);
	if (a->ai_family == AF_INET6 && !ifindex)
		ifindex = in6.sin6_scope_id;
	rc = find_device(r, device, ifindex);
	if (rc && device)
		snprintf(why, why_size, "no device '%s' leads to %s; see 'verbena devices'", device,
			 r->address);
	else if (rc)
		snprintf(why, why_size,
			 "this host sends to %s from %s, which no device has as a GID; see "
			 "'verbena devices'",
			 r->address, vb_word_gid(&r->from).s);
	return rc;
}

/* The first address of the host to which there is a way. */
static int find_host(struct vb_remote *r, const char *host, const char *device, char *why,
		     size_t why_size)
{
	struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list;
	int rc = getaddrinfo(host, "4791", &hints, &list);

	if (rc) {
		snprintf(why, why_size, "'%s' is no host: %s", host, gai_strerror(rc));
		return -ENOENT;
	}
	rc = -ENETUNREACH;
	for (const struct addrinfo *a = list; a && rc; a = a->ai_next) {
		if (a->ai_family != AF_INET && a->ai_family != AF_INET6)
			continue;
		rc = find_way(r, a, device, why, why_size);
		if (!rc && vb_gid_is_multicast(&r->to)) {
			snprintf(why, why_size, "%s is the address of a group, not of a host",
				 r->address);
			rc = -EINVAL;
		}
	}
	freeaddrinfo(list);
	return rc;
}

int vb_remote_open(struct vb_remote *r, const char *host, const char *device, char *why,
		   size_t why_size)
{
	int rc;

	memset(r, 0, sizeof *r);
	r->o.sock = -1;
	r->hold = vb_broker_hold(why, why_size);
	if (r->hold < 0)
		return r->hold;
	rc = vb_broker_observe(&r->o, false, why, why_size);
	if (!rc) {
		rc = vb_broker_observe_slots(&r->o);
		if (rc)
			snprintf(why, why_size, "the broker does not answer: %s", strerror(-rc));
	}
	if (!rc) {
		vb_host_read(r->o.host, &r->host);
		rc = find_host(r, host, device, why, why_size);
	}
	if (rc)
		vb_remote_close(r);
	r->heeded = VB_NEVER;
	return rc;
}

void vb_remote_close(struct vb_remote *r)
{
	if (r->o.sock >= 0)
		vb_broker_observe_end(&r->o);
	if (r->hold >= 0)
		close(r->hold);
	r->hold = -1;
}

struct vb_broker_ask vb_remote_question(const struct vb_remote *r, uint32_t bytes,
					uint32_t attempts, vb_dur timeout)
{
	struct vb_vendor_msg m = {.attr = VB_VENDOR_ADAPTER};
	struct vb_broker_ask a = {
	    .path = {.port = (uint8_t)(r->device + 1), .sgid = r->from, .dgid = r->to},
	    .len = bytes,
	    .attempts = attempts,
	    .timeout = timeout};

	vb_vendor_emit(&m, a.mad);
	return a;
}

static void take_fit(struct vb_remote *r, uint32_t bytes)
{
	for (uint32_t i = 0; i < VB_REMOTE_SIZES; i++)
		if (vb_mtu_bytes((enum vb_mtu)(i + 1)) == bytes)
			r->fit[i] = VB_FIT_YES;
}

void vb_remote_take(struct vb_remote *r, const struct vb_broker_ask *a)
{
	struct vb_vendor_msg m;
	char version[VB_VENDOR_VERSION_MAX + 1] = "";

	take_fit(r, a->len);
	if (vb_vendor_parse(&m, a->mad) || m.status || m.attr != VB_VENDOR_ADAPTER ||
	    !m.is_response) {
		if (r->kind == VB_REMOTE_SILENT)
			r->kind = VB_REMOTE_FOREIGN;
		return;
	}
	/* Of a question that was asked again it is not known which one was answered. */
	if (a->attempts == 1 && (!r->best || a->round_trip < r->best)) {
		r->best = a->round_trip;
		r->offset = (int64_t)(m.adapter.clock - a->sent_at - a->round_trip / 2);
	}
	r->kind = VB_REMOTE_VERBENA;
	r->adapter = m.adapter;
	memcpy(version, m.adapter.version, VB_VENDOR_VERSION_MAX);
	vb_printable(r->adapter.version, sizeof r->adapter.version, version);
	if (r->adapter.gid_cnt > VB_VENDOR_GIDS)
		r->adapter.gid_cnt = VB_VENDOR_GIDS;
	if (r->adapter.mtu < VB_MTU_256 || r->adapter.mtu > VB_MTU_4096)
		r->adapter.mtu = VB_MTU_256;
}

enum vb_mtu vb_remote_mtu(const struct vb_remote *r)
{
	enum vb_mtu own = (enum vb_mtu)r->host.device[r->device].active_mtu;

	return r->kind == VB_REMOTE_VERBENA && r->adapter.mtu < own ? (enum vb_mtu)r->adapter.mtu
								    : own;
}

bool vb_remote_probe(const struct vb_remote *r, uint32_t size, uint32_t round,
		     struct vb_broker_ask *a)
{
	uint32_t most = (uint32_t)vb_remote_mtu(r) - 1;

	if (size > most || r->fit[size] == VB_FIT_YES || (round == 0 && size != most))
		return false;
	*a = vb_remote_question(r, vb_mtu_bytes((enum vb_mtu)(size + 1)), PROBE_ATTEMPTS, PROBE_NS);
	return true;
}

enum vb_mtu vb_remote_fitting(const struct vb_remote *r)
{
	for (uint32_t i = VB_REMOTE_SIZES; i > 0; i--)
		if (r->fit[i - 1] == VB_FIT_YES)
			return (enum vb_mtu)i;
	return (enum vb_mtu)0;
}

void vb_remote_heed(struct vb_remote *r)
{
	r->heeded = vb_clock_now();
}

int vb_remote_error(const struct vb_remote *r, uint64_t *cnt)
{
	const struct vb_slot_shm *s = r->o.slot[VB_SLOT_GSI];
	struct vb_send_error error[VB_SEND_ERRORS];

	*cnt = 0;
	if (!s)
		return 0;
	vb_explain_read(&s->explain, s->explain.error, error, sizeof error);
	for (uint32_t i = 0; i < VB_SEND_ERRORS; i++) {
		if (!error[i].err || error[i].at < r->heeded || !vb_gid_eq(&error[i].gid, &r->to))
			continue;
		*cnt = error[i].cnt;
		return error[i].err;
	}
	return 0;
}

void vb_remote_silence(const struct vb_remote *r, struct vb_explanation *out)
{
	struct vb_peer_facts p = {
	    .route_errno = vb_reachability_route(&r->to, r->host.device[r->device].ifindex),
	    .neighbour = vb_reachability_neighbour(&r->to)};

	memset(out, 0, sizeof *out);
	p.send_errno = vb_remote_error(r, &p.send_err_cnt);
	out->cause = vb_explain_unanswered(&p, &r->to, out);
}

/* Bytes of the IP packet with @payload bytes in it. */
static uint32_t packet_bytes(const struct vb_remote *r, uint32_t payload)
{
	return (vb_gid_is_ipv4(&r->to) ? 20 : 40) + UDP_BYTES + UD_BYTES + payload;
}

bool vb_remote_say_mtu(const struct vb_remote *r, struct vb_lines *what, struct vb_lines *advice)
{
	enum vb_mtu most = vb_remote_mtu(r), fits = vb_remote_fitting(r);
	uint32_t above = vb_mtu_bytes((enum vb_mtu)(fits + 1));
	uint64_t cnt;

	if (fits == most) {
		vb_line(what, "%u: packets of %u bytes come there and back", vb_mtu_bytes(fits),
			packet_bytes(r, vb_mtu_bytes(fits)));
		if (r->kind == VB_REMOTE_VERBENA &&
		    r->adapter.mtu < r->host.device[r->device].active_mtu)
			vb_line_more(
			    what, "; the adapter there takes no more, this one %u",
			    vb_mtu_bytes((enum vb_mtu)r->host.device[r->device].active_mtu));
		return true;
	}
	vb_line(what, "%u: packets of %u bytes come there and back, those of %u do not%s",
		vb_mtu_bytes(fits), packet_bytes(r, vb_mtu_bytes(fits)), packet_bytes(r, above),
		vb_remote_error(r, &cnt) == EMSGSIZE
		    ? ": the network says that they are too long (ICMP)"
		    : ", and nobody says why: the network drops them");
	vb_line(
	    advice,
	    "The adapters allow a path MTU of %u, the network does not: use %u (ibv_modify_qp, or "
	    "-m of perftest), or raise the MTU of the network to %u.",
	    vb_mtu_bytes(most), vb_mtu_bytes(fits), vb_mtu_bytes(most) + 80);
	return false;
}
