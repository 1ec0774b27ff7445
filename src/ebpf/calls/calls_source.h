/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/* linux.syscalls: system calls with their arguments, strings and results. */
extern const struct data_source syscalls_data_source;
