/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/store/arg_sets.h"
#include "base/text/str.h"

/*
 * Writes the arguments of nested messages. The key of an argument is the path to it.
 *
 *	key debug.list[0].name	flat_key debug.list.name
 */
struct arg_writer {
	struct store *store;
	struct arg_builder *out; /* borrowed */
	const struct arg_builder
		*earlier; /* borrowed: arguments that `out` is added to; NULL: none */
	struct strbuf key, flat; /* owned: the path */
};

/* Lengths of the path before a part was added. */
struct arg_mark {
	size_t key, flat;
};

void arg_writer_init(struct arg_writer *w, struct store *s, struct arg_builder *out);
void arg_writer_deinit(struct arg_writer *w);

/* Add a part to the path: a name or an index; the index is in `key` only. clean: '.', '[' and ']'
 * in the name become '_', so that paths stay unique. arg_writer_end_key() removes the part. */
struct arg_mark arg_writer_enter(struct arg_writer *w, const void *name, size_t len, bool clean);
struct arg_mark arg_writer_enter_index(struct arg_writer *w, unsigned index);
void arg_writer_end_key(struct arg_writer *w, struct arg_mark mark);
/* Returns the index after the last element of the array with the current path, among the arguments
 * and the earlier ones: an array that occurs again is continued. */
unsigned arg_writer_next_index(const struct arg_writer *w);

/* Add an argument with the current path. */
void arg_writer_int(struct arg_writer *w, enum arg_type type, int64_t v);
void arg_writer_real(struct arg_writer *w, double v);
void arg_writer_text(struct arg_writer *w, const void *s, size_t len);
void arg_writer_buf(struct arg_writer *w, const struct strbuf *b);
