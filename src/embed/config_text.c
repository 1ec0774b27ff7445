/* SPDX-License-Identifier: Apache-2.0 */
#include <sonda/config.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/str.h"
#include "config/trace_config.h"
#include "lib/public.h"

static int config_text_pack(const Pb__TraceConfig *config, void **ret, size_t *ret_len)
{
	size_t len = protobuf_c_message_get_packed_size(&config->base);
	uint8_t *bytes = malloc(len);

	if (!bytes)
		return -ENOMEM;
	*ret_len = protobuf_c_message_pack(&config->base, bytes);
	*ret = bytes;
	return 0;
}

SONDA_PUBLIC int sonda_config_from_text(const char *text, void **ret, size_t *ret_len,
					char **ret_errors)
{
	struct strbuf errors = {0};
	Pb__TraceConfig *config = NULL;
	int r = trace_config_load("config", text, strlen(text), TRACE_CONFIG_TEXT, &errors,
				  &config);

	if (r == 0)
		r = config_text_pack(config, ret, ret_len);
	pb__trace_config__free_unpacked(config, NULL);
	if (r == -EINVAL && ret_errors) {
		*ret_errors = strbuf_take(&errors);
		r = *ret_errors ? r : -ENOMEM;
	}
	strbuf_deinit(&errors);
	return r;
}
