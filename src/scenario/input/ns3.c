/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The topology files that the simulations of HPCC (SIGCOMM 2019) with ns-3 brought, and that many
 * others took over: the numbers of nodes, switches and cables; the switches; then for each cable
 *
 *     source destination rate delay error_rate
 *
 * in a line, as "0 320 100Gbps 1000ns 0.000000". All nodes that are no switches are hosts. The text
 * behind the last cable is not read, as it is not there.
 */
#include "scenario/input/net.h"
#include "scenario/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS "the first line has three numbers: of nodes, of switches and of cables"
#define CABLE "a cable is \"source destination rate delay error_rate\", in one line"

struct ns3 {
	struct vb_net *net;
	const struct vb_complaint *complaint;
	struct vb_tokens words;
	uint32_t nodes, switches, cables;
};

static int word_complain(const struct ns3 *t, const struct vb_token *word, const char *what)
{
	char shown[VB_TOKEN_SHOWN];

	return vb_complain(t->complaint, word->line, word->column, "%s, not \"%s\"", what,
			   vb_token_show(word, shown));
}

static int counts_read(struct ns3 *t)
{
	uint32_t *const to[] = {&t->nodes, &t->switches, &t->cables};
	static const uint32_t max[] = {VB_SIM_TOPO_NODES_MAX, VB_SIM_TOPO_NODES_MAX,
				       VB_SIM_TOPO_LINKS_MAX};
	uint32_t line = 0;

	for (int i = 0; i < 3; i++) {
		struct vb_token word;
		uint64_t v;

		if (!vb_tokens_next(&t->words, &word) || (i && word.line != line))
			return vb_complain(t->complaint, word.line, word.column, COUNTS);
		if (!vb_token_number(&word, UINT32_MAX, &v))
			return word_complain(t, &word, COUNTS);
		if (v > max[i])
			return vb_complain(t->complaint, word.line, word.column,
					   "there are at most %u", max[i]);
		if (i == 1 && v >= t->nodes)
			return vb_complain(
			    t->complaint, word.line, word.column,
			    "of %u nodes fewer than all are switches: the others are hosts",
			    t->nodes);
		line = word.line;
		*to[i] = (uint32_t)v;
	}
	return 0;
}

/* A word that is the number of a node. */
static int node_read(struct ns3 *t, const struct vb_token *word, uint32_t *out)
{
	char shown[VB_TOKEN_SHOWN];
	uint64_t v;

	if (!vb_token_number(word, UINT32_MAX, &v) || v >= t->nodes)
		return vb_complain(t->complaint, word->line, word->column,
				   "there is no node %s: they are 0 to %u",
				   vb_token_show(word, shown), t->nodes - 1);
	*out = (uint32_t)v;
	return 0;
}

/* @place: of each node where it is said to be a switch; else of the first line. */
static int switches_read(struct ns3 *t, struct vb_net_place *place)
{
	for (uint32_t i = 0; i < t->switches; i++) {
		struct vb_token word;
		uint32_t node = 0;
		int bad;

		if (!vb_tokens_next(&t->words, &word))
			return vb_complain(t->complaint, word.line, word.column,
					   "the first line says %u switches, and here are %u",
					   t->switches, i);
		bad = node_read(t, &word, &node);
		if (bad)
			return bad;
		if (place[node].line)
			return vb_complain(t->complaint, word.line, word.column,
					   "node %u is among the switches twice", node);
		place[node] = (struct vb_net_place){word.line, word.column};
	}
	return 0;
}

static int nodes_add(struct ns3 *t)
{
	struct vb_net_place *place = calloc(t->nodes, sizeof *place);
	int bad = place ? switches_read(t, place) : -ENOMEM;

	for (uint32_t i = 0; !bad && i < t->nodes; i++) {
		bool is_switch = place[i].line != 0;
		char name[16];
		int len = snprintf(name, sizeof name, "%u", i);

		if (!is_switch)
			place[i] = (struct vb_net_place){1, 1};
		bad = vb_net_add_node(t->net, name, (size_t)len, is_switch, place[i], t->complaint);
	}
	free(place);
	return bad;
}

/* "100Gbps", or as ns-3 takes it too "100Gb/s". */
static int rate_read(struct ns3 *t, const struct vb_token *word, uint64_t *out)
{
	char text[32], *slash;
	uint64_t v;

	if (vb_token_copy(word, text, sizeof text)) {
		slash = strstr(text, "b/s");
		if (slash && slash[3] == '\0')
			memcpy(slash, "bps", 3);
		if (reader_value(KEY_RATE, text, &v) && v >= READER_RATE_MIN &&
		    v <= READER_RATE_MAX) {
			*out = v;
			return 0;
		}
	}
	return word_complain(t, word, "a rate is such as 100Gbps, from 1Mbps to 10Tbps");
}

static int delay_read(struct ns3 *t, const struct vb_token *word, vb_dur *out)
{
	char text[32];
	uint64_t v;

	if (!vb_token_copy(word, text, sizeof text) || !reader_value(KEY_TIME, text, &v) ||
	    v > READER_DELAY_MAX)
		return word_complain(t, word, "a delay is such as 1000ns or 0.001ms, up to 10s");
	*out = v;
	return 0;
}

static int error_read(struct ns3 *t, const struct vb_token *word, uint32_t *out)
{
	uint64_t v;

	if (!vb_token_decimal(word, 9, &v) || v > 1000000000)
		return word_complain(t, word,
				     "an error rate is the share of packets that are lost, 0 to 1");
	*out = (uint32_t)v;
	return 0;
}

static int cable_read(struct ns3 *t, uint32_t i)
{
	struct vb_net_link link = {.cable.mtu = VB_NET_MTU_UNSAID};
	struct vb_token word[5];
	int bad;

	for (int k = 0; k < 5; k++) {
		if (vb_tokens_next(&t->words, &word[k]) && word[k].line == word[0].line)
			continue;
		if (k == 0)
			return vb_complain(t->complaint, word[k].line, word[k].column,
					   "the first line says %u cables, and there are %u",
					   t->cables, i);
		return vb_complain(t->complaint, word[0].line, word[0].column, CABLE);
	}
	link.place = (struct vb_net_place){word[0].line, word[0].column};
	bad = node_read(t, &word[0], &link.a);
	if (!bad)
		bad = node_read(t, &word[1], &link.b);
	if (!bad)
		bad = rate_read(t, &word[2], &link.cable.rate_bps);
	if (!bad)
		bad = delay_read(t, &word[3], &link.cable.delay);
	if (!bad)
		bad = error_read(t, &word[4], &link.error_ppb);
	return bad ? bad : vb_net_add_link(t->net, &link, t->complaint);
}

int vb_net_read_ns3(struct vb_net *n, const char *text, size_t len, const struct vb_complaint *c)
{
	struct ns3 t = {.net = n, .complaint = c, .words = vb_tokens_of(text, len, 1)};
	int bad = counts_read(&t);

	if (!bad)
		bad = nodes_add(&t);
	for (uint32_t i = 0; !bad && i < t.cables; i++)
		bad = cable_read(&t, i);
	return bad;
}
