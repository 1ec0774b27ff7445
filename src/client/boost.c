/* SPDX-License-Identifier: Apache-2.0 */
#include "client/boost.h"

#include <errno.h>

#define OTHER_MAX 20u
#define FIFO_MIN 1u
#define FIFO_MAX 99u

#define POLICY(name) PB__PRIORITY_BOOST_CONFIG__BOOST_POLICY__POLICY_SCHED_##name

int boost_of_config(const Pb__DataSourceConfig *config, struct boost *ret)
{
	const Pb__PriorityBoostConfig *c = config->priority_boost;

	*ret = (struct boost){BOOST_NONE, 0};
	if (!c)
		return 0;
	if (c->policy == POLICY(OTHER) && c->priority <= OTHER_MAX)
		*ret = (struct boost){BOOST_OTHER, c->priority};
	else if (c->policy == POLICY(FIFO) && c->priority >= FIFO_MIN && c->priority <= FIFO_MAX)
		*ret = (struct boost){BOOST_FIFO, c->priority};
	else
		return -EINVAL;
	return 0;
}

bool boost_is_stronger(struct boost a, struct boost b)
{
	return a.policy != b.policy ? a.policy > b.policy : a.priority > b.priority;
}
