/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands by which `verbena fabric` looks at a fabric, changes its cables and reports errors.
 * The output of a command goes to a file that the caller copies.
 */
#include "node/cm/view.h"
#include "node/host/clock.h"
#include "node/subnet/cm/cm.h"
#include "node/subnet/live/live.h"
#include "node/subnet/path/path.h"
#include "node/subnet/state.h"
#include "node/subnet/view/view.h"

#include "wire/ib/rate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static int print_text(void *ctx, const char *text, size_t len)
{
	return fwrite(text, 1, len, ctx) == len ? 0 : -EIO;
}

static int command_dump(struct vb_subnet_daemon *d, FILE *out)
{
	return vb_topo_write(d->topo, print_text, out);
}

/* "NODE PORT", where the node's name may have spaces. */
static int place_parse(const struct vb_subnet_daemon *d, char *text, struct vb_subnet_place *at,
		       char *why, size_t why_size)
{
	char *port_text = strrchr(text, ' '), *end = NULL;
	const struct vb_topo_node *n;
	unsigned long port = 0;

	if (port_text) {
		*port_text++ = 0;
		port = strtoul(port_text, &end, 10);
	}
	n = vb_topo_find(d->topo, text);
	if (!n) {
		snprintf(why, why_size, "the fabric has no node '%s'", text);
		return -ENOENT;
	}
	if (!end || *end || port == 0 || port > n->port_cnt) {
		snprintf(why, why_size, "'%s' has the ports 1 to %u", n->name, n->port_cnt);
		return -EINVAL;
	}
	*at = (struct vb_subnet_place){(uint32_t)(n - d->topo->node), (uint8_t)port};
	return 0;
}

static int command_plug(struct vb_subnet_daemon *d, char *arguments, bool plugged, char *why,
			size_t why_size)
{
	struct vb_subnet_place at;
	int rc = place_parse(d, arguments, &at, why, why_size);

	if (rc)
		return rc;
	rc = vb_subnet_plug(&d->subnet, at, plugged, vb_clock_now());
	if (rc)
		snprintf(why, why_size, "no cable is at port %u of '%s'", at.port,
			 d->topo->node[at.node].name);
	return rc;
}

/* The cable there is pulled, where it has one. */
static bool cable_is_out(const struct vb_subnet_daemon *d, struct vb_subnet_place at)
{
	const struct vb_subnet_port *p = &d->subnet.node[at.node].port[at.port];

	return p->has_cable && !p->is_plugged;
}

/* "NODE": puts back all its cables that were pulled. */
static int relink_node(struct vb_subnet_daemon *d, const struct vb_topo_node *n, char *why,
		       size_t why_size)
{
	uint32_t node = (uint32_t)(n - d->topo->node), cnt = 0;

	for (unsigned p = 1; p <= n->port_cnt; p++) {
		struct vb_subnet_place at = {node, (uint8_t)p};

		if (cable_is_out(d, at) && !vb_subnet_plug(&d->subnet, at, true, vb_clock_now()))
			cnt++;
	}
	if (cnt == 0)
		snprintf(why, why_size, "no cable of '%s' is pulled; 'unlink' pulls one", n->name);
	return cnt ? 0 : -EALREADY;
}

/* "NODE PORT" or "NODE": where a cable was pulled it is put back, as ibsim's relink does it. */
static int command_relink(struct vb_subnet_daemon *d, char *arguments, char *why, size_t why_size)
{
	const struct vb_topo_node *n = vb_topo_find(d->topo, arguments);
	struct vb_subnet_place at;
	int rc;

	if (n)
		return relink_node(d, n, why, why_size);
	rc = place_parse(d, arguments, &at, why, why_size);
	if (rc)
		return rc;
	if (cable_is_out(d, at))
		return vb_subnet_plug(&d->subnet, at, true, vb_clock_now());
	rc = d->subnet.node[at.node].port[at.port].has_cable ? -EALREADY : -ENOENT;
	snprintf(why, why_size,
		 rc == -ENOENT ? "no cable is at port %u of '%s'"
			       : "the cable at port %u of '%s' is not pulled; 'unlink' pulls it",
		 at.port, d->topo->node[at.node].name);
	return rc;
}

