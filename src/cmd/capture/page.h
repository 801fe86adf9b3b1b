/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena capture --report`: the page (cmd/page/page.h) of what one or two captures saw. */
#ifndef VB_CMD_CAPTURE_PAGE_H
#define VB_CMD_CAPTURE_PAGE_H

#include "cmd/cmd.h"
#include "cmd/page/page.h"
#include "traffic/traffic.h"

struct vb_capture_pages {
	const char *read[VB_TRAFFIC_FILES]; /* captures */
	uint32_t read_cnt;
	const char *page; /* what to write; NULL: none is wanted */
};

/* Whether the page can be written. 0, or an exit status with the reason on stderr. */
int vb_capture_page_check(const struct vb_cmd *cmd, const struct vb_capture_pages *c);
/* Reads the captures and writes the page. The same. */
int vb_capture_page(const struct vb_cmd *cmd, const struct vb_capture_pages *c);

/* QPs that timed out or heard NAKs, as the steps of the traffic tell (story.c). */
#define VB_CAPTURE_STORIES_MAX 64u
struct vb_capture_story {
	uint32_t connection, side;
	uint64_t timeouts, naks, rnr_naks, resent;
};
struct vb_capture_stories {
	uint32_t cnt;
	bool is_full;
	struct vb_capture_story at[VB_CAPTURE_STORIES_MAX];
};
/* -ENOMEM; else 0. */
int vb_capture_stories_find(struct vb_capture_stories *s, const struct vb_traffic *t);
void vb_capture_story_tell(const struct vb_capture_story *s, const struct vb_traffic *t,
			   struct vb_page_story *out);

#endif
