/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator inside a program: `verbena sim` as a library. A scenario is opened from its text,
 * runs to any instant, and can be looked at and changed there; what comes of it is the same, event
 * by event, as the command makes of it. docs/simulator.md describes scenarios and tables,
 * docs/python.md the Python package that stands on this interface.
 *
 * Link with libverbena-sim (pkg-config verbena-sim). The library has no state beside what its
 * callers open: a process may have any number of simulations. Each belongs to one thread at a time.
 * Nothing here writes to a terminal, reads a clock, or ends the process.
 *
 * Times are ns from the start of a simulation, rates bit/s. Hosts are numbered from 0 and switches
 * follow them: a node is either. Cable n has port 2n at its first node and port 2n + 1 at its
 * second one, each the sending end of one direction.
 *
 * Functions return 0 or a negative errno, unless said otherwise; after one that failed,
 * verbena_sim_error() has the reason as text. Structures may grow at their end in later versions:
 * so each function that fills or reads one takes its size, sizeof of the caller's. Members that the
 * library does not know become 0.
 */
#ifndef VERBENA_SIM_H
#define VERBENA_SIM_H

#include "verbena/cc.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of a time: it has not come, or will not. */
#define VERBENA_SIM_NEVER UINT64_MAX
/* Of a number of a host, QP or flow: there is none. */
#define VERBENA_SIM_NONE UINT32_MAX

struct verbena_sim;

/* The version of the library that is running: MAJOR.MINOR.PATCH. */
const char *verbena_sim_version(void);

struct verbena_sim_source {
	const char *text; /* a scenario, YAML or JSON */
	size_t text_len;  /* its bytes */
	/* The name that mistakes are told with; files that the scenario names are beside it. NULL:
	 * "scenario", and such files are in the working directory. */
	const char *name;
	/* Values in place of those in the text, "transport.timeout=14": keys with dots between
	 * them, as --grid of `verbena sweep` has them. NULL if there are none. */
	const char *const *set;
	size_t set_cnt; /* at most 64 */
	/* Congestion control of the caller's own, in place of `congestion` in the scenario, by
	 * links of Ethernet; NULL: none. The table stays until the close. Its functions are called
	 * from verbena_sim_advance(). */
	const struct verbena_cc_algorithm *algorithm;
	/* Its parameters, "base-target=25us,fs-range=4"; NULL: as the table has them. */
	const char *parameters;
};

/*
 * Opens a simulation, at time 0. Of `record` in the scenario series are kept, in memory; the files
 * that it names are the command's to write.
 *
 * -EINVAL: the text is no scenario, with "NAME:LINE:COLUMN: what is wrong and what is allowed" in
 * @why (of @why_size > 0 bytes); -ENOMEM; others when a file that it names cannot be read. After a
 * failure *out is NULL.
 */
int verbena_sim_open(struct verbena_sim **out, const struct verbena_sim_source *source, size_t size,
		     char *why, size_t why_size);
/* NULL is ignored. */
void verbena_sim_close(struct verbena_sim *s);

/* Why the last call on @s that failed did so, as half a sentence; lives until the next call. */
const char *verbena_sim_error(const struct verbena_sim *s);

/*
 * Runs up to @to, with all that happens at that instant, but not past the end of the scenario
 * (`until`). Time is @to afterwards; with VERBENA_SIM_NEVER it is when the last thing happened.
 *
 * -EINVAL: @to lies before now. -ENOSPC: the scenario has too little room, for packets under way or
 * for flows; then the run cannot go on. -EBADMSG: payloads arrived with other bytes than were sent.
 */
int verbena_sim_advance(struct verbena_sim *s, uint64_t to);

