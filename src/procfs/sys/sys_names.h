/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The names in a folder of /sys that begin with a prefix, in the order of the numbers in them.
 * Zero-initialise. */

/* Further ones are left out. */
#define SYS_NAMES_MAX 8192

struct sys_names {
	char **names; /* owned, as is each */
	size_t n;
};

/* With digits: only names that are the prefix and a number. 0 or -errno, with nothing in it. */
int sys_names_read(struct sys_names *s, const char *folder, const char *prefix, bool digits);
void sys_names_deinit(struct sys_names *s);
bool sys_names_equal(const struct sys_names *a, const struct sys_names *b);
/* The number at the end of a name, UINT32_MAX if there is none. */
uint32_t sys_names_number(const char *name, const char *prefix);
