/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/*
 * The data source linux.frozen_ftrace: what an instance holds from before the last reboot (reserve_mem
 * and trace_instance on the kernel's command line), read once.
 *
 * Time stamps are those of the clock of that boot, which began at zero as this one did; and the
 * numbers of events are taken to mean what they mean now.
 */
extern const struct data_source frozen_ftrace_data_source;
