/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes rows of call stacks. Equal frames and call sites have one row. As in trace_processor, a
 * mapping has a row for each process and each iid; equal mappings without a range (the kernel), or
 * without a process, have one row. Rows have two kinds of keys:
 *
 *	state, process, iid	gives the row, so that an interned message is decoded once
 *	contents		gives the row of equal contents
 */
#include "analyze/import/call_stacks.h"

#include "analyze/import/remembered.h"
#include "analyze/store/columns.h"
#include "gen/fields.h"

static void call_stacks_count_stat(struct import *im, enum stat_number stat)
{
	stats_add(im->store, stat, STAT_NO_INDEX, 1);
}

/* Counts an iid that is not in the interned data. stat: of its table. */
static void count_unknown_iid(struct import *im, enum stat_number stat)
{
	call_stacks_count_stat(im, STAT_INTERNED_DATA_TOKENIZER_ERRORS);
	call_stacks_count_stat(im, stat);
}

/* ---- mappings ---- */

struct mapping {
	uint64_t build_id, exact_offset, start_offset, start, end, load_bias;
	uint32_t name;
};

/* Appends a part to a path, with a '/' before each part, including the first. */
static void call_stacks_add_path_part(struct strbuf *path, const char *part)
{
	if (*part && *part != '/')
		strbuf_putc(path, '/');
	strbuf_puts(path, part);
}

static uint32_t intern_build_id_as_hex(struct import *im, uint32_t string)
{
	const struct interned_string *bytes = &im->store->strings.of[string];
	struct strbuf text = {0};
	uint32_t id;

	for (uint32_t i = 0; i < bytes->len; i++)
		strbuf_printf(&text, "%02x", (uint8_t)bytes->s[i]);
	id = strings_intern_buf(&im->store->strings, &text);
	strbuf_deinit(&text);
	return id;
}

/* Reads a mapping. Its path ends before the first part with an unknown iid. Returns false, and
 * counts it, if the iid of the build id is unknown. */
static bool read_mapping(struct import *im, struct machine *m, uint32_t state,
			 const struct pb_field *message, struct mapping *ret)
{
	struct strbuf path = {0};
	bool ends = false;
	uint32_t string;

	*ret = (struct mapping){.build_id = 0};
	pb_read(message, PB_TO(PB_MAPPING_BUILD_ID, &ret->build_id),
		PB_TO(PB_MAPPING_EXACT_OFFSET, &ret->exact_offset),
		PB_TO(PB_MAPPING_START_OFFSET, &ret->start_offset),
		PB_TO(PB_MAPPING_START, &ret->start), PB_TO(PB_MAPPING_END, &ret->end),
		PB_TO(PB_MAPPING_LOAD_BIAS, &ret->load_bias));
	pb_for_each (f, message) {
		if (f.id != PB_MAPPING_PATH_STRING_IDS)
			continue;
		string = sequences_string(&m->sequences, state, PB_INTERNED_DATA_MAPPING_PATHS,
					  f.u64);
		if (string == NULL_U32 && !ends)
			count_unknown_iid(im, STAT_STACKPROFILE_INVALID_STRING_ID);
		ends |= string == NULL_U32;
		if (!ends)
			call_stacks_add_path_part(&path, strings_get(&im->store->strings, string));
	}
	ret->name = strings_intern_buf(&im->store->strings, &path);
	strbuf_deinit(&path);
	string = ret->build_id ? sequences_string(&m->sequences, state, PB_INTERNED_DATA_BUILD_IDS,
						  ret->build_id)
			       : 0;
	if (string == NULL_U32)
		count_unknown_iid(im, STAT_STACKPROFILE_INVALID_STRING_ID);
	else
		ret->build_id = intern_build_id_as_hex(im, string);
	return string != NULL_U32;
}

