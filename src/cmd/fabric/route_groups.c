/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Members of multicast groups at the nodes of a fabric, see route_groups.h. A member is mckey of
 * librdmacm, which joins by the address of its port and then waits for a message that nobody sends.
 * OpenSM chooses the MLID: the group has the MLID that is new in the multicast tables, as soon as
 * these lead to all members. mckey(1), IBA 15.2.5.17
 */
#include "cmd/fabric/route_groups.h"

#include "node/subnet/cm/cm.h"
#include "scenario/fabric/fabric.h"
#include "wire/ib/lrh.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "mckey"
#define WAIT_S 60 /* for OpenSM */
#define WAIT_STEP_MS 50
#define ADDRESS_LEN 16

/* One group on its way. */
struct joining {
	struct vb_route_groups *g;
	struct vb_fabric fabric;
	uint32_t host[VB_ROUTE_MEMBERS_MAX];
	uint32_t cnt;
};

static void address_text(char text[ADDRESS_LEN], uint32_t ipv4)
{
	snprintf(text, ADDRESS_LEN, "%u.%u.%u.%u", ipv4 >> 24, ipv4 >> 16 & 0xff, ipv4 >> 8 & 0xff,
		 ipv4 & 0xff);
}

/* The address of a host of the fabric at its port. */
static uint32_t address_of(const struct joining *j, uint32_t host)
{
	const struct vb_topo *topo = j->g->files->topo;
	const char *name = vb_fabric_name(&j->fabric, host);
	uint32_t i = 0;

	while (i < topo->node_cnt && strcmp(topo->node[i].name, name) != 0)
		i++;
	if (i == topo->node_cnt)
		return 0;
	return vb_subnet_address_of(j->g->daemon,
				    (struct vb_subnet_place){i, j->fabric.port[host]});
}

static void member_exec(const struct joining *j, uint32_t host, const char *own, const char *group)
{
	const char *const argv[] = {"verbena",    "run",    "--fabric",
				    j->g->fabric, "--node", vb_fabric_name(&j->fabric, host),
				    "--",         PROGRAM,  "-m",
				    group,        "-b",     own,
				    "-C",         "1",      NULL};
	int null = open("/dev/null", O_RDWR);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	(void)execv("/proc/self/exe", (char **)(uintptr_t)argv);
}

static int member_start(const struct joining *j, uint32_t host)
{
	struct vb_route_groups *g = j->g;
	uint32_t ipv4 = address_of(j, host);
	char own[ADDRESS_LEN], group[ADDRESS_LEN];
	pid_t parent = getpid(), pid;

	if (ipv4 == 0) {
		vb_cmd_error(g->files->cmd, "--group: '%s' has no address",
			     vb_fabric_name(&j->fabric, host));
		return -EADDRNOTAVAIL;
	}
	if (g->member_cnt == VB_ROUTE_MEMBERS_MAX) {
		vb_cmd_error(g->files->cmd, "--group: groups have %u members at most",
			     VB_ROUTE_MEMBERS_MAX);
		return -E2BIG;
	}
	address_text(own, ipv4);
	snprintf(group, sizeof group, "239.1.0.%u", g->cnt + 1);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			member_exec(j, host, own, group);
		_exit(127);
	}
	if (pid < 0) {
		vb_cmd_error(g->files->cmd, "fork: %s", strerror(errno));
		return -errno;
	}
	g->member[g->member_cnt++] = pid;
	return 0;
}

/* Adds the host with that name; of an adapter with several cables the first. */
static int host_add(struct joining *j, const char *name, size_t len)
{
	uint32_t host = 0;

	for (; host < j->fabric.host_cnt; host++) {
		const char *other = vb_fabric_name(&j->fabric, host);

		if (strncmp(other, name, len) == 0 && other[len] == 0)
			break;
	}
	if (host == j->fabric.host_cnt || j->cnt == VB_ROUTE_MEMBERS_MAX) {
		vb_cmd_error(j->g->files->cmd, "--group: there is no host '%.*s'", (int)len, name);
		return -ENOENT;
	}
	j->host[j->cnt++] = host;
	return 0;
}

