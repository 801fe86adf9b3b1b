/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any commands into the RDMA connection manager as two files write them, and any messages from its
 * network, which brings what it sends back to it: so it connects to itself. It has to keep its
 * assertions, to answer within the room that a command has, to leave each group once for each time
 * that it joined it, and to give all of its memory back. CMP-31 to CMP-33
 *
 * Input: a byte for each step: below VB_UCMA_CMD_CNT a command, whose next byte says which file
 * writes it (bit 0), for which id (bits 1-3), and how many bytes of it are changed (bits 4-7);
 * others as enum step says. A change is two bytes of place and a value.
 */
#include "ucma/abi.h"
#include "ucma/ucma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

/* The first of 16 bytes each; the low 4 bits are n. */
enum step {
	STEP_TIME = 0x20,    /* 2^(2n) ms pass */
	STEP_MESSAGE = 0x30, /* the last message once more, n bytes of it changed */
	STEP_LOSE = 0x40,    /* what is sent next n times is lost */
	STEP_CLOSE = 0x50,   /* a file ends, and a new one is there */
	STEP_REMOVE = 0x60,  /* the device is gone */
	STEP_STARVE = 0x70,  /* after n blocks there is no memory for one */
};

#define FILES 2
#define IDS 8
#define PORT 7
#define OPTION_MAX 72

struct fuzz_world {
	struct vb_ucma *u;
	struct vb_ucma_file *file[FILES];
	struct vb_path path;
	uint8_t mad[VB_MAD_LEN];
	vb_time now;
	uint32_t blocks, groups, lose, starve;
};

static void *counted_alloc(void *ctx, size_t size)
{
	struct fuzz_world *w = ctx;

	if (w->starve && --w->starve == 0)
		return NULL;
	w->blocks++;
	return calloc(1, size);
}

static void counted_free(void *ctx, void *p)
{
	((struct fuzz_world *)ctx)->blocks--;
	free(p);
}

/* 10.x.x.x is this host; 192.x.x.x is out of reach; every other way begins at no device. */
static int find_local(void *ctx, const struct vb_ucma_addr *a, struct vb_ucma_local *out)
{
	(void)ctx;
	if (!vb_gid_is_ipv4(&a->gid) || a->gid.b[12] != 10)
		return -EADDRNOTAVAIL;
	*out = (struct vb_ucma_local){.hca_port = 1, .mtu = 5, .node_guid = 9, .gid = a->gid};
	return 0;
}

static int find_route(void *ctx, struct vb_ucma_addr *src, const struct vb_ucma_addr *dst,
		      struct vb_ucma_local *out)
{
	if (vb_gid_is_ipv4(&dst->gid) && dst->gid.b[12] == 192)
		return -ENETUNREACH;
	src->gid = dst->gid;
	return find_local(ctx, src, out) ? -ENODEV : 0;
}

static int group_change(void *ctx, const struct vb_ucma_local *l, const struct vb_gid *g, bool join)
{
	struct fuzz_world *w = ctx;

	(void)l;
	if (join && g->b[15] == 0)
		return -ENOBUFS;
	if (!join && w->groups == 0)
		abort();
	w->groups += join ? 1u : UINT32_MAX;
	return 0;
}

static bool may_bind_low(void *ctx)
{
	(void)ctx;
	return true;
}

static void world_open(struct fuzz_world *w)
{
	const struct vb_ucma_config cfg = {.cm = {.seed = 1,
						  .hi_tid = 1,
						  .conns = IDS,
						  .ack_delay = 15,
						  .alloc = counted_alloc,
						  .free = counted_free,
						  .alloc_ctx = w},
					   .ids = IDS,
					   .events = 16,
					   .port_first = 40000,
					   .port_last = 40007,
					   .env = {.local = find_local,
						   .route = find_route,
						   .group = group_change,
						   .may_bind_low = may_bind_low,
						   .ctx = w}};

	memset(w, 0, sizeof *w);
	if (vb_ucma_create(&w->u, &cfg))
		abort();
	for (uint32_t i = 0; i < FILES; i++)
		if (vb_ucma_file_open(w->u, w, &w->file[i]))
			abort();
}

