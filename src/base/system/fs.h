/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/text/str.h"

/*
 * Small files of /proc, /sys, tracefs and configuration. Functions return 0 or -errno unless their
 * comment says otherwise.
 */

/* Appends the whole file to b (which is not cleared first). Returns -EFBIG if the file is longer
 * than max. */
int fs_read_file(const char *path, size_t max, struct strbuf *b);
int fs_read_fd(int fd, size_t max, struct strbuf *b);

/* Replaces the content of b with that of an open file, read from its beginning: for files of /proc
 * and /sys, which the kernel generates for each read at offset 0. whole: a read that does not fill
 * the buffer has reached the end of the file, so no further read is needed to detect the end.
 * Returns -EFBIG if the file is longer than max. After an error the content of b is undefined. */
int fs_reread(int fd, bool whole, size_t max, struct strbuf *b);

/* Writes the text to an existing file with one write(2), as kernel files require. Opens the file
 * with O_WRONLY, and with O_TRUNC if truncate. Returns -EIO if the file took only a part. */
int fs_write_file(const char *path, const char *text, bool truncate);
/* As above, but appends (O_APPEND), for files such as set_event. */
int fs_append_file(const char *path, const char *text);

/* Calls write(2) until everything is written. */
int fs_write_all(int fd, const void *data, size_t len);

/* Returns why a kernel file could not be used, for display: the text of the errno (positive), with
 * our own texts for ENODATA (empty) and EBADMSG (unknown format). */
const char *fs_error_text(int error);

bool fs_exists(const char *path);
/* Returns the directory of temporary files: $TMPDIR, else /tmp, else /data/local/tmp, because
 * Android has no /tmp. Borrowed from the environment or static memory. */
const char *fs_temp_dir(void);
/* Opens an empty file without a name in that directory, or in /tmp if the file system of that
 * directory does not support such files. Returns NULL and sets errno on failure. */
FILE *fs_temp_file(void);
/* Writes "dir/name" to buf. Returns -ENAMETOOLONG if it does not fit. */
int fs_join(char *buf, size_t size, const char *dir, const char *name);

/* Writes the path of one file of a numbered series: the number, with at least `digits` digits, is
 * inserted before the last extension, "a/trace.pftrace" becomes "a/trace.007.pftrace". Returns
 * -ENAMETOOLONG if it does not fit. */
int fs_make_numbered_path(char *buf, size_t size, const char *path, unsigned number, int digits);

/* Opens /dev/null as each of the descriptors 0 to 2 that is closed: 0 for writing, 1 and 2 for
 * reading. So reads from 0 and writes to 1 and 2 fail with EBADF, as before. But the number is
 * taken, so what the program prints cannot end up in a file or socket that is opened later. A
 * program calls this before it opens anything. */
void fs_occupy_standard_descriptors(void);

/* Raises the soft limit of open descriptors to n, or to the hard limit if that is lower. The usual
 * soft limit of 1024 exists for select(). */
void fs_raise_file_limit(unsigned n);

/* Calls fn for each name in the directory except "." and "..", in the directory's order. Stops when
 * fn returns non-zero, and returns that value. */
int fs_each(const char *dir, int (*fn)(void *ctx, const char *name, unsigned char d_type),
	    void *ctx);

/* Returns the name in the directory that is nearest to `name` (str_nearest), copied to best, or
 * NULL. */
const char *fs_find_nearest(const char *dir, const char *name, char best[static STR_NEAREST_SIZE]);
