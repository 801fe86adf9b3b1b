/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queue elements and completion entries as an adapter reads and writes them in a program's
 * memory: bytes to work requests, work requests to bytes, completions to bytes. Nothing here knows
 * where the memory is. Bytes of a program are not trusted: the caller copies them first, and what
 * is wrong with them becomes a fault, never more. IBT-38...IBT-57
 */
#ifndef VB_WQE_WQE_H
#define VB_WQE_WQE_H

#include "core/types.h"
#include "wqe/layout.h"

#include <stddef.h>

#define VB_WQE_UNIT 16u   /* of DS */
#define VB_WQE_BLOCK 64u  /* a send WQE begins at one, and the index counts them */
#define VB_WQE_DS_MAX 63u /* 6 bits of DS are used by adapters */
#define VB_WQE_BYTES_MAX (16u * VB_WQE_BLOCK) /* VB_WQE_DS_MAX units in whole blocks */
#define VB_WQE_SGES_MAX 62u
#define VB_CQE_DATA 32u        /* of an entry of 64 bytes; all in front of one of 128 */
#define VB_WQE_LKEY_END 0x100u /* ends the list of a receive WQE: MLX5_INVALID_LKEY */

enum vb_wqe_opcode {
#define WQE_OPCODE(name, number, work, text) VB_WQE_##name = (number),
#include "wqe/opcode.def"
#undef WQE_OPCODE
	/* Binds, unbinds or invalidates a memory window: window.c. MLX5_OPCODE_UMR */
	VB_WQE_UMR = 0x25,
};

/* Completion mode: an entry is always made. MLX5_WQE_CTRL_CQ_UPDATE */
#define VB_WQE_COMPLETE_ALWAYS 2u
#define VB_WQE_FENCE_STRONG 4u /* waits for what was posted before. MLX5_WQE_CTRL_FENCE */
#define VB_WQE_FENCE_SMALL 1u

/* Why a WQE is not executed. */
enum vb_wqe_fault {
	VB_WQE_GOOD,
	VB_WQE_FAULT_DS,        /* DS is 0, above 63, or not what the opcode needs */
	VB_WQE_FAULT_OPCODE,    /* nothing is known by it, or not on this transport */
	VB_WQE_FAULT_QPN,       /* of another QP */
	VB_WQE_FAULT_INDEX,     /* not that of its place: stale */
	VB_WQE_FAULT_INLINE,    /* inline data longer than the WQE */
	VB_WQE_FAULT_SIGNATURE, /* the bytes do not go with it */
	VB_WQE_FAULT_AV,        /* an address that leads nowhere */
	VB_WQE_FAULT_UMR,       /* the change of a memory key is none that windows have */
	VB_WQE_FAULT_RING,      /* more posted than the queue has room for */
	VB_WQE_FAULT_CNT
};
const char *vb_wqe_fault_text(enum vb_wqe_fault fault);

/* Where a datagram goes, as its segment has it. */
struct vb_av {
	uint64_t dc_key; /* the Q_Key is in the upper half */
	uint32_t dqpn, flow_label;
	uint16_t dlid; /* RoCE: the UDP source port */
	uint8_t rate, sl, path_bits, traffic_class, hop_limit, sgid_index;
	uint8_t mac[6];
	bool extended, grh;
	struct vb_gid dgid;
};
void vb_av_get(const uint8_t *segment, struct vb_av *av);
void vb_av_put(uint8_t *segment, const struct vb_av *av);

/* The properties of a QP that its WQEs depend on. */
struct vb_wqe_queue {
	enum vb_qp_type type;
	uint32_t qpn;
	bool is_signed; /* WQEs have a signature that is looked at */
};

/* A send WQE. wr.ah is NULL: av says where it goes, if has_av. */
struct vb_wqe_send {
	enum vb_wqe_fault fault;
	uint32_t blocks; /* it takes; at least 1 */
	uint8_t opcode;
	bool has_av;
	struct vb_av av;
	struct vb_send_wr wr; /* but wr_id */
	struct vb_sge sge[VB_WQE_SGES_MAX];
};