static uint32_t add_mapping_row(struct import *im, const struct mapping *m)
{
	struct table *t = import_table(im, TABLE_STACK_MAPPING);
	uint32_t row = table_append(t);

	table_set_u32(t, STACK_MAPPING_BUILD_ID, row, (uint32_t)m->build_id);
	table_set_i64(t, STACK_MAPPING_EXACT_OFFSET, row, (int64_t)m->exact_offset);
	table_set_i64(t, STACK_MAPPING_START_OFFSET, row, (int64_t)m->start_offset);
	table_set_i64(t, STACK_MAPPING_START, row, (int64_t)m->start);
	table_set_i64(t, STACK_MAPPING_END, row, (int64_t)m->end);
	table_set_i64(t, STACK_MAPPING_LOAD_BIAS, row, (int64_t)m->load_bias);
	table_set_u32(t, STACK_MAPPING_NAME, row, m->name);
	return row;
}

static struct row_key interned_key(const struct stack_owner *o, enum row_kind kind, uint64_t iid)
{
	return (struct row_key){
		kind, {o->m->row, sequences_state(&o->m->sequences, o->state)->base, iid, o->upid}};
}

/* Sets *ret to the message of an iid. Returns false, and counts it, for an unknown iid. */
static bool find_interned_message(struct import *im, const struct stack_owner *o, uint32_t table,
				  uint64_t iid, enum stat_number missing, struct pb_field *ret)
{
	if (sequences_has(&o->m->sequences, o->state, table, iid))
		return sequences_message(&o->m->sequences, o->state, table, iid, ret);
	count_unknown_iid(im, missing);
	return false;
}

/* Returns the row of a mapping, which all equal mappings share; adds it if needed. */
static uint32_t find_or_add_mapping(struct import *im, const struct mapping *m)
{
	const struct row_key key = {ROW_MAPPING,
				    {m->build_id, m->exact_offset, m->start_offset, m->start,
				     m->end, m->load_bias, m->name}};
	uint32_t row = row_keys_find(im, &key);

	return row != NULL_U32 ? row : row_keys_add(im, &key, add_mapping_row(im, m));
}

static uint32_t interned_mapping(struct import *im, const struct stack_owner *o, uint64_t iid)
{
	const struct row_key key = interned_key(o, ROW_INTERNED_MAPPING, iid);
	uint32_t row = row_keys_find(im, &key);
	struct mapping mapping;
	struct pb_field f;

	if (row != NULL_U32)
		return row;
	if (!find_interned_message(im, o, PB_INTERNED_DATA_MAPPINGS, iid,
				   STAT_STACKPROFILE_INVALID_MAPPING_ID, &f) ||
	    !read_mapping(im, o->m, o->state, &f, &mapping))
		return NULL_U32;
	return row_keys_add(im, &key,
			    mapping.start == mapping.end || o->upid == NULL_U32
				    ? find_or_add_mapping(im, &mapping)
				    : add_mapping_row(im, &mapping));
}

/* Returns the row of the pseudo mapping of this name, to which functions without an address
 * belong. */
static uint32_t pseudo_mapping(struct import *im, const char *name)
{
	struct strings *s = &im->store->strings;
	const struct mapping m = {.build_id = strings_intern_z(s, ""),
				  .end = UINT64_MAX,
				  .name = strings_intern_z(s, name)};

	return find_or_add_mapping(im, &m);
}

/* ---- frames and call sites ---- */

struct frame {
	uint32_t name, source, type; /* strings or NULL_U32 */
	uint32_t line; /* NULL_U32: unknown */
	uint64_t rel_pc;
};

static const struct frame no_frame = {
	.name = NULL_U32, .source = NULL_U32, .type = NULL_U32, .line = NULL_U32};

static void call_stacks_add_symbol(struct import *im, uint32_t row, const struct frame *f)
{
	struct table *t = import_table(im, TABLE_STACK_SYMBOL);
	uint32_t symbol = table_append(t);

	table_set_u32(t, STACK_SYMBOL_SET, symbol, symbol);
	table_set_u32(t, STACK_SYMBOL_NAME, symbol, f->name);
	table_set_u32(t, STACK_SYMBOL_SOURCE, symbol, f->source);
	table_set_u32(t, STACK_SYMBOL_LINE, symbol, f->line);
	table_set_u32(import_table(im, TABLE_STACK_FRAME), STACK_FRAME_SYMBOL_SET, row, symbol);
}

