/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cut/cut_reader.h"

/* The content of a part of a trace so far, and lists of parts by their times. */

/* The times of a part, both included, in the trace's clock. Parts do not overlap. */
struct cut_range {
	int64_t first, last;
};

/* Of a sequence. */
struct cut_view {
	uint64_t generation, defaults_version;
	size_t interned; /* bytes */
	bool valid;
	struct cut_sums sums; /* since the last clear */
};

/* Of a CPU. */
struct cut_cpu_view {
	bool had_bundle, had_columns;
	uint64_t last; /* the last event's time, as written */
};

struct cut_cpu_views {
	struct cut_cpu_view *of; /* owned, by CPU */
	size_t n, cap;
};

struct cut_part {
	struct cut_range range;
	size_t number; /* in the order of the first packets of the parts */
	size_t n_state; /* how many of the packets for all parts it has */
	struct cut_view *views; /* owned, by the sequence's number */
	size_t n_views, cap_views;
	struct cut_cpu_views cpus[CUT_MACHINES_MAX];
	size_t n_descriptors[CUT_MACHINES_MAX];
};

/* Returns NULL if out of memory. Free with cut_part_free(), which does nothing for NULL. */
struct cut_part *cut_part_new(const struct cut_range *range, size_t number);
void cut_part_free(struct cut_part *part);

/* Return the part's state of a sequence or a CPU, created if needed; NULL if out of memory. The
 * pointer is valid until the next call. */
struct cut_view *cut_part_view(struct cut_part *part, const struct cut_sequence *s);
struct cut_cpu_view *cut_part_cpu(struct cut_part *part, size_t machine, uint32_t cpu);

/* By time. The list owns `of`, but not the parts. */
struct cut_part_list {
	struct cut_part **of;
	size_t n, cap;
};

/* Returns the index of the first part that ends at or after a time. */
size_t cut_part_list_find_first(const struct cut_part_list *l, int64_t ts);
/* Returns the part of a time, or NULL. */
struct cut_part *cut_part_find(const struct cut_part_list *l, int64_t ts);
/* Adds a part that the list does not have. Returns 0 or -ENOMEM. */
int cut_part_add(struct cut_part_list *l, struct cut_part *part);
