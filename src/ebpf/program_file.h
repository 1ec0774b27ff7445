/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "base/text/str.h"

/*
 * The file of a program of somebody's own: NAME.bpf.o of a folder of the administrator's. What it
 * holds runs in the kernel, and any consumer may ask for it by its name. So the folder and the file
 * must be such that nobody but the owner could have put something there: owned by him, writable by no
 * others; and the name leads nowhere else.
 */

#define PROGRAM_NAME_CHARS 48 /* letters, digits, '_' and '-' */
#define PROGRAM_BYTES_MAX (4u << 20)

/* Appends the file to b. owner: 0, root, but in tests. 0 or -errno, with a sentence. */
int program_file_read(const char *folder, const char *name, unsigned owner, struct strbuf *b,
		      struct err_text *e);
