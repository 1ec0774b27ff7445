/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tep_event;

/*
 * Where a record holds facts about a task that the metadata bus publishes (metadata.h).
 * Part of struct compiled_event.
 *
 * Format: events/task/{task_newtask,task_rename} and events/sched/sched_process_{exec,exit}.
 */
enum metadata_kind {
	METADATA_NONE,
	METADATA_NEW,
	METADATA_RENAMED,
	METADATA_EXEC,
	METADATA_ENDED,
};

struct metadata_fields {
	uint8_t kind; /* enum metadata_kind */
	uint8_t wide; /* 1: flags have 64 bits; 0: 32 bits */
	uint16_t subject; /* offset. s32: the task; 0: the current task */
	uint16_t text; /* offset. char[16]. EXEC: __data_loc of the file name */
	uint16_t more; /* offset. NEW: clone flags. EXEC: s32, old thread id */
};

/* Returns the fields of an event; kind is METADATA_NONE if the event has none, or not in the known
 * form. Sets *ret_min_len to the bytes that a record needs; leaves it unchanged for
 * METADATA_NONE. */
struct metadata_fields metadata_fields_find(const struct tep_event *event, uint16_t *ret_min_len);
