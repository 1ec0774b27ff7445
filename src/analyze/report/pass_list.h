/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The passes: each defines the table of its name in passes.c. */

struct pass_input;
struct pass_rows;

void pass_fill_subjects(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_subject_of(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_neighbours(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_neighbour_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_cgroup_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_cpu_time(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_state_times(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_blocked_times(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_timer_lateness(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_late_timers(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_wakes(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_interrupt_wakes(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_holders(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_vm_host(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_stolen(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_longest_sleeps(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_cells(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_slices(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_calls(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_requests(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_longest_requests(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_unfinished_requests(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_writeback(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_timers(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_latest_timers(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_longest_timer_sleeps(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_timer_sleeps(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_packet_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_events(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_interrupts(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_functions(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_call_tree(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_code_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_single_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_lock_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_empty_calls(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_longest_calls(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_call_paths(const struct pass_input *in, struct pass_rows *ret);
void pass_fill_call_lines(const struct pass_input *in, struct pass_rows *ret);