/* "NODE PORT LOCAL PEER". */
static int command_tunnel(struct vb_subnet_daemon *d, char *arguments, char *why, size_t why_size)
{
	char *peer = strrchr(arguments, ' '), *local = NULL;
	struct vb_subnet_place at;
	int rc;

	if (peer) {
		*peer++ = 0;
		local = strrchr(arguments, ' ');
	}
	if (!local) {
		snprintf(why, why_size, "a tunnel has a node, a port, and two addresses");
		return -EINVAL;
	}
	*local++ = 0;
	rc = place_parse(d, arguments, &at, why, why_size);
	return rc ? rc : vb_subnet_tunnel_open(d, at, local, peer, why, why_size);
}

static int command_untunnel(struct vb_subnet_daemon *d, char *arguments, char *why, size_t why_size)
{
	struct vb_subnet_place at;
	int rc = place_parse(d, arguments, &at, why, why_size);

	return rc ? rc : vb_subnet_tunnel_shut(d, at, why, why_size);
}

/* Codes of rate.h by their names, "QDR" and "4x"; 0: there is none of this name. */
static uint32_t speed_code(const char *name)
{
	for (uint32_t code = VB_IB_SDR; code <= VB_IB_XDR; code <<= 1) {
		const struct vb_ib_speed_row *row = vb_ib_speed_row(code);

		if (row && strcasecmp(row->name, name) == 0)
			return code;
	}
	return 0;
}

static uint32_t width_code(const char *name)
{
	char *end;
	unsigned long lanes = strtoul(name, &end, 10);

	for (uint32_t code = 1; code <= VB_IB_2X && strcasecmp(end, "x") == 0; code <<= 1)
		if (vb_ib_lanes(code) == lanes)
			return code;
	return 0;
}

/* "speed=QDR" or "width=1x". */
static int limit_parse(const char *text, struct vb_subnet_limits *l, char *why, size_t why_size)
{
	if (strncmp(text, "speed=", 6) == 0)
		l->speed = (uint16_t)speed_code(text + 6);
	else if (strncmp(text, "width=", 6) == 0)
		l->width = (uint8_t)width_code(text + 6);
	if ((text[0] == 's' && l->speed) || (text[0] == 'w' && l->width))
		return 0;
	snprintf(
	    why, why_size,
	    "'%s' is none of speed=SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR, and width=1x, "
	    "2x, 4x, 8x or 12x",
	    text);
	return -EINVAL;
}

/* "NODE description=TEXT" or "NODE sysimgguid=0x1234"; @value: behind the '='. */
static int command_set_node(struct vb_subnet_daemon *d, char *name, bool is_guid, const char *value,
			    char *why, size_t why_size)
{
	const struct vb_topo_node *n = vb_topo_find(d->topo, name);
	unsigned long long guid;
	char *end;

	if (!n) {
		snprintf(why, why_size, "the fabric has no node '%s'", name);
		return -ENOENT;
	}
	if (!is_guid) {
		vb_subnet_set_description(&d->subnet, (uint32_t)(n - d->topo->node), value,
					  vb_clock_now());
		return 0;
	}
	guid = strtoull(value, &end, 16);
	if (*end || guid == 0) {
		snprintf(why, why_size, "'%s' is no GUID, as 0x7662000000010000 is one", value);
		return -EINVAL;
	}
	vb_subnet_set_system_guid(&d->subnet, (uint32_t)(n - d->topo->node), guid, vb_clock_now());
	return 0;
}

/* "NODE PORT speed=QDR width=1x": the limits of the cable there; "enable-speed=QDR
 * enable-width=1x": the values that the port there has enabled. */
