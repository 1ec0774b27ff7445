/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/dialect/sql_modules.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "analyze/tables/table_module.h"
#include "base/core/mem.h"
#include "base/system/fs.h"

#define DIR_DEPTH_MAX 8u

/* The first text has the views that are always there. The others are modules. */
#define BUILT_IN (&sql_texts[1])

/* Subjects for which this program has no modules, on purpose. */
static const char *const left_out[] = {"android", "appleos", "chrome",	"gpu",	  "pixel",
				       "pkvm",	  "v8",	     "webview", "wattson"};

void module_names_deinit(struct module_names *names)
{
	free(names->v);
	*names = (struct module_names){.n = 0};
}

bool module_names_has(const struct module_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->v[i], name))
			return true;
	return false;
}

bool module_names_remove(struct module_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcasecmp(names->v[i], name)) {
			memmove(&names->v[i], &names->v[names->n - 1], sizeof(*names->v));
			names->n--;
			return true;
		}
	return false;
}

int module_names_add(struct module_names *names, const char *name, struct err_text *e)
{
	if (names->n == MODULES_MAX ||
	    array_reserve(&names->v, &names->cap, names->n + 1, sizeof(*names->v)))
		return err_set(e, -ENOMEM, "too many names");
	snprintf(names->v[names->n++], SQL_NAME_SIZE, "%s", name);
	return 0;
}

/* Returns true for parts of letters, digits and _, with a '.' between them, and maybe ".*" at the
 * end: the name of a file in the directory, never of one outside. */
static bool is_module_name(const char *name, bool *ret_is_package)
{
	size_t n = strlen(name), part = 0;

	*ret_is_package = n > 2 && str_ends(name, ".*");
	n -= *ret_is_package ? 2 : 0;
	for (size_t i = 0; i < n; i++) {
		if (name[i] == '.' && !part)
			return false;
		if (name[i] != '.' && !strchr("abcdefghijklmnopqrstuvwxyz0123456789_", name[i]))
			return false;
		part = name[i] == '.' ? 0 : part + 1;
	}
	return part > 0;
}

static const char *find_built_in(const char *name)
{
	for (const struct sql_text *m = BUILT_IN; m->name; m++)
		if (!strcmp(m->name, name))
			return m->sql;
	return NULL;
}

/* Writes the path of the module's file. Returns false if it is too long. */
static bool make_path(const char *dir, const char *name, const char *end, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/%s", dir, name);

	if (n < 0 || n >= PATH_MAX - 4)
		return false;
	for (char *c = path + strlen(dir) + 1; *c; c++)
		if (*c == '.')
			*c = '/';
	strcpy(path + n, end);
	return true;
}

