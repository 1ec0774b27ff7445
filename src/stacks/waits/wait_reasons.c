/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules are tried from the first to the last; the first rule with a function that is anywhere in
 * the stack applies. So a rule about the object of a wait (a page of a file) comes after those
 * about its purpose (fsync). Locks come last, unless contention_begin named the lock: a lock that
 * is taken on the way says less than what the thread was about to do.
 *
 * Which kernels have which names: 5.10 has __lock_page*, wait_on_page_bit*, futex_wait_queue_me,
 * pipe_wait, ep_poll as a function; 5.16 futex_wait_queue and folio_*; 6.15 and later
 * futex_do_wait, anon_pipe_read.
 */
#include "stacks/waits/wait_reasons.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "bpf/waits.h"

#define FUNCTIONS_MAX 16

struct reason_rule {
	const char *reason;
	/* "*" at the end matches any rest */
	const char *functions[FUNCTIONS_MAX];
};

static const struct reason_rule rules[] = {
	{"futex",
	 {"futex_do_wait", "futex_wait_queue", "futex_wait_queue_me", "futex_wait_multiple*",
	  "futex_wait_requeue_pi", "futex_lock_pi", "futex_wait", "do_futex"}},
	{"epoll", {"do_epoll_wait", "ep_poll", "do_epoll_pwait*"}},
	{"io_uring", {"io_cqring_wait*", "io_wq_worker", "io_sq_thread", "__io_uring_enter*"}},
	{"poll", {"do_sys_poll", "do_poll*"}},
	{"select", {"do_select", "core_sys_select"}},
	{"poll", {"poll_schedule_timeout"}},
	{"sleep",
	 {"hrtimer_nanosleep", "do_nanosleep", "common_nsleep*", "msleep*", "usleep_range*"}},
	{"child", {"do_wait", "do_wait_pid", "kernel_wait4", "kernel_waitid*"}},
	{"vfork", {"kernel_clone", "wait_for_vfork_done", "_do_fork"}},
	{"signal",
	 {"sigsuspend", "pause", "sys_pause", "do_sigtimedwait", "signalfd_dequeue",
	  "signalfd_read*"}},
	{"stopped", {"do_signal_stop", "ptrace_stop", "do_jobctl_trap"}},
	{"freezer", {"__refrigerator", "do_freezer_trap"}},
	{"accept", {"inet_csk_accept", "unix_accept", "vsock_accept"}},
	{"connect", {"inet_wait_for_connect", "unix_stream_connect", "inet_stream_connect"}},
	{"unix receive",
	 {"unix_stream_read_generic", "unix_stream_data_wait", "unix_dgram_recvmsg",
	  "__unix_dgram_recvmsg"}},
	{"unix send", {"unix_wait_for_peer", "unix_stream_sendmsg", "unix_dgram_sendmsg"}},
	{"tcp receive", {"tcp_recvmsg*", "tcp_data_wait", "tcp_splice_read"}},
	{"tcp send", {"tcp_sendmsg*", "sk_stream_wait_memory"}},
	{"udp receive", {"__skb_recv_udp", "udp_recvmsg", "udpv6_recvmsg"}},
	{"netlink receive", {"netlink_recvmsg"}},
	{"socket receive", {"__skb_wait_for_more_packets", "sk_wait_data", "__skb_recv_datagram"}},
	{"socket send", {"sock_alloc_send_pskb", "sock_wait_for_wmem"}},
	{"read from pipe", {"anon_pipe_read", "pipe_read", "fifo_pipe_read"}},
	{"write to pipe", {"anon_pipe_write", "pipe_write", "fifo_pipe_write"}},
	{"open pipe", {"fifo_open", "wait_for_partner"}},
	{"pipe", {"pipe_wait*"}},
	{"eventfd", {"eventfd_read"}},
	{"timerfd", {"timerfd_read*"}},
	{"inotify", {"inotify_read", "fanotify_read"}},
	{"terminal", {"n_tty_read", "n_tty_write", "tty_wait_until_sent"}},
	{"message queue", {"do_msgrcv", "do_msgsnd", "wq_sleep", "do_mq_timedreceive"}},
	{"semaphore", {"do_semtimedop", "__do_semtimedop"}},
	{"virtual machine", {"kvm_vcpu_block", "kvm_vcpu_halt"}},
	{"file lock",
	 {"fcntl_setlk", "flock_lock_inode_wait", "locks_lock_inode_wait", "do_lock_file_wait",
	  "posix_lock_inode_wait"}},
	{"NFS",
	 {"rpc_wait_bit_killable", "nfs_wait_bit_killable", "nfs4_proc_*", "nfs_wait_on_request"}},
	{"FUSE", {"request_wait_answer", "fuse_simple_request", "fuse_dev_do_read"}},
	{"cgroup throttle",
	 {"throttle_cfs_rq_work", "__blkcg_maybe_throttle*", "blkcg_maybe_throttle_current"}},
	{"memory reclaim",
	 {"reclaim_throttle", "mem_cgroup_handle_over_high", "try_to_free_pages",
	  "try_to_free_mem_cgroup_pages", "shrink_node", "shrink_lruvec", "congestion_wait",
	  "throttle_direct_reclaim", "__alloc_pages_direct_compact", "out_of_memory"}},
	{"journal",
	 {"start_this_handle", "add_transaction_credits", "wait_transaction_locked",
	  "wait_transaction_switching", "xlog_grant_head_wait", "xfs_log_reserve",
	  "jbd2_log_do_checkpoint", "do_get_write_access"}},
	{"fsync",
	 {"vfs_fsync_range", "do_fsync", "ksys_sync", "sys_sync", "sync_filesystem",
	  "ext4_sync_file", "jbd2_log_wait_commit", "jbd2_complete_transaction", "xfs_file_fsync",
	  "xfs_log_force_seq", "xlog_wait_on_iclog", "btrfs_sync_file", "iterate_supers", "syncfs",
	  "blkdev_fsync"}},
	{"throttled writer", {"balance_dirty_pages*", "rq_qos_wait", "wbt_wait"}},
	{"block queue", {"blk_mq_get_tag", "blk_queue_enter", "__bio_queue_enter"}},
	{"write-back",
	 {"folio_wait_writeback", "wait_on_page_writeback", "wb_wait_for_completion",
	  "file_write_and_wait_range", "filemap_fdatawait_range", "__filemap_fdatawait_range",
	  "btrfs_wait_ordered_range", "folio_wait_stable", "wait_for_stable_page"}},
	{"swap in", {"do_swap_page"}},
	{"userfault", {"handle_userfault"}},
	{"page fault",
	 {"filemap_fault", "handle_mm_fault", "do_user_addr_fault", "exc_page_fault",
	  "do_page_fault", "__lock_page_or_retry", "__folio_lock_or_retry"}},
	{"disk read",
	 {"filemap_get_pages", "filemap_read", "generic_file_buffered_read", "filemap_update_page",
	  "ext4_read_bh", "ext4_bread*", "__bread_gfp", "bdev_getblk", "xfs_buf_iowait",
	  "page_cache_ra_unbounded", "read_pages", "do_read_cache_folio", "__wait_on_buffer",
	  "wait_on_buffer"}},
	{"direct I/O",
	 {"__iomap_dio_rw", "iomap_dio_rw", "blkdev_direct_IO", "__blkdev_direct_IO*",
	  "do_blockdev_direct_IO", "blkdev_read_iter", "blkdev_write_iter", "submit_bio_wait",
	  "blk_execute_rq"}},
	{"disk",
	 {"folio_wait_bit*", "wait_on_page_bit*", "__lock_page*", "__folio_lock*", "bit_wait_io",
	  "io_schedule*"}},
	{"rwsem",
	 {"rwsem_down_write_slowpath", "rwsem_down_read_slowpath", "down_write*", "down_read*",
	  "rwbase_*"}},
	{"mutex", {"__mutex_lock*", "mutex_lock*", "rt_mutex_slowlock*", "rt_mutex_lock*"}},
	{"VMA lock", {"__vma_start_write", "vma_start_read*"}},
	{"percpu rwsem", {"percpu_rwsem_wait", "__percpu_down_read", "percpu_down_write"}},
	{"kernel semaphore", {"__down_common", "__down*", "down", "down_interruptible*"}},
	{"RCU", {"synchronize_rcu*", "__wait_rcu_gp", "synchronize_srcu*", "__synchronize_srcu"}},
	{"network lock", {"__lock_sock", "lock_sock_nested"}},
	{"kernel thread without work",
	 {"worker_thread", "smpboot_thread_fn", "rcu_gp_kthread", "kthreadd", "kswapd", "kcompactd",
	  "kauditd_thread", "khugepaged", "rescuer_thread", "kjournald2", "oom_reaper",
	  "irq_thread", "kthread_worker_fn", "rcu_nocb*"}},
};

