/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bpf/switch_records.h"
#include "ebpf/engine/features.h"

/* What a rung takes whose program includes bpf/switch_records.h. */
#define NEEDS_OF_SWITCH_RECORDS                                                                    \
	NEED_FIELD("sched/sched_switch", "prev_pid", SWITCH_PREV),                                 \
		NEED_FIELD("sched/sched_switch", "prev_state", SWITCH_STATE),                      \
		NEED_FIELD("sched/sched_switch", "next_pid", SWITCH_NEXT),                         \
		NEED_FIELD("sched/sched_wakeup", "pid", SWITCH_WOKEN),                             \
		NEED_FIELD("sched/sched_wakeup_new", "pid", SWITCH_WOKEN_NEW),                     \
		NEED_FIELD("task/task_newtask", "pid", SWITCH_NEW),                                \
		NEED_FIELD("task/task_newtask", "clone_flags", SWITCH_NEW_FLAGS),                  \
		NEED_FIELD("sched/sched_process_exec", "old_pid", SWITCH_EXEC_OLD),                \
		NEED_FIELD("sched/sched_process_exec", "pid", SWITCH_EXEC)
