/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/stacks/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/store/columns.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"

/* Field numbers of profile.proto. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14
};
enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_STR = 2 };
enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_MEMORY_START = 2,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILE_OFFSET = 4,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7
};
enum location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4
};
enum line_field { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4
};

struct pprof_text {
	uint64_t index;
	size_t len;
	bool is_code; /* the name of code without a frame */
	UT_hash_handle hh;
	char text[];
};

/* ---- texts ---- */

/* Returns a text, which is added at its first use; NULL if out of memory. */
static struct pprof_text *pprof_intern(struct pprof *p, const void *text, size_t len)
{
	struct pprof_text *t;

	HASH_FIND(hh, p->texts, text, (unsigned)len, t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t) + len + 1);
	if (t) {
		memcpy(t->text, text, len);
		t->len = len;
		t->index = HASH_COUNT(p->texts);
		HASH_ADD(hh, p->texts, text, (unsigned)len, t);
		if (!t->hh.tbl)
			freep(&t);
	}
	p->failed |= !t;
	return t;
}

static uint64_t pprof_text_index(struct pprof *p, const char *text)
{
	const struct pprof_text *t = pprof_intern(p, text, strlen(text));

	return t ? t->index : 0;
}

static uint64_t pprof_string_index(struct pprof *p, uint32_t string)
{
	return pprof_text_index(p, strings_get(&p->s->strings, string));
}

/* ---- samples ---- */

int pprof_init(struct pprof *p, const struct store *s, const struct code *code)
{
	*p = (struct pprof){.s = s, .code = code};
	p->has_frame = calloc(s->tables[TABLE_STACK_FRAME].rows + 1, sizeof(*p->has_frame));
	if (!p->has_frame || pb_mem_init(&p->out) < 0) {
		free(p->has_frame);
		return -ENOMEM;
	}
	pprof_text_index(p, "");
	return 0;
}

void pprof_deinit(struct pprof *p)
{
	pb_mem_deinit(&p->out);
	free(p->has_frame);
	HASH_FREE(p->texts);
}

void pprof_add_value_type(struct pprof *p, const char *type, const char *unit)
{
	pb_enc_open(&p->out.enc, PROFILE_SAMPLE_TYPE);
	pb_enc_u64(&p->out.enc, VALUE_TYPE_TYPE, pprof_text_index(p, type));
	pb_enc_u64(&p->out.enc, VALUE_TYPE_UNIT, pprof_text_index(p, unit));
	pb_enc_close(&p->out.enc);
}

void pprof_begin_sample(struct pprof *p)
{
	pb_enc_open(&p->out.enc, PROFILE_SAMPLE);
}

void pprof_put_frame(struct pprof *p, uint32_t row)
{
	if (row >= p->s->tables[TABLE_STACK_FRAME].rows)
		return;
	p->has_frame[row] = true;
	pb_enc_u64(&p->out.enc, SAMPLE_LOCATION_ID, (uint64_t)row + 1);
}

void pprof_put_callsite(struct pprof *p, uint32_t row)
{
	const struct table *sites = &p->s->tables[TABLE_STACK_CALLSITE];

	for (; row < sites->rows; row = table_u32(sites, STACK_CALLSITE_PARENT, row))
		pprof_put_frame(p, table_u32(sites, STACK_CALLSITE_FRAME, row));
}

/* Returns the id of the location and the function of a name: they come after those of all
 * frames. */
static uint64_t location_of_name(const struct pprof *p, const struct pprof_text *t)
{
	return (uint64_t)p->s->tables[TABLE_STACK_FRAME].rows + 1 + t->index;
}

static uint64_t function_of_name(const struct pprof *p, const struct pprof_text *t)
{
	return (uint64_t)p->code->n + 1 + t->index;
}

void pprof_put_name(struct pprof *p, const void *name, size_t len)
{
	struct pprof_text *t = pprof_intern(p, name, len);

	if (!t)
		return;
	t->is_code = true;
	pb_enc_u64(&p->out.enc, SAMPLE_LOCATION_ID, location_of_name(p, t));
}

void pprof_put_value(struct pprof *p, int64_t value)
{
	pb_enc_i64(&p->out.enc, SAMPLE_VALUE, value);
}

void pprof_put_label(struct pprof *p, const char *key, const char *text)
{
	pb_enc_open(&p->out.enc, SAMPLE_LABEL);
	pb_enc_u64(&p->out.enc, LABEL_KEY, pprof_text_index(p, key));
	pb_enc_u64(&p->out.enc, LABEL_STR, pprof_text_index(p, text));
	pb_enc_close(&p->out.enc);
}

void pprof_end_sample(struct pprof *p)
{
	pb_enc_close(&p->out.enc);
}

void pprof_set_trace(struct pprof *p, const char *default_type)
{
	pb_enc_i64(&p->out.enc, PROFILE_DURATION_NANOS, p->s->end_ts - p->s->start_ts);
	pb_enc_u64(&p->out.enc, PROFILE_DEFAULT_SAMPLE_TYPE, pprof_text_index(p, default_type));
}

/* ---- what samples refer to ---- */

static void put_mapping(struct pprof *p, uint32_t row)
{
	const struct table *t = &p->s->tables[TABLE_STACK_MAPPING];
	struct pb_enc *e = &p->out.enc;

	pb_enc_open(e, PROFILE_MAPPING);
	pb_enc_u64(e, MAPPING_ID, (uint64_t)row + 1);
	pb_enc_i64(e, MAPPING_MEMORY_START, table_i64(t, STACK_MAPPING_START, row));
	pb_enc_i64(e, MAPPING_MEMORY_LIMIT, table_i64(t, STACK_MAPPING_END, row));
	pb_enc_i64(e, MAPPING_FILE_OFFSET, table_i64(t, STACK_MAPPING_EXACT_OFFSET, row));
	pb_enc_u64(e, MAPPING_FILENAME,
		   pprof_string_index(p, table_u32(t, STACK_MAPPING_NAME, row)));
	pb_enc_u64(e, MAPPING_BUILD_ID,
		   pprof_string_index(p, table_u32(t, STACK_MAPPING_BUILD_ID, row)));
	pb_enc_bool(e, MAPPING_HAS_FUNCTIONS, true);
	pb_enc_close(e);
}

