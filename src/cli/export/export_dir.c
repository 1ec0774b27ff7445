/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export/export_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "cli/trace/out_path.h"
#include "cli/trace/tar.h"

/* Copies the file into the archive. Returns 0 or -errno of writing or reading the file. */
static int copy_to_tar(FILE *tar, const char *name, FILE *file)
{
	char bytes[64 << 10];
	off_t size;
	size_t n;

	if (fflush(file) || ferror(file) || (size = ftello(file)) < 0)
		return -(errno ?: EIO);
	rewind(file);
	tar_put_header(tar, name, (uint64_t)size);
	while ((n = fread(bytes, 1, sizeof(bytes), file)) > 0)
		fwrite(bytes, 1, n, tar);
	tar_put_padding(tar, (uint64_t)size);
	return ferror(file) ? -(errno ?: EIO) : 0;
}

FILE *export_dir_open(const struct export_dir *f, const char *name, struct err_text *e)
{
	/* The header in an archive contains the size of the file, so the file is written to disk
	 * first. */
	FILE *file = f->out ? out_path_open(f->out, name) : fs_temp_file();

	if (!file)
		err_set(e, -errno, "cannot create %s/%s: %s", f->path, name, strerror(errno));
	return file;
}

int export_dir_close(const struct export_dir *f, const char *name, FILE *file, struct err_text *e)
{
	int r;

	if (f->out)
		return out_close(file, f->path, e);
	r = copy_to_tar(f->tar, name, file);
	fclose(file);
	return r < 0 ? err_set(e, r, "cannot write the temporary file for %s: %s", name,
			       strerror(-r))
		     : 0;
}

void export_dir_finish(const struct export_dir *f)
{
	if (!f->out)
		tar_put_end(f->tar);
}
