/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/text/str.h"
#include "cli/report/loss_list.h"
#include "cli/report/record_facts.h"

/* Collects what the kernel lost: events that a ring overwrote or had no room for, sub-buffers that
 * could not be parsed, probes that were hit without recording. */
void ring_losses_collect(const struct record_facts *f, struct losses *ret);

/* Appends which option or field makes the rings large enough. bytes: of the ring of a CPU now. Of
 * the facts it uses who wrote the config. */
void ring_losses_advise(const struct record_facts *f, uint64_t bytes, struct strbuf *b);
