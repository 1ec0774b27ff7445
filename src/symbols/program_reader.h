/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/system/helper_process.h"
#include "symbols/program_search.h"

/*
 * Finds the functions and the static probes of one program or library by name. The file is hostile,
 * so a process without rights parses it:
 *
 *	this process   --- name or pattern --->   sonda-symbols
 *	opens the file,                           parses it; has no rights, memory is limited
 *	parses nothing <-- one item each ------
 *
 * The items are checked before the caller gets them. For one thread.
 */
#define PROGRAM_READER_WAIT_MS 60000 /* for its next answer */

struct program_item {
	enum program_item_kind kind;
	uint64_t address; /* in the ELF file's address space */
	uint64_t offset; /* of the code in the file */
	uint64_t semaphore; /* of a static probe: its offset in the file; 0: none */
	bool has_no_code; /* the address is in no executable segment: offset is not set */
	bool is_chosen_at_load; /* a function that chooses an implementation (IFUNC) */
	/* Of a function: its symbol; demangled, or ""; "". Of a static probe: provider; name;
	 * arguments as in the note. */
	const char *texts[3];
};

struct program_reader {
	struct helper_process process;
	uint32_t machine; /* e_machine of the file */
	bool is_stripped; /* and no debug file was found */
};

/* Opens the file, and its separate debug file if the functions are there. Returns 0, and the caller
 * stops the reader; or -errno and sets e, a sentence that begins with the path. Call it while the
 * process has one thread. */
int program_reader_start(const char *path, struct program_reader *ret, struct err_text *e);
void program_reader_stop(struct program_reader *r);

typedef int program_item_fn(void *ctx, const struct program_item *item);

/*
 * Call fn for each item until it returns non-zero, which is then returned; otherwise 0, or -errno
 * and set e. The item is valid during the call.
 *
 * find_function: functions whose symbol is `name`; if there is none, those whose demangled name is,
 * with or without the types of its parameters; if there is none either, suggestions.
 */
int program_reader_find_function(struct program_reader *r, const char *name, program_item_fn *fn,
				 void *ctx, struct err_text *e);
/* Functions whose symbol or demangled name matches, sorted by address. */
int program_reader_list_functions(struct program_reader *r, const char *pattern,
				  program_item_fn *fn, void *ctx, struct err_text *e);
/* Static probes whose "PROVIDER:NAME" matches, in the order of the file. */
int program_reader_list_usdt(struct program_reader *r, const char *pattern, program_item_fn *fn,
			     void *ctx, struct err_text *e);
