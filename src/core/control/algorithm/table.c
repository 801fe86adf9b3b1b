/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of algorithms, by name. See algorithm.h. */
#include "core/control/algorithm/algorithm.h"

#include <stddef.h>
#include <string.h>

const struct verbena_cc_algorithm *const vb_cc_algorithms[] = {
    &vb_cc_fixed, &vb_cc_dcqcn, &vb_cc_dctcp, &vb_cc_timely, &vb_cc_swift, &vb_cc_hpcc, NULL,
};

const struct verbena_cc_algorithm *vb_cc_algorithm_find(const char *name, uint64_t len)
{
	for (int i = 0; vb_cc_algorithms[i]; i++)
		if (strlen(vb_cc_algorithms[i]->name) == len &&
		    memcmp(vb_cc_algorithms[i]->name, name, len) == 0)
			return vb_cc_algorithms[i];
	return NULL;
}
