/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/extensions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

#define SET_FILE 1 /* FileDescriptorSet.file */
#define GZIP_WINDOW (MAX_WBITS + 16) /* for zlib: the gzip format */

static bool is_gzip(const uint8_t *data, size_t len)
{
	return len >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

/* Returns true if data is a message of at least one file. Does not check the files. */
static bool is_descriptor_set(const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;
	size_t n = 0;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != SET_FILE || f.wire_type != PB_WIRE_BYTES)
			return false;
		n++;
	}
	return pb_dec_ok(&d) && n > 0;
}

/* Sets *ret to the decompressed data, which the caller frees. Returns 0, -EINVAL if it is malformed
 * or too large, or -ENOMEM. */
static int extension_unzip(uint8_t *data, size_t len, uint8_t **ret, size_t *ret_len)
{
	_cleanup_(freep) uint8_t *out = malloc(MAX_EXTENSION_SET_BYTES);
	z_stream z = {.next_in = data,
		      .avail_in = (uInt)len,
		      .next_out = out,
		      .avail_out = MAX_EXTENSION_SET_BYTES};
	int r;

	if (!out || inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	r = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	if (r != Z_STREAM_END || z.avail_in > 0)
		return -EINVAL;
	*ret_len = z.total_out;
	*ret = TAKE_PTR(out);
	return 0;
}

/* Returns 0, -EINVAL if the data is no descriptor set, or -ENOMEM. */
static int check_descriptor_and_set_gzip(struct extension_descriptor *d)
{
	_cleanup_(freep) uint8_t *set = NULL;
	size_t len;
	int r;

	d->gzip = is_gzip(d->data, d->len);
	if (!d->gzip)
		return is_descriptor_set(d->data, d->len) ? 0 : -EINVAL;
	r = extension_unzip(d->data, d->len, &set, &len);
	if (r < 0)
		return r;
	return is_descriptor_set(set, len) ? 0 : -EINVAL;
}

int extensions_load(struct extensions *x, const char *path, struct err_text *e)
{
	struct extension_descriptor *d = &x->list[x->n];
	struct strbuf b = {0};
	int r;

	if (x->n == MAX_EXTENSIONS)
		return err_set(e, -ENOBUFS, "%s: too many files; the limit is %d", path,
			       MAX_EXTENSIONS);
	r = fs_read_file(path, MAX_EXTENSION_BYTES, &b);
	if (r < 0) {
		strbuf_deinit(&b);
		return err_set(e, r, "%s: %s", path, strerror(-r));
	}
	d->len = b.len;
	d->data = (uint8_t *)strbuf_take(&b);
	r = d->data ? check_descriptor_and_set_gzip(d) : -ENOMEM;
	if (r == 0) {
		x->n++;
		return 0;
	}
	freep(&d->data);
	return err_set(
		e, r, "%s: %s", path,
		r == -EINVAL
			? "not a descriptor set from protoc --descriptor_set_out, gzipped or not"
			: strerror(-r));
}

void extensions_deinit(struct extensions *x)
{
	for (size_t i = 0; i < x->n; i++)
		free(x->list[i].data);
	x->n = 0;
}
