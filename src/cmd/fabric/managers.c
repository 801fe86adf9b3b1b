/* SPDX-License-Identifier: BSD-2-Clause */
/* An OpenSM in each subnet of a fabric, see managers.h. opensm(8) */
#include "cmd/fabric/managers.h"

#include "wire/ib/hop.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUTES_FILE "prefix-routes.conf"
#define OPTIONS_FILE "opensm.conf"

/* A topology with the subnets of its ports. */
struct plan {
	const struct vb_topo *topo;
	uint32_t *first, *subnet;
	uint32_t cnt;    /* of the subnets */
	uint64_t prefix; /* of the first one; the others count on */
};

static uint32_t subnet_at(const struct plan *p, uint32_t node, uint32_t port)
{
	return p->subnet[p->first[node] + port - 1];
}

static void plan_free(struct plan *p)
{
	free(p->first);
	free(p->subnet);
}

static bool plan_make(struct plan *p, const struct vb_topo *topo)
{
	uint32_t ports = vb_topo_port_cnt(topo);
	uint32_t *scratch = calloc(ports + 1u, sizeof *scratch);

	*p = (struct plan){.topo = topo,
			   .first = calloc(topo->node_cnt + 1u, sizeof *p->first),
			   .subnet = calloc(ports + 1u, sizeof *p->subnet)};
	if (p->first && p->subnet && scratch)
		p->cnt = vb_topo_subnets(topo, p->first, p->subnet, scratch);
	free(scratch);
	if (p->first && p->subnet && scratch)
		return true;
	plan_free(p);
	return false;
}

/* The first port of a node of @type in subnet @k. 0: there is none. */
static uint32_t port_choose(const struct plan *p, uint32_t k, uint8_t type, uint32_t *node)
{
	for (*node = 0; *node < p->topo->node_cnt; ++*node) {
		const struct vb_topo_node *n = &p->topo->node[*node];

		for (uint32_t i = 1; n->type == type && i <= n->port_cnt; i++)
			if (subnet_at(p, *node, i) == k)
				return i;
	}
	return 0;
}

/* The routers of the topology, by the prefixes that their subnets are to have. */
static uint8_t planned_port_cnt(const void *ctx, uint32_t n)
{
	const struct plan *p = ctx;

	return p->topo->node[n].type == VB_NODE_ROUTER ? p->topo->node[n].port_cnt : 0;
}

static struct vb_router_port planned_port(const void *ctx, struct vb_router_at at)
{
	const struct plan *p = ctx;
	uint32_t k = subnet_at(p, at.router, at.port);

	return (struct vb_router_port){.prefix = p->prefix + k,
				       .guid = p->topo->node[at.router].port[at.port].guid,
				       .is_up = k != VB_TOPO_NO_SUBNET};
}

static FILE *file_begin(const struct vb_manager *m, const char *name)
{
	char file[sizeof m->folder + 32];

	snprintf(file, sizeof file, "%s/%s", m->folder, name);
	return fopen(file, "we");
}

/* A line for each other subnet that a router of subnet @k leads to. */
static int routes_write(const struct plan *p, uint32_t k, const struct vb_manager *m)
{
	const struct vb_routers all = {
	    .ctx = p, .cnt = p->topo->node_cnt, .port_cnt = planned_port_cnt, .port = planned_port};
	FILE *f = file_begin(m, ROUTES_FILE);

	if (!f)
		return -errno;
	for (uint32_t to = 0; to < p->cnt; to++) {
		struct vb_router_at by;

		if (vb_routers_find(&all, p->prefix + k, p->prefix + to, &by))
			fprintf(f, "0x%016" PRIx64 " 0x%016" PRIx64 "\n", p->prefix + to,
				p->topo->node[by.router].port[by.port].guid);
	}
	return fclose(f) ? -errno : 0;
}

/* OpenSM reads the file of routes only where it has a file of options. */
static int options_write(uint64_t prefix, const struct vb_manager *m)
{
	FILE *f = file_begin(m, OPTIONS_FILE);

	if (!f)
		return -errno;
	fprintf(f, "subnet_prefix 0x%016" PRIx64 "\nprefix_routes_file %s/" ROUTES_FILE "\n",
		prefix, m->folder);
	return fclose(f) ? -errno : 0;
}

/* A manager for subnet @k, if one can be in it. */
static bool subnet_prepare(struct vb_managers *all, const struct vb_cmd *cmd, const struct plan *p,
			   uint32_t k)
{
	uint32_t node, port = port_choose(p, k, VB_NODE_CA, &node);
	struct vb_manager *m = &all->manager[all->cnt];
	int rc;

	if (port == 0)
		port = port_choose(p, k, VB_NODE_ROUTER, &node);
	if (port == 0)
		return true; /* switches alone */
	if (!vb_manager_prepare(m, cmd, &p->topo->node[node]))
		return false;
	all->guid[all->cnt] = p->topo->node[node].port[port].guid;
	all->prefix[all->cnt++] = p->prefix + k;
	rc = routes_write(p, k, m);
	if (!rc)
		rc = options_write(p->prefix + k, m);
	if (rc)
		vb_cmd_error(cmd, "'%s': %s", m->folder, strerror(-rc));
	return rc == 0;
}

