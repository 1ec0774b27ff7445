/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/* The data sources of sonda-probes, NULL-terminated. They are registered in this order. */
extern const struct data_source *const probes_data_sources[];
