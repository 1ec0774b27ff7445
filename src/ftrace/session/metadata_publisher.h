/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ftrace/encode/metadata.h"
#include "ftrace/events/event_table.h"
#include "ftrace/events/page_encode.h"
#include "ftrace/options/setup.h"

/* Publishes linux.ftrace's metadata of tasks on the bus of its session: enables the events that
 * have it, makes the page encoder collect it, and publishes it. Does nothing without a
 * subscriber. */
struct metadata_publisher {
	struct metadata_bus *bus; /* borrowed; NULL: not registered */
	uint64_t session_id;
	bool wanted; /* had a subscriber at the beginning; false: nothing is collected */
	struct metadata_events collected;
};

/* Registers as a publisher until metadata_publisher_unregister. Without memory it stays
 * unregistered. */
void metadata_publisher_register(struct metadata_publisher *t, struct metadata_bus *bus,
				 uint64_t session_id);
/* Publishes the rest and unregisters. Zeroed is allowed. */
void metadata_publisher_unregister(struct metadata_publisher *t, const struct clock_sync *sync);

/* Drops the events of FtraceConfig.without_task_events. */
void metadata_publisher_drop_events(struct event_selection *s);
/* If there is a subscriber and nothing is collected yet: enables the events with metadata of tasks
 * in the instance, unless another publisher has them (without_task_events). Events that the session
 * did not request are compiled for the bus only. Reports failures. Enables nothing in an attached
 * instance, because others read its records. Announces to the bus that task metadata is complete if
 * all events with task metadata are enabled and nothing filters them. Uses config, instance, events
 * and errors of the setup. */
void metadata_publisher_begin(struct metadata_publisher *t, const struct setup *s,
			      struct event_table *table);
/* Call it when records were lost: task metadata is no longer announced as complete. */
void metadata_publisher_set_incomplete(struct metadata_publisher *t);
/* Makes the page encoder collect metadata for this publisher, if it has a subscriber. began:
 * boot_ns of metadata_set_complete_before(); 0: all threads belong to the next batch. */
void metadata_publisher_prepare_encoder(struct metadata_publisher *t,
					struct page_encoder *page_encoder, uint64_t began);
/* Publishes the collected metadata: of tasks, everything from before `until` (CLOCK_BOOTTIME). */
void metadata_publisher_publish(struct metadata_publisher *t, const struct clock_sync *sync,
				uint64_t until);

/* Marks the publisher busy while a read of all records is in progress. */
void metadata_publisher_set_busy(struct metadata_publisher *t, bool is_busy);
