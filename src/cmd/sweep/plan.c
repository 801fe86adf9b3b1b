/* SPDX-License-Identifier: BSD-2-Clause */
/* Which points a sweep has, and the folder that holds them. See sweep.h. */
#include "cmd/sweep/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int no_memory(const struct vb_sweep *s)
{
	vb_cmd_error(s->cmd, "no memory");
	return 1;
}

/* A copy that lives as long as the sweep; points share them. NULL: no memory. */
static const char *keep_text(struct vb_sweep *s, const char *text, size_t len)
{
	struct vb_sweep_text *t = malloc(sizeof *t + len + 1);

	if (!t)
		return NULL;
	memcpy(t->text, text, len);
	t->text[len] = '\0';
	t->next = s->texts;
	s->texts = t;
	return t->text;
}

/* The column of @path, made when it is not there; UINT32_MAX: there are too many. */
static uint32_t column_of(struct vb_sweep *s, const char *path, size_t len)
{
	for (uint32_t i = 0; i < s->column_cnt; i++)
		if (strlen(s->column[i]) == len && strncmp(s->column[i], path, len) == 0)
			return i;
	if (s->column_cnt == VB_SWEEP_COLUMNS_MAX)
		return UINT32_MAX;
	s->column[s->column_cnt] = keep_text(s, path, len);
	return s->column[s->column_cnt] ? s->column_cnt++ : UINT32_MAX;
}

/* Each point there is (one that changes nothing, when there are none) with each of @cnt others. */
static int multiply_points(struct vb_sweep *s, const struct vb_sweep_point *by, uint32_t cnt)
{
	uint32_t was = s->point_cnt ? s->point_cnt : 1;
	struct vb_sweep_point *all;

	if (cnt == 0 || was > VB_SWEEP_POINTS_MAX / cnt)
		return vb_cmd_usage(s->cmd, "a sweep has at most %u points", VB_SWEEP_POINTS_MAX);
	all = calloc((size_t)was * cnt, sizeof *all);
	if (!all)
		return no_memory(s);
	for (uint32_t i = 0; i < was * cnt; i++) {
		struct vb_sweep_point *p = &all[i];

		if (s->point_cnt)
			*p = s->point[i / cnt];
		for (uint32_t k = 0; k < VB_SWEEP_COLUMNS_MAX; k++)
			if (by[i % cnt].value[k])
				p->value[k] = by[i % cnt].value[k];
	}
	free(s->point);
	s->point = all;
	s->point_cnt = was * cnt;
	return 0;
}

/* The next value of a list with commas; those in brackets belong to it. */
static const char *next_value(struct vb_sweep *s, const char **at)
{
	const char *p = *at;
	int depth = 0;

	for (; *p && (*p != ',' || depth); p++)
		depth += *p == '[' ? 1 : *p == ']' && depth ? -1 : 0;

	const char *value = keep_text(s, *at, (size_t)(p - *at));

	*at = *p ? p + 1 : NULL;
	return value;
}

int vb_sweep_grid(struct vb_sweep *s, const char *text)
{
	const char *eq = strchr(text, '='), *at = eq ? eq + 1 : NULL;
	struct vb_sweep_point *by = NULL, *more;
	uint32_t cnt = 0, column;
	int status = 0;

	if (!eq || eq == text)
		return vb_cmd_usage(s->cmd,
				    "--grid is PATH=VALUE,VALUE..., such as "
				    "transport.timeout=10,14, not \"%s\"",
				    text);
	for (uint32_t i = 0; i < s->column_cnt; i++)
		if (strlen(s->column[i]) == (size_t)(eq - text) &&
		    strncmp(s->column[i], text, (size_t)(eq - text)) == 0)
			return vb_cmd_usage(s->cmd, "%s is swept twice", s->column[i]);
	column = column_of(s, text, (size_t)(eq - text));
	if (column == UINT32_MAX)
		return vb_cmd_usage(s->cmd, "at most %d parameters are swept",
				    VB_SWEEP_COLUMNS_MAX);
	while (at && !status) {
		const char *value = next_value(s, &at);

		more = realloc(by, (cnt + 1) * sizeof *by);
		by = more ? more : by;
		if (!more || !value) {
			status = no_memory(s);
			break;
		}
		by[cnt] = (struct vb_sweep_point){{0}};
		by[cnt++].value[column] = value;
		if (!value[0])
			status = vb_cmd_usage(s->cmd, "--grid %s: a value is missing", text);
	}
	status = status ? status : multiply_points(s, by, cnt);
	free(by);
	return status;
}

static int list_line(struct vb_sweep *s, const char *file, uint32_t line, char *text,
		     struct vb_sweep_point *p)
{
	char *save = NULL;

	*p = (struct vb_sweep_point){{0}};
	for (char *word = strtok_r(text, " \t\r\n", &save); word;
	     word = strtok_r(NULL, " \t\r\n", &save)) {
		char *eq = strchr(word, '=');
		uint32_t column;

		if (!eq || eq == word || !eq[1]) {
			vb_cmd_error(s->cmd, "%s:%u: \"%s\" is not PATH=VALUE", file, line, word);
			return 1;
		}
		column = column_of(s, word, (size_t)(eq - word));
		if (column == UINT32_MAX) {
			vb_cmd_error(s->cmd, "%s:%u: at most %d parameters are swept", file, line,
				     VB_SWEEP_COLUMNS_MAX);
			return 1;
		}
		p->value[column] = keep_text(s, eq + 1, strlen(eq + 1));
		if (!p->value[column])
			return no_memory(s);
	}
	return 0;
}

