/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Topologies of a name and a few numbers: "fat-tree:k=4". Shapes that the simulator has too
 * (sim/network/topo.h) have the same names and keys. Each is a function that names its cables; it
 * runs twice: first to count the ports of each node, then to join them.
 */
#include "fabric/topology/build.h"
#include "fabric/topology/lex.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <string.h>

#define KEYS_MAX 5u
#define DIMENSIONS_MAX 3u
#define VALUE_MAX VB_TOPO_NODES_MAX

struct shape_row;

/* Nodes are numbers: switches, then hosts. */
struct shaper {
	struct vb_topo_build b;
	const struct shape_row *row;
	uint32_t value[KEYS_MAX]; /* in the order of the row's keys */
	uint32_t size[DIMENSIONS_MAX], dimensions;
	uint64_t switches, hosts;
	uint32_t *port_cnt; /* of each node: counted first, then how many are in use */
	bool joining;
	int err;
};

struct shape_row {
	const char *name;
	const char *key[KEYS_MAX]; /* "size" is of dimensions */
	/* Sets the number of switches and hosts; 0 or -EINVAL after it said why. */
	int (*count)(struct shaper *s);
	void (*join)(struct shaper *s);
};

#define SHAPE_REFUSE(s, template, ...)                                                             \
	REFUSE(&(s)->b, (struct vb_topo_place){0}, (template), __VA_ARGS__)

static void add_cable(struct shaper *s, uint64_t a, uint64_t b)
{
	struct vb_topo_end end = {.node = (uint32_t)a, .peer = (uint32_t)b};

	s->port_cnt[a]++;
	s->port_cnt[b]++;
	if (s->port_cnt[a] > VB_TOPO_PORT_CNT_MAX || s->port_cnt[b] > VB_TOPO_PORT_CNT_MAX)
		s->err = -EINVAL; /* make_shape() says which one */
	if (!s->joining || s->err)
		return;
	end.port = (uint8_t)s->port_cnt[a];
	end.peer_port = (uint8_t)s->port_cnt[b];
	s->err = vb_topo_add_end(&s->b, &end);
}

/* @each hosts at each of the first @switches. */
static void add_hosts(struct shaper *s, uint64_t switches, uint32_t each)
{
	for (uint64_t i = 0; i < switches * each && !s->err; i++)
		add_cable(s, i / each, s->switches + i);
}

static int count_pair(struct shaper *s)
{
	s->hosts = 2;
	return 0;
}

static void join_pair(struct shaper *s)
{
	add_cable(s, 0, 1);
}

static int count_star(struct shaper *s)
{
	s->switches = 1;
	s->hosts = s->value[0];
	return 0;
}

static void join_star(struct shaper *s)
{
	add_hosts(s, 1, s->value[0]);
}

static int count_dumbbell(struct shaper *s)
{
	s->switches = 2;
	s->hosts = (uint64_t)s->value[0] + s->value[1];
	return 0;
}

static void join_dumbbell(struct shaper *s)
{
	for (uint64_t i = 0; i < s->hosts; i++)
		add_cable(s, i >= s->value[0], 2 + i);
	add_cable(s, 0, 1);
}

static int count_rows(struct shaper *s)
{
	s->switches = s->value[0];
	s->hosts = s->switches * s->value[1];
	return 0;
}

static void join_parking_lot(struct shaper *s)
{
	add_hosts(s, s->switches, s->value[1]);
	for (uint64_t i = 0; i + 1 < s->switches; i++)
		add_cable(s, i, i + 1);
}

static int count_ring(struct shaper *s)
{
	if (s->value[0] < 3)
		return SHAPE_REFUSE(s, "ring: it has 3 switches at least, not %",
				    SAY_DEC(s->value[0]));
	return count_rows(s);
}

static void join_ring(struct shaper *s)
{
	join_parking_lot(s);
	add_cable(s, s->switches - 1, 0);
}

static int count_clos(struct shaper *s)
{
	s->switches = (uint64_t)s->value[0] + s->value[1];
	s->hosts = (uint64_t)s->value[0] * s->value[2];
	return 0;
}

static void join_clos(struct shaper *s)
{
	uint32_t leaves = s->value[0], spines = s->value[1];

	add_hosts(s, leaves, s->value[2]);
	for (uint32_t i = 0; i < leaves && !s->err; i++) {
		for (uint32_t j = 0; j < spines; j++)
			add_cable(s, i, leaves + j);
	}
}

/* pods, tors, aggs, cores, hosts */
static int count_clos3(struct shaper *s)
{
	const uint32_t *v = s->value;

	s->switches = (uint64_t)v[0] * v[1] + (uint64_t)v[0] * v[2] + (uint64_t)v[2] * v[3];
	s->hosts = (uint64_t)v[0] * v[1] * v[4];
	return 0;
}

