/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unit/message_text.h"
#include "unit/procfs/fake_producer.h"

/* The packets of fake_producer.h as text. */

/* All packets of a writer, a line each, in memory that the next call overwrites. */
static inline const char *packets_of(unsigned writer)
{
	static struct strbuf text;

	strbuf_clear(&text);
	strbuf_puts(&text, "");
	for (size_t i = 0; i < fake.n; i++)
		if (fake.packets[i].writer == writer)
			strbuf_printf(&text, "%s\n",
				      message_text("TracePacket", fake.packets[i].data,
						   fake.packets[i].len));
	return text.s;
}

static inline void assert_part(const char *text, const char *part, bool is_there, const char *file,
			       int line)
{
	if (!strstr(text, part) != is_there)
		return;
	fprintf(stderr, "%s%s in\n%s\n", is_there ? "no " : "", part, text);
	_fail(file, line);
}

#define assert_has(text, part) assert_part(text, part, true, __FILE__, __LINE__)
#define assert_has_not(text, part) assert_part(text, part, false, __FILE__, __LINE__)
