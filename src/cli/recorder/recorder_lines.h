/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/text/str.h"

/*
 * Small files in the folder of a recorder: a line "KEY VALUE" for each member of a struct. A file
 * is replaced as a whole, so readers never see a part of it.
 */
struct recorder_line {
	const char *key;
	size_t at; /* offset of the member */
	size_t size; /* of a text, with its NUL; 0: the member is a uint64_t */
};

#define RECORDER_LINE_TEXT(type, member)                                                           \
	{                                                                                          \
#member, offsetof(type, member), sizeof(((type *)0)->member)                       \
	}
#define RECORDER_LINE_NUMBER(type, member)                                                         \
	{                                                                                          \
#member, offsetof(type, member), 0                                                 \
	}

/* Replaces dir/name. Texts are made safe to print. Returns 0 or -errno. */
int recorder_lines_write(const char *dir, const char *name, const struct recorder_line *lines,
			 size_t n, const void *from);
/* Reads dir/name into the struct, which is zeroed first. Unknown keys are skipped. Returns 0,
 * -ENOENT, -EBADMSG or -errno. */
int recorder_lines_read(const char *dir, const char *name, const struct recorder_line *lines,
			size_t n, void *ret, size_t size);
