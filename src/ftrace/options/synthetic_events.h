/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/dynevents.h"
#include "ftrace/options/setup.h"

/*
 * Events that the kernel makes out of others for this session, by a histogram trigger in its
 * instance:
 *
 *	synthetic/rss_stat_throttled        kmem/rss_stat, when a size has come into another 512 KiB
 *	synthetic/suspend_resume_minimal    power/suspend_resume, of the whole machine alone
 *
 * The first is also what throttle_rss_stat puts in the place of kmem/rss_stat. Where somebody has
 * made an event of that name the request means ours all the same.
 */

/* A request that is met by synthetic_events_make; tracefs does not have to know it. */
bool synthetic_event_requested(const char *request);

/*
 * Makes those that the config asks for, and adds them to the selection. What the kernel cannot do
 * is reported, and kmem/rss_stat stays in that case. 0 or -ENOMEM.
 */
int synthetic_events_make(struct event_selection *events, const struct setup *s,
			  struct dynevents *made);

/* Has one been made that takes the place of this event? */
bool synthetic_event_replaces(const struct dynevents *made, const struct setup *s,
			      const struct event_name *e);

/*
 * Takes the histograms of such events out of an instance, which has to happen before it is removed:
 * the kernel (7.2 and before) forgets then that they are gone, and would keep the events for ever.
 */
void synthetic_events_release(const char *instance_path);
