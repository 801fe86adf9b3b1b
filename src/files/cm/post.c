/* SPDX-License-Identifier: BSD-2-Clause */
/* Posted commands that outlive their broker, see post.h. CMP-51 */
#include "files/cm/post.h"

static struct {
	uint32_t cnt;
	struct vb_cm_post post[VB_CM_POSTS];
} left;

void vb_cm_posts_save(const struct vb_cm_page *page)
{
	uint32_t pending = vb_cm_page_pending(page);

	/* Commands that were left before have been posted to this page. */
	left.cnt = 0;
	while (left.cnt < pending) {
		left.post[left.cnt] = *vb_cm_page_pending_at(page, left.cnt);
		left.cnt++;
	}
}

bool vb_cm_posts_restore(struct vb_cm_page *page, uint32_t *told)
{
	bool tell = false;

	for (uint32_t i = 0; i < left.cnt; i++)
		tell |= vb_cm_page_post(page, &left.post[i], told);
	left.cnt = 0;
	return tell;
}
