/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "analyze/report/machines.h"
#include "analyze/store/store.h"

/*
 * Tables for the statements of reports that are computed by a pass over the columns: SQL takes ten
 * times as long. They are table-valued functions; arguments that a table does not use may be left
 * out:
 *
 *	used(by)(utid, cpu, time, n, longest, subject)
 *		sums of the runs in sched, by thread and CPU; with by: of the chosen threads, by
 *		subject (who of waits_by) and CPU
 *	spent(by)(utid, state, io_wait, time, n, empty, longest, woken, subject)
 *		sums of the rows of thread_state, by thread (or subject), state and io_wait; n: without those
 *		that took no time (empty); woken: of n, those that a wakeup began
 *	blocked(utid, function, time, n, longest, io)
 *		uninterruptible sleep of the chosen threads, by kernel function
 *	waits_by(by)(who, n, woken, total, p50, p99, worst, worst_ts)
 *		waits of the chosen threads for a CPU, each from the wakeup or the preemption until
 *		the thread ran; by: thread, process, program (grp in reports.sql), container,
 *		unit, pod, cgroup (a row of subjects; NULL: unknown), or length (pass_length() in
 *		pass.h)
 *	subjects(by)(who, name)
 *		the containers, units, pods or control groups, or programs, with their names
 *	subject_of(by)(utid, who)
 *		the subject of each thread at the end of the window, or at the thread's own end
 *	late_by(by)(who, n, total, p50, p99, worst, worst_ts)
 *		sleeps of the chosen threads that lasted beyond the expiry of their timer, and by
 *		how much, by thread, process or program; worst_ts: when the timer was due
 *	late_timers(id, late)
 *		the same sleeps: the row of thread_state that the wakeup began, and how late it was
 *	wakes_by(by)(waker, woken, n, total, p50, p99, worst)
 *		wakeups of or by a chosen thread, and the waits for a CPU that followed; waker is
 *		NULL for interrupts
 *	interrupt_wakes(name, utid, n)
 *		wakeups of the chosen threads by interrupts
 *	holders(by, top)(id, cpu, holder, time, n, first)
 *		the longest waits of the chosen threads for a CPU that a run ended: a row with the
 *		wait's first row of thread_state, the CPU of that run, the length of the wait (time)
 *		and when it began (first), without a holder; and a row for each other thread that
 *		had this CPU meanwhile: for how long, in how many runs, and from when on
 *	neighbour_waits(by)(cause, n, total, p50, p99, worst, worst_ts)
 *		waits of the chosen threads for a CPU, by what had it for the largest part of the
 *		wait: 0 threads that are not chosen, 1 chosen ones, 2 kernel threads, 3 nothing (the
 *		CPU was idle), 4 the quota of the control group (see pass_holders.c), 5 unknown; total:
 *		the parts of all waits
 *	neighbours(by)(who, utid, time, n, longest)
 *		the threads that had the CPU during these waits, and for how long, in how many runs;
 *		without chosen and idle threads, and without waits for the quota; who: as in
 *		waits_by
 *	vm_host(upid, utid, cpu, has_entry, checked, outside, behind, error)
 *		if the machine is a guest of another one in the trace: the process that runs it,
 *		and a row for each of its CPUs with the thread; has_entry: it is known by kvm_entry;
 *		checked: switches of the guest, outside: those of them while the thread was off
 *		the CPU; behind: what is added to the guest's times to compare them with the
 *		host's, error: by how much that may be wrong (vm_host.h)
 *	stolen(by, top)(number, utid, ts, dur, waits, cpu, vcpu, host_cpu, blocked, waker, holder,
 *			time, n)
 *		the longest times (top 0: all) in which a chosen thread of a guest ran on its CPU,
 *		or waited for it (waits), but the thread of that CPU (vcpu) did not run: on which
 *		CPU of the host that one ran next, and how long it did not wait for it (blocked)
 *		and who ended that (waker), without a holder; and a row for each thread that had that CPU meanwhile: how long
 *		(time), in how many runs, and from when on (ts)
 *	cgroup_waits_by(by)(who, n, total, p50, p99, worst, quota)
 *		waits for a CPU that the kernel counted, of the chosen control groups (chosen_group), or
 *		of all if none was asked for; by container, unit, pod or cgroup (as in waits_by), with
 *		the time of waits for the quota apart; or by cause: who is the number of a cause in
 *		neighbour_waits
 *	longest_sleeps(by, top)(id, wake_id)
 *		rows of thread_state: the longest waits of the chosen threads that a wakeup ended,
 *		and the row that the wakeup began
 *	cells_by(by, top, width)(key, n, size, run, w, d, busy, ran)
 *		the window in width cells, a row for cell n of each key: its size, and how long the
 *		chosen threads ran in it, waited for a CPU (w) and were blocked (d); busy: all
 *		three in the whole window; ran: of busy, run. by cpu: only runs, of all CPUs; by
 *		thread, process or program (as waits_by): the keys with the largest busy
 *	slices_by(by)(name, track_id, n, total, self, p50, p99, worst, worst_ts)
 *		slices within the window; by name, or by track: by name and track; by thread or
 *		process (as waits_by, in the column track_id): without a name
 *	calls_by(by)(who, name, n, total, p50, p99, worst, errors)
 *		system calls of the chosen threads that returned within the window, including their
 *		time before it; errors: those that returned -4095 to -1, NULL if no result is known;
 *		by name (of the slice), thread or process; by program: by its calls, with name and
 *		percentiles, which are otherwise NULL
 *	empty_calls(utid, name, n, empty, total, first_ts)
 *		the same calls by thread and name; empty: how many returned 0 or -EAGAIN within 50 us
 *	call_paths(path, n, total, worst, errors)
 *		the same calls by the path that they are about (call_lines.h), without those that
 *		have none
 *	longest_calls(by, top)(id, result, call)
 *		the longest of these calls: rows of slice, what they returned, and a line (call_lines.h)
 *	call_lines(id, utid, ts, dur, call)
 *		all calls of the chosen threads that began within the window; dur is NULL if the
 *		call has not ended
 *	events_by(by)(first, utid, n, total, first_ts, last_ts, failed, local, remote)
 *		kernel events within the window, a row for the events with equal values of some
 *		arguments; first: the row of ftrace_event of one of them; by packets, pages or traffic:
 *		of the chosen threads, also by thread; by drops, tcp, sockets or polls (see
 *		pass_events.c): utid is NULL. total: bytes; failed: how many have an error in place
 *		of bytes; local, remote: the addresses of the connection, if it is by connections and
 *		they are known
 *	timers_by(by)(function, kind, n, total, p50, p99, worst, worst_ts)
 *		timers whose callback began within the window: how late; by function: kind 1 for
 *		timers of the wheel, 0 for hrtimers; by reason: kind is the reason (see
 *		pass_timers.c), function NULL. worst_ts: when the latest one was due
 *	latest_timers(by, top)(due_ts, late, cpu, function, utid, reason, what)
 *		the latest hrtimers: the thread that was interrupted, the reason, and the callback or
 *		interrupt that ran instead
 *	timer_sleeps_by(by)(who, n, total, p50, p99, worst, worst_ts, late, waited)
 *		the sleeps of late_timers: from when the timer was due until the thread ran; late,
 *		waited: the parts of the longest one, before and after the wakeup
 *	longest_timer_sleeps(by, top)(utid, due_ts, late, waited)
 *		the longest of these sleeps
 *	writeback_by(by)(who, inode, device, dirtied, written, own)
 *		folios that the chosen threads dirtied within the window, and pages that were
 *		written back within it and are charged to them (see pass_writeback.c), by inode and
 *		thread, process, program or a subject (as waits_by); own: pages that the thread
 *		itself wrote. who is NULL for pages that were dirtied before the recording
 *	packet_waits(by)(who, n, total, p50, p99, worst, worst_ts)
 *		packets whose first bytes a chosen thread read within the window: the time from when
 *		the network stack received each until then; by thread, process, program or a subject
 *		(as waits_by); worst_ts: when the packet was received
 *	interrupts(track_id, name, n, total, worst, worst_ts)
 *		slices of interrupts, softirqs and timers that began within the window and have an
 *		end
 *	functions_by(by)(who, function, file, own, total, n, total_n)
 *		functions of the call stacks of chosen threads within the window; by: the kind of
 *		stacks (stack_points.h), or program: those of samples, for each program (who). own:
 *		weights of stacks whose innermost function it is; total: of all that have it, once
 *		each; n, total_n: how many samples or waits
 *	code_tree(by, top)(depth, indent, branch, function, file, own, total, n, total_n, begin, whole)
 *		the top largest nodes of a tree of the same stacks, from the root down; by "KIND
 *		SHAPE PATTERN": shape down, up, callers or callees (call_tree.h), the last two of
 *		functions whose names match the pattern. begin: where the node begins in a line that
 *		has `whole` parts; indent: how many of the node's ancestors and itself have siblings
 *		here; branch: 1 if it has
 *	code_waits(by)(utid, reason, function, file, condition, time, n, worst)
 *		waits of chosen threads, by thread, reason and own function (code.h); by waits or
 *		single (stack_points.h); worst: of single waits; condition: 1 for a condition
 *		variable or a semaphore
 *	single_waits(by, top)(utid, ts, dur, reason, condition, function, file, waker, waker_file, slice)
 *		the longest single waits of chosen threads that have a part in the window, with the
 *		own function of the thread and the one that ended the wait; top 0: all
 *	lock_waits(utid, ts, dur, object, function, holder, known, ran, waited, blocked, reason, did)
 *		single waits of chosen threads for futexes that are not conditions; object: its
 *		name; holder: the thread that had it, NULL if no event shows it; known: what shows
 *		it, "PI futex", "mutex owner" (both: when the wait began), "released it" or only
 *		"woke it". What the holder did during the wait: ran, waited for a CPU, was blocked;
 *		the reason of its longest wait, and the own function in which it waited
 *	requests_by(by)(who, op, n, bytes, queued, total, p50, p99, worst)
 *		requests to block devices that the chosen threads, or unknown ones, made and that
 *		were issued within the window; by device and operation ($OP in reports.sql), by thread,
 *		process or program and operation, or by length (as waits_by)
 *	longest_requests(by, top)(dev, op, bytes, sector, utid, queued, ts, dur)
 *		the longest of these requests
 *	unfinished_requests(dev, op, bytes, utid)
 *		requests of the same threads whose completion the trace does not have
 *
 * Times are ns. An interval that did not end lasts to the end of its thread or process, or else of
 * the window. Intervals are cut to the window. An interval without an end is counted only if it is
 * the last one of its CPU or thread: otherwise the next event is missing, so its length is not
 * known. Percentiles are by nearest rank.
 *
 * The window begins at `from` and ends at `to`. The scope is borrowed until the database is closed,
 * and the store must live as long as the database. The tables of chosen.h must exist when a
 * statement reads one of these. Returns an SQLite result code.
 */
int passes_register(sqlite3 *db, const struct store *s, int64_t from, int64_t to,
		    const struct machine_scope *scope);