/* Blocks that the WQE takes whose control segment is at @ctrl. */
uint32_t vb_wqe_blocks(const uint8_t *ctrl);
/*
 * Reads the WQE at @wqe, a copy of @blocks whole blocks, at place @index of the queue. Inline data
 * of out->wr are in @wqe. False: out->fault.
 */
bool vb_wqe_read(const struct vb_wqe_queue *q, const uint8_t *wqe, uint32_t blocks, uint16_t index,
		 struct vb_wqe_send *out);

/* Bytes that an adapter's driver reckons for a WQE of @q with so many SGEs or inline bytes, in
 * whole blocks; the largest of all opcodes. */
uint32_t vb_wqe_send_bytes(enum vb_qp_type type, uint32_t sges, uint32_t inline_bytes);
/*
 * Writes what @wr is as a WQE of place @index to @to, of VB_WQE_BYTES_MAX bytes; @av: its address
 * where it has one. Inline data are copied from wr->sge. Returns the blocks that it takes, or 0: it
 * is too long for any WQE.
 */
uint32_t vb_wqe_write(const struct vb_wqe_queue *q, const struct vb_send_wr *wr,
		      const struct vb_av *av, uint16_t index, uint8_t *to);
/* The segments behind the control segment of a UMR WQE: those that @wr, BIND_MW or LOCAL_INV, has,
 * and @wr from @bytes bytes of them; wr->inv_rkey is the key that the control segment names. */
uint32_t vb_umr_bytes(const struct vb_send_wr *wr);
void vb_umr_put(const struct vb_wqe_queue *q, const struct vb_send_wr *wr, uint8_t *to);
enum vb_wqe_fault vb_umr_get(const struct vb_wqe_queue *q, const uint8_t *from, uint32_t bytes,
			     struct vb_send_wr *wr);

/* The signature of @len bytes, in which it stands itself as 0. */
uint8_t vb_wqe_signature(const uint8_t *p, size_t len);

/* Reads up to @max SGEs of a receive WQE of @bytes. Returns how many. */
uint32_t vb_wqe_read_receive(const uint8_t *wqe, size_t bytes, struct vb_sge *sge, uint32_t max);
/* Writes them, and the end of the list if there is room. */
void vb_wqe_write_receive(uint8_t *wqe, size_t bytes, const struct vb_sge *sge, uint32_t cnt);

/* Kinds of completion entries. MLX5_CQE_... */
enum vb_cqe_kind {
	VB_CQE_REQUEST = 0,
	VB_CQE_WRITE_IMM = 1,
	VB_CQE_SEND = 2,
	VB_CQE_SEND_IMM = 3,
	VB_CQE_SEND_INV = 4,
	VB_CQE_REQUEST_ERROR = 13,
	VB_CQE_RECEIVE_ERROR = 14,
	VB_CQE_INVALID = 15,
};

/* A completion, and what an entry has beyond struct vb_wc. */
struct vb_cqe {
	const struct vb_wc *wc;
	uint16_t counter; /* of the WQE */
	uint8_t work;     /* opcode of a send WQE */
	bool is_send, solicited;
	bool is_datagram; /* names its sender and the P_Key */
	uint32_t srqn;    /* 0: none */
	/* NULL, or the wc->byte_len bytes that came, and how many an entry of this size has room
	 * for: 32, which are its first ones, or 64, which stand in front of it. */
	const uint8_t *data;
	uint32_t data_max;
};
/* Writes the 64 bytes but for the last one, which it returns: a reader of that has all others. */
uint8_t vb_cqe_write(const struct vb_cqe *c, uint32_t owner, uint8_t *to);
uint8_t vb_cqe_syndrome(enum vb_wc_status status);
/*
 * Completions that differ in little, written as one block (CQE compression): a title entry, and
 * mini entries, eight to an array. The block of n takes the n places that its completions would
 * have taken: the title the first, arrays the second, the ninth, the seventeenth and so on, and the
 * others stay as they were.
 */
