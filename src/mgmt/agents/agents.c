/* SPDX-License-Identifier: BSD-2-Clause */
/* The agents of a port: their creation and end, and what leaves when. Items MAD-13, MAD-23 */
#include "mgmt/agents/priv.h"

#include "base/assert.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <string.h>

#define MEMORY_MAX_DEFAULT ((size_t)1 << 30)
#define FILES_MAX 4096
#define FILES_FIRST 8

struct vb_agents *vb_agents_create(const struct vb_agents_config *cfg)
{
	struct vb_agents *a = cfg->alloc(cfg->alloc_ctx, sizeof *a);

	if (!a)
		return NULL;
	a->cfg = *cfg;
	if (a->cfg.memory_max == 0)
		a->cfg.memory_max = MEMORY_MAX_DEFAULT;
	a->next_tid = cfg->first_tid ? cfg->first_tid : 1;
	vb_list_init(&a->agents);
	vb_list_init(&a->tx);
	vb_list_init(&a->readable);
	vb_list_init(&a->farewells);
	return a;
}

static void messages_end(struct vb_agents *a, struct vb_list *list)
{
	while (!vb_list_is_empty(list))
		vb_rmpp_receive_end(a, vb_container_of(list->next, struct vb_rmpp_in, of_agent));
}

/* Ends an agent and what it waits for. */
static void agent_end(struct vb_agents *a, struct vb_agent *g)
{
	while (!vb_list_is_empty(&g->sends))
		vb_mad_send_free(a, vb_container_of(g->sends.next, struct vb_mad_send, of_agent));
	messages_end(a, &g->receiving);
	messages_end(a, &g->received);
	vb_agent_free(a, g);
}

void vb_agents_destroy(struct vb_agents *a)
{
	struct vb_agents_out unsent;

	for (uint32_t i = 0; i < a->file_cap; i++)
		if (a->file[i])
			vb_agents_file_close(a, (int)i);
	while (vb_inform_next(a, &unsent))
		;
	while (!vb_list_is_empty(&a->agents))
		agent_end(a, vb_container_of(a->agents.next, struct vb_agent, all));
	assert(a->timer_cnt == 0 && vb_list_is_empty(&a->tx) && vb_list_is_empty(&a->readable));
	vb_agents_free(a, a->file);
	vb_agents_free(a, a->timers.node);
	assert(a->memory == 0 && a->request_memory == 0);
	a->cfg.free(a->cfg.alloc_ctx, a);
}

static int files_grow(struct vb_agents *a)
{
	uint32_t cap = a->file_cap ? 2 * a->file_cap : FILES_FIRST;
	struct vb_agents_file **file;

	if (cap > FILES_MAX)
		return -ENFILE;
	file = vb_agents_alloc(a, cap * sizeof *file);
	if (!file)
		return -ENOMEM;
	if (a->file)
		memcpy(file, a->file, a->file_cap * sizeof *file);
	vb_agents_free(a, a->file);
	a->file = file;
	a->file_cap = cap;
	return 0;
}

int vb_agents_file_open(struct vb_agents *a)
{
	struct vb_agents_file *f;
	uint32_t number = 0;

	while (number < a->file_cap && a->file[number])
		number++;
	if (number == a->file_cap) {
		int err = files_grow(a);

		if (err)
			return err;
	}
	f = vb_agents_alloc(a, sizeof *f);
	if (!f)
		return -ENOMEM;
	f->number = (int)number;
	vb_list_init(&f->queue);
	vb_list_init(&f->readable);
	vb_list_init(&f->informs);
	a->file[number] = f;
	return f->number;
}

void vb_agents_file_close(struct vb_agents *a, int file)
{
	struct vb_agents_file *f = vb_agents_file(a, file);

	for (uint32_t id = 0; id < VB_UMAD_AGENTS; id++)
		if (f->agent[id])
			agent_end(a, f->agent[id]);
	vb_agents_queue_clear(a, f);
	vb_informs_end(a, f);
	a->file[file] = NULL;
	vb_agents_free(a, f);
}

void vb_agents_file_count(struct vb_agents *a, int file, uint32_t *cnt)
{
	vb_agents_file(a, file)->outstanding = cnt;
}

bool vb_agents_is_low(const struct vb_agents *a)
{
	return a->memory > a->cfg.memory_max / 2;
}

int vb_agent_unregister(struct vb_agents *a, int file, uint32_t id)
{
	struct vb_agents_file *f = vb_agents_file(a, file);

	if (id >= VB_UMAD_AGENTS || !f->agent[id])
		return -EINVAL;
	agent_end(a, f->agent[id]);
	return 0;
}

/* It has left: its answer is waited for from now on, or it is done. */
static void send_transmitted(struct vb_agents *a, struct vb_mad_send *s, vb_time now)
{
	vb_list_remove(&s->tx);
	if (s->packet.msg.timeout_ms == 0)
		vb_mad_send_free(a, s);
	else
		vb_mad_send_wait(a, s, now);
}

bool vb_agents_poll_transmit(struct vb_agents *a, struct vb_agents_out *out, vb_time now)
{
	struct vb_mad_send *s;

	if (vb_list_is_empty(&a->tx))
		return vb_inform_next(a, out);
	s = vb_container_of(a->tx.next, struct vb_mad_send, tx);
	VB_ASSERT_ALL(s->agent->file); /* agents of the node send nothing here */
	out->file = s->agent->file->number;
	out->on_qp0 = s->agent->req.qpn == 0;
	out->addr = s->packet.msg.addr;
	out->addr.qkey = out->on_qp0 ? 0 : VB_MAD_QKEY; /* that of the QP, whatever was written */
	if (s->rmpp.cnt != 0) {
		vb_rmpp_send_next(a, s, out->mad, now);
		return true;
	}
	memcpy(out->mad, s->mad, VB_MAD_LEN);
	send_transmitted(a, s, now);
	return true;
}

vb_time vb_agents_poll_timeout(const struct vb_agents *a)
{
	return vb_heap_due(&a->timers);
}

static void timer_expire(struct vb_agents *a, struct vb_agents_timer *t)
{
	struct vb_mad_send *s;

	if (t->kind == VB_AGENTS_RECEPTION) {
		vb_rmpp_receive_expire(a, vb_container_of(t, struct vb_rmpp_in, timer));
		return;
	}
	VB_ASSERT_ALL(t->kind == VB_AGENTS_SEND);
	s = vb_container_of(t, struct vb_mad_send, timer);
	if (s->rmpp.cnt != 0)
		vb_rmpp_send_expire(a, s);
	else
		vb_mad_send_expire(a, s);
}

void vb_agents_handle_timeout(struct vb_agents *a, vb_time now)
{
	while (vb_heap_due(&a->timers) <= now) {
		struct vb_agents_timer *t =
		    vb_container_of(a->timers.node[1], struct vb_agents_timer, node);

		vb_heap_set(&a->timers, &t->node, VB_NEVER);
		timer_expire(a, t);
	}
}

const struct vb_agents_counters *vb_agents_counters(const struct vb_agents *a)
{
	return &a->cnt;
}
