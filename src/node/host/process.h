/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts that the kernel tells of another process of this host. proc_pid_stat(5) */
#ifndef VB_NODE_HOST_PROCESS_H
#define VB_NODE_HOST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* When process @pid began, in a unit of the kernel's; 0: there is none, or none that can be seen.
 * With its number this names it for as long as the machine runs. */
uint64_t vb_process_start(pid_t pid);

/* It is there, and stopped by a signal or a debugger. */
bool vb_process_is_stopped(pid_t pid);

#endif
