/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of OpenSM's files, and the service levels that its subnet administrator tells. See
 * route_files.h. saquery(8) */
#include "cmd/fabric/route_files.h"

#include "export/file/whole_file.h"
#include "scenario/fabric/file.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_LEN 4096
#define TOPOLOGY "topology.net"
#define LIDS 65536u
/* So many sources in one go: the arguments of a program have room for them. */
#define SOURCES_MAX 8192u

static void path_make(char path[PATH_LEN], const char *folder, const char *name)
{
	snprintf(path, PATH_LEN, "%s/%s", folder, name);
}

bool vb_route_file_is_there(const char *folder, const char *name)
{
	char path[PATH_LEN];

	path_make(path, folder, name);
	return access(path, R_OK) == 0;
}

char *vb_route_file_read(const char *folder, const char *name, size_t max)
{
	char path[PATH_LEN], *text, *whole;
	size_t len;

	path_make(path, folder, name);
	text = vb_fabric_read_text(path, max, &len);
	whole = text ? realloc(text, len + 1) : NULL;
	if (!whole)
		free(text);
	else
		whole[len] = 0;
	return whole;
}

static int text_sink(void *ctx, const char *text, size_t len)
{
	return fwrite(text, 1, len, ctx) == len ? 0 : -EIO;
}

