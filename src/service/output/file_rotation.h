/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"
#include "service/output/output_folder.h"

/*
 * TraceConfig.rotate: a session's trace as a row of files, each a trace of its own. output_path
 * "/a/trace.pftrace" gives /a/trace.000001.pftrace, /a/trace.000002.pftrace ...; numbers whose file
 * is there already are passed over, so that nothing is ever overwritten.
 *
 * A packet may need what an earlier one of its sequence said (interned names): then it belongs into
 * the same file. So each such sequence has a home: the file in which it began anew last. Packets
 * that need nothing go into the newest.
 */
struct file_rotation {
	char *path; /* owned; NULL: there is no rotation */
	uid_t asker; /* whose session it is */
	uint64_t max_bytes; /* of a file; UINT64_MAX: no limit */
	uint32_t period_ms; /* 0: size only */
	uint32_t keep; /* files; 0: all */
	uint32_t last; /* number of the newest file */
	struct output_file newest;
	struct kept_file {
		uint32_t number;
		struct output_file file;
	} * kept; /* owned: the files that are there, the oldest first; with keep */
	size_t n_kept;
	uint32_t *homes; /* owned: by sequence, the number of its file; 0: none */
	size_t n_homes;
};

/* Nothing, of a config without rotate. 0 or -ENOMEM; deinit is fine in any case. */
int file_rotation_init(struct file_rotation *r, const Pb__TraceConfig *config, uid_t asker);
void file_rotation_deinit(struct file_rotation *r);

/* Makes the next file, and removes the oldest beyond keep. 0 with the number in r->last, or -errno
 * with the reason in e. */
int file_rotation_open(struct file_rotation *r, struct err_text *e, int *ret_fd);
/* Removes the newest. */
void file_rotation_remove_newest(struct file_rotation *r);

/* The file of a sequence: 0 for none. Where memory is out, a home is not kept. */
uint32_t file_rotation_home(const struct file_rotation *r, uint32_t sequence);
void file_rotation_set_home(struct file_rotation *r, uint32_t sequence, uint32_t number);
