/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text/str.h"

/* Lines of FtraceConfig.uprobe_events: "p:GROUP/NAME FILE:OFFSET ARGUMENTS". */
#define PROBE_EVENT_NAME_MAX 63 /* MAX_EVENT_NAME_LEN of the kernel, which counts the NUL */

enum user_probe_kind {
	USER_PROBE_CALL, /* --uprobe: a probe by name (probe_text.h), or a line of uprobe_events */
	USER_PROBE_RETURN,
	USER_PROBE_SPAN,
	USER_PROBE_STATIC,
};

struct user_probes {
	char **lines; /* owned, with the strings */
	size_t n, cap;
};

void user_probes_deinit(struct user_probes *u); /* zeroed is allowed */

/* Adds the text of b as a line, and empties b. Returns 0 or -ENOMEM; then b may keep its text. */
int probe_lines_add(struct user_probes *u, struct strbuf *b);
/* Appends text as an identifier of about max characters at most: keeps the characters that the
 * kernel accepts, replaces each run of others between them with one '_', and puts '_' before a
 * first digit. Text without any such character becomes "_". */
void probe_lines_put_identifier(struct strbuf *b, const char *text, size_t len, size_t max);

/* Returns true for a line in the syntax of kprobe_events and uprobe_events: "p:name ...", "r10 ...",
 * and "s:name ..." for a span. */
bool probe_lines_is_line(const char *text);
/* Returns the place of a line, "FILE:OFFSET" or "FILE:FUNCTION", borrowed from text, and its
 * length. */
const char *probe_lines_find_place(const char *text, size_t *ret_len);
/* Returns true for a line of this syntax whose place is "FILE:FUNCTION". */
bool probe_lines_names_function(const char *text);
