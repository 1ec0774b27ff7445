/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/format/metadata_fields.h"
#include "unit/ftrace/formats.h"
#include "unit/test.h"

#define NEWTASK(flags_type, flags_size)                                                            \
	FIELD("pid_t pid", 8, 4, 1)                                                                \
	FIELD("char comm[16]", 12, 16, 0)                                                          \
	FIELD(flags_type " clone_flags", 32, flags_size, 0) FIELD("short oom_score_adj", 40, 2, 1)

/* What min_len is before; events without metadata leave it as it is. */
#define LEN 7

static const struct {
	const char *what, *group, *name, *fields;
	struct metadata_fields want;
	uint16_t min_len;
} rows[] = {
	{"a task that begins",
	 "task",
	 "task_newtask",
	 NEWTASK("u64", 8),
	 {.kind = METADATA_NEW, .wide = 1, .subject = 8, .text = 12, .more = 32},
	 40},
	{"a task that begins, of a 32-bit kernel",
	 "task",
	 "task_newtask",
	 NEWTASK("unsigned long", 4),
	 {.kind = METADATA_NEW, .wide = 0, .subject = 8, .text = 12, .more = 32},
	 36},
	{"a name",
	 "task",
	 "task_rename",
	 FIELD("pid_t pid", 8, 4, 1) FIELD("char oldcomm[16]", 12, 16, 0)
		 FIELD("char newcomm[16]", 28, 16, 0),
	 {.kind = METADATA_RENAMED, .subject = 8, .text = 28},
	 44},
	{"a name of the task that runs",
	 "task",
	 "task_rename",
	 FIELD("char oldcomm[16]", 8, 16, 0) FIELD("char newcomm[16]", 24, 16, 0),
	 {.kind = METADATA_RENAMED, .subject = 0, .text = 24},
	 40},
	{"a program",
	 "sched",
	 "sched_process_exec",
	 FIELD("__data_loc char[] filename", 8, 4, 0) FIELD("pid_t pid", 12, 4, 1)
		 FIELD("pid_t old_pid", 16, 4, 1),
	 {.kind = METADATA_EXEC, .subject = 12, .text = 8, .more = 16},
	 20},
	{"a task that ends",
	 "sched",
	 "sched_process_exit",
	 FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1) FIELD("int prio", 28, 4, 1),
	 {.kind = METADATA_ENDED, .subject = 24},
	 28},
	{"another group", "sched", "task_newtask", NEWTASK("u64", 8), {0}, LEN},
	{"another event", "task", "task_other", NEWTASK("u64", 8), {0}, LEN},
	{"flags of another size", "task", "task_newtask", NEWTASK("u16", 2), {0}, LEN},
	{"a name of another size",
	 "task",
	 "task_rename",
	 FIELD("pid_t pid", 8, 4, 1) FIELD("char newcomm[32]", 12, 32, 0),
	 {0},
	 LEN},
	{"fields that are missing",
	 "task",
	 "task_newtask",
	 FIELD("char comm[16]", 8, 16, 0),
	 {0},
	 LEN},
	{"a field that ends beyond any record",
	 "raw_syscalls",
	 "sys_exit",
	 FIELD("long id", 65530, 8, 1) FIELD("long ret", 8, 8, 1),
	 {0},
	 LEN},
};

TEST(events_with_metadata_are_known_by_name_and_form)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct metadata_fields *want = &rows[i].want;
		struct metadata_fields got;
		struct tep_handle *tep;
		uint16_t min_len = LEN;

		got = metadata_fields_find(
			format_event(rows[i].group, rows[i].name, rows[i].fields, &tep), &min_len);
		tep_free(tep);
		if (got.kind != want->kind || got.wide != want->wide ||
		    got.subject != want->subject || got.text != want->text ||
		    got.more != want->more || min_len != rows[i].min_len)
			fail_msg("%s: kind %u wide %u subject %u text %u more %u length %u",
				 rows[i].what, got.kind, got.wide, got.subject, got.text, got.more,
				 min_len);
	}
}
