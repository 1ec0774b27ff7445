/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/value_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"

#define LINES_MAX 4096 /* bytes of a file */

/* ---- writing ---- */

/* Writes the text into a hidden file and renames it to path. Returns 0 or -errno. */
static int lines_replace(const char *path, const char *hidden, mode_t mode,
			 const struct strbuf *text)
{
	_cleanup_(closep) int fd =
		open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 || fchmod(fd, mode) < 0 ? -errno : fs_write_all(fd, text->s, text->len);

	if (r == 0 && rename(hidden, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(hidden);
	return r;
}

static int lines_save(const char *dir, const char *name, mode_t mode, const struct strbuf *text)
{
	char path[PATH_MAX], hidden[PATH_MAX];
	int r = text->failed ? -ENOMEM : fs_join(path, sizeof(path), dir, name);

	if (r == 0 && snprintf(hidden, sizeof(hidden), "%s/.%s", dir, name) >= (int)sizeof(hidden))
		r = -ENAMETOOLONG;
	if (r == 0)
		r = lines_replace(path, hidden, mode, text);
	if (r != -ENOSPC)
		return r;
	/* On a full disk, removing the old file makes room for the new one, which reports that the
	 * disk is full. */
	unlink(path);
	return lines_replace(path, hidden, mode, text);
}

int value_lines_write(const char *dir, const char *name, mode_t mode,
		      const struct value_line *lines, size_t n, const void *from)
{
	struct strbuf text = {0};
	int r;

	for (size_t i = 0; i < n; i++) {
		const void *at = (const char *)from + lines[i].at;

		strbuf_printf(&text, "%s ", lines[i].key);
		if (lines[i].size)
			strbuf_put_plain(&text, at); /* replaces newlines */
		else
			strbuf_printf(&text, "%" PRIu64, *(const uint64_t *)at);
		strbuf_putc(&text, '\n');
	}
	r = lines_save(dir, name, mode, &text);
	strbuf_deinit(&text);
	return r;
}

/* ---- reading ---- */

static int parse_state_line(const struct value_line *lines, size_t n, const char *key,
			    const char *value, void *to)
{
	for (size_t i = 0; i < n; i++) {
		void *at = (char *)to + lines[i].at;

		if (strcmp(lines[i].key, key) != 0)
			continue;
		if (!lines[i].size)
			return str_to_u64(value, at);
		snprintf(at, lines[i].size, "%s", value);
	}
	return 0; /* written by a later version */
}

int value_lines_read(const char *dir, const char *name, const struct value_line *lines, size_t n,
		     void *ret, size_t size)
{
	struct strbuf text = {0};
	char path[PATH_MAX];
	int r = fs_join(path, sizeof(path), dir, name);

	memset(ret, 0, size);
	if (r == 0)
		r = fs_read_file(path, LINES_MAX, &text);
	for (char *at = text.s, *end, *value; r == 0 && at && *at; at = end + 1) {
		end = strchr(at, '\n');
		value = strchr(at, ' ');
		if (!end || !value || value > end) {
			r = -EBADMSG;
			break;
		}
		*value++ = *end = '\0';
		r = parse_state_line(lines, n, at, value, ret) < 0 ? -EBADMSG : 0;
	}
	strbuf_deinit(&text);
	return r;
}
