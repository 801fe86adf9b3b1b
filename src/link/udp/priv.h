/* SPDX-License-Identifier: BSD-2-Clause */
/* The UDP link's own structures, shared by the files of this folder. */
#ifndef VB_LINK_UDP_PRIV_H
#define VB_LINK_UDP_PRIV_H

#include "base/cold.h"
#include "link/udp/udp.h"
#include "wire/hdr.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define VB_IPV4_DF 0x4000

/* Hop limit of what asks for none, and of the sockets. */
#define VB_UDP_HOP_LIMIT 64

/* Sockets that send: one for each source address and UDP source port in use, up to this many. */
#define VB_UDP_SEND_SOCKS 64

#define VB_UDP_GSO_MAX 64 /* UDP_MAX_SEGMENTS of kernels before 6.9 */

/* 64 KiB is the longest datagram or GSO batch; a few buffers, so that they stay in a second-level
 * cache until the core has copied them out. */
#define VB_UDP_RX_BUFS 8
#define VB_UDP_RX_BYTES 65536
#define VB_UDP_RX_CONTROL 256

/* An option of a socket that sends can override with control data. */
struct vb_udp_option {
	int have;    /* the socket's own value */
	int asked;   /* the value that the last send that differed asked for, */
	uint8_t run; /* and how many of them in a row */
};

/*
 * The pseudo header of a flow: the ICRC state behind it for a packet of no length and with
 * identification 0. A CRC is linear: the bits that length and identification change in a state do
 * not depend on the rest.
 */
struct vb_udp_pseudo {
	uint32_t state;
	bool is_ipv6;
};

/* Lengths of packets, in words: at MTU 4096 they have at most 1042. */
#define VB_UDP_ICRC_WORDS 1088

struct vb_udp_icrc {
	uint32_t id_delta[2][256]; /* bits that an identification changes: high, low byte */
	/* The bits that a length changes, over IPv4 and IPv6; 0: not computed yet. */
	uint32_t len_delta[2][VB_UDP_ICRC_WORDS];
};

struct vb_udp_sock {
	int fd;             /* -1: not open */
	struct vb_gid sgid; /* source address and port that were asked for */
	uint16_t sport;
	uint16_t port; /* the source port it has */
	bool is_ipv6;
	bool is_bound;     /* to sgid; else each send has to say it */
	bool is_connected; /* to dgid, with a flow label */
	struct vb_gid dgid;
	uint32_t connected_label;
	uint16_t ip_id;  /* IPv4: identification of the next datagram; unconnected: always 0 */
	uint16_t probes; /* to find it out */
	bool gso;        /* UDP_SEGMENT works */
	bool flow_label; /* the kernel takes IPv6 flow labels that nobody has leased */
	struct vb_udp_option traffic_class, hop_limit;
	struct vb_udp_option segment; /* UDP_SEGMENT; 0: none */
	uint8_t sl;                   /* it gives the priority; 0: as the traffic class says */
	/* The last packet sent had this, from pseudo_sgid to pseudo_dgid. */
	struct vb_udp_pseudo pseudo;
	struct vb_gid pseudo_sgid, pseudo_dgid;
};

struct vb_udp_socks {
	struct vb_udp_sock own[2]; /* IPv4, IPv6: on a port of the kernel's choice */
	/* On addresses and ports asked for. fd -1: none was opened, the own socket stands in. */
	struct vb_udp_sock sock[VB_UDP_SEND_SOCKS];
	uint32_t cnt, last;
};

/* Payload up to so many bytes is copied first, and then read for the ICRC together with the
 * headers: as fast, and for a few bytes faster. */
#define VB_UDP_SHORT_MAX 512
#define VB_UDP_FRAME_MAX (VB_HDR_MAX + VB_PAYLOAD_MAX + VB_PAD_MAX + VB_ICRC_LEN)

struct vb_udp_tx {
	/* The packets of a call, one behind the other: headers, payload, pad and ICRC. */
	uint8_t frame[VB_TX_BATCH_PKTS * VB_UDP_FRAME_MAX];
	uint8_t *frame_at[VB_TX_BATCH_PKTS + 1];
	struct iovec iov[VB_TX_BATCH_PKTS];   /* one for each message, */
	struct mmsghdr msg[VB_TX_BATCH_PKTS]; /* without UDP_SEGMENT for each packet */
	uint64_t sent_ns;                     /* as struct vb_link_tap has it, of this call */
};

/* One received datagram or GSO batch. */
struct vb_udp_rx_buf {
	struct vb_path path;
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} name;
	_Alignas(struct cmsghdr) uint8_t control[VB_UDP_RX_CONTROL];
	_Alignas(64) uint8_t data[VB_UDP_RX_BYTES];
};

