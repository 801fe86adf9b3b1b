/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted commands that a broker left behind (ucma/command/post.h): it was killed before it carried
 * them out. They go to the next one, in the same order and under the same serials, before anything
 * else does.
 */
#ifndef VB_FILES_CM_POST_H
#define VB_FILES_CM_POST_H

#include "node/cm/page/page.h"

#include <stdbool.h>

/* With the lock of session.h. @page is about to go: keeps what is not carried out. */
void vb_cm_posts_save(const struct vb_cm_page *page);
/* @page is new: posts there what was kept. True: the broker has to be told; *told as
 * vb_cm_page_post() has it. */
bool vb_cm_posts_restore(struct vb_cm_page *page, uint32_t *told);

#endif
