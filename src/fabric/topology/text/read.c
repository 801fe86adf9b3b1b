/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of a topology, and those that are not about one node or port: GUIDs and devices for the
 * nodes after them, and the keywords of ibsim's net files. See read.h.
 */
#include "fabric/topology/text/read.h"

#include <errno.h>
#include <string.h>

#define LINE_MAX_LEN 4096u
#define INCLUDE_DEPTH_MAX 8u
#define INCLUDE_CNT_MAX 1024u

static int read_text(struct vb_topo_reader *r, const char *text, size_t len);

/* "=NUMBER" up to @max, and nothing behind it. */
static int read_value(struct vb_topo_reader *r, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *number;

	vb_lex_skip_blank(&r->lex);
	if (!vb_lex_char(&r->lex, '='))
		return REFUSE_HERE(r, "expected '=' and a number", SAY_NOTHING);
	vb_lex_skip_blank(&r->lex);
	number = r->lex.at;
	if (!vb_lex_number(&r->lex, out))
		return REFUSE_HERE(r, "expected a number", SAY_NOTHING);
	if (*out < min || *out > max)
		return REFUSE_AT(r, number, "the number is % to %, not %", SAY_DEC(min),
				 SAY_DEC(max), SAY_DEC(*out));
	if (!vb_lex_ends(&r->lex))
		return REFUSE_HERE(r, "expected the end of the line behind the number",
				   SAY_NOTHING);
	return 0;
}

static int read_vendor(struct vb_topo_reader *r)
{
	uint64_t n = 0;
	int err = read_value(r, 0, 0xffffff, &n);

	if (!err)
		r->vendor_id = (uint32_t)n;
	return err;
}

static int read_device(struct vb_topo_reader *r)
{
	uint64_t n = 0;
	int err = read_value(r, 0, UINT16_MAX, &n);

	if (!err)
		r->device_id = (uint16_t)n;
	return err;
}

static int read_system_guid(struct vb_topo_reader *r)
{
	return read_value(r, 0, UINT64_MAX, &r->system_guid);
}

/* "=GUID", of a switch also "=GUID(GUID of port 0)"; ibsim: "+N", so far behind the last "=GUID".
 */
static int read_guid(struct vb_topo_reader *r, uint8_t type)
{
	struct vb_topo_guids *g = &r->guids[type];
	bool relative = vb_lex_char(&r->lex, '+');
	const char *number;
	uint64_t n = 0;

	if (!relative && !vb_lex_char(&r->lex, '='))
		return REFUSE_HERE(r, "expected '=' and a GUID", SAY_NOTHING);
	vb_lex_skip_blank(&r->lex);
	number = r->lex.at;
	if (!vb_lex_number(&r->lex, &n))
		return REFUSE_HERE(r, "expected a GUID, as 0x... or a number", SAY_NOTHING);
	if (relative)
		n = n <= UINT64_MAX - g->base ? n + g->base : 0;
	else
		g->base = n;
	if (n == 0 || n > NODE_GUID_MAX)
		return REFUSE_AT(r, number, "0x% is no GUID of a node", SAY_HEX16(n));
	g->next = n;
	g->counts = g->fresh = true;
	if (vb_lex_char(&r->lex, '(')) {
		if (!vb_lex_hex(&r->lex, &n) || n == 0 || !vb_lex_char(&r->lex, ')'))
			return REFUSE_HERE(r, "expected the GUID of port 0 and ')'", SAY_NOTHING);
		r->port0_guid = n;
	}
	if (!vb_lex_ends(&r->lex))
		return REFUSE_HERE(r, "expected the end of the line behind the GUID", SAY_NOTHING);
	return 0;
}

static int read_switch_guid(struct vb_topo_reader *r)
{
	return read_guid(r, VB_NODE_SWITCH);
}

static int read_ca_guid(struct vb_topo_reader *r)
{
	return read_guid(r, VB_NODE_CA);
}

static int read_router_guid(struct vb_topo_reader *r)
{
	return read_guid(r, VB_NODE_ROUTER);
}