/* A row of IPv4 identifications: that of the last GSO batch's first packet, and what follows. */
struct vb_udp_track {
	uint16_t id;
	uint16_t frag; /* flags and fragment offset of its packets */
	uint8_t step;  /* from GSO batch to GSO batch: 0 or 1 */
	uint8_t run;   /* GSO batches that came where they were expected */
	vb_time heard;
};

/* Our knowledge of a sender's IPv4 identifications, which a UDP socket does not show. */
struct vb_udp_sender {
	struct vb_gid gid;
	uint16_t port;
	uint8_t track_cnt;
	bool has_stray;
	uint16_t stray_apart;         /* from the track, bit by bit */
	struct vb_udp_track track[2]; /* the one heard last first; a sender may have two counters */
	struct vb_udp_track stray;    /* the last identification that was not believed */
	vb_time skipped;              /* its counter last seemed to skip many numbers; 0: never */
};

#define VB_UDP_SENDER_SETS 64 /* power of two */
#define VB_UDP_SENDER_WAYS 4u

/* Senders whose packets had a right ICRC; the one heard least recently makes room. */
struct vb_udp_senders {
	struct vb_udp_sender sender[VB_UDP_SENDER_SETS][VB_UDP_SENDER_WAYS];
	struct vb_udp_sender stranger; /* of the GSO batch at hand, when it is not among them */
};

/* Damaged packets of a while. */
struct vb_udp_doubt {
	vb_time since;
	uint32_t damaged;
};

enum vb_udp_stray_state {
	VB_UDP_STRAY_NONE,
	VB_UDP_STRAY_KEPT,
	VB_UDP_STRAY_DUE,  /* it goes before the packet at hand */
	VB_UDP_STRAY_LENT, /* it was handed out with this call of recv */
};

/* The last packet whose identification was not believed. */
struct vb_udp_stray {
	enum vb_udp_stray_state state;
	struct vb_path path;
	struct vb_counters *counters;
	struct vb_icrc_udp seen; /* with its identification */
	vb_time heard;
	uint32_t len; /* with its ICRC */
	uint8_t pkt[VB_UDP_FRAME_MAX];
};

/* When an identification was heard, and how much else there is to believe. */
struct vb_udp_heard {
	vb_time now;
	vb_time empty_at; /* the socket was last empty */
	const struct vb_udp_doubt *doubt;
};

/* Where a GSO batch came from, and the name and control data that say so. */
struct vb_udp_origin {
	bool is_known;     /* else of no other GSO batch than the one at hand */
	bool is_multicast; /* to a group */
	bool is_counted;   /* by a sender of this host, see link/flow.h */
	struct vb_path path;
	struct vb_icrc_udp udp; /* ip_id is 0 */
	struct vb_udp_pseudo pseudo;
	uint32_t seg_len; /* bytes of its packets; 0: it is one packet */
	struct vb_udp_sender *sender;
	struct vb_counters *counters;
	size_t name_len, control_len;
	uint8_t name[sizeof(struct sockaddr_in6)];
	uint8_t control[VB_UDP_RX_CONTROL];
};

#define VB_UDP_SEEN_MAX 128

struct vb_udp_rx {
	struct vb_udp_rx_buf *buf; /* VB_UDP_RX_BUFS of them */
	struct iovec iov[VB_UDP_RX_BUFS];
	struct mmsghdr msg[VB_UDP_RX_BUFS];
	uint32_t brings;  /* of enum vb_link_bring, what the socket is told to */
	uint32_t ask;     /* buffers to fill with the next call; grows while they come back full */
	bool is_emptied;  /* the last call left nothing */
	bool is_long;     /* the last datagrams were */
	uint32_t used;    /* entries of msg that the kernel has written */
	uint32_t in_vain; /* calls in a row that brought nothing */
	uint32_t cnt, next; /* buffers filled, and the first of them that has packets left */
	/* The GSO batch at hand, buffer next: bytes in all, bytes taken, and of each packet. */
	uint32_t len, at, seg_len;
	uint32_t seg_no; /* of the packet at at */
	bool tap_later;
	uint32_t seen_cnt; /* packets of this call that the tap has not seen yet */
	struct vb_icrc_udp seen[VB_UDP_SEEN_MAX];
	bool is_begun;  /* its origin is read */
	bool is_heard;  /* a packet of it had a right ICRC */
	uint16_t ip_id; /* identification of its first packet, expected or found */
	struct vb_udp_origin origin;
	vb_time now, empty_at; /* of this call; of the last look at an empty socket */
	struct vb_udp_doubt doubt;
	struct vb_udp_senders senders;
	struct vb_udp_stray stray;
};

