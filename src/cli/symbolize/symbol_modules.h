/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The files whose functions are in the call stacks of a trace, and the addresses there. */
#define SYMBOL_BUILD_ID_MAX 64 /* bytes */

struct symbol_address {
	uint64_t address;
	bool has_name; /* the trace has the name of the function */
};

struct symbol_module {
	char *path; /* owned */
	uint8_t build_id[SYMBOL_BUILD_ID_MAX];
	size_t n_build_id;
	struct symbol_address *addresses; /* owned; ascending */
	size_t n, cap;
};

struct symbol_modules {
	struct symbol_module *of; /* owned */
	size_t n, cap;
};

/* Lists the frames that have a build id, and no symbols yet. Returns a code of SQLite: SQLITE_OK
 * (the caller frees with symbol_modules_deinit()), or an error, with *ret empty. */
int symbol_modules_read(sqlite3 *db, struct symbol_modules *ret);
void symbol_modules_deinit(struct symbol_modules *m);
