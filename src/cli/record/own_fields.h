/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/name_list.h"
#include "base/core/err.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"

/*
 * Fields of FtraceConfig from 20000 on, and patterns of events, are sonda's own: a producer of
 * another family skips them in silence. One that does not is known by its FtraceDescriptor.
 *
 * Looks at the producers that would get the config's linux.ftrace. 0, with a sentence for each
 * field that one of them skips added to ret_skipped; or -EOPNOTSUPP with the sentence in e: without
 * a field it would record other events than those asked for.
 */
int own_fields_check(const Pb__TraceConfig *config, const Pb__TracingServiceState *state,
		     struct name_list *ret_skipped, struct err_text *e);
