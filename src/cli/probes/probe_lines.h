/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text/str.h"

/* Lines of FtraceConfig.uprobe_events: "p:GROUP/NAME FILE:OFFSET ARGUMENTS". */
#define PROBE_EVENT_NAME_MAX 63 /* MAX_EVENT_NAME_LEN of the kernel, which counts the NUL */

enum user_probe_kind {
	USER_PROBE_CALL, /* --uprobe: one of these texts, or a line of uprobe_events */
	USER_PROBE_RETURN,
	USER_PROBE_SPAN,
	USER_PROBE_STATIC,
};

struct user_probes {
	char **lines; /* owned, with the strings */
	size_t n, cap;
};

void user_probes_deinit(struct user_probes *u); /* zeroed is allowed */

/* Adds the text of b, which is empty after that. Returns 0 or -ENOMEM. */
int probe_lines_add(struct user_probes *u, struct strbuf *b);
/* Appends the characters of text that the kernel accepts in a name, at most about max. Replaces
 * each run of other characters between them with one '_'. */
void probe_lines_put_identifier(struct strbuf *b, const char *text, size_t len, size_t max);

/* Returns true for a line in the syntax of kprobe_events and uprobe_events: "p:name ...", "r10 ...",
 * and "s:name ..." for a span. */
bool probe_lines_is_line(const char *text);
/* Returns the place of a line, "FILE:OFFSET", and its length. */
const char *probe_lines_find_place(const char *text, size_t *ret_len);
/* Returns true for such a line if its place is "FILE:FUNCTION". */
bool probe_lines_names_function(const char *text);
