/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/*
 * "linux.systemd_journald": the lines that come to systemd's journal while the session runs.
 *
 * Config: protos/config/linux/journald_config.proto.
 */
extern const struct data_source systemd_journald_data_source;
