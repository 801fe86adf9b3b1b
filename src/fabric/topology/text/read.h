/* SPDX-License-Identifier: BSD-2-Clause */
/* A text that is being read, line by line. */
#ifndef VB_FABRIC_TOPOLOGY_TEXT_READ_H
#define VB_FABRIC_TOPOLOGY_TEXT_READ_H

#include "fabric/topology/build.h"
#include "fabric/topology/lex.h"
#include "wire/mad/smp.h"

/* Its ports may have GUIDs behind it. */
#define NODE_GUID_MAX (UINT64_MAX - VB_TOPO_PORT_CNT_MAX)

/* The GUIDs of one type of node: a line gives the first, the nodes after it count on. */
struct vb_topo_guids {
	uint64_t base, next;
	bool counts; /* a line gave one */
	bool fresh;  /* ... and no node had it yet */
};

struct vb_topo_reader {
	struct vb_topo_build b;
	struct vb_topo_place place;
	struct vb_lex lex; /* the line */
	/* Values that lines gave for the nodes after them. */
	struct vb_topo_guids guids[VB_NODE_ROUTER + 1];
	uint64_t system_guid, port0_guid; /* of the next node only; 0: not said */
	uint32_t vendor_id;
	uint16_t device_id;
	uint8_t width;      /* bits of enum vb_ib_width */
	uint16_t speed;     /* bits of enum vb_ib_speed that PortInfo has in LinkSpeed */
	uint16_t speed_ext; /* ... in LinkSpeedExt */
	char module[VB_TOPO_NAME_MAX + 1];
	bool in_node; /* lines of ports belong to the last node */
	/* The last I/O controller of the last node, and its last service; NULL: there is none. */
	struct vb_topo_ioc *ioc;
	struct vb_topo_service *service;
	uint32_t depth, include_cnt;
	size_t text_len; /* of all files */
};

/* The facts of the words "lid 4 lmc 0 4xEDR w=2". Zero: not said. */
struct vb_topo_facts {
	uint16_t lid;
	uint8_t lmc;
	bool enhanced;
	uint8_t width;
	uint16_t speed;  /* of "4xEDR" */
	uint16_t option; /* of s= and e= */
};

/* The line that a node begins with, behind its first word. */
int vb_topo_read_node(struct vb_topo_reader *r, uint8_t type);
/* A line of a port. */
int vb_topo_read_port(struct vb_topo_reader *r);
/* Whether the line, which other programs take for a comment, is one of I/O controllers. */
bool vb_topo_is_io(const struct vb_lex *line);
/* Such a line. */
int vb_topo_read_io(struct vb_topo_reader *r);
/* The words up to the end of the line. @comment: words that mean nothing are allowed. */
int vb_topo_read_facts(struct vb_topo_reader *r, struct vb_lex words, bool comment,
		       struct vb_topo_facts *f);
/* "MODULE#NAME", or what is without a module; @out has room for VB_TOPO_NAME_MAX + 1. */
int vb_topo_full_name(struct vb_topo_reader *r, const char *name, size_t len, char between,
		      char *out, size_t *out_len);

/* An error at @where, a place in the line. */
#define REFUSE_AT(r, where, template, ...)                                                         \
	vb_topo_refuse(&(r)->b, (r)->place, (size_t)((where) - (r)->lex.line) + 1, (template),     \
		       (const struct vb_say_arg[]){__VA_ARGS__})
/* An error at the place where the line was read to. */
#define REFUSE_HERE(r, template, ...)                                                              \
	vb_topo_refuse(&(r)->b, (r)->place, vb_lex_column(&(r)->lex), (template),                  \
		       (const struct vb_say_arg[]){__VA_ARGS__})

#endif
