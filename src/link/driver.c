/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of drivers. A driver is added here and nowhere else: docs/howto.md. */
#include "link/driver.h"

#include "link/carried/carried.h"
#include "link/ib/ib.h"
#include "link/shm/shm.h"
#include "link/udp/udp.h"

#include <stdio.h>
#include <string.h>

static const struct vb_link_driver drivers[] = {
    {.name = "udp", .what = "the UDP sockets", .open = vb_udp_open},
    {.name = "shm", .what = "the shared-memory link", .open = vb_shm_open, .below = &drivers[0]},
};

/* Of a process whose packets the shared broker receives. */
static const struct vb_link_driver carried = {.name = "carried",
					      .what = "the ring of the shared broker",
					      .open = vb_carried_open,
					      .below = &drivers[0]};

/* Of a port of an InfiniBand fabric, where packets go to processes of this host alone. */
static const struct vb_link_driver fabric[] = {
    {.name = "nowhere", .what = "a descriptor", .open = vb_nowhere_open},
    {.name = "shm", .what = "the shared-memory link", .open = vb_shm_open, .below = &fabric[0]},
    {.name = "infiniband", .what = "the port", .open = vb_ib_link_open, .below = &fabric[1]},
};

#define DRIVERS (sizeof drivers / sizeof drivers[0])

const struct vb_link_driver *vb_link_driver_find(const char *name)
{
	if (*name == 0)
		return &drivers[0];
	for (size_t i = 0; i < DRIVERS; i++)
		if (strcmp(drivers[i].name, name) == 0)
			return &drivers[i];
	return NULL;
}

const struct vb_link_driver *vb_link_driver_carried(void)
{
	return &carried;
}

const struct vb_link_driver *vb_link_driver_fabric(void)
{
	return &fabric[2];
}

void vb_link_driver_names(char *to, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < DRIVERS && len < size; i++)
		len += (size_t)snprintf(to + len, size - len, "%s%s", i ? " or " : "",
					drivers[i].name);
}
