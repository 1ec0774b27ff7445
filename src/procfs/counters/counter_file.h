/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/counters/counter_poll.h"
#include "base/text/span.h"

/*
 * A file of /proc or of a cgroup that is read in each pass: opened once, then read from its
 * beginning with pread, which makes the kernel write it anew. One that is not there, or has gone, is
 * looked for again every so many passes.
 */

#define COUNTER_FILE_MAX (4u << 20) /* bytes */
#define COUNTER_FILE_RETRY 16 /* passes */

struct counter_file {
	int fd; /* owned; -1: not open */
	uint32_t retry; /* the pass in which a missing one is looked for again */
};

/*
 * All of the file at path (relative to the folder at) as of now, in p->text until the next read, up
 * to the last newline. whole: the kernel gives the text in one read. 0; -EBADMSG with the lines that
 * there are, when the last one is cut; -ENODATA: empty; -ENOENT: it is not there (nor was it lately:
 * no call was made); -errno.
 */
int counter_file_read(struct counter_file *f, struct counter_poll *p, int at, const char *path,
		      bool whole, struct span *ret_text);
void counter_file_close(struct counter_file *f, struct counter_poll *p);
