/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/core/mem.h"
#include "bpf/waits.h"
#include "stacks/waits/wait_reasons.h"
#include "unit/test.h"

#define FUNCTIONS_MAX 16

/* Stacks that kernels had, the innermost function first. */
struct recorded {
	const char *kernel, *reason, *call;
	const char *functions[FUNCTIONS_MAX];
};

static const struct recorded recorded[] = {
	{"5.10",
	 "futex",
	 "futex",
	 {"futex_wait_queue_me", "futex_wait", "do_futex", "__x64_sys_futex", "do_syscall_64"}},
	{"6.1",
	 "futex",
	 "futex",
	 {"futex_wait_queue", "futex_wait", "do_futex", "__x64_sys_futex", "do_syscall_64"}},
	{"6.12",
	 "futex",
	 "futex",
	 {"futex_wait_queue", "__futex_wait", "futex_wait", "do_futex", "__x64_sys_futex"}},
	{"6.18",
	 "futex",
	 "futex",
	 {"futex_do_wait", "__futex_wait", "futex_wait", "do_futex", "__x64_sys_futex"}},
	{"5.10", "epoll", "epoll_wait", {"ep_poll", "do_epoll_wait", "__x64_sys_epoll_wait"}},
	{"6.18", "epoll", "epoll_wait", {"do_epoll_wait", "__x64_sys_epoll_wait"}},
	{"6.18",
	 "poll",
	 "poll",
	 {"poll_schedule_timeout.constprop.0", "do_sys_poll", "__x64_sys_poll"}},
	{"6.18",
	 "select",
	 "pselect6",
	 {"poll_schedule_timeout.constprop.0", "do_select", "core_sys_select",
	  "do_pselect.constprop.0", "__x64_sys_pselect6"}},
	{"6.18",
	 "sleep",
	 "clock_nanosleep",
	 {"hrtimer_nanosleep", "common_nsleep", "__x64_sys_clock_nanosleep"}},
	{"5.10", "read from pipe", "read", {"pipe_read", "new_sync_read", "vfs_read", "ksys_read"}},
	{"6.18", "read from pipe", "read", {"anon_pipe_read", "vfs_read", "ksys_read"}},
	{"6.18", "write to pipe", "write", {"anon_pipe_write", "vfs_write", "ksys_write"}},
	{"5.10", "child", "wait4", {"do_wait", "kernel_wait4", "__do_sys_wait4"}},
	{"6.18", "vfork", "vfork", {"kernel_clone", "__do_sys_vfork", "do_syscall_64"}},
	{"6.18", "signal", "rt_sigsuspend", {"sigsuspend.isra.0", "__x64_sys_rt_sigsuspend"}},
	{"6.18", "signal", "pause", {"__x64_sys_pause", "do_syscall_64"}},
	{"5.10",
	 "disk read",
	 "read",
	 {"wait_on_page_bit_common", "generic_file_buffered_read", "new_sync_read", "vfs_read"}},
	{"6.1",
	 "disk read",
	 "read",
	 {"folio_wait_bit_common", "filemap_get_pages", "filemap_read", "vfs_read"}},
	{"5.10",
	 "page fault",
	 "",
	 {"__lock_page_or_retry", "filemap_fault", "__do_fault", "handle_mm_fault",
	  "exc_page_fault", "asm_exc_page_fault"}},
	{"6.18",
	 "page fault",
	 "",
	 {"folio_wait_bit_common", "filemap_fault", "__do_fault", "handle_mm_fault",
	  "exc_page_fault", "asm_exc_page_fault"}},
	{"6.18",
	 "fsync",
	 "fsync",
	 {"folio_wait_bit", "folio_wait_writeback", "__filemap_fdatawait_range",
	  "file_write_and_wait_range", "ext4_sync_file", "do_fsync"}},
	{"5.10",
	 "fsync",
	 "fsync",
	 {"jbd2_log_wait_commit", "jbd2_complete_transaction", "ext4_sync_file", "do_fsync"}},
	{"6.18",
	 "write-back",
	 "openat",
	 {"folio_wait_bit", "folio_wait_writeback", "truncate_inode_partial_folio",
	  "truncate_inode_pages_range", "do_truncate", "path_openat"}},
	{"6.1",
	 "journal",
	 "unlink",
	 {"wait_transaction_locked", "add_transaction_credits", "start_this_handle",
	  "jbd2__journal_start", "ext4_unlink"}},
	{"5.10",
	 "throttled writer",
	 "write",
	 {"io_schedule_timeout", "balance_dirty_pages", "balance_dirty_pages_ratelimited",
	  "generic_perform_write"}},
	{"5.10",
	 "block queue",
	 "read",
	 {"io_schedule", "blk_mq_get_tag", "__blk_mq_alloc_request", "submit_bio"}},
	{"6.18",
	 "unix receive",
	 "recvmsg",
	 {"unix_stream_read_generic", "unix_stream_recvmsg", "sock_recvmsg"}},
	{"6.18",
	 "tcp receive",
	 "recvfrom",
	 {"sk_wait_data", "tcp_recvmsg_locked", "tcp_recvmsg", "inet_recvmsg"}},
	{"5.10",
	 "tcp send",
	 "sendto",
	 {"wait_woken", "sk_stream_wait_memory", "tcp_sendmsg_locked", "tcp_sendmsg",
	  "sock_sendmsg"}},
	{"6.18",
	 "tcp send",
	 "sendto",
	 {"sk_stream_wait_memory", "tcp_sendmsg_locked", "tcp_sendmsg", "__sys_sendto"}},
	{"6.1",
	 "NFS",
	 "newfstatat",
	 {"rpc_wait_bit_killable", "__rpc_execute", "rpc_run_task", "nfs4_call_sync_sequence",
	  "nfs_getattr"}},
	{"6.1",
	 "FUSE",
	 "openat",
	 {"request_wait_answer", "fuse_simple_request", "fuse_lookup_name", "path_openat"}},
	{"6.18",
	 "io_uring",
	 "io_uring_enter",
	 {"io_cqring_wait", "__do_sys_io_uring_enter", "__x64_sys_io_uring_enter"}},
	{"6.18", "accept", "accept4", {"inet_csk_accept", "inet_accept", "do_accept"}},
	{"6.18", "file lock", "fcntl", {"fcntl_setlk", "do_fcntl", "__x64_sys_fcntl"}},
	{"5.10", "mutex", "mkdir", {"__mutex_lock.isra.0", "mutex_lock", "some_driver_open"}},
	{"6.1",
	 "rwsem",
	 "openat",
	 {"rwsem_down_write_slowpath", "down_write", "path_openat", "do_sys_openat2"}},
	{"5.10",
	 "memory reclaim",
	 "",
	 {"io_schedule_timeout", "congestion_wait", "shrink_inactive_list", "shrink_lruvec",
	  "handle_mm_fault"}},
	{"6.18",
	 "other: some_driver_wait",
	 "ioctl",
	 {"__schedule", "schedule", "schedule_timeout", "some_driver_wait.part.0",
	  "__x64_sys_ioctl"}},
	{"6.12",
	 "other: wait_for_device",
	 "ioctl",
	 {"wait_for_completion_interruptible", "wait_for_device.cold", "__x64_sys_ioctl"}},
};

