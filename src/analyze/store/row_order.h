/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/store.h"

/*
 * The rows of a table in the order of the values of a column with text or 32-bit numbers: NULL
 * first, numbers ascending, text by its bytes. Rows with the same value ascend. The order is made
 * by counting, and kept with the table.
 */

/* Returns true if the column can have an order. */
bool row_order_is_possible(const struct table *t, unsigned column);

/* Returns all rows of the table in their order, or NULL: the numbers are too sparse, or no memory.
 * Valid until rows are added. */
const uint32_t *row_order(const struct store *s, struct table *t, unsigned column);
