/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/probes/program_place.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "cli/terminal/programs.h"

#define LINKER_CONFIG_MAX (64u << 10)
#define LINKER_CONFIGS_DEPTH 4

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Writes the path of the first file that matches. Returns false if none does. */
static bool find_first_match(const char *pattern, char path[static PATH_MAX])
{
	bool found = false;
	glob_t files;

	if (glob(pattern, 0, NULL, &files) != 0)
		return false;
	for (size_t i = 0; i < files.gl_pathc && !found; i++)
		found = strlen(files.gl_pathv[i]) < PATH_MAX && is_file(files.gl_pathv[i]) &&
			strcpy(path, files.gl_pathv[i]);
	globfree(&files);
	return found;
}

/* Finds the library in a directory: by its name, else as "NAME.so.VERSION", because "NAME.so" may
 * be text for the linker, else as "NAME.so". */
static bool find_in_dir(const char *dir, const char *name, char path[static PATH_MAX])
{
	static const char *const endings[] = {".so.*", ".so"};
	char pattern[PATH_MAX];

	if (snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX && is_file(path))
		return true;
	if (strstr(name, ".so") || strpbrk(name, "*?[\\"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (snprintf(pattern, sizeof(pattern), "%s/%s%s", dir, name, endings[i]) <
			    (int)sizeof(pattern) &&
		    find_first_match(pattern, path))
			return true;
	return false;
}

static bool find_in_dirs_of_config(const char *config, unsigned depth, const char *name,
				   char path[static PATH_MAX]);

/* Searches the files of a line like "include /etc/ld.so.conf.d/...", whose pattern may match
 * several. */
static bool find_in_included_configs(const char *pattern, unsigned depth, const char *name,
				     char path[static PATH_MAX])
{
	bool found = false;
	glob_t files;

	if (depth == LINKER_CONFIGS_DEPTH || glob(pattern, 0, NULL, &files) != 0)
		return false;
	for (size_t i = 0; i < files.gl_pathc && !found; i++)
		found = find_in_dirs_of_config(files.gl_pathv[i], depth + 1, name, path);
	globfree(&files);
	return found;
}

/* Searches the directories that a config file of the linker names. It has a directory on each line,
 * comments, and lines that include other files (ldconfig(8)). */
static bool find_in_dirs_of_config(const char *config, unsigned depth, const char *name,
				   char path[static PATH_MAX])
{
	struct strbuf text = {0};
	bool found = false;
	char *rest, *line;

	if (fs_read_file(config, LINKER_CONFIG_MAX, &text) == 0 && text.s) {
		rest = text.s;
		while (!found && (line = strsep(&rest, "\n"))) {
			line[strcspn(line, "#")] = '\0';
			line += strspn(line, " \t");
			for (size_t n = strlen(line); n && strchr(" \t", line[n - 1]); n--)
				line[n - 1] = '\0';
			if (*line == '/')
				found = find_in_dir(line, name, path);
			else if (!strncmp(line, "include", 7) && strchr(" \t", line[7]))
				found = find_in_included_configs(line + 7 + strspn(line + 7, " \t"),
								 depth, name, path);
		}
	}
	strbuf_deinit(&text);
	return found;
}

static bool find_library(const char *name, char path[static PATH_MAX])
{
	static const char *const dirs[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};

	if (find_in_dirs_of_config("/etc/ld.so.conf", 0, name, path))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (find_in_dir(dirs[i], name, path))
			return true;
	return false;
}

int program_place_find(const char *name, char path[static PATH_MAX], struct err_text *e)
{
	char found[PATH_MAX];

	if (strchr(name, '/') && is_file(name))
		snprintf(found, sizeof(found), "%s", name);
	else if (strchr(name, '/'))
		return err_set(e, -ENOENT, "%.200s: no such file", name);
	else if (program_find(name, found, sizeof(found)) && !find_library(name, found))
		return err_set(e, -ENOENT,
			       "'%.200s' is neither a program in PATH nor a library; give its path",
			       name);
	if (!realpath(found, path))
		return err_set(e, -errno, "%.200s: %s", found, strerror(errno));
	/* The kernel separates the words of a definition by blanks; '#' begins a comment of
	 * sonda. */
	for (const char *p = path; *p; p++)
		if (*p <= ' ' || *p > '~' || *p == '#')
			return err_set(e, -EINVAL,
				       "%.200s: the path contains blanks, '#' or non-ASCII "
				       "characters; use a symbolic link",
				       path);
	return 0;
}
