/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any answers of a subnet administrator to its clients: to the connection manager of a node, which
 * asks for PathRecords and MCMemberRecords as programs want routes and groups, and to a program
 * that asks for tables, which come as messages of many MADs. Each question has one end, what
 * follows of an answer stays within the types, the memory within its limit, and all of it is given
 * back. FAB-51, FAB-52, FAB-55
 *
 * Input: a byte for each step, whose upper four bits are an enum step and the lower ones n, and
 * what the step needs (absent bytes are 0).
 */
#include "input.h"
#include "mgmt/agents.h"
#include "ucma/abi.h"
#include "ucma/ucma.h"
#include "wire/mad/rmpp.h"
#include "wire/mad/subnet/sa.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

enum step {
	STEP_CREATE,  /* an ID; odd n: of UDP */
	STEP_RESOLVE, /* ID n's address, then its route */
	STEP_ROUTE,
	STEP_JOIN,    /* ID n joins a group */
	STEP_DESTROY, /* ID n, or what it has joined last where n is odd */
	STEP_QUERY,   /* the path that ID n knows */
	STEP_ANSWER,  /* the last question is answered well, but for n bytes */
	STEP_AGAIN,   /* an older answer once more */
	STEP_TIME,    /* 4^n ms pass */
	STEP_LOSE,    /* the next n questions are lost */
	STEP_TABLE,   /* the program asks for a table */
	STEP_SEGMENT, /* a segment of its answer */
	STEP_RAW,     /* any bytes that claim to be an answer */
	STEP_READ,    /* the program reads, with room for n + 1 MADs */
};

#define IDS 8
#define SLOT_CNT 8 /* questions that are remembered */
#define HI_TID 1
#define MEMORY_MAX (256u << 10)
#define CHANGE_LEN 3 /* two bytes of place, and a value */

struct world {
	struct vb_ucma *u;
	struct vb_ucma_file *file;
	struct vb_agents *agents;
	int program;
	uint64_t table_tid;
	uint8_t question[SLOT_CNT][VB_MAD_LEN], answer[SLOT_CNT][VB_MAD_LEN];
	uint32_t asked, answered, joined, lose;
	size_t blocks;
	vb_time now;
	struct fuzz_input in;
};

static void *world_alloc(void *ctx, size_t size)
{
	((struct world *)ctx)->blocks++;
	return calloc(1, size);
}

static void world_free(void *ctx, void *p)
{
	((struct world *)ctx)->blocks--;
	free(p);
}

static void bytes_change(struct world *w, uint8_t mad[VB_MAD_LEN], uint32_t cnt)
{
	for (; cnt > 0 && w->in.len >= CHANGE_LEN; cnt--) {
		uint32_t at = (uint32_t)take_byte(&w->in) << 8;

		at |= take_byte(&w->in);
		mad[at % VB_MAD_LEN] = take_byte(&w->in);
	}
}

/* One port, of LID 0x10, whose GID ends with 1; 10.0.0.x is the GID that ends with x. */
static int port_read(void *ctx, uint8_t port, struct vb_ucma_ib_port *out)
{
	static const uint16_t pkey[2] = {0xffff, 0x8007};

	(void)ctx;
	if (port != 1)
		return -ENODEV;
	*out = (struct vb_ucma_ib_port){
	    .local = {.hca_port = 1, .mtu = 5, .node_guid = 9, .gid = {{0xfe, 0x80, [15] = 1}}},
	    .lid = 0x10,
	    .sm_lid = 1,
	    .lmc = 1,
	    .pkey = pkey,
	    .pkey_cnt = 2};
	return 0;
}

static int gid_find(void *ctx, const struct vb_ucma_addr *a, struct vb_gid *out)
{
	(void)ctx;
	*out = a->gid;
	if (a->family == VB_UCMA_AF_INET && !vb_gid_is_multicast(&a->gid))
		*out = (struct vb_gid){{0xfe, 0x80, [15] = a->gid.b[15]}};
	return 0;
}

