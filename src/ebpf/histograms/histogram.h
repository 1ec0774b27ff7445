/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "config/linux/ebpf_counters_config.pb-c.h"
#include "ebpf/engine/family.h"

/*
 * A histogram of an event that the config names (bpf/hist.h), as a family of its own: what was
 * added since the last packet, once a second.
 *
 * Format: perfetto.protos.EventHistogram (an extension of sonda).
 */
#define HISTOGRAM_ROWS_EACH 64u /* rows of a packet */

struct histogram;

/* Checks the config; loads nothing. Returns 0, or -errno and sets e. */
int histogram_new(const Pb__EbpfCountersConfig__Histogram *c, struct histogram **ret,
		  struct err_text *e);
/* Frees the histogram, whose run must have ended. No-op for NULL. */
void histogram_free(struct histogram *h);
/* Returns the histogram as a family, valid until histogram_free(). */
const struct ebpf_family *histogram_family(const struct histogram *h);
