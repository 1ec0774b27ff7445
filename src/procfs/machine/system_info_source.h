/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/*
 * "linux.system_info": the machine's processors, and with irq_names the names of its interrupts,
 * written once at the start.
 *
 * Config: protos/config/system_info/system_info_config.proto.
 */
extern const struct data_source system_info_data_source;
