/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The link that an adapter is plugged into, as a table of operations. A driver (udp/, shm/) frames
 * packets and checks their ICRC; middleware (middle/) implements the same table and forwards to the
 * link below it. Callers know this header and driver.h, and no driver.
 */
#ifndef VB_LINK_LINK_H
#define VB_LINK_LINK_H

#include "base/slot.h"
#include "base/time.h"
#include "link/home.h"
#include "trace/counters.h"
#include "wire/icrc.h"
#include "wire/packet.h"

#include <errno.h>
#include <string.h>

struct vb_flow;
struct vb_flow_own;
struct vb_link;
struct vb_wakeup;
struct vb_carried;

#define VB_LINK_PORTS_MAX 17 /* HCA ports, that is network devices, one link serves, plus one */
#define VB_LINK_FDS_MAX 4    /* descriptors of one link */

/* Parts of the IP headers that received packets can bring, beside addresses. */
enum vb_link_bring {
	VB_LINK_BRING_CLASS = 1, /* DSCP and ECN */
	VB_LINK_BRING_REST = 2,  /* hop limit and flow label */
	VB_LINK_BRING_ALL = 3,
};

/* A packet as it left or arrived, for capture: BTH through ICRC in pieces. */
struct vb_link_tap {
	struct vb_icrc_udp udp; /* addresses, ports, IPv4 identification */
	uint32_t flow_label;
	uint8_t port, traffic_class, hop_limit;
	bool sent;     /* else received */
	uint16_t mark; /* effects of faults on it: enum vb_fault_mark */
	/* CLOCK_REALTIME before the call that sent it: it may arrive before that call is back; 0:
	 * now. */
	uint64_t at_ns;
	uint32_t seg_cnt;
	const struct vb_seg *seg;
};

/* The surroundings of a link. A driver uses the fields that it needs. */
struct vb_link_config {
	struct vb_link *lower; /* a driver that stands before another one owns it from then on */
	int rx_fd;     /* bound AF_INET6 dual-stack (or AF_INET) UDP socket; the link owns it */
	bool rx_joins; /* that socket is the member of groups, and takes the packets of no others */
	/* Interface index by HCA port, for link-local addresses; entry 0 is unused. */
	uint32_t ifindex[VB_LINK_PORTS_MAX];
	struct vb_counters *counters[VB_LINK_PORTS_MAX]; /* by HCA port; entry 0 is unused */
	uint16_t slot; /* of this process on this host, which our QPNs have in them */
	/* The receive sockets of this host, by slot, and our own among them; NULL: nobody shares
	 * that. */
	struct vb_flow *flow;
	struct vb_flow_own *own;  /* to each of them */
	struct vb_wakeup *wakeup; /* where the processes of this host are woken, by slot */
	/* Maps a local address to its HCA port; 0: not ours, the packet is dropped. */
	uint8_t (*port_of)(void *ctx, const struct vb_gid *local, uint32_t ifindex);
	/* The same of the path that a packet came by, where there are LIDs; then every sender is of
	 * this host. NULL: there are none. */
	uint8_t (*port_of_path)(void *ctx, const struct vb_path *path);
	/* The generation of the addresses by which both answer, see home.h. NULL: paths do not say
	 * where their receiver is. */
	const uint16_t *generation;
	/* The fabric, where the port's packets go by LID; NULL: none. See link/ib/map.h. */
	struct vb_ib_link_config *fabric;
	/* Where this process has no socket of port 4791: packets come from the shared broker, see
	 * link/carried/carried.h. NULL: it has one. */
	struct vb_carried *carried;
	/* The slot of the process that carries the packets of this one, with rates and queues of
	 * its own, so that little may wait in between; 0: there is none. */
	uint16_t carrier;
	/* Sees every packet sent and every packet received with a right ICRC, while *tap_on is
	 * nonzero. Either may be NULL. */
	void (*tap)(void *ctx, const struct vb_link_tap *t);
	const uint32_t *tap_on;
	/* The parts of their IP headers, of enum vb_link_bring, that received packets have to
	 * bring; all of them while they are tapped. A part that is not asked for is 0. NULL: none.
	 */
	const uint32_t *bring;
	/* How often an empty socket is looked at before a call comes back with nothing: between two
	 * calls a packet lies there for longer than between two looks. 0: once, and the caller may
	 * not come again before the descriptor is readable. NULL: 0. */
	const uint32_t *looks;
	/* Not 0: the caller waits for the descriptor next, and has to know that nothing is left.
	 * NULL: 0. */
	const uint32_t *drains;
	/* Told what sending to @to met, an errno other than "full for now"; may be NULL. ICMP
	 * messages about a port that nobody has come as ECONNREFUSED. */
	void (*refused)(void *ctx, const struct vb_gid *to, int err);
	void *ctx;
};

