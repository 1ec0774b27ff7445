/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/producer/producers.h"

/* What producers report to the sessions; ctx is the service. */
extern const struct producer_events sessions_producer_events;
