/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/events/event_table.h"
#include "ftrace/options/setup.h"
#include "ftrace/encode/metadata.h"
#include "ftrace/events/page_encode.h"

/*
 * What linux.ftrace does for the feed of its session: turns on the events that tell of tasks, has
 * the translator gather what they say, and tells it. Without a listener it does nothing.
 */
struct metadata_publisher {
	struct metadata_bus *feed; /* borrowed; NULL: not joined */
	uint64_t session_id;
	unsigned wanted; /* when it began; 0: nothing is gathered */
	struct metadata_events news;
};

/* There may be news from now on, until metadata_publisher_unregister. Not joined when memory is out. */
void metadata_publisher_register(struct metadata_publisher *t, struct metadata_bus *feed,
				 uint64_t session_id);
/* Tells the rest, and leaves. Zeroed is fine. */
void metadata_publisher_unregister(struct metadata_publisher *t, const struct clock_sync *sync);

/*
 * If somebody listens, and nothing is gathered yet: turns on, in the instance, the events that tell
 * of tasks, with rows that only feed for those that the session did not ask for. What cannot be had
 * is reported. In somebody else's instance nothing is turned on: its records are his, too. Tasks are
 * promised to the feed if all of their events are there, and nothing leaves some of them out. Of the
 * setup it takes config, instance, events and reports.
 */
void metadata_publisher_begin(struct metadata_publisher *t, const struct setup *s,
			      struct event_table *table);
/* Records were lost, maybe those of tasks: nothing is promised any more. */
void metadata_publisher_lost(struct metadata_publisher *t);
/* Has the translator gather for this teller, or for nobody. began: when the pass over the instance's
 * rings began (metadata.h); UINT64_MAX: no such pass is on. */
void metadata_publisher_gather(struct metadata_publisher *t, struct page_encoder *page_encoder,
			       uint64_t began);
/* Tells what has been gathered, of tasks what happened before `until` (CLOCK_BOOTTIME). */
void metadata_publisher_publish(struct metadata_publisher *t, const struct clock_sync *sync,
				uint64_t until);

/* Everything is being read, and will be told: true; has been: false. */
void metadata_publisher_set_busy(struct metadata_publisher *t, bool owes);
