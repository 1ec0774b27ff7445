/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "analyze/import/import.h"
#include "analyze/store/store.h"

/*
 * The tables of large traces as files, so that the second question about a trace does not import
 * it again. They are in $XDG_CACHE_HOME/sonda or ~/.cache/sonda, which only this user may access;
 * files of others, or with other permissions, are ignored. A file belongs to one trace and one
 * build of this program; both are identified by device, inode, size and times. If the files exceed
 * TRACE_CACHE_BYTES, the least recently used ones are removed.
 */

#define TRACE_CACHE_BYTES (UINT64_C(1) << 30)
#define TRACE_CACHE_MIN                                                                            \
	(UINT64_C(8) << 20) /* bytes of a trace; smaller ones are imported quickly */

/* The environment variable that switches the cache off with the value "off". */
#define TRACE_CACHE_VARIABLE "SONDA_CACHE"

/* Fills a store that store_init() made with the tables of an open trace. st: the status of fd.
 * Returns true and sets *ret; or false, and the store is again as store_init() makes it. Removes a
 * cache file that does not match the trace or this program. */
bool trace_cache_load(struct store *s, int fd, const struct stat *st, struct import_result *ret);

/* Saves the tables of an imported trace, unless the trace is small, has changed since st, or was
 * written within the last seconds. Errors are ignored: the next verb imports the trace again. */
void trace_cache_save(const struct store *s, int fd, const struct stat *st,
		      const struct import_result *result);