/* Any command, before changes. */
union body {
	uint8_t bytes[VB_UCMA_COMMAND_MAX - sizeof(struct vb_ucma_hdr)];
	struct vb_ucma_create_id create;
	struct vb_ucma_destroy_id destroy;
	struct vb_ucma_bind_ip bind_ip;
	struct vb_ucma_bind bind;
	struct vb_ucma_resolve_ip resolve_ip;
	struct vb_ucma_resolve_addr resolve;
	struct vb_ucma_resolve_route route;
	struct vb_ucma_query query;
	struct vb_ucma_connect connect;
	struct vb_ucma_listen listen;
	struct vb_ucma_accept accept;
	struct vb_ucma_reject reject;
	struct vb_ucma_disconnect disconnect;
	struct vb_ucma_init_qp_attr attr;
	struct vb_ucma_set_option option;
	struct vb_ucma_notify notify;
	struct vb_ucma_join_ip_mcast join_ip;
	struct vb_ucma_join_mcast join;
	struct vb_ucma_migrate_id migrate;
};

static void sockaddr_make(uint8_t *to, uint8_t first)
{
	to[0] = VB_UCMA_AF_INET;
	to[3] = PORT;
	to[4] = first;
	to[7] = 1;
}

static uint16_t body_name_id(union body *b, uint32_t cmd, uint32_t id)
{
	switch (cmd) {
	case VB_UCMA_DESTROY_ID:
	case VB_UCMA_LEAVE_MCAST:
		b->destroy.id = id;
		return sizeof b->destroy;
	case VB_UCMA_RESOLVE_ROUTE:
		b->route = (struct vb_ucma_resolve_route){id, 1};
		return sizeof b->route;
	case VB_UCMA_QUERY_ROUTE:
	case VB_UCMA_QUERY:
		b->query.id = id;
		return sizeof b->query;
	case VB_UCMA_LISTEN:
		b->listen = (struct vb_ucma_listen){id, 2};
		return sizeof b->listen;
	case VB_UCMA_REJECT:
		b->reject.id = id;
		return sizeof b->reject;
	case VB_UCMA_DISCONNECT:
		b->disconnect.id = id;
		return sizeof b->disconnect;
	case VB_UCMA_INIT_QP_ATTR:
		b->attr.id = id;
		b->attr.qp_state = 1;
		return sizeof b->attr;
	case VB_UCMA_SET_OPTION:
		b->option.id = id;
		b->option.optlen = OPTION_MAX;
		return sizeof b->option;
	case VB_UCMA_NOTIFY:
		b->notify = (struct vb_ucma_notify){id, 4};
		return sizeof b->notify;
	case VB_UCMA_MIGRATE_ID:
		b->migrate.id = id;
		return sizeof b->migrate;
	default:
		return sizeof(struct vb_ucma_get_event);
	}
}

static uint16_t body_make(union body *b, uint32_t cmd, uint32_t id)
{
	switch (cmd) {
	case VB_UCMA_CREATE_ID:
		b->create.ps = id & 1 ? VB_UCMA_PS_UDP : VB_UCMA_PS_TCP;
		return sizeof b->create;
	case VB_UCMA_BIND_IP:
		b->bind_ip.id = id;
		sockaddr_make(b->bind_ip.addr, 10);
		return sizeof b->bind_ip;
	case VB_UCMA_BIND:
		b->bind.id = id;
		b->bind.addr_size = VB_UCMA_SOCKADDR_IN;
		sockaddr_make(b->bind.addr, 10);
		return sizeof b->bind;
	case VB_UCMA_RESOLVE_IP:
		b->resolve_ip.id = id;
		sockaddr_make(b->resolve_ip.dst, 10);
		return sizeof b->resolve_ip;
	case VB_UCMA_RESOLVE_ADDR:
		b->resolve.id = id;
		b->resolve.dst_size = VB_UCMA_SOCKADDR_IN;
		sockaddr_make(b->resolve.dst, 10);
		return sizeof b->resolve;
	case VB_UCMA_CONNECT:
		b->connect.id = id;
		b->connect.param.valid = 1;
		return sizeof b->connect;
	case VB_UCMA_ACCEPT:
		b->accept.id = id;
		b->accept.param.valid = 1;
		return sizeof b->accept;
	case VB_UCMA_JOIN_IP_MCAST:
		b->join_ip.id = id;
		sockaddr_make(b->join_ip.addr, 239);
		return sizeof b->join_ip;
	case VB_UCMA_JOIN_MCAST:
		b->join.id = id;
		b->join.addr_size = VB_UCMA_SOCKADDR_IN;
		sockaddr_make(b->join.addr, 239);
		return sizeof b->join;
	default:
		return body_name_id(b, cmd, id);
	}
}

