/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/*
 * What is taken of libsystemd, opened at run time: who has no journal needs no library.
 *
 * The functions are those of sd-journal(3) by the same names, without "sd_journal_"; 0 or more is
 * good, below 0 a negative errno. They were all there in systemd 229.
 */
struct sd_journal;

#define JOURNALD_LIBRARY "libsystemd.so.0"
/* SD_JOURNAL_LOCAL_ONLY: the files of this machine, not those that others sent here. */
#define JOURNALD_LOCAL_ONLY 1

struct journald_library {
	void *handle; /* owned */
	int (*open)(struct sd_journal **ret, int flags);
	void (*close)(struct sd_journal *j);
	int (*add_match)(struct sd_journal *j, const void *data, size_t size);
	int (*get_fd)(struct sd_journal *j);
	int (*process)(struct sd_journal *j);
	int (*has_runtime_files)(struct sd_journal *j);
	int (*has_persistent_files)(struct sd_journal *j);
	int (*seek_head)(struct sd_journal *j);
	int (*seek_tail)(struct sd_journal *j);
	int (*previous)(struct sd_journal *j);
	int (*next)(struct sd_journal *j);
	int (*get_monotonic_usec)(struct sd_journal *j, uint64_t *ret_usec, void *boot_id);
	void (*restart_data)(struct sd_journal *j);
	int (*enumerate_data)(struct sd_journal *j, const void **data, size_t *len);
};

/* file: JOURNALD_LIBRARY but in tests. 0; -ENOENT where it cannot be opened, -ENOSYS where a
 * function is missing. why: what the loader says, or the function's name. */
int journald_library_open(struct journald_library *l, const char *file, struct strbuf *why);
void journald_library_close(struct journald_library *l);
