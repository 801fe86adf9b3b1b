/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the verbs and the file interfaces meet, see uverbs.h. */
#include "node/wait/uverbs.h"

#include <stdatomic.h>

const struct vb_uverbs_calls *_Atomic vb_uverbs_calls;
int (*_Atomic vb_uverbs_enter_event)(int fd);

static _Atomic bool is_offered;

void vb_uverbs_offer(void)
{
	const struct vb_uverbs_calls *calls = atomic_load(&vb_uverbs_calls);

	if (!calls)
		return;
	atomic_store(&is_offered, true);
	calls->offer();
}

bool vb_uverbs_is_offered(void)
{
	return atomic_load(&is_offered);
}