/* True when what goes by @path goes to a process of this host. */
static inline bool vb_link_is_here(const struct vb_link_config *cfg, const struct vb_path *path)
{
	if (cfg->generation && __builtin_expect(vb_home_is_known(path->home, *cfg->generation), 1))
		return vb_home_is_here(path->home);
	if (path->port == 0 || path->port >= VB_LINK_PORTS_MAX)
		return false;
	return cfg->port_of_path || (!vb_gid_is_multicast(&path->dgid) &&
				     cfg->port_of(cfg->ctx, &path->dgid, cfg->ifindex[path->port]));
}

/* A process on this host that gets a copy of a multicast packet. */
struct vb_link_copy {
	uint16_t slot;
	uint8_t port; /* of its HCA, by which the copy comes */
};

/*
 * send, recv and close are there in each table, all others may be NULL: then the link below does
 * it, and at the bottom nobody; the functions below say what the caller gets there.
 */
struct vb_link_ops {
	const char *name;

	/*
	 * Sends the packets of @batch from index @from on, in order. Returns how many were taken:
	 * fewer than there are only when the link is full for now (the caller offers the rest
	 * again later). A packet that can never be sent (no route, too long) is taken and counted
	 * as a discard. The batch is borrowed for the call.
	 */
	uint32_t (*send)(struct vb_link *l, const struct vb_tx_batch *batch, uint32_t from,
			 vb_time now);

	/*
	 * Receives up to @cnt packets, ICRC checked, without waiting. The memory that @rx points to
	 * stays valid until the next call of recv.
	 */
	uint32_t (*recv)(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now);

	/* Ends the link and frees it, and the links below it. */
	void (*close)(struct vb_link *l);

	/* See vb_link_fd() and so on. */
	int (*fd)(const struct vb_link *l);
	uint32_t (*fds)(const struct vb_link *l, int *fd);
	bool (*has_packets)(const struct vb_link *l);
	bool (*is_emptied)(const struct vb_link *l);
	void (*park)(struct vb_link *l, bool on);
	uint32_t (*begin_nap)(struct vb_link *l, vb_time now);
	void (*nap)(struct vb_link *l, uint32_t word, vb_dur d);
	bool (*end_nap)(struct vb_link *l);
	bool (*rx_credit)(struct vb_link *l, uint32_t dqpn, vb_time now, uint32_t *credit);
	int (*join)(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid);
	void (*leave)(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid);
	uint32_t (*copy)(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, uint32_t to,
			 struct vb_link_copy whom, vb_time now);
	void (*follow_port)(struct vb_link *l, uint8_t port, uint32_t ifindex);
	void (*sweep)(struct vb_link *l);
	void (*tap_later)(struct vb_link *l, bool on);
	void (*tap_received)(struct vb_link *l, uint32_t i, const struct vb_rx *rx, uint16_t mark);
};

struct vb_link {
	const struct vb_link_ops *ops;
	struct vb_link *lower; /* NULL at the bottom */
	/* recv has to be called by then, whatever the descriptor says; VB_NEVER: it tells all. */
	vb_time due;
	uint32_t window_max; /* bytes in flight towards a peer at most; UINT32_MAX: no limit */
	uint32_t batch_max;  /* bytes that leave by one send at less cost than one by one; or 0 */
};

/* A link with @ops before @lower, which may be NULL; it is like that one but for its operations. */
static inline struct vb_link vb_link_before(struct vb_link *lower, const struct vb_link_ops *ops)
{
	return (struct vb_link){.ops = ops,
				.lower = lower,
				.due = VB_NEVER,
				.window_max = lower ? lower->window_max : UINT32_MAX,
				.batch_max = lower ? lower->batch_max : 0};
}

/* The first link from @l downwards that has the operation @op itself, or NULL. */
#define VB_LINK_FIND(l, op)                                                                        \
	while ((l) && !(l)->ops->op)                                                               \
	(l) = (l)->lower

/* A descriptor that is readable when recv has packets. -1: there is none, and due tells alone. */
static inline int vb_link_fd(const struct vb_link *l)
{
	VB_LINK_FIND(l, fd);
	return l ? l->ops->fd(l) : -1;
}

/* Writes the descriptors that vb_link_fd() is readable for, each by itself, at @fd, which has room
 * for VB_LINK_FDS_MAX. Returns how many. */
static inline uint32_t vb_link_fds(const struct vb_link *l, int *fd)
{
	const struct vb_link *one = l;

	VB_LINK_FIND(l, fds);
	if (l)
		return l->ops->fds(l, fd);
	fd[0] = vb_link_fd(one);
	return fd[0] >= 0;
}

/* True: recv has packets that the descriptor does not show. */
static inline bool vb_link_has_packets(const struct vb_link *l)
{
	VB_LINK_FIND(l, has_packets);
	return l && l->ops->has_packets(l);
}

/* True: the last recv took all that there was. Else another one may be needed to know. */
static inline bool vb_link_is_emptied(const struct vb_link *l)
{
	VB_LINK_FIND(l, is_emptied);
	return l && l->ops->is_emptied(l);
}

/*
 * With @on, the caller is about to wait for the descriptor alone, until it says that it no longer
 * does. It asks has_packets in between: the descriptor shows packets that come later.
 */
