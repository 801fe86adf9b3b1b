/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intrusive circular doubly linked list: queues of objects (QPs ready to send, objects with an
 * event) without allocation. A node that is not on a list points to itself.
 */
#ifndef VB_BASE_LIST_H
#define VB_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct vb_list {
	struct vb_list *next, *prev;
};

/* The object of @type whose member @member is @ptr. */
#define vb_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void vb_list_init(struct vb_list *l)
{
	l->next = l->prev = l;
}

static inline bool vb_list_is_empty(const struct vb_list *l)
{
	return l->next == l;
}

static inline void vb_list_append(struct vb_list *head, struct vb_list *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

/* Takes @n off its list; harmless when it is on none. */
static inline void vb_list_remove(struct vb_list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	vb_list_init(n);
}

#endif
