/* SPDX-License-Identifier: BSD-2-Clause */
/* P_Keys: 15 bits name a partition, the highest one says that its holder is a full member.
 * IBA 10.9.1
 */
#ifndef VB_WIRE_PKEY_H
#define VB_WIRE_PKEY_H

#include <stdbool.h>
#include <stdint.h>

/* Low 15 bits of 0 name no partition: the entry is empty. IBA 10.9.1.1 */
static inline bool vb_pkey_is_valid(uint16_t pkey)
{
	return (pkey & 0x7fff) != 0;
}

/* Low 15 bits equal, at least one side a full member. IBT-81 */
static inline bool vb_pkey_matches(uint16_t a, uint16_t b)
{
	return vb_pkey_is_valid(a) && (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000);
}

/* The first of the @cnt entries at @table that is of the partition of @pkey, full member or
 * limited; 0: there is none. */
static inline uint16_t vb_pkey_index(const uint16_t *table, uint32_t cnt, uint16_t pkey)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (((table[i] ^ pkey) & 0x7fff) == 0)
			return (uint16_t)i;
	return 0;
}

/* The first of the @cnt entries at @table that lets a packet with @pkey pass, by which an answer
 * goes back; @cnt: none does. IBA 10.9.3 */
static inline uint32_t vb_pkey_entry(const uint16_t *table, uint32_t cnt, uint16_t pkey)
{
	uint32_t i = 0;

	while (i < cnt && !vb_pkey_matches(pkey, table[i]))
		i++;
	return i;
}

static inline bool vb_pkey_passes(const uint16_t *table, uint32_t cnt, uint16_t pkey)
{
	return vb_pkey_entry(table, cnt, pkey) < cnt;
}

/*
 * A node with the @cnt entries at @table may send a packet with @pkey: a switch asks that where the
 * packet comes in, by the table of its port, which a subnet manager makes that of the end node
 * there. A limited member is one; a full member's key is only a full member's. Whether the receiver
 * takes it is asked where it goes out.
 */
static inline bool vb_pkey_is_member(const uint16_t *table, uint32_t cnt, uint16_t pkey)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (vb_pkey_is_valid(pkey) && (table[i] == pkey || table[i] == (pkey | 0x8000)))
			return true;
	return false;
}

#endif
