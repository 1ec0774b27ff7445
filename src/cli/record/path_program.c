// SPDX-License-Identifier: Apache-2.0
#include "cli/record/path_program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/fs.h"

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

int path_program(const char *name, char *buf, size_t size)
{
	const char *path = getenv("PATH"), *end;
	char dir[PATH_MAX];

	if (strchr(name, '/')) {
		snprintf(buf, size, "%s", name);
		return strlen(name) < size && is_program(name) ? 0 : -ENOENT;
	}
	for (; *name && path && *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		if (end == path || (size_t)(end - path) >= sizeof(dir))
			continue;
		memcpy(dir, path, (size_t)(end - path));
		dir[end - path] = '\0';
		if (!fs_join(buf, size, dir, name) && is_program(buf))
			return 0;
	}
	return -ENOENT;
}