static int command_set_port(struct vb_subnet_daemon *d, char *arguments, char *why, size_t why_size)
{
	static const char enable[] = "enable-";
	struct vb_subnet_limits limits = {.speed = 0}, enabled = {.speed = 0};
	struct vb_subnet_place at;
	char *last;
	int rc = 0;

	while (!rc && (last = strrchr(arguments, ' ')) && strchr(last, '=')) {
		bool is_cable = strncmp(last + 1, enable, sizeof enable - 1) != 0;

		*last++ = 0;
		rc = limit_parse(last + (is_cable ? 0 : sizeof enable - 1),
				 is_cable ? &limits : &enabled, why, why_size);
	}
	if (!rc)
		rc = place_parse(d, arguments, &at, why, why_size);
	if (rc)
		return rc;
	if (limits.speed || limits.width)
		rc = vb_subnet_limit(&d->subnet, at, &limits, vb_clock_now());
	if (!rc && (enabled.speed || enabled.width))
		rc = vb_subnet_enable(&d->subnet, at, &enabled, vb_clock_now());
	if (rc)
		snprintf(why, why_size,
			 rc == -ENOENT ? "no cable is at port %u of '%s'"
				       : "port %u of '%s' does not support that",
			 at.port, d->topo->node[at.node].name);
	return rc;
}

static int command_set(struct vb_subnet_daemon *d, char *arguments, char *why, size_t why_size)
{
	static const char *const words[] = {" description=", " sysimgguid="};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		char *value = strstr(arguments, words[i]);

		if (!value)
			continue;
		*value = 0;
		return command_set_node(d, arguments, i == 1, value + strlen(words[i]), why,
					why_size);
	}
	return command_set_port(d, arguments, why, why_size);
}

static int error_find(const char *name, char *why, size_t why_size)
{
	int n;

	for (int i = 0; i < (int)VB_PMA_ERROR_COUNTERS; i++)
		if (strcasecmp(vb_pma_counter_name(i), name) == 0)
			return i;
	n = snprintf(why, why_size, "'%s' is no counter of errors; they are", name);
	for (int i = 0; i < (int)VB_PMA_ERROR_COUNTERS && n > 0 && (size_t)n < why_size; i++)
		n += snprintf(why + n, why_size - (size_t)n, "%s %s", i ? "," : "",
			      vb_pma_counter_name(i));
	return -EINVAL;
}

/* No counter of a MAD: the neighbour's flow control packets fail to come. */
#define FLOW_SILENCE "FlowControlSilence"
#define SILENCES_MAX 1000u

static int command_silence(struct vb_subnet_daemon *d, char *arguments, unsigned long long cnt,
			   char *why, size_t why_size)
{
	struct vb_subnet_place at;
	int rc = place_parse(d, arguments, &at, why, why_size);

	for (unsigned long long i = 0; !rc && i < cnt && i < SILENCES_MAX; i++)
		rc = vb_subnet_flow_silence(&d->subnet, at, vb_clock_now());
	if (rc == -ENETDOWN)
		snprintf(why, why_size, "the link of port %u of '%s' is not ACTIVE", at.port,
			 d->topo->node[at.node].name);
	return rc;
}