static uint32_t add_frame_row(struct import *im, uint32_t mapping, const struct frame *f)
{
	struct table *t = import_table(im, TABLE_STACK_FRAME);
	uint32_t row = table_append(t);

	table_set_u32(t, STACK_FRAME_NAME, row, f->name);
	table_set_u32(t, STACK_FRAME_MAPPING, row, mapping);
	table_set_i64(t, STACK_FRAME_REL_PC, row, (int64_t)f->rel_pc);
	table_set_u32(t, STACK_FRAME_SYMBOL_SET, row, NULL_U32);
	table_set_u32(t, STACK_FRAME_DEOBFUSCATED, row, NULL_U32);
	table_set_u32(t, STACK_FRAME_TYPE, row, NULL_U32);
	return row;
}

/* Returns the row of a frame at an address of a mapping, added at its first use. The first frame
 * with this address determines the source. */
static uint32_t get_frame_row(struct import *im, uint32_t mapping, const struct frame *f)
{
	const struct row_key key = {ROW_FRAME, {mapping, f->rel_pc, f->name}};
	uint32_t row = row_keys_find(im, &key);

	if (row != NULL_U32)
		return row;
	row = add_frame_row(im, mapping, f);
	if (f->source != NULL_U32 || f->line != NULL_U32)
		call_stacks_add_symbol(im, row, f);
	return row_keys_add(im, &key, row);
}

/* Returns the row of a frame of a function without an address, added at its first use. */
static uint32_t function_frame_row(struct import *im, uint32_t mapping, struct frame f)
{
	const struct row_key key = {ROW_FUNCTION, {mapping, f.name, f.source, f.line}};
	uint32_t row = row_keys_find(im, &key);

	if (row != NULL_U32)
		return row;
	f.rel_pc = 0;
	row = add_frame_row(im, mapping, &f);
	call_stacks_add_symbol(im, row, &f);
	return row_keys_add(im, &key, row);
}

/* Sets *ret to an interned string; NULL_U32 for iid 0. Returns false, and counts it, for an unknown
 * iid. */
static bool read_interned_string(struct import *im, const struct stack_owner *o, uint32_t table,
				 uint64_t iid, uint32_t *ret)
{
	*ret = iid ? sequences_string(&o->m->sequences, o->state, table, iid) : NULL_U32;
	if (!iid || *ret != NULL_U32)
		return true;
	count_unknown_iid(im, STAT_STACKPROFILE_INVALID_STRING_ID);
	return false;
}

struct interned_ids {
	uint64_t name, source, mapping;
};

static uint32_t name_of_frame_kind(struct import *im, uint64_t kind)
{
	static const char *const types[] = {NULL,  "native", "kernel", "interpreted",
					    "jit", "gc",     "runtime"};

	return kind && kind < ARRAY_SIZE(types) ? strings_intern_z(&im->store->strings, types[kind])
						: NULL_U32;
}

static void read_frame(struct import *im, const struct pb_field *message, struct frame *ret,
		       struct interned_ids *iids)
{
	struct pb_field kind_text = {0};
	uint64_t kind = 0;

	*ret = no_frame;
	*iids = (struct interned_ids){.name = 0};
	pb_read(message, PB_TO(PB_FRAME_FUNCTION_NAME_ID, &iids->name),
		PB_TO(PB_FRAME_MAPPING_ID, &iids->mapping), PB_TO(PB_FRAME_REL_PC, &ret->rel_pc),
		PB_TO(PB_FRAME_SOURCE_PATH_IID, &iids->source),
		PB_TO(PB_FRAME_LINE_NUMBER, &ret->line), PB_TO(PB_FRAME_KIND, &kind),
		PB_TO(PB_FRAME_KIND_STR, &kind_text));
	ret->type =
		kind_text.id ? import_intern_text(im, &kind_text) : name_of_frame_kind(im, kind);
}

/* Returns the row of an interned frame, made at its first use; NULL_U32, which is counted, if the
 * frame or something that it refers to is missing. */
