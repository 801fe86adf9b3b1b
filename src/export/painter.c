/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws SVG into pictures and pages with the headers of librsvg and cairo, and what of them
 * dlopen(3) finds. See painter.h. */
#include "export/painter.h"

#include <errno.h>

#ifdef VB_HAVE_RSVG

#include <cairo-pdf.h>
#include <dlfcn.h>
#include <librsvg/rsvg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PT_PER_UNIT 0.75
#define LIBRARY "librsvg-2.so.2" /* brings cairo and GObject with it */

#define FUNCTIONS(F)                                                                               \
	F(rsvg_handle_new_from_data)                                                               \
	F(rsvg_handle_render_document)                                                             \
	F(g_object_unref)                                                                          \
	F(g_error_free)                                                                            \
	F(cairo_image_surface_create)                                                              \
	F(cairo_create)                                                                            \
	F(cairo_status)                                                                            \
	F(cairo_destroy)                                                                           \
	F(cairo_surface_destroy)                                                                   \
	F(cairo_surface_finish)                                                                    \
	F(cairo_surface_status)                                                                    \
	F(cairo_pdf_surface_create_for_stream)                                                     \
	F(cairo_pdf_surface_set_metadata)                                                          \
	F(cairo_surface_write_to_png_stream)

struct vb_painter {
	void *library;
#define FUNCTION(name) __typeof__(&(name)) fn_##name;
	FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* dlsym() returns an object's address; POSIX has it hold a function's. */
static bool find_function(void *library, const char *name, void *fn)
{
	void *at = dlsym(library, name);

	memcpy(fn, &at, sizeof at);
	return at != NULL;
}

int vb_painter_open(struct vb_painter **out, char *why, size_t why_len)
{
	struct vb_painter *p = calloc(1, sizeof *p);

	if (!p)
		return -ENOMEM;
	p->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (p->library) {
		bool all = true;

#define FUNCTION(name) all = all && find_function(p->library, #name, &p->fn_##name);
		FUNCTIONS(FUNCTION)
#undef FUNCTION
		if (all) {
			*out = p;
			return 0;
		}
	}

	const char *reason = dlerror();

	snprintf(why, why_len, "install librsvg2-2 (%s)",
		 reason ? reason : LIBRARY " is not what it should be");
	vb_painter_close(p);
	return -ENOTSUP;
}

void vb_painter_close(struct vb_painter *p)
{
	/* GObject does not survive being unloaded: the library stays. */
	free(p);
}

static cairo_status_t to_file(void *f, const unsigned char *data, unsigned int len)
{
	return fwrite(data, 1, len, f) == len ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* 0 or a negative errno. */
static int draw_svg(const struct vb_painter *p, cairo_surface_t *surface, const char *svg,
		    size_t len, const RsvgRectangle *whole)
{
	GError *error = NULL;
	RsvgHandle *handle = p->fn_rsvg_handle_new_from_data((const guint8 *)svg, len, &error);
	int err = -EIO;

	if (handle) {
		cairo_t *cr = p->fn_cairo_create(surface);

		if (p->fn_rsvg_handle_render_document(handle, cr, whole, &error))
			err = p->fn_cairo_status(cr) == CAIRO_STATUS_SUCCESS ? 0 : -ENOMEM;
		p->fn_cairo_destroy(cr);
		p->fn_g_object_unref(handle);
	}
	if (error)
		p->fn_g_error_free(error);
	return err;
}

int vb_painter_png(const struct vb_painter *p, FILE *f, const char *svg, size_t len, uint32_t width,
		   uint32_t height)
{
	const RsvgRectangle whole = {.width = width * VB_PAINTER_SCALE,
				     .height = height * VB_PAINTER_SCALE};
	cairo_surface_t *surface = p->fn_cairo_image_surface_create(
	    CAIRO_FORMAT_ARGB32, (int)whole.width, (int)whole.height);
	int err = draw_svg(p, surface, svg, len, &whole);

	if (!err &&
	    p->fn_cairo_surface_write_to_png_stream(surface, to_file, f) != CAIRO_STATUS_SUCCESS)
		err = ferror(f) ? -EIO : -ENOMEM;
	p->fn_cairo_surface_destroy(surface);
	return err;
}

int vb_painter_pdf(const struct vb_painter *p, FILE *f, const char *svg, size_t len, uint32_t width,
		   uint32_t height)
{
	const RsvgRectangle whole = {.width = width * PT_PER_UNIT, .height = height * PT_PER_UNIT};
	cairo_surface_t *surface =
	    p->fn_cairo_pdf_surface_create_for_stream(to_file, f, whole.width, whole.height);
	int err;

	/* Else it is the time of day. */
	p->fn_cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE,
					     "1970-01-01T00:00:00Z");
	err = draw_svg(p, surface, svg, len, &whole);
	p->fn_cairo_surface_finish(surface);
	if (!err && p->fn_cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
		err = ferror(f) ? -EIO : -ENOMEM;
	p->fn_cairo_surface_destroy(surface);
	return err;
}

#else

int vb_painter_open(struct vb_painter **out, char *why, size_t why_len)
{
	*out = NULL;
	snprintf(why, why_len, "this build is without librsvg; --svg needs none");
	return -ENOTSUP;
}

void vb_painter_close(struct vb_painter *p)
{
	(void)p;
}

int vb_painter_png(const struct vb_painter *p, FILE *f, const char *svg, size_t len, uint32_t width,
		   uint32_t height)
{
	(void)p, (void)f, (void)svg, (void)len, (void)width, (void)height;
	return -ENOTSUP;
}

int vb_painter_pdf(const struct vb_painter *p, FILE *f, const char *svg, size_t len, uint32_t width,
		   uint32_t height)
{
	(void)p, (void)f, (void)svg, (void)len, (void)width, (void)height;
	return -ENOTSUP;
}

#endif
