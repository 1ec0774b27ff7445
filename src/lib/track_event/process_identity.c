/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/track_event/process_identity.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/fnv.h"
#include "base/core/mem.h"

#define START_TIME_FIELD 22 /* of /proc/PID/stat, counted from 1: proc(5) */

struct process_identity process_identity;

uint64_t process_uuid_of(uint64_t start_ticks, int32_t pid)
{
	uint64_t h = fnv1a(FNV1A_START, &start_ticks, sizeof(start_ticks));

	return fnv1a(h, &pid, sizeof(pid));
}

/* Returns the bytes read, 0 on any error. */
static size_t read_file_head(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (size_t)n;
}

/* The name in field 2 may have spaces and parentheses: count from the last ')', which ends it. */
static bool read_start_ticks(uint64_t *ret)
{
	char stat[1024], *p;
	size_t n = read_file_head("/proc/self/stat", stat, sizeof(stat) - 1);

	stat[n] = 0;
	p = strrchr(stat, ')');
	for (int field = 2; p && field < START_TIME_FIELD; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return false;
	*ret = strtoull(p, NULL, 10);
	return true;
}

void process_identity_read(void)
{
	struct process_identity *p = &process_identity;
	uint64_t start;

	if (!read_start_ticks(&start) && getrandom(&start, sizeof(start), GRND_NONBLOCK) < 0)
		start = clock_boot_ns();
	p->pid = getpid();
	p->uuid = process_uuid_of(start, p->pid);
	p->cmdline_len = read_file_head("/proc/self/cmdline", p->cmdline, sizeof(p->cmdline));
	if (p->cmdline_len)
		p->cmdline[p->cmdline_len - 1] = 0;
}
