/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder of a sweep: files appear whole, so that a reader sees a result or none. See sweep.h.
 */
#include "cmd/sweep/sweep.h"
#include "export/file/whole_file.h"

#include <unistd.h>

void vb_sweep_name(const struct vb_sweep *s, uint32_t i, const char *suffix, char *path, size_t len)
{
	snprintf(path, len, "%s/points/%06u.%s", s->dir, i, suffix);
}

bool vb_sweep_has(const struct vb_sweep *s, uint32_t i)
{
	char path[4096];

	vb_sweep_name(s, i, "json", path, sizeof path);
	return access(path, F_OK) == 0;
}

int vb_sweep_store(const struct vb_sweep *s, const char *name,
		   int (*write)(FILE *f, const struct vb_sweep *s, const void *what),
		   const void *what)
{
	char path[4096];
	struct vb_whole_file w;
	int err;

	snprintf(path, sizeof path, "%s/%s", s->dir, name);
	err = vb_whole_file_begin(&w, path);
	return err ? err : vb_whole_file_end(&w, write(w.f, s, what));
}
