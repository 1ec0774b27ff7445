/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a failed write, the file itself contains the reason, on every version of the kernel:
 *
 *	prev_pid == 1 && nopid == 5
 *	                       ^
 *	parse_error: Field not found
 */
#include "ftrace/tracefs/filter_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "ftrace/tracefs/error_log.h"

#define SHOWN 200 /* characters shown of a refused expression if the error's position is unknown */

static int filter_path(char *path, size_t size, const char *group, const char *name)
{
	int n = snprintf(path, size, "events/%s/%s/filter", group, name);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* Returns the text after "parse_error: ", which is terminated in place at the end of its line, and
 * the caret's column in *ret_at. Returns NULL if the text has no reason. */
static const char *find_reason(char *text, size_t *ret_at)
{
	static const char mark[] = "parse_error: ";
	char *reason = NULL, *caret, *line;

	/* Use the last match: the expression may contain these words, too. */
	for (char *at = text; (at = strstr(at, mark)); at++)
		reason = at;
	if (!reason)
		return NULL;
	caret = reason;
	while (caret > text && *caret != '^')
		caret--;
	for (line = caret; line > text && line[-1] == ' '; line--)
		;
	*ret_at = line == text || line[-1] == '\n' ? (size_t)(caret - line) : 0;
	reason += strlen(mark);
	reason[strcspn(reason, "\n")] = '\0';
	return reason;
}

/* Sets e to the reason why filter_file_write failed. left: the text of the file after the write,
 * which is modified; NULL if it cannot be read. Returns `error`. */
static int filter_file_explain(char *left, const char *filter, int error, struct err_text *e)
{
	size_t at;
	const char *reason = left ? find_reason(left, &at) : NULL;

	if (reason)
		return error_log_format(e, error, reason, filter, at);
	/* `error` is then an internal number of the parser; as an errno it would mislead. */
	if (left && strstr(left, "\nError: ("))
		return err_set(e, error,
			       "the kernel rejected the filter without giving a reason: %.*s",
			       SHOWN, filter);
	return err_set(e, error, "%s: %.*s", strerror(-error), SHOWN, filter);
}

int filter_file_write(const struct instance *i, const char *group, const char *name,
		      const char *filter, struct err_text *e)
{
	size_t most = (size_t)sysconf(_SC_PAGESIZE) - 1;
	_cleanup_(freep) char *left = NULL;
	char path[600];
	int r = filter_path(path, sizeof(path), group, name);

	if (!r && strlen(filter) > most)
		return err_set(e, -E2BIG, "the filter has %zu bytes; the kernel's limit is %zu",
			       strlen(filter), most);
	if (!r)
		r = instance_write(i, path, filter);
	if (!r)
		return 0;
	/* r can be any number: for a missing parenthesis it is the kernel's count of them. */
	left = instance_read(i, path);
	if (r == -ENOENT && !left)
		return err_set(e, r, "this event cannot be filtered");
	return filter_file_explain(left, filter, r == -ENOENT ? -EINVAL : r, e);
}

void filter_file_clear(const struct instance *i, const char *group, const char *name)
{
	char path[600];

	if (!filter_path(path, sizeof(path), group, name))
		instance_write(i, path, "0");
}

char *filter_normalize(const char *filter)
{
	const char *end = filter + strlen(filter);
	char *copy;

	while (*filter && strchr(" \t\r\n", *filter))
		filter++;
	while (end > filter && strchr(" \t\r\n", end[-1]))
		end--;
	copy = strndup(filter, (size_t)(end - filter));
	for (char *p = copy; p && *p; p++)
		if (strchr("\t\r\n", *p))
			*p = ' ';
	return copy;
}

char *filter_make_conjunction(const char *a, const char *b)
{
	char *text = NULL;

	if (!a)
		return strdup(b);
	return asprintf(&text, "(%s) && (%s)", a, b) < 0 ? NULL : text;
}
