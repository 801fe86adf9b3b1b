/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines about the SRQs of XRC domains, of which there are two: one with the targets, another one.
 */
#include "drill.h"

#include <stdio.h>
#include <string.h>

struct vb_xrcd *xrc_domain(struct drill *d, bool other)
{
	struct vb_xrcd **x = &d->xrcd[other];

	world_create(d);
	if (*x == NULL && vb_xrcd_create(d->hca, x) != 0)
		drill_fail(d, "no XRC domain");
	return *x;
}

static struct script_xsrq *find(struct drill *d, const char *name)
{
	for (unsigned i = 0; i < d->xsrq_cnt; i++)
		if (strcmp(d->xsrq[i].name, name) == 0)
			return &d->xsrq[i];
	return NULL;
}

/* "xsrq NAME wr=16 other_pd other_domain" */
void xrc_srq(struct drill *d, struct args *args)
{
	struct vb_srq_cap cap = {.wr_max = (uint32_t)world_arg(d, args, "wr", 16), .sge_max = 4};
	struct vb_xrcd *x = xrc_domain(d, args_flag(args, "other_domain"));
	bool other_pd = args_flag(args, "other_pd");
	struct script_xsrq *s = &d->xsrq[d->xsrq_cnt];
	struct arg *name = args_next_word(args);

	if (name == NULL || name->val != NULL || d->xsrq_cnt == XSRQS_MAX)
		drill_fail(d, "which name? or too many SRQs");
	snprintf(s->name, sizeof s->name, "%s", name->key);
	work_result(
	    d, args,
	    vb_xrc_srq_create(other_pd ? d->other_pd : d->pd, x, d->cq, &cap, NULL, &s->srq));
	s->number = vb_srq_number(s->srq);
	d->xsrq_cnt++;
}

/* "destroy_xsrq NAME": its number stays a name. */
void xrc_destroy_srq(struct drill *d, struct args *args)
{
	struct arg *name = args_next_word(args);
	struct script_xsrq *s = name != NULL ? find(d, name->key) : NULL;

	if (s == NULL || s->srq == NULL)
		drill_fail(d, "no such SRQ");
	work_result(d, args, vb_srq_destroy(s->srq));
	s->srq = NULL;
}

struct vb_srq *xrc_srq_named(struct drill *d, const char *name)
{
	struct script_xsrq *s = find(d, name);

	if (s == NULL || s->srq == NULL)
		drill_fail(d, "no SRQ \"%s\"", name);
	return s->srq;
}

uint32_t xrc_number(struct drill *d, const char *text)
{
	struct script_xsrq *s = find(d, text);

	return s != NULL ? s->number : (uint32_t)world_number(d, text);
}
