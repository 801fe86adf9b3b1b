/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena fabric show`: its options and arguments, see show.h. */
#include "cmd/fabric/show/show.h"

#include "cmd/fabric/show/facts.h"
#include "fabric/ib/port.h"
#include "node/subnet/client.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 2
#define INTERVAL_MAX 3600.0
#define EXIT_FAILED 1
/* On a terminal, a fabric of more nodes is shown without the ports that are as they should be. */
#define COMPACT_NODES 200u

enum {
	OPT_NAME,
	OPT_ROUTE,
	OPT_SL,
	OPT_PKEY,
	OPT_PATH,
	OPT_INTERVAL,
	OPT_COMPACT,
	OPT_JSON,
	OPT_SVG,
	OPT_HTML,
	OPT_COLOR
};

static const struct vb_cmd_option options[] = {
    [OPT_NAME] = {'n', "name", "NAME", "of the fabric (ib0)"},
    [OPT_ROUTE] = {'r', "route", NULL, "the way of a packet from FROM to TO, and back"},
    [OPT_SL] = {0, "sl", "N", "--route: service level of the packet (0)"},
    [OPT_PKEY] = {0, "pkey", "KEY", "--route: its P_Key (the first one that both have)"},
    [OPT_PATH] = {0, "path-bits", "N", "--route: added to the LID of TO, where LMC gives it more"},
    [OPT_INTERVAL] = {'i', "interval", "S", "look twice, and show what went over links meanwhile"},
    [OPT_COMPACT] = {'c', "compact", NULL, "only the ports that are not as they should be"},
    [OPT_JSON] = {'j', "json", NULL, "as JSON"},
    [OPT_SVG] = {0, "svg", "FILE", "as a drawing"},
    [OPT_HTML] = {0, "html", "FILE", "as a page for a browser: the drawing, ways, hot links"},
    [OPT_COLOR] = {0, "color", "WHAT", "--svg, --html: links by their state, rate or load"},
    {0},
};

struct show_options {
	const char *name; /* NULL: not given */
	const char *word[WORDS_MAX];
	int word_cnt;
	bool route, has_way_option, compact, json;
	bool has_color;
	enum vb_drawing_color color;
	const char *svg, *html; /* NULL: none is wanted */
	double interval;
	struct vb_subnet_way_key key;
};

static double number_of(const struct vb_cmd *cmd, int option, const char *arg, double max)
{
	double n;

	if (!vb_cmd_number(arg, 0, max, &n) || n != (double)(uint32_t)n)
		exit(vb_cmd_usage(cmd, "--%s takes a whole number from 0 to %.0f, not '%s'",
				  options[option].name, max, arg));
	return n;
}

static enum vb_drawing_color color_of(const struct vb_cmd *cmd, const char *arg)
{
	static const char *const names[] = {"state", "rate", "load"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(arg, names[i]) == 0)
			return (enum vb_drawing_color)i;
	exit(vb_cmd_usage(cmd, "--color takes state, rate or load, not '%s'", arg));
}

static void option_take(const struct vb_cmd *cmd, struct show_options *o, int i, const char *arg)
{
	o->route |= i == OPT_ROUTE;
	o->compact |= i == OPT_COMPACT;
	o->json |= i == OPT_JSON;
	o->has_way_option |= i == OPT_SL || i == OPT_PKEY || i == OPT_PATH;
	if (i == OPT_NAME)
		o->name = arg;
	if (i == OPT_SVG)
		o->svg = arg;
	if (i == OPT_HTML)
		o->html = arg;
	if (i == OPT_COLOR) {
		o->color = color_of(cmd, arg);
		o->has_color = true;
	}
	if (i == OPT_SL)
		o->key.sl = (uint8_t)number_of(cmd, i, arg, VB_IB_SLS - 1);
	if (i == OPT_PATH)
		o->key.path_bits = (uint8_t)number_of(cmd, i, arg, 127);
	if (i == OPT_PKEY) {
		char *end;
		unsigned long key = strtoul(arg, &end, 0);

		if (end == arg || *end || key == 0 || key > UINT16_MAX)
			exit(vb_cmd_usage(cmd, "--pkey takes a number such as 0xffff, not '%s'",
					  arg));
		o->key.pkey = (uint16_t)key;
	}
	if (i == OPT_INTERVAL &&
	    (!vb_cmd_number(arg, 0, INTERVAL_MAX, &o->interval) || o->interval <= 0))
		exit(vb_cmd_usage(cmd, "--interval takes seconds up to %.0f, not '%s'",
				  INTERVAL_MAX, arg));
}

/* Options and words in any order. Returns 0, or an exit status. */
static int options_take(const struct vb_cmd *cmd, int argc, char **argv, struct show_options *o)
{
	const char *arg;
	bool rest = false;

	while (optind < argc) {
		for (int i; !rest && (i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0;)
			option_take(cmd, o, i, arg);
		rest |= strcmp(argv[optind - 1], "--") == 0;
		if (optind == argc)
			break;
		if (o->word_cnt == WORDS_MAX)
			return vb_cmd_usage(cmd, "'%s' is one argument too many", argv[optind]);
		o->word[o->word_cnt++] = argv[optind++];
	}
	if (o->route && o->word_cnt != 2)
		return vb_cmd_usage(cmd, "--route goes with two nodes, from and to");
	if (!o->route && o->has_way_option)
		return vb_cmd_usage(cmd, "--sl, --pkey and --path-bits go with --route");
	if (o->word_cnt == 2 && !o->route && o->json)
		return vb_cmd_usage(cmd, "--json shows a whole fabric, not a node");
	if ((o->svg || o->html) && (o->json || o->route || o->word_cnt == 2))
		return vb_cmd_usage(cmd, "--svg and --html draw a whole fabric");
	if (o->has_color && !o->svg && !o->html)
		return vb_cmd_usage(cmd, "--color goes with --svg and --html");
	if (o->name && !vb_subnet_name_is_good(o->name))
		return vb_cmd_usage(
		    cmd, "'%s' is no name of a fabric: up to %d letters, digits, '-', '_' and '.'",
		    o->name, VB_SUBNET_NAME_MAX - 1);
	return 0;
}

/* A word that is alone is the name of a fabric that runs, else of a node. Returns a socket or a
 * negative errno, with the error printed. */
static int fabric_dial(const struct vb_cmd *cmd, struct show_options *o, const char *default_name)
{
	char why[256], ignored[256];
	int sock;

	if (o->word_cnt == 1 && !o->name && !o->route) {
		sock = vb_subnet_dial(o->word[0], why, sizeof why);
		if (sock >= 0) {
			o->word_cnt = 0;
			return sock;
		}
		sock = vb_subnet_dial(default_name, ignored, sizeof ignored);
	} else {
		sock = vb_subnet_dial(o->name ? o->name : default_name, why, sizeof why);
	}
	if (sock < 0)
		vb_cmd_error(cmd, "%s", why);
	return sock;
}

/* The node of this name in the view; VB_IB_NOWHERE with a line in @why: there is none. */
static uint32_t node_find(const struct vb_show *s, const char *name, char *why, size_t why_size)
{
	struct vb_subnet_view v;
	uint32_t node = VB_IB_NOWHERE;

	if (vb_subnet_view_get(s->sock, name, &v, why, why_size) == 0) {
		if (v.head->chosen < s->v.head->node_cnt)
			node = v.head->chosen;
		vb_subnet_view_free(&v);
	}
	return node;
}

/* The first port with an active link, else with a cable, else the first. */
static uint32_t best_port(const struct vb_show *s, uint32_t node)
{
	const struct vb_subnet_view_node *n = &s->v.node[node];
	uint32_t best = 1;

	if (n->type == VB_NODE_SWITCH)
		return n->first_port;
	for (uint32_t p = n->port_cnt; p >= 1; p--)
		if (s->v.port[n->first_port + p].has_cable)
			best = p;
	for (uint32_t p = n->port_cnt; p >= 1; p--)
		if (s->v.port[n->first_port + p].state == VB_LINK_ACTIVE)
			best = p;
	return n->first_port + best;
}

/* Port @text of @node by number; VB_IB_NOWHERE: there is none, and the error is printed. */
static uint32_t port_of_node(const struct vb_show *s, uint32_t node, const char *text)
{
	const struct vb_subnet_view_node *n = &s->v.node[node];
	uint32_t first = n->type == VB_NODE_SWITCH ? 0 : 1;
	double number;

	if (vb_cmd_number(text, first, n->port_cnt, &number) && number == (double)(uint32_t)number)
		return n->first_port + (uint32_t)number;
	vb_cmd_error(s->cmd, "'%s' has the ports %u to %u, and not '%s'", n->name, first,
		     n->port_cnt, text);
	return VB_IB_NOWHERE;
}

/* "NODE" or "NODE/PORT". */
static uint32_t place_find(const struct vb_show *s, const char *text)
{
	char why[256], ignored[256], name[VB_SUBNET_VIEW_NAME];
	const char *slash = strrchr(text, '/');
	uint32_t node = node_find(s, text, why, sizeof why);

	if (node != VB_IB_NOWHERE)
		return best_port(s, node);
	if (slash && (size_t)(slash - text) < sizeof name) {
		snprintf(name, sizeof name, "%.*s", (int)(slash - text), text);
		node = node_find(s, name, ignored, sizeof ignored);
		if (node != VB_IB_NOWHERE)
			return port_of_node(s, node, slash + 1);
	}
	vb_cmd_error(s->cmd, "%s", why);
	return VB_IB_NOWHERE;
}

static int show_route(const struct vb_show *s, struct show_options *o)
{
	o->key.from = place_find(s, o->word[0]);
	if (o->key.from == VB_IB_NOWHERE)
		return EXIT_FAILED;
	o->key.to = place_find(s, o->word[1]);
	if (o->key.to == VB_IB_NOWHERE)
		return EXIT_FAILED;
	if (vb_show_node_of(s, o->key.from)->type == VB_NODE_SWITCH) {
		vb_cmd_error(s->cmd, "'%s' is a switch: packets of data begin at adapters",
			     o->word[0]);
		return EXIT_FAILED;
	}
	if (o->key.path_bits >> (s->v.port[o->key.to].lmc & 7)) {
		vb_cmd_error(s->cmd, "the port has %u LIDs, so the path bits are 0 to %u",
			     1u << (s->v.port[o->key.to].lmc & 7),
			     (1u << (s->v.port[o->key.to].lmc & 7)) - 1);
		return EXIT_FAILED;
	}
	return vb_show_way(stdout, s, &o->key, o->json);
}

static int show_node(struct vb_show *s, const struct show_options *o)
{
	char why[256];
	uint32_t node = node_find(s, o->word[0], why, sizeof why), port;

	if (node == VB_IB_NOWHERE && o->word_cnt == 1 && !o->name) {
		vb_cmd_error(s->cmd, "no fabric '%s' runs, and %s", o->word[0], why);
		return EXIT_FAILED;
	}
	if (node == VB_IB_NOWHERE) {
		vb_cmd_error(s->cmd, "%s", why);
		return EXIT_FAILED;
	}
	if (o->svg || o->html || o->json)
		return vb_cmd_usage(s->cmd, "--%s shows a whole fabric, not a node",
				    o->svg    ? "svg"
				    : o->html ? "html"
					      : "json");
	if (o->word_cnt == 1) {
		vb_show_one_node(stdout, s, node);
		return 0;
	}
	port = port_of_node(s, node, o->word[1]);
	if (port == VB_IB_NOWHERE)
		return EXIT_FAILED;
	vb_show_one_port(stdout, s, port);
	return 0;
}

/* After a time between two looks, the load is what one wants to see. */
static int show_drawing(struct vb_show *s, const struct show_options *o)
{
	enum vb_drawing_color color = o->has_color      ? o->color
				      : o->interval > 0 ? VB_DRAWING_BY_LOAD
							: VB_DRAWING_BY_STATE;
	int rc = o->svg ? vb_show_svg(s, o->svg, color) : 0;

	if (rc) {
		vb_cmd_error(s->cmd, "cannot write %s: %s", o->svg, strerror(-rc));
		return EXIT_FAILED;
	}
	rc = o->html ? vb_show_page(s, o->html, color) : 0;
	if (rc)
		vb_cmd_error(s->cmd, "cannot write %s: %s", o->html, strerror(-rc));
	return rc ? EXIT_FAILED : 0;
}

static int show_whole(struct vb_show *s, const struct show_options *o)
{
	if (o->svg || o->html)
		return show_drawing(s, o);
	if (o->json)
		vb_show_json(stdout, s);
	else
		vb_show_list(stdout, s,
			     o->compact ||
				 (s->v.head->node_cnt > COMPACT_NODES && isatty(STDOUT_FILENO)));
	return 0;
}

static const struct vb_cmd show_cmd = {
    .name = "fabric show",
    .arguments = "[FABRIC | NODE [PORT] | --route FROM[/PORT] TO[/PORT]] [OPTIONS]",
    .text = "A fabric: its nodes, links and counters, or the way of a packet.",
    .options = options,
};

int vb_fabric_show(int argc, char **argv, const char *name, const char *default_name)
{
	struct show_options o = {.name = name};
	struct vb_show s = {.cmd = &show_cmd};
	int rc = options_take(&show_cmd, argc, argv, &o), finished;

	if (rc)
		return rc;
	s.sock = fabric_dial(&show_cmd, &o, default_name);
	if (s.sock < 0)
		return EXIT_FAILED;
	rc = vb_show_begin(&s, o.interval) ? EXIT_FAILED : 0;
	if (!rc && o.route)
		rc = show_route(&s, &o);
	else if (!rc)
		rc = (o.word_cnt ? show_node : show_whole)(&s, &o);
	vb_show_end(&s);
	close(s.sock);
	finished = vb_cmd_finish(&show_cmd);
	return rc ? rc : finished;
}
