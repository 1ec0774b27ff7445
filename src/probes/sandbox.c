/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/caps.h"
#include "base/system/landlock.h"
#include "base/system/log.h"
#include "base/system/outside_reads.h"
#include "base/system/sanitizer.h"
#include "base/system/syscall_filter.h"
#include "stacks/samples/perf_source.h"
#include "subjects/name_reader.h"

/* The capabilities that data sources may request; others are of no use to a producer. */
static const unsigned kept[] = {
	CAP_BPF,       CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_NET_ADMIN, CAP_PERFMON,
	CAP_SYS_ADMIN, CAP_SYS_NICE,	 CAP_SYS_PTRACE,      CAP_SYSLOG,
};

/* System calls in addition to those that every program may make (syscall_filter.h). */
static const char *const own_calls[] = {
	/* the service, netlink, the directory of the socket */
	"bind",
	"connect",
	"inotify_add_watch",
	"inotify_init1",
	"inotify_rm_watch",
	"signalfd4",
	"socket",
	/* tracefs, and the undo logs */
	"flock",
	"ftruncate",
	"ftruncate64",
	"ioctl",
	"recvmmsg",
	"mkdir",
	"mkdirat",
	"openat2",
	"rename",
	"renameat",
	"renameat2",
	"rmdir",
	"splice",
	"statfs",
	"statfs64",
	"unlink",
	"unlinkat",
	/* eBPF; setting capabilities */
	"bpf",
	"capget",
	"capset",
	"perf_event_open",
	"pidfd_open",
	/* libraries: systemd and libbpf */
	"fgetxattr", /* ids of units' runs, of their control groups */
	"getcwd",
	"mincore",
	"prctl",
	"gettid",
	"umask",
	"getsid",
	"kcmp",
	"memfd_create", /* libbpf 1.4 and later: placeholder descriptors of maps */
	NULL,
};

static const struct syscall_without own_without[] = {
	{"kill", 1, UINT32_MAX}, /* signal 0 checks whether a process exists */
	{NULL, 0, 0},
};

static const struct syscall_list calls = {
	.allowed = own_calls,
	.without = own_without,
	.loads_libraries = true, /* the journal, when it is requested */
	.has_threads = true,
};

static bool can_choose;

static int restrict_file_changes(const struct sandbox_paths *p)
{
	const struct landlock_path writable[] = {
		{p->tracefs ? p->tracefs : "", true},
		{p->state ? p->state : "", true},
		{"/proc/sys/kernel/kptr_restrict", false},
	};

	return landlock_restrict_writes(writable, ARRAY_SIZE(writable));
}

static int forbid_writing(const struct sandbox_paths *p, struct err_text *e)
{
	int r = outside_reads_start();

	if (p->state && mkdir(p->state, 0700) < 0 && errno != EEXIST)
		log_debug("%s: %s", p->state, strerror(errno));
	if (r == 0)
		r = landlock_is_there() ? restrict_file_changes(p) : -ENOSYS;
	if (r == -ENOSYS)
		log_info("this kernel has no Landlock: only the user's permissions restrict file "
			 "writes");
	else if (r < 0)
		return err_set(e, r, "cannot restrict file writes: %s", strerror(-r));
	return 0;
}

/* Returns the group that sees all processes although /proc is mounted with hidepid, or 0. */
static gid_t find_proc_group(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *m;
	gid_t group = 0;

	while (mounts && (m = getmntent(mounts))) {
		const char *option = strcmp(m->mnt_dir, "/proc") ? NULL : hasmntopt(m, "gid");
		unsigned gid;

		if (option && sscanf(option, "gid=%u", &gid) == 1)
			group = gid;
	}
	if (mounts)
		endmntent(mounts);
	return group;
}

/* Joins the group that sees all processes. hidepid hides processes from everyone who may not
 * ptrace(2) them, which includes root in a Landlock domain, but not from this group. */
static void join_proc_group(void)
{
	gid_t group = find_proc_group();
	int n = getgroups(0, NULL);
	_cleanup_(freep) gid_t *groups = n < 0 ? NULL : calloc((size_t)n + 1, sizeof(*groups));

	if (group == 0 || group_member(group) || !groups || getgroups(n, groups) != n)
		return;
	groups[n] = group;
	if (setgroups((size_t)n + 1, groups) < 0)
		log_warn("/proc is mounted with hidepid, and this process cannot join group %u "
			 "(%s): "
			 "the names of other users' processes are missing; set "
			 "SupplementaryGroups=%u in the unit",
			 group, strerror(errno), group);
}

int sandbox_enter(const struct sandbox_paths *paths, struct err_text *e)
{
	int r;

	join_proc_group();
	r = perf_source_start_helpers();
	if (r < 0)
		log_warn("linux.perf: cannot start the processes that read files: %s",
			 strerror(-r));
	r = name_reader_start("");
	if (r < 0)
		log_warn("cannot start the processes that read container names: %s", strerror(-r));
	r = caps_keep_only(kept, ARRAY_SIZE(kept));
	/* sonda-probes also works with more privileges than it needs. */
	if (r < 0)
		log_warn("cannot drop capabilities: %s", strerror(-r));
	if (BUILT_WITH_SANITIZER) {
		log_info("built with a sanitizer: no sandbox");
		return 0;
	}
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(e, -errno, "cannot disable core dumps: %s", strerror(errno));
	r = forbid_writing(paths, e);
	if (r < 0)
		return r;
	r = syscall_filter_install(&calls);
	if (r == -ENOSYS)
		log_warn("this kernel has no system call filters; continuing without one");
	else if (r < 0)
		return err_set(e, r, "cannot install the system call filter: %s", strerror(-r));
	can_choose = true;
	sandbox_set_capabilities(0);
	return 0;
}

void sandbox_set_capabilities(uint64_t mask)
{
	static bool logged;
	int r = can_choose ? caps_set_effective(mask) : 0;

	if (r < 0 && !logged)
		log_warn("cannot set capabilities: %s", strerror(-r));
	logged = logged || r < 0;
}
