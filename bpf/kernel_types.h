/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/* The structs of the kernel, as far as they are read. Only names matter: the loader finds offsets
 * in the BTF of the running kernel (CO-RE), and bpf_core_field_exists() reports whether a field
 * exists. To add a field, add a line; order and neighbours have no meaning. A name with "___" and a
 * suffix is another version of the struct before it, for kernels in which a field had another
 * name. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq;

struct cfs_rq {
	struct rq *rq; /* of the CPU; CONFIG_FAIR_GROUP_SCHED */
	unsigned int h_nr_queued;
	unsigned int h_nr_runnable; /* h_nr_queued without sleeping threads; from 6.14 on */
	int throttle_count; /* groups above it that have used up cpu.max; CONFIG_CFS_BANDWIDTH */
};

struct rq {
	unsigned int nr_running;
	struct cfs_rq cfs;
	__u64 clock; /* ns; of its last update */
};

struct sched_entity {
	struct cfs_rq *cfs_rq; /* of the task's CPU, whatever class the task is of */
	__u64 sum_exec_runtime; /* ns on a CPU */
	unsigned char sched_delayed; /* it sleeps, but is still queued; from 6.12 on */
};

/* Clocks of run queues. */
struct sched_info {
	unsigned long long last_arrival; /* on a CPU */
	unsigned long long last_queued; /* 0: it is not queued, or runs */
};

struct task_io_accounting {
	__u64 read_bytes, write_bytes; /* CONFIG_TASK_IO_ACCOUNTING */
};

/* Of a process. Sums of its threads that have ended. */
struct signal_struct {
	unsigned long long sum_sched_runtime;
	struct task_io_accounting ioac;
};

struct percpu_counter {
	__s64 count; /* without what the CPUs have not added yet */
};

struct mm_flags {
	unsigned long __mm_flags[1];
};

struct maple_tree {
	void *ma_root; /* address of a node, with its type in bits 3 to 6; bits 0 and 1 are 2 */
};

/* Nodes of 256 bytes. */
struct maple_range_64 {
	unsigned long pivot[15]; /* last address of a slot; 0 after the last slot that is used */
	void *slot[16]; /* as ma_root, with other bits 0 to 2; in leaves what is mapped */
};

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
};

#define MAPLE_NODE_SIZE 256
#define MAPLE_RANGE_64 2 /* types of nodes: leaves are below it */
#define MAPLE_ARANGE_64 3

struct mm_struct {
	struct percpu_counter rss_stat[4]; /* pages: of files, anonymous, swapped out, shared */
	struct mm_flags flags; /* from 6.18 on */
	struct maple_tree mm_mt; /* the mappings; from 6.1 on */
};

struct mm_struct___vdso {
	struct {
		void *vdso;
	} context;
};

