/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The comments of the fields of configs in protos/config: build/gen/field_comments.c, made by
 * tools/field_comments.awk. */
struct field_comment {
	const char *name; /* "SysStatsConfig.meminfo_period_ms", or of a message "SysStatsConfig" */
	const char *comment; /* one line */
};
extern const struct field_comment field_comments[]; /* ends with a NULL name */
