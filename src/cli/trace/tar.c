/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/tar.h"

#include <string.h>

#define TAR_BLOCK 512

struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8];
	char prefix[155], unused[12];
};

_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is a block");

static void set_size(struct tar_header *h, uint64_t size)
{
	if (size < 1ull << 33) {
		snprintf(h->size, sizeof(h->size), "%011llo", (unsigned long long)size);
		return;
	}
	h->size[0] = (char)0x80;
	for (unsigned i = 0; i < sizeof(size); i++)
		h->size[sizeof(h->size) - 1 - i] = (char)(size >> 8 * i);
}

void tar_put_header(FILE *to, const char *name, uint64_t size)
{
	struct tar_header h = {.type = '0'};
	unsigned sum = 0;

	snprintf(h.name, sizeof(h.name), "%s", name);
	strcpy(h.mode, "0000644");
	strcpy(h.uid, "0000000");
	strcpy(h.gid, "0000000");
	strcpy(h.mtime, "00000000000"); /* equal traces give equal bytes */
	set_size(&h, size);
	memcpy(h.magic, "ustar", sizeof(h.magic));
	memcpy(h.version, "00", sizeof(h.version));
	memset(h.checksum, ' ', sizeof(h.checksum)); /* it counts as blanks in its own sum */
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((const uint8_t *)&h)[i];
	snprintf(h.checksum, sizeof(h.checksum), "%06o", sum);
	fwrite(&h, sizeof(h), 1, to);
}

static void put_zeros(FILE *to, size_t n)
{
	static const char zeros[2 * TAR_BLOCK];

	fwrite(zeros, 1, n, to);
}

void tar_put_padding(FILE *to, uint64_t size)
{
	put_zeros(to, (size_t)(-size & (TAR_BLOCK - 1)));
}

void tar_put_end(FILE *to)
{
	put_zeros(to, 2 * TAR_BLOCK);
}
