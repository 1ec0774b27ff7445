/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct tep_event;

/*
 * Where a record says something of a task or a file that the session's feed wants to know
 * (task_news.h); a part of the event's row.
 *
 * Format: events/task/{task_newtask,task_rename}, events/sched/sched_process_{exec,exit} and
 * events/raw_syscalls/sys_exit.
 */
enum news_kind {
	NEWS_NONE,
	NEWS_NEW,
	NEWS_RENAMED,
	NEWS_EXEC,
	NEWS_ENDED,
	NEWS_SYS_EXIT,
};

struct news_plan {
	uint8_t kind; /* enum news_kind */
	uint8_t wide; /* the flags, or number and result of the call, have 64 bits, else 32 */
	uint16_t
		subject; /* s32: the task; 0: the one that runs. SYS_EXIT: the number of the call */
	uint16_t text; /* char[16]. EXEC: __data_loc of the file's name */
	uint16_t more; /* NEW: clone flags. EXEC: s32, old number. SYS_EXIT: result */
};

/* The plan of an event: NEWS_NONE where it has no news, or not in the form that is known. A record
 * has to have *ret_min_len bytes; untouched where there are none. */
struct news_plan news_plan_make(const struct tep_event *event, uint16_t *ret_min_len);
