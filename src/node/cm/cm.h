/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection manager of the host, which the broker runs because it outlives programs: channels,
 * that is open files of /dev/infiniband/rdma_cm (node/cm/call.h), the machine behind them
 * (ucma/ucma.h), and QP1 (node/gsi/gsi.h).
 */
#ifndef VB_NODE_CM_CM_H
#define VB_NODE_CM_CM_H

#include "base/time.h"
#include "cm/cm.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct vb_broker;
struct vb_cm_answer;
struct vb_cm_call;
struct vb_conn;
struct vb_device;
struct vb_fds;

/* The group is ready: makes QP1, and the connection manager unless there is one already. Without
 * room for them everything but connecting works. */
void vb_broker_cm_open(struct vb_broker *b);
/* The group goes: so does QP1. */
void vb_broker_cm_rest(struct vb_broker *b);
void vb_broker_cm_close(struct vb_broker *b);

/* Host memory says something new that engines follow. */
void vb_broker_cm_reload(struct vb_broker *b);
/* The device table was @before, and has changed. */
void vb_broker_cm_follow(struct vb_broker *b, const struct vb_device *before);

/* Random: no other broker has it. */
uint64_t vb_broker_cm_number(const struct vb_broker *b);
/* The memory of versions, which goes to each process that is given a command connection; -1: there
 * is none. */
int vb_broker_cm_versions(const struct vb_broker *b);
/* A call on the command connection @c. False: the connection is to be ended. */
bool vb_broker_cm_call(struct vb_broker *b, struct vb_conn *c, vb_time now);
/* Carries out the @n bytes of @call, or answers what is wrong with them (@n may be 0, or -EMFILE
 * for descriptors that were lost). Returns the bytes of @answer. */
size_t vb_broker_cm_serve(struct vb_broker *b, struct vb_conn *c, const struct vb_cm_call *call,
			  ssize_t n, struct vb_fds *fds, struct vb_cm_answer *answer, vb_time now);
/* Carries out a posted command. Messages and events wait for vb_broker_cm_pump(), which comes after
 * the last one. */
void vb_broker_cm_posted(struct vb_broker *b, struct vb_conn *c, const struct vb_cm_call *call,
			 size_t n, vb_time now);
void vb_broker_cm_pump(struct vb_broker *b, vb_time now);
/* Whether more than one connection has used the channel that @token names. */
bool vb_broker_cm_is_shared(const struct vb_broker *b, uint64_t token);

/* serve_page.c: makes the page of a connection (node/cm/page/page.h). Returns its descriptor, which
 * is the caller's to close, or a negative errno. */
int vb_broker_page_open(const struct vb_broker *b, struct vb_conn *c);
void vb_broker_page_close(struct vb_broker *b, struct vb_conn *c);
/* The command connection @c ends. */
void vb_broker_cm_release(struct vb_broker *b, const struct vb_conn *c);
/* The program has told that there is a call. False: the connection is to be ended. */
bool vb_broker_page_kick(struct vb_broker *b, struct vb_conn *c, vb_time now);
/* Carries out what anybody has posted: before a call of a process that may have heard of it. */
void vb_broker_page_posts(struct vb_broker *b, vb_time now);
/* While calls may be near: looks at pages for a moment. */
void vb_broker_page_look(struct vb_broker *b);
/* Before the loop sleeps: nobody looks any more. True: there was a call, and the loop goes on. */
bool vb_broker_page_rest(struct vb_broker *b, vb_time now);
/* Channel @index is readable: the program has closed it. */
void vb_broker_cm_channel(struct vb_broker *b, uint32_t index, vb_time now);
/* QP1; NULL: there is none now. */
struct vb_gsi *vb_broker_cm_gsi(const struct vb_broker *b);
/* QP1's socket is readable. */
void vb_broker_cm_packets(struct vb_broker *b, vb_time now);
void vb_broker_cm_timeouts(struct vb_broker *b, vb_time now);
vb_time vb_broker_cm_due(const struct vb_broker *b, vb_time now);
/* How ids stand: as vb_ucma_views(). */
struct vb_ucma_view;
uint32_t vb_broker_cm_views(struct vb_broker *b, struct vb_ucma_view *to, uint32_t room);
/* By HCA port, 0...VB_HCA_PORTS_MAX; NULL: no connection manager runs. */
const struct vb_cm_port_counters *vb_broker_cm_counters(const struct vb_broker *b);
/* Whether somebody has a channel. */
bool vb_broker_cm_is_used(const struct vb_broker *b);

#endif
