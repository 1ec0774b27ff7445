// SPDX-License-Identifier: Apache-2.0
#include "ftrace/session/last_boot.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 64 /* MODULE_NAME_LEN is 56 */

/* "ADDRESS\tNAME"; other lines look like it only from afar. */
static bool parse_line(const char *line, unsigned long long *address, char name[static NAME_SIZE])
{
	char *end;

	*address = strtoull(line, &end, 16);
	return end > line && *end == '\t' && sscanf(end, "\t%63[^ \t\n]", name) == 1;
}

enum last_boot last_boot_of(const char *info)
{
	unsigned long long address;
	char name[NAME_SIZE];

	if (!info)
		return LAST_BOOT_UNTOLD;
	if (str_starts(info, "# Current"))
		return LAST_BOOT_CURRENT;
	if (parse_line(info, &address, name) && !strcmp(name, "[kernel]") && !address)
		return LAST_BOOT_NONE;
	return LAST_BOOT_THERE;
}

/* "NAME SIZE USES ..." in lines. */
static bool is_loaded(const char *modules, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = modules; *at; at = *at ? at + 1 : at) {
		if (!strncmp(at, name, len) && at[len] == ' ')
			return true;
		at = strchrnul(at, '\n');
		if (!*at)
			break;
	}
	return false;
}

void last_boot_gone_modules(const char *info, const char *modules, struct strbuf *ret)
{
	unsigned long long address;
	char name[NAME_SIZE];

	for (const char *at = info; *at; at += *at == '\n') {
		if (parse_line(at, &address, name) && *name != '[' && !is_loaded(modules, name))
			strbuf_printf(ret, "%s%s", ret->len ? ", " : "", name);
		at = strchrnul(at, '\n');
	}
}
