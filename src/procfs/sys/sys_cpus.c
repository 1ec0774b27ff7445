/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_cpus.h"

#include <stdio.h>

#include "base/system/fs.h"
#include "procfs/sys/sys_file.h"

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

bool sys_cpus_have_grown(struct sys_cpus *c, const char *sys_root, uint64_t now, uint32_t *ret_n)
{
	uint32_t n;

	if (now < c->again)
		return false;
	c->again = now + SYS_CPUS_LOOK_NS;
	n = sys_cpus_count(sys_root);
	if (n <= c->n)
		return false;
	*ret_n = n;
	return true;
}
