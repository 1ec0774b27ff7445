/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/text/str.h"
#include "common/tracing_service_state.pb-c.h"

/* Appends the state of a service as perfetto --query prints it: scripts cut its columns. whole:
 * with --long, lists of categories are not cut. */
void perfetto_query_text(const Pb__TracingServiceState *state, bool whole, struct strbuf *out);
