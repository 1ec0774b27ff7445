/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/dialect/sql_columns.h"
#include "base/core/err.h"
#include "base/text/str.h"

/*
 * Modules that INCLUDE PERFETTO MODULE runs: those of this program, and files of a directory, where
 * a.b is a/b.sql. A file takes the place of this program's module of the same name.
 */

#define MODULES_MAX 4096u /* names of a list */
#define MODULE_BYTES_MAX (1u << 20) /* of a file */

struct module_names {
	char (*v)[SQL_NAME_SIZE]; /* owned; sorted by sql_modules_find() */
	size_t n, cap;
};

/* Finds the modules of a name, or of a package "a.*". dir may be NULL. Returns 0 with *ret, which
 * the caller deinits; or -EINVAL if there are none, -ENOMEM or another -errno, and sets e. */
int sql_modules_find(const char *dir, const char *name, struct module_names *ret,
		     struct err_text *e);
bool module_names_has(const struct module_names *names, const char *name);
/* Returns 0, or -ENOMEM and sets e. */
int module_names_add(struct module_names *names, const char *name, struct err_text *e);
/* Returns true if the list had the name. */
bool module_names_remove(struct module_names *names, const char *name);
void module_names_deinit(struct module_names *names);

/* Returns true if dir has a file for the module. dir may be NULL. */
bool sql_modules_have_file(const char *dir, const char *name);
/* Appends the text of a module that was found. Returns 0, or -errno and sets e. */
int sql_modules_read(const char *dir, const char *name, struct strbuf *ret, struct err_text *e);

/* Finds the directory of the modules: the one in a checkout of Perfetto, or else the directory
 * itself. Returns 0, or -errno if there is none, and sets e. */
int sql_modules_open_dir(const char *path, char *ret, size_t size, struct err_text *e);
