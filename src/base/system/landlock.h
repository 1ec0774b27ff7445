/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Where this process may open and change files (landlock(7)). What is open already, and what other
 * processes pass, stays as it is.
 *
 * A process that is restricted may not look into others with the rights of ptrace(2), as some files
 * of /proc demand: base/system/outside_reads.h.
 */
struct landlock_place {
	const char
		*path; /* a file, or a folder with all below it; one that is not there is skipped */
	bool makes_files; /* files and folders may be made and removed there, too */
};

/* Does the kernel have it, and is it switched on? */
bool landlock_is_there(void);

/*
 * From now on, for good, no file is written, cut, made, removed, renamed or executed but at the
 * places. Sets no_new_privs. 0; -ENOSYS when the kernel has no Landlock or it is switched off; or
 * -errno.
 */
int landlock_restrict_writes(const struct landlock_place *places, size_t n);

/* The same, and no file or folder is read but at the places. */
int landlock_restrict_files(const struct landlock_place *places, size_t n);
