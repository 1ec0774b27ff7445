/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/*
 * Open addressing: the hash table of hot paths, and of tables with very many entries. All others
 * use uthash (base/core/hash_table.h). The slots are an array whose size is a power of two. At
 * least one slot is free. Single entries cannot be removed: the user clears all slots, or stores a
 * generation number in each.
 */

/* Returns the index of the first slot, from that of the hash on, for which the expression `found`
 * is true. The expression must be true for the slot of the key and for a free slot, which is where
 * a missing key is to be stored. It refers to the index as `at`. */
#define OPEN_TABLE_FIND(n_slots, hash, at, found)                                                  \
	({                                                                                         \
		const size_t mask_ = (size_t)(n_slots)-1;                                          \
		size_t at = (size_t)(hash)&mask_;                                                  \
                                                                                                   \
		while (!(found))                                                                   \
			at = (at + 1) & mask_;                                                     \
		at;                                                                                \
	})

/* Doubles the number of slots and moves the entries. An empty table gets `first` slots. `slots` is
 * a pointer to memory from malloc(3) or NULL, n_slots is a variable. The expressions is_free and
 * hash refer to the slot `slot`; a zeroed slot must be free. Returns true, or false with nothing
 * changed if out of memory. */
#define OPEN_TABLE_GROW(slots, n_slots, first, slot, is_free, hash)                                \
	({                                                                                         \
		size_t wanted_ = (n_slots) ? (size_t)(n_slots)*2 : (first);                        \
		__typeof__((slots)[0]) *new_ = calloc(wanted_, sizeof(*new_));                     \
                                                                                                   \
		for (size_t i_ = 0; new_ && i_ < (n_slots); i_++) {                                \
			__typeof__((slots)[0]) *slot = &(slots)[i_];                               \
			size_t at_ = (is_free) ? 0 : (size_t)(hash);                               \
                                                                                                   \
			if (is_free)                                                               \
				continue;                                                          \
			do                                                                         \
				slot = &new_[at_++ & (wanted_ - 1)];                               \
			while (!(is_free));                                                        \
			*slot = (slots)[i_];                                                       \
		}                                                                                  \
		if (new_) {                                                                        \
			free(slots);                                                               \
			(slots) = new_;                                                            \
			(n_slots) = (__typeof__(n_slots))wanted_;                                  \
		}                                                                                  \
		new_ != NULL;                                                                      \
	})
