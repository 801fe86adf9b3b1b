/* SPDX-License-Identifier: BSD-2-Clause */
/* An observer's calls to the process of a fabric, see observe.h. */
#include "node/subnet/capture/observe.h"

#include "link/memory.h"
#include "node/subnet/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maps all of a descriptor, whatever its size is. */
static int memory_look(int fd, size_t *size, void **out)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*size = (size_t)st.st_size;
	return vb_memory_map(fd, *size, false, out);
}

static int memory_map_all(struct vb_subnet_observer *o, const struct vb_fds *fds)
{
	void *p;
	int rc;

	if (fds->cnt != VB_SUBNET_OBSERVED_CNT)
		return -EPROTO;
	rc = vb_memory_map(fds->fd[VB_SUBNET_RING], sizeof *o->ring, false, &p);
	if (rc)
		return rc;
	o->ring = p;
	rc = memory_look(fds->fd[VB_SUBNET_NAMES], &o->names_size, &p);
	if (rc)
		return rc;
	o->name = p;
	rc = memory_look(fds->fd[VB_SUBNET_OBSERVED_MAP], &o->map_size, &p);
	if (rc)
		return rc;
	o->map = p;
	return vb_ib_map_is_whole(o->map, o->map_size, (uint64_t)sysconf(_SC_PAGESIZE)) &&
		       o->map->node_cnt <= o->names_size / sizeof *o->name
		   ? 0
		   : -EPROTO;
}

int vb_subnet_observe(struct vb_subnet_observer *o, const char *name, const char *node, char *why,
		      size_t why_size)
{
	struct vb_subnet_call call;
	struct vb_subnet_answer answer = {.status = 0};
	struct vb_fds fds = {.cnt = 0};
	int rc;

	*o = (struct vb_subnet_observer){.sock = vb_subnet_dial(name, why, why_size)};
	if (o->sock < 0)
		return o->sock;
	vb_subnet_call_text(&call, VB_SUBNET_OBSERVE, node);
	rc = vb_subnet_ask(o->sock, &call, -1, &answer, &fds);
	answer.text[sizeof answer.text - 1] = 0;
	if (!rc && answer.status) {
		rc = answer.status;
		snprintf(why, why_size, "%s", answer.text[0] ? answer.text : strerror(-rc));
	} else if (!rc) {
		rc = memory_map_all(o, &fds);
		snprintf(why, why_size, "the memory of the fabric '%s': %s", name, strerror(-rc));
	} else {
		snprintf(why, why_size, "the fabric '%s' does not answer: %s", name, strerror(-rc));
	}
	vb_fds_close(&fds);
	o->first_port = (uint32_t)answer.token;
	o->port_cnt = (uint32_t)(answer.token >> 32);
	if (rc)
		vb_subnet_observe_end(o);
	return rc;
}

/* @call says which slots are known from now on. */
static int slots_take(struct vb_subnet_observer *o, const struct vb_subnet_answer *a,
		      const struct vb_fds *fds, struct vb_subnet_call *call)
{
	if (a->status || a->len != fds->cnt || a->len > sizeof a->slots)
		return a->status ? a->status : -EPROTO;
	for (uint32_t i = 0; i < a->len; i++) {
		uint8_t k = a->slots[i];
		void *p;

		/* A slot keeps its memory from one owner to the next. */
		if (!o->slot[k] && !vb_memory_map(fds->fd[i], sizeof *o->slot[k], false, &p))
			o->slot[k] = p;
		call->body[k / 8] |= (uint8_t)(1u << k % 8);
	}
	return 0;
}

int vb_subnet_observe_slots(struct vb_subnet_observer *o)
{
	struct vb_subnet_call call = {.op = VB_SUBNET_OBSERVE_SLOTS, .len = VB_SUBNET_KNOWN_LEN};
	struct vb_subnet_answer answer;
	int rc;

	_Static_assert(VB_SUBNET_KNOWN_LEN * 8 == VB_IB_SLOTS, "a bit for each slot");
	for (uint32_t k = 0; k < VB_IB_SLOTS; k++)
		if (o->slot[k])
			call.body[k / 8] |= (uint8_t)(1u << k % 8);
	do {
		struct vb_fds fds = {.cnt = 0};

		rc = vb_subnet_ask(o->sock, &call, -1, &answer, &fds);
		if (!rc)
			rc = slots_take(o, &answer, &fds, &call);
		vb_fds_close(&fds);
	} while (!rc && answer.token && answer.len);
	return rc;
}

int vb_subnet_observe_capture(struct vb_subnet_observer *o, bool on)
{
	struct vb_subnet_call call = {.op = VB_SUBNET_CAPTURE, .number = on};
	struct vb_subnet_answer answer;
	int rc = vb_subnet_ask(o->sock, &call, -1, &answer, NULL);

	return rc ? rc : answer.status;
}

void vb_subnet_observe_end(struct vb_subnet_observer *o)
{
	for (uint32_t k = 0; k < VB_IB_SLOTS; k++)
		vb_memory_unmap(o->slot[k], sizeof *o->slot[k]);
	vb_memory_unmap(o->ring, sizeof *o->ring);
	vb_memory_unmap(o->name, o->names_size);
	vb_memory_unmap(o->map, o->map_size);
	if (o->sock >= 0)
		close(o->sock);
	*o = (struct vb_subnet_observer){.sock = -1};
}
