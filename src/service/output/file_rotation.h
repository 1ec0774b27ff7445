/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"
#include "service/output/output_dir.h"

/*
 * TraceConfig.rotate: a session's trace as a series of files, each a complete trace. output_path
 * "/a/trace.pftrace" gives /a/trace.000001.pftrace, /a/trace.000002.pftrace ... Numbers of existing
 * files are skipped, so that no file is overwritten.
 *
 * A packet may depend on incremental state (interned names) of earlier packets of its sequence, and
 * must be in the same file. So each such sequence has a file: the one in which it last cleared its
 * state. Packets without such a dependency go into the newest file.
 */
struct file_rotation {
	char *path; /* owned; NULL: there is no rotation */
	uid_t user; /* the user of the session */
	uint64_t max_bytes; /* of a file; UINT64_MAX: no limit */
	uint32_t period_ms; /* 0: size only */
	uint32_t keep; /* number of files to keep; 0: all */
	uint32_t last; /* number of the newest file */
	struct output_file newest;
	struct kept_file {
		uint32_t number;
		struct output_file file;
	} * kept; /* owned: the existing files, the oldest first; only with keep */
	size_t n_kept;
	uint32_t *files; /* owned: by sequence, the number of its file; 0: none */
	size_t n_files;
};

/* Initializes r, without a rotation if the config has none. Returns 0 or -ENOMEM. Call deinit in
 * both cases. */
int file_rotation_init(struct file_rotation *r, const Pb__TraceConfig *config, uid_t user);
void file_rotation_deinit(struct file_rotation *r);

/* Creates the next file, and removes the oldest one if there are more than `keep`. Returns 0 and
 * sets r->last to its number, or -errno and sets e. */
int file_rotation_create_next(struct file_rotation *r, struct err_text *e, int *ret_fd);
/* Removes the newest file, for a session that is refused. */
void file_rotation_remove_newest(struct file_rotation *r);

/* Returns the number of the file that has the state of a sequence, or 0 if none has. */
uint32_t file_rotation_get_sequence_file(const struct file_rotation *r, uint32_t sequence);
/* Sets the number of the file in which a sequence was last written. Has no effect if memory runs
 * out. */
void file_rotation_set_sequence_file(struct file_rotation *r, uint32_t sequence, uint32_t number);
