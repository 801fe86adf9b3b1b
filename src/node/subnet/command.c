/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands by which `verbena fabric` looks at a fabric and changes its cables. What a command
 * prints goes to a file that the caller copies.
 */
#include "node/subnet/state.h"

#include "wire/ib/rate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int print_text(void *ctx, const char *text, size_t len)
{
	return fwrite(text, 1, len, ctx) == len ? 0 : -EIO;
}

static int command_dump(struct vb_subnet_daemon *d, FILE *out)
{
	return vb_topo_write(d->topo, print_text, out);
}

static const char *const types[] = {"", "Ca", "Switch", "Rt"};
static const char *const states[] = {"", "DOWN", "INIT", "ARMED", "ACTIVE", "ACT_DEFER"};

static void print_link(struct vb_subnet_daemon *d, FILE *out, struct vb_subnet_place at)
{
	const struct vb_subnet_port *p = &d->subnet.node[at.node].port[at.port];
	const struct vb_port_info *info = &vb_subnet_sma_port(&d->subnet, at)->info;

	if (!p->has_cable)
		return;
	fprintf(out, "  %3u %-9s lid %-5u -> %s port %u%s\n", at.port, states[p->link.state],
		info->lid, d->topo->node[p->peer.node].name, p->peer.port,
		p->is_plugged ? "" : " (unplugged)");
}

static int command_show(struct vb_subnet_daemon *d, FILE *out)
{
	for (uint32_t i = 0; i < d->topo->node_cnt; i++) {
		const struct vb_topo_node *n = &d->topo->node[i];
		struct vb_subnet_place own = {i, 0};

		fprintf(out, "%s %s 0x%016llx \"%s\"", types[n->type], n->name,
			(unsigned long long)n->node_guid, n->desc);
		if (vb_subnet_at_switch(d, i))
			fprintf(out, " lid %u", vb_subnet_sma_port(&d->subnet, own)->info.lid);
		fputc('\n', out);
		for (unsigned p = 1; p <= n->port_cnt; p++)
			print_link(d, out, (struct vb_subnet_place){i, (uint8_t)p});
	}
	return 0;
}

/* "NODE PORT" */
static int command_plug(struct vb_subnet_daemon *d, char *arguments, bool plugged, char *why,
			size_t why_size)
{
	char *port_text = strrchr(arguments, ' '), *end = NULL;
	const struct vb_topo_node *n;
	unsigned long port = 0;
	int rc;

	if (port_text) {
		*port_text++ = 0;
		port = strtoul(port_text, &end, 10);
	}
	n = vb_topo_find(d->topo, arguments);
	if (!n) {
		snprintf(why, why_size, "the fabric has no node '%s'", arguments);
		return -ENOENT;
	}
	if (!end || *end || port == 0 || port > n->port_cnt) {
		snprintf(why, why_size, "'%s' has the ports 1 to %u", n->name, n->port_cnt);
		return -EINVAL;
	}
	rc = vb_subnet_plug(&d->subnet,
			    (struct vb_subnet_place){(uint32_t)(n - d->topo->node), (uint8_t)port},
			    plugged, vb_broker_clock());
	if (rc)
		snprintf(why, why_size, "no cable is at port %lu of '%s'", port, n->name);
	return rc;
}

int vb_subnet_command(struct vb_subnet_daemon *d, const char *text, int fd, char *why,
		      size_t why_size)
{
	char copy[sizeof d->call.text], *arguments;
	int file = dup(fd), rc;
	FILE *out = file < 0 ? NULL : fdopen(file, "w");

	if (!out) {
		close(file);
		return -EMFILE;
	}
	snprintf(copy, sizeof copy, "%s", text);
	arguments = copy + strcspn(copy, " ");
	if (*arguments)
		*arguments++ = 0;
	if (strcmp(copy, "show") == 0)
		rc = command_show(d, out);
	else if (strcmp(copy, "dump") == 0)
		rc = command_dump(d, out);
	else if (strcmp(copy, "link") == 0 || strcmp(copy, "unlink") == 0)
		rc = command_plug(d, arguments, copy[0] == 'l', why, why_size);
	else {
		snprintf(why, why_size, "there is no command '%s'", copy);
		rc = -EINVAL;
	}
	if (fclose(out) && !rc)
		rc = -EIO;
	return rc;
}
