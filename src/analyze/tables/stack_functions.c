/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks as bytes, in the form of Perfetto's message Stack: entries (field 1), the innermost
 * first. An entry is a name (1), a row of stack_profile_callsite (2; 3: with annotations), or one
 * of stack_profile_frame (4).
 */
#include <string.h>

#include "analyze/tables/table_module.h"
#include "base/text/str.h"

static void put_varint(struct strbuf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		strbuf_putc(b, (char)(v | 0x80));
	strbuf_putc(b, (char)v);
}

static void return_bytes(sqlite3_context *ctx, struct strbuf *b)
{
	if (b->failed || b->len > INT32_MAX)
		sqlite3_result_error_nomem(ctx);
	else if (b->len)
		sqlite3_result_blob(ctx, b->s, (int)b->len, SQLITE_TRANSIENT);
	strbuf_deinit(b);
}

static void put_name(struct strbuf *b, const void *name, size_t len)
{
	struct strbuf entry = {0};

	strbuf_putc(&entry, 0x0a);
	put_varint(&entry, len);
	strbuf_add(&entry, name, len);
	strbuf_putc(b, 0x0a);
	put_varint(b, entry.len);
	strbuf_add(b, entry.s, entry.len);
	b->failed |= entry.failed;
	strbuf_deinit(&entry);
}

/* cat_stacks(outermost, ..., innermost): of names and stacks; NULL is nothing. */
static void cat_stacks(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct strbuf b = {0};

	while (argc--) {
		size_t len = (size_t)sqlite3_value_bytes(argv[argc]);

		switch (sqlite3_value_type(argv[argc])) {
		case SQLITE_TEXT:
			put_name(&b, sqlite3_value_text(argv[argc]), len);
			break;
		case SQLITE_BLOB:
			if (len)
				strbuf_add(&b, sqlite3_value_blob(argv[argc]), len);
			break;
		case SQLITE_NULL:
			break;
		default:
			sqlite3_result_error(
				ctx, "cat_stacks: an argument is neither a stack nor a string", -1);
			strbuf_deinit(&b);
			return;
		}
	}
	return_bytes(ctx, &b);
}

static void return_number(sqlite3_context *ctx, sqlite3_value *id, char tag)
{
	struct strbuf entry = {0}, b = {0};

	if (sqlite3_value_type(id) == SQLITE_NULL)
		return;
	strbuf_putc(&entry, tag);
	put_varint(&entry, (uint32_t)sqlite3_value_int64(id));
	strbuf_putc(&b, 0x0a);
	put_varint(&b, entry.len);
	strbuf_add(&b, entry.s, entry.len);
	b.failed |= entry.failed;
	strbuf_deinit(&entry);
	return_bytes(ctx, &b);
}

static void stack_from_callsite(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	return_number(ctx, argv[0], argc > 1 && sqlite3_value_int64(argv[1]) ? 0x18 : 0x10);
}

static void stack_from_frame(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	return_number(ctx, argv[0], 0x20);
}

int stack_functions_register(sqlite3 *db)
{
	static const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
	int r = sqlite3_create_function(db, "cat_stacks", -1, flags, NULL, cat_stacks, NULL, NULL);

	for (int n = 1; n <= 2 && r == SQLITE_OK; n++)
		r = sqlite3_create_function(db, "stack_from_stack_profile_callsite", n, flags, NULL,
					    stack_from_callsite, NULL, NULL);
	return r == SQLITE_OK ? sqlite3_create_function(db, "stack_from_stack_profile_frame", 1,
							flags, NULL, stack_from_frame, NULL, NULL)
			      : r;
}
