/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists have the calls of the programs and their libraries, with several versions of libc and
 * kernel: some use newfstatat where others use fstat. Names that libseccomp does not know, or that
 * the architecture lacks, are skipped.
 */
#include "base/system/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <seccomp.h>

#include "base/core/mem.h"
#include "base/system/log.h"

#ifndef SYS_SECCOMP /* only in <asm/siginfo.h>, which excludes glibc's <signal.h> */
#define SYS_SECCOMP 1
#endif

/* The register with the result of a system call. The handler writes it to make the blocked call
 * return that value. */
#if defined(__x86_64__)
#define RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
#elif defined(__aarch64__)
#define RESULT(context) ((context)->uc_mcontext.regs[0])
#elif defined(__riscv)
#define RESULT(context) ((context)->uc_mcontext.__gregs[REG_A0])
#endif

/* ---- calls of every program ---- */

static const char *const common[] = {
	/* memory; mmap and mprotect are below */
	"brk",
	"madvise",
	"mremap",
	"munmap",
	/* descriptors */
	"close",
	"dup",
	"dup3",
	"fcntl",
	"fcntl64",
	"lseek",
	"_llseek",
	"pread64",
	"preadv",
	"pwrite64",
	"pwritev",
	"read",
	"readv",
	"write",
	"writev",
	/* open sockets */
	"getpeername",
	"getsockname",
	"getsockopt",
	"recvfrom",
	"recvmsg",
	"sendmsg",
	"sendto",
	"setsockopt",
	"shutdown",
	/* the loop */
	"clock_nanosleep",
	"epoll_create1",
	"epoll_ctl",
	"epoll_pwait",
	"epoll_pwait2",
	"epoll_wait",
	"eventfd2",
	"nanosleep",
	"pipe2",
	"poll",
	"ppoll",
	"ppoll_time64",
	"restart_syscall",
	"sched_yield",
	"timerfd_create",
	"timerfd_gettime",
	"timerfd_settime",
	"timerfd_settime64",
	/* files, also those that libc reads (time zone) */
	"access",
	"faccessat",
	"faccessat2",
	"fstat",
	"fstat64",
	"fstatat64",
	"fstatfs",
	"getdents64",
	"lstat",
	"newfstatat",
	"readlink",
	"readlinkat",
	"stat",
	"statx",
	/* clocks, and the machine */
	"clock_getres",
	"clock_getres_time64",
	"clock_gettime",
	"clock_gettime64",
	"getcpu",
	"getrandom",
	"gettimeofday",
	"sched_getaffinity",
	"sysinfo",
	"time",
	"uname",
	/* the process itself */
	"exit",
	"exit_group",
	"futex",
	"getegid",
	"geteuid",
	"getgid",
	"getpid",
	"getppid",
	"getpriority",
	"getrlimit",
	"getrusage",
	"gettid",
	"getuid",
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"sched_getparam",
	"sched_getscheduler",
	"sigaltstack",
	"sigreturn",
	"ugetrlimit",
	NULL,
};

static const struct syscall_without common_without[] = {
	{"mmap", 2, PROT_EXEC},
	{"mmap2", 2, PROT_EXEC},
	{"mprotect", 2, PROT_EXEC},
	{"prlimit64", 2, UINT64_MAX}, /* reads a limit, sets none */
	{"sched_setscheduler", 0, UINT32_MAX}, /* for priority_boost, of this thread */
	{"sched_setattr", 0, UINT32_MAX}, /* likewise */
	{"sched_getattr", 0, UINT32_MAX},
};

static const char *const opening[] = {"open", "openat", NULL};

static const struct syscall_without opening_to_read[] = {
	{"open", 1, O_ACCMODE | O_CREAT | O_TRUNC},
	{"openat", 2, O_ACCMODE | O_CREAT | O_TRUNC},
};

/* With the rules of common_without these allow PROT_EXEC or PROT_WRITE, but not both. */
static const struct syscall_without library_without[] = {
	{"mmap", 2, PROT_WRITE},
	{"mmap2", 2, PROT_WRITE},
};