static void join_clos3(struct shaper *s)
{
	uint32_t tors = s->value[1], aggs = s->value[2], cores = s->value[3];
	uint32_t tor_cnt = s->value[0] * tors, agg_cnt = s->value[0] * aggs;

	add_hosts(s, tor_cnt, s->value[4]);
	for (uint32_t i = 0; i < tor_cnt && !s->err; i++) {
		for (uint32_t j = 0; j < aggs; j++)
			add_cable(s, i, tor_cnt + i / tors * aggs + j);
	}
	for (uint32_t i = 0; i < agg_cnt && !s->err; i++) {
		for (uint32_t j = 0; j < cores; j++)
			add_cable(s, tor_cnt + i, tor_cnt + agg_cnt + i % aggs * cores + j);
	}
}

static int count_fat_tree(struct shaper *s)
{
	uint32_t k = s->value[0];

	if (k < 2 || k % 2 || k > VB_TOPO_PORT_CNT_MAX)
		return SHAPE_REFUSE(s, "fat-tree: k is even, 2 to %, not %",
				    SAY_DEC(VB_TOPO_PORT_CNT_MAX), SAY_DEC(k));
	s->value[0] = k;
	for (uint32_t i = 1; i < KEYS_MAX; i++)
		s->value[i] = k / 2;
	return count_clos3(s);
}

static int count_grid(struct shaper *s)
{
	s->switches = 1;
	for (uint32_t i = 0; i < s->dimensions; i++)
		s->switches *= s->size[i];
	s->hosts = s->switches * s->value[1];
	return 0;
}

/* A cable from each switch to the next one in each dimension; @wrap: from the last to the first as
 * well, unless there are two, which have their cable already. */
static void join_grid(struct shaper *s, bool wrap)
{
	add_hosts(s, s->switches, s->value[1]);
	for (uint64_t i = 0; i < s->switches; i++) {
		uint64_t step = 1;

		for (uint32_t d = 0; d < s->dimensions; step *= s->size[d++]) {
			uint64_t at = i / step % s->size[d];

			if (at + 1 < s->size[d])
				add_cable(s, i, i + step);
			else if (wrap && s->size[d] > 2)
				add_cable(s, i, i - at * step);
		}
	}
}

static void join_torus(struct shaper *s)
{
	join_grid(s, true);
}

static void join_mesh(struct shaper *s)
{
	join_grid(s, false);
}

static const struct shape_row shapes[] = {
    {"pair", {NULL}, count_pair, join_pair},
    {"star", {"hosts"}, count_star, join_star},
    {"dumbbell", {"left", "right"}, count_dumbbell, join_dumbbell},
    {"parking-lot", {"switches", "hosts"}, count_rows, join_parking_lot},
    {"clos", {"leaves", "spines", "hosts"}, count_clos, join_clos},
    {"clos3", {"pods", "tors", "aggs", "cores", "hosts"}, count_clos3, join_clos3},
    {"fat-tree", {"k"}, count_fat_tree, join_clos3},
    {"ring", {"switches", "hosts"}, count_ring, join_ring},
    {"torus", {"size", "hosts"}, count_grid, join_torus},
    {"mesh", {"size", "hosts"}, count_grid, join_mesh},
};

static const struct shape_row *find_shape(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		if (strlen(shapes[i].name) == len && memcmp(shapes[i].name, text, len) == 0)
			return &shapes[i];
	}
	return NULL;
}

bool vb_topo_is_shape(const char *text)
{
	return find_shape(text, strcspn(text, ":")) != NULL;
}

/* "4x4x2" */
static bool take_size(struct shaper *s, struct vb_lex *l)
{
	uint64_t n;

	do {
		if (s->dimensions == DIMENSIONS_MAX || !vb_lex_is_digit(*l->at) ||
		    !vb_lex_number(l, &n) || n < 1 || n > VALUE_MAX)
			return false;
		s->size[s->dimensions++] = (uint32_t)n;
	} while (vb_lex_char(l, 'x') && l->at < l->end);
	return l->at[-1] != 'x';
}