/* "NODE PORT COUNTER=N": the port has had N more of these errors. */
static int command_error(struct vb_subnet_daemon *d, char *arguments, char *why, size_t why_size)
{
	char *name = strrchr(arguments, ' '), *number = name ? strchr(name, '=') : NULL, *end;
	struct vb_subnet_place at;
	unsigned long long cnt;
	int i, rc;

	if (!number || number[1] < '0' || number[1] > '9') {
		snprintf(why, why_size, "the last argument is COUNTER=N, as in PortRcvErrors=3");
		return -EINVAL;
	}
	*name++ = 0;
	*number++ = 0;
	cnt = strtoull(number, &end, 10);
	if (*end || cnt > UINT32_MAX) {
		snprintf(why, why_size, "'%s' is no number from 0 to %u", number, UINT32_MAX);
		return -EINVAL;
	}
	if (strcasecmp(name, FLOW_SILENCE) == 0)
		return command_silence(d, arguments, cnt, why, why_size);
	i = error_find(name, why, why_size);
	rc = i < 0 ? i : place_parse(d, arguments, &at, why, why_size);
	if (!rc)
		d->subnet.node[at.node].pma.port[at.port].reported[i] += cnt;
	if (!rc && cnt && i == VB_PMA_LINK_INTEGRITY_ERRORS)
		vb_subnet_link_error(&d->subnet, at, VB_TRAP_LINK_INTEGRITY, vb_clock_now());
	if (!rc && cnt && i == VB_PMA_BUFFER_OVERRUN_ERRORS)
		vb_subnet_link_error(&d->subnet, at, VB_TRAP_BUFFER_OVERRUN, vb_clock_now());
	return rc;
}

/* For `verbena explain`: records, not text. */
static int command_connections(struct vb_subnet_daemon *d, FILE *out)
{
	struct vb_ucma_view *view = calloc(VB_CM_TABLE_MAX, sizeof *view);
	bool ok = view != NULL;

	for (struct vb_list *l = d->cms.next; ok && l != &d->cms; l = l->next) {
		struct vb_subnet_cm *cm = vb_container_of(l, struct vb_subnet_cm, node);
		uint32_t cnt;

		for (uint32_t i = 0; i < VB_CM_CHANNELS_MAX; i++)
			if (cm->host.channel[i])
				vb_channel_sync(cm->host.channel[i]);
		cnt = vb_ucma_views(cm->host.ucma, view, VB_CM_TABLE_MAX);
		for (uint32_t i = 0; ok && i < cnt && i < VB_CM_TABLE_MAX; i++) {
			struct vb_subnet_connection s = {.view = view[i]};

			snprintf(s.node, sizeof s.node, "%s", d->topo->node[cm->index].name);
			ok = fwrite(&s, sizeof s, 1, out) == 1;
		}
	}
	free(view);
	return ok ? 0 : -EIO;
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
	if (strcmp(copy, "view") == 0)
		rc = vb_subnet_view_write(d, *arguments ? arguments : NULL, out, why, why_size);
	else if (strcmp(copy, "way") == 0)
		rc = vb_subnet_answer_way(d, arguments, out, why, why_size);
	else if (strcmp(copy, "dump") == 0)
		rc = command_dump(d, out);
	else if (strcmp(copy, "link") == 0 || strcmp(copy, "unlink") == 0)
		rc = command_plug(d, arguments, copy[0] == 'l', why, why_size);
	else if (strcmp(copy, "relink") == 0)
		rc = command_relink(d, arguments, why, why_size);
	else if (strcmp(copy, "tunnel") == 0)
		rc = command_tunnel(d, arguments, why, why_size);
	else if (strcmp(copy, "untunnel") == 0)
		rc = command_untunnel(d, arguments, why, why_size);
	else if (strcmp(copy, "connections") == 0)
		rc = command_connections(d, out);
	else if (strcmp(copy, "path") == 0)
		rc = vb_subnet_answer_path(d, arguments, out, why, why_size);
	else if (strcmp(copy, "node") == 0)
		rc = vb_subnet_answer_node(d, arguments, out, why, why_size);
	else if (strcmp(copy, "set") == 0)
		rc = command_set(d, arguments, why, why_size);
	else if (strcmp(copy, "error") == 0)
		rc = command_error(d, arguments, why, why_size);
	else {
		snprintf(why, why_size, "there is no command '%s'", copy);
		rc = -EINVAL;
	}
	if (fclose(out) && !rc)
		rc = -EIO;
	return rc;
}
