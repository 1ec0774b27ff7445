/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/recorder_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"

#define STATE_MAX 4096 /* bytes of the file */

/* A line of the file: a text of some size, or a number. */
static const struct state_line {
	const char *key;
	size_t at, size; /* size 0: a uint64_t */
} lines[] = {
#define TEXT(member)                                                                               \
	{                                                                                          \
#member, offsetof(struct recorder_state, member),                                  \
			sizeof(((struct recorder_state *)0)->member)                               \
	}
#define NUMBER(member)                                                                             \
	{                                                                                          \
#member, offsetof(struct recorder_state, member), 0                                \
	}
	TEXT(what),	   NUMBER(since_s),	     TEXT(why),
	TEXT(words),	   TEXT(consumer),	     TEXT(producer),
	NUMBER(max_bytes), NUMBER(keep_s),	     NUMBER(restarts),
	NUMBER(snapshots), NUMBER(snapshots_failed), NUMBER(snapshots_skipped),
#undef TEXT
#undef NUMBER
};

static void state_put_text(struct strbuf *b, const char *key, const char *text)
{
	strbuf_printf(b, "%s ", key);
	strbuf_put_plain(b, text); /* no newline */
	strbuf_putc(b, '\n');
}

/* Writes the text into a hidden file, and gives it the name. */
static int state_replace(const char *path, const char *hidden, const struct strbuf *text)
{
	_cleanup_(closep) int fd =
		open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 ? -errno : fs_write_all(fd, text->s, text->len);

	if (r == 0 && rename(hidden, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(hidden);
	return r;
}

static int state_save(const char *dir, const struct strbuf *text)
{
	char path[PATH_MAX], hidden[PATH_MAX];
	int r = text->failed ? -ENOMEM : fs_join(path, sizeof(path), dir, "state");

	if (r == 0)
		r = fs_join(hidden, sizeof(hidden), dir, ".state");
	if (r == 0)
		r = state_replace(path, hidden, text);
	if (r != -ENOSPC)
		return r;
	/* On a full disk, removing the old file makes room for the new one, which reports that the
	 * disk is full. */
	unlink(path);
	return state_replace(path, hidden, text);
}

int recorder_state_write(const char *dir, const struct recorder_state *s)
{
	struct strbuf text = {0};
	int r;

	strbuf_printf(&text, "pid %u\n", s->pid);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const void *at = (const char *)s + lines[i].at;

		if (lines[i].size)
			state_put_text(&text, lines[i].key, at);
		else
			strbuf_printf(&text, "%s %" PRIu64 "\n", lines[i].key,
				      *(const uint64_t *)at);
	}
	r = state_save(dir, &text);
	strbuf_deinit(&text);
	return r;
}

static int state_read_line(struct recorder_state *s, const char *key, const char *value)
{
	if (!strcmp(key, "pid"))
		return str_to_u32(value, &s->pid);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		void *at = (char *)s + lines[i].at;

		if (strcmp(lines[i].key, key) != 0)
			continue;
		if (!lines[i].size)
			return str_to_u64(value, at);
		snprintf(at, lines[i].size, "%s", value);
	}
	return 0; /* of a later version */
}

int recorder_state_read(const char *dir, struct recorder_state *ret)
{
	struct recorder_state s = {0};
	struct strbuf text = {0};
	char path[PATH_MAX];
	int r = fs_join(path, sizeof(path), dir, "state");

	if (r == 0)
		r = fs_read_file(path, STATE_MAX, &text);
	for (char *at = text.s, *end, *value; r == 0 && at && *at; at = end + 1) {
		end = strchr(at, '\n');
		value = strchr(at, ' ');
		if (!end || !value || value > end) {
			r = -EBADMSG;
			break;
		}
		*value++ = *end = '\0';
		r = state_read_line(&s, at, value) < 0 ? -EBADMSG : 0;
	}
	strbuf_deinit(&text);
	if (r == 0)
		*ret = s;
	return r;
}
