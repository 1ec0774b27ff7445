/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/text/str.h"

/* Small files of /proc, /sys, tracefs and configuration. Every function returns 0 or -errno unless
 * it says else. */

/* Appends the whole file to b (which is not cleared first). max: -EFBIG when the file is longer. */
int fs_read_file(const char *path, size_t max, struct strbuf *b);
int fs_read_fd(int fd, size_t max, struct strbuf *b);

/* All of an open file from its beginning, instead of what b had: for files of /proc and /sys, which
 * the kernel writes anew for each read from there. whole: a read that does not fill the buffer gives
 * all, so no other one is needed to see the end. -EFBIG where it is longer than max. */
int fs_reread(int fd, bool whole, size_t max, struct strbuf *b);

/* One write(2) of the text to an existing file, as kernel files want it. O_WRONLY, and O_TRUNC only
 * if truncate. */
int fs_write_file(const char *path, const char *text, bool truncate);
/* As above, but appends (O_APPEND), for set_event and its kin. */
int fs_append_file(const char *path, const char *text);

/* write(2) until all is out. */
int fs_write_all(int fd, const void *data, size_t len);

/* Why a file of the kernel was of no use, for display: the text of the errno (positive), and words of
 * our own for -ENODATA (it is empty) and -EBADMSG (it is not what the reader knows). */
const char *fs_reason(int error);

bool fs_exists(const char *path);
/* "dir/name", cut never: -ENAMETOOLONG. */
int fs_join(char *buf, size_t size, const char *dir, const char *name);

/* The path of one file of a row: the number, of at least so many digits, goes before the last
 * extension of the name, "a/trace.pftrace" becomes "a/trace.007.pftrace". -ENAMETOOLONG. */
int fs_numbered(char *buf, size_t size, const char *path, unsigned number, int digits);

/* Lets this process have n descriptors open, or as many as its hard limit says. The soft limit is
 * 1024 for the sake of select(). */
void fs_raise_file_limit(unsigned n);

/* Calls fn for each name in the folder but "." and "..", in the folder's order, until fn returns
 * non-zero, which is then returned. */
int fs_each(const char *dir, int (*fn)(void *ctx, const char *name, unsigned char d_type),
	    void *ctx);

/* The name in a folder that is nearest to one that is not there (str_nearest), in best; NULL: there
 * is none. */
const char *fs_nearest(const char *dir, const char *name, char best[static STR_NEAREST_SIZE]);