struct vb_udp {
	struct vb_link link; /* first: the link is the object */
	struct vb_link_config cfg;
	struct vb_counters nobody; /* for ports without counters */
	struct vb_udp_icrc icrc;
	struct vb_udp_socks socks;
	struct vb_udp_tx tx;
	struct vb_udp_rx rx;
	struct vb_udp_group *group;   /* multicast groups joined, */
	struct vb_udp_holder *holder; /* and the sockets of the memberships */
	uint32_t group_cnt, holder_cnt;
};

/* mcast.c */
void vb_udp_groups_close(struct vb_udp *u);

/* sock.c */

/* Opens the sockets of the kernel's choice. -EAFNOSUPPORT: neither IPv4 nor IPv6. */
int vb_udp_socks_open(struct vb_udp_socks *s);
void vb_udp_socks_close(struct vb_udp_socks *s);

/*
 * The socket to send from on the path @p. The socket may have another port, when somebody else has
 * this one or there are too many: the ICRC must be made with ->port. NULL: this machine does not
 * have the address family.
 */
struct vb_udp_sock *vb_udp_sock_find(struct vb_udp_socks *s, const struct vb_path *p);

/* Prepares the socket of the SO_REUSEPORT group for receiving. */
int vb_udp_sock_receive(int fd);

/* From now on packets bring of their IP headers what @bring has of enum vb_link_bring, and no more.
 */
VB_COLD void vb_udp_sock_bring(int fd, uint32_t bring);

/* connect.c */

/* Connects @s, which was just opened, if that is of use. */
void vb_udp_sock_connect(struct vb_udp_sock *s, const struct vb_gid *dgid, uint32_t flow_label);

/* The kernel may have given away an identification without a datagram that left. */
VB_COLD void vb_udp_sock_relearn(struct vb_udp_sock *s);

/* envelope.c */

#define VB_UDP_TX_CONTROL 128

/* Everything of a message but its bytes. */
struct vb_udp_envelope {
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} name;
	_Alignas(struct cmsghdr) uint8_t control[VB_UDP_TX_CONTROL];
	struct msghdr msg; /* msg_iov is the caller's to fill */
};

/* The path @p, to be sent from @s; @ifindex is the interface of the path's HCA port. */
void vb_udp_address(struct vb_udp_envelope *e, const struct vb_path *p, struct vb_udp_sock *s,
		    uint32_t ifindex);

/*
 * Has the kernel cut what is sent into segments of @seg bytes; 0: not at all, the message is one
 * packet of @len bytes (UINT16_MAX: of any length). Unless @may_set the socket's option stays as it
 * is: messages that were made before, and rely on it, have not left yet.
 */
void vb_udp_segment(struct vb_udp_envelope *e, struct vb_udp_sock *s, uint16_t seg, uint32_t len,
		    bool may_set);

/* frame.c */

void vb_udp_icrc_init(struct vb_udp_icrc *c);

/* Of the flow that @in has the addresses and ports of. */
struct vb_udp_pseudo vb_udp_pseudo(const struct vb_icrc_udp *in);

/* The ICRC state behind the pseudo header of a packet of @len bytes, BTH through ICRC, with
 * identification @id. */
uint32_t vb_udp_icrc_start(struct vb_udp_icrc *c, const struct vb_udp_pseudo *p, uint32_t len,
			   uint16_t id);

/* How a GSO batch is sent. */
struct vb_udp_sending {
	const struct vb_udp_pseudo *pseudo;
	uint32_t first; /* index of the first packet; those before it stay laid out */
	uint16_t ip_id; /* identification of the first packet, */
	uint16_t step;  /* and from each packet to the next */
	const struct vb_tx_fate *fate; /* of each packet, or NULL */
};

/* Lays out @cnt packets, ICRC and all, one behind the other: packet k of the call from
 * frame_at[k] to frame_at[k + 1]. */
void vb_udp_frame(struct vb_udp_tx *x, const struct vb_tx *pkt, uint32_t cnt,
		  const struct vb_udp_sending *how, struct vb_udp_icrc *c);

/* origin.c */

/* Has u->rx.origin say where the GSO batch in @b came from, with name and control data as @m says.
 * False: not for an HCA port of ours. */
bool vb_udp_find_origin(struct vb_udp *u, const struct vb_udp_rx_buf *b, struct msghdr *m);

/* sender.c */

/* The record of the sender of a GSO batch with the path @p: an entry, or the stranger. */
struct vb_udp_sender *vb_udp_sender_find(struct vb_udp_senders *t, const struct vb_path *p);
/* The stranger, whose path is @p, becomes an entry. */
VB_COLD struct vb_udp_sender *vb_udp_sender_keep(struct vb_udp_senders *t, const struct vb_path *p);

/* The identification that the next GSO batch is expected to begin with. */
static inline uint16_t vb_udp_sender_next(const struct vb_udp_sender *s)
{
	return (uint16_t)(s->track[0].id + s->track[0].step);
}

