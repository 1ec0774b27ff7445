/* SPDX-License-Identifier: Apache-2.0 */
/*
 * experimental_profile(stack, type, unit, value, ...): a profile of pprof (pprof.h) of stacks that
 * cat_stacks() and others made. Further types, units and values may follow. Without any, each row
 * counts as one sample. The values of equal stacks are added up.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/stacks/pprof.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "wire/pb_read.h"

#define TYPES_MAX 8

/* Fields of Perfetto's messages Stack and Stack.Entry. */
enum stack_field { STACK_ENTRIES = 1 };
enum entry_field {
	ENTRY_NAME = 1,
	ENTRY_CALLSITE = 2,
	ENTRY_ANNOTATED_CALLSITE = 3,
	ENTRY_FRAME = 4
};

struct stack_sum {
	int64_t sums[TYPES_MAX];
	UT_hash_handle hh;
	size_t len;
	uint8_t stack[];
};

struct stack_profile {
	struct stack_sum *by_stack; /* owned hash, in the order of the rows */
	char *types[TYPES_MAX], *units[TYPES_MAX]; /* owned */
	size_t n_types;
};

static void stack_profile_deinit(struct stack_profile *of)
{
	HASH_FREE(of->by_stack);
	for (size_t i = 0; i < of->n_types; i++) {
		free(of->types[i]);
		free(of->units[i]);
	}
}

/* ---- rows ---- */

static bool stack_profile_add_type(struct stack_profile *of, const char *type, const char *unit)
{
	of->types[of->n_types] = strdup(type);
	of->units[of->n_types] = strdup(unit);
	of->n_types++;
	return of->types[of->n_types - 1] && of->units[of->n_types - 1];
}

/* Adds the types and units that the arguments name, or else one type, samples. Returns false if out
 * of memory. */
static bool stack_profile_add_types(struct stack_profile *of, int argc, sqlite3_value **argv)
{
	bool good = true;

	if (argc == 1)
		return stack_profile_add_type(of, "samples", "count");
	for (int i = 1; i + 2 < argc && good; i += 3)
		good = stack_profile_add_type(of, (const char *)sqlite3_value_text(argv[i]),
					      (const char *)sqlite3_value_text(argv[i + 1]));
	return good;
}

/* Returns the sum of a stack; NULL if out of memory. */
static struct stack_sum *stack_profile_find_or_add(struct stack_profile *of, const void *stack,
						   size_t len)
{
	struct stack_sum *sum;

	HASH_FIND(hh, of->by_stack, stack, (unsigned)len, sum);
	if (sum)
		return sum;
	sum = calloc(1, sizeof(*sum) + len + 1);
	if (!sum)
		return NULL;
	memcpy(sum->stack, stack, len);
	sum->len = len;
	HASH_ADD(hh, of->by_stack, stack, (unsigned)len, sum);
	if (!sum->hh.tbl)
		freep(&sum);
	return sum;
}

/* Returns what is wrong with the arguments, or NULL. */
static const char *mistake_in_arguments(int argc, sqlite3_value **argv)
{
	if (sqlite3_value_type(argv[0]) != SQLITE_BLOB)
		return "experimental_profile: the first argument is not a stack";
	if (argc % 3 != 1 || argc / 3 > TYPES_MAX)
		return "experimental_profile: expected a stack, and up to 8 times a type, a unit "
		       "and a value";
	for (int i = 1; i < argc; i += 3)
		if (sqlite3_value_type(argv[i]) != SQLITE_TEXT ||
		    sqlite3_value_type(argv[i + 1]) != SQLITE_TEXT ||
		    sqlite3_value_type(argv[i + 2]) != SQLITE_INTEGER)
			return "experimental_profile: types and units must be strings, values "
			       "must be integers";
	return NULL;
}

static void stack_profile_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct stack_profile *of = sqlite3_aggregate_context(ctx, sizeof(*of));
	const char *mistake = mistake_in_arguments(argc, argv);
	const void *stack = sqlite3_value_blob(argv[0]);
	struct stack_sum *sum;

	if (mistake) {
		sqlite3_result_error(ctx, mistake, -1);
		return;
	}
	sum = of && (of->n_types || stack_profile_add_types(of, argc, argv))
		      ? stack_profile_find_or_add(of, stack ? stack : "",
						  (size_t)sqlite3_value_bytes(argv[0]))
		      : NULL;
	if (!sum) {
		sqlite3_result_error_nomem(ctx);
		return;
	}
	for (size_t i = 0; i < of->n_types; i++)
		sum->sums[i] =
			(int64_t)((uint64_t)sum->sums[i] +
				  (uint64_t)(argc == 1 ? 1 : sqlite3_value_int64(argv[3 * i + 3])));
}

/* ---- the profile ---- */

/* Writes the entries of a Stack, which are untrusted: names and rows of tables. */
static void put_stack(struct pprof *p, const struct stack_sum *sum)
{
	struct pb_field stack = {.data = sum->stack, .len = sum->len};

	pb_for_each (entry, &stack) {
		if (entry.id != STACK_ENTRIES || !entry.data)
			continue;
		pb_for_each (f, &entry) {
			if (f.id == ENTRY_NAME && f.data)
				pprof_put_name(p, f.data, f.len);
			else if (f.id == ENTRY_FRAME)
				pprof_put_frame(p, (uint32_t)f.u64);
			else if (f.id == ENTRY_CALLSITE || f.id == ENTRY_ANNOTATED_CALLSITE)
				pprof_put_callsite(p, (uint32_t)f.u64);
		}
	}
}

static bool build_profile(struct pprof *p, const struct stack_profile *of)
{
	for (size_t i = 0; i < of->n_types; i++)
		pprof_add_value_type(p, of->types[i], of->units[i]);
	for (const struct stack_sum *sum = of->by_stack; sum; sum = sum->hh.next) {
		pprof_begin_sample(p);
		put_stack(p, sum);
		for (size_t i = 0; i < of->n_types; i++)
			pprof_put_value(p, sum->sums[i]);
		pprof_end_sample(p);
	}
	pprof_finish(p);
	return pprof_is_complete(p);
}

static void stack_profile_final(sqlite3_context *ctx)
{
	struct stack_profile *of = sqlite3_aggregate_context(ctx, 0);
	const struct store *s = sqlite3_user_data(ctx);
	struct code code = {0};
	struct pprof p;
	bool good = false;

	if (!of) {
		sqlite3_result_zeroblob(ctx, 0);
		return;
	}
	if (code_init(&code, s) && pprof_init(&p, s, &code) == 0) {
		good = build_profile(&p, of);
		if (good)
			sqlite3_result_blob64(ctx, p.out.buf, pb_mem_len(&p.out), SQLITE_TRANSIENT);
		pprof_deinit(&p);
	}
	if (!good)
		sqlite3_result_error_nomem(ctx);
	code_deinit(&code);
	stack_profile_deinit(of);
}

int pprof_function_register(sqlite3 *db, struct store *s)
{
	return sqlite3_create_function(db, "experimental_profile", -1, SQLITE_UTF8, s, NULL,
				       stack_profile_step, stack_profile_final);
}
