/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "cli/metrics/alert_intake.h"
#include "config/trace_config.pb-c.h"

/* The command line of sonda metrics, and the config of its session. */

#define METRICS_DEFAULT_LISTEN "127.0.0.1:9437"
#define METRICS_DEFAULT_SUBJECTS 200
#define METRICS_DEFAULT_SERIES 20000
#define METRICS_DEFAULT_RECORDER "/run/sonda-alerts"
#define METRICS_DEFAULT_ALERT_LIMIT 12
#define METRICS_DEFAULT_ALERT_DELAY_MS 120000u
#define METRICS_USERS_MAX 32
#define METRICS_SHIP_MAX 4
#define METRICS_PERIOD_MS 1000u /* of linux.ebpf_counters */
#define METRICS_CLEAR_MS 60000u /* descriptions are written again */

struct metrics_options {
	const char *socket; /* borrowed from argv; NULL: the default */
	const char *listen; /* borrowed from argv; NULL: the default */
	uid_t users[METRICS_USERS_MAX]; /* the users that may connect */
	size_t n_users;
	uint32_t subjects, series; /* limits */
	bool adds_cpu_time, adds_syscalls; /* families that are not counted by default */
	const char *token_file; /* borrowed; NULL: no alerts */
	const char *recorder; /* borrowed: the socket of its --alerts; NULL: none */
	char *triggers[ALERT_TRIGGERS_MAX]; /* borrowed */
	size_t n_triggers;
	const char *matches[ALERT_MATCHES_MAX]; /* borrowed */
	size_t n_matches;
	uint32_t alert_limit; /* in an hour */
	uint32_t alert_delay_ms; /* from the start of an alert to its arrival */
	const char *ship[METRICS_SHIP_MAX]; /* borrowed: directories of ship_status.h */
	size_t n_ship;
	bool help;
};

extern const char metrics_usage[];

/* Parses the command line. Returns 0, also for --help, which only sets ret->help; or -errno and
 * sets e. */
int metrics_options_parse(int argc, char **argv, struct metrics_options *ret, struct err_text *e);

/* Makes the config of the session. Returns 0 (the caller frees *ret with
 * pb__trace_config__free_unpacked), or -errno. */
int metrics_config_build(const struct metrics_options *o, Pb__TraceConfig **ret);
