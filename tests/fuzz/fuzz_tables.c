/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any text as the tables that a subnet manager left: forwarding tables, maps of service levels to
 * lanes, service levels of paths, multicast tables. An accepted text names ports, lanes and service
 * levels that there are. A refusal says in which line and why, in words that can be printed.
 *
 * Input: the four texts, a zero byte between two.
 */
#include "fabric/ib/forward.h"
#include "input.h"
#include "scenario/fabric/fabric.h"

#include <errno.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

/* Three switches in a ring, a host at each; of one of them the second port has the cable. */
static const char ring[] = "Switch 4 \"A\"\n[1] \"B\"[2]\n[3] \"X\"[1]\n\n"
			   "Switch 4 \"B\"\n[1] \"C\"[2]\n[4] \"Y\"[2]\n\n"
			   "Switch 4 \"C\"\n[1] \"A\"[2]\n[3] \"Z\"[1]\n\n"
			   "Ca 1 \"X\"\n\nCa 2 \"Y\"\n\nCa 1 \"Z\"\n";

static void *block_take(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void block_give(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static void fabric_make(struct vb_fabric *f, struct vb_sim_topo *links, struct vb_fabric_error *err)
{
	const struct vb_topo_config config = {.alloc = block_take, .free = block_give};
	const struct vb_sim_memory memory = {block_take, block_give, NULL};
	const struct vb_cable cable = {.delay = 10};
	struct vb_topo topo;
	char why[200];

	require(vb_topo_parse(&topo, &config, ring, strlen(ring), why, sizeof why) == 0);
	require(vb_fabric_create(f, &topo, &cable, &cable, links, &memory, err) == 0);
}

static void check_out(const struct vb_fabric *f)
{
	for (uint32_t sw = 0; sw < f->switch_cnt; sw++)
		for (uint32_t i = 0; i < f->host_cnt; i++) {
			uint8_t out = f->out[sw * f->host_cnt + i];

			require(out == VB_PORT_NONE || (out >= 1 && out <= f->port_cnt[sw]));
		}
}

static void check_map(const struct vb_sl2vl *map)
{
	for (unsigned sl = 0; sl < VB_SL_CNT; sl++)
		require(map->vl[sl] < VB_VL_CNT || map->vl[sl] == UINT8_MAX);
}

static void check_lanes(const struct vb_fabric *f)
{
	for (uint32_t sw = 0; f->sl2vl && sw < f->switch_cnt; sw++)
		for (uint32_t k = 0; k < f->port_cnt[sw] * f->port_cnt[sw]; k++)
			check_map(&f->sl2vl[sw][k]);
	for (uint32_t i = 0; f->host_sl2vl && i < f->host_cnt; i++)
		check_map(&f->host_sl2vl[i]);
}

static void check_levels(const struct vb_fabric *f)
{
	for (uint32_t i = 0; f->sl && i < f->host_cnt * f->host_cnt; i++)
		require(f->sl[i] == VB_SIM_ANY_SL ||
			(f->sl[i] < VB_SL_CNT && (f->levels >> f->sl[i] & 1)));
}

/* A group has ports that there are; where it is taken for a tree, a walk through it ends. */
static void check_groups(const struct vb_fabric *f)
{
	struct vb_fabric_error err;

	for (uint32_t sw = 0; f->mft && sw < f->switch_cnt; sw++)
		for (unsigned port = f->port_cnt[sw] + 1; port < 256; port++)
			require(!vb_port_mask_has(&f->mft[sw * VB_SIM_GROUPS], (uint8_t)port));
	for (uint32_t i = 0; f->mft && i < 2; i++)
		require(vb_fabric_check_group(f, i, NULL, f->host_cnt, &err) == 0 || err.text[0]);
}

static void check_refusal(const struct vb_fabric_error *err, const char *text, size_t len)
{
	uint32_t lines = 1;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	require(err->text[0] != 0 && err->line <= lines);
	for (const char *c = err->text; *c; c++)
		require(*c >= ' ' && *c != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	int (*const read[])(struct vb_fabric *, const char *, size_t, struct vb_fabric_error *) = {
	    vb_fabric_read_lfts, vb_fabric_read_sl2vl, vb_fabric_read_psl, vb_fabric_read_mcfdbs};
	struct vb_fabric_error err = {.line = 0};
	struct vb_sim_topo links;
	struct vb_fabric f;
	int bad = 0;

	fabric_make(&f, &links, &err);
	f.mlid[0] = 0xc000;
	f.mlid[1] = 0xc001;
	for (int i = 0; i < 4 && !bad && len > 0; i++) {
		const uint8_t *end = i < 3 ? memchr(in, 0, len) : NULL;
		size_t n = end ? (size_t)(end - in) : len;

		bad = read[i](&f, (const char *)in, n, &err);
		require(bad == 0 || bad == -EINVAL);
		if (bad)
			check_refusal(&err, (const char *)in, n);
		in += end ? n + 1 : n;
		len -= end ? n + 1 : n;
	}
	if (!bad && f.out) {
		check_out(&f);
		check_lanes(&f);
		check_levels(&f);
		check_groups(&f);
	}
	vb_fabric_free(&f);
	free(links.link);
	return 0;
}
