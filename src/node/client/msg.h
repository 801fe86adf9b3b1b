/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages between the broker and its clients and observers, and the one place that sends and
 * receives descriptors. One struct for every message: SOCK_SEQPACKET keeps the borders.
 */
#ifndef VB_NODE_CLIENT_MSG_H
#define VB_NODE_CLIENT_MSG_H

#include "node/shared/shm.h"
#include "reg/reg.h"
#include "wire/mad/mad.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VB_BROKER_MAGIC 0x56424d53u
/* Of the messages, in the low byte of the memory that is shared, and above both the size of that: a
 * member more is another version, too. magic to text never move: a broker of another version can be
 * told apart and can say so. */
#define VB_BROKER_VERSION                                                                          \
	((uint32_t)(sizeof(struct vb_host_memory) + sizeof(struct vb_slot_shm)) / 16 << 12 |       \
	 (0xe00u + VB_SHM_VERSION))

#define VB_BROKER_TEXT_MAX 400
#define VB_BROKER_SLOTS_MAX 64 /* of one VB_BROKER_SLOTS message */
#define VB_BROKER_FDS_MAX VB_BROKER_SLOTS_MAX

enum vb_broker_op {
	/* To the broker. */
	/* Give me a slot; or: I have slot @slot from the shared broker, and @cnt processes of this
	 * user had slots before. */
	VB_BROKER_CLIENT = 1,
	VB_BROKER_REATTACH, /* I have slot @slot, or am a keeper; comes with the descriptor store */
	VB_BROKER_OBSERVER, /* give me host memory */
	VB_BROKER_GET_SLOTS, /* observer: give me the slots */
	VB_BROKER_CAPTURE,   /* observer: capture on (@slot 1) or off (0) */
	VB_BROKER_REGISTER,  /* observer: what @reg says; comes back with DONE */
	VB_BROKER_KEEP,      /* observer: stay (@slot 1), with @cnt VFs each, or not (0) */
	VB_BROKER_FAULT,     /* observer: the rules of device @slot are @text, with seed @seed */
	/* Observer: what @csr says; comes back with DONE. For registers of a QP the broker hands
	 * it on to the QP's client, which sends it back with their values. */
	VB_BROKER_CSR,
	VB_BROKER_EXPLAIN, /* observer: have the clients write views, of QPN @slot first */
	/* Observer: how connections of RDMA CM stand; DONE comes with the memory of a struct
	 * vb_cm_table. */
	VB_BROKER_CONNECTIONS,
	VB_BROKER_ASK,  /* observer: asks another adapter; @slot comes back with DONE */
	VB_BROKER_CM,   /* what follows are calls of node/cm/call.h; WELCOME comes first */
	VB_BROKER_UMAD, /* the same of node/subnet/call.h, of files of umad alone */
	/* From the broker. */
	VB_BROKER_WELCOME, /* to a client: rx_fd, slot memory, host memory, descriptor store; to an
			      observer: host memory; to a client that reattaches: none */
	VB_BROKER_SLOTS,   /* slot[0 ... cnt - 1] and their memory; the last one has more == 0 */
	VB_BROKER_DONE,
};

enum vb_broker_reg_method {
	VB_BROKER_REG_GET,
	VB_BROKER_REG_SET,
	VB_BROKER_REG_RESET, /* all registers of the device, as a reset of the firmware */
};

struct vb_broker_reg {
	uint32_t method, id, len;
	char device[32]; /* its name, or that of its network device */
	uint8_t image[VB_REG_BYTES_MAX];
};

enum vb_broker_csr_method {
	VB_BROKER_CSR_READ,
	VB_BROKER_CSR_WRITE,
	VB_BROKER_CSR_NAME, /* at[] are indexes of vb_cc_names[] */
	/* As READ, of a recorder the entries in their order, each read of DFX_INFO the next one;
	 * they stay there. */
	VB_BROKER_CSR_LOOK,
};

static inline bool vb_broker_csr_reads(uint32_t method)
{
	return method == VB_BROKER_CSR_READ || method == VB_BROKER_CSR_LOOK;
}

