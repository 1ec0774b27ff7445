/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/tracefs/setting_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"

#define EXPANDED "(expanded: "
#define SETTING_MAX (1 << 20) /* bytes; filters of functions can be long */

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

static bool is_name_in_list(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

enum setting_kind setting_find_kind(const char *file)
{
	static const char *const lists[] = {
		"set_event_pid",      "set_event_notrace_pid", "set_ftrace_pid",
		"set_ftrace_filter",  "set_ftrace_notrace",    "set_ftrace_notrace_pid",
		"set_graph_function", "set_graph_notrace",     NULL,
	};
	const char *name = base_name(file);

	if (!strcmp(name, "trigger"))
		return SETTING_COMMAND;
	return is_name_in_list(name, lists) ? SETTING_LIST : SETTING_VALUE;
}

bool setting_is_restricting(const char *file)
{
	static const char *const names[] = {
		"filter",	   "trigger", "set_event_pid", "set_event_notrace_pid",
		"tracing_cpumask", NULL,
	};

	return str_starts(file, "options/") || is_name_in_list(base_name(file), names);
}

/* ---- read form and write form ---- */

static char *copy_bracketed(const char *read)
{
	const char *from = strchr(read, '['), *to = from ? strchr(from, ']') : NULL;

	return to ? strndup(from + 1, (size_t)(to - from - 1)) : NULL;
}

/* Copies "1411", or the size that the kernel will give to a ring that is not allocated yet. */
static char *copy_size(const char *read)
{
	const char *whole = strstr(read, EXPANDED);
	const char *at = whole ? whole + strlen(EXPANDED) : read;
	size_t n = strspn(at, "0123456789");

	return n ? strndup(at, n) : NULL;
}

/* Copies the digit of "1" or "0*". Returns NULL for "X", a group with different values. */
static char *copy_switch(const char *read)
{
	return *read == '0' || *read == '1' ? strndup(read, 1) : NULL;
}

/* Copies the words. "#### all functions enabled ####" and "no pid" are an empty list. */
static char *copy_setting_list(const char *read)
{
	return strdup(*read == '#' || str_starts(read, "no pid") ? "" : read);
}

char *setting_text_to_write(const char *file, const char *read)
{
	const char *name = base_name(file);

	if (setting_find_kind(file) == SETTING_LIST)
		return copy_setting_list(read);
	if (!strcmp(name, "trace_clock"))
		return copy_bracketed(read);
	if (!strcmp(name, "buffer_size_kb") || !strcmp(name, "buffer_subbuf_size_kb"))
		return copy_size(read);
	if (!strcmp(name, "enable"))
		return copy_switch(read);
	if (!strcmp(name, "filter") && str_starts(read, "none"))
		return strdup("0");
	return strndup(read, strcspn(read, "\n"));
}

/* Returns true if the setting reads as if text had been written. A ring that reads "7 (expanded:
 * 1408)" does not have 1408 KiB yet. */
bool setting_matches_write(const char *file, const char *read, const char *text)
{
	_cleanup_(freep) char *is = setting_text_to_write(file, read);

	return is && !strcmp(is, text) && !strstr(read, EXPANDED);
}

bool setting_equal(const char *file, const char *a, const char *b)
{
	_cleanup_(freep) char *x = setting_text_to_write(file, a),
			      *y = setting_text_to_write(file, b);

	return !strcmp(a, b) || (x && y && !strcmp(x, y));
}

/* ---- reading and writing ---- */

char *setting_read(const char *path)
{
	struct strbuf b = {0};

	if (fs_read_file(path, SETTING_MAX, &b)) {
		strbuf_deinit(&b);
		return NULL;
	}
	return b.s ? strbuf_take(&b) : strdup("");
}

/* Writes a list, by several writes if needed: the kernel parses it word by word. */
static int setting_file_write_list(const char *path, const char *text, int flags)
{
	_cleanup_(closep) int fd = open(path, O_WRONLY | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fs_write_all(fd, text, strlen(text));
}

int setting_write(const char *path, const char *text)
{
	switch (setting_find_kind(path)) {
	case SETTING_LIST:
		return setting_file_write_list(path, text, O_TRUNC);
	case SETTING_COMMAND:
		return fs_append_file(path, text);
	default:
		return fs_write_file(path, text, true);
	}
}

int setting_append(const char *path, const char *text)
{
	return setting_file_write_list(path, text, O_APPEND);
}

int setting_remove_command(const char *path, const char *text)
{
	_cleanup_(freep) char *command = NULL;
	int r;

	if (asprintf(&command, "!%s", text) < 0) {
		command = NULL;
		return -ENOMEM;
	}
	r = setting_write(path, command);
	return r == -ENOENT ? 0 : r;
}
