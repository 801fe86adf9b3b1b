/* SPDX-License-Identifier: BSD-2-Clause */
/* Refusals, with their places. See part.h. */
#include "scenario/part/part.h"

#include "scenario/fabric/file.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

int part_refuse(const struct part *p, int err, const char *fmt, ...)
{
	char number[16] = "", why[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	if (p->number)
		snprintf(number, sizeof number, " %u", p->number);
	if (p->at.line)
		snprintf(p->text, p->len, "%s:%u:%u: %s%s %s", p->sc->file, p->at.line,
			 p->at.column, p->name, number, why);
	else
		snprintf(p->text, p->len, "%s: %s%s %s", p->sc->file, p->name, number, why);
	return err;
}

int part_no_memory(const struct part *p, int err)
{
	return part_refuse(p, err, "cannot be made: %s", strerror(-err));
}

void part_path(char *path, size_t size, const struct vb_scenario *sc, const char *name)
{
	const char *slash = strrchr(sc->file, '/');

	snprintf(path, size, "%.*s%s", slash && name[0] != '/' ? (int)(slash + 1 - sc->file) : 0,
		 sc->file, name);
}

char *part_read_file(const struct part *p, const char *name, size_t max, char path[VB_FABRIC_PATH],
		     size_t *len, int *err)
{
	char *text;

	part_path(path, VB_FABRIC_PATH, p->sc, name);
	text = vb_fabric_read_text(path, max, len);
	if (!text)
		*err = part_refuse(p, -errno, "has a file that cannot be read: '%s': %s", path,
				   strerror(errno));
	return text;
}
