/* SPDX-License-Identifier: BSD-2-Clause */
/* The `verbena` command: picks the subcommand. */
#include "cmd/cmd.h"
#include "cmd/near.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct vb_cmd *const commands[] = {
    &vb_cmd_run,     &vb_cmd_trace,  &vb_cmd_devices, &vb_cmd_counters, &vb_cmd_top,
    &vb_cmd_capture, &vb_cmd_doctor, &vb_cmd_ping,    &vb_cmd_explain,  &vb_cmd_fault,
    &vb_cmd_rdma,    &vb_cmd_reg,    &vb_cmd_fwreset, &vb_cmd_csr,      &vb_cmd_dfx,
    &vb_cmd_hca,     &vb_cmd_sim,    &vb_cmd_sweep,   &vb_cmd_fabric,   &vb_cmd_version,
    &vb_cmd_broker,
};

#define COMMAND_CNT (sizeof commands / sizeof commands[0])

static void print_help(FILE *f)
{
	fputs("Usage: verbena COMMAND [OPTIONS]\n\n"
	      "An RDMA adapter in software: RoCEv2 over UDP, without hardware, kernel module or "
	      "root.\n\nCommands:\n",
	      f);
	for (size_t i = 0; i < COMMAND_CNT; i++)
		fprintf(f, "  %-10s  %s\n", commands[i]->name, commands[i]->text);
	fputs("\n'verbena COMMAND --help' shows the options of a command; see also verbena(1).\n"
	      "Start with 'verbena doctor', then 'verbena run -- ibv_devinfo'.\n",
	      f);
}

static int unknown_command(const char *name)
{
	const char *near = NULL;
	unsigned least = vb_near_limit(name);

	for (size_t i = 0; i < COMMAND_CNT; i++)
		if (vb_near_distance(name, commands[i]->name) <= least) {
			near = commands[i]->name;
			least = vb_near_distance(name, near) - 1;
		}
	fprintf(stderr, "verbena: there is no command '%s'", name);
	if (near)
		fprintf(stderr, "; did you mean '%s'?\n", near);
	else
		fputs("; see 'verbena --help'\n", stderr);
	return VB_EXIT_USAGE;
}

static int run_command(const char *name, int argc, char **argv)
{
	for (size_t i = 0; i < COMMAND_CNT; i++)
		if (strcmp(name, commands[i]->name) == 0)
			return commands[i]->run(commands[i], argc, argv);
	return unknown_command(name);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	signal(SIGPIPE, SIG_IGN);
	if (!name[0]) {
		print_help(stderr);
		return VB_EXIT_USAGE;
	}
	/* As git(1) has it. */
	if (strcmp(name, "help") == 0 && argc > 2)
		return run_command(argv[2], 2, (char *[]){argv[2], (char[]){"--help"}, NULL});
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		print_help(stdout);
		return fflush(stdout) ? 1 : 0;
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = vb_cmd_version.name;
	return run_command(name, argc - 1, argv + 1);
}
