/* SPDX-License-Identifier: BSD-2-Clause */
/* See low_ports.h. */
#include "node/netdev/low_ports.h"

#include <stdio.h>

#define FIRST_PORT "/proc/sys/net/ipv4/ip_unprivileged_port_start"

unsigned vb_low_ports_end(void)
{
	FILE *f = fopen(FIRST_PORT, "re");
	unsigned first = 1024;

	if (f) {
		if (fscanf(f, "%u", &first) != 1)
			first = 1024;
		fclose(f);
	}
	return first;
}
