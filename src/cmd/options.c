/* SPDX-License-Identifier: BSD-2-Clause */
/* Options, help and messages of the subcommands, derived from their tables. getopt_long(3) */
#include "cmd/cmd.h"
#include "cmd/near.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 16
#define LONG_BASE 256 /* getopt's value of option i is LONG_BASE + i */
#define HELP_COLUMN 26

static void print_message(const struct vb_cmd *cmd, const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "verbena %s: ", cmd->name);
	vfprintf(stderr, fmt, ap);
}

void vb_cmd_error(const struct vb_cmd *cmd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message(cmd, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int vb_cmd_usage(const struct vb_cmd *cmd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message(cmd, fmt, ap);
	va_end(ap);
	fprintf(stderr, "; see 'verbena %s --help'\n", cmd->name);
	return VB_EXIT_USAGE;
}

/* The argument of an option that may be without it is "[=WORD]". */
static bool may_lack(const char *arg)
{
	return arg[0] == '[';
}

static void help_line(char letter, const char *name, const char *arg, const char *text)
{
	char left[64], first[8] = "    ";

	if (letter)
		snprintf(first, sizeof first, "-%c, ", letter);
	snprintf(left, sizeof left, "%s--%s%s%s", first, name, arg && !may_lack(arg) ? " " : "",
		 arg ? arg : "");
	printf("  %-*s  %s\n", HELP_COLUMN, left, text);
}

static void print_help(const struct vb_cmd *cmd)
{
	printf("Usage: verbena %s %s\n\n%s\n\nOptions:\n", cmd->name, cmd->arguments, cmd->text);
	for (const struct vb_cmd_option *o = cmd->options; o->name; o++)
		help_line(o->letter, o->name, o->arg, o->text);
	help_line('h', "help", NULL, "show this help");
}

/* Ends the program for an option that @cmd does not have. */
static void unknown_option(const struct vb_cmd *cmd, const char *text)
{
	const char *near = NULL;
	char name[32];

	snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
	if (strncmp(name, "--", 2) == 0) {
		unsigned least = vb_near_limit(name + 2);

		for (const struct vb_cmd_option *o = cmd->options; o->name; o++)
			if (vb_near_distance(name + 2, o->name) <= least) {
				near = o->name;
				least = vb_near_distance(name + 2, near) - 1;
			}
	}
	if (!near)
		exit(vb_cmd_usage(cmd, "unknown option '%s'", text));
	exit(vb_cmd_usage(cmd, "unknown option '%s' (did you mean '--%s'?)", text, near));
}

int vb_cmd_next_option(const struct vb_cmd *cmd, int argc, char **argv, const char **arg)
{
	struct option table[OPTIONS_MAX + 2] = {{0}};
	char letters[2 * OPTIONS_MAX + 8] = "+:h", *l = letters + strlen(letters);
	int n = 0, at = optind;

	for (; cmd->options[n].name; n++) {
		const struct vb_cmd_option *o = &cmd->options[n];

		table[n] = (struct option){o->name,
					   !o->arg            ? no_argument
					   : may_lack(o->arg) ? optional_argument
							      : required_argument,
					   NULL, LONG_BASE + n};
		if (o->letter)
			*l++ = o->letter;
		if (o->letter && o->arg)
			*l++ = ':';
	}
	table[n] = (struct option){"help", no_argument, NULL, 'h'};
	opterr = 0;
	int c = getopt_long(argc, argv, letters, table, NULL);

	*arg = optarg;
	if (c == 'h') {
		print_help(cmd);
		exit(vb_cmd_finish(cmd));
	}
	if (c == ':')
		exit(vb_cmd_usage(cmd, "option '%s' lacks its argument", argv[at]));
	if (c == '?')
		unknown_option(cmd, argv[at]);
	for (int i = 0; c >= 0 && c < LONG_BASE && i < n; i++)
		if (cmd->options[i].letter == c)
			return i;
	return c < 0 ? -1 : c - LONG_BASE;
}

bool vb_cmd_number(const char *text, double min, double max, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	return end != text && !*end && !errno && *out >= min && *out <= max;
}

int vb_cmd_finish(const struct vb_cmd *cmd)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	/* A reader that has gone (| head) wanted no more. */
	if (errno != EPIPE)
		vb_cmd_error(cmd, "cannot write the output: %s", strerror(errno));
	return 1;
}