struct verbena_sim_state {
	uint64_t now;
	uint64_t next;         /* when something happens next; VERBENA_SIM_NEVER: nothing will */
	uint64_t until;        /* the end of the scenario; VERBENA_SIM_NEVER: when all is done */
	uint64_t seed;         /* of the scenario */
	uint64_t events;       /* so far */
	uint64_t hops;         /* packets that started on a cable */
	uint64_t digest;       /* of all events: equal digests, equal runs */
	uint64_t deadlock_at;  /* of credits, InfiniBand; VERBENA_SIM_NEVER: none was found */
	uint64_t past_flows;   /* flows of lists that have given their record to another one */
	uint32_t hosts, nodes; /* nodes: hosts and switches */
	uint32_t ports;        /* two for each cable */
	uint32_t flows;        /* that have a record: for verbena_sim_flow() */
	uint32_t qps;          /* for verbena_sim_qp(); grows only */
	uint32_t is_finished;  /* 1: nothing happens any more, or only past the end */
};
void verbena_sim_state(const struct verbena_sim *s, struct verbena_sim_state *out, size_t size);

enum verbena_sim_flow_state {
	VERBENA_SIM_WAITING, /* its time has not come */
	VERBENA_SIM_RUNNING,
	VERBENA_SIM_DONE,
	VERBENA_SIM_FAILED
};
enum verbena_sim_op { VERBENA_SIM_SEND, VERBENA_SIM_WRITE, VERBENA_SIM_READ, VERBENA_SIM_ATOMIC };

struct verbena_sim_flow {
	uint64_t bytes;     /* to be moved */
	uint64_t completed; /* of these acknowledged (RC), or sent */
	uint64_t start;
	uint64_t done;     /* the last completion; VERBENA_SIM_NEVER: not yet */
	uint64_t ideal_ns; /* the time that it would take alone */
	uint64_t rate;     /* mean since its start, of acknowledged bytes; 0: not begun, failed */
	uint32_t number;   /* in the order in which flows were made: `flow` in the tables */
	uint32_t src;      /* host */
	uint32_t dst;      /* host; VERBENA_SIM_NONE: a multicast group */
	uint32_t op;       /* enum verbena_sim_op */
	uint32_t state;    /* enum verbena_sim_flow_state */
	uint32_t status;   /* ibv_wc_status of the first completion that failed; 0: none did */
	uint32_t qp;       /* verbena_sim_qp(): the QP that its work is posted to, or _NONE */
	uint32_t reserved;
};
/* Record @i, from 0 to flows - 1. -ERANGE: there is none such. */
int verbena_sim_flow(const struct verbena_sim *s, uint32_t i, struct verbena_sim_flow *out,
		     size_t size);

struct verbena_sim_port {
	uint64_t rate_bps;      /* of the cable */
	uint64_t packets;       /* that left by it, flow control too */
	uint64_t bytes;         /* of their frames */
	uint64_t dropped;       /* packets for which there was no room */
	uint64_t faults;        /* packets lost to faults or too long for the cable */
	uint64_t marked;        /* packets marked here: CE */
	uint64_t pauses;        /* PAUSE frames sent */
	uint64_t paused_ns;     /* time that its priorities were held, all together */
	uint64_t credit_ns;     /* InfiniBand: time that packets waited for credits */
	uint64_t queue_bytes;   /* that wait now */
	uint64_t queue_max;     /* the most so far */
	uint64_t queue_byte_ns; /* integral over time: divided by it, the mean */
	uint32_t cable;
	uint32_t from, to; /* nodes */
	uint32_t reserved;
};
/* Port @i, from 0 to ports - 1. -ERANGE: there is none such. */
int verbena_sim_port(const struct verbena_sim *s, uint32_t i, struct verbena_sim_port *out,
		     size_t size);

struct verbena_sim_qp {
	uint64_t rate;         /* allowed now; 0: any */
	uint64_t cc_rate;      /* of DCQCN; 0: it is off */
	uint64_t cc_target;    /* ... and its target rate */
	uint64_t peer_window;  /* bytes that may be in flight to the peer's host; 0: any number */
	uint32_t alpha_ppm;    /* DCQCN's alpha in millionths */
	uint32_t window_pkts;  /* its own window, packets in flight; 0: none */
	uint32_t unacked_pkts; /* sent and not acknowledged */
	uint32_t host, qpn;
	uint32_t peer;  /* host at the other end; VERBENA_SIM_NONE: a group */
	uint32_t state; /* as enum ibv_qp_state: 3 is RTS, 6 ERR */
	uint32_t flow;  /* record of the flow that runs on its connection; VERBENA_SIM_NONE */
};
/* QPs come in pairs: 2n posts the work of connection n, 2n + 1 is its other end. -ERANGE: @i is not
 * below qps. -ENOENT: the other end is a group, or the QP is gone. */
