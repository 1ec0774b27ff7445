/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/text/str.h"
#include "common/tracing_service_state.pb-c.h"

/* What a tracing service knows, as tables for people. Text of others is made plain. */

void state_text_sessions(const Pb__TracingServiceState *state, struct strbuf *out);
/* Who records, and what they offer. */
void state_text_producers(const Pb__TracingServiceState *state, struct strbuf *out);