/* What contention_begin reports. */
static const char *const lock_reasons[] = {
	[WAIT_MUTEX] = "mutex",
	[WAIT_RWSEM_READ] = "rwsem",
	[WAIT_RWSEM_WRITE] = "rwsem",
	[WAIT_RT_MUTEX] = "rt mutex",
	[WAIT_PERCPU_RWSEM] = "percpu rwsem",
	[WAIT_SEMAPHORE] = "kernel semaphore",
};

/* Without a stack, by system call. Calls that wait for different things have their own name. */
static const struct {
	const char *call, *reason;
} call_reasons[] = {
	{"futex", "futex"},
	{"futex_wait", "futex"},
	{"futex_waitv", "futex"},
	{"epoll_wait", "epoll"},
	{"epoll_pwait", "epoll"},
	{"epoll_pwait2", "epoll"},
	{"poll", "poll"},
	{"ppoll", "poll"},
	{"select", "select"},
	{"pselect6", "select"},
	{"nanosleep", "sleep"},
	{"clock_nanosleep", "sleep"},
	{"wait4", "child"},
	{"waitid", "child"},
	{"vfork", "vfork"},
	{"pause", "signal"},
	{"rt_sigsuspend", "signal"},
	{"rt_sigtimedwait", "signal"},
	{"flock", "file lock"},
	{"accept", "accept"},
	{"accept4", "accept"},
	{"connect", "connect"},
	{"fsync", "fsync"},
	{"fdatasync", "fsync"},
	{"sync", "fsync"},
	{"syncfs", "fsync"},
	{"msync", "fsync"},
	{"io_uring_enter", "io_uring"},
};

