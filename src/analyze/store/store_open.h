/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/store.h"

/* Makes an empty store whose import may take this many bytes, and frees it. */
void store_init(struct store *s, uint64_t limit);
void store_deinit(struct store *s);
