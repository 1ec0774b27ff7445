/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/import_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/system/fs.h"

static int read_stream(int fd, uint64_t limit, struct trace_bytes *ret)
{
	struct strbuf b = {0};
	int r = fs_read_fd(fd, (size_t)MIN(limit, (uint64_t)SIZE_MAX / 2), &b);

	if (r < 0) {
		strbuf_deinit(&b);
		return r;
	}
	*ret = (struct trace_bytes){.len = b.len};
	ret->data = (uint8_t *)strbuf_take(&b);
	return ret->data || !ret->len ? 0 : -ENOMEM;
}

int trace_import_file(struct store *s, int fd, struct import_result *ret)
{
	struct trace_bytes bytes = {.mapped = true};
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISREG(st.st_mode) && st.st_size > 0) {
		bytes.len = (size_t)st.st_size;
		bytes.data = mmap(NULL, bytes.len, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes.data == MAP_FAILED)
			return -errno;
	} else {
		r = read_stream(fd, s->budget.limit, &bytes);
		if (r < 0)
			return r;
	}
	return trace_import(s, bytes, ret);
}