/* ---- blocked calls ---- */

#ifdef RESULT
#define BLOCKED SCMP_ACT_TRAP

/* The blocked call raised the signal, so logging is safe here. A SIGSYS from another process may
 * arrive anywhere and has no call whose result could be set. */
static void on_blocked(int signal_number, siginfo_t *info, void *context)
{
	static uint64_t logged[8]; /* a bit for each number */
	unsigned nr = (unsigned)info->si_syscall;

	if (info->si_code != SYS_SECCOMP)
		return;
	if (nr / 64 >= ARRAY_SIZE(logged) || !(logged[nr / 64] & 1ull << nr % 64))
		log_warn("the sandbox blocked system call %u (EPERM)", nr);
	if (nr / 64 < ARRAY_SIZE(logged))
		logged[nr / 64] |= 1ull << nr % 64;
	RESULT((ucontext_t *)context) = -EPERM;
}

static int enable_blocked_call_log(scmp_filter_ctx f)
{
	struct sigaction action = {.sa_sigaction = on_blocked, .sa_flags = SA_SIGINFO | SA_RESTART};

	return sigaction(SIGSYS, &action, NULL) < 0 ? -errno : 0;
}
#else
#define BLOCKED SCMP_ACT_ERRNO(EPERM)

static int enable_blocked_call_log(scmp_filter_ctx f)
{
	return seccomp_attr_set(f, SCMP_FLTATR_CTL_LOG, 1);
}
#endif

/* ---- the filter ---- */

/* Adds a rule for a call, unless its action is BLOCKED: libseccomp returns -EACCES for a rule that
 * changes nothing. Returns 0 or -errno. */
static int add_rule(scmp_filter_ctx f, uint32_t action, const char *name, unsigned n_args,
		    const struct scmp_arg_cmp *args)
{
	int nr = seccomp_syscall_resolve_name(name);

	if (nr == __NR_SCMP_ERROR || action == BLOCKED)
		return 0;
	return seccomp_rule_add_array(f, action, nr, n_args, args);
}

static int allow_call(scmp_filter_ctx f, const char *name, unsigned n_args,
		      const struct scmp_arg_cmp *args)
{
	return add_rule(f, SCMP_ACT_ALLOW, name, n_args, args);
}

static int allow_calls(scmp_filter_ctx f, const char *const *names)
{
	int r = 0;

	for (; *names && r == 0; names++)
		r = allow_call(f, *names, 0, NULL);
	return r;
}

static int allow_call_without(scmp_filter_ctx f, const struct syscall_without *w)
{
	const struct scmp_arg_cmp none = SCMP_CMP64(w->arg, SCMP_CMP_MASKED_EQ, w->mask, 0);

	return allow_call(f, w->name, 1, &none);
}

/* Allows new threads, but no processes. A filter cannot read the flags of clone3, which are in
 * memory; libc falls back to clone. */
static int allow_threads(scmp_filter_ctx f)
{
	const struct scmp_arg_cmp thread[] = {
		SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD),
	};
	int r = allow_call(f, "clone", 1, thread);

	if (r == 0)
		r = allow_call(f, "set_robust_list", 0, NULL);
	if (r == 0)
		r = allow_call(f, "rseq", 0, NULL);
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return r;
}

/* The calls fail with EPERM, without SIGSYS: a libc may block all signals before it makes them
 * (glibc 2.41 in fork), and the kernel kills a process whose SIGSYS is blocked. */
static int refuse_processes(scmp_filter_ctx f, bool has_threads)
{
	const struct scmp_arg_cmp process[] = {SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)};
	const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
	int r = add_rule(f, refuse, "clone", has_threads ? 1 : 0, process);

	if (r == 0)
		r = add_rule(f, refuse, "fork", 0, NULL);
	if (r == 0)
		r = add_rule(f, refuse, "vfork", 0, NULL);
	return r < 0 || has_threads ? r : add_rule(f, refuse, "clone3", 0, NULL);
}

