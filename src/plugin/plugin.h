/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Algorithms of congestion control that users bring (verbena/cc.h): a shared object is loaded and
 * its table checked. An object is code, which runs in the program that loads it; it stays loaded
 * until that ends. docs/congestion-control.md
 */
#ifndef VB_PLUGIN_PLUGIN_H
#define VB_PLUGIN_PLUGIN_H

#include "core/control/choice.h"

#include <stdbool.h>
#include <stddef.h>

/* The algorithm of the object at @path, in *out. 0, or a negative errno with half a sentence in
 * @why, "is no ELF file": it cannot be read, loaded, or used. */
int vb_plugin_load(const char *path, const struct verbena_cc_algorithm **out, char *why,
		   size_t why_size);

/* Whether @text is about an algorithm: it begins with the name of a built-in one, with
 * "algorithm=NAME" or with "object=PATH", alone or before a comma. */
bool vb_plugin_is_choice(const char *text);

/* Reads such a text, with "name=value" of parameters behind, separated by commas. 0, or a negative
 * errno with the reason in @why. */
int vb_plugin_read_choice(const char *text, uint64_t line_rate, struct vb_cc_choice *out, char *why,
			  size_t why_size);

#endif
