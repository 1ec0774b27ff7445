/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_CONFIG_H
#define SONDA_CONFIG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Trace configs as text, for sonda_session_start() and sonda_session_begin(). The function is in
 * libsonda-service, because the names and types of all fields take more space than libsonda itself.
 * A program can use it without a service.
 *
 *	sonda_config_from_text("buffers { size_kb: 4096 }\n"
 *			       "data_sources { config { name: \"track_event\" } }\n",
 *			       &config, &len, NULL);
 *	sonda_session_start(session, config, len, 5000);
 *	free(config);
 */

/* Reads a config in protobuf's text format, sonda.cfg(5). Returns 0 and sets *ret to a serialized
 * TraceConfig, which the caller frees with free(3); -EINVAL if the config is invalid or empty; or
 * -ENOMEM. For -EINVAL, sets *ret_errors (may be NULL) to the errors with their lines and
 * suggestions, a text of several lines, which the caller frees. Any thread. */
int sonda_config_from_text(const char *text, void **ret, size_t *ret_len, char **ret_errors);

#ifdef __cplusplus
}
#endif

#endif
