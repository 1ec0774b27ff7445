/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A directory of a test's own, removed with all that is in it. For cmocka's setup and teardown,
 * with the path in *state.
 */

static inline int temp_dir_setup(void **state)
{
	char *path = strdup("/tmp/sonda-test-XXXXXX");

	if (!path || !mkdtemp(path))
		return -1;
	*state = path;
	return 0;
}

static inline int temp_dir_remove_one(const char *path, const struct stat *st, int type,
				      struct FTW *ftw)
{
	return remove(path);
}

static inline int temp_dir_teardown(void **state)
{
	nftw(*state, temp_dir_remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(*state);
	return 0;
}

/* "dir/name" in memory that the next call with the same slot (0..3) overwrites. Not inline:
 * compilers would take the size of the memory for the length of each path, and warn of it. */
__attribute__((noinline, unused)) static const char *temp_dir_path(void *const *state,
								   unsigned slot, const char *name)
{
	static char paths[4][512];

	snprintf(paths[slot], sizeof(paths[slot]), "%s/%s", (const char *)*state, name);
	return paths[slot];
}
