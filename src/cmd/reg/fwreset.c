/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena fwreset`: the registers of a device as they leave the factory, the only way back from a
 * profile of adaptive timeouts. ADP-27
 */
#include "cmd/reg/register.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { OPT_DEVICE };

static const struct vb_cmd_option options[] = {
    [OPT_DEVICE] = {'d', "device", "DEVICE", "the device, by its name or its network device's"},
    {0},
};

static int run_fwreset(const struct vb_cmd *cmd, int argc, char **argv)
{
	struct vb_broker_reg reset = {.method = VB_BROKER_REG_RESET};
	struct vb_broker_observer o;
	const char *arg, *device = NULL;
	char why[512];

	while (vb_cmd_next_option(cmd, argc, argv, &arg) >= 0)
		device = arg;
	if (optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	if (!device)
		return vb_cmd_usage(cmd, "no device: -d DEVICE");
	if (strlen(device) >= sizeof reset.device) {
		vb_cmd_error(cmd, "there is no device '%s'", device);
		return 1;
	}
	memcpy(reset.device, device, strlen(device));
	if (vb_broker_observe(&o, true, why, sizeof why)) {
		vb_cmd_error(cmd, "%s", why);
		return 1;
	}

	int rc = vb_broker_access(&o, &reset, why, sizeof why);

	vb_broker_observe_end(&o);
	if (rc) {
		vb_cmd_error(cmd, "%s%s", why,
			     rc == -ENODEV ? "; 'verbena devices' lists them" : "");
		return 1;
	}
	printf("%s: all registers have their first values\n", device);
	return vb_cmd_finish(cmd);
}

const struct vb_cmd vb_cmd_fwreset = {
    .name = "fwreset",
    .arguments = "-d DEVICE",
    .text = "Resets the registers of a device.",
    .options = options,
    .run = run_fwreset,
};
