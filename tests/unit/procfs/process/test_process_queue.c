/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/writer_rig.h"
#include "procfs/process/process_queue.h"

static struct process_queue queue;

SETUP
{
	queue = (struct process_queue){0};
	writer_rig_begin();
}

TEARDOWN
{
	process_queue_deinit(&queue);
	writer_rig_end();
}

static bool one_slice(void)
{
	struct time_slice slice = time_slice_start(stepping);
	bool more = process_queue_run(&queue, &writer, &slice);

	process_packet_end(&packet);
	return more;
}

static size_t waiting(void)
{
	return queue.n - queue.next;
}

FIXTURE_TEST(fifo_order_and_each_id_once)
{
	for (int pid = 1; pid <= 3; pid++)
		proc_put_task((struct proc_task){.pid = pid, .name = "x"});
	process_queue_add(&queue, 3);
	process_queue_add(&queue, 1);
	process_queue_add(&queue, 3);
	process_queue_add(&queue, 2);
	assert_int_equal(waiting(), 3);
	step_ns = TIME_SLICE_NS;
	assert_true(one_slice());
	assert_int_equal(fake_process(3, NULL), 1);
	assert_true(one_slice());
	assert_int_equal(fake_process(1, NULL), 1);
	/* Served once, it may come again. */
	pid_set_remove(&writer.seen, 3);
	process_queue_add(&queue, 3);
	assert_true(one_slice());
	assert_false(one_slice());
	assert_int_equal(fake_process(2, NULL), 1);
	assert_int_equal(fake_process(3, NULL), 2);
	assert_true(process_queue_is_empty(&queue));
	assert_false(one_slice());
}

FIXTURE_TEST(tasks_that_ended_while_they_waited)
{
	for (int pid = 1; pid <= 1000; pid++)
		process_queue_add(&queue, pid);
	assert_false(one_slice());
	assert_int_equal(fake.n, 0);
	assert_false(pid_set_has(&writer.seen, 1));
}

FIXTURE_TEST(invalid_ids_are_not_queued)
{
	process_queue_add(&queue, 0);
	process_queue_add(&queue, -1);
	process_queue_add(&queue, INT32_MAX);
	assert_true(process_queue_is_empty(&queue));
}

FIXTURE_TEST(more_than_can_wait)
{
	for (int pid = 1; pid <= (int)PROCESS_QUEUE_MAX + 100; pid++)
		process_queue_add(&queue, pid);
	assert_int_equal(waiting(), PROCESS_QUEUE_MAX);
	/* The one that was dropped is not taken for one that waits. */
	assert_false(pid_set_has(&queue.waiting, (int)PROCESS_QUEUE_MAX + 1));
}

/* Always something to do, but never much: the array does not grow with what was served. */
FIXTURE_TEST(a_queue_that_is_never_empty)
{
	step_ns = TIME_SLICE_NS;
	process_queue_add(&queue, 1);
	for (int pid = 2; pid <= 100000; pid++) {
		process_queue_add(&queue, pid);
		assert_true(one_slice());
	}
	assert_true(queue.cap < 1024);
	assert_int_equal(waiting(), 1);
}
