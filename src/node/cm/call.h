/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a process has the broker do what /dev/infiniband/rdma_cm would do: calls and their answers on
 * a connection of its own, which begins with VB_BROKER_CM (node/client/msg.h). Each call is one
 * message of SOCK_SEQPACKET and draws one answer; a process has one call under way.
 *
 * An open file of that device is a *channel*: one end of a pair of SOCK_SEQPACKET sockets, whose
 * other end the broker has, which sees the end of the pair when the last copy of the descriptor is
 * closed. The broker writes each event there, as the answer to a GET_EVENT that nobody has written:
 * the descriptor is readable exactly while there are events, and taking one asks nobody. A command
 * that takes events away again, because their id goes or moves, is answered with -EINPROGRESS while
 * some of them may lie in the pair; then the program takes all that lie there, and makes the call
 * again with their numbers. Meanwhile no event is written, and then those that stay come again.
 * Where another process is at it the answer is -EALREADY: then it takes none, and asks again.
 *
 * Answers about an id bring the answers to further questions along (ucma/command/ahead.h). They
 * count while the version of the id is the one that came with them. Versions lie in memory of the
 * broker that comes with WELCOME: VB_CM_VERSIONS numbers, which programs can read and no more.
 *
 * Where WELCOME brings a page (node/cm/page/page.h), calls and answers without descriptors go that
 * way, and commands that an event has granted (ucma/command/post.h) are posted there: they draw no
 * answer, and come before the next call.
 */
#ifndef VB_NODE_CM_CALL_H
#define VB_NODE_CM_CALL_H

#include <stddef.h>
#include <stdint.h>

#define VB_CM_CHANNELS_MAX 4096u
/* A command as it was written, and what it points at: more than any has. */
#define VB_CM_CALL_BODY 4096u
/* The longest reply, and what is read ahead. */
#define VB_CM_ANSWER_BODY 2304u
/* Of an event, whose message has always this length. */
#define VB_CM_EVENT_BODY 1536u
/*
 * A program that has made a call looks for its answer for so long, and the broker for the next call
 * after one that came soon, before they sleep, unless that was in vain before (base/spin.h). On two
 * idle processors 700 connections a second became 2,200, and twice the time makes no more of them,
 * but fewer beside busy programs. Both leave the processor to others meanwhile: cmtime, whose main
 * thread only waits, made a third more of them for it in an emulated guest. An emulated guest whose
 * calls are four times as slow (@slow, pace.h) answers seven times as late: 160 became 400 there.
 * bench/connect_loop.c
 */
#define VB_CM_SPIN_NS(slow) ((2 * (slow)-1) * UINT64_C(100000))

#define VB_CM_VERSIONS 65536u
#define VB_CM_VERSIONS_BYTES (VB_CM_VERSIONS * sizeof(uint32_t))

/* Descriptors that come with WELCOME: the first of these, as many as there are. */
enum { VB_CM_WELCOME_VERSIONS, VB_CM_WELCOME_PAGE, VB_CM_WELCOME_CNT };

enum vb_cm_call_op {
	/* A new channel; the broker's end of the pair comes along. The answer has its token. */
	VB_CM_CALL_OPEN = 1,
	/* Another process goes on with @channel. status 0 or -ENOENT. */
	VB_CM_CALL_ATTACH,
	/* A command that was written to @channel: body is what was written, @len bytes, and behind
	 * it the @extra_len bytes that the command points at, or with @returns the numbers of the
	 * events that came back, 8 bytes each. @other: the channel that MIGRATE_ID names, 0: none;
	 * then they are its. */
	VB_CM_CALL_COMMAND,
	/* A command that was granted, of @len bytes. Nobody reads the answer. By the page only. */
	VB_CM_CALL_POST,
};

struct vb_cm_call {
	uint32_t op; /* enum vb_cm_call_op */
	uint32_t len, extra_len;
	uint32_t returns;        /* events come back */
	uint64_t channel, other; /* tokens, random: who knows one may use the channel */
	/* COMMAND, POST: random. A command that is sent again, because the broker was killed before
	 * its answer came, has the same one, and is carried out once. */
	uint64_t serial;
	uint8_t body[VB_CM_CALL_BODY];
};

struct vb_cm_answer {
	int32_t status;   /* what write(2) returns: bytes, or a negative errno */
	uint32_t len;     /* of the reply in body, already cut to what the command has room for */
	uint64_t channel; /* OPEN: the token. In the pair: the number of the broker (page.h) */
	uint64_t event;   /* in the pair: its number, which grows from one to the next */
	/* Read ahead: this many bytes of the body behind the reply, from a multiple of 8 on, about
	 * this id in this version. 0: none. */
	uint32_t ahead_len, ahead_id, ahead_version;
	uint32_t repeats; /* in the pair: a broker that was killed may have written it before */
	uint32_t grants;  /* in the pair: what may be posted about its id, vb_ucma_post_grants() */
	uint32_t rsv;
	uint8_t body[VB_CM_ANSWER_BODY];
};

#define VB_CM_EVENT_LEN (offsetof(struct vb_cm_answer, body) + VB_CM_EVENT_BODY)

#endif
