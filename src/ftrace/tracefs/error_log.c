/* SPDX-License-Identifier: Apache-2.0 */
/* The log holds the last eight errors, oldest first. */
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "ftrace/tracefs/error_log.h"

#define MAX_LOG (1 << 20)
#define SHOWN 200 /* bytes of the command that are shown around the position */

/* Copies the text after "error: " in the line that ends at end. */
static bool copy_error_text(const char *log, const char *end, struct error_log_entry *e)
{
	static const char mark[] = "error: ";
	const char *line = end, *what;

	while (line > log && line[-1] != '\n')
		line--;
	what = memmem(line, (size_t)(end - line), mark, strlen(mark));
	if (!what)
		return false;
	what += strlen(mark);
	snprintf(e->what, sizeof(e->what), "%.*s", (int)(end - what), what);
	return true;
}

bool error_log_find(const char *log, const char *command, struct error_log_entry *ret)
{
	static const char head[] = "\n  Command: ";
	size_t len = strlen(command);
	bool found = false;

	for (const char *at = log; (at = strstr(at, head)); at++) {
		const char *text = at + strlen(head), *caret = text + len + 1;
		struct error_log_entry e = {.at = 0};

		if (strncmp(text, command, len) || text[len] != '\n' ||
		    !copy_error_text(log, at, &e))
			continue;
		/* The caret's line has the indentation of "  Command: ". */
		caret += strspn(caret, " ");
		if (*caret == '^' && (size_t)(caret - text) >= len + strlen(head))
			e.at = MIN((size_t)(caret - text) - len - strlen(head), len);
		*ret = e;
		found = true;
	}
	return found;
}

bool error_log_read(const char *root, const char *command, struct error_log_entry *ret)
{
	struct strbuf log = {0};
	bool found = false;
	char path[4096];

	if (!fs_join(path, sizeof(path), root, "error_log") && !fs_read_file(path, MAX_LOG, &log) &&
	    log.s)
		found = error_log_find(log.s, command, ret);
	strbuf_deinit(&log);
	return found;
}

int error_log_format(struct err_text *e, int code, const char *what, const char *text, size_t at)
{
	size_t len = strlen(text), from;

	at = MIN(at, len);
	from = at > SHOWN / 2 ? at - SHOWN / 2 : 0;
	return err_set(e, code, "%s at character %zu: %s%.*s^%.*s%s", what, at + 1,
		       from ? "..." : "", (int)(at - from), text + from, SHOWN / 2, text + at,
		       len > at + SHOWN / 2 ? "..." : "");
}
