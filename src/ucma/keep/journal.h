/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of a memory region that happen together or not at all, whenever the process that makes
 * them is killed: they are written down first, then declared, then carried out. The process
 * that finds the region later finishes the declared changes and forgets the rest. The region has
 * one writer.
 */
#ifndef VB_UCMA_KEEP_JOURNAL_H
#define VB_UCMA_KEEP_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#define VB_JOURNAL_BYTES 65536u

/* Lies in the region itself. All zero: no change is under way. */
struct vb_journal {
	uint32_t declared; /* bytes of changes that are being carried out; 0: none */
	uint32_t used;     /* bytes that are written down */
	_Alignas(8) uint8_t bytes[VB_JOURNAL_BYTES];
};

/*
 * Writes down that @len bytes at @to, which is in the region at @base, become those at @from. At
 * most VB_JOURNAL_BYTES - 8 bytes. If earlier changes leave no room, they are carried out first.
 */
void vb_journal_put(struct vb_journal *j, void *base, void *to, const void *from, uint32_t len);

/* Carries out what was written down. */
void vb_journal_commit(struct vb_journal *j, void *base);

/*
 * Finishes what an earlier writer of the region, @size bytes at @base, had declared. -EINVAL: that
 * is no journal of this region; nothing was changed.
 */
int vb_journal_recover(struct vb_journal *j, void *base, size_t size);

#endif
