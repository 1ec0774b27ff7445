/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bitmap of numbers, filled from the list at the first question. The filter has ranges of
 * numbers, which are fewer: the kernel looks at each of them at the end of every system call.
 */
#include "ftrace/format/fd_syscalls.h"

#include <stddef.h>
#include <stdio.h>

#include "base/core/mem.h"
#include "base/system/syscall_names.h"

#define NUMBERS 1024u /* above all that Linux has */

/* Newer architectures do not have all of them. */
static const char *const names[] = {
	"open",		"openat",	"openat2",	 "open_by_handle_at",
	"creat",	"socket",	"accept",	 "accept4",
	"dup",		"dup2",		"dup3",		 "eventfd",
	"eventfd2",	"epoll_create", "epoll_create1", "signalfd",
	"signalfd4",	"inotify_init", "inotify_init1", "timerfd_create",
	"memfd_create", "pidfd_open",
};

static struct {
	bool filled;
	uint64_t bits[NUMBERS / 64];
	char filter[1024];
} fds;

static bool has(uint64_t nr)
{
	return nr < NUMBERS && fds.bits[nr / 64] >> nr % 64 & 1;
}

static void write_filter(void)
{
	size_t at = (size_t)snprintf(fds.filter, sizeof(fds.filter), "ret >= 0 && (");
	const char * or = "";

	for (unsigned nr = 0, last; nr < NUMBERS; nr++) {
		if (!has(nr))
			continue;
		for (last = nr; has(last + 1);)
			last++;
		at += (size_t)snprintf(fds.filter + at, sizeof(fds.filter) - at,
				       last > nr ? "%s(id >= %u && id <= %u)" : "%sid == %u", or,
				       nr, last);
		or = " || ";
		nr = last;
	}
	snprintf(fds.filter + at, sizeof(fds.filter) - at, ")");
}

static void fill(void)
{
	char nearest[SYSCALL_NAME_MAX];
	uint32_t nr;

	if (fds.filled)
		return;
	fds.filled = true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!syscall_name_resolve(names[i], &nr, nearest) && nr < NUMBERS)
			fds.bits[nr / 64] |= 1ull << nr % 64;
	write_filter();
}

bool fd_syscalls_has(uint64_t nr)
{
	fill();
	return has(nr);
}

const char *fd_syscalls_filter(void)
{
	fill();
	return fds.filter;
}