bool sql_modules_have_file(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	return dir && make_path(dir, name, ".sql", path) && stat(path, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

/* ---- packages ---- */

struct package_walk {
	struct module_names *names;
	struct err_text *e;
	const char *dir, *package;
	unsigned depth;
};

/* For fs_each(): adds the module of a file, or the modules of a directory. Returns 0, or an error
 * with e set. */
static int package_walk_add(void *ctx, const char *file, unsigned char type)
{
	struct package_walk *w = ctx, inner = *w;
	char name[SQL_NAME_SIZE], path[PATH_MAX];
	size_t n = strlen(file);
	bool is_file = n > 4 && str_ends(file, ".sql"), is_package;
	int r;

	if (snprintf(name, sizeof(name), "%s.%.*s", w->package, (int)(is_file ? n - 4 : n), file) >=
		    (int)sizeof(name) ||
	    !is_module_name(name, &is_package) || is_package)
		return 0;
	if (is_file)
		return sql_modules_have_file(w->dir, name) && !module_names_has(w->names, name)
			       ? module_names_add(w->names, name, w->e)
			       : 0;
	if (w->depth == DIR_DEPTH_MAX || !make_path(w->dir, name, "", path))
		return 0;
	inner.package = name;
	inner.depth++;
	r = fs_each(path, package_walk_add, &inner);
	return r == -ENOENT || r == -ENOTDIR ? 0 : r; /* the path may be a file */
}

static int find_package(const char *dir, const char *package, struct module_names *ret,
			struct err_text *e)
{
	struct package_walk walk = {.names = ret, .e = e, .dir = dir, .package = package};
	size_t n = strlen(package);
	char path[PATH_MAX];
	int r = 0;

	for (const struct sql_text *m = BUILT_IN; m->name && r == 0; m++)
		if (!strncmp(m->name, package, n) && m->name[n] == '.')
			r = module_names_add(ret, m->name, e);
	if (r == 0 && dir && make_path(dir, package, "", path))
		r = fs_each(path, package_walk_add, &walk);
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* ---- the doors ---- */

/* Sets e to the reason why there is no such module. Returns -EINVAL. */
static int sql_modules_explain(const char *dir, const char *name, struct err_text *e)
{
	char best[STR_NEAREST_SIZE];
	struct str_nearest n;

	for (size_t i = 0; i < ARRAY_SIZE(left_out) && !dir; i++) {
		size_t len = strlen(left_out[i]);

		if (!strncmp(name, left_out[i], len) && (name[len] == '.' || !name[len]))
			return err_set(e, -EINVAL,
				       "no module is named '%s': sonda includes no %s modules; "
				       "pass a copy of Perfetto's library with --modules DIR",
				       name, left_out[i]);
	}
	str_nearest_init(&n, name);
	for (const struct sql_text *m = BUILT_IN; m->name; m++)
		str_nearest_try_copy(&n, m->name, best);
	if (str_nearest_get(&n))
		return err_set(e, -EINVAL, "no module is named '%s'; did you mean %s?", name,
			       str_nearest_get(&n));
	return err_set(e, -EINVAL,
		       "no module is named '%s'%s%s; docs/reference/sql.md lists sonda's modules",
		       name, dir ? " in " : "", dir ? dir : "");
}

int sql_modules_find(const char *dir, const char *name, struct module_names *ret,
		     struct err_text *e)
{
	struct module_names names = {.n = 0};
	char package[SQL_NAME_SIZE];
	bool is_package;
	int r = 0;

	if (!is_module_name(name, &is_package))
		return err_set(e, -EINVAL, "'%s' is not a module name; example: sched.states",
			       name);
	if (is_package) {
		snprintf(package, sizeof(package), "%.*s", (int)strlen(name) - 2, name);
		r = find_package(dir, package, &names, e);
		if (names.n)
			qsort(names.v, names.n, sizeof(*names.v), compare_names);
	} else if (sql_modules_have_file(dir, name) || find_built_in(name)) {
		r = module_names_add(&names, name, e);
	}
	if (r == 0 && !names.n)
		r = sql_modules_explain(dir, name, e);
	if (r < 0)
		module_names_deinit(&names);
	else
		*ret = names;
	return r;
}

int sql_modules_read(const char *dir, const char *name, struct strbuf *ret, struct err_text *e)
{
	const char *text = find_built_in(name);
	char path[PATH_MAX];
	int r;

	if (sql_modules_have_file(dir, name) && make_path(dir, name, ".sql", path)) {
		r = fs_read_file(path, MODULE_BYTES_MAX, ret);
		if (r < 0)
			return err_set(e, r, "cannot read %s: %s", path, strerror(-r));
	} else if (text) {
		strbuf_puts(ret, text);
	} else {
		return sql_modules_explain(dir, name, e);
	}
	strbuf_puts(ret, "");
	return ret->failed ? err_set(e, -ENOMEM, "out of memory") : 0;
}

int sql_modules_open_dir(const char *path, char *ret, size_t size, struct err_text *e)
{
	static const char in_checkout[] = "src/trace_processor/perfetto_sql/stdlib";
	struct stat st;

	if (fs_join(ret, size, path, in_checkout) == 0 && stat(ret, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		return 0;
	if ((size_t)snprintf(ret, size, "%s", path) >= size)
		return err_set(e, -ENAMETOOLONG, "%.100s...: the name is too long", path);
	if (stat(path, &st) < 0)
		return err_set(e, -errno, "cannot open %s: %s", path, strerror(errno));
	return S_ISDIR(st.st_mode) ? 0 : err_set(e, -ENOTDIR, "%s is not a directory", path);
}
