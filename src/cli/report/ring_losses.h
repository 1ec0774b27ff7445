/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/report/loss_list.h"
#include "cli/report/record_facts.h"

/* Collects what the kernel lost: events that a ring overwrote or had no room for, sub-buffers that
 * could not be parsed, probes that were hit without recording. */
void ring_losses_collect(const struct record_facts *f, struct losses *ret);