static int local_find(void *ctx, const struct vb_ucma_addr *a, struct vb_ucma_local *out)
{
	struct vb_ucma_ib_port port;

	(void)a;
	(void)port_read(ctx, 1, &port);
	*out = port.local;
	return 0;
}

static int route_find(void *ctx, struct vb_ucma_addr *src, const struct vb_ucma_addr *dst,
		      struct vb_ucma_local *out)
{
	src->gid = (struct vb_gid){{[10] = 0xff, 0xff, 10, 0, 0, 1}};
	return local_find(ctx, dst, out);
}

static bool may_bind_low(void *ctx)
{
	(void)ctx;
	return true;
}

static bool gid_is_local(void *ctx, const struct vb_gid *gid)
{
	(void)ctx;
	return gid->b[15] == 1;
}

static void world_open(struct world *w)
{
	const struct vb_ucma_config cfg = {.cm = {.seed = 1,
						  .hi_tid = HI_TID,
						  .conns = IDS,
						  .ack_delay = 15,
						  .alloc = world_alloc,
						  .free = world_free,
						  .alloc_ctx = w,
						  .gid_is_local = gid_is_local},
					   .ids = IDS,
					   .events = 64,
					   .port_first = 40000,
					   .port_last = 40007,
					   .env = {.local = local_find,
						   .route = route_find,
						   .may_bind_low = may_bind_low,
						   .ib_port = port_read,
						   .ib_gid = gid_find,
						   .ctx = w}};
	const struct vb_agents_config agents = {.alloc = world_alloc,
						.free = world_free,
						.alloc_ctx = w,
						.first_tid = HI_TID + 1,
						.memory_max = MEMORY_MAX};
	const struct vb_agent_request sa = {
	    .qpn = 1, .mgmt_class = VB_MAD_CLASS_SUBN_ADM, .class_version = 2, .rmpp_version = 1};

	require(vb_ucma_create(&w->u, &cfg) == 0);
	require(vb_ucma_file_open(w->u, w, &w->file) == 0);
	w->agents = vb_agents_create(&agents);
	require(w->agents != NULL);
	w->program = vb_agents_file_open(w->agents);
	require(vb_agent_register(w->agents, w->program, &sa) == 0);
}

static void command_write(struct world *w, uint32_t cmd, const void *body, uint16_t len,
			  uint32_t room)
{
	const struct vb_ucma_hdr h = {.cmd = cmd, .in = len, .out = (uint16_t)room};
	uint8_t bytes[VB_UCMA_COMMAND_MAX], reply[VB_UCMA_REPLY_MAX];
	struct vb_ucma_command c = {.bytes = bytes, .len = (uint32_t)sizeof h + len};
	uint32_t reply_len = 0;

	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, body, len);
	(void)vb_ucma_command(w->file, &c, reply, &reply_len, w->now);
	require(reply_len <= room);
}

static void sockaddr_make(uint8_t *to, uint8_t first, uint8_t last)
{
	to[0] = VB_UCMA_AF_INET;
	to[3] = 7;
	to[4] = first;
	to[7] = last;
}

