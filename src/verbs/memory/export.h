/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table behind a context's cmd_fd: its PDs, device memory and regions by handle, in memory that
 * only the process that opened the device writes. Processes that get the descriptor passed can
 * neither shorten nor write it. They find there what they may import.
 */
#ifndef VB_VERBS_MEMORY_EXPORT_H
#define VB_VERBS_MEMORY_EXPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VB_EXPORT_MAGIC UINT64_C(0x76624578706f7274)
#define VB_EXPORT_VERSION 1
/* Objects that can be told to others; powers of two. A handle is told at its lower bits. */
#define VB_EXPORT_PDS (1u << 16)
#define VB_EXPORT_DMS (1u << 16)
#define VB_EXPORT_MRS (1u << 20)
/* A process owns the objects it creates in an imported context: nobody else has such handles. */
#define VB_HANDLE_OWN (1u << 31)

enum vb_export_kind { VB_EXPORT_PD, VB_EXPORT_DM, VB_EXPORT_MR };

struct vb_export_entry {
	uint32_t pd;     /* the handle of an MR's PD */
	uint32_t access; /* of an MR */
	uint32_t kind;   /* of an MR, enum vb_mr_kind */
	uint32_t rsv;
	uint64_t addr, length; /* where in the process's memory; not for a PD */
	uint64_t iova;         /* of an MR */
};

struct vb_export_slot {
	/* Counts entries that come and go: odd while there is one. It is also what an importer's
	 * keys depend on. */
	uint32_t generation;
	uint32_t handle;
	struct vb_export_entry entry;
};

struct vb_export_table {
	uint64_t magic;
	uint32_t version;
	uint32_t pid; /* of the process that writes it, with the time when it began */
	uint64_t pid_start;
	uint64_t guid;      /* of the device */
	uint32_t is_closed; /* nothing can be imported any more, and nothing is taken back */
	uint32_t rsv[9];
	struct vb_export_slot pd[VB_EXPORT_PDS];
	struct vb_export_slot dm[VB_EXPORT_DMS];
	struct vb_export_slot mr[VB_EXPORT_MRS];
};

/*
 * The descriptor for a new context of the device with @guid and the table behind it, which is NULL
 * when the process may not have so large a file: then nothing can be imported. Returns a descriptor
 * or a negative errno.
 */
int vb_export_open(uint64_t guid, struct vb_export_table **out);
/* The context is being closed: nothing can be imported any more, nor is it taken back. @t, here and
 * below, may be NULL. */
void vb_export_close(struct vb_export_table *t);
/* A table of either side. */
void vb_export_unmap(const struct vb_export_table *t);

/* Enters an object; false when another one has its place. Under
 * the engine's lock, as is vb_export_drop(). */
bool vb_export_put(struct vb_export_table *t, enum vb_export_kind kind, uint32_t handle,
		   const struct vb_export_entry *e);
/* The object is gone, if it is there at all. */
void vb_export_drop(struct vb_export_table *t, enum vb_export_kind kind, uint32_t handle);

/*
 * The other side. Maps the table that @cmd_fd refers to. 0 or an errno: EINVAL, it is no context's;
 * EIO, that is closed, or its process has ended. Ends by vb_export_unmap().
 */
int vb_import_table(int cmd_fd, const struct vb_export_table **out);
/*
 * The entry of @handle; *lease stays *leased while it is there. 0, ENOENT, or EIO as above.
 */
int vb_import_find(const struct vb_export_table *t, enum vb_export_kind kind, uint32_t handle,
		   struct vb_export_entry *e, const uint32_t **lease, uint32_t *leased);

#endif
