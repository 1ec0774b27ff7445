/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ship/upload_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"

#define JOURNAL_MAX (16u << 20) /* bytes */
#define LINE_MAX_BYTES 2048

/* Removes a last line that was cut off. */
static int drop_torn_line(struct upload_journal *j)
{
	const char *last = j->text.len ? memrchr(j->text.s, '\n', j->text.len) : NULL;
	size_t len = last ? (size_t)(last + 1 - j->text.s) : 0;

	if (len == j->text.len)
		return 0;
	j->text.s[len] = '\0';
	j->text.len = len;
	return ftruncate(j->fd, (off_t)len) < 0 ? -errno : 0;
}

int upload_journal_open(int dir, const char *uuid, struct upload_journal *ret, bool *ret_is_new)
{
	struct upload_journal j = {.fd = -1};
	bool is_new = false;
	int r = 0;

	j.fd = openat(dir, uuid, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (j.fd < 0 && errno == ENOENT) {
		is_new = true;
		j.fd = openat(dir, uuid, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
		if (j.fd >= 0 && fsync(dir) < 0)
			r = -errno;
	}
	if (j.fd < 0)
		return -errno;
	if (r == 0)
		r = fs_read_fd(j.fd, JOURNAL_MAX, &j.text);
	if (r == 0)
		r = drop_torn_line(&j);
	if (r < 0) {
		upload_journal_close(&j);
		return r;
	}
	*ret = j;
	*ret_is_new = is_new;
	return 0;
}

void upload_journal_close(struct upload_journal *j)
{
	closep(&j->fd);
	strbuf_deinit(&j->text);
}

int upload_journal_add(struct upload_journal *j, const char *fmt, ...)
{
	struct strbuf line = {0};
	char text[LINE_MAX_BYTES];
	va_list ap;
	int n, r;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(text))
		return -ENAMETOOLONG;
	strbuf_printf(&line, "%s\n", text);
	strbuf_puts(&j->text, line.s ? line.s : "");
	r = line.failed || j->text.failed ? -ENOMEM : fs_write_all(j->fd, line.s, line.len);
	strbuf_deinit(&line);
	return r ?: fdatasync(j->fd) < 0 ? -errno : 0;
}

static void apply_journal_line(const char *line, const char *key, struct upload_state *s)
{
	char word[8], of[512], rest[S3_UPLOAD_ID_SIZE], etag[S3_ETAG_SIZE];
	unsigned number;
	int n = sscanf(line, "%7s %511s %1024s %130s", word, of, rest, etag);

	if (n < 2 || strcmp(of, key) != 0)
		return;
	if (!strcmp(word, "done")) {
		s->is_done = true;
	} else if (!strcmp(word, "begin")) {
		s->is_begun = true;
		s->id[0] = '\0';
		for (unsigned i = 0; i < s->n; i++)
			s->etags[i][0] = '\0';
	} else if (!strcmp(word, "upload") && n >= 3 && s3_upload_id_is_valid(rest)) {
		memcpy(s->id, rest, sizeof(s->id));
	} else if (!strcmp(word, "part") && n == 4 && !str_to_u32(rest, &number) && number >= 1 &&
		   number <= s->n && s3_etag_is_valid(etag)) {
		memcpy(s->etags[number - 1], etag, sizeof(etag));
	}
}

int upload_journal_find(const struct upload_journal *j, const char *key, unsigned n,
			struct upload_state *ret)
{
	*ret = (struct upload_state){.n = n};
	ret->etags = calloc(n ? n : 1, sizeof(*ret->etags));
	if (!ret->etags)
		return -ENOMEM;
	for (struct span rest = {j->text.s, j->text.len}, line; span_next_line(&rest, &line);) {
		char copy[LINE_MAX_BYTES];

		snprintf(copy, sizeof(copy), "%.*s", (int)line.len, line.p);
		apply_journal_line(copy, key, ret);
	}
	return 0;
}
