/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks described by what was heard of them, there or gone. */

#include "unit/procfs/writer_rig.h"
#include "procfs/process/process_writer.h"

SETUP
{
	writer_rig_begin();
	writer.options.thread_names = true;
}

TEARDOWN
{
	writer_rig_end();
}

static void put_name(struct task_state *t, const char *name)
{
	t->has_name = true;
	memset(t->name, 0, sizeof(t->name));
	memcpy(t->name, name, strlen(name));
}

static struct task_state new_process(int32_t pid, int32_t creator, const char *name)
{
	struct task_state t = {
		.is_new = true, .tid = pid, .creator = creator, .began_ns = 100, .last_ns = 200};

	put_name(&t, name);
	return t;
}

static struct task_state new_thread(int32_t tid, int32_t creator, const char *name)
{
	struct task_state t = new_process(tid, creator, name);

	t.is_thread = true;
	return t;
}

static struct task_state renamed(int32_t tid, const char *name)
{
	struct task_state t = {.tid = tid, .last_ns = 300};

	put_name(&t, name);
	return t;
}

static struct task_state executed(int32_t pid, const char *file, const char *name)
{
	struct task_state t = renamed(pid, name);

	t.file = (char *)file;
	t.file_len = (uint32_t)strlen(file);
	return t;
}

static void hear(struct task_state t)
{
	process_writer_write_state(&writer, &t);
	process_packet_end(&packet);
}

static uint64_t last_time(void)
{
	return fake_u64(fake_packet_field(fake.n - 1), PB_TRACE_PACKET_TIMESTAMP);
}

FIXTURE_TEST(a_process_that_has_exited)
{
	pid_relations_put_thread(&writer.relations, 8, 7);
	hear(new_process(70, 8, "child"));
	assert_process(70, 1, "ppid 7 cmdline child is_comm 1");
	assert_thread(70, 1, "name child tgid 70");
	assert_int_equal(last_time(), 201);
	/* It has been described. */
	assert_true(pid_set_has(&writer.seen, 70));

	writer.options.age = true;
	writer.options.skip_main_thread = true;
	hear(new_process(80, 7, "older"));
	assert_process(80, 1, "ppid 7 cmdline older is_comm 1 start 100");
	assert_int_equal(fake_thread(80, NULL), 0);
}

FIXTURE_TEST(a_program_that_was_deleted)
{
	struct task_state t = new_process(70, 7, "prog");

	t.file = (char *)"/bin/prog";
	t.file_len = 9;
	hear(t);
	assert_process(70, 1, "ppid 7 cmdline /bin/prog");
	/* Another one later; the parent stays. */
	pid_relations_put_process(&writer.relations, 70, 7);
	hear(executed(70, "/bin/other", "other"));
	assert_process(70, 2, "ppid 7 cmdline /bin/other");
	assert_int_equal(last_time(), 301);
	/* And a name of its own: the command line stands. */
	hear(renamed(70, "own"));
	assert_int_equal(fake_process(70, NULL), 2);
	assert_thread(70, 3, "name own tgid 70");
}

/* Where the name stands for the command line it goes with the name. */
FIXTURE_TEST(a_process_by_its_name_is_renamed)
{
	hear(new_process(70, 7, "first"));
	hear(renamed(70, "second"));
	assert_process(70, 2, "ppid 7 cmdline second is_comm 1");
}

FIXTURE_TEST(a_thread_that_has_exited)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "main"});
	hear(new_thread(72, 70, "worker")); /* whose is the creator? /proc knows */
	assert_int_equal(fake_process(70, NULL), 1);
	assert_thread(72, 1, "name worker tgid 70");
	assert_int_equal(last_time(), 201);
	/* A thread of the thread; it is known now. */
	proc_remove("70");
	hear(new_thread(73, 72, "other"));
	assert_thread(73, 1, "name other tgid 70");
	hear(renamed(73, "renamed"));
	assert_thread(73, 2, "name renamed tgid 70");
	assert_int_equal(fake_process(70, NULL), 1);
	assert_int_equal(fake_process(73, NULL), 0);
}

FIXTURE_TEST(a_task_of_an_unknown_process)
{
	hear(new_thread(72, 71, "worker"));
	hear(renamed(90, "stranger"));
	assert_int_equal(fake.n, 0);
	/* A process is one whoever its parent was: most likely a process of one thread. */
	hear(new_process(73, 71, "child"));
	assert_process(73, 1, "ppid 71 cmdline child is_comm 1");
}

FIXTURE_TEST(an_existing_task_is_read)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "child"});
	pid_relations_put_process(&writer.relations, 7, 1);
	hear(new_process(70, 7, "child"));
	assert_process(70, 1, "ppid 7 cmdline child|arg uid 1000 kthread 0");
	assert_int_equal(fake_thread(70, NULL), 1);
	assert_int_equal(fake.n, 1);
	assert_true(last_time() > 1000);

	/* So it stays when it is told again. */
	pid_set_remove(&writer.seen, 70);
	process_writer_write_task(&writer, 70);
	process_packet_end(&packet);
	assert_process(70, 2, "ppid 7 cmdline child|arg uid 1000 kthread 0");
}

