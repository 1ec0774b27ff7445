/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/process_uuid.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/fnv.h"

#define NAME_FIELD 2
#define START_TIME_FIELD 22

bool process_start_ticks(const char *stat, uint64_t *ret)
{
	/* The name may contain spaces and parentheses; the last ')' ends it. */
	const char *p = strrchr(stat, ')');

	for (int field = NAME_FIELD; p && field < START_TIME_FIELD; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	if (!p)
		return false;
	/* base/text has a reader of numbers, but this room cannot include it. */
	*ret = strtoull(p, NULL, 10);
	return true;
}

uint64_t process_uuid_of(uint64_t start_ticks, int32_t pid)
{
	uint64_t h = fnv1a(FNV1A_START, &start_ticks, sizeof(start_ticks));

	return fnv1a(h, &pid, sizeof(pid));
}
