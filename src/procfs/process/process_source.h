/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/*
 * "linux.process_stats": what the tasks of the trace are called and whose they are. With
 * scan_all_processes_on_start of every task there is; then of each that the session's feed tells
 * of, unless the quirk DISABLE_ON_DEMAND is set. With proc_stats_poll_ms also the counters of every
 * process, again and again. Its start is answered when the scan is done.
 *
 * Config: protos/config/process_stats/process_stats_config.proto.
 */
extern const struct data_source process_stats_data_source;