/* The call fails with EPERM, without a log message: on Linux before 5.11 libbpf tries to raise the
 * limit of locked memory. The program has raised it before it installed the filter. */
static int refuse_locked_memory(scmp_filter_ctx f)
{
	const struct scmp_arg_cmp set[] = {
		SCMP_A1_64(SCMP_CMP_MASKED_EQ, UINT32_MAX, RLIMIT_MEMLOCK),
		SCMP_A2_64(SCMP_CMP_NE, 0, 0),
	};

	return add_rule(f, SCMP_ACT_ERRNO(EPERM), "prlimit64", ARRAY_SIZE(set), set);
}

static int allow_opening(scmp_filter_ctx f, const struct syscall_list *list)
{
	int r = 0;

	if (list->is_whole)
		return 0;
	if (!list->opens_to_read_only)
		return allow_calls(f, opening);
	for (size_t i = 0; i < ARRAY_SIZE(opening_to_read) && r == 0; i++)
		r = allow_call_without(f, &opening_to_read[i]);
	return r;
}

static int add_rules(scmp_filter_ctx f, const struct syscall_list *list)
{
	const struct scmp_arg_cmp our_process[] = {SCMP_A0_64(SCMP_CMP_EQ, (uint64_t)getpid(), 0)};
	const struct scmp_arg_cmp ourselves[] = {
		SCMP_A0_64(SCMP_CMP_MASKED_EQ, UINT32_MAX, PRIO_PROCESS),
		SCMP_A1_64(SCMP_CMP_MASKED_EQ, UINT32_MAX, 0),
	};
	int r = allow_calls(f, list->allowed);

	if (r == 0 && !list->is_whole)
		r = allow_calls(f, common);
	if (r == 0)
		r = allow_opening(f, list);
	for (size_t i = 0; i < ARRAY_SIZE(common_without) && r == 0 && !list->is_whole; i++)
		r = allow_call_without(f, &common_without[i]);
	for (const struct syscall_without *w = list->without; w && w->name && r == 0; w++)
		r = allow_call_without(f, w);
	for (size_t i = 0; i < ARRAY_SIZE(library_without) && r == 0 && list->loads_libraries; i++)
		r = allow_call_without(f, &library_without[i]);
	if (r == 0 && list->has_threads)
		r = allow_threads(f);
	if (r == 0)
		r = refuse_processes(f, list->has_threads);
	if (r == 0)
		r = refuse_locked_memory(f);
	if (r == 0 && !list->is_whole)
		r = allow_call(f, "setpriority", 2, ourselves);
	if (r == 0)
		r = allow_call(f, "tgkill", 1, our_process); /* abort() */
	return r;
}

/* Returns true if the kernel supports filters: then the call fails with EFAULT, since there is no
 * filter at address NULL. */
static bool kernel_can_filter(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 || errno == EFAULT;
}

int syscall_filter_install(const struct syscall_list *list)
{
	scmp_filter_ctx f;
	int r;

	if (!kernel_can_filter())
		return -ENOSYS;
	f = seccomp_init(BLOCKED);
	if (!f)
		return -ENOMEM;
	r = seccomp_attr_set(f, SCMP_FLTATR_API_SYSRAWRC,
			     1); /* return errors of the kernel unchanged */
	/* Both attributes are optional. A binary search replaces the linear search of the numbers.
	 * The mitigation of speculative store bypass, which kernels before 5.16 enable with each
	 * filter, stays off: it slows the process down, and protects only processes that run
	 * foreign code. */
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1);
	if (r == 0)
		r = add_rules(f, list);
	/* Applies to running threads as well; later ones inherit it. */
	if (r == 0 && !list->has_threads)
		r = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
	if (r == 0)
		r = enable_blocked_call_log(f);
	if (r == 0)
		r = seccomp_load(f);
	seccomp_release(f);
	return r;
}
