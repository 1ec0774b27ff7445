/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys_cpus.h"

#include <stdio.h>

#include "base/fs.h"
#include "procfs/sys_names.h"

static int highest(void *ctx, const char *name, unsigned char d_type)
{
	uint32_t *count = ctx, cpu = sys_names_number(name, "cpu");

	(void)d_type;
	if (cpu < SYS_CPUS_MAX && cpu >= *count)
		*count = cpu + 1;
	return 0;
}

uint32_t sys_cpus_count(const char *sys_root)
{
	char folder[512];
	uint32_t count = 0;

	if (fs_join(folder, sizeof(folder), sys_root, SYS_CPUS) == 0)
		(void)fs_each(folder, highest, &count);
	return count;
}
