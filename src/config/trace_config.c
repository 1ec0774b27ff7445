/* SPDX-License-Identifier: Apache-2.0 */
#include "config/trace_config.h"

#include <errno.h>

#include "config/text.h"
#include "config/unpack.h"

/*
 * The content decides between text and serialized: the tags and lengths of a serialized config are
 * in part control characters, which text does not have, except white space.
 */

static int load_text(const char *name, const void *data, size_t len, bool lossy,
		     struct strbuf *errors, ProtobufCMessage **ret)
{
	return (lossy ? text_parse_lossy : text_parse)(&pb__trace_config__descriptor, name, data,
						       len, errors, ret);
}

static int load_bytes(const char *name, const void *data, size_t len, struct strbuf *errors,
		      ProtobufCMessage **ret)
{
	int r = unpack_untrusted(&pb__trace_config__descriptor, data, len, ret);

	if (r == -EBADMSG)
		strbuf_printf(errors,
			      "%s: error: neither a serialized trace config nor text: some of its "
			      "bytes are not printable (--txt forces it to be read as text)\n",
			      name);
	return r == -EBADMSG ? -EINVAL : r;
}

int trace_config_load(const char *name, const void *data, size_t len, enum trace_config_form form,
		      struct strbuf *errors, Pb__TraceConfig **ret)
{
	bool is_text = form != TRACE_CONFIG_DETECT || text_looks_like(data, len);
	ProtobufCMessage *config;
	int r = is_text ? load_text(name, data, len, form == TRACE_CONFIG_TEXT_LOSSY, errors,
				    &config)
			: load_bytes(name, data, len, errors, &config);

	if (r == 0 && protobuf_c_message_get_packed_size(config) == 0) {
		strbuf_printf(errors, "%s: error: the config is empty\n", name);
		protobuf_c_message_free_unpacked(config, NULL);
		r = -EINVAL;
	}
	if (r < 0)
		return errors->failed ? -ENOMEM : r;
	*ret = (Pb__TraceConfig *)config;
	return 0;
}

#define POLICY(name) PB__PRIORITY_BOOST_CONFIG__BOOST_POLICY__POLICY_SCHED_##name

int priority_boost_read(const Pb__PriorityBoostConfig *config, struct priority_boost *ret)
{
	*ret = (struct priority_boost){PRIORITY_BOOST_NONE, 0};
	if (!config)
		return 0;
	if (config->policy == POLICY(OTHER) && config->priority <= PRIORITY_BOOST_OTHER_MAX)
		*ret = (struct priority_boost){PRIORITY_BOOST_OTHER, config->priority};
	else if (config->policy == POLICY(FIFO) && config->priority >= PRIORITY_BOOST_FIFO_MIN &&
		 config->priority <= PRIORITY_BOOST_FIFO_MAX)
		*ret = (struct priority_boost){PRIORITY_BOOST_FIFO, config->priority};
	else
		return -EINVAL;
	return 0;
}
