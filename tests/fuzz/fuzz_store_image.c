/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/store/store_image.h"
#include "analyze/store/table_defs.h"

/*
 * The bytes as the image of a store, as a file of the cache would have it that passed all checks; and
 * as the trace, where its compressed packets are.
 */

#define MUST(condition) ((condition) ? (void)0 : abort())
#define ROWS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_reader r = {.at = data, .left = size};
	struct trace_bytes trace = {.data = malloc(size + 1), .len = size};
	struct value v;
	struct store s;
	size_t left;
	int e;

	if (!trace.data)
		return 0;
	if (size)
		memcpy(trace.data, data, size);
	store_init(&s, 64u << 20);
	MUST(store_keep_bytes(&s, trace) == 0);
	e = store_read_image(&s, &r);
	MUST(e == 0 || e == -EBADMSG || e == -ENOMEM || e == -EFBIG);
	for (unsigned i = 0; i < TABLES && e == 0; i++)
		for (uint32_t row = 0; row < s.tables[i].rows && row < ROWS_MAX; row++)
			for (unsigned c = 0; c < s.tables[i].def->n_columns; c++)
				if (s.tables[i].def->columns[c].kind != COLUMN_COMPUTED &&
				    s.tables[i].def->columns[c].kind != COLUMN_SAME)
					store_read_value(&s, &s.tables[i], row, c, &v);
	for (size_t i = 0; i < s.n_bytes && i < ROWS_MAX; i++)
		if (!store_bytes_at(&s, s.bytes[i].begin, &left))
			MUST(left == 0);
	store_deinit(&s);
	return 0;
}
