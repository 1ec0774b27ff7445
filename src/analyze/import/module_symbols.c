/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions and lines that a symbolizer added to the trace (ModuleSymbols). Each address of a file
 * has a set of symbols, the innermost inlined function first. Once all frames are there, those with
 * this address get the set; as in trace_processor, they keep their names.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/import/import_steps.h"
#include "analyze/store/columns.h"
#include "base/core/lower_bound.h"
#include "base/text/str.h"
#include "gen/fields.h"

#define BREAKPAD_ID_LEN 33 /* a build id of this length is text, all others are bytes */

void tokenize_module_symbols(struct import *im, const struct pb_field *f)
{
	if (!f->data || !budget_charge(&im->store->budget, sizeof(*f)))
		return;
	if (array_reserve(&im->module_symbols, &im->cap_module_symbols, im->n_module_symbols + 1,
			  sizeof(*f)) < 0)
		im->store->budget.error = -ENOMEM;
	else
		im->module_symbols[im->n_module_symbols++] = *f;
}

void module_symbols_deinit(struct import *im)
{
	freep(&im->module_symbols);
}

/* ---- frames by file and address ---- */

struct framed_address {
	uint32_t name, build_id; /* strings, of the mapping */
	int64_t rel_pc;
	uint32_t row; /* of the frame */
};

struct framed_addresses {
	struct framed_address *of; /* owned; sorted */
	size_t n;
};

static int compare_files_and_addresses(const void *a, const void *b)
{
	const struct framed_address *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->build_id != y->build_id)
		return x->build_id < y->build_id ? -1 : 1;
	return (x->rel_pc > y->rel_pc) - (x->rel_pc < y->rel_pc);
}

static bool list_frames(struct import *im, struct framed_addresses *ret)
{
	struct table *frames = import_table(im, TABLE_STACK_FRAME);
	struct table *mappings = import_table(im, TABLE_STACK_MAPPING);

	ret->n = frames->rows;
	if (!budget_charge(&im->store->budget, ret->n * sizeof(*ret->of)))
		return false;
	ret->of = malloc((ret->n + 1) * sizeof(*ret->of));
	if (!ret->of) {
		im->store->budget.error = -ENOMEM;
		return false;
	}
	for (uint32_t i = 0; i < ret->n; i++) {
		uint32_t mapping = table_u32(frames, STACK_FRAME_MAPPING, i);

		ret->of[i] = (struct framed_address){
			.name = table_u32(mappings, STACK_MAPPING_NAME, mapping),
			.build_id = table_u32(mappings, STACK_MAPPING_BUILD_ID, mapping),
			.rel_pc = table_i64(frames, STACK_FRAME_REL_PC, i),
			.row = i};
	}
	if (ret->n)
		qsort(ret->of, ret->n, sizeof(*ret->of), compare_files_and_addresses);
	return true;
}

/* Returns the index of the first frame that is not before the key. */
static size_t find_first_not_before(const struct framed_addresses *f,
				    const struct framed_address *key)
{
	return LOWER_BOUND(i, 0, f->n, compare_files_and_addresses(&f->of[i], key) < 0);
}

/* ---- symbols ---- */

static void module_symbols_add_line(struct import *im, uint32_t set, const struct pb_field *line)
{
	struct table *t = import_table(im, TABLE_STACK_SYMBOL);
	struct pb_field name = {0}, source = {0};
	uint64_t number = 0;
	uint32_t row;

	pb_read(line, PB_TO(PB_LINE_FUNCTION_NAME, &name), PB_TO(PB_LINE_SOURCE_FILE_NAME, &source),
		PB_TO(PB_LINE_LINE_NUMBER, &number));
	row = table_append(t);
	table_set_u32(t, STACK_SYMBOL_SET, row, set);
	table_set_u32(t, STACK_SYMBOL_NAME, row, import_intern_text(im, &name));
	table_set_u32(t, STACK_SYMBOL_SOURCE, row, import_intern_text(im, &source));
	table_set_u32(t, STACK_SYMBOL_LINE, row, number ? (uint32_t)number : NULL_U32);
}

static void module_symbols_add_address(struct import *im, const struct framed_addresses *frames,
				       struct framed_address *key, const struct pb_field *message)
{
	uint32_t set = import_table(im, TABLE_STACK_SYMBOL)->rows;
	bool has_lines = false;
	uint64_t address = 0;
	size_t at;

	pb_read(message, PB_TO(PB_ADDRESS_SYMBOLS_ADDRESS, &address));
	pb_for_each (f, message)
		if (f.id == PB_ADDRESS_SYMBOLS_LINES && f.data) {
			module_symbols_add_line(im, set, &f);
			has_lines = true;
		}
	if (!has_lines)
		return;
	key->rel_pc = (int64_t)address;
	at = find_first_not_before(frames, key);
	if (at == frames->n || compare_files_and_addresses(&frames->of[at], key) != 0)
		stats_add(im->store, STAT_STACKPROFILE_INVALID_FRAME_ID, STAT_NO_INDEX, 1);
	for (; at < frames->n && compare_files_and_addresses(&frames->of[at], key) == 0; at++)
		table_set_u32(import_table(im, TABLE_STACK_FRAME), STACK_FRAME_SYMBOL_SET,
			      frames->of[at].row, set);
}

static uint32_t module_build_id(struct import *im, const struct pb_field *f)
{
	struct strbuf text = {0};
	uint32_t id;

	if (f->len == BREAKPAD_ID_LEN)
		return import_intern_text(im, f);
	for (size_t i = 0; i < f->len; i++)
		strbuf_printf(&text, "%02x", f->data[i]);
	id = strings_intern_buf(&im->store->strings, &text);
	strbuf_deinit(&text);
	return id;
}

static void module_symbols_add(struct import *im, const struct framed_addresses *frames,
			       const struct pb_field *message)
{
	struct pb_field path = {0}, build_id = {0};
	struct framed_address key = {.rel_pc = INT64_MIN};
	size_t at;

	pb_read(message, PB_TO(PB_MODULE_SYMBOLS_PATH, &path),
		PB_TO(PB_MODULE_SYMBOLS_BUILD_ID, &build_id));
	key.name = strings_intern(&im->store->strings, path.data ? (const char *)path.data : "",
				  path.len);
	key.build_id = module_build_id(im, &build_id);
	at = find_first_not_before(frames, &key);
	if (at == frames->n || frames->of[at].name != key.name ||
	    frames->of[at].build_id != key.build_id) {
		stats_add(im->store, STAT_STACKPROFILE_INVALID_MAPPING_ID, STAT_NO_INDEX, 1);
		return;
	}
	pb_for_each (f, message)
		if (f.id == PB_MODULE_SYMBOLS_ADDRESS_SYMBOLS && f.data)
			module_symbols_add_address(im, frames, &key, &f);
}

void module_symbols_finish(struct import *im)
{
	struct framed_addresses frames = {0};

	if (im->n_module_symbols && list_frames(im, &frames))
		for (size_t i = 0; i < im->n_module_symbols && !im->store->budget.error; i++)
			module_symbols_add(im, &frames, &im->module_symbols[i]);
	free(frames.of);
}
