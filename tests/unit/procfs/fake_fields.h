/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unit/message_text.h"
#include "unit/procfs/fake_producer.h"

static inline void fake_put_fields(FILE *out, struct pb_field m, const char *message,
				   uint32_t except)
{
	const struct message_row *r;
	uint32_t before = 0;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, m.data, m.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == except)
			continue;
		r = message_find(message, NULL, f.id);
		assert(r);
		if (f.id == before)
			fputc('|', out);
		else
			fprintf(out, "%s%s ", before ? " " : "", r->field);
		before = f.id;
		if (*message_of_field(r)) {
			fputc('(', out);
			fake_put_fields(out, f, message_of_field(r), 0);
			fputc(')', out);
		} else if (f.data) {
			fprintf(out, "%.*s", (int)f.len, (const char *)f.data);
		} else {
			fprintf(out, "%lld", (long long)f.u64);
		}
	}
	assert(pb_dec_ok(&d));
}

/* The fields of a message as text, in their order, but for one: "pid 7 name x nspid 7|1". The next
 * call overwrites the text. */
static inline const char *fake_fields(struct pb_field m, const char *message, uint32_t except)
{
	static char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");

	text[0] = '\0';
	fake_put_fields(out, m, message, except);
	assert(!ferror(out) && ftell(out) < (long)sizeof(text));
	fclose(out);
	return text;
}
