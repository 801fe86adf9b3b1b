/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes and ends of cables are added one by one. See build.h. */
#include "fabric/topology/build.h"

#include <errno.h>
#include <string.h>

#define CHUNK_SIZE 65536u

static void *take_memory(const struct vb_topo_config *cfg, struct vb_topo_chunk **list, size_t size)
{
	struct vb_topo_chunk *c = *list;
	void *p;

	size = (size + 7) / 8 * 8;
	if (!c || c->size - c->used < size) {
		size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;

		c = cfg->alloc(cfg->alloc_ctx, sizeof *c + room);
		if (!c)
			return NULL;
		c->size = room;
		c->next = *list;
		*list = c;
	}
	p = (char *)c->bytes + c->used;
	c->used += size;
	return p;
}

static void free_chunks(const struct vb_topo_config *cfg, struct vb_topo_chunk *c)
{
	while (c) {
		struct vb_topo_chunk *next = c->next;

		cfg->free(cfg->alloc_ctx, c);
		c = next;
	}
}

static void free_array(const struct vb_topo_config *cfg, void *array)
{
	if (array)
		cfg->free(cfg->alloc_ctx, array);
}

/* @old with twice the room; NULL: there is no memory, and @old is as it was. */
static void *grow_array(const struct vb_topo_config *cfg, void *old, uint32_t *room, size_t size)
{
	uint32_t more = *room ? *room * 2 : 64;
	void *array = cfg->alloc(cfg->alloc_ctx, more * size);

	if (!array)
		return NULL;
	if (old) {
		memcpy(array, old, *room * size);
		cfg->free(cfg->alloc_ctx, old);
	}
	*room = more;
	return array;
}

void vb_topo_begin(struct vb_topo_build *b, struct vb_topo *t, const struct vb_topo_config *cfg,
		   char *why, size_t why_size)
{
	*t = (struct vb_topo){.free = cfg->free, .alloc_ctx = cfg->alloc_ctx};
	*b = (struct vb_topo_build){.cfg = cfg, .t = t, .why = why, .why_size = why ? why_size : 0};
	if (why && why_size > 0)
		why[0] = '\0';
}

int vb_topo_end_work(struct vb_topo_build *b, int err)
{
	free_array(b->cfg, b->place);
	free_array(b->cfg, b->end);
	free_array(b->cfg, b->alias);
	free_chunks(b->cfg, b->scratch);
	if (err)
		vb_topo_free(b->t);
	return err;
}

void *vb_topo_keep(struct vb_topo_build *b, size_t size)
{
	return take_memory(b->cfg, &b->t->chunk, size);
}

void *vb_topo_scratch(struct vb_topo_build *b, size_t size)
{
	return take_memory(b->cfg, &b->scratch, size);
}

/* Room for one more node, in the topology and in the list of places. */
static int make_node_room(struct vb_topo_build *b)
{
	uint32_t room = b->node_room;
	void *array;

	if (b->t->node_cnt < b->node_room)
		return 0;
	array = grow_array(b->cfg, b->place, &room, sizeof *b->place);
	if (!array)
		return -ENOMEM;
	b->place = array;
	room = b->node_room;
	array = grow_array(b->cfg, b->t->node, &room, sizeof *b->t->node);
	if (!array)
		return -ENOMEM;
	b->t->node = array;
	b->node_room = room;
	return 0;
}

static int check_limits(struct vb_topo_build *b, uint32_t port_cnt, struct vb_topo_place place)
{
	uint32_t node_max = b->cfg->node_max ? b->cfg->node_max : VB_TOPO_NODES_MAX;
	uint32_t port_max = b->cfg->port_max ? b->cfg->port_max : VB_TOPO_PORTS_MAX;

	if (port_cnt < 1 || port_cnt > VB_TOPO_PORT_CNT_MAX)
		return REFUSE(b, place, "a node has 1 to % ports, not %",
			      SAY_DEC(VB_TOPO_PORT_CNT_MAX), SAY_DEC(port_cnt));
	if (b->t->node_cnt >= node_max)
		return REFUSE(b, place, "there are more than % nodes", SAY_DEC(node_max));
	if (port_cnt > port_max - b->port_cnt)
		return REFUSE(b, place, "the nodes have more than % ports together",
			      SAY_DEC(port_max));
	return 0;
}

int vb_topo_add_node(struct vb_topo_build *b, uint8_t type, const char *name, size_t name_len,
		     uint32_t port_cnt, struct vb_topo_place place, struct vb_topo_node **out)
{
	struct vb_topo_node *n;
	int err = check_limits(b, port_cnt, place);

	if (!err)
		err = make_node_room(b);
	if (err)
		return err;
	n = &b->t->node[b->t->node_cnt];
	*n = (struct vb_topo_node){.type = type,
				   .port_cnt = (uint8_t)port_cnt,
				   .vendor_id = b->cfg->vendor_id,
				   .device_id = b->cfg->device_id};
	n->name = vb_topo_keep(b, name_len + 1);
	n->port = vb_topo_keep(b, (port_cnt + 1) * sizeof *n->port);
	if (!n->name || !n->port)
		return -ENOMEM;
	memcpy(n->name, name, name_len);
	memcpy(n->desc, name, name_len < VB_TOPO_DESC_MAX ? name_len : VB_TOPO_DESC_MAX);
	for (uint32_t i = 0; i <= port_cnt; i++)
		n->port[i].peer = VB_TOPO_NO_PEER;
	b->place[b->t->node_cnt++] = place;
	b->port_cnt += port_cnt;
	*out = n;
	return 0;
}

int vb_topo_add_end(struct vb_topo_build *b, const struct vb_topo_end *end)
{
	if (b->end_cnt == b->end_room) {
		void *array = grow_array(b->cfg, b->end, &b->end_room, sizeof *b->end);

		if (!array)
			return -ENOMEM;
		b->end = array;
	}
	/* Until all is put together, the index of the end stands there. */
	b->t->node[end->node].port[end->port].peer = b->end_cnt;
	b->end[b->end_cnt++] = *end;
	return 0;
}

int vb_topo_add_alias(struct vb_topo_build *b, const struct vb_topo_alias *alias)
{
	if (b->alias_cnt == b->alias_room) {
		void *array = grow_array(b->cfg, b->alias, &b->alias_room, sizeof *b->alias);

		if (!array)
			return -ENOMEM;
		b->alias = array;
	}
	b->alias[b->alias_cnt++] = *alias;
	return 0;
}

int vb_topo_refuse(struct vb_topo_build *b, struct vb_topo_place place, size_t column,
		   const char *template, const struct vb_say_arg *arg)
{
	struct vb_say_buffer why = {b->why, b->why_size, 0};
	struct vb_say s = {.sink = vb_say_to_buffer, .ctx = &why};

	if (place.line && place.file)
		vb_say(&s, "%, ", (const struct vb_say_arg[]){SAY_TEXT(place.file)});
	if (place.line)
		vb_say(&s, "line %", (const struct vb_say_arg[]){SAY_DEC(place.line)});
	if (place.line && column)
		vb_say(&s, ", column %", (const struct vb_say_arg[]){SAY_DEC(column)});
	if (place.line)
		vb_say(&s, ": ", NULL);
	vb_say(&s, template, arg);
	vb_say_flush(&s);
	return -EINVAL;
}

void vb_topo_free(struct vb_topo *t)
{
	struct vb_topo_config cfg = {.free = t->free, .alloc_ctx = t->alloc_ctx};

	free_array(&cfg, t->node);
	free_chunks(&cfg, t->chunk);
	*t = (struct vb_topo){.free = t->free, .alloc_ctx = t->alloc_ctx};
}
