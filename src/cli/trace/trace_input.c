/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/trace_input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/packets.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"

#define HEAD_BYTES 4096

struct compression {
	uint8_t magic[4];
	size_t len;
	const char *name, *unpack;
};

static const struct compression compressions[] = {
	{{0x1f, 0x8b}, 2, "gzip", "gunzip -k"},
	{{0x28, 0xb5, 0x2f, 0xfd}, 4, "zstd", "unzstd"},
	{{0xfd, '7', 'z', 'X'}, 4, "xz", "unxz -k"},
};

static ssize_t trace_input_read_head(const char *path, uint8_t *head, uint64_t *ret_size)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	*ret_size = (uint64_t)st.st_size;
	return pread(fd, head, HEAD_BYTES, 0);
}

bool trace_input_is_trace(const char *path)
{
	uint8_t head[HEAD_BYTES];
	uint64_t size;
	ssize_t n = trace_input_read_head(path, head, &size);

	return n > 0 && packets_are_binary(head, (size_t)n, size);
}

bool trace_input_is_text(const char *path)
{
	uint8_t head[HEAD_BYTES];
	uint64_t size;
	ssize_t n = trace_input_read_head(path, head, &size);

	return n > 0 && packets_are_text(head, (size_t)n, size);
}

/* Other formats of traces, by the first characters of the text after blanks. */
static const struct text_format {
	const char *begin, *what;
} text_formats[] = {
	{"{", "JSON from Chrome's tracing; open it at https://ui.perfetto.dev"},
	{"[", "JSON from Chrome's tracing; open it at https://ui.perfetto.dev"},
	{"<", "HTML from systrace; open it in a browser"},
	{"# tracer:", "text from ftrace or systrace; open it at https://ui.perfetto.dev"},
	{"TRACE:", "text from systrace; open it at https://ui.perfetto.dev"},
};

static int refuse_text(const char *path, const uint8_t *head, size_t n, struct err_text *e)
{
	size_t at = 0;

	while (at < n && strchr(" \t\r\n\f", head[at]))
		at++;
	for (size_t i = 0; i < ARRAY_SIZE(text_formats); i++) {
		const struct text_format *t = &text_formats[i];

		if (n - at >= strlen(t->begin) && !memcmp(head + at, t->begin, strlen(t->begin)))
			return err_set(e, -EBADMSG,
				       "%s is text, not a Perfetto trace: it looks like %s", path,
				       t->what);
	}
	return err_set(
		e, -EBADMSG,
		"%s is text, not a Perfetto trace; if it is a config, run: sonda record -c FILE",
		path);
}

int trace_input_explain(const char *path, struct err_text *e)
{
	char word[STR_WORD_SIZE];
	uint8_t head[HEAD_BYTES];
	uint64_t size;
	ssize_t n = trace_input_read_head(path, head, &size);

	if (n == 0)
		return err_set(e, -EBADMSG, "%s is empty", path);
	for (size_t i = 0; n > 0 && i < ARRAY_SIZE(compressions); i++) {
		const struct compression *c = &compressions[i];

		if ((size_t)n >= c->len && !memcmp(head, c->magic, c->len))
			return err_set(e, -EBADMSG, "%s is compressed with %s; run: %s %s", path,
				       c->name, c->unpack, str_word(path, word));
	}
	if (n > 0 && packets_are_text(head, (size_t)n, size))
		return refuse_text(path, head, (size_t)n, e);
	return err_set(e, -EBADMSG, "%s is not a Perfetto trace", path);
}

int trace_input_explain_error(const char *path, int r, struct err_text *e)
{
	switch (r) {
	case -EBADMSG:
		return trace_input_explain(path, e);
	case -EFBIG:
		return err_set(e, r, "%s has too many sequences, names or tracks", path);
	}
	return err_set(e, r, "cannot read %s: %s", path, strerror(-r));
}

int trace_input_map(const char *path, struct trace_bytes_map *ret, struct err_text *e)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, -errno, "cannot open %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "cannot read %s: it is not a regular file", path);
	if (st.st_size == 0)
		return err_set(e, -EBADMSG, "%s is empty", path);
	ret->len = (size_t)st.st_size;
	ret->data = mmap(NULL, ret->len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (ret->data == MAP_FAILED)
		return err_set(e, -errno, "cannot read %s: %s", path, strerror(errno));
	return 0;
}

void trace_input_unmap(struct trace_bytes_map *m)
{
	if (m->len)
		munmap(m->data, m->len);
}

int trace_input_parse_time(const char *option, const char *text, int64_t min, int64_t *ret,
			   struct err_text *e)
{
	int64_t ns;

