/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SVG to PNG and PDF, by librsvg and cairo. They are loaded when a picture is asked for: they bring
 * some thirty libraries with them, which no other part of the program has to wait for. A PDF has
 * lines and letters as such, with the parts of the fonts that it needs.
 */
#ifndef VB_EXPORT_PAINTER_H
#define VB_EXPORT_PAINTER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define VB_PAINTER_SCALE 2u /* pixels of a PNG for each unit of the drawing */

struct vb_painter;

/* -ENOTSUP: built without them, or they cannot be loaded; the reason is in @why. */
int vb_painter_open(struct vb_painter **out, char *why, size_t why_len);
void vb_painter_close(struct vb_painter *p);

/* Draws @len bytes of SVG, @width by @height units. 0 or a negative errno. */
int vb_painter_png(const struct vb_painter *p, FILE *f, const char *svg, size_t len, uint32_t width,
		   uint32_t height);

/* The same as one page of PDF; 96 units are an inch. The same drawing gives the same bytes, where
 * fonts and libraries are the same. */
int vb_painter_pdf(const struct vb_painter *p, FILE *f, const char *svg, size_t len, uint32_t width,
		   uint32_t height);

#endif