static int read_switch(struct vb_topo_reader *r)
{
	return vb_topo_read_node(r, VB_NODE_SWITCH);
}

static int read_ca(struct vb_topo_reader *r)
{
	return vb_topo_read_node(r, VB_NODE_CA);
}

static int read_router(struct vb_topo_reader *r)
{
	return vb_topo_read_node(r, VB_NODE_ROUTER);
}

static int read_width(struct vb_topo_reader *r)
{
	uint64_t n = 0;
	int err = read_value(r, 1, 31, &n);

	if (!err)
		r->width = (uint8_t)n;
	return err;
}

static int read_speed(struct vb_topo_reader *r)
{
	uint64_t n = 0;
	int err = read_value(r, 1, 7, &n);

	if (!err)
		r->speed = (uint16_t)n;
	return err;
}

/* The bits of LinkSpeedExt are those of enum vb_ib_speed from FDR on. */
static int read_speed_ext(struct vb_topo_reader *r)
{
	uint64_t n = 0;
	int err = read_value(r, 0, 31, &n);

	if (!err)
		r->speed_ext = (uint16_t)(n << 4);
	return err;
}

/* module="NAME" stands before the names of the nodes after it. */
static int read_module(struct vb_topo_reader *r)
{
	const char *name;
	size_t len;

	vb_lex_skip_blank(&r->lex);
	if (!vb_lex_char(&r->lex, '='))
		return REFUSE_HERE(r, "expected '=' and a name in quotes", SAY_NOTHING);
	vb_lex_skip_blank(&r->lex);
	if (!vb_lex_quoted(&r->lex, &name, &len))
		return REFUSE_HERE(r, "expected a name in quotes", SAY_NOTHING);
	if (len > VB_TOPO_NAME_MAX / 2 || memchr(name, '#', len) || memchr(name, '@', len))
		return REFUSE_AT(r, name,
				 "a module has a name of at most % bytes without '#' and '@'",
				 SAY_DEC(VB_TOPO_NAME_MAX / 2));
	memcpy(r->module, name, len);
	r->module[len] = '\0';
	return 0;
}

/* include "FILE" */
static int read_include(struct vb_topo_reader *r)
{
	const struct vb_topo_config *cfg = r->b.cfg;
	struct vb_topo_place back = r->place;
	const char *name, *text;
	size_t len;
	const char *file_at;
	char *file;
	int err;

	vb_lex_skip_blank(&r->lex);
	if (!vb_lex_quoted(&r->lex, &name, &len) || len == 0)
		return REFUSE_HERE(r, "expected the name of a file in quotes", SAY_NOTHING);
	if (!cfg->include)
		return REFUSE_AT(r, name, "no file can be included here", SAY_NOTHING);
	if (r->depth >= INCLUDE_DEPTH_MAX || r->include_cnt >= INCLUDE_CNT_MAX)
		return REFUSE_AT(r, name, "files are included % deep and % in all at most",
				 SAY_DEC(INCLUDE_DEPTH_MAX), SAY_DEC(INCLUDE_CNT_MAX));
	r->include_cnt++;
	file_at = name;
	file = vb_topo_scratch(&r->b, len + 1);
	if (!file)
		return -ENOMEM;
	memcpy(file, name, len);
	err = cfg->include(cfg->include_ctx, file, &text, &len);
	if (err) {
		REFUSE_AT(r, file_at, "the file \"%\" cannot be read", SAY_TEXT(file));
		return err;
	}
	r->place = (struct vb_topo_place){.file = file};
	r->depth++;
	r->in_node = false;
	err = read_text(r, text, len);
	r->depth--;
	r->in_node = false;
	r->place = back;
	return err;
}

static int refuse_command(struct vb_topo_reader *r)
{
	return REFUSE_HERE(r, "\"do\" is a command to ibsim: a topology has nodes and cables only",
			   SAY_NOTHING);
}

static int skip_line(struct vb_topo_reader *r)
{
	(void)r;
	return 0;
}

