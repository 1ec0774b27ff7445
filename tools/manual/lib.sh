# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# What the programs say of themselves, for manual.sh and completion.sh. Sourced in the top directory.

rows_of() { # PROGRAMS PROGRAM [VERB]: the rows of its --help, see help_rows.awk
  if [ $# = 3 ]; then
    "$1/$2" help "$3"
  else
    "$1/$2" --help
  fi | awk -f tools/manual/help_rows.awk
}
# Those with options of their own.
verbs_of() { # PROGRAMS
  rows_of "$1" sonda | awk -F '\t' '$1 == "R" && $2 !~ /^(help|version|-.*)$/ { print $2 }'
}
what_is() { # PROGRAMS VERB
  rows_of "$1" sonda | awk -F '\t' -v verb="$2" '$1 == "R" && $2 == verb { print $3 }'
}
has_option() { # PROGRAMS VERB OPTION
  rows_of "$1" sonda "$2" | awk -F '\t' -v option="$3" '$1 == "R" && $2 ~ option "$" { found = 1 } END { exit !found }'
}
sources_of() { # PROGRAMS: the data sources of sonda-probes
  rows_of "$1" sonda-probes | awk -F '\t' '$1 == "R" && $2 ~ /^linux\./ { print $2 }'
}
