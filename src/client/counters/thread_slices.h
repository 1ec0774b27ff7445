/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct pb_enc;
struct writer;

/*
 * Slices of threads that a data source writes on a track of its own below that of each thread.
 * Format: perfetto.protos.TrackDescriptor, InternedData.
 */

/* Part of the uuid of the source's tracks. */
enum thread_slices_source {
	THREAD_SLICES_OF_CALLS = 61,
	THREAD_SLICES_OF_WAITS = 62,
};

/* Returns the uuid of the source's track of a thread. */
uint64_t thread_slices_track(enum thread_slices_source source, uint32_t pid, uint32_t tid);

/* Writes the descriptors of the process, of the thread, and of the source's track below the thread,
 * which is called `name`. ns: CLOCK_BOOTTIME, a time at which the thread existed. comm: the name of
 * the thread; NULL: it is left out. */
void thread_slices_describe(struct writer *w, uint64_t ns, enum thread_slices_source source,
			    const char *name, uint32_t pid, uint32_t tid, const char *comm);

/* Writes InternedData with the n names of debug annotations; their iids are 1 to n. */
void thread_slices_put_annotation_names(struct pb_enc *e, const char *const *names, unsigned n);
