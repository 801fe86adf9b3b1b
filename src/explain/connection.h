/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a connection of RDMA CM is where it is, in plain sentences: what waits for whom, who refused
 * and for which reason, who never answered. Made of a view of the id (ucma/view.h). Nothing here
 * looks anything up.
 */
#ifndef VB_EXPLAIN_CONNECTION_H
#define VB_EXPLAIN_CONNECTION_H

#include "explain/explain.h"
#include "ucma/view.h"

/* "10.9.0.2:7174", "[fd09::2]:7174", "*:7174"; empty: there is none. */
struct vb_word vb_word_addr(const struct vb_ucma_addr *a);
const char *vb_word_port_space(uint16_t ps); /* "TCP", "UDP", "IB", "IPoIB" */
/* "listener", "client", "server", "idle" */
const char *vb_word_role(const struct vb_ucma_view *v);
/* The state of the connection, "REQ_SENT", or of an id without one, "LISTEN", "BOUND"; "gone". */
const char *vb_word_cm_state(const struct vb_ucma_view *v);

/* @v may be another program's word. */
void vb_explain_connection(const struct vb_ucma_view *v, vb_time now, struct vb_explanation *out);

#endif
