/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/ftrace/formats.h"
#include "ftrace/format/metadata_fields.h"

#define NEWTASK(flags_type, flags_size)                                                            \
	FIELD("pid_t pid", 8, 4, 1)                                                                \
	FIELD("char comm[16]", 12, 16, 0)                                                          \
	FIELD(flags_type " clone_flags", 32, flags_size, 0) FIELD("short oom_score_adj", 40, 2, 1)

static uint16_t min_len;

static struct metadata_fields plan(const char *group, const char *name, const char *fields)
{
	struct tep_handle *tep;
	struct metadata_fields p;

	min_len = 7;
	p = metadata_fields_find(format_event(group, name, fields, &tep), &min_len);
	tep_free(tep);
	return p;
}

TEST(test_a_task_that_begins)
{
	struct metadata_fields p = plan("task", "task_newtask", NEWTASK("u64", 8));

	assert_int_equal(p.kind, METADATA_NEW);
	assert_int_equal(p.subject, 8);
	assert_int_equal(p.text, 12);
	assert_int_equal(p.more, 32);
	assert_int_equal(p.wide, 1);
	assert_int_equal(min_len, 40);
	/* A 32-bit kernel's. */
	p = plan("task", "task_newtask", NEWTASK("unsigned long", 4));
	assert_int_equal(p.kind, METADATA_NEW);
	assert_int_equal(p.wide, 0);
	assert_int_equal(min_len, 36);
}

TEST(test_a_name)
{
	struct metadata_fields p =
		plan("task", "task_rename",
		     FIELD("pid_t pid", 8, 4, 1) FIELD("char oldcomm[16]", 12, 16, 0)
			     FIELD("char newcomm[16]", 28, 16, 0));

	assert_int_equal(p.kind, METADATA_RENAMED);
	assert_int_equal(p.text, 28);
	assert_int_equal(min_len, 44);
	/* Of the one that runs. */
	p = plan("task", "task_rename",
		 FIELD("char oldcomm[16]", 8, 16, 0) FIELD("char newcomm[16]", 24, 16, 0));
	assert_int_equal(p.kind, METADATA_RENAMED);
	assert_int_equal(p.subject, 0);
	assert_int_equal(p.text, 24);
	assert_int_equal(min_len, 40);
}

TEST(test_a_program)
{
	struct metadata_fields p =
		plan("sched", "sched_process_exec",
		     FIELD("__data_loc char[] filename", 8, 4, 0) FIELD("pid_t pid", 12, 4, 1)
			     FIELD("pid_t old_pid", 16, 4, 1));

	assert_int_equal(p.kind, METADATA_EXEC);
	assert_int_equal(p.subject, 12);
	assert_int_equal(p.text, 8);
	assert_int_equal(p.more, 16);
	assert_int_equal(min_len, 20);
}

TEST(test_a_task_that_ends)
{
	struct metadata_fields p =
		plan("sched", "sched_process_exit",
		     FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1)
			     FIELD("int prio", 28, 4, 1));

	assert_int_equal(p.kind, METADATA_ENDED);
	assert_int_equal(p.subject, 24);
	assert_int_equal(min_len, 28);
}

TEST(test_the_end_of_a_call)
{
	struct metadata_fields p = plan("raw_syscalls", "sys_exit",
					FIELD("long id", 8, 8, 1) FIELD("long ret", 16, 8, 1));

	assert_int_equal(p.kind, METADATA_SYS_EXIT);
	assert_int_equal(p.subject, 8);
	assert_int_equal(p.more, 16);
	assert_int_equal(p.wide, 1);
	assert_int_equal(min_len, 24);
	p = plan("raw_syscalls", "sys_exit", FIELD("long id", 8, 4, 1) FIELD("long ret", 12, 4, 1));
	assert_int_equal(p.wide, 0);
	assert_int_equal(min_len, 16);
}

TEST(test_a_file)
{
	struct metadata_fields p =
		plan("ext4", "ext4_mkdir",
		     FIELD("dev_t dev", 8, 4, 0) FIELD("ino_t dir", 16, 8, 0)
			     FIELD("ino_t ino", 24, 8, 0) FIELD("__u16 mode", 32, 2, 0));

	assert_int_equal(p.kind, METADATA_INODE);
	assert_int_equal(p.subject, 8);
	assert_int_equal(p.more, 16);
	assert_int_equal(p.text, 24);
	assert_int_equal(p.wide, 1);
	assert_int_equal(min_len, 32);
	/* By its name, before its device, and of 32 bits. */
	p = plan("filemap", "mm_filemap_add_to_page_cache",
		 FIELD("unsigned long i_ino", 8, 4, 0) FIELD("dev_t s_dev", 12, 4, 0));
	assert_int_equal(p.kind, METADATA_INODE);
	assert_int_equal(p.subject, 12);
	assert_int_equal(p.more, 8);
	assert_int_equal(p.text, 0);
	assert_int_equal(p.wide, 0);
	assert_int_equal(min_len, 16);
	/* A device without a file, a file without a device. */
	assert_int_equal(plan("block", "block_rq_issue", FIELD("dev_t dev", 8, 4, 0)).kind,
			 METADATA_NONE);
	assert_int_equal(plan("x", "y", FIELD("ino_t ino", 8, 8, 0)).kind, METADATA_NONE);
	assert_int_equal(min_len, 7);
}

TEST(test_what_has_no_news)
{
	assert_int_equal(plan("sched", "task_newtask", NEWTASK("u64", 8)).kind, METADATA_NONE);
	assert_int_equal(plan("task", "task_other", NEWTASK("u64", 8)).kind, METADATA_NONE);
	/* Not in the form that is known. */
	assert_int_equal(plan("task", "task_newtask", NEWTASK("u16", 2)).kind, METADATA_NONE);
	assert_int_equal(plan("task", "task_rename",
			      FIELD("pid_t pid", 8, 4, 1) FIELD("char newcomm[32]", 12, 32, 0))
				 .kind,
			 METADATA_NONE);
	assert_int_equal(plan("task", "task_newtask", FIELD("char comm[16]", 8, 16, 0)).kind,
			 METADATA_NONE);
	assert_int_equal(plan("raw_syscalls", "sys_exit",
			      FIELD("long id", 65530, 8, 1) FIELD("long ret", 8, 8, 1))
				 .kind,
			 METADATA_NONE);
	assert_int_equal(min_len, 7);
}