/* The text of a topology, to be freed. */
static char *topology_text(const struct vb_topo *topo, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	if (!f)
		return NULL;
	if (vb_topo_write(topo, text_sink, f) || fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

int vb_route_fabric_read(const struct vb_route_files *f, struct vb_fabric *fabric)
{
	const struct vb_topo_config config = {.alloc = vb_topology_alloc, .free = vb_topology_free};
	const struct vb_sim_memory memory = {vb_topology_alloc, vb_topology_free, NULL};
	const struct vb_cable cable = {.rate_bps = 0};
	struct vb_fabric_error err = {.line = 0};
	struct vb_sim_topo links = {.link = NULL};
	struct vb_topo copy;
	size_t len;
	char *text = topology_text(f->topo, &len), why[256] = "no memory";
	int rc = text ? vb_topo_parse(&copy, &config, text, len, why, sizeof why) : -ENOMEM;

	free(text);
	*fabric = (struct vb_fabric){.host_cnt = 0};
	if (rc) {
		vb_cmd_error(f->cmd, "%s", why);
		return rc;
	}
	rc = vb_fabric_create(fabric, &copy, &cable, &cable, &links, &memory, &err);
	if (!rc)
		rc = vb_fabric_read_routes(fabric, f->from, VB_VL_DATA_MAX, &err);
	if (links.link)
		vb_sim_topo_free(&links);
	if (rc)
		vb_cmd_error(f->cmd, "%s%s%u: %s", err.file, err.line ? ", line " : " ", err.line,
			     err.text[0] ? err.text : strerror(-rc));
	return rc;
}

/* In the child: asks for the paths from each of the @cnt LIDs. */
static void ask_exec(const char *name, const char *node, char **lid, size_t cnt)
{
	static const char *const before[] = {
	    "verbena", "run", "--fabric", NULL, "--node",
	    NULL,      "--",  "sh",       "-c", "for l; do saquery PR --slid $l || exit; done",
	    "sh"};
	const size_t n = sizeof before / sizeof before[0];
	const char **argv = calloc(n + cnt + 1, sizeof *argv);

	if (!argv)
		return;
	memcpy(argv, before, sizeof before);
	argv[3] = name;
	argv[5] = node;
	for (size_t i = 0; i < cnt; i++)
		argv[n + i] = lid[i];
	(void)execv("/proc/self/exe", (char **)(uintptr_t)argv);
}

/* The GUID of the node of a LID; 0: no host has it. */
static uint64_t guid_of(const struct vb_fabric *fabric, unsigned long lid)
{
	uint32_t host = lid < LIDS ? fabric->host_of_lid[lid] : 0;

	return host ? fabric->topo.node[fabric->node[host - 1]].node_guid : 0;
}

/* Of "dlid....................2" the number, where the line begins with @field. */
static bool field_read(const char *line, const char *field, unsigned long *number)
{
	line += strspn(line, " \t");
	if (strncmp(line, field, strlen(field)) != 0 || line[strlen(field)] != '.')
		return false;
	line += strlen(field);
	line += strspn(line, ".");
	*number = strtoul(line, NULL, 0);
	return true;
}

/* Each record of saquery as a line; returns how many. */
static size_t records_copy(const struct vb_fabric *fabric, FILE *from, FILE *to)
{
	unsigned long slid = 0, dlid = 0, sl = 0;
	char line[256];
	size_t cnt = 0;

	while (fgets(line, sizeof line, from)) {
		if (field_read(line, "dlid", &dlid) || field_read(line, "slid", &slid) ||
		    !field_read(line, "sl", &sl))
			continue;
		if (guid_of(fabric, slid) && guid_of(fabric, dlid) && slid != dlid) {
			fprintf(to, "0x%016" PRIx64 " %lu %lu\n", guid_of(fabric, slid), dlid, sl);
			cnt++;
		}
	}
	return cnt;
}

/* The LIDs of hosts as texts. */
static size_t lids_list(const struct vb_fabric *fabric, char **lid, char (*text)[8])
{
	size_t cnt = 0;

	for (unsigned i = 1; i < LIDS && cnt < SOURCES_MAX; i++)
		if (fabric->host_of_lid[i]) {
			snprintf(text[cnt], sizeof text[cnt], "%u", i);
			lid[cnt] = text[cnt];
			cnt++;
		}
	return cnt;
}

static int levels_write(const struct vb_route_files *f, const struct vb_fabric *fabric,
			const char *name, const char *node, FILE *to)
{
	static char *lid[SOURCES_MAX], text[SOURCES_MAX][8];
	size_t cnt = lids_list(fabric, lid, text), records;
	int fd[2], status = 0;
	FILE *from;
	pid_t pid;

	if (pipe(fd) != 0 || (pid = fork()) < 0) {
		vb_cmd_error(f->cmd, "saquery: %s", strerror(errno));
		return -errno;
	}
	if (pid == 0) {
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		ask_exec(name, node, lid, cnt);
		_exit(127);
	}
	close(fd[1]);
	from = fdopen(fd[0], "r");
	records = from ? records_copy(fabric, from, to) : 0;
	if (from)
		fclose(from);
	(void)waitpid(pid, &status, 0);
	if (status == 0 && (cnt < 2 || records > 0))
		return 0;
	vb_cmd_error(f->cmd, "saquery tells no service levels of paths; Debian's package is "
			     "'infiniband-diags'");
	return -ENOENT;
}

int vb_route_ask_levels(const struct vb_route_files *f, const char *name, const char *node)
{
	struct vb_fabric fabric;
	char path[PATH_LEN];
	int rc = vb_route_fabric_read(f, &fabric);
	FILE *to;

	path_make(path, f->from, VB_ROUTE_LEVELS);
	to = rc ? NULL : fopen(path, "we");
	if (!rc && !to) {
		vb_cmd_error(f->cmd, "'%s': %s", path, strerror(errno));
		rc = -errno;
	}
	if (!rc)
		rc = levels_write(f, &fabric, name, node, to);
	if (to && fclose(to) != 0 && !rc)
		rc = -errno;
	vb_fabric_free(&fabric);
	return rc;
}

/* Writes the file whole; with @text NULL it is not to be there. */
static int file_put(const struct vb_route_files *f, const char *name, const char *text, size_t len)
{
	struct vb_whole_file w;
	char path[PATH_LEN];
	int rc;

	path_make(path, f->to, name);
	if (!text) {
		(void)unlink(path);
		return 0;
	}
	rc = vb_whole_file_begin(&w, path);
	if (!rc)
		rc = vb_whole_file_end(&w, fwrite(text, 1, len, w.f) == len ? 0 : -EIO);
	if (rc)
		vb_cmd_error(f->cmd, "'%s': %s", path, strerror(-rc));
	return rc;
}

static int levels_cnt(const struct vb_fabric *fabric)
{
	return fabric->levels ? __builtin_popcount(fabric->levels) : 1;
}

int vb_route_files_put(const struct vb_route_files *f, const char *engine)
{
	static const char *const names[] = {VB_ROUTE_TABLES, VB_ROUTE_MAPS,   VB_ROUTE_LEVELS,
					    "opensm.fdbs",   VB_ROUTE_GROUPS, VB_ROUTE_LAST};
	struct vb_fabric fabric;
	size_t len;
	char *text;
	int rc = vb_route_fabric_read(f, &fabric);

	for (size_t i = 0; !rc && i < sizeof names / sizeof names[0]; i++) {
		char path[PATH_LEN];

		path_make(path, f->from, names[i]);
		text = vb_fabric_read_text(path, VB_FABRIC_TEXT_MAX, &len);
		rc = file_put(f, names[i], text, len);
		free(text);
	}
	text = rc ? NULL : topology_text(f->topo, &len);
	if (text)
		rc = file_put(f, TOPOLOGY, text, len);
	free(text);
	if (!rc)
		printf("%s: %u switches, %u hosts, service levels of paths: %d; files in %s\n",
		       engine, fabric.switch_cnt, fabric.host_cnt, levels_cnt(&fabric), f->to);
	vb_fabric_free(&fabric);
	return rc;
}
