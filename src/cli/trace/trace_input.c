/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/trace_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
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

static ssize_t read_head(const char *path, uint8_t *head, uint64_t *ret_size)
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
	uint64_t tag, len, size;
	uint8_t head[HEAD_BYTES];
	ssize_t n = read_head(path, head, &size);
	const uint8_t *at, *end = head + MAX(n, 0);
	struct pb_field f;
	struct pb_dec d;

	at = n > 0 ? pb_get_varint(head, end, &tag) : NULL;
	at = at && tag == (PB_TRACE_PACKET << 3 | 2) ? pb_get_varint(at, end, &len) : NULL;
	if (!at || len > size - (uint64_t)(at - head))
		return false;
	if (len > (uint64_t)(end - at))
		return true;
	pb_dec_init(&d, at, (size_t)len);
	while (pb_dec_next(&d, &f))
		;
	return pb_dec_ok(&d);
}

static bool is_text(const uint8_t *head, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (head[i] == 0x7f || (head[i] < ' ' && !strchr("\t\n\r\f", head[i])) || !head[i])
			return false;
	return true;
}

int trace_input_refuse(const char *path, struct err_text *e)
{
	uint8_t head[HEAD_BYTES];
	uint64_t size;
	ssize_t n = read_head(path, head, &size);

	if (n == 0)
		return err_set(e, -EBADMSG, "%s is empty", path);
	for (size_t i = 0; n > 0 && i < ARRAY_SIZE(compressions); i++) {
		const struct compression *c = &compressions[i];

		if ((size_t)n >= c->len && !memcmp(head, c->magic, c->len))
			return err_set(e, -EBADMSG, "%s is compressed with %s; run: %s %s", path,
				       c->name, c->unpack, path);
	}
	if (n > 0 && is_text(head, (size_t)n))
		return err_set(e, -EBADMSG,
			       "%s is text, not a Perfetto trace; to record a config: sonda record "
			       "-c FILE",
			       path);
	return err_set(e, -EBADMSG, "%s is not a Perfetto trace", path);
}

int trace_input_time(const char *option, const char *text, int64_t min, int64_t *ret,
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
