// SPDX-License-Identifier: Apache-2.0
/*
 * What a killed process leaves in tracefs is found by its name, sonda-PID-SESSION. Its owner is
 * gone when no process has the number, or one that began after the folder was made. The kernel
 * itself guards against a mistake: an instance whose rings somebody has open cannot be removed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "ftrace/instance.h"

/* Start times are told in ticks, and both clocks are read one after the other. */
#define START_SLACK_NS (2 * NS_PER_S)

/* "sonda-PID-SESSION" or "sonda-PID-SESSION-N"; 0 for any other name. */
static int owner_of(const char *name)
{
	int pid, after = 0, end = 0;

	if (sscanf(name, "sonda-%d-%*u%n", &pid, &after) != 1 || !after || pid <= 0)
		return 0;
	if (name[after] && (sscanf(name + after, "-%*u%n", &end) != 0 || !end))
		return 0;
	return name[after + end] ? 0 : pid;
}

/* When the process began, in ns of the wall clock; 0: it cannot be told. */
static uint64_t start_of(int pid)
{
	unsigned long long ticks;
	struct strbuf b = {0};
	char path[64], *name_end;
	uint64_t ns = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!fs_read_file(path, 4096, &b) && b.s && (name_end = strrchr(b.s, ')')) &&
	    sscanf(name_end,
		   ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
		   "%*d %*d %*d %llu",
		   &ticks) == 1)
		ns = clock_ns(CLOCK_REALTIME) - clock_boot_ns() +
		     ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	strbuf_deinit(&b);
	return ns;
}

static bool owner_lives(int pid, const char *path)
{
	struct stat st;
	uint64_t made;

	if (pid == getpid() || (kill(pid, 0) && errno == ESRCH))
		return false;
	if (stat(path, &st))
		return true;
	made = (uint64_t)st.st_ctim.tv_sec * NS_PER_S + (uint64_t)st.st_ctim.tv_nsec;
	return start_of(pid) <= made + START_SLACK_NS;
}

struct sweep {
	char instances[4096];
	int removed;
};

static int remove_if_stale(void *ctx, const char *name, unsigned char d_type)
{
	int pid = owner_of(name);
	struct sweep *s = ctx;
	char path[4096 + 256];

	(void)d_type;
	snprintf(path, sizeof(path), "%s/%s", s->instances, name);
	if (pid && !owner_lives(pid, path) && !rmdir(path))
		s->removed++;
	return 0;
}

int instance_remove_stale(const char *root)
{
	struct sweep s = {.removed = 0};
	int before, r = fs_join(s.instances, sizeof(s.instances), root, "instances");

	/* A walk over a folder that shrinks may miss some. */
	do {
		before = s.removed;
		if (!r)
			r = fs_each(s.instances, remove_if_stale, &s);
	} while (!r && s.removed > before);
	return r ? r : s.removed;
}
