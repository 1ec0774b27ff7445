/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/import.h"
#include "analyze/store/store.h"
#include "analyze/store/table_defs.h"

/* Tables of a trace of any bytes, for targets that read the tables. */

#define STORE_LIMIT_BYTES (64u << 20)

/* Imports a copy of the bytes, which has their length, so that a sanitizer sees reads behind it.
 * Returns false if they are not a trace or need too much memory. The caller calls store_deinit() in
 * either case. */
static inline bool fill_store_from_bytes(struct store *s, const uint8_t *data, size_t size,
					 struct import_result *ret)
{
	struct trace_bytes bytes = {.data = malloc(size ? size : 1), .len = size};

	store_init(s, STORE_LIMIT_BYTES);
	if (!bytes.data)
		return false;
	if (size)
		memcpy(bytes.data, data, size);
	return trace_import(s, bytes, ret) == 0;
}
