/* SPDX-License-Identifier: Apache-2.0 */
/* What a producer says that failed, any bytes, as the summary tells it: entries end with a NUL. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/missing_events.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' && *s != '\n' && *s != '\t')
			return 0;
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct name_list failed = {0};
	struct strbuf lines = {0};
	const uint8_t *end;
	size_t n;

	for (; size; data += n, size -= n) {
		end = memchr(data, '\0', size);
		n = end ? (size_t)(end - data) : size;
		if (n)
			name_list_add_text(&failed, data, n);
		n += end != NULL;
	}
	failed_events_put(&failed, &lines);
	/* Something is said, in whole lines, and it is fit for a terminal. */
	if (failed.n && (!lines.s || lines.s[lines.len - 1] != '\n' ||
			 strlen(lines.s) != lines.len || !is_plain(lines.s)))
		abort();
	strbuf_deinit(&lines);
	name_list_deinit(&failed);
	return 0;
}
