/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures as files. See figure.h. */
#include "export/chart/figure.h"

#include "export/file/whole_file.h"

#include <errno.h>
#include <stdlib.h>

/* One of the two. */
struct drawing {
	const struct vb_chart *chart;
	const struct vb_heat *heat;
};

static int write_svg(FILE *f, const struct drawing *d)
{
	return d->chart ? vb_chart_write(f, d->chart, 1) : vb_heat_write(f, d->heat);
}

static int write_pdf(FILE *f, const struct vb_painter *painter, const struct drawing *d)
{
	uint32_t height = d->chart ? vb_chart_height(d->chart) : vb_heat_height(d->heat);
	char *svg = NULL;
	size_t len = 0;
	FILE *m = open_memstream(&svg, &len);
	int err = m ? write_svg(m, d) : -errno;

	if (m && fclose(m) != 0 && !err)
		err = -errno;
	if (!err)
		err = vb_painter_pdf(painter, f, svg, len, VB_CHART_PAPER_WIDTH, height);
	free(svg);
	return err;
}

static int write_both(struct vb_figures *s, const char *name, const struct drawing *d)
{
	static const char *const suffix[] = {"svg", "pdf"};
	struct vb_whole_file w;
	int err = 0;

	for (int i = 0; !err && i < (s->painter ? 2 : 1); i++) {
		snprintf(s->failed, sizeof s->failed, "%s/%s.%s", s->dir, name, suffix[i]);
		err = vb_whole_file_begin(&w, s->failed);
		if (!err) {
			err = i == 0 ? write_svg(w.f, d) : write_pdf(w.f, s->painter, d);
			err = vb_whole_file_end(&w, err);
		}
	}
	return err;
}

int vb_figure_chart(struct vb_figures *s, const char *name, const struct vb_chart *c)
{
	struct vb_chart paper = *c;

	paper.form = VB_CHART_PAPER;
	return write_both(s, name, &(struct drawing){.chart = &paper});
}

int vb_figure_heat(struct vb_figures *s, const char *name, const struct vb_heat *h)
{
	return write_both(s, name, &(struct drawing){.heat = h});
}
