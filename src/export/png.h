/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SVG to PNG, by librsvg and cairo. They are loaded when a picture is asked for: they bring some
 * thirty libraries with them, which no other part of the program has to wait for.
 */
#ifndef VB_EXPORT_PNG_H
#define VB_EXPORT_PNG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define VB_PNG_SCALE 2u /* pixels for each unit of the drawing */

struct vb_png;

/* -ENOTSUP: built without them, or they cannot be loaded; the reason is in @why. */
int vb_png_open(struct vb_png **out, char *why, size_t why_len);
void vb_png_close(struct vb_png *p);

/* Draws @len bytes of SVG, @width by @height units. 0 or a negative errno. */
int vb_png_write(const struct vb_png *p, FILE *f, const char *svg, size_t len, uint32_t width,
		 uint32_t height);

#endif
