/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables that a subnet manager left, line by line. A line with a mistake is refused with its
 * number; so is one with nodes that the topology lacks: the tables are of another fabric then.
 * opensm(8), dump_lfts(8), ibdmchk(1)
 */
#include "scenario/fabric/fabric.h"

#include "fabric/ib/forward.h"
#include "wire/ib/lrh.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW 256u
#define LIDS 65536u
#define LINE_MAX_LEN 2048u /* of a multicast entry: 254 ports of 7 characters */
#define UNSAID 0xff
_Static_assert(UNSAID == VB_SIM_ANY_SL, "a path without a level of its own");

struct table_reader {
	struct vb_fabric *f;
	const char *at, *end;
	struct vb_fabric_error *err;
	char line[LINE_MAX_LEN];
	uint32_t node; /* whose table this is; VB_FABRIC_NONE: before the first */
};

__attribute__((format(printf, 2, 3))) static int line_refuse(struct table_reader *r,
							     const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->err->text, sizeof r->err->text, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* The next line into r->line, cut at its length; unprintable bytes are '?' there, since a
 * refusal may show it. False: there is none. */
static bool line_next(struct table_reader *r)
{
	const char *stop;
	size_t len;

	if (r->at == r->end)
		return false;
	stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
	if (!stop)
		stop = r->end;
	len = (size_t)(stop - r->at);
	if (len >= sizeof r->line)
		len = sizeof r->line - 1;
	memcpy(r->line, r->at, len);
	r->line[len] = 0;
	if (len > 0 && r->line[len - 1] == '\r')
		r->line[--len] = 0;
	for (size_t i = 0; i < len; i++)
		if (r->line[i] == '\t')
			r->line[i] = ' ';
		else if (r->line[i] < ' ' || r->line[i] > '~')
			r->line[i] = '?';
	r->at = stop == r->end ? stop : stop + 1;
	r->err->line++;
	return true;
}

static bool line_begins(const struct table_reader *r, const char *with)
{
	return strncmp(r->line, with, strlen(with)) == 0;
}

/* The GUID behind @word in the line. */
static bool guid_behind(const struct table_reader *r, const char *word, uint64_t *guid)
{
	const char *at = strstr(r->line, word);

	return at && sscanf(at + strlen(word), "%" SCNx64, guid) == 1;
}

/* Calls @each for every line; the first refusal ends it. */
static int lines_read(struct vb_fabric *f, const char *text, size_t len,
		      struct vb_fabric_error *err, int (*each)(struct table_reader *r))
{
	struct table_reader r = {
	    .f = f, .at = text, .end = text + len, .err = err, .node = VB_FABRIC_NONE};
	int bad = 0;

	err->line = 0;
	while (!bad && line_next(&r))
		bad = each(&r);
	if (!bad)
		err->line = 0;
	return bad;
}

static uint8_t *out_of(const struct vb_fabric *f, uint32_t sw, uint32_t host)
{
	return &f->out[(size_t)sw * f->host_cnt + host];
}

/* The switch whose GUID stands behind @word begins a table. */
static int switch_head(struct table_reader *r, const char *word)
{
	const struct vb_fabric_guid *g;
	uint64_t guid;

	if (!guid_behind(r, word, &guid))
		return line_refuse(r, "a table begins with the GUID of its switch");
	g = vb_fabric_find(r->f, guid);
	if (!g || g->node < r->f->host_cnt)
		return line_refuse(r, "the topology has no switch with GUID 0x%016" PRIx64, guid);
	r->node = g->node - r->f->host_cnt;
	return 0;
}

/* "Unicast lids [0-18] of switch Lid 2 guid 0x7662000000010000 ('S-0000'):" */
static int lft_head(struct table_reader *r)
{
	return switch_head(r, "guid ");
}

/* "0x0001 003 # Channel Adapter portguid 0x7662000000010601: 'H-0000'"; an entry for a switch leads
 * no data. */
static int lft_entry(struct table_reader *r)
{
	const struct vb_fabric_guid *g;
	unsigned lid, port;
	uint64_t guid;
	uint8_t *out;

	if (sscanf(r->line, "0x%4x %3u", &lid, &port) != 2 || lid == 0 || lid >= 0xc000 ||
	    port >= ROW || !guid_behind(r, "portguid ", &guid))
		return line_refuse(r, "an entry is a LID, a port and a port GUID, as in '0x0001 "
				      "003 # Channel Adapter portguid 0x...'");
	if (r->node == VB_FABRIC_NONE)
		return line_refuse(r, "an entry before the first 'Unicast lids ... guid 0x...'");
	g = vb_fabric_find(r->f, guid);
	if (!g)
		return line_refuse(r, "the topology has no port with GUID 0x%016" PRIx64, guid);
	if (g->node >= r->f->host_cnt)
		return 0;
	if (port != VB_PORT_NONE && r->f->number[(size_t)r->node * ROW + port] == 0)
		return line_refuse(r, "port %u of '%s' has no cable", port,
				   vb_fabric_name(r->f, r->f->host_cnt + r->node));
	r->f->host_of_lid[lid] = g->node + 1;
	out = out_of(r->f, r->node, g->node);
	/* Of several LIDs the first one counts: the port's base LID. */
	if (*out == 0)
		*out = port == VB_PORT_NONE ? VB_PORT_NONE
					    : r->f->number[(size_t)r->node * ROW + port];
	return 0;
}

static int lft_line(struct table_reader *r)
{
	if (line_begins(r, "Unicast lids"))
		return lft_head(r);
	if (line_begins(r, "0x"))
		return lft_entry(r);
	/* Headings of columns, and how many there were. */
	if (r->line[0] == 0 || r->line[0] == ' ' || r->line[0] == '#' ||
	    strstr(r->line, "lids dumped"))
		return 0;
	return line_refuse(r, "'%.40s' is no line of a dump of forwarding tables", r->line);
}

/* Each host has been in some table, and each switch has one; where an entry lacks there is no way.
 */
static int lfts_check(struct vb_fabric *f, struct vb_fabric_error *err)
{
	for (uint32_t sw = 0; sw < f->switch_cnt; sw++) {
		bool is_there = false;

		for (uint32_t i = 0; i < f->host_cnt; i++)
			is_there |= *out_of(f, sw, i) != 0;
		if (!is_there) {
			snprintf(err->text, sizeof err->text, "no table of switch '%s'",
				 vb_fabric_name(f, f->host_cnt + sw));
			return -EINVAL;
		}
	}
	for (uint32_t i = 0; i < f->host_cnt; i++) {
		bool is_there = f->switch_cnt == 0;

		for (uint32_t sw = 0; sw < f->switch_cnt; sw++) {
			uint8_t *out = out_of(f, sw, i);

			is_there |= *out != 0;
			if (*out == 0)
				*out = VB_PORT_NONE;
		}
		if (!is_there) {
			snprintf(err->text, sizeof err->text, "no table leads to '%s' port %u",
				 vb_fabric_name(f, i), f->port[i]);
			return -EINVAL;
		}
	}
	return 0;
}

int vb_fabric_read_lfts(struct vb_fabric *f, const char *text, size_t len,
			struct vb_fabric_error *err)
{
	int bad;

	f->out = calloc((size_t)f->switch_cnt + 1, f->host_cnt);
	f->host_of_lid = calloc(LIDS, sizeof *f->host_of_lid);
	if (!f->out || !f->host_of_lid)
		return -ENOMEM;
	bad = lines_read(f, text, len, err, lft_line);
	return bad ? bad : lfts_check(f, err);
}

/* "Switch 0x7662000000010000, base LID 2, "S-0000"" */
static int sl2vl_head(struct table_reader *r)
{
	const struct vb_fabric_guid *g;
	uint64_t guid;

	if (!guid_behind(r, " 0x", &guid))
		return line_refuse(r, "a table begins with the GUID of its node");
	g = vb_fabric_find(r->f, guid);
	if (!g)
		return line_refuse(r, "the topology has no node or port with GUID 0x%016" PRIx64,
				   guid);
	r->node = g->node;
	return 0;
}

/* Sixteen numbers. */
static bool map_read(const char *at, struct vb_sl2vl *map)
{
	for (unsigned sl = 0; sl < VB_SL_CNT; sl++) {
		char *stop;
		unsigned long vl = strtoul(at, &stop, 10);

		if (stop == at || vl >= VB_VL_CNT)
			return false;
		map->vl[sl] = (uint8_t)vl;
		at = stop;
	}
	return at[strspn(at, " \t\r")] == 0;
}

/* "3   1   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7", from port 3 to port 1. */
static int sl2vl_row(struct table_reader *r)
{
	const char *colon = strchr(r->line, ':');
	struct vb_sl2vl map;
	unsigned in, out, a, b;

	if (!colon || sscanf(r->line, "%3u %3u", &in, &out) != 2 || in >= ROW || out >= ROW ||
	    !map_read(colon + 1, &map))
		return line_refuse(r, "a row is two ports, ':' and 16 lanes of 0 to 15");
	if (r->node == VB_FABRIC_NONE)
		return line_refuse(r, "a row before the first node");
	if (r->node < r->f->host_cnt) {
		r->f->host_sl2vl[r->node] = map;
		return 0;
	}
	r->node -= r->f->host_cnt;
	a = r->f->number[(size_t)r->node * ROW + in];
	b = r->f->number[(size_t)r->node * ROW + out];
	/* Port 0 and ports without a cable carry none of the data. */
	if (a && b)
		r->f->sl2vl[r->node][(a - 1) * r->f->port_cnt[r->node] + b - 1] = map;
	r->node += r->f->host_cnt;
	return 0;
}

static int sl2vl_line(struct table_reader *r)
{
	if (line_begins(r, "Switch") || line_begins(r, "Channel Adapter") ||
	    line_begins(r, "Router"))
		return sl2vl_head(r);
	if (r->line[0] >= '0' && r->line[0] <= '9')
		return sl2vl_row(r);
	if (r->line[0] == 0 || r->line[0] == '#')
		return 0;
	return line_refuse(r, "'%.40s' is no line of a dump of SL to VL tables", r->line);
}

/* Each host has a map, and each pair of ports by which a packet can come and go. */
static int sl2vl_check(const struct vb_fabric *f, struct vb_fabric_error *err)
{
	uint32_t missing = VB_FABRIC_NONE;

	for (uint32_t i = 0; i < f->host_cnt; i++)
		if (f->host_sl2vl[i].vl[0] == UNSAID)
			missing = i;
	for (uint32_t sw = 0; sw < f->switch_cnt; sw++)
		for (uint32_t a = 0, n = f->port_cnt[sw]; a < n; a++)
			for (uint32_t b = 0; b < n; b++)
				if (a != b && f->sl2vl[sw][a * n + b].vl[0] == UNSAID)
					missing = f->host_cnt + sw;
	if (missing == VB_FABRIC_NONE)
		return 0;
	snprintf(err->text, sizeof err->text, "no table of '%s', or not for all of its ports",
		 vb_fabric_name(f, missing));
	return -EINVAL;
}

int vb_fabric_read_sl2vl(struct vb_fabric *f, const char *text, size_t len,
			 struct vb_fabric_error *err)
{
	int bad;

	f->sl2vl = calloc((size_t)f->switch_cnt + 1, sizeof(struct vb_sl2vl *));
	f->host_sl2vl = calloc(f->host_cnt, sizeof *f->host_sl2vl);
	if (!f->sl2vl || !f->host_sl2vl)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->switch_cnt; i++) {
		size_t n = f->port_cnt[i];

		f->sl2vl[i] = calloc(n * n, sizeof *f->sl2vl[i]);
		if (!f->sl2vl[i])
			return -ENOMEM;
		memset(f->sl2vl[i], UNSAID, n * n * sizeof *f->sl2vl[i]);
	}
	memset(f->host_sl2vl, UNSAID, f->host_cnt * sizeof *f->host_sl2vl);
	bad = lines_read(f, text, len, err, sl2vl_line);
	return bad ? bad : sl2vl_check(f, err);
}