#define VB_BROKER_WORDS_MAX 72 /* of one VB_BROKER_CSR message */

/* Accesses to the CSR space, in their order: to registers of one QP, or to global ones. Those to
 * global ones take effect together or, if one is refused, not at all. */
struct vb_broker_csr {
	uint32_t method, cnt;
	char device[32]; /* its name, or that of its network device */
	/* Set by the broker: */
	uint32_t qpn;    /* 0: global */
	uint32_t failed; /* with a status: the access that was refused */
	uint32_t tag;    /* of the request */
	uint32_t rsv;
	struct {
		uint32_t at, rsv;
		uint64_t word; /* written, or read */
		uint64_t mask; /* what is written of it; the rest stays as it is */
	} access[VB_BROKER_WORDS_MAX];
};

/* A question to another adapter, by QP1, and its answer. */
struct vb_broker_ask {
	struct vb_path path; /* port, sgid and dgid */
	uint32_t len;      /* of the packet's payload, VB_MAD_LEN to 4096 bytes, a multiple of 4 */
	uint32_t attempts; /* 1 to VB_BROKER_ATTEMPTS_MAX */
	vb_dur timeout;    /* of each */
	uint8_t mad[VB_MAD_LEN]; /* the broker gives it a transaction ID; then the answer */
	/* Of the answer: */
	uint64_t sent_at; /* the question that may have been answered last, CLOCK_REALTIME */
	vb_dur round_trip;
};
#define VB_BROKER_ATTEMPTS_MAX 10
#define VB_BROKER_ASKS_MAX 32 /* of one observer at once */

struct vb_broker_msg {
	uint32_t magic, version;
	uint32_t op;    /* enum vb_broker_op */
	int32_t status; /* 0 or a negative errno, then @text has one line for the user */
	char text[VB_BROKER_TEXT_MAX];
	uint32_t slot;
	uint32_t cnt, more;
	uint16_t slots[VB_BROKER_SLOTS_MAX];
	char comm[16]; /* of a client */
	struct vb_broker_reg reg;
	struct vb_broker_csr csr;
	struct vb_broker_ask ask;
	uint64_t seed;
};

enum { VB_WELCOME_RX, VB_WELCOME_SLOT, VB_WELCOME_HOST, VB_WELCOME_FD_STORE, VB_WELCOME_CNT };

struct vb_fds {
	uint32_t cnt;
	int fd[VB_BROKER_FDS_MAX];
};

/* A message of @op, all else zero. */
void vb_broker_msg_init(struct vb_broker_msg *m, enum vb_broker_op op);

/* Sends @data with the descriptors of @fds (NULL: none), without waiting. Returns 0 or a negative
 * errno. */
int vb_fds_send(int sock, const void *data, size_t len, const struct vb_fds *fds);

/*
 * Receives @len bytes and what descriptors come along; @flags as recvmsg has them. Returns the
 * number of bytes (0: the other side closed), or a negative errno. -EMFILE: descriptors were lost
 * because this process has no room for them.
 */
ssize_t vb_fds_recv(int sock, void *data, size_t len, struct vb_fds *fds, int flags);

void vb_fds_close(struct vb_fds *fds);

/*
 * Closes @sock, which a process of another user has the other end of. Descriptors may wait in it,
 * whose close takes as long as that user likes: a TCP socket with SO_LINGER. So the last who has
 * @sock is a process that ends, for then the kernel waits for nothing. socket(7), unix(7)
 */
void vb_stranger_close(int sock);
/* ... and several of them, by one such process. */
void vb_strangers_close(const int *sock, uint32_t cnt);

/* Receives one message. 1: there is one, 0: the other side closed, else a negative errno; -EPROTO:
 * not a message of this version. */
int vb_broker_msg_recv(int sock, struct vb_broker_msg *m, struct vb_fds *fds, int flags);

/* The abstract address of user @uid's broker. Returns its length. */
struct sockaddr_un;
unsigned vb_broker_address(struct sockaddr_un *a, uid_t uid);

#endif