/* Returns the source line of function `inner` of a frame, counted from the innermost one; 0:
 * unknown. */
static uint32_t source_line(const struct store *s, uint32_t frame, uint32_t inner)
{
	const struct table *symbols = &s->tables[TABLE_STACK_SYMBOL];
	uint32_t set = table_u32(&s->tables[TABLE_STACK_FRAME], STACK_FRAME_SYMBOL_SET, frame);
	uint32_t line = set < symbols->rows && inner < symbols->rows - set &&
					table_u32(symbols, STACK_SYMBOL_SET, set + inner) == set
				? table_u32(symbols, STACK_SYMBOL_LINE, set + inner)
				: NULL_U32;

	return line == NULL_U32 ? 0 : line;
}

static void put_line(struct pprof *p, uint64_t function, uint32_t line)
{
	pb_enc_open(&p->out.enc, LOCATION_LINE);
	pb_enc_u64(&p->out.enc, LINE_FUNCTION_ID, function);
	pb_enc_u64(&p->out.enc, LINE_LINE, line);
	pb_enc_close(&p->out.enc);
}

static void put_location(struct pprof *p, uint32_t frame)
{
	const struct table *t = &p->s->tables[TABLE_STACK_FRAME];
	uint32_t mapping = table_u32(t, STACK_FRAME_MAPPING, frame);
	const struct code *c = p->code;

	pb_enc_open(&p->out.enc, PROFILE_LOCATION);
	pb_enc_u64(&p->out.enc, LOCATION_ID, (uint64_t)frame + 1);
	if (mapping != NULL_U32)
		pb_enc_u64(&p->out.enc, LOCATION_MAPPING_ID, (uint64_t)mapping + 1);
	pb_enc_i64(&p->out.enc, LOCATION_ADDRESS, table_i64(t, STACK_FRAME_REL_PC, frame));
	for (uint32_t i = c->first[frame + 1]; i-- > c->first[frame];)
		put_line(p, (uint64_t)c->chain[i] + 1,
			 source_line(p->s, frame, c->first[frame + 1] - 1 - i));
	pb_enc_close(&p->out.enc);
}

static void put_function(struct pprof *p, uint64_t id, uint64_t name, uint64_t file)
{
	pb_enc_open(&p->out.enc, PROFILE_FUNCTION);
	pb_enc_u64(&p->out.enc, FUNCTION_ID, id);
	pb_enc_u64(&p->out.enc, FUNCTION_NAME, name);
	pb_enc_u64(&p->out.enc, FUNCTION_SYSTEM_NAME, name);
	pb_enc_u64(&p->out.enc, FUNCTION_FILENAME, file);
	pb_enc_close(&p->out.enc);
}

static void put_code_function(struct pprof *p, uint32_t function)
{
	struct strbuf name = {0};

	strbuf_puts(&name, "");
	code_put_name(p->code, function, &name);
	if (name.failed)
		p->failed = true;
	else
		put_function(p, (uint64_t)function + 1, pprof_text_index(p, name.s),
			     pprof_text_index(p, code_file(p->code, function)));
	strbuf_deinit(&name);
}

static void put_frames(struct pprof *p, bool *has_mapping, bool *has_function)
{
	const struct table *frames = &p->s->tables[TABLE_STACK_FRAME];
	uint32_t n_mappings = p->s->tables[TABLE_STACK_MAPPING].rows, mapping;

	for (uint32_t row = 0; row < frames->rows; row++) {
		if (!p->has_frame[row])
			continue;
		put_location(p, row);
		mapping = table_u32(frames, STACK_FRAME_MAPPING, row);
		if (mapping < n_mappings)
			has_mapping[mapping] = true;
		for (uint32_t i = p->code->first[row]; i < p->code->first[row + 1]; i++)
			has_function[p->code->chain[i]] = true;
	}
	for (uint32_t row = 0; row < n_mappings; row++)
		if (has_mapping[row])
			put_mapping(p, row);
	for (uint32_t i = 0; i < p->code->n; i++)
		if (has_function[i])
			put_code_function(p, i);
}

static void put_named_code(struct pprof *p, const struct pprof_text *t)
{
	pb_enc_open(&p->out.enc, PROFILE_LOCATION);
	pb_enc_u64(&p->out.enc, LOCATION_ID, location_of_name(p, t));
	put_line(p, function_of_name(p, t), 0);
	pb_enc_close(&p->out.enc);
	put_function(p, function_of_name(p, t), t->index, 0);
}

void pprof_finish(struct pprof *p)
{
	bool *has_mapping =
		calloc(p->s->tables[TABLE_STACK_MAPPING].rows + 1, sizeof(*has_mapping));
	bool *has_function = calloc(p->code->n + 1, sizeof(*has_function));

	if (has_mapping && has_function)
		put_frames(p, has_mapping, has_function);
	else
		p->failed = true;
	free(has_mapping);
	free(has_function);
	for (const struct pprof_text *t = p->texts; t; t = t->hh.next)
		if (t->is_code)
			put_named_code(p, t);
	for (const struct pprof_text *t = p->texts; t; t = t->hh.next)
		pb_enc_bytes(&p->out.enc, PROFILE_STRING_TABLE, t->text, t->len);
}