static bool subnets_prepare(struct vb_managers *all, const struct vb_cmd *cmd, const struct plan *p)
{
	if (p->cnt > VB_MANAGERS_MAX) {
		vb_cmd_error(
		    cmd, "--sm: the fabric has %" PRIu32 " subnets, and at most %u get a manager",
		    p->cnt, VB_MANAGERS_MAX);
		return false;
	}
	for (uint32_t k = 0; k < p->cnt; k++)
		if (!subnet_prepare(all, cmd, p, k))
			return false;
	return true;
}

bool vb_managers_prepare(struct vb_managers *all, const struct vb_cmd *cmd,
			 const struct vb_topo *topo, uint64_t prefix)
{
	struct plan p;
	bool ok;

	memset(all, 0, sizeof *all);
	if (!plan_make(&p, topo)) {
		vb_cmd_error(cmd, "%s", strerror(ENOMEM));
		return false;
	}
	p.prefix = prefix ? prefix : VB_PREFIX_FIRST;
	if (p.cnt > 1 || prefix) {
		ok = subnets_prepare(all, cmd, &p);
	} else {
		ok = vb_manager_prepare(&all->manager[0], cmd, vb_manager_choose(topo));
		all->cnt = ok;
	}
	plan_free(&p);
	if (ok && all->cnt)
		return true;
	if (ok)
		vb_cmd_error(cmd, "--sm: no subnet has a host with a cable, where OpenSM could be");
	vb_managers_end(all);
	return false;
}

void vb_managers_print(const struct vb_managers *all)
{
	for (uint32_t i = 0; i < all->cnt; i++) {
		const struct vb_manager *m = &all->manager[i];

		printf("OpenSM at %s, ", m->node);
		if (all->prefix[i])
			printf("prefix 0x%016" PRIx64 ", ", all->prefix[i]);
		printf("log %s/opensm.log\n", m->folder);
	}
}

void vb_managers_connect(struct vb_managers *all)
{
	for (uint32_t i = 0; i < all->cnt; i++)
		if (pipe2(all->manager[i].alive, O_CLOEXEC))
			all->manager[i].alive[0] = all->manager[i].alive[1] = -1;
}

void vb_managers_start(struct vb_managers *all, const char *name)
{
	for (uint32_t i = 0; i < all->cnt; i++) {
		char guid[24], options[96];
		const char *const more[] = {"-g", guid, "-F", options, NULL};

		snprintf(guid, sizeof guid, "0x%016" PRIx64, all->guid[i]);
		snprintf(options, sizeof options, "%s/" OPTIONS_FILE, all->manager[i].folder);
		vb_manager_start(&all->manager[i], name, all->prefix[i] ? more : more + 4);
	}
}

/* A line for each prefix that a router of subnet @own leads to; to be freed. NULL: no memory. */
static char *routes_text(const struct vb_subnet_routes *r, uint64_t own)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (uint32_t i = 0; i < r->prefix_cnt; i++) {
		struct vb_router_at by;

		if (vb_routers_find(r->routers, own, r->prefix[i], &by))
			fprintf(f, "0x%016" PRIx64 " 0x%016" PRIx64 "\n", r->prefix[i],
				vb_routers_port(r->routers, by).guid);
	}
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

/* In one go, for OpenSM reads it when it likes. */
static bool routes_replace(const struct vb_manager *m, const char *text)
{
	char from[sizeof m->folder + 32], to[sizeof from];
	FILE *f = file_begin(m, ROUTES_FILE ".new");
	bool ok = f && fputs(text, f) >= 0;

	ok = f && fclose(f) == 0 && ok;
	snprintf(from, sizeof from, "%s/" ROUTES_FILE ".new", m->folder);
	snprintf(to, sizeof to, "%s/" ROUTES_FILE, m->folder);
	return ok && rename(from, to) == 0;
}

void vb_managers_reroute(void *ctx, const struct vb_subnet_routes *r)
{
	struct vb_managers *all = ctx;

	for (uint32_t i = 0; i < all->cnt; i++) {
		char *text = all->prefix[i] ? routes_text(r, all->prefix[i]) : NULL;

		if (!text || (all->routes[i] && strcmp(text, all->routes[i]) == 0) ||
		    !routes_replace(&all->manager[i], text)) {
			free(text);
			continue;
		}
		free(all->routes[i]);
		all->routes[i] = text;
		/* It sweeps, and reads the file then. */
		if (all->manager[i].pid > 0)
			(void)kill(all->manager[i].pid, SIGHUP);
	}
}

int vb_managers_await(const struct vb_managers *all, uint32_t seconds,
		      const struct vb_manager **which)
{
	int rc = 0;

	/* Their pipes end with OpenSM alone. */
	for (uint32_t i = 0; i < all->cnt; i++)
		if (all->manager[i].alive[1] >= 0)
			close(all->manager[i].alive[1]);
	for (uint32_t i = 0; i < all->cnt && !rc; i++) {
		*which = &all->manager[i];
		rc = vb_manager_await(*which, seconds);
	}
	return rc;
}

void vb_managers_end(struct vb_managers *all)
{
	for (uint32_t i = 0; i < all->cnt; i++) {
		vb_manager_end(&all->manager[i]);
		free(all->routes[i]);
		all->routes[i] = NULL;
	}
	all->cnt = 0;
}
