/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdbool.h>

struct tep_event;

/*
 * Where a record says something of a task or a file that the session's feed wants to know
 * (metadata.h); a part of the event's row.
 *
 * Format: events/task/{task_newtask,task_rename}, events/sched/sched_process_{exec,exit} and
 * events/raw_syscalls/sys_exit; of inodes events/{ext4,f2fs,filemap...}.
 */
enum metadata_kind {
	METADATA_NONE,
	METADATA_NEW,
	METADATA_RENAMED,
	METADATA_EXEC,
	METADATA_ENDED,
	METADATA_SYS_EXIT,
	METADATA_INODE, /* any event with fields of the types dev_t and ino_t */
};

struct metadata_fields {
	uint8_t kind; /* enum metadata_kind */
	uint8_t wide; /* the flags, number and result of the call, inodes: 64 bits, else 32 */
	uint16_t subject; /* s32: the task; 0: the one that runs. SYS_EXIT: the number of the call.
			     INODE: u32, the kernel's dev_t */
	uint16_t text; /* char[16]. EXEC: __data_loc of the file's name. INODE: another; 0: none */
	uint16_t more; /* NEW: clone flags. EXEC: s32, old number. SYS_EXIT: result. INODE: it */
};

/* The plan of an event: METADATA_NONE where it has no news, or not in the form that is known. A record
 * has to have *ret_min_len bytes; untouched where there are none. */
struct metadata_fields metadata_fields_find(const struct tep_event *event, uint16_t *ret_min_len);

/*
 * The system calls whose result is a new file descriptor, by their numbers on the machine that this
 * was built for. Those that give two at once (pipe, socketpair) give them in memory, and those that
 * give one among other things (fcntl, ioctl, recvmsg) do not tell it from others.
 */
bool fd_syscalls_has(uint64_t nr);

/* A filter of the kernel for raw_syscalls/sys_exit that passes them when they succeed: text that
 * lives as long as the process. */
const char *fd_syscalls_filter(void);
