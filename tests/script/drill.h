/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A running script: one adapter in virtual time, its memory, its QPs, its connection manager, and
 * what they have sent that no line has looked at yet. README.md describes the language.
 */
#ifndef VB_TESTS_SCRIPT_DRILL_H
#define VB_TESTS_SCRIPT_DRILL_H

#include "args.h"
#include "cm/cm.h"
#include "core/hca.h"

#include <setjmp.h>
#include <stdnoreturn.h>

#define REGION_MAX 16
#define REGION_BYTES (256u << 10)
#define QPS_MAX 8
#define XSRQS_MAX 4
#define SENT_MAX 2048
#define MESSAGES_MAX 256
#define EVENTS_MAX 64
#define TRACE_KEEP 32

/* Memory that a script calls by name. */
struct region {
	char name[16];
	uint64_t iova, length;
	uint8_t *host;
	struct vb_mr *mr; /* NULL: memory of the peer, or deregistered */
	uint32_t lkey, rkey;
};

struct script_qp {
	char name[16];
	struct vb_qp *qp;
	enum vb_qp_type type;
	uint32_t qpn, peer_qpn;
	struct vb_path path; /* as packets to the peer have it */
	uint32_t dc_high;    /* DCI: high half of its connection numbers */
};

/* A message that left the connection manager. */
struct script_message {
	vb_time time;
	struct vb_path path;
	struct vb_cm_msg msg;
	uint8_t mad[VB_MAD_LEN];
};

/* The connection manager, with one connection. */
struct script_cm {
	struct vb_cm *cm; /* NULL: the script has none */
	struct vb_cm_config cfg;
	struct vb_cm_conn *listener, *conn;
	bool is_roce;
	uint32_t qpn;       /* of the connection's local QP */
	uint64_t asked_tid; /* of the last message that it sent and wants an answer to */
	uint64_t heard_tid; /* of the last one that it got and has to answer */
	struct script_message sent[MESSAGES_MAX];
	unsigned sent_head, sent_tail;
};

/* An SRQ of an XRC domain. */
struct script_xsrq {
	char name[16];
	struct vb_srq *srq; /* NULL: destroyed */
	uint32_t number;
};

/* A packet that left the adapter. */
struct sent {
	vb_time time;
	struct vb_path path;
	struct vb_hdr hdr;
	uint8_t *payload; /* without pad */
	uint32_t payload_len;
};

struct drill {
	uint16_t report_cnt[2]; /* selective repeat: reports that left, that arrived */
	const char *file;
	unsigned line;
	jmp_buf failed;
	char error[4096];

	vb_time now;
	struct vb_hca_config cfg;
	struct vb_hca *hca;
	struct vb_pd *pd;
	struct vb_pd *other_pd; /* of regions that no QP may use */
	struct vb_cq *cq;
	uint32_t cqe;
	struct vb_srq *srq;
	struct vb_counters counters;

	struct region region[REGION_MAX];
	unsigned region_cnt;
	struct script_qp qp[QPS_MAX];
	unsigned qp_cnt;
	struct vb_xrcd *xrcd[2]; /* that of the targets, and another */
	struct script_xsrq xsrq[XSRQS_MAX];
	unsigned xsrq_cnt;

	struct sent sent[SENT_MAX];
	unsigned sent_head, sent_tail;
	struct vb_event event[EVENTS_MAX];
	unsigned event_cnt;
	struct script_cm cm;
	struct vb_trace_event trace[TRACE_KEEP];
	unsigned trace_cnt;
};

/* Runs @text, a whole script, line by line. False: d->error says why. */
bool drill_run(struct drill *d, const char *file, char *text);

