/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdbool.h>

struct tep_event;

/*
 * Where a record holds facts about a task or a file that the metadata bus publishes (metadata.h).
 * Part of struct compiled_event.
 *
 * Format: events/task/{task_newtask,task_rename}, events/sched/sched_process_{exec,exit} and
 * events/raw_syscalls/sys_exit; for inodes events/{ext4,f2fs,filemap...}.
 */
enum metadata_kind {
	METADATA_NONE,
	METADATA_NEW,
	METADATA_RENAMED,
	METADATA_EXEC,
	METADATA_ENDED,
	METADATA_SYS_EXIT,
	METADATA_INODE, /* any event with fields of type dev_t and ino_t */
};

struct metadata_fields {
	uint8_t kind; /* enum metadata_kind */
	uint8_t wide; /* 1: flags, call number, result and inodes have 64 bits; 0: 32 bits */
	/*
	 * offset. s32: the task; 0: the current task. SYS_EXIT: number of the call. INODE: u32, the
	 * kernel's dev_t
	 */
	uint16_t subject;
	/* offset. char[16]. EXEC: __data_loc of the file name. INODE: a second inode; 0: none */
	uint16_t text;
	/* offset. NEW: clone flags. EXEC: s32, old thread id. SYS_EXIT: result. INODE: the inode */
	uint16_t more;
};

/*
 * Returns the fields of an event; kind is METADATA_NONE if the event has none, or not in the known
 * form. Sets *ret_min_len to the bytes that a record needs; leaves it unchanged for METADATA_NONE.
 */
struct metadata_fields metadata_fields_find(const struct tep_event *event, uint16_t *ret_min_len);

/*
 * Returns true if the system call returns a new file descriptor. nr: the number on the
 * architecture of this build. Not included: calls that return two descriptors in memory (pipe,
 * socketpair), and calls where a descriptor cannot be told from other results (fcntl, ioctl,
 * recvmsg).
 */
bool fd_syscalls_has(uint64_t nr);

/*
 * Returns a kernel filter for raw_syscalls/sys_exit: it passes the successful calls for which
 * fd_syscalls_has() returns true. The text is never freed.
 */
const char *fd_syscalls_filter(void);
