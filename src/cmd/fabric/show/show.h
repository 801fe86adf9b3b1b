/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena fabric show`: a fabric as text, as JSON, as a drawing; the way of a packet. */
#ifndef VB_CMD_FABRIC_SHOW_H
#define VB_CMD_FABRIC_SHOW_H

/* @argc, @argv: the command line, whose arguments from optind on are those of show. @name: of the
 * fabric; NULL: no option has said it, then @default_name is. Returns the exit status. */
int vb_fabric_show(int argc, char **argv, const char *name, const char *default_name);

#endif
