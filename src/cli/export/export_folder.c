/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export/export_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "cli/trace/out_path.h"

#define TAR_BLOCK 512

struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8];
	char prefix[155], unused[12];
};

_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is a block");

/* The head of an archive has the size of the file, so the file is written to disk before it.
 * Returns NULL with errno on failure. */
static FILE *open_unnamed(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	FILE *file = fd >= 0 ? fdopen(fd, "w+") : NULL;

	if (!file && fd >= 0)
		close(fd);
	return file ?: tmpfile(); /* a file system without O_TMPFILE */
}

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

static void write_header(FILE *tar, const char *name, uint64_t size)
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
	memset(h.checksum, ' ', sizeof(h.checksum)); /* as which it counts in itself */
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((const uint8_t *)&h)[i];
	snprintf(h.checksum, sizeof(h.checksum), "%06o", sum);
	fwrite(&h, sizeof(h), 1, tar);
}

/* Returns 0 or -errno of the file. */
static int copy_to_tar(FILE *tar, const char *name, FILE *file)
{
	static const char zeros[TAR_BLOCK];
	char bytes[64 << 10];
	off_t size;
	size_t n;

	if (fflush(file) || ferror(file) || (size = ftello(file)) < 0)
		return -(errno ?: EIO);
	rewind(file);
	write_header(tar, name, (uint64_t)size);
	while ((n = fread(bytes, 1, sizeof(bytes), file)) > 0)
		fwrite(bytes, 1, n, tar);
	fwrite(zeros, 1, (size_t)(-size & (TAR_BLOCK - 1)), tar);
	return ferror(file) ? -(errno ?: EIO) : 0;
}

FILE *export_folder_open(const struct export_folder *f, const char *name, struct err_text *e)
{
	FILE *file = f->out ? out_path_open(f->out, name) : open_unnamed();

	if (!file)
		err_set(e, -errno, "cannot create %s/%s: %s", f->path, name, strerror(errno));
	return file;
}

int export_folder_close(const struct export_folder *f, const char *name, FILE *file,
			struct err_text *e)
{
	int r;

	if (f->out)
		return out_close(file, f->path, e);
	r = copy_to_tar(f->tar, name, file);
	fclose(file);
	return r < 0 ? err_set(e, r, "cannot write the temporary file of %s: %s", name,
			       strerror(-r))
		     : 0;
}

void export_folder_finish(const struct export_folder *f)
{
	static const char zeros[2 * TAR_BLOCK];

	if (!f->out)
		fwrite(zeros, 1, sizeof(zeros), f->tar);
}