static void program_step(struct world *w, uint32_t step, uint32_t n)
{
	struct vb_ucma_create_id create = {.ps = n & 1 ? VB_UCMA_PS_UDP : VB_UCMA_PS_TCP};
	struct vb_ucma_resolve_ip to = {.id = n % IDS, .timeout_ms = 1000};
	struct vb_ucma_resolve_route route = {n % IDS, 1000};
	struct vb_ucma_join_ip_mcast join = {.id = n % IDS};
	struct vb_ucma_destroy_id gone = {.id = n >> 1};
	struct vb_ucma_query query = {.id = n % IDS, .option = n >> 3 & 1 ? 1 : 0};

	sockaddr_make(to.dst, 10, 2);
	sockaddr_make(join.addr, 239, (uint8_t)n);
	switch (step) {
	case STEP_CREATE:
		command_write(w, VB_UCMA_CREATE_ID, &create, sizeof create, VB_UCMA_REPLY_MAX);
		break;
	case STEP_RESOLVE:
		command_write(w, VB_UCMA_RESOLVE_IP, &to, sizeof to, VB_UCMA_REPLY_MAX);
		break;
	case STEP_ROUTE:
		command_write(w, VB_UCMA_RESOLVE_ROUTE, &route, sizeof route, VB_UCMA_REPLY_MAX);
		break;
	case STEP_JOIN:
		command_write(w, VB_UCMA_JOIN_IP_MCAST, &join, sizeof join, VB_UCMA_REPLY_MAX);
		break;
	case STEP_DESTROY:
		command_write(w, n & 1 ? VB_UCMA_LEAVE_MCAST : VB_UCMA_DESTROY_ID, &gone,
			      sizeof gone, VB_UCMA_REPLY_MAX);
		break;
	default:
		command_write(w, n >> 3 ? VB_UCMA_QUERY : VB_UCMA_QUERY_ROUTE, &query, sizeof query,
			      VB_UCMA_REPLY_MAX);
	}
}

/* An answer of any MAD of the class, to both: it is the one's that has asked. */
static void answer_give(struct world *w, const uint8_t mad[VB_MAD_LEN])
{
	const struct vb_mad_addr from = {.qpn = 1, .lid = 1};

	if (vb_ucma_has_asked(w->u, mad))
		vb_ucma_handle_mad(w->u, &(struct vb_path){.slid = 1, .dlid = 0x10, .port = 1}, mad,
				   w->now);
	else
		(void)vb_agents_handle(w->agents, false, &from, mad, w->now);
}

static void answer_step(struct world *w, uint32_t n)
{
	uint8_t *mad = w->answer[w->answered % SLOT_CNT];
	struct vb_sa_msg m;

	if (w->asked == 0 || vb_sa_parse(&m, w->question[(w->asked - 1) % SLOT_CNT]))
		return;
	m.method |= m.method == VB_MAD_METHOD_SET ? 0 : VB_MAD_METHOD_RESPONSE;
	if (m.method == VB_MAD_METHOD_SET)
		m.method = VB_MAD_METHOD_GET_RESP;
	if (m.attr_id == VB_SA_PATH_RECORD) {
		m.path.slid = 0x10;
		m.path.dlid = 0x20;
		m.path.mtu = 4;
		m.path.rate = 3;
	} else {
		m.member.mlid = 0xc005;
		m.member.mtu = 4;
	}
	vb_sa_emit(&m, mad);
	bytes_change(w, mad, n);
	w->answered++;
	answer_give(w, mad);
}

/* The MADs that programs and nodes send: questions are kept, messages of connections are lost. */
static void world_settle(struct world *w)
{
	uint8_t mad[VB_MAD_LEN];
	struct vb_agents_out out;
	struct vb_path path;
	uint16_t pkey;

	for (int i = 0; i < 64 && vb_ucma_poll_transmit(w->u, &path, &pkey, mad); i++) {
		struct vb_sa_msg m;

		if (vb_sa_parse(&m, mad))
			continue;
		require(path.dlid == 1 && path.slid == 0x10);
		if (w->lose)
			w->lose--;
		else
			memcpy(w->question[w->asked++ % SLOT_CNT], mad, VB_MAD_LEN);
	}
	while (vb_ucma_poll_file(w->u))
		;
	for (int i = 0; i < 64 && vb_agents_poll_transmit(w->agents, &out, w->now); i++) {
		struct vb_mad_hdr h;

		vb_mad_hdr_parse(&h, out.mad);
		w->table_tid = h.tid;
	}
}

static void table_step(struct world *w, uint32_t n)
{
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = VB_MAD_CLASS_SUBN_ADM,
			       .class_version = 2,
			       .method = 0x12, /* GetTable */
			       .attr_id = 0x11,
			       .tid = n};
	uint8_t mad[VB_MAD_LEN] = {0};
	struct vb_mad_message m = {.addr = {.qpn = 1, .lid = 1},
				   .mad = mad,
				   .len = VB_MAD_LEN,
				   .timeout_ms = 100,
				   .retries = n & 3};

	vb_mad_hdr_emit(&h, mad);
	(void)vb_agents_write(w->agents, w->program, &m);
}

