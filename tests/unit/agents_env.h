/* SPDX-License-Identifier: BSD-2-Clause */
/* The agents of a port, and programs that write, read and register, in virtual time. */
#ifndef VB_TESTS_AGENTS_ENV_H
#define VB_TESTS_AGENTS_ENV_H

#include "cmocka_env.h"
#include "mgmt/agents.h"
#include "wire/mad/rmpp.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GET VB_MAD_METHOD_GET
#define SET VB_MAD_METHOD_SET
#define GET_TABLE 0x12
#define PEER_LID 7

static struct vb_agents *agents;
static struct vb_agents_out out;
static vb_time now;

static inline void *env_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static inline void env_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static inline struct vb_agents *agents_make(bool has_smi, size_t memory_max)
{
	struct vb_agents_config c = {
	    .alloc = env_alloc, .free = env_free, .has_smi = has_smi, .memory_max = memory_max};
	struct vb_agents *a = vb_agents_create(&c);

	assert_non_null(a);
	return a;
}

static inline int agents_begin(void **state)
{
	(void)state;
	now = 1000;
	agents = agents_make(true, 0);
	return 0;
}

static inline int agents_end(void **state)
{
	(void)state;
	vb_agents_destroy(agents);
	return 0;
}

/* A request of a registration for @mgmt_class with the methods of the bits @methods. */
static inline struct vb_agent_request wanted(uint32_t qpn, uint8_t mgmt_class, uint8_t version,
					     uint64_t methods)
{
	return (struct vb_agent_request){.qpn = qpn,
					 .mgmt_class = mgmt_class,
					 .class_version = version,
					 .methods = {methods, 0}};
}

static inline int registered(int file, struct vb_agent_request r)
{
	return vb_agent_register(agents, file, &r);
}

static inline struct vb_mad_hdr header(uint8_t mgmt_class, uint8_t version, uint8_t method,
				       uint16_t attr, uint64_t tid)
{
	return (struct vb_mad_hdr){.base_version = 1,
				   .mgmt_class = mgmt_class,
				   .class_version = version,
				   .method = method,
				   .attr_id = attr,
				   .tid = tid};
}

static inline void mad_make(uint8_t mad[VB_MAD_LEN], struct vb_mad_hdr h)
{
	memset(mad, 0, VB_MAD_LEN);
	vb_mad_hdr_emit(&h, mad);
}

static inline struct vb_mad_hdr mad_header(const uint8_t *mad)
{
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, mad);
	return h;
}

static inline int written(int file, uint32_t agent, struct vb_mad_hdr h, uint32_t timeout_ms,
			  uint32_t retries)
{
	uint8_t mad[VB_MAD_LEN];
	struct vb_mad_message m = {.agent = agent,
				   .timeout_ms = timeout_ms,
				   .retries = retries,
				   .len = VB_MAD_LEN,
				   .addr = {.qpn = 1, .lid = PEER_LID},
				   .mad = mad};

	mad_make(mad, h);
	return vb_agents_write(agents, file, &m);
}

static inline bool transmitted(void)
{
	return vb_agents_poll_transmit(agents, &out, now);
}

static inline bool came_from(bool on_qp0, struct vb_mad_hdr h, const struct vb_mad_addr *from)
{
	uint8_t mad[VB_MAD_LEN];

	mad_make(mad, h);
	return vb_agents_handle(agents, on_qp0, from, mad, now);
}

static inline bool came(bool on_qp0, struct vb_mad_hdr h)
{
	const struct vb_mad_addr from = {.qpn = !on_qp0, .lid = PEER_LID};

	return came_from(on_qp0, h, &from);
}

/* Lets time pass up to @ms after the beginning, with what is due on the way. */
static inline void time_to(uint64_t ms)
{
	vb_time end = 1000 + ms * VB_MSEC;

	while (vb_agents_poll_timeout(agents) <= end) {
		now = vb_time_max(now, vb_agents_poll_timeout(agents));
		vb_agents_handle_timeout(agents, now);
		if (!vb_agents_poll_transmit(agents, &out, now))
			break;
	}
	now = end;
}

/* The agent that the first message of the file is for, which is taken; -1: there is none. */
static inline int read_agent(int file)
{
	const struct vb_mad_message *m = vb_agents_peek(agents, file);
	int agent;

	if (!m)
		return -1;
	agent = (int)m->agent;
	vb_agents_take(agents, file);
	return agent;
}

#endif