	if (str_to_time_ns(text, &ns) < 0 || ns < min)
		return err_set(e, -EINVAL, "%s '%.80s' is not a time; examples: 1.5, 2s, 200ms",
			       option, text);
	*ret = ns;
	return 0;
}

int trace_input_parse_top(const char *text, int64_t *ret, struct err_text *e)
{
	const char *end = text;
	int64_t n;

	if (str_read_i64(&end, 10, &n) || *end || n < 1 || n > INT_MAX)
		return err_set(e, -EINVAL, "--top '%.80s' is not a number above 0", text);
	*ret = n;
	return 0;
}

int trace_input_parse_processes(char *text, char *words[static TRACE_INPUT_WHO_MAX], size_t *n,
				struct err_text *e)
{
	char *rest = text, *word;

	while ((word = strsep(&rest, ","))) {
		if (!*word)
			return err_set(e, -EINVAL,
				       "-p: no process or thread is given; examples: 12,34, make");
		if (*n == TRACE_INPUT_WHO_MAX)
			return err_set(e, -EINVAL,
				       "-p: too many processes or threads; the limit is %d",
				       TRACE_INPUT_WHO_MAX);
		words[(*n)++] = word;
	}
	return 0;
}

bool trace_input_is_output(const char *input, const char *output)
{
	struct stat in, out;

	return stat(input, &in) == 0 && S_ISREG(in.st_mode) && stat(output, &out) == 0 &&
	       in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

#define MAX_FILES 256
#define FIRST_PACKET_BYTES 65536

struct file {
	struct timespec written;
	char name[NAME_MAX + 1];
};

struct files {
	struct file *list; /* owned; sorted, the newest first */
	size_t n;
};

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Adds a file to the list if it is one of the MAX_FILES newest so far. */
static void newest_trace_add(struct files *f, const char *name, const struct timespec *written)
{
	size_t at = f->n;

	while (at > 0 && is_newer(written, &f->list[at - 1].written))
		at--;
	if (at == MAX_FILES)
		return;
	f->n = MIN(f->n + 1, MAX_FILES);
	memmove(&f->list[at + 1], &f->list[at], (f->n - 1 - at) * sizeof(*f->list));
	f->list[at].written = *written;
	strncpy(f->list[at].name, name, NAME_MAX);
	f->list[at].name[NAME_MAX] = '\0';
}

static int read_dir(struct files *f)
{
	DIR *d = opendir(".");
	struct dirent *entry;
	struct stat st;

	if (!d)
		return -errno;
	while ((entry = readdir(d)))
		if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && st.st_size > 0)
			newest_trace_add(f, entry->d_name, &st.st_mtim);
	closedir(d);
	return 0;
}

/* Returns true if the data begins with a packet that has one of the fields below, as the first
 * packet of a trace does. The end of the packet may be past len. */
static bool begins_with_packet(const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;
	uint64_t size;
	const uint8_t *p;

	if (len < 2 || data[0] != (PB_TRACE_PACKET << 3 | 2))
		return false;
	p = pb_get_varint(data + 1, data + len, &size);
	if (!p || size < 2)
		return false;
	pb_dec_init(&d, p, MIN(size, (size_t)(data + len - p)));
	while (pb_dec_next(&d, &f))
		if (f.id == PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID ||
		    f.id == PB_TRACE_PACKET_TRUSTED_UID || f.id == PB_TRACE_PACKET_CLOCK_SNAPSHOT ||
		    f.id == PB_TRACE_PACKET_COMPRESSED_PACKETS)
			return true;
	return false;
}

static bool is_trace(const char *name, uint8_t *head)
{
	_cleanup_(closep) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, head, FIRST_PACKET_BYTES);

	return n > 0 && begins_with_packet(head, (size_t)n);
}

static int newest_trace_find(char ret_name[static NAME_MAX + 1])
{
	struct files files = {.list = calloc(MAX_FILES, sizeof(*files.list))};
	uint8_t *head = malloc(FIRST_PACKET_BYTES);
	int r = files.list && head ? read_dir(&files) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < files.n; i++)
		if (is_trace(files.list[i].name, head)) {
			strcpy(ret_name, files.list[i].name);
			goto out;
		}
	if (r == 0)
		r = -ENOENT;
out:
	free(files.list);
	free(head);
	return r;
}

int newest_trace_choose(const char *verb, char ret_name[static NAME_MAX + 1])
{
	int r = newest_trace_find(ret_name);

	if (r < 0)
		log_error("%s: this directory contains no trace%s%s; name a file", verb,
			  r == -ENOENT ? "" : ": ", r == -ENOENT ? "" : strerror(-r));
	else
		log_info("%s: %s is the newest trace here", verb, ret_name);
	return r;
}
