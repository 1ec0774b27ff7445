/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/*
 * Messages that each part of a trace gets, in the order of the file: packets, and descriptions of
 * kernel events. For each part the caller remembers how many of them are written.
 */

#define CUT_STATE_MAX ((size_t)512 << 20) /* bytes */

struct cut_state_entry;

/* Zero-initialise; cut_state_deinit frees. */
struct cut_state {
	struct cut_state_entry *by_key; /* hash of entries */
	struct cut_state_entry **entries; /* owned, by number, in the order of the file */
	size_t n, cap, bytes;
};

void cut_state_deinit(struct cut_state *s);

/* Adds a copy of data, unless an entry with this key has the same or an earlier time. An entry with
 * a later time stays. Returns 1 if data was added, 0 if it was not, -EFBIG (past CUT_STATE_MAX) or
 * -ENOMEM. */
int cut_state_add(struct cut_state *s, int64_t ts, const void *key, size_t key_len,
		  const void *data, size_t len);
/* Returns the data of entry i, which is below n; borrowed. */
const void *cut_state_get(const struct cut_state *s, size_t i, size_t *ret_len);