/* Ends the script with a message; never returns. */
noreturn void drill_fail(struct drill *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* world.c: the adapter and its memory. */
void world_create(struct drill *d);
void world_destroy(struct drill *d);
void world_add_region(struct drill *d, struct vb_pd *pd, const char *name, uint64_t length,
		      uint32_t access);
struct region *world_region(struct drill *d, const char *name);
/* "R+16" into the region and the offset; fails on anything else. */
struct region *world_place(struct drill *d, const char *text, uint64_t *offset);
/* The bytes at "R+16", of which @len must be inside. */
uint8_t *world_bytes(struct drill *d, const char *text, uint64_t len);
/* A number, or a place in memory. */
uint64_t world_number(struct drill *d, const char *text);
/* A number, or the name of a region, whose R_Key or L_Key it stands for. */
uint32_t world_key(struct drill *d, const char *text, bool remote);
/* Value of @key if it is there, else @otherwise. */
uint64_t world_arg(struct drill *d, struct args *args, const char *key, uint64_t otherwise);
struct vb_gid world_gid(unsigned host, bool ipv6);
/* The QP that "qp=NAME" says, or the first. */
struct script_qp *world_qp(struct drill *d, struct args *args);
/* Takes what the adapter has to send now, and its events. */
void world_collect(struct drill *d);
void world_advance(struct drill *d, vb_time to);
/* The adapter does not run until @gap from now, and then finds its timers late. */
void world_sleep(struct drill *d, vb_dur gap);

/* packet.c: lines that begin with > and <. */
void packet_expect(struct drill *d, struct args *args);
void packet_inject(struct drill *d, struct args *args);
/* @s in script syntax. */
void packet_print(const struct sent *s, char *out, size_t size);
/* Fails if a packet was sent that no line expected. */
void packet_none_left(struct drill *d);

/* objects.c: lines that create and change objects. */
void objects_hca(struct drill *d, struct args *args);
void objects_pkeys(struct drill *d, struct args *args);
void objects_mr(struct drill *d, struct args *args);
void objects_dereg(struct drill *d, struct args *args);
void objects_srq(struct drill *d, struct args *args);
void objects_qp(struct drill *d, struct args *args);
void objects_modify_qp(struct drill *d, struct args *args);
void objects_destroy_qp(struct drill *d, struct args *args);

/* cm.c: lines that make a connection and call the connection manager. */
void cm_config(struct drill *d, struct args *args);
void cm_conn(struct drill *d, struct args *args);
void cm_reply(struct drill *d, struct args *args);
void cm_ready(struct drill *d, struct args *args);
void cm_load_path(struct drill *d, struct args *args);
void cm_answer_path(struct drill *d, struct args *args);
void cm_delay(struct drill *d, struct args *args);
void cm_migrate(struct drill *d, struct args *args);
void cm_disconnect(struct drill *d, struct args *args);
void cm_expect(struct drill *d, struct args *args);
void cm_destroy(struct drill *d);
/* Takes the messages that it has to send now. */
void cm_collect(struct drill *d);
vb_time cm_due(const struct drill *d);
/* True: @word is an event of the connection manager, and the next one. */
bool cm_event(struct drill *d, const char *word);
/* Fails if there is an event that no line expected. */
void cm_no_event(struct drill *d);
/* From here to the peer, by the connection's path or its alternate path; without GIDs where packets
 * have none. */
struct vb_path cm_way(const struct drill *d, bool alternate, bool on_wire);
/* The alternate path that the two ends have agreed on, as a QP takes it. */
struct vb_alt_path cm_alternate(struct drill *d);

/* message.c: messages in script syntax. */
/* The attribute with this name; 0: it is none of a message. */
enum vb_cm_attr message_named(const char *name);
/* The message as the peer sends it when nothing else is said. */
struct vb_cm_msg message_default(const struct drill *d, enum vb_cm_attr attr);
void message_expect(struct drill *d, enum vb_cm_attr attr, struct args *args);
void message_inject(struct drill *d, enum vb_cm_attr attr, struct args *args);
/* Fails if a message was sent that no line expected. */
void message_none_left(struct drill *d);

/* xrc.c */
void xrc_srq(struct drill *d, struct args *args);
void xrc_destroy_srq(struct drill *d, struct args *args);
struct vb_xrcd *xrc_domain(struct drill *d, bool other);
struct vb_srq *xrc_srq_named(struct drill *d, const char *name);
/* A number, or the name of an SRQ, whose number it stands for. */
uint32_t xrc_number(struct drill *d, const char *text);

/* dc.c */
void dc_init(struct drill *d, struct args *args, struct vb_dc_init *dc);
void dc_take_work(struct drill *d, struct args *args, struct vb_send_wr *wr);
void dc_reset(struct drill *d, struct args *args);
void dc_take_header(struct drill *d, struct args *args, struct vb_hdr *h, const struct script_qp *q,
		    bool inbound);
const char *dc_differs(struct script_qp *q, const struct vb_hdr *want, const struct vb_hdr *got);
size_t dc_print(const struct vb_hdr *h, char *out, size_t size);

/* recovery.c */
void recovery_set(struct drill *d, struct args *args);
/* The bytes of "EXTENT [FROM-TO] [@CREDITS] OFFSET:COUNT ...", a selective repeat report. Those
 * that arrive, and those that leave, have numbers from 0 on. */
const uint8_t *recovery_report(struct drill *d, const char *text, bool inbound, uint32_t *len);

/* work.c: lines that post work and look at what became of it. */
void work_post_send(struct drill *d, struct args *args);
void work_post_recv(struct drill *d, struct args *args);
void work_post_srq(struct drill *d, struct args *args);
void work_cq(struct drill *d, struct args *args);
void work_arm(struct drill *d, struct args *args);
void work_event(struct drill *d, struct args *args);
void work_mem(struct drill *d, struct args *args);
void work_set(struct drill *d, struct args *args);
void work_expect(struct drill *d, struct args *args);
/* Fails unless @rc is what "= -ENAME" says at the end of the line, or 0. */
void work_result(struct drill *d, struct args *args, int rc);

/* names.c: numbers by name. */
struct name {
	const char *name;
	int value;
};
extern const struct name name_nak[], name_wr[], name_wc_status[], name_wc_opcode[], name_state[],
    name_access[], name_async[], name_errno[], name_qp_type[], name_apr[];
/* The value of @text in @table; -1 when it is not there. */
int name_value(const struct name *table, const char *text);
const char *name_of(const struct name *table, int value);
/* The set "a|b|c". */
uint32_t name_set(struct drill *d, const struct name *table, const char *text);

#endif