/* "0x7662000000010600 8 1": from that node to LID 8 by service level 1. */
static int psl_line(struct table_reader *r)
{
	const struct vb_fabric_guid *g, *end = r->f->guid + r->f->guid_cnt;
	unsigned lid, sl;
	uint64_t guid;
	char more;

	if (r->line[0] == 0 || r->line[0] == '#')
		return 0;
	if (sscanf(r->line, "0x%" SCNx64 " %u %u %c", &guid, &lid, &sl, &more) != 3 || lid == 0 ||
	    lid >= LIDS || sl >= VB_SL_CNT)
		return line_refuse(r, "a line is the GUID of the source, a LID, and a service "
				      "level of 0 to 15");
	g = vb_fabric_find(r->f, guid);
	if (!g)
		return line_refuse(r, "the topology has no node or port with GUID 0x%016" PRIx64,
				   guid);
	/* Switches send no data here, nor are they sent any. */
	if (r->f->host_of_lid[lid] == 0)
		return 0;
	for (; g < end && g->guid == guid; g++)
		if (g->node < r->f->host_cnt)
			r->f->sl[(size_t)g->node * r->f->host_cnt + r->f->host_of_lid[lid] - 1] =
			    (uint8_t)sl;
	r->f->levels |= (uint16_t)(1u << sl);
	return 0;
}

