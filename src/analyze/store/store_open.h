/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/store.h"

/* Makes an empty store, for which an import may take `limit` bytes. Without memory it sets
 * s->budget.error. */
void store_init(struct store *s, uint64_t limit);
/* Frees what the store owns, not the struct. */
void store_deinit(struct store *s);
