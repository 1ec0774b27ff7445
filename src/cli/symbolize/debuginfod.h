/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "cli/symbolize/symbol_modules.h"

/* Debug files from the servers that DEBUGINFOD_URLS names (libdebuginfod). A request reveals to
 * them which program was recorded, so it is made only if the user asks for it. */
struct debuginfod;

/* Loads the library for the servers that urls names, separated by blanks. Returns 0 (the caller
 * frees with debuginfod_close()); -ENOENT and sets e if the library cannot be loaded; or -ENOMEM
 * and sets e. */
int debuginfod_open(const char *urls, struct debuginfod **ret, struct err_text *e);
void debuginfod_close(struct debuginfod *d);
/* Asks the servers, and blocks until they answer. Returns the path of the debug file in the cache
 * of the library, which the caller frees; NULL: no server has it, or none answers. */
char *debuginfod_find(struct debuginfod *d, const struct symbol_module *m);
