/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/name_list.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"

/*
 * The producers that a recording of the kernel relies on: those that have registered a "linux."
 * data source of its config when it begins. Such a daemon does not leave by itself, so one that is
 * gone at the end was killed, and took with it what it had not handed over. (Programs that trace
 * themselves come and go as they please, and are not counted.)
 */
struct source_producers {
	int32_t *ids; /* owned; the service's numbers, which a successor does not get */
	size_t n;
	size_t cap;
	struct name_list names; /* of ids[i]: "NAME (pid N)" */
};

/* Zero-initialise; source_producers_deinit frees. */
void source_producers_deinit(struct source_producers *p);
/* At the beginning. What memory is missing for is not noted. */
void source_producers_note(struct source_producers *p, const Pb__TraceConfig *config,
			   const Pb__TracingServiceState *state);
/* At the end: adds those that are connected no more. */
void source_producers_gone(const struct source_producers *p, const Pb__TracingServiceState *state,
			   struct name_list *ret);
