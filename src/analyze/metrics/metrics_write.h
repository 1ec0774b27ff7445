/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/metrics/metrics_table.h"

struct strbuf;

/*
 * Writes a table in the formats of Prometheus.
 *
 * Formats: text 0.0.4; OpenMetrics 1.0; io.prometheus.client.MetricFamily, each message after its
 * length, with native histograms (schema 3) beside the classic ones.
 */
enum metrics_format { METRICS_TEXT, METRICS_OPENMETRICS, METRICS_PROTOBUF, METRICS_FORMATS };

/* Chooses by the value of an Accept header (NULL: none): protobuf only if it names it with the
 * highest quality; else OpenMetrics 1.0 if it names it; else text. The value is untrusted. */
enum metrics_format metrics_format_choose(const char *accept);
const char *metrics_format_type(enum metrics_format format); /* Content-Type */

/* Appends all metrics in the exposition format. out->failed is set if memory runs out. */
void metrics_write(const struct metrics_table *t, enum metrics_format format, struct strbuf *out);
