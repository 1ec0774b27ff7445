/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks as a profile of pprof: a gzip file with a message Profile of profile.proto. Its parts
 * refer to each other by ids from 1 on, here the rows of the tables + 1, and to texts by their index
 * in string_table, whose first one is empty:
 *
 *	sample   ->  location (a frame)  ->  mapping
 *	               line  ->  function (of struct code)
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analyze/store/columns.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "cli/export/export.h"
#include "cli/export/export_stacks.h"
#include "wire/pb_enc.h"

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

struct profile_text {
	uint64_t index;
	UT_hash_handle hh;
	char text[];
};

struct profile {
	const struct export_stacks *x; /* borrowed */
	const struct store *s; /* borrowed */
	struct pb_mem out;
	struct profile_text *texts; /* owned hash, in the order of their indexes */
	bool failed; /* no memory */
};

/* Returns the index of a text; adds it at its first use. */
static uint64_t profile_text_index(struct profile *p, const char *text)
{
	size_t len = strlen(text);
	struct profile_text *t;

	HASH_FIND(hh, p->texts, text, (unsigned)len, t);
	if (t)
		return t->index;
	t = calloc(1, sizeof(*t) + len + 1);
	if (!t) {
		p->failed = true;
		return 0;
	}
	memcpy(t->text, text, len);
	t->index = HASH_COUNT(p->texts);
	HASH_ADD(hh, p->texts, text, (unsigned)len, t);
	if (!t->hh.tbl) {
		free(t);
		p->failed = true;
		return 0;
	}
	return t->index;
}

static void put_value_type(struct profile *p, const char *type, const char *unit)
{
	pb_enc_open(&p->out.enc, PROFILE_SAMPLE_TYPE);
	pb_enc_u64(&p->out.enc, VALUE_TYPE_TYPE, profile_text_index(p, type));
	pb_enc_u64(&p->out.enc, VALUE_TYPE_UNIT, profile_text_index(p, unit));
	pb_enc_close(&p->out.enc);
}

static void put_label(struct profile *p, const char *key, const char *text)
{
	pb_enc_open(&p->out.enc, SAMPLE_LABEL);
	pb_enc_u64(&p->out.enc, LABEL_KEY, profile_text_index(p, key));
	pb_enc_u64(&p->out.enc, LABEL_STR, profile_text_index(p, text));
	pb_enc_close(&p->out.enc);
}

/* Writes a stack, the innermost frame first. A stack that was not taken has no location. */
static void put_sample(struct profile *p, enum stack_kind kind, const struct stack_point *point)
{
	const struct table *sites = &p->s->tables[TABLE_STACK_CALLSITE];
	struct pb_enc *e = &p->out.enc;

	pb_enc_open(e, PROFILE_SAMPLE);
	for (uint32_t site = point->site; site < sites->rows;
	     site = table_u32(sites, STACK_CALLSITE_PARENT, site))
		pb_enc_u64(e, SAMPLE_LOCATION_ID,
			   (uint64_t)table_u32(sites, STACK_CALLSITE_FRAME, site) + 1);
	pb_enc_i64(e, SAMPLE_VALUE, point->n);
	if (kind != STACKS_CPU)
		pb_enc_i64(e, SAMPLE_VALUE, point->weight);
	if (point->utid < p->x->n_threads) {
		put_label(p, "process", p->x->threads[point->utid].process);
		if (!point->of_process)
			put_label(p, "thread", p->x->threads[point->utid].thread);
	}
	if (point->reason != NULL_U32)
		put_label(p, "reason", strings_get(&p->s->strings, point->reason));
	pb_enc_close(e);
}

