/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any MADs from the wire to a port whose agents have requests outstanding and messages of many MADs
 * under way, and any writes, reads, registrations and ends of programs; what is no agent's to the
 * agents of performance management and of congestion control. The memory stays within its limit,
 * and is all given back.
 *
 * Input: steps: a byte for the kind and what the kind needs (absent bytes are 0).
 */
#include "input.h"
#include "mgmt/agents.h"
#include "mgmt/cca.h"
#include "mgmt/pma.h"
#include "wire/mad/rmpp.h"
#include "wire/mad/smp.h"

#include <stdlib.h>
#include <string.h>

#define FILES 2
#define SWITCH_PORTS 36
#define MEMORY_MAX (256u << 10)
#define OUI 0x001405
#define MESSAGE_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

struct world {
	struct vb_agents *agents;
	int file[FILES];
	struct vb_ib_port link;
	struct vb_pma_port port[2];
	struct vb_cca_port cca_port[2];
	struct vb_ibcc_port_setting sw_port[SWITCH_PORTS + 1];
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

/* A header whose numbers are near to those of the agents. */
static struct vb_mad_hdr header_make(struct world *w)
{
	static const uint8_t classes[] = {
	    VB_MAD_CLASS_SA, 0x32, VB_MAD_CLASS_SUBN_DIRECTED, VB_MAD_CLASS_SUBN_LID, 4, 5, 6, 7};
	static const uint8_t methods[] = {0x01, 0x81, 0x12, 0x92, 0x02, 0x03, 0x07, 0x86};
	uint8_t kind = take_byte(&w->in), tid = take_byte(&w->in);

	return (struct vb_mad_hdr){.base_version = 1,
				   .mgmt_class = classes[kind & 7],
				   .class_version = kind & 0x40 ? 2 : 1,
				   .method = methods[kind >> 3 & 7],
				   .attr_id = kind & 0x80 ? VB_SMP_SM_INFO : 0x11,
				   .tid = (uint64_t)(tid & 15) << 32 | tid >> 6};
}

static void rmpp_make(struct world *w, uint8_t mad[VB_MAD_LEN])
{
	uint8_t b[4];
	struct vb_rmpp r = {.version = 1};

	take_bytes(&w->in, b, sizeof b);
	r.type = b[0] & 7;
	r.flags = b[0] >> 3 & 7;
	r.status = b[0] & 0x40 ? take_byte(&w->in) : 0;
	r.segment = b[1];
	r.length = b[2] | (uint32_t)b[3] << 8;
	if (b[0] & 0x80)
		r.segment |= (uint32_t)take_byte(&w->in) << 24;
	vb_rmpp_emit(&r, mad);
}

static struct vb_mad_addr addr_make(struct world *w)
{
	uint8_t b = take_byte(&w->in);

