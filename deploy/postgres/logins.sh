#!/bin/sh
# Creates the logins once, when the database is created. Cairn's login is a member of the two roles
# that row-level security applies to. Temporal's login owns databases of its own. `cairn migrate`
# grants the roles their rights.
set -eu
psql --no-psqlrc --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" \
  --set=cairn="$CAIRN_POSTGRES_PASSWORD" --set=temporal="$TEMPORAL_POSTGRES_PASSWORD" <<'SQL'
create role cairn_app nologin;
create role cairn_system nologin;
create role cairn login noinherit nosuperuser nocreatedb nocreaterole nobypassrls password :'cairn' in role cairn_app, cairn_system;
create role temporal login nosuperuser createdb nocreaterole nobypassrls password :'temporal';
SQL
