/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/*
 * Open addressing: the hash table of hot paths and of very many entries; elsewhere uthash
 * (base/core/hash_table.h) does. The slots are an array whose size is a power of two. At least one
 * is free. Entries are not removed one by one; the user clears all slots, or numbers their
 * generations.
 */

/*
 * Returns the number of the first slot from hash on for which the expression `found` is true: the
 * slot of the key, or a free one, where the key belongs. `at` is the name of the number in the
 * expression.
 */
#define OPEN_TABLE_FIND(n_slots, hash, at, found)                                                  \
	({                                                                                         \
		const size_t mask_ = (size_t)(n_slots)-1;                                          \
		size_t at = (size_t)(hash)&mask_;                                                  \
                                                                                                   \
		while (!(found))                                                                   \
			at = (at + 1) & mask_;                                                     \
		at;                                                                                \
	})

/*
 * Doubles the slots, `first` of them to begin with, and moves the entries. `slots` is a pointer to
 * memory of malloc or NULL, n_slots a variable. The expressions is_free and hash are about the slot
 * `slot`; zeroed slots are free. Returns true, or false without memory: nothing has changed.
 */
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