/* Functions of the scheduler and of waiting in general, which say nothing about the reason. */
static const char *const waiting_functions[] = {
	"bpf_prog_*",
	"bpf_trace_run*",
	"__traceiter_*",
	"__schedule",
	"schedule",
	"preempt_schedule*",
	"__cond_resched",
	"schedule_timeout*",
	"schedule_hrtimeout_range*",
	"schedule_preempt_disabled",
	"schedule_rtlock*",
	"io_schedule*",
	"wait_woken",
	"bit_wait*",
	"__wait_on_bit*",
	"out_of_line_wait_on_bit*",
	"wait_for_completion*",
	"__wait_for_common",
	"do_wait_intr*",
	"wait_on_bit*",
	"prepare_to_wait*",
};

static bool name_matches_pattern(struct span name, const char *pattern)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '*')
		return name.len >= n - 1 && memcmp(name.p, pattern, n - 1) == 0;
	return span_is(name, pattern);
}

/* Cuts what compilers and the kernel's macros add to the name of a function: .isra.0, .constprop.0,
 * .part.0, .cold, .llvm.123; __x64_sys_read is sys_read, __do_sys_read as well. */
static struct span strip_name_suffixes(struct span name)
{
	static const char *const prefixes[] = {"__x64_", "__ia32_", "__arm64_", "__se_", "__do_"};
	const char *dot = name.len > 1 ? memchr(name.p + 1, '.', name.len - 1) : NULL;

	if (dot)
		name.len = (size_t)(dot - name.p);
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t n = strlen(prefixes[i]);

		if (name.len > n + 4 && memcmp(name.p, prefixes[i], n) == 0 &&
		    (memcmp(name.p + n, "sys_", 4) == 0 || memcmp(name.p + n, "comp", 4) == 0)) {
			name.p += n;
			name.len -= n;
		}
	}
	return name;
}

static bool any_pattern_matches(struct span name, const char *const *patterns, size_t n)
{
	for (size_t i = 0; i < n && patterns[i]; i++)
		if (name_matches_pattern(name, patterns[i]))
			return true;
	return false;
}

static const char *find_reason_by_functions(const struct wait_facts *f)
{
	for (size_t r = 0; r < ARRAY_SIZE(rules); r++)
		for (size_t i = 0; i < f->n; i++)
			if (any_pattern_matches(strip_name_suffixes(f->functions[i]),
						rules[r].functions, FUNCTIONS_MAX))
				return rules[r].reason;
	return NULL;
}

static const char *find_reason_by_call(const char *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(call_reasons); i++)
		if (strcmp(call, call_reasons[i].call) == 0)
			return call_reasons[i].reason;
	return *call ? call : NULL;
}

/* Finds the innermost function that indicates the reason. */
static struct span find_first_function(const struct wait_facts *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct span name = strip_name_suffixes(f->functions[i]);

		if (name.len &&
		    !any_pattern_matches(name, waiting_functions, ARRAY_SIZE(waiting_functions)))
			return name;
	}
	return (struct span){0};
}

static const char *find_reason_without_stack(const struct wait_facts *f)
{
	const char *reason = find_reason_by_call(f->call);

	if (f->state == WAIT_STOPPED)
		return "stopped";
	if (reason)
		return reason;
	if (f->is_kernel_thread)
		return "kernel thread";
	return f->state == WAIT_UNINTERRUPTIBLE ? "page fault" : "other";
}

void wait_reason_format(const struct wait_facts *f, char ret[static WAIT_REASON_MAX])
{
	const char *reason = NULL;
	struct span function;

	if (f->state == WAIT_THROTTLED)
		reason = "cgroup throttle";
	else if (f->lock < ARRAY_SIZE(lock_reasons))
		reason = lock_reasons[f->lock];
	if (!reason)
		reason = f->n ? find_reason_by_functions(f) : find_reason_without_stack(f);
	if (reason) {
		snprintf(ret, WAIT_REASON_MAX, "%s", reason);
		return;
	}
	function = find_first_function(f);
	snprintf(ret, WAIT_REASON_MAX, "other: %.*s", (int)function.len, function.p);
}
