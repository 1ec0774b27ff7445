/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Numbers of a config that no counter has: each is said once, and of many only the first ones. */

#define SYS_UNKNOWN_MAX 16

/* Zero-initialise. */
struct sys_unknown {
	int numbers[SYS_UNKNOWN_MAX];
	unsigned n;
	bool more; /* it was said that there are others */
};

/* file: the name of what was to be counted, for people. */
void sys_unknown_tell(struct sys_unknown *u, const char *file, int number);
