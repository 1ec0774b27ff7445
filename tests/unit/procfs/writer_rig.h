/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A writer of tasks over a fake /proc, and a clock that goes on by step_ns each time it is read. */
#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/process_rows.h"
#include "base/event_loop/time_slice.h"
#include "procfs/process/process_writer.h"

static struct proc_files files;
static struct process_packet packet;
static struct process_writer writer;
static __attribute__((unused)) uint64_t time_ns, step_ns;

static __attribute__((unused)) uint64_t stepping(void)
{
	return time_ns += step_ns;
}

static void writer_rig_begin(void)
{
	fake_reset();
	proc_new();
	time_ns = 0;
	step_ns = 1;
	writer = (struct process_writer){.files = &files, .packet = &packet};
	packet = (struct process_packet){.w = writer_new(NULL, 1, WRITER_STALL)};
	assert_int_equal(proc_files_init(&files, proc_root), 0);
}

static void writer_rig_end(void)
{
	process_packet_end(&packet);
	process_writer_deinit(&writer);
	proc_files_deinit(&files);
	writer_free(packet.w);
	fake_reset();
	proc_remove_all();
}