#define VB_CQE_BLOCK_MAX 64u /* cqe_comp_caps.max_num */
#define VB_MINI_BYTES 8u
#define VB_MINI_CNT (VB_CQE_BYTES / VB_MINI_BYTES) /* in an array */
#define VB_CQE_COMPRESSED 3u                       /* VB_CQE_SCATTER of a title: MLX5_COMPRESSED */

struct vb_cqe_block {
	uint32_t cnt; /* completions; 0: it has not begun */
	uint8_t title[VB_CQE_BYTES];
	uint8_t mini[VB_CQE_BLOCK_MAX][VB_MINI_BYTES];
};
/* Begins with @entry, whose bytes are all there. False: such an entry is in no block. */
bool vb_cqe_block_begin(struct vb_cqe_block *b, const uint8_t *entry);
/* Adds @entry. False: it is too different, or there is no room; it is not in the block. */
bool vb_cqe_block_add(struct vb_cqe_block *b, const uint8_t *entry);
/* The place of array @i in a block of at least 8 @i + 1 completions, from the title's. */
static inline uint32_t vb_cqe_block_place(uint32_t i)
{
	return i ? i * VB_MINI_CNT : 1;
}
/* Writes array @i, 64 bytes, what is in no mini entry as 0. */
void vb_cqe_block_array(const struct vb_cqe_block *b, uint32_t i, uint8_t *to);
/* Writes the title but for the last byte, which it returns. Of one completion it is the entry. */
uint8_t vb_cqe_block_title(const struct vb_cqe_block *b, uint8_t *to);

const char *vb_cqe_kind_text(uint32_t kind);
const char *vb_cqe_syndrome_text(uint32_t syndrome);

const char *vb_wqe_opcode_text(uint32_t opcode);

/* A field, for readers of queues. */
struct vb_wqe_shown {
	const char *name;
	const char *word; /* that the number stands for; NULL: for itself */
	uint64_t value;
	uint8_t hex_digits; /* of a number that names something, or is an address; 0: it counts */
};

/* Is told of each segment, @bytes bytes at @s, byte @from of the WQE or entry, and then of its
 * fields; a field that is 0 and says nothing is left out. */
struct vb_wqe_visitor {
	void *ctx;
	void (*segment)(void *ctx, const char *name, const uint8_t *s, uint32_t from,
			uint32_t bytes);
	void (*field)(void *ctx, const struct vb_wqe_shown *f);
};
void vb_wqe_walk_send(enum vb_qp_type type, const uint8_t *wqe, uint32_t blocks,
		      const struct vb_wqe_visitor *v);
void vb_wqe_walk_receive(const uint8_t *wqe, size_t bytes, bool is_srq,
			 const struct vb_wqe_visitor *v);
/* An entry of @bytes bytes, 64 or 128. */
void vb_cqe_walk(const uint8_t *entry, uint32_t bytes, const struct vb_wqe_visitor *v);
/* An array of a compressed block: @cnt mini entries, up to 8, of sends or of receives. */
void vb_cqe_walk_array(const uint8_t *array, uint32_t cnt, bool sends,
		       const struct vb_wqe_visitor *v);

/* A visitor that writes lines, each some bytes and their fields; text without room is left out. */
struct vb_wqe_page {
	struct vb_wqe_visitor visitor;
	char *to;
	size_t at, size;
	const char *between; /* the name of a segment, or a field, and the next field */
};
void vb_wqe_page_begin(struct vb_wqe_page *p, char *to, size_t size);
/* Returns the length of the text, less than its size. */
size_t vb_wqe_page_end(struct vb_wqe_page *p);

#endif