static void segment_step(struct world *w, uint32_t n)
{
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = VB_MAD_CLASS_SUBN_ADM,
			       .class_version = 2,
			       .method = 0x92, /* GetTableResp */
			       .attr_id = 0x11,
			       .tid = w->table_tid};
	struct vb_rmpp r = {.version = 1};
	uint8_t mad[VB_MAD_LEN] = {0}, flags = take_byte(&w->in);

	r.type = flags & 7;
	r.flags = flags >> 3 & 7;
	r.segment = take_byte(&w->in);
	r.length = (uint32_t)take_byte(&w->in) << (flags >> 6 & 3) * 6;
	vb_mad_hdr_emit(&h, mad);
	vb_rmpp_emit(&r, mad);
	bytes_change(w, mad, n);
	answer_give(w, mad);
}

static void raw_step(struct world *w, uint32_t n)
{
	uint8_t mad[VB_MAD_LEN] = {0};

	for (uint32_t i = 0; i < (n + 1) * 16; i++)
		mad[i] = take_byte(&w->in);
	mad[1] = VB_MAD_CLASS_SUBN_ADM;
	answer_give(w, mad);
}

static void read_step(struct world *w, uint32_t n)
{
	const struct vb_mad_message *m = vb_agents_peek(w->agents, w->program);
	size_t room = VB_UMAD_HDR_LEN + (n + 1) * VB_MAD_LEN;
	uint8_t *buf;
	int got;

	if (!m)
		return;
	buf = malloc(room);
	require(buf != NULL);
	got = vb_umad_read_emit(m, buf, room, VB_UMAD_HDR_LEN);
	require(got < 0 || (size_t)got <= room);
	if (got >= 0)
		vb_agents_take(w->agents, w->program);
	free(buf);
}

static void event_read(struct world *w)
{
	struct vb_ucma_get_event e = {0};

	while (vb_ucma_file_events(w->file)) {
		uint32_t before = vb_ucma_file_events(w->file);

		command_write(w, VB_UCMA_GET_EVENT, &e, sizeof e, VB_UCMA_REPLY_MAX);
		require(vb_ucma_file_events(w->file) < before);
	}
}

static void time_step(struct world *w, uint32_t n)
{
	w->now += VB_MSEC << 2 * n;
	vb_ucma_handle_timeout(w->u, w->now);
	vb_agents_handle_timeout(w->agents, w->now);
	require(vb_ucma_poll_timeout(w->u) > w->now);
	require(vb_agents_poll_timeout(w->agents) > w->now);
}

static void one_step(struct world *w)
{
	uint8_t b = take_byte(&w->in);
	uint32_t n = b & 15;

	switch (b >> 4) {
	case STEP_ANSWER:
		answer_step(w, n);
		break;
	case STEP_AGAIN:
		answer_give(w, w->answer[n % SLOT_CNT]);
		break;
	case STEP_TIME:
		time_step(w, n);
		break;
	case STEP_LOSE:
		w->lose = n;
		break;
	case STEP_TABLE:
		table_step(w, n);
		break;
	case STEP_SEGMENT:
		segment_step(w, n);
		break;
	case STEP_RAW:
		raw_step(w, n);
		break;
	case STEP_READ:
		read_step(w, n);
		event_read(w);
		break;
	default:
		program_step(w, b >> 4, n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	struct world w = {.in = {in, len}, .now = 1};

	world_open(&w);
	while (w.in.len > 0) {
		one_step(&w);
		world_settle(&w);
	}
	/* A program that is never answered hears so. */
	w.now += 100 * VB_SEC;
	vb_ucma_handle_timeout(w.u, w.now);
	world_settle(&w);
	vb_ucma_destroy(w.u);
	vb_agents_destroy(w.agents);
	require(w.blocks == 0);
	return 0;
}
