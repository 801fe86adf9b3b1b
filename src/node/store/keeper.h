/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keeper: while the adapter is kept, a second small process has the descriptor store too, so
 * that the adapter outlives a broker that is killed while no program uses it. It starts the next
 * broker and hands it the descriptor store, as clients do; the broker starts the next keeper.
 */
#ifndef VB_NODE_STORE_KEEPER_H
#define VB_NODE_STORE_KEEPER_H

/* The slot that a keeper names when it reattaches: one of the broker's own. */
#define VB_KEEPER_SLOT 0u

/* In the broker: starts a keeper of @fd_store. 0 or a negative errno. */
int vb_keeper_start(int fd_store);

/* `verbena broker --keeper`, with the descriptor store as descriptor 3: ends when the adapter is no
 * longer kept. Returns an exit code; 2: there is no descriptor store. */
int vb_keeper_main(void);

#endif
