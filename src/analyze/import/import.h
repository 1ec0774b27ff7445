/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"

/* What an import could not use, beyond the table `stats`. */
struct import_result {
	bool cut_off; /* the file ends inside a packet */
	uint64_t undecodable; /* packets with an error; fields before it are used */
	uint64_t not_unpacked; /* compressed packets that are invalid, nested or too large */
	const uint8_t *config; /* the first TraceConfig, of the store's bytes; NULL: none */
	size_t config_len;
};

/*
 * Imports a serialized Trace into the store, which store_init() made and which keeps the bytes,
 * also on failure. Returns 0; -EBADMSG: no Perfetto trace; -EFBIG: over the store's limit; -ENOMEM.
 * After an error the store holds a part of the trace.
 */
int trace_import(struct store *s, struct trace_bytes bytes, struct import_result *ret);
