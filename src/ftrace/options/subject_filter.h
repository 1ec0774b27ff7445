/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * DataSourceConfig.subject_config: whose events the session records, by names. Groups become lists
 * of threads, which pid_filter.h writes; programs become a filter of each event.
 */

/* Finds the groups, and adds their threads, and the processes that start the groups' processes, to
 * the session's own config. groups is for pid_filter.h, which adds threads that are created
 * meanwhile. Returns 0, or -errno with a fatal setup error: all threads would be recorded. */
int subject_filter_resolve(const struct setup *s, Pb__FtraceConfig *own, struct subject *groups);

/* Restricts the events to the threads that have the name of a program: while such a thread runs,
 * and when one is woken or becomes the next one of its CPU. Returns 0, -ECANCELED, or -ENOMEM; or
 * -EINVAL with a fatal setup error. An event whose filter the kernel refuses is dropped and
 * reported. */
int subject_filter_programs(struct event_selection *events, const struct setup *s);
