/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>

#include "base/core/siphash.h"

/*
 * uthash with a keyed hash, for tables whose keys another process chooses: it cannot choose keys
 * that share a bucket. Include it instead of uthash.h, with the same options.
 *
 * If memory runs out, HASH_ADD removes the new element again and leaves its hh.tbl NULL: the caller
 * checks for this.
 */
#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(key, len, hashv) ((hashv) = (unsigned)siphash_keyed(key, len))

#include <uthash.h>

/* Frees the elements of a table, each with free(), and empties it. */
#define HASH_FREE(head)                                                                            \
	do {                                                                                       \
		__typeof__(head) element_, next_;                                                  \
                                                                                                   \
		HASH_ITER (hh, head, element_, next_) {                                            \
			HASH_DEL(head, element_);                                                  \
			free(element_);                                                            \
		}                                                                                  \
	} while (0)
