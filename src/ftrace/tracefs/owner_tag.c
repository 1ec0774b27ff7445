/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/stat: "PID (name) STATE ...". Field 22 is the start time of the process. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/system/fs.h"
#include "ftrace/tracefs/owner_tag.h"

struct owner_tag owner_tag_read(int pid)
{
	struct owner_tag o = {.lives = !kill(pid, 0) || errno != ESRCH};
	unsigned long long ticks;
	struct strbuf b = {0};
	char path[64], state;
	const char *name_end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (o.lives && !fs_read_file(path, 4096, &b) && b.s && (name_end = strrchr(b.s, ')')) &&
	    sscanf(name_end,
		   ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &state, &ticks) == 2) {
		/* A zombie does not count: it has closed its files already. */
		o.lives = state != 'Z' && state != 'X';
		o.start_ticks = ticks;
	}
	strbuf_deinit(&b);
	return o;
}

uint64_t owner_tag_start_ns(const struct owner_tag *o)
{
	if (!o->start_ticks)
		return 0;
	return clock_ns(CLOCK_REALTIME) - clock_boot_ns() +
	       o->start_ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* ---- names ---- */

void owner_tag_new_name(char name[static OWNER_NAME_SIZE])
{
	static unsigned names;

	snprintf(name, OWNER_NAME_SIZE, "sonda_%d_%llu_%u", (int)getpid(),
		 (unsigned long long)owner_tag_read(getpid()).start_ticks, names++);
}

static bool parse_owner_name(const char *name, int *ret_pid, unsigned long long *ret_ticks)
{
	int end = 0;

	return sscanf(name, "sonda_%9d_%20llu_%*9u%n", ret_pid, ret_ticks, &end) == 2 && end &&
	       *ret_pid > 0 && (!name[end] || name[end] == '_');
}

bool owner_tag_is_in_name(const char *name)
{
	unsigned long long ticks;
	int pid;

	return parse_owner_name(name, &pid, &ticks);
}

bool owner_tag_is_stale(const char *name)
{
	unsigned long long ticks;
	struct owner_tag o;
	int pid;

	if (!parse_owner_name(name, &pid, &ticks))
		return false;
	o = owner_tag_read(pid);
	return !o.lives || (o.start_ticks && ticks && o.start_ticks != ticks);
}
