/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/*
 * "linux.sysfs_power": charge, current, voltage, energy and power of every battery, each second. It
 * has no config of its own.
 */
extern const struct data_source sysfs_power_data_source;
