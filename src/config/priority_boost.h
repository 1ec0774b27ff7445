/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/system/boost.h"
#include "config/priority_boost/priority_boost_config.pb-c.h"

/* priority_boost of a TraceConfig or a DataSourceConfig; NULL is BOOST_NONE. 0 or -EINVAL: a policy
 * or a priority that is none. */
int priority_boost_read(const Pb__PriorityBoostConfig *config, struct boost *ret);
