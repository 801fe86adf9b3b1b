/* SPDX-License-Identifier: BSD-2-Clause */
/* Options as values in the scenario, whose reader knows what is right. See options.h. */
#include "cmd/sim/options.h"
#include "scenario/override.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "a,b" as the list "[a,b]"; the caller's. NULL: no memory. */
static char *list_of(const char *text)
{
	size_t len = strlen(text) + 3;
	char *list = malloc(len);

	if (list)
		snprintf(list, len, strchr(text, ',') ? "[%s]" : "%s", text);
	return list;
}

int vb_sim_series_read(struct vb_scenario *sc, FILE *f, const char *name,
		       const struct vb_sim_series_options *options, char *err, size_t err_len)
{
	const struct vb_scenario_override given[] = {{"record.series", options->series},
						     {"record.every", options->every},
						     {"record.flows", options->flows},
						     {"record.ports", options->ports}};
	struct vb_scenario_override with[sizeof given / sizeof given[0]];
	char *list[sizeof given / sizeof given[0]];
	uint32_t cnt = 0;
	int bad = 0;

	for (size_t i = 0; !bad && i < sizeof given / sizeof given[0]; i++) {
		if (!given[i].value)
			continue;
		list[cnt] = list_of(given[i].value);
		if (!list[cnt]) {
			snprintf(err, err_len, "%s: no memory", name);
			bad = -ENOMEM;
			break;
		}
		with[cnt] = (struct vb_scenario_override){given[i].path, list[cnt]};
		cnt++;
	}
	if (!bad)
		bad = vb_scenario_read_with(sc, f, name, with, cnt, err, err_len);
	while (cnt > 0)
		free(list[--cnt]);
	return bad;
}