struct rb_node {
	struct rb_node *rb_left, *rb_right;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct mm_struct___before_6_1 {
	struct rb_root mm_rb; /* the mappings */
};

struct super_block {
	unsigned int s_dev; /* major << 20 | minor */
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
	long long i_size;
	long long i_ctime_sec; /* from 6.11 on */
	unsigned int i_ctime_nsec; /* likewise; above INODE_NSEC are flags */
};

#define INODE_NSEC 0x3fffffffu

struct timespec64 {
	long long tv_sec;
	long tv_nsec;
};

struct inode___before_6_11 {
	struct timespec64 __i_ctime;
};

struct inode___before_6_6 {
	struct timespec64 i_ctime;
};

struct file {
	struct inode *f_inode;
};

struct dentry {
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

/* What is mapped for a file of overlayfs or of FUSE with passthrough: the file below. */
struct backing_file {
	struct file file;
	struct path user_path; /* the file that was opened; from 6.8 on */
};

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	unsigned long vm_flags; /* VM_... */
	unsigned long vm_pgoff; /* in its file, in pages */
	struct file *vm_file; /* NULL: none */
};

struct vm_area_struct___before_6_1 {
	struct rb_node vm_rb;
};

#define VM_EXEC 4

struct mm_struct___before_6_18 {
	unsigned long flags;
};

struct counter___before_6_2 {
	long counter;
};

struct mm_rss_stat___before_6_2 {
	struct counter___before_6_2 count[4];
};

struct mm_struct___before_6_2 {
	struct mm_rss_stat___before_6_2 rss_stat;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task; /* NULL at the end */
};

struct thread_info {
	unsigned long flags;
	unsigned int status; /* x86 */
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id; /* 0: version 2 */
};

struct cgroup {
	struct cgroup_root *root;
	int level; /* below the root, which is 0 */
	struct kernfs_node *kn;
	struct cgroup *ancestors[]; /* by level, itself too; from 6.1 on */
};

struct cgroup___before_6_1 {
	int level;
	__u64 ancestor_ids[];
};

struct css_set {
	struct cgroup *dfl_cgrp; /* of version 2 */
};

struct pid {
	unsigned int level; /* of its namespace; 0: the first one */
};

struct kuid {
	unsigned int val; /* of the initial user namespace */
};

struct cred {
	struct kuid uid, gid, suid, sgid, euid, egid;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	struct files_struct *files;
	struct css_set *cgroups;
	const struct cred *cred; /* what it may do now */
	struct thread_info thread_info; /* CONFIG_THREAD_INFO_IN_TASK */
	void *stack; /* lowest address of the stack */
	int pid;
	int tgid;
	char comm[16];
	unsigned int __state; /* from 5.14 on */
	unsigned long min_flt, maj_flt; /* page faults of the thread */
	unsigned int flags; /* PF_... */
	struct sched_entity se;
	struct sched_info sched_info; /* CONFIG_SCHED_INFO */
	__u64 start_boottime; /* ns, from 5.5 on */
	struct task_io_accounting ioac;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	unsigned int on_rq; /* 0: it sleeps; u8 from 7.0 on */
	unsigned in_iowait : 1;
	bool throttled; /* from 6.18 on; CONFIG_CFS_BANDWIDTH */
	struct task_struct *real_parent;
	__u64 self_exec_id; /* execs of the process and those it was forked from; u32 before 5.8 */
	__u64 parent_exec_id; /* self_exec_id of the parent at the fork; u32 before 5.8 */
};

struct task_struct___before_5_14 {
	long state;
};

struct gendisk {
	int major, first_minor;
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk; /* from 5.15 on */
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len; /* bytes that are not complete */
	__u64 __sector; /* of 512 bytes: the first that is not complete */
};

struct request___before_5_17 {
	struct gendisk *rq_disk;
};

/* Registers at a system call or an interrupt. */
struct pt_regs___x86_64 {
	unsigned long bx, cx, dx, si, di, bp, r8, r9, r10, orig_ax, cs;
};

struct pt_regs___arm64 {
	__u64 regs[31], pstate, orig_x0;
	int syscallno;
};

/* The context of a program on a perf event. */
struct bpf_perf_event_data_kern {
	void *regs; /* interrupted ones */
};

struct pt_regs {
	int any;
};

#pragma clang attribute pop

#define PF_KTHREAD 0x00200000
#define PF_IO_WORKER 0x00000010 /* of io_uring */
#define PF_USER_WORKER 0x00004000 /* threads of vhost, from 6.4 on; modprobe before 5.17 */

/* Bits of a task's state. */
#define TASK_RUNNING 0
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED 0x4
#define TASK_TRACED 0x8
#define TASK_PARKED 0x40
#define TASK_DEAD 0x80
#define TASK_NOLOAD 0x400 /* with UNINTERRUPTIBLE: idle, for kernel threads */

#define TS_COMPAT 0x2 /* x86, thread_info.status: the thread is in a call of the 32-bit table */
#define TIF_32BIT 22 /* arm64, a bit of thread_info.flags: the thread is of a 32-bit program */
