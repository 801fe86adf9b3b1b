/* SPDX-License-Identifier: BSD-2-Clause */
/* The drivers that there are, by the names that users give them. */
#ifndef VB_LINK_DRIVER_H
#define VB_LINK_DRIVER_H

#include "link/link.h"

struct vb_link_driver {
	const char *name;
	const char *what; /* what it is made of, for a message that says what failed */
	/* Returns 0 and the link in *out, or a negative errno; then what @cfg gives to the link is
	 * still the caller's. */
	int (*open)(struct vb_link **out, const struct vb_link_config *cfg);
	/* The driver whose link is cfg->lower, NULL: it needs none. */
	const struct vb_link_driver *below;
};

/* The driver called @name, the usual one for an empty name. NULL: there is none. */
const struct vb_link_driver *vb_link_driver_find(const char *name);

/* The driver of a process whose packets the shared broker receives, vb_link_config.carried. */
const struct vb_link_driver *vb_link_driver_carried(void);

/* The driver of a port of an InfiniBand fabric, vb_link_config.fabric. */
const struct vb_link_driver *vb_link_driver_fabric(void);

/* Writes the names of all drivers at @to, cut to @size: "a or b". */
void vb_link_driver_names(char *to, size_t size);

#endif
