/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that wait in open files to be read. Items MAD-14, MAD-16 */
#include "mgmt/agents/priv.h"

#include <string.h>

struct vb_agents_file *vb_agents_file(const struct vb_agents *a, int file)
{
	assert(file >= 0 && (uint32_t)file < a->file_cap && a->file[file]);
	return a->file[file];
}

struct vb_mad_packet *vb_mad_packet_create(struct vb_agents *a, const uint8_t mad[VB_MAD_LEN])
{
	struct vb_mad_packet *p = vb_agents_alloc(a, sizeof *p + VB_MAD_LEN);

	if (!p)
		return NULL;
	vb_list_init(&p->link);
	memcpy(p + 1, mad, VB_MAD_LEN);
	p->msg.mad = (uint8_t *)(p + 1);
	p->msg.len = VB_MAD_LEN;
	return p;
}

void vb_mad_packet_free(struct vb_agents *a, struct vb_mad_packet *p)
{
	assert(vb_list_is_empty(&p->link));
	vb_agents_free(a, p->bytes);
	vb_agents_free(a, p);
}

bool vb_agents_queue_has_room(struct vb_agents *a, const struct vb_agents_file *f)
{
	if (f->queue_cnt < VB_AGENTS_QUEUE_MAX)
		return true;
	a->cnt.rx_no_room++;
	return false;
}

void vb_agents_queue_put(struct vb_agents *a, struct vb_agents_file *f, struct vb_mad_packet *p)
{
	if (vb_list_is_empty(&f->queue) && vb_list_is_empty(&f->readable))
		vb_list_append(&a->readable, &f->readable);
	vb_list_append(&f->queue, &p->link);
	f->queue_cnt++;
}

static struct vb_mad_packet *queue_first(const struct vb_agents_file *f)
{
	return vb_list_is_empty(&f->queue)
		   ? NULL
		   : vb_container_of(f->queue.next, struct vb_mad_packet, link);
}

static void queue_drop_first(struct vb_agents *a, struct vb_agents_file *f)
{
	struct vb_mad_packet *p = queue_first(f);

	vb_list_remove(&p->link);
	f->queue_cnt--;
	vb_mad_packet_free(a, p);
}

void vb_agents_queue_clear(struct vb_agents *a, struct vb_agents_file *f)
{
	while (f->queue_cnt > 0)
		queue_drop_first(a, f);
	vb_list_remove(&f->readable);
}

const struct vb_mad_message *vb_agents_peek(const struct vb_agents *a, int file)
{
	const struct vb_mad_packet *p = queue_first(vb_agents_file(a, file));

	return p ? &p->msg : NULL;
}

void vb_agents_take(struct vb_agents *a, int file)
{
	struct vb_agents_file *f = vb_agents_file(a, file);

	assert(f->queue_cnt > 0);
	queue_drop_first(a, f);
}

int vb_agents_poll_readable(struct vb_agents *a)
{
	while (!vb_list_is_empty(&a->readable)) {
		struct vb_agents_file *f =
		    vb_container_of(a->readable.next, struct vb_agents_file, readable);

		vb_list_remove(&f->readable);
		if (f->queue_cnt > 0)
			return f->number;
	}
	return -1;
}
