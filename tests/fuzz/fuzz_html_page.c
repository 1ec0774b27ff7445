/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace file of any bytes, as the page of sonda report --html: the whole trace, and a part of it
 * with few rows, which the last byte selects.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/page/page.h"
#include "fuzz_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) ((condition) ? (void)0 : abort())

static void write_page(struct store *s, const struct page_options *o)
{
	struct page_result result = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	int r;

	MUST(to);
	r = page_write(s, o, to, &result);
	MUST(fclose(to) == 0);
	if (r == 0) {
		MUST(result.bytes == len && result.to <= o->to);
		MUST(memmem(text, len, "</html>", 7));
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t part = size ? data[size - 1] : 0;
	struct import_result result;
	struct store s;

	if (!size)
		return 0;
	if (fill_store_from_bytes(&s, data, size - 1, &result) && s.start_ts < s.end_ts) {
		struct page_options o = {.title = "</title><b>\xff",
					 .from = s.start_ts,
					 .to = INT64_MAX,
					 .max_rows = PAGE_MAX_ROWS};
		uint64_t ns = (uint64_t)s.end_ts - (uint64_t)s.start_ts;

		write_page(&s, &o);
		o.from = (int64_t)((uint64_t)s.start_ts + ns / 16 * (part & 15));
		o.to = s.end_ts;
		o.max_rows = part >> 4;
		write_page(&s, &o);
	}
	store_deinit(&s);
	return 0;
}
