/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws SVG into a picture with the headers of librsvg and cairo, and what of them dlopen(3) finds.
 * See png.h. */
#include "export/png.h"

#include <errno.h>

#ifdef VB_HAVE_RSVG

#include <dlfcn.h>
#include <librsvg/rsvg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
	F(cairo_surface_write_to_png_stream)

struct vb_png {
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

int vb_png_open(struct vb_png **out, char *why, size_t why_len)
{
	struct vb_png *p = calloc(1, sizeof *p);

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
	vb_png_close(p);
	return -ENOTSUP;
}

void vb_png_close(struct vb_png *p)
{
	/* GObject does not survive being unloaded: the library stays. */
	free(p);
}

static cairo_status_t to_file(void *f, const unsigned char *data, unsigned int len)
{
	return fwrite(data, 1, len, f) == len ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

int vb_png_write(const struct vb_png *p, FILE *f, const char *svg, size_t len, uint32_t width,
		 uint32_t height)
{
	RsvgRectangle whole = {.width = width * VB_PNG_SCALE, .height = height * VB_PNG_SCALE};
	GError *error = NULL;
	RsvgHandle *handle = p->fn_rsvg_handle_new_from_data((const guint8 *)svg, len, &error);
	int err = -EIO;

	if (handle) {
		cairo_surface_t *surface = p->fn_cairo_image_surface_create(
		    CAIRO_FORMAT_ARGB32, (int)whole.width, (int)whole.height);
		cairo_t *cr = p->fn_cairo_create(surface);

		if (p->fn_rsvg_handle_render_document(handle, cr, &whole, &error))
			err = p->fn_cairo_status(cr) == CAIRO_STATUS_SUCCESS ? 0 : -ENOMEM;
		p->fn_cairo_destroy(cr);
		if (!err && p->fn_cairo_surface_write_to_png_stream(surface, to_file, f) !=
				CAIRO_STATUS_SUCCESS)
			err = ferror(f) ? -EIO : -ENOMEM;
		p->fn_cairo_surface_destroy(surface);
		p->fn_g_object_unref(handle);
	}
	if (error)
		p->fn_g_error_free(error);
	return err;
}

#else

int vb_png_open(struct vb_png **out, char *why, size_t why_len)
{
	*out = NULL;
	snprintf(why, why_len, "this build is without librsvg; --svg needs none");
	return -ENOTSUP;
}

void vb_png_close(struct vb_png *p)
{
	(void)p;
}

int vb_png_write(const struct vb_png *p, FILE *f, const char *svg, size_t len, uint32_t width,
		 uint32_t height)
{
	(void)p, (void)f, (void)svg, (void)len, (void)width, (void)height;
	return -ENOTSUP;
}

#endif
