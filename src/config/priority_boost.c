// SPDX-License-Identifier: Apache-2.0
#include "config/priority_boost.h"

#include <errno.h>

#define POLICY(name) PB__PRIORITY_BOOST_CONFIG__BOOST_POLICY__POLICY_SCHED_##name

int priority_boost_read(const Pb__PriorityBoostConfig *config, struct boost *ret)
{
	*ret = (struct boost){BOOST_NONE, 0};
	if (!config)
		return 0;
	if (config->policy == POLICY(OTHER) && config->priority <= BOOST_OTHER_MAX)
		*ret = (struct boost){BOOST_OTHER, config->priority};
	else if (config->policy == POLICY(FIFO) && config->priority >= BOOST_FIFO_MIN &&
		 config->priority <= BOOST_FIFO_MAX)
		*ret = (struct boost){BOOST_FIFO, config->priority};
	else
		return -EINVAL;
	return 0;
}
