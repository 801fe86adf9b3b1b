/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subscriptions to reports of a subnet's manager (InformInfo) that a file has made: those that are
 * left when it closes, as when its program is killed, are ended for it, unless another file of the
 * port has made the same one. IBA 13.4.8.3; FAB-54
 */
#include "mgmt/agents/priv.h"

#include "wire/mad/subnet/sa.h"

#include <string.h>

/* Subscriptions of a file that are remembered. A program with more of them leaves the rest to the
 * manager, which forgets subscribers that do not answer. */
#define INFORMS_MAX 64

/* InformInfo lies behind the headers of SA. IBA 15.2.5.3 */
#define INFO_AT VB_SA_DATA_AT
#define INFO_LEN 36u
#define SUBSCRIBE_AT (INFO_AT + 23u)

struct vb_inform {
	struct vb_list link; /* of the file, or of those that are to be ended */
	struct vb_mad_addr addr;
	uint8_t mad[VB_MAD_LEN]; /* as it was written */
};

static bool is_inform(const struct vb_mad_hdr *h)
{
	return h->mgmt_class == VB_MAD_CLASS_SUBN_ADM && h->method == VB_MAD_METHOD_SET &&
	       h->attr_id == VB_SA_INFORM_INFO;
}

/* The one of the file that differs in nothing but whether it subscribes; NULL: there is none. */
static struct vb_inform *inform_find(const struct vb_agents_file *f, const struct vb_mad_addr *to,
				     const uint8_t mad[VB_MAD_LEN])
{
	for (struct vb_list *l = f->informs.next; l != &f->informs; l = l->next) {
		struct vb_inform *i = vb_container_of(l, struct vb_inform, link);

		if (i->addr.lid == to->lid &&
		    memcmp(i->mad + INFO_AT, mad + INFO_AT, SUBSCRIBE_AT - INFO_AT) == 0 &&
		    memcmp(i->mad + SUBSCRIBE_AT + 1, mad + SUBSCRIBE_AT + 1,
			   INFO_AT + INFO_LEN - SUBSCRIBE_AT - 1) == 0)
			return i;
	}
	return NULL;
}

static void inform_free(struct vb_agents *a, struct vb_agents_file *f, struct vb_inform *i)
{
	vb_list_remove(&i->link);
	f->inform_cnt--;
	vb_agents_free(a, i);
}

void vb_inform_note(struct vb_agents *a, struct vb_agents_file *f, const struct vb_mad_addr *to,
		    const struct vb_mad_hdr *h, const uint8_t mad[VB_MAD_LEN])
{
	struct vb_inform *i;

	if (!is_inform(h))
		return;
	i = inform_find(f, to, mad);
	if (i && mad[SUBSCRIBE_AT] == 0)
		inform_free(a, f, i);
	if (i || mad[SUBSCRIBE_AT] != 1 || f->inform_cnt == INFORMS_MAX)
		return;
	i = vb_agents_alloc(a, sizeof *i);
	if (!i)
		return;
	i->addr = *to;
	memcpy(i->mad, mad, VB_MAD_LEN);
	vb_list_append(&f->informs, &i->link);
	f->inform_cnt++;
}

static bool is_shared(const struct vb_agents *a, const struct vb_agents_file *f,
		      const struct vb_inform *i)
{
	for (uint32_t n = 0; n < a->file_cap; n++)
		if (a->file[n] && a->file[n] != f && inform_find(a->file[n], &i->addr, i->mad))
			return true;
	return false;
}

void vb_informs_end(struct vb_agents *a, struct vb_agents_file *f)
{
	while (!vb_list_is_empty(&f->informs)) {
		struct vb_inform *i = vb_container_of(f->informs.next, struct vb_inform, link);

		if (is_shared(a, f, i)) {
			inform_free(a, f, i);
			continue;
		}
		i->mad[SUBSCRIBE_AT] = 0;
		/* Of an agent that has gone: nobody waits for the answer. */
		vb_mad_tid_put(i->mad, (uint64_t)vb_agents_tid_draw(a) << 32);
		vb_list_remove(&i->link);
		vb_list_append(&a->farewells, &i->link);
	}
}

bool vb_inform_next(struct vb_agents *a, struct vb_agents_out *out)
{
	struct vb_inform *i;

	if (vb_list_is_empty(&a->farewells))
		return false;
	i = vb_container_of(a->farewells.next, struct vb_inform, link);
	*out = (struct vb_agents_out){.file = -1, .addr = i->addr};
	out->addr.qkey = VB_MAD_QKEY;
	memcpy(out->mad, i->mad, VB_MAD_LEN);
	vb_list_remove(&i->link);
	vb_agents_free(a, i);
	return true;
}
