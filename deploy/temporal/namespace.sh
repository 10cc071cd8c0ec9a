#!/bin/sh
# Creates the namespace and its search attributes if they are missing. A new namespace takes seconds
# to be known everywhere, so attempts are repeated.
set -eu
days=30d # retention of finished workflows, for inspection; Postgres is the source of truth

again() {
  for attempt in 1 2 3 4 5 6 7 8 9 10 11 12; do
    if "$@"; then return 0; fi
    echo "attempt $attempt did not succeed: $*" >&2
    sleep "${PAUSE:-5}"
  done
  return 1
}

namespace() {
  temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$days"
}

attribute() {
  temporal operator search-attribute list --namespace "$TEMPORAL_NAMESPACE" | grep -qw "$1" ||
    temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" --name "$1" --type Keyword
}

again temporal operator cluster health
again namespace
for name in CairnWorkspace CairnKind CairnChannel CairnConversation; do
  again attribute "$name"
done
