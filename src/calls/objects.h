/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of verbs by number: "pd1" is the first PD of this process, and no other one ever is. */
#ifndef VB_CALLS_OBJECTS_H
#define VB_CALLS_OBJECTS_H

#include "calls/call.h"

void vb_calls_object_add(enum vb_kind kind, const void *object);
/* Returns the number that it had; 0: it had none. */
uint32_t vb_calls_object_remove(const void *object);
void vb_calls_object_restore(enum vb_kind kind, const void *object, uint32_t number);

/* Its name: "cq3", of a QP the number that packets have, "NULL", or its address where it is none
 * that was seen to be made. */
void vb_calls_object_text(enum vb_kind kind, const void *object, char *text, size_t size);

#endif