static uint32_t interned_frame(struct import *im, const struct stack_owner *o, uint64_t iid)
{
	const struct row_key key = interned_key(o, ROW_INTERNED_FRAME, iid);
	uint32_t row = row_keys_find(im, &key), mapping;
	struct interned_ids iids;
	struct pb_field message;
	struct frame frame;

	if (row != NULL_U32)
		return row;
	if (!find_interned_message(im, o, PB_INTERNED_DATA_FRAMES, iid,
				   STAT_STACKPROFILE_INVALID_FRAME_ID, &message))
		return NULL_U32;
	read_frame(im, &message, &frame, &iids);
	mapping = iids.mapping ? interned_mapping(im, o, iids.mapping) : 0;
	if (mapping == NULL_U32 ||
	    !read_interned_string(im, o, PB_INTERNED_DATA_FUNCTION_NAMES, iids.name, &frame.name) ||
	    !read_interned_string(im, o, PB_INTERNED_DATA_SOURCE_PATHS, iids.source, &frame.source))
		return NULL_U32;
	row = iids.mapping ? get_frame_row(im, mapping, &frame)
			   : function_frame_row(im, pseudo_mapping(im, ""), frame);
	if (frame.type != NULL_U32)
		table_set_u32(import_table(im, TABLE_STACK_FRAME), STACK_FRAME_TYPE, row,
			      frame.type);
	return row_keys_add(im, &key, row);
}

static uint32_t inline_frame(struct import *im, uint32_t mapping, const struct pb_field *message)
{
	struct pb_field name = {0}, source = {0};
	struct frame frame = no_frame;

	pb_read(message, PB_TO(PB_INLINE_CALLSTACK_FRAME_FUNCTION_NAME, &name),
		PB_TO(PB_INLINE_CALLSTACK_FRAME_SOURCE_FILE, &source),
		PB_TO(PB_INLINE_CALLSTACK_FRAME_LINE_NUMBER, &frame.line));
	frame.name = import_intern_text(im, &name);
	frame.source = import_intern_text(im, &source);
	return function_frame_row(im, mapping, frame);
}

static uint32_t find_or_add_callsite(struct import *im, uint32_t parent, uint32_t frame,
				     uint32_t depth)
{
	const struct row_key key = {ROW_CALLSITE, {parent, frame}};
	struct table *t = import_table(im, TABLE_STACK_CALLSITE);
	uint32_t row = row_keys_find(im, &key);

	if (row != NULL_U32)
		return row;
	row = table_append(t);
	table_set_u32(t, STACK_CALLSITE_DEPTH, row, depth);
	table_set_u32(t, STACK_CALLSITE_PARENT, row, parent);
	table_set_u32(t, STACK_CALLSITE_FRAME, row, frame);
	return row_keys_add(im, &key, row);
}

uint32_t call_stack_get_interned(struct import *im, const struct stack_owner *o, uint64_t iid)
{
	const struct row_key key = interned_key(o, ROW_CALLSTACK, iid);
	uint32_t site = row_keys_find(im, &key), depth = 0;
	struct pb_field message;

	if (site != NULL_U32 ||
	    !find_interned_message(im, o, PB_INTERNED_DATA_CALLSTACKS, iid,
				   STAT_STACKPROFILE_INVALID_CALLSTACK_ID, &message))
		return site;
	pb_for_each (f, &message) {
		uint32_t frame;

		if (f.id != PB_CALLSTACK_FRAME_IDS || f.data)
			continue;
		frame = interned_frame(im, o, f.u64);
		if (frame == NULL_U32)
			return NULL_U32;
		site = find_or_add_callsite(im, site, frame, depth++);
	}
	if (site == NULL_U32)
		call_stacks_count_stat(im, STAT_STACKPROFILE_EMPTY_CALLSTACK);
	else
		row_keys_add(im, &key, site);
	return site;
}

uint32_t call_stack_add_inline(struct import *im, const struct pb_field *message,
			       const char *mapping)
{
	uint32_t site = NULL_U32, depth = 0;

	pb_for_each (f, message)
		if (f.id == PB_INLINE_CALLSTACK_FRAMES && f.data)
			site = find_or_add_callsite(
				im, site, inline_frame(im, pseudo_mapping(im, mapping), &f),
				depth++);
	return site;
}
