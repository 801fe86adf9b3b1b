/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of routes in a folder, see fabric.h. */
#include "scenario/fabric/fabric.h"
#include "scenario/fabric/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef int (*table_fn)(struct vb_fabric *f, const char *text, size_t len,
			struct vb_fabric_error *err);

/* With @may_lack a file that is not there is none. */
static int table_read(struct vb_fabric *f, const char *path, bool may_lack, table_fn read,
		      struct vb_fabric_error *err)
{
	size_t len;
	char *text = vb_fabric_read_text(path, VB_FABRIC_TEXT_MAX, &len);
	int bad = -errno;

	if (!text && errno == ENOENT && may_lack)
		return 0;
	if (!text) {
		snprintf(err->text, sizeof err->text, "%s", strerror(errno));
		return bad;
	}
	bad = read(f, text, len, err);
	free(text);
	return bad;
}

static int map_check(const struct vb_fabric *f, const struct vb_sl2vl *map, uint32_t node,
		     uint32_t lanes, struct vb_fabric_error *err)
{
	for (unsigned sl = 0; sl < VB_SL_CNT; sl++) {
		if (!(f->levels >> sl & 1) || map->vl[sl] < lanes || map->vl[sl] == UINT8_MAX)
			continue;
		snprintf(err->text, sizeof err->text,
			 "'%s' gives service level %u lane %u, and links have %u: give infiniband "
			 "more lanes",
			 vb_fabric_name(f, node), sl, map->vl[sl], lanes);
		return -EINVAL;
	}
	return 0;
}

/* Each service level of a path has a lane everywhere. */
static int lanes_check(const struct vb_fabric *f, uint32_t lanes, struct vb_fabric_error *err)
{
	int bad = 0;

	for (uint32_t i = 0; !bad && f->sl2vl && i < f->switch_cnt; i++)
		for (uint32_t k = 0; !bad && k < f->port_cnt[i] * f->port_cnt[i]; k++)
			bad = map_check(f, &f->sl2vl[i][k], f->host_cnt + i, lanes, err);
	for (uint32_t i = 0; !bad && f->host_sl2vl && i < f->host_cnt; i++)
		bad = map_check(f, &f->host_sl2vl[i], i, lanes, err);
	return bad;
}

static uint64_t groups_wanted(const struct vb_fabric *f)
{
	uint64_t groups = 0;

	for (uint32_t i = 0; i < VB_SIM_GROUPS; i++)
		groups |= (uint64_t)(f->mlid[i] != 0) << i;
	return groups;
}

int vb_fabric_read_routes(struct vb_fabric *f, const char *path, uint32_t lanes,
			  struct vb_fabric_error *err)
{
	static const struct {
		const char *name;
		table_fn read;
		bool of_groups; /* read where a group takes its tables from it */
	} tables[] = {{"opensm-lfts.dump", vb_fabric_read_lfts, false},
		      {"opensm-sl2vl.dump", vb_fabric_read_sl2vl, false},
		      {"opensm.psl", vb_fabric_read_psl, false},
		      {"opensm.mcfdbs", vb_fabric_read_mcfdbs, true}};
	uint64_t groups = groups_wanted(f);
	struct stat st;
	int bad = 0;

	*err = (struct vb_fabric_error){.line = 0};
	snprintf(err->file, sizeof err->file, "%s", path);
	if (f->router_cnt) {
		snprintf(err->text, sizeof err->text,
			 "'%s' is a router, and such tables are of one subnet: without them the "
			 "simulator makes tables for each",
			 vb_fabric_router(f));
		return -EINVAL;
	}
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		for (size_t i = 0; !bad && i < sizeof tables / sizeof tables[0]; i++) {
			if (tables[i].of_groups && !groups)
				continue;
			snprintf(err->file, sizeof err->file, "%s/%s", path, tables[i].name);
			bad = table_read(f, err->file, i > 0 && !tables[i].of_groups,
					 tables[i].read, err);
		}
	} else if (groups) {
		snprintf(err->text, sizeof err->text,
			 "the mlid of a group takes a folder with opensm.mcfdbs");
		bad = -EINVAL;
	} else {
		bad = table_read(f, err->file, false, vb_fabric_read_lfts, err);
	}
	if (!bad)
		bad = lanes_check(f, lanes, err);
	f->routes = (struct vb_sim_ib_routes){.out = f->out,
					      .sl = f->sl,
					      .sl2vl = (const struct vb_sl2vl *const *)f->sl2vl,
					      .host_sl2vl = f->host_sl2vl,
					      .mft = f->mft,
					      .mft_groups = groups};
	return bad;
}