/* Changes @cnt of @bytes as the input says, @len of which are left; returns how many it took. */
static size_t bytes_change(uint8_t *bytes, size_t size, uint32_t cnt, const uint8_t *in, size_t len)
{
	size_t used = 0;

	for (; cnt > 0 && used + 3 <= len; cnt--, used += 3)
		bytes[((size_t)in[used] << 8 | in[used + 1]) % size] = in[used + 2];
	return used;
}

/* The memory of a command is as long as it says, so that a byte behind it is seen. */
static size_t command_write(struct fuzz_world *w, uint32_t cmd, const uint8_t *in, size_t len)
{
	static const uint8_t option[OPTION_MAX] = {VB_UCMA_PATH_FLAGS};
	union body b;
	struct vb_ucma_hdr h = {.cmd = cmd, .out = VB_UCMA_REPLY_MAX};
	uint8_t how = len ? *in : 0, reply[VB_UCMA_REPLY_MAX];
	uint32_t reply_len = 0, size;
	struct vb_ucma_command c = {.other = w->file[~how & 1], .extra = option};
	uint8_t *bytes;
	size_t used;
	int rc;

	memset(&b, 0, sizeof b);
	h.in = body_make(&b, cmd, how >> 1 & 7);
	size = (uint32_t)sizeof h + h.in;
	bytes = malloc(size);
	if (!bytes)
		abort();
	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, b.bytes, h.in);
	used = len ? 1 + bytes_change(bytes, size, how >> 4, in + 1, len - 1) : 0;
	if (bytes[0] == VB_UCMA_SET_OPTION && h.in == sizeof b.option) {
		memcpy(&b, bytes + sizeof h, h.in);
		c.extra_len = b.option.optlen < OPTION_MAX ? b.option.optlen : OPTION_MAX;
	}
	memcpy(&h, bytes, sizeof h);
	c.bytes = bytes;
	c.len = size;
	rc = vb_ucma_command(w->file[how & 1], &c, reply, &reply_len, w->now);
	if (reply_len > h.out || (rc < 0 && reply_len) || (rc >= 0 && (uint32_t)rc != size))
		abort();
	free(bytes);
	return used;
}

/* Brings what is sent back; no exchange is endless, but one that forged messages began may be long.
 */
static void world_settle(struct fuzz_world *w)
{
	uint16_t pkey;

	for (int i = 0; i < 64 && vb_ucma_poll_transmit(w->u, &w->path, &pkey, w->mad); i++) {
		if (w->lose) {
			w->lose--;
			continue;
		}
		vb_ucma_handle_mad(w->u, &w->path, w->mad, w->now);
	}
	while (vb_ucma_poll_file(w->u))
		;
}

static size_t step_other(struct fuzz_world *w, uint8_t step, const uint8_t *in, size_t len)
{
	uint32_t n = step & 15;
	size_t used = 0;

	switch (step & 0xf0) {
	case STEP_TIME:
		w->now += VB_MSEC << 2 * n;
		vb_ucma_handle_timeout(w->u, w->now);
		break;
	case STEP_MESSAGE:
		used = bytes_change(w->mad, VB_MAD_LEN, n, in, len);
		vb_ucma_handle_mad(w->u, &w->path, w->mad, w->now);
		break;
	case STEP_LOSE:
		w->lose = n;
		break;
	case STEP_CLOSE:
		vb_ucma_file_close(w->file[n % FILES], w->now);
		w->starve = 0;
		if (vb_ucma_file_open(w->u, w, &w->file[n % FILES]))
			abort();
		break;
	case STEP_REMOVE:
		vb_ucma_device_removed(w->u, 1);
		break;
	case STEP_STARVE:
		w->starve = n;
		break;
	default:
		break;
	}
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	struct fuzz_world w;

	world_open(&w);
	while (len > 0) {
		uint8_t step = *in++;
		size_t used;

		len--;
		used = step < VB_UCMA_CMD_CNT ? command_write(&w, step, in, len)
					      : step_other(&w, step, in, len);
		in += used;
		len -= used;
		world_settle(&w);
	}
	vb_ucma_destroy(w.u);
	if (w.blocks != 0 || w.groups != 0)
		abort();
	return 0;
}
