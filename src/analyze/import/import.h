/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"

/* Results of an import that are not in the tables. */
struct import_result {
	bool cut_off; /* the file ends inside a packet */
	/* Packets, bundles and descriptors with an error. The fields before the error are used. */
	uint64_t undecodable;
	uint64_t not_unpacked; /* compressed packets: (partly) invalid, nested or too large */
	const uint8_t *config; /* the first TraceConfig, valid as long as the store; NULL: none */
	size_t config_len;
};

/* Imports a serialized Trace into a store that store_init() made. The store takes over the bytes,
 * even on failure. Returns 0; -EBADMSG: no Perfetto trace; -EFBIG: over the store's limit; -ENOMEM.
 * After an error the store has part of the trace. Sets *ret in any case. */
int trace_import(struct store *s, struct trace_bytes bytes, struct import_result *ret);

/* Imports a file, or all bytes of a pipe. fd stays the caller's. Returns what trace_import()
 * returns; -EISDIR for a directory; or -errno of fstat(2), read(2) or mmap(2). */
int trace_import_file(struct store *s, int fd, struct import_result *ret);