static int hosts_read(struct joining *j, const char *list)
{
	int rc = 0;

	for (size_t len; !rc; list += len + 1) {
		len = strcspn(list, ",");
		rc = host_add(j, list, len);
		if (list[len] == 0)
			break;
	}
	return rc;
}

static bool mlid_is_known(const struct vb_route_groups *g, unsigned long mlid)
{
	for (uint32_t i = 0; i < g->cnt; i++)
		if (g->mlid[i] == mlid)
			return true;
	return false;
}

/* The tables of @mlid lead to all members. OpenSM may be writing: then it is asked again. */
static bool tables_suffice(struct joining *j, uint16_t mlid, const char *text)
{
	struct vb_fabric_error err;

	free(j->fabric.mft);
	j->fabric.mft = NULL;
	j->fabric.mlid[0] = mlid;
	return vb_fabric_read_mcfdbs(&j->fabric, text, strlen(text), &err) == 0 &&
	       vb_fabric_check_group(&j->fabric, 0, j->host, j->cnt, &err) == 0;
}

/* The first MLID of the tables that no other group has and that leads to all members; 0: none. */
static uint16_t mlid_find(struct joining *j)
{
	char *text = vb_route_file_read(j->g->files->from, VB_ROUTE_GROUPS, VB_FABRIC_TEXT_MAX);
	uint16_t found = 0;

	for (const char *line = text; line && !found; line = strchr(line, '\n')) {
		unsigned long mlid;

		line += *line == '\n';
		mlid = strncmp(line, "0x", 2) == 0 ? strtoul(line, NULL, 16) : 0;
		if (mlid >= VB_LID_MULTICAST && mlid < VB_LID_PERMISSIVE &&
		    !mlid_is_known(j->g, mlid) && tables_suffice(j, (uint16_t)mlid, text))
			found = (uint16_t)mlid;
	}
	free(text);
	return found;
}

/* Some member of the group has ended. */
static bool member_has_ended(struct vb_route_groups *g)
{
	for (uint32_t i = 0; i < g->member_cnt; i++)
		if (g->member[i] && waitpid(g->member[i], NULL, WNOHANG) == g->member[i]) {
			g->member[i] = 0;
			return true;
		}
	return false;
}

static int tables_await(struct joining *j)
{
	const struct timespec step = {.tv_nsec = WAIT_STEP_MS * 1000000L};
	struct vb_route_groups *g = j->g;

	for (uint32_t i = 0; !*g->is_stopped && i < WAIT_S * 1000 / WAIT_STEP_MS; i++) {
		uint16_t mlid = mlid_find(j);

		if (mlid) {
			printf("group %u: MLID 0x%04x, %u hosts\n", g->cnt, mlid, j->cnt);
			g->mlid[g->cnt++] = mlid;
			return 0;
		}
		if (member_has_ended(g)) {
			vb_cmd_error(g->files->cmd,
				     "--group: " PROGRAM " did not join; Debian's package is "
				     "'rdmacm-utils'");
			return -ENOENT;
		}
		(void)nanosleep(&step, NULL);
	}
	vb_cmd_error(g->files->cmd,
		     *g->is_stopped ? "stopped" : "OpenSM made no tables of the group");
	return -ETIMEDOUT;
}

int vb_route_group_join(struct vb_route_groups *g, const char *list)
{
	struct joining *j = calloc(1, sizeof *j);
	int rc;

	if (!j || g->cnt == VB_ROUTE_GROUPS_MAX) {
		vb_cmd_error(g->files->cmd, "--group: %u groups at most", VB_ROUTE_GROUPS_MAX);
		free(j);
		return -E2BIG;
	}
	j->g = g;
	rc = vb_route_fabric_read(g->files, &j->fabric);
	if (!rc)
		rc = hosts_read(j, list);
	for (uint32_t i = 0; !rc && i < j->cnt; i++)
		rc = member_start(j, j->host[i]);
	if (!rc)
		rc = tables_await(j);
	vb_fabric_free(&j->fabric);
	free(j);
	return rc;
}

void vb_route_groups_end(struct vb_route_groups *g)
{
	for (uint32_t i = 0; i < g->member_cnt; i++) {
		if (!g->member[i])
			continue;
		(void)kill(g->member[i], SIGKILL);
		(void)waitpid(g->member[i], NULL, 0);
	}
	g->member_cnt = 0;
}
