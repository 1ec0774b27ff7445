/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/text/str.h"

/* Small files in which a process reports about itself: a line "KEY VALUE" for each member of a struct.
 * A file is replaced as a whole, so readers never see a part of it. */
struct value_line {
	const char *key;
	size_t at; /* offset of the member */
	size_t size; /* of a text, with its NUL; 0: the member is a uint64_t */
};

#define VALUE_LINE_TEXT(type, member)                                                              \
	{                                                                                          \
#member, offsetof(type, member), sizeof(((type *)0)->member)                       \
	}
#define VALUE_LINE_NUMBER(type, member)                                                            \
	{                                                                                          \
#member, offsetof(type, member), 0                                                 \
	}

/* Replaces dir/name; mode: of the new file. Texts are made safe to print. Returns 0 or -errno. */
int value_lines_write(const char *dir, const char *name, mode_t mode,
		      const struct value_line *lines, size_t n, const void *from);
/* Reads dir/name into the struct, which is zeroed first. Unknown keys are skipped. Returns 0,
 * -ENOENT, -EBADMSG for an invalid line, or -errno; then the struct may be filled in part. */
int value_lines_read(const char *dir, const char *name, const struct value_line *lines, size_t n,
		     void *ret, size_t size);
