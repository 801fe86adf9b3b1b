/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control of one's own: an algorithm is a table of functions, which Verbena calls with
 * the events of one flow and which answer with a rate and a window. A flow is the requester of one
 * RC QP, or one channel of a DC initiator. A shared object exports the table under the name
 * `verbena_cc`; the same object works in the simulator ("congestion: {object: ./mine.so}" in a
 * scenario) and live (`verbena run --cc ./mine.so`). The algorithms that Verbena has are tables of
 * this kind, too. docs/congestion-control.md has an example.
 *
 * A function may use its arguments alone. It has no clock, allocates nothing, keeps nothing outside
 * of @state and waits for nobody: it is called for every packet, with a lock held. Calls for one
 * flow come one after the other; objects of several flows are called in any order.
 *
 * Times are ns since an epoch of the caller's choice, and do not run backwards. Rates are bit/s and
 * count each packet from its BTH through its ICRC. Windows are bytes and count each packet as a
 * full one, of facts.packet_bytes; a READ counts as its answers.
 */
#ifndef VERBENA_CC_H
#define VERBENA_CC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header: an object with another version is refused. */
#define VERBENA_CC_VERSION 1
/* The name under which an object exports its struct verbena_cc_algorithm. */
#define VERBENA_CC_SYMBOL "verbena_cc"

/* Of a rate, a window or a timer: none. */
#define VERBENA_CC_NONE UINT64_MAX

/* An algorithm has at most so many parameters, and a state of at most so many bytes. */
#define VERBENA_CC_PARAMETERS_MAX 24
#define VERBENA_CC_STATE_MAX 65536

/* The unit of a parameter: its value, and how people write it. */
enum verbena_cc_unit {
	VERBENA_CC_NUMBER, /* 5 */
	VERBENA_CC_TIME,   /* ns: "25us", "1.5ms" */
	VERBENA_CC_RATE,   /* bit/s: "40Gbps" */
	VERBENA_CC_BYTES,  /* bytes: "64kB", "1MB", 1000 and 1000000; "64KiB", 65536 */
	VERBENA_CC_SHARE   /* millionths: "80%", "0.8" */
};

struct verbena_cc_parameter {
	const char *name; /* "base-target": small letters, digits and hyphens */
	const char *text; /* half a line that says what it is */
	uint32_t unit;    /* enum verbena_cc_unit */
	uint32_t reserved;
	uint64_t min, max; /* of its value */
	uint64_t value;    /* where nobody says another one; may lie outside of min and max, such as
			    * VERBENA_CC_NONE, for "as init() thinks best" */
};

/* The needs of an algorithm, of the network and the peer; a set of these. */
enum verbena_cc_need {
	VERBENA_CC_NEEDS_ECN = 1, /* data leaves as ECT(0), and ACKs return marks */
	VERBENA_CC_NEEDS_CNP = 2, /* data leaves as ECT(0), and marks are answered by CNPs */
	VERBENA_CC_NEEDS_INT = 4  /* switches add records of themselves, which ACKs return: only the
				   * simulator has such switches */
};

/* The facts of a flow, as it begins. */
struct verbena_cc_facts {
	uint64_t now;
	uint64_t line_rate;    /* of the adapter's port */
	uint32_t packet_bytes; /* the path MTU: payload of a full packet */
	uint32_t reserved;
};

/*
 * The output. init() finds VERBENA_CC_NONE in rate, window and timer, and 0 in the rest; other
 * functions find what is in force. The flow makes progress, whatever is written there: a rate
 * counts as 1 Mb/s at least, one packet may always be in flight, and a timer comes 1 us from now at
 * least.
 */
struct verbena_cc_control {
	uint64_t rate;   /* bit/s; line_rate and more: no limit */
	uint64_t window; /* bytes in flight */
	/* When on_timer() is to be called. Only while something is in flight or waits to be sent;
	 * otherwise when that is so again. */
	uint64_t timer;
	/* An ACK is asked for at least every so many bytes, and with a window every quarter of it.
	 * 0: as often as the transport wants; 1: by each packet. */
	uint64_t ack_bytes;
	/* The rate holds for bursts of so many bytes: one leaves as fast as it can, and the next
	 * one when that is paid for. 0: each packet by itself. */
	uint64_t burst_bytes;
};

/* One hop that a packet made, as the switch found things when the packet left it. */
struct verbena_cc_hop {
	uint64_t at;          /* ns */
	uint64_t tx_bytes;    /* that have left by this port since the start */
	uint64_t queue_bytes; /* that wait there behind the packet */
	uint64_t rate;        /* of the port */
};

#define VERBENA_CC_HOPS_MAX 8

/* An ACK, or an answer to a READ or an atomic, that acknowledges something new. */
struct verbena_cc_ack {
	uint64_t now;
	/* From the leaving of the packet that was answered until now; 0: not known, as that packet
	 * was sent more than once or none of those remembered. */
	uint64_t rtt;
	uint64_t acked;                   /* bytes acknowledged since the beginning, with these */
	uint64_t sent;                    /* bytes that have left since the beginning, once each */
	uint64_t bytes;                   /* acknowledged by this ACK */
	uint64_t marked;                  /* of these, in packets that were marked */
	const struct verbena_cc_hop *hop; /* in the order of the way; hop_cnt 0: there are none */
	uint32_t hop_cnt;
	uint32_t reserved;
};

/* A packet that leaves. */
struct verbena_cc_sent {
	uint64_t now;
	uint64_t sent;   /* bytes that have left since the beginning, once each */
	uint32_t bytes;  /* of the packet, BTH through ICRC */
	uint32_t resent; /* 1: not for the first time */
};

struct verbena_cc_algorithm {
	uint32_t version;     /* VERBENA_CC_VERSION */
	uint32_t state_bytes; /* of each flow; zeroed before init(), aligned to 16 bytes */
	const char *name;     /* "swift": small letters, digits and hyphens */
	uint32_t needs;       /* set of enum verbena_cc_need */
	uint32_t parameter_cnt;
	const struct verbena_cc_parameter *parameter;
	/* A flow begins. @value: of each parameter, in the order of the table; copy what you need.
	 * This one and on_ack() are there; others may be NULL. */
	void (*init)(void *state, const struct verbena_cc_facts *facts, const uint64_t *value,
		     struct verbena_cc_control *out);
	void (*on_sent)(void *state, const struct verbena_cc_sent *sent,
			struct verbena_cc_control *out);
	void (*on_ack)(void *state, const struct verbena_cc_ack *ack,
		       struct verbena_cc_control *out);
	/* A congestion notification packet has come. */
	void (*on_cnp)(void *state, uint64_t now, struct verbena_cc_control *out);
	/* The peer has reported that packets are missing. */
	void (*on_nak)(void *state, uint64_t now, struct verbena_cc_control *out);
	/* The ACK timer has fired: everything in flight is sent again. */
	void (*on_timeout)(void *state, uint64_t now, struct verbena_cc_control *out);
	/* out->timer has come; it is VERBENA_CC_NONE now. */
	void (*on_timer)(void *state, uint64_t now, struct verbena_cc_control *out);
};

#ifdef __cplusplus
}
#endif

#endif
