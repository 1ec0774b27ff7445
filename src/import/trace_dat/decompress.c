/* SPDX-License-Identifier: Apache-2.0 */
#include "import/trace_dat/decompress.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

int decompress_block(const char *compression, const uint8_t *data, size_t len, uint8_t *ret,
		     size_t ret_len)
{
	uLongf n = ret_len;

	if (!strcmp(compression, "zstd"))
		return ZSTD_decompress(ret, ret_len, data, len) == ret_len ? 0 : -EBADMSG;
	if (!strcmp(compression, "zlib"))
		return uncompress(ret, &n, data, len) == Z_OK && n == ret_len ? 0 : -EBADMSG;
	return -EBADMSG;
}