/* The events' name at its time; the file's is another one's news. */
FIXTURE_TEST(the_name_of_an_event_beats_the_name_of_the_file)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "file"});
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "file"});
	hear(new_process(70, 7, "event"));
	assert_int_equal(fake_process(70, NULL), 1);
	assert_thread(70, 2, "name event tgid 70");
	assert_int_equal(fake.n, 2);
	assert_int_equal(last_time(), 201);
	hear(new_thread(71, 70, "event"));
	assert_thread(71, 2, "name event tgid 70");
	assert_int_equal(fake.n, 4);
	/* Numbers in namespaces are in the row after that of the process only. */
	proc_put_task((struct proc_task){.pid = 80, .name = "file", .more = "NSpid:\t80\t1\n"});
	hear(new_process(80, 7, "event"));
	assert_thread(80, 2, "name event tgid 80");
	assert_int_equal(last_time(), 201);
	assert_int_equal(fake.n, 6);
	/* Nothing is left of a name that is not wanted. */
	writer.options.thread_names = false;
	hear(renamed(70, "other"));
	assert_int_equal(fake.n, 7);
	assert_thread(70, 3, "tgid 70");
}

FIXTURE_TEST(a_kernel_thread_has_its_full_name)
{
	proc_put_task((struct proc_task){
		.pid = 70, .name = "kworker/0:0-events", .more = "Kthread:\t1\n"});
	hear(new_process(70, 2, "kworker/0:0"));
	assert_thread(70, 1, "name kworker/0:0-events tgid 70");
	assert_int_equal(fake.n, 1);
	/* One that is gone: its maker says what it was. */
	pid_relations_put_process(&writer.relations, 2, 0);
	hear(new_process(71, 2, "kthread"));
	assert_process(71, 1, "ppid 2 cmdline kthread is_comm 1 kthread 1");
}

/* Its memory is gone, its status is not. */
FIXTURE_TEST(an_exiting_process_without_its_command_line)
{
	struct task_state t = new_process(70, 7, "prog");

	proc_put_task((struct proc_task){.pid = 70, .name = "prog"});
	proc_put("", 0, "70/cmdline");
	t.file = (char *)"/bin/prog";
	t.file_len = 9;
	hear(t);
	assert_process(70, 1, "ppid 7 cmdline /bin/prog uid 1000 kthread 0");
	assert_int_equal(last_time(), 201);
	/* Its command line was told; it is not called by its name now. */
	hear(renamed(70, "last"));
	assert_int_equal(fake_process(70, NULL), 1);
	assert_thread(70, 2, "name last tgid 70");
}

/* It executes a program: its new command line cannot be read yet. Its start was not reported. */
FIXTURE_TEST(a_process_without_a_row_changes_its_name)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "prog"});
	proc_put("", 0, "70/cmdline");
	hear(renamed(70, "prog"));
	assert_process(70, 1, "ppid 1 cmdline prog is_comm 1 uid 1000 kthread 0");
	assert_thread(70, 1, "name prog tgid 70");
}

FIXTURE_TEST(a_pid_that_another_task_has_now)
{
	struct task_state t = new_process(71, 7, "mine");

	proc_put_task((struct proc_task){.pid = 70, .name = "other"});
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "other"});
	hear(t); /* a process was heard of, a thread is there */
	assert_process(71, 1, "ppid 7 cmdline mine is_comm 1");
	proc_put_task((struct proc_task){.pid = 80, .name = "other"});
	t = new_process(80, 7, "mine");
	t.closed = true;
	hear(t);
	assert_process(80, 1, "ppid 7 cmdline mine is_comm 1");
}

FIXTURE_TEST(a_reused_pid)
{
	pid_relations_put_process(&writer.relations, 7, 1);
	pid_relations_put_process(&writer.relations, 8, 1);
	hear(new_process(70, 7, "first"));
	hear(new_thread(70, 8, "second"));
	assert_int_equal(fake_process(70, NULL), 1);
	assert_thread(70, 2, "name second tgid 8");
	hear(new_process(70, 8, "third"));
	assert_process(70, 2, "ppid 8 cmdline third is_comm 1");
}

FIXTURE_TEST(a_sibling_of_its_creator)
{
	struct task_state t = new_process(71, 70, "twin");

	pid_relations_put_process(&writer.relations, 70, 7);
	t.is_sibling = true;
	hear(t);
	assert_process(71, 1, "ppid 7 cmdline twin is_comm 1");
	t = new_process(72, 99, "twin");
	t.is_sibling = true;
	hear(t);
	assert_process(72, 1, "cmdline twin is_comm 1");
}

/* An exec by a thread: it takes over the number of its process. */
FIXTURE_TEST(a_thread_becomes_the_leader)
{
	struct task_state t = executed(70, "/bin/prog", "prog");

	pid_relations_put_process(&writer.relations, 70, 7);
	pid_relations_put_thread(&writer.relations, 71, 70);
	assert_int_equal(pid_set_add(&writer.seen, 71), 0);
	t.was = 71;
	hear(t);
	assert_process(70, 1, "ppid 7 cmdline /bin/prog");
	assert_false(pid_set_has(&writer.seen, 71));
	assert_int_equal(pid_relations_tgid(&writer.relations, 71), 0);
	/* Of one that nobody heard of before. */
	hear(executed(80, "/bin/prog", "prog"));
	assert_process(80, 1, "cmdline /bin/prog");
}

FIXTURE_TEST(names_of_any_bytes)
{
	struct task_state t = new_process(70, 7, "");

	hear(t);
	assert_thread(70, 1, "name  tgid 70");
	memset(t.name, 0xff, sizeof(t.name)); /* no end */
	hear(t);
	assert_thread(70, 2,
		      "name \xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		      " tgid 70");
	t = new_process(INT32_MAX, INT32_MIN, "x");
	hear(t);
	t = new_thread(-1, 0, "x");
	hear(t);
}

FIXTURE_TEST(an_unknown_time)
{
	struct task_state t = new_process(70, 7, "x");

	t.last_ns = 0;
	hear(t);
	assert_int_equal(fake_process(70, NULL), 1);
	assert_true(last_time() > 1000); /* now */
}
