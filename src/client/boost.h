/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/data_source_config.pb-c.h"

/* DataSourceConfig.priority_boost: how urgently a data source wants its process to run. */

enum boost_policy {
	BOOST_NONE,
	BOOST_OTHER, /* the usual policy; priority 0 to 20, as nice 0 to -20 */
	BOOST_FIFO, /* real time; priority 1 to 99. Beats BOOST_OTHER */
};

struct boost {
	enum boost_policy policy;
	uint32_t priority;
};

/* The config's; BOOST_NONE where it has none. 0 or -EINVAL: a policy or a priority that is none. */
int boost_of_config(const Pb__DataSourceConfig *config, struct boost *ret);
bool boost_is_stronger(struct boost a, struct boost b);
