/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/dynevents.h"
#include "ftrace/options/setup.h"

/*
 * Synthetic events that the kernel generates for this session with a histogram trigger in its
 * instance:
 *
 *	synthetic/rss_stat_throttled        kmem/rss_stat, when a size enters another 512 KiB range
 *	synthetic/suspend_resume_minimal    power/suspend_resume, of the whole machine only
 *
 * throttle_rss_stat replaces kmem/rss_stat by synthetic/rss_stat_throttled. If another process has
 * made an event with such a name, the request still means the session's event.
 */

/* Returns true for a request that synthetic_events_make fulfils; tracefs need not have the
 * event. */
bool synthetic_event_can_make(const char *request);

/* Creates the requested events and adds them to the selection. Reports what the kernel does not
 * support; then kmem/rss_stat stays. Returns 0 or -ENOMEM. */
int synthetic_events_make(struct event_selection *events, const struct setup *s,
			  struct dynevents *made);

/* Returns true if one of the created events replaces this event. */
bool synthetic_event_replaces(const struct dynevents *made, const struct setup *s,
			      const struct event_name *e);

/* Removes the histograms of these events from an instance. Call it before the instance is removed:
 * otherwise the kernel (up to 7.2) keeps the events forever. */
void synthetic_events_release(const char *instance_path);
