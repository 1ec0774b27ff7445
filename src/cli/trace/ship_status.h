/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* What sonda ship reports about itself to other users, without access to the spool: a file with
 * lines "KEY VALUE" of each of its two processes, in a directory of --status. */
#define SHIP_STATUS_COLLECTOR "collector"
#define SHIP_STATUS_UPLOADER "uploader"

struct ship_status {
	/* by the collector */
	uint64_t spool_bytes; /* of the traces that wait for their upload */
	uint64_t oldest_s; /* CLOCK_REALTIME: when the oldest was collected; 0: none waits */
	uint64_t dropped; /* traces, because the spool was full */
	/* by the uploader */
	uint64_t stored; /* traces that the bucket has got */
	uint64_t bad; /* traces that had changed in the spool */
	uint64_t failed; /* passes that ended with an error of the store */
};

/* name: one of the above. Returns 0 or -errno. */
int ship_status_write(const char *dir, const char *name, const struct ship_status *s);
/* Members of the other process are 0. Returns 0; -ENOENT if there is none; -EBADMSG; or -errno. */
int ship_status_read(const char *dir, const char *name, struct ship_status *ret);
