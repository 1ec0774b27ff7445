/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/trace_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/packets.h"
#include "base/core/mem.h"
#include "base/text/str.h"

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

/* Other formats of traces, by the begin of the text after its blanks. */
static const struct text_format {
	const char *begin, *what;
} text_formats[] = {
	{"{", "JSON, as Chrome's tracing writes it; to see it: https://ui.perfetto.dev"},
	{"[", "JSON, as Chrome's tracing writes it; to see it: https://ui.perfetto.dev"},
	{"<", "HTML, as systrace writes it; to see it, open it in a browser"},
	{"# tracer:", "the text of ftrace or systrace; to see it: https://ui.perfetto.dev"},
	{"TRACE:", "the text of systrace; to see it: https://ui.perfetto.dev"},
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
	return err_set(e, -EBADMSG,
		       "%s is text, not a Perfetto trace; to record a config: sonda record -c FILE",
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

int trace_input_parse_time(const char *option, const char *text, int64_t min, int64_t *ret,
			   struct err_text *e)
{
	int64_t ns;

	if (str_to_time_ns(text, &ns) < 0 || ns < min)
		return err_set(e, -EINVAL, "%s %.80s is not a time; examples: 1.5, 2s, 200ms",
			       option, text);
	*ret = ns;
	return 0;
}

bool trace_input_is_output(const char *input, const char *output)
{
	struct stat in, out;

	return stat(input, &in) == 0 && S_ISREG(in.st_mode) && stat(output, &out) == 0 &&
	       in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}
