/* SPDX-License-Identifier: BSD-2-Clause */
/* Page, charts and figures of a run. See draw.h. */
#include "cmd/sim/figure/draw.h"
#include "export/file/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot_write(const struct vb_sim_drawings *d, const char *path, int err)
{
	vb_cmd_error(d->cmd, "%s cannot be written: %s", path, strerror(-err));
	return 1;
}

bool vb_sim_drawings_any(const struct vb_sim_drawings *d)
{
	return d->report || d->svg || d->png || d->figures;
}

int vb_sim_drawings_check(struct vb_sim_drawings *d)
{
	const char *const path[] = {d->report, d->svg, d->png};
	char why[512];
	int err = 0;

	for (size_t i = 0; i < sizeof path / sizeof path[0]; i++) {
		err = path[i] ? vb_whole_file_check(path[i]) : 0;
		if (err)
			return cannot_write(d, path[i], err);
	}
	if (d->png || d->figures)
		err = vb_painter_open(&d->painter, why, sizeof why);
	if (!err)
		return 0;
	if (err == -ENOTSUP && !d->png) {
		fprintf(stderr, "verbena %s: warning: --figures: SVG only; for PDF %s\n",
			d->cmd->name, why);
		return 0;
	}
	vb_cmd_error(d->cmd, "%s: %s", d->png ? "--png" : "--figures",
		     err == -ENOTSUP ? why : strerror(-err));
	return 1;
}

int vb_sim_drawings_begin(struct vb_sim_drawings *d)
{
	char path[VB_WHOLE_FILE_PATH];
	int err;

	if (!d->figures)
		return 0;
	if (mkdir(d->figures, 0777) == 0) {
		d->made_figures = true;
	} else if (errno != EEXIST) {
		vb_cmd_error(d->cmd, "%s cannot be made: %s", d->figures, strerror(errno));
		return 1;
	}
	snprintf(path, sizeof path, "%s/rate.svg", d->figures);
	err = vb_whole_file_check(path);
	return err ? cannot_write(d, path, err) : 0;
}

static int write_png(const struct vb_sim_drawings *d, const struct vb_page_charts *c, FILE *to)
{
	char *svg = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&svg, &len);
	int err = f ? vb_chart_write(f, c->chart, c->chart_cnt) : -errno;

	if (f && fclose(f) != 0 && !err)
		err = -errno;
	if (!err)
		err = vb_painter_png(d->painter, to, svg, len, VB_CHART_WIDTH,
				     vb_chart_heights(c->chart, c->chart_cnt));
	free(svg);
	return err;
}

static int write_files(const struct vb_sim_drawings *d, const struct vb_sim_drawn *of,
		       const struct vb_sim_charts *c)
{
	const char *const path[] = {d->report, d->svg, d->png}, *name = strrchr(d->scenario, '/');

	for (int i = 0; i < 3; i++) {
		struct vb_whole_file w;
		int err = path[i] ? vb_whole_file_begin(&w, path[i]) : 0;

		if (!path[i])
			continue;
		if (err)
			return cannot_write(d, path[i], err);
		if (i == 0)
			err = vb_sim_page_write(w.f, name ? name + 1 : d->scenario, of->sc, of->run,
						of->r, of->watch, c);
		else if (i == 1)
			err = vb_chart_write(w.f, c->page.chart, c->page.chart_cnt);
		else
			err = write_png(d, &c->page, w.f);
		err = vb_whole_file_end(&w, err);
		if (err)
			return cannot_write(d, path[i], err);
	}
	return 0;
}

int vb_sim_drawings_write(struct vb_sim_drawings *d, const struct vb_sim_drawn *of)
{
	static struct vb_sim_charts charts;
	char failed[VB_WHOLE_FILE_PATH] = "";
	int err, status;

	vb_watch_end(of->watch);
	err = vb_watch_error(of->watch);
	if (!err && of->depths)
		err = of->depths->err;
	memset(&charts, 0, sizeof charts);
	if (!err)
		err = vb_sim_charts_make(&charts, of->run, of->watch);
	if (err)
		vb_cmd_error(d->cmd, "no memory for the charts");
	status = err ? 1 : write_files(d, of, &charts);
	if (!status && d->figures) {
		err = vb_sim_figures_write(d, of, &charts, failed, sizeof failed);
		status = err ? cannot_write(d, failed[0] ? failed : d->figures, err) : 0;
	}
	vb_sim_charts_free(&charts);
	return status;
}

void vb_sim_drawings_end(struct vb_sim_drawings *d, int status)
{
	if (status && d->made_figures)
		rmdir(d->figures); /* unless there is something in it */
	vb_painter_close(d->painter);
	d->painter = NULL;
}
