/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "analyze/import/import.h"
#include "analyze/store/store.h"

/*
 * The tables of large traces as files, so that the second question about a trace does not import it
 * again. They are in $XDG_CACHE_HOME/sonda or ~/.cache/sonda, which only this user may use; files
 * of others, or with other permissions, are ignored. A file is of one trace and one program: both
 * are known by device, inode, size and times. Of all files, at most TRACE_CACHE_BYTES are kept;
 * those that were not used for the longest time are removed first.
 */

#define TRACE_CACHE_BYTES (UINT64_C(1) << 30)
#define TRACE_CACHE_MIN                                                                            \
	(UINT64_C(8) << 20) /* bytes of a trace; smaller ones are imported quickly */

/* The environment variable that switches the cache off with the value "off". */
#define TRACE_CACHE_VARIABLE "SONDA_CACHE"

/* Fills a store that store_init() made with the tables of an open trace. st: of fd. Returns true
 * and sets *ret; or false, and the store is again as store_init() makes it. */
bool trace_cache_load(struct store *s, int fd, const struct stat *st, struct import_result *ret);

/* Keeps the tables of an imported trace, if it is still the same file. Errors are ignored: the next
 * verb imports the trace again. */
void trace_cache_save(const struct store *s, int fd, const struct stat *st,
		      const struct import_result *result);
