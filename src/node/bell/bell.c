/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages of doorbells, and looking at them. See bell.h. */
#include "node/bell/priv.h"
#include "node/engine/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES_BYTES ((size_t)BELLS_MAX * VB_BELL_PAGE)

static void descriptors_close(const struct vb_bells *all)
{
	if (all->kick_fd >= 0)
		close(all->kick_fd);
	if (all->fault_fd >= 0)
		close(all->fault_fd);
}

static void bells_free(struct vb_bells *all)
{
	if (all->pages)
		munmap(all->pages, PAGES_BYTES);
	if (all->words)
		munmap(all->words, PAGES_BYTES);
	descriptors_close(all);
	free(all->at);
	free(all);
}

/* Maps the pages; NULL. A child of fork() has none of them. */
static uint8_t *pages_map(int fd)
{
	void *p =
	    mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* A page of its own for each: a large one would be protected as a whole. */
	(void)madvise(p, PAGES_BYTES, MADV_NOHUGEPAGE);
	(void)madvise(p, PAGES_BYTES, MADV_DONTFORK);
	return p;
}

/* The pages twice: as the program has them, and as they are looked at. */
static int pages_new(struct vb_bells *all)
{
	int fd = memfd_create("verbena-bells", MFD_CLOEXEC);

	if (fd < 0)
		return -ENOMEM;
	if (ftruncate(fd, PAGES_BYTES) == 0) {
		all->pages = pages_map(fd);
		all->words = pages_map(fd);
	}
	close(fd);
	return all->pages && all->words ? 0 : -ENOMEM;
}

static int bells_new(struct vb_engine *e)
{
	struct vb_bells *all = calloc(1, sizeof *all);
	int err;

	if (!all)
		return -ENOMEM;
	all->engine = e;
	all->fault_fd = -1;
	all->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	all->at = calloc(BELLS_MAX, sizeof(struct vb_bell *));
	if (all->kick_fd < 0 || !all->at || pages_new(all)) {
		bells_free(all);
		return -ENOMEM;
	}
	all->fault_fd = vb_bells_open_faults(all->pages, PAGES_BYTES);
	err = vb_bells_start(all);
	if (err) {
		bells_free(all);
		return err;
	}
	e->bells = all;
	return 0;
}

void vb_bells_abandon(const struct vb_engine *e)
{
	if (!e->bells)
		return;
	vb_bells_trap_close(e->bells);
	descriptors_close(e->bells);
}

int vb_bell_open(struct vb_engine *e, struct vb_bell *b)
{
	struct vb_bells *all;
	uint32_t i = 0;

	if (b->page)
		return 0;
	if (!e->bells) {
		int err = bells_new(e);

		if (err)
			return err;
	}
	all = e->bells;
	while (i < BELLS_MAX && all->at[i])
		i++;
	if (i == BELLS_MAX)
		return -ENOMEM;
	b->index = i;
	b->page = all->pages + (size_t)i * VB_BELL_PAGE;
	all->at[i] = b;
	if (i >= atomic_load_explicit(&all->high, memory_order_relaxed))
		atomic_store_explicit(&all->high, i + 1, memory_order_release);
	vb_bells_kick(all);
	/* A page that is not there cannot be protected. It may be by now, and the thread lifts
	 * that, without the lock. */
	for (int w = 0; w < VB_BELL_WORDS; w++)
		atomic_store_explicit(vb_bell_word(all, i, vb_bell_words[w]), 0,
				      memory_order_relaxed);
	return 0;
}

void vb_bell_close(struct vb_engine *e, struct vb_bell *b)
{
	if (!b->page)
		return;
	if (b->is_held)
		vb_bells_settle(e->bells);
	e->bells->at[b->index] = NULL;
	/* Values that were written and not looked at are nobody's any more. */
	for (int w = 0; w < VB_BELL_WORDS; w++)
		atomic_store_explicit(vb_bell_word(e->bells, b->index, vb_bell_words[w]), 0,
				      memory_order_relaxed);
	b->page = NULL;
}

void vb_bells_stop(struct vb_engine *e)
{
	struct vb_bells *all = e->bells;

	if (!all)
		return;
	atomic_store(&all->stop, true);
	vb_bells_kick(all);
	pthread_join(all->thread, NULL);
	/* The progress thread goes on, and looks. */
	vb_lock_take(&e->lock);
	vb_bells_trap_close(all);
	e->bells = NULL;
	vb_lock_drop(&e->lock);
	bells_free(all);
}