	return (struct vb_mad_addr){.qpn = b & 1,
				    .lid = (uint16_t)(b >> 1 & 3) << (b & 8 ? 14 : 0),
				    .has_grh = b & 16,
				    .gid = {b & 32 ? 0xff : 0xfe, b >> 6}};
}

/* To the agent of a switch or of an adapter. */
static void cca_step(struct world *w, const uint8_t from[VB_MAD_LEN])
{
	bool is_switch = from[VB_MAD_HDR_LEN] & 1; /* of the key */
	struct vb_cca_node node = {.port = w->cca_port,
				   .sw_port = is_switch ? w->sw_port : NULL,
				   .port_cnt = is_switch ? SWITCH_PORTS : 1};
	const struct vb_cca_sender sender = {.slid = 5, .qpn = 1};
	uint8_t mad[VB_MAD_LEN];

	memcpy(mad, from, sizeof mad);
	(void)vb_cca_handle(&node, mad, 1, &sender, w->now);
	(void)vb_cca_poll_trap(&node, node.sw_port ? 0 : 1, mad, VB_NODE_CA, 3, VB_MSEC, w->now);
	require(w->cca_port[1].limit < VB_CCA_BLOCKS * VB_IBCC_ENTRIES);
}

static void wire_step(struct world *w, bool raw)
{
	static const uint8_t oui[] = {0x00, 0x14, 0x05};
	struct vb_mad_addr from = addr_make(w);
	uint8_t mad[VB_MAD_LEN] = {0};

	if (raw) {
		take_bytes(&w->in, mad, sizeof mad);
	} else {
		struct vb_mad_hdr h = header_make(w);

		vb_mad_hdr_emit(&h, mad);
		rmpp_make(w, mad);
		memcpy(mad + 37, oui, sizeof oui);
	}
	if (!vb_agents_handle(w->agents, from.qpn == 0, &from, mad, w->now)) {
		struct vb_pma_node node = {.port = w->port, .port_cnt = 1};

		cca_step(w, mad);
		(void)vb_pma_handle(&node, mad, w->now);
	}
}

static void write_step(struct world *w, int file)
{
	uint8_t bytes[VB_UMAD_HDR_LEN + MESSAGE_MAX] = {0}, buf[VB_MAD_LEN] = {0};
	struct vb_mad_message m = {.addr = addr_make(w), .mad = buf}, back;
	struct vb_mad_hdr h = header_make(w);

	vb_mad_hdr_emit(&h, buf);
	rmpp_make(w, buf);
	m.agent = take_byte(&w->in);
	m.timeout_ms = take_byte(&w->in) * 10u;
	m.retries = take_byte(&w->in);
	m.len = VB_MAD_LEN;
	vb_umad_write_emit(&m, bytes, VB_UMAD_HDR_LEN);
	m.len = take_byte(&w->in) * 16u;
	if (vb_umad_write_parse(&back, bytes, VB_UMAD_HDR_LEN + m.len, VB_UMAD_HDR_LEN) == 0)
		(void)vb_agents_write(w->agents, file, &back);
}

static void read_step(struct world *w, int file)
{
	size_t room = take_byte(&w->in) * 64u;
	const struct vb_mad_message *m = vb_agents_peek(w->agents, file);
	uint8_t *buf;
	int got;

	if (!m)
		return;
	require(m->agent < VB_UMAD_AGENTS && m->len >= VB_MAD_HDR_LEN);
	buf = malloc(room + 1);
	require(buf != NULL);
	got = vb_umad_read_emit(m, buf, room, VB_UMAD_HDR_LEN);
	require(got < 0 || (size_t)got <= room);
	if (got >= 0)
		vb_agents_take(w->agents, file);
	free(buf);
}

static void register_step(struct world *w, int file)
{
	uint8_t b = take_byte(&w->in);
	struct vb_mad_hdr h = header_make(w);
	struct vb_agent_request r = {.qpn = b & 1,
				     .mgmt_class = b & 2 ? 0 : h.mgmt_class,
				     .class_version = h.class_version,
				     .methods = {take_byte(&w->in), 0},
				     .oui = OUI,
				     .rmpp_version = b >> 2 & 1,
				     .user_rmpp = b & 8};
	int id = b & 16 ? vb_agent_unregister(w->agents, file, b >> 5)
			: vb_agent_register(w->agents, file, &r);

	require(id < VB_UMAD_AGENTS);
}

static void transmit_step(struct world *w, unsigned most)
{
	struct vb_agents_out out;

	for (unsigned i = 0; i <= most && vb_agents_poll_transmit(w->agents, &out, w->now); i++)
		require(out.file == w->file[0] || out.file == w->file[1]);
}

static void one_step(struct world *w)
{
	uint8_t kind = take_byte(&w->in);
	int *file = &w->file[kind >> 3 & 1];

	switch (kind & 7) {
	case 0:
	case 1:
		wire_step(w, (kind & 0xf7) == 0);
		break;
	case 2:
		write_step(w, *file);
		break;
	case 3:
		w->now += (vb_dur)1 << (20 + (kind >> 3 & 15));
		vb_agents_handle_timeout(w->agents, w->now);
		require(vb_agents_poll_timeout(w->agents) > w->now);
		break;
	case 4:
		transmit_step(w, kind >> 3);
		break;
	case 5:
		read_step(w, *file);
		(void)vb_agents_poll_readable(w->agents);
		break;
	case 6:
		register_step(w, *file);
		break;
	default:
		vb_agents_file_close(w->agents, *file);
		*file = vb_agents_file_open(w->agents);
		require(*file >= 0);
	}
}

static void agents_register(struct world *w)
{
	static const struct vb_agent_request r[] = {
	    {1, VB_MAD_CLASS_SA, 2, {0x40006, 0}, 0, 1, false}, /* Get, Set, GetTable */
	    {1, 0x32, 1, {0x40006, 0}, OUI, 1, true},
	    {0, VB_MAD_CLASS_SUBN_DIRECTED, 1, {0x26, 0}, 0, 0, false},
	    {1, 0, 0, {0, 0}, 0, 1, false},
	};

	for (size_t i = 0; i < sizeof r / sizeof r[0]; i++)
		require(vb_agent_register(w->agents, w->file[0], &r[i]) == (int)i);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	struct world w = {.in = {in, len}, .now = 1};
	const struct vb_agents_config c = {.alloc = world_alloc,
					   .free = world_free,
					   .alloc_ctx = &w,
					   .has_smi = true,
					   .memory_max = MEMORY_MAX};

	w.link.config.symbol_ps = 320;
	w.port[1].link = &w.link;
	w.agents = vb_agents_create(&c);
	require(w.agents != NULL);
	for (int i = 0; i < FILES; i++)
		w.file[i] = vb_agents_file_open(w.agents);
	agents_register(&w);
	while (w.in.len > 0)
		one_step(&w);
	vb_agents_destroy(w.agents);
	require(w.blocks == 0);
	return 0;
}