/* One "KEY=VALUE". */
static int take_setting(struct shaper *s, struct vb_lex l)
{
	const char *equals = memchr(l.at, '=', (size_t)(l.end - l.at));
	size_t len = (size_t)((equals ? equals : l.end) - l.at);
	const char *key = l.at;
	uint32_t i = 0;
	uint64_t n = 0;
	bool good;

	while (i < KEYS_MAX && s->row->key[i] &&
	       (strlen(s->row->key[i]) != len || memcmp(s->row->key[i], key, len) != 0))
		i++;
	if (i == KEYS_MAX || !s->row->key[i])
		return SHAPE_REFUSE(s, "%: it has no number \"%\"", SAY_TEXT(s->row->name),
				    SAY_PART(key, len));
	if (s->value[i])
		return SHAPE_REFUSE(s, "%: % is given twice", SAY_TEXT(s->row->name),
				    SAY_PART(key, len));
	l.at = equals ? equals + 1 : l.end;
	if (strcmp(s->row->key[i], "size") == 0)
		good = l.at < l.end && take_size(s, &l);
	else
		good = vb_lex_number(&l, &n) && n >= 1 && n <= VALUE_MAX;
	if (!good || l.at < l.end)
		return SHAPE_REFUSE(s,
				    strcmp(s->row->key[i], "size")
					? "%: expected %= and a number from 1 to %"
					: "%: expected %= and 1 to 3 numbers, as 4x4x2",
				    SAY_TEXT(s->row->name), SAY_PART(key, len), SAY_DEC(VALUE_MAX));
	s->value[i] = n ? (uint32_t)n : 1;
	return 0;
}

static int take_settings(struct shaper *s, const char *text)
{
	int err = 0;

	while (!err && *text) {
		size_t len = strcspn(text, ",");

		err = take_setting(s, (struct vb_lex){text, text, text + len});
		text += len;
		if (*text == ',' && !*++text && !err)
			err = SHAPE_REFUSE(s, "%: there is nothing behind the last ','",
					   SAY_TEXT(s->row->name));
	}
	for (uint32_t i = 0; !err && i < KEYS_MAX && s->row->key[i]; i++) {
		/* A ring, a torus and a mesh have one host at each switch unless told. */
		if (!s->value[i] && i == 1 && s->row->count != count_clos &&
		    s->row->count != count_clos3 && s->row->count != count_dumbbell)
			s->value[i] = 1;
		if (!s->value[i])
			err = SHAPE_REFUSE(s, "%: it needs a number, %=N", SAY_TEXT(s->row->name),
					   SAY_TEXT(s->row->key[i]));
	}
	return err;
}

/* "S-0003" */
static int add_numbered(struct shaper *s, bool is_switch, uint32_t number, uint32_t ports)
{
	struct vb_topo_node *n;
	char name[16];
	struct vb_say_buffer to = {name, sizeof name, 0};
	struct vb_say say = {.sink = vb_say_to_buffer, .ctx = &to};

	if (ports > VB_TOPO_PORT_CNT_MAX)
		return SHAPE_REFUSE(s, "%: a switch would have more than % ports",
				    SAY_TEXT(s->row->name), SAY_DEC(VB_TOPO_PORT_CNT_MAX));
	vb_say(&say, is_switch ? "S-%" : "H-%", (const struct vb_say_arg[]){SAY_DEC4(number)});
	vb_say_flush(&say);
	return vb_topo_add_node(&s->b, is_switch ? VB_NODE_SWITCH : VB_NODE_CA, name, to.len,
				ports ? ports : 1, (struct vb_topo_place){0}, &n);
}

static int make_shape(struct shaper *s)
{
	const struct vb_topo_config *cfg = s->b.cfg;
	uint64_t cnt, most = cfg->node_max ? cfg->node_max : VB_TOPO_NODES_MAX;
	int err = s->row->count(s);

	if (err)
		return err;
	cnt = s->switches + s->hosts;
	if (s->switches > most || cnt > most)
		return SHAPE_REFUSE(s, "%: it would have % nodes, at most % are possible",
				    SAY_TEXT(s->row->name), SAY_DEC(cnt), SAY_DEC(most));
	s->port_cnt = vb_topo_scratch(&s->b, cnt * sizeof *s->port_cnt);
	if (!s->port_cnt)
		return -ENOMEM;
	s->row->join(s);
	for (uint32_t i = 0; !err && i < cnt; i++)
		err = add_numbered(s, i < s->switches,
				   i < s->switches ? i : i - (uint32_t)s->switches, s->port_cnt[i]);
	if (err)
		return err;
	memset(s->port_cnt, 0, cnt * sizeof *s->port_cnt);
	s->joining = true;
	s->row->join(s);
	return s->err ? s->err : vb_topo_put_together(&s->b);
}

int vb_topo_shape(struct vb_topo *t, const struct vb_topo_config *cfg, const char *shape, char *why,
		  size_t why_size)
{
	struct shaper s = {0};
	size_t len = strcspn(shape, ":");
	int err = 0;

	vb_topo_begin(&s.b, t, cfg, why, why_size);
	s.row = find_shape(shape, len);
	if (!s.row)
		err =
		    SHAPE_REFUSE(&s,
				 "\"%\" is no shape: there are pair, star, dumbbell, parking-lot, "
				 "clos, clos3, fat-tree, ring, torus, mesh",
				 SAY_PART(shape, len));
	if (!err)
		err = take_settings(&s, shape[len] ? shape + len + 1 : shape + len);
	if (!err)
		err = make_shape(&s);
	return vb_topo_end_work(&s.b, err);
}
