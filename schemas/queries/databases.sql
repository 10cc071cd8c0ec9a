-- name: TemplateLock :exec
-- Waits until no other test process makes a template database. The lock ends with its session.
select pg_advisory_lock(@key::bigint);

-- name: TemplateComplete :one
select datistemplate from pg_catalog.pg_database where datname = @name::text;

-- name: TemplatesOf :many
select datname::text from pg_catalog.pg_database where starts_with(datname, @prefix::text);

-- name: ConnectionsEnd :exec
-- Ends all connections to a database, and waits up to 5 seconds for each of them.
select pg_terminate_backend(pid, 5000) from pg_catalog.pg_stat_activity where datname = @name::text;

-- name: ServerConnections :one
-- The limit of the server, the connections that it keeps for superusers, and those in use.
select current_setting('max_connections')::int as most, current_setting('superuser_reserved_connections')::int as reserved,
  coalesce((select sum(pg_stat_get_db_numbackends(d.oid)) from pg_catalog.pg_database d), 0)::int as used;
