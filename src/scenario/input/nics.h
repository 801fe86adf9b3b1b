/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NICs of hosts in networks that a user brings. A host has one for each of its cables, in their
 * order, and the simulation a host for each NIC: those of host 0 first.
 */
#ifndef VB_SCENARIO_INPUT_NICS_H
#define VB_SCENARIO_INPUT_NICS_H

#include "scenario/input/net.h"
#include "sim/load/nic/nic.h"

/* Counts NICs into n->first and finds which of them reach each other, n->network. NICs do not pass
 * packets on. Complains about two hosts that do not reach each other. 0, -ENOMEM or -EINVAL. */
int vb_net_find_nics(struct vb_net *n, const struct vb_complaint *c);

/* True where a host has several. */
bool vb_net_has_nics(const struct vb_net *n);

/* A host in the words of a list or a workload: "client" by its name, "client:1" with its NIC; with
 * @by_number numbers are those of hosts, not names. Into *end goes the host, or VB_LOAD_NIC and a
 * node. @n NULL: hosts have numbers and one NIC. 0, or -EINVAL with the reason in @why. */
int vb_net_end(const struct vb_net *n, const struct vb_token *word, bool by_number, uint32_t *end,
	       char *why, size_t size);

#endif