static inline void vb_link_park(struct vb_link *l, bool on)
{
	VB_LINK_FIND(l, park);
	if (l)
		l->ops->park(l, on);
}

/* True: the descriptor shows packets only to a caller that has said that it waits. */
static inline bool vb_link_is_silent(const struct vb_link *l)
{
	VB_LINK_FIND(l, park);
	return l != NULL;
}

/*
 * A sleep that is cheap to end, for a caller that waits while packets come in silence alone. begin
 * is called under the caller's lock and returns a word for nap, or 0: now is not such a time. Then
 * has_packets is asked; and nap, not under the lock, sleeps for at most @d, and not for long:
 * packets that the descriptor shows do not end it. It is ended by packets, and by end_nap from
 * another thread; true: there was a nap to end. vb_link_park(), off, closes it.
 */
static inline uint32_t vb_link_begin_nap(struct vb_link *l, vb_time now)
{
	VB_LINK_FIND(l, begin_nap);
	return l ? l->ops->begin_nap(l, now) : 0;
}

static inline void vb_link_nap(struct vb_link *l, uint32_t word, vb_dur d)
{
	VB_LINK_FIND(l, nap);
	if (l)
		l->ops->nap(l, word, d);
}

static inline bool vb_link_end_nap(struct vb_link *l)
{
	VB_LINK_FIND(l, end_nap);
	return l && l->ops->end_nap(l);
}

/*
 * The bytes that the process of @dqpn, on this host, can take now; UINT32_MAX: it is not to be
 * waited for. False: the link does not know.
 */
static inline bool vb_link_rx_credit(struct vb_link *l, uint32_t dqpn, vb_time now,
				     uint32_t *credit)
{
	VB_LINK_FIND(l, rx_credit);
	return l && l->ops->rx_credit(l, dqpn, now, credit);
}

/*
 * Joins the multicast group @gid on the network device of HCA port @port, as often as it is left
 * again; on InfiniBand, the packets of @lid, which is 0 elsewhere. A negative errno: as the kernel
 * says, -ENODEV where the device is gone, -EOPNOTSUPP for a link without groups.
 */
static inline int vb_link_join(struct vb_link *l, uint8_t port, const struct vb_gid *gid,
			       uint16_t lid)
{
	VB_LINK_FIND(l, join);
	return l ? l->ops->join(l, port, gid, lid) : -EOPNOTSUPP;
}

static inline void vb_link_leave(struct vb_link *l, uint8_t port, const struct vb_gid *gid,
				 uint16_t lid)
{
	VB_LINK_FIND(l, leave);
	if (l)
		l->ops->leave(l, port, gid, lid);
}

/*
 * Copies packets @from to @to of @b, all of one path, to the process @whom on this host, whatever
 * QP they name. Nothing waits for room: see vb_link_rx_credit(). Nor is it counted as sent. Returns
 * how many there was room for; a process that nothing reaches has had them all.
 */
static inline uint32_t vb_link_copy(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from,
				    uint32_t to, struct vb_link_copy whom, vb_time now)
{
	VB_LINK_FIND(l, copy);
	return l ? l->ops->copy(l, b, from, to, whom, now) : to - from;
}

/* HCA port @port has become interface @ifindex; port_of answers may have changed for any. */
static inline void vb_link_follow_port(struct vb_link *l, uint8_t port, uint32_t ifindex)
{
	VB_LINK_FIND(l, follow_port);
	if (l)
		l->ops->follow_port(l, port, ifindex);
}

/* Gives up what is shared with processes that are gone: about once a second. */
static inline void vb_link_sweep(struct vb_link *l)
{
	VB_LINK_FIND(l, sweep);
	if (l)
		l->ops->sweep(l);
}

/*
 * For middleware that decides about received packets: with @on they are not shown to the tap until
 * vb_link_tap_received() is called for packet @i, @rx, of the last recv, with what became of it
 * (link/middle/fault.h).
 */
static inline void vb_link_tap_later(struct vb_link *l, bool on)
{
	VB_LINK_FIND(l, tap_later);
	if (l)
		l->ops->tap_later(l, on);
}

static inline void vb_link_tap_received(struct vb_link *l, uint32_t i, const struct vb_rx *rx,
					uint16_t mark)
{
	VB_LINK_FIND(l, tap_received);
	if (l)
		l->ops->tap_received(l, i, rx, mark);
}

/*
 * Sends the packets of @b from @from to @to by @l, for middleware that takes the others itself.
 * @part is a batch of its own, which has those packets then. Returns how many were taken.
 */
static inline uint32_t vb_link_send_part(struct vb_link *l, struct vb_tx_batch *part,
					 const struct vb_tx_batch *b, uint32_t from, uint32_t to,
					 vb_time now)
{
	if (to == b->cnt)
		return l->ops->send(l, b, from, now);
	part->cnt = to - from;
	part->fate = b->fate ? b->fate + from : NULL;
	memcpy(part->pkt, b->pkt + from, part->cnt * sizeof *b->pkt);
	return l->ops->send(l, part, 0, now);
}

#endif