int vb_fabric_read_psl(struct vb_fabric *f, const char *text, size_t len,
		       struct vb_fabric_error *err)
{
	size_t n = f->host_cnt;

	if (n > VB_FABRIC_LEVEL_HOSTS_MAX) {
		snprintf(err->text, sizeof err->text,
			 "service levels of paths are for %u hosts at most, and there are %zu",
			 VB_FABRIC_LEVEL_HOSTS_MAX, n);
		return -EINVAL;
	}
	f->sl = malloc(n * n);
	if (!f->sl)
		return -ENOMEM;
	memset(f->sl, UNSAID, n * n);
	return lines_read(f, text, len, err, psl_line);
}

/* "Switch 0x7662000000010000" */
static int mcfdbs_head(struct table_reader *r)
{
	return switch_head(r, "Switch ");
}

/* Adds a port to the entries of the groups that take this MLID. */
static void port_add(struct table_reader *r, unsigned mlid, uint8_t number)
{
	for (uint32_t i = 0; i < VB_SIM_GROUPS; i++) {
		struct vb_port_mask *m = &r->f->mft[(size_t)r->node * VB_SIM_GROUPS + i];

		if (r->f->mlid[i] == mlid)
			m->word[number / VB_MFT_MASK_PORTS] |=
			    (uint16_t)(1u << number % VB_MFT_MASK_PORTS);
	}
}

