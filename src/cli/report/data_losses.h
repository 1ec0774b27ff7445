/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/report/loss_list.h"
#include "cli/report/record_facts.h"

/*
 * Collects the losses of a recording from the three places where data can be lost (kernel rings,
 * shared memory, central buffer), from producers that disconnected, from what data sources say that
 * they dropped, and from a failed flush or a cut file.
 */
void losses_collect(const struct record_facts *f, struct losses *ret);
