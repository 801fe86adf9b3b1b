/* SPDX-License-Identifier: BSD-2-Clause */
/* How near a mistyped word is to one that exists. */
#ifndef VB_CMD_NEAR_H
#define VB_CMD_NEAR_H

/*
 * How many letters are inserted, left out, changed or swapped with the next one between @typed and
 * @word; a word that only goes on after @typed is 1 away. UINT_MAX for words of more than 32
 * letters.
 */
unsigned vb_near_distance(const char *typed, const char *word);

/* Words further away than this were not meant: a third of the letters, and at least one. */
unsigned vb_near_limit(const char *typed);

#endif
