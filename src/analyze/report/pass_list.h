/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The passes: each defines the table of its name in passes.c. */

struct pass_input;
struct pass_rows;

void pass_subjects(const struct pass_input *in, struct pass_rows *ret);
void pass_subject_of(const struct pass_input *in, struct pass_rows *ret);
void pass_neighbours(const struct pass_input *in, struct pass_rows *ret);
void pass_neighbour_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_cgroup_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_used(const struct pass_input *in, struct pass_rows *ret);
void pass_spent(const struct pass_input *in, struct pass_rows *ret);
void pass_blocked(const struct pass_input *in, struct pass_rows *ret);
void pass_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_late_by(const struct pass_input *in, struct pass_rows *ret);
void pass_late_timers(const struct pass_input *in, struct pass_rows *ret);
void pass_wakes(const struct pass_input *in, struct pass_rows *ret);
void pass_interrupt_wakes(const struct pass_input *in, struct pass_rows *ret);
void pass_holders(const struct pass_input *in, struct pass_rows *ret);
void pass_vm_host(const struct pass_input *in, struct pass_rows *ret);
void pass_stolen(const struct pass_input *in, struct pass_rows *ret);
void pass_longest_sleeps(const struct pass_input *in, struct pass_rows *ret);
void pass_cells(const struct pass_input *in, struct pass_rows *ret);
void pass_slices(const struct pass_input *in, struct pass_rows *ret);
void pass_calls(const struct pass_input *in, struct pass_rows *ret);
void pass_requests(const struct pass_input *in, struct pass_rows *ret);
void pass_longest_requests(const struct pass_input *in, struct pass_rows *ret);
void pass_unfinished_requests(const struct pass_input *in, struct pass_rows *ret);
void pass_writeback(const struct pass_input *in, struct pass_rows *ret);
void pass_timers(const struct pass_input *in, struct pass_rows *ret);
void pass_latest_timers(const struct pass_input *in, struct pass_rows *ret);
void pass_longest_timer_sleeps(const struct pass_input *in, struct pass_rows *ret);
void pass_timer_sleeps(const struct pass_input *in, struct pass_rows *ret);
void pass_packet_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_events(const struct pass_input *in, struct pass_rows *ret);
void pass_interrupts(const struct pass_input *in, struct pass_rows *ret);
void pass_functions(const struct pass_input *in, struct pass_rows *ret);
void pass_tree(const struct pass_input *in, struct pass_rows *ret);
void pass_code_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_single_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_lock_waits(const struct pass_input *in, struct pass_rows *ret);
void pass_empty_calls(const struct pass_input *in, struct pass_rows *ret);
void pass_longest_calls(const struct pass_input *in, struct pass_rows *ret);
void pass_call_paths(const struct pass_input *in, struct pass_rows *ret);
void pass_call_lines(const struct pass_input *in, struct pass_rows *ret);
