// SPDX-License-Identifier: Apache-2.0
/*
 * What a killed process leaves in tracefs is found by its name, sonda-PID-SESSION. Its owner is
 * gone when no process has the number, or one that began after the folder was made. The kernel
 * itself guards against a mistake: an instance whose rings somebody has open cannot be removed.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/system/fs.h"
#include "ftrace/tracefs/instance.h"
#include "ftrace/tracefs/owner.h"
#include "ftrace/options/synthetic_events.h"

/* Start times are told in ticks, and both clocks are read one after the other. */
#define START_SLACK_NS (2 * NS_PER_S)

/* "sonda-PID-SESSION" or "sonda-PID-SESSION-N"; 0 for any other name. */
static int owner_in(const char *name)
{
	int pid, after = 0, end = 0;

	if (sscanf(name, "sonda-%d-%*u%n", &pid, &after) != 1 || !after || pid <= 0)
		return 0;
	if (name[after] && (sscanf(name + after, "-%*u%n", &end) != 0 || !end))
		return 0;
	return name[after + end] ? 0 : pid;
}

static bool owner_lives(int pid, const char *path)
{
	struct owner owner = owner_of(pid);
	struct stat st;
	uint64_t made;

	if (pid == getpid() || !owner.lives)
		return false;
	if (stat(path, &st))
		return true;
	made = (uint64_t)st.st_ctim.tv_sec * NS_PER_S + (uint64_t)st.st_ctim.tv_nsec;
	return owner_start_ns(&owner) <= made + START_SLACK_NS;
}

struct sweep {
	char instances[4096];
	int removed;
};

static int remove_if_stale(void *ctx, const char *name, unsigned char d_type)
{
	int pid = owner_in(name);
	struct sweep *s = ctx;
	char path[4096 + 256];

	(void)d_type;
	snprintf(path, sizeof(path), "%s/%s", s->instances, name);
	if (!pid || owner_lives(pid, path))
		return 0;
	synthetic_events_release(path);
	s->removed += !rmdir(path);
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
