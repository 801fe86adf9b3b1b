/* SPDX-License-Identifier: BSD-2-Clause */
/* Domains that have names: domains of several HCAs with one name are the same. See migration.h. */
#include "core/share/migration.h"
#include "core/share/open.h"

#include <errno.h>

static bool is_named(const struct vb_xrcd *x, const struct vb_xrcd_name *name)
{
	return x->name.ino == name->ino && x->name.dev == name->dev;
}

struct vb_xrcd *vb_xrcd_find(const struct vb_hca *h, const struct vb_xrcd_name *name)
{
	for (struct vb_list *l = h->xrcds.next; l != &h->xrcds; l = l->next) {
		struct vb_xrcd *x = vb_container_of(l, struct vb_xrcd, link);

		if (!x->is_closed && is_named(x, name))
			return x;
	}
	return NULL;
}

static struct vb_xrcd *closed_find(const struct vb_hca *h, const struct vb_xrcd_name *name)
{
	for (struct vb_list *l = h->xrcds.next; l != &h->xrcds; l = l->next) {
		struct vb_xrcd *x = vb_container_of(l, struct vb_xrcd, link);

		if (x->is_closed && is_named(x, name))
			return x;
	}
	return NULL;
}

/* Whether nothing is left in the domain but targets that only others have open. */
static bool is_abandoned(const struct vb_xrcd *x)
{
	uint32_t orphans = 0;

	for (const struct vb_list *l = x->targets.next; l != &x->targets; l = l->next)
		orphans += vb_xrc_is_orphan(vb_container_of(l, struct vb_qp, target));
	return orphans == x->refs;
}

void vb_xrcd_share(struct vb_xrcd *x, const struct vb_xrcd_name *name)
{
	struct vb_xrcd *old = closed_find(x->hca, name);

	x->name = *name;
	while (old && !vb_list_is_empty(&old->targets)) {
		struct vb_list *l = old->targets.next;

		vb_list_remove(l);
		vb_list_append(&x->targets, l);
		vb_container_of(l, struct vb_qp, target)->xrcd = x;
		old->refs--;
		x->refs++;
	}
	if (old)
		vb_xrcd_shrink(old);
}

/* Holders in the domain return what they have, and go. */
static void end_holders(struct vb_xrcd *x)
{
	for (struct vb_list *l = x->targets.next, *next; l != &x->targets; l = next) {
		struct vb_qp *qp = vb_container_of(l, struct vb_qp, target);

		next = l->next;
		if (vb_xrc_is_holder(qp))
			(void)vb_qp_destroy(qp);
	}
}

int vb_xrcd_destroy(struct vb_xrcd *x)
{
	end_holders(x);
	if (!is_abandoned(x))
		return -EBUSY;
	x->is_closed = true;
	vb_xrcd_shrink(x);
	return 0;
}
