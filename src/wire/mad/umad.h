/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exchange of programs with /dev/infiniband/umadN, as the kernel's ib_user_mad.h lays it
 * out: the header before each MAD that is read or written, and the requests that register agents.
 * Most numbers have the byte order of the host; some fields of the header are big-endian. Items
 * MAD-02 to MAD-05, MAD-14, MAD-15
 */
#ifndef VB_WIRE_UMAD_H
#define VB_WIRE_UMAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a message of several MADs that a file takes or gives, at most. It has room for all
 * PathRecords among 2,000 ports. MAD-19 */
#define VB_MAD_MESSAGE_MAX (256u << 20)

/* The other end: of a MAD that goes out its destination, of a MAD that came its source. All in host
 * order but the GID, which is its 16 bytes. */
struct vb_mad_addr {
	uint32_t qpn, qkey;
	uint16_t lid;
	uint8_t sl, path_bits;
	bool has_grh; /* what follows, but pkey_index, counts only then */
	uint8_t gid_index, hop_limit, traffic_class;
	uint8_t gid[16];
	uint32_t flow_label;
	uint16_t pkey_index;
};

/* A message that a file reads or writes: the header by name, and the MAD. */
struct vb_mad_message {
	uint32_t agent;  /* number of the agent in its file */
	uint32_t status; /* read: 0, or ETIMEDOUT: this request had no answer; mad is its header */
	uint32_t timeout_ms, retries;
	uint32_t len; /* bytes of mad; of an RMPP message all of it */
	struct vb_mad_addr addr;
	const uint8_t *mad;
};

/* The MADs that a program registers an agent for. */
struct vb_agent_request {
	uint32_t qpn;
	uint8_t mgmt_class; /* 0: it sends only, and gets the answers */
	uint8_t class_version;
	uint64_t methods[2]; /* bit m: unsolicited MADs with method m */
	uint32_t oui;        /* of the classes 0x30 to 0x4F */
	uint8_t rmpp_version;
	bool user_rmpp; /* the program segments and reassembles for itself */
};

/* Numbers of the ioctls. */
#define VB_UMAD_REGISTER_AGENT 0xc01c1b01u
#define VB_UMAD_UNREGISTER_AGENT 0x40041b02u
#define VB_UMAD_ENABLE_PKEY 0x1b03u
#define VB_UMAD_REGISTER_AGENT2 0xc0281b04u

#define VB_UMAD_AGENTS 32      /* of a file */
#define VB_UMAD_HDR_LEN 64     /* bytes of the header */
#define VB_UMAD_HDR_LEN_OLD 56 /* ... without pkey_index */
#define VB_UMAD_WRITE_MIN 36   /* bytes of a MAD that is written, at least */
#define VB_UMAD_REG_LEN 28     /* bytes of what REGISTER_AGENT points to */
#define VB_UMAD_REG2_LEN 40    /* ... and REGISTER_AGENT2 */

/* Which form of the header an open file uses: {0} after open(). MAD-03 */
struct vb_umad_form {
	bool with_pkey; /* 64 bytes */
	bool in_use;    /* an agent was registered: the form is fixed */
};
static inline uint32_t vb_umad_hdr_len(const struct vb_umad_form *f)
{
	return f->with_pkey ? VB_UMAD_HDR_LEN : VB_UMAD_HDR_LEN_OLD;
}
/* ENABLE_PKEY. 0, or -EINVAL: too late. */
int vb_umad_enable_pkey(struct vb_umad_form *f);
/* An agent was registered by REGISTER_AGENT, or @second: by REGISTER_AGENT2. */
void vb_umad_registered(struct vb_umad_form *f, bool second);

/*
 * A write of @count bytes at @buf: fills @m, whose mad then points into @buf. 0, or -EINVAL: fewer
 * bytes than the header and VB_UMAD_WRITE_MIN. @hdr_len: of vb_umad_hdr_len().
 */
int vb_umad_write_parse(struct vb_mad_message *m, const uint8_t *buf, size_t count,
			uint32_t hdr_len);
/* The same bytes of @m for a write or for another process: header and MAD, hdr_len + m->len. */
void vb_umad_write_emit(const struct vb_mad_message *m, uint8_t *buf, uint32_t hdr_len);

/*
 * The result of a read with @count bytes of room at @buf. The number of bytes: the message is read.
 * Otherwise it stays the first one: -EINVAL: no room for the header and the first MAD; -ENOSPC: an
 * RMPP message for which there is no room; header and first MAD were written. MAD-14, MAD-15
 */
int vb_umad_read_emit(const struct vb_mad_message *m, uint8_t *buf, size_t count, uint32_t hdr_len);

/* The argument of REGISTER_AGENT. 0, or -EINVAL: no such QP. */
int vb_umad_reg_parse(struct vb_agent_request *r, const uint8_t reg[VB_UMAD_REG_LEN]);
/* The argument of REGISTER_AGENT2. 0, or -EINVAL: no such QP or OUI, or flags that do not exist;
 * @reg then says which ones exist, and must be copied back. */
int vb_umad_reg2_parse(struct vb_agent_request *r, uint8_t reg[VB_UMAD_REG2_LEN]);
/* Writes the number of the new agent into either. */
void vb_umad_reg_put_id(uint8_t *reg, uint32_t id);

#endif