int verbena_sim_qp(const struct verbena_sim *s, uint32_t i, struct verbena_sim_qp *out,
		   size_t size);

/* Counters of hosts. The names are those of `verbena counters`; NULL: there are only so many. */
const char *verbena_sim_counter_name(uint32_t i);
/* Reads the first @max counters of @host into @value. Returns how many counters there are, or
 * -ERANGE: there is no such host. */
int verbena_sim_counters(const struct verbena_sim *s, uint32_t host, uint64_t *value, uint32_t max);

/*
 * The text of a table, which the command writes to a file of that name: "flows.csv", "ports.csv",
 * "summary.json", "slowdown.csv", "cdf.csv", "flow_series.csv", "port_series.csv",
 * "lane_series.csv", "group_series.csv", "lanes.csv", "routers.csv", "collectives.csv". As things
 * are now; series up to the last interval that has ended, and all of them once the run is finished.
 * The text is the library's, ends with a 0 and lives until the next call of this function or the
 * close.
 *
 * -ENOENT: this run has no such table; -ENOMEM.
 */
int verbena_sim_table(struct verbena_sim *s, const char *name, const char **text, size_t *len);

/* Changes, which take effect now. The run is then another one, but the same changes at the same
 * times give the same run. */

/* Takes cable @cable apart, or with @is_up joins it again, which is the first thing to happen when
 * the run goes on. Packets on it are lost; switches send elsewhere after `reroute` of the topology.
 * -ERANGE: there is no such cable; -ENOSPC: too many changes are under way. */
int verbena_sim_set_cable(struct verbena_sim *s, uint32_t cable, int is_up);

/* Puts faults on both directions of a cable in place of those that are there: text as in `do` of
 * `faults`, such as "loss=1e-3"; "" takes them away. -ERANGE, -EINVAL, -ENOMEM. */
int verbena_sim_set_fault(struct verbena_sim *s, uint32_t cable, const char *faults);

/* New thresholds, bytes, and chance at @kmax, millionths, of RED at every switch; whether it marks
 * is the scenario's to say. kmin and kmax 0: nothing is marked any more. -EINVAL: kmin is above
 * kmax, or the chance above 1000000; -ENOTSUP: links of InfiniBand. */
int verbena_sim_set_ecn(struct verbena_sim *s, uint32_t kmin, uint32_t kmax, uint32_t pmax_ppm);

/* Limits QP @i, of verbena_sim_qp(), to @rate, beside what congestion control does; 0: no limit. It
 * stays on the QP, also for flows to come that use it. -ERANGE, -ENOENT as there; -EINVAL: the rate
 * is too small or too large, or the QP cannot be limited. */
int verbena_sim_set_rate(struct verbena_sim *s, uint32_t i, uint64_t rate);

/* Adds a flow of @bytes with work requests of @op (enum verbena_sim_op), which begins at @start,
 * not before now. Where hosts have several NICs, @src and @dst are hosts as the topology numbers
 * them, and the scenario's rule chooses the NICs, which count as hosts everywhere else. Returns its
 * record, for verbena_sim_flow(), which it keeps. -EINVAL: a host or an operation that there is
 * not, the same host twice, an operation that the transport does not have; -ENOSPC: the scenario
 * has room (`flows`) for no more. */
int64_t verbena_sim_add_flow(struct verbena_sim *s, uint32_t src, uint32_t dst, uint32_t op,
			     uint64_t bytes, uint64_t start);

#ifdef __cplusplus
}
#endif

#endif