/* "0xC001 : 0x001  0x002 "; port 0 is the switch itself, which takes no part here. */
static int mcfdbs_entry(struct table_reader *r)
{
	const char *at = strchr(r->line, ':');
	unsigned mlid, port;
	int len;

	if (!at || sscanf(r->line, "0x%4x", &mlid) != 1 || mlid < VB_LID_MULTICAST)
		return line_refuse(r, "an entry is a multicast LID, ':' and ports, as in '0xC000 : "
				      "0x001  0x002'");
	if (r->node == VB_FABRIC_NONE)
		return line_refuse(r, "an entry before the first 'Switch 0x...'");
	for (at++; at[strspn(at, " ")]; at += len) {
		if (sscanf(at, " 0x%4x%n", &port, &len) != 1 || port >= ROW)
			return line_refuse(r, "a port is 0x000 to 0x0ff");
		if (port == 0)
			continue;
		if (r->f->number[(size_t)r->node * ROW + port] == 0)
			return line_refuse(r, "port %u of '%s' has no cable", port,
					   vb_fabric_name(r->f, r->f->host_cnt + r->node));
		port_add(r, mlid, r->f->number[(size_t)r->node * ROW + port]);
	}
	return 0;
}

static int mcfdbs_line(struct table_reader *r)
{
	if (line_begins(r, "Switch"))
		return mcfdbs_head(r);
	if (line_begins(r, "0x"))
		return mcfdbs_entry(r);
	if (r->line[0] == 0 || r->line[0] == '#' || line_begins(r, "LID "))
		return 0;
	return line_refuse(r, "'%.40s' is no line of a dump of multicast tables", r->line);
}

int vb_fabric_read_mcfdbs(struct vb_fabric *f, const char *text, size_t len,
			  struct vb_fabric_error *err)
{
	f->mft = calloc(((size_t)f->switch_cnt + 1) * VB_SIM_GROUPS, sizeof *f->mft);
	if (!f->mft)
		return -ENOMEM;
	return lines_read(f, text, len, err, mcfdbs_line);
}
