/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subcommands of `verbena`: each has a row in main.c and a file of its own with a table of
 * options, from which parsing and --help are derived.
 */
#ifndef VB_CMD_CMD_H
#define VB_CMD_CMD_H

#include <stdbool.h>

#define VB_EXIT_USAGE 2 /* wrong options or arguments */

struct vb_cmd_option {
	char letter;      /* 0: only the long form */
	const char *name; /* NULL ends the table */
	const char
	    *arg; /* what --help calls the argument; NULL: takes none; "[=WORD]": may be left out */
	const char *text;
};

struct vb_cmd {
	const char *name, *arguments, *text; /* @arguments and @text as --help shows them */
	const struct vb_cmd_option *options;
	int (*run)(const struct vb_cmd *cmd, int argc, char **argv); /* returns the exit status */
};

extern const struct vb_cmd vb_cmd_broker, vb_cmd_capture, vb_cmd_counters, vb_cmd_csr,
    vb_cmd_devices, vb_cmd_dfx, vb_cmd_doctor, vb_cmd_explain, vb_cmd_fabric, vb_cmd_fault,
    vb_cmd_fwreset, vb_cmd_hca, vb_cmd_ping, vb_cmd_rdma, vb_cmd_reg, vb_cmd_run, vb_cmd_sim,
    vb_cmd_sweep, vb_cmd_top, vb_cmd_trace, vb_cmd_version;

/*
 * The next option on the command line: its index in cmd->options with the argument in *arg; -1: no
 * more, optind is the first argument. --help prints and exits with 0, an option that does not exist
 * or lacks its argument prints one line and exits with VB_EXIT_USAGE.
 */
int vb_cmd_next_option(const struct vb_cmd *cmd, int argc, char **argv, const char **arg);

/* Prints "verbena NAME: ..." and where help is, to stderr; returns VB_EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int vb_cmd_usage(const struct vb_cmd *cmd, const char *fmt,
						       ...);

/* Prints "verbena NAME: ..." to stderr. */
__attribute__((format(printf, 2, 3))) void vb_cmd_error(const struct vb_cmd *cmd, const char *fmt,
							...);

/* After a change while no program uses the adapter. */
#define VB_CMD_SHORT_LIFE                                                                          \
	"no program uses the adapter, which ends with its settings in 2 s; 'verbena hca start' "   \
	"keeps it"

/* Reads a decimal number min ... max. Returns false when @text is none. */
bool vb_cmd_number(const char *text, double min, double max, double *out);

/* Ends output: returns 0, or 1 with a message when it could not be written completely. */
int vb_cmd_finish(const struct vb_cmd *cmd);

#endif
