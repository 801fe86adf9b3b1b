/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of files, see file.h. */
#include "scenario/fabric/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *vb_topology_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

void vb_topology_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static char *stream_read(FILE *f, size_t max, size_t *len)
{
	char *text = NULL, *more;
	size_t cap = 0, n;

	do {
		cap = cap ? 2 * cap : 65536;
		more = realloc(text, cap);
		if (!more)
			break;
		text = more;
		n = fread(text + *len, 1, cap - *len, f);
		*len += n;
	} while (*len == cap && *len <= max);
	if (more && !ferror(f) && *len <= max)
		return text;
	if (*len > max)
		errno = EFBIG;
	free(text);
	return NULL;
}

char *vb_fabric_read_text(const char *path, size_t max, size_t *len)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	char *text = NULL;

	*len = 0;
	if (!f)
		return NULL;
	if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode))
		errno = EISDIR;
	else
		text = stream_read(f, max, len);
	fclose(f);
	return text;
}

/* The texts that lines include: they stay until the topology has been read. */
struct include_text {
	struct include_text *next;
	char *text;
};

struct include_reader {
	const char *beside; /* the file with the topology, in whose folder names begin */
	struct include_text *list;
};

/* A file that is no regular one could keep its reader waiting for ever. */
static int include_check(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

static int include_read(void *ctx, const char *file, const char **text, size_t *len)
{
	struct include_reader *r = ctx;
	const char *slash = strrchr(r->beside, '/');
	int folder = slash && file[0] != '/' ? (int)(slash + 1 - r->beside) : 0;
	struct include_text *t;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%.*s%s", folder, r->beside, file);
	int rc = n >= (int)sizeof path ? -ENAMETOOLONG : include_check(path);

	if (rc)
		return rc;
	t = calloc(1, sizeof *t);
	if (!t)
		return -ENOMEM;
	t->next = r->list;
	r->list = t;
	t->text = vb_fabric_read_text(path, VB_TOPO_TEXT_MAX, len);
	*text = t->text;
	return t->text ? 0 : -errno;
}

static void includes_free(struct include_reader *r)
{
	while (r->list) {
		struct include_text *t = r->list;

		r->list = t->next;
		free(t->text);
		free(t);
	}
}

int vb_fabric_read_topology(struct vb_topo *topo, const char *arg, char *why, size_t why_size)
{
	return vb_fabric_read_topology_at(topo, arg, 0, why, why_size);
}

int vb_fabric_read_topology_at(struct vb_topo *topo, const char *arg, uint64_t guid_base, char *why,
			       size_t why_size)
{
	struct include_reader includes = {.beside = arg};
	const struct vb_topo_config config = {.alloc = vb_topology_alloc,
					      .free = vb_topology_free,
					      .file = arg,
					      .guid_base = guid_base,
					      .include = include_read,
					      .include_ctx = &includes};
	char *text;
	size_t len;
	int rc;

	snprintf(why, why_size, "no memory");
	if (access(arg, R_OK) && vb_topo_is_shape(arg))
		return vb_topo_shape(topo, &config, arg, why, why_size);
	text = vb_fabric_read_text(arg, VB_TOPO_TEXT_MAX, &len);
	if (!text) {
		rc = -errno;
		snprintf(why, why_size, "'%s': %s", arg, strerror(-rc));
		return rc;
	}
	rc = vb_topo_parse(topo, &config, text, len, why, why_size);
	includes_free(&includes);
	free(text);
	return rc;
}