int vb_sweep_list(struct vb_sweep *s, const char *file)
{
	FILE *f = fopen(file, "r");
	struct vb_sweep_point *by = NULL, *more;
	uint32_t cnt = 0;
	char *text = NULL;
	size_t size = 0;
	int status = 0;

	if (!f) {
		vb_cmd_error(s->cmd, "%s cannot be read: %s", file, strerror(errno));
		return 1;
	}
	for (uint32_t line = 1; !status && getline(&text, &size, f) >= 0; line++) {
		text[strcspn(text, "#")] = '\0';
		if (text[strspn(text, " \t\r\n")] == '\0')
			continue;
		more = realloc(by, (cnt + 1) * sizeof *by);
		if (!more) {
			status = no_memory(s);
			break;
		}
		by = more;
		status = list_line(s, file, line, text, &by[cnt++]);
	}
	fclose(f);
	free(text);
	if (!status && cnt == 0) {
		vb_cmd_error(s->cmd, "%s has no points", file);
		status = 1;
	}
	status = status ? status : multiply_points(s, by, cnt);
	free(by);
	return status;
}

int vb_sweep_seeds(struct vb_sweep *s, uint64_t first, uint32_t n)
{
	struct vb_sweep_point *by = calloc(n, sizeof *by);
	uint32_t before = s->column_cnt, column = column_of(s, "seed", 4);
	int status = 0;

	if (!by)
		return no_memory(s);
	if (column == UINT32_MAX || column < before)
		status = vb_cmd_usage(s->cmd, "the seed is swept twice, or beside too much else");
	for (uint32_t i = 0; !status && i < n; i++) {
		char text[24];

		snprintf(text, sizeof text, "%" PRIu64, first + i);
		by[i].value[column] = keep_text(s, text, strlen(text));
		status = by[i].value[column] ? 0 : no_memory(s);
	}
	status = status ? status : multiply_points(s, by, n);
	free(by);
	return status;
}

uint32_t vb_sweep_overrides(const struct vb_sweep *s, uint32_t i,
			    struct vb_scenario_override with[VB_SWEEP_COLUMNS_MAX])
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < s->column_cnt; k++)
		if (s->point[i].value[k])
			with[n++] =
			    (struct vb_scenario_override){s->column[k], s->point[i].value[k]};
	return n;
}

static int write_plan(FILE *f, const struct vb_sweep *s, const void *what)
{
	(void)what;
	fputs("verbena " VERBENA_VERSION "\n", f);
	for (uint32_t i = 0; i < s->point_cnt; i++) {
		fprintf(f, "%u", i);
		for (uint32_t k = 0; k < s->column_cnt; k++)
			if (s->point[i].value[k])
				fprintf(f, " %s=%s", s->column[k], s->point[i].value[k]);
		fputc('\n', f);
	}
	return ferror(f) ? -EIO : 0;
}

static int write_scenario(FILE *f, const struct vb_sweep *s, const void *what)
{
	(void)what;
	return fwrite(s->text, 1, s->text_len, f) == s->text_len ? 0 : -EIO;
}

/* 1: the file of the folder is what @write writes; 0: it is not; -ENOENT: it is not there. */
static int same_as_stored(const struct vb_sweep *s, const char *name,
			  int (*write)(FILE *f, const struct vb_sweep *s, const void *what))
{
	char path[4096], *want = NULL;
	size_t want_len = 0, at = 0;
	FILE *f, *m;
	int err, is;

	snprintf(path, sizeof path, "%s/%s", s->dir, name);
	f = fopen(path, "r");
	if (!f)
		return -errno;
	m = open_memstream(&want, &want_len);
	err = m ? write(m, s, NULL) : -ENOMEM;
	if (m && fclose(m) != 0)
		err = -ENOMEM;
	while (!err && at < want_len && getc(f) == (unsigned char)want[at])
		at++;
	is = at == want_len && getc(f) == EOF;
	fclose(f);
	free(want);
	return err ? err : is;
}

static int open_file(struct vb_sweep *s, const char *name, const char *what,
		     int (*write)(FILE *f, const struct vb_sweep *s, const void *what))
{
	int is = same_as_stored(s, name, write);

	if (is == -ENOENT)
		is = vb_sweep_store(s, name, write, NULL);
	else if (is == 0)
		is = -EEXIST;
	if (is >= 0)
		return 0;
	if (is == -EEXIST)
		vb_cmd_error(
		    s->cmd,
		    "%s holds another sweep: %s differs from %s/%s; give another --out, or "
		    "remove that folder",
		    s->dir, what, s->dir, name);
	else
		vb_cmd_error(s->cmd, "%s/%s cannot be read or written: %s", s->dir, name,
			     strerror(-is));
	return 1;
}

int vb_sweep_open(struct vb_sweep *s)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/points", s->dir);
	if ((mkdir(s->dir, 0777) != 0 && errno != EEXIST) ||
	    (mkdir(path, 0777) != 0 && errno != EEXIST)) {
		vb_cmd_error(s->cmd, "%s cannot be made: %s", s->dir, strerror(errno));
		return 1;
	}
	if (open_file(s, "scenario.yaml", "the scenario", write_scenario))
		return 1;
	return open_file(s, "plan.txt", "the list of points", write_plan);
}

void vb_sweep_free(struct vb_sweep *s)
{
	while (s->texts) {
		struct vb_sweep_text *t = s->texts;

		s->texts = t->next;
		free(t);
	}
	free(s->point);
	free(s->text);
}