static const struct {
	const char *word;
	int (*read)(struct vb_topo_reader *r);
} keywords[] = {
    {"Switch", read_switch},
    {"Ca", read_ca},
    {"Hca", read_ca},
    {"Rt", read_router},
    {"vendid", read_vendor},
    {"devid", read_device},
    {"sysimgguid", read_system_guid},
    {"switchguid", read_switch_guid},
    {"switchguids", read_switch_guid},
    {"caguid", read_ca_guid},
    {"caguids", read_ca_guid},
    {"hcaguid", read_ca_guid},
    {"hcaguids", read_ca_guid},
    {"rtguid", read_router_guid},
    {"rtguids", read_router_guid},
    {"width", read_width},
    {"speed", read_speed},
    {"extspeed", read_speed_ext},
    {"module", read_module},
    {"include", read_include},
    {"do", refuse_command},
    {"pdebug", skip_line}, /* ibsim: tracing of its parser */
    /* ibnetdiscover --grouping */
    {"Chassis", skip_line},
    {"Non-Chassis", skip_line},
    {"Hostname", skip_line},
};

static int read_keyword(struct vb_topo_reader *r)
{
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
		struct vb_lex behind = r->lex;

		if (vb_lex_text(&behind, keywords[i].word) && !vb_lex_is_letter(&behind)) {
			r->lex = behind;
			return keywords[i].read(r);
		}
	}
	return REFUSE_HERE(r,
			   "expected a node (Switch, Ca, Hca, Rt), a port ([1]), or one of "
			   "vendid, devid, sysimgguid, switchguid, caguid, rtguid, width, speed, "
			   "extspeed, module, include",
			   SAY_NOTHING);
}

static int read_line(struct vb_topo_reader *r, const char *line, size_t len)
{
	if (len > 0 && line[len - 1] == '\r')
		len--;
	r->lex = (struct vb_lex){line, line, line + len};
	if (len > LINE_MAX_LEN)
		return REFUSE(&r->b, r->place, "the line has more than % bytes",
			      SAY_DEC(LINE_MAX_LEN));
	if (memchr(line, 0, len))
		return REFUSE(&r->b, r->place, "there is a zero byte: this is no text",
			      SAY_NOTHING);
	if (vb_topo_is_io(&r->lex))
		return vb_topo_read_io(r);
	if (vb_lex_ends(&r->lex))
		return 0;
	if (*r->lex.at == '[' || *r->lex.at == '@')
		return vb_topo_read_port(r);
	r->in_node = false;
	return read_keyword(r);
}

static int read_text(struct vb_topo_reader *r, const char *text, size_t len)
{
	const char *end;
	int err = 0;

	if (len == 0)
		return 0;
	if (len > VB_TOPO_TEXT_MAX - r->text_len)
		return REFUSE(&r->b, r->place, "there is more text than % bytes",
			      SAY_DEC(VB_TOPO_TEXT_MAX));
	r->text_len += len;
	end = text + len;
	while (!err && text < end) {
		const char *line = text, *newline = memchr(text, '\n', (size_t)(end - text));

		text = newline ? newline + 1 : end;
		r->place.line++;
		err = read_line(r, line, (size_t)((newline ? newline : end) - line));
	}
	return err;
}

int vb_topo_parse(struct vb_topo *t, const struct vb_topo_config *cfg, const char *text, size_t len,
		  char *why, size_t why_size)
{
	struct vb_topo_reader r = {
	    .place = {.file = cfg->file}, .vendor_id = cfg->vendor_id, .device_id = cfg->device_id};
	int err;

	vb_topo_begin(&r.b, t, cfg, why, why_size);
	err = read_text(&r, text, len);
	if (!err && t->node_cnt == 0)
		err = vb_topo_refuse(&r.b, (struct vb_topo_place){0}, 0,
				     "there is no node in the text", NULL);
	if (!err)
		err = vb_topo_put_together(&r.b);
	return vb_topo_end_work(&r.b, err);
}
