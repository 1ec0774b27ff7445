// SPDX-License-Identifier: Apache-2.0
/* One page of text in the kernel's list format: numbers and ranges, with commas between. */
#include "ftrace/ring/cpu_presence.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cpu_presence_read(struct cpu_presence *p, const char *sys_root)
{
	char path[4096], now[sizeof(p->list)];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/present", sys_root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, now, sizeof(now) - 1);
		close(fd);
	}
	now[n > 0 ? n : 0] = '\0';
	if (!strcmp(now, p->list))
		return false;
	strcpy(p->list, now);
	return true;
}

bool cpu_presence_has(const struct cpu_presence *p, uint32_t cpu)
{
	const char *at = p->list;
	unsigned long first, last;
	char *end;

	if (!*at)
		return true;
	for (;; at = end + 1) {
		first = last = strtoul(at, &end, 10);
		if (end == at)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (cpu >= first && cpu <= last)
			return true;
		if (*end != ',')
			return false;
	}
}
