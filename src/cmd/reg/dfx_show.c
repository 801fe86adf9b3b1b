/* SPDX-License-Identifier: BSD-2-Clause */
/* A window of a QP's recorder as text, and as files. See dfx.h. */
#include "cmd/reg/csr_access.h"
#include "cmd/reg/dfx.h"
#include "export/file/whole_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define COLUMNS 64

static const char *rate_text(const struct vb_dfx_window *w, uint16_t units)
{
	return vb_csr_rate_text((uint32_t)units << 8, w->clk_hz);
}

/* s4: before the window, what the QP is at. */
void vb_dfx_print_first(FILE *f, const struct vb_dfx_window *w)
{
	fprintf(f, "Current Rate %u (%s), Target Rate %u (%s), alpha %u/1024, BC %u, T %u\n",
		w->rate, rate_text(w, w->rate), w->target, rate_text(w, w->target), w->alpha, w->bc,
		w->t);
}

void vb_dfx_print_entries(FILE *f, const struct vb_dfx_window *w, bool raw)
{
	uint64_t first = w->cnt ? vb_dfx_usec_of(w->entry[0]) : 0;

	if (w->cnt && !raw)
		fprintf(f, "%3s  %12s  %6s  %-12s  %s\n", "X", "us", "RATE", "", "EVENT");
	for (uint32_t i = 0; i < w->cnt; i++) {
		uint64_t e = w->entry[i];
		uint16_t rate = vb_dfx_rate_of(e);

		if (raw)
			fprintf(f, "0x%016" PRIx64 "\n", e);
		else
			fprintf(f, "%3" PRIu32 "  %12" PRIu64 "  %6u  %-12s  %s\n", i,
				vb_dfx_usec_of(e) - first, rate, rate_text(w, rate),
				vb_dfx_name(vb_dfx_event_of(e)));
	}
	if (w->cnt && !raw)
		vb_dfx_draw(f, w, COLUMNS);
}

void vb_dfx_print_counts(FILE *f, const struct vb_dfx_window *w)
{
	fprintf(f,
		"decrease %" PRIu32 ", bytecounter-increase %" PRIu32
		", nocnp_timer-increase %" PRIu32 "; %" PRIu32 " in the window, %" PRIu64
		" after it was full%s\n",
		w->decreases, w->byte_increases, w->timer_increases, w->cnt, w->overflow,
		w->is_on ? "; recording" : "");
}

/* The drawing and the table behind it, in one file that asks for nothing else. */
static int write_page(FILE *f, const struct vb_dfx_window *w, const char *title)
{
	int err;

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Rate of a "
	      "QP</title>\n<style>body { font: 14px sans-serif; margin: 2em } pre { font-size: "
	      "13px }</style>\n",
	      f);
	err = vb_dfx_svg(f, w, title);
	fputs("<pre>\n", f);
	if (w->has_first)
		vb_dfx_print_first(f, w);
	vb_dfx_print_entries(f, w, false);
	vb_dfx_print_counts(f, w);
	fputs("</pre>\n</html>\n", f);
	return err;
}

int vb_dfx_write(const struct vb_cmd *cmd, const struct vb_dfx_files *files,
		 const struct vb_dfx_window *w, const char *title)
{
	const struct {
		const char *path;
		int (*write)(FILE *f, const struct vb_dfx_window *w, const char *title);
	} file[] = {{files->svg, vb_dfx_svg}, {files->html, write_page}};

	for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
		struct vb_whole_file whole;
		int err;

		if (!file[i].path)
			continue;
		err = vb_whole_file_begin(&whole, file[i].path);
		if (!err)
			err = vb_whole_file_end(&whole, file[i].write(whole.f, w, title));
		if (err) {
			vb_cmd_error(cmd, "cannot write '%s': %s", file[i].path, strerror(-err));
			return 1;
		}
	}
	return 0;
}
