#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The manual is whole: every option that a program takes, every field of a config, every function and macro of the library
# and every data source has its line, and groff and mandoc format the pages
# without a warning.
. "$(dirname "$0")/../lib.sh"
man=$B/man bin=$B/bin
needs_built "$man/stamp"
# Sanitized programs are slow to start, and say the same.
! grep -qaE '__[at]san_init' "$bin/sonda" || { echo "built with a sanitizer" >&2; exit 77; }
. tools/manual/lib.sh

# The tags of a page, and lines that name an option as "-e (--event)".
tags() { # FILE
  plain "$1" 2>/dev/null | grep -A1 -e '^\.TP' -e '(--' | grep -v '^\.'
}
# Text without roff's escapes.
plain() { # FILE...
  sed 's/\\f[BIRP]//g; s/\\-/-/g; s/\\(aq/'\''/g; s/\\(ti/~/g; s/\\&//g' "$@"
}

# ---- options -------------------------------------------------------------------------------------

options_of() { # FILE...: the long options in tables for getopt_long
  grep -ohE '\{"[a-z][a-z0-9-]*", (no|required|optional)_argument' "$@" | cut -d '"' -f 2 | sort -u
}
# --help ends a program that knows the option before it, also if that takes a value.
takes() { # OPTION COMMAND...
  local said
  said=$("${@:2}" "--$1" --help 2>&1 </dev/null)
  [[ $said != *"unknown option"* && $said != *"unrecognized option"* && $said != *ambiguous* ]]
}
# An abbreviation of an option is accepted as well.
has_line() { # OPTION PAGE_TEXT
  [[ $2 =~ (^|[[:space:],(])--$1[a-z-]*($|[][[:space:],=)]) ]]
}

missing=
# Word splitting is intended.
# shellcheck disable=SC2046
options=$(options_of $(find src/cli -name '*.c'))
for verb in $(verbs_of "$bin"); do
  page=$(tags "$man/man1/sonda-$verb.1")
  [ -n "$page" ] || missing+="sonda-$verb(1) is not there, or has no option"$'\n'
  for option in $options; do
    has_line "$option" "$page" || ! takes "$option" "$bin/sonda" "$verb" || missing+="sonda-$verb(1): --$option"$'\n'
  done
done
for daemon in sondad:src/service/main.c sonda-probes:src/probes/main.c sonda-relay:src/relay/main.c; do
  page=$(tags "$man/man8/${daemon%%:*}.8")
  for option in $(options_of "${daemon#*:}"); do
    has_line "$option" "$page" || missing+="${daemon%%:*}(8): --$option"$'\n'
  done
done
no_offenders "every option of a program has its line" "$missing"

wrong=
for verb in $(verbs_of "$bin"); do
  has=no listed=no
  ! takes strict "$bin/sonda" "$verb" || has=yes
  ! plain "$man/man1/sonda-$verb.1" | awk '/^\.SH/ { on = /EXIT STATUS/ } on' | grep -qx 3 || listed=yes
  [ $has = $listed ] || wrong+="sonda-$verb(1): takes --strict: $has; lists 3: $listed"$'\n'
done
no_offenders "the pages of the verbs with --strict, and no others, list exit status 3" "$wrong"

missing=
for verb in $(verbs_of "$bin"); do
  grep -q '^\.SH EXAMPLES' "$man/man1/sonda-$verb.1" || missing+="sonda-$verb(1): add a row to tools/manual/examples"$'\n'
done
no_offenders "the page of every verb has EXAMPLES (tests/root/test_manual_examples.sh runs them)" "$missing"

# ---- fields, functions, sources ------------------------------------------------------------------

fields=$(plain "$man/man5/sonda.cfg.5" | grep -A1 '^\.TP' | cut -d ' ' -f 1 | sort -u)
missing=$(find protos/config -name '*.proto' -exec grep -ohE '^ *(optional|repeated) [A-Za-z0-9_.]+ [a-z0-9_]+ =' {} + |
  awk '{ print $3 }' | sort -u | comm -23 - <(echo "$fields"))
no_offenders "every field of a config has its line in sonda.cfg(5)" "$missing"

# What is exported, and what only the headers have.
missing=$(
  {
    nm -D --defined-only "$B/lib/libsonda.so.0" "$B/lib/libsonda-service.so.0" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | grep -v '_$'
    cat include/sonda/*.h | grep -oE '^#define SONDA_[A-Za-z0-9_]+[A-Za-z0-9]\(' | sed 's/#define //; s/(//'
  } | sort -u | while read -r name; do [ -e "$man/man3/$name.3" ] || echo "$name"; done
)
no_offenders "every function and macro of the library has a page of section 3" "$missing"

sources=$(sources_of "$bin")
missing=$(for source in ${sources:-none}; do
  [ "$(sed -n "/^\.SH \"$source\"/,/^\.SH/p" "$man/man7/sonda-trace.7" | wc -l)" -gt 5 ] || echo "$source"
done)
no_offenders "every data source of sonda-probes has a section in sonda-trace(7)" "$missing"

# ---- form ----------------------------------------------------------------------------------------

pages=$(find "$man" -name '*.[1-8]' -type f)
if command -v groff >/dev/null; then
  # The pages are one text, each with its .TH.
  # shellcheck disable=SC2086
  no_offenders "groff formats all pages without a warning" "$(LC_ALL=C.UTF-8 groff -K utf8 -man -Tutf8 -ww -z $pages 2>&1)"
else
  skip "groff formats all pages without a warning" "no groff here (it comes with man-db)"
fi
if command -v mandoc >/dev/null; then
  # shellcheck disable=SC2086
  no_offenders "mandoc has no warning for any page" "$(LC_ALL=C.UTF-8 mandoc -T lint -W warning "$man"/man?/* 2>&1)"
else
  skip "mandoc has no warning for any page" "no mandoc here"
fi
# A row of --help whose two columns are not apart, for example.
no_offenders "every tag has an explanation" "$(awk '
  is_tag == 2 && $0 == "" { print FILENAME ": " tag }
  { is_tag = is_tag == 1 ? 2 : 0 }
  is_tag == 2 { tag = $0 }
  /^\.TP/ { is_tag = 1 }' "$man"/man[18]/*)"
lost=$(for page in $pages; do grep -A 1 '^\.SH NAME' "$page" | grep -q ' \\- .' || echo "$page"; done)
no_offenders "every page has a name and what it is, for apropos" "$lost"
echo "1..$N"
exit $BAD
