/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

#include "base/core/err.h"
#include "cli/ship/ship_options.h"

/*
 * Merges the tables of a day, of which each trace has a file, into few large files:
 *
 *	v1/manifests/date=DAY/UUID.json			a trace
 *	v1/TABLE/date=DAY/machine=NAME/UUID.parquet	its tables
 *	merged/v1/TABLE/date=DAY/all/MERGED-N.parquet	tables of many traces, with the machine as a column
 *	merged/v1/manifests/date=DAY/MERGED.json	which traces, and which files: stored last
 *
 * A trace is merged once: the traces of a manifest of merged files are not merged again, and MERGED
 * is made of the traces and the hashes of their files. What a crash after each step leaves:
 *
 *	1 files of no manifest are removed from merged/
 *	2 the files of each table are merged and read again	   files that no manifest names
 *	3 the merged files are stored				   the same; step 1 of the next run
 *								   removes or replaces them
 *	4 the manifest is stored				   the day is merged
 *	5 --remove: all merged files are there, with their	   the next run removes the others
 *	  hashes; then the tables of the merged traces are
 *	  removed from v1/
 */

/* Returns 0; -EAGAIN if some traces could not be merged, which was logged; -EINTR if *stop was set;
 * or -errno and sets e. */
int ship_compact(const struct ship_options *o, const volatile sig_atomic_t *stop,
		 struct err_text *e);