/* The first GSO batch of a stranger began with @id. */
VB_COLD void vb_udp_sender_begin(struct vb_udp_sender *s, uint16_t id, vb_time now);

/* A GSO batch began with the expected identification, @id. */
static inline void vb_udp_sender_heard(struct vb_udp_sender *s, uint16_t id, vb_time now)
{
	struct vb_udp_track *t = &s->track[0];

	if (s->track_cnt == 0) {
		vb_udp_sender_begin(s, id, now);
		return;
	}
	t->id = id;
	t->frag = VB_IPV4_DF;
	t->run += t->run < UINT8_MAX;
	t->heard = now;
}

/* Whether a GSO batch belongs to a sender. */
enum vb_udp_belief {
	VB_UDP_REFUSED,
	VB_UDP_BELIEVED,
	VB_UDP_SKIPPED, /* it does, and numbers before it were used by others */
};

/* Whether a GSO batch whose ICRCs are right if it began with @id, flags and fragment offset @frag,
 * is the sender's. It is another than the expected one. */
VB_COLD enum vb_udp_belief vb_udp_sender_believes(struct vb_udp_sender *s, uint16_t id,
						  uint16_t frag, const struct vb_udp_heard *h);

/* A counter may have advanced by @ahead, not 0, in the time @d of a sender that is at work. */
VB_COLD bool vb_udp_sender_reaches(uint16_t ahead, vb_dur d);

/* One more packet was damaged. */
void vb_udp_doubt(struct vb_udp_doubt *d, vb_time now);

/* stray.c */

/* Begins a call of recv: the packet that was handed out is no longer needed, and one that waited in
 * vain counts as damaged. */
VB_COLD void vb_udp_stray_look(struct vb_udp *u);
/* Keeps a packet of the GSO batch at hand, whose ICRC is right with @id and @frag. False: it
 * cannot, and the packet is the caller's to count. */
VB_COLD bool vb_udp_stray_keep(struct vb_udp *u, const uint8_t *pkt, uint32_t len, uint16_t id,
			       uint16_t frag);
/* The GSO batch at hand is believed, a packet of it with @id. The packet that is kept is due before
 * it, or damaged, if it is of the same sender. */
VB_COLD void vb_udp_stray_judge(struct vb_udp *u, uint16_t id, uint16_t frag, bool has_skipped);
/* The packet was a damaged one. */
VB_COLD void vb_udp_stray_drop(struct vb_udp *u);
/* Hands out the packet that is due. It stays valid until the next call of recv. */
VB_COLD void vb_udp_stray_take(struct vb_udp *u, struct vb_rx *out);

/* tx.c, rx.c: the rows of struct vb_link_ops */
uint32_t vb_udp_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, vb_time now);
uint32_t vb_udp_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now);
bool vb_udp_is_emptied(const struct vb_link *l);
int vb_udp_rx_open(struct vb_udp_rx *rx);
void vb_udp_tap_received(struct vb_link *l, uint32_t i, const struct vb_rx *rx, uint16_t mark);

static inline struct vb_udp *vb_udp_of(struct vb_link *l)
{
	return (struct vb_udp *)l;
}

static inline struct vb_counters *vb_udp_counters(struct vb_udp *u, uint8_t port)
{
	return port < VB_LINK_PORTS_MAX ? u->cfg.counters[port] : &u->nobody;
}

/* True when the kernel numbers what @s sends. */
static inline bool vb_udp_is_numbered(const struct vb_udp_sock *s)
{
	return s->is_connected && !s->is_ipv6;
}

static inline bool vb_udp_is_tapped(const struct vb_udp *u)
{
	return __builtin_expect(__atomic_load_n(u->cfg.tap_on, __ATOMIC_RELAXED) != 0, 0);
}

/* Sends in a row that may each meet an error that is not theirs. */
#define VB_UDP_STALE_MAX 4

/*
 * True when @err may have been told by an ICMP message about an earlier datagram: a connected
 * socket reports it with the next send, which does not leave then. A forged message must not stop
 * the packets that we send. ip(7), ICMP types of RFC 1122 3.2.2
 */
static inline bool vb_udp_may_be_stale(int err)
{
	return err == ECONNREFUSED || err == EMSGSIZE || err == EHOSTUNREACH ||
	       err == ENETUNREACH || err == EHOSTDOWN || err == ENONET || err == ENOPROTOOPT ||
	       err == EOPNOTSUPP || err == EPROTO || err == EACCES;
}

/* True for fe80::/10. */
static inline bool vb_udp_is_link_local(const struct vb_gid *g)
{
	return g->b[0] == 0xfe && (g->b[1] & 0xc0) == 0x80;
}

/* mcast.c: rows of struct vb_link_ops */
int vb_udp_join(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid);
void vb_udp_leave(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid);

#endif
