/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena devices`: the adapters of this host and their GIDs, from the broker's device table. */
#include "cmd/cmd.h"
#include "node/broker/broker.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

enum { OPT_JSON };

static const struct vb_cmd_option options[] = {
    [OPT_JSON] = {'j', "json", NULL, "print JSON"},
    {0},
};

static const char *gid_text(const struct vb_gid *g, char *buf, socklen_t size)
{
	return inet_ntop(AF_INET6, g->b, buf, size);
}

static const char *address_text(const struct vb_gid_entry *e, char *buf, socklen_t size)
{
	if (e->type == VB_GID_IPV4)
		return inet_ntop(AF_INET, e->gid.b + 12, buf, size);
	return gid_text(&e->gid, buf, size);
}

static void print_table(const struct vb_host_shm *host)
{
	char buf[INET6_ADDRSTRLEN];
	int cnt = 0;

	printf("%-10s %-15s %-7s %5s %8s  %s\n", "DEVICE", "NETDEV", "STATE", "MTU", "SPEED",
	       "INDEX GID");
	for (uint32_t i = 0; i < host->device_cnt; i++) {
		const struct vb_device *d = &host->device[i];
		char speed[16] = "-";
		int shown = 0;

		if (!d->ifindex)
			continue;
		cnt++;
		if (d->speed_mbps)
			snprintf(speed, sizeof speed, "%gG", d->speed_mbps / 1000.0);
		printf("%-10s %-15s %-7s %5" PRIu32 " %8s ", d->name, d->ifname,
		       d->is_up ? "ACTIVE" : "DOWN", vb_mtu_bytes((enum vb_mtu)d->active_mtu),
		       speed);
		for (int k = 0; k < VB_GIDS_MAX; k++)
			if (d->gid[k].type != VB_GID_NONE)
				printf("%*s%5d %s\n", shown++ ? 50 : 0, "", k,
				       address_text(&d->gid[k], buf, sizeof buf));
		if (!shown)
			puts("    - none");
	}
	if (!cnt)
		puts("no network device of this host is up and has an address");
}

static void print_json(const struct vb_host_shm *host)
{
	char buf[INET6_ADDRSTRLEN];
	const char *sep = "";

	printf("[");
	for (uint32_t i = 0; i < host->device_cnt; i++) {
		const struct vb_device *d = &host->device[i];
		const char *gid_sep = "";

		if (!d->ifindex)
			continue;
		printf("%s\n  {\"name\": \"%s\", \"netdev\": \"%s\", \"ifindex\": %" PRIu32
		       ", \"state\": \"%s\", \"active_mtu\": %" PRIu32 ", \"netdev_mtu\": %" PRIu32
		       ", \"speed_mbps\": %" PRIu32 ", \"guid\": \"%016" PRIx64
		       "\", \"parent\": \"%s\", \"gids\": [",
		       sep, d->name, d->ifname, d->ifindex, d->is_up ? "ACTIVE" : "DOWN",
		       vb_mtu_bytes((enum vb_mtu)d->active_mtu), d->netdev_mtu, d->speed_mbps,
		       d->guid, d->parent ? host->device[d->parent - 1].name : "");
		sep = ",";
		for (int k = 0; k < VB_GIDS_MAX; k++) {
			if (d->gid[k].type == VB_GID_NONE)
				continue;
			printf("%s\n    {\"index\": %d, \"gid\": \"%s\", \"type\": \"RoCE v2\"}",
			       gid_sep, k, gid_text(&d->gid[k].gid, buf, sizeof buf));
			gid_sep = ",";
		}
		printf("]}");
	}
	printf("\n]\n");
}

static int run_devices(const struct vb_cmd *cmd, int argc, char **argv)
{
	static struct vb_host_shm host;
	struct vb_broker_observer o;
	const char *arg;
	char why[512];
	bool json = false;

	for (int i; (i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0;)
		json |= i == OPT_JSON;
	if (optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	if (vb_broker_observe(&o, true, why, sizeof why)) {
		vb_cmd_error(cmd, "%s", why);
		return 1;
	}
	vb_host_read(o.host, &host);
	vb_broker_observe_end(&o);
	/* Names of network devices hold neither quotes nor control characters. */
	if (json)
		print_json(&host);
	else
		print_table(&host);
	return vb_cmd_finish(cmd);
}

const struct vb_cmd vb_cmd_devices = {
    .name = "devices",
    .arguments = "[--json]",
    .text = "Lists the devices, their state and their GIDs.",
    .options = options,
    .run = run_devices,
};
