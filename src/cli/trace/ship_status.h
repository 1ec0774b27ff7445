/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* What sonda ship reports about itself to users without access to the spool. Each of its two
 * processes writes a file with lines "KEY VALUE" into the directory of --status. */
#define SHIP_STATUS_COLLECTOR "collector"
#define SHIP_STATUS_UPLOADER "uploader"

struct ship_status {
	/* by the collector */
	uint64_t spool_bytes; /* of the traces that wait to be uploaded */
	uint64_t oldest_s; /* CLOCK_REALTIME: when the oldest was collected; 0: none waits */
	uint64_t dropped; /* traces, because the spool was full */
	/* by the uploader */
	uint64_t stored; /* traces that were uploaded */
	uint64_t bad; /* traces that had changed in the spool */
	uint64_t failed; /* passes that ended with an error of the store */
};

/* name: one of the above. Returns 0 or -errno. */
int ship_status_write(const char *dir, const char *name, const struct ship_status *s);
/* Members that the other process reports are 0. Returns 0; -ENOENT if the file does not exist;
 * -EBADMSG if it is invalid; or -errno. */
int ship_status_read(const char *dir, const char *name, struct ship_status *ret);