static const char *reason_of(const char *const *functions, const char *call, unsigned state,
			     unsigned lock)
{
	static char reason[WAIT_REASON_MAX];
	struct span spans[FUNCTIONS_MAX];
	struct wait_facts f = {.functions = spans, .call = call, .state = state, .lock = lock};

	for (; functions && f.n < FUNCTIONS_MAX && functions[f.n]; f.n++)
		spans[f.n] = (struct span){functions[f.n], strlen(functions[f.n])};
	wait_reason_format(&f, reason);
	return reason;
}

TEST(stacks_of_several_kernels_have_their_reasons)
{
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++) {
		const struct recorded *r = &recorded[i];
		const char *reason =
			reason_of(r->functions, r->call, WAIT_UNINTERRUPTIBLE, WAIT_NO_LOCK);

		if (strcmp(reason, r->reason) != 0)
			print_error("row %zu, of %s\n", i, r->kernel);
		assert_string_equal(reason, r->reason);
	}
}

/* The stack of a thread that sleeps has none of the lock's functions. */
TEST(the_lock_that_a_thread_contends_for_is_the_reason)
{
	static const char *const functions[] = {"madvise_do_behavior", "do_madvise", NULL};

	assert_string_equal(reason_of(functions, "madvise", WAIT_UNINTERRUPTIBLE, WAIT_RWSEM_WRITE),
			    "rwsem");
	assert_string_equal(reason_of(functions, "madvise", WAIT_UNINTERRUPTIBLE, WAIT_MUTEX),
			    "mutex");
	assert_string_equal(reason_of(functions, "madvise", WAIT_UNINTERRUPTIBLE, WAIT_NO_LOCK),
			    "other: madvise_do_behavior");
}

TEST(without_a_stack_the_system_call_is_the_reason)
{
	assert_string_equal(reason_of(NULL, "futex", WAIT_INTERRUPTIBLE, WAIT_NO_LOCK), "futex");
	assert_string_equal(reason_of(NULL, "fdatasync", WAIT_UNINTERRUPTIBLE, WAIT_NO_LOCK),
			    "fsync");
	assert_string_equal(reason_of(NULL, "read", WAIT_INTERRUPTIBLE, WAIT_NO_LOCK), "read");
	assert_string_equal(reason_of(NULL, "", WAIT_UNINTERRUPTIBLE, WAIT_NO_LOCK), "page fault");
	assert_string_equal(reason_of(NULL, "read", WAIT_STOPPED, WAIT_NO_LOCK), "stopped");
	assert_string_equal(reason_of(NULL, "", WAIT_THROTTLED, WAIT_NO_LOCK), "cgroup throttle");
}

/* Of a poll that a signal interrupted and the kernel goes on with. */
TEST(a_restarted_call_has_the_reason_of_its_stack)
{
	static const char *const functions[] = {"do_sys_poll", "do_restart_poll", NULL};

	assert_string_equal(
		reason_of(functions, "restart_syscall", WAIT_INTERRUPTIBLE, WAIT_NO_LOCK), "poll");
}

TEST(a_long_name_is_cut)
{
	char name[200];
	const char *const functions[] = {name, NULL};

	memset(name, 'f', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(strlen(reason_of(functions, "", WAIT_INTERRUPTIBLE, WAIT_NO_LOCK)),
			 WAIT_REASON_MAX - 1);
}
