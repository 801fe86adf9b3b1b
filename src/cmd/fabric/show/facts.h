/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of `verbena fabric show`: a fabric as a list, as JSON, as a drawing, and the way of a
 * packet. They show the view that the fabric's process gives (node/subnet/view/view.h).
 */
#ifndef VB_CMD_FABRIC_SHOW_FACTS_H
#define VB_CMD_FABRIC_SHOW_FACTS_H

#include "cmd/cmd.h"
#include "export/fabric/drawing.h"
#include "node/subnet/view/view.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A view, and what is drawn of it: its nodes are those of the view, by number. */
struct vb_show {
	const struct vb_cmd *cmd;
	int sock; /* to the fabric's process */
	struct vb_subnet_view v;
	struct vb_subnet_view before; /* the same, a time before; head NULL: there is none */
	struct vb_drawing drawing;
	uint32_t *port_of_link; /* number of the port at end @a of each link */
	char *titles;           /* that nodes and links have; NULL: none yet */
};

/* look.c: the view and its shape; ends by vb_show_end(). Errors are printed. 0 or a negative errno.
 * @interval: seconds between two looks; 0: one look. */
int vb_show_begin(struct vb_show *s, double interval);
/* The part of it that makes nodes and links of the view; 0 or -ENOMEM. */
int vb_show_shape(struct vb_show *s);
void vb_show_end(struct vb_show *s);

/* facts.c: of the port with this number. */
const struct vb_subnet_view_node *vb_show_node_of(const struct vb_show *s, uint32_t port);
/* Bits per second that its link carries as data; 0: it is down. Slowed down, as in real time. */
double vb_show_rate(const struct vb_show *s, uint32_t port);
/* Bytes that it has sent, since the look before where there is one. */
uint64_t vb_show_sent(const struct vb_show *s, uint32_t port);
/* Share of the rate that it has sent; negative: there was one look, or the link is down. */
double vb_show_load(const struct vb_show *s, uint32_t port);
bool vb_show_has_errors(const struct vb_show *s, uint32_t port);
/* "4x EDR", "-" where the link is down. */
#define VB_SHOW_RATE_TEXT 16
const char *vb_show_rate_text(const struct vb_show *s, uint32_t port, char text[VB_SHOW_RATE_TEXT]);
/* The rate in Gb/s as one says it: 100 for 4x EDR. */
double vb_show_nominal_gbps(const struct vb_show *s, uint32_t port);
/* "12.3 MB" */
#define VB_SHOW_BYTES_TEXT 24
const char *vb_show_bytes_text(uint64_t bytes, char text[VB_SHOW_BYTES_TEXT]);
/* "S-0000 port 3", as it is safe to print. */
void vb_show_port_name(FILE *f, const struct vb_show *s, uint32_t port);
/* The counters of errors that are not 0, "PortRcvErrors 3, ..." */
void vb_show_errors(FILE *f, const struct vb_show *s, uint32_t port);
/* The ports that have sent the most, at most @max of those with something to tell, the busiest
 * first. Returns how many there are. */
uint32_t vb_show_hot(const struct vb_show *s, uint32_t *port, uint32_t max);

/* list.c: all nodes and ports; the summary; one node, or one port of it. */
void vb_show_list(FILE *f, const struct vb_show *s, bool is_compact);
void vb_show_one_node(FILE *f, const struct vb_show *s, uint32_t node);
void vb_show_one_port(FILE *f, const struct vb_show *s, uint32_t port);

/* The line that tells how many ports are in which state. */
void vb_show_states(FILE *f, const struct vb_show *s);

/* draw.c: the drawing as SVG; as a file. page.c: in a page for a browser. 0 or a negative errno. */
int vb_show_draw(FILE *f, struct vb_show *s, enum vb_drawing_color color);
int vb_show_page(struct vb_show *s, const char *path, enum vb_drawing_color color);
int vb_show_svg(struct vb_show *s, const char *path, enum vb_drawing_color color);

/* json.c */
void vb_show_json(FILE *f, const struct vb_show *s);

/* way.c: the way from @key->from to @key->to, and back. Returns the exit status, 1 where either
 * does not arrive. */
int vb_show_way(FILE *f, const struct vb_show *s, const struct vb_subnet_way_key *key, bool json);
/* One of them, which the fabric's process has found. True: it arrives. */
bool vb_show_way_print(FILE *f, const struct vb_show *s, const struct vb_path_view *v, bool json);

#endif
