/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_source.h"

#include "base/system/log.h"

void unknown_ids_log(struct unknown_ids *u, const char *file, int number)
{
	for (unsigned i = 0; i < u->n; i++)
		if (u->numbers[i] == number)
			return;
	if (u->n < UNKNOWN_IDS_MAX) {
		u->numbers[u->n++] = number;
		log_warn("linux.sys_stats: %s has no counter with the id %d", file, number);
	} else if (!u->more) {
		u->more = true;
		log_warn("linux.sys_stats: %s: further unknown counter ids are not listed", file);
	}
}