static void put_mappings(struct profile *p)
{
	const struct table *t = &p->s->tables[TABLE_STACK_MAPPING];
	struct pb_enc *e = &p->out.enc;

	for (uint32_t row = 0; row < t->rows; row++) {
		pb_enc_open(e, PROFILE_MAPPING);
		pb_enc_u64(e, MAPPING_ID, (uint64_t)row + 1);
		pb_enc_i64(e, MAPPING_MEMORY_START, table_i64(t, STACK_MAPPING_START, row));
		pb_enc_i64(e, MAPPING_MEMORY_LIMIT, table_i64(t, STACK_MAPPING_END, row));
		pb_enc_i64(e, MAPPING_FILE_OFFSET, table_i64(t, STACK_MAPPING_EXACT_OFFSET, row));
		pb_enc_u64(
			e, MAPPING_FILENAME,
			profile_text_index(p, strings_get(&p->s->strings,
							  table_u32(t, STACK_MAPPING_NAME, row))));
		pb_enc_u64(e, MAPPING_BUILD_ID,
			   profile_text_index(
				   p, strings_get(&p->s->strings,
						  table_u32(t, STACK_MAPPING_BUILD_ID, row))));
		pb_enc_bool(e, MAPPING_HAS_FUNCTIONS, true);
		pb_enc_close(e);
	}
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

static void put_locations(struct profile *p)
{
	const struct table *t = &p->s->tables[TABLE_STACK_FRAME];
	const struct code *c = &p->x->code;
	struct pb_enc *e = &p->out.enc;

	for (uint32_t row = 0; row < t->rows; row++) {
		uint32_t mapping = table_u32(t, STACK_FRAME_MAPPING, row);

		pb_enc_open(e, PROFILE_LOCATION);
		pb_enc_u64(e, LOCATION_ID, (uint64_t)row + 1);
		if (mapping != NULL_U32)
			pb_enc_u64(e, LOCATION_MAPPING_ID, (uint64_t)mapping + 1);
		pb_enc_i64(e, LOCATION_ADDRESS, table_i64(t, STACK_FRAME_REL_PC, row));
		for (uint32_t i = c->first[row + 1]; i-- > c->first[row];) {
			pb_enc_open(e, LOCATION_LINE);
			pb_enc_u64(e, LINE_FUNCTION_ID, (uint64_t)c->chain[i] + 1);
			pb_enc_u64(e, LINE_LINE, source_line(p->s, row, c->first[row + 1] - 1 - i));
			pb_enc_close(e);
		}
		pb_enc_close(e);
	}
}

static void put_functions(struct profile *p)
{
	const struct code *c = &p->x->code;
	struct pb_enc *e = &p->out.enc;
	struct strbuf name = {0};

	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t text;

		strbuf_clear(&name);
		strbuf_puts(&name, "");
		code_put_name(c, i, &name);
		p->failed |= name.failed;
		text = name.failed ? 0 : profile_text_index(p, name.s);
		pb_enc_open(e, PROFILE_FUNCTION);
		pb_enc_u64(e, FUNCTION_ID, (uint64_t)i + 1);
		pb_enc_u64(e, FUNCTION_NAME, text);
		pb_enc_u64(e, FUNCTION_SYSTEM_NAME, text);
		pb_enc_u64(e, FUNCTION_FILENAME, profile_text_index(p, code_file(c, i)));
		pb_enc_close(e);
	}
	strbuf_deinit(&name);
}

static int write_compressed(const void *data, size_t len, FILE *to)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data};
	uint8_t buf[16384];
	int r = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16 /* gzip */, 8,
			     Z_DEFAULT_STRATEGY);

	while (r == Z_OK) {
		uInt step = (uInt)MIN(len, (size_t)1 << 30);

		if (!z.avail_in) {
			z.avail_in = step;
			len -= step;
		}
		z.next_out = buf;
		z.avail_out = sizeof(buf);
		r = deflate(&z, len ? Z_NO_FLUSH : Z_FINISH);
		if (r == Z_BUF_ERROR)
			r = Z_OK;
		fwrite(buf, 1, sizeof(buf) - z.avail_out, to);
	}
	deflateEnd(&z);
	return r == Z_STREAM_END ? SQLITE_OK : SQLITE_NOMEM;
}

static void put_profile(struct profile *p, enum stack_kind kind)
{
	struct pb_enc *e = &p->out.enc;

	profile_text_index(p, "");
	put_value_type(p, kind == STACKS_CPU ? "samples" : "waits", "count");
	if (kind != STACKS_CPU)
		put_value_type(p, "blocked", "nanoseconds");
	for (size_t i = 0; i < p->x->points.n; i++)
		if (kind != STACKS_WAKERS || p->x->points.of[i].site != NULL_U32)
			put_sample(p, kind, &p->x->points.of[i]);
	put_mappings(p);
	put_locations(p);
	put_functions(p);
	pb_enc_i64(e, PROFILE_DURATION_NANOS, p->s->end_ts - p->s->start_ts);
	pb_enc_u64(e, PROFILE_DEFAULT_SAMPLE_TYPE,
		   profile_text_index(p, kind == STACKS_CPU ? "samples" : "blocked"));
	for (struct profile_text *t = p->texts; t; t = t->hh.next)
		pb_enc_str(e, PROFILE_STRING_TABLE, t->text);
}

static int export_pprof_kind(const struct trace_tables *t, enum stack_kind kind, FILE *to)
{
	struct export_stacks x;
	struct profile p = {.x = &x, .s = &t->store};
	int r = export_stacks_init(&x, t->db, &t->store, kind);

	if (r == SQLITE_OK && pb_mem_init(&p.out) < 0)
		r = SQLITE_NOMEM;
	if (r == SQLITE_OK) {
		put_profile(&p, kind);
		r = p.failed || p.out.failed ? SQLITE_NOMEM
					     : write_compressed(p.out.buf, pb_mem_len(&p.out), to);
		pb_mem_deinit(&p.out);
	}
	HASH_FREE(p.texts);
	export_stacks_deinit(&x);
	return r;
}

int export_pprof_stacks(const struct trace_tables *t, FILE *to)
{
	return export_pprof_kind(t, STACKS_CPU, to);
}

int export_pprof_waits(const struct trace_tables *t, FILE *to)
{
	return export_pprof_kind(t, STACKS_WAITS, to);
}

int export_pprof_wakers(const struct trace_tables *t, FILE *to)
{
	return export_pprof_kind(t, STACKS_WAKERS, to);
}
