/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "service/ipc/limits.h"

struct file_parts;
struct out_file;

/*
 * What a session has written into its files up to a moment, to be copied a piece at a time. The
 * files may grow meanwhile, and be removed: what was there at the moment is copied.
 */
struct file_copy {
	struct file_range {
		int fd; /* owned */
		off_t pos, end; /* what is still to be copied */
	} ranges[MAX_FILE_PARTS];
	size_t n, next;
};

/* Can the open files of f be copied into to, which must be none of them? They must be open for reading,
 * too: the service opens none anew. 0, or -errno with the reason in e. */
int file_copy_check(const struct file_parts *f, int to, struct err_text *e);
/*
 * All that was ever put into the open files of f, which writes out first what it holds in memory,
 * after that check. 0; or -errno with the reason in e, then the copy is empty.
 */
int file_copy_take(struct file_copy *c, struct file_parts *f, int to, struct err_text *e);
/* Fine on a zeroed one, and twice. */
void file_copy_deinit(struct file_copy *c);

/* Puts the next FILE_BATCH_BYTES, or less, into a file that holds nothing in memory. 1; 0: there is
 * nothing left; or -errno. */
int file_copy_next(struct file_copy *c, struct out_file *to);
