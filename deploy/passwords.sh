#!/bin/sh
# Prints the three random passwords that docker-compose.yml needs:
#
#   sh deploy/passwords.sh > .env
set -eu
umask 077
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
for name in POSTGRES_PASSWORD CAIRN_POSTGRES_PASSWORD TEMPORAL_POSTGRES_PASSWORD; do
  printf '%s=%s\n' "$name" "$(random)"
done
