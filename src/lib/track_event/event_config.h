/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * TrackEventConfig (field 113 of a DataSourceConfig) of one session. It does not change, so any
 * thread may read it.
 */

struct event_patterns {
	char **list; /* owned, like the texts */
	size_t n;
};

struct event_config {
	struct event_patterns disabled_categories, enabled_categories, disabled_tags, enabled_tags;
	uint64_t unit_multiplier; /* ns in a unit of timestamps, at least 1 */
	uint64_t thread_time_subsampling_ns;
	unsigned instance; /* its slot; the caller sets it */
	bool disable_incremental_timestamps;
	bool filter_debug_annotations;
	bool filter_dynamic_event_names;
	bool enable_thread_time_sampling;
};

/* Reads a serialized DataSourceConfig. Without a TrackEventConfig, the result is empty. Returns 0,
 * -EBADMSG or -ENOMEM. */
int event_config_new(const void *data_source_config, size_t len, struct event_config **ret);
void event_config_free(struct event_config *c); /* no-op for NULL */

/*
 * Returns true if events of a category are recorded. tags: up to n_tags texts; NULL ends the list.
 *
 * There are three passes: patterns that are full names, then prefixes ("net*"), then "*". In each
 * pass the first match of these decides: enabled category, disabled category, disabled tag, enabled
 * tag. If the config has no tags, the tags "slow" and "debug" are disabled in the first pass. A
 * category without any match is recorded. Perfetto's C++ SDK has the same rules.
 */
bool event_config_enables(const struct event_config *c, const char *name, const char *const *tags,
			  size_t n_tags);
/* Like event_config_enables(), for a category that is not registered. Its tag is "slow" if its name
 * begins with "disabled-by-default-", else it has none. A name with commas is enabled if one of its
 * parts is. */
bool event_config_enables_dynamic(const struct event_config *c, const char *name);
