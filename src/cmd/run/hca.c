/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena hca`: the adapter as a thing of its own. Otherwise it comes with the first program that
 * uses it and goes after the last, with its settings; started here it stays.
 */
#include "cmd/cmd.h"
#include "node/broker/broker.h"
#include "node/host/port_owner.h"

#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_VFS };

/* While a broker is restarted. */
#define PAUSE_MS 20
#define PATIENCE_MS 3000
#define OWNERS_MAX 16

static const struct vb_cmd_option options[] = {
    [OPT_VFS] = {0, "vfs", "N", "start: virtual functions of each device, 0 to 8; 0 if not given"},
    {0},
};

static void print_functions(const struct vb_host_shm *host, const struct vb_adapter_state *state)
{
	printf("%-12s %-15s %4s  %-12s %-10s %s\n", "FUNCTION", "NETDEV", "VHCA", "PARENT",
	       "TIMEOUTS", "PROFILE");
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		const struct vb_device *d = &host->device[i];

		if (!d->ifindex)
			continue;

		uint32_t pf = d->parent ? d->parent - 1 : i;
		const struct vb_recovery *r = &state->pf[pf].reg.recovery;

		printf("%-12s %-15s %4" PRIu32 "  %-12s %-10s %u\n", d->name, d->ifname, i,
		       d->parent ? host->device[pf].name : "-",
		       r->roce_adp_retrans_en ? "adaptive" : "fixed", r->adp_retx_profile_id);
	}
}

struct picture {
	struct vb_host_shm host;
	struct vb_adapter_state state;
	int users; /* programs */
};

/* The broker's state; false: there is no broker, or it has no adapter. */
static bool take_picture(struct picture *p)
{
	struct vb_broker_observer o;
	char why[512];

	if (vb_broker_observe(&o, false, why, sizeof why))
		return false;
	vb_host_read(o.host, &p->host);
	(void)vb_adapter_read(vb_broker_adapter(&o), 0, sizeof p->state, &p->state);
	(void)vb_broker_observe_slots(&o);
	p->users = 0;
	for (int i = VB_SLOT_FIRST; i < VB_SLOT_CNT; i++)
		p->users += o.slot[i] && o.slot[i]->pid;
	vb_broker_observe_end(&o);
	return p->host.is_open || p->state.is_kept;
}

/* A broker that was killed is back in a moment: a program with the adapter starts the next one. */
static int show_status(const struct vb_cmd *cmd)
{
	static struct picture p;
	struct vb_port_owner owner[OWNERS_MAX];

	for (int waited = 0; !take_picture(&p); waited += PAUSE_MS) {
		bool lives = vb_port_is_adopted(owner, vb_port_owners(owner, OWNERS_MAX));

		if (!lives || waited >= PATIENCE_MS) {
			puts(lives ? "restarting: the broker has ended, and the programs that use "
				     "the adapter have not started the next one yet"
				   : "stopped: no program uses the adapter");
			return vb_cmd_finish(cmd);
		}
		(void)poll(NULL, 0, PAUSE_MS);
	}
	printf("running: process %" PRIu32 ", %d program%s, %s\n", p.host.broker_pid, p.users,
	       p.users == 1 ? "" : "s",
	       p.state.is_kept ? "stays until 'verbena hca stop'" : "ends after the last of them");
	print_functions(&p.host, &p.state);
	return vb_cmd_finish(cmd);
}

/* As a program does it: a broker is started, and waits for a port that another one is about to
 * leave. */
static int start_adapter(const struct vb_cmd *cmd, uint32_t vfs)
{
	struct vb_broker_observer o;
	char why[512];
	int hold = vb_broker_hold(why, sizeof why), rc = 1;

	if (hold < 0) {
		vb_cmd_error(cmd, "%s", why);
		return 1;
	}
	if (vb_broker_observe(&o, false, why, sizeof why)) {
		vb_cmd_error(cmd, "%s", why);
	} else {
		rc = vb_broker_stay(&o, true, vfs);
		if (rc)
			vb_cmd_error(cmd, "the broker does not keep the adapter: %s",
				     strerror(-rc));
		vb_broker_observe_end(&o);
	}
	close(hold);
	return rc ? 1 : 0;
}

static int stop_adapter(const struct vb_cmd *cmd)
{
	struct vb_broker_observer o;
	char why[512];
	int rc;

	/* To stop what does not run is done. */
	if (vb_broker_observe(&o, false, why, sizeof why))
		return 0;
	rc = vb_broker_stay(&o, false, 0);
	vb_broker_observe_end(&o);
	if (rc)
		vb_cmd_error(cmd, "the broker does not answer: %s", strerror(-rc));
	return rc ? 1 : 0;
}

static int run_hca(const struct vb_cmd *cmd, int argc, char **argv)
{
	const char *arg, *what;
	double vfs = 0;
	bool has_vfs = false;

	/* Options before the word and behind it. */
	for (what = NULL;;) {
		int i = vb_cmd_next_option(cmd, argc, argv, &arg);

		if (i == OPT_VFS) {
			has_vfs = true;
			if (!vb_cmd_number(arg, 0, VB_VFS_MAX, &vfs) || vfs != (int)vfs)
				return vb_cmd_usage(cmd, "'%s' is no number from 0 to %d", arg,
						    VB_VFS_MAX);
		} else if (optind < argc && !what) {
			what = argv[optind++];
		} else {
			break;
		}
	}
	if (optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	if (!what)
		return vb_cmd_usage(cmd, "start, stop or status?");
	if (has_vfs && strcmp(what, "start") != 0)
		return vb_cmd_usage(cmd, "--vfs is for 'start'");
	if (strcmp(what, "start") == 0)
		return start_adapter(cmd, (uint32_t)vfs);
	if (strcmp(what, "stop") == 0)
		return stop_adapter(cmd);
	if (strcmp(what, "status") == 0)
		return show_status(cmd);
	return vb_cmd_usage(cmd, "'%s' is none of start, stop and status", what);
}

const struct vb_cmd vb_cmd_hca = {
    .name = "hca",
    .arguments = "start [--vfs N] | stop | status",
    .text = "Keeps the adapter, with its settings, while no program uses it.",
    .options = options,
    .run = run_hca,
};
