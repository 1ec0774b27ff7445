/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/symbolize/symbol_modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"

void symbol_modules_deinit(struct symbol_modules *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->of[i].path);
		free(m->of[i].addresses);
	}
	free(m->of);
	*m = (struct symbol_modules){0};
}

static bool parse_hex(const char *text, struct symbol_module *m)
{
	size_t len = strlen(text);

	if (len == 0 || len % 2 || len / 2 > SYMBOL_BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < len; i += 2) {
		struct span byte = {text + i, 2};
		uint64_t v;

		if (span_read_u64(&byte, 16, &v) || byte.len > 0)
			return false;
		m->build_id[i / 2] = (uint8_t)v;
	}
	m->n_build_id = len / 2;
	return true;
}

/* Returns the module, which is added unless it is the last one: the rows are sorted by module.
 * Returns NULL if memory runs out. */
static struct symbol_module *find_or_add_module(struct symbol_modules *m,
						const struct symbol_module *wanted,
						const char *path)
{
	struct symbol_module *last = m->n ? &m->of[m->n - 1] : NULL;

	if (last && last->n_build_id == wanted->n_build_id && strcmp(last->path, path) == 0 &&
	    memcmp(last->build_id, wanted->build_id, wanted->n_build_id) == 0)
		return last;
	if (array_reserve(&m->of, &m->cap, m->n + 1, sizeof(*m->of)) < 0)
		return NULL;
	last = &m->of[m->n];
	*last = *wanted;
	last->path = strdup(path);
	m->n += last->path != NULL;
	return last->path ? last : NULL;
}

static int symbol_modules_add(struct symbol_modules *m, sqlite3_stmt *st)
{
	const char *build_id = (const char *)sqlite3_column_text(st, 0);
	const char *path = (const char *)sqlite3_column_text(st, 1);
	struct symbol_module wanted = {0}, *to;

	if (!build_id || !path || !parse_hex(build_id, &wanted))
		return SQLITE_OK;
	to = find_or_add_module(m, &wanted, path);
	if (!to || array_reserve(&to->addresses, &to->cap, to->n + 1, sizeof(*to->addresses)) < 0)
		return SQLITE_NOMEM;
	to->addresses[to->n++] =
		(struct symbol_address){.address = (uint64_t)sqlite3_column_int64(st, 2),
					.has_name = sqlite3_column_int(st, 3)};
	return SQLITE_OK;
}

int symbol_modules_read(sqlite3 *db, struct symbol_modules *ret)
{
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(
		db,
		"select m.build_id, m.name, f.rel_pc, max(f.name is not null) from "
		"stack_profile_frame f join stack_profile_mapping m on m.id = f.mapping where "
		"m.build_id != '' and f.symbol_set_id is null group by 1, 2, 3 order by 1, 2, 3",
		-1, &st, NULL);

	*ret = (struct symbol_modules){0};
	while (r == SQLITE_OK && (r = sqlite3_step(st)) == SQLITE_ROW)
		r = symbol_modules_add(ret, st);
	sqlite3_finalize(st);
	if (r == SQLITE_DONE)
		return SQLITE_OK;
	symbol_modules_deinit(ret);
	return r;
}
